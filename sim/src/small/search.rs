//! All of a small world, breadth first.

use core::num::NonZeroU32;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::rc::Rc;

use super::SmallWorld;
use super::moves::Move;
use super::pool::Pool;
use super::scope::Scope;
use super::seen::Seen;
use super::trail::Origin;
use crate::odometer::Odometer;
use crate::report::Failure;

/// Explores every situation of a small world once, in the order of how many moves lead to it.
///
/// ```
/// use tenure_sim::small::{Mishap, Scope, Search, Wish};
///
/// // Two nodes, one cell, three ticks. The second node claims what the first holds, and one message may go astray.
/// let scope = Scope { horizon: 3, ..Scope::fine(3) }
///     .asking(&[(Wish::Claim, 1)])
///     .with_faults(1, &[(Mishap::Astray, 1)]);
/// let seen = Search::new(&scope).run().unwrap_or_else(|found| panic!("{}", found.failure));
/// assert!(seen.is_complete && seen.states > 100);
/// ```
#[derive(Debug)]
pub struct Search {
    pub(super) scope: Scope,
    seen: Seen,
    /// How each situation came about.
    pub(super) origins: Vec<Origin>,
    layer: Vec<(SmallWorld, NonZeroU32)>,
    next: Vec<(SmallWorld, NonZeroU32)>,
    summary: Summary,
    is_narrow: bool,
    /// The prints of the situations in which nothing happens any more unless it goes wrong.
    #[cfg(test)]
    ends: std::collections::BTreeSet<u128>,
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
    /// Whether that is everything there is within the scope.
    pub is_complete: bool,
}

/// A way to a violation; a shortest one, unless the search was [narrow](Search::narrowly).
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
            is_narrow: false,
            #[cfg(test)]
            ends: std::collections::BTreeSet::new(),
        };
        let mut odometer = Odometer::default();
        for reading in 0.. {
            let world = SmallWorld::build(scope, pool.clone(), is_exact, &mut odometer);
            search.keep(world, Origin { from: None, chosen: 0, reading });
            if !odometer.advance() {
                break;
            }
        }
        core::mem::swap(&mut search.layer, &mut search.next);
        search
    }

    /// Explores one order of moves that commute, instead of all: the same ends of the world and the same violations
    /// in a fraction of the situations, but a counterexample may have some moves more than the shortest.
    #[must_use]
    pub fn narrowly(self) -> Self {
        Self { is_narrow: true, ..self }
    }

    /// Explores everything.
    ///
    /// # Errors
    /// Returns a counterexample, if some check does not hold everywhere.
    pub fn run(self) -> Result<Summary, Counterexample> {
        self.run_while(|_| true)
    }

    /// Explores everything, but ends early once `goes_on`, which is told now and then what has been seen, says no.
    ///
    /// # Errors
    /// Returns a counterexample, if some check does not hold where it has been.
    pub fn run_while(mut self, mut goes_on: impl FnMut(&Summary) -> bool) -> Result<Summary, Counterexample> {
        self.explore(&mut goes_on)?;
        Ok(self.summary)
    }

    fn explore(&mut self, goes_on: &mut impl FnMut(&Summary) -> bool) -> Result<(), Counterexample> {
        while !self.layer.is_empty() {
            for (number, (world, id)) in core::mem::take(&mut self.layer).into_iter().enumerate() {
                self.expand(&world, id)?;
                if number % PAUSE == PAUSE - 1 && !goes_on(&self.summary) {
                    return Ok(());
                }
            }
            self.summary.depth += u32::from(!self.next.is_empty());
            core::mem::swap(&mut self.layer, &mut self.next);
            if !goes_on(&self.summary) && !self.layer.is_empty() {
                return Ok(());
            }
        }
        self.summary.is_complete = true;
        Ok(())
    }

    /// Makes every move that has to be made in one situation.
    fn expand(&mut self, world: &SmallWorld, id: NonZeroU32) -> Result<(), Counterexample> {
        let moves = world.moves();
        #[cfg(test)]
        if moves.iter().all(|next| matches!(next, Move::Hit(..) | Move::Spoil(..))) {
            self.ends.insert(world.print_with(world.residue(), false));
        }
        for session in (0..world.sessions.len()).filter(|_| self.is_narrow) {
            let Some(inside) = world.inside(session, &moves) else { continue };
            let mut all = Vec::new();
            let mut is_secret = true;
            for (chosen, &next) in moves.iter().enumerate().filter(|(_, next)| inside.contains(next)) {
                let from = all.len();
                self.follow(world, (id, chosen, next), &mut all)?;
                is_secret &= all[from..].iter().all(|(after, _)| after.is_secret(world, session, next));
            }
            if is_secret {
                all.into_iter().for_each(|(world, origin)| self.keep(world, origin));
                return Ok(());
            }
        }
        let mut all = Vec::new();
        for (chosen, &next) in moves.iter().enumerate() {
            self.follow(world, (id, chosen, next), &mut all)?;
            all.drain(..).for_each(|(world, origin)| self.keep(world, origin));
        }
        Ok(())
    }

    /// Makes one move in every way there is.
    fn follow(
        &self,
        world: &SmallWorld,
        (id, chosen, next): (NonZeroU32, usize, Move),
        all: &mut Vec<(SmallWorld, Origin)>,
    ) -> Result<(), Counterexample> {
        let chosen = u16::try_from(chosen).expect("few things can happen next");
        let mut odometer = Odometer::default();
        for reading in 0.. {
            let origin = Origin { from: Some(id), chosen, reading };
            let mut after = world.fork();
            // A panic of an engine is a violation like any other.
            match catch_unwind(AssertUnwindSafe(|| after.make(next, &mut odometer))) {
                Ok(Ok(())) => all.push((after, origin)),
                Ok(Err(_)) | Err(_) => return Err(self.replay(origin)),
            }
            if !odometer.advance() {
                break;
            }
        }
        Ok(())
    }

    /// Keeps a situation for the next layer, unless it was seen before.
    fn keep(&mut self, world: SmallWorld, origin: Origin) {
        self.summary.transitions += u64::from(origin.from.is_some());
        if !self.seen.insert(world.print_but_budget(), world.budget) {
            return;
        }
        self.origins.push(origin);
        let id = u32::try_from(self.origins.len()).ok().and_then(NonZeroU32::new);
        let id = id.expect("four billion situations do not fit into memory");
        self.summary.states += 1;
        self.next.push((world, id));
    }
}

