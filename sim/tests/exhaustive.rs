//! Small worlds hold in every schedule there is, and every defect that one can show is found on a shortest path.
//!
//! Without optimisation only the quicker half is demanded; `.ci/run` runs this file in release too.

use tenure_core::Defect;
use tenure_sim::small::{Sampler, Sampling, Search, aims, pins};

#[test]
fn pinned_worlds_hold_and_are_as_large_as_they_were() {
    for pin in pins().into_iter().filter(|pin| pin.is_quick || !cfg!(debug_assertions)) {
        match Search::new(&pin.scope).narrowly().run() {
            Ok(seen) => {
                println!("{:<50} {:>8} states, depth {}", pin.name, seen.states, seen.depth);
                // See `Pin` for what a change must explain.
                assert_eq!((seen.states, seen.depth), (pin.states, pin.depth), "{}", pin.name);
            }
            Err(found) => panic!("{}\n{}: after {} moves", found.failure, pin.name, found.depth),
        }
    }
}

#[test]
fn every_defect_that_a_small_world_can_show_is_found_in_as_few_moves_as_possible() {
    for aim in aims().into_iter().filter(|aim| aim.depth < 10 || !cfg!(debug_assertions)) {
        let defect = aim.defect;
        let found = Search::new(&aim.scope).run().expect_err("a planted defect");
        println!("{:<26} {:>2} moves: {}", format!("{defect:?}"), found.depth, found.failure.violation);
        assert_eq!(found.depth, aim.depth, "{defect:?}\n{}", found.failure);
        let lines = found.failure.lines.len();
        assert!(lines >= found.depth as usize, "{defect:?}: {lines} lines");
    }
}

#[test]
fn a_world_that_shows_a_defect_holds_without_it() {
    for aim in aims().into_iter().filter(|aim| aim.scope.faults < 2) {
        if let Err(found) = Search::new(&aim.scope.with_defect(None)).run() {
            panic!("{:?}\n{}", aim.defect, found.failure);
        }
    }
}

#[test]
fn no_small_world_shows_the_defects_that_need_records_put_back() {
    let aimed: Vec<Defect> = aims().into_iter().map(|aim| aim.defect).collect();
    for missing in [Defect::GrantStaleOwn, Defect::GrantRegressed, Defect::VerifyFromMemory] {
        assert!(!aimed.contains(&missing), "{missing:?} is shown after all");
    }
    for defect in Defect::ALL {
        assert!(aimed.iter().filter(|aimed| *aimed == defect).count() <= 1, "{defect:?} is shown twice");
    }
}

#[test]
fn both_samplers_find_what_takes_no_fault_and_the_same_seed_finds_it_again() {
    for aim in aims().into_iter().filter(|aim| aim.scope.faults == 0) {
        for sampler in [Sampler::Uniform, Sampler::Pct { depth: 3 }] {
            let first = || Sampling::new(&aim.scope, sampler).first(0, 20_000);
            let found = first().unwrap_or_else(|| panic!("{:?} survives {sampler:?}", aim.defect));
            assert_eq!(first(), Some(found));
        }
    }
}
