//! What happened, step by step: a digest of everything, always, and lines for people when asked for. Their notation is
//! also that of the transcript tests.

use core::fmt::{self, Write as _};
use std::collections::VecDeque;

use tenure_core::{
    ETag, Event, Guard, ListReply, Op, OwnerRecord, ReadReply, RemoveReply, Reply, WriteOp, WriteReply,
};

use crate::digest::Digest;
use crate::view::{Step, View};

/// Watches a world and writes down what it sees.
#[derive(Clone, Debug)]
pub struct Trace {
    digest: Digest,
    lines: VecDeque<String>,
    keep: usize,
}

impl Trace {
    /// Keeps no lines.
    pub const fn silent() -> Self {
        Self { digest: Digest::new(), lines: VecDeque::new(), keep: 0 }
    }

    /// Keeps the last `lines` lines.
    pub const fn last(lines: usize) -> Self {
        Self { digest: Digest::new(), lines: VecDeque::new(), keep: lines }
    }

    /// Keeps every line.
    pub const fn full() -> Self {
        Self::last(usize::MAX)
    }

    /// Returns the digest of all steps so far.
    pub const fn digest(&self) -> u64 {
        self.digest.value()
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, view: &View<'_>) {
        self.digest.add(view);
        if self.keep > 0 {
            self.write_down(view);
        }
    }

    /// Apart from the digest, which is all that most worlds ask for.
    #[cold]
    fn write_down(&mut self, view: &View<'_>) {
        if let Some(line) = line(view) {
            self.note(line);
        }
    }

    /// Writes down a line about something that is no step of its own.
    pub(crate) fn note(&mut self, line: String) {
        if self.lines.len() >= self.keep {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

/// Writes a step as a line; some say nothing that their neighbours do not.
fn line(view: &View<'_>) -> Option<String> {
    let mut line = format!("t={} ", view.at);
    if let (Some(actor), Some(session)) = (view.actor, view.session()) {
        let _ = write!(line, "n{}.{} ", session.machine() + 1, actor + 1);
    }
    let start = line.len();
    let result = match view.step {
        Step::Acknowledged(_, tenure) => write!(line, "acknowledges {} epoch={}", tenure.cell, tenure.epoch),
        Step::Told(event) => told(&mut line, event),
        Step::Asked(ticket, call) => write!(line, "{ticket} {call:?}"),
        Step::Cloned(of) => write!(line, "is a clone of session {}", of + 1),
        Step::Crashed => write!(line, "dies"),
        Step::Done { ticket, outcome, .. } => write!(line, "-> done {ticket} {outcome:?}"),
        Step::Handled { .. } => Ok(()),
        Step::Finished => write!(line, "the world ends"),
        Step::Healed => write!(line, "the storm is over"),
        Step::Jumped(machine, by) => {
            write!(line, "the wall clock of n{} jumps by {} ms", machine + 1, by / 1_000_000)
        }
        Step::Noted(text) => write!(line, "{text}"),
        Step::Noticed(notice) => write!(line, "-> {notice:?}"),
        Step::Paused(pause) => write!(line, "stands still for {} ms", pause.as_millis()),
        Step::Meddled(deed, key) => write!(line, "somebody {} {key}", deed.as_str()),
        Step::Outage(span) => write!(line, "the store is down for {} ms", span.as_millis()),
        Step::Suspended(span) => write!(line, "its machine is suspended for {} ms", span.as_millis()),
        Step::Removed(key) => write!(line, "somebody removes {key}"),
        Step::Restored(key) => write!(line, "somebody restores an earlier {key}"),
        Step::Resumed => write!(line, "goes on"),
        Step::Sent(op) => write!(line, "-> {}", Request(op)),
        Step::Served { op, reply, is_late, .. } => {
            let late = if *is_late { " (late)" } else { "" };
            write!(line, "store: {} -> {}{late}", Request(op), Answer(reply))
        }
        Step::Started => {
            write!(line, "starts as {}", view.session().map_or("", |session| session.id().as_str()))
        }
    };
    (result.is_ok() && line.len() > start).then_some(line)
}

fn told(line: &mut String, event: &Event) -> fmt::Result {
    match event {
        // The line that says what was asked has said it.
        Event::Call(..) => Ok(()),
        Event::Cancel(ticket) => write!(line, "{ticket} cancelled"),
        Event::ListDone(id, reply) => write!(line, "{id} {}", Answer(&Reply::List(reply.clone()))),
        Event::ReadDone(id, reply) => write!(line, "{id} {}", Answer(&Reply::Read(reply.clone()))),
        Event::RemoveDone(id, reply) => write!(line, "{id} {}", Answer(&Reply::Remove(reply.clone()))),
        Event::Wake => write!(line, "wake"),
        Event::WriteDone(id, reply) => write!(line, "{id} {}", Answer(&Reply::Write(reply.clone()))),
    }
}

/// A request in the trace's notation.
pub(crate) struct Request<'o>(pub(crate) &'o Op);

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Op::List(op) => {
                write!(f, "list {} {}", op.id, op.prefix)?;
                op.after.as_ref().map_or(Ok(()), |after| write!(f, " after={after}"))
            }
            Op::Read(op) => {
                write!(f, "read {} {}", op.id, op.key)?;
                op.unless.as_ref().map_or(Ok(()), |etag| write!(f, " unless={}", Tag(etag)))
            }
            Op::Remove(op) => write!(f, "remove {} {}", op.id, op.key),
            Op::Write(op) => {
                write!(f, "write {} {} ", op.id, op.key)?;
                match &op.guard {
                    Guard::Absent => write!(f, "absent")?,
                    Guard::Match(etag) => write!(f, "match={}", Tag(etag))?,
                }
                write_body(f, op)
            }
        }
    }
}

