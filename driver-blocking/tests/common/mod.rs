//! What the file store's tests share: a directory that goes away, and one-line operations.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test panics on whatever it does not expect")]
#![allow(dead_code, reason = "each test binary uses its own part")]

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_blocking::{Durability, FileStore, Store};
use tenure_core::{
    AttemptId, ETag, Guard, Key, ListId, ListOp, ListReply, Op, Page, ReadId, ReadOp, ReadReply, RemoveId,
    RemoveOp, RemoveReply, Reply, StoreTime, WriteOp, WriteReply,
};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A fresh directory, removed at the end of the test.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tenure-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a fresh directory");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn store(&self) -> FileStore {
        FileStore::open(&self.0).expect("a directory of ours").with_durability(Durability::Process)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn write_op(key: &Key, guard: Guard, body: &[u8]) -> Op {
    let id = AttemptId::new(NUMBER.fetch_add(1, Ordering::Relaxed));
    Op::Write(WriteOp { id, key: key.clone(), guard, body: Arc::from(body), timeout: TIMEOUT })
}

pub(crate) fn write(store: &dyn Store, key: &Key, guard: Guard, body: &[u8]) -> WriteReply {
    match store.execute(write_op(key, guard, body)) {
        Reply::Write(reply) => reply,
        other => panic!("a write was answered with {other:?}"),
    }
}

pub(crate) fn applied(reply: WriteReply) -> ETag {
    match reply {
        WriteReply::Applied { etag } => etag,
        other => panic!("not applied: {other:?}"),
    }
}

pub(crate) fn read_op(key: &Key, unless: Option<ETag>) -> Op {
    let id = ReadId::new(NUMBER.fetch_add(1, Ordering::Relaxed));
    Op::Read(ReadOp { id, key: key.clone(), unless, timeout: TIMEOUT })
}

pub(crate) fn read_unless(store: &dyn Store, key: &Key, unless: Option<ETag>) -> ReadReply {
    match store.execute(read_op(key, unless)) {
        Reply::Read(reply) => reply,
        other => panic!("a read was answered with {other:?}"),
    }
}

pub(crate) fn read(store: &dyn Store, key: &Key) -> ReadReply {
    read_unless(store, key, None)
}

/// Returns tag, bytes, `Last-Modified` and `Date`.
pub(crate) fn found(reply: ReadReply) -> (ETag, Vec<u8>, StoreTime, StoreTime) {
    match reply {
        ReadReply::Found { etag, body, stamps } => {
            (etag, body.into(), stamps.modified.expect("a stamp"), stamps.date.expect("a stamp"))
        }
        other => panic!("not found: {other:?}"),
    }
}

pub(crate) fn remove(store: &dyn Store, key: &Key) -> RemoveReply {
    let id = RemoveId::new(NUMBER.fetch_add(1, Ordering::Relaxed));
    match store.execute(Op::Remove(RemoveOp { id, key: key.clone(), timeout: TIMEOUT })) {
        Reply::Remove(reply) => reply,
        other => panic!("a removal was answered with {other:?}"),
    }
}

pub(crate) fn list(store: &dyn Store, prefix: &str, after: Option<Arc<str>>) -> ListReply {
    let id = ListId::new(NUMBER.fetch_add(1, Ordering::Relaxed));
    match store.execute(Op::List(ListOp { id, prefix: prefix.into(), after, timeout: TIMEOUT })) {
        Reply::List(reply) => reply,
        other => panic!("a listing was answered with {other:?}"),
    }
}

pub(crate) fn page(store: &dyn Store, prefix: &str, after: Option<Arc<str>>) -> Page {
    match list(store, prefix, after) {
        ListReply::Page(page) => page,
        other => panic!("no page: {other:?}"),
    }
}

/// Lists all pages and returns the keys and the number of pages.
pub(crate) fn keys(store: &dyn Store, prefix: &str) -> (Vec<String>, usize) {
    let (mut keys, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = page(store, prefix, after);
        pages += 1;
        keys.extend(page.entries.into_iter().map(|entry| entry.key));
        after = page.next;
        if after.is_none() {
            return (keys, pages);
        }
    }
}
