//! What one session was told and did, as a transcript test of the engine.
//!
//! An engine is a value: the same events at the same readings of its clock give the same commands. So what went wrong
//! with one node in a world replays without the world, in the notation of `core/tests`, and pastes in there as a
//! regression test. Times count from the session's start on its own clock; `me` is its id, `w3` the tag of what its
//! attempt 3 wrote, `e2` that of something that others wrote.

mod test;

use core::cell::RefCell;
use core::fmt::{self, Write as _};
use core::time::Duration;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tenure_core::{
    Call, Config, ETag, Event, Fault, Guard, Instant, Key, ListReply, Notice, Op, ReadId, ReadReply,
    RemoveReply, Stamps, StoreTime, WriteReply, notation,
};

use crate::checks::{Check, Violation};
use crate::store::content_tag;
use crate::view::{Step, View};

/// Watches a world and writes down what each of its sessions was told and did. A clone writes into the same book.
#[derive(Clone, Debug, Default)]
pub struct Scribe(Rc<RefCell<Vec<Transcript>>>);

/// What one session was told and did. Its text pastes into a file of `core/tests`.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// What the node was configured with.
    pub config: Config,
    /// The number of the session.
    pub session: u64,
    /// What the engine drew its delays from.
    pub seed: u64,
    /// Inputs, and behind each the outputs that it caused.
    pub lines: String,
    me: String,
    /// What the session's clock read when it started.
    start: Instant,
    /// When the last line was written.
    at: Option<Instant>,
    reads: BTreeMap<ReadId, Key>,
    /// Every attempt: its number, and what it wrote where.
    writes: BTreeMap<u64, (Key, Arc<[u8]>)>,
    /// Which attempt first made a version with this tag.
    own: BTreeMap<(String, ETag), u64>,
    foreign: Vec<ETag>,
}

impl Scribe {
    /// Returns what was written, one transcript for each session in the order of their starts.
    pub fn transcripts(&self) -> Vec<Transcript> {
        self.0.borrow().clone()
    }
}

impl Check for Scribe {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only the steps named here pass between engine and driver"
    )]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Some(actor), Some(session)) = (view.actor, view.session()) else { return Ok(()) };
        let mut book = self.0.borrow_mut();
        if matches!(view.step, Step::Started) {
            book.push(Transcript::new(view, actor));
        }
        if let Step::Cloned(of) = view.step {
            // It remembers what the original does.
            let memory = book[*of].clone();
            book.push(memory);
        }
        let transcript = &mut book[actor];
        match view.step {
            Step::Told(event) => {
                let now = view.now(session).mono;
                transcript.input(event, now);
            }
            Step::Sent(op) => {
                let line = transcript.request(op);
                transcript.output(&line);
            }
            Step::Done { ticket, outcome, .. } => {
                transcript.output(&format!("done {ticket} {}", notation::outcome(outcome)));
            }
            Step::Noticed(Notice::Authority { until }) => {
                let until = transcript.since_start(*until);
                transcript.output(&format!("notify {}", notation::notice(&Notice::Authority { until })));
            }
            Step::Noticed(notice) => transcript.output(&format!("notify {}", notation::notice(notice))),
            _ => {}
        }
        Ok(())
    }
}

impl Transcript {
    fn new(view: &View<'_>, actor: usize) -> Self {
        let session = &view.sessions[actor];
        let me = session.id().as_str().to_owned();
        let mut config = view.scenario.config.clone();
        // An id is the operator's name, a dot and the session.
        me.rsplit_once('.').map_or("", |(name, _)| name).clone_into(&mut config.name);
        Self {
            config,
            session: actor as u64 + 1,
            seed: session.seed,
            lines: String::new(),
            me,
            start: view.now(session).mono,
            at: None,
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
            own: BTreeMap::new(),
            foreign: Vec::new(),
        }
    }

