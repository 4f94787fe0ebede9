//! A blocking store for the async node: its calls run on the runtime's threads for blocking work.

use std::panic::resume_unwind;
use std::sync::Arc;

use tenure_core::{Key, Op, Reply, StoreClock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::driver::ORDINARY_MAX;
use crate::store::Store;

/// How many calls may block at once, those on leases apart: a store that hangs keeps its threads, and must
/// not use up the runtime's (512) before the lease gets one. Not fewer than the driver begins at once, or a
/// write that it takes for begun would only wait here.
const CALLS_MAX: usize = ORDINARY_MAX;

/// Runs a blocking store's calls on threads, so that an async node can use it.
#[derive(Debug)]
pub struct Threaded<S> {
    store: Arc<S>,
    calls: Arc<Semaphore>,
}

impl<S: tenure_blocking::Store> Threaded<S> {
    /// Wraps a blocking store.
    pub fn new(store: S) -> Self {
        Self { store: Arc::new(store), calls: Arc::new(Semaphore::new(CALLS_MAX)) }
    }

    /// Waits for a turn, if this operation needs one.
    async fn turn(&self, op: &Op) -> Option<OwnedSemaphorePermit> {
        let is_lease = match op {
            Op::List(_) => false,
            Op::Read(op) => op.key.as_str().starts_with(Key::LEASES),
            Op::Remove(op) => op.key.as_str().starts_with(Key::LEASES),
            Op::Write(op) => op.key.as_str().starts_with(Key::LEASES),
        };
        if is_lease { None } else { Arc::clone(&self.calls).acquire_owned().await.ok() }
    }
}

impl<S: tenure_blocking::Store> Store for Threaded<S> {
    async fn execute(&self, op: Op) -> Reply {
        let turn = self.turn(&op).await;
        let store = Arc::clone(&self.store);
        // The turn ends with the call, not with the caller's patience.
        let call = spawn_blocking(move || {
            let reply = store.execute(op);
            drop(turn);
            reply
        });
        match call.await {
            Ok(reply) => reply,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime is shutting down: nobody waits for a reply any more.
                Err(_) => core::future::pending().await,
            },
        }
    }

    fn clock(&self) -> StoreClock {
        self.store.clock()
    }
}
