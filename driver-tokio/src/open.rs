//! From a URL to a store; what a URL means is decided in the blocking driver, for both.

use core::time::Duration;
use std::env;

use tenure_blocking::open::{Place, Remote, resolve};
use tenure_blocking::{FileStore, OpenError, OpenOptions};
use tenure_core::{Op, Reply, StoreClock};

#[cfg(feature = "object-store")]
use crate::objects::{self, ObjectStoreAdapter};
use crate::s3::S3Store;
use crate::store::Store;
use crate::threaded::Threaded;

/// A store of any kind that a URL can name.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per node, and it is not moved")]
#[non_exhaustive]
pub enum AnyStore {
    /// A directory of this host.
    File(Threaded<FileStore>),
    /// A bucket of Google Cloud Storage, or a container of Azure Blob Storage.
    #[cfg(feature = "object-store")]
    Objects(ObjectStoreAdapter),
    /// A bucket.
    S3(S3Store),
}

/// Opens the store that a URL names: `s3://bucket/prefix` or `file:///directory`; with the feature `object-store`
/// also `gs://bucket/prefix` or `az://container/prefix`. Sends no request, and blocks for the few calls that look
/// at a directory or at a file of credentials.
///
/// # Errors
/// Says what is wrong with the URL, the options or the environment, and what to do about it.
pub fn open(url: &str, options: &OpenOptions) -> Result<AnyStore, OpenError> {
    #[cfg(feature = "object-store")]
    if let Some(opened) = objects::open(url, options) {
        return opened.map(AnyStore::Objects);
    }
    Ok(match resolve(url, options, |name| env::var(name).ok())? {
        Place::File(store) => AnyStore::File(Threaded::new(store)),
        Place::S3(remote) => {
            let Remote { bucket, keys, transport } = *remote;
            AnyStore::S3(S3Store::with(bucket, keys, &transport).map_err(OpenError::Store)?)
        }
    })
}

impl AnyStore {
    /// Returns how far this machine's wall clock is off by the store's, if that made the store refuse a
    /// request; requests are signed with the store's time since then. Otherwise zero. A node goes on all the
    /// same, but the expiry that it publishes for foreign readers is as wrong as its clock: warn of it.
    pub fn clock_error(&self) -> Duration {
        match self {
            Self::File(_) => Duration::ZERO,
            #[cfg(feature = "object-store")]
            Self::Objects(_) => Duration::ZERO,
            Self::S3(store) => store.clock_error(),
        }
    }
}

impl AnyStore {
    /// Executes one operation; the body of a write to a bucket stops after its first byte until `between`
    /// resolves. A file store only begins then.
    pub async fn execute_in_two(&self, op: Op, between: impl Future<Output = ()> + Send + 'static) -> Reply {
        match self {
            Self::File(store) => {
                between.await;
                store.execute(op).await
            }
            #[cfg(feature = "object-store")]
            Self::Objects(store) => store.execute_in_two(op, between).await,
            Self::S3(store) => store.execute_in_two(op, between).await,
        }
    }
}

impl Store for AnyStore {
    async fn execute(&self, op: Op) -> Reply {
        match self {
            Self::File(store) => store.execute(op).await,
            #[cfg(feature = "object-store")]
            Self::Objects(store) => store.execute(op).await,
            Self::S3(store) => store.execute(op).await,
        }
    }

    fn clock(&self) -> StoreClock {
        match self {
            Self::File(store) => store.clock(),
            #[cfg(feature = "object-store")]
            Self::Objects(store) => store.clock(),
            Self::S3(store) => store.clock(),
        }
    }
}
