//! Blocking nodes, cells and stores, and the file store.
//!
//! A [`Node`] joins a fleet over a [`Store`] and claims [`Cell`]s; both are handles of a session whose engine
//! runs on a thread of its own, with its own I/O threads. The async twin, with the same names, is
//! `tenure-tokio`; every decision is made in `tenure-core`.

mod cell;
mod driver;
mod entropy;
mod file;
mod node;
mod pool;
mod s3;
mod signing_clock;
mod store;
mod wait;

pub mod ownership;

#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod session;

pub use cell::Cell;
pub use file::{Change, Durability, FileStore, Journal, JournalEntry, JournalError};
pub use node::Node;
pub use s3::S3Store;
pub use session::Loss;
pub use store::Store;
pub use tenure_core::{
    BadRecord, CellId, ClaimError, Config, ConfigError, ETag, Entry, Epoch, Fault, FaultKind, FenceCause,
    Guard, HeldBy, JoinError, Key, LeaseRecord, ListOp, ListReply, Load, LocateError, Location, LossReason,
    NameError, NodeId, Op, Page, Peer, PeersError, ReadOp, ReadReply, ReleaseError, RemoveOp, RemoveReply,
    Reply, Stamps, StoreClock, StoreTime, Tenure, TransferError, VerifyError, WriteOp, WriteReply,
};
pub use tenure_s3::{Bucket, BucketError, Credentials, CredentialsError, Setting, Settings, Style};
