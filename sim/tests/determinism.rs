//! A world is a number: the same seed gives the same world, on any number of threads, from a tape too.

use core::fmt::Write as _;
use core::num::NonZeroUsize;

use tenure_core::Defect;
use tenure_sim::{Family, Plan, Prng, Recorder, Report, Scenario, Tape, Trace, World};

#[test]
fn a_seed_gives_the_same_trace_twice_with_or_without_lines() {
    for seed in 0..40 {
        let silent = run(seed, Trace::silent());
        let full = run(seed, Trace::full());
        assert_eq!((silent.digest, silent.steps, silent.seen), (full.digest, full.steps, full.seen));
        assert_eq!(full.lines, run(seed, Trace::full()).lines);
    }
}

/// The pins are one file, so that a build without optimisation, one with, and any other machine compare with the same
/// numbers. `UPDATE=1` rewrites it after a change of what worlds do.
#[test]
fn the_digests_of_a_few_seeds_are_those_pinned_in_every_build() {
    let mut digests = String::new();
    let families = Family::ALL.iter().map(|&family| Some(family));
    for family in core::iter::once(None).chain(families) {
        let name = family.map_or("swarm", Family::as_str);
        for seed in [1, 0x2a91, u64::MAX] {
            let report = Plan { family, defect: None }.run(seed, Trace::silent()).expect("holds");
            writeln!(digests, "{name} {seed:#x} {:016x}", report.digest).expect("a string takes it");
        }
    }
    let pinned = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(pinned, &digests).expect("the pins are writable");
    }
    let pinned = std::fs::read_to_string(pinned).expect("the pins are there");
    assert_eq!(digests, pinned, "worlds are others than they were: UPDATE=1 rewrites the pins");
}

#[test]
fn different_seeds_give_different_worlds() {
    let mut digests: Vec<u64> = (0..100).map(|seed| run(seed, Trace::silent()).digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 100);
}

#[test]
fn a_recorded_world_replays_from_its_tape() {
    for seed in 0..20 {
        let mut prng = Prng::new(seed);
        let mut recorder = Recorder::new(&mut prng);
        let scenario = Scenario::swarm(&mut recorder);
        let seeded = World::new(scenario, &mut recorder).run().expect("holds");
        let choices = recorder.into_tape();
        let mut tape = Tape::new(&choices);
        let scenario = Scenario::swarm(&mut tape);
        let replayed = World::new(scenario, &mut tape).run().expect("holds");
        assert_eq!(replayed, seeded);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_totals() {
    let totals = |threads| {
        let threads = NonZeroUsize::new(threads).expect("not zero");
        Plan::default().run_all(0, 300, threads, &|_| {}).expect("holds")
    };
    let one = totals(1);
    assert_eq!(one.worlds, 300);
    assert_eq!(totals(2), one);
    assert_eq!(totals(5), one);
}

#[test]
fn a_failing_seed_is_the_lowest_one_and_replays_byte_for_byte() {
    let plan = Plan { family: None, defect: Some(Defect::StealLive) };
    let found = |threads| {
        let threads = NonZeroUsize::new(threads).expect("not zero");
        plan.run_all(0, 1000, threads, &|_| {}).expect_err("a planted defect")
    };
    let (one, many) = (found(1), found(4));
    assert_eq!((one.seed, &one.failure), (many.seed, &many.failure));
    let again = || plan.run(one.seed, Trace::full()).expect_err("fails as before");
    let first = again();
    assert_eq!(first.violation, one.failure.violation);
    assert!(first.lines.len() > 20);
    assert_eq!(first, again());
    let last = plan.run(one.seed, Trace::last(20)).expect_err("fails as before");
    assert_eq!(last.lines, first.lines[first.lines.len() - 20..]);
}

fn run(seed: u64, trace: Trace) -> Report {
    Plan::default().run(seed, trace).unwrap_or_else(|failure| panic!("seed {seed:#x}\n{failure}"))
}
