//! One cell on this node: claiming it, holding it, giving it back. At most one operation in flight.
//!
//! ```text
//!   claim -> Reading <---------------- Waiting (the holder lives)
//!               |  ^ \                    ^
//!               |  |  Judging ------------+
//!               |  |     | dead
//!               v  |     v
//!             Claiming ----- applied, wanted, lease held ------> Held
//!               |  lost: look at what won                          | release, transfer, leave
//!               +--- applied, but nobody wants it -----------> Giving ---> (forgotten)
//! ```
//!
//! `claim.rs` decides how a cell is won, `held.rs` what verify says, `give.rs` how it is given up.

mod claim;
mod give;
mod held;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::error::{ClaimError, FenceCause, ReleaseError, TransferError, VerifyError};
use crate::event::{Notice, Outcome, Tenure, Ticket};
use crate::id::{CellId, ETag, Epoch, NodeId};
use crate::memory::Memory;
use crate::peer::{Asker, Peers, Verdict};
use crate::store::{AttemptId, Fault, ReadId, ReadReply, WriteReply};
use crate::time::{Deadline, Instant, Timer, sooner};
use crate::write::Write;

use give::Giving;
use held::Verify;

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

/// What a transition may use besides the cell itself.
pub(crate) struct Ctx<'e> {
    pub(crate) id: &'e CellId,
    pub(crate) env: &'e mut Env,
    pub(crate) peers: &'e mut Peers,
    memory: &'e mut Memory,
    claims: &'e mut BTreeMap<Ticket, CellId>,
    standing: Standing,
}

/// What this node may do at the moment.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Standing {
    /// When authority ends, while the lease is held.
    pub(crate) authority: Option<Instant>,
    pub(crate) is_leaving: bool,
}

#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Cell {
    state: State,
    /// Who waits for the cell to be claimed.
    wants: Vec<Want>,
    /// Races lost since the claim began.
    conflicts: u32,
    /// Reads failed in a row.
    failures: u32,
}

/// One caller's claim.
#[derive(Clone, Debug, Hash)]
struct Want {
    ticket: Ticket,
    /// Until when to wait for another owner.
    until: Instant,
    /// Whether the caller asked to wait at all.
    waits: bool,
    /// Until when to try on if the store does not answer.
    give_up: Instant,
}

#[derive(Clone, Debug, Default, Hash)]
enum State {
    /// Nothing is under way; the cell is forgotten.
    #[default]
    Idle,
    Claiming {
        /// Boxed, since it is larger than all else that a cell can have and most cells have none.
        write: Box<Write>,
        epoch: Epoch,
        seq: u64,
    },
    Giving(Box<Giving>),
    Held {
        epoch: Epoch,
        etag: ETag,
        seq: u64,
        verify: Option<Box<Verify>>,
    },
    Judging(Seen),
    /// Something went wrong: look again then.
    Pausing {
        at: Instant,
        why: Setback,
    },
    Reading {
        id: ReadId,
        seen: Option<Seen>,
        /// The highest epoch known when the read was issued.
        floor: Option<Epoch>,
    },
    Waiting {
        at: Instant,
        seen: Seen,
        /// The address of the node that was seen.
        addr: Option<String>,
    },
}

/// What went wrong with a claim that is made again.
#[derive(Clone, Debug, Hash)]
enum Setback {
    /// A read failed.
    Fault(Fault),
    /// A race was lost, to this node if the record said so.
    Race(Option<NodeId>),
}

/// A version of the record that names another node.
#[derive(Clone, Debug, Hash)]
struct Seen {
    etag: ETag,
    node: NodeId,
    epoch: Epoch,
}

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

/// What the engine lends to every transition.
pub(crate) type With<'e> = (&'e mut Env, &'e mut Peers, Standing);

impl Cell {
    /// Returns the epoch at which the cell is held, leaving aside whether the lease still gives authority.
    fn tenure(&self, env: &Env) -> Option<Epoch> {
        match &self.state {
            State::Held { epoch, .. } => Some(*epoch),
            State::Giving(giving) if giving.is_release() && env.has(Defect::ActUntilReleaseConfirmed) => {
                Some(giving.epoch())
            }
            State::Giving(giving) if !giving.is_release() && env.has(Defect::ActUntilTransferConfirmed) => {
                Some(giving.epoch())
            }
            State::Claiming { .. }
            | State::Giving(_)
            | State::Idle
            | State::Judging(_)
            | State::Pausing { .. }
            | State::Reading { .. }
            | State::Waiting { .. } => None,
        }
    }

    fn on_read(&mut self, id: ReadId, reply: ReadReply, ctx: &mut Ctx<'_>) {
        match &mut self.state {
            State::Claiming { write, .. } => {
                write.is_wanted = !self.wants.is_empty();
                let fate = write.on_read(id, reply, ctx.env);
                self.settle_claim(fate, ctx);
            }
            State::Giving(giving) => {
                let gone = giving.on_read(id, reply, ctx);
                self.end_giving(gone, ctx);
            }
            State::Held { .. } => self.on_verify(id, reply, ctx),
            State::Reading { id: awaited, .. } if *awaited == id => self.on_record(reply, ctx),
            State::Idle
            | State::Judging(_)
            | State::Pausing { .. }
            | State::Reading { .. }
            | State::Waiting { .. } => {}
        }
    }

