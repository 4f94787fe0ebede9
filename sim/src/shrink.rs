//! Small failures from large ones: cuts the tape of a failing world while the same check still fails.
//!
//! Zero is the quiet answer to every question and what a tape that has run out answers, so a smaller tape is a
//! calmer world. First the scenario is made plainer (fewer machines and cells, fewer kinds of fault) and what
//! follows is drawn afresh, because the choices that come later mean something else in another scenario. Then
//! the tape itself is cut: what was left to chance in one occasion, or in many, becomes zero or is deleted, then
//! single choices, and what is left is lowered as far as it goes. Everything follows from the tape, so the same failure always shrinks to the same one.

use core::cmp::Ordering;
use core::num::NonZeroU32;

use crate::choices::{Choices, Prng, Recorder};
use crate::report::{Failure, Report};
use crate::run::{Plan, caught};
use crate::world::World;

/// Plays a tape and keeps what was really taken from it.
#[derive(Debug)]
pub struct Replay<'t> {
    rest: &'t [u32],
    /// What answers once the scenario is drawn; nothing for the rest of the tape.
    then: Option<Prng>,
    /// How many occasions the world may have.
    most: usize,
    taken: Taken,
}

/// What a world took.
#[derive(Debug, Default)]
struct Taken {
    tape: Vec<u32>,
    /// How long the tape was when each occasion began: the first is the scenario and the world's beginning.
    starts: Vec<usize>,
    /// How many of the choices make up the scenario.
    mark: usize,
}

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
    /// Whether deleting, zeroing or lowering any single choice makes the world hold, fail otherwise, or no smaller;
    /// if not, the runs did not suffice to say so.
    pub is_minimal: bool,
}

/// Shrinks failures within a number of runs.
#[derive(Clone, Copy, Debug)]
pub struct Shrinker {
    runs: u32,
}

impl Choices for Replay<'_> {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        let choice = match (&mut self.then, self.rest.split_first()) {
            (Some(prng), _) if self.taken.mark > 0 => prng.below(bound),
            (_, Some((first, rest))) => {
                self.rest = rest;
                *first % bound
            }
            (_, None) => 0,
        };
        self.taken.tape.push(choice);
        choice
    }

    fn goes_on(&mut self) -> bool {
        self.taken.starts.push(self.taken.tape.len());
        self.taken.starts.len() <= self.most
    }
}

impl Replay<'_> {
    /// Says that the scenario has been drawn, so that the shrinker can make it plainer on its own.
    pub const fn mark(&mut self) {
        self.taken.mark = self.taken.tape.len();
    }
}

impl Shrinker {
    /// Runs so many worlds at most, beside the first.
    pub const fn new(runs: u32) -> Self {
        Self { runs }
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
        let mut work =
            Work { run, runs: 0, most: self.runs, best: Best::default(), check: "", spare: Taken::default() };
        work.start(&tape)?;
        let before = work.best.size();
        work.plainer_scenario();
        let mut is_minimal = false;
        while !is_minimal && work.may_run() {
            let has_changed = work.cut_occasions() || work.cut_choices() || work.lower();
            is_minimal = !has_changed && work.may_run();
        }
        let after = work.best.size();
        let Best { taken, failure } = work.best;
        let tape = taken.tape;
        failure.map(|failure| Shrunk { tape, failure, before, after, runs: work.runs, is_minimal })
    }
}

/// A failing tape on its way to a smaller one.
struct Work<F> {
    run: F,
    runs: u32,
    most: u32,
    best: Best,
    /// The check that must go on failing.
    check: &'static str,
    /// Room no longer needed, for the next run.
    spare: Taken,
}

/// The smallest failing tape so far.
#[derive(Debug, Default)]
struct Best {
    taken: Taken,
    failure: Option<Box<Failure>>,
}

impl Best {
    fn size(&self) -> Size {
        let tape = &self.taken.tape;
        Size {
            choices: tape.len(),
            loud: tape.iter().filter(|&&choice| choice > 0).count(),
            occasions: self.taken.starts.len(),
            steps: self.failure.as_ref().map_or(0, |failure| failure.steps),
        }
    }

    /// Returns the choices of the scenario; what is missing reads 0.
    fn scenario(&self) -> &[u32] {
        &self.taken.tape[..self.taken.mark.min(self.taken.tape.len())]
    }

    /// Tells whether this is the smaller one.
    fn is_below(&self, other: &Self) -> bool {
        let effort = self.size().effort().cmp(&other.size().effort());
        effort.then_with(|| order(&self.taken.tape, &other.taken.tape)) == Ordering::Less
    }
}

