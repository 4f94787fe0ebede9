//! One tenure as its handles see it: a flag, and the node's authority.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use tenure_core::{FenceCause, LossReason, Tenure};

use super::{Input, Latch, Session};
use crate::clock;

/// Why a tenure is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Loss {
    /// This node gave the cell up: released, transferred, or leaving.
    Ended,
    /// The node's session ended, and every tenure with it.
    Fenced(FenceCause),
    /// This cell was lost while the session goes on.
    Lost(LossReason),
}

/// A tenure that this node was granted. All handles of it share one; dropping the last asks for a release.
#[derive(Debug)]
pub struct Held {
    tenure: Tenure,
    is_over: AtomicBool,
    loss: Latch<Loss>,
    session: Arc<Session>,
}

impl Held {
    pub(super) fn new(tenure: Tenure, session: Arc<Session>) -> Self {
        Self { tenure, is_over: AtomicBool::new(false), loss: Latch::new(), session }
    }

    /// Ends the tenure for every handle, before anybody is told why.
    pub(super) fn end(&self, loss: Loss) {
        self.is_over.store(true, Ordering::SeqCst);
        self.loss.set(loss);
    }

    /// Returns the tenure that was granted, whether or not it still holds.
    pub fn tenure(&self) -> &Tenure {
        &self.tenure
    }

    /// Returns how long the tenure lasts if the lease is never renewed again; zero once it is over.
    pub fn authority_left(&self) -> Duration {
        // The clock first: the answer is then true of an instant at which the flag had not been set. The
        // other way round, a pause between the two would let a tenure end, and another begin, unnoticed.
        let now = clock::mono();
        let left = self.session.authority_left(now);
        if self.is_over.load(Ordering::SeqCst) { Duration::ZERO } else { left }
    }

    /// Returns the latch that is set when the tenure is over.
    pub fn loss(&self) -> &Latch<Loss> {
        &self.loss
    }

    /// Returns the session it was granted to.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_over.load(Ordering::SeqCst) {
            (self.session.inbox)(Input::Dropped(self.tenure.clone()));
        }
    }
}
