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

use tenure_core::{AttemptId, Config, Event, Instant, Key, Notice, Op, WriteReply};

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
    /// How many requests for its own lease a node may make at once, once that is known: the same for all.
    lease_burst: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Memory {
    /// Writes that have not been answered.
    open: Vec<Attempt>,
    /// Writes that the store asked to put off, and until when.
    rests: Vec<(Arc<[u8]>, Instant)>,
    buckets: Vec<Bucket>,
    ration: Ration,
    /// When the lease was last written.
    renewed: Option<Instant>,
    /// When something else was sent although it was due again.
    late: Option<Instant>,
}

/// A write under way.
#[derive(Clone, Debug)]
struct Attempt {
    id: AttemptId,
    key: Key,
    body: Arc<[u8]>,
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
            .and(Kinds::NOTICED)
            .and(Kinds::SENT_LIST)
            .and(Kinds::SENT_READ)
            .and(Kinds::SENT_WRITE)
            .and(Kinds::TOLD_LIST)
            .and(Kinds::TOLD_READ)
            .and(Kinds::TOLD_WRITE)
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
        let ttl = view.scenario.config.ttl;
        let memory = &mut self.memories[actor];
        match view.step {
            Step::Asked(..) => memory.asked(),
            Step::Noticed(Notice::Fenced(_)) => *memory = Memory::default(),
            Step::Sent(op) => {
                let lease_burst = *self.lease_burst.get_or_insert_with(|| BURST + 2 * last_tries(ttl));
                return memory.sent(view, session, op, lease_burst).map_err(|why| {
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

    fn told(&mut self, event: &Event, now: Instant) {
        self.ration.told(event, now);
        let Event::WriteDone(id, reply) = event else { return };
        let Some(place) = self.open.iter().position(|open| open.id == *id) else { return };
        let Attempt { body, .. } = self.open.swap_remove(place);
        if let WriteReply::Throttled { after } = reply {
            self.rests.push((body, now.after(after.unwrap_or_default().clamp(REST, REST_MAX))));
        }
    }

    fn sent(
        &mut self,
        view: &View<'_>,
        session: &Session,
        op: &Op,
        lease_burst: u64,
    ) -> Result<(), &'static str> {
        let now = view.now(session).mono;
        let config = &view.scenario.config;
        let burst = |key: &Key| if key == session.lease_key() { lease_burst } else { BURST };
        if self.ration.sent(session, op) > self.ration.most(config, now) {
            return Err("more requests than a store gets that is of no use");
        }
        if self.is_lease_late(config, session, now) {
            return Err("the lease is due and was not tried, and yet something else is sent");
        }
        match op {
            Op::Read(op) => self.pay(&op.key, now, config.poll, burst(&op.key)),
            Op::Write(op) => {
                if op.key == *session.lease_key() {
                    (self.renewed, self.late) = (Some(now), None);
                }
                self.rests.retain(|(_, until)| now < *until);
                if self.rests.iter().any(|(body, _)| *body == op.body) {
                    // A renewal leaves room for one more attempt before authority ends, however little rest that allows.
                    let leaves_room = |until: Instant| now < until.before(config.attempt_timeout);
                    if op.key != *session.lease_key() || session.engine().authority().is_some_and(leaves_room)
                    {
                        return Err("a throttled write is sent again before it has rested");
                    }
                }
                if self.open.iter().any(|open| open.key == op.key) {
                    return Err("a second write to a record while the first is in flight");
                }
                self.open.push(Attempt { id: op.id, key: op.key.clone(), body: op.body.clone() });
                self.pay(&op.key, now, config.poll, burst(&op.key))
            }
            Op::List(_) | Op::Remove(_) => Ok(()),
        }
    }

    /// Tells whether the lease was due at an earlier moment already and has not been tried since. What is sent at the
    /// very moment at which it is may come first.
    fn is_lease_late(&mut self, config: &Config, session: &Session, now: Instant) -> bool {
        let (Some(until), Some(renewed)) = (session.engine().authority(), self.renewed) else { return false };
        let counts_from = until.after(config.margin_hold).before(config.ttl);
        let is_due = now > counts_from.after(config.renew_every() * 11 / 10) && renewed <= counts_from;
        is_due && *self.late.get_or_insert(now) < now
    }

    fn pay(&mut self, key: &Key, now: Instant, poll: Duration, burst: u64) -> Result<(), &'static str> {
        let bucket = match self.buckets.iter_mut().position(|bucket| bucket.key == *key) {
            Some(place) => &mut self.buckets[place],
            None => {
                self.buckets.push(Bucket { key: key.clone(), level: 0, at: now });
                self.buckets.last_mut().expect("just pushed")
            }
        };
        // In 64 bits, since a longer division is slow: more than two months would count as that.
        let gone = nanos(now.since(bucket.at)).saturating_mul(PER_POLL * REQUEST) / nanos(poll).max(1);
        bucket.level = bucket.level.saturating_sub(gone) + REQUEST;
        bucket.at = now;
        if bucket.level > burst * REQUEST { Err("more requests than its budget allows") } else { Ok(()) }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
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
