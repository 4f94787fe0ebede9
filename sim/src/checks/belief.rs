//! G2: at any instant at most one session answers "I hold this cell".

use super::{Check, Violation};
use crate::view::{Step, View};

/// Asks the engines, each by its own clock, who holds what.
///
/// A tenure that two sessions have at once began for one of them in some step of that session, and time alone
/// only ends tenures: it is enough to look at the cells of the session that has just made a step. A process
/// that stands still is asked too, because a part of it may go on; one that has died is not.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Belief;

impl Check for Belief {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Step::Handled { now, .. }, Some(session), Some(actor)) = (view.step, view.session(), view.actor)
        else {
            return Ok(());
        };
        for cell in view.cells {
            let Some(tenure) = session.engine().tenure(cell, *now) else { continue };
            let rival = view.sessions.iter().enumerate().find_map(|(number, other)| {
                if number == actor || !other.is_running() {
                    return None;
                }
                other.engine().tenure(cell, view.now(other)).map(|theirs| (number, theirs))
            });
            if let Some((number, theirs)) = rival {
                let why = format_args!(
                    "{cell} is held twice: at epoch {} by session {} and at epoch {} by session {}",
                    tenure.epoch,
                    actor + 1,
                    theirs.epoch,
                    number + 1
                );
                return Err(Violation::new("G2", why));
            }
        }
        Ok(())
    }
}
