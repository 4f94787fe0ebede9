//! The witness of the engine's target sees every planted bug that evidence can convict, on random bytes alone.

use core::num::NonZeroU32;

use tenure_core::Defect;
use tenure_fuzz::engine;
use tenure_sim::{Choices, Prng};

/// What one node does without evidence. The other bugs take a clock that lies, or a second node, to do harm.
const VISIBLE: &[Defect] = &[
    Defect::ActUntilReleaseConfirmed,
    Defect::ActUntilTransferConfirmed,
    Defect::AdoptByName,
    Defect::GrantStaleOwn,
    Defect::LateRevival,
    Defect::LeaveBeforeRelease,
    Defect::MissingIsDead,
    Defect::NoHoldMargin,
    Defect::RecreateLease,
    Defect::StealLive,
    Defect::StealUnfenced,
    Defect::TtlFromLastAttempt,
    Defect::TtlFromReply,
    Defect::UnknownIsApplied,
    Defect::VerifyFromMemory,
];

/// Within so many random inputs each must be seen.
const INPUTS_MAX: u32 = 5000;

#[test]
fn the_witness_sees_the_planted_bugs() {
    // Thousands of panics are expected here, and none of them is news.
    std::panic::set_hook(Box::new(|_| {}));
    let missed: Vec<_> = VISIBLE.iter().filter(|defect| !is_seen(**defect)).collect();
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not seen within {INPUTS_MAX} inputs: {missed:?}");
}

/// Tells whether an input convicts the engine with the bug and not the engine without it.
fn is_seen(defect: Defect) -> bool {
    let mut chance = Prng::new(3);
    let byte = NonZeroU32::new(256).expect("not zero");
    let breaks =
        |defect, input: &[u8]| std::panic::catch_unwind(|| engine::check_with(defect, input)).is_err();
    (0..INPUTS_MAX).any(|_| {
        let input: Vec<u8> = (0..1000).map(|_| chance.below(byte).to_le_bytes()[0]).collect();
        breaks(Some(defect), &input) && !breaks(None, &input)
    })
}
