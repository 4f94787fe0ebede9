//! The application on a node of a small world: what it has, what it waits for, and what it may ask next.

use tenure_core::{Call, CellId, Instant, NodeId, Notice, Outcome, Tenure, Ticket};

use super::scope::Wish;
use crate::clock::Moment;

/// What one application knows, and when its engine wants to be woken.
#[derive(Clone, Debug, Hash)]
pub(super) struct App {
    pub(super) phase: Phase,
    pub(super) open: Vec<Open>,
    tenures: Vec<Option<Tenure>>,
    tickets: u64,
    /// The print of its engine, taken after the last event.
    pub(super) engine_print: u128,
    /// When its engine is due, by the node's clock.
    pub(super) due: Option<Instant>,
    pub(super) is_paused: bool,
}

/// How far the application's session has come.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Phase {
    Joined,
    Joining,
    Leaving,
    Over,
}

/// A call that has not been answered.
#[derive(Clone, Debug, Hash)]
pub(super) struct Open {
    pub(super) ticket: Ticket,
    pub(super) call: Call,
    pub(super) asked: Moment,
    cell: Option<usize>,
}

/// One thing that an application may ask.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) wish: Wish,
    pub(super) cell: usize,
}

impl App {
    pub(super) fn new(cells: usize, engine_print: u128) -> Self {
        Self {
            phase: Phase::Joining,
            open: Vec::new(),
            tenures: vec![None; cells],
            tickets: 0,
            engine_print,
            due: None,
            is_paused: false,
        }
    }

    /// Tells whether it may ask this: one thing at a time for each cell, and only what makes sense.
    pub(super) fn may_ask(&self, wish: Wish, cell: usize) -> bool {
        if self.phase != Phase::Joined || self.is_paused {
            return false;
        }
        let is_free = self.open.iter().all(|open| open.cell != Some(cell));
        match wish {
            Wish::Claim | Wish::ClaimWaiting => is_free && self.tenures[cell].is_none(),
            // Leaving concerns all cells: it is asked on behalf of the first.
            Wish::Leave => cell == 0,
            Wish::Release | Wish::Transfer | Wish::Verify => is_free && self.tenures[cell].is_some(),
        }
    }

    /// Puts a request into words.
    pub(super) fn call(
        &self,
        request: &Request,
        cell: &CellId,
        to: &NodeId,
        wait: core::time::Duration,
    ) -> Call {
        let tenure = || self.tenures[request.cell].clone().expect("what is asked of a cell held");
        match request.wish {
            Wish::Claim => Call::Claim { cell: cell.clone(), wait: core::time::Duration::ZERO },
            Wish::ClaimWaiting => Call::Claim { cell: cell.clone(), wait },
            Wish::Leave => Call::Leave,
            Wish::Release => Call::Release(tenure()),
            Wish::Transfer => Call::Transfer { tenure: tenure(), to: to.clone() },
            Wish::Verify => Call::Verify(tenure()),
        }
    }

    /// Tells whether its session has ended, everybody was answered, and its engine does not want to be woken.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over && self.open.is_empty() && self.due.is_none()
    }

    /// Tells whether it knows no more than it did before.
    pub(super) fn was_told_nothing(&self, before: &Self) -> bool {
        let is_open = |app: &Self| app.open.iter().map(|open| open.ticket).collect::<Vec<_>>();
        (self.phase, &self.tenures, self.tickets) == (before.phase, &before.tenures, before.tickets)
            && is_open(self) == is_open(before)
    }

    /// Ends with the process.
    pub(super) fn crash(&mut self) {
        *self = Self { phase: Phase::Over, ..Self::new(self.tenures.len(), self.engine_print) };
    }

    /// Takes the number of a new call.
    pub(super) fn begin(&mut self, call: Call, cell: Option<usize>, at: Moment) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket::new(self.tickets);
        if matches!(call, Call::Leave) {
            self.phase = Phase::Leaving;
        }
        self.open.push(Open { ticket, call, asked: at, cell });
        ticket
    }

    /// Takes the call of this number off the list of those that wait.
    pub(super) fn end(&mut self, ticket: Ticket) -> Option<Open> {
        let place = self.open.iter().position(|open| open.ticket == ticket)?;
        Some(self.open.remove(place))
    }

    /// Takes the answer to a call; returns the tenure under which work was confirmed, if it was.
    pub(super) fn on_done(&mut self, open: &Open, outcome: &Outcome) -> Option<Tenure> {
        match (outcome, &open.call, open.cell) {
            (Outcome::Joined(result), _, _) => {
                self.phase = if result.is_ok() { Phase::Joined } else { Phase::Over };
            }
            (Outcome::Left, _, _) => self.phase = Phase::Over,
            (Outcome::Claimed(Ok(tenure)), _, Some(cell)) => self.tenures[cell] = Some(tenure.clone()),
            (Outcome::Verified(Ok(())), Call::Verify(tenure), _) => return Some(tenure.clone()),
            _ => {}
        }
        None
    }

    /// Takes a notice.
    #[expect(clippy::wildcard_enum_match_arm, reason = "notices may be added; these matter to it")]
    pub(super) fn on_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::CellEnded(tenure) | Notice::CellLost { tenure, .. } => {
                self.tenures
                    .iter_mut()
                    .filter(|own| own.as_ref() == Some(tenure))
                    .for_each(|own| *own = None);
            }
            Notice::Fenced(_) => {
                self.tenures.iter_mut().for_each(|own| *own = None);
                self.phase = Phase::Over;
            }
            _ => {}
        }
    }
}
