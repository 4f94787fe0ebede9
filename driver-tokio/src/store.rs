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
///
/// # Examples
/// A store around a store sees every request of a node, and every answer: what a metrics library wants to know.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use tenure_tokio::{Config, Node, Op, OpenOptions, Reply, Store, StoreClock, open};
///
/// struct Counted<S> {
///     store: S,
///     writes: AtomicU64,
/// }
///
/// impl<S: Store> Store for Counted<S> {
///     async fn execute(&self, op: Op) -> Reply {
///         if matches!(op, Op::Write(_)) {
///             self.writes.fetch_add(1, Ordering::Relaxed);
///         }
///         self.store.execute(op).await
///     }
///
///     fn clock(&self) -> StoreClock {
///         self.store.clock() // without this a file store's fine stamps would pass for those of HTTP
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = std::env::temp_dir().join(format!("tenure-tokio-counted-{}", std::process::id()));
/// # std::fs::create_dir(&dir)?;
/// # let url = format!("file://{}", dir.display());
/// let store = Arc::new(Counted { store: open(&url, &OpenOptions::default())?, writes: AtomicU64::new(0) });
/// let node = Node::join(Config::new("web-1"), Arc::clone(&store)).await?;
/// assert_eq!(store.writes.load(Ordering::Relaxed), 5); // four of the probe, and the lease
/// # node.leave().await;
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok(())
/// # }
/// ```
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
