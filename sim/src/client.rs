//! The application on top of an engine: it wants cells, works in them, and acknowledges only what it verified.
//!
//! It behaves as an application should: it acts on a tenure only while the engine says it has it, and asks
//! `verify` before it acknowledges. What it decides next is left to chance.

use core::time::Duration;

use tenure_core::{Call, CellId, Engine, NodeId, Notice, Now, Outcome, Tenure, Ticket};

use crate::choices::{Choices, Draw, Rate};
use crate::clock::Moment;

/// What one application knows and waits for.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) phase: Phase,
    works: Vec<Work>,
    open: Vec<OpenCall>,
    tickets: u64,
}

/// How far the application's session has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// It has not asked to join yet.
    New,
    /// It waits for the answer to its join.
    Joining,
    /// It may use cells.
    Joined,
    /// It waits for the answer to its leave.
    Leaving,
    /// The session has ended, or never began.
    Over,
}

/// A call that has not been answered.
#[derive(Clone, Debug)]
pub(crate) struct OpenCall {
    pub(crate) ticket: Ticket,
    pub(crate) call: Call,
    pub(crate) asked: Moment,
    cell: Option<usize>,
}

/// What the application has of one cell: a tenure, a call that waits, both or neither.
#[derive(Clone, Debug, Default)]
struct Work {
    tenure: Option<Tenure>,
    waits: Option<Ticket>,
}

/// What an application wants to do.
#[derive(Debug)]
pub(crate) enum Intent {
    Ask(Call, Option<usize>),
    Cancel(Ticket),
}

/// What an application does about an answer at once.
#[derive(Debug)]
pub(crate) enum Reaction {
    Nothing,
    /// It tells its own caller that the work done under this tenure is done.
    Acknowledge(Tenure),
    /// It tells another application that it has offered it this cell.
    Tell(NodeId, usize),
}

/// What an application is inclined to do.
pub(crate) struct Mood<'w, F> {
    pub(crate) cells: &'w [CellId],
    /// Lists the nodes a cell could be handed to.
    pub(crate) others: &'w F,
    pub(crate) ttl: Duration,
    pub(crate) loyalty: Rate,
}

impl Client {
    pub(crate) fn new(cells: usize) -> Self {
        Self { phase: Phase::New, works: vec![Work::default(); cells], open: Vec::new(), tickets: 0 }
    }

    /// Decides what to do while the world is rough.
    pub(crate) fn roam<'w, I: Iterator<Item = &'w NodeId>>(
        &self,
        engine: &Engine,
        now: Now,
        mood: &Mood<'_, impl Fn() -> I>,
        choices: &mut impl Choices,
    ) -> Option<Intent> {
        if self.phase != Phase::Joined {
            return self.start();
        }
        match choices.number(64) {
            1 => return Some(Intent::Ask(Call::Peers, None)),
            2 => return Some(Intent::Ask(Call::Publish { load: None, meta: None }, None)),
            3 if !choices.happens(mood.loyalty) => return Some(Intent::Ask(Call::Leave, None)),
            _ => {}
        }
        let place = choices.number(self.works.len());
        let cell = mood.cells[place].clone();
        let work = &self.works[place];
        let ask = |call| Some(Intent::Ask(call, Some(place)));
        match (&work.tenure, work.waits) {
            (_, Some(ticket)) => {
                let is_claim = self
                    .open
                    .iter()
                    .any(|open| open.ticket == ticket && matches!(open.call, Call::Claim { .. }));
                (is_claim && choices.number(16) == 1).then_some(Intent::Cancel(ticket))
            }
            (None, None) if choices.number(8) == 1 => {
                let max_age = if choices.number(2) == 0 { Duration::ZERO } else { mood.ttl };
                ask(Call::Locate { cell, max_age })
            }
            (None, None) => ask(Call::Claim { cell, wait: mood.ttl * choices.one_of(&[0, 1, 2]) }),
            // It has noticed that its authority is over, and does nothing in this cell's name.
            (Some(tenure), None) if engine.tenure(&cell, now).as_ref() != Some(tenure) => None,
            (Some(tenure), None) if choices.happens(mood.loyalty) => ask(Call::Verify(tenure.clone())),
            (Some(tenure), None) => {
                let other = choices.number((mood.others)().count() + 1).checked_sub(1);
                match other.and_then(|other| (mood.others)().nth(other)) {
                    Some(to) => ask(Call::Transfer { tenure: tenure.clone(), to: to.clone() }),
                    None => ask(Call::Release(tenure.clone())),
                }
            }
        }
    }

