//! What one session was told and did, as a transcript test of the engine.
//!
//! An engine is a value: the same events at the same readings of its clock give the same commands. So what went wrong
//! with one node in a world replays without the world, in the notation of `core/tests`, and pastes in there as a
//! regression test. Times count from the session's start on its own clock; `me` is its id, `w3` the tag of what its
//! attempt 3 wrote, `e2` that of something that others wrote.

mod test;
mod words;

use core::cell::RefCell;
use core::fmt::Write as _;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tenure_core::{Config, ETag, Event, Guard, Instant, Key, Notice, Op, ReadId, notation};

use self::words::millis;

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
    /// The number of the session, as violations and traces have it.
    pub number: u64,
    /// What the session's id was made of: its number, or that of the session that it is a clone of.
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
            book.push(Transcript { number: actor as u64 + 1, ..memory });
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
            number: actor as u64 + 1,
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
        // An error may quote a tag, beside the key that it is of or alone: another key's record may have come under this one.
        if line.contains('"') {
            let (of_named, others): (Vec<_>, Vec<_>) =
                self.own.iter().partition(|((key, _), _)| line.contains(key.as_str()));
            let short =
                |((_, tag), attempt): (&(String, ETag), &u64)| (tag.to_string(), format!("w{attempt}"));
            let foreign = self.foreign.iter().enumerate();
            let foreign = foreign.map(|(place, tag)| (tag.to_string(), format!("e{}", place + 1)));
            let names = of_named.into_iter().map(short).chain(foreign).chain(others.into_iter().map(short));
            line = names.fold(line, |line, (tag, name)| line.replace(&tag, &name));
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
}

const INDENT: &str = "        ";
