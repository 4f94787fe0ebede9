//! Which way to search finds which planted defect, and how fast.

use core::cell::Cell;

use tenure_sim::small::{Aim, Sampler, Sampling, Search, aims};

use super::stopwatch::Stopwatch;

/// Prints for each defect what each sampler and the search took, in the world that aims at it.
pub(super) fn main(runs: u64) {
    println!(
        "{:<24} {:>18} {:>18} {:>18}   {:>5} {:>9} {:>8}",
        "schedules (seconds)", "uniform", "PCT 3", "PCT 5", "moves", "states", "seconds"
    );
    for aim in aims() {
        let [uniform, three, five] = [Sampler::Uniform, Sampler::Pct { depth: 3 }, Sampler::Pct { depth: 5 }]
            .map(|sampler| sampled(&aim, sampler, runs));
        let name = format!("{:?}", aim.defect);
        println!("{name:<24} {uniform:>18} {three:>18} {five:>18}   {}", searched(&aim));
    }
}

/// Returns the median of several repetitions.
fn sampled(aim: &Aim, sampler: Sampler, runs: u64) -> String {
    let mut firsts: Vec<(u64, f64)> = (0..REPETITIONS)
        .map(|number| {
            let watch = Stopwatch::start();
            let first = Sampling::new(&aim.scope, sampler).first(number << 32, runs);
            (first.map_or(u64::MAX, |first| first + 1), watch.seconds())
        })
        .collect();
    firsts.sort_by_key(|first| first.0);
    match firsts[firsts.len() / 2] {
        (u64::MAX, seconds) => format!("> {runs} ({seconds:.1})"),
        (first, seconds) => format!("{first} ({seconds:.2})"),
    }
}

/// Returns what a search that explores everything takes.
fn searched(aim: &Aim) -> String {
    let watch = Stopwatch::start();
    let states = Cell::new(0);
    let result = Search::new(&aim.scope).run_while(|seen| {
        states.set(seen.states);
        true
    });
    match result {
        Ok(seen) => format!("none in {} situations", seen.states),
        Err(found) => format!("{:>5} {:>9} {:>8.2}", found.depth, states.get(), watch.seconds()),
    }
}

/// How often each sampler begins anew.
const REPETITIONS: u64 = 5;
