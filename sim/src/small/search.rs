//! All of a small world, breadth first.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::rc::Rc;

use super::SmallWorld;
use super::pool::Pool;
use super::scope::Scope;
use super::seen::Seen;
use crate::checks::Violation;
use crate::odometer::Odometer;
use crate::report::Failure;

/// Explores every situation of a small world once, in the order of how many moves lead to it.
#[derive(Debug)]
pub struct Search {
    scope: Scope,
    seen: Seen,
    /// For each situation, that which led to it and which of its continuations it is; for a beginning, itself.
    origins: Vec<Origin>,
    layer: Vec<(SmallWorld, u32)>,
    next: Vec<(SmallWorld, u32)>,
    summary: Summary,
}

#[derive(Clone, Copy, Debug)]
struct Origin {
    from: Option<u32>,
    /// How often the odometer was advanced.
    reading: u32,
}

/// How much there was to explore.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Summary {
    /// How many situations differ.
    pub states: u64,
    /// How many moves were made, counting every choice within a move.
    pub transitions: u64,
    /// How many moves lead to the situations that are farthest away.
    pub depth: u32,
}

/// A shortest way to a violation.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// How many moves it takes.
    pub depth: u32,
    /// What was violated, and the trace of the moves.
    pub failure: Box<Failure>,
}

impl Search {
    /// Starts a search at every beginning that the scope has.
    pub fn new(scope: &Scope) -> Self {
        Self::starting(scope, Some(Rc::default()), Seen::default())
    }

    /// Starts a search that takes no situations for the same but those that are the same in everything.
    #[cfg(test)]
    fn exact(scope: &Scope, pool: Option<Rc<Pool>>) -> Self {
        Self::starting(scope, pool, Seen::exact())
    }

    fn starting(scope: &Scope, pool: Option<Rc<Pool>>, seen: Seen) -> Self {
        let is_exact = seen.is_exact;
        let mut search = Self {
            scope: scope.clone(),
            seen,
            origins: Vec::new(),
            layer: Vec::new(),
            next: Vec::new(),
            summary: Summary::default(),
        };
        let mut odometer = Odometer::default();
        let mut reading = 0;
        loop {
            let world = SmallWorld::build(scope, pool.clone(), is_exact, &mut odometer);
            search.keep(world, Origin { from: None, reading });
            reading += 1;
            if !odometer.advance() {
                break;
            }
        }
        core::mem::swap(&mut search.layer, &mut search.next);
        search
    }

    /// Explores everything. `progress` is told after each layer what has been seen.
    ///
    /// # Errors
    /// Returns a shortest counterexample, if some check does not hold everywhere.
    pub fn run(mut self, mut progress: impl FnMut(&Summary)) -> Result<Summary, Counterexample> {
        while !self.layer.is_empty() {
            for (world, id) in core::mem::take(&mut self.layer) {
                self.expand(&world, id)?;
            }
            self.summary.depth += u32::from(!self.next.is_empty());
            core::mem::swap(&mut self.layer, &mut self.next);
            progress(&self.summary);
        }
        Ok(self.summary)
    }

    /// Makes every move there is in one situation.
    fn expand(&mut self, world: &SmallWorld, id: u32) -> Result<(), Counterexample> {
        let moves = world.moves();
        if moves.is_empty() {
            return Ok(());
        }
        let mut odometer = Odometer::default();
        let mut reading = 0;
        loop {
            let mut next = world.fork();
            // A panic of an engine is a violation like any other.
            match catch_unwind(AssertUnwindSafe(|| next.step_among(&moves, &mut odometer))) {
                Ok(Ok(())) => {
                    self.summary.transitions += 1;
                    self.keep(next, Origin { from: Some(id), reading });
                }
                Ok(Err(_)) | Err(_) => return Err(self.replay(id, reading)),
            }
            reading += 1;
            if !odometer.advance() {
                return Ok(());
            }
        }
    }

    /// Keeps a situation for the next layer, unless it was seen before.
    fn keep(&mut self, world: SmallWorld, origin: Origin) {
        if !self.seen.insert(world.print_but_budget(), world.budget) {
            return;
        }
        let id = u32::try_from(self.origins.len()).expect("four billion situations do not fit into memory");
        self.origins.push(origin);
        self.summary.states += 1;
        self.next.push((world, id));
    }

    /// Walks from a beginning to the violation once more, and writes everything down.
    fn replay(&self, last: u32, reading: u32) -> Counterexample {
        let mut readings = vec![reading];
        let mut at = last;
        loop {
            let Origin { from, reading } = self.origins[at as usize];
            readings.push(reading);
            match from {
                Some(from) => at = from,
                None => break,
            }
        }
        let beginning = readings.pop().unwrap_or_default();
        let mut odometer = Odometer::default();
        let mut world = SmallWorld::new(&self.scope, &mut odometer);
        for _ in 0..beginning {
            odometer.advance();
            world = SmallWorld::new(&self.scope, &mut odometer);
        }
        let mut world = world.with_trace();
        let depth = u32::try_from(readings.len()).unwrap_or(u32::MAX);
        let mut violation = None;
        for reading in readings.into_iter().rev() {
            let before = world;
            world = before.fork();
            let mut odometer = Odometer::default();
            let mut result = catch_unwind(AssertUnwindSafe(|| world.step(&mut odometer)));
            for _ in 0..reading {
                odometer.advance();
                world = before.fork();
                result = catch_unwind(AssertUnwindSafe(|| world.step(&mut odometer)));
            }
            violation = match result {
                Ok(result) => result.err(),
                Err(panic) => Some(Violation::new("panic", said(&*panic))),
            };
        }
        let violation = violation.expect("the same moves lead to the same violation");
        let lines = world.trace.take().map(|trace| trace.into_lines()).unwrap_or_default();
        let steps = u64::from(depth);
        Counterexample { depth, failure: Box::new(Failure { violation, at: world.at(), steps, lines }) }
    }
}

fn said(panic: &(dyn core::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Scope, Search};
    use std::rc::Rc;
    use crate::small::{Mishap, Wish};

    #[test]
    fn taking_each_step_of_an_engine_once_changes_nothing() {
        let scope = Scope { horizon: 2, ..Scope::fine(3) }
            .asking(&[(Wish::Claim, 1)])
            .with_faults(1, &[(Mishap::Astray, 1), (Mishap::Pause, 1)]);
        let pooled = Search::exact(&scope, Some(Rc::default())).run(|_| {}).expect("holds");
        let alone = Search::exact(&scope, None).run(|_| {}).expect("holds");
        assert_eq!(pooled, alone);
        assert!(pooled.states > 500, "{pooled:?}");
    }
}
