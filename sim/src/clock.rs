//! Time in a world: one true time that nobody inside can read, and the clocks that nodes read instead.

use core::fmt;
use core::time::Duration;

use tenure_core::{Instant, Now, WallTime};

/// A moment of true time, in nanoseconds since the world began; it prints as whole milliseconds.
///
/// Only checks and traces see it. What runs inside a world reads the two clocks of its machine instead, as a
/// [`tenure_core::Now`]: a monotonic clock that runs too fast or too slow by up to
/// [`Scenario::drift_ppm`](crate::Scenario::drift_ppm), starts anywhere and goes on while the process stands still; and
/// a wall clock that is off by up to [`Scenario::wall_off`](crate::Scenario::wall_off) and may jump.
///
/// ```
/// use core::time::Duration;
/// use tenure_sim::Moment;
///
/// let later = Moment::START.after(Duration::from_millis(1500));
/// assert_eq!((later.since(Moment::START), later.to_string().as_str()), (Duration::from_millis(1500), "1500"));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Moment(u64);

impl Moment {
    /// When the world began.
    pub const START: Self = Self(0);

    /// Builds the moment `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the moment that lies `by` later.
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(nanos(by)))
    }

    /// Returns the moment that lies `by` earlier, the start if there is none.
    pub fn before(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(by)))
    }

    /// Returns how long this moment lies after `earlier`, zero if it does not.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 / 1_000_000)
    }
}

/// The two clocks of one machine.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// What the monotonic clock read when the world began.
    start: u64,
    /// How many millionths the monotonic clock runs too fast; negative when too slow.
    ahead_ppm: i64,
    /// For how long the monotonic clock stood still, in its own nanoseconds.
    stood: u64,
    /// How far the wall clock is ahead of true time, in nanoseconds.
    wall_ahead: i64,
}

impl Clock {
    pub(crate) fn new(start: Duration, ahead_ppm: i64, wall_ahead: i64) -> Self {
        Self { start: nanos(start), ahead_ppm, stood: 0, wall_ahead }
    }

    /// Takes back what the monotonic clock measured since `since`, as if it had stood still.
    pub(crate) fn stand(&mut self, since: Moment, until: Moment) {
        let measured = self.measured(until) - self.measured(since);
        self.stood += measured;
    }

    /// Returns for how long the monotonic clock stood still, all in all.
    pub(crate) const fn stood(&self) -> Duration {
        Duration::from_nanos(self.stood)
    }

    /// Moves the wall clock; the monotonic one cannot jump.
    pub(crate) fn jump(&mut self, by: i64) {
        self.wall_ahead = self.wall_ahead.saturating_add(by);
    }

    /// Reads both clocks.
    pub(crate) fn now(&self, at: Moment) -> Now {
        let mono = self.start + self.measured(at) - self.stood;
        let wall = (WALL_AT_START + at.0).saturating_add_signed(self.wall_ahead);
        Now { mono: Instant::from_nanos(mono), wall: WallTime::from_nanos(wall) }
    }

    /// Returns the first moment at which the monotonic clock reads at least `mono`.
    pub(crate) fn when(&self, mono: Instant) -> Moment {
        let gone = (mono.as_nanos() + self.stood).saturating_sub(self.start);
        Moment(match gone.checked_mul(PPM) {
            Some(product) => product.div_ceil(self.rate()),
            // A world of five hours or more: the product needs more bits, and a division that is slow.
            None => {
                let true_gone = (u128::from(gone) * u128::from(PPM)).div_ceil(u128::from(self.rate()));
                u64::try_from(true_gone).unwrap_or(u64::MAX)
            }
        })
    }

    fn measured(&self, at: Moment) -> u64 {
        at.0 * self.rate() / PPM
    }

    fn rate(&self) -> u64 {
        PPM.saturating_add_signed(self.ahead_ppm)
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

const PPM: u64 = 1_000_000;

/// True wall time when a world begins: some day in 2025.
pub(crate) const WALL_AT_START: u64 = 1_760_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::{Clock, Moment};
    use core::time::Duration;

    #[test]
    fn a_deadline_is_reached_at_the_first_moment_that_reads_it() {
        for ahead_ppm in [-100_000, -7, 0, 3, 100_000] {
            let clock = Clock::new(Duration::from_secs(5), ahead_ppm, 0);
            for nanos in [0, 1, 999_999_999, 7_123_456_789, 3_600_000_000_000] {
                let mono = clock.now(Moment::from_nanos(nanos)).mono;
                let when = clock.when(mono);
                assert!(clock.now(when).mono >= mono, "{ahead_ppm} {nanos}");
                let before = Moment::from_nanos(when.as_nanos().saturating_sub(1));
                assert!(when == Moment::START || clock.now(before).mono < mono, "{ahead_ppm} {nanos}");
            }
        }
    }

    #[test]
    fn a_clock_that_stood_still_goes_on_from_where_it_stood() {
        let mut clock = Clock::new(Duration::from_secs(5), -100_000, 0);
        let at = |secs: u64| Moment::from_nanos(secs * 1_000_000_000);
        let before = clock.now(at(3)).mono;
        clock.stand(at(3), at(9));
        assert_eq!(clock.now(at(9)).mono, before);
        assert_eq!(clock.when(before), at(9));
    }

    #[test]
    fn a_slow_clock_measures_less_than_passed() {
        let clock = Clock::new(Duration::ZERO, -100_000, 0);
        assert_eq!(clock.now(Moment::from_nanos(1_000)).mono.as_nanos(), 900);
    }
}