    fn on_write(&mut self, id: AttemptId, reply: WriteReply, ctx: &mut Ctx<'_>) {
        match &mut self.state {
            State::Claiming { write, .. } => {
                let fate = write.on_write(id, reply, ctx.env);
                self.settle_claim(fate, ctx);
            }
            State::Giving(giving) => {
                let gone = giving.on_write(id, reply, ctx);
                self.end_giving(gone, ctx);
            }
            State::Held { .. }
            | State::Idle
            | State::Judging(_)
            | State::Pausing { .. }
            | State::Reading { .. }
            | State::Waiting { .. } => {}
        }
    }

    fn on_wake(&mut self, ctx: &mut Ctx<'_>) {
        self.give_up_on_time(ctx);
        match &mut self.state {
            State::Claiming { write, .. } => {
                write.is_wanted = !self.wants.is_empty();
                write.on_wake(ctx.env);
            }
            State::Giving(giving) => giving.on_wake(ctx),
            State::Pausing { at, .. } if *at <= ctx.env.mono() => self.read(None, ctx),
            State::Waiting { at, seen, .. } if *at <= ctx.env.mono() => {
                let seen = seen.clone();
                self.read(Some(seen), ctx);
            }
            State::Held { .. }
            | State::Idle
            | State::Judging(_)
            | State::Pausing { .. }
            | State::Reading { .. }
            | State::Waiting { .. } => {}
        }
    }

    /// Checks that something will move this cell on, and that somebody needs it.
    fn check(&self, id: &CellId, env: &Env, peers: &Peers) -> Result<(), &'static str> {
        let is_awake = match &self.state {
            State::Claiming { write, .. } => write.is_awake(env),
            State::Giving(giving) => giving.is_awake(env),
            State::Held { verify, .. } => verify.as_ref().is_none_or(|round| round.is_awake(id, env)),
            State::Idle => return Err("a cell is kept for nothing"),
            State::Judging(seen) => peers.is_asked(&seen.node, &Asker::Cell(id.clone())),
            State::Pausing { .. } | State::Waiting { .. } => true,
            State::Reading { id: read, .. } => {
                matches!(env.reads_for(*read), Some(Target::Cell(awaited)) if awaited == id)
            }
        };
        if !is_awake {
            return Err("a cell waits for nothing");
        }
        match &self.state {
            State::Judging(_) | State::Pausing { .. } | State::Reading { .. } | State::Waiting { .. }
                if self.wants.is_empty() =>
            {
                Err("a cell is claimed for nobody")
            }
            State::Held { .. } if !self.wants.is_empty() => Err("a claim waits for a cell that is held"),
            State::Claiming { .. }
            | State::Giving(_)
            | State::Held { .. }
            | State::Idle
            | State::Judging(_)
            | State::Pausing { .. }
            | State::Reading { .. }
            | State::Waiting { .. } => Ok(()),
        }
    }

    /// Returns when this cell is next due, by its own state or by a caller who waits.
    fn deadline(&self) -> Option<Deadline> {
        let own = match &self.state {
            State::Claiming { write, .. } => write.deadline(),
            State::Giving(giving) => giving.deadline(),
            State::Pausing { at, .. } => Some(Deadline { at: *at, timer: Timer::Retry }),
            State::Waiting { at, .. } => Some(Deadline { at: *at, timer: Timer::Poll }),
            State::Held { .. } | State::Idle | State::Judging(_) | State::Reading { .. } => None,
        };
        let callers = self.deadline_of_callers().map(|at| Deadline { at, timer: Timer::Poll });
        sooner(own, callers)
    }

    /// Returns when the first of those who wait for the cell does so no longer.
    fn deadline_of_callers(&self) -> Option<Instant> {
        let waiting = matches!(self.state, State::Waiting { .. });
        let until = |want: &Want| if waiting { want.until.min(want.give_up) } else { want.give_up };
        self.wants.iter().map(until).min()
    }
}

impl Ctx<'_> {
    fn target(&self) -> Target {
        Target::Cell(self.id.clone())
    }

    fn tenure(&self, epoch: Epoch) -> Tenure {
        Tenure { cell: self.id.clone(), epoch }
    }

    /// Tells whether a cell may be granted now.
    fn may_grant(&self) -> bool {
        if self.env.has(Defect::GrantWithoutLease) {
            return true;
        }
        !self.standing.is_leaving && self.standing.authority.is_some_and(|until| self.env.mono() < until)
    }

    fn released(&mut self, ticket: Ticket, result: Result<(), ReleaseError>) {
        self.env.done(ticket, Outcome::Released(result));
    }

    fn transferred(&mut self, ticket: Ticket, result: Result<Epoch, TransferError>) {
        self.env.done(ticket, Outcome::Transferred(result));
    }

    fn verified(&mut self, ticket: Ticket, result: Result<(), VerifyError>) {
        self.env.done(ticket, Outcome::Verified(result));
    }
}
