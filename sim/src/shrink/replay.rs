//! The source of chance of a world that is being shrunk.

use core::num::NonZeroU32;

use crate::choices::{Choices, Prng};

/// Plays a tape and keeps what was really taken from it.
#[derive(Debug)]
pub struct Replay<'t> {
    pub(super) rest: &'t [u32],
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
    /// How many of the choices make up the scenario.
    pub(super) mark: usize,
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
        self.taken.bounds.push(bound.get());
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
