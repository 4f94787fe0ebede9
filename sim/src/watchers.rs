//! The checks of a world, and which of them look at which kind of step.

use crate::checks::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::View;

/// Checks, each shown only the kinds of steps that it looks at.
#[derive(Debug)]
pub(crate) struct Watchers {
    checks: Vec<Box<dyn Check>>,
    /// For each kind of step, which checks look at it, as bits.
    by_kind: [u64; Kinds::COUNT],
}

impl Watchers {
    pub(crate) fn new(checks: Vec<Box<dyn Check>>) -> Self {
        let mut watchers = Self { checks, by_kind: [0; Kinds::COUNT] };
        (0..watchers.checks.len()).for_each(|place| watchers.enlist(place));
        watchers
    }

    pub(crate) fn add(&mut self, check: Box<dyn Check>) {
        self.checks.push(check);
        self.enlist(self.checks.len() - 1);
    }

    /// Shows a step to whoever looks at its kind, in the order in which they were added.
    pub(crate) fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let mut left = self.by_kind[view.step.kind().number()];
        while left != 0 {
            self.checks[left.trailing_zeros() as usize].observe(view)?;
            left &= left - 1;
        }
        Ok(())
    }

    fn enlist(&mut self, place: usize) {
        let bit = u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place));
        let bit = bit.expect("a world has at most 64 checks");
        for kind in self.checks[place].kinds().each() {
            self.by_kind[kind.number()] |= bit;
        }
    }
}
