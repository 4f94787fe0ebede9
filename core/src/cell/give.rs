//! How a cell is given up: released, offered to another node, or given back unasked.
//!
//! The tenure ends when the write is *sent*. The write is settled until its fate is known, and one that
//! certainly did not take is made again: a record must not go on naming a node that does not hold the cell.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Cell, Ctx, State};
use crate::defects::Defect;
use crate::env::Env;
use crate::error::{BadRecord, ClaimError, FenceCause, ReleaseError, TransferError};
use crate::event::{Outcome, Ticket};
use crate::id::{ETag, Epoch, NodeId};
use crate::record::{Holder, OwnerRecord};
use crate::store::{AttemptId, Fault, FaultKind, Guard, Key, ReadId, ReadReply, WriteReply};
use crate::time::{Deadline, Instant, Timer};
use crate::write::{Current, Fate, Order, Write};

#[derive(Clone, Debug, Hash)]
pub(crate) struct Giving {
    /// The epoch of the tenure that ended.
    epoch: Epoch,
    etag: ETag,
    kind: Kind,
    /// Who is to have the cell.
    to: Option<NodeId>,
    step: Step,
    callers: Vec<Ticket>,
    /// When the callers are told that it is not confirmed yet.
    give_up: Instant,
    failures: u32,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Kind {
    Release,
    Transfer { epoch: Epoch },
}

#[derive(Clone, Debug, Hash)]
enum Step {
    Pausing(Instant),
    Writing(Write),
}

impl Cell {
    pub(super) fn release(&mut self, ticket: Ticket, asked: Epoch, ctx: &mut Ctx<'_>) {
        if !self.holds(asked) {
            return ctx.released(ticket, Err(ReleaseError::NotOwner(ctx.id.clone())));
        }
        if let Some((epoch, etag)) = self.end_tenure(ctx) {
            self.state = State::Giving(Giving::release(epoch, etag, alloc::vec![ticket], ctx).into());
        }
    }

    pub(super) fn transfer(&mut self, ticket: Ticket, asked: Epoch, to: &NodeId, ctx: &mut Ctx<'_>) {
        let error = match asked.next() {
            _ if !self.holds(asked) => TransferError::NotOwner(ctx.id.clone()),
            _ if *to == ctx.env.node => TransferError::ToSelf(ctx.id.clone()),
            None => TransferError::Exhausted(ctx.id.clone()),
            Some(next) => {
                let next = if ctx.env.has(Defect::TransferKeepsEpoch) { asked } else { next };
                if let Some((epoch, etag)) = self.end_tenure(ctx) {
                    let kind = Kind::Transfer { epoch: next };
                    let giving = Giving::start(epoch, etag, kind, Some(to), alloc::vec![ticket], ctx);
                    self.state = State::Giving(giving.into());
                }
                return;
            }
        };
        ctx.transferred(ticket, Err(error));
    }

    /// Gives a held cell back unasked.
    pub(super) fn give_back(&mut self, ctx: &mut Ctx<'_>) {
        if let Some((epoch, etag)) = self.end_tenure(ctx) {
            self.state = State::Giving(Giving::release(epoch, etag, Vec::new(), ctx).into());
        }
    }

    /// Gives back a record that was won but cannot be granted.
    pub(super) fn give(&mut self, epoch: Epoch, etag: ETag, ctx: &mut Ctx<'_>) {
        self.state = State::Giving(Giving::release(epoch, etag, Vec::new(), ctx).into());
    }

    /// Forgets a cell that was given up, or starts the claim that waited for it. Where its record seems corrupt, nothing
    /// is known yet, but whoever waits is told.
    pub(super) fn end_giving(&mut self, gone: bool, ctx: &mut Ctx<'_>) {
        if !gone {
            if let State::Giving(giving) = &self.state
                && let Some(bad) = giving.corrupt()
            {
                self.answer_wants(ctx, |_, _| ClaimError::Bad(bad.clone()));
            }
            return;
        }
        self.state = State::Idle;
        if !self.wants.is_empty() {
            self.begin(ctx);
        }
    }

