//! A handle that follows what a cell's record says.

use tenure_blocking::session::Watching;
use tenure_core::{CellId, Owner};

/// A watch of one cell: what its record says, whoever holds it, looked at once per poll interval.
///
/// Each watch remembers what it has seen, clones for themselves; however many watch a cell, it is looked at once.
/// Dropping the last watch of a cell ends that. What is seen is advice, true when the store was asked: it may
/// be outdated, and a node that died goes on being named until another takes the cell. Only
/// [`Cell::verify`](crate::Cell::verify) proves anything.
#[derive(Clone, Debug)]
pub struct Watch {
    watching: Watching,
}

impl Watch {
    pub(crate) fn new(watching: Watching) -> Self {
        Self { watching }
    }

    /// Returns the cell's name.
    pub fn id(&self) -> &CellId {
        self.watching.cell()
    }

    /// Returns what the record said when this watch last looked: at first, and with each [`Self::changed`].
    pub fn current(&self) -> &Owner {
        self.watching.seen()
    }

    /// Resolves when the record says something else than [`Self::current`], and tells what; nothing once the
    /// session has ended. Of several changes since the last call only the latest is told. Dropping the future
    /// only stops listening: the change is told by the next.
    pub async fn changed(&mut self) -> Option<&Owner> {
        let turn = self.watching.turn().listen().await;
        self.watching.follow(turn)
    }

    /// Tells whether the session has ended, after which nothing is looked at. Asks nobody.
    pub fn is_over(&self) -> bool {
        self.watching.session().fence().get().is_some()
    }
}
