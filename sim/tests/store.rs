//! The simulated store is held to what every store is: the conformance suite passes against it.

use core::time::Duration;

use tenure_core::StoreClock;
use tenure_sim::conformance::{self, Settings};
use tenure_sim::{Moment, Stamping, Store, Visit};

#[test]
fn the_simulated_store_passes_the_conformance_suite() {
    for (clock, unit, page) in [
        (StoreClock::HTTP, Duration::from_secs(1), 1000),
        (StoreClock::HTTP, Duration::from_secs(1), 2),
        (StoreClock::FINE, Duration::ZERO, 1),
    ] {
        let mut store = Store::new(Stamping { unit, page, ..Stamping::HTTP });
        let at = core::cell::Cell::new(Moment::START);
        let mut execute = |op| {
            at.set(at.get().after(Duration::from_millis(7)));
            store.execute(&op, Visit { at: at.get(), ..Visit::default() })
        };
        let mut pause = |time| at.set(at.get().after(time));
        let settings = Settings { clock, listed: 5, scratch: true, ..Settings::new(7) };
        let report = conformance::run(&settings, &mut execute, &mut pause);
        assert!(report.is_fit(), "{report}");
        assert_eq!(store.keys().count(), 0, "something was left behind");
    }
}
