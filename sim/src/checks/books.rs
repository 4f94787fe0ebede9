//! The engine's own bookkeeping: indices are true, what waits is woken, nothing is kept for nobody.

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::node::Session;
use crate::view::{Step, View};

/// Asks the engines whether their books are in order: after some of their events, and at the end of the world.
///
/// What goes wrong here may never be seen from outside: an entry that leaks costs memory and nothing else, and a
/// wake-up that is lost shows only where no other event comes to the rescue. To ask takes longer than most events do,
/// so that a world seldom does: books that are out of order mostly stay so. Tests ask after every event.
#[derive(Clone, Copy, Debug)]
pub struct Books {
    every: u32,
    left: u32,
}

impl Books {
    /// Asks after every event.
    pub const fn always() -> Self {
        Self { every: 1, left: 1 }
    }
}

impl Default for Books {
    fn default() -> Self {
        Self { every: EVERY, left: EVERY }
    }
}

impl Check for Books {
    fn kinds(&self) -> Kinds {
        Kinds::FINISHED.and(Kinds::HANDLED)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        match view.step {
            Step::Handled { .. } => {
                self.left -= 1;
                if self.left > 0 {
                    return Ok(());
                }
                self.left = self.every;
                view.session().map_or(Ok(()), look)
            }
            Step::Finished => view.sessions.iter().try_for_each(look),
            _ => Ok(()),
        }
    }
}

fn look(session: &Session) -> Result<(), Violation> {
    session.engine().check().map_err(|why| Violation::new("books", why))
}

/// After how many events of a world one engine is asked.
const EVERY: u32 = 16;
