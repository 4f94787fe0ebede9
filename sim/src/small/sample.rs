//! Samplers: one schedule of a small world at a time, for those that are too large to explore.

use core::panic::AssertUnwindSafe;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::rc::Rc;

use super::SmallWorld;
use super::moves::Move;
use super::pool::Pool;
use super::scope::{Mishap, Scope, Wish};
use crate::checks::Violation;
use crate::choices::{Choices, Draw, Prng};

/// How the next move is picked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sampler {
    /// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte: A Randomized Scheduler
    /// with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010), of this depth.
    ///
    /// Whatever happens in one place or to one message forms a chain, and each chain has a random priority. The
    /// move of the highest priority is made, always, but that at `depth - 1` random moments the chain that would
    /// come next falls below all others.
    Pct {
        /// How many moves must come in the right order for what is looked for.
        depth: usize,
    },
    /// Every move is as likely as any other.
    Uniform,
}

/// What moves that follow each other have in common.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Chain {
    /// What an application asks.
    App(usize, Wish),
    /// What happens to a session, or to its messages.
    Mishap(usize, Mishap),
    /// A request, its answer, and its sender's patience.
    Message(usize, u64),
    /// What an engine does by itself, and the going on of its process.
    Process(usize),
    /// The passing of time.
    Time,
}

/// Runs schedules of one scope.
#[derive(Debug)]
pub struct Sampling {
    scope: Scope,
    sampler: Sampler,
    pool: Rc<Pool>,
    /// How many moves the longest schedule so far had: where change points may lie.
    longest: usize,
}

impl Sampling {
    /// Prepares to run schedules.
    pub fn new(scope: &Scope, sampler: Sampler) -> Self {
        Self { scope: scope.clone(), sampler, pool: Rc::default(), longest: 40 }
    }

    /// Runs the schedule of one seed to its end, and returns how many moves it had.
    ///
    /// # Errors
    /// Says which check was violated.
    pub fn run(&mut self, seed: u64) -> Result<usize, Violation> {
        let mut choices = Prng::new(seed);
        let mut world = SmallWorld::build(&self.scope, Some(self.pool.clone()), false, &mut choices);
        let mut ranks = Ranks::new(self.sampler, self.longest, &mut choices);
        let mut length = 0;
        loop {
            let moves = world.moves();
            if moves.is_empty() {
                break;
            }
            let next = match self.sampler {
                Sampler::Pct { .. } => ranks.pick(&world, &moves, length, &mut choices),
                Sampler::Uniform => choices.one_of(&moves),
            };
            world.perform(next, &mut choices)?;
            length += 1;
        }
        self.longest = self.longest.max(length);
        Ok(length)
    }

    /// Returns which of the seeds from `start` on, `count` of them, is the first to violate a check.
    pub fn first(&mut self, start: u64, count: u64) -> Option<u64> {
        (0..count).find(|&number| {
            let run = || self.run(start.wrapping_add(number));
            // A panic of an engine is a violation like any other.
            !matches!(catch_unwind(AssertUnwindSafe(run)), Ok(Ok(_)))
        })
    }
}

/// The priorities of chains.
#[derive(Debug)]
struct Ranks {
    ranks: BTreeMap<Chain, u64>,
    /// At which moves a chain falls, and how low.
    changes: Vec<(usize, u64)>,
}

impl Ranks {
    fn new(sampler: Sampler, longest: usize, choices: &mut impl Choices) -> Self {
        let depth = match sampler {
            Sampler::Pct { depth } => depth as u64,
            Sampler::Uniform => 1,
        };
        let changes = (1..depth).map(|low| (choices.number(longest), depth - 1 - low)).collect();
        Self { ranks: BTreeMap::new(), changes }
    }

    fn pick(
        &mut self,
        world: &SmallWorld,
        moves: &[Move],
        length: usize,
        choices: &mut impl Choices,
    ) -> Move {
        loop {
            let mut best = moves[0];
            let mut highest = None;
            for &next in moves {
                let chain = chain(world, next);
                let rank =
                    *self.ranks.entry(chain).or_insert_with(|| FALLEN + choices.number(1 << 30) as u64);
                if highest.is_none_or(|(_, other)| rank > other) {
                    (best, highest) = (next, Some((chain, rank)));
                }
            }
            let Some(place) = self.changes.iter().position(|change| change.0 == length) else { return best };
            let (_, low) = self.changes.swap_remove(place);
            if let Some((chain, _)) = highest {
                self.ranks.insert(chain, low);
            }
        }
    }
}

fn chain(world: &SmallWorld, next: Move) -> Chain {
    let message = |place: usize| {
        let (session, number, _) = world.flights[place].rank();
        Chain::Message(session, number)
    };
    match next {
        Move::Ask { session, wish, .. } => Chain::App(session, wish),
        Move::Deliver(place) | Move::GiveUp(place) | Move::Serve(place) => message(place),
        Move::Hit(session, mishap) => Chain::Mishap(session, mishap),
        Move::Resume(session) | Move::Wake(session) => Chain::Process(session),
        Move::Spoil(place, mishap) => Chain::Mishap(world.flights[place].session, mishap),
        Move::Tick => Chain::Time,
    }
}

/// Priorities from here on were drawn; below are those of chains that fell.
const FALLEN: u64 = 1 << 20;
