//! The steps of one judgement: what each answer says of the node, and what is asked or written next.

use alloc::sync::Arc;
use core::time::Duration;

use super::{Active, Asker, Known, Peers, State, Step, Verdict};
use crate::config::TTL_MAX;
use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::id::{ETag, NodeId};
use crate::judge::{Garbage, Version};
use crate::record::{LeaseRecord, RetiredRecord};
use crate::store::{Fault, FaultKind, Guard, Key, ReadReply, Stamps};
use crate::time::Instant;
use crate::write::{Fate, Order, Write};

impl Peers {
    pub(super) fn on_lease(
        &mut self,
        node: &NodeId,
        reply: ReadReply,
        (issued, is_conditional): (Instant, bool),
        active: &mut Active,
        env: &mut Env,
    ) -> Option<Step> {
        let (version, stamps) = match reply {
            ReadReply::Failed(fault) => return Some(retry(fault, active, env)),
            ReadReply::Throttled { after } => return Some(put_off(Key::lease(node), after, active, env)),
            ReadReply::Missing if env.has(Defect::MissingIsDead) => return Some(Step::Fenced),
            ReadReply::Missing => {
                let id = env.read(Target::Peer(node.clone()), Key::retired(node), None);
                return Some(Step::Go(State::ReadingRetired(id)));
            }
            // No version was named that could be unchanged.
            ReadReply::Unchanged(_) if !is_conditional => return Some(retry(unasked_304(), active, env)),
            ReadReply::Unchanged(stamps) => match self.known.remove(node) {
                Some(known) => (known.version, stamps),
                // Forgotten meanwhile: ask for the whole record.
                None => return Some(Step::Go(self.read(node, env))),
            },
            ReadReply::Found { etag, body, stamps } => {
                let shown = if env.has(Defect::SilenceFromIssue) { issued } else { env.mono() };
                match self.known.remove(node) {
                    Some(known) if known.version.etag == etag && known.version.body == body => {
                        (known.version, stamps)
                    }
                    earlier => {
                        let found = Version::new(node, etag.clone(), body, (stamps, shown), &env.config);
                        let Ok(mut version) = found else {
                            // What was known of the lease stays known: nothing is learned here.
                            if let Some(earlier) = earlier {
                                self.known.insert(node.clone(), earlier);
                            }
                            return Some(self.on_garbage(node, etag, issued, active, env));
                        };
                        if let Some(earlier) = &earlier {
                            if env.has(Defect::MixStamps) {
                                version.keep_stamp_of(&earlier.version);
                            }
                            if version.goes_back_from(&earlier.version) {
                                self.clock.distrust();
                            }
                        }
                        (version, stamps)
                    }
                }
            }
        };
        self.garbage.remove(node);
        if version.is_tombstone {
            return Some(Step::Fenced);
        }
        Some(self.judge(node, version, stamps, issued, active, env))
    }

    fn judge(
        &mut self,
        node: &NodeId,
        mut version: Version,
        stamps: Stamps,
        issued: Instant,
        active: &Active,
        env: &mut Env,
    ) -> Step {
        version.shown_again(stamps);
        if version.is_ahead_of(stamps.date, &env.config) {
            self.clock.distrust();
        }
        let trusted = self.clock.observe(stamps, issued, env.mono(), &env.config);
        let remaining = version.remaining(trusted.date, issued, env.now, &env.config);
        // A foreign expiry may lie years ahead; what becomes of the lease meanwhile is looked at now and then.
        // And silence counts from the answer that first showed a version, so that one must not come late.
        let look_again = if version.is_stamped(trusted.date) { TTL_MAX * 2 } else { env.config.poll };
        let live_until = issued.after(remaining.min(look_again));
        let live_until = if env.has(Defect::LiveForever) { issued.after(TTL_MAX * 100) } else { live_until };
        let step = if !remaining.is_zero() {
            Step::Tell(Verdict::Live { addr: version.addr.clone(), until: live_until })
        } else if env.has(Defect::StealUnfenced) {
            Step::Fenced
        } else if takes(active) {
            let old: &[u8] = if env.has(Defect::FenceForgetsFields) { b"{}" } else { &version.body };
            Step::Go(State::Fencing(fence(node, &version.etag, old, env)))
        } else {
            Step::Tell(Verdict::Dead)
        };
        self.known.insert(node.clone(), Known { version, live_until });
        step
    }

    /// Judges a lease in whose place there is something else, or whose answers are garbage. Its holder may well live.
    fn on_garbage(
        &mut self,
        node: &NodeId,
        etag: ETag,
        issued: Instant,
        active: &mut Active,
        env: &mut Env,
    ) -> Step {
        let garbage = Garbage::shown(etag, env.mono(), self.garbage.get(node).cloned());
        let (is_new, remaining) = (garbage.is_new(), garbage.remaining(issued, &env.config));
        let etag = garbage.etag.clone();
        self.garbage.insert(node.clone(), garbage);
        if is_new {
            retry(Fault::new(FaultKind::Malformed, Key::lease(node).as_str()), active, env)
        } else if !remaining.is_zero() {
            let addr = self.known.get(node).and_then(|known| known.version.addr.clone());
            // Not remembered: bytes that make no sense may make sense in the next answer.
            Step::Tell(Verdict::Live { addr, until: issued })
        } else if takes(active) {
            Step::Go(State::Fencing(fence(node, &etag, b"", env)))
        } else {
            Step::Tell(Verdict::Dead)
        }
    }

