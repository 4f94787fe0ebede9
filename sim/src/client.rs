//! The built-in application: it wants cells, works in them, and acknowledges only what it verified.
//!
//! It behaves as an application should: it acts on a tenure only while the engine says it has it, and asks
//! `verify` before it acknowledges. What it decides next is left to chance.

use core::time::Duration;
use std::collections::BTreeMap;

use tenure_core::{Call, CellId, NodeId, Notice, Outcome, Tenure, Ticket};

use crate::app::App;
use crate::choices::{Draw, Rate};
use crate::context::Context;
use crate::scenario::Scenario;

/// The application that a world runs unless it is given another: it uses every operation there is.
#[derive(Clone, Debug)]
pub struct Client {
    works: Vec<Work>,
    ttl: Duration,
    loyalty: Rate,
    /// The cell whose turn it is once the world is calm.
    next: Option<usize>,
}

/// What the application has of one cell: a tenure, a call that waits, both or neither.
#[derive(Clone, Debug, Default)]
struct Work {
    tenure: Option<Tenure>,
    waits: Option<Ticket>,
    /// Whether the call that waits is a claim.
    is_claim: bool,
    /// How many watches of it were answered and have not been ended.
    watches: u32,
}

impl Client {
    /// Builds the application for a process in a world of this kind.
    pub fn new(scenario: &Scenario) -> Self {
        let works = vec![Work::default(); scenario.cells];
        Self { works, ttl: scenario.config.ttl, loyalty: scenario.loyalty, next: None }
    }

    /// Does something while the world is rough.
    fn roam(&mut self, ctx: &mut Context<'_>) {
        let beside = ctx.choices().number(64);
        let place = ctx.choices().number(self.works.len());
        let cell = ctx.cells()[place].clone();
        let work = &mut self.works[place];
        let beside = match beside {
            1 => Some(Call::Peers),
            2 => Some(Call::Publish { load: None, meta: zone(ctx) }),
            3 if !ctx.choices().happens(self.loyalty) => Some(Call::Leave),
            4 | 5 => Some(Call::Watch(cell.clone())),
            6 if work.watches > 0 => {
                work.watches -= 1;
                Some(Call::Unwatch(cell.clone()))
            }
            _ => None,
        };
        if let Some(call) = beside {
            ctx.ask(call);
            return;
        }
        if let Some(ticket) = work.waits {
            if work.is_claim && ctx.choices().number(16) == 1 {
                work.waits = None;
                ctx.cancel(ticket);
            }
            return;
        }
        let call = match &work.tenure {
            None if ctx.choices().number(8) == 1 => {
                let max_age = if ctx.choices().number(2) == 0 { Duration::ZERO } else { self.ttl };
                Call::Locate { cell, max_age }
            }
            None => Call::Claim { cell, wait: self.ttl * ctx.choices().one_of(&[0, 1, 2]) },
            // It has noticed that its authority is over, and does nothing in this cell's name.
            Some(tenure) if ctx.tenure(&cell).as_ref() != Some(tenure) => return,
            Some(tenure) if ctx.choices().happens(self.loyalty) => Call::Verify(tenure.clone()),
            Some(tenure) => give_up(tenure.clone(), ctx),
        };
        work.ask(call, ctx);
    }

    /// Does something once the world is calm: to have the wanted cells and keep them, and only them.
    fn settle(&mut self, ctx: &mut Context<'_>) {
        let cells = self.works.len();
        // In turn, not by chance: a world in which it is always the same one's turn would starve the others.
        let start = self.next.unwrap_or_else(|| ctx.choices().number(cells));
        for place in (start..cells).chain(0..start) {
            self.next = Some((place + 1) % cells);
            let cell = &ctx.cells()[place];
            let work = &mut self.works[place];
            match (&work.tenure, work.waits, ctx.is_chosen(cell)) {
                (None, None, true) => {
                    let wait = self.ttl * ctx.choices().one_of(&[0, 2]);
                    return work.ask(Call::Claim { cell: cell.clone(), wait }, ctx);
                }
                (Some(tenure), None, false) => {
                    let release = Call::Release(tenure.clone());
                    return work.ask(release, ctx);
                }
                (_, Some(_), _) | (None, None, false) | (Some(_), None, true) => {}
            }
        }
    }
}

