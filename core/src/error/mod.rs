//! One error enum per operation, listing only what that call can return, and the reasons of a loss.
//!
//! Every error has a `kind`, a stable word for programs, and a `Display` for people.

mod ops;

pub use ops::{
    ClaimError, JoinError, LocateError, PeersError, PublishError, ReleaseError, TransferError, VerifyError,
    WatchError,
};

use alloc::string::String;
use core::fmt;

use crate::id::{ETag, Epoch, NodeId};
use crate::store::{Fault, FaultKind, Key};

/// Why a session ended. The list is closed: programs may match on [`FenceCause::as_str`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum FenceCause {
    /// The store refused our credentials until authority ended.
    Credentials,
    /// No renewal was known to be applied in time.
    Expired,
    /// The driver or the engine met a state it cannot go on from.
    Internal,
    /// Another node judged us dead and put a tombstone in our lease's place.
    LeaseFenced,
    /// Our lease was removed by somebody.
    LeaseRemoved,
    /// Our lease was replaced by a version this process did not write.
    LeaseReplaced,
    /// The node left on request.
    Left,
    /// The store failed a check that ownership rests on.
    StoreUnfit,
}

impl FenceCause {
    /// Returns the stable word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Credentials => "credentials",
            Self::Expired => "expired",
            Self::Internal => "internal",
            Self::LeaseFenced => "lease_fenced",
            Self::LeaseRemoved => "lease_removed",
            Self::LeaseReplaced => "lease_replaced",
            Self::Left => "left",
            Self::StoreUnfit => "store_unfit",
        }
    }
}

impl fmt::Display for FenceCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why one cell was lost while the session goes on.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum LossReason {
    /// The record can no longer be parsed.
    Corrupt,
    /// The record was removed.
    RecordRemoved,
    /// The record was replaced by a version this process did not write.
    RecordReplaced,
}

impl LossReason {
    /// Returns the stable word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::RecordRemoved => "record_removed",
            Self::RecordReplaced => "record_replaced",
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The node that has a cell, as another node sees it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct HeldBy {
    /// The node.
    pub node: NodeId,
    /// Where it is reached, if it says.
    pub addr: Option<String>,
    /// The epoch at which it holds the cell.
    pub epoch: Epoch,
}

/// A record from which no ownership can follow.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum BadRecord {
    /// The record cannot be parsed. Look at it, then put one in its place whose epoch is above every earlier one.
    Corrupt {
        /// The record's key.
        key: Key,
        /// The tag of the corrupt version.
        etag: ETag,
        /// What is wrong with it.
        why: String,
    },
    /// The epochs of this cell are used up.
    Exhausted {
        /// The record's key.
        key: Key,
    },
    /// The record is older than one this process has seen, or gone: somebody restored or removed it.
    Regressed {
        /// The record's key.
        key: Key,
        /// The highest epoch seen.
        seen: Epoch,
        /// The epoch found; nothing if the record is gone.
        found: Option<Epoch>,
    },
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { key, etag, why } => {
                write!(
                    f,
                    "{key} (etag {etag}) is corrupt: {why}; look at it, and put a record in its place with an epoch above every earlier one: do not remove it"
                )
            }
            Self::Exhausted { key } => {
                write!(f, "{key} has used up all epochs; use another name for the cell")
            }
            Self::Regressed { key, seen, found: Some(found) } => write!(
                f,
                "{key} went back from epoch {seen} to {found}; find out who restored it, and put back a record with epoch {seen} or above"
            ),
            Self::Regressed { key, seen, found: None } => write!(
                f,
                "{key} is gone but was at epoch {seen}; find out who removed it, and put back a record with epoch {seen} or above"
            ),
        }
    }
}

impl BadRecord {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Corrupt { .. } | Self::Exhausted { .. } => "corrupt",
            Self::Regressed { .. } => "regressed",
        }
    }
}

impl Fault {
    /// Returns the stable word for programs.
    pub const fn kind_str(&self) -> &'static str {
        match self.kind {
            FaultKind::Config => "config",
            FaultKind::Denied => "denied",
            FaultKind::Malformed => "inconsistent",
            FaultKind::Unfit => "unfit",
            FaultKind::Network | FaultKind::Throttled | FaultKind::TimedOut | FaultKind::Unavailable => {
                "unavailable"
            }
        }
    }
}
