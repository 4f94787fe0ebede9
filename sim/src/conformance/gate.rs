//! A gate before which the operations of a batch gather: it opens when all are there, so that all go at once.

use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What is shared by those who wait, whether they block a thread or a task.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    missing: usize,
    is_open: bool,
    wakers: Vec<Waker>,
}

/// The right of one operation to wait at the gate. Whoever drops it will not come: nobody waits for it then, so
/// an operation that fails early holds up no other.
#[derive(Debug)]
pub struct Ticket {
    gate: Arc<Gate>,
    has_arrived: bool,
}

impl Gate {
    /// Returns as many tickets as there are operations.
    pub(super) fn new(count: usize) -> (Arc<Self>, Vec<Ticket>) {
        let gate =
            Self { state: Mutex::new(State { missing: count, ..State::default() }), ..Self::default() };
        let gate = Arc::new(gate);
        let tickets = (0..count).map(|_| Ticket { gate: Arc::clone(&gate), has_arrived: false }).collect();
        (gate, tickets)
    }

    /// Blocks until everybody has arrived or will not come.
    pub(super) fn wait_for_all(&self) {
        let mut state = self.lock();
        while state.missing > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Resolves when everybody has arrived or will not come.
    pub(super) async fn all_are_there(&self) {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.missing == 0 {
                return Poll::Ready(());
            }
            state.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Lets everybody pass.
    pub(super) fn open(&self) {
        self.change(|state| state.is_open = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let wakers = core::mem::take(&mut state.wakers);
        drop(state);
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    // No code that can panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Blocks the thread until the gate opens.
    pub fn wait(mut self) {
        self.arrive();
        let mut state = self.gate.lock();
        while !state.is_open {
            state = self.gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Resolves when the gate opens.
    pub async fn pass(mut self) {
        self.arrive();
        poll_fn(|context| {
            let mut state = self.gate.lock();
            if state.is_open {
                return Poll::Ready(());
            }
            state.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn arrive(&mut self) {
        if !self.has_arrived {
            self.has_arrived = true;
            self.gate.change(|state| state.missing -= 1);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.arrive();
    }
}
