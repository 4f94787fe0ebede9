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
}

/// How often one verify asks a store that fails to answer.
const TRIES_MAX: u32 = 3;

impl Verify {
    pub(super) fn is_awake(&self, cell: &CellId, env: &Env) -> bool {
        matches!(env.reads_for(self.read), Some(Target::Cell(awaited)) if awaited == cell)
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
                let served = alloc::vec![ticket];
                *verify = Some(Box::new(Verify { read, served, next: Vec::new(), tries: 1 }));
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
                let reason = match OwnerRecord::parse(&body) {
                    Ok(record) => {
                        ctx.memory.note(ctx.id, record.epoch);
                        LossReason::RecordReplaced
                    }
                    Err(_) => LossReason::Corrupt,
                };
                return self.lose(*round, epoch, reason, ctx);
            }
            ReadReply::Missing => return self.lose(*round, epoch, LossReason::RecordRemoved, ctx),
            ReadReply::Failed(fault) => fault,
            ReadReply::Throttled { .. } => Fault::new(FaultKind::Throttled, Key::owner(ctx.id).as_str()),
        };
        if round.tries < TRIES_MAX && fault.kind != FaultKind::Throttled && fault.kind != FaultKind::Denied {
            round.tries += 1;
            // A fresh read serves those who came in the meantime, too.
            round.served.append(&mut round.next);
            round.read = ctx.env.read(ctx.target(), Key::owner(ctx.id), Some(etag.clone()));
            *verify = Some(round);
            return;
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
            *verify = Some(Box::new(Verify { read, served: asked, next: Vec::new(), tries: 1 }));
        }
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
