//! Edits of a tape of which each occasion finds its own part, so that nothing that is left changes its meaning.

use super::super::replay::{Replay, Taken};
use super::Work;
use crate::choices::MILLION;
use crate::report::{Failure, Report};

impl<F: FnMut(&mut Replay<'_>) -> Result<Report, Box<Failure>>> Work<F> {
    /// Zeroes choices of one kind wherever they are, which neither moves the others nor takes from a time that matters:
    /// first faults, then times, and the rest.
    pub(super) fn calm(&mut self) {
        let kinds: [fn(u32) -> bool; 3] =
            [|bound| bound == MILLION.get(), |bound| bound > MILLION.get(), |bound| bound < MILLION.get()];
        for is_kind in kinds {
            let mut size = self.loud(is_kind).len();
            while size > 0 && self.may_run() {
                let mut end = self.loud(is_kind).len();
                while end > 0 && self.may_run() {
                    let places = self.loud(is_kind);
                    end = end.min(places.len());
                    let start = end.saturating_sub(size);
                    self.zero_all(&places[start..end]);
                    end = start;
                }
                size /= 2;
            }
        }
    }

    /// Returns where choices that are not zero, and not of the scenario, are such.
    fn loud(&self, is_such: impl Fn(u32) -> bool) -> Vec<usize> {
        let Taken { tape, bounds, mark, .. } = &self.best.taken;
        let both = tape.iter().zip(bounds).enumerate().skip(*mark);
        both.filter(|(_, (choice, bound))| **choice > 0 && is_such(**bound)).map(|(place, _)| place).collect()
    }

    fn zero_all(&mut self, places: &[usize]) -> bool {
        let mut tape = self.best.taken.tape.clone();
        places.iter().for_each(|&place| tape[place] = 0);
        !places.is_empty() && self.accept_parts(&tape, |_| false)
    }

    /// Leaves out occasions, many that follow each other and then single ones, without that what others find moves.
    pub(super) fn leave_out(&mut self) {
        let mut size = self.best.taken.turns.len().next_power_of_two() / 2;
        while size > 0 && self.may_run() {
            let mut last = self.best.taken.turns.len();
            while last > 0 && self.may_run() {
                let first = last.saturating_sub(size);
                let is_loud = |(_, start, end): (u64, usize, usize)| {
                    self.best.taken.tape[start..end].iter().any(|choice| *choice > 0)
                };
                if self.best.taken.parts().skip(first).take(last - first).any(is_loud) {
                    let tape = self.best.taken.tape.clone();
                    self.accept_parts(&tape, |place| (first..last).contains(&place));
                }
                last = first.min(self.best.taken.turns.len());
            }
            size /= 2;
        }
    }
}
