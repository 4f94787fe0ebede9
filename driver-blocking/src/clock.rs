//! The clocks of this machine: the only file of both drivers that reads one.
//!
//! Deadlines need a clock that goes on while the machine is suspended, or a node that slept believes its
//! lease is fresh. Linux has `CLOCK_BOOTTIME`; elsewhere `CLOCK_MONOTONIC` is the best there is (on macOS it
//! includes sleep).
//!
//! Timers are another matter: every wait that a thread can do counts time without suspends. The engine
//! loops therefore never wait longer than a fraction of a second before they look at this clock again.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tenure_core::{Instant, Now, WallTime};

/// Reads both clocks.
pub fn now() -> Now {
    Now { mono: mono(), wall: wall() }
}

/// Reads the clock that all deadlines refer to.
pub fn mono() -> Instant {
    #[cfg(any(target_os = "android", target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "android", target_os = "linux")))]
    const CLOCK: ClockId = ClockId::Monotonic;

    let time = clock_gettime(CLOCK);
    // Neither part can be negative on a clock that starts at boot.
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Instant::from_nanos(secs.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// Reads the clock that is only published and signed; a machine whose clock lies before 1970 is at 1970.
#[expect(clippy::disallowed_methods, reason = "this is the file that reads clocks")]
pub fn wall() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{mono, now};

    #[test]
    fn the_monotonic_clock_is_never_zero_and_never_goes_back() {
        let before = mono();
        assert!(before.as_nanos() > 0);
        assert!(now().mono >= before);
    }

    #[test]
    fn the_wall_clock_counts_from_1970() {
        let year_2020 = 1_577_836_800_000;
        assert!(now().wall.as_millis() > year_2020);
    }
}
