//! What the applications acknowledged forms a history that one owner after another could have made.

use tenure_core::{Call, Epoch, Ticket};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// Demands that epochs never fall from one acknowledged operation to a later one.
///
/// An operation lasts from its `verify` to its acknowledgement. Of two that overlap either may come first; of
/// two that do not, the later must not carry the lower epoch.
#[derive(Clone, Debug, Default, Hash)]
pub struct History {
    /// For each cell, the highest epoch acknowledged so far.
    highest: Vec<Option<Epoch>>,
    /// For each open `verify`, the highest epoch acknowledged before it was asked.
    open: Vec<(usize, Ticket, Option<Epoch>)>,
}

impl Check for History {
    fn kinds(&self) -> Kinds {
        Kinds::ACKNOWLEDGED.and(Kinds::ASKED).and(Kinds::CLONED).and(Kinds::CRASHED)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let Some(actor) = view.actor else { return Ok(()) };
        match view.step {
            Step::Asked(ticket, Call::Verify(tenure)) => {
                if let Some(cell) = view.cells.iter().position(|cell| *cell == tenure.cell) {
                    self.highest.resize(view.cells.len(), None);
                    self.open.push((actor, *ticket, self.highest[cell]));
                }
                Ok(())
            }
            Step::Acknowledged(ticket, tenure) => {
                let Some(cell) = view.cells.iter().position(|cell| *cell == tenure.cell) else {
                    return Ok(());
                };
                let Some(place) = self.open.iter().position(|open| (open.0, open.1) == (actor, *ticket))
                else {
                    return Err(Violation::new("history", "acknowledged without having asked"));
                };
                let (_, _, floor) = self.open.swap_remove(place);
                self.highest[cell] = self.highest[cell].max(Some(tenure.epoch));
                match floor {
                    Some(floor) if floor > tenure.epoch => {
                        let why = format_args!(
                            "{} was acknowledged at epoch {} after epoch {floor}",
                            tenure.cell, tenure.epoch
                        );
                        Err(Violation::new("history", why))
                    }
                    Some(_) | None => Ok(()),
                }
            }
            Step::Cloned(of) => {
                let asked = self.open.iter().filter(|open| open.0 == *of);
                let clones: Vec<_> = asked.map(|&(_, ticket, floor)| (actor, ticket, floor)).collect();
                self.open.extend(clones);
                Ok(())
            }
            Step::Crashed => {
                self.open.retain(|open| open.0 != actor);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
