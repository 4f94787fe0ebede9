//! Deliberate bugs, one `if` each, that the simulator must catch: the proof that its checks can fail.
//!
//! They exist only with the `defects` feature, and only when a configuration selects one.

/// A deliberate bug: one rule of the protocol left out.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Defect {
    /// The holder goes on acting until its release is confirmed, instead of until it is sent.
    ActUntilReleaseConfirmed,
    /// The sender goes on acting until its transfer is confirmed.
    ActUntilTransferConfirmed,
    /// Found records are adopted because they name us, without comparing bytes.
    AdoptByName,
    /// A 409 counts as a lost race.
    ConflictIsLost,
    /// Our own record at an epoch we do not hold counts as held.
    GrantStaleOwn,
    /// A record below an epoch this process has seen is granted.
    GrantRegressed,
    /// A claim is granted although the lease has ended: neither is the lease retired before the claim's reply is
    /// applied, nor does the grant look at it. Two rules at once, since each covers for the other.
    GrantWithoutLease,
    /// Another node's lease is judged by this node's wall clock.
    JudgeByOwnClock,
    /// Authority ends with the ttl itself, not `margin_hold` earlier.
    NoHoldMargin,
    /// Another node is judged without the margin for disagreeing stamps.
    NoMargin,
    /// Another node is judged without the unit for truncated stamps.
    NoUnit,
    /// The tombstone is sent on leave while tenures are still held.
    LeaveBeforeRelease,
    /// A late success revives an authority that has ended.
    LateRevival,
    /// A lease that nobody finds is taken for dead at once.
    MissingIsDead,
    /// A lease found removed is created again by its holder.
    RecreateLease,
    /// Silence is counted from the issue of the first read, not its answer.
    SilenceFromIssue,
    /// A dead node's cell is taken without fencing its lease first.
    StealUnfenced,
    /// A cell is taken from its holder without judging it.
    StealLive,
    /// Finding the guarded version still there counts as proof that our write is lost.
    TrustOldTag,
    /// Authority counts from the last attempt even when the write is found by reading.
    TtlFromLastAttempt,
    /// Authority counts from the reply, not from the send.
    TtlFromReply,
    /// A write of unknown fate counts as applied.
    UnknownIsApplied,
    /// A write of unknown fate counts as lost.
    UnknownIsLost,
    /// `verify` answers from memory.
    VerifyFromMemory,
}

impl Defect {
    /// Every defect, in order.
    pub const ALL: &'static [Self] = &[
        Self::ActUntilReleaseConfirmed,
        Self::ActUntilTransferConfirmed,
        Self::AdoptByName,
        Self::ConflictIsLost,
        Self::GrantStaleOwn,
        Self::GrantRegressed,
        Self::GrantWithoutLease,
        Self::JudgeByOwnClock,
        Self::NoHoldMargin,
        Self::NoMargin,
        Self::NoUnit,
        Self::LeaveBeforeRelease,
        Self::LateRevival,
        Self::MissingIsDead,
        Self::RecreateLease,
        Self::SilenceFromIssue,
        Self::StealUnfenced,
        Self::StealLive,
        Self::TrustOldTag,
        Self::TtlFromLastAttempt,
        Self::TtlFromReply,
        Self::UnknownIsApplied,
        Self::UnknownIsLost,
        Self::VerifyFromMemory,
    ];
}

/// Tells whether `selected` is the deliberate bug `this`; never in a build without the feature.
pub(crate) fn has(selected: Option<Defect>, this: Defect) -> bool {
    cfg!(feature = "defects") && selected == Some(this)
}
