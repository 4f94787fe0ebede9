//! Waiting for a bounded time.

use core::time::Duration;
use std::thread;

use tenure_core::Instant;

use crate::clock::mono;

/// The instant at which an operation gives up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// Starts now and ends after `timeout`.
    pub(crate) fn after(timeout: Duration) -> Self {
        Self(mono().after(timeout))
    }

    /// Returns the time left, zero once the deadline has passed.
    pub(crate) fn left(self) -> Duration {
        self.0.since(mono())
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
