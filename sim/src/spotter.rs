//! Notices hard situations as they happen, from what every check sees too.

use core::time::Duration;
use std::sync::Arc;

use tenure_core::{
    AttemptId, BadRecord, Call, ClaimError, Entry, Event, FaultKind, FenceCause, Guard, Holder, JoinError,
    Key, LeaseRecord, ListOp, ListReply, Notice, Op, Outcome, ReadReply, Reply, VerifyError, WriteOp,
    WriteReply,
};

use crate::node::Session;
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
            Step::Sent(Op::Write(op)) => self.sent.push(Attempt::new(actor, op)),
            Step::Served { op, reply, is_late, is_again, age } => {
                self.arrived(view, op, reply, *is_again, *age);
                self.served(view, actor, op, reply, *is_late);
            }
            Step::Suspended(_) => self.note(Witness::Suspended),
            Step::Told(event) => self.told(view, actor, event),
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn seen_outside(&mut self, view: &View<'_>) {
        match view.step {
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

    fn note(&mut self, witness: Witness) {
        self.seen.note(witness);
    }

    /// Notes what is special about a request that reaches the store, and about what the store then does.
    fn arrived(&mut self, view: &View<'_>, op: &Op, reply: &Reply, is_again: bool, age: Duration) {
        if is_again {
            self.note(Witness::ArrivedTwice);
        }
        match (op, reply) {
            (Op::List(op), Reply::List(reply)) => self.listed(view, op, reply),
            (Op::Write(op), Reply::Write(reply)) => {
                if age >= A_MINUTE {
                    self.note(Witness::ArrivedMinutesLate);
                }
                let is_applied = matches!(reply, WriteReply::Applied { .. });
                let is_over = view
                    .session()
                    .is_some_and(|sender| !sender.is_running() || sender.engine().fenced().is_some());
                if is_applied && is_over {
                    self.note(Witness::LandedAfterEnd);
                }
                let Some((last, before)) = view.store.history(op.key.as_str()).split_last() else { return };
                if *reply == WriteReply::Rejected && op.guard == Guard::Match(last.etag().clone()) {
                    self.note(Witness::RejectedWrongly);
                }
                if is_applied
                    && op.key.as_str().starts_with(Key::LEASES)
                    && before.last().is_some_and(|before| last.modified() < before.modified())
                {
                    self.note(Witness::StampsBack);
                }
            }
            _ => {}
        }
    }

    fn listed(&mut self, view: &View<'_>, op: &ListOp, reply: &ListReply) {
        match reply {
            ListReply::Page(page) => {
                let is_old = |entry: &Entry| {
                    let current = view.store.history(&entry.key).last();
                    current.map(Version::etag) != entry.etag.as_ref()
                };
                if page.entries.iter().any(is_old) {
                    self.note(Witness::PageStale);
                }
                let there = || view.store.keys().filter(|key| key.starts_with(op.prefix.as_ref())).count();
                if op.after.is_none() && page.next.is_none() && page.entries.len() < there() {
                    self.note(Witness::PageShort);
                }
            }
            ListReply::Failed(_) if op.after.is_some() => self.note(Witness::PageFailed),
            ListReply::Failed(_) | ListReply::Throttled { .. } => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the events named here matter to it")]
    fn told(&mut self, view: &View<'_>, actor: usize, event: &Event) {
        self.answered(actor, event);
        match event {
            Event::Cancel(_) => self.note(Witness::Cancelled),
            Event::ReadDone(_, ReadReply::Found { body, .. }) if is_garbage(body) => {
                self.note(Witness::Garbled);
            }
            Event::ReadDone(_, ReadReply::Failed(fault)) if fault.kind == FaultKind::Network => {
                self.note(Witness::Cut);
            }
            Event::ReadDone(_, ReadReply::Throttled { after: Some(after) })
            | Event::WriteDone(_, WriteReply::Throttled { after: Some(after) })
                if *after > view.scenario.config.ttl =>
            {
                self.note(Witness::ThrottledLong);
            }
            _ => {}
        }
        match event {
            Event::WriteDone(id, reply) => {
                let place = self.sent.iter().position(|sent| sent.session == actor && sent.id == *id);
                let Some(place) = place else { return };
                let attempt = self.sent.swap_remove(place);
                match reply {
                    WriteReply::Throttled { .. } => self.note(Witness::Throttled),
                    WriteReply::Unknown(fault) => {
                        if fault.kind == FaultKind::Malformed {
                            self.note(Witness::Untagged);
                        }
                        self.unknown.push(attempt);
                    }
                    WriteReply::Applied { .. }
                    | WriteReply::Conflict
                    | WriteReply::NotApplied(_)
                    | WriteReply::Refused(_)
                    | WriteReply::Rejected => {}
                }
            }
            Event::Call(..)
            | Event::Cancel(_)
            | Event::ListDone(..)
            | Event::ReadDone(..)
            | Event::RemoveDone(..)
            | Event::Wake => {}
        }
    }

    /// Notes an answer that came before that to an earlier request. A request given up on is not answered.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only the events named here matter to it")]
    fn answered(&mut self, actor: usize, event: &Event) {
        let number = match event {
            Event::ListDone(id, ListReply::Page(_)) => id.get(),
            Event::ReadDone(id, ReadReply::Found { .. } | ReadReply::Missing | ReadReply::Unchanged(_)) => {
                id.get()
            }
            Event::WriteDone(id, WriteReply::Applied { .. } | WriteReply::Rejected) => id.get(),
            _ => return,
        };
        if self.latest.len() <= actor {
            self.latest.resize(actor + 1, 0);
        }
        if number < self.latest[actor] {
            self.note(Witness::Overtaken);
        } else {
            self.latest[actor] = number;
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
                FenceCause::Internal | FenceCause::StoreUnfit => {}
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

/// Tells whether bytes that a read showed are no record, without parsing those that are.
fn is_garbage(body: &[u8]) -> bool {
    !body.starts_with(br#"{"node":""#) || !body.ends_with(b"}")
}

const A_MINUTE: Duration = Duration::from_secs(60);
