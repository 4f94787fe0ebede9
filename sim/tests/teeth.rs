//! The checks can fail: every bug planted in the engine is caught within a stated number of worlds.
//!
//! A seed counts only if the world holds without the bug: what is caught is the bug and nothing else.

use core::num::NonZeroUsize;

use tenure_core::Defect;
use tenure_sim::{Family, Found, Plan, Shrinker, Trace};

/// Each defect, the family of worlds that aims at it (nothing: the usual mixture), and the number of worlds
/// within which it must be caught: some four times what three ranges of seeds took at most.
const TEETH: &[(Defect, Option<Family>, u64)] = &[
    (Defect::AcceptUnwritten, None, 50),
    (Defect::ActUntilReleaseConfirmed, None, 50),
    (Defect::ActUntilTransferConfirmed, None, 50),
    (Defect::AdoptByName, None, 50),
    (Defect::CancelStopsSettling, Some(Family::Edge), 600),
    (Defect::CancelledIsKept, Some(Family::Edge), 1500),
    (Defect::ClaimSameEpoch, None, 50),
    (Defect::CloneUnstirred, Some(Family::Cloned), 100),
    (Defect::ConflictIsLost, None, 50),
    (Defect::EpochSkips, None, 50),
    (Defect::FenceForgetsFields, None, 50),
    (Defect::GrantRegressed, Some(Family::RecordsRemoved), 50),
    // Only where somebody puts an old record back is a node named at an epoch that it held once.
    (Defect::GrantStaleOwn, Some(Family::RecordsRemoved), 100),
    (Defect::GrantWhileLeaving, None, 150),
    (Defect::GrantWithoutLease, Some(Family::Silent), 200),
    (Defect::JudgeByOwnClock, None, 50),
    (Defect::LateRevival, None, 50),
    (Defect::LeakClaim, None, 50),
    (Defect::LeaveBeforeRelease, None, 50),
    (Defect::LeaveDuringRenewal, None, 200),
    (Defect::LiveForever, None, 50),
    (Defect::LocateStale, None, 400),
    (Defect::LostFenceIsDead, Some(Family::Edge), 30_000),
    (Defect::LostWakeUp, None, 50),
    (Defect::MissingIsDead, Some(Family::LeasesRemoved), 100),
    (Defect::MixStamps, None, 50),
    (Defect::NeverRenew, None, 100),
    (Defect::NoBackoff, Some(Family::Common), 10_000),
    (Defect::NoHoldMargin, Some(Family::Edge), 8000),
    (Defect::NoMargin, Some(Family::Edge), 1600),
    (Defect::NoUnit, Some(Family::Edge), 1600),
    (Defect::OfferIsHeld, None, 100),
    (Defect::OwnIsHeld, Some(Family::RecordsRemoved), 200),
    (Defect::PlaceholderIsTombstone, Some(Family::LeasesRemoved), 50),
    (Defect::PlaceholderTtl, Some(Family::LeasesRemoved), 50),
    (Defect::ProbeTakesWeak, Some(Family::Unfit), 100),
    (Defect::RecreateLease, Some(Family::LeasesRemoved), 50),
    (Defect::RefusedSettles, None, 4000),
    (Defect::RejectedIsLost, None, 100),
    (Defect::ReleaseOnce, None, 50),
    (Defect::ReleaseWhatever, None, 200),
    (Defect::SameWriteId, None, 600),
    (Defect::SilenceFromIssue, Some(Family::Silent), 4000),
    (Defect::StealLive, None, 50),
    (Defect::StealUnfenced, Some(Family::Edge), 20_000),
    (Defect::ThrottledAtOnce, None, 50),
    (Defect::TransferKeepsEpoch, None, 50),
    (Defect::TrustOldTag, None, 50),
    (Defect::TtlFromLastAttempt, Some(Family::Edge), 20_000),
    (Defect::TtlFromReply, Some(Family::Edge), 1000),
    (Defect::UnknownIsApplied, None, 50),
    (Defect::UnknownIsLost, None, 50),
    (Defect::UnknownIsNotApplied, None, 150),
    (Defect::VerifyByName, Some(Family::RecordsRemoved), 200),
    // While a tenure lasts nobody else may write the record, unless by force.
    (Defect::VerifyFromMemory, Some(Family::RecordsRemoved), 50),
    (Defect::WaitNoPoll, Some(Family::Silent), 500),
    (Defect::WatchOnce, None, 50),
    (Defect::WatchRepeats, None, 200),
    (Defect::WriteAfterFence, None, 50),
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
