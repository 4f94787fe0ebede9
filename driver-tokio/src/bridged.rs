//! An async store for callers that block: its calls run on a runtime of its own.

use core::fmt;
use std::io;
use std::thread::{self, JoinHandle};

use tenure_core::{Op, Reply, StoreClock};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::driver;
use crate::store::Store;

/// Lets an async store be used where a blocking one is asked for, as by the blocking driver's node and its
/// `OwnershipStore`. The twin of [`Threaded`](crate::Threaded).
///
/// It must not be called on a thread that runs async code.
pub struct Bridged<S> {
    store: S,
    handle: Handle,
    /// Ends the thread when it is dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<S: Store> Bridged<S> {
    /// Wraps an async store. A thread waits for its sockets and timers, between the calls, too.
    ///
    /// # Errors
    /// Returns the operating system's error if the thread cannot be started.
    pub fn new(store: S) -> io::Result<Self> {
        let runtime = driver::runtime()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let wait = move || drop(runtime.block_on(stopped));
        let thread = thread::Builder::new().name("tenure-bridge".into()).spawn(wait)?;
        Ok(Self { store, handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the store.
    pub fn inner(&self) -> &S {
        &self.store
    }
}

impl<S: Store> tenure_blocking::Store for Bridged<S> {
    fn execute(&self, op: Op) -> Reply {
        self.handle.block_on(self.store.execute(op))
    }

    fn clock(&self) -> StoreClock {
        self.store.clock()
    }
}

impl<S> Drop for Bridged<S> {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // What it runs is this crate's own; a panic has been shown where it happened.
            let _ = thread.join();
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Bridged<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bridged").field(&self.store).finish()
    }
}
