//! Async nodes, cells and stores on tokio.

mod cell;
mod driver;
mod node;
mod s3;
mod signing_clock;
mod store;
mod threaded;

pub use cell::Cell;
pub use node::Node;
pub use store::Store;
pub use threaded::Threaded;

pub use s3::S3Store;
pub use tenure_blocking::Loss;
pub use tenure_core::{
    BadRecord, CellId, ClaimError, Config, ConfigError, ETag, Entry, Epoch, Fault, FaultKind, FenceCause,
    Guard, HeldBy, JoinError, Key, LeaseRecord, ListOp, ListReply, Load, LocateError, Location, LossReason,
    NameError, NodeId, Op, Page, Peer, PeersError, ReadOp, ReadReply, ReleaseError, RemoveOp, RemoveReply,
    Reply, Stamps, StoreClock, StoreTime, Tenure, TransferError, VerifyError, WriteOp, WriteReply,
};
pub use tenure_s3::{Bucket, BucketError, Credentials, CredentialsError, Setting, Settings, Style};