    fn since_start(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().saturating_sub(self.start.as_nanos()))
    }

    fn input(&mut self, event: &Event, now: Instant) {
        let line = self.event(event);
        let moved = self.at.replace(now) != Some(now);
        let time = if moved { format!("t={} ", millis(now.since(self.start))) } else { String::new() };
        let _ = writeln!(self.lines, "{INDENT}{time:<7}{line}");
    }

    fn output(&mut self, line: &str) {
        let mut line = line.replace(&self.me, "me");
        // An error may quote a tag.
        if line.contains('"') {
            for ((_, tag), attempt) in &self.own {
                line = line.replace(&tag.to_string(), &format!("w{attempt}"));
            }
            for (place, tag) in self.foreign.iter().enumerate() {
                line = line.replace(&tag.to_string(), &format!("e{}", place + 1));
            }
        }
        let _ = writeln!(self.lines, "{INDENT}       -> {line}");
    }

    fn request(&mut self, op: &Op) -> String {
        let line = notation::request(op, 0);
        let (key, tag) = match op {
            Op::List(_) | Op::Remove(_) => return line,
            Op::Read(op) => {
                self.reads.insert(op.id, op.key.clone());
                (&op.key, op.unless.as_ref())
            }
            Op::Write(op) => {
                self.writes.insert(op.id.get(), (op.key.clone(), op.body.clone()));
                let etag = content_tag(&op.body);
                self.own.entry((op.key.as_str().to_owned(), etag)).or_insert(op.id.get());
                let tag = match &op.guard {
                    Guard::Absent => None,
                    Guard::Match(tag) => Some(tag),
                };
                (&op.key, tag)
            }
        };
        let Some(tag) = tag else { return line };
        let short = self.tag(key.as_str(), tag);
        line.replace(&tag.to_string(), &short)
    }

    /// Returns the short name of a tag.
    fn tag(&mut self, key: &str, tag: &ETag) -> String {
        if let Some(attempt) = self.own.get(&(key.to_owned(), tag.clone())) {
            return format!("w{attempt}");
        }
        // A weak tag stays one: that is what the engine looks at.
        if let Some(strong) = tag.as_bytes().strip_prefix(b"W/").and_then(ETag::new) {
            return format!("W/{}", self.tag(key, &strong));
        }
        let place = self.foreign.iter().position(|known| known == tag).unwrap_or_else(|| {
            self.foreign.push(tag.clone());
            self.foreign.len() - 1
        });
        format!("e{}", place + 1)
    }

    fn event(&mut self, event: &Event) -> String {
        match event {
            Event::Call(_, call) => self.call(call),
            Event::Cancel(ticket) => format!("cancel {ticket}"),
            Event::ListDone(id, reply) => format!("l{} {}", id.get(), self.list_reply(reply)),
            Event::ReadDone(id, reply) => format!("r{} {}", id.get(), self.read_reply(*id, reply)),
            Event::RemoveDone(id, RemoveReply::Failed(fault)) => {
                format!("d{} failed {}", id.get(), word(fault))
            }
            Event::RemoveDone(id, RemoveReply::Removed) => format!("d{} removed", id.get()),
            Event::Wake => "wake".to_owned(),
            Event::WriteDone(id, reply) => format!("w{} {}", id.get(), self.write_reply(id.get(), reply)),
        }
    }

    fn call(&self, call: &Call) -> String {
        let named = |name: &str, span: Duration| match span.is_zero() {
            true => String::new(),
            false => format!(" {name}={}", millis(span)),
        };
        match call {
            Call::Claim { cell, wait } => format!("claim {cell}{}", named("wait", *wait)),
            Call::Join => "join".to_owned(),
            Call::Leave => "leave".to_owned(),
            Call::Locate { cell, max_age } => format!("locate {cell}{}", named("age", *max_age)),
            Call::Peers => "peers".to_owned(),
            Call::Publish { meta, .. } => {
                let fact = meta.as_ref().and_then(|meta| meta.iter().next());
                fact.map_or("publish".to_owned(), |(key, value)| format!("publish {key}={value}"))
            }
            Call::Release(tenure) => format!("release {} epoch={}", tenure.cell, tenure.epoch),
            Call::Transfer { tenure, to } => {
                let to = if to.as_str() == self.me { "me" } else { to.as_str() };
                format!("transfer {} epoch={} to={to}", tenure.cell, tenure.epoch)
            }
            Call::Unwatch(cell) => format!("unwatch {cell}"),
            Call::Verify(tenure) => format!("verify {} epoch={}", tenure.cell, tenure.epoch),
            Call::Watch(cell) => format!("watch {cell}"),
        }
    }

    fn read_reply(&mut self, id: ReadId, reply: &ReadReply) -> String {
        match reply {
            ReadReply::Failed(fault) => format!("failed {}", word(fault)),
            ReadReply::Found { etag, body, stamps } => {
                let Some(key) = self.reads.get(&id).cloned() else { return "missing".to_owned() };
                let tag = self.tag(key.as_str(), etag);
                let attempt = tag.strip_prefix('w').and_then(|number| self.writes.get(&number.parse().ok()?));
                let is_own = attempt.is_some_and(|(_, written)| **written == **body);
                let body = if is_own { String::new() } else { format!(" {}", self.body(body)) };
                format!("found {tag}{body}{}", Stamped(stamps))
            }
            ReadReply::Missing => "missing".to_owned(),
            ReadReply::Throttled { after } => throttled(*after),
            ReadReply::Unchanged(stamps) => format!("unchanged{}", Stamped(stamps)),
        }
    }

    fn body(&self, body: &[u8]) -> String {
        match core::str::from_utf8(body) {
            Ok(text) if text.starts_with('{') && !text.contains([' ', '\n', '\r', '\t']) => {
                let me = &self.me;
                text.replace(&format!("\"{me}\""), "\"me\"").replace(&format!("\"{me}#"), "\"me#")
            }
            Ok(_) | Err(_) => body.iter().fold("hex:".to_owned(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            }),
        }
    }

    fn list_reply(&mut self, reply: &ListReply) -> String {
        match reply {
            ListReply::Failed(fault) => format!("failed {}", word(fault)),
            ListReply::Page(page) => {
                let mut line = "page".to_owned();
                if let Some(date) = page.date {
                    let _ = write!(line, " date={}", seconds(date));
                }
                if let Some(next) = &page.next {
                    let _ = write!(line, " next={next}");
                }
                for entry in &page.entries {
                    let tag = entry.etag.as_ref().map(|etag| self.tag(&entry.key, etag));
                    let _ = write!(line, " {}@{}", entry.key, tag.unwrap_or_default());
                    if let Some(modified) = entry.modified {
                        let _ = write!(line, "@{}", seconds(modified));
                    }
                }
                line
            }
            ListReply::Throttled { after } => throttled(*after),
        }
    }

    fn write_reply(&mut self, id: u64, reply: &WriteReply) -> String {
        match reply {
            WriteReply::Applied { etag } => {
                let Some((key, body)) = self.writes.get(&id).cloned() else { return "applied".to_owned() };
                if content_tag(&body) == *etag {
                    "applied".to_owned()
                } else {
                    format!("applied {}", self.tag(key.as_str(), etag))
                }
            }
            WriteReply::Conflict => "conflict".to_owned(),
            WriteReply::NotApplied(fault) => format!("not-applied {}", word(fault)),
            WriteReply::Refused(fault) => format!("refused {}", word(fault)),
            WriteReply::Rejected => "rejected".to_owned(),
            WriteReply::Throttled { after } => throttled(*after),
            WriteReply::Unknown(fault) => format!("unknown {}", word(fault)),
        }
    }
}

/// The stamps of an answer, in seconds.
struct Stamped<'s>(&'s Stamps);

impl fmt::Display for Stamped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(modified) = self.0.modified {
            write!(f, " modified={}", seconds(modified))?;
        }
        self.0.date.map_or(Ok(()), |date| write!(f, " date={}", seconds(date)))
    }
}

fn throttled(after: Option<Duration>) -> String {
    after.map_or("throttled".to_owned(), |after| format!("throttled after={}", millis(after)))
}

const fn word(fault: &Fault) -> &'static str {
    notation::fault(fault.kind)
}

fn millis(span: Duration) -> String {
    decimal(span.as_nanos(), 6)
}

fn seconds(at: StoreTime) -> String {
    decimal(at.as_nanos().into(), 9)
}

/// Writes nanoseconds in a unit of ten to so many of them, with no more digits than it takes.
fn decimal(nanos: u128, digits: u32) -> String {
    let unit = 10_u128.pow(digits);
    let (whole, part) = (nanos / unit, nanos % unit);
    if part == 0 {
        return whole.to_string();
    }
    let part = format!("{part:0width$}", width = digits as usize);
    format!("{whole}.{}", part.trim_end_matches('0'))
}

const INDENT: &str = "        ";
