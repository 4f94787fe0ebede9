//! How a failing tape becomes smaller, step by step.

mod kinds;

use core::cmp::Ordering;
use std::collections::BTreeMap;

use super::replay::{Replay, Taken};
use super::{Shrunk, Size};
use crate::choices::Prng;
use crate::report::{Failure, Report};
use crate::run::caught;

/// A failing tape on its way to a smaller one.
pub(super) struct Work<F> {
    run: F,
    runs: u32,
    most: u32,
    goes_on: fn() -> bool,
    /// The effort of the first world: a plainer scenario is not worth more.
    first: usize,
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
    /// Prepares to run so many worlds at most, beside the first.
    pub(super) fn new(run: F, runs: u32, goes_on: fn() -> bool) -> Self {
        let (best, spare) = (Best::default(), Taken::default());
        Self { run, runs: 0, most: runs.saturating_add(1), goes_on, first: 0, best, check: "", spare }
    }

    /// Shrinks a failing tape; nothing if its world holds.
    pub(super) fn shrink(mut self, tape: &[u32]) -> Option<Shrunk> {
        self.start(tape)?;
        // As it came: what was drawn in vain is gone from the best already.
        let loud = tape.iter().filter(|&&choice| choice > 0).count();
        let before = Size { choices: end(tape), loud, ..self.best.size() };
        self.plainer_scenario();
        self.sooner();
        self.leave_out();
        self.calm();
        let mut is_minimal = false;
        while !is_minimal && self.may_run() {
            let has_changed = self.cut_occasions() | self.cut_choices() | self.lower();
            is_minimal = !has_changed && self.may_run();
        }
        let after = self.best.size();
        let Best { taken, failure } = self.best;
        failure.map(|failure| Shrunk {
            tape: taken.tape,
            failure,
            before,
            after,
            runs: self.runs,
            is_minimal,
        })
    }

    fn start(&mut self, tape: &[u32]) -> Option<()> {
        let found = self.play(tape, None, usize::MAX)?;
        self.check = found.failure.as_ref()?.violation.check;
        self.first = found.size().effort();
        self.best = found;
        Some(())
    }

    fn may_run(&self) -> bool {
        self.runs < self.most && (self.runs == 0 || (self.goes_on)())
    }

    /// Runs a tape for so many occasions; returns what it failed with, and how much of it was used.
    fn play(&mut self, tape: &[u32], then: Option<Prng>, most: usize) -> Option<Best> {
        self.play_parts(tape, None, then, most)
    }

    fn play_parts<'t>(
        &mut self,
        tape: &'t [u32],
        parts: Option<BTreeMap<u64, Vec<&'t [u32]>>>,
        then: Option<Prng>,
        most: usize,
    ) -> Option<Best> {
        if !self.may_run() {
            return None;
        }
        self.runs += 1;
        let mut taken = core::mem::take(&mut self.spare);
        taken.tape.clear();
        taken.turns.clear();
        taken.bounds.clear();
        taken.starts.clear();
        taken.mark = 0;
        let mut replay = Replay { rest: tape, parts, then, most, taken };
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
        let found = self.play(tape, None, most);
        self.take(found)
    }

    /// Does the same with a tape of which each occasion finds its part, but for those that are left out.
    fn accept_parts(&mut self, tape: &[u32], is_out: impl Fn(usize) -> bool) -> bool {
        let most = self.best.size().effort().min(2 * self.best.taken.starts.len());
        let mut parts: BTreeMap<u64, Vec<&[u32]>> = BTreeMap::new();
        for (place, (whose, start, end)) in self.best.taken.parts().enumerate().rev() {
            if !is_out(place) {
                parts.entry(whose).or_default().push(&tape[start..end]);
            }
        }
        let start = self.best.taken.starts.first().map_or(tape.len(), |start| (*start).min(tape.len()));
        let found = self.play_parts(&tape[..start], Some(parts), None, most);
        self.take(found)
    }

    fn take(&mut self, found: Option<Best>) -> bool {
        let Some(found) = found else { return false };
        let is_smaller = found.is_below(&self.best);
        let rest = if is_smaller { core::mem::replace(&mut self.best, found) } else { found };
        self.spare = rest.taken;
        is_smaller
    }

    /// Looks for a plainer scenario in which some world fails the same check.
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
        self.most = most;
    }

    /// Looks for a world of the same scenario that fails sooner. Cutting cannot make up for a late start: what happens to
    /// fail after a thousand messages depends on most of them, and another world fails after fifty.
    fn sooner(&mut self) {
        let most = self.most;
        self.most = self.runs + (most - self.runs) / 2;
        let scenario = self.best.scenario().to_vec();
        let mut seed = 0;
        while self.may_run() {
            let most = self.best.taken.starts.len();
            let found = self.play(&scenario, Some(Prng::new(seed)), most);
            if let Some(found) = found.filter(|found| found.is_below(&self.best)) {
                self.best = found;
            }
            seed += 1;
        }
        self.most = most;
    }

    /// Takes a scenario if one of a few worlds of it fails.
    fn plainer(&mut self, scenario: &[u32]) {
        for seed in 0..PLAINER {
            let Some(found) = self.play(scenario, Some(Prng::new(seed)), usize::MAX) else { continue };
            let is_plainer = order(found.scenario(), self.best.scenario()) == Ordering::Less;
            if is_plainer && found.size().effort() <= self.first {
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

#[expect(clippy::ptr_arg, reason = "stands beside `delete`, which needs the vector")]
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
const PLAINER: u64 = 12;
