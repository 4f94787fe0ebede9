//! What is going to happen, in order of time.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::clock::Moment;

/// Something that happens at a moment. Numbers of sessions, machines, cells and requests are the world's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Occasion {
    /// A request reaches the store, for the first or the second time.
    Arrive { flight: usize, is_again: bool },
    /// An answer reaches its sender.
    Deliver { flight: usize },
    /// A sender stops waiting for an answer.
    GiveUp { flight: usize },
    /// An engine's sleep ends.
    Wake { machine: usize, generation: u32 },
    /// An application thinks about what to do next, as it regularly does.
    Tick { session: usize },
    /// An application thinks about what to do next because it wanted to do so now.
    Turn { session: usize },
    /// What one application said to another arrives.
    Bring { session: usize, letter: usize },
    /// Something may happen to a machine.
    Weather,
    /// A process that stood still goes on.
    Resume { session: usize },
    /// A machine starts a new process.
    Start { machine: usize },
    /// The faults end.
    Heal,
    /// Everything must be well by now.
    Judge,
}

/// The future, as far as it is known. What is due at one moment happens in the order it was planned.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    planned: u64,
}

#[derive(Debug)]
struct Entry {
    at: Moment,
    number: u64,
    occasion: Occasion,
}

impl Queue {
    pub(crate) fn plan(&mut self, at: Moment, occasion: Occasion) {
        self.planned += 1;
        self.heap.push(Reverse(Entry { at, number: self.planned, occasion }));
    }

    pub(crate) fn next(&mut self) -> Option<(Moment, Occasion)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.occasion))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}
