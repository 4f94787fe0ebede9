//! Does the store's `Date` go as fast as time does? An answer whose date has run away from that of an earlier one comes
//! from something with a clock of its own, and a lease that is judged by it dies, or lives, by mistake.

use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use tenure_core::{Instant, Stamps, StoreClock, StoreTime};

/// How much two dates may differ from the time between them, beside what stamps may be off by anyhow: the clock of a
/// file system is coarse, and clocks are corrected.
const SLACK: Duration = Duration::from_millis(500);

/// What the first answer said, and whether all since agree with it.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    first: Option<Dated>,
    is_lost: bool,
}

/// A date, and the time in which it was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dated {
    pub(super) date: StoreTime,
    pub(super) issued: Instant,
    pub(super) arrived: Instant,
}

impl Pace {
    /// Takes the stamps of an answer, and returns those of them that may be trusted.
    pub(super) fn trusted(
        &self,
        stamps: Stamps,
        issued: Instant,
        arrived: Instant,
        clock: StoreClock,
    ) -> Stamps {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(date) = stamps.date {
            let now = Dated { date, issued, arrived };
            let first = *state.first.get_or_insert(now);
            // Nothing tells which of them is right.
            state.is_lost |= !agree(first, now, clock);
        }
        if state.is_lost { Stamps::default() } else { stamps }
    }
}

fn agree(first: Dated, now: Dated, clock: StoreClock) -> bool {
    let allowed = clock.unit + clock.margin + SLACK;
    let longest = now.arrived.since(first.issued);
    let shortest = now.issued.since(first.arrived);
    now.date.since(first.date) <= longest + allowed
        && shortest <= now.date.since(first.date) + allowed
        && first.date.since(now.date) <= allowed
}

#[cfg(test)]
mod tests {
    use super::{Dated, agree};
    use core::time::Duration;
    use tenure_core::{Instant, StoreClock, StoreTime};

    #[test]
    fn dates_agree_that_went_on_as_time_did() {
        let clock = StoreClock { unit: Duration::from_secs(1), margin: Duration::from_secs(2) };
        let dated = |date: u64, issued: u64, arrived: u64| Dated {
            date: StoreTime::from_millis(100_000 + date),
            issued: Instant::from_millis(issued),
            arrived: Instant::from_millis(arrived),
        };
        let first = dated(0, 1000, 2000);
        for (date, issued, arrived, agrees) in [
            (0, 1000, 2000, true),
            (5000, 2000, 2500, true),
            (5001, 2000, 2500, false),
            (6500, 12_000, 12_100, true),
            (6499, 12_000, 12_100, false),
        ] {
            assert_eq!(agree(first, dated(date, issued, arrived), clock), agrees, "{date} at {issued}");
        }
        let before = |by: u64| Dated { date: StoreTime::from_millis(100_000 - by), ..first };
        assert!(agree(first, before(3500), clock) && !agree(first, before(3501), clock));
    }
}
