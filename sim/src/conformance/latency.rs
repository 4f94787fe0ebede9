//! How long requests take, and which ttl that asks for.

use core::time::Duration;

/// The longest ttl a lease may have; the core's own limit.
const TTL_MAX: Duration = tenure_core::TTL_MAX;
/// The ttls that are recommended, in milliseconds: round numbers.
const TTLS_MS: [u64; 16] = [
    200, 500, 1000, 2000, 3000, 4000, 5000, 6000, 8000, 10_000, 15_000, 20_000, 30_000, 40_000, 50_000,
    60_000,
];

/// Times of single requests, none of them in a race.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Latency {
    /// In rising order.
    sorted: Vec<Duration>,
}

impl Latency {
    pub(super) fn new(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        (!times.is_empty()).then_some(Self { sorted: times })
    }

    /// Returns how many requests were timed: at least one.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the time that this many per mille of the requests did not exceed: 500 is the median, 1000 the
    /// slowest.
    pub fn permille(&self, permille: usize) -> Duration {
        let rank = (self.sorted.len() * permille).div_ceil(1000);
        self.sorted.get(rank.saturating_sub(1)).or(self.sorted.last()).copied().unwrap_or_default()
    }

    /// Returns a histogram: the upper end of each class, the double of the one before, and how many requests are
    /// in it; from the first class that is not empty to the last.
    pub fn histogram(&self) -> Vec<(Duration, usize)> {
        let mut classes = Vec::new();
        let (mut end, mut from) = (Duration::from_micros(125), 0);
        while from < self.sorted.len() {
            let to = self.sorted.partition_point(|time| *time <= end);
            if to > 0 {
                classes.push((end, to - from));
            }
            (from, end) = (to, end.saturating_mul(2));
        }
        classes
    }

    /// Returns the smallest round ttl, from `least` on, with which a store this slow costs no lease: 99 of 100
    /// writes fit an attempt's timeout (0.15 ttl), and the slowest is no longer than 0.25 ttl. Nothing if no ttl
    /// that a lease may have is long enough.
    pub fn ttl(&self, least: Duration) -> Option<Duration> {
        let needed = (self.permille(990) * 100 / 15).max(self.permille(1000) * 4).max(least);
        TTLS_MS.into_iter().map(Duration::from_millis).find(|ttl| (needed..=TTL_MAX).contains(ttl))
    }
}

#[cfg(test)]
mod tests {
    use super::Latency;
    use core::time::Duration;

    fn ms(times: impl IntoIterator<Item = u64>) -> Latency {
        Latency::new(times.into_iter().map(Duration::from_millis).collect()).expect("some")
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let hundred = ms((1..=100).rev());
        for (permille, expected) in [(500, 50), (900, 90), (990, 99), (1000, 100), (0, 1)] {
            assert_eq!(hundred.permille(permille), Duration::from_millis(expected));
        }
        assert_eq!(ms([7]).permille(500), Duration::from_millis(7));
        assert_eq!(Latency::new(Vec::new()), None);
    }

    #[test]
    fn a_histogram_counts_every_request_once() {
        let classes = ms([1, 1, 3, 3, 3, 30]).histogram();
        let ends: Vec<_> = classes.iter().map(|(end, count)| (end.as_millis(), *count)).collect();
        assert_eq!(ends, [(1, 2), (2, 0), (4, 3), (8, 0), (16, 0), (32, 1)]);
    }

    #[test]
    fn the_ttl_leaves_room_for_the_slowest_write() {
        let least = Duration::from_secs(3);
        let ttl = |latency: Latency| latency.ttl(least).map(|ttl| ttl.as_millis());
        assert_eq!(ttl(ms([20; 100])), Some(3000));
        assert_eq!(ttl(ms([700; 100])), Some(5000), "0.15 ttl must be 700 ms");
        assert_eq!(ttl(ms([vec![20; 99], vec![2400]].concat())), Some(10_000), "0.25 ttl must be 2.4 s");
        assert_eq!(ttl(ms([20_000])), None);
        assert_eq!(ms([2; 100]).ttl(Duration::from_millis(50)), Some(Duration::from_millis(200)));
    }
}
