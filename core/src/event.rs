//! What goes into the engine and what comes out: the whole seam between deciding and doing.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::error::{
    BadRecord, ClaimError, FenceCause, JoinError, LocateError, LossReason, PeersError, PublishError,
    ReleaseError, TransferError, VerifyError, WatchError,
};
use crate::id::{CellId, Epoch, NodeId};
use crate::record::{LeaseRecord, Load};
use crate::store::{
    AttemptId, ListId, ListOp, ListReply, ReadId, ReadOp, ReadReply, RemoveId, RemoveOp, RemoveReply,
    WriteOp, WriteReply,
};
use crate::time::{Deadline, Instant};

/// The driver's number for a call, echoed in its [`Command::Done`]. Never used twice in one session.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ticket(u64);

impl Ticket {
    /// Takes a number that no other call of this session has.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// A fact that the driver brings to the engine.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Event {
    /// The application asks for something; exactly one [`Command::Done`] answers it.
    Call(Ticket, Call),
    /// The caller of a claim stopped listening. The claim goes on until its writes are settled, and what then
    /// turns out to be owned is given back. Answered by no `Done` if it comes in time; a tenure whose `Done`
    /// was on its way is the driver's to release. Any other call goes on and is answered all the same.
    Cancel(Ticket),
    /// A list was answered.
    ListDone(ListId, ListReply),
    /// A read was answered.
    ReadDone(ReadId, ReadReply),
    /// A remove was answered.
    RemoveDone(RemoveId, RemoveReply),
    /// Look at the clock. Early is a no-op, late is normal.
    Wake,
    /// An attempt to write was answered.
    WriteDone(AttemptId, WriteReply),
}

/// What the application asks for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Call {
    /// Own this cell. `wait` bounds the waiting for another owner; zero still allows the requests and the
    /// settling that the claim needs.
    Claim {
        /// The cell.
        cell: CellId,
        /// How long to wait for another owner.
        wait: Duration,
    },
    /// Probe the store and take the lease.
    Join,
    /// Give everything back and end the session.
    Leave,
    /// Find a cell's owner, from an answer not older than `max_age`.
    Locate {
        /// The cell.
        cell: CellId,
        /// How old a remembered answer may be; zero asks the store.
        max_age: Duration,
    },
    /// List the nodes of the fleet.
    Peers,
    /// Publish load and facts about this node with the next renewal.
    Publish {
        /// The load; nothing keeps what was published.
        load: Option<Load>,
        /// The facts; nothing keeps what was published, and so do facts of more than 16 KiB as JSON, together
        /// with the address: a lease that is too long to be read could never be judged.
        meta: Option<BTreeMap<String, String>>,
    },
    /// Give a tenure back.
    Release(Tenure),
    /// Hand a tenure to another node.
    Transfer {
        /// What is handed over.
        tenure: Tenure,
        /// To whom.
        to: NodeId,
    },
    /// End one watch of the cell: one that a [`Outcome::Watched`] began. The last one's end stops the polling.
    Unwatch(CellId),
    /// Ask the store whether a tenure holds: before work done under it is acknowledged.
    Verify(Tenure),
    /// Watch the cell's record: answered with what a first look shows, or the last one if the cell is watched
    /// already, and then told by [`Notice::OwnerChanged`] until [`Call::Unwatch`] or the session's end.
    Watch(CellId),
}

/// What the engine wants done. The driver polls until it says `Idle`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[must_use]
pub enum Command {
    /// The call is answered. The driver owes the caller this outcome.
    Done(Ticket, Outcome),
    /// Nothing more for now: wait for an event, or for `until`, then handle a [`Event::Wake`].
    Idle {
        /// When the engine wants to be woken, if at all.
        until: Option<Deadline>,
    },
    /// Execute a list; the driver owes one [`Event::ListDone`].
    List(ListOp),
    /// Tell the application. The order among commands matters: a tenure's end precedes the write that gives it up.
    Notify(Notice),
    /// Execute a read; the driver owes one [`Event::ReadDone`].
    Read(ReadOp),
    /// Execute a remove; the driver owes one [`Event::RemoveDone`].
    Remove(RemoveOp),
    /// Execute a write; the driver owes one [`Event::WriteDone`].
    Write(WriteOp),
}

