//! What is going to happen, in order of time.

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
    Bring { letter: usize },
    /// A node of another implementation does something.
    Foreign { foreign: usize },
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

impl Occasion {
    /// Returns a number for each kind of occasion.
    pub(crate) const fn kind(self) -> u64 {
        match self {
            Self::Arrive { .. } => 0,
            Self::Deliver { .. } => 1,
            Self::GiveUp { .. } => 2,
            Self::Wake { .. } => 3,
            Self::Tick { .. } => 4,
            Self::Turn { .. } => 5,
            Self::Bring { .. } => 6,
            Self::Foreign { .. } => 7,
            Self::Weather => 8,
            Self::Resume { .. } => 9,
            Self::Start { .. } => 10,
            Self::Heal => 11,
            Self::Judge => 12,
        }
    }

    /// Turns an answer that would arrive into one that is waited for in vain: its connection is gone.
    pub(crate) fn lose_answer(&mut self) {
        if let Self::Deliver { flight } = *self {
            *self = Self::GiveUp { flight };
        }
    }
}

/// The future, as far as it is known. What is due at one moment happens in the order it was planned.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The next one last. Little is ahead at any time, and most of what is planned happens soon: its place is near
    /// the end.
    ahead: Vec<Planned>,
}

#[derive(Clone, Copy, Debug)]
struct Planned {
    at: Moment,
    occasion: Occasion,
}

impl Queue {
    /// Forgets everything that was planned.
    pub(crate) fn clear(&mut self) {
        self.ahead.clear();
    }

    pub(crate) fn plan(&mut self, at: Moment, occasion: Occasion) {
        let mut place = self.ahead.len();
        self.ahead.push(Planned { at, occasion });
        // What is due at the same moment was planned earlier, and stays before it.
        while place > 0 && self.ahead[place - 1].at <= at {
            self.ahead.swap(place - 1, place);
            place -= 1;
        }
    }

    pub(crate) fn next(&mut self) -> Option<(Moment, Occasion)> {
        let Planned { at, occasion } = self.ahead.pop()?;
        Some((at, occasion))
    }
}

#[cfg(test)]
mod tests {
    use super::{Occasion, Queue};
    use crate::clock::Moment;

    #[test]
    fn occasions_come_by_time_and_at_one_moment_in_the_order_they_were_planned() {
        let mut queue = Queue::default();
        let plan =
            |queue: &mut Queue, at, session| queue.plan(Moment::from_nanos(at), Occasion::Tick { session });
        for (at, session) in [(u64::MAX, 1), (7, 2), (0, 3), (7, 4)] {
            plan(&mut queue, at, session);
        }
        let mut came = Vec::new();
        while let Some((at, occasion)) = queue.next() {
            let Occasion::Tick { session } = occasion else { panic!("{occasion:?} was not planned") };
            came.push((at.as_nanos(), session));
            if session == 2 {
                plan(&mut queue, 7, 5);
            }
        }
        assert_eq!(came, [(0, 3), (7, 2), (7, 4), (7, 5), (u64::MAX, 1)]);
    }
}
