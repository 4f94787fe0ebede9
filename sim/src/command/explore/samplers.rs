//! Which way to search finds which planted defect, and how fast.

use core::cell::Cell;

use crate::small::{Aim, Sampler, Sampling, Search, aims};

use super::interrupt;
use super::print::say;
use super::stopwatch::Stopwatch;

/// Prints for each defect what each sampler and the search took, in the world that aims at it.
pub(super) fn main(runs: u64) {
    say!(
        "{:<24} {:>18} {:>18} {:>18}   {:>5} {:>9} {:>8}",
        "schedules (seconds)",
        "uniform",
        "PCT 3",
        "PCT 5",
        "moves",
        "states",
        "seconds"
    );
    for aim in aims() {
        let [uniform, three, five] = [Sampler::Uniform, Sampler::Pct { depth: 3 }, Sampler::Pct { depth: 5 }]
            .map(|sampler| sampled(&aim, sampler, runs));
        let (name, searched) = (format!("{:?}", aim.defect), searched(&aim));
        if !interrupt::goes_on() {
            say!("interrupted: {name} and what follows is left out");
            return;
        }
        say!("{name:<24} {uniform:>18} {three:>18} {five:>18}   {searched}");
    }
}

/// Returns the median of several repetitions.
fn sampled(aim: &Aim, sampler: Sampler, runs: u64) -> String {
    let mut firsts: Vec<(u64, f64)> = (0..REPETITIONS)
        .map(|number| {
            let watch = Stopwatch::start();
            let first = first(&mut Sampling::new(&aim.scope, sampler), number << 32, runs);
            (first.map_or(u64::MAX, |first| first + 1), watch.seconds())
        })
        .collect();
    firsts.sort_by_key(|first| first.0);
    match firsts[firsts.len() / 2] {
        (u64::MAX, seconds) => format!("> {runs} ({seconds:.1})"),
        (first, seconds) => format!("{first} ({seconds:.2})"),
    }
}

/// Returns which of so many schedules is the first to violate a check, unless somebody presses Ctrl-C.
fn first(sampling: &mut Sampling, start: u64, runs: u64) -> Option<u64> {
    let mut done = 0;
    while done < runs && interrupt::goes_on() {
        let count = (runs - done).min(64);
        if let Some(first) = sampling.first(start.wrapping_add(done), count) {
            return Some(done + first);
        }
        done += count;
    }
    None
}

/// Returns what a search that explores everything takes.
fn searched(aim: &Aim) -> String {
    let watch = Stopwatch::start();
    let states = Cell::new(0);
    let result = Search::new(&aim.scope).run_while(|seen| {
        states.set(seen.states);
        interrupt::goes_on()
    });
    match result {
        Ok(seen) => format!("none in {} situations", seen.states),
        Err(found) => format!("{:>5} {:>9} {:>8.2}", found.depth, states.get(), watch.seconds()),
    }
}

/// How often each sampler begins anew.
const REPETITIONS: u64 = 5;
