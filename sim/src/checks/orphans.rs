//! Nothing is orphaned: a record names no living session that neither holds the cell nor works on it.
//!
//! Nobody else could take such a cell for as long as that session lives, and it knows of nothing to be done.

use tenure_core::{Call, Holder, Key};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// Compares records with what the sessions that they name are at: when a session has answered something, when its
/// process dies, and all of them at the end of the storm and of the world. One that leaves may abandon what it cannot
/// give back in time: its lease ends with it.
#[derive(Clone, Debug, Default, Hash)]
pub struct Orphans {
    /// The sessions that were asked to leave.
    leaving: Vec<usize>,
}

impl Check for Orphans {
    fn kinds(&self) -> Kinds {
        Kinds::ASKED.and(Kinds::CRASHED).and(Kinds::DONE).and(Kinds::FINISHED).and(Kinds::HEALED)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        match view.step {
            Step::Asked(_, Call::Leave) => {
                self.leaving.extend(view.actor);
                Ok(())
            }
            Step::Crashed | Step::Done { .. } => view.actor.map_or(Ok(()), |actor| self.look(view, actor)),
            Step::Finished | Step::Healed => {
                let is_running = |number: &usize| view.sessions[*number].is_running();
                (0..view.sessions.len()).filter(is_running).try_for_each(|number| self.look(view, number))
            }
            _ => Ok(()),
        }
    }
}

impl Orphans {
    fn look(&self, view: &View<'_>, number: usize) -> Result<(), Violation> {
        let session = &view.sessions[number];
        let engine = session.engine();
        let has_authority = engine.authority().is_some_and(|until| until > view.now(session).mono);
        if !has_authority || self.leaving.contains(&number) {
            return Ok(());
        }
        for cell in view.cells {
            let last = view.store.history(Key::owner(cell).as_str()).last();
            let record = last.and_then(|version| version.owner.as_ref());
            let is_named = record.is_some_and(|record| record.holder() == Holder::Node(session.id()));
            if is_named && !engine.is_at_work(cell) {
                let why =
                    format_args!("{cell} names {}, which neither holds it nor works on it", session.id());
                return Err(Violation::new("orphans", why));
            }
        }
        Ok(())
    }
}
