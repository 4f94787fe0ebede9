//! Small failures from large ones: cuts the tape of a failing world while the same check still fails.
//!
//! Zero is the quiet answer to every question and what a tape that has run out answers, so a smaller tape is a
//! calmer world. First the scenario is made plainer (fewer machines and cells, fewer kinds of fault) and what
//! follows is drawn afresh, because the choices that come later mean something else in another scenario. Of that scenario
//! worlds are drawn that fail sooner, for half of the runs. Then the tape is cut with each occasion still finding its
//! own part of it, so that a machine that acts later or not at all does not give its answers to others. At last the tape
//! itself is cut: what was left to chance in one occasion, or in many, becomes zero or is deleted, then single choices,
//! and what is left is lowered as far as it goes. Everything follows from the tape, so the same failure always shrinks to
//! the same one.

mod replay;
mod work;

pub use replay::Replay;

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use self::work::Work;
use crate::choices::{Prng, Recorder};
use crate::report::{Failure, Report};
use crate::run::{Plan, caught};
use crate::world::World;

/// How large a failing world is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Size {
    /// How many choices its tape holds, not counting the zeros at its end.
    pub choices: usize,
    /// How many of these are not zero: what a person must follow.
    pub loud: usize,
    /// How often something happened before the check failed: a message, a timer, an application's next deed.
    pub occasions: usize,
    /// How many events its engines handled by then.
    pub steps: u64,
}

impl Size {
    /// Returns what a person must follow, which is what shrinking lowers: what happened, and twice what was not left
    /// quiet.
    pub const fn effort(self) -> usize {
        self.occasions + 2 * self.loud
    }
}

/// A failure that was made smaller.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shrunk {
    /// The smallest tape found.
    pub tape: Vec<u32>,
    /// How it fails.
    pub failure: Box<Failure>,
    /// How large the world was.
    pub before: Size,
    /// How large it is now.
    pub after: Size,
    /// How many worlds were run to find it.
    pub runs: u32,
    /// Whether deleting or zeroing any single choice, or lowering it by one or by halves, makes the world hold, fail
    /// otherwise, or no smaller; if not, the runs did not suffice to say so. Other numbers below a choice are not tried.
    pub is_minimal: bool,
}

/// Shrinks failures within a number of runs.
#[derive(Clone, Copy, Debug)]
pub struct Shrinker {
    runs: u32,
    goes_on: fn() -> bool,
}

impl Shrinker {
    /// Runs so many worlds at most, beside the first.
    pub const fn new(runs: u32) -> Self {
        Self { runs, goes_on: || true }
    }

    /// Stops as soon as this says no, with the smallest tape found by then. It is asked before each run.
    #[must_use]
    pub const fn while_true(self, goes_on: fn() -> bool) -> Self {
        Self { goes_on, ..self }
    }

    /// Shrinks the failure of a plan's seed; nothing if its world holds.
    pub fn shrink_seed(self, plan: &Plan, seed: u64) -> Option<Shrunk> {
        let mut prng = Prng::new(seed);
        let mut recorder = Recorder::new(&mut prng);
        caught(|| plan.world(&mut recorder).run()).err()?;
        self.shrink_tape(plan, recorder.into_tape())
    }

    /// Shrinks the failure of a plan's tape; nothing if its world holds.
    pub fn shrink_tape(self, plan: &Plan, tape: Vec<u32>) -> Option<Shrunk> {
        self.shrink(tape, |choices| {
            let scenario = plan.scenario(choices);
            choices.mark();
            World::new(scenario, choices).run()
        })
    }

    /// Shrinks the failure of a world of your own; nothing if it holds. `run` builds the world from the choices
    /// it is given, all of it and nothing else, and runs it.
    pub fn shrink(
        self,
        tape: Vec<u32>,
        run: impl FnMut(&mut Replay<'_>) -> Result<Report, Box<Failure>>,
    ) -> Option<Shrunk> {
        Work::new(run, self.runs, self.goes_on).shrink(&tape)
    }

    /// Shrinks the failures of many plans' seeds, so many at once, in their order.
    pub fn shrink_all(self, failures: &[(Plan, u64)], threads: NonZeroUsize) -> Vec<Option<Shrunk>> {
        let next = AtomicUsize::new(0);
        let shrunk = Mutex::new(vec![None; failures.len()]);
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some((plan, seed)) = failures.get(place) else { break };
                let one = self.shrink_seed(plan, *seed);
                shrunk.lock().unwrap_or_else(PoisonError::into_inner)[place] = one;
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.get() {
                scope.spawn(work);
            }
            work();
        });
        shrunk.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
