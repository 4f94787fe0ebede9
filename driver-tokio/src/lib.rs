//! Async nodes, cells and stores on tokio.
//!
//! A [`Node`] joins a fleet over a [`Store`] and claims [`Cell`]s; both are handles of a session whose engine
//! runs on a thread and a runtime of its own, so an application that blocks its executor loses no lease. The
//! blocking twin, with the same names, is `tenure-blocking`; every decision is made in `tenure-core`.
//!
//! ```
//! use std::time::Duration;
//! use tenure_tokio::{CellId, Config, Node, OpenOptions, open};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = std::env::temp_dir().join(format!("tenure-tokio-doc-{}", std::process::id()));
//! # std::fs::create_dir(&dir)?;
//! # let url = format!("file://{}", dir.display());
//! let store = open(&url, &OpenOptions::default())?; // s3://bucket/prefix or file:///directory
//! let node = Node::join(Config::new("web-1"), store).await?;
//! let cell = node.claim_within(CellId::new("orders:42")?, Duration::from_secs(30)).await?;
//! println!("owner at epoch {}", cell.epoch()); // a fencing token for everything downstream
//! assert!(cell.is_held()); // a local check, no request
//! cell.verify().await?; // the store's word, before the work is acknowledged
//! cell.release().await?;
//! node.leave().await;
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok(())
//! # }
//! ```

mod bridged;
mod cell;
mod driver;
mod halves;
mod node;
#[cfg(feature = "object-store")]
mod objects;
mod open;
mod s3;
mod store;
mod threaded;
mod watch;

pub mod ownership;

pub use bridged::Bridged;
pub use cell::Cell;
pub use node::Node;
#[cfg(feature = "object-store")]
pub use object_store;
#[cfg(feature = "object-store")]
pub use objects::ObjectStoreAdapter;
pub use open::{AnyStore, open};
pub use s3::S3Store;
pub use store::Store;
pub use tenure_blocking::{Durability, FileStore, Keys, Loss, OpenError, OpenOptions, Transport};
pub use tenure_core::{
    BadRecord, CellId, ClaimError, Config, ConfigError, ETag, Ending, Entry, Epoch, Fault, FaultKind,
    FenceCause, Guard, HeldBy, JoinError, Key, LeaseRecord, ListOp, ListReply, Load, LocateError, Location,
    LossReason, NameError, NodeId, Op, Owner, Page, Peer, PeersError, PublishError, ReadOp, ReadReply,
    ReleaseError, RemoveOp, RemoveReply, Reply, Stamps, StoreClock, StoreTime, Tenure, TransferError,
    VerifyError, WatchError, WriteOp, WriteReply,
};
pub use tenure_s3::{
    Bucket, BucketError, Checksum, Credentials, CredentialsError, Dialect, IfMatch, Issued, Provider,
    Question, Rule, Said, Setting, Settings, Style,
};
pub use threaded::Threaded;
pub use watch::Watch;

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
