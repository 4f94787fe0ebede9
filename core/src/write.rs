//! One write, from its first attempt until its fate is certain.
//!
//! A reply speaks for one attempt; a write is settled only by `Applied`, or by a read, issued after an
//! attempt was sent, that shows its bytes or another version than the guarded one. Finding the guarded
//! version still there proves nothing, since an attempt may still be on its way: the same bytes are sent
//! again under the same guard until the tag moves. Leases, claims, releases, transfers and tombstones all
//! settle here and nowhere else.
//!
//! Bytes that are no record of this key prove nothing, however often they come: the answer may be garbage as well as
//! the record, and no read can tell which. Only who waits is told that the record seems corrupt.
//!
//! ```text
//!            +----------- still the guarded version -----------+
//!            v                                                 |
//!   start -> Sent --- unknown, rejected, conflict ---------> Reading --- ours ----> Applied
//!            |  ^                                              |  ^
//!            |  +-- throttled, not applied: Paused(Send)       |  +-- failed: Paused(Read)
//!            v                                                 v
//!          Applied, Refused                                   Lost            garbage: Paused(Read)
//! ```

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use core::time::Duration;

use crate::budget::Lane;
use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::error::BadRecord;
use crate::id::{ETag, NodeId};
use crate::record::{LeaseRecord, OwnerRecord, RecordError, check_record};
use crate::store::{AttemptId, Fault, FaultKind, Guard, Key, ReadId, ReadReply, WriteReply};
use crate::time::{Deadline, Instant, Timer};

/// What is to be written.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) target: Target,
    pub(crate) key: Key,
    pub(crate) guard: Guard,
    pub(crate) body: Arc<[u8]>,
    /// The authority that ends if this write is not settled in time; delays are scaled to what is left of it.
    pub(crate) urgent: Option<Instant>,
}

/// What became of a write.
#[derive(Debug)]
pub(crate) enum Fate {
    /// In the store. Authority may count from this time: the first attempt's send, or the send of the
    /// attempt that itself answered `Applied`.
    Applied { etag: ETag, counts_from: Instant },
    /// Not in the store and never will be: the record has moved on to this, which is a record.
    Lost(Current),
    /// Not known yet.
    Pending,
    /// Certainly not in the store, and never acceptable as it is.
    Refused(Fault),
}

/// What a read showed under a key.
#[derive(Debug)]
pub(crate) enum Current {
    Missing,
    Version { etag: ETag, body: Box<[u8]> },
}

impl Current {
    /// Returns the node that the record names, if it is an owner record that names one.
    pub(crate) fn holder(&self) -> Option<NodeId> {
        match self {
            Self::Missing => None,
            Self::Version { body, .. } => OwnerRecord::parse(body).ok()?.node,
        }
    }
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Write {
    target: Target,
    key: Key,
    guard: Guard,
    body: Arc<[u8]>,
    urgent: Option<Instant>,
    first_sent: Instant,
    /// When the current attempt was sent.
    sent: Instant,
    phase: Phase,
    /// Whether some attempt may still land, or has.
    is_unsettled: bool,
    /// Whether a read has yet to tell what won: it may be an earlier copy of ours, even one that a layer below
    /// sent on its own.
    was_rejected: bool,
    /// Whether an attempt was put off or interfered with, and no read has shown since that the write was not applied all
    /// the same: some stores ask to slow down when too few of their disks have confirmed a write, and what interferes
    /// may be another copy of ours that a layer below sent on its own.
    was_put_off: bool,
    failures: u32,
    /// What the last reads showed instead of a record, if they did.
    garbage: Option<Box<Garbage>>,
    /// Whether anybody still wants it: if not, it is not sent again once no attempt can land.
    pub(crate) is_wanted: bool,
    pub(crate) conflicts: u32,
    /// How often the store rejected the guard and then showed that it holds.
    pub(crate) contradictions: u32,
    pub(crate) last_fault: Option<Fault>,
}

/// Bytes that are no record, under one tag.
#[derive(Clone, Debug, Hash)]
struct Garbage {
    etag: ETag,
    why: RecordError,
    /// How many answers in a row showed some.
    shown: u32,
}

#[derive(Clone, Copy, Debug, Hash)]
enum Phase {
    Paused(Then, Instant),
    Reading(ReadId),
    Sent(AttemptId),
}

#[derive(Clone, Copy, Debug, Hash)]
enum Then {
    Read,
    Send,
}

impl Write {
    /// Sends the first attempt.
    pub(crate) fn start(order: Order, env: &mut Env) -> Self {
        let Order { target, key, guard, body, urgent } = order;
        let lane = target.lane();
        let id = env.write_in(lane, target.clone(), key.clone(), guard.clone(), body.clone(), urgent);
        Self {
            target,
            key,
            guard,
            body,
            urgent,
            first_sent: env.mono(),
            sent: env.mono(),
            phase: Phase::Sent(id),
            is_unsettled: false,
            was_rejected: false,
            was_put_off: false,
            failures: 0,
            garbage: None,
            is_wanted: true,
            conflicts: 0,
            contradictions: 0,
            last_fault: None,
        }
    }

