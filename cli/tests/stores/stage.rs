//! A scenario's place, its nodes' processes, and a transcript of what they said.

use core::fmt;
use core::time::Duration;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tenure_blocking::clock;
use tenure_core::{Holder, Instant};

use crate::bucket::{Place, Server};
use crate::holder;
use crate::process::{Process, Stream};

/// The shortest ttl that whole-second stamps allow.
pub(crate) const TTL: Duration = Duration::from_secs(3);
/// What the liveness guarantee allows from the death of an owner to the next: ttl, margin, two seconds, the
/// poll interval of a waiting claim, a few round trips; and two seconds for a busy machine.
pub(crate) const TAKEOVER: Duration =
    Duration::from_millis(TTL.as_millis() as u64 + 2000 + 2000 + 1000 + 500 + 2000);

/// How much of a transcript is printed: its end.
const LINES_MAX: usize = 500;

/// Which driver a node runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Driver {
    /// In a process of this test's.
    Blocking,
    /// In `tenure agent`.
    Tokio,
}

impl Driver {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Blocking, Self::Tokio];
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Tokio => "tokio",
        })
    }
}

/// A scenario. If its test fails, it prints its transcript.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Where its records are.
    pub(crate) place: Place,
    title: String,
    transcript: Transcript,
    ttl: Duration,
}

impl Stage {
    /// Opens a scenario in a place of its own.
    pub(crate) fn new(server: Server, name: &str) -> Self {
        let transcript = Transcript { start: clock::mono(), lines: Arc::default() };
        Self { place: Place::new(server, name), title: format!("{name} on {server}"), transcript, ttl: TTL }
    }

    /// Sets the ttl of the nodes that are started from now on.
    pub(crate) fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Starts a node and waits until it has joined.
    pub(crate) fn node(&self, driver: Driver, name: &str) -> Process {
        match driver {
            Driver::Blocking => {
                let command = holder::command(&self.place, self.ttl, name);
                Process::start(command, Stream::Stderr, name, &self.transcript)
            }
            Driver::Tokio => self.agent(name, &[]),
        }
    }

    /// Starts `tenure agent` with more in its environment, and waits until it has joined.
    pub(crate) fn agent(&self, name: &str, environment: &[(String, String)]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(["agent", "--name", name, "--addr", "127.0.0.1:9"])
            .args(["--store", &self.place.url, "--endpoint", &self.place.server.endpoint()])
            .args(["--ttl", &format!("{}ms", self.ttl.as_millis()), "--log", "debug"])
            .envs(environment.iter().map(|(key, value)| (key, value)));
        Process::start(command, Stream::Stdout, name, &self.transcript)
    }

    /// Counts the lines of a node's log, or all nodes', that contain all of these texts.
    pub(crate) fn count(&self, texts: &[&str]) -> usize {
        let lines = self.transcript.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| texts.iter().all(|text| line.contains(text))).count()
    }

    /// Asserts, past all nodes, what the record says about a cell: the holder's id and the epoch.
    #[track_caller]
    pub(crate) fn assert_owner(&self, cell: &str, node: &str, epoch: u64) {
        let stored = self.place.owner(cell).expect("a cell that was claimed has a record");
        let holder = stored.record.holder();
        assert!(
            matches!(holder, Holder::Node(id) if id.as_str() == node),
            "{cell} is {node}'s, not {holder:?}"
        );
        assert_eq!(stored.record.epoch.get(), epoch, "the epoch of {cell}");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("transcript of {} ({}):\n{}", self.title, self.place.url, self.transcript.text());
        }
    }
}

/// What all processes of a scenario were told and said, with the milliseconds since it began.
#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    start: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Transcript {
    /// Adds a line.
    pub(crate) fn note(&self, text: fmt::Arguments<'_>) {
        let ms = clock::mono().since(self.start).as_millis();
        let line = format!("t={ms} {text}");
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn text(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
    }
}
