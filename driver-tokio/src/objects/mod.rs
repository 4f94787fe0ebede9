//! Any store of the `object_store` crate as a store of ours, and with it Google Cloud Storage and Azure.
//!
//! The crate makes the requests; what goes over the wire stays ours, for the two clouds: their builders are given
//! our HTTP client ([`wire`]), which sends each request once and tells what the crate does not, namely whether a
//! request has left, what the answer's `Date` was, and under which code it was refused. A store that was built
//! elsewhere is used as it is: then an answer has no `Date`, so the dead are judged by observed silence, and an
//! error without a name counts as an unknown outcome.

mod answer;
mod cloud;
mod ear;
mod pages;
mod tag;
mod wire;

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use futures_util::StreamExt as _;
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetResult, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};
use tenure_core::{
    ETag, Fault, FaultKind, Guard, ListOp, ListReply, Op, RECORD_MAX, ReadOp, ReadReply, RemoveOp,
    RemoveReply, Reply, Stamps, StoreTime, WriteOp, WriteReply,
};
use tenure_s3::{BucketError, timeout, unanswered, unsendable, unsent};

use crate::store::Store;
use answer::Failure;
use ear::{Ear, Heard};

pub(crate) use cloud::open;

/// Any store of the [`object_store`] crate, with a prefix of its own.
///
/// [`azure`](Self::azure) and [`google`](Self::google) take a builder and see to the rest: retries are off, leases
/// have connections of their own, answers have a `Date`. [`new`](Self::new) takes a finished store of any kind,
/// which must not retry (`RetryConfig { max_retries: 0, .. }`): the engine settles what became of a write, and its
/// times leave no room for more.
pub struct ObjectStoreAdapter {
    objects: Arc<dyn ObjectStore>,
    /// Lists page by page, and by any text that keys begin with.
    pages: Option<Arc<dyn PaginatedListStore>>,
    /// Empty, or with a slash at its end.
    prefix: String,
    /// Whether listings have Azure's ways; see [`pages`].
    is_azure: bool,
    /// Whether something is heard of every request.
    listens: bool,
    /// Whether this store has shown that its versions have names beside their tags.
    has_versions: AtomicBool,
}

impl ObjectStoreAdapter {
    /// Takes a finished store, and the prefix below which records live; it may be empty.
    ///
    /// # Errors
    /// Refuses a prefix that some store would take for another.
    pub fn new(objects: impl ObjectStore, prefix: &str) -> Result<Self, BucketError> {
        let prefix = tenure_s3::prefix(prefix)?;
        Ok(Self {
            objects: Arc::new(objects),
            pages: None,
            prefix,
            is_azure: false,
            listens: false,
            has_versions: AtomicBool::new(false),
        })
    }

    /// Executes one operation; the body of a write stops after its first byte, which is on the wire with the
    /// headers before `between` is polled, and goes on when that resolves. For tests of stores. A store that was
    /// built elsewhere only begins then.
    pub async fn execute_in_two(&self, op: Op, between: impl Future<Output = ()> + Send + 'static) -> Reply {
        let ear = Ear::new(&op);
        if self.listens {
            ear.stop(between);
        } else {
            between.await;
        }
        self.within(op, &ear).await
    }

    /// Executes one operation within its time.
    async fn within(&self, op: Op, ear: &Ear) -> Reply {
        match tokio::time::timeout(timeout(&op), self.perform(&op, ear)).await {
            Ok(reply) => reply,
            Err(_) => {
                let fault = Fault::new(FaultKind::TimedOut, format!("no answer within {:?}", timeout(&op)));
                if self.listens && matches!(ear.heard(), Heard::Nothing) {
                    unsent(&op, fault)
                } else {
                    unanswered(&op, fault)
                }
            }
        }
    }

    async fn perform(&self, op: &Op, ear: &Ear) -> Reply {
        let done = match op {
            Op::List(list) => return Reply::List(self.list(op, list, ear).await),
            Op::Read(read) => self.read(read, ear).await.map(Reply::Read),
            Op::Remove(remove) => self.remove(remove).await.map(Reply::Remove),
            Op::Write(write) => self.write(write, ear).await.map(Reply::Write),
        };
        done.unwrap_or_else(|error| self.failed(op, &error, ear))
    }

    async fn read(&self, op: &ReadOp, ear: &Ear) -> Result<ReadReply, Error> {
        let options = GetOptions {
            if_none_match: op.unless.as_ref().and_then(|tag| tag::split(tag).e_tag),
            extensions: ear.extensions(),
            ..GetOptions::default()
        };
        let found = self.objects.get_opts(&self.path(op.key.as_str())?, options).await?;
        let stamps = if self.listens { ear.stamps() } else { stamps(&found) };
        let etag = self.tag(found.meta.e_tag.as_deref(), found.meta.version.as_deref());
        let Some(etag) = etag else {
            return Ok(ReadReply::Failed(untagged(op.key.as_str())));
        };
        let mut body = Vec::new();
        let mut chunks = found.into_stream();
        // What is longer than a record can be is cut: no record can be read from it anyway.
        while body.len() <= RECORD_MAX
            && let Some(chunk) = chunks.next().await
        {
            let chunk = chunk?;
            body.extend_from_slice(&chunk[..chunk.len().min(RECORD_MAX + 1 - body.len())]);
        }
        Ok(ReadReply::Found { etag, body: body.into(), stamps })
    }

