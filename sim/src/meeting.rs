//! A hard situation as something to find: a check that "fails" as soon as a world has met it.

use crate::checks::{Check, Violation};
use crate::spotter::Spotter;
use crate::view::View;
use crate::witness::{Seen, Witness};

/// Ends a world as soon as it has met some situations, one after the other, so that the shrinker can make small worlds
/// that do.
#[derive(Debug)]
pub struct Meeting {
    wanted: Vec<Witness>,
    /// How many of them were met.
    met: usize,
    /// What had been seen when the last of them was.
    before: Seen,
    spotter: Spotter,
}

impl Meeting {
    /// What the violation names as its check.
    pub const CHECK: &'static str = "met";

    /// Waits for all of these, in this order.
    pub fn of(wanted: &[Witness]) -> Self {
        Self { wanted: wanted.to_vec(), met: 0, before: Seen::default(), spotter: Spotter::default() }
    }
}

impl Check for Meeting {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.spotter.observe(view);
        let seen = *self.spotter.seen();
        let Some(&next) = self.wanted.get(self.met) else { return Ok(()) };
        if seen.times(next) > self.before.times(next) {
            self.met += 1;
            self.before = seen;
        }
        if self.met < self.wanted.len() {
            return Ok(());
        }
        let words: Vec<&str> = self.wanted.iter().map(|witness| witness.as_str()).collect();
        Err(Violation::new(Self::CHECK, words.join(", ")))
    }
}
