//! What a session remembers of cells it no longer works on: the highest epoch seen, and its own last release.

use crate::id::{CellId, ETag, Epoch};
use crate::lru::Lru;

/// The last cells seen, bounded.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Memory(Lru<CellId, Seen>);

#[derive(Clone, Debug, Hash)]
struct Seen {
    epoch: Epoch,
    /// The tag of our own release, if that was the last thing seen: a claim may start from it.
    released: Option<ETag>,
}

/// How many cells are remembered.
const REMEMBERED: usize = 65_536;

impl Memory {
    pub(crate) fn new() -> Self {
        Self(Lru::new(REMEMBERED))
    }

    /// Remembers that the cell was seen at `epoch`; never forgets a higher one. Our own release stays known
    /// until a higher epoch is seen.
    pub(crate) fn note(&mut self, cell: &CellId, epoch: Epoch) {
        match self.0.renew(cell) {
            Some(seen) if seen.epoch >= epoch => {}
            Some(seen) => *seen = Seen { epoch, released: None },
            None => self.0.insert(cell.clone(), Seen { epoch, released: None }),
        }
    }

    /// Remembers our own release, unless the record is known to have moved on already.
    pub(crate) fn note_release(&mut self, cell: &CellId, epoch: Epoch, etag: ETag) {
        match self.epoch(cell) {
            Some(seen) if seen > epoch => self.note(cell, seen),
            Some(_) | None => self.0.insert(cell.clone(), Seen { epoch, released: Some(etag) }),
        }
    }

    /// Returns the highest epoch seen.
    pub(crate) fn epoch(&self, cell: &CellId) -> Option<Epoch> {
        self.0.get(cell).map(|seen| seen.epoch)
    }

    /// Returns the epoch and tag of our own release, once: if the record has moved on, it is no use again.
    pub(crate) fn take_release(&mut self, cell: &CellId) -> Option<(Epoch, ETag)> {
        self.0.get(cell)?.released.as_ref()?;
        let seen = self.0.renew(cell)?;
        seen.released.take().map(|etag| (seen.epoch, etag))
    }
}
