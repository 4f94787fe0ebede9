//! Notices hard situations as they happen, from what every check sees too.

mod wire;

use core::time::Duration;
use std::sync::Arc;

use tenure_core::{
    AttemptId, BadRecord, Call, ClaimError, FenceCause, Guard, Holder, JoinError, Key, LeaseRecord, Notice,
    Op, Outcome, VerifyError, WriteOp,
};

use crate::node::Session;
use crate::ration::{AHEAD, Ration};
use crate::store::Version;
use crate::view::{Deed, Step, View};
use crate::witness::{Seen, Witness};

/// Notices hard situations as they happen.
#[derive(Debug, Default)]
pub(crate) struct Spotter {
    seen: Seen,
    /// Attempts that have not been answered.
    sent: Vec<Attempt>,
    /// Attempts answered with `Unknown`, whose session has not read the record since.
    unknown: Vec<Attempt>,
    /// For each session, the latest request that the store's answer to has reached it.
    latest: Vec<u64>,
    /// What each session has asked of a store that is of no use.
    rations: Vec<Ration>,
}

#[derive(Debug)]
struct Attempt {
    session: usize,
    id: AttemptId,
    key: Key,
    guard: Guard,
    body: Arc<[u8]>,
}

/// How late a request reaches the store.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// Whether its sender has been told an answer already.
    is_late: bool,
    /// Whether it is a copy of one that has arrived before.
    is_again: bool,
    /// How long ago it was sent.
    age: Duration,
}

