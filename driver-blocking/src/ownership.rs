//! The protocol without the engine: celld's own surface over any blocking store.
//!
//! Each call is one step of the protocol: read a record, or swap one under a guard. What a step is good for is
//! the caller's decision: whether the owner of a cell is dead, which epoch comes next, when a lease is renewed.
//! A swap is settled before it returns. [`CasOutcome::Rejected`] means that a read has shown a record that is
//! not ours; what could not be settled is an error, never an outcome.
//!
//! Every record that is written carries a write id of its own, so no two versions have equal bytes.

mod settle;

pub use tenure_core::Guard as CasGuard;

use core::fmt;
use core::hash::{BuildHasher, Hasher};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::sync::Arc;

use tenure_core::{
    BadRecord, CellId, ETag, Epoch, Fault, FaultKind, Holder, Key, LeaseRecord, NodeId, RecordError, Stamps,
    TTL_MAX, WriteId,
};

use crate::store::Store;

/// How long one request may take, unless [`OwnershipStore::with_timeout`] says otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A record as one answer of the store showed it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stored<R> {
    /// What it says.
    pub record: R,
    /// The tag of this version, for the guard of the next.
    pub etag: ETag,
    /// Its bytes, with the fields that only others know.
    pub body: Box<[u8]>,
    /// When it was stored and when it was read, by the store's clock.
    pub stamps: Stamps,
}

/// The owner record of a cell.
pub type OwnerRecord = Stored<tenure_core::OwnerRecord>;
/// The lease of a node.
pub type NodeLeaseRecord = Stored<LeaseRecord>;

/// What became of a swap of an owner record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CasOutcome {
    /// The record was ours when the store last showed it.
    Applied,
    /// The record is not ours, and as long as nobody removes it nothing that was sent can still be applied.
    Rejected,
}

/// What became of a swap of a lease.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LeaseCasOutcome {
    /// The lease was ours when the store last showed it.
    Applied {
        /// The tag of the new version, for the guard of the next renewal.
        etag: ETag,
    },
    /// The lease is not ours, and as long as nobody removes it nothing that was sent can still be applied.
    Rejected,
}

/// Why a step has no outcome.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum OwnershipError {
    /// The record is not one from which ownership can follow. What a swap before that did is not known: its answer may
    /// be what is garbage.
    Bad(BadRecord),
    /// The store contradicts itself about the record.
    Inconsistent {
        /// The record's key.
        key: Key,
        /// What it answered.
        why: &'static str,
    },
    /// The store could not be used: see the fault. Nothing was written, and nothing will be.
    Store(Fault),
    /// The swap may have been applied, or may yet be: read the record until it names another write, or this
    /// one.
    Unsettled {
        /// The record's key.
        key: Key,
        /// The last trouble.
        fault: Fault,
    },
}

/// celld's surface over any blocking store, for one node.
pub struct OwnershipStore {
    store: Arc<dyn Store>,
    node: NodeId,
    /// The sequence of the next write.
    writes: AtomicU64,
    /// The number of the next request.
    requests: AtomicU64,
    timeout: Duration,
}

impl OwnershipStore {
    /// Speaks for `node` to `store`. The id should be new with each process, as `<name>.<session>` is.
    pub fn new(store: Arc<dyn Store>, node: NodeId) -> Self {
        // Not from 1: should the id be used again after a restart, its writes must still differ from the
        // earlier ones. The standard library seeds this hasher from the operating system.
        let random = RandomState::new().build_hasher().finish();
        Self {
            store,
            node,
            writes: AtomicU64::new((random >> 1).max(1)),
            requests: AtomicU64::new(1),
            timeout: TIMEOUT,
        }
    }

