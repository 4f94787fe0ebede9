//! A held cell: what `verify` says, and how the loss of the record is noticed.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use super::{Cell, Ctx, State};
use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::error::{FenceCause, LossReason, VerifyError};
use crate::event::{Notice, Outcome, Ticket};
use crate::id::{CellId, ETag, Epoch, WriteId};
use crate::record::OwnerRecord;
use crate::store::{Fault, FaultKind, Key, ReadId, ReadReply};

/// The read that answers every `verify` asked before it was issued, and those that wait for the next one.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Verify {
    read: ReadId,
    served: Vec<Ticket>,
    next: Vec<Ticket>,
    tries: u32,
    /// The tag under which the last answer has shown bytes that are no record, and how many have in a row.
    garbage: Option<(ETag, u32)>,
}

/// How often one verify asks a store that fails to answer, or answers with garbage.
const TRIES_MAX: u32 = 3;

impl Verify {
    fn new(read: ReadId, served: Vec<Ticket>) -> Self {
        Self { read, served, next: Vec::new(), tries: 1, garbage: None }
    }

    pub(super) fn is_awake(&self, cell: &CellId, env: &Env) -> bool {
        matches!(env.reads_for(self.read), Some(Target::Cell(awaited)) if awaited == cell)
    }

    /// Tells whether it awaits the answer to the request of this number.
    pub(super) fn awaits(&self, number: u64) -> bool {
        self.read.get() == number
    }

    pub(super) fn fence(self, cause: FenceCause, env: &mut Env) {
        for ticket in self.served.into_iter().chain(self.next) {
            env.done(ticket, Outcome::Verified(Err(VerifyError::Fenced(cause))));
        }
    }
}

impl Cell {
    pub(super) fn verify(&mut self, ticket: Ticket, asked: Epoch, ctx: &mut Ctx<'_>) {
        let (etag, verify) = match &mut self.state {
            State::Held { epoch, etag, verify, .. } if *epoch == asked => (etag, verify),
            State::Claiming { .. }
            | State::Giving(_)
            | State::Held { .. }
            | State::Idle
            | State::Judging(_)
            | State::Pausing { .. }
            | State::Reading { .. }
            | State::Waiting { .. } => {
                return ctx.verified(ticket, Err(VerifyError::NotOwner(ctx.id.clone())));
            }
        };
        match verify {
            _ if ctx.env.has(Defect::VerifyFromMemory) => ctx.verified(ticket, Ok(())),
            // A read already issued may have been served before this call.
            Some(verify) => verify.next.push(ticket),
            None => {
                let read = ctx.env.read(ctx.target(), Key::owner(ctx.id), Some(etag.clone()));
                *verify = Some(Box::new(Verify::new(read, alloc::vec![ticket])));
            }
        }
    }

