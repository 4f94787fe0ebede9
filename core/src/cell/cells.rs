//! Every cell this node works on: which there are, when each is due, and whose claim waits for which.

use alloc::collections::BTreeMap;
use core::mem;

use super::{Cell, Ctx, Standing, State};
use crate::defects::Defect;
use crate::env::Env;
use crate::error::{ClaimError, FenceCause};
use crate::event::{Notice, Outcome, Tenure, Ticket};
use crate::id::{CellId, Epoch, NodeId};
use crate::memory::Memory;
use crate::peer::{Peers, Verdict};
use crate::store::{AttemptId, ReadId, ReadReply, WriteReply};
use crate::time::{Deadline, Instant, Timer};

/// Every cell this node works on.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Cells {
    map: BTreeMap<CellId, Cell>,
    /// When which cell is due, and why.
    deadlines: BTreeMap<(Instant, CellId), Timer>,
    /// Which claim waits for which cell, so that a caller can stop listening.
    claims: BTreeMap<Ticket, CellId>,
    pub(crate) memory: Memory,
    /// How many cells are being given up at the moment.
    giving: usize,
}

/// What the engine lends to every transition.
pub(crate) type With<'e> = (&'e mut Env, &'e mut Peers, Standing);

impl Cells {
    pub(crate) fn new() -> Self {
        Self {
            map: BTreeMap::new(),
            deadlines: BTreeMap::new(),
            claims: BTreeMap::new(),
            memory: Memory::new(),
            giving: 0,
        }
    }

    /// Runs one transition of one cell; a cell that ends up idle is forgotten.
    fn with<R>(
        &mut self,
        id: &CellId,
        (env, peers, standing): (&mut Env, &mut Peers, Standing),
        step: impl FnOnce(&mut Cell, &mut Ctx<'_>) -> R,
    ) -> R {
        let mut ctx = Ctx { id, env, peers, memory: &mut self.memory, claims: &mut self.claims, standing };
        // A cell already known stays where it is: it is large, and most transitions keep it.
        let mut fresh = None;
        let known = self.map.get_mut(id);
        let is_known = known.is_some();
        let cell = known.unwrap_or_else(|| fresh.insert(Cell::default()));
        let due = cell.deadline();
        self.giving -= usize::from(matches!(cell.state, State::Giving(_)));
        let result = step(cell, &mut ctx);
        self.giving += usize::from(matches!(cell.state, State::Giving(_)));
        let is_idle = matches!(cell.state, State::Idle);
        let is_forgotten = ctx.env.has(Defect::LostWakeUp) && matches!(cell.state, State::Pausing { .. });
        let next = cell.deadline().filter(|_| !is_forgotten);
        if due != next {
            if let Some(due) = due {
                self.deadlines.remove(&(due.at, id.clone()));
            }
            if let Some(next) = next {
                self.deadlines.insert((next.at, id.clone()), next.timer);
            }
        }
        if is_idle && is_known {
            self.map.remove(id);
        } else if let Some(cell) = fresh.filter(|_| !is_idle) {
            self.map.insert(id.clone(), cell);
        }
        result
    }

    pub(crate) fn claim(&mut self, id: &CellId, want: (Ticket, core::time::Duration), with: With<'_>) {
        self.with(id, with, |cell, ctx| cell.claim(want.0, want.1, ctx));
    }

    pub(crate) fn release(&mut self, ticket: Ticket, tenure: &Tenure, with: With<'_>) {
        self.with(&tenure.cell, with, |cell, ctx| cell.release(ticket, tenure.epoch, ctx));
    }

    pub(crate) fn transfer(&mut self, ticket: Ticket, tenure: &Tenure, to: &NodeId, with: With<'_>) {
        self.with(&tenure.cell, with, |cell, ctx| cell.transfer(ticket, tenure.epoch, to, ctx));
    }

    pub(crate) fn verify(&mut self, ticket: Ticket, tenure: &Tenure, with: With<'_>) {
        self.with(&tenure.cell, with, |cell, ctx| cell.verify(ticket, tenure.epoch, ctx));
    }

    /// Gives a held cell back unasked: this node is leaving.
    pub(crate) fn give_back(&mut self, id: &CellId, with: With<'_>) {
        self.with(id, with, |cell, ctx| cell.give_back(ctx));
    }

    pub(crate) fn on_read(&mut self, id: &CellId, read: ReadId, reply: ReadReply, with: With<'_>) {
        self.with(id, with, |cell, ctx| cell.on_read(read, reply, ctx));
    }

    pub(crate) fn on_write(&mut self, id: &CellId, attempt: AttemptId, reply: WriteReply, with: With<'_>) {
        self.with(id, with, |cell, ctx| cell.on_write(attempt, reply, ctx));
    }

    pub(crate) fn on_verdict(&mut self, id: &CellId, node: &NodeId, verdict: Verdict, with: With<'_>) {
        self.with(id, with, |cell, ctx| cell.on_verdict(node, verdict, ctx));
    }

    /// Tells whether anything is due by `now`.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.deadlines.first_key_value().is_some_and(|((at, _), _)| *at <= now)
    }

    /// Does what is due for one cell, if anything is.
    pub(crate) fn wake(&mut self, with: With<'_>) -> bool {
        let due = self.deadlines.first_key_value().filter(|((at, _), _)| *at <= with.0.mono());
        let Some(((_, id), _)) = due else { return false };
        let id = id.clone();
        self.with(&id, with, |cell, ctx| cell.on_wake(ctx));
        true
    }

