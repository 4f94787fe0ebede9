//! How many requests a store in trouble is sent: what useful answers pay for, and a trickle beside it.
//!
//! Whatever a node wants to know, a store that is dark or asks to slow down must not be asked more because of it.
//! Every request but those for the node's own lease costs one credit, and every useful answer, one that was served
//! rather than failed, throttled, refused or lost, brings four. So a store that answers is asked as fast as it
//! answers, after a ramp of a few round trips; one that answers nothing is asked thirty-two times and from then on at a
//! fixed rate; and where only some keys are throttled, the answers under the others pay for all. Nothing is decided by
//! guessing a store's health, and there is no state of trouble to enter, or to be stuck in.
//!
//! What cannot be sent waits in four lanes, first come, first served in each, so that no cell starves another; and
//! each lane has its turns, so that many who only look do not keep out the few on whom an owner depends.

use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};
use core::mem;
use core::num::NonZeroU32;
use core::time::Duration;

use crate::store::{Fault, Op};
use crate::time::Instant;

#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// The least time between two requests that no answer pays for; nothing without a limit.
    interval: Option<Duration>,
    credit: u32,
    /// When the next request may be sent that no answer pays for.
    next: Instant,
    lanes: [VecDeque<Waiting>; 4],
    /// How many requests wait in all lanes together.
    waiting: usize,
    /// How many waiting requests are worth looking for those that nobody needs any more.
    crowd: usize,
    turn: usize,
    /// What the store last said in place of a useful answer.
    fault: Option<Fault>,
}

/// A request that is not sent yet.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Waiting {
    pub(crate) op: Op,
    since: Instant,
}

/// What a request is for, which decides in which lane it waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lane {
    /// An owner depends on it: a claim's or a release's write, a verification, a judgement.
    Own,
    /// A write of unknown fate is to be settled, or one that was put off to be sent again.
    Settle,
    /// Somebody asked for the first time.
    Look,
    /// Somebody looks again.
    Poll,
}

/// How many requests may be sent ahead of useful answers: as many as a node that leaves gives back at once.
const CREDIT_MAX: u32 = 32;

/// How many requests a useful answer pays for: enough for a store that throttles three in four to be asked no slower.
const CREDIT_PER_ANSWER: u32 = 4;

/// The order in which lanes have their turns; a lane without a request leaves its turn to the first that has one.
const TURNS: [Lane; 8] =
    [Lane::Own, Lane::Settle, Lane::Own, Lane::Look, Lane::Own, Lane::Settle, Lane::Own, Lane::Poll];

/// How many waiting requests are never too many to keep.
const CROWD_MIN: usize = 256;

impl Budget {
    pub(crate) fn new(rate: Option<NonZeroU32>) -> Self {
        Self {
            interval: rate.map(|rate| Duration::from_secs(1) / rate.get()),
            credit: CREDIT_MAX,
            next: Instant::default(),
            lanes: [const { VecDeque::new() }; 4],
            waiting: 0,
            crowd: CROWD_MIN,
            turn: 0,
            fault: None,
        }
    }

    /// Returns the request if it may be sent now, and lets it wait otherwise.
    pub(crate) fn admit(&mut self, lane: Lane, op: Op, now: Instant) -> Option<Op> {
        // Whoever waits comes first, or as much as waits would overtake it.
        if self.waiting == 0 && self.has_room(now) {
            self.spend(now);
            return Some(op);
        }
        self.lanes[lane as usize].push_back(Waiting { op, since: now });
        self.waiting += 1;
        None
    }

    /// Tells whether one more request may be sent.
    pub(crate) fn has_room(&self, now: Instant) -> bool {
        self.credit > 0 || self.interval.is_none() || now >= self.next
    }

    /// Counts a request that is sent, also one that is never held back.
    pub(crate) fn spend(&mut self, now: Instant) {
        let Some(interval) = self.interval else { return };
        if self.credit > 0 {
            self.credit -= 1;
        } else {
            self.next = self.next.max(now).after(interval);
        }
    }

    /// Takes what an answer says about the store: nothing if it was useful, and otherwise what was wrong.
    pub(crate) fn heed(&mut self, fault: Option<Fault>) {
        if fault.is_none() && self.interval.is_some() {
            self.credit = (self.credit + CREDIT_PER_ANSWER).min(CREDIT_MAX);
        }
        self.fault = fault;
    }

