//! Many worlds: which seeds, on how many threads, and which failure is reported.

use core::any::Any;
use core::fmt;
use core::num::NonZeroUsize;
use core::ops::Range;
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicU64, Ordering};
use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use tenure_core::Defect;

use crate::checks::{self, Check, Violation};
use crate::choices::{Choices, Prng, Tape};
use crate::clock::Moment;
use crate::family::Family;
use crate::report::{Failure, Report};
use crate::scenario::Scenario;
use crate::trace::Trace;
use crate::world::World;

/// What to run with each seed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Plan {
    /// The family of every world; nothing to draw it.
    pub family: Option<Family>,
    /// The bug planted in every node.
    pub defect: Option<Defect>,
}

/// A seed whose world violated a check.
#[derive(Clone, Debug)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// What was violated.
    pub failure: Box<Failure>,
}

impl Plan {
    /// Draws the scenario of a world.
    pub fn scenario(&self, choices: &mut impl Choices) -> Scenario {
        let scenario = match self.family {
            Some(family) => Scenario::of(family, choices),
            None => Scenario::wild(choices),
        };
        scenario.with_defect(self.defect)
    }

    /// Runs the world of one seed. A panic in it is a violation like any other.
    ///
    /// # Errors
    /// Says what was violated.
    pub fn run(&self, seed: u64, trace: Trace) -> Result<Report, Box<Failure>> {
        caught(|| self.world(&mut Prng::new(seed)).with_trace(trace).run())
    }

    /// Runs the world of a tape.
    ///
    /// # Errors
    /// Says what was violated.
    pub fn replay(&self, tape: &[u32], trace: Trace) -> Result<Report, Box<Failure>> {
        caught(|| self.world(&mut Tape::new(tape)).with_trace(trace).run())
    }

    /// Runs the world that these choices make with another check, which sees every step before any other check
    /// does, so that it can watch a world up to its violation.
    ///
    /// # Errors
    /// Says what was violated.
    pub fn watch(
        &self,
        choices: &mut impl Choices,
        watcher: impl Check + 'static,
        trace: Trace,
    ) -> Result<Report, Box<Failure>> {
        caught(|| {
            let scenario = self.scenario(choices);
            let mut checks: Vec<Box<dyn Check>> = vec![Box::new(watcher)];
            checks.extend(checks::standard(&scenario));
            World::new(scenario, choices).with_only(checks).with_trace(trace).run()
        })
    }

