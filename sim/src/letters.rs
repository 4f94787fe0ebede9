//! What one application says to another, outside of the store.

use tenure_core::NodeId;

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::process::Phase;
use crate::queue::Occasion;
use crate::world::World;

/// Something said by one application to another, on its way.
#[derive(Debug)]
pub(crate) struct Letter {
    /// The number of the session it is for.
    pub(crate) to: usize,
    from: NodeId,
    text: String,
}

impl<C: Choices, A: App> World<'_, C, A> {
    /// Sends off what one application says to another: to the process that has this id, if it still runs.
    pub(crate) fn tell(&mut self, session: usize, to: &NodeId, text: String) {
        let target = self.running().find(|&other| self.sessions[other].id() == to);
        if let Some(target) = target
            && !self.choices.happens(self.scenario.faults.message_lost)
        {
            let letter = self.letters.len();
            let from = self.sessions[session].id().clone();
            self.letters.push(Some(Letter { to: target, from, text }));
            let at = self.at.after(self.scenario.latency);
            self.queue.plan(at, Occasion::Bring { letter });
        }
    }

    /// Brings what one application said to another.
    pub(crate) fn bring(&mut self, letter: usize) -> Result<(), Violation> {
        let Some(Letter { to: session, from, text }) = self.letters[letter].take() else { return Ok(()) };
        let is_there = self.sessions[session].is_running && self.processes[session].phase == Phase::Joined;
        if !is_there || self.is_closing() {
            return Ok(());
        }
        self.with_context(session, |app, ctx| app.on_message(&from, &text, ctx));
        self.act(session)?;
        self.ask_pending()
    }
}
