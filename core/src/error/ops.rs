//! What each operation can fail with.

use alloc::string::String;
use core::fmt;

use super::{BadRecord, FenceCause, HeldBy};
use crate::config::ConfigError;
use crate::id::{CellId, NodeId};
use crate::store::{Fault, Key};

/// Why a node could not join.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum JoinError {
    /// The configuration breaks one of the protocol's rules.
    Config(ConfigError),
    /// This session has joined already, or is about to; a fenced session joins again as a new one.
    Joined,
    /// The session ended before the lease was held.
    Fenced(FenceCause),
    /// The store did not do what ownership needs; do not use it.
    Unfit(String),
    /// The store could not be used: see the fault.
    Store(Fault),
}

/// Why a cell could not be claimed.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ClaimError {
    /// The record is not one from which ownership can follow.
    Bad(BadRecord),
    /// Others kept winning the race for the record; try again later.
    Contended {
        /// The cell.
        cell: CellId,
        /// How many races were lost.
        conflicts: u32,
        /// Whom the record named when the last of them was lost; nobody if it was free again by then, or if the store
        /// would not say who won.
        holder: Option<NodeId>,
    },
    /// This session has ended, or has not begun.
    Fenced(FenceCause),
    /// Another node holds the cell and lives.
    Held(CellId, HeldBy),
    /// The store contradicts itself about the record.
    Inconsistent {
        /// The record's key.
        key: Key,
        /// What it answered.
        why: &'static str,
    },
    /// The node is leaving and admits no new cells.
    Leaving,
    /// The node has not joined.
    NotJoined,
    /// The store could not be used: see the fault.
    Store(Fault),
    /// The wait ran out; the holder is named if one was seen.
    Timeout(CellId, Option<HeldBy>),
}

/// Why a tenure could not be given back.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The session has ended, and with it the tenure; others take the cell like a dead node's.
    Fenced(FenceCause),
    /// This node does not hold that tenure.
    NotOwner(CellId),
    /// The tenure has ended, but the store has not confirmed it; the node goes on trying.
    Store(Fault),
}

/// Why a cell could not be handed to another node. The tenure has ended in any case but `NotOwner` and `ToSelf`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum TransferError {
    /// The epochs of this cell are used up; the tenure goes on.
    Exhausted(CellId),
    /// The session has ended.
    Fenced(FenceCause),
    /// Somebody else had changed the record.
    Lost(CellId),
    /// This node does not hold that tenure.
    NotOwner(CellId),
    /// The store has not confirmed the offer; the cell is given back instead if it did not take.
    Store(Fault),
    /// A node cannot hand a cell to itself.
    ToSelf(CellId),
}

/// Why a tenure could not be confirmed. Do not acknowledge the work done under it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum VerifyError {
    /// The session has ended.
    Fenced(FenceCause),
    /// The record no longer names this tenure, or this node gave it up.
    NotOwner(CellId),
    /// The store could not be asked; ask again.
    Store(Fault),
}

/// Why a cell's owner could not be found.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum LocateError {
    /// The record is not one from which ownership can follow.
    Bad(BadRecord),
    /// The session has ended.
    Fenced(FenceCause),
    /// The node has not joined.
    NotJoined,
    /// The store could not be used: see the fault.
    Store(Fault),
}

/// Why the fleet could not be listed.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum PeersError {
    /// The session has ended.
    Fenced(FenceCause),
    /// The store's listing contradicts itself.
    Inconsistent(&'static str),
    /// The node has not joined.
    NotJoined,
    /// The store could not be used: see the fault.
    Store(Fault),
}

/// Why a cell could not be watched. A watch that began does not fail: it goes on until the session ends.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum WatchError {
    /// The session has ended.
    Fenced(FenceCause),
    /// The node has not joined.
    NotJoined,
    /// The store could not be used for a first look: see the fault.
    Store(Fault),
}

/// Why facts about this node were not published.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum PublishError {
    /// The session has ended.
    Fenced(FenceCause),
    /// Address and facts take more than 16 KiB as JSON, too much for a lease that others can read. What was
    /// published before stays.
    TooLong,
}

/// Writes what every operation of an ended session says.
fn fenced(f: &mut fmt::Formatter<'_>, cause: FenceCause) -> fmt::Result {
    write!(f, "this session has ended ({cause}); join again as a new one")
}

impl JoinError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Config(_) => "config",
            Self::Fenced(_) => "fenced",
            Self::Joined => "usage",
            Self::Store(fault) => fault.kind_str(),
            Self::Unfit(_) => "unfit",
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "cannot join: {error}"),
            Self::Fenced(cause) => fenced(f, *cause),
            Self::Joined => f.write_str("this session has joined already"),
            Self::Store(fault) => write!(f, "cannot join: {fault}"),
            Self::Unfit(why) => write!(f, "this store cannot guarantee one owner: {why}"),
        }
    }
}

