//! What an application sees of its world, and all that it can do.

use core::fmt;
use core::time::Duration;

use tenure_core::{Call, CellId, NodeId, Now, Tenure, Ticket};

use crate::calm::Calm;
use crate::choices::Choices;
use crate::clock::Moment;
use crate::node::{Machine, Session};

/// One application's view of the world during one call of one of its methods.
///
/// It shows what a real process could know: its own engine and the clocks of its own machine, which may be wrong, but
/// neither the true time nor the store. What is asked for here is done once the method has returned, in that order.
pub struct Context<'w> {
    pub(crate) session: usize,
    pub(crate) at: Moment,
    pub(crate) machines: &'w [Machine],
    pub(crate) sessions: &'w [Session],
    pub(crate) cells: &'w [CellId],
    pub(crate) calm: Option<&'w Calm>,
    pub(crate) choices: &'w mut dyn Choices,
    pub(crate) tickets: &'w mut u64,
    pub(crate) actions: &'w mut Vec<Action>,
}

/// What an application wants done.
#[derive(Debug)]
pub(crate) enum Action {
    Acknowledge(Ticket, Tenure),
    Demand(Demand),
    Note(String),
    Tell(NodeId, String),
    TurnAfter(Duration),
}

/// What an application wants from its engine.
#[derive(Debug)]
pub(crate) enum Demand {
    Ask(Ticket, Call),
    Cancel(Ticket),
}

impl<'w> Context<'w> {
    /// Asks the engine; [`App::on_answer`](crate::App::on_answer) gets the answer under the ticket returned here.
    ///
    /// # Panics
    /// If the call is [`Call::Join`], which the world has asked already.
    pub fn ask(&mut self, call: Call) -> Ticket {
        assert!(call != Call::Join, "the world joins on an application's behalf");
        self.demand(call)
    }

    /// Asks the engine, whatever it is.
    pub(crate) fn demand(&mut self, call: Call) -> Ticket {
        *self.tickets += 1;
        let ticket = Ticket::new(*self.tickets);
        self.actions.push(Action::Demand(Demand::Ask(ticket, call)));
        ticket
    }

    /// Stops listening to a claim, as a caller does who drops its future. If its answer is already on the way it
    /// still comes; otherwise none comes, and a cell that turns out to be owned is given back by the engine. Any other
    /// call cannot be cancelled: it is answered all the same.
    pub fn cancel(&mut self, claim: Ticket) {
        self.actions.push(Action::Demand(Demand::Cancel(claim)));
    }

    /// Tells the checks that work done under this tenure is now promised to somebody outside, on the word of a
    /// `verify` that was answered with yes under this ticket. The checks demand that such promises, all nodes
    /// together, are ones that a single owner after another could have made.
    pub fn acknowledge(&mut self, verify: Ticket, tenure: &Tenure) {
        self.actions.push(Action::Acknowledge(verify, tenure.clone()));
    }

    /// Writes a line into the trace, as [`Step::Noted`](crate::Step::Noted): what the application itself did.
    pub fn note(&mut self, text: impl Into<String>) {
        self.actions.push(Action::Note(text.into()));
    }

    /// Says something to another node's application. It arrives a while later, or never.
    pub fn tell(&mut self, to: &NodeId, text: impl Into<String>) {
        self.actions.push(Action::Tell(to.clone(), text.into()));
    }

    /// Asks for a turn, beside the usual ones, after so long by this machine's monotonic clock.
    pub fn turn_after(&mut self, after: Duration) {
        self.actions.push(Action::TurnAfter(after));
    }

    /// Returns the tenure this node has of the cell, if it may act as its owner at this instant: the local answer,
    /// which costs nothing and may be wrong where the clocks break their bounds.
    pub fn tenure(&self, cell: &CellId) -> Option<Tenure> {
        self.sessions[self.session].engine.tenure(cell, self.now())
    }

    /// Returns the source of chance. Whatever an application leaves to chance it must draw here, or its seed would not
    /// replay it; the methods of [`Draw`](crate::Draw) ask in handy ways.
    pub fn choices(&mut self) -> &mut (dyn Choices + 'w) {
        self.choices
    }

    /// Returns the cells of this world.
    pub const fn cells(&self) -> &'w [CellId] {
        self.cells
    }

    /// Returns what this machine's two clocks read.
    pub fn now(&self) -> Now {
        self.machines[self.machine()].now(self.at)
    }

    /// Returns this node's id; it is new in each process.
    pub fn node(&self) -> &'w NodeId {
        self.sessions[self.session].id()
    }

    /// Returns the number of the machine, from 0: the same for all the processes that run on it.
    pub const fn machine(&self) -> usize {
        self.sessions[self.session].machine
    }

    /// Lists the other nodes whose processes exist at this moment, as a roster would show them.
    pub fn others(&self) -> impl Iterator<Item = &'w NodeId> + use<'w> {
        let (own, sessions) = (self.session, self.sessions);
        let running = self.machines.iter().filter_map(|machine| machine.session);
        running.filter(move |&other| other != own).map(|other| sessions[other].id())
    }

    /// Tells whether the storm is over: nothing goes wrong any more, and what is wanted must come about. No real
    /// process could know; it serves to stop making trouble on purpose, giving cells away at random say.
    pub const fn is_calm(&self) -> bool {
        self.calm.is_some()
    }

    /// Tells whether the world has chosen this machine to want the cell. In the storm it has chosen none.
    pub fn is_chosen(&self, cell: &CellId) -> bool {
        let place = self.cells.iter().position(|known| known == cell);
        match (self.calm, place) {
            (Some(calm), Some(place)) => calm.has_chosen(place, self.machine()),
            (None, _) | (_, None) => false,
        }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("node", self.node()).field("now", &self.now()).finish_non_exhaustive()
    }
}
