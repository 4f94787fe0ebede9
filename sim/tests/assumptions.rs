//! Assumptions have teeth: where one is broken G2 breaks, and every promise that does not rest on it holds.

use core::num::NonZeroUsize;

use tenure_sim::checks::Belief;
use tenure_sim::{Family, Faults, Plan, Prng, Promise, Rate, Scenario, Trace, World};

/// The families in which G2 is not promised, and the number of worlds within which it must be seen to break.
const BROKEN: &[(Family, u64)] = &[
    (Family::Drifting, 60),
    (Family::Misstamped, 60),
    (Family::Forced, 60),
    (Family::Cloned, 60),
    (Family::Takers, 60),
    (Family::RecordsRemoved, 60),
];

#[test]
fn the_fence_and_the_record_hold_whatever_assumption_is_broken() {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    for &(family, _) in BROKEN {
        for promise in [Promise::Record, Promise::Fence, Promise::Writes, Promise::Sessions, Promise::Answers]
        {
            assert!(family.keeps(promise), "{family:?} is not held to {promise}");
        }
        let plan = Plan { family: Some(family), defect: None };
        if let Err(found) = plan.run_all(0xa55e_0000, 200, threads, &|_| {}) {
            panic!("seed {:#x} of {family:?}: {}", found.seed, found.failure);
        }
    }
}

#[test]
fn one_belief_breaks_wherever_an_assumption_that_it_rests_on_is_broken() {
    for &(family, bound) in BROKEN {
        assert!(!family.keeps(Promise::Belief), "{family:?} is held to G2 all the same");
        let broken = (0..bound).find_map(|seed| believes_twice(family, seed).map(|why| (seed, why)));
        let Some((seed, why)) = broken else {
            panic!("{family:?}: G2 held in {bound} worlds, so the family shows nothing");
        };
        println!("{family:?}: seed {seed:#x}: {why}");
    }
}

#[test]
fn one_belief_is_promised_wherever_no_assumption_is_broken() {
    for &family in Family::ALL {
        let is_broken = BROKEN.iter().any(|(broken, _)| *broken == family);
        assert_eq!(family.keeps(Promise::Belief), !is_broken, "{family:?}");
    }
}

#[test]
fn the_same_worlds_keep_one_belief_once_the_assumption_holds() {
    for &(family, bound) in BROKEN {
        for seed in 0..bound {
            let mut choices = Prng::new(seed);
            let scenario = mended(Plan { family: Some(family), defect: None }.scenario(&mut choices));
            let world = World::new(scenario, &mut choices).with_check(Box::new(Belief));
            if let Err(failure) = world.run() {
                panic!("seed {seed:#x} of {family:?}, its assumption mended: {failure}");
            }
        }
    }
}

/// Takes what breaks an assumption out of a world, and leaves it exactly at the bound where there is one.
fn mended(scenario: Scenario) -> Scenario {
    let Scenario { config, faults, .. } = &scenario;
    let faults = Faults {
        clock_stops: Rate::NEVER,
        clone: Rate::NEVER,
        evicted_by_force: Rate::NEVER,
        record_removed: Rate::NEVER,
        record_restored: Rate::NEVER,
        ..faults.clone()
    };
    Scenario {
        disagreement: config.clock.margin.min(scenario.disagreement),
        drift_ppm: (config.drift_permille * 1000).min(scenario.drift_ppm),
        faults,
        foreigners_take: false,
        ..scenario
    }
}

/// Runs a world with the check of G2 although it is not promised there; tells how it broke, if it did.
fn believes_twice(family: Family, seed: u64) -> Option<String> {
    let mut choices = Prng::new(seed);
    let scenario = Plan { family: Some(family), defect: None }.scenario(&mut choices);
    let world = World::new(scenario, &mut choices).with_trace(Trace::silent());
    let failure = world.with_check(Box::new(Belief)).run().err()?;
    assert_eq!(failure.violation.check, "G2", "seed {seed:#x} of {family:?}: {failure}");
    Some(failure.violation.why)
}
