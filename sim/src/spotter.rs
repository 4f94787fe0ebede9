//! Notices hard situations as they happen, from what every check sees too.

use std::sync::Arc;

use tenure_core::{
    AttemptId, Call, ClaimError, Event, FenceCause, Guard, Holder, Key, LeaseRecord, Notice, Op, Outcome,
    OwnerRecord, ReadReply, Reply, VerifyError, WriteOp, WriteReply,
};

use crate::view::{Step, View};
use crate::witness::{Seen, Witness};

/// Notices hard situations as they happen.
#[derive(Debug, Default)]
pub(crate) struct Spotter {
    seen: Seen,
    /// Attempts that have not been answered.
    sent: Vec<Attempt>,
    /// Attempts answered with `Unknown`, whose session has not read the record since.
    unknown: Vec<Attempt>,
}

#[derive(Debug)]
struct Attempt {
    session: usize,
    id: AttemptId,
    key: Key,
    guard: Guard,
    body: Arc<[u8]>,
}

impl Spotter {
    pub(crate) fn into_seen(self) -> Seen {
        self.seen
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    pub(crate) fn observe(&mut self, view: &View<'_>) {
        let Some(actor) = view.actor else { return };
        match view.step {
            Step::Acknowledged(..) => self.note(Witness::Acknowledged),
            Step::Crashed => {
                if view.session().is_some_and(|session| session.engine().fenced().is_none()) {
                    self.note(Witness::Crash);
                }
                self.sent.retain(|attempt| attempt.session != actor);
                self.unknown.retain(|attempt| attempt.session != actor);
            }
            Step::Done { call, asked, outcome, .. } => self.done(view, call, *asked, outcome),
            Step::Noticed(notice) => self.noticed(notice),
            Step::Paused(pause) if *pause > view.scenario.config.ttl => self.note(Witness::LongPause),
            Step::Sent(Op::Write(op)) => self.sent.push(Attempt::new(actor, op)),
            Step::Served { op, reply, is_late } => self.served(view, actor, op, reply, *is_late),
            Step::Told(event) => self.told(actor, event),
            _ => {}
        }
    }

    fn note(&mut self, witness: Witness) {
        self.seen.note(witness);
    }

    fn told(&mut self, actor: usize, event: &Event) {
        match event {
            Event::Cancel(_) => self.note(Witness::Cancelled),
            Event::WriteDone(id, reply) => {
                let place = self.sent.iter().position(|sent| sent.session == actor && sent.id == *id);
                let Some(place) = place else { return };
                let attempt = self.sent.swap_remove(place);
                match reply {
                    WriteReply::Throttled { .. } => self.note(Witness::Throttled),
                    WriteReply::Unknown(_) => self.unknown.push(attempt),
                    WriteReply::Applied { .. }
                    | WriteReply::Conflict
                    | WriteReply::NotApplied(_)
                    | WriteReply::Refused(_)
                    | WriteReply::Rejected => {}
                }
            }
            Event::Call(..)
            | Event::ListDone(..)
            | Event::ReadDone(..)
            | Event::RemoveDone(..)
            | Event::Wake => {}
        }
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
            Outcome::Claimed(Err(ClaimError::Held(..))) => self.note(Witness::Held),
            Outcome::Released(Ok(())) => self.note(Witness::Released),
            Outcome::Verified(Err(VerifyError::NotOwner(_))) => self.note(Witness::VerifyRefused),
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
            | Outcome::Watched(_) => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "notices may be added; these matter to it")]
    fn noticed(&mut self, notice: &Notice) {
        match notice {
            Notice::CellLost { .. } => self.note(Witness::Lost),
            Notice::Fenced(cause) => match cause {
                FenceCause::Credentials => self.note(Witness::FencedByCredentials),
                FenceCause::Expired => self.note(Witness::FencedByExpiry),
                FenceCause::Internal | FenceCause::StoreUnfit => {}
                FenceCause::LeaseFenced | FenceCause::LeaseRemoved | FenceCause::LeaseReplaced => {
                    self.note(Witness::FencedByLoss);
                }
                FenceCause::Left => self.note(Witness::Left),
            },
            _ => {}
        }
    }

    fn served(&mut self, view: &View<'_>, actor: usize, op: &Op, reply: &Reply, is_late: bool) {
        match (op, reply) {
            (Op::Write(op), Reply::Write(WriteReply::Applied { .. })) => {
                if is_late {
                    self.note(Witness::LateLanding);
                }
                self.applied(view, op);
            }
            (Op::Write(op), Reply::Write(WriteReply::Rejected))
                if view.store.current(op.key.as_str()) == Some(&op.body) =>
            {
                self.note(Witness::RejectedOwn);
            }
            (Op::Read(op), Reply::Read(ReadReply::Found { etag, body, .. })) => {
                let is_asked = |attempt: &Attempt| attempt.session == actor && attempt.key == op.key;
                let Some(place) = self.unknown.iter().position(is_asked) else { return };
                let attempt = self.unknown.swap_remove(place);
                if *attempt.body == **body {
                    self.note(Witness::SettledOurs);
                } else if attempt.guard == Guard::Match(etag.clone()) {
                    self.note(Witness::SettlingUnmoved);
                } else {
                    self.note(Witness::SettledTheirs);
                }
            }
            _ => {}
        }
    }

    fn applied(&mut self, view: &View<'_>, op: &WriteOp) {
        let history = view.store.history(op.key.as_str());
        let Some((last, before)) = history.split_last() else { return };
        if let Some(node) = Key::node(op.key.as_str()) {
            if view.session().is_none_or(|session| *session.id() == node) {
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
        let before = before.last().and_then(|version| version.owner.as_ref()).map(OwnerRecord::holder);
        let (Some(before), Some(after)) = (before, last.owner.as_ref()) else { return };
        let Holder::Node(claimant) = after.holder() else { return };
        match before {
            Holder::Nobody => {}
            Holder::Node(node) if node == claimant => self.note(Witness::OwnRecordTaken),
            Holder::Node(_) => self.note(Witness::Takeover),
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
