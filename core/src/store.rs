//! The store as the engine sees it: four operations, and replies that keep apart what must not be confused.
//!
//! Nothing below the engine retries, follows a redirect or interprets an answer: every operation is one
//! request and gets exactly one reply. A driver that gives up on a request says [`WriteReply::Unknown`].

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use crate::digits;
use crate::id::{CellId, ETag, NodeId};
use crate::time::StoreTime;

/// More bytes than a key has: a cell's name of 255 and what stands around it.
const KEY_MAX: usize = 288;

/// The key of an object, relative to the prefix that the store was opened with.
#[derive(Clone, Debug, Eq, Ord, PartialOrd)]
pub struct Key(Arc<str>);

impl Key {
    /// Where all leases live; the prefix of [`Key::lease`].
    pub const LEASES: &'static str = "nodes/";
    /// Where all owner records live; the prefix of [`Key::owner`].
    pub const OWNERS: &'static str = "cells/";

    /// Returns the key of a cell's owner record.
    pub fn owner(cell: &CellId) -> Self {
        cell.key().clone()
    }

    /// Returns the key of a node's lease.
    pub fn lease(node: &NodeId) -> Self {
        node.key().clone()
    }

    /// Returns the key of the marker that outlives a cleaned lease.
    pub fn retired(node: &NodeId) -> Self {
        Self::join(["retired/", node.as_str(), ".json"])
    }

    /// Returns the key of a probe object.
    pub fn probe(number: u64) -> Self {
        Self::join(["probe/", digits::hexadecimal(number, &mut [0; 20])])
    }

    /// Puts a key together where it costs no allocation but its own.
    pub(crate) fn join<const N: usize>(parts: [&str; N]) -> Self {
        let mut buffer = [0; KEY_MAX];
        let mut end = 0;
        for part in parts {
            buffer[end..end + part.len()].copy_from_slice(part.as_bytes());
            end += part.len();
        }
        Self(core::str::from_utf8(&buffer[..end]).expect("texts, one after the other, are text").into())
    }

    /// Tells whether the two are copies of one key, which makes them equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the cell whose owner record has this key, if one has.
    pub fn cell(text: &str) -> Option<CellId> {
        CellId::new(text.strip_prefix(Self::OWNERS)?.strip_suffix("/own.json")?).ok()
    }

    /// Returns the node whose lease has this key, if one has.
    pub fn node(text: &str) -> Option<NodeId> {
        NodeId::parse(text.strip_prefix(Self::LEASES)?.strip_suffix(".json")?).ok()
    }
}

/// By text. Most keys that are equal are copies of one, and need not be read.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.0 == other.0
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! op_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(u64);

        impl $name {
            /// Takes a number that no other request of the same kind has.
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// Returns the number.
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}

op_id! {
    /// One attempt to send one write. A write that is sent again is a new attempt of the same bytes.
    AttemptId, "w"
}
op_id! {
    /// One list request.
    ListId, "l"
}
op_id! {
    /// One read request.
    ReadId, "r"
}
op_id! {
    /// One remove request.
    RemoveId, "d"
}

/// Reads one object.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ReadOp {
    /// Names this request in its reply.
    pub id: ReadId,
    /// What to read.
    pub key: Key,
    /// The version we know; the store may answer [`ReadReply::Unchanged`] if it is still there.
    pub unless: Option<ETag>,
    /// After this long the driver gives up and replies.
    pub timeout: Duration,
}

/// Writes one object, if its guard holds. There is no way to spell an unguarded write.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct WriteOp {
    /// Names this request in its reply.
    pub id: AttemptId,
    /// What to write.
    pub key: Key,
    /// What must be there for the write to happen.
    pub guard: Guard,
    /// The bytes to store.
    pub body: Arc<[u8]>,
    /// After this long the driver gives up and replies [`WriteReply::Unknown`].
    pub timeout: Duration,
}

/// What must hold at the store for a write to be applied.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Guard {
    /// No object has this key (`If-None-Match: *`).
    Absent,
    /// The current version has this tag (`If-Match`).
    Match(ETag),
}

/// Asks for one page of keys.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ListOp {
    /// Names this request in its reply.
    pub id: ListId,
    /// Only keys that start with this text are listed; relative to the store's prefix, like every key.
    pub prefix: Arc<str>,
    /// Where the previous page ended, as [`Page::next`] said it.
    pub after: Option<Arc<str>>,
    /// After this long the driver gives up and replies.
    pub timeout: Duration,
}

/// Removes a probe object or a retired lease; never an owner record.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RemoveOp {
    /// Names this request in its reply.
    pub id: RemoveId,
    /// What to remove.
    pub key: Key,
    /// After this long the driver gives up and replies.
    pub timeout: Duration,
}

/// Any one operation: what a driver's `Store` executes.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Op {
    /// Ask for one page of keys.
    List(ListOp),
    /// Read one object.
    Read(ReadOp),
    /// Remove one object.
    Remove(RemoveOp),
    /// Write one object under its guard.
    Write(WriteOp),
}

/// The answer to any one operation, of the operation's own kind.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Reply {
    /// Answers [`Op::List`].
    List(ListReply),
    /// Answers [`Op::Read`].
    Read(ReadReply),
    /// Answers [`Op::Remove`].
    Remove(RemoveReply),
    /// Answers [`Op::Write`].
    Write(WriteReply),
}

