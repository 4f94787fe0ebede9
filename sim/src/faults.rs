//! What goes wrong between a node and the store, and with the node itself: rates, and one request's fate.

use core::time::Duration;

use tenure_core::{Fault, FaultKind, ListReply, Op, ReadReply, RemoveReply, Reply, WriteReply};

use crate::choices::{Choices, Draw, Rate};

/// How often each thing goes wrong, and how badly.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Faults {
    /// A request never arrives.
    pub request_lost: Rate,
    /// A request is served, its answer never arrives.
    pub reply_lost: Rate,
    /// A write arrives after its sender has given up, by up to `lateness`.
    pub lands_late: Rate,
    /// How late a late write may land.
    pub lateness: Duration,
    /// A request arrives twice, the second time up to `lateness` later.
    pub duplicated: Rate,
    /// An answer that comes after its sender has given up reaches the engine all the same.
    pub answered_twice: Rate,
    /// A request or an answer takes up to `slowness`.
    pub slow: Rate,
    /// How slow a slow request is.
    pub slowness: Duration,
    /// A read or listing is evaluated, and its `Date` stamped up to `slowness` later.
    pub dated_late: Rate,
    /// A write meets a concurrent operation (409).
    pub conflict: Rate,
    /// The store asks to slow down, with or without saying for how long.
    pub throttled: Rate,
    /// The store fails before it applies a write, or instead of answering a read.
    pub failed_before: Rate,
    /// The store fails after it applied a write.
    pub failed_after: Rate,
    /// A write certainly does not leave the machine.
    pub not_applied: Rate,
    /// The store refuses a request: credentials, or a rule of a proxy.
    pub refused: Rate,
    /// What one application says to another is lost.
    pub message_lost: Rate,
    /// A node wakes later than it asked to, by up to `slowness`.
    pub wakes_late: Rate,
    /// A node wakes although nothing is due.
    pub wakes_early: Rate,
    /// How often a machine is considered for one of the next faults; zero for never.
    pub every: Duration,
    /// A process stands still for less than a third of a ttl.
    pub short_pause: Rate,
    /// A process stands still for up to two and a half ttl.
    pub long_pause: Rate,
    /// A process stands still as soon as it has learned that its lease is renewed.
    pub stall: Rate,
    /// The same, if the renewal took long: what made it slow goes on.
    pub stall_when_slow: Rate,
    /// A process dies with its requests in flight.
    pub crash: Rate,
    /// A wall clock jumps by up to hours.
    pub jump: Rate,
    /// Somebody removes a lease behind the protocol's back.
    pub lease_removed: Rate,
    /// Somebody removes an owner record behind the protocol's back.
    pub record_removed: Rate,
    /// Somebody puts an earlier version of an owner record back.
    pub record_restored: Rate,
}

/// What will happen to one request.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    /// How long it takes to arrive; nothing if it is lost.
    pub(crate) arrives: Option<Duration>,
    /// When it arrives a second time, if it does.
    pub(crate) again: Option<Duration>,
    /// What the store does with its first arrival; it always serves the second.
    pub(crate) service: Service,
    /// How long the answer takes; nothing if it is lost.
    pub(crate) returns: Option<Duration>,
    /// Whether it is the second arrival that is answered, as when a layer below resends.
    pub(crate) answers_second: bool,
    /// How much later than the evaluation the answer is dated.
    pub(crate) date_later: Duration,
}

/// What the store does with a request that arrives.
#[derive(Clone, Debug)]
pub(crate) enum Service {
    /// It serves it.
    Served,
    /// It serves it and then fails.
    ServedThenFailed,
    /// It answers this instead.
    Instead(Reply),
}

impl Fate {
    /// Returns how long after the sending the answer arrives, if it does.
    pub(crate) fn answered(&self) -> Option<Duration> {
        let served = if self.answers_second { self.again? } else { self.arrives? };
        Some(served + self.date_later + self.returns?)
    }
}

