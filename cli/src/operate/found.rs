//! What stands where a cell's record should be.

use core::fmt;
use core::time::Duration;
use std::thread;

use serde_json::{Value, json};
use tenure_blocking::ownership::Stored;
use tenure_core::{CellId, ETag, Guard, Holder, Key, NodeId, OwnerRecord};

use crate::exit::Failure;
use crate::inspect::{Inspector, LifeState};

/// How often garbage must be read, with nothing else in between, to be believed.
const ALIKE: u32 = 3;
/// How often to look for that at most.
const LOOKS: u32 = 6;
/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// How much of a corrupt record people are shown.
const EXCERPT: usize = 200;

/// What was read, and the version that it was.
#[derive(Debug)]
pub(super) enum Found {
    Corrupt {
        etag: ETag,
        body: Box<[u8]>,
        why: String,
    },
    Missing,
    /// `owner` is whether the owner's lease lives, if it has one.
    Sound {
        etag: ETag,
        record: OwnerRecord,
        owner: Option<LifeState>,
    },
}

impl Found {
    /// Reads the record of a cell.
    ///
    /// # Errors
    /// Says why the store cannot be asked, or that it has another answer each time.
    pub(super) fn look(cell: &CellId, store: &Inspector) -> Result<Self, Failure> {
        let key = Key::owner(cell);
        let (mut alike, mut last) = (0, None);
        for look in 1..=LOOKS {
            let Some(Stored { etag, body, .. }) = store.record(cell)? else { return Ok(Self::Missing) };
            let why = match OwnerRecord::parse(&body) {
                Ok(record) => return Self::sound(etag, record, store),
                Err(why) => why.to_string(),
            };
            // Something before the store may have answered in its stead: that is no state of the record.
            alike = if last.as_ref() == Some(&(etag.clone(), body.clone())) { alike + 1 } else { 1 };
            if alike == ALIKE {
                return Ok(Self::Corrupt { etag, body, why });
            }
            last = Some((etag, body));
            if look < LOOKS {
                // Nothing can wake this thread early, and it has nothing else to do.
                thread::park_timeout(PAUSE);
            }
        }
        Err(Failure::inconsistent(format_args!("{key} is no record, and another one at each look"))
            .with("key", key.as_str()))
    }

    fn sound(etag: ETag, record: OwnerRecord, store: &Inspector) -> Result<Self, Failure> {
        let owner = match record.holder() {
            Holder::Node(node) => Some(store.life(node)?.state),
            Holder::Nobody | Holder::OfferedTo(_) => None,
        };
        Ok(Self::Sound { etag, record, owner })
    }

    /// Returns what must still be there when it is replaced.
    pub(super) fn guard(&self) -> Guard {
        match self {
            Self::Corrupt { etag, .. } | Self::Sound { etag, .. } => Guard::Match(etag.clone()),
            Self::Missing => Guard::Absent,
        }
    }

    /// Returns the beginning of what is no record, for people.
    pub(super) fn excerpt(&self) -> Option<String> {
        match self {
            Self::Corrupt { body, .. } if !body.is_empty() => {
                let text = String::from_utf8_lossy(body);
                let start: String = text.chars().take(EXCERPT).collect();
                Some(if start.len() < text.len() { format!("{start}...") } else { start })
            }
            Self::Corrupt { .. } | Self::Missing | Self::Sound { .. } => None,
        }
    }

    /// Returns it for programs; what is overwritten is not to be had from the store any more.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Corrupt { etag, body, why } => json!({
                "node": "", "epoch": 0, "state": "corrupt", "etag": etag.to_string(), "why": why,
                "text": String::from_utf8_lossy(body),
            }),
            Self::Missing => json!({ "node": "", "epoch": 0, "state": "free" }),
            Self::Sound { etag, record, owner } => {
                let state = match (record.holder(), owner) {
                    (Holder::Nobody, _) => "released",
                    (Holder::OfferedTo(_), _) => "offered",
                    (Holder::Node(_), owner) => owner.unwrap_or(LifeState::Unknown).of_cell(),
                };
                let node = record.node.as_ref().map_or("", NodeId::as_str);
                json!({ "node": node, "epoch": record.epoch.get(), "state": state, "etag": etag.to_string() })
            }
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { etag, why, .. } => write!(f, "corrupt (etag {etag}): {why}"),
            Self::Missing => f.write_str("missing"),
            Self::Sound { record, owner, .. } => match record.holder() {
                Holder::Nobody => write!(f, "released at epoch {}", record.epoch),
                Holder::OfferedTo(node) => write!(f, "offered to {node} at epoch {}", record.epoch),
                Holder::Node(node) => {
                    let life = owner.map_or("unknown", LifeState::as_str);
                    write!(f, "owned by {node} at epoch {}, whose lease is {life}", record.epoch)
                }
            },
        }
    }
}
