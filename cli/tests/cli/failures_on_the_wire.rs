//! Entries of `docs/failures.md` that bite between a process and its store: the binary against the fault server.

use core::time::Duration;
use std::process::Command;
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_sim::server::{Fault, Keys, Options, Rule, Seen, Server};

use crate::support::{Agent, Finished, finish, tenure};

/// A server that checks signatures, and nothing wrong with it yet.
struct Wire(Server);

impl Wire {
    fn new() -> Self {
        let verify = Arc::new(Keys::new("AKIDEXAMPLE", "secret", None));
        let options = Options { verify: Some(verify), ..Options::default() };
        Self(Server::start(options).expect("a loopback port"))
    }

    fn with(fault: Fault) -> Self {
        let wire = Self::new();
        wire.0.faults([Rule::new(fault)]);
        wire
    }

    fn tenure(&self, args: &[&str]) -> Command {
        let mut command = tenure(args);
        command.env("TENURE_STORE", "s3://tenure/p").env("AWS_ENDPOINT_URL", self.0.endpoint());
        command.env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE").env("AWS_SECRET_ACCESS_KEY", "secret");
        command.env("AWS_REGION", "eu-west-1");
        command
    }

    /// Runs a command that must not run unless the cell is held.
    fn run(&self) -> Finished {
        finish(self.run_on("c1"))
    }

    fn run_on(&self, cell: &str) -> Command {
        self.tenure(&["run", "--json", "--ttl", "3s", "--cell", cell, "--", "echo", "ran"])
    }

    fn join(&self, name: &str) -> Agent {
        Agent::start(self.tenure(&["agent", "--name", name, "--ttl", "3s"]))
    }

    /// Returns the requests for cells' records with this method.
    fn asked(&self, method: &str) -> Vec<Seen> {
        let of_cells = |seen: &Seen| seen.method == method && seen.key.contains("cells/");
        self.0.seen().into_iter().filter(of_cells).collect()
    }

    /// Counts the versions that a cell's record has had.
    fn versions(&self, cell: &str) -> usize {
        let store = self.0.store();
        let end = format!("cells/{cell}/own.json");
        let key = store.keys().find(|key| key.ends_with(&end)).expect("it was written");
        store.history(key).len()
    }
}

fn on_cells(fault: Fault, method: &'static str) -> Rule {
    Rule::new(fault).on(method).below("cells/")
}

fn named(fault: &str) -> Fault {
    Fault::named(fault).expect("it has a name")
}

#[test]
fn bl_01_a_claim_whose_reply_and_first_look_are_lost_is_granted_once() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    // The first look is before the write.
    let lost_look = on_cells(Fault::CutAnswer(Some(0)), "GET").after(1).times(1);
    wire.0.faults([on_cells(Fault::Drop, "PUT").times(1), lost_look]);
    assert_eq!(agent.claim("c1"), 1);
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    assert_eq!(wire.versions("c1"), 1);
}

#[test]
fn bl_02_an_unfit_store_ends_every_run_before_its_command_starts() {
    for fault in ["ignores-conditions", "ignores-if-match"] {
        let wire = Wire::with(named(fault));
        let done = wire.run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(76), ""), "{fault}: {}", done.stderr);
        assert_eq!(done.error()["kind"], "unfit", "{fault}");
        assert!(wire.asked("PUT").is_empty(), "{fault}");
    }
    // Trouble says nothing about the store.
    for fault in ["409", "429", "500", "503"] {
        let wire = Wire::new();
        wire.0.faults([Rule::new(named(fault)).below("probe/").times(1)]);
        let done = wire.run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ran\n"), "{fault}: {}", done.stderr);
    }
}

#[test]
fn bl_04_a_throttled_claim_is_granted_and_not_lost() {
    for fault in ["429", "429-after", "503"] {
        let wire = Wire::new();
        let mut agent = wire.join("a");
        wire.0.faults([on_cells(named(fault), "PUT").times(1)]);
        assert_eq!(agent.claim("c1"), 1, "{fault}");
        let writes = wire.asked("PUT");
        assert_eq!(writes.len(), 2, "{fault}");
        let rest = writes[1].at.since(writes[0].at);
        assert!(rest >= Duration::from_millis(900), "{fault}: {rest:?}");
    }
}