/// After how many situations a search asks whether to go on.
const PAUSE: usize = 1 << 15;

#[cfg(test)]
mod tests {
    use super::{Scope, Search};
    use crate::small::{Mishap, Wish};
    use std::rc::Rc;

    #[test]
    fn taking_each_step_of_an_engine_once_changes_nothing() {
        let scope = Scope { horizon: 2, ..Scope::fine(3) }
            .asking(&[(Wish::Claim, 1)])
            .with_faults(1, &[(Mishap::Astray, 1), (Mishap::Pause, 1)]);
        let pooled = Search::exact(&scope, Some(Rc::default())).run().expect("holds");
        let alone = Search::exact(&scope, None).run().expect("holds");
        assert_eq!(pooled, alone);
        assert!(pooled.states > 500, "{pooled:?}");
    }

    #[test]
    fn what_saves_situations_loses_no_end_of_the_world() {
        let fine = || Scope { horizon: 3, ..Scope::fine(3) };
        let any = Mishap::ALL.map(|mishap| (mishap, 1));
        let one = [(Mishap::Astray, 1), (Mishap::Crash, 1), (Mishap::Pause, 1)];
        let claim = [(Wish::Claim, 1)];
        let scopes = [
            fine().asking(&claim).with_faults(1, &any),
            Scope { horizon: 4, rivals_rest: true, ..Scope::whole_seconds(6) }
                .with_disagreement()
                .asking(&claim)
                .with_faults(1, &one),
            fine().asking(&claim).with_faults(2, &one),
            fine().asking(&[(Wish::Claim, 1), (Wish::Release, 1)]).without_faults(),
            fine().asking(&[(Wish::Verify, 1), (Wish::Leave, 1)]).with_faults(1, &one),
            fine().asking(&[(Wish::Transfer, 1), (Wish::Claim, 1)]).with_faults(1, &one[..2]),
        ];
        // Without optimisation the first is enough to be waited for.
        let few_are_enough = if cfg!(debug_assertions) { 1 } else { scopes.len() };
        for scope in scopes.into_iter().take(few_are_enough) {
            let mut all = Search::exact(&scope, Some(Rc::default()));
            let mut few = Search::new(&scope).narrowly();
            for search in [&mut all, &mut few] {
                search.explore(&mut |_| true).unwrap_or_else(|found| panic!("{}", found.failure));
            }
            let (most, least) = (all.summary.states, few.summary.states);
            println!("{most} situations, {least} of them needed, {} ends", few.ends.len());
            assert!(all.ends == few.ends, "{} ends, not {}: {scope:?}", few.ends.len(), all.ends.len());
            assert!(least < most && few.ends.len() > 1, "{scope:?}");
        }
    }

    #[test]
    fn a_search_that_is_told_to_stop_says_that_it_is_not_complete() {
        let seen = Search::new(&Scope::fine(3)).run_while(|seen| seen.depth < 5).expect("holds so far");
        assert_eq!((seen.depth, seen.is_complete), (5, false));
    }
}