/// The answer to a read.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ReadReply {
    /// Nothing is known: in particular not that the object is absent.
    Failed(Fault),
    /// The current version.
    Found {
        /// Its tag.
        etag: ETag,
        /// Its bytes. A store may cut what is longer than a record can be ([`RECORD_MAX`](crate::RECORD_MAX))
        /// behind one byte more: no record can be read from that.
        body: Box<[u8]>,
        /// The store's clock.
        stamps: Stamps,
    },
    /// No object has this key.
    Missing,
    /// The store asks us to slow down; nothing is known.
    Throttled {
        /// How long it asks us to wait, if it says.
        after: Option<Duration>,
    },
    /// The version named by [`ReadOp::unless`] is still the current one.
    Unchanged(Stamps),
}

/// The answer to a write.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum WriteReply {
    /// In the store, under this tag.
    Applied {
        /// The tag of the new version.
        etag: ETag,
    },
    /// A concurrent operation interfered (409); this attempt was not applied.
    Conflict,
    /// This attempt was certainly not applied: no byte left, or it was refused before it was evaluated and
    /// the cause has since been corrected. It may be sent again.
    NotApplied(Fault),
    /// Never acceptable as it is: credentials, bucket, region, redirect, malformed. Not applied, and no use
    /// in sending it again blindly. It says nothing about an earlier attempt.
    Refused(Fault),
    /// The guard did not hold for this attempt; an earlier copy of the same write may have won.
    Rejected,
    /// Not applied; back off on this key and send the same bytes again.
    Throttled {
        /// How long the store asks us to wait, if it says.
        after: Option<Duration>,
    },
    /// It may have been applied, may yet be, or is lost.
    Unknown(Fault),
}

/// The answer to a list.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum ListReply {
    /// Nothing is known.
    Failed(Fault),
    /// One page.
    Page(Page),
    /// The store asks us to slow down.
    Throttled {
        /// How long it asks us to wait, if it says.
        after: Option<Duration>,
    },
}

impl ReadReply {
    /// Returns what kept the store from a useful answer, if anything did.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match self {
            Self::Failed(fault) => Some(fault.clone()),
            Self::Throttled { .. } => Some(Fault::new(FaultKind::Throttled, "")),
            Self::Found { .. } | Self::Missing | Self::Unchanged(_) => None,
        }
    }
}

impl WriteReply {
    /// Returns what kept the store from a useful answer, if anything did.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match self {
            Self::NotApplied(fault) | Self::Refused(fault) | Self::Unknown(fault) => Some(fault.clone()),
            Self::Throttled { .. } => Some(Fault::new(FaultKind::Throttled, "")),
            Self::Applied { .. } | Self::Conflict | Self::Rejected => None,
        }
    }
}

impl ListReply {
    /// Returns what kept the store from a useful answer, if anything did.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match self {
            Self::Failed(fault) => Some(fault.clone()),
            Self::Throttled { .. } => Some(Fault::new(FaultKind::Throttled, "")),
            Self::Page(_) => None,
        }
    }
}

/// One page of a listing.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Page {
    /// The objects, in key order.
    pub entries: Vec<Entry>,
    /// Where the next page starts; nothing when this is the last.
    pub next: Option<Arc<str>>,
    /// The time of the answer by the store's clock.
    pub date: Option<StoreTime>,
}

/// One object in a listing.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Entry {
    /// Its key, relative to the store's prefix.
    pub key: String,
    /// The tag of the listed version, if the listing says.
    pub etag: Option<ETag>,
    /// When that version was stored, by the store's clock.
    pub modified: Option<StoreTime>,
}

/// The answer to a remove.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum RemoveReply {
    /// Nothing is known.
    Failed(Fault),
    /// The object is gone, or was never there.
    Removed,
}

/// The store's own clock, as far as one answer shows it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Stamps {
    /// When the version in the answer was stored (`Last-Modified`).
    pub modified: Option<StoreTime>,
    /// When the answer was given (`Date`).
    pub date: Option<StoreTime>,
}

/// What went wrong between us and the store.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Fault {
    /// What kind of trouble it is, which decides what may follow.
    pub kind: FaultKind,
    /// What the store or the network said, and what to do about it: for people.
    pub detail: Arc<str>,
}

/// The kinds of trouble with a store.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum FaultKind {
    /// Bucket, region, endpoint or another setting is wrong.
    Config,
    /// Credentials are missing, wrong or lack a right.
    Denied,
    /// The answer makes no sense.
    Malformed,
    /// The connection failed or broke.
    Network,
    /// The store keeps asking us to slow down.
    Throttled,
    /// No answer came in time.
    TimedOut,
    /// The store said it cannot serve us now.
    Unavailable,
    /// The store cannot do what we need, such as a conditional write.
    Unfit,
}

impl Fault {
    /// Builds a fault.
    pub fn new(kind: FaultKind, detail: impl Into<Arc<str>>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FaultKind::Config => "the store's address or settings are wrong",
            FaultKind::Denied => "the store denied access",
            FaultKind::Malformed => "the store's answer makes no sense",
            FaultKind::Network => "the connection to the store failed",
            FaultKind::Throttled => "the store is throttling us",
            FaultKind::TimedOut => "the store did not answer in time",
            FaultKind::Unavailable => "the store is unavailable",
            FaultKind::Unfit => "the store cannot be used",
        };
        f.write_str(what)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

impl core::error::Error for Fault {}
