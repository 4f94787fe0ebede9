//! A watch shows what the record says: nothing that it never said, nothing twice, and nothing older than before.

use tenure_core::{Call, CellId, Key, Notice, Outcome, Owner};

use super::{Check, Violation};
use crate::view::{Kinds, Step, View};
use crate::watched::is_owner;

/// Follows what each session was shown through the history of the record.
///
/// That what is shown becomes current is a matter of time, and judged when the world is calm.
#[derive(Debug, Default)]
pub struct Watches {
    /// For each session and cell, how many versions the record had, at least, when what was shown last was current.
    seen: Vec<(usize, CellId, usize)>,
}

impl Check for Watches {
    fn kinds(&self) -> Kinds {
        Kinds::DONE.and(Kinds::NOTICED)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Some(actor), Some(session)) = (view.actor, view.session()) else { return Ok(()) };
        let found = match view.step {
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
        let history = view.store.history(Key::owner(cell).as_str());
        let last = self.seen.iter_mut().find(|(session, known, _)| *session == actor && known == cell);
        let from = last.as_ref().map_or(0, |(_, _, count)| count + usize::from(is_change));
        let is_it = |count: &usize| is_owner(owner, count.checked_sub(1).map(|place| &history[place]));
        let Some(count) = (from..=history.len()).find(is_it) else {
            return Err(format!("shown {owner:?}, which the record of {cell} has not said since"));
        };
        match last {
            Some(last) => last.2 = count,
            None => self.seen.push((actor, cell.clone(), count)),
        }
        Ok(())
    }
}
