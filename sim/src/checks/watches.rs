//! A watch shows what the record says: nothing that it never said, nothing twice, and nothing older than before.

use tenure_core::{Call, CellId, Key, Notice, Outcome, Owner};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::{Step, View};
use crate::watched::is_owner;

/// Follows what each session was shown through the history of the record.
///
/// That what is shown becomes current is a matter of time, and judged when the world is calm.
#[derive(Debug, Default)]
pub struct Watches {
    seen: Vec<Seen>,
}

/// What a session was shown of a cell.
#[derive(Clone, Debug)]
struct Seen {
    session: usize,
    cell: CellId,
    /// How many versions the record had, at least, when what was shown last was current.
    count: usize,
    /// Whether an answer of garbage came since then, and was shown as such.
    was_garbled: bool,
}

impl Check for Watches {
    fn kinds(&self) -> Kinds {
        Kinds::CLONED.and(Kinds::DONE).and(Kinds::NOTICED)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Some(actor), Some(session)) = (view.actor, view.session()) else { return Ok(()) };
        let found = match view.step {
            Step::Cloned(of) => {
                let seen: Vec<Seen> = self.seen.iter().filter(|seen| seen.session == *of).cloned().collect();
                self.seen.extend(seen.into_iter().map(|seen| Seen { session: actor, ..seen }));
                Ok(())
            }
            Step::Done { call: Call::Watch(cell), outcome: Outcome::Watched(Ok(owner)), .. } => {
                self.shown(view, actor, (cell, owner), false)
            }
            Step::Noticed(Notice::OwnerChanged { cell, owner }) => {
                let watches =
                    |cell: &CellId| session.watched().iter().any(|own| own.cell == *cell && own.watchers > 0);
                if watches(cell) {
                    self.shown(view, actor, (cell, owner), true)
                } else {
                    Err(format!("told of {cell}, which it does not watch"))
                }
            }
            _ => Ok(()),
        };
        found.map_err(|why| Violation::new("watches", format_args!("session {} is {why}", actor + 1)))
    }
}

impl Watches {
    /// Finds the first state of the record, from the one shown last on, that is what is shown now.
    fn shown(
        &mut self,
        view: &View<'_>,
        actor: usize,
        (cell, owner): (&CellId, &Owner),
        is_change: bool,
    ) -> Result<(), String> {
        let key = Key::owner(cell);
        let history = view.store.history(key.as_str());
        let mut last = self.seen.iter_mut().find(|seen| seen.session == actor && seen.cell == *cell);
        let from = last.as_ref().map_or(0, |seen| seen.count + usize::from(is_change && !seen.was_garbled));
        let is_it = |count: &usize| is_owner(owner, count.checked_sub(1).map(|place| &history[place]));
        let Some(count) = (from..=history.len()).find(is_it) else {
            // Bytes that make no sense are shown for what they are, whether they are the record's or the answer's.
            if matches!(owner, Owner::Bad(_)) && view.session().is_some_and(|own| own.was_garbled(&key)) {
                match &mut last {
                    Some(seen) => seen.was_garbled = true,
                    None => self.seen.push(Seen {
                        session: actor,
                        cell: cell.clone(),
                        count: 0,
                        was_garbled: true,
                    }),
                }
                return Ok(());
            }
            return Err(format!("shown {owner:?}, which the record of {cell} has not said since"));
        };
        match last {
            Some(seen) => (seen.count, seen.was_garbled) = (count, false),
            None => self.seen.push(Seen { session: actor, cell: cell.clone(), count, was_garbled: false }),
        }
        Ok(())
    }
}
