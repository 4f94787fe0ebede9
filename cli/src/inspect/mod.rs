//! Looking at a store without ever writing to it: reads that are repeated when the store does not answer, and
//! the judgement whether a lease lives.

mod life;
mod record;

pub(crate) use life::Life;
pub(crate) use record::{CellState, NodeState, describe};

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use tenure_blocking::Store;
use tenure_core::{
    ETag, Fault, FaultKind, Key, ListId, ListOp, ListReply, NodeId, Op, Page, ReadId, ReadOp, ReadReply,
    Reply, Stamps, StoreClock,
};

use crate::exit::Failure;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait before each further attempt; a store that throttles a key wants a second.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// How many records are read at once.
const READERS: usize = 8;

/// A store that is only looked at.
#[derive(Debug)]
pub(crate) struct Inspector<S> {
    store: S,
    next: AtomicU64,
    lives: Mutex<BTreeMap<NodeId, Life>>,
}

/// A version of a record, as one answer showed it.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) etag: ETag,
    pub(crate) body: Box<[u8]>,
    pub(crate) stamps: Stamps,
}

impl<S: Store> Inspector<S> {
    pub(crate) fn new(store: S) -> Self {
        Self { store, next: AtomicU64::new(1), lives: Mutex::default() }
    }

    /// Returns how fine and how true the store's stamps are.
    pub(crate) fn clock(&self) -> StoreClock {
        self.store.clock()
    }

    /// Reads a record; nothing if there is none.
    pub(crate) fn read(&self, key: &Key) -> Result<Option<Version>, Fault> {
        insist(|| {
            let op = ReadOp { id: ReadId::new(self.id()), key: key.clone(), unless: None, timeout: TIMEOUT };
            match self.store.execute(Op::Read(op)) {
                Reply::Read(ReadReply::Found { etag, body, stamps }) => {
                    Ok(Some(Version { etag, body, stamps }))
                }
                Reply::Read(ReadReply::Missing) => Ok(None),
                Reply::Read(ReadReply::Failed(fault)) => Err(fault),
                Reply::Read(ReadReply::Throttled { .. }) => Err(throttled(key.as_str())),
                Reply::Read(ReadReply::Unchanged(_))
                | Reply::List(_)
                | Reply::Remove(_)
                | Reply::Write(_) => Err(senseless(key.as_str())),
            }
        })
    }

    /// Calls `each` with every page of the keys that begin with `prefix`, until it says that it has enough.
    pub(crate) fn pages(
        &self,
        prefix: &str,
        mut each: impl FnMut(Page) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let prefix: Arc<str> = prefix.into();
        let mut after: Option<Arc<str>> = None;
        loop {
            let mut page = insist(|| self.page(&prefix, after.clone()))?;
            let next = page.next.take();
            if next.is_some() && next == after {
                let why = format!(
                    "the listing of {prefix} answers one page twice; run it against a conforming store"
                );
                return Err(Failure::inconsistent(why));
            }
            if !each(page)? || next.is_none() {
                return Ok(());
            }
            after = next;
        }
    }

    fn page(&self, prefix: &Arc<str>, after: Option<Arc<str>>) -> Result<Page, Fault> {
        let op = ListOp { id: ListId::new(self.id()), prefix: Arc::clone(prefix), after, timeout: TIMEOUT };
        match self.store.execute(Op::List(op)) {
            Reply::List(ListReply::Page(page)) => Ok(page),
            Reply::List(ListReply::Failed(fault)) => Err(fault),
            Reply::List(ListReply::Throttled { .. }) => Err(throttled(prefix)),
            Reply::Read(_) | Reply::Remove(_) | Reply::Write(_) => Err(senseless(prefix)),
        }
    }

    /// Returns whether a node's lease lives; every node is asked for once.
    pub(crate) fn life(&self, node: &NodeId) -> Result<Life, Fault> {
        let known = || self.lives.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(life) = known().get(node) {
            return Ok(life.clone());
        }
        let life = match self.read(&Key::lease(node))? {
            Some(version) => Life::judge(&version, self.clock()),
            None if self.read(&Key::retired(node))?.is_some() => Life::dead(),
            None => Life::unknown(),
        };
        known().insert(node.clone(), life.clone());
        Ok(life)
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

/// Repeats a request that was not answered, a few times.
fn insist<T>(request: impl Fn() -> Result<T, Fault>) -> Result<T, Fault> {
    for pause in PAUSES {
        match request() {
            Err(fault) if is_passing(fault.kind) => {
                // Nothing can wake this thread early, and it has nothing else to do.
                thread::park_timeout(pause);
            }
            result => return result,
        }
    }
    request()
}

fn is_passing(kind: FaultKind) -> bool {
    match kind {
        FaultKind::Network | FaultKind::Throttled | FaultKind::TimedOut | FaultKind::Unavailable => true,
        FaultKind::Config | FaultKind::Denied | FaultKind::Malformed | FaultKind::Unfit | _ => false,
    }
}

fn throttled(what: &str) -> Fault {
    Fault::new(FaultKind::Throttled, format!("it asks for fewer requests for {what}; try again later"))
}

fn senseless(what: &str) -> Fault {
    Fault::new(FaultKind::Malformed, format!("it does not answer what was asked about {what}"))
}

#[cfg(test)]
mod tests {
    use super::parallel;

    #[test]
    fn work_done_in_parallel_keeps_its_order() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(parallel(&items, |n| n * 2), (0..200).step_by(2).collect::<Vec<u32>>());
        assert!(parallel(&[], |n: &u32| *n).is_empty());
    }
}