impl Faults {
    /// Draws the fate of a request that its sender gives up on after `timeout`.
    pub(crate) fn fate(&self, op: &Op, latency: Duration, choices: &mut impl Choices) -> Fate {
        let is_write = matches!(op, Op::Write(_));
        let service = self.service(op, choices);
        let mut arrives = Some(choices.between(latency / 8, latency));
        let mut returns = Some(choices.between(latency / 8, latency));
        if choices.happens(self.slow) {
            let slow = choices.between(latency, self.slowness);
            if choices.number(2) == 0 { arrives = Some(slow) } else { returns = Some(slow) }
        }
        if choices.happens(self.request_lost) {
            arrives = None;
        }
        if choices.happens(self.reply_lost) {
            returns = None;
        }
        if is_write && choices.happens(self.lands_late) {
            arrives = Some(timeout(op) + choices.between(Duration::ZERO, self.lateness));
        }
        // What was answered with a certain no must not be applied after all by a copy.
        let may_double = match &service {
            Service::Served | Service::ServedThenFailed => true,
            Service::Instead(reply) => matches!(reply, Reply::Write(WriteReply::Unknown(_))),
        };
        let again = (may_double && arrives.is_some() && choices.happens(self.duplicated)).then(|| {
            let most = if choices.number(2) == 0 { latency * 4 } else { self.lateness };
            arrives.unwrap_or_default() + choices.between(Duration::ZERO, most)
        });
        let answers_second = again.is_some() && choices.number(2) == 1;
        let date_later = if !is_write && choices.happens(self.dated_late) {
            choices.between(latency, self.slowness)
        } else {
            Duration::ZERO
        };
        Fate { arrives, again, service, returns, answers_second, date_later }
    }

    fn service(&self, op: &Op, choices: &mut impl Choices) -> Service {
        let is_write = matches!(op, Op::Write(_));
        if is_write && choices.happens(self.conflict) {
            return Service::Instead(Reply::Write(WriteReply::Conflict));
        }
        if choices.happens(self.throttled) {
            let after = match choices.number(3) {
                0 => None,
                tenths => Some(Duration::from_millis(500 * tenths as u64)),
            };
            return Service::Instead(throttled(op, after));
        }
        if choices.happens(self.failed_before) {
            return Service::Instead(failed(op, FaultKind::Unavailable));
        }
        if is_write && choices.happens(self.failed_after) {
            return Service::ServedThenFailed;
        }
        if is_write && choices.happens(self.not_applied) {
            return Service::Instead(Reply::Write(WriteReply::NotApplied(fault(FaultKind::Network))));
        }
        if choices.happens(self.refused) {
            return Service::Instead(refused(op));
        }
        Service::Served
    }
}

/// Returns how long the sender of a request waits for its answer.
pub(crate) const fn timeout(op: &Op) -> Duration {
    match op {
        Op::List(op) => op.timeout,
        Op::Read(op) => op.timeout,
        Op::Remove(op) => op.timeout,
        Op::Write(op) => op.timeout,
    }
}

/// Returns the answer to a request of which nothing more is known than that it failed.
pub(crate) fn failed(op: &Op, kind: FaultKind) -> Reply {
    match op {
        Op::List(_) => Reply::List(ListReply::Failed(fault(kind))),
        Op::Read(_) => Reply::Read(ReadReply::Failed(fault(kind))),
        Op::Remove(_) => Reply::Remove(RemoveReply::Failed(fault(kind))),
        Op::Write(_) => Reply::Write(WriteReply::Unknown(fault(kind))),
    }
}

fn refused(op: &Op) -> Reply {
    match op {
        Op::List(_) | Op::Read(_) | Op::Remove(_) => failed(op, FaultKind::Denied),
        Op::Write(_) => Reply::Write(WriteReply::Refused(fault(FaultKind::Denied))),
    }
}

fn throttled(op: &Op, after: Option<Duration>) -> Reply {
    match op {
        Op::List(_) => Reply::List(ListReply::Throttled { after }),
        Op::Read(_) => Reply::Read(ReadReply::Throttled { after }),
        Op::Remove(_) => failed(op, FaultKind::Throttled),
        Op::Write(_) => Reply::Write(WriteReply::Throttled { after }),
    }
}

fn fault(kind: FaultKind) -> Fault {
    thread_local! {
        // The detail is for people; one shared empty text keeps faults free of allocation.
        static NO_DETAIL: std::sync::Arc<str> = "".into();
    }
    Fault::new(kind, NO_DETAIL.with(Clone::clone))
}
