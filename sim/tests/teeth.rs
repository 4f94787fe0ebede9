//! The checks can fail: every bug planted in the engine is caught within a stated number of worlds.
//!
//! A seed counts only if the world holds without the bug: what is caught is the bug and nothing else.

use core::num::NonZeroUsize;

use tenure_core::Defect;
use tenure_sim::{Family, Found, Plan, Shrinker, Trace};

/// Each defect, the family of worlds that aims at it (nothing: the usual mixture), and the number of worlds
/// within which it must be caught.
const TEETH: &[(Defect, Option<Family>, u64)] = &[
    (Defect::ActUntilReleaseConfirmed, None, 50),
    (Defect::ActUntilTransferConfirmed, None, 50),
    (Defect::AdoptByName, None, 50),
    (Defect::ConflictIsLost, None, 50),
    (Defect::GrantWithoutLease, Some(Family::Edge), 2000),
    // Only where somebody puts an old record back is a node named at an epoch that it held once.
    (Defect::GrantStaleOwn, Some(Family::RecordsRemoved), 200),
    (Defect::GrantRegressed, Some(Family::RecordsRemoved), 200),
    (Defect::JudgeByOwnClock, None, 50),
    (Defect::NoHoldMargin, Some(Family::Edge), 4000),
    (Defect::NoMargin, Some(Family::Edge), 1000),
    (Defect::NoUnit, Some(Family::Edge), 1000),
    (Defect::LeaveBeforeRelease, None, 50),
    (Defect::LateRevival, None, 50),
    (Defect::MissingIsDead, Some(Family::LeasesRemoved), 200),
    (Defect::RecreateLease, Some(Family::LeasesRemoved), 200),
    (Defect::SilenceFromIssue, Some(Family::Silent), 4000),
    (Defect::StealUnfenced, Some(Family::Edge), 8000),
    (Defect::StealLive, None, 50),
    (Defect::TrustOldTag, None, 50),
    (Defect::TtlFromLastAttempt, Some(Family::Edge), 12_000),
    (Defect::TtlFromReply, Some(Family::Edge), 12_000),
    (Defect::UnknownIsApplied, None, 50),
    (Defect::UnknownIsLost, None, 50),
    // While a tenure lasts nobody else may write the record, unless by force.
    (Defect::VerifyFromMemory, Some(Family::RecordsRemoved), 200),
];

#[test]
fn every_planted_defect_is_caught_within_its_bound() {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut caught = Vec::new();
    let mut survivors = Vec::new();
    for &(defect, family, bound) in TEETH {
        let plan = Plan { family, defect: Some(defect) };
        match plan.first_caught(0, bound, threads) {
            Some(found) => caught.push((plan, found, bound)),
            None => survivors.push((defect, family, bound)),
        }
    }
    print(&caught, threads);
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}

/// Shows for each defect where it was caught, how small that world becomes, and which check caught it.
fn print(caught: &[(Plan, Found, u64)], threads: NonZeroUsize) {
    let seeds: Vec<(Plan, u64)> = caught.iter().map(|(plan, found, _)| (*plan, found.seed)).collect();
    let shrunk = Shrinker::new(RUNS).shrink_all(&seeds, threads);
    println!("{:<26} {:>6} {:>14}  {:>14} {:>7}  violated", "defect", "seed", "world", "choices", "steps");
    for ((plan, found, bound), shrunk) in caught.iter().zip(shrunk) {
        let shrunk = shrunk.expect("it was caught there");
        assert_eq!(shrunk.failure.violation.check, found.failure.violation.check, "shrunk to something else");
        let sound = Plan { defect: None, ..*plan };
        let without = sound.replay(&shrunk.tape, Trace::silent());
        assert!(without.is_ok(), "{plan:?}: the shrunk world fails without the defect too");
        println!(
            "{:<26} {:#06x} {:>5} of {:>5}  {:>5} to {:>5} {:>3} to {:>3}  {}",
            plan.defect.map_or_else(String::new, |defect| format!("{defect:?}")),
            found.seed,
            found.seed + 1,
            bound,
            shrunk.before.choices,
            shrunk.after.choices,
            shrunk.before.steps,
            shrunk.after.steps,
            found.failure.violation
        );
    }
}

/// How many worlds may be run to make one smaller: enough for all but those that need exact timing.
const RUNS: u32 = 1500;

#[test]
fn every_defect_is_demanded() {
    for defect in Defect::ALL {
        let demanded = TEETH.iter().filter(|tooth| tooth.0 == *defect).count();
        assert_eq!(demanded, 1, "{defect:?}");
    }
}