    /// Decides what to do once the world is calm: to have the wanted cells and keep them, and only them.
    pub(crate) fn settle<F>(
        &self,
        wanted: impl Fn(usize) -> bool,
        mood: &Mood<'_, F>,
        choices: &mut impl Choices,
    ) -> Option<Intent> {
        if self.phase != Phase::Joined {
            return self.start();
        }
        let start = choices.number(self.works.len());
        for offset in 0..self.works.len() {
            let place = (start + offset) % self.works.len();
            let work = &self.works[place];
            let cell = mood.cells[place].clone();
            match (&work.tenure, work.waits, wanted(place)) {
                (None, None, true) => {
                    let wait = mood.ttl * choices.one_of(&[0, 2]);
                    return Some(Intent::Ask(Call::Claim { cell, wait }, Some(place)));
                }
                (Some(tenure), None, false) => {
                    return Some(Intent::Ask(Call::Release(tenure.clone()), Some(place)));
                }
                (_, Some(_), _) | (None, None, false) | (Some(_), None, true) => {}
            }
        }
        None
    }

    /// Takes the number of a new call.
    pub(crate) fn begin(&mut self, call: Call, cell: Option<usize>, at: Moment) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket::new(self.tickets);
        match call {
            Call::Join => self.phase = Phase::Joining,
            Call::Leave => self.phase = Phase::Leaving,
            Call::Claim { .. }
            | Call::Locate { .. }
            | Call::Peers
            | Call::Publish { .. }
            | Call::Release(_)
            | Call::Transfer { .. }
            | Call::Unwatch(_)
            | Call::Verify(_)
            | Call::Watch(_) => {}
        }
        if let Some(cell) = cell {
            self.works[cell].waits = Some(ticket);
        }
        self.open.push(OpenCall { ticket, call, asked: at, cell });
        ticket
    }

    /// Takes the call of this number off the list of those that wait.
    pub(crate) fn end(&mut self, ticket: Ticket) -> Option<OpenCall> {
        let place = self.open.iter().position(|open| open.ticket == ticket)?;
        let open = self.open.swap_remove(place);
        if let Some(cell) = open.cell {
            self.works[cell].waits = None;
        }
        Some(open)
    }

    /// Takes the answer to a call.
    pub(crate) fn on_done(&mut self, open: &OpenCall, outcome: &Outcome) -> Reaction {
        match (outcome, &open.call, open.cell) {
            (Outcome::Joined(result), _, _) => {
                self.phase = if result.is_ok() { Phase::Joined } else { Phase::Over };
            }
            (Outcome::Left, _, _) => self.phase = Phase::Over,
            (Outcome::Claimed(Ok(tenure)), _, Some(cell)) => self.works[cell].tenure = Some(tenure.clone()),
            (Outcome::Verified(Ok(())), Call::Verify(tenure), _) => {
                return Reaction::Acknowledge(tenure.clone());
            }
            (Outcome::Transferred(Ok(_)), Call::Transfer { to, .. }, Some(cell)) => {
                return Reaction::Tell(to.clone(), cell);
            }
            _ => {}
        }
        Reaction::Nothing
    }

    /// Takes a notice.
    #[expect(clippy::wildcard_enum_match_arm, reason = "notices may be added; these matter to it")]
    pub(crate) fn on_notice(&mut self, notice: &Notice, cells: &[CellId]) {
        match notice {
            Notice::CellEnded(tenure) | Notice::CellLost { tenure, .. } => {
                if let Some(place) = cells.iter().position(|cell| *cell == tenure.cell)
                    && self.works[place].tenure.as_ref() == Some(tenure)
                {
                    self.works[place].tenure = None;
                }
            }
            Notice::Fenced(_) => {
                self.works.iter_mut().for_each(|work| work.tenure = None);
                if self.phase != Phase::Leaving {
                    self.phase = Phase::Over;
                }
            }
            _ => {}
        }
    }

    /// Returns the calls that wait for an answer.
    pub(crate) fn open(&self) -> &[OpenCall] {
        &self.open
    }

    /// Tells whether the application has no call open for this cell.
    pub(crate) fn is_idle(&self, cell: usize) -> bool {
        self.works[cell].tenure.is_none() && self.works[cell].waits.is_none()
    }

    fn start(&self) -> Option<Intent> {
        (self.phase == Phase::New).then_some(Intent::Ask(Call::Join, None))
    }
}