#[test]
fn bl_06_a_claim_that_meets_a_conflict_is_granted() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    wire.0.faults([on_cells(Fault::Conflict, "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 1, "a create");
    agent.call(json!({ "do": "release", "cell": "c1" }));
    wire.0.faults([on_cells(Fault::Conflict, "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 2, "an update");
    assert_eq!(wire.versions("c1"), 3);
}

#[test]
fn bl_08_bare_tags_are_a_setting_and_never_a_reaction() {
    let wire = Wire::with(Fault::BareTags);
    let done = wire.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(76), ""), "{}", done.stderr);
    let mut command = wire.run_on("c1");
    command.env("TENURE_STORE", "s3://tenure/p?if-match=bare");
    let done = finish(command);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ran\n"), "{}", done.stderr);
}

#[test]
fn bl_09_a_store_that_creates_what_it_should_update_is_found_out() {
    let wire = Wire::with(Fault::MissingCreated);
    let done = finish(wire.tenure(&["doctor", "--json", "--rounds", "1"]));
    assert_eq!(done.code, Some(76), "{}{}", done.stdout, done.stderr);
}

#[test]
fn bl_12_every_spelling_of_an_endpoint_is_signed_as_it_is_sent_or_refused() {
    let wire = Wire::new();
    let address = wire.0.address();
    for spelling in [format!("http://{address}"), format!("http://{address}/"), format!("HTTP://{address}")] {
        let mut command = wire.run_on("c1");
        command.env("AWS_ENDPOINT_URL", &spelling);
        let done = finish(command);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ran\n"), "{spelling}: {}", done.stderr);
    }
    let before = wire.0.requests();
    for spelling in [
        address.to_string(),
        format!("http://user:word@{address}"),
        format!("http://{address}?a=b"),
        format!("http://{address}#a"),
    ] {
        let mut command = wire.run_on("c1");
        command.env("AWS_ENDPOINT_URL", &spelling);
        let done = finish(command);
        assert_eq!((done.code, done.stdout.as_str()), (Some(78), ""), "{spelling}: {}", done.stderr);
    }
    assert_eq!(wire.0.requests(), before, "what is refused is not sent");
}

#[test]
fn bl_14_a_bucket_that_is_elsewhere_is_a_setting_and_is_asked_once() {
    for (fault, word) in [
        (Fault::Moved, "eu-elsewhere-1"),
        (Fault::WrongRegion, "eu-elsewhere-1"),
        (Fault::Redirect, "127.0.0.1:1"),
    ] {
        let wire = Wire::with(fault);
        let done = wire.run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(78), ""), "{fault}: {}", done.stderr);
        let error = done.error();
        assert!(error["message"].as_str().is_some_and(|text| text.contains(word)), "{fault}: {error}");
        assert_eq!(wire.0.requests(), 1, "{fault}");
    }
}

#[test]
fn bl_19_connections_that_die_idle_cost_neither_the_lease_nor_a_cell() {
    let wire = Wire::with(Fault::CloseIdle);
    let mut agent = wire.join("a");
    assert_eq!(agent.claim("c1"), 1);
    let renewals = || wire.0.seen().iter().filter(|seen| seen.key.contains("nodes/") && seen.applied).count();
    let first = renewals();
    while renewals() < first + 4 {
        wire.0.wait_until(wire.0.now().after(Duration::from_millis(50)));
        assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    }
}

#[test]
fn bl_30_a_takeover_removes_nothing() {
    let wire = Wire::new();
    let mut first = wire.join("a");
    assert_eq!(first.claim("c1"), 1);
    let mut waiting = ["b", "c"].map(|name| wire.join(name));
    let ids = waiting.each_mut().map(|agent| {
        (agent.node.clone(), agent.ask(json!({ "do": "claim", "cell": "c1", "wait_ms": 12_000 })))
    });
    first.process.signal(Signal::KILL);
    let answers: Vec<Value> =
        waiting.iter_mut().zip(&ids).map(|(agent, (_, id))| agent.answer(*id)).collect();
    let granted = answers.iter().filter(|answer| answer["ok"]["epoch"] == json!(2)).count();
    assert_eq!(granted, 1, "{answers:?}");
    let removed: Vec<_> = wire.0.seen().into_iter().filter(|seen| seen.method == "DELETE").collect();
    assert!(removed.iter().all(|seen| seen.key.contains("probe/")), "{removed:?}");
}

#[test]
fn bl_34_a_create_that_is_refused_for_ever_is_told_as_inconsistent() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    wire.0.faults([on_cells(Fault::Rejected, "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 1, "once is nothing");
    wire.0.faults([on_cells(Fault::Rejected, "PUT")]);
    let error = agent.call(json!({ "do": "claim", "cell": "c2" }))["error"].clone();
    assert_eq!(error["kind"], "inconsistent", "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("cells/c2/own.json")), "{error}");
}

#[test]
fn bl_38_a_claim_answered_200_with_an_error_inside_is_settled() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    wire.0.faults([on_cells(Fault::ErrorInSuccess, "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 1);
    wire.0.faults([on_cells(Fault::Truncate, "GET").times(1)]);
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    assert_eq!(wire.versions("c1"), 1);
}

#[test]
fn bl_38_a_claim_answered_200_with_a_page_of_something_before_the_store_is_settled() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    wire.0.faults([on_cells(Fault::Html(200), "PUT").times(1)]);
    assert_eq!(agent.claim("c1"), 1);
    assert_eq!(wire.versions("c1"), 1, "nothing is owned that is not in the store");
}

#[test]
fn bl_40_a_proxy_that_weakens_tags_is_named() {
    let done = Wire::with(Fault::WeakTag).run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(76), ""), "{}", done.stderr);
    let error = done.error();
    assert!(error["message"].as_str().is_some_and(|text| text.contains("weak")), "{error}");
}

#[test]
fn bl_46_a_listing_that_cannot_be_ended_is_an_error_and_not_what_was_listed_so_far() {
    let wire = Wire::new();
    for cell in ["c1", "c2", "c3"] {
        assert_eq!(finish(wire.run_on(cell)).code, Some(0));
    }
    let cells = wire.tenure(&["cells", "--json"]);
    assert_eq!(finish(cells).lines().len(), 3);
    for fault in [Fault::NoToken, Fault::RepeatToken] {
        wire.0.faults([Rule::new(Fault::ShortPage(1)), Rule::new(fault)]);
        let done = finish(wire.tenure(&["cells", "--json"]));
        assert_ne!(done.code, Some(0), "{fault}: {}", done.stdout);
        assert!(done.error()["message"].as_str().is_some_and(|text| !text.is_empty()), "{fault}");
    }
}

#[test]
fn bl_50_credentials_that_end_under_a_node_are_its_reason() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    agent.claim("c1");
    wire.0.faults([Rule::new(Fault::Expired)]);
    assert_eq!(agent.event("fenced")["reason"], "credentials");
    assert_eq!(agent.event("lost")["reason"], "credentials");
}
