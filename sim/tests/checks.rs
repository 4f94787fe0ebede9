//! No check is there for nothing: without it, some planted bug survives that it catches.
//!
//! This looks for the evidence with the other checks in place, so a check that another one covers has to go.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use tenure_core::Defect;
use tenure_sim::{Family, Plan, Prng, Scenario, Trace, World, checks};

/// Each check; a bug that it alone catches, in worlds of this family (nothing: the usual mixture); and in how many
/// worlds nothing else may catch it.
const NEEDED: &[(&str, Defect, Option<Family>, u64)] = &[
    ("G1", Defect::EpochSkips, None, 300),
    ("G2", Defect::NoMargin, Some(Family::Edge), 1000),
    ("G3", Defect::VerifyFromMemory, Some(Family::RecordsRemoved), 300),
    ("G5", Defect::FenceForgetsFields, None, 300),
    ("answers", Defect::LocateStale, None, 300),
    ("books", Defect::LeakClaim, None, 300),
    ("linear", Defect::GrantStaleOwn, Some(Family::RecordsRemoved), 600),
    ("requests", Defect::ThrottledAtOnce, None, 300),
    ("session", Defect::GrantWhileLeaving, None, 300),
    ("watches", Defect::WatchRepeats, None, 300),
];

#[test]
fn without_any_one_check_some_defect_survives() {
    let mut useless = Vec::new();
    for &(name, defect, family, worlds) in NEEDED {
        let with = Plan { family, defect: Some(defect) };
        let caught =
            (0..worlds).find_map(|seed| with.run(seed, Trace::silent()).err().map(|found| (seed, found)));
        let others =
            (0..worlds).find_map(|seed| without(name, defect, family, seed).err().map(|why| (seed, why)));
        match (caught, others) {
            (Some((seed, found)), None) if found.violation.check == name => {
                println!("{name:<9} alone sees {defect:?}: seed {seed:#x} of {worlds} worlds");
            }
            (caught, others) => useless.push(format!("{name}: {caught:?}, without it {others:?}")),
        }
    }
    assert!(useless.is_empty(), "{useless:#?}");
}

#[test]
fn every_check_is_demanded() {
    let mut names = checks::names();
    names.sort_unstable();
    let demanded: Vec<&str> = NEEDED.iter().map(|needed| needed.0).collect();
    assert_eq!(names, demanded);
}

/// Runs a world with every check but one.
fn without(name: &str, defect: Defect, family: Option<Family>, seed: u64) -> Result<(), String> {
    let world = || {
        let mut choices = Prng::new(seed);
        let scenario = match family {
            Some(family) => Scenario::of(family, &mut choices),
            None => Scenario::swarm(&mut choices),
        };
        let scenario = scenario.with_defect(Some(defect));
        let checks = checks::standard_but(name, &scenario);
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
