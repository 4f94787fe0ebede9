//! What a watched cell's record says, as its watchers see it: the latest state, never a queue.
//!
//! Each state comes with a latch that is set when the state is no longer the latest. A watcher waits for the
//! latch of the state it has seen, and then takes whatever is the latest by that time.

use core::fmt;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{CellId, Owner, Ticket, WatchError};

use super::{Input, Latch, Session};

/// What became of a state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// Another one followed.
    Changed,
    /// The session ended: none will follow.
    Ended,
}

/// One watcher of a cell. Its clones see for themselves; dropping the last asks for the end of the watch.
#[derive(Clone, Debug)]
pub struct Watching {
    latest: Arc<Latest>,
    seen: Sight,
    place: Arc<Place>,
}

impl Watching {
    /// Returns the cell.
    pub fn cell(&self) -> &CellId {
        &self.place.cell
    }

    /// Returns the session it belongs to.
    pub fn session(&self) -> &Session {
        &self.place.session
    }

    /// Returns the state that this watcher has seen.
    pub fn seen(&self) -> &Owner {
        &self.seen.owner
    }

    /// Returns the latch that is set when the state that was seen is not the latest any more.
    pub fn turn(&self) -> &Latch<Turn> {
        &self.seen.turn
    }

    /// Goes on to the latest state after that turn, if there is another.
    pub fn follow(&mut self, turn: Turn) -> Option<&Owner> {
        match turn {
            Turn::Changed => {
                self.seen = self.latest.lock().clone();
                Some(&self.seen.owner)
            }
            Turn::Ended => None,
        }
    }
}

/// The latest state of one cell's record, for all who watch it.
#[derive(Debug)]
struct Latest(Mutex<Sight>);

#[derive(Clone, Debug)]
struct Sight {
    owner: Owner,
    turn: Arc<Latch<Turn>>,
}

impl Sight {
    fn new(owner: Owner) -> Self {
        Self { owner, turn: Arc::new(Latch::new()) }
    }
}

impl Latest {
    fn change(&self, owner: Owner) {
        // The new state first: who is woken finds it.
        let before = core::mem::replace(&mut *self.lock(), Sight::new(owner));
        before.turn.set(Turn::Changed);
    }

    fn end(&self) {
        let last = Arc::clone(&self.lock().turn);
        last.set(Turn::Ended);
    }

    // No code that can panic or is not ours runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Sight> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watcher's place among those whom the engine counts.
struct Place {
    cell: CellId,
    session: Arc<Session>,
}

impl Drop for Place {
    fn drop(&mut self) {
        (self.session.inbox)(Input::Unwatched(self.cell.clone()));
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, session: _ } = self;
        f.debug_struct("Place").field("cell", cell).finish_non_exhaustive()
    }
}

/// The pump's part: who asked to watch, and what those are shown who do.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    asked: BTreeMap<Ticket, CellId>,
    cells: BTreeMap<CellId, Watched>,
}

#[derive(Debug)]
struct Watched {
    latest: Arc<Latest>,
    /// How many watch, as the engine counts.
    count: u64,
}

impl Watchers {
    /// Remembers which cell a call is about.
    pub(super) fn ask(&mut self, ticket: Ticket, cell: CellId) {
        self.asked.insert(ticket, cell);
    }

    /// Makes the watcher of an answered call; nothing if no handle of the session is left to receive it.
    pub(super) fn answer(
        &mut self,
        ticket: Ticket,
        result: Result<Owner, WatchError>,
        session: Option<Arc<Session>>,
    ) -> Option<Result<Watching, WatchError>> {
        let cell = self.asked.remove(&ticket)?;
        let owner = match result {
            Ok(owner) => owner,
            Err(error) => return Some(Err(error)),
        };
        let session = session?;
        let watched = self
            .cells
            .entry(cell.clone())
            .or_insert_with(|| Watched { latest: Arc::new(Latest(Mutex::new(Sight::new(owner)))), count: 0 });
        watched.count += 1;
        let latest = Arc::clone(&watched.latest);
        let seen = latest.lock().clone();
        Some(Ok(Watching { latest, seen, place: Arc::new(Place { cell, session }) }))
    }

    /// Shows all watchers of the cell what its record says now.
    pub(super) fn change(&self, cell: &CellId, owner: Owner) {
        if let Some(watched) = self.cells.get(cell) {
            watched.latest.change(owner);
        }
    }

    /// Takes one watcher away.
    pub(super) fn leave(&mut self, cell: CellId) {
        if let Entry::Occupied(mut watched) = self.cells.entry(cell) {
            watched.get_mut().count -= 1;
            if watched.get().count == 0 {
                watched.remove();
            }
        }
    }

    /// Tells every watcher that the session has ended.
    pub(super) fn end(&mut self) {
        for watched in core::mem::take(&mut self.cells).into_values() {
            watched.latest.end();
        }
    }
}