    /// Stops waiting on a caller's behalf; what then proves to be owned is given back.
    pub(crate) fn cancel(&mut self, ticket: Ticket, with: With<'_>) {
        if let Some(id) = self.claims.remove(&ticket) {
            self.with(&id, with, |cell, ctx| cell.cancel(ticket, ctx));
        }
    }

    /// Tells every waiting claim that the node is leaving; claims on their way are settled and given back.
    pub(crate) fn admit_no_more(&mut self, env: &mut Env, peers: &mut Peers, standing: Standing) {
        for id in mem::take(&mut self.claims).into_values() {
            self.with(&id, (&mut *env, &mut *peers, standing), |cell, ctx| {
                cell.answer_wants(ctx, |_, _| ClaimError::Leaving);
            });
        }
    }

    /// Ends everything: the session has ended, and nothing more is written.
    pub(crate) fn fence(&mut self, cause: FenceCause, env: &mut Env) {
        self.deadlines.clear();
        self.claims.clear();
        self.giving = 0;
        for cell in mem::take(&mut self.map).into_values() {
            for want in cell.wants {
                env.done(want.ticket, Outcome::Claimed(Err(ClaimError::Fenced(cause))));
            }
            match cell.state {
                State::Giving(giving) => giving.fence(cause, env),
                State::Held { verify: Some(verify), .. } => verify.fence(cause, env),
                State::Claiming { .. }
                | State::Held { verify: None, .. }
                | State::Idle
                | State::Judging(_)
                | State::Pausing { .. }
                | State::Reading { .. }
                | State::Waiting { .. } => {}
            }
        }
    }

    /// Tells whether a cell awaits the answer to the request of this number.
    pub(crate) fn awaits(&self, id: &CellId, number: u64) -> bool {
        self.map.get(id).is_some_and(|cell| match &cell.state {
            State::Claiming { write, .. } => write.awaits(number),
            State::Giving(giving) => giving.awaits(number),
            State::Held { verify, .. } => verify.as_ref().is_some_and(|round| round.awaits(number)),
            State::Reading { id, .. } => id.get() == number,
            State::Idle | State::Judging(_) | State::Pausing { .. } | State::Waiting { .. } => false,
        })
    }

    /// Returns the tenure of a cell, leaving aside whether the lease still gives authority.
    pub(crate) fn tenure(&self, id: &CellId, env: &Env) -> Option<Epoch> {
        self.map.get(id)?.tenure(env)
    }

    /// Returns every tenure, leaving aside whether the lease still gives authority.
    pub(crate) fn tenures(&self, env: &Env) -> impl Iterator<Item = (&CellId, Epoch)> {
        self.map.iter().filter_map(|(id, cell)| Some((id, cell.tenure(env)?)))
    }

    /// Ends every tenure without giving the records back: there is no time left to.
    pub(crate) fn abandon(&mut self, env: &mut Env) {
        for (id, cell) in &self.map {
            if let State::Held { epoch, .. } = cell.state {
                env.notify(Notice::CellEnded(Tenure { cell: id.clone(), epoch }));
            }
        }
        self.fence(FenceCause::Left, env);
    }

    /// Returns how many cells are being given up.
    pub(crate) fn giving(&self) -> usize {
        self.giving
    }

    /// Returns the cells held, to be given back.
    pub(crate) fn held(&self) -> impl Iterator<Item = &CellId> {
        self.map.iter().filter(|(_, cell)| matches!(cell.state, State::Held { .. })).map(|(id, _)| id)
    }

    /// Checks the indices against the cells, and each cell by itself.
    pub(crate) fn check(&self, env: &Env, peers: &Peers) -> Result<(), &'static str> {
        let (mut waiting, mut wants, mut giving) = (0, 0, 0);
        for (id, cell) in &self.map {
            waiting += usize::from(cell.deadline().is_some());
            wants += cell.wants.len();
            giving += usize::from(matches!(cell.state, State::Giving(_)));
            if cell.wants.iter().any(|want| self.claims.get(&want.ticket) != Some(id)) {
                return Err("a claim waits that could not be cancelled");
            }
            cell.check(id, env, peers)?;
        }
        // As many entries as cells that wait, and every entry that of one: so each has its own.
        let waits = |((at, id), timer): (&(Instant, CellId), &Timer)| {
            let deadline = self.map.get(id).and_then(Cell::deadline);
            deadline == Some(Deadline { at: *at, timer: *timer })
        };
        if !self.deadlines.iter().all(waits) {
            return Err("a cell is woken at a time for which it does not wait");
        }
        if waiting != self.deadlines.len() {
            return Err("a cell waits for a time at which it is not woken");
        }
        if wants != self.claims.len() {
            return Err("a claim is kept that waits for nothing");
        }
        if giving != self.giving { Err("the cells being given up are miscounted") } else { Ok(()) }
    }

    /// Tells whether this node works on a cell.
    pub(crate) fn knows(&self, id: &CellId) -> bool {
        self.map.contains_key(id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let ((at, _), timer) = self.deadlines.first_key_value()?;
        Some(Deadline { at: *at, timer: *timer })
    }
}
