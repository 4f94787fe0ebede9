//! Waiting for a bounded time, on a clock that advances while the machine is suspended.

use core::time::Duration;
use std::thread;

use rustix::time::{ClockId, clock_gettime};
use tenure_core::Instant;

/// The instant at which an operation gives up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// Starts now and ends after `timeout`.
    pub(crate) fn after(timeout: Duration) -> Self {
        Self(now().after(timeout))
    }

    /// Returns the time left, zero once the deadline has passed.
    pub(crate) fn left(self) -> Duration {
        self.0.since(now())
    }

    /// Tells whether there is no time left.
    pub(crate) fn is_past(self) -> bool {
        self.left().is_zero()
    }
}

/// Lets `time` pass without using the processor. A stray wake-up of this thread does not shorten it.
pub(crate) fn pause(time: Duration) {
    let end = Deadline::after(time);
    loop {
        let left = end.left();
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

fn now() -> Instant {
    #[cfg(any(target_os = "android", target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "android", target_os = "linux")))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let time = clock_gettime(CLOCK);
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Instant::from_nanos(secs.saturating_mul(1_000_000_000).saturating_add(nanos))
}
