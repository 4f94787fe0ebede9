//! The source of chance of a world that is being shrunk.

use core::num::NonZeroU32;
use std::collections::BTreeMap;

use crate::choices::{Choices, MILLION, Prng};

/// Plays a tape and keeps what was really taken from it.
#[derive(Debug)]
pub struct Replay<'t> {
    pub(super) rest: &'t [u32],
    /// What each occasion finds, the next one last, by whose turn it is: then what changes in one machine does not
    /// give others answers that were meant for something else. Nothing if all read from one tape.
    pub(super) parts: Option<BTreeMap<u64, Vec<&'t [u32]>>>,
    /// What answers once the scenario is drawn; nothing for the rest of the tape.
    pub(super) then: Option<Prng>,
    /// How many occasions the world may have.
    pub(super) most: usize,
    pub(super) taken: Taken,
}

/// What a world took.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) tape: Vec<u32>,
    /// Below what each choice had to be: tells whether it is about a fault, a time, or something else.
    pub(super) bounds: Vec<u32>,
    /// How long the tape was when each occasion began: the first is the scenario and the world's beginning.
    pub(super) starts: Vec<usize>,
    /// Whose turn each occasion was.
    pub(super) turns: Vec<u64>,
    /// How many of the choices make up the scenario.
    pub(super) mark: usize,
}

impl Choices for Replay<'_> {
    fn below(&mut self, bound: NonZeroU32) -> u32 {
        let choice = self.next(bound);
        self.keep(choice, bound);
        choice
    }

    /// Keeps of a number what it says, yes or no, as the lowest number that says so: this costs no run, and leaves no
    /// number that is there only because it was drawn.
    fn chance(&mut self, millionths: NonZeroU32) -> bool {
        let least = MILLION.get().saturating_sub(millionths.get());
        let happens = self.next(MILLION) >= least;
        self.keep(if happens { least } else { 0 }, MILLION);
        happens
    }

    fn goes_on(&mut self) -> bool {
        self.taken.starts.push(self.taken.tape.len());
        self.taken.starts.len() <= self.most
    }

    fn turns_to(&mut self, whose: u64) {
        self.taken.turns.push(whose);
        if let Some(parts) = &mut self.parts {
            self.rest = parts.get_mut(&whose).and_then(Vec::pop).unwrap_or_default();
        }
    }
}

impl Taken {
    /// Returns what was taken before the first occasion, and for each occasion whose turn it was and where what it took
    /// starts and ends.
    pub(super) fn parts(&self) -> impl DoubleEndedIterator<Item = (u64, usize, usize)> + ExactSizeIterator {
        let length = self.tape.len();
        let start = move |place: usize| self.starts.get(place).map_or(length, |start| (*start).min(length));
        (0..self.turns.len()).map(move |place| (self.turns[place], start(place), start(place + 1)))
    }
}

impl Replay<'_> {
    /// Returns the next number of the tape, or whatever answers in its place.
    fn next(&mut self, bound: NonZeroU32) -> u32 {
        match (&mut self.then, self.rest.split_first()) {
            (Some(prng), _) if self.taken.mark > 0 => prng.below(bound),
            (_, Some((first, rest))) => {
                self.rest = rest;
                *first % bound
            }
            (_, None) => 0,
        }
    }

    fn keep(&mut self, choice: u32, bound: NonZeroU32) {
        self.taken.tape.push(choice);
        self.taken.bounds.push(bound.get());
    }

    /// Says that the scenario has been drawn, so that the shrinker can make it plainer on its own.
    pub const fn mark(&mut self) {
        self.taken.mark = self.taken.tape.len();
    }
}
