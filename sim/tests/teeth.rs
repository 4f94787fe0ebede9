//! The checks can fail: every bug planted in the engine is caught within a stated number of worlds.
//!
//! A seed counts only if the world holds without the bug: what is caught is the bug and nothing else.

use core::num::NonZeroUsize;

use tenure_core::Defect;
use tenure_sim::{Family, Found, Plan, Shrinker, Trace};

/// Each defect, the family of worlds that aims at it (nothing: the usual mixture), and the number of worlds
/// within which it must be caught: some four times the median of what eight ranges of seeds took, and 20 at least. Three
/// take longer in the range that is run here (`DeafToRetryAfter`, `RefusedSettles`, `WaitNoPoll`), and have what the longest of the eight took.
const TEETH: &[(Defect, Option<Family>, u64)] = &[
    (Defect::AcceptUnwritten, None, 20),
    (Defect::ActUntilReleaseConfirmed, None, 20),
    (Defect::ActUntilTransferConfirmed, None, 20),
    (Defect::AdoptByName, None, 20),
    (Defect::AnyLease, Some(Family::Common), 700),
    (Defect::AnyMarker, Some(Family::LeasesRemoved), 2000),
    (Defect::BudgetedLease, Some(Family::Dark), 40),
    (Defect::CancelStopsSettling, Some(Family::Edge), 450),
    (Defect::CancelledIsKept, Some(Family::Edge), 1400),
    (Defect::ClaimSameEpoch, None, 20),
    (Defect::CloneUnstirred, Some(Family::Cloned), 20),
    (Defect::ConflictIsLost, None, 20),
    (Defect::CorruptTaken, None, 60),
    (Defect::DeafToRetryAfter, None, 60),
    (Defect::EpochSkips, None, 20),
    (Defect::FenceForgetsFields, None, 20),
    (Defect::ForeignByExpiry, Some(Family::Foreign), 20),
    (Defect::ForgottenInLine, Some(Family::Dark), 60),
    (Defect::GarbageEndsTenure, None, 50),
    (Defect::GarbageSettles, None, 140),
    (Defect::GrantRegressed, Some(Family::RecordsRemoved), 20),
    // Only where somebody puts an old record back is a node named at an epoch that it held once.
    (Defect::GrantStaleOwn, Some(Family::RecordsRemoved), 70),
    (Defect::GrantWhileLeaving, None, 120),
    (Defect::GrantWithoutLease, Some(Family::Silent), 400),
    (Defect::JudgeByOwnClock, None, 20),
    (Defect::LateRevival, None, 20),
    (Defect::LeakClaim, None, 20),
    (Defect::LeaveBeforeRelease, None, 30),
    (Defect::LeaveDuringRenewal, None, 160),
    (Defect::LeaveSilently, None, 20),
    (Defect::LiveForever, None, 20),
    (Defect::LocateStale, None, 200),
    (Defect::LostFenceIsDead, Some(Family::Edge), 2200),
    (Defect::LostWakeUp, None, 20),
    (Defect::MissingIsDead, Some(Family::LeasesRemoved), 150),
    (Defect::MixStamps, None, 20),
    (Defect::NeverRenew, None, 20),
    (Defect::NoBackoff, Some(Family::Common), 110),
    (Defect::NoHoldMargin, Some(Family::Edge), 90),
    (Defect::NoMargin, Some(Family::Edge), 150),
    (Defect::NoUnit, Some(Family::Edge), 130),
    (Defect::OfferIsHeld, None, 30),
    (Defect::OwnIsHeld, Some(Family::RecordsRemoved), 130),
    (Defect::PlaceholderIsTombstone, Some(Family::LeasesRemoved), 20),
    (Defect::PlaceholderTtl, Some(Family::LeasesRemoved), 20),
    (Defect::ProbeTakesWeak, Some(Family::Unfit), 20),
    (Defect::RecreateLease, Some(Family::LeasesRemoved), 20),
    (Defect::RefusedSettles, Some(Family::Late), 400),
    (Defect::RejectedIsLost, None, 20),
    (Defect::ReleaseOnce, None, 20),
    (Defect::ReleaseWhatever, None, 80),
    (Defect::SameWriteId, None, 250),
    (Defect::SilenceFromIssue, Some(Family::Silent), 700),
    (Defect::StealLive, None, 20),
    (Defect::StealUnfenced, Some(Family::Edge), 3800),
    (Defect::ThrottledAtOnce, None, 20),
    (Defect::ThrottledRenewal, None, 20),
    (Defect::TransferKeepsEpoch, None, 20),
    (Defect::TrustOldTag, None, 20),
    (Defect::TtlFromLastAttempt, Some(Family::Edge), 1800),
    (Defect::TtlFromReply, Some(Family::Edge), 60),
    (Defect::Unbounded, Some(Family::Dark), 20),
    (Defect::UnknownIsApplied, None, 20),
    (Defect::UnknownIsLost, None, 20),
    (Defect::UnknownIsNotApplied, None, 250),
    (Defect::VerifyByName, Some(Family::RecordsRemoved), 160),
    // While a tenure lasts nobody else may write the record, unless by force.
    (Defect::VerifyFromMemory, Some(Family::RecordsRemoved), 20),
    (Defect::WaitNoPoll, Some(Family::Silent), 1000),
    (Defect::WatchOnce, None, 20),
    (Defect::WatchRepeats, None, 110),
    (Defect::WriteAfterFence, None, 20),
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
    println!(
        "{:<26} {:>6} {:>14}  {:>14} {:>9} {:>12}  violated",
        "defect", "seed", "world", "choices", "not zero", "steps"
    );
    let mut sums = [0; 3];
    for ((plan, found, bound), shrunk) in caught.iter().zip(shrunk) {
        let shrunk = shrunk.expect("it was caught there");
        assert_eq!(shrunk.failure.violation.check, found.failure.violation.check, "shrunk to something else");
        let sound = Plan { defect: None, ..*plan };
        let without = sound.replay(&shrunk.tape, Trace::silent());
        assert!(without.is_ok(), "{plan:?}: the shrunk world fails without the defect too");
        println!(
            "{:<26} {:#06x} {:>5} of {:>5}  {:>5} to {:>5} {:>9} {:>4} to {:>4}  {}",
            plan.defect.map_or_else(String::new, |defect| format!("{defect:?}")),
            found.seed,
            found.seed + 1,
            bound,
            shrunk.before.choices,
            shrunk.after.choices,
            shrunk.after.loud,
            shrunk.before.steps,
            shrunk.after.steps,
            found.failure.violation
        );
        let after = [shrunk.after.choices, shrunk.after.loud, shrunk.after.steps as usize];
        sums.iter_mut().zip(after).for_each(|(sum, size)| *sum += size);
    }
    println!("shrunk, all together: {} choices, {} not zero, {} steps", sums[0], sums[1], sums[2]);
}

/// How many worlds may be run to make one smaller: enough for all but those that need exact timing.
const RUNS: u32 = 5000;

#[test]
fn every_defect_is_demanded() {
    for defect in Defect::ALL {
        let demanded = TEETH.iter().filter(|tooth| tooth.0 == *defect).count();
        assert_eq!(demanded, 1, "{defect:?}");
    }
    let said = include_str!("../../docs/simulator.md");
    let all = Defect::ALL.len();
    assert!(said.contains(&format!("has {all} bugs to plant")), "docs/simulator.md does not say {all}");
}