fn write_body(f: &mut fmt::Formatter<'_>, op: &WriteOp) -> fmt::Result {
    match OwnerRecord::parse(&op.body) {
        Ok(record) => {
            let node = record.node.as_ref().map_or("nobody", |node| node.as_str());
            write!(f, " {node} epoch={}", record.epoch)
        }
        Err(_) => write!(f, " {}", String::from_utf8_lossy(&op.body)),
    }
}

struct Answer<'r>(&'r Reply);

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Reply::List(ListReply::Page(page)) => {
                let more = if page.next.is_some() { " and more" } else { "" };
                write!(f, "page of {}{more}", page.entries.len())?;
                page.date.map_or(Ok(()), |date| write!(f, " date={date}"))
            }
            Reply::List(ListReply::Failed(fault)) | Reply::Read(ReadReply::Failed(fault)) => {
                write!(f, "failed {:?}", fault.kind)
            }
            Reply::List(ListReply::Throttled { after }) | Reply::Read(ReadReply::Throttled { after }) => {
                write!(f, "throttled {after:?}")
            }
            Reply::Read(ReadReply::Found { etag, stamps, .. }) => {
                write!(f, "found {}", Tag(etag))?;
                write_stamps(f, stamps)
            }
            Reply::Read(ReadReply::Missing) => write!(f, "missing"),
            Reply::Read(ReadReply::Unchanged(stamps)) => {
                write!(f, "unchanged")?;
                write_stamps(f, stamps)
            }
            Reply::Remove(RemoveReply::Failed(fault)) => write!(f, "failed {:?}", fault.kind),
            Reply::Remove(RemoveReply::Removed) => write!(f, "removed"),
            Reply::Write(reply) => write_reply(f, reply),
        }
    }
}

fn write_stamps(f: &mut fmt::Formatter<'_>, stamps: &tenure_core::Stamps) -> fmt::Result {
    if let Some(modified) = stamps.modified {
        write!(f, " modified={modified}")?;
    }
    stamps.date.map_or(Ok(()), |date| write!(f, " date={date}"))
}

fn write_reply(f: &mut fmt::Formatter<'_>, reply: &WriteReply) -> fmt::Result {
    match reply {
        WriteReply::Applied { etag } => write!(f, "applied {}", Tag(etag)),
        WriteReply::Conflict => write!(f, "conflict"),
        WriteReply::NotApplied(fault) => write!(f, "not applied {:?}", fault.kind),
        WriteReply::Refused(fault) => write!(f, "refused {:?}", fault.kind),
        WriteReply::Rejected => write!(f, "rejected"),
        WriteReply::Throttled { after } => write!(f, "throttled {after:?}"),
        WriteReply::Unknown(fault) => write!(f, "unknown {:?}", fault.kind),
    }
}

/// A tag shortened to what tells versions apart within one world.
struct Tag<'t>(&'t ETag);

impl fmt::Display for Tag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.as_bytes();
        write!(f, "e{}", bytes.get(1..6).unwrap_or(bytes).escape_ascii())
    }
}
