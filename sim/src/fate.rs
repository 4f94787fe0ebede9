//! What will happen to one request, drawn when it is sent: whether and when it arrives, what the store does
//! with it, and what becomes of the answer.

use core::time::Duration;

use tenure_core::{Fault, FaultKind, Guard, ListReply, Op, ReadReply, RemoveReply, Reply, WriteReply};

use crate::choices::{Choices, Draw};
use crate::faults::Faults;
use crate::garble::Garble;

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
    /// What the answer turns into.
    pub(crate) garbles: Option<Box<Garble>>,
    /// Which entries of a listing are missing, as bits.
    pub(crate) hides: u32,
    /// How long ago was so what a listing shows.
    pub(crate) stale: Duration,
}

/// What the store does with a request that arrives.
#[derive(Clone, Debug)]
pub(crate) enum Service {
    /// It serves it.
    Served,
    /// It serves it, and its answer says no more than that something went wrong.
    ServedThen(FaultKind),
    /// It answers this instead. Boxed: most requests are served, and every one of them carries its fate along.
    Instead(Box<Reply>),
}

impl Service {
    /// Answers this instead.
    pub(crate) fn instead(reply: Reply) -> Self {
        Self::Instead(Box::new(reply))
    }
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
            Service::Served | Service::ServedThen(_) => true,
            Service::Instead(reply) => matches!(**reply, Reply::Write(WriteReply::Unknown(_))),
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
        let mut fate = Fate {
            arrives,
            again,
            service,
            returns,
            answers_second,
            date_later,
            garbles: None,
            hides: 0,
            stale: Duration::ZERO,
        };
        match op {
            Op::List(_) => {
                if choices.happens(self.page_short) {
                    fate.hides = choices.number(1 << 16) as u32;
                }
                if choices.happens(self.page_stale) {
                    fate.stale = choices.between(Duration::ZERO, self.lateness);
                }
            }
            Op::Read(_) if choices.happens(self.garbled) => {
                fate.garbles = Some(Box::new(Garble::draw(self.garbled_for, choices)));
            }
            Op::Read(_) | Op::Remove(_) | Op::Write(_) => {}
        }
        fate
    }

    fn service(&self, op: &Op, choices: &mut impl Choices) -> Service {
        let is_write = matches!(op, Op::Write(_));
        if is_write && choices.happens(self.conflict) {
            return Service::instead(Reply::Write(WriteReply::Conflict));
        }
        if is_guarded(op) && choices.happens(self.rejected_wrongly) {
            return Service::instead(Reply::Write(WriteReply::Rejected));
        }
        if choices.happens(self.throttled) {
            let after = match choices.number(3) {
                0 => None,
                tenths => Some(Duration::from_millis(500 * tenths as u64)),
            };
            return Service::instead(throttled(op, after));
        }
        if choices.happens(self.throttled_long) {
            let after = choices.between(self.throttle / 2, self.throttle);
            return Service::instead(throttled(op, Some(after)));
        }
        if choices.happens(self.failed_before) {
            return Service::instead(failed(op, FaultKind::Unavailable));
        }
        if is_write && choices.happens(self.failed_after) {
            return Service::ServedThen(FaultKind::Unavailable);
        }
        if choices.happens(self.untagged) {
            return Service::ServedThen(FaultKind::Malformed);
        }
        if choices.happens(self.cut) {
            return Service::ServedThen(FaultKind::Network);
        }
        if matches!(op, Op::List(op) if op.after.is_some()) && choices.happens(self.page_failed) {
            return Service::instead(failed(op, FaultKind::Unavailable));
        }
        if is_write && choices.happens(self.not_applied) {
            return Service::instead(Reply::Write(WriteReply::NotApplied(fault(FaultKind::Network))));
        }
        if choices.happens(self.refused) {
            return Service::instead(refused(op));
        }
        Service::Served
    }
}

/// Tells whether this is a write under a tag.
pub(crate) fn is_guarded(op: &Op) -> bool {
    matches!(op, Op::Write(op) if matches!(op.guard, Guard::Match(_)))
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

pub(crate) fn refused(op: &Op) -> Reply {
    match op {
        Op::List(_) | Op::Read(_) | Op::Remove(_) => failed(op, FaultKind::Denied),
        Op::Write(_) => Reply::Write(WriteReply::Refused(fault(FaultKind::Denied))),
    }
}

pub(crate) fn throttled(op: &Op, after: Option<Duration>) -> Reply {
    match op {
        Op::List(_) => Reply::List(ListReply::Throttled { after }),
        Op::Read(_) => Reply::Read(ReadReply::Throttled { after }),
        Op::Remove(_) => failed(op, FaultKind::Throttled),
        Op::Write(_) => Reply::Write(WriteReply::Throttled { after }),
    }
}

pub(crate) fn fault(kind: FaultKind) -> Fault {
    thread_local! {
        // The detail is for people; one shared empty text keeps faults free of allocation.
        static NO_DETAIL: std::sync::Arc<str> = "".into();
    }
    Fault::new(kind, NO_DETAIL.with(Clone::clone))
}
