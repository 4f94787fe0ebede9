//! The protocol without the engine: celld's own surface over any store, awaited.
//!
//! Every step is the blocking driver's ([`tenure_blocking::ownership`] says what each means), so that settling
//! is written once; it runs on the runtime's threads for blocking work, and its requests on the runtime itself.
//! Dropping a future only stops listening: the step goes on until it is settled or given up.

use core::time::Duration;
use std::panic::resume_unwind;
use std::sync::Arc;

use tenure_blocking::ownership::OwnershipStore as Steps;
use tenure_core::{CellId, Epoch, LeaseRecord, NodeId, Op, Reply, StoreClock};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::store::Store;

pub use tenure_blocking::ownership::{
    CasGuard, CasOutcome, LeaseCasOutcome, NodeLeaseRecord, OwnerRecord, OwnershipError, Stored,
};

/// celld's surface over any async store, for one node. Every clone speaks for the same node.
#[derive(Clone, Debug)]
pub struct OwnershipStore {
    steps: Arc<Steps>,
}

impl OwnershipStore {
    /// Speaks for `node` to `store`, whose every request may take `timeout`; a step that has to settle a write
    /// sends several. The id should be new with each process, as `<name>.<session>` is.
    ///
    /// # Panics
    /// Outside a tokio runtime, which is what the requests run on.
    pub fn new(store: impl Store, node: NodeId, timeout: Duration) -> Self {
        let awaited = Awaited { store, runtime: Handle::current() };
        Self { steps: Arc::new(Steps::new(Arc::new(awaited), node).with_timeout(timeout)) }
    }

    /// Returns the node it speaks for.
    pub fn node(&self) -> &NodeId {
        self.steps.node()
    }

    /// Reads who owns a cell; nothing if nobody ever did.
    ///
    /// # Errors
    /// Names a corrupt record, or says why the store could not be asked.
    pub async fn read_owner(&self, cell: CellId) -> Result<Option<OwnerRecord>, OwnershipError> {
        self.step(move |steps| steps.read_owner(&cell)).await
    }

    /// Makes this node the owner of a cell at `epoch`, which must be greater than every earlier one.
    ///
    /// # Errors
    /// Says why there is no outcome; see [`OwnershipError`].
    pub async fn cas_owner(
        &self,
        cell: CellId,
        guard: CasGuard,
        epoch: Epoch,
    ) -> Result<CasOutcome, OwnershipError> {
        self.step(move |steps| steps.cas_owner(&cell, guard, epoch)).await
    }

    /// Gives a cell back, keeping its epoch, if this node owns it at `epoch`. Stop acting as the owner before
    /// you call this.
    ///
    /// # Errors
    /// Names a corrupt record, or says why there is no outcome; see [`OwnershipError`].
    pub async fn release_owner(&self, cell: CellId, epoch: Epoch) -> Result<CasOutcome, OwnershipError> {
        self.step(move |steps| steps.release_owner(&cell, epoch)).await
    }

    /// Puts a record in place of what `guard` names by which nobody owns the cell and the last epoch was `epoch`,
    /// as an operator does: whatever was there, its owner is not asked.
    ///
    /// # Errors
    /// Says why there is no outcome; see [`OwnershipError`].
    pub async fn free_owner(
        &self,
        cell: CellId,
        guard: CasGuard,
        epoch: Epoch,
    ) -> Result<CasOutcome, OwnershipError> {
        self.step(move |steps| steps.free_owner(&cell, guard, epoch)).await
    }

    /// Reads a node's lease; nothing if it has none.
    ///
    /// # Errors
    /// Names a corrupt record, or says why the store could not be asked.
    pub async fn read_node_lease(&self, node: NodeId) -> Result<Option<NodeLeaseRecord>, OwnershipError> {
        self.step(move |steps| steps.read_node_lease(&node)).await
    }

    /// Puts a lease under the key of the node it names. The authority that follows from it is counted from
    /// before this call, never from its return.
    ///
    /// # Errors
    /// Says why there is no outcome; see [`OwnershipError`].
    pub async fn cas_node_lease(
        &self,
        lease: LeaseRecord,
        guard: CasGuard,
    ) -> Result<LeaseCasOutcome, OwnershipError> {
        self.step(move |steps| steps.cas_node_lease(&lease, guard)).await
    }

    /// Fences a node that was judged dead by this version of its lease. If that is rejected the node lives, or was
    /// fenced by another: judge it afresh.
    ///
    /// # Errors
    /// Says why there is no outcome; see [`OwnershipError`].
    pub async fn fence_node_lease<R: Send + 'static>(
        &self,
        node: NodeId,
        judged: Stored<R>,
    ) -> Result<LeaseCasOutcome, OwnershipError> {
        self.step(move |steps| steps.fence_node_lease(&node, &judged)).await
    }

    /// Reads the leases of nodes that may have room: those renewed recently by the store's clock, and not
    /// fenced. A listed node may be dead: judge its stamps.
    ///
    /// # Errors
    /// Says why the store could not be asked; half a fleet is never returned as the whole.
    pub async fn read_capacity_peers(&self) -> Result<Vec<NodeLeaseRecord>, OwnershipError> {
        self.step(|steps| steps.read_capacity_peers()).await
    }

    async fn step<T: Send + 'static>(&self, step: impl FnOnce(&Steps) -> T + Send + 'static) -> T {
        let steps = Arc::clone(&self.steps);
        match spawn_blocking(move || step(&steps)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime is shutting down: nobody waits for a result any more.
                Err(_) => core::future::pending().await,
            },
        }
    }
}

/// An async store as the blocking steps see it: each waits on its own thread for what the runtime does.
struct Awaited<S> {
    store: S,
    runtime: Handle,
}

impl<S: Store> tenure_blocking::Store for Awaited<S> {
    fn execute(&self, op: Op) -> Reply {
        self.runtime.block_on(self.store.execute(op))
    }

    fn clock(&self) -> StoreClock {
        self.store.clock()
    }
}