    fn holds(&self, asked: Epoch) -> bool {
        matches!(self.state, State::Held { epoch, .. } if epoch == asked)
    }
}

impl Giving {
    fn release(epoch: Epoch, etag: ETag, callers: Vec<Ticket>, ctx: &mut Ctx<'_>) -> Self {
        Self::start(epoch, etag, Kind::Release, None, callers, ctx)
    }

    fn start(
        epoch: Epoch,
        etag: ETag,
        kind: Kind,
        to: Option<&NodeId>,
        callers: Vec<Ticket>,
        ctx: &mut Ctx<'_>,
    ) -> Self {
        let write = send(epoch, &etag, kind, to, ctx);
        let give_up = ctx.env.mono().after(ctx.env.config.patience);
        let to = to.cloned();
        Self { epoch, etag, kind, to, step: Step::Writing(write), callers, give_up, failures: 0 }
    }

    pub(super) fn on_read(&mut self, id: ReadId, reply: ReadReply, ctx: &mut Ctx<'_>) -> bool {
        let Step::Writing(write) = &mut self.step else { return false };
        let fate = write.on_read(id, reply, ctx.env);
        self.settle(fate, ctx)
    }

    pub(super) fn on_write(&mut self, id: AttemptId, reply: WriteReply, ctx: &mut Ctx<'_>) -> bool {
        let Step::Writing(write) = &mut self.step else { return false };
        let fate = write.on_write(id, reply, ctx.env);
        self.settle(fate, ctx)
    }

