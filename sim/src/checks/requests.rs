//! A node is sparing with requests: one write in flight per record, rest for a throttled key, no endless retry, and
//! a bounded rate for a store that is of no use. And what its lease needs comes before anything else.
//!
//! The budget of a key is a bucket that fills with each request for it and empties with time and with the
//! application's calls. It follows from the protocol: a claim that waits looks at the record once in each poll
//! interval, and judges its holder; a renewal comes three times in a ttl, which is no more often; what fails is tried
//! again after a delay that doubles, so that it costs a bounded number of requests before it is as rare as a poll; and
//! a call costs a read, a judgement, a write and what settles it, and up to sixteen lost races. Only a renewal that
//! fails is tried again sooner and sooner: after an eighth of what is left of the authority each time.

use core::time::Duration;
use std::sync::Arc;

use tenure_core::{Config, Event, Instant, Key, Notice, Op, WriteOp, WriteReply};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::node::Session;
use crate::ration::Ration;
use crate::trace::Request;
use crate::view::{Step, View};

/// Counts the requests of each session, by the key that they are for.
#[derive(Debug, Default)]
pub struct Requests {
    memories: Vec<Memory>,
}

#[derive(Clone, Debug, Default)]
struct Memory {
    /// Writes that have not been answered.
    open: Vec<WriteOp>,
    /// Writes that the store asked to put off, and until when.
    rests: Vec<(Arc<[u8]>, Instant)>,
    buckets: Vec<Bucket>,
    ration: Ration,
    /// When the lease was last written.
    renewed: Option<Instant>,
}

/// What has been asked for one key lately.
#[derive(Clone, Debug)]
struct Bucket {
    key: Key,
    /// In thousandths of a request.
    level: u64,
    at: Instant,
}

impl Check for Requests {
    fn kinds(&self) -> Kinds {
        Kinds::ASKED
            .and(Kinds::CLONED)
            .and(Kinds::HANDLED)
            .and(Kinds::NOTICED)
            .and(Kinds::SENT)
            .and(Kinds::TOLD)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Some(session), Some(actor)) = (view.session(), view.actor) else { return Ok(()) };
        if self.memories.len() <= actor {
            self.memories.resize(actor + 1, Memory::default());
        }
        if let Step::Cloned(of) = view.step {
            self.memories[actor] = self.memories[*of].clone();
            return Ok(());
        }
        let memory = &mut self.memories[actor];
        match view.step {
            Step::Asked(..) => memory.asked(),
            Step::Handled { now, .. } => memory.handled(&view.scenario.config, session, now.mono)?,
            Step::Noticed(Notice::Fenced(_)) => *memory = Memory::default(),
            Step::Sent(op) => {
                return memory.sent(view, session, op).map_err(|why| {
                    let why = format_args!("session {}: {why}: {}", actor + 1, Request(op));
                    Violation::new("requests", why)
                });
            }
            Step::Told(event) => memory.told(event, view.now(session).mono),
            _ => {}
        }
        Ok(())
    }
}

impl Memory {
    fn asked(&mut self) {
        for bucket in &mut self.buckets {
            bucket.level = bucket.level.saturating_sub(PER_CALL * REQUEST);
        }
    }

    /// Demands that a lease that is due has been tried to renew.
    fn handled(&self, config: &Config, session: &Session, now: Instant) -> Result<(), Violation> {
        let Some(until) = session.engine().authority() else { return Ok(()) };
        let counts_from = until.after(config.margin_hold).before(config.ttl);
        let is_due = now > counts_from.after(config.renew_every() * 11 / 10);
        if is_due && self.renewed.is_some_and(|at| at <= counts_from) {
            let why = format_args!("{} is due to renew its lease and does not try", session.id());
            return Err(Violation::new("requests", why));
        }
        Ok(())
    }

    fn told(&mut self, event: &Event, now: Instant) {
        self.ration.told(event, now);
        let Event::WriteDone(id, reply) = event else { return };
        let Some(place) = self.open.iter().position(|open| open.id == *id) else { return };
        let op = self.open.swap_remove(place);
        if let WriteReply::Throttled { after } = reply {
            self.rests.push((op.body, now.after(after.unwrap_or_default().clamp(REST, REST_MAX))));
        }
    }

    fn sent(&mut self, view: &View<'_>, session: &Session, op: &Op) -> Result<(), &'static str> {
        let now = view.now(session).mono;
        let config = &view.scenario.config;
        if self.ration.sent(session, op) > self.ration.most(config, now) {
            return Err("more requests than a store gets that is of no use");
        }
        match op {
            Op::Read(op) => self.pay(&op.key, now, config.poll, burst(session, config, &op.key)),
            Op::Write(op) => {
                // A renewal leaves room for one more attempt before authority ends, however little rest that allows.
                let is_urgent = op.key == *session.lease_key()
                    && session
                        .engine()
                        .authority()
                        .is_none_or(|until| now >= until.before(config.attempt_timeout));
                if op.key == *session.lease_key() {
                    self.renewed = Some(now);
                }
                self.rests.retain(|(_, until)| now < *until);
                if self.rests.iter().any(|(body, _)| *body == op.body) && !is_urgent {
                    return Err("a throttled write is sent again before it has rested");
                }
                if self.open.iter().any(|open| open.key == op.key) {
                    return Err("a second write to a record while the first is in flight");
                }
                self.open.push(op.clone());
                self.pay(&op.key, now, config.poll, burst(session, config, &op.key))
            }
            Op::List(_) | Op::Remove(_) => Ok(()),
        }
    }

    fn pay(&mut self, key: &Key, now: Instant, poll: Duration, burst: u64) -> Result<(), &'static str> {
        let bucket = match self.buckets.iter_mut().position(|bucket| bucket.key == *key) {
            Some(place) => &mut self.buckets[place],
            None => {
                self.buckets.push(Bucket { key: key.clone(), level: 0, at: now });
                self.buckets.last_mut().expect("just pushed")
            }
        };
        let gone = now.since(bucket.at).as_nanos() * u128::from(PER_POLL * REQUEST) / poll.as_nanos().max(1);
        bucket.level = bucket.level.saturating_sub(u64::try_from(gone).unwrap_or(u64::MAX)) + REQUEST;
        bucket.at = now;
        if bucket.level > burst * REQUEST { Err("more requests than its budget allows") } else { Ok(()) }
    }
}

/// Returns how many requests for a key may come at once.
fn burst(session: &Session, config: &Config, key: &Key) -> u64 {
    if key == session.lease_key() { BURST + 2 * last_tries(config.ttl) } else { BURST }
}

/// Returns how often a renewal may fail before authority ends. Each try is a write or a read, or both if the write is
/// rejected.
fn last_tries(ttl: Duration) -> u64 {
    let pauses = core::iter::successors(Some(ttl), |left| {
        let pause = (*left / 8).max(BREATH);
        left.checked_sub(pause)
    });
    pauses.count() as u64
}

/// One request, in the units of a bucket's level.
const REQUEST: u64 = 1000;

/// How many requests for one key a poll interval pays for: a look, a second one to settle, a write.
const PER_POLL: u64 = 3;

/// How many requests for one key a call pays for.
const PER_CALL: u64 = 6;

/// How many requests for one key may come at once.
const BURST: u64 = 16;

/// The shortest pause before a renewal is tried again.
const BREATH: Duration = Duration::from_millis(20);

/// How long a throttled key rests at least.
const REST: Duration = Duration::from_secs(1);

/// How long it rests at most, however long the store asks for.
const REST_MAX: Duration = Duration::from_secs(60);
