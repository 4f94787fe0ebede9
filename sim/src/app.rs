//! The application on top of an engine: the logic that a world puts to the test.

use core::fmt;

use tenure_core::{Call, CellId, NodeId, Notice, Outcome, Ticket};

use crate::context::Context;

/// An application: what one process does with its cells.
///
/// Each process has a value of its own, made by the factory given to [`World::with_app`](crate::World::with_app).
/// When the process dies the value is gone, and the next process on that machine begins with a new one: it *is* the
/// process's memory. What survives a crash (a database, a queue, a downstream service) is what the factory shares
/// between all the values, in an `Rc<RefCell<..>>` say.
///
/// The world joins on the application's behalf. From then on it calls these methods, one at a time, and never while
/// the process stands still: a long pause lies between two calls. What an application may do about it, a [`Context`]
/// says. Once the session has ended the process dies sooner or later, and is started again.
///
/// Only [`on_turn`](Self::on_turn) must be there.
pub trait App: fmt::Debug {
    /// Does the next thing: comes again and again, at the world's pace, and when [`Context::turn_after`] asked for it.
    fn on_turn(&mut self, ctx: &mut Context<'_>);

    /// Takes the answer to a call that it asked by [`Context::ask`]. The ticket is the one which that returned.
    fn on_answer(&mut self, ticket: Ticket, call: &Call, outcome: &Outcome, ctx: &mut Context<'_>) {
        let _ = (ticket, call, outcome, ctx);
    }

    /// Takes a notice: a tenure or the session has ended, a watched record has changed, the lease was renewed.
    fn on_notice(&mut self, notice: &Notice, ctx: &mut Context<'_>) {
        let _ = (notice, ctx);
    }

    /// Takes what another node's application said by [`Context::tell`].
    fn on_message(&mut self, from: &NodeId, text: &str, ctx: &mut Context<'_>) {
        let _ = (from, text, ctx);
    }

    /// Returns the memory of a process that is cloned as it runs, a virtual machine from a snapshot say. Both go on, as
    /// one session, until the next renewal. By default processes of this application are never cloned.
    fn fork(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Tells whether this process wants the cell in the calm after the storm: one of those who want it must then have
    /// it within the time that G4 grants. Asked once of each process, when the calm begins or when it starts later.
    ///
    /// `is_chosen` is the world's suggestion: it draws machines for each cell, of which at least one runs, so that in
    /// one world all want the cell and in the next only one does. To follow it, return it, and use
    /// [`Context::is_chosen`] to claim and to release. By default nothing is wanted.
    fn wants(&self, cell: &CellId, is_chosen: bool) -> bool {
        let _ = (cell, is_chosen);
        false
    }

    /// Tells whether everything else that this application wants has come about. In the calm it must, within the time
    /// of G4 and [`Scenario::grace`](crate::Scenario::grace); the world goes on until then. By default it has.
    fn is_content(&self) -> bool {
        true
    }
}
