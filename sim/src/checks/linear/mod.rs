//! A second judge, who knows neither the store nor the engines: only what the applications asked, what they were told,
//! and in which order. All of it must look as if there were one lock for each cell, taken and given up at once.
//!
//! What an application was told is an [`Act`](model::Act) of its node, [`model`] says what the lock allows, and
//! [`search`] looks for an order. A call that was refused, or never answered, is left out. It may have taken effect; but
//! an application acts only on what it was told, and then a claim, a release or an offer that nobody was told of makes
//! nothing legal that would not be legal without it: any later claim may skip its epoch.

mod log;
mod model;
mod search;
#[cfg(test)]
mod tests;

use tenure_core::{Call, CellId, Event, Notice, Tenure};

use self::log::Log;
use super::{Check, Violation};
use crate::family::Family;
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// Demands that what the applications were told has an order in which one lock could have told it, and that they
/// acknowledge work only on the word of a `verify`.
#[derive(Clone, Debug, Default, Hash)]
pub struct Linear {
    logs: Vec<Log>,
}

impl Check for Linear {
    fn kinds(&self) -> Kinds {
        Kinds::ACKNOWLEDGED
            .and(Kinds::ASKED)
            .and(Kinds::CLONED)
            .and(Kinds::CRASHED)
            .and(Kinds::DONE)
            .and(Kinds::FINISHED)
            .and(Kinds::NOTICED)
            .and(Kinds::TOLD_CANCEL)
    }

    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let result = match (view.step, view.actor) {
            (Step::Finished, _) => self.each(Log::judge),
            (_, Some(session)) => self.look(view, session),
            (_, None) => Ok(()),
        };
        result.map_err(|why| Violation::new("history", why))
    }
}

impl Linear {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn look(&mut self, view: &View<'_>, session: usize) -> Result<(), String> {
        match view.step {
            Step::Acknowledged(ticket, tenure) => match self.log(view, session, &tenure.cell) {
                Some(log) => log.acknowledged(session, *ticket, tenure.epoch.get()),
                None => Ok(()),
            },
            Step::Asked(ticket, call) => {
                if let Some(log) = cell_of(call).and_then(|cell| self.log(view, session, cell)) {
                    log.asked((session, node(view, session)), *ticket, call);
                }
                if let Call::Transfer { tenure, to } = call
                    && let Some(to) = view.sessions.iter().position(|session| session.id() == to)
                    && let Some(log) = self.log(view, to, &tenure.cell)
                {
                    log.offered(tenure.epoch.get() + 1);
                }
                Ok(())
            }
            Step::Cloned(of) => self.each(|log| {
                log.cloned(*of, session);
                Ok(())
            }),
            Step::Crashed => self.each(|log| {
                log.crashed(session);
                log.settle()
            }),
            Step::Done { ticket, call, outcome, .. } => {
                match cell_of(call).and_then(|cell| self.log(view, session, cell)) {
                    Some(log) => {
                        log.done(view, session, *ticket, call, outcome);
                        log.settle()
                    }
                    None => Ok(()),
                }
            }
            Step::Noticed(Notice::CellEnded(tenure) | Notice::CellLost { tenure, .. }) => {
                match self.log(view, session, &tenure.cell) {
                    Some(log) => {
                        log.ended(view, session, |epoch| epoch == tenure.epoch.get());
                        log.settle()
                    }
                    None => Ok(()),
                }
            }
            Step::Noticed(Notice::Fenced(_)) => self.each(|log| {
                log.ended(view, session, |_| true);
                log.settle()
            }),
            Step::Told(Event::Cancel(ticket)) => self.each(|log| {
                log.cancelled(session, *ticket);
                Ok(())
            }),
            _ => Ok(()),
        }
    }

    fn log(&mut self, view: &View<'_>, session: usize, cell: &CellId) -> Option<&mut Log> {
        let cell = view.cells.iter().position(|known| known == cell)?;
        // Where records are put back by force, epochs begin again, but not for a session that has seen them.
        let of = (view.scenario.family == Family::RecordsRemoved).then(|| node(view, session));
        let place = self.logs.iter().position(|log| log.is_of(cell, of));
        let place = place.unwrap_or_else(|| {
            self.logs.push(Log::new(cell, of));
            self.logs.len() - 1
        });
        self.logs.get_mut(place)
    }

    fn each(&mut self, mut step: impl FnMut(&mut Log) -> Result<(), String>) -> Result<(), String> {
        self.logs.iter_mut().try_for_each(&mut step)
    }
}

/// Returns the node that a session is: clones are one, since what one of them was told the other may have brought about.
fn node(view: &View<'_>, session: usize) -> usize {
    let id = view.sessions[session].id();
    view.sessions.iter().position(|other| other.id() == id).unwrap_or(session)
}

/// Returns the cell whose lock a call is about.
fn cell_of(call: &Call) -> Option<&CellId> {
    match call {
        Call::Claim { cell, .. } => Some(cell),
        Call::Release(Tenure { cell, .. })
        | Call::Transfer { tenure: Tenure { cell, .. }, .. }
        | Call::Verify(Tenure { cell, .. }) => Some(cell),
        Call::Join
        | Call::Leave
        | Call::Locate { .. }
        | Call::Peers
        | Call::Publish { .. }
        | Call::Unwatch(_)
        | Call::Watch(_) => None,
    }
}
