//! Exactly one node owns a cell, with nothing shared but a bucket: the decisions, without I/O.
//!
//! # The engine decides, a driver does
//!
//! An [`Engine`] is one node's session as a value. Facts and the time go in through [`Engine::handle`], commands
//! come out through [`Engine::poll`], and there is nothing else: no clock, no socket, no thread, no randomness
//! beyond the seed and the bits ([`Engine::stir`]) it is given. So the same engine runs under an async runtime,
//! in a blocking program, and in a simulator that replays a failure from a number.
//!
//! A driver is a loop. It executes every command until the engine says [`Command::Idle`], waits for an answer or
//! for the deadline that came with it, draws fresh bits, reads the clocks, and hands over what happened. Every
//! request is one attempt with exactly one reply: nothing below the engine retries, follows a redirect or
//! interprets an answer. What a driver does not know it says: a write that got no answer is
//! [`WriteReply::Unknown`], never a failure.
//!
//! # A session, from joining to its end
//!
//! The program below is a driver whose store is a map. It joins, claims a cell, loses the reply to a claim, and
//! is fenced when it has not heard from the store for too long.
//!
//! ```
//! use std::collections::{BTreeMap, VecDeque};
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tenure_core::*;
//!
//! /// A store in memory, and what it has answered but the engine has not been told.
//! #[derive(Default)]
//! struct Io {
//!     objects: BTreeMap<Key, (ETag, Arc<[u8]>)>,
//!     versions: u32,
//!     loses_next_reply: bool,
//!     replies: VecDeque<Event>,
//!     outcomes: Vec<Outcome>,
//!     notices: Vec<Notice>,
//! }
//!
//! impl Io {
//!     fn read(&mut self, op: ReadOp) {
//!         let reply = match self.objects.get(&op.key) {
//!             None => ReadReply::Missing,
//!             Some((etag, _)) if op.unless.as_ref() == Some(etag) => ReadReply::Unchanged(Stamps::default()),
//!             Some((etag, body)) => {
//!                 ReadReply::Found { etag: etag.clone(), body: (**body).into(), stamps: Stamps::default() }
//!             }
//!         };
//!         self.replies.push_back(Event::ReadDone(op.id, reply));
//!     }
//!
//!     fn write(&mut self, op: WriteOp) {
//!         let current = self.objects.get(&op.key).map(|(etag, _)| etag);
//!         let holds = match &op.guard {
//!             Guard::Absent => current.is_none(),
//!             Guard::Match(etag) => current == Some(etag),
//!         };
//!         let mut reply = WriteReply::Rejected;
//!         if holds {
//!             self.versions += 1;
//!             let etag = ETag::new(format!("v{}", self.versions).as_bytes()).expect("not empty");
//!             self.objects.insert(op.key, (etag.clone(), op.body));
//!             reply = WriteReply::Applied { etag };
//!         }
//!         if std::mem::take(&mut self.loses_next_reply) {
//!             reply = WriteReply::Unknown(Fault::new(FaultKind::TimedOut, "no answer within 1.5 s"));
//!         }
//!         self.replies.push_back(Event::WriteDone(op.id, reply));
//!     }
//! }
//!
//! /// The loop that is the same in every driver: execute commands until there is nothing to do.
//! fn drain(engine: &mut Engine, io: &mut Io) -> Option<Deadline> {
//!     loop {
//!         match engine.poll() {
//!             Command::List(op) => io.replies.push_back(Event::ListDone(op.id, ListReply::Page(Page::default()))),
//!             Command::Read(op) => io.read(op),
//!             Command::Remove(op) => drop(io.objects.remove(&op.key)),
//!             Command::Write(op) => io.write(op),
//!             Command::Done(_ticket, outcome) => io.outcomes.push(outcome),
//!             Command::Notify(notice) => io.notices.push(notice),
//!             Command::Idle { until } => break until,
//!         }
//!     }
//! }
//!
//! /// Hands over one event and then every reply that follows from it, all at the same time.
//! fn run(engine: &mut Engine, io: &mut Io, millis: u64, event: Event) -> Option<Deadline> {
//!     let now = Now { mono: Instant::from_millis(millis), wall: WallTime::from_millis(millis) };
//!     engine.handle(now, event);
//!     let mut until = drain(engine, io);
//!     while let Some(reply) = io.replies.pop_front() {
//!         engine.handle(now, reply);
//!         until = drain(engine, io);
//!     }
//!     until
//! }
//!
//! let mut io = Io::default();
//! let config = Config::new("web-1"); // a ttl of 10 s
//! let mut engine = Engine::new(config, SessionId::new(0x9f3c), 42)?;
//!
//! // Join. The engine first checks that the store does compare-and-swap at all, then creates its lease.
//! run(&mut engine, &mut io, 0, Event::Call(Ticket::new(1), Call::Join));
//! assert!(matches!(io.outcomes.pop(), Some(Outcome::Joined(Ok(node))) if node == *engine.node()));
//! // Authority ends a tenth of the ttl before the lease could be judged dead, and counts from the send.
//! assert_eq!(engine.authority(), Some(Instant::from_millis(9_000)));
//!
//! // Claim a cell: one read, one write.
//! let cell = CellId::new("orders:42")?;
//! let claim = |cell: &CellId| Call::Claim { cell: cell.clone(), wait: Duration::ZERO };
//! run(&mut engine, &mut io, 100, Event::Call(Ticket::new(2), claim(&cell)));
//! let Some(Outcome::Claimed(Ok(tenure))) = io.outcomes.pop() else { panic!("nobody else is there") };
//! assert_eq!(tenure.epoch, Epoch::FIRST);
//!
//! // The epoch is a fencing token, and `tenure` the local answer to "may I act?": no I/O, judged at this clock.
//! let at = |millis| Now { mono: Instant::from_millis(millis), wall: WallTime::from_millis(millis) };
//! assert_eq!(engine.tenure(&cell, at(200)), Some(tenure));
//!
//! // A claim whose reply is lost. Whether it was applied is not known, so the engine reads back, finds the very
//! // bytes that it sent, and grants the cell: neither a second owner nor a cell that nobody owns.
//! io.loses_next_reply = true;
//! let lost = CellId::new("orders:43")?;
//! run(&mut engine, &mut io, 300, Event::Call(Ticket::new(3), claim(&lost)));
//! assert!(matches!(io.outcomes.pop(), Some(Outcome::Claimed(Ok(_)))));
//!
//! // A renewal is due about a third of the ttl after the last; one write keeps every cell.
//! let due = run(&mut engine, &mut io, 400, Event::Wake).expect("a lease is held");
//! assert_eq!(due.timer, Timer::Renew);
//! run(&mut engine, &mut io, due.at.as_millis() + 1, Event::Wake);
//!
//! // Then the machine sleeps for a minute. The first look at the clock says no, before any timer fires...
//! assert_eq!(engine.tenure(&cell, at(60_000)), None);
//! // ...and the engine, once told the time, has ended the session for good. A new one may join.
//! run(&mut engine, &mut io, 60_000, Event::Wake);
//! assert_eq!(io.notices.pop(), Some(Notice::Fenced(FenceCause::Expired)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! [`Event`], [`Call`], [`Command`], [`Outcome`] and [`Notice`] are the seam between deciding and doing. [`ReadOp`],
//! [`WriteOp`] and their replies are all that a store must understand; [`Guard`] has no way to spell an unguarded
//! write. [`LeaseRecord`] and [`OwnerRecord`] are what is in the bucket. Each operation has an error of its own,
//! whose documentation says what to do next.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod admit;
mod backoff;
mod budget;
mod cell;
mod config;
mod defects;
mod digits;
mod ending;
mod engine;
mod env;
mod error;
mod event;
mod fleet;
mod id;
mod judge;
mod lease;
mod locate;
mod lru;
mod memory;
mod name;
#[doc(hidden)]
pub mod notation;
mod peer;
mod pending;
mod probe;
mod record;
mod store;
mod time;
mod watch;
mod write;

pub use config::{Config, ConfigError, StoreClock, TTL_MAX};
#[doc(hidden)]
pub use defects::Defect;
pub use ending::Ending;
pub use engine::Engine;
pub use error::{
    BadRecord, ClaimError, FenceCause, HeldBy, JoinError, LocateError, LossReason, PeersError, PublishError,
    ReleaseError, TransferError, VerifyError, WatchError,
};
pub use event::{Call, Command, Event, Location, Notice, Outcome, Owner, Peer, Tenure, Ticket};
pub use id::{CellId, ETag, Epoch, NodeId, SessionId, WriteId};
pub use name::NameError;
pub use record::{
    Holder, LeaseRecord, Load, OwnerRecord, RECORD_MAX, RecordError, RetiredRecord, check_record,
};
pub use store::{
    AttemptId, Entry, Fault, FaultKind, Guard, Key, ListId, ListOp, ListReply, Op, Page, ReadId, ReadOp,
    ReadReply, RemoveId, RemoveOp, RemoveReply, Reply, Stamps, WriteOp, WriteReply,
};
pub use time::{Deadline, Instant, Now, StoreTime, Timer, WallTime};
