//! What a driver asks of a store: one method.

use core::future::Future;

use tenure_core::{Op, Reply, StoreClock};

/// A way to execute one operation and give one reply, of the operation's own kind.
///
/// A store never retries, never follows a redirect and never interprets: the engine decides what a reply
/// means. It gives up after the operation's `timeout`; a write given up on is `Unknown`.
pub trait Store: Send + Sync + 'static {
    /// Executes `op`; resolves when it is answered or its timeout has passed.
    fn execute(&self, op: Op) -> impl Future<Output = Reply> + Send;

    /// Returns how fine and how true the store's stamps are.
    fn clock(&self) -> StoreClock {
        StoreClock::HTTP
    }
}