impl Spotter {
    pub(crate) const fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        let Self { seen, sent, unknown, latest, rations } = self;
        *seen = Seen::default();
        sent.clear();
        unknown.clear();
        latest.clear();
        rations.clear();
    }

    /// Looks at a step. Where a step is made the compiler knows which it is, and what of this is left to do.
    #[inline(always)]
    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    pub(crate) fn observe(&mut self, view: &View<'_>) {
        let Some(actor) = view.actor else {
            return self.seen_outside(view);
        };
        match view.step {
            Step::Acknowledged(..) => self.note(Witness::Acknowledged),
            Step::Cloned(_) => self.note(Witness::Cloned),
            Step::Crashed => {
                if view.session().is_some_and(|session| session.engine().fenced().is_none()) {
                    self.note(Witness::Crash);
                }
                self.sent.retain(|attempt| attempt.session != actor);
                self.unknown.retain(|attempt| attempt.session != actor);
            }
            Step::Done { call, asked, outcome, .. } => self.done(view, call, *asked, outcome),
            Step::Noticed(notice) => self.noticed(view, notice),
            Step::Paused(pause) if *pause > view.scenario.config.ttl => self.note(Witness::LongPause),
            Step::Sent(op) => {
                if let Some(session) = view.session()
                    && self.ration(actor).sent(session, op) == AHEAD + 1
                {
                    self.note(Witness::Rationed);
                }
                if let Op::Write(op) = op {
                    self.sent.push(Attempt::new(actor, op));
                }
            }
            Step::Served { op, reply, is_late, is_again, age } => {
                let late = Late { is_late: *is_late, is_again: *is_again, age: *age };
                self.served(view, actor, (op, reply), late);
            }
            Step::Suspended(_) => self.note(Witness::Suspended),
            Step::Told(event) => {
                let now = view.session().map_or_else(Default::default, |session| view.now(session).mono);
                let ration = self.ration(actor);
                let was_short = ration.is_used_up();
                ration.told(event, now);
                if was_short && !ration.is_used_up() {
                    self.note(Witness::RationEnded);
                }
                self.told(view, actor, event);
            }
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn seen_outside(&mut self, view: &View<'_>) {
        match view.step {
            Step::Jumped(_, by) if by.unsigned_abs() >= AN_HOUR => self.note(Witness::JumpedHours),
            Step::Meddled(Deed::Corrupted, _) => self.note(Witness::Corrupted),
            Step::Meddled(Deed::Evicted, _) => self.note(Witness::Evicted),
            Step::Meddled(Deed::EvictedByForce, key) => {
                let believes = |session: &Session| {
                    let cell = Key::cell(key)?;
                    session.engine().tenure(&cell, view.now(session))
                };
                if view.sessions.iter().any(|session| session.is_running() && believes(session).is_some()) {
                    self.note(Witness::EvictedAlive);
                }
            }
            Step::Meddled(Deed::ForeignTook, _) => self.note(Witness::ForeignTook),
            Step::Meddled(Deed::Mended, _) => self.note(Witness::Mended),
            Step::Outage(span) if *span > view.scenario.config.ttl => self.note(Witness::LongOutage),
            _ => {}
        }
    }

    fn ration(&mut self, actor: usize) -> &mut Ration {
        if self.rations.len() <= actor {
            self.rations.resize(actor + 1, Ration::default());
        }
        &mut self.rations[actor]
    }

    pub(crate) fn note(&mut self, witness: Witness) {
        self.seen.note(witness);
    }

    fn done(&mut self, view: &View<'_>, call: &Call, asked: crate::Moment, outcome: &Outcome) {
        match outcome {
            Outcome::Claimed(Ok(_)) => {
                self.note(Witness::Grant);
                let waits = matches!(call, Call::Claim { wait, .. } if !wait.is_zero());
                if waits && view.at.since(asked) > view.scenario.config.poll * 2 {
                    self.note(Witness::WaitRewarded);
                }
            }
            Outcome::Claimed(Err(ClaimError::Held(_, by))) => {
                self.note(Witness::Held);
                if by.node.as_str().starts_with("celld-") {
                    self.note(Witness::ForeignHeld);
                }
            }
            Outcome::Claimed(Err(ClaimError::Bad(BadRecord::Corrupt { .. }))) => {
                self.note(Witness::CorruptRefused);
            }
            Outcome::Joined(Err(JoinError::Unfit(_))) => self.note(Witness::UnfitRefused),
            Outcome::Released(Ok(())) => self.note(Witness::Released),
            Outcome::Verified(Err(VerifyError::NotOwner(_))) => self.note(Witness::VerifyRefused),
            Outcome::Watched(Err(_)) => self.note(Witness::WatchFailed),
            Outcome::Claimed(Err(_))
            | Outcome::Joined(_)
            | Outcome::Left
            | Outcome::Located(_)
            | Outcome::Peers(_)
            | Outcome::Published(_)
            | Outcome::Released(Err(_))
            | Outcome::Transferred(_)
            | Outcome::Unwatched
            | Outcome::Verified(_)
            | Outcome::Watched(Ok(_)) => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "notices may be added; these matter to it")]
    fn noticed(&mut self, view: &View<'_>, notice: &Notice) {
        match notice {
            Notice::CellLost { .. } => self.note(Witness::Lost),
            Notice::OwnerChanged { .. } => {
                self.note(Witness::WatchTold);
                if view.calm.is_some() {
                    self.note(Witness::WatchCaughtUp);
                }
            }
            Notice::Fenced(cause) => match cause {
                FenceCause::Credentials => self.note(Witness::FencedByCredentials),
                FenceCause::Expired => self.note(Witness::FencedByExpiry),
                FenceCause::Internal => {}
                FenceCause::StoreUnfit if view.scenario.flaw.is_some() => {}
                FenceCause::StoreUnfit => self.note(Witness::FencedByUnfit),
                FenceCause::LeaseFenced | FenceCause::LeaseRemoved | FenceCause::LeaseReplaced => {
                    let is_twin = |other: &&Session| {
                        other.is_running() && Some(other.id()) == view.session().map(Session::id)
                    };
                    if view.sessions.iter().filter(is_twin).count() > 1 {
                        self.note(Witness::CloneFenced);
                    }
                    self.note(Witness::FencedByLoss);
                }
                FenceCause::Left => self.note(Witness::Left),
            },
            _ => {}
        }
    }

    fn applied(&mut self, view: &View<'_>, op: &WriteOp, (last, before): (&Version, &[Version])) {
        if op.key.as_str().starts_with(Key::LEASES) {
            if view.session().is_none_or(|session| *session.lease_key() == op.key) {
                return;
            }
            if op.guard == Guard::Absent {
                self.note(Witness::Placeholder);
            }
            let is_tombstone = LeaseRecord::parse(&op.body).is_ok_and(|record| record.is_tombstone());
            let stamping = view.scenario.stamping;
            if is_tombstone && !(stamping.has_modified && stamping.has_date) {
                self.note(Witness::SilenceJudged);
            }
            return;
        }
        let before = before.last().and_then(|version| version.owner.as_ref());
        let (Some(before), Some(after)) = (before, last.owner.as_ref()) else { return };
        let is_foreign = before.write.is_none();
        let before = before.holder();
        let Holder::Node(claimant) = after.holder() else { return };
        match before {
            Holder::Nobody => {}
            Holder::Node(node) if node == claimant => self.note(Witness::OwnRecordTaken),
            Holder::Node(_) => {
                self.note(Witness::Takeover);
                if is_foreign {
                    self.note(Witness::ForeignTaken);
                }
            }
            Holder::OfferedTo(node) if node == claimant => self.note(Witness::TransferAccepted),
            Holder::OfferedTo(_) => self.note(Witness::OfferTaken),
        }
    }
}

impl Attempt {
    fn new(session: usize, op: &WriteOp) -> Self {
        Self { session, id: op.id, key: op.key.clone(), guard: op.guard.clone(), body: op.body.clone() }
    }
}

/// In nanoseconds.
const AN_HOUR: u64 = 3_600_000_000_000;
