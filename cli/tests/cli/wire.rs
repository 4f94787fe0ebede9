//! A store for the binary that goes wrong as it is told: the fault server, and a process's way to it.

use std::process::Command;
use std::sync::Arc;

use tenure_sim::server::{Fault, Keys, Options, Rule, Seen, Server};

use crate::support::{Agent, DEADLINE, Finished, finish, tenure};

/// A server that checks signatures, and nothing wrong with it yet.
pub(crate) struct Wire(pub(crate) Server);

impl Wire {
    pub(crate) fn new() -> Self {
        let verify = Arc::new(Keys::new("AKIDEXAMPLE", "secret", None));
        let options = Options { verify: Some(verify), ..Options::default() };
        Self(Server::start(options).expect("a loopback port"))
    }

    pub(crate) fn with(fault: Fault) -> Self {
        let wire = Self::new();
        wire.0.faults([Rule::new(fault)]);
        wire
    }

    pub(crate) fn tenure(&self, args: &[&str]) -> Command {
        let mut command = tenure(args);
        command.env("TENURE_STORE", "s3://tenure/p").env("AWS_ENDPOINT_URL", self.0.endpoint());
        command.env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE").env("AWS_SECRET_ACCESS_KEY", "secret");
        command.env("AWS_REGION", "eu-west-1");
        command
    }

    /// Runs a command that must not run unless the cell is held.
    pub(crate) fn run(&self) -> Finished {
        finish(self.run_on("c1"))
    }

    pub(crate) fn run_on(&self, cell: &str) -> Command {
        self.tenure(&["run", "--json", "--ttl", "3s", "--cell", cell, "--", "echo", "ran"])
    }

    pub(crate) fn join(&self, name: &str) -> Agent {
        Agent::start(self.tenure(&["agent", "--name", name, "--ttl", "3s"]))
    }

    /// Blocks until there were `count` requests that are like this, of all so far.
    pub(crate) fn await_seen(&self, count: usize, is_it: impl Fn(&Seen) -> bool) {
        let enough = |log: &[Seen]| (log.iter().filter(|seen| is_it(seen)).count() >= count).then_some(());
        assert!(self.0.wait_for(DEADLINE, enough).is_some(), "such requests do not come");
    }

    /// Blocks until so many more renewals have been stored.
    pub(crate) fn await_renewals(&self, more: usize) {
        let is_renewal = |seen: &Seen| seen.key.contains("nodes/") && seen.applied;
        let before = self.0.seen().iter().filter(|seen| is_renewal(seen)).count();
        self.await_seen(before + more, is_renewal);
    }

    /// Returns the requests for cells' records with this method.
    pub(crate) fn asked(&self, method: &str) -> Vec<Seen> {
        let of_cells = |seen: &Seen| seen.method == method && seen.key.contains("cells/");
        self.0.seen().into_iter().filter(of_cells).collect()
    }

    /// Counts the versions that a cell's record has had.
    pub(crate) fn versions(&self, cell: &str) -> usize {
        let store = self.0.store();
        let end = format!("cells/{cell}/own.json");
        let key = store.keys().find(|key| key.ends_with(&end)).expect("it was written");
        store.history(key).len()
    }
}

pub(crate) fn on_cells(fault: Fault, method: &'static str) -> Rule {
    Rule::new(fault).on(method).below("cells/")
}

pub(crate) fn named(fault: &str) -> Fault {
    Fault::named(fault).expect("it has a name")
}
