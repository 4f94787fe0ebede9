//! Operations on their way: exactly one reply for each, whatever the store does.
//!
//! A store is trusted to give up in time, and watched: when an operation's own timeout and a little grace
//! have passed by the clock that counts suspends, it is answered here and the store's late reply is dropped.
//! An operation that never left the queue was certainly not applied; one that began may have been.
//!
//! ```text
//!  queued --begin--> begun --finish--> landed
//!    |                 '---too long--> failed; a write: unknown
//!    '---too long----> abandoned; a write: not applied
//! ```

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{
    AttemptId, Event, Fault, FaultKind, Instant, ListId, ListReply, Op, ReadId, ReadReply, RemoveId,
    RemoveReply, Reply, WriteReply,
};

use super::{Inbox, Input};

/// How many timeouts an operation may wait for a free worker: workers are short when the store hangs, which
/// callers must not wait out, or when very many cells are wanted at once, which takes its time.
const QUEUE_TIMEOUTS: u32 = 3;

/// The state of a job that nobody has begun; any other number is the time at which it began.
const QUEUED: u64 = 0;
/// The state of a job that must not begin any more.
const ABANDONED: u64 = u64::MAX;

/// Which workers an operation may use. Lease traffic never waits behind other traffic.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lane {
    /// This node's own lease.
    Lease,
    /// Everything else.
    Ordinary,
}

/// One operation to execute. A worker calls `begin`, then the store, then `finish`.
pub struct Job {
    number: u64,
    op: Option<Op>,
    lane: Lane,
    limit: Duration,
    state: Arc<AtomicU64>,
    inbox: Inbox,
    urgent: Urgent,
}

/// Replies about this node's own lease, which the pump takes before anything that waits in its queue: a
/// hundred thousand callers must not come between a node and its renewal (BL-49).
#[derive(Clone, Debug, Default)]
pub(super) struct Urgent(Arc<Mutex<Vec<(u64, Reply)>>>);

impl Urgent {
    /// Takes what has arrived.
    pub(super) fn take(&self) -> Vec<(u64, Reply)> {
        core::mem::take(&mut self.lock())
    }

    // No code that can panic runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Reply)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    /// Returns which workers may take it.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// Returns how long the store may take before its reply is of no use.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Takes the operation out, at `now`; nothing if it was given up meanwhile.
    pub fn begin(&mut self, now: Instant) -> Option<Op> {
        let began = now.as_nanos().clamp(QUEUED + 1, ABANDONED - 1);
        self.state.compare_exchange(QUEUED, began, Ordering::SeqCst, Ordering::SeqCst).ok()?;
        self.op.take()
    }

    /// Brings the store's reply back.
    pub fn finish(self, reply: Reply) {
        match self.lane {
            Lane::Lease => {
                self.urgent.lock().push((self.number, reply));
                (self.inbox)(Input::Urgent);
            }
            Lane::Ordinary => (self.inbox)(Input::Replied(self.number, reply)),
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // A store that panics cannot be relied upon for the renewals either: say so at once, instead of
        // being a node that looks alive until its authority ends.
        if std::thread::panicking() {
            (self.inbox)(Input::Panicked);
        }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, op, lane, limit: _, state: _, inbox: _, urgent: _ } = self;
        f.debug_struct("Job")
            .field("number", number)
            .field("op", op)
            .field("lane", lane)
            .finish_non_exhaustive()
    }
}

/// All operations that wait for a reply. The size is the engine's: one per record it is busy with.
#[derive(Debug, Default)]
pub(super) struct Flights {
    next: u64,
    aloft: BTreeMap<u64, Flight>,
    urgent: Urgent,
    dues: BTreeSet<(Instant, u64)>,
}

#[derive(Debug)]
struct Flight {
    which: Which,
    issued: Instant,
    due: Instant,
    limit: Duration,
    state: Arc<AtomicU64>,
}

/// Which reply the engine waits for.
#[derive(Clone, Copy, Debug)]
enum Which {
    List(ListId),
    Read(ReadId),
    Remove(RemoveId),
    Write(AttemptId),
}

impl Flights {
    /// Makes the job of an operation that the engine issued at `now`.
    pub(super) fn launch(&mut self, now: Instant, op: Op, lane: Lane, inbox: Inbox) -> Job {
        let (which, timeout) = match &op {
            Op::List(op) => (Which::List(op.id), op.timeout),
            Op::Read(op) => (Which::Read(op.id), op.timeout),
            Op::Remove(op) => (Which::Remove(op.id), op.timeout),
            Op::Write(op) => (Which::Write(op.id), op.timeout),
        };
        let limit = timeout.saturating_add(timeout / 10);
        let (number, due) = (self.next, now.after(limit));
        let state = Arc::new(AtomicU64::new(QUEUED));
        self.next += 1;
        self.dues.insert((due, number));
        self.aloft.insert(number, Flight { which, issued: now, due, limit, state: Arc::clone(&state) });
        Job { number, op: Some(op), lane, limit, state, inbox, urgent: self.urgent.clone() }
    }

    /// Returns where replies arrive that must not wait.
    pub(super) fn urgent(&self) -> &Urgent {
        &self.urgent
    }

    /// Returns what the engine is told of a reply; nothing if the flight was given up before.
    pub(super) fn land(&mut self, number: u64, reply: Reply) -> Option<Event> {
        let flight = self.aloft.remove(&number)?;
        self.dues.remove(&(flight.due, number));
        Some(match (flight.which, reply) {
            (Which::List(id), Reply::List(reply)) => Event::ListDone(id, reply),
            (Which::Read(id), Reply::Read(reply)) => Event::ReadDone(id, reply),
            (Which::Remove(id), Reply::Remove(reply)) => Event::RemoveDone(id, reply),
            (Which::Write(id), Reply::Write(reply)) => Event::WriteDone(id, reply),
            (which, _) => {
                which.failed(FaultKind::Malformed, "the store gave another operation's kind of reply")
            }
        })
    }