    async fn write(&self, op: &WriteOp, ear: &Ear) -> Result<WriteReply, Error> {
        let mode = match &op.guard {
            Guard::Absent => PutMode::Create,
            Guard::Match(tag) => PutMode::Update(tag::split(tag)),
        };
        let options = PutOptions { mode, extensions: ear.extensions(), ..PutOptions::default() };
        let body = PutPayload::from(op.body.to_vec());
        let stored = self.objects.put_opts(&self.path(op.key.as_str())?, body, options).await?;
        Ok(match self.tag(stored.e_tag.as_deref(), stored.version.as_deref()) {
            Some(etag) => WriteReply::Applied { etag },
            None => WriteReply::Unknown(untagged(op.key.as_str())),
        })
    }

    async fn remove(&self, op: &RemoveOp) -> Result<RemoveReply, Error> {
        self.objects.delete(&self.path(op.key.as_str())?).await?;
        Ok(RemoveReply::Removed)
    }

    async fn list(&self, op: &Op, list: &ListOp, ear: &Ear) -> ListReply {
        let page = match &self.pages {
            Some(pages) => self.page(pages.as_ref(), list, ear).await,
            None => self.sift(list).await,
        };
        match page {
            Ok(page) => ListReply::Page(page),
            Err(error) => match self.failed(op, &error, ear) {
                Reply::List(reply) => reply,
                Reply::Read(_) | Reply::Remove(_) | Reply::Write(_) => {
                    ListReply::Failed(Fault::new(FaultKind::Malformed, error.to_string()))
                }
            },
        }
    }

    /// Says what an error means for the operation.
    fn failed(&self, op: &Op, error: &Error, ear: &Ear) -> Reply {
        let subject = match op {
            Op::List(op) => &op.prefix,
            Op::Read(op) => op.key.as_str(),
            Op::Remove(op) => op.key.as_str(),
            Op::Write(op) => op.key.as_str(),
        };
        if let Error::InvalidPath { .. } = error {
            return unsendable(op, Fault::new(FaultKind::Config, format!("{subject}: {error}")));
        }
        // A removal may travel with others in one request, so nothing is heard of it.
        let failure = if self.listens && !matches!(op, Op::Remove(_)) {
            Failure::heard(subject, &ear.heard(), error)
        } else {
            Failure::named(subject, error)
        };
        let mut reply = failure.reply(op);
        if let Reply::Read(ReadReply::Unchanged(stamps)) = &mut reply {
            *stamps = ear.stamps();
        }
        reply
    }

    /// Returns where a key, or a text that keys begin with, is in the store.
    fn path(&self, key: &str) -> Result<Path, Error> {
        // Not `Path::from`, which would spell some keys another way.
        Ok(Path::parse(format!("{}{key}", self.prefix))?)
    }

    /// Returns the tag of a version that was read or written.
    fn tag(&self, e_tag: Option<&str>, version: Option<&str>) -> Option<ETag> {
        if version.is_some() {
            self.has_versions.store(true, Ordering::Relaxed);
        }
        tag::join(e_tag, version)
    }

    /// Returns the tag of a version that was listed. Where versions have names, a listing that leaves them out
    /// says too little: its tag would never be equal to that of a read.
    fn listed_tag(&self, e_tag: Option<&str>, version: Option<&str>) -> Option<ETag> {
        if version.is_none() && self.has_versions.load(Ordering::Relaxed) {
            return None;
        }
        match e_tag {
            Some(bare) if self.is_azure && !bare.contains('"') => {
                tag::join(Some(&format!("\"{bare}\"")), version)
            }
            e_tag => tag::join(e_tag, version),
        }
    }
}

impl Store for ObjectStoreAdapter {
    async fn execute(&self, op: Op) -> Reply {
        let ear = Ear::new(&op);
        self.within(op, &ear).await
    }
}

impl fmt::Debug for ObjectStoreAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectStoreAdapter({}, {:?})", self.objects, self.prefix)
    }
}

/// Without a `Date` the engine uses no stamp at all, and observes silence.
fn stamps(found: &GetResult) -> Stamps {
    Stamps { modified: stamp(found.meta.last_modified.timestamp_nanos_opt()), date: None }
}

/// Turns nanoseconds since 1970 into a stamp.
fn stamp(nanos: Option<i64>) -> Option<StoreTime> {
    Some(StoreTime::from_nanos(u64::try_from(nanos?).ok()?))
}

fn untagged(key: &str) -> Fault {
    Fault::new(FaultKind::Malformed, format!("{key}: the store gives its versions no tags"))
}
