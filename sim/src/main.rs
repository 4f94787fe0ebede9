//! `cargo sim`: runs simulated worlds and prints what they met.

mod args;
mod explore;

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::thread;

use tenure_core::Defect;
use tenure_sim::{Found, Plan, Prng, Promise, Trace, Witness};

use crate::args::{Args, Task, USAGE};

fn main() -> ExitCode {
    // A panic in a world is reported with its seed, like any other violation.
    std::panic::set_hook(Box::new(|_| {}));
    if std::env::args().nth(1).is_some_and(|word| word == "explore") {
        return explore::main(std::env::args().skip(1));
    }
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(why) => {
            eprintln!("{why}\n\n{USAGE}");
            return ExitCode::from(64);
        }
    };
    let holds = match args.task {
        Task::Help => {
            println!("{USAGE}");
            true
        }
        Task::One { seed, is_traced } => run_one(args.plan, seed, is_traced),
        Task::Many { start, count } => run_many(&args, start, count),
        Task::Survey { start, count } => survey(&args, start, count),
        Task::Teeth { start, count } => bite(&args, start, count),
    };
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_one(plan: Plan, seed: u64, is_traced: bool) -> bool {
    let scenario = plan.scenario(&mut Prng::new(seed));
    let promises: Vec<&str> = scenario.promises().map(Promise::as_str).collect();
    println!(
        "seed {seed:#x}: a world of family {}, held to {}",
        scenario.family.as_str(),
        promises.join(" ")
    );
    match plan.run(seed, if is_traced { Trace::full() } else { Trace::silent() }) {
        Ok(report) => {
            report.lines.iter().for_each(|line| println!("{line}"));
            println!("seed {seed:#x} holds: {} steps, digest {:016x}", report.steps, report.digest);
            true
        }
        Err(failure) => {
            println!("{failure}");
            if !is_traced {
                println!("reproduce with: {}", command(plan, seed));
            }
            false
        }
    }
}

fn run_many(args: &Args, start: u64, count: u64) -> bool {
    println!(
        "seeds {start:#x} to {:#x} on {} threads",
        start.wrapping_add(count.saturating_sub(1)),
        args.threads
    );
    let shown = AtomicU64::new(0);
    let progress = |done: u64| {
        let tenth = done * 10 / count.max(1);
        if shown.fetch_max(tenth, Ordering::Relaxed) < tenth {
            eprintln!("{done} of {count} worlds");
        }
    };
    let watch = Stopwatch::start();
    match args.plan.run_all(start, count, args.threads, &progress) {
        Ok(report) => {
            let seconds = watch.seconds();
            println!("{}", report.seen);
            println!(
                "{} worlds and {} engine steps in {seconds:.1} s: {:.0} worlds/s, {:.2} M steps/s; digest {:016x}",
                report.worlds,
                report.steps,
                report.worlds as f64 / seconds,
                report.steps as f64 / seconds / 1e6,
                report.digest
            );
            let missing: Vec<&str> = report.seen.missing().map(Witness::as_str).collect();
            if !missing.is_empty() {
                println!("never met: {}", missing.join(", "));
            }
            println!("every check holds in every world");
            true
        }
        Err(found) => {
            show(args.plan, &found);
            false
        }
    }
}

/// Runs all worlds whatever is violated, and counts what was violated how often.
fn survey(args: &Args, start: u64, count: u64) -> bool {
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for seed in (start..).take(usize::try_from(count).unwrap_or(usize::MAX)) {
        if let Err(failure) = args.plan.run(seed, Trace::silent()) {
            let mut kind = failure.violation.to_string();
            kind.retain(|letter| !letter.is_ascii_digit());
            kind.truncate(kind.char_indices().nth(100).map_or(kind.len(), |(end, _)| end));
            found.entry(kind).or_insert((seed, 0)).1 += 1;
        }
    }
    for (kind, (seed, times)) in &found {
        println!("{times} times, first in {seed:#x}: {kind}");
    }
    found.is_empty()
}

/// Runs each planted defect until it is caught.
fn bite(args: &Args, start: u64, count: u64) -> bool {
    let mut all_caught = true;
    for &defect in Defect::ALL {
        let plan = Plan { defect: Some(defect), ..args.plan };
        match plan.first_caught(start, count, args.threads) {
            Some(found) => {
                let after = found.seed.wrapping_sub(start) + 1;
                println!("{defect:?}: caught after {after} worlds by {}", found.failure.violation);
            }
            None => {
                all_caught = false;
                println!("{defect:?}: not caught in {count} worlds");
            }
        }
    }
    all_caught
}

fn show(plan: Plan, found: &Found) {
    // Nothing was traced in the run that failed; the same seed fails in the same way.
    match plan.run(found.seed, Trace::last(20)) {
        Err(failure) => println!("seed {:#x}\n{failure}", found.seed),
        Ok(_) => println!("seed {:#x}\n{}\nbut it held when run again", found.seed, found.failure),
    }
    println!("reproduce with: {}", command(plan, found.seed));
}

fn command(plan: Plan, seed: u64) -> String {
    let family = plan.family.map_or_else(String::new, |family| format!(" --family {}", family.as_str()));
    let defect = plan.defect.map_or_else(String::new, |defect| format!(" --defect {defect:?}"));
    format!("cargo sim --seed {seed:#x}{family}{defect} --trace")
}

/// Returns how many threads the machine runs at once.
fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Measures how fast worlds run. Nothing in a world sees it.
struct Stopwatch(std::time::Instant);

#[expect(clippy::disallowed_methods, reason = "the rate of worlds is measured in real time, outside of them")]
impl Stopwatch {
    fn start() -> Self {
        Self(std::time::Instant::now())
    }

    fn seconds(&self) -> f64 {
        std::time::Instant::now().duration_since(self.0).as_secs_f64()
    }
}