    pub(super) fn settle(
        &mut self,
        node: &NodeId,
        fate: Fate,
        active: &Active,
        env: &mut Env,
    ) -> Option<Step> {
        match (fate, &active.state) {
            (Fate::Applied { .. }, State::Fencing(_)) => Some(Step::Fenced),
            (Fate::Lost(_), State::Fencing(_)) if env.has(Defect::LostFenceIsDead) => Some(Step::Fenced),
            // It lives, or somebody else was faster; a placeholder is judged like any lease. Look again, at all of it: the
            // version that is known is there no more, and a store that compares contents would say that it is.
            (Fate::Applied { .. } | Fate::Lost(_), _) => {
                self.known.remove(node);
                Some(Step::Go(self.read(node, env)))
            }
            // Not settled in time. Nothing is lost by leaving it at that: wherever it lands later, the version
            // that it replaces was too old, or nothing was there.
            // An attempt on its way is awaited all the same: the next to ask would send another beside it.
            (Fate::Pending, State::Fencing(write) | State::Placing(write))
                if env.mono() >= active.give_up && !write.is_sent() =>
            {
                Some(Step::Tell(Verdict::Failed(write.fault(env))))
            }
            // The lease seems corrupt by now: whatever becomes of the write, what is there is judged.
            (Fate::Pending, State::Fencing(write) | State::Placing(write)) if write.is_corrupt() => {
                Some(Step::Go(self.read(node, env)))
            }
            (Fate::Pending, _) => None,
            (Fate::Refused(fault), _) => Some(Step::Tell(Verdict::Failed(fault))),
        }
    }
}

/// Tells whether some asker wants to take what a dead node held.
fn takes(active: &Active) -> bool {
    active.askers.iter().any(|asker| matches!(asker, Asker::Cell(_)))
}

/// Sends the tombstone of exactly the version that was judged, which says `old`.
fn fence(node: &NodeId, etag: &ETag, old: &[u8], env: &mut Env) -> Write {
    let id = env.write_id();
    let body = LeaseRecord::fence(old, node, &env.node, &id).into();
    start(node, Guard::Match(etag.clone()), body, env)
}

/// Takes the key of a lease that somebody removed, so that its holder's next renewal fails.
fn place(node: &NodeId, env: &mut Env) -> Write {
    let id = env.write_id();
    let mut record = LeaseRecord::placeholder(node, &env.node, id, env.now.wall.as_millis());
    if env.has(Defect::PlaceholderTtl) {
        record.ttl = Some(env.config.ttl / 4);
    }
    if env.has(Defect::PlaceholderIsTombstone) {
        record.expires_ms = 0;
    }
    start(node, Guard::Absent, record.to_bytes().into(), env)
}

fn start(node: &NodeId, guard: Guard, body: Arc<[u8]>, env: &mut Env) -> Write {
    let target = Target::Peer(node.clone());
    Write::start(Order { target, key: Key::lease(node), guard, body, urgent: None }, env)
}

pub(super) fn on_retired(
    node: &NodeId,
    reply: ReadReply,
    active: &mut Active,
    env: &mut Env,
) -> Option<Step> {
    Some(match reply {
        ReadReply::Failed(fault) => retry(fault, active, env),
        ReadReply::Found { body, .. }
            if env.has(Defect::AnyMarker) || RetiredRecord::parse_of(node, &body).is_ok() =>
        {
            Step::Fenced
        }
        // An answer that makes no sense kills nobody; junk that stays there is no marker.
        ReadReply::Found { .. } if active.failures + 1 < READS_MAX => {
            retry(Fault::new(FaultKind::Malformed, Key::retired(node).as_str()), active, env)
        }
        ReadReply::Unchanged(_) => retry(unasked_304(), active, env),
        ReadReply::Found { .. } | ReadReply::Missing if takes(active) => {
            Step::Go(State::Placing(place(node, env)))
        }
        ReadReply::Found { .. } | ReadReply::Missing => Step::Tell(Verdict::Dead),
        ReadReply::Throttled { after } => put_off(Key::retired(node), after, active, env),
    })
}

fn unasked_304() -> Fault {
    Fault::new(FaultKind::Malformed, "304 to an unconditional read")
}

fn retry(fault: Fault, active: &mut Active, env: &mut Env) -> Step {
    active.failures += 1;
    if active.failures >= READS_MAX || env.is_short() {
        return Step::Tell(Verdict::Failed(fault));
    }
    Step::Go(State::Pausing(env.backoff(active.failures)))
}

/// The store asked to slow down: the key rests.
fn put_off(key: Key, after: Option<Duration>, active: &mut Active, env: &mut Env) -> Step {
    let mut step = retry(Fault::new(FaultKind::Throttled, key.as_str()), active, env);
    if let Step::Go(State::Pausing(at)) = &mut step {
        *at = env.rest(after).max(*at);
    }
    step
}

/// How often a lease is read in vain before the askers are told.
const READS_MAX: u32 = 3;