    pub(crate) fn on_write(&mut self, id: AttemptId, reply: WriteReply, env: &mut Env) -> Fate {
        if !matches!(self.phase, Phase::Sent(sent) if sent == id) {
            // A late reply to an attempt that was given up on; the write is being settled by other means.
            return Fate::Pending;
        }
        match reply {
            // The store gives none, or a join would have been refused: it is a proxy that says so, or that made it weak.
            WriteReply::Applied { etag } if etag.is_weak() => {
                self.unknown(Fault::new(FaultKind::Malformed, "applied under a weak etag"), env);
            }
            WriteReply::Applied { etag } => {
                let counts_from = if env.has(Defect::TtlFromReply) { env.mono() } else { self.sent };
                return Fate::Applied { etag, counts_from };
            }
            WriteReply::Conflict if env.has(Defect::ConflictIsLost) => return Fate::Lost(Current::Missing),
            WriteReply::Conflict => {
                self.conflicts += 1;
                self.was_put_off = true;
                self.read(env);
            }
            WriteReply::NotApplied(fault) => self.failed(fault, Then::Send, env),
            WriteReply::Refused(fault) if env.has(Defect::RefusedSettles) => return Fate::Refused(fault),
            WriteReply::Refused(fault) if self.is_unsettled || self.was_put_off => {
                self.failed(fault, Then::Read, env);
            }
            WriteReply::Refused(fault) => return Fate::Refused(fault),
            WriteReply::Rejected if env.has(Defect::RejectedIsLost) => return Fate::Lost(Current::Missing),
            WriteReply::Rejected => {
                self.was_rejected = true;
                self.read(env);
            }
            WriteReply::Throttled { after } => {
                self.was_put_off = true;
                self.last_fault = Some(Fault::new(FaultKind::Throttled, ""));
                self.throttled(after, Then::Send, env);
            }
            WriteReply::Unknown(_) if env.has(Defect::UnknownIsLost) => return Fate::Lost(Current::Missing),
            WriteReply::Unknown(_) if env.has(Defect::UnknownIsApplied) => {
                return Fate::Applied { etag: self.assumed_tag(), counts_from: self.sent };
            }
            WriteReply::Unknown(fault) if env.has(Defect::UnknownIsNotApplied) => {
                self.failed(fault, Then::Send, env);
            }
            WriteReply::Unknown(fault) => self.unknown(fault, env),
        }
        Fate::Pending
    }

    pub(crate) fn on_read(&mut self, id: ReadId, reply: ReadReply, env: &mut Env) -> Fate {
        if !matches!(self.phase, Phase::Reading(reading) if reading == id) {
            return Fate::Pending;
        }
        match reply {
            ReadReply::Failed(fault) => self.failed(fault, Then::Read, env),
            ReadReply::Found { etag, body, .. } => {
                if *body == *self.body || (env.has(Defect::AdoptByName) && names(&body, env)) {
                    let last = env.has(Defect::TtlFromLastAttempt);
                    let counts_from = if last { self.sent } else { self.first_sent };
                    return Fate::Applied { etag, counts_from };
                }
                if self.is_guarded(&etag) && !env.has(Defect::TrustOldTag) {
                    self.still_guarded(env);
                } else if let Err(why) = check_record(&self.key, &body)
                    && !(env.has(Defect::GarbageSettles) && self.is_corrupt())
                {
                    self.garbled(etag, why, env);
                } else {
                    return Fate::Lost(Current::Version { etag, body });
                }
            }
            ReadReply::Missing if self.guard == Guard::Absent && !env.has(Defect::TrustOldTag) => {
                self.still_guarded(env);
            }
            ReadReply::Missing => return Fate::Lost(Current::Missing),
            ReadReply::Throttled { after } => self.throttled(after, Then::Read, env),
            // The read asked for no version in particular, so this answer makes no sense.
            ReadReply::Unchanged(_) => {
                self.failed(
                    Fault::new(FaultKind::Malformed, "304 to an unconditional read"),
                    Then::Read,
                    env,
                );
            }
        }
        Fate::Pending
    }

