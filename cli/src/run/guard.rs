//! `tenure`'s side of the watchdog: starts it, feeds it, and hears of it.

use core::time::Duration;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;
use tenure_core::Instant;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::group::this_program;
use super::plan::Plan;
use crate::exit::Failure;

/// A running watchdog that knows the group.
#[derive(Debug)]
pub(super) struct Guard {
    process: Child,
    feed: pipe::Sender,
    words: Lines<BufReader<pipe::Receiver>>,
    /// What it was told last.
    until: Instant,
}

/// What the watchdog did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Deed {
    /// It told the group to end.
    Termed,
    /// It ended, which it never should.
    Died,
}

impl Guard {
    /// Starts a watchdog over the group, and waits at most for `limit` until it is out of the way of signals.
    pub(super) async fn start(
        plan: Plan,
        group: Pid,
        until: Instant,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let failed = |why: String| {
            Failure::unavailable(format_args!("no watchdog can be started, so the command is not: {why}"))
        };
        let mut command = this_program()?;
        command.args(["__watchdog", "--term", &nanos(plan.term), "--kill", &nanos(plan.kill)]);
        command.args([
            "--group",
            &group.as_raw_nonzero().to_string(),
            "--until",
            &until.as_nanos().to_string(),
        ]);
        let mut process = Self::spawn(&mut command).map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(failed("it has no pipes".to_owned()));
        };
        let feed = pipe::Sender::from_owned_fd(stdin.into()).map_err(|error| failed(error.to_string()))?;
        let words =
            pipe::Receiver::from_owned_fd(stdout.into()).map_err(|error| failed(error.to_string()))?;
        let words = BufReader::new(words).lines();
        let mut guard = Self { process, feed, words, until };
        guard.expect("ready", limit).await.map_err(failed)?;
        Ok(guard)
    }

    /// Tells the watchdog when authority ends, if that has changed.
    pub(super) fn tell(&mut self, until: Instant) {
        let is_news = until.since(self.until) > Duration::from_millis(1) || until < self.until;
        if is_news && self.write(&format!("until {}\n", until.as_nanos())) {
            self.until = until;
        }
    }

    /// Returns the end of authority that the watchdog knows.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Waits until the watchdog does something. Dropping the future loses nothing.
    pub(super) async fn deed(&mut self) -> Deed {
        match self.words.next_line().await {
            Ok(Some(_)) => Deed::Termed,
            Ok(None) | Err(_) => Deed::Died,
        }
    }

    /// Ends the watchdog, after the group.
    pub(super) fn end(mut self) {
        self.write("end\n");
    }

    fn spawn(command: &mut Command) -> std::io::Result<Child> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    }

    async fn expect(&mut self, word: &str, limit: Duration) -> Result<(), String> {
        match timeout(limit, self.words.next_line()).await {
            Ok(Ok(Some(line))) if line == word => Ok(()),
            Ok(Ok(Some(line))) => Err(format!("it says {line:?}, not {word:?}")),
            Ok(Ok(None)) => Err("it ended at once".to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("it does not get ready within {limit:?}")),
        }
    }

    /// Writes a line, which a pipe takes whole or not at all; false if it does not. A watchdog that does not read
    /// will end the group in time all the same, and one that is gone is noticed by its silence.
    fn write(&mut self, line: &str) -> bool {
        self.feed.try_write(line.as_bytes()).is_ok()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Told to end, or about to be replaced: it is not needed any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn nanos(time: Duration) -> String {
    time.as_nanos().to_string()
}
