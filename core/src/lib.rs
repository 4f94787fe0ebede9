//! Exactly one node owns a cell, with nothing shared but a bucket: the decisions, without I/O.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod backoff;
mod cell;
mod config;
mod defects;
mod engine;
mod env;
mod error;
mod event;
mod fleet;
mod id;
mod judge;
mod lease;
mod locate;
mod lru;
mod memory;
mod name;
mod peer;
mod probe;
mod record;
mod store;
mod time;
mod write;

pub use config::{Config, ConfigError, StoreClock, TTL_MAX};
#[doc(hidden)]
pub use defects::Defect;
pub use engine::Engine;
pub use error::{
    BadRecord, ClaimError, FenceCause, HeldBy, JoinError, LocateError, LossReason, PeersError, ReleaseError,
    TransferError, VerifyError,
};
pub use event::{Call, Command, Event, Location, Notice, Outcome, Peer, Tenure, Ticket};
pub use id::{CellId, ETag, Epoch, NodeId, SessionId, WriteId};
pub use name::NameError;
pub use record::{Holder, LeaseRecord, Load, OwnerRecord, RecordError};
pub use store::{
    AttemptId, Entry, Fault, FaultKind, Guard, Key, ListId, ListOp, ListReply, Op, Page, ReadId, ReadOp,
    ReadReply, RemoveId, RemoveOp, RemoveReply, Reply, Stamps, WriteOp, WriteReply,
};
pub use time::{Deadline, Instant, Now, StoreTime, Timer, WallTime};
