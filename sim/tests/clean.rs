//! The engine as it ships: every check holds in every world, and the worlds met what is hard.

use core::num::NonZeroUsize;

use tenure_sim::checks::Books;
use tenure_sim::{Family, Plan, Prng, Report, Trace};

#[test]
fn every_seed_that_ever_found_a_bug_holds() {
    let mut count = 0;
    for line in include_str!("../seeds.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (seed, family) = (words.next().expect("a seed"), words.next().expect("a family"));
        let seed = u64::from_str_radix(seed.trim_start_matches("0x"), 16).expect("hexadecimal");
        let plan = Plan { family: named(family), ..Plan::default() };
        if let Err(failure) = plan.run(seed, Trace::last(20)) {
            panic!("seed {seed:#x} of {family}\n{failure}");
        }
        count += 1;
    }
    assert!(count > 0, "seeds.txt is empty");
}

#[test]
fn fixed_seeds_hold_and_meet_every_hard_situation() {
    let mut met = Report::default();
    let mut plans = vec![(Plan::default(), 600)];
    plans.extend(Family::ALL.iter().map(|&family| (Plan { family: Some(family), defect: None }, 150)));
    for (plan, count) in plans {
        match plan.run_all(0x7e57_0000, count, threads(), &|_| {}) {
            Ok(report) => met.add(&report),
            Err(found) => panic!("seed {:#x} of {:?}: {}", found.seed, plan.family, found.failure),
        }
    }
    let missing: Vec<_> = met.seen.missing().collect();
    assert!(missing.is_empty(), "never met: {missing:?}\n{}", met.seen);
}

#[test]
fn the_books_are_in_order_after_every_event() {
    for family in Family::ALL {
        for seed in 0..30 {
            let plan = Plan { family: Some(*family), defect: None };
            if let Err(failure) = plan.watch(&mut Prng::new(seed), Books::always(), Trace::last(20)) {
                panic!("seed {seed:#x} of {}\n{failure}", family.as_str());
            }
        }
    }
}

fn named(family: &str) -> Option<Family> {
    let found = Family::ALL.iter().copied().find(|known| known.as_str() == family);
    assert!(found.is_some() || family == "swarm", "no family {family}");
    found
}

fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
