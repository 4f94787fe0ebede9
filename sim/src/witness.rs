//! Hard situations, and how often they were met. A green run that never met one of them proves little.

use core::fmt;
use std::sync::Arc;

use tenure_core::{
    AttemptId, Call, ClaimError, Event, FenceCause, Guard, Holder, Key, LeaseRecord, Notice, Op, Outcome,
    OwnerRecord, ReadReply, Reply, VerifyError, WriteOp, WriteReply,
};

use crate::view::{Step, View};

macro_rules! witnesses {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A situation worth meeting.
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Witness { $($(#[$doc])* $name,)* }

        impl Witness {
            /// Every witness, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the word for reports.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

witnesses! {
    /// An application acknowledged verified work.
    Acknowledged = "acknowledged",
    /// A caller stopped listening before it was answered.
    Cancelled = "cancelled",
    /// A process died.
    Crash = "crash",
    /// A session ended because the store refused its credentials for too long.
    FencedByCredentials = "fenced-by-credentials",
    /// A session ended because no renewal was known to be applied in time.
    FencedByExpiry = "fenced-by-expiry",
    /// A session ended because its lease was removed, or something else stood in its place.
    FencedByLoss = "fenced-by-loss",
    /// A cell was granted.
    Grant = "grant",
    /// A claim was refused because a live node holds the cell.
    Held = "held",
    /// A write landed after its sender had given up.
    LateLanding = "late-landing",
    /// A session left on request.
    Left = "left",
    /// A process stood still for longer than its authority.
    LongPause = "long-pause",
    /// A tenure was lost while the session went on.
    Lost = "lost",
    /// An offer was taken by a node it was not made to.
    OfferTaken = "offer-taken",
    /// A session claimed over its own record of an epoch it did not hold.
    OwnRecordTaken = "own-record-taken",
    /// A placeholder was put in the place of a removed lease.
    Placeholder = "placeholder",
    /// A cell was released.
    Released = "released",
    /// A write's guard failed because an earlier copy of the same write had won.
    RejectedOwn = "rejected-own",
    /// A write of unknown fate was found to have been applied.
    SettledOurs = "settled-ours",
    /// A write of unknown fate was found to have been overtaken.
    SettledTheirs = "settled-theirs",
    /// A write of unknown fate was read back while it could still land.
    SettlingUnmoved = "settling-unmoved",
    /// A node was fenced by the silence of its lease, without the store's stamps.
    SilenceJudged = "silence-judged",
    /// A dead node's cell was taken.
    Takeover = "takeover",
    /// The store asked an engine to slow down.
    Throttled = "throttled",
    /// An offer was accepted by the node it was made to.
    TransferAccepted = "transfer-accepted",
    /// A verify was answered with no.
    VerifyRefused = "verify-refused",
    /// Once it was calm, a watch showed what it had missed.
    WatchCaughtUp = "watch-caught-up",
    /// A watch ended in an error before it had shown anything.
    WatchFailed = "watch-failed",
    /// Watchers were told that the record says something else.
    WatchTold = "watch-told",
    /// A waiting claim was granted after more than a poll interval.
    WaitRewarded = "wait-rewarded",
}

/// How often each witness was met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Seen([u64; Witness::ALL.len()]);

impl Seen {
    /// Returns how often a witness was met.
    pub const fn times(&self, witness: Witness) -> u64 {
        self.0[witness as usize]
    }

    /// Returns the witnesses that were never met.
    pub fn missing(&self) -> impl Iterator<Item = Witness> {
        Witness::ALL.iter().copied().filter(|witness| self.times(*witness) == 0)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Default for Seen {
    fn default() -> Self {
        Self([0; Witness::ALL.len()])
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, row) in Witness::ALL.chunks(3).enumerate() {
            if place > 0 {
                writeln!(f)?;
            }
            for witness in row {
                write!(f, "  {:>9} {:<22}", self.times(*witness), witness.as_str())?;
            }
        }
        Ok(())
    }
}

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
    pub(crate) const fn seen(&self) -> &Seen {
        &self.seen
    }

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
            Step::Noticed(notice) => self.noticed(view, notice),
            Step::Paused(pause) if *pause > view.scenario.config.ttl => self.note(Witness::LongPause),
            Step::Sent(Op::Write(op)) => self.sent.push(Attempt::new(actor, op)),
            Step::Served { op, reply, is_late } => self.served(view, actor, op, reply, *is_late),
            Step::Told(event) => self.told(actor, event),
            _ => {}
        }
    }

    fn note(&mut self, witness: Witness) {
        self.seen.0[witness as usize] += 1;
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