    pub(super) fn on_verify(&mut self, id: ReadId, reply: ReadReply, ctx: &mut Ctx<'_>) {
        let State::Held { epoch, etag, seq, verify } = &mut self.state else { return };
        let (epoch, seq) = (*epoch, *seq);
        let Some(mut round) = verify.take_if(|verify| verify.read == id) else { return };
        let fault = match reply {
            ReadReply::Unchanged(_) => return self.confirm(*round, ctx),
            ReadReply::Found { etag: found, body, .. } => {
                let write = WriteId { node: ctx.env.node.clone(), seq };
                let ours = OwnerRecord { node: Some(ctx.env.node.clone()), epoch, write: Some(write) };
                let is_named = |record: OwnerRecord| record.node.as_ref() == Some(&ctx.env.node);
                let by_name = ctx.env.has(Defect::VerifyByName);
                if *body == *ours.to_bytes() || (by_name && OwnerRecord::parse(&body).is_ok_and(is_named)) {
                    // A store that does not know 304 answers in full. A weak tag is a proxy's doing, and no
                    // compare-and-swap could match it.
                    if !found.is_weak() {
                        *etag = found;
                    }
                    return self.confirm(*round, ctx);
                }
                if let Ok(record) = OwnerRecord::parse(&body) {
                    ctx.memory.note(ctx.id, record.epoch);
                    return self.lose(*round, epoch, LossReason::RecordReplaced, ctx);
                }
                if ctx.env.has(Defect::GarbageEndsTenure) {
                    return self.lose(*round, epoch, LossReason::Corrupt, ctx);
                }
                // Under our own tag it is the answer that is garbage; under another it may be the record.
                let before =
                    round.garbage.take().filter(|(tag, _)| *tag == found).map_or(0, |(_, shown)| shown);
                if found != *etag && before + 1 >= TRIES_MAX {
                    return self.lose_corrupt(*round, ctx);
                }
                round.garbage = Some((found, before + 1));
                Fault::new(FaultKind::Malformed, Key::owner(ctx.id).as_str())
            }
            ReadReply::Missing => return self.lose(*round, epoch, LossReason::RecordRemoved, ctx),
            ReadReply::Failed(fault) => fault,
            ReadReply::Throttled { .. } => Fault::new(FaultKind::Throttled, Key::owner(ctx.id).as_str()),
        };
        let is_hopeless =
            matches!(fault.kind, FaultKind::Throttled | FaultKind::Denied) || ctx.env.is_short();
        if round.tries < TRIES_MAX && !is_hopeless {
            round.tries += 1;
            // A fresh read serves those who came in the meantime, too.
            round.served.append(&mut round.next);
            round.read = ctx.env.read(ctx.target(), Key::owner(ctx.id), Some(etag.clone()));
            *verify = Some(round);
            return;
        }
        if ctx.env.is_short() {
            // Nor will a read of their own be answered in time.
            round.served.append(&mut round.next);
        }
        for ticket in round.served {
            ctx.verified(ticket, Err(VerifyError::Store(fault.clone())));
        }
        self.verify_next(round.next, ctx);
    }

    fn confirm(&mut self, round: Verify, ctx: &mut Ctx<'_>) {
        for ticket in round.served {
            ctx.verified(ticket, Ok(()));
        }
        self.verify_next(round.next, ctx);
    }

    /// Issues the read for those who asked while the last one was on its way.
    fn verify_next(&mut self, asked: Vec<Ticket>, ctx: &mut Ctx<'_>) {
        if let (State::Held { etag, verify, .. }, false) = (&mut self.state, asked.is_empty()) {
            let read = ctx.env.read(ctx.target(), Key::owner(ctx.id), Some(etag.clone()));
            *verify = Some(Box::new(Verify::new(read, asked)));
        }
    }

    /// Ends the tenure of a record that seems corrupt. Each answer may have been garbage all the same, and the record
    /// still ours: then it must not go on naming a node that does not hold the cell, so it is given back.
    fn lose_corrupt(&mut self, round: Verify, ctx: &mut Ctx<'_>) {
        let State::Held { epoch, etag, .. } = &self.state else { return };
        let (epoch, etag) = (*epoch, etag.clone());
        self.lose(round, epoch, LossReason::Corrupt, ctx);
        self.give(epoch, etag, ctx);
    }

    fn lose(&mut self, round: Verify, epoch: Epoch, reason: LossReason, ctx: &mut Ctx<'_>) {
        self.state = State::Idle;
        let tenure = ctx.tenure(epoch);
        ctx.env.notify(Notice::CellLost { tenure, reason });
        for ticket in round.served.into_iter().chain(round.next) {
            ctx.verified(ticket, Err(VerifyError::NotOwner(ctx.id.clone())));
        }
    }

    /// Ends a tenure that this node gives up, before the write that gives it up is sent. Those who asked for
    /// a verification get no: the tenure is over.
    pub(super) fn end_tenure(&mut self, ctx: &mut Ctx<'_>) -> Option<(Epoch, ETag)> {
        // Anything else under way, such as a release that the application asked for meanwhile, goes on.
        if !matches!(self.state, State::Held { .. }) {
            return None;
        }
        let State::Held { epoch, etag, verify, .. } = mem::take(&mut self.state) else { return None };
        let tenure = ctx.tenure(epoch);
        ctx.env.notify(Notice::CellEnded(tenure));
        if let Some(verify) = verify {
            for ticket in verify.served.into_iter().chain(verify.next) {
                ctx.verified(ticket, Err(VerifyError::NotOwner(ctx.id.clone())));
            }
        }
        Some((epoch, etag))
    }
}
