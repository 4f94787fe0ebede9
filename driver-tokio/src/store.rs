//! What a driver asks of a store: one method.

use core::future::Future;
use std::sync::Arc;

use tenure_core::{Op, Reply, StoreClock};

/// A way to execute one operation and give one reply, of the operation's own kind.
///
/// A store never retries, never follows a redirect and never interprets: the engine decides what a reply
/// means. It gives up after the operation's `timeout`; a write given up on is `Unknown`. A store that hangs is
/// given up on by the driver a little later; one that panics ends the session.
///
/// Its futures run on the node's own runtime, together with the engine: they must not block the thread. A
/// store that blocks is wrapped in [`Threaded`](crate::Threaded).
pub trait Store: Send + Sync + 'static {
    /// Executes `op`; resolves when it is answered or its timeout has passed.
    fn execute(&self, op: Op) -> impl Future<Output = Reply> + Send;

    /// Returns how fine and how true the store's stamps are.
    fn clock(&self) -> StoreClock {
        StoreClock::HTTP
    }
}

/// Several nodes of one process may share a store.
impl<S: Store> Store for Arc<S> {
    fn execute(&self, op: Op) -> impl Future<Output = Reply> + Send {
        S::execute(self, op)
    }

    fn clock(&self) -> StoreClock {
        S::clock(self)
    }
}