impl Work {
    fn ask(&mut self, call: Call, ctx: &mut Context<'_>) {
        self.is_claim = matches!(call, Call::Claim { .. });
        self.waits = Some(ctx.ask(call));
    }
}

impl App for Client {
    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn on_turn(&mut self, ctx: &mut Context<'_>) {
        if ctx.is_calm() { self.settle(ctx) } else { self.roam(ctx) }
    }

    fn on_answer(&mut self, ticket: Ticket, call: &Call, outcome: &Outcome, ctx: &mut Context<'_>) {
        if let Some(work) = self.works.iter_mut().find(|work| work.waits == Some(ticket)) {
            work.waits = None;
        }
        match (outcome, call) {
            (Outcome::Claimed(Ok(tenure)), _) => {
                if let Some(place) = place(&tenure.cell, ctx) {
                    self.works[place].tenure = Some(tenure.clone());
                }
            }
            // It tells its own caller that the work done under this tenure is done.
            (Outcome::Verified(Ok(())), Call::Verify(tenure))
                if ctx.tenure(&tenure.cell).as_ref() == Some(tenure) =>
            {
                ctx.acknowledge(ticket, tenure);
            }
            (Outcome::Watched(Ok(_)), Call::Watch(cell)) => {
                if let Some(place) = place(cell, ctx) {
                    self.works[place].watches += 1;
                }
            }
            (Outcome::Transferred(Ok(_)), Call::Transfer { tenure, to }) => {
                ctx.tell(to, tenure.cell.as_str())
            }
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "notices may be added; these matter to it")]
    fn on_notice(&mut self, notice: &Notice, ctx: &mut Context<'_>) {
        match notice {
            Notice::CellEnded(tenure) | Notice::CellLost { tenure, .. } => {
                if let Some(place) = place(&tenure.cell, ctx)
                    && self.works[place].tenure.as_ref() == Some(tenure)
                {
                    self.works[place].tenure = None;
                }
            }
            Notice::Fenced(_) => self.works.iter_mut().for_each(|work| work.tenure = None),
            _ => {}
        }
    }

    /// Takes the word that a cell was offered to this node.
    fn on_message(&mut self, _: &NodeId, text: &str, ctx: &mut Context<'_>) {
        let Some(place) = ctx.cells().iter().position(|cell| cell.as_str() == text) else { return };
        let work = &mut self.works[place];
        if work.tenure.is_none() && work.waits.is_none() && !ctx.is_calm() {
            work.ask(Call::Claim { cell: ctx.cells()[place].clone(), wait: Duration::ZERO }, ctx);
        }
    }

    fn wants(&self, _: &CellId, is_chosen: bool) -> bool {
        is_chosen
    }
}

/// Draws how to give a tenure up: back, or to another node.
fn give_up(tenure: Tenure, ctx: &mut Context<'_>) -> Call {
    let others = ctx.others().count();
    let other = ctx.choices().number(others + 1).checked_sub(1);
    match other.and_then(|other| ctx.others().nth(other)) {
        Some(to) => Call::Transfer { tenure, to: to.clone() },
        None => Call::Release(tenure),
    }
}

/// Draws what to publish about this node, or to keep what was published.
fn zone(ctx: &mut Context<'_>) -> Option<BTreeMap<String, String>> {
    let zone = ctx.choices().one_of(&[None, Some("a"), Some("b")])?;
    Some(BTreeMap::from([("zone".to_owned(), zone.to_owned())]))
}

fn place(cell: &CellId, ctx: &Context<'_>) -> Option<usize> {
    ctx.cells().iter().position(|known| known == cell)
}
