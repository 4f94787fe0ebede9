//! G2: at any instant at most one session answers "I hold this cell".

use tenure_core::Tenure;

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// Asks the engines, each by its own clock, who holds what.
///
/// A tenure that two sessions have at once began for one of them in some step of that session, and time alone
/// only ends tenures: it is enough to look at the cells of the session that has just made a step. A process
/// that stands still is asked too, because a part of it may go on; one that has died is not.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Belief;

impl Check for Belief {
    fn kinds(&self) -> Kinds {
        Kinds::HANDLED
    }

    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Step::Handled { .. }, Some(actor)) = (view.step, view.actor) else { return Ok(()) };
        let held = view.sessions[actor].held();
        if held.is_empty() {
            return Ok(());
        }
        for (number, other) in view.sessions.iter().enumerate() {
            if number == actor || !other.is_running() || other.held().is_empty() {
                continue;
            }
            let until = other.engine().authority();
            if until.is_none_or(|until| until <= view.now(other).mono) {
                continue;
            }
            let theirs = |own: &Tenure| {
                let theirs = other.held().iter().find(|theirs| theirs.cell == own.cell)?;
                Some((own.epoch, theirs))
            };
            if let Some((epoch, Tenure { cell, epoch: theirs })) = held.iter().find_map(theirs) {
                let why = format_args!(
                    "{cell} is held twice: at epoch {} by session {} and at epoch {} by session {}",
                    epoch,
                    actor + 1,
                    theirs,
                    number + 1
                );
                return Err(Violation::new("G2", why));
            }
        }
        Ok(())
    }
}