    /// Sets how long one request may take; a step that has to settle a write sends several.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Returns the node it speaks for.
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// Reads who owns a cell; nothing if nobody ever did.
    ///
    /// # Errors
    /// Names a corrupt record, or says why the store could not be asked.
    pub fn read_owner(&self, cell: &CellId) -> Result<Option<OwnerRecord>, OwnershipError> {
        self.read_record(&Key::owner(cell), tenure_core::OwnerRecord::parse)
    }

    /// Makes this node the owner of a cell at `epoch`, which must be greater than every earlier one: 1 under
    /// [`CasGuard::Absent`], the next after the record's otherwise.
    ///
    /// # Errors
    /// Says why there is no outcome; see [`OwnershipError`].
    pub fn cas_owner(
        &self,
        cell: &CellId,
        guard: CasGuard,
        epoch: Epoch,
    ) -> Result<CasOutcome, OwnershipError> {
        self.put_owner(cell, guard, Some(self.node.clone()), epoch)
    }

    /// Gives a cell back, keeping its epoch, if this node owns it at `epoch`; otherwise the record is left
    /// alone and the outcome is [`CasOutcome::Rejected`]. Stop acting as the owner before you call this.
    ///
    /// # Errors
    /// Names a corrupt record, or says why there is no outcome; see [`OwnershipError`].
    pub fn release_owner(&self, cell: &CellId, epoch: Epoch) -> Result<CasOutcome, OwnershipError> {
        let Some(owner) = self.read_owner(cell)? else { return Ok(CasOutcome::Rejected) };
        let ours = owner.record.holder() == Holder::Node(&self.node) && owner.record.epoch == epoch;
        if !ours {
            return Ok(CasOutcome::Rejected);
        }
        self.put_owner(cell, CasGuard::Match(owner.etag), None, epoch)
    }

    /// Puts a record in place of what `guard` names by which nobody owns the cell and the last epoch was `epoch`,
    /// as an operator does: whatever was there, its owner is not asked. That epoch must not be lower than any that
    /// was ever given out, and whoever owned the cell must not act on it any more.
    ///
    /// # Errors
    /// Says why there is no outcome; see [`OwnershipError`].
    pub fn free_owner(
        &self,
        cell: &CellId,
        guard: CasGuard,
        epoch: Epoch,
    ) -> Result<CasOutcome, OwnershipError> {
        self.put_owner(cell, guard, None, epoch)
    }

    /// Reads a node's lease; nothing if it has none.
    ///
    /// # Errors
    /// Names a corrupt record, or says why the store could not be asked.
    pub fn read_node_lease(&self, node: &NodeId) -> Result<Option<NodeLeaseRecord>, OwnershipError> {
        self.read_record(&Key::lease(node), |body| LeaseRecord::parse_of(node, body))
    }

    /// Puts a lease under the key of the node it names. Its `write` is replaced by the id of this write; the
    /// authority that follows from it is counted from before this call, never from its return.
    ///
    /// # Errors
    /// Says why there is no outcome; see [`OwnershipError`].
    pub fn cas_node_lease(
        &self,
        lease: &LeaseRecord,
        guard: CasGuard,
    ) -> Result<LeaseCasOutcome, OwnershipError> {
        let body = LeaseRecord { write: Some(self.next_write()), ..lease.clone() }.to_bytes();
        Ok(match self.swap(&Key::lease(&lease.node), guard, body)? {
            Some(etag) => LeaseCasOutcome::Applied { etag },
            None => LeaseCasOutcome::Rejected,
        })
    }

    /// Fences a node that was judged dead by this version of its lease, whether or not that could be parsed: puts a
    /// tombstone in its place that keeps every other field. If that is rejected the node lives, or was fenced by
    /// another: judge it afresh.
    ///
    /// # Errors
    /// Says why there is no outcome; see [`OwnershipError`].
    pub fn fence_node_lease<R>(
        &self,
        node: &NodeId,
        judged: &Stored<R>,
    ) -> Result<LeaseCasOutcome, OwnershipError> {
        let body = LeaseRecord::fence(&judged.body, node, &self.node, &self.next_write());
        let guard = CasGuard::Match(judged.etag.clone());
        Ok(match self.swap(&Key::lease(node), guard, body)? {
            Some(etag) => LeaseCasOutcome::Applied { etag },
            None => LeaseCasOutcome::Rejected,
        })
    }