    /// Returns the request whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Op> {
        let lane = &mut self.lanes[TURNS[self.turn % TURNS.len()] as usize];
        let waiting = match lane.pop_front() {
            Some(waiting) => waiting,
            None => self.lanes.iter_mut().find_map(VecDeque::pop_front)?,
        };
        self.waiting -= 1;
        Some(waiting.op)
    }

    /// Counts a request that waited and is sent.
    pub(crate) fn spend_turn(&mut self, now: Instant) {
        self.turn = (self.turn + 1) % TURNS.len();
        self.spend(now);
    }

    /// Returns a request that has waited for longer than whoever asked for it is to be kept waiting.
    pub(crate) fn pop_expired(&mut self, now: Instant, patience: Duration) -> Option<Op> {
        if self.waiting == 0 {
            return None;
        }
        let is_due = |lane: &&mut VecDeque<Waiting>| {
            lane.front().is_some_and(|waiting| waiting.since.after(patience) <= now)
        };
        let waiting = self.impatient_mut().find(is_due)?.pop_front()?;
        self.waiting -= 1;
        Some(waiting.op)
    }

    /// Returns when something that waits may be sent, or has waited for too long.
    pub(crate) fn deadline(&self, patience: Duration) -> Option<Instant> {
        if self.waiting == 0 {
            return None;
        }
        let expires = self.impatient().filter_map(|lane| Some(lane.front()?.since.after(patience))).min();
        expires.into_iter().chain([self.next]).min()
    }

    /// Tells whether requests wait for the store to give a useful answer.
    pub(crate) fn is_short(&self) -> bool {
        self.interval.is_some() && self.credit == 0
    }

    /// Returns what the store said last, if that was no useful answer.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Tells whether a request waits. Numbers of requests only grow, and so they do in each lane.
    pub(crate) fn is_waiting(&self, number: u64) -> bool {
        self.lanes
            .iter()
            .any(|lane| lane.binary_search_by_key(&number, |waiting| self::number(&waiting.op)).is_ok())
    }

    /// Tells whether so many wait that it is time to [`Self::sweep`].
    pub(crate) fn is_crowded(&self) -> bool {
        self.waiting > self.crowd
    }

    /// Returns everything that waits; [`Self::put_back`] takes what is still needed.
    pub(crate) fn sweep(&mut self) -> [VecDeque<Waiting>; 4] {
        self.waiting = 0;
        mem::replace(&mut self.lanes, [const { VecDeque::new() }; 4])
    }

    pub(crate) fn put_back(&mut self, lanes: [VecDeque<Waiting>; 4]) {
        self.waiting = lanes.iter().map(VecDeque::len).sum();
        self.lanes = lanes;
        // Twice as many must come before the next sweep, so that each costs its own share of one.
        self.crowd = (2 * self.waiting).max(CROWD_MIN);
    }

    /// Checks the count against the lanes.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let waiting: usize = self.lanes.iter().map(VecDeque::len).sum();
        if waiting == self.waiting { Ok(()) } else { Err("the waiting requests are miscounted") }
    }

    /// The lanes in which callers may wait who set no time of their own. In the others everybody waits for their turn,
    /// however long: to give up there and to line up again would let the first always be the first.
    fn impatient(&self) -> impl Iterator<Item = &VecDeque<Waiting>> {
        [Lane::Own, Lane::Look].into_iter().map(|lane| &self.lanes[lane as usize])
    }

    fn impatient_mut(&mut self) -> impl Iterator<Item = &mut VecDeque<Waiting>> {
        let [own, _, look, _] = &mut self.lanes;
        [own, look].into_iter()
    }
}

/// Everything but the fault, which only words the errors that callers are told.
impl Hash for Budget {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { interval, credit, next, lanes, waiting: _, crowd, turn, fault: _ } = self;
        (interval, credit, next, lanes, crowd, turn).hash(state);
    }
}

/// Returns the number of a request; one sequence serves all four kinds.
pub(crate) fn number(op: &Op) -> u64 {
    match op {
        Op::List(op) => op.id.get(),
        Op::Read(op) => op.id.get(),
        Op::Remove(op) => op.id.get(),
        Op::Write(op) => op.id.get(),
    }
}