    pub(crate) fn on_wake(&mut self, env: &mut Env) {
        match self.phase {
            Phase::Paused(then, at) if at <= env.mono() => match then {
                Then::Send if self.is_wanted || !self.was_put_off => self.send(env),
                // Not for the sake of being applied, but to know that it was not.
                Then::Read | Then::Send => self.read(env),
            },
            Phase::Paused(..) | Phase::Reading(_) | Phase::Sent(_) => {}
        }
    }

    /// Tells whether something will move this write on: an answer to come, or a time.
    pub(crate) fn is_awake(&self, env: &Env) -> bool {
        match self.phase {
            Phase::Paused(..) => true,
            Phase::Reading(id) => env.reads_for(id) == Some(&self.target),
            Phase::Sent(id) => env.writes_for(id) == Some(&self.target),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        match self.phase {
            Phase::Paused(_, at) => Some(Deadline { at, timer: Timer::Retry }),
            Phase::Reading(_) | Phase::Sent(_) => None,
        }
    }

    /// Tells whether giving up now leaves nothing behind: no attempt may still land.
    pub(crate) fn is_harmless(&self, env: &Env) -> bool {
        let is_open = self.is_unsettled || self.was_rejected || self.was_put_off;
        !is_open && !matches!(self.phase, Phase::Sent(id) if !env.is_waiting(id))
    }

    /// Tells whether it awaits the answer to the request of this number.
    pub(crate) fn awaits(&self, number: u64) -> bool {
        match self.phase {
            Phase::Paused(..) => false,
            Phase::Reading(id) => id.get() == number,
            Phase::Sent(id) => id.get() == number,
        }
    }

    /// Tells whether an attempt is on its way.
    pub(crate) fn is_sent(&self) -> bool {
        matches!(self.phase, Phase::Sent(_))
    }

    pub(crate) fn first_sent(&self) -> Instant {
        self.first_sent
    }

    /// Returns what to tell a caller who waits no longer.
    pub(crate) fn fault(&self, env: &Env) -> Fault {
        self.last_fault.clone().unwrap_or_else(|| env.trouble(&self.key))
    }

    /// Returns what is wrong with a store that rejects this write while its guard holds.
    pub(crate) fn contradiction(&self) -> &'static str {
        match &self.guard {
            Guard::Match(etag) if etag.is_weak() => {
                "it, or a proxy before it, gives weak etags, which no compare-and-swap can match"
            }
            Guard::Absent => "it rejects a create, and shows nothing there when it is read",
            Guard::Match(_) => "it rejects an update of the very version that it shows when it is read",
        }
    }

    /// Returns how the record is corrupt, as it seems: the last reads showed garbage time after time, under one tag that
    /// is not the guarded one. It may be our own version that each answer garbles, so this settles nothing.
    pub(crate) fn corrupt(&self) -> Option<BadRecord> {
        let garbage = self.garbage.as_ref().filter(|_| self.is_corrupt())?;
        let (key, etag) = (self.key.clone(), garbage.etag.clone());
        Some(BadRecord::Corrupt { key, etag, why: garbage.why.to_string() })
    }

    pub(crate) fn is_corrupt(&self) -> bool {
        self.garbage.as_ref().is_some_and(|garbage| garbage.shown > GARBLED_MAX)
    }

