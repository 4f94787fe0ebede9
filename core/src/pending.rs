//! Who awaits which reply: the requests in flight, few at a time and answered roughly in the order of their
//! numbers.

use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};

/// A map from the numbers of requests, which only grow, to whoever awaits the replies.
///
/// Sorted by number, so that adding is a push and finding a binary search. What is taken leaves a gap; gaps are
/// closed at both ends, and everywhere once they are more than what is left: each step costs constant time on
/// average, and nothing grows beyond twice what is in flight.
#[derive(Clone, Debug)]
pub(crate) struct Pending<T> {
    entries: VecDeque<(u64, Option<T>)>,
    live: usize,
}

impl<T> Pending<T> {
    pub(crate) const fn new() -> Self {
        Self { entries: VecDeque::new(), live: 0 }
    }

    /// Adds who awaits the reply to request `number`, which must be the highest so far.
    pub(crate) fn add(&mut self, number: u64, target: T) {
        assert!(self.entries.back().is_none_or(|last| last.0 < number), "the numbers of requests only grow");
        self.entries.push_back((number, Some(target)));
        self.live += 1;
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.entries[self.place(number)?].1.as_ref()
    }

    pub(crate) fn take(&mut self, number: u64) -> Option<T> {
        let place = self.place(number)?;
        let target = self.entries[place].1.take()?;
        self.live -= 1;
        while self.entries.front().is_some_and(|first| first.1.is_none()) {
            self.entries.pop_front();
        }
        while self.entries.back().is_some_and(|last| last.1.is_none()) {
            self.entries.pop_back();
        }
        if self.entries.len() > 2 * self.live {
            self.entries.retain(|entry| entry.1.is_some());
        }
        Some(target)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.live = 0;
    }

    fn place(&self, number: u64) -> Option<usize> {
        // Most often it is the one that has waited longest.
        if self.entries.front().is_some_and(|first| first.0 == number) {
            return Some(0);
        }
        self.entries.binary_search_by_key(&number, |entry| entry.0).ok()
    }
}

/// Who awaits what; gaps say nothing.
impl<T: Hash> Hash for Pending<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.live.hash(state);
        self.entries.iter().filter(|entry| entry.1.is_some()).for_each(|entry| entry.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::Pending;

    #[test]
    fn replies_in_any_order_find_who_awaits_them_once_and_leave_nothing_behind() {
        for order in [[0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0], [3, 1, 4, 0, 5, 2, 7, 6]] {
            let mut pending = Pending::new();
            (0..8).for_each(|number| pending.add(10 * number, number));
            for (taken, number) in order.into_iter().enumerate() {
                assert_eq!((pending.get(10 * number), pending.get(10 * number + 1)), (Some(&number), None));
                assert_eq!((pending.take(10 * number), pending.take(10 * number)), (Some(number), None));
                assert!(pending.entries.len() <= 2 * (7 - taken), "{order:?}");
            }
        }
    }
}
