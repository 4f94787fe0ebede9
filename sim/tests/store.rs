//! The simulated store is held to what every store is: the conformance suite passes against it.

use core::time::Duration;
use std::sync::{Mutex, MutexGuard};

use tenure_core::{Instant, Now, Op, Reply, StoreClock, WallTime};
use tenure_sim::conformance::{Settings, Spelling, Subject, Suite, run};
use tenure_sim::{Moment, Stamping, Store, Visit};

#[test]
fn the_simulated_store_passes_the_conformance_suite() {
    for (clock, unit, page) in [
        (StoreClock::HTTP, Duration::from_secs(1), 1000),
        (StoreClock::HTTP, Duration::from_secs(1), 2),
        (StoreClock::FINE, Duration::ZERO, 1),
    ] {
        let store = Store::new(Stamping { unit, page, ..Stamping::HTTP });
        let place = Place(Mutex::new((store, Moment::START)));
        let settings = Settings { clock, listed: 5, scratch: true, timed: 20, ..Settings::new(7) };
        let report = run(&mut Suite::new(settings), &place, |_| {});
        assert!(report.is_fit(), "{report}");
        assert_eq!(place.lock().0.keys().count(), 0, "something was left behind");
    }
}

/// A store and what time it is there; every request takes a while.
struct Place(Mutex<(Store, Moment)>);

impl Place {
    fn lock(&self) -> MutexGuard<'_, (Store, Moment)> {
        self.0.lock().expect("no panic")
    }
}

impl Subject for Place {
    fn execute(&self, op: Op, _: Spelling) -> Reply {
        let (store, at) = &mut *self.lock();
        *at = at.after(Duration::from_millis(7));
        store.execute(&op, Visit { at: *at, ..Visit::default() })
    }

    fn pause(&self, time: Duration) {
        let (_, at) = &mut *self.lock();
        *at = at.after(time);
    }

    fn now(&self) -> Now {
        let nanos = self.lock().1.since(Moment::START).as_nanos();
        let nanos = u64::try_from(nanos).expect("a short test");
        Now { mono: Instant::from_nanos(nanos), wall: WallTime::from_nanos(nanos) }
    }
}
