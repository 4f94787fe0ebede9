//! The way back from a violation: which moves led to it, and what they look like.

use core::num::NonZeroU32;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use super::SmallWorld;
use super::search::{Counterexample, Search};
use crate::checks::Violation;
use crate::odometer::Odometer;
use crate::report::Failure;

/// How a situation came about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// That from which one move led to it, counted from one; nothing for a beginning.
    pub(super) from: Option<NonZeroU32>,
    /// Which of all the moves there were.
    pub(super) chosen: u16,
    /// How often the odometer was advanced.
    pub(super) reading: u16,
}

impl Search {
    /// Walks from a beginning to the violation once more, and writes everything down.
    pub(super) fn replay(&self, last: Origin) -> Counterexample {
        let mut origins = vec![last];
        let before = |origin: &Origin| origin.from.map(|from| self.origins[from.get() as usize - 1]);
        while let Some(origin) = before(&origins[origins.len() - 1]) {
            origins.push(origin);
        }
        let beginning = origins.pop().map_or(0, |origin| origin.reading);
        let start = |odometer: &mut Odometer| SmallWorld::new(&self.scope, odometer);
        let mut world = nth(beginning, start).with_trace();
        let depth = u32::try_from(origins.len()).unwrap_or(u32::MAX);
        let mut violation = None;
        for origin in origins.into_iter().rev() {
            let before = world;
            let next = before.moves()[usize::from(origin.chosen)];
            (world, violation) = nth(origin.reading, |odometer| {
                let mut after = before.fork();
                let result = catch_unwind(AssertUnwindSafe(|| after.make(next, odometer)));
                let violation = match result {
                    Ok(result) => result.err(),
                    Err(panic) => Some(Violation::new("panic", said(&*panic))),
                };
                (after, violation)
            });
        }
        let violation = violation.expect("the same moves lead to the same violation");
        let lines = world.trace.take().map(|trace| trace.into_lines()).unwrap_or_default();
        let steps = u64::from(depth);
        Counterexample { depth, failure: Box::new(Failure { violation, at: world.at(), steps, lines }) }
    }
}

/// Does what the odometer's reading of this number says.
fn nth<T>(reading: u16, mut step: impl FnMut(&mut Odometer) -> T) -> T {
    let mut odometer = Odometer::default();
    let mut last = step(&mut odometer);
    for _ in 0..reading {
        odometer.advance();
        last = step(&mut odometer);
    }
    last
}

fn said(panic: &(dyn core::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