impl ClaimError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bad(bad) => bad.kind(),
            Self::Contended { .. } => "contended",
            Self::Fenced(_) | Self::Leaving | Self::NotJoined => "fenced",
            Self::Held(..) => "held",
            Self::Inconsistent { .. } => "inconsistent",
            Self::Store(fault) => fault.kind_str(),
            Self::Timeout(..) => "timeout",
        }
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(bad) => write!(f, "{bad}"),
            Self::Contended { cell, conflicts, holder: Some(holder) } => {
                write!(
                    f,
                    "cell {cell} is contended: {conflicts} races lost, the last to {holder}; try again later"
                )
            }
            Self::Contended { cell, conflicts, holder: None } => {
                write!(f, "cell {cell} is contended: {conflicts} races lost; try again later")
            }
            Self::Fenced(cause) => fenced(f, *cause),
            Self::Held(cell, by) => write!(f, "cell {cell} is held by {} at epoch {}", by.node, by.epoch),
            Self::Inconsistent { key, why } => write!(f, "the store contradicts itself about {key}: {why}"),
            Self::Leaving => f.write_str("this node is leaving and claims nothing more"),
            Self::NotJoined => f.write_str("this node has not joined"),
            Self::Store(fault) => write!(f, "{fault}"),
            Self::Timeout(cell, Some(by)) => {
                write!(f, "cell {cell} is still held by {} at epoch {}", by.node, by.epoch)
            }
            Self::Timeout(cell, None) => write!(f, "cell {cell} could not be had in time"),
        }
    }
}

impl ReleaseError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Fenced(_) => "fenced",
            Self::NotOwner(_) => "not_owner",
            Self::Store(fault) => fault.kind_str(),
        }
    }
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced(cause) => fenced(f, *cause),
            Self::NotOwner(cell) => not_owner(f, cell),
            Self::Store(fault) => write!(f, "the release is not confirmed yet: {fault}"),
        }
    }
}

impl TransferError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Exhausted(_) => "corrupt",
            Self::Fenced(_) => "fenced",
            Self::Lost(_) | Self::NotOwner(_) => "not_owner",
            Self::Store(fault) => fault.kind_str(),
            Self::ToSelf(_) => "usage",
        }
    }
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted(cell) => write!(f, "cell {cell} has used up all epochs"),
            Self::Fenced(cause) => fenced(f, *cause),
            Self::Lost(cell) => write!(f, "cell {cell} was changed by somebody else before the transfer"),
            Self::NotOwner(cell) => not_owner(f, cell),
            Self::Store(fault) => write!(f, "the transfer is not confirmed: {fault}"),
            Self::ToSelf(cell) => write!(f, "cell {cell} is this node's own already"),
        }
    }
}

impl VerifyError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Fenced(_) => "fenced",
            Self::NotOwner(_) => "not_owner",
            Self::Store(fault) => fault.kind_str(),
        }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced(cause) => fenced(f, *cause),
            Self::NotOwner(cell) => not_owner(f, cell),
            Self::Store(fault) => write!(f, "ownership could not be verified: {fault}"),
        }
    }
}

impl LocateError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bad(bad) => bad.kind(),
            Self::Fenced(_) | Self::NotJoined => "fenced",
            Self::Store(fault) => fault.kind_str(),
        }
    }
}

impl fmt::Display for LocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(bad) => write!(f, "{bad}"),
            Self::Fenced(cause) => fenced(f, *cause),
            Self::NotJoined => f.write_str("this node has not joined"),
            Self::Store(fault) => write!(f, "{fault}"),
        }
    }
}

impl PeersError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Fenced(_) | Self::NotJoined => "fenced",
            Self::Inconsistent(_) => "inconsistent",
            Self::Store(fault) => fault.kind_str(),
        }
    }
}

impl fmt::Display for PeersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced(cause) => fenced(f, *cause),
            Self::Inconsistent(why) => write!(f, "the listing of nodes contradicts itself: {why}"),
            Self::NotJoined => f.write_str("this node has not joined"),
            Self::Store(fault) => write!(f, "{fault}"),
        }
    }
}

impl WatchError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Fenced(_) | Self::NotJoined => "fenced",
            Self::Store(fault) => fault.kind_str(),
        }
    }
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced(cause) => fenced(f, *cause),
            Self::NotJoined => f.write_str("this node has not joined"),
            Self::Store(fault) => write!(f, "{fault}"),
        }
    }
}

impl PublishError {
    /// Returns the stable word for programs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Fenced(_) => "fenced",
            Self::TooLong => "usage",
        }
    }
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fenced(cause) => fenced(f, *cause),
            Self::TooLong => f.write_str("addr and meta are too long: publish 16 KiB as JSON at most"),
        }
    }
}

impl core::error::Error for PublishError {}

fn not_owner(f: &mut fmt::Formatter<'_>, cell: &CellId) -> fmt::Result {
    write!(f, "this node does not own cell {cell} at that epoch")
}

impl core::error::Error for JoinError {}
impl core::error::Error for ClaimError {}
impl core::error::Error for ReleaseError {}
impl core::error::Error for TransferError {}
impl core::error::Error for VerifyError {}
impl core::error::Error for LocateError {}
impl core::error::Error for PeersError {}
impl core::error::Error for WatchError {}
