//! Hard situations, and how often they were met. A green run that never met one of them proves little.

use core::fmt;

macro_rules! witnesses {
    ($(#[doc = $doc:literal] $name:ident = $text:literal,)*) => {
        /// A situation worth meeting.
        #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Witness { $(#[doc = $doc] $name,)* }

        impl Witness {
            /// Every witness, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the word for reports.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Returns the sentence that says what it is.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $doc,)* }.trim_start()
            }
        }
    };
}

witnesses! {
    /// An application acknowledged verified work.
    Acknowledged = "acknowledged",
    /// A write reached the store a minute or more after it was sent.
    ArrivedMinutesLate = "arrived-minutes-late",
    /// A request reached the store twice.
    ArrivedTwice = "arrived-twice",
    /// A caller stopped listening before it was answered.
    Cancelled = "cancelled",
    /// A process was cloned with its memory.
    Cloned = "cloned",
    /// Of two clones one went on, and the other was fenced by that.
    CloneFenced = "clone-fenced",
    /// A write was answered with 409.
    Conflict = "conflict",
    /// A record turned into garbage.
    Corrupted = "corrupted",
    /// A claim was refused because the record is garbage.
    CorruptRefused = "corrupt-refused",
    /// A process died.
    Crash = "crash",
    /// The answer to a read was another key's record.
    Crossed = "crossed",
    /// The body of an answer was cut off on its way.
    Cut = "cut",
    /// An operator freed the cell of a dead node by the rules.
    Evicted = "evicted",
    /// An operator freed a cell by force while somebody held it.
    EvictedAlive = "evicted-alive",
    /// A session ended because the store refused its credentials for too long.
    FencedByCredentials = "fenced-by-credentials",
    /// A session ended because no renewal was known to be applied in time.
    FencedByExpiry = "fenced-by-expiry",
    /// A session ended because its lease was removed, or something else stood in its place.
    FencedByLoss = "fenced-by-loss",
    /// A session ended because a store that is fit contradicted itself about guards that held.
    FencedByUnfit = "fenced-by-unfit",
    /// A claim was refused because a live node of another implementation holds the cell.
    ForeignHeld = "foreign-held",
    /// The cell of a dead node of another implementation was taken.
    ForeignTaken = "foreign-taken",
    /// A node of another implementation took a cell by its wall clock.
    ForeignTook = "foreign-took",
    /// An answer showed garbage under a tag.
    Garbled = "garbled",
    /// A reader got garbage under one key for longer than any patience.
    GarbledLong = "garbled-long",
    /// A cell was granted.
    Grant = "grant",
    /// A claim was refused because a live node holds the cell.
    Held = "held",
    /// A wall clock jumped by an hour or more.
    JumpedHours = "jumped-hours",
    /// A write was applied although the session that had sent it was over.
    LandedAfterEnd = "landed-after-end",
    /// A write landed after its sender had given up.
    LateLanding = "late-landing",
    /// A session left on request.
    Left = "left",
    /// The store was down for longer than a lease lives.
    LongOutage = "long-outage",
    /// A process stood still for longer than its authority.
    LongPause = "long-pause",
    /// A tenure was lost while the session went on.
    Lost = "lost",
    /// Something else came in the place of a marker, or of the answer that there is none.
    MarkerGarbled = "marker-garbled",
    /// An operator mended a record that was garbage.
    Mended = "mended",
    /// An offer was taken by a node it was not made to.
    OfferTaken = "offer-taken",
    /// An answer overtook that to an earlier request of the same session.
    Overtaken = "overtaken",
    /// A session claimed over its own record of an epoch it did not hold.
    OwnRecordTaken = "own-record-taken",
    /// A listing that had begun failed at a later page.
    PageFailed = "page-failed",
    /// A listing lacked something that was there.
    PageShort = "page-short",
    /// A listing showed a version that had been replaced.
    PageStale = "page-stale",
    /// A placeholder was put in the place of a removed lease.
    Placeholder = "placeholder",
    /// A cell was released.
    Released = "released",
    /// A store of no use had been asked as often as it may be ahead of an answer, and was asked on at the trickle.
    Rationed = "rationed",
    /// A store that had been asked at the trickle was of use again, and the session had outlived it.
    RationEnded = "ration-ended",
    /// A write's guard failed because an earlier copy of the same write had won.
    RejectedOwn = "rejected-own",
    /// A write was rejected although its guard held.
    RejectedWrongly = "rejected-wrongly",
    /// A write of unknown fate was found to have been applied.
    SettledOurs = "settled-ours",
    /// A write of unknown fate was found to have been overtaken.
    SettledTheirs = "settled-theirs",
    /// A write of unknown fate was read back while it could still land.
    SettlingUnmoved = "settling-unmoved",
    /// A node was fenced by the silence of its lease, without the store's stamps.
    SilenceJudged = "silence-judged",
    /// A version of a lease was stamped earlier than the one it replaced.
    StampsBack = "stamps-back",
    /// A machine was suspended: its clocks went on, its connections did not.
    Suspended = "suspended",
    /// A dead node's cell was taken.
    Takeover = "takeover",
    /// The store asked an engine to slow down.
    Throttled = "throttled",
    /// The store asked an engine to wait for longer than a lease lives.
    ThrottledLong = "throttled-long",
    /// An offer was accepted by the node it was made to.
    TransferAccepted = "transfer-accepted",
    /// An answer said that nothing had changed although no version was named.
    Unasked304 = "unasked-304",
    /// Nobody could join because the store cannot compare-and-swap.
    UnfitRefused = "unfit-refused",
    /// A write was applied, but its answer lacked the tag.
    Untagged = "untagged",
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

    pub(crate) fn note(&mut self, witness: Witness) {
        self.0[witness as usize] += 1;
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
