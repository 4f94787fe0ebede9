//! Blocking nodes, cells and stores, and the file store.
//!
//! A [`Node`] joins a fleet over a [`Store`] and claims [`Cell`]s; both are handles of a session whose engine
//! runs on a thread of its own, with its own I/O threads. The async twin, with the same names, is
//! `tenure-tokio`; every decision is made in `tenure-core`.
//!
//! ```
//! use tenure_blocking::{CellId, Config, Node, OpenOptions, open};
//!
//! # let dir = std::env::temp_dir().join(format!("tenure-blocking-doc-{}", std::process::id()));
//! # std::fs::create_dir(&dir)?;
//! # let url = format!("file://{}", dir.display());
//! let store = open(&url, &OpenOptions::default())?; // file:///directory or s3://bucket/prefix
//! let node = Node::join(Config::new("cron-1"), store)?;
//! let cell = node.claim(CellId::new("nightly-backup")?)?;
//! println!("owner at epoch {}", cell.epoch()); // a fencing token for everything downstream
//! assert!(cell.is_held()); // a local check, no request
//! cell.verify()?; // the store's word, before the work is acknowledged
//! cell.release()?;
//! node.leave();
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cell;
mod driver;
mod entropy;
mod file;
mod node;
mod pool;
mod s3;
mod store;
mod wait;
mod watch;

pub mod ownership;

#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod http;
#[doc(hidden)]
pub mod keys;
#[doc(hidden)]
pub mod open;
#[doc(hidden)]
pub mod session;

pub use cell::Cell;
pub use file::{Change, Durability, FileStore, Journal, JournalEntry, JournalError};
pub use http::Transport;
pub use keys::Keys;
pub use node::Node;
pub use open::{AnyStore, OpenError, OpenOptions, open};
pub use s3::S3Store;
pub use session::Loss;
pub use store::Store;
pub use tenure_core::{
    BadRecord, CellId, ClaimError, Config, ConfigError, ETag, Ending, Entry, Epoch, Fault, FaultKind,
    FenceCause, Guard, HeldBy, JoinError, Key, LeaseRecord, ListOp, ListReply, Load, LocateError, Location,
    LossReason, NameError, NodeId, Op, Owner, Page, Peer, PeersError, PublishError, ReadOp, ReadReply,
    ReleaseError, RemoveOp, RemoveReply, Reply, Stamps, StoreClock, StoreTime, Tenure, TransferError,
    VerifyError, WatchError, WriteOp, WriteReply,
};
pub use tenure_s3::{
    Bucket, BucketError, Checksum, Credentials, CredentialsError, Dialect, IfMatch, Issued, Provider,
    Setting, Settings, Style,
};
pub use watch::Watch;