    /// Gives up one flight whose time is up at `now`, and returns what the engine is told of it.
    pub(super) fn overdue(&mut self, now: Instant) -> Option<Event> {
        while let Some(&(due, number)) = self.dues.first() {
            if now < due {
                return None;
            }
            self.dues.remove(&(due, number));
            let flight = self.aloft.get_mut(&number)?;
            let Some(event) = flight.give_up(now) else {
                self.dues.insert((flight.due, number));
                continue;
            };
            self.aloft.remove(&number);
            return Some(event);
        }
        None
    }

    /// Returns when the next flight may have to be given up.
    pub(super) fn due(&self) -> Option<Instant> {
        self.dues.first().map(|&(due, _)| due)
    }
}

impl Flight {
    /// Returns the failure if the time is really up, or looks later again.
    fn give_up(&mut self, now: Instant) -> Option<Event> {
        let began = self.state.load(Ordering::SeqCst);
        let last = match began {
            QUEUED => self.issued.after(self.limit.saturating_mul(QUEUE_TIMEOUTS)),
            began => Instant::from_nanos(began).after(self.limit),
        };
        if now < last {
            self.due = if began == QUEUED { last.min(now.after(self.limit)) } else { last };
            return None;
        }
        // A worker may begin it at this very moment; only if it does not, nothing was sent.
        let is_queued = began == QUEUED
            && self.state.compare_exchange(QUEUED, ABANDONED, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if is_queued && let Which::Write(id) = self.which {
            let fault = Fault::new(FaultKind::TimedOut, "not sent: too many other requests are waiting");
            return Some(Event::WriteDone(id, WriteReply::NotApplied(fault)));
        }
        Some(self.which.failed(FaultKind::TimedOut, "given up by the node"))
    }
}

impl Which {
    fn failed(self, kind: FaultKind, detail: &'static str) -> Event {
        let fault = Fault::new(kind, detail);
        match self {
            Self::List(id) => Event::ListDone(id, ListReply::Failed(fault)),
            Self::Read(id) => Event::ReadDone(id, ReadReply::Failed(fault)),
            Self::Remove(id) => Event::RemoveDone(id, RemoveReply::Failed(fault)),
            Self::Write(id) => Event::WriteDone(id, WriteReply::Unknown(fault)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flights, Job, Lane};
    use core::time::Duration;
    use std::sync::Arc;
    use tenure_core::{
        AttemptId, CellId, Event, Guard, Instant, Key, Op, ReadReply, Reply, WriteOp, WriteReply,
    };

    const TIMEOUT: Duration = Duration::from_millis(1000);

    #[test]
    fn a_reply_in_time_reaches_the_engine_once() {
        let (mut flights, mut job) = launched();
        job.begin(at(5)).expect("queued");
        let number = job.number;
        assert_eq!(flights.land(number, rejected()), Some(Event::WriteDone(ID, WriteReply::Rejected)));
        assert_eq!(flights.land(number, rejected()), None);
        assert_eq!((flights.due(), flights.overdue(at(99_000))), (None, None));
    }

    #[test]
    fn a_write_that_began_and_hangs_is_unknown_and_its_late_reply_is_dropped() {
        let (mut flights, mut job) = launched();
        job.begin(at(500)).expect("queued");
        assert_eq!(flights.overdue(at(1100)), None, "the time in the queue does not count");
        assert_eq!(flights.due(), Some(at(1600)));
        assert!(matches!(flights.overdue(at(1600)), Some(Event::WriteDone(ID, WriteReply::Unknown(_)))));
        assert_eq!(flights.land(job.number, rejected()), None);
    }

    #[test]
    fn a_write_that_never_began_was_not_applied_and_cannot_begin_any_more() {
        let (mut flights, mut job) = launched();
        assert_eq!(flights.overdue(at(3299)), None);
        assert!(matches!(flights.overdue(at(3300)), Some(Event::WriteDone(ID, WriteReply::NotApplied(_)))));
        assert_eq!(job.begin(at(3301)), None);
    }

    #[test]
    fn a_reply_of_another_kind_proves_nothing() {
        let (mut flights, mut job) = launched();
        job.begin(at(5)).expect("queued");
        let event = flights.land(job.number, Reply::Read(ReadReply::Missing));
        assert!(matches!(event, Some(Event::WriteDone(ID, WriteReply::Unknown(_)))));
    }

    #[test]
    fn a_reply_about_the_lease_does_not_wait_in_the_queue() {
        let (mut flights, mut job) = launched_in(Lane::Lease);
        job.begin(at(5)).expect("queued");
        job.finish(rejected());
        let mut arrived = flights.urgent().take();
        let (number, reply) = arrived.pop().expect("one");
        assert_eq!(flights.land(number, reply), Some(Event::WriteDone(ID, WriteReply::Rejected)));
        assert!(arrived.is_empty() && flights.urgent().take().is_empty());
    }

    const ID: AttemptId = AttemptId::new(3);

    fn launched() -> (Flights, Job) {
        launched_in(Lane::Ordinary)
    }

    fn launched_in(lane: Lane) -> (Flights, Job) {
        let mut flights = Flights::default();
        let op = Op::Write(WriteOp {
            id: ID,
            key: Key::owner(&CellId::new("c").expect("legal")),
            guard: Guard::Absent,
            body: Arc::from(*b"{}"),
            timeout: TIMEOUT,
        });
        let job = flights.launch(at(0), op, lane, Arc::new(drop));
        (flights, job)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn rejected() -> Reply {
        Reply::Write(WriteReply::Rejected)
    }
}
