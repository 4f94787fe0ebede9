//! The engine's own bookkeeping: indices are true, what waits is woken, nothing is kept for nobody.

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// Asks each engine, after every event, whether its books are in order.
///
/// What goes wrong here may never be seen from outside: an entry that leaks costs memory and nothing else, and a
/// wake-up that is lost shows only where no other event comes to the rescue.
#[derive(Clone, Copy, Debug)]
pub struct Books;

impl Check for Books {
    fn kinds(&self) -> Kinds {
        Kinds::HANDLED
    }

    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Step::Handled { .. }, Some(session)) = (view.step, view.session()) else { return Ok(()) };
        session.engine().check().map_err(|why| Violation::new("books", why))
    }
}
