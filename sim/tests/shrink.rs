//! A failing world is cut to a small one that fails in the same way, always the same.

use core::num::NonZeroUsize;

use tenure_core::Defect;
use tenure_sim::{Family, Plan, Prng, Recorder, Shrinker, Shrunk, Tape, Trace};

#[test]
fn a_shrunk_world_fails_the_same_check_and_is_smaller_in_every_way() {
    for (defect, family) in PLANTED {
        let (plan, found, shrunk) = shrunk(defect, family);
        let again = plan.replay(&shrunk.tape, Trace::silent()).expect_err("it fails");
        assert_eq!(again, shrunk.failure);
        assert_eq!(again.violation.check, found, "{defect:?}");
        assert!(
            shrunk.after.choices < shrunk.before.choices && shrunk.after.loud < shrunk.before.loud / 4,
            "{defect:?}: {shrunk:?}"
        );
        assert!(shrunk.after.steps < shrunk.before.steps, "{defect:?}: {shrunk:?}");
        // What is left is the bug's own doing.
        let sound = Plan { defect: None, ..plan };
        sound.replay(&shrunk.tape, Trace::silent()).expect("the engine as it ships survives it");
    }
}

#[test]
fn no_single_choice_of_a_shrunk_tape_can_be_spared() {
    for (defect, family) in PLANTED {
        let (plan, found, shrunk) = shrunk(defect, family);
        assert!(shrunk.is_minimal, "{defect:?} after {} runs", shrunk.runs);
        let still_fails = |tape: Vec<u32>| {
            let world = Shrinker::new(0).shrink_tape(&plan, tape)?;
            let is_alike = world.failure.violation.check == found;
            (is_alike && world.after.effort() <= shrunk.after.effort()).then_some(world.after)
        };
        for place in 0..shrunk.tape.len() {
            let mut without = shrunk.tape.clone();
            without.remove(place);
            assert_eq!(still_fails(without), None, "{defect:?} without choice {place} of {shrunk:?}");
            let mut zeroed = shrunk.tape.clone();
            if core::mem::take(&mut zeroed[place]) > 0 {
                assert_eq!(still_fails(zeroed), None, "{defect:?} with choice {place} zero of {shrunk:?}");
            }
        }
    }
}

#[test]
fn the_same_failure_shrinks_to_the_same_tape() {
    let [(defect, family), ..] = PLANTED;
    assert_eq!(shrunk(defect, family).2, shrunk(defect, family).2);
}

#[test]
fn a_budget_of_runs_is_kept_and_the_best_so_far_is_returned() {
    let plan = Plan { defect: Some(Defect::StealLive), ..Plan::default() };
    let found = plan.first_caught(0, 50, NonZeroUsize::MIN).expect("caught");
    for budget in [0, 1, 10, 100] {
        let shrunk = Shrinker::new(budget).shrink_seed(&plan, found.seed).expect("it fails");
        assert!(shrunk.runs <= budget + 1, "{} of {budget}", shrunk.runs);
        assert!(shrunk.after.choices <= shrunk.before.choices);
        assert!(plan.replay(&shrunk.tape, Trace::silent()).is_err());
    }
}

/// A world of somebody's own need not say where its scenario ends.
#[test]
fn a_world_that_marks_no_scenario_spends_no_runs_on_drawing_it_anew() {
    let plan = Plan { defect: Some(Defect::StealLive), ..Plan::default() };
    let found = plan.first_caught(0, 50, NonZeroUsize::MIN).expect("caught");
    let mut prng = Prng::new(found.seed);
    let mut recorder = Recorder::new(&mut prng);
    plan.world(&mut recorder).run().expect_err("it fails");
    let shrunk = Shrinker::new(20_000).shrink(recorder.into_tape(), |choices| plan.world(choices).run());
    let shrunk = shrunk.expect("it fails");
    assert!(shrunk.is_minimal && shrunk.runs < 10_000, "{shrunk:?}");
}

#[test]
fn numbers_that_only_say_no_are_gone_before_the_first_world_is_cut() {
    let plan = Plan { defect: Some(Defect::StealLive), ..Plan::default() };
    let found = plan.first_caught(0, 50, NonZeroUsize::MIN).expect("caught");
    let shrunk = Shrinker::new(0).shrink_seed(&plan, found.seed).expect("it fails");
    assert!(shrunk.after.loud * 4 < shrunk.before.loud * 3, "{shrunk:?}");
    // It is the same world all the same.
    assert_eq!(plan.replay(&shrunk.tape, Trace::silent()).expect_err("it fails"), found.failure);
}

#[test]
fn a_world_that_holds_shrinks_to_nothing() {
    assert_eq!(Shrinker::new(10).shrink_seed(&Plan::default(), 0), None);
}

#[test]
fn a_tape_is_written_as_words_and_read_back() {
    for tape in [vec![], vec![0], vec![7], vec![0, 0, 0, 9, 0, 0, u32::MAX], vec![1, 2, 3, 0, 0]] {
        let text = Tape::to_text(&tape);
        let end = tape.iter().rposition(|&choice| choice > 0).map_or(0, |last| last + 1);
        assert_eq!(Tape::parse(&text).expect("as written"), tape[..end], "{text}");
    }
    for wrong in ["x", "1 2", "0x4000000", "1.-2", "4294967296", "z99999999"] {
        assert!(Tape::parse(wrong).is_err(), "{wrong}");
    }
}

/// Defects that need little, and one that needs somebody's meddling and a second node.
const PLANTED: [(Defect, Option<Family>); 3] = [
    (Defect::StealLive, None),
    (Defect::UnknownIsLost, None),
    (Defect::MissingIsDead, Some(Family::LeasesRemoved)),
];

/// Shrinks the first world that catches a defect; returns the check that caught it too.
fn shrunk(defect: Defect, family: Option<Family>) -> (Plan, &'static str, Shrunk) {
    let plan = Plan { family, defect: Some(defect) };
    let found = plan.first_caught(0, 4000, NonZeroUsize::MIN).expect("caught");
    let shrunk = Shrinker::new(20_000).shrink_seed(&plan, found.seed).expect("it fails");
    (plan, found.failure.violation.check, shrunk)
}
