//! What a session may ask of a store that is of no use to it, counted from outside.
//!
//! Since the last useful answer: some requests ahead of it, and from then on so many a second. What the node's own
//! lease needs, and what clears a probe away, is not counted.

use tenure_core::{Config, Event, Instant, ListReply, Op, ReadReply, WriteReply};

use crate::node::Session;

/// The requests that a session has sent since it last had a useful answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ration {
    sent: u32,
    since: Instant,
}

/// How many requests may be sent ahead of useful answers.
pub(crate) const AHEAD: u32 = 32;

impl Ration {
    /// Takes what a session is told.
    pub(crate) fn told(&mut self, event: &Event, now: Instant) {
        if is_useful(event) {
            *self = Self { sent: 0, since: now };
        }
    }

    /// Counts a request; returns how many have been sent by now.
    pub(crate) fn sent(&mut self, session: &Session, op: &Op) -> u32 {
        let is_counted = match op {
            Op::List(_) => true,
            Op::Read(op) => op.key != *session.lease_key(),
            Op::Remove(_) => false,
            Op::Write(op) => op.key != *session.lease_key() && !op.key.as_str().starts_with("probe/"),
        };
        self.sent += u32::from(is_counted);
        self.sent
    }

    /// Tells whether more have been sent than may be ahead of an answer.
    pub(crate) const fn is_used_up(&self) -> bool {
        self.sent > AHEAD
    }

    /// Returns how many may have been sent by now.
    pub(crate) fn most(&self, config: &Config, now: Instant) -> u32 {
        let Some(rate) = config.trouble_rate else { return u32::MAX };
        let trickle = now.since(self.since).as_nanos() * u128::from(rate.get()) / 1_000_000_000;
        // One, because the first of them need not wait.
        AHEAD + 1 + u32::try_from(trickle).unwrap_or(u32::MAX >> 1)
    }
}

/// Tells whether an answer was served, rather than failed, throttled, refused or lost.
fn is_useful(event: &Event) -> bool {
    match event {
        Event::ListDone(_, reply) => matches!(reply, ListReply::Page(_)),
        Event::ReadDone(_, reply) => !matches!(reply, ReadReply::Failed(_) | ReadReply::Throttled { .. }),
        Event::WriteDone(_, reply) => {
            matches!(reply, WriteReply::Applied { .. } | WriteReply::Conflict | WriteReply::Rejected)
        }
        Event::Call(..) | Event::Cancel(_) | Event::RemoveDone(..) | Event::Wake => false,
    }
}
