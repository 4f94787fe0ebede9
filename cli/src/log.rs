//! What a command says about its work on standard error, if it is asked to.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, Write};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tenure_blocking::clock;
use tenure_core::{Guard, Instant, ListReply, Op, ReadReply, RemoveReply, Reply, StoreClock, WriteReply};

use crate::args::{Global, Level};
use crate::output::printable;

/// Writes lines, or JSON objects, with the time since the command began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    level: Level,
    json: bool,
    start: Instant,
}

impl Log {
    pub(crate) fn new(global: &Global) -> Self {
        // Several parts of one command log; their lines count from one start.
        static START: OnceLock<Instant> = OnceLock::new();
        Self { level: global.log, json: global.json, start: *START.get_or_init(clock::mono) }
    }

    /// Says what somebody should mend, whatever the level.
    fn warn(&self, text: fmt::Arguments<'_>) {
        self.write("warn", text);
    }

    /// Says what happened to the node or its cells.
    pub(crate) fn info(&self, text: fmt::Arguments<'_>) {
        if self.level >= Level::Info {
            self.write("info", text);
        }
    }

    /// Says what was asked of the store, and what it answered.
    fn debug(&self, text: fmt::Arguments<'_>) {
        if self.level >= Level::Debug {
            self.write("debug", text);
        }
    }

    fn write(&self, level: &str, text: fmt::Arguments<'_>) {
        let ms = clock::mono().since(self.start).as_millis();
        let line: Value =
            json!({ "log": level, "ms": u64::try_from(ms).unwrap_or(u64::MAX), "text": text.to_string() });
        let line = if self.json {
            format!("{line}\n")
        } else {
            format!("tenure: t={ms} {}\n", printable(&text.to_string()))
        };
        // A log that cannot be written must not end a node.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// A store that can tell how far this machine's clock is off.
pub(crate) trait Timed {
    /// Returns by how much; zero as long as it has cost no request.
    fn clock_error(&self) -> Duration;
}

impl Timed for tenure_blocking::AnyStore {
    fn clock_error(&self) -> Duration {
        self.clock_error()
    }
}

impl Timed for tenure_tokio::AnyStore {
    fn clock_error(&self) -> Duration {
        self.clock_error()
    }
}

#[cfg(feature = "object-store")]
impl Timed for tenure_tokio::Bridged<tenure_tokio::AnyStore> {
    fn clock_error(&self) -> Duration {
        self.inner().clock_error()
    }
}

/// A store whose every operation is logged, and that warns once of a clock that is off.
#[derive(Debug)]
pub(crate) struct Logged<S> {
    store: S,
    log: Log,
    has_warned: AtomicBool,
}

impl<S: Timed> Logged<S> {
    pub(crate) fn new(store: S, log: Log) -> Self {
        Self { store, log, has_warned: AtomicBool::new(false) }
    }

    /// Returns the store itself, for what is not logged.
    pub(crate) fn inner(&self) -> &S {
        &self.store
    }

    fn asked(&self, op: &Op) -> Option<(String, Instant)> {
        (self.log.level >= Level::Debug).then(|| (describe(op), clock::mono()))
    }

    fn answered(&self, asked: Option<(String, Instant)>, reply: &Reply) {
        if let Some((op, at)) = asked {
            let ms = clock::mono().since(at).as_millis();
            self.log.debug(format_args!("{op} -> {} ({ms} ms)", outcome(reply)));
        }
        let error = self.store.clock_error();
        if !error.is_zero() && !self.has_warned.swap(true, Ordering::Relaxed) {
            let seconds = error.as_secs();
            self.log.warn(format_args!(
                "this machine's clock is {seconds} s off the store's; requests are signed with the store's time, but set the clock"
            ));
        }
    }
}

impl<S: Timed + tenure_blocking::Store> tenure_blocking::Store for Logged<S> {
    fn execute(&self, op: Op) -> Reply {
        let asked = self.asked(&op);
        let reply = self.store.execute(op);
        self.answered(asked, &reply);
        reply
    }

    fn clock(&self) -> StoreClock {
        self.store.clock()
    }
}

impl<S: Timed + tenure_tokio::Store> tenure_tokio::Store for Logged<S> {
    async fn execute(&self, op: Op) -> Reply {
        let asked = self.asked(&op);
        let reply = self.store.execute(op).await;
        self.answered(asked, &reply);
        reply
    }

    fn clock(&self) -> StoreClock {
        self.store.clock()
    }
}

fn describe(op: &Op) -> String {
    match op {
        Op::List(op) => format!("list {}", op.prefix),
        Op::Read(op) => match &op.unless {
            None => format!("read {}", op.key),
            Some(etag) => format!("read {} unless={etag}", op.key),
        },
        Op::Remove(op) => format!("remove {}", op.key),
        Op::Write(op) => match &op.guard {
            Guard::Absent => format!("write {} absent", op.key),
            Guard::Match(etag) => format!("write {} match={etag}", op.key),
        },
    }
}

fn outcome(reply: &Reply) -> String {
    match reply {
        Reply::List(ListReply::Page(page)) => format!("{} keys", page.entries.len()),
        Reply::Read(ReadReply::Found { etag, .. }) => format!("found {etag}"),
        Reply::Read(ReadReply::Missing) => "missing".to_owned(),
        Reply::Read(ReadReply::Unchanged(_)) => "unchanged".to_owned(),
        Reply::Remove(RemoveReply::Removed) => "removed".to_owned(),
        Reply::Write(WriteReply::Applied { etag }) => format!("applied {etag}"),
        Reply::Write(WriteReply::Conflict) => "conflict".to_owned(),
        Reply::Write(WriteReply::Rejected) => "rejected".to_owned(),
        Reply::Write(WriteReply::NotApplied(fault)) => format!("not applied: {fault}"),
        Reply::Write(WriteReply::Refused(fault)) => format!("refused: {fault}"),
        Reply::Write(WriteReply::Unknown(fault)) => format!("unknown: {fault}"),
        Reply::List(ListReply::Failed(fault))
        | Reply::Read(ReadReply::Failed(fault))
        | Reply::Remove(RemoveReply::Failed(fault)) => format!("failed: {fault}"),
        Reply::List(ListReply::Throttled { .. })
        | Reply::Read(ReadReply::Throttled { .. })
        | Reply::Write(WriteReply::Throttled { .. }) => "throttled".to_owned(),
    }
}
