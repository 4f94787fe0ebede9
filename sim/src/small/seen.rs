//! Which situations a search has been to.

use core::hash::{BuildHasherDefault, Hash, Hasher};
use std::collections::HashMap;

use super::print::{Printed, print};
use super::scope::Mishap;

/// How much may still go wrong: in all, and of each kind in the order of [`Mishap::ALL`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Budget {
    pub(super) faults: u8,
    pub(super) mishaps: [u8; Mishap::ALL.len()],
}

impl Budget {
    /// Tells whether everything that can go wrong within the other budget can go wrong within this one.
    fn covers(&self, other: &Self) -> bool {
        let all = |budget: &Self| core::iter::once(budget.faults).chain(budget.mishaps);
        all(self).zip(all(other)).all(|(own, others)| own >= others)
    }
}

/// The situations seen so far, each with the budget with which it was.
///
/// Of two situations that differ only in what may still go wrong, whatever follows from the one with less follows from
/// the other as well, move for move. So one that comes later, or at the same depth, with no more of a budget is
/// not explored: a fault that made no difference opens no second copy of the world. Since a search is breadth first,
/// what is found from the other is found no later, so shortest paths stay shortest.
#[derive(Debug, Default)]
pub(super) struct Seen {
    places: HashMap<Place, u16, BuildHasherDefault<Printed>>,
    budgets: Vec<Budget>,
    /// Whether situations that differ in their budgets are kept apart.
    pub(super) is_exact: bool,
}

impl Seen {
    /// Keeps situations apart that differ only in what may still go wrong.
    #[cfg(test)]
    pub(super) fn exact() -> Self {
        Self { is_exact: true, ..Self::default() }
    }

    /// Notes a situation; returns whether it has to be explored.
    pub(super) fn insert(&mut self, situation: u128, budget: Budget) -> bool {
        let number = self.number(budget);
        if self.is_exact {
            return self.places.insert(Place::new(print(&(situation, budget))), number).is_none();
        }
        let place = Place::new(situation);
        let Some(known) = self.places.get(&place).map(|&known| self.budgets[usize::from(known)]) else {
            self.places.insert(place, number);
            return true;
        };
        if known.covers(&budget) {
            return false;
        }
        if budget.covers(&known) {
            self.places.insert(place, number);
            return true;
        }
        // Neither has everything of the other.
        self.places.insert(Place::new(print(&(situation, budget))), number).is_none()
    }

    fn number(&mut self, budget: Budget) -> u16 {
        let known = self.budgets.iter().position(|known| *known == budget).unwrap_or_else(|| {
            self.budgets.push(budget);
            self.budgets.len() - 1
        });
        u16::try_from(known).expect("few mishaps make few budgets")
    }
}

/// A print in four parts, so that a table of them has no gaps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Place([u32; 4]);

impl Place {
    fn new(print: u128) -> Self {
        Self([0, 32, 64, 96].map(|shift| (print >> shift) as u32))
    }
}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.0[0]) | u64::from(self.0[1]) << 32);
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Mishap, Seen};

    fn budget(faults: u8, pauses: u8) -> Budget {
        let mut mishaps = [0; Mishap::ALL.len()];
        mishaps[Mishap::Pause as usize] = pauses;
        mishaps[Mishap::Astray as usize] = faults;
        Budget { faults, mishaps }
    }

    #[test]
    fn less_of_a_budget_opens_nothing_and_more_of_it_does() {
        let mut seen = Seen::default();
        assert!(seen.insert(7, budget(1, 1)));
        assert!(!seen.insert(7, budget(1, 0)));
        assert!(seen.insert(8, budget(1, 0)));
        assert!(seen.insert(7, budget(2, 1)));
        assert!(!seen.insert(7, budget(1, 1)));
        // More of one and less of another: only itself covers it.
        assert!(seen.insert(7, budget(1, 2)));
        assert!(!seen.insert(7, budget(1, 2)));
    }

    #[test]
    fn an_exact_memory_tells_budgets_apart() {
        let mut seen = Seen::exact();
        assert!(seen.insert(7, budget(1, 1)));
        assert!(seen.insert(7, budget(1, 0)));
        assert!(!seen.insert(7, budget(1, 0)));
    }
}
