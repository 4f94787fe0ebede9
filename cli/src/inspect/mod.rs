//! Looking at a store: reads that are repeated when the store does not answer, and the judgement whether a lease
//! lives. No record is written but by the two steps with which an operator frees a cell, and an object of no meaning by
//! the probe before them.
//!
//! A file store does touch a file of its own, `.tenure-1/clock`, to read the time of the file system, and creates
//! it in a directory that has none: so even looking needs permission to write there.

mod life;
mod pace;
mod probe;
mod record;

pub(crate) use life::{Life, LifeState};
pub(crate) use record::{CellState, NodeState, describe};

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use tenure_blocking::Store;
use tenure_blocking::clock::mono;
use tenure_blocking::ownership::{
    CasGuard, CasOutcome, LeaseCasOutcome, OwnerRecord, OwnershipError, OwnershipStore, Stored,
};
use tenure_core::{
    CellId, Epoch, Fault, FaultKind, Key, LeaseRecord, ListId, ListOp, ListReply, NodeId, Op, Page, ReadId,
    ReadOp, ReadReply, Reply, RetiredRecord,
};

use self::pace::Pace;
use crate::exit::Failure;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait before each further attempt; a store that throttles a key wants a second.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// How long a store rests that asks for fewer requests.
const THROTTLED: Duration = Duration::from_secs(1);
/// How many records are read at once.
const READERS: usize = 8;

/// What is stored under a key, whether or not it is a record.
pub(crate) type Version = Stored<()>;

/// A store as an operator sees it.
pub(crate) struct Inspector {
    store: Arc<dyn Store>,
    steps: OwnershipStore,
    next: AtomicU64,
    lives: Mutex<BTreeMap<NodeId, Life>>,
    pace: Pace,
    keeps_absent: AtomicBool,
    keeps_match: AtomicBool,
}

impl Inspector {
    pub(crate) fn new(store: impl Store) -> Result<Self, Failure> {
        let store: Arc<dyn Store> = Arc::new(store);
        // No node: its id has no session. It signs what those two write, and the steps that would own one are never taken.
        let operator = NodeId::parse("operator").map_err(Failure::usage)?;
        let steps = OwnershipStore::new(Arc::clone(&store), operator).with_timeout(TIMEOUT);
        Ok(Self {
            store,
            steps,
            next: AtomicU64::new(1),
            lives: Mutex::default(),
            pace: Pace::default(),
            keeps_absent: AtomicBool::new(false),
            keeps_match: AtomicBool::new(false),
        })
    }

    /// Reads who owns a cell; nothing if nobody ever did.
    pub(crate) fn owner(&self, cell: &CellId) -> Result<Option<OwnerRecord>, OwnershipError> {
        insist(|| self.steps.read_owner(cell))
    }

    /// Puts a record in place of what `guard` names by which nobody owns the cell.
    pub(crate) fn free(
        &self,
        cell: &CellId,
        guard: CasGuard,
        epoch: Epoch,
    ) -> Result<CasOutcome, OwnershipError> {
        self.steps.free_owner(cell, guard, epoch)
    }

    /// Puts a tombstone in the place of a lease by which its node was judged dead.
    pub(crate) fn fence(&self, node: &NodeId, judged: &Version) -> Result<LeaseCasOutcome, OwnershipError> {
        self.steps.fence_node_lease(node, judged)
    }

    /// Reads the record of a cell, whatever it is.
    pub(crate) fn record(&self, cell: &CellId) -> Result<Option<Version>, OwnershipError> {
        insist(|| self.read(&Key::owner(cell)))
    }

    /// Reads the lease of a node, whatever it is; without its stamps if the dates of the answers so far disagree.
    pub(crate) fn lease(&self, node: &NodeId) -> Result<Option<Version>, OwnershipError> {
        insist(|| self.read(&Key::lease(node)))
    }

    /// Judges a node by one version of its lease.
    pub(crate) fn judge(&self, node: &NodeId, version: &Version) -> Life {
        Life::of(node, version, self.store.clock())
    }

    /// Returns whether a node's lease lives; every node is asked for once.
    pub(crate) fn life(&self, node: &NodeId) -> Result<Life, OwnershipError> {
        let known = || self.lives.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(life) = known().get(node) {
            return Ok(life.clone());
        }
        let life = match self.lease(node)? {
            // A lease that cannot be read proves nothing, least of all a living node.
            Some(lease) if LeaseRecord::parse_of(node, &lease.body).is_err() => Life::unknown(),
            Some(lease) => self.judge(node, &lease),
            None if self.is_retired(node)? => Life::dead(),
            None => Life::unknown(),
        };
        known().insert(node.clone(), life.clone());
        Ok(life)
    }

    /// Tells whether a node is dead for good although its lease is gone.
    pub(crate) fn is_retired(&self, node: &NodeId) -> Result<bool, OwnershipError> {
        let marker = insist(|| self.read(&Key::retired(node)))?;
        Ok(marker.is_some_and(|marker| RetiredRecord::parse_of(node, &marker.body).is_ok()))
    }

