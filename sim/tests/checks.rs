//! No check is there for nothing: without it, some planted bug survives that it catches.
//!
//! This looks for the evidence with the other checks in place, so a check that another one covers has to go.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use tenure_core::Defect;
use tenure_sim::{Check, Family, Plan, Prng, Promise, Trace, View, Violation, World, checks};

/// Each check by its promise; a bug that it alone catches, in worlds of this family (nothing: the usual mixture); and
/// in how many worlds nothing else may catch it.
const NEEDED: &[(Promise, Defect, Option<Family>, u64)] = &[
    (Promise::Record, Defect::EpochSkips, None, 300),
    (Promise::Belief, Defect::NoMargin, Some(Family::Edge), 1000),
    (Promise::Fence, Defect::VerifyFromMemory, Some(Family::RecordsRemoved), 300),
    (Promise::Writes, Defect::FenceForgetsFields, None, 300),
    (Promise::History, Defect::GrantStaleOwn, Some(Family::RecordsRemoved), 600),
    (Promise::Sessions, Defect::GrantWhileLeaving, None, 300),
    // Where garbage settles the write of a lease, a session ends for no reason, and that is seen too: rarely here.
    (Promise::Orphans, Defect::GarbageSettles, Some(Family::Late), 120),
    (Promise::Answers, Defect::LocateStale, None, 300),
    (Promise::Watches, Defect::WatchRepeats, None, 300),
    (Promise::Twins, Defect::CloneUnstirred, Some(Family::Cloned), 300),
    (Promise::Fitness, Defect::ProbeTakesWeak, Some(Family::Unfit), 300),
    (Promise::Requests, Defect::ThrottledAtOnce, None, 300),
    (Promise::Books, Defect::LeakClaim, None, 300),
];

#[test]
fn without_any_one_check_some_defect_survives() {
    let mut useless = Vec::new();
    for &(promise, defect, family, worlds) in NEEDED {
        let with = Plan { family, defect: Some(defect) };
        let caught =
            (0..worlds).find_map(|seed| with.run(seed, Trace::silent()).err().map(|found| (seed, found)));
        let others = (0..worlds).find_map(|seed| without(promise, with, seed).err().map(|why| (seed, why)));
        match (caught, others) {
            (Some((seed, found)), None) if found.violation.check == promise.as_str() => {
                println!("{promise:<9} alone sees {defect:?}: seed {seed:#x} of {worlds} worlds");
            }
            (caught, others) => useless.push(format!("{promise}: {caught:?}, without it {others:?}")),
        }
    }
    assert!(useless.is_empty(), "{useless:#?}");
}

#[test]
fn every_check_is_demanded() {
    for &promise in Promise::ALL {
        let demanded = NEEDED.iter().filter(|needed| needed.0 == promise).count();
        // That of liveness is the world's own end.
        assert_eq!(demanded, usize::from(promise != Promise::Liveness), "{promise}");
    }
}

/// Runs a world with every check but one.
fn without(promise: Promise, plan: Plan, seed: u64) -> Result<(), String> {
    let world = || {
        let mut choices = Prng::new(seed);
        let scenario = plan.scenario(&mut choices);
        let checks = checks::standard_but(promise, &scenario);
        World::new(scenario, &mut choices)
            .with_only(checks)
            .run()
            .map(|_| ())
            .map_err(|found| found.violation)
    };
    match catch_unwind(AssertUnwindSafe(world)) {
        Ok(result) => result.map_err(|violation| violation.to_string()),
        Err(_) => Err("a panic".to_owned()),
    }
}

/// A check that is shown every step, whatever it says it looks at.
#[derive(Debug)]
struct ShownAll(Box<dyn Check>);

impl Check for ShownAll {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.0.observe(view)
    }
}

#[test]
fn no_check_overlooks_a_step_that_it_would_look_at() {
    for &defect in Defect::ALL {
        for &family in Family::ALL {
            for seed in 0..if cfg!(debug_assertions) { 1 } else { 3 } {
                let plan = Plan { family: Some(family), defect: Some(defect) };
                let (said, all) = (
                    verdict(plan, seed, |check| check),
                    verdict(plan, seed, |check| Box::new(ShownAll(check))),
                );
                assert_eq!(said, all, "seed {seed:#x} of {family:?} with {defect:?}");
            }
        }
    }
}

/// Runs a world with its standard checks, each wrapped; tells what was violated and when, or what the world came to.
fn verdict(plan: Plan, seed: u64, wrap: impl Fn(Box<dyn Check>) -> Box<dyn Check>) -> Result<u64, String> {
    let world = || {
        let mut choices = Prng::new(seed);
        let scenario = plan.scenario(&mut choices);
        let checks = checks::standard(&scenario).into_iter().map(wrap).collect();
        World::new(scenario, &mut choices).with_only(checks).run()
    };
    match catch_unwind(AssertUnwindSafe(world)) {
        Ok(Ok(report)) => Ok(report.digest),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(_) => Err("a panic".to_owned()),
    }
}