impl<F: FnMut(&mut Replay<'_>) -> Result<Report, Box<Failure>>> Work<F> {
    fn start(&mut self, tape: &[u32]) -> Option<()> {
        self.most = self.most.saturating_add(1);
        let found = self.play(tape, None, usize::MAX)?;
        self.check = found.failure.as_ref()?.violation.check;
        self.best = found;
        Some(())
    }

    const fn may_run(&self) -> bool {
        self.runs < self.most
    }

    /// Runs a tape for so many occasions; returns what it failed with, and how much of it was used.
    fn play(&mut self, tape: &[u32], then: Option<Prng>, most: usize) -> Option<Best> {
        if !self.may_run() {
            return None;
        }
        self.runs += 1;
        let mut taken = core::mem::take(&mut self.spare);
        taken.tape.clear();
        taken.starts.clear();
        taken.mark = 0;
        let mut replay = Replay { rest: tape, then, most, taken };
        let run = &mut self.run;
        let result = caught(|| run(&mut replay));
        let mut taken = replay.taken;
        taken.tape.truncate(end(&taken.tape));
        match result {
            Err(failure) if self.check.is_empty() || failure.violation.check == self.check => {
                Some(Best { taken, failure: Some(failure) })
            }
            Err(_) | Ok(_) => {
                self.spare = taken;
                None
            }
        }
    }

    /// Takes a tape if its world fails in the same check and is smaller than the best.
    fn accept(&mut self, tape: &[u32]) -> bool {
        // A world that has already taken more than the best is not smaller, whatever becomes of it.
        let most = self.best.size().effort().min(2 * self.best.taken.starts.len());
        let Some(found) = self.play(tape, None, most) else { return false };
        let is_smaller = found.is_below(&self.best);
        let rest = if is_smaller { core::mem::replace(&mut self.best, found) } else { found };
        self.spare = rest.taken;
        is_smaller
    }

    /// Looks for a plainer scenario in which some world fails the same check, and then for a short one in it.
    fn plainer_scenario(&mut self) {
        let most = self.most;
        // What is left is worth more to the cutting that follows.
        self.most = self.runs + (most - self.runs) / 4;
        let mut size = self.best.scenario().len().next_power_of_two();
        while size > 0 {
            let mut start = 0;
            while start < self.best.scenario().len() {
                let end = (start + size).min(self.best.scenario().len());
                if self.best.taken.tape[start..end].iter().any(|&choice| choice > 0) {
                    let mut scenario = self.best.scenario().to_vec();
                    scenario[start..end].fill(0);
                    self.plainer(&scenario);
                }
                start += size;
            }
            size /= 2;
        }
        let scenario = self.best.scenario().to_vec();
        for seed in 0..SHORTER {
            let most = self.best.taken.starts.len();
            let found = self.play(&scenario, Some(Prng::new(seed)), most);
            if let Some(found) = found.filter(|found| found.is_below(&self.best)) {
                self.best = found;
            }
        }
        self.most = most;
    }

    /// Takes a scenario if one of a few worlds of it fails.
    fn plainer(&mut self, scenario: &[u32]) {
        for seed in 0..PLAINER {
            let Some(found) = self.play(scenario, Some(Prng::new(seed)), usize::MAX) else { continue };
            if order(found.scenario(), self.best.scenario()) == Ordering::Less {
                self.best = found;
                return;
            }
        }
    }

    /// Calms and deletes what was left to chance in one occasion, or in many that follow each other.
    fn cut_occasions(&mut self) -> bool {
        let mut has_changed = false;
        for edit in [zero, delete] {
            let mut size = self.best.taken.starts.len().next_power_of_two();
            while size > 0 {
                let mut last = self.best.taken.starts.len();
                while last > 0 && self.may_run() {
                    let first = last.saturating_sub(size);
                    let start = first.checked_sub(1).map_or(0, |before| self.best.taken.starts[before]);
                    let end = self.best.taken.starts[last - 1].min(self.best.taken.tape.len());
                    has_changed |= start < end && self.cut(edit, start, end);
                    last = first.min(self.best.taken.starts.len());
                }
                size /= 2;
            }
        }
        has_changed
    }

    /// Calms and deletes single choices.
    fn cut_choices(&mut self) -> bool {
        let mut has_changed = false;
        for edit in [zero, delete] {
            let mut end = self.best.taken.tape.len();
            while end > 0 && self.may_run() {
                has_changed |= self.cut(edit, end - 1, end);
                end = (end - 1).min(self.best.taken.tape.len());
            }
        }
        has_changed
    }

    fn cut(&mut self, edit: fn(&mut Vec<u32>, usize, usize), start: usize, end: usize) -> bool {
        let mut tape = self.best.taken.tape.clone();
        edit(&mut tape, start, end);
        tape != self.best.taken.tape && self.accept(&tape)
    }

    /// Lowers each choice as far as it goes by halving what is left above the highest that does not fail.
    fn lower(&mut self) -> bool {
        let mut has_changed = false;
        let mut place = 0;
        while place < self.best.taken.tape.len() && self.may_run() {
            // Zero was tried before.
            let (mut holds, mut fails) = (0, self.best.taken.tape[place]);
            while holds < fails && self.may_run() {
                let middle = if fails - holds == 1 { holds } else { holds + (fails - holds) / 2 };
                let mut tape = self.best.taken.tape.clone();
                tape[place] = middle;
                if self.accept(&tape) {
                    has_changed = true;
                    // What came before may now ask for another number here.
                    fails = self.best.taken.tape.get(place).copied().unwrap_or(0).min(middle);
                } else if middle == holds {
                    break;
                } else {
                    holds = middle;
                }
            }
            place += 1;
        }
        has_changed
    }
}

fn zero(tape: &mut Vec<u32>, start: usize, end: usize) {
    tape[start..end].fill(0);
}

fn delete(tape: &mut Vec<u32>, start: usize, end: usize) {
    tape.drain(start..end);
}

/// Orders tapes: shorter ones first, then those that are lower where they first differ.
fn order(one: &[u32], other: &[u32]) -> Ordering {
    let (one, other) = (&one[..end(one)], &other[..end(other)]);
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Returns how long a tape is without the zeros at its end.
fn end(tape: &[u32]) -> usize {
    tape.iter().rposition(|&choice| choice > 0).map_or(0, |last| last + 1)
}

/// How many worlds of a plainer scenario are drawn to find one that fails.
const PLAINER: u64 = 6;
/// How many worlds of the plainest scenario are drawn to find one that fails soon.
const SHORTER: u64 = 64;