/// The answer to a call, of the call's own kind.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// Answers [`Call::Claim`].
    Claimed(Result<Tenure, ClaimError>),
    /// Answers [`Call::Join`].
    Joined(Result<NodeId, JoinError>),
    /// Answers [`Call::Leave`].
    Left,
    /// Answers [`Call::Locate`].
    Located(Result<Location, LocateError>),
    /// Answers [`Call::Peers`].
    Peers(Result<Vec<Peer>, PeersError>),
    /// Answers [`Call::Publish`].
    Published(Result<(), PublishError>),
    /// Answers [`Call::Release`].
    Released(Result<(), ReleaseError>),
    /// Answers [`Call::Transfer`]: the epoch of the offer, which is already the receiver's.
    Transferred(Result<Epoch, TransferError>),
    /// Answers [`Call::Unwatch`].
    Unwatched,
    /// Answers [`Call::Verify`].
    Verified(Result<(), VerifyError>),
    /// Answers [`Call::Watch`]; after an error nothing is watched on that caller's behalf.
    Watched(Result<Owner, WatchError>),
}

/// Something the application should know.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// The lease was taken or renewed: tenures count until then, unless ended earlier.
    Authority {
        /// When authority ends by this node's monotonic clock.
        until: Instant,
    },
    /// A tenure ended because this node gave it up; emitted before the write that gives it up.
    CellEnded(Tenure),
    /// A tenure was lost while the session goes on.
    CellLost {
        /// The tenure.
        tenure: Tenure,
        /// Why.
        reason: LossReason,
    },
    /// The session has ended, and every tenure with it. Emitted once.
    Fenced(FenceCause),
    /// The record of a watched cell says something else than before. Emitted once per change, whatever the number
    /// of watchers; states that came and went between two looks are never seen.
    OwnerChanged {
        /// The cell.
        cell: CellId,
        /// What the record says now.
        owner: Owner,
    },
}

/// Where a cell is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Location {
    /// At another node, whose lease lives.
    At {
        /// The node.
        node: NodeId,
        /// Where it is reached, if it says.
        addr: Option<String>,
        /// The epoch at which it holds the cell.
        epoch: Epoch,
    },
    /// At nobody: never claimed, released, offered, or held by a dead node.
    Free,
    /// At this node.
    Here(Epoch),
}

/// What a cell's record says: advice to a watcher, true when the store was asked.
///
/// It says nothing of whether the owner lives; [`Call::Locate`] finds that out.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Owner {
    /// The record is not one from which ownership can follow.
    Bad(BadRecord),
    /// Nobody holds the cell.
    Free {
        /// The last owner's epoch; nothing if there is no record.
        epoch: Option<Epoch>,
    },
    /// A node holds the cell, as long as its lease lives.
    Held {
        /// The node.
        node: NodeId,
        /// The epoch at which it holds the cell.
        epoch: Epoch,
    },
    /// The cell is offered to a node that has not accepted yet; nobody acts on it.
    Offered {
        /// To whom.
        to: NodeId,
        /// The epoch at which that node would hold the cell.
        epoch: Epoch,
    },
}

/// A node of the fleet.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Peer {
    /// The node.
    pub node: NodeId,
    /// Whether its lease lives by the store's clock.
    pub is_live: bool,
    /// Its lease, if it could be read and parsed.
    pub lease: Option<LeaseRecord>,
}

/// The right to act as a cell's owner: one cell at one epoch.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Tenure {
    /// The cell.
    pub cell: CellId,
    /// The epoch, a fencing token for everything done under it.
    pub epoch: Epoch,
}