    pub(super) fn on_wake(&mut self, ctx: &mut Ctx<'_>) {
        match &mut self.step {
            Step::Pausing(at) if *at <= ctx.env.mono() => self.send_again(ctx),
            Step::Writing(write) => write.on_wake(ctx.env),
            Step::Pausing(_) => {}
        }
        if ctx.env.mono() >= self.give_up {
            let fault = match &self.step {
                Step::Writing(write) => write.fault(ctx.env),
                Step::Pausing(_) => Fault::new(FaultKind::Unavailable, Key::owner(ctx.id).as_str()),
            };
            self.tell(&fault, ctx);
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let own = match &self.step {
            Step::Pausing(at) => Some(Deadline { at: *at, timer: Timer::Retry }),
            Step::Writing(write) => write.deadline(),
        };
        let callers = (!self.callers.is_empty()).then_some(Deadline { at: self.give_up, timer: Timer::Poll });
        own.into_iter().chain(callers).min()
    }

    pub(super) fn is_awake(&self, env: &Env) -> bool {
        match &self.step {
            Step::Pausing(_) => true,
            Step::Writing(write) => write.is_awake(env),
        }
    }

    /// Returns how the record is corrupt, if it seems so.
    fn corrupt(&self) -> Option<BadRecord> {
        match &self.step {
            Step::Pausing(_) => None,
            Step::Writing(write) => write.corrupt(),
        }
    }

    /// Tells whether it awaits the answer to the request of this number.
    pub(super) fn awaits(&self, number: u64) -> bool {
        matches!(&self.step, Step::Writing(write) if write.awaits(number))
    }

    pub(super) fn is_release(&self) -> bool {
        self.kind == Kind::Release
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn fence(self, cause: FenceCause, env: &mut Env) {
        for ticket in self.callers {
            let outcome = match self.kind {
                Kind::Release => Outcome::Released(Err(ReleaseError::Fenced(cause))),
                Kind::Transfer { .. } => Outcome::Transferred(Err(TransferError::Fenced(cause))),
            };
            env.done(ticket, outcome);
        }
    }

    /// Applies the fate of the write. Returns whether the record no longer names our ended tenure.
    fn settle(&mut self, fate: Fate, ctx: &mut Ctx<'_>) -> bool {
        match fate {
            Fate::Applied { etag, .. } => {
                match self.kind {
                    Kind::Release => ctx.memory.note_release(ctx.id, self.epoch, etag),
                    Kind::Transfer { epoch } => ctx.memory.note(ctx.id, epoch),
                }
                for ticket in core::mem::take(&mut self.callers) {
                    match self.kind {
                        Kind::Release => ctx.released(ticket, Ok(())),
                        Kind::Transfer { epoch } => ctx.transferred(ticket, Ok(epoch)),
                    }
                }
                true
            }
            Fate::Lost(Current::Version { etag, body })
                if self.is_named_by(&body, ctx) || ctx.env.has(Defect::ReleaseWhatever) =>
            {
                // The version we held, stored anew by another hand and so under another tag: a bucket that is
                // encrypted afresh, say. What was sent can never land; the cell is given up from here.
                self.etag = etag;
                self.failures += 1;
                match self.failures {
                    1 => self.send_again(ctx),
                    failures => self.step = Step::Pausing(ctx.env.backoff(failures)),
                }
                false
            }
            Fate::Lost(current) => {
                let mut has_arrived = false;
                if let Current::Version { body, .. } = &current
                    && let Ok(record) = OwnerRecord::parse(body)
                {
                    ctx.memory.note(ctx.id, record.epoch);
                    // The receiver may have accepted the offer before we could see it.
                    has_arrived = record.node == self.to;
                    has_arrived &= matches!(self.kind, Kind::Transfer { epoch } if epoch == record.epoch);
                }
                for ticket in core::mem::take(&mut self.callers) {
                    match self.kind {
                        // The record names this tenure no longer, which is all that a release is for.
                        Kind::Release => ctx.released(ticket, Ok(())),
                        Kind::Transfer { epoch } if has_arrived => ctx.transferred(ticket, Ok(epoch)),
                        Kind::Transfer { .. } => {
                            ctx.transferred(ticket, Err(TransferError::Lost(ctx.id.clone())));
                        }
                    }
                }
                true
            }
            Fate::Pending if ctx.env.has(Defect::ReleaseOnce) => {
                for ticket in core::mem::take(&mut self.callers) {
                    match self.kind {
                        Kind::Release => ctx.released(ticket, Ok(())),
                        Kind::Transfer { epoch } => ctx.transferred(ticket, Ok(epoch)),
                    }
                }
                true
            }
            Fate::Pending => {
                if let Step::Writing(write) = &self.step
                    && write.is_corrupt()
                {
                    let fault = write.fault(ctx.env);
                    self.tell(&fault, ctx);
                }
                false
            }
            Fate::Refused(fault) => {
                self.tell(&fault, ctx);
                // Nobody waits for a transfer any more, so the cell is simply free.
                (self.kind, self.to) = (Kind::Release, None);
                self.failures += 1;
                let at = ctx.env.backoff(self.failures).max(ctx.env.mono().after(Duration::from_secs(1)));
                self.step = Step::Pausing(at);
                false
            }
        }
    }

    /// Tells whether a record still names the tenure that ended here.
    fn is_named_by(&self, body: &[u8], ctx: &Ctx<'_>) -> bool {
        OwnerRecord::parse(body)
            .is_ok_and(|record| record.epoch == self.epoch && record.holder() == Holder::Node(&ctx.env.node))
    }

    fn send_again(&mut self, ctx: &mut Ctx<'_>) {
        self.step = Step::Writing(send(self.epoch, &self.etag, self.kind, self.to.as_ref(), ctx));
    }

    /// Tells the callers that it is not confirmed; the giving goes on without them.
    fn tell(&mut self, fault: &Fault, ctx: &mut Ctx<'_>) {
        for ticket in core::mem::take(&mut self.callers) {
            match self.kind {
                Kind::Release => ctx.released(ticket, Err(ReleaseError::Store(fault.clone()))),
                Kind::Transfer { .. } => ctx.transferred(ticket, Err(TransferError::Store(fault.clone()))),
            }
        }
    }
}

fn send(epoch: Epoch, etag: &ETag, kind: Kind, to: Option<&NodeId>, ctx: &mut Ctx<'_>) -> Write {
    let id = ctx.env.write_id();
    let epoch = match kind {
        Kind::Release => epoch,
        Kind::Transfer { epoch } => epoch,
    };
    let record = OwnerRecord { node: to.cloned(), epoch, write: Some(id) };
    let order = Order {
        target: ctx.target(),
        key: Key::owner(ctx.id),
        guard: Guard::Match(etag.clone()),
        body: record.to_bytes().into(),
        urgent: None,
    };
    Write::start(order, ctx.env)
}