    fn read(&self, key: &Key) -> Result<Option<Version>, OwnershipError> {
        let op = ReadOp { id: ReadId::new(self.id()), key: key.clone(), unless: None, timeout: TIMEOUT };
        let issued = mono();
        match self.store.execute(Op::Read(op)) {
            Reply::Read(ReadReply::Found { etag, body, stamps }) => {
                let stamps = self.pace.trusted(stamps, issued, mono(), self.store.clock());
                Ok(Some(Version { record: (), etag, body, stamps }))
            }
            Reply::Read(ReadReply::Missing) => Ok(None),
            Reply::Read(ReadReply::Failed(fault)) => Err(OwnershipError::Store(fault)),
            Reply::Read(ReadReply::Throttled { .. }) => Err(throttled(key.as_str())),
            Reply::Read(ReadReply::Unchanged(_)) | Reply::List(_) | Reply::Remove(_) | Reply::Write(_) => {
                Err(senseless(key.as_str()))
            }
        }
    }

    /// Calls `each` with every page of the keys that begin with `prefix`, until it says that it has enough. What
    /// is known of nodes is forgotten between pages: a long listing must not show a node as it was at the start.
    pub(crate) fn pages(
        &self,
        prefix: &str,
        mut each: impl FnMut(Page) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let prefix: Arc<str> = prefix.into();
        let mut after: Option<Arc<str>> = None;
        let mut seen = BTreeSet::new();
        loop {
            let mut page = insist(|| self.page(&prefix, after.clone()))?;
            let next = page.next.take();
            self.lives.lock().unwrap_or_else(PoisonError::into_inner).clear();
            if !each(page)? || next.is_none() {
                return Ok(());
            }
            // A store that goes round in circles would otherwise keep us for ever.
            if !seen.insert(next.clone()) {
                return Err(Failure::inconsistent(format_args!(
                    "the listing of {prefix} gives one page twice; look whether this store conforms"
                )));
            }
            after = next;
        }
    }

    fn page(&self, prefix: &Arc<str>, after: Option<Arc<str>>) -> Result<Page, OwnershipError> {
        let op = ListOp { id: ListId::new(self.id()), prefix: Arc::clone(prefix), after, timeout: TIMEOUT };
        match self.store.execute(Op::List(op)) {
            Reply::List(ListReply::Page(page)) => Ok(page),
            Reply::List(ListReply::Failed(fault)) => Err(OwnershipError::Store(fault)),
            Reply::List(ListReply::Throttled { .. }) => Err(throttled(prefix)),
            Reply::Read(_) | Reply::Remove(_) | Reply::Write(_) => Err(senseless(prefix)),
        }
    }

    fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// Applies `work` to every item, several at a time, and keeps their order.
pub(crate) fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..READERS.min(items.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((at, item)) = take(next, items) {
                    // The receiver lives as long as the scope.
                    let _ = sender.send((at, work(item)));
                }
            });
        }
        drop(sender);
    });
    let mut results: Vec<_> = results.into_iter().collect();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take<'i, T>(next: &AtomicUsize, items: &'i [T]) -> Option<(usize, &'i T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    items.get(at).map(|item| (at, item))
}

/// Repeats a step that was not answered, a few times.
fn insist<T>(step: impl Fn() -> Result<T, OwnershipError>) -> Result<T, OwnershipError> {
    for pause in PAUSES {
        match step() {
            Err(OwnershipError::Store(fault)) if is_passing(fault.kind) => {
                // Nothing can wake this thread early, and it has nothing else to do.
                thread::park_timeout(rest(fault.kind, pause));
            }
            result => return result,
        }
    }
    step()
}

/// Returns how long to leave the store alone: whoever asked for fewer requests gets none for a second at least.
fn rest(kind: FaultKind, pause: Duration) -> Duration {
    if kind == FaultKind::Throttled { pause.max(THROTTLED) } else { pause }
}

fn is_passing(kind: FaultKind) -> bool {
    match kind {
        FaultKind::Malformed
        | FaultKind::Network
        | FaultKind::Throttled
        | FaultKind::TimedOut
        | FaultKind::Unavailable => true,
        FaultKind::Config | FaultKind::Denied | FaultKind::Unfit | _ => false,
    }
}

fn throttled(what: &str) -> OwnershipError {
    let why = format!("it asks for fewer requests for {what}; try again later");
    OwnershipError::Store(Fault::new(FaultKind::Throttled, why))
}

fn senseless(what: &str) -> OwnershipError {
    let why = format!("it does not answer what was asked about {what}");
    OwnershipError::Store(Fault::new(FaultKind::Malformed, why))
}

#[cfg(test)]
mod tests {
    use super::{PAUSES, parallel, rest};
    use core::time::Duration;
    use tenure_core::FaultKind;

    #[test]
    fn bl_04_a_store_that_asks_for_fewer_requests_rests_for_a_second() {
        for pause in PAUSES {
            assert!(rest(FaultKind::Throttled, pause) >= Duration::from_secs(1));
            assert_eq!(rest(FaultKind::Network, pause), pause);
        }
    }

    #[test]
    fn work_done_in_parallel_keeps_its_order() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(parallel(&items, |n| n * 2), (0..200).step_by(2).collect::<Vec<u32>>());
        assert!(parallel(&[], |n: &u32| *n).is_empty());
    }
}
