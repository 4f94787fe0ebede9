//! Every sequence of choices that one step can make, one after the other.

use core::num::NonZeroU32;

use crate::choices::Choices;

/// Counts through all choices, like the wheels of an odometer: the last wheel turns fastest.
///
/// Each question that is asked becomes a wheel with as many digits as there are answers. Ask the same thing again
/// after each [`Odometer::advance`], until that says that every answer has been given.
///
/// ```
/// use core::num::NonZeroU32;
/// use tenure_sim::{Choices, Odometer};
///
/// let bound = |answers| NonZeroU32::new(answers).expect("not zero");
/// let mut odometer = Odometer::default();
/// let mut seen = Vec::new();
/// loop {
///     // Only who answers 1 to the first question is asked a second one.
///     let first = odometer.below(bound(2));
///     let second = if first == 1 { odometer.below(bound(3)) } else { 0 };
///     seen.push((first, second));
///     if !odometer.advance() {
///         break;
///     }
/// }
/// assert_eq!(seen, [(0, 0), (1, 0), (1, 1), (1, 2)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Odometer {
    wheels: Vec<Wheel>,
    /// How many wheels have been read since the last advance.
    read: usize,
}

#[derive(Clone, Copy, Debug)]
struct Wheel {
    digit: u32,
    bound: NonZeroU32,
}

impl Odometer {
    /// Moves on to the next sequence of answers; returns false when there is none, and begins anew.
    pub fn advance(&mut self) -> bool {
        // What was not asked this time hangs on an answer that will change.
        self.wheels.truncate(self.read);
        self.read = 0;
        while let Some(wheel) = self.wheels.last_mut() {
            wheel.digit += 1;
            if wheel.digit < wheel.bound.get() {
                return true;
            }
            self.wheels.pop();
        }
        false
    }
}

impl Choices for Odometer {
    /// Answers with the wheel's digit.
    ///
    /// # Panics
    /// If the same answers led to another question than before: what is asked does not follow from them alone.
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        if self.read == self.wheels.len() {
            self.wheels.push(Wheel { digit: 0, bound });
        }
        let wheel = self.wheels[self.read];
        assert_eq!(wheel.bound, bound, "the same answers must lead to the same question");
        self.read += 1;
        wheel.digit
    }
}

#[cfg(test)]
mod tests {
    use super::Odometer;
    use crate::choices::{Choices as _, Draw as _};
    use core::num::NonZeroU32;

    #[test]
    fn every_combination_comes_once_and_then_it_begins_anew() {
        let mut odometer = Odometer::default();
        for _ in 0..2 {
            let mut seen = Vec::new();
            loop {
                seen.push([odometer.number(2), odometer.number(1), odometer.number(3)]);
                if !odometer.advance() {
                    break;
                }
            }
            assert_eq!(seen, [[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 0, 1], [1, 0, 2]]);
        }
    }

    #[test]
    fn a_step_that_asks_nothing_has_one_reading() {
        assert!(!Odometer::default().advance());
    }

    #[test]
    #[should_panic(expected = "the same question")]
    fn a_question_that_changes_is_a_mistake() {
        let mut odometer = Odometer::default();
        let bound = |answers| NonZeroU32::new(answers).expect("not zero");
        odometer.below(bound(2));
        odometer.advance();
        odometer.below(bound(3));
    }
}
