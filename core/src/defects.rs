//! Deliberate bugs, one `if` each, that the simulator must catch: the proof that its checks can fail.
//!
//! They exist only with the `defects` feature, and only when a configuration selects one. Each names the rule of the
//! protocol that it leaves out, as [`Defect::clause`] says it; `sim/tests/teeth.rs` demands each of them, within a
//! stated number of worlds.

macro_rules! defects {
    ($($(#[$doc:meta])* $name:ident = $clause:literal,)*) => {
        /// A deliberate bug: one rule of the protocol left out.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Defect { $($(#[$doc])* $name,)* }

        impl Defect {
            /// Every defect, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the rule that it leaves out: what it is about, and what it demands.
            pub const fn clause(self) -> &'static str {
                match self { $(Self::$name => $clause,)* }
            }
        }
    };
}

defects! {
    /// An offer to us counts as held without our own write over it.
    AcceptUnwritten = "cell: an offer is accepted by a write of our own",
    /// The holder goes on acting until its release is confirmed, instead of until it is sent.
    ActUntilReleaseConfirmed = "cell: a tenure ends when its release is sent",
    /// The sender goes on acting until its transfer is confirmed.
    ActUntilTransferConfirmed = "cell: a tenure ends when its transfer is sent",
    /// Found records are adopted because they name us, without comparing bytes.
    AdoptByName = "store: ours means byte-equal to what was sent",
    /// A lease counts for the node under whose key it came, whoever it names.
    AnyLease = "death: a lease that names another node is no evidence",
    /// Whatever is found in the place of a marker counts as one.
    AnyMarker = "death: a marker names the node that is dead",
    /// Cancelling a claim forgets the write that is on its way.
    CancelStopsSettling = "cell: cancelling a caller stops listening, not settling",
    /// A record won for a caller who is gone is kept.
    CancelledIsKept = "cell: what proves applied with nobody left to receive it is released",
    /// A claim keeps the epoch of the record it replaces.
    ClaimSameEpoch = "record: at most one claim succeeds per epoch",
    /// A 409 counts as a lost race.
    ConflictIsLost = "store: a conflict was not applied, and is read and resent",
    /// The lease waits for its turn like any other record.
    BudgetedLease = "lease: what the lease needs is never held back",
    /// Fresh bits are left unused, so that two clones of a session write the same bytes.
    CloneUnstirred = "lease: fresh bits set the writes of clones apart",
    /// A record that is garbage is claimed like one that is free.
    CorruptTaken = "record: what cannot be parsed is corrupt, and nobody takes it over",
    /// However long the store asks to be left alone, it is asked again after a second.
    DeafToRetryAfter = "store: a key rests for as long as the store asks",
    /// A claim skips an epoch.
    EpochSkips = "cell: a claim takes the next epoch",
    /// A tombstone is written anew, without the fields of the lease that it replaces.
    FenceForgetsFields = "lease: the fields of a lease survive its fencing",
    /// A lease that does not say its ttl is judged by nothing but its expiry.
    ForeignByExpiry = "death: a foreign lease must be too old by its stamps as well as expired",
    /// One answer of garbage ends the tenure that it was to verify.
    GarbageEndsTenure = "cell: a tenure ends by what the record says, not by an answer of garbage",
    /// Garbage counts as another version of the record, if it comes often enough.
    GarbageSettles = "store: garbage proves nothing, however often it comes",
    /// A record below an epoch this process has seen is granted.
    GrantRegressed = "record: an epoch below one seen is never granted",
    /// Our own record at an epoch we do not hold counts as held.
    GrantStaleOwn = "cell: our own record at an epoch we do not hold is claimed anew",
    /// A node that leaves goes on taking claims.
    GrantWhileLeaving = "lease: a leaving node admits nothing more",
    /// A claim is granted although the lease has ended: neither is the lease retired before the claim's reply is
    /// applied, nor does the grant look at it. Two rules at once, since each covers for the other.
    GrantWithoutLease = "cell: a grant needs the lease held at that moment",
    /// Another node's lease is judged by this node's wall clock.
    JudgeByOwnClock = "death: judged by the store's clock or by silence, never by a wall clock",
    /// A late success revives an authority that has ended: it is not ended when its time is over. Only an authority
    /// that comes back after a gap is wrong to see; by itself that breaks no ownership, since `tenure` looks at the
    /// time too, and the fence has either come first or fails.
    LateRevival = "lease: a late success never revives an authority that has ended",
    /// What waits for its turn is forgotten, and not sent once the store has come back.
    ForgottenInLine = "engine: what waits for the store to be of use again is sent then",
    /// The number of a claim is kept after its answer.
    LeakClaim = "engine: what is kept is proportional to cells held and operations in flight",
    /// A session that leaves does not say so.
    LeaveSilently = "lease: who leaves sends the tombstone of its own lease",
    /// The tombstone is sent on leave while tenures are still held.
    LeaveBeforeRelease = "lease: all tenures end before the tombstone is sent",
    /// The tombstone is sent on leave while a renewal is in flight.
    LeaveDuringRenewal = "lease: one write in flight per record",
    /// A node once found alive is never looked at again.
    LiveForever = "death: a live verdict lasts no longer than that version is known to live",
    /// A look-up's answer is remembered whatever its age.
    LocateStale = "cell: a look-up is remembered no longer than its owner is known to live",
    /// A fence that lost its race counts as done.
    LostFenceIsDead = "death: a fence whose guard fails means that the node lives",
    /// A cell that pauses is not woken.
    LostWakeUp = "engine: what waits for a time is woken at it",
    /// A lease that nobody finds is taken for dead at once.
    MissingIsDead = "death: a missing lease without a marker is not dead",
    /// A new version of a lease is judged by the stamp of the version before it.
    MixStamps = "store: the two stamps never come from different versions",
    /// A lease is renewed only once it has ended.
    NeverRenew = "lease: renewed at a third of its ttl",
    /// What failed is tried again at once.
    NoBackoff = "lease: a retry waits, longer each time",
    /// Authority ends with the ttl itself, not `margin_hold` earlier.
    NoHoldMargin = "lease: authority ends margin_hold before the ttl",
    /// Another node is judged without the margin for disagreeing stamps.
    NoMargin = "death: the margin by which stamps may disagree",
    /// Another node is judged without the unit for truncated stamps.
    NoUnit = "death: the unit to which stamps are cut",
    /// An offer counts as a tenure of the node that it is made to.
    OfferIsHeld = "cell: an offer to another is free to anyone",
    /// Our own record at an epoch we do not hold counts as another's that lives.
    OwnIsHeld = "cell: a late write of ours is never left orphaned",
    /// A removed lease is replaced by a tombstone at once.
    PlaceholderIsTombstone = "death: a placeholder is judged before it is fenced",
    /// A placeholder says a ttl shorter than any holder's.
    PlaceholderTtl = "death: a placeholder lives for the largest ttl",
    /// A store is joined although its tags are weak, which match nothing.
    ProbeTakesWeak = "lease: a join probes the store, and refuses one that is unfit",
    /// A lease found removed is created again by its holder.
    RecreateLease = "lease: a session never re-creates its lease",
    /// A refused attempt settles the earlier ones.
    RefusedSettles = "store: a refusal does not settle an earlier attempt",
    /// A 412 counts as a lost race, without a look at what won.
    RejectedIsLost = "store: after a rejection, an earlier copy of ours may have won",
    /// A release counts as done whatever its first answer is.
    ReleaseOnce = "cell: a release is settled until it is known",
    /// A release goes on against whatever record has taken its place.
    ReleaseWhatever = "cell: a release ends the tenure that it was asked to end",
    /// Every write of a session carries the same number.
    SameWriteId = "record: every version's bytes are unique",
    /// Silence is counted from the issue of the first read, not its answer.
    SilenceFromIssue = "death: silence counts from the arrival of the first answer",
    /// A cell is taken from its holder without judging it.
    StealLive = "cell: a held cell is taken from a dead node only",
    /// A dead node's cell is taken without fencing its lease first. Where the `Date` is of the very answer that showed
    /// the version, the verdict is true without the fence; it breaks where `Date` is later, as in a listing.
    StealUnfenced = "death: fence before steal",
    /// A throttled key is asked again at once.
    ThrottledAtOnce = "store: a throttled key rests for a second",
    /// A throttled renewal is sent again at once.
    ThrottledRenewal = "lease: a throttled renewal waits a second, or for the last moment that leaves room for an attempt",
    /// An offer keeps the sender's epoch.
    TransferKeepsEpoch = "cell: an offer has the receiver's epoch",
    /// Finding the guarded version still there counts as proof that our write is lost.
    TrustOldTag = "store: the guarded version still there proves nothing",
    /// Authority counts from the last attempt even when the write is found by reading.
    TtlFromLastAttempt = "lease: a write found by reading counts from its first attempt",
    /// Authority counts from the reply, not from the send.
    TtlFromReply = "lease: authority counts from the send",
    /// A write of unknown fate counts as applied.
    UnknownIsApplied = "store: an unknown write may not have been applied",
    /// A write of unknown fate counts as lost.
    UnknownIsLost = "store: an unknown write may have been applied",
    /// A write of unknown fate counts as certainly not applied, and is sent again or forgotten.
    UnknownIsNotApplied = "store: an unknown write may yet be applied",
    /// A store in trouble is asked without limit.
    Unbounded = "store: one that is of no use is asked at a bounded rate",
    /// `verify` compares no more than the node's name.
    VerifyByName = "cell: verify compares node, epoch and bytes",
    /// `verify` answers from memory.
    VerifyFromMemory = "cell: verify asks the store",
    /// A waiting claim does not look again.
    WaitNoPoll = "cell: a waiting claim polls",
    /// A watched record is not looked at again.
    WatchOnce = "cell: a watched record is looked at again and again",
    /// A watch tells what it has told before.
    WatchRepeats = "cell: a change is a notice, and nothing else is",
    /// An ended session goes on with what it was doing.
    WriteAfterFence = "lease: an ended session writes nothing more",
}

/// Tells whether `selected` is the deliberate bug `this`; never in a build without the feature.
pub(crate) fn has(selected: Option<Defect>, this: Defect) -> bool {
    cfg!(feature = "defects") && selected == Some(this)
}