    fn garbled(&mut self, etag: ETag, why: RecordError, env: &mut Env) {
        let shown = self.garbage.take().filter(|before| before.etag == etag).map_or(0, |before| before.shown);
        self.garbage = Some(Box::new(Garbage { etag, why, shown: shown.saturating_add(1) }));
        self.failed(Fault::new(FaultKind::Malformed, self.key.as_str()), Then::Read, env);
    }

    fn is_guarded(&self, etag: &ETag) -> bool {
        matches!(&self.guard, Guard::Match(guarded) if guarded == etag)
    }

    /// The guarded version is still current, which proves nothing: send the same bytes again.
    fn still_guarded(&mut self, env: &mut Env) {
        self.garbage = None;
        self.was_put_off = false;
        if self.was_rejected {
            self.was_rejected = false;
            self.contradictions += 1;
        }
        let trouble = self.failures.max(self.conflicts).max(self.contradictions);
        if trouble <= 1 && (self.is_wanted || self.is_unsettled) {
            self.send(env);
        } else {
            let mut at = self.pace(trouble, env);
            if self.contradictions > 1 && self.urgent.is_none() {
                // Who is rejected against all reason tries no more often than who waits.
                at = at.max(env.mono().after(env.rng.jitter(env.config.poll, 100)));
            }
            self.phase = Phase::Paused(Then::Send, at);
        }
    }

    fn send(&mut self, env: &mut Env) {
        self.sent = env.mono();
        let (target, key) = (self.target.clone(), self.key.clone());
        let (guard, body) = (self.guard.clone(), self.body.clone());
        let id = env.write_in(Lane::Settle, target, key, guard, body, self.urgent);
        self.phase = Phase::Sent(id);
    }

    fn read(&mut self, env: &mut Env) {
        let (target, key) = (self.target.clone(), self.key.clone());
        self.phase = Phase::Reading(env.read_in(Lane::Settle, target, key, None, self.urgent));
    }

    /// The attempt may have been applied, may yet be, or is lost: the first time, look at once.
    fn unknown(&mut self, fault: Fault, env: &mut Env) {
        self.is_unsettled = true;
        let first = self.failures == 0;
        self.failed(fault, Then::Read, env);
        if first {
            self.read(env);
        }
    }

    fn failed(&mut self, fault: Fault, then: Then, env: &mut Env) {
        self.failures += 1;
        self.last_fault = Some(fault);
        self.phase = Phase::Paused(then, self.pace(self.failures, env));
    }

    /// A throttled key rests for a second at least, unless the authority at stake cannot wait that long.
    fn throttled(&mut self, after: Option<Duration>, then: Then, env: &mut Env) {
        self.failures += 1;
        let at = env.rest(after);
        // The last moment that leaves room for one more attempt; once it has passed, a throttled key rests
        // like any other, whatever becomes of the authority.
        let last = self.urgent.map(|until| until.before(env.config.attempt_timeout));
        let at = last.filter(|last| env.mono() < *last).map_or(at, |last| at.min(last));
        let is_renewal = self.urgent.is_some() && env.has(Defect::ThrottledRenewal);
        let at = if is_renewal || env.has(Defect::ThrottledAtOnce) { env.mono() } else { at };
        self.phase = Phase::Paused(then, at);
    }

    fn pace(&self, failures: u32, env: &mut Env) -> Instant {
        let at = env.backoff(failures - 1);
        match self.urgent {
            Some(until) => at.min(env.mono().after((until.since(env.mono()) / 8).max(BREATH))),
            None => at,
        }
    }

    fn assumed_tag(&self) -> ETag {
        match &self.guard {
            Guard::Match(etag) => etag.clone(),
            Guard::Absent => ETag::new(b"assumed").expect("not empty"),
        }
    }
}

/// How often garbage under one tag is taken for a fault of the answer; the next time the record itself seems corrupt.
pub(crate) const GARBLED_MAX: u32 = 3;

/// The shortest pause: delays scaled to what is left of an authority would otherwise shrink to nothing.
const BREATH: Duration = Duration::from_millis(20);

/// Tells whether a record of either kind names this node: the shortcut of a deliberate bug.
fn names(body: &[u8], env: &Env) -> bool {
    let owner = OwnerRecord::parse(body).ok().and_then(|record| record.node);
    let lease = LeaseRecord::parse(body).ok().map(|record| record.node);
    owner.or(lease).is_some_and(|node| node == env.node)
}