    /// Reads the leases of nodes that may have room: those renewed within the last 60 seconds by the store's
    /// clock, the longest a lease can live, and not fenced. A lease that cannot be parsed, or has just been
    /// removed, is left out and hides no other. A listed node may be dead: judge its stamps.
    ///
    /// # Errors
    /// Says why the store could not be asked; half a fleet is never returned as the whole.
    pub fn read_capacity_peers(&self) -> Result<Vec<NodeLeaseRecord>, OwnershipError> {
        let clock = self.store.clock();
        let recent = TTL_MAX + clock.unit + clock.margin;
        let mut peers = Vec::new();
        let mut tokens = BTreeSet::new();
        let mut after = None;
        loop {
            let page = self.list(Key::LEASES, after.clone())?;
            for entry in &page.entries {
                let Some(node) = Key::node(&entry.key) else { continue };
                if page.date.zip(entry.modified).is_some_and(|(date, modified)| date.since(modified) > recent)
                {
                    continue;
                }
                match self.read_node_lease(&node) {
                    Ok(Some(lease)) if lease.record.node == node && lease.record.fenced_by.is_none() => {
                        peers.push(lease);
                    }
                    Ok(_) | Err(OwnershipError::Bad(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            let Some(next) = page.next else { return Ok(peers) };
            if !tokens.insert(Arc::clone(&next)) {
                let fault = Fault::new(FaultKind::Malformed, "the listing of nodes does not go on");
                return Err(OwnershipError::Store(fault));
            }
            after = Some(next);
        }
    }

    fn put_owner(
        &self,
        cell: &CellId,
        guard: CasGuard,
        node: Option<NodeId>,
        epoch: Epoch,
    ) -> Result<CasOutcome, OwnershipError> {
        let record = tenure_core::OwnerRecord { node, epoch, write: Some(self.next_write()) };
        Ok(match self.swap(&Key::owner(cell), guard, record.to_bytes())? {
            Some(_) => CasOutcome::Applied,
            None => CasOutcome::Rejected,
        })
    }

    fn read_record<R>(
        &self,
        key: &Key,
        parse: impl Fn(&[u8]) -> Result<R, RecordError>,
    ) -> Result<Option<Stored<R>>, OwnershipError> {
        let Some(Stored { etag, body, stamps, .. }) = self.read(key).map_err(OwnershipError::Store)? else {
            return Ok(None);
        };
        match parse(&body) {
            Ok(record) => Ok(Some(Stored { record, etag, body, stamps })),
            Err(error) => {
                let why = error.to_string();
                Err(OwnershipError::Bad(BadRecord::Corrupt { key: key.clone(), etag, why }))
            }
        }
    }

    fn next_write(&self) -> WriteId {
        WriteId { node: self.node.clone(), seq: self.writes.fetch_add(1, Ordering::Relaxed) }
    }
}

impl OwnershipError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bad(bad) => bad.kind(),
            Self::Inconsistent { .. } => "inconsistent",
            Self::Store(fault) | Self::Unsettled { fault, .. } => fault.kind_str(),
        }
    }
}

impl fmt::Debug for OwnershipStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnershipStore").field("node", &self.node).finish_non_exhaustive()
    }
}

impl fmt::Display for OwnershipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(bad) => write!(f, "{bad}"),
            Self::Inconsistent { key, why } => write!(f, "the store contradicts itself about {key}: {why}"),
            Self::Store(fault) => write!(f, "{fault}"),
            Self::Unsettled { key, fault } => {
                write!(f, "a write of {key} may have been applied, or may yet be: {fault}")
            }
        }
    }
}

impl core::error::Error for OwnershipError {}
