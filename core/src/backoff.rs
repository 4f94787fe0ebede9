//! Delays and chance as pure functions of a seed.

use core::time::Duration;

/// A small generator (splitmix64) that jitters delays. Nothing secret depends on it.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Rng {
    state: u64,
    is_steady: bool,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, is_steady: false }
    }

    /// Stops jittering.
    pub(crate) fn steady(&mut self) {
        self.is_steady = true;
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Returns `by` scaled by a factor between `1 - spread` and `1 + spread`, where spread is in thousandths.
    pub(crate) fn jitter(&mut self, by: Duration, spread_permille: u64) -> Duration {
        if self.is_steady {
            return by;
        }
        let spread = spread_permille.min(1000);
        let factor = 1000 - spread + self.next() % (2 * spread + 1);
        Duration::from_nanos(nanos(by) / 1000 * factor)
    }

    /// Returns the delay before try number `failures + 1`: doubling from 50 ms up to `cap`, the upper half jittered.
    pub(crate) fn backoff(&mut self, failures: u32, cap: Duration) -> Duration {
        let full = Duration::from_millis(50 << failures.min(10)).min(cap);
        self.jitter(full * 3 / 4, 333)
    }
}

/// Scrambles 64 bits, bijectively.
pub(crate) fn mix(bits: u64) -> u64 {
    let z = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn nanos(by: Duration) -> u64 {
    u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::Rng;
    use core::time::Duration;

    #[test]
    fn backoff_doubles_with_jitter_and_never_passes_its_cap() {
        let mut rng = Rng::new(1);
        let cap = Duration::from_secs(1);
        for failures in 0..80 {
            let delay = rng.backoff(failures, cap);
            let full = Duration::from_millis(50 << failures.min(10)).min(cap);
            assert!(delay >= full / 2 - Duration::from_millis(1) && delay <= full, "{failures}: {delay:?}");
        }
    }

    #[test]
    fn jitter_stays_within_its_spread() {
        let mut rng = Rng::new(7);
        for _ in 0..1000 {
            let by = rng.jitter(Duration::from_secs(1), 100);
            assert!(by >= Duration::from_millis(900) && by <= Duration::from_millis(1100));
        }
    }
}