    /// Builds the world that these choices make of this plan.
    pub fn world<'c, C: Choices>(&self, choices: &'c mut C) -> World<'c, C> {
        let scenario = self.scenario(choices);
        World::new(scenario, choices)
    }

    /// Runs the worlds of `count` seeds from `start` on, on so many threads, and adds up what they met. Stops
    /// early at a violation; that of the lowest seed is returned, whatever the number of threads. `progress` is
    /// told now and then how many worlds have run.
    ///
    /// # Errors
    /// Returns the lowest seed that violated a check.
    pub fn run_all(
        &self,
        start: u64,
        count: u64,
        threads: NonZeroUsize,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Report, Found> {
        self.run_while(start, count, threads, &|done| {
            progress(done);
            true
        })
    }

    /// Does as [`run_all`](Self::run_all) for as long as `goes_on` says so: it is told now and then how many worlds have
    /// run. What is returned is about the first worlds, without a gap; [`Report::worlds`] says how many they are.
    ///
    /// # Errors
    /// Returns the lowest seed that violated a check.
    pub fn run_while(
        &self,
        start: u64,
        count: u64,
        threads: NonZeroUsize,
        goes_on: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Report, Found> {
        run_many(start, count, threads, goes_on, &|seed| self.run(seed, Trace::silent()))
    }

    /// Returns the lowest of these seeds at which the planted bug, and nothing else, violates a check: the same
    /// seed must hold without it.
    pub fn first_caught(&self, start: u64, count: u64, threads: NonZeroUsize) -> Option<Found> {
        self.first_caught_while(start, count, threads, &|| true)
    }

    /// Does as [`first_caught`](Self::first_caught) for as long as `goes_on` says so.
    pub fn first_caught_while(
        &self,
        start: u64,
        count: u64,
        threads: NonZeroUsize,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Option<Found> {
        let sound = Self { defect: None, ..*self };
        let mut done = 0;
        while done < count {
            let found =
                self.run_while(start.wrapping_add(done), count - done, threads, &|_| goes_on()).err()?;
            if sound.run(found.seed, Trace::silent()).is_ok() {
                return Some(found);
            }
            done = found.seed.wrapping_sub(start) + 1;
        }
        None
    }
}

/// Runs the worlds of many seeds on all cores and adds up what they met: for worlds of your own. `run` builds and runs
/// the world of one seed, and must do the same for the same seed; a panic in it is a violation like any other.
///
/// ```
/// use tenure_sim::{Prng, Scenario, World, run_seeds};
///
/// let found = run_seeds(0..100, |seed, trace| {
///     let mut choices = Prng::new(seed);
///     let scenario = Scenario::swarm(&mut choices);
///     // Here would be `World::with_app` and a check or two.
///     World::new(scenario, &mut choices).with_trace(trace).run()
/// });
/// match found {
///     Ok(report) => assert_eq!(report.worlds, 100),
///     Err(found) => panic!("{found}"),
/// }
/// ```
///
/// # Errors
/// Returns the lowest seed that violated a check. Its world has then been run once more, with a full trace.
pub fn run_seeds(
    seeds: Range<u64>,
    run: impl Fn(u64, Trace) -> Result<Report, Box<Failure>> + Sync,
) -> Result<Report, Found> {
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let count = seeds.end.saturating_sub(seeds.start);
    let run = |seed, trace| caught(|| run(seed, trace));
    run_many(seeds.start, count, threads, &|_| true, &|seed| run(seed, Trace::silent())).map_err(|found| {
        match run(found.seed, Trace::full()) {
            Err(failure) => Found { failure, ..found },
            Ok(_) => found,
        }
    })
}

/// Runs the worlds of many seeds; see [`Plan::run_while`].
fn run_many(
    start: u64,
    count: u64,
    threads: NonZeroUsize,
    goes_on: &(dyn Fn(u64) -> bool + Sync),
    run: &(dyn Fn(u64) -> Result<Report, Box<Failure>> + Sync),
) -> Result<Report, Found> {
    let next = AtomicU64::new(0);
    let stop = AtomicU64::new(count);
    let total = Mutex::new((Report::default(), None::<Found>));
    let work = || {
        let mut report = Report::default();
        loop {
            let chunk = next.fetch_add(CHUNK, Ordering::Relaxed);
            if chunk >= stop.load(Ordering::Relaxed) {
                break;
            }
            for number in chunk..(chunk + CHUNK).min(count) {
                match run(start.wrapping_add(number)) {
                    Ok(one) => report.add(&one),
                    Err(failure) => {
                        // Lower seeds have all been handed out; only higher ones are called off.
                        stop.fetch_min(chunk, Ordering::Relaxed);
                        let seed = start.wrapping_add(number);
                        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                        let lowest =
                            total.1.as_ref().map_or(u64::MAX, |found| found.seed.wrapping_sub(start));
                        if number < lowest {
                            total.1 = Some(Found { seed, failure });
                        }
                        break;
                    }
                }
            }
            if !goes_on(chunk.saturating_add(CHUNK).min(count)) {
                // As with a failure, what was handed out is run to its end.
                stop.fetch_min(chunk, Ordering::Relaxed);
            }
        }
        total.lock().unwrap_or_else(PoisonError::into_inner).0.add(&report);
    };
    thread::scope(|scope| {
        for _ in 1..threads.get() {
            scope.spawn(work);
        }
        work();
    });
    let (report, found) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.map_or(Ok(report), Err)
}

/// Runs a world; a panic in it is a violation like any other.
pub(crate) fn caught(run: impl FnOnce() -> Result<Report, Box<Failure>>) -> Result<Report, Box<Failure>> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let violation = Violation::new("panic", said(&*panic));
        Err(Box::new(Failure { violation, at: Moment::START, steps: 0, lines: Vec::new() }))
    })
}

/// Returns what a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Shows the seed, the last lines of the trace, and what was violated.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { violation, at, lines, .. } = &*self.failure;
        writeln!(f, "seed {:#x}", self.seed)?;
        for line in lines.iter().skip(lines.len().saturating_sub(SHOWN)) {
            writeln!(f, "    {line}")?;
        }
        write!(f, "violated at t={at}: {violation}")
    }
}

/// How many lines of its trace a failure shows.
const SHOWN: usize = 40;

/// How many seeds a thread takes at a time.
const CHUNK: u64 = 64;
