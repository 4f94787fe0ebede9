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
//! `cells.rs` keeps all cells and their deadlines, `claim.rs` decides how a cell is won, `held.rs` what verify says,
//! `give.rs` how it is given up.

mod cells;
mod claim;
mod give;
mod held;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::error::{ReleaseError, TransferError, VerifyError};
use crate::event::{Outcome, Tenure, Ticket};
use crate::id::{CellId, ETag, Epoch, NodeId};
use crate::memory::Memory;
use crate::peer::{Asker, Peers};
use crate::store::{AttemptId, Fault, ReadId, ReadReply, WriteReply};
use crate::time::{Deadline, Instant, Timer, sooner};
use crate::write::Write;

pub(crate) use cells::Cells;
use give::Giving;
use held::Verify;

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
