//! The checks can fail: every bug planted in the engine is caught within a stated number of worlds.
//!
//! A seed counts only if the world holds without the bug: what is caught is the bug and nothing else.

use core::num::NonZeroUsize;

use tenure_core::Defect;
use tenure_sim::{Family, Plan};

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
    let mut survivors = Vec::new();
    for &(defect, family, bound) in TEETH {
        let plan = Plan { family, defect: Some(defect) };
        match plan.first_caught(0, bound, threads) {
            Some(found) => {
                let name = format!("{defect:?}");
                let worlds = found.seed + 1;
                println!(
                    "{name:<26} seed {:#06x}, world {worlds:>5} of {bound:>5}, by {}",
                    found.seed, found.failure.violation
                );
            }
            None => survivors.push((defect, family, bound)),
        }
    }
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}

#[test]
fn every_defect_is_demanded() {
    for defect in Defect::ALL {
        let demanded = TEETH.iter().filter(|tooth| tooth.0 == *defect).count();
        assert_eq!(demanded, 1, "{defect:?}");
    }
}
