//! A small world of the simulator: three full engines, one cell, lost and ambiguous messages, all standard checks.

use std::cell::Cell;
use std::rc::Rc;

use tenure_sim::{
    Check, Family, Faults, Kinds, Plan, Prng, Rate, Report, Scenario, Tape, View, Violation, World,
};

/// Runs the small world of so many seeds.
pub fn run(seeds: u64) -> Report {
    let mut total = Report::default();
    for seed in 0..seeds {
        total.add(&World::new(scenario(), &mut Prng::new(seed)).run().expect("every check holds"));
    }
    total
}

/// Runs the small world of so many seeds and counts its requests.
pub fn operations(seeds: u64) -> u64 {
    let count = Rc::new(Cell::new(0));
    for seed in 0..seeds {
        let check = Box::new(Count(count.clone()));
        World::new(scenario(), &mut Prng::new(seed)).with_check(check).run().expect("every check holds");
    }
    count.get()
}

/// Runs the default mixture of worlds on one thread.
pub fn mixture(seeds: u64) -> Report {
    let one = core::num::NonZeroUsize::MIN;
    Plan::default().run_all(0, seeds, one, &|_| {}).unwrap_or_else(|found| panic!("{:#x}", found.seed))
}

fn scenario() -> Scenario {
    // A tape without choices gives the calmest world: no faults, true clocks.
    let calm = Scenario::of(Family::Common, &mut Tape::new(&[]));
    let ttl = calm.config.ttl;
    let faults = Faults {
        request_lost: Rate::permille(125),
        reply_lost: Rate::permille(125),
        every: ttl / 2,
        ..Faults::default()
    };
    Scenario { machines: 3, cells: 1, pace: ttl / 8, storm: ttl * 31 / 100, faults, ..calm }
}

/// Counts requests.
#[derive(Debug)]
struct Count(Rc<Cell<u64>>);

impl Check for Count {
    fn kinds(&self) -> Kinds {
        Kinds::SENT
    }

    fn observe(&mut self, _: &View<'_>) -> Result<(), Violation> {
        self.0.set(self.0.get() + 1);
        Ok(())
    }
}
