//! Time as plain numbers, so that a driver, the simulator and a trace can all make and print it.
//!
//! Three clocks never mix: [`Instant`] schedules our own deadlines, [`WallTime`] is only published or
//! signed, [`StoreTime`] is the store's own stamp and the only clock by which another node is judged.

use core::fmt;
use core::time::Duration;

macro_rules! nanos {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(u64);

        impl $name {
            /// Builds the time that lies `nanos` nanoseconds after the clock's start.
            pub const fn from_nanos(nanos: u64) -> Self {
                Self(nanos)
            }

            /// Builds the time that lies `millis` milliseconds after the clock's start, saturating.
            pub const fn from_millis(millis: u64) -> Self {
                Self(millis.saturating_mul(1_000_000))
            }

            /// Returns the nanoseconds since the clock's start.
            pub const fn as_nanos(self) -> u64 {
                self.0
            }

            /// Returns the whole milliseconds since the clock's start.
            pub const fn as_millis(self) -> u64 {
                self.0 / 1_000_000
            }

            /// Returns this time moved forward by `by`, saturating at the end of the clock.
            pub fn after(self, by: Duration) -> Self {
                Self(self.0.saturating_add(saturating_nanos(by)))
            }

            /// Returns this time moved back by `by`, saturating at the clock's start.
            pub fn before(self, by: Duration) -> Self {
                Self(self.0.saturating_sub(saturating_nanos(by)))
            }

            /// Returns how long this time lies after `earlier`, zero if it does not.
            pub const fn since(self, earlier: Self) -> Duration {
                Duration::from_nanos(self.0.saturating_sub(earlier.0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.as_millis())
            }
        }
    };
}

nanos! {
    /// A reading of this node's monotonic clock, counted from an arbitrary start.
    ///
    /// The clock must advance while the machine is suspended (`CLOCK_BOOTTIME` on Linux), or a node that
    /// slept believes its lease is fresh.
    Instant
}
nanos! {
    /// A reading of this node's wall clock, counted from 1970.
    ///
    /// It is published in records for foreign readers and used in signatures; no decision rests on it.
    WallTime
}
nanos! {
    /// A time stamp given by the store, counted from 1970.
    StoreTime
}

/// Both clocks of a node, read together by the driver just before an event is handled.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Now {
    /// The monotonic clock.
    pub mono: Instant,
    /// The wall clock.
    pub wall: WallTime,
}

/// When the engine wants to be woken, and why.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Deadline {
    /// The time at which an [`Event::Wake`](crate::Event::Wake) is due.
    pub at: Instant,
    /// What will be done then, for traces and logs.
    pub timer: Timer,
}

/// Why the engine wants to be woken.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Timer {
    /// The authority of this node ends.
    Fence,
    /// A record that others write is due to be looked at again, or a caller's deadline passes.
    Poll,
    /// The lease is due to be renewed.
    Renew,
    /// A failed request is due to be sent again.
    Retry,
}

/// Returns the deadline that comes first, if there is any.
pub(crate) fn sooner(one: Option<Deadline>, other: Option<Deadline>) -> Option<Deadline> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn saturating_nanos(by: Duration) -> u64 {
    u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)
}
