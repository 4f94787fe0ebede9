//! How a cell is won: read the record, judge its holder, compare and swap, settle, and grant only while the
//! lease is held.

use alloc::boxed::Box;
use core::mem;
use core::time::Duration;

use super::{Cell, Ctx, Seen, Setback, State, Want};
use crate::budget::Lane;
use crate::defects::Defect;
use crate::error::{BadRecord, ClaimError, HeldBy};
use crate::event::{Outcome, Ticket};
use crate::id::{ETag, Epoch, NodeId};
use crate::peer::{Asker, Verdict};
use crate::record::{Holder, OwnerRecord};
use crate::store::{Fault, FaultKind, Guard, Key, ReadReply};
use crate::time::Instant;
use crate::write::{Current, Fate, Order, Write};

/// How many races one claim may lose before its caller is told.
const CONFLICTS_MAX: u32 = 16;

/// How often the store may contradict itself about one write before the caller is told.
const CONTRADICTIONS_MAX: u32 = 5;

impl Cell {
    /// Takes a caller's wish to own the cell.
    pub(super) fn claim(&mut self, ticket: Ticket, wait: Duration, ctx: &mut Ctx<'_>) {
        if let State::Held { epoch, .. } = self.state {
            let tenure = ctx.tenure(epoch);
            ctx.env.done(ticket, Outcome::Claimed(Ok(tenure)));
            return;
        }
        let until = ctx.env.mono().after(wait);
        let give_up = until.after(ctx.env.config.patience);
        self.wants.push(Want { ticket, until, waits: !wait.is_zero(), give_up });
        ctx.claims.insert(ticket, ctx.id.clone());
        match &mut self.state {
            State::Idle => self.begin(ctx),
            // What the last look showed may have changed before this call.
            State::Waiting { seen, .. } => {
                let seen = seen.clone();
                self.read(Some(seen), ctx);
            }
            State::Claiming { .. }
            | State::Giving(_)
            | State::Held { .. }
            | State::Judging(_)
            | State::Pausing { .. }
            | State::Reading { .. } => {}
        }
    }

    /// Starts a claim from nothing: from our own last release if that is what we know, else by a read.
    pub(super) fn begin(&mut self, ctx: &mut Ctx<'_>) {
        self.conflicts = 0;
        self.failures = 0;
        match ctx.memory.take_release(ctx.id) {
            Some((epoch, etag)) => self.take(next(epoch, ctx), Guard::Match(etag), ctx),
            None => self.read(None, ctx),
        }
    }

    pub(super) fn read(&mut self, seen: Option<Seen>, ctx: &mut Ctx<'_>) {
        let unless = seen.as_ref().map(|seen| seen.etag.clone());
        let lane = if seen.is_some() || self.failures > 0 { Lane::Poll } else { Lane::Look };
        let id = ctx.env.read_in(lane, ctx.target(), Key::owner(ctx.id), unless, None);
        self.state = State::Reading { id, seen, floor: ctx.memory.epoch(ctx.id) };
    }

    /// Takes the answer to a claim's read.
    pub(super) fn on_record(&mut self, reply: ReadReply, ctx: &mut Ctx<'_>) {
        let State::Reading { seen, floor, .. } = mem::take(&mut self.state) else { return };
        let mut rest = None;
        let fault = match (reply, seen) {
            (ReadReply::Found { etag, body, .. }, _) => {
                return self.look(Current::Version { etag, body }, floor, ctx);
            }
            (ReadReply::Missing, _) => return self.look(Current::Missing, floor, ctx),
            (ReadReply::Unchanged(_), Some(seen)) => return self.judge(seen, ctx),
            (ReadReply::Unchanged(_), None) => {
                Fault::new(FaultKind::Malformed, "304 to an unconditional read")
            }
            (ReadReply::Failed(fault), _) => fault,
            (ReadReply::Throttled { after }, _) => {
                rest = Some(ctx.env.rest(after));
                Fault::new(FaultKind::Throttled, Key::owner(ctx.id).as_str())
            }
        };
        self.failed(fault, rest, ctx);
    }

    /// Decides what follows from the record as a read showed it that was issued when `floor` was known. That it could be
    /// read ends no row of failures: a holder that cannot be judged is asked about less and less often.
    fn look(&mut self, current: Current, floor: Option<Epoch>, ctx: &mut Ctx<'_>) {
        let seen = ctx.memory.epoch(ctx.id).filter(|_| !ctx.env.has(Defect::GrantRegressed));
        let (etag, body) = match (current, seen) {
            (Current::Missing, None) => return self.take(Some(Epoch::FIRST), Guard::Absent, ctx),
            (Current::Missing, Some(seen)) => return self.regress(None, seen, floor, ctx),
            (Current::Version { etag, body }, _) => (etag, body),
        };
        let record = match OwnerRecord::parse(&body) {
            Ok(record) => record,
            Err(_) if ctx.env.has(Defect::CorruptTaken) => {
                let epoch = seen.map_or(Some(Epoch::FIRST), |seen| next(seen, ctx));
                return self.take(epoch, Guard::Match(etag), ctx);
            }
            Err(why) => {
                let bad = BadRecord::Corrupt { key: Key::owner(ctx.id), etag, why: alloc::format!("{why}") };
                return self.fail(ctx, |_, _| ClaimError::Bad(bad.clone()));
            }
        };
        if let Some(seen) = seen.filter(|seen| record.epoch < *seen) {
            return self.regress(Some(record.epoch), seen, floor, ctx);
        }
        ctx.memory.note(ctx.id, record.epoch);
        let next = next(record.epoch, ctx);
        match record.holder() {
            Holder::Nobody => self.take(next, Guard::Match(etag), ctx),
            Holder::OfferedTo(node) if *node == ctx.env.node => {
                if ctx.env.has(Defect::AcceptUnwritten) && ctx.may_grant() && !self.wants.is_empty() {
                    return self.grant(record.epoch, etag, 0, ctx);
                }
                self.take(Some(record.epoch), Guard::Match(etag), ctx);
            }
            Holder::OfferedTo(node) if ctx.env.has(Defect::OfferIsHeld) => {
                let seen = Seen { etag, node: node.clone(), epoch: record.epoch };
                self.judge(seen, ctx);
            }
            Holder::OfferedTo(_) => self.take(next, Guard::Match(etag), ctx),
            Holder::Node(node) if *node == ctx.env.node => {
                if ctx.env.has(Defect::GrantStaleOwn) && ctx.may_grant() {
                    let seq = record.write.as_ref().map_or(0, |write| write.seq);
                    return self.grant(record.epoch, etag, seq, ctx);
                }
                if ctx.env.has(Defect::OwnIsHeld) {
                    let seen = Seen { etag, node: node.clone(), epoch: record.epoch };
                    return self.judge(seen, ctx);
                }
                // A late write of ours landed: ours in name, held by nobody.
                self.take(next, Guard::Match(etag), ctx);
            }
            Holder::Node(node) => {
                let seen = Seen { etag, node: node.clone(), epoch: record.epoch };
                self.judge(seen, ctx);
            }
        }
    }

    /// Refuses a record older than one seen before, unless the read that showed it may have been served
    /// earlier than the one that showed more: answers overtake each other, so look again.
    fn regress(&mut self, found: Option<Epoch>, seen: Epoch, floor: Option<Epoch>, ctx: &mut Ctx<'_>) {
        if floor.is_none_or(|floor| found.is_some_and(|found| found >= floor)) {
            return self.read(None, ctx);
        }
        let bad = BadRecord::Regressed { key: Key::owner(ctx.id), seen, found };
        self.fail(ctx, |_, _| ClaimError::Bad(bad.clone()));
    }

    fn judge(&mut self, seen: Seen, ctx: &mut Ctx<'_>) {
        // Most often it is known, and nobody need be asked.
        let known = ctx.peers.verdict(&seen.node, ctx.env);
        let verdict = known.or_else(|| ctx.peers.ask(&seen.node, Asker::Cell(ctx.id.clone()), ctx.env));
        match verdict {
            Some(verdict) => self.decide(seen, verdict, ctx),
            None => self.state = State::Judging(seen),
        }
    }

    /// Takes the verdict on `node`. An earlier claim of this cell may have asked about another node than the
    /// one that holds it now, whose death says nothing about the holder.
    pub(super) fn on_verdict(&mut self, node: &NodeId, verdict: Verdict, ctx: &mut Ctx<'_>) {
        if !matches!(&self.state, State::Judging(seen) if seen.node == *node) {
            return;
        }
        let State::Judging(seen) = mem::take(&mut self.state) else { return };
        self.decide(seen, verdict, ctx);
    }

    /// Decides what follows from the verdict on the node that holds the cell.
    fn decide(&mut self, seen: Seen, verdict: Verdict, ctx: &mut Ctx<'_>) {
        match verdict {
            Verdict::Dead => self.take(seen.epoch.next(), Guard::Match(seen.etag), ctx),
            Verdict::Failed(fault) => self.failed(fault, None, ctx),
            Verdict::Live { addr, .. } => {
                self.failures = 0;
                let poll = ctx.env.config.poll;
                let poll = if ctx.env.has(Defect::WaitNoPoll) { crate::config::TTL_MAX * 100 } else { poll };
                let at = ctx.env.mono().after(ctx.env.rng.jitter(poll * 9 / 10, 100));
                self.conflicts = 0;
                self.state = State::Waiting { at, seen, addr };
                self.give_up_on_time(ctx);
            }
        }
    }

    /// Sends the compare-and-swap that makes the cell ours.
    fn take(&mut self, epoch: Option<Epoch>, guard: Guard, ctx: &mut Ctx<'_>) {
        if self.wants.is_empty() || !ctx.may_grant() {
            // Nobody waits any more, or nothing could be granted: do not even ask for it.
            return self.fail(ctx, |_, _| ClaimError::Leaving);
        }
        let Some(epoch) = epoch else {
            let key = Key::owner(ctx.id);
            return self.fail(ctx, |_, _| ClaimError::Bad(BadRecord::Exhausted { key: key.clone() }));
        };
        self.failures = 0;
        let write = ctx.env.write_id();
        let seq = write.seq;
        let record = OwnerRecord { node: Some(ctx.env.node.clone()), epoch, write: Some(write) };
        let order = Order {
            target: ctx.target(),
            key: Key::owner(ctx.id),
            guard,
            body: record.to_bytes().into(),
            urgent: None,
        };
        self.state = State::Claiming { write: Box::new(Write::start(order, ctx.env)), epoch, seq };
    }

    /// Applies the fate of the claim's write.
    pub(super) fn settle_claim(&mut self, fate: Fate, ctx: &mut Ctx<'_>) {
        let State::Claiming { write, epoch, seq } = mem::take(&mut self.state) else { return };
        match fate {
            Fate::Applied { etag, .. } => {
                ctx.memory.note(ctx.id, epoch);
                if self.wants.is_empty() && ctx.env.has(Defect::CancelledIsKept) {
                    self.state = State::Idle;
                } else if self.wants.is_empty() || !ctx.may_grant() {
                    self.answer_wants(ctx, |_, _| ClaimError::Leaving);
                    self.give(epoch, etag, ctx);
                } else {
                    self.grant(epoch, etag, seq, ctx);
                }
            }
            Fate::Lost(_) if self.wants.is_empty() => {}
            Fate::Lost(current) => {
                self.conflicts += 1;
                if self.conflicts > CONFLICTS_MAX {
                    let (conflicts, holder) = (self.conflicts, current.holder());
                    self.fail(ctx, |cell, _| ClaimError::Contended {
                        cell: cell.clone(),
                        conflicts,
                        holder: holder.clone(),
                    });
                } else if self.conflicts > 2 {
                    // Who keeps losing looks no more often than who waits.
                    let poll = ctx.env.rng.jitter(ctx.env.config.poll, 100);
                    let at = ctx.env.backoff(self.conflicts - 2).max(ctx.env.mono().after(poll));
                    self.state = State::Pausing { at, why: Setback::Race(current.holder()) };
                } else {
                    // The write was guarded by the epoch before the one it claimed.
                    self.look(current, Epoch::new(epoch.get() - 1), ctx);
                }
            }
            Fate::Pending => {
                let conflicts = write.conflicts;
                let is_harmless = write.is_harmless(ctx.env);
                let is_inconsistent = write.contradictions > CONTRADICTIONS_MAX;
                let why = write.contradiction();
                let corrupt = write.corrupt();
                self.state = State::Claiming { write, epoch, seq };
                if let Some(bad) = corrupt {
                    // Our own write may be what comes as garbage, so it is settled all the same.
                    self.answer_wants(ctx, |_, _| ClaimError::Bad(bad.clone()));
                } else if is_inconsistent {
                    let key = Key::owner(ctx.id);
                    self.answer_wants(ctx, |_, _| ClaimError::Inconsistent { key: key.clone(), why });
                } else if conflicts > CONFLICTS_MAX {
                    self.answer_wants(ctx, |cell, _| ClaimError::Contended {
                        cell: cell.clone(),
                        conflicts,
                        holder: None,
                    });
                }
                if self.wants.is_empty() && is_harmless {
                    self.state = State::Idle;
                }
            }
            Fate::Refused(fault) => self.fail(ctx, |_, _| ClaimError::Store(fault.clone())),
        }
    }

    fn grant(&mut self, epoch: Epoch, etag: ETag, seq: u64, ctx: &mut Ctx<'_>) {
        self.conflicts = 0;
        self.state = State::Held { epoch, etag, seq, verify: None };
        for want in mem::take(&mut self.wants) {
            if !ctx.env.has(Defect::LeakClaim) {
                ctx.claims.remove(&want.ticket);
            }
            let tenure = ctx.tenure(epoch);
            ctx.env.done(want.ticket, Outcome::Claimed(Ok(tenure)));
        }
    }

    /// A read failed: look again soon, or after the rest that the store asked for. The callers' own deadlines bound how
    /// long.
    fn failed(&mut self, fault: Fault, rest: Option<Instant>, ctx: &mut Ctx<'_>) {
        if self.wants.is_empty() {
            self.state = State::Idle;
            return;
        }
        if matches!(fault.kind, FaultKind::Config | FaultKind::Denied) {
            return self.fail(ctx, |_, _| ClaimError::Store(fault.clone()));
        }
        self.failures += 1;
        let at = ctx.env.backoff(self.failures);
        let at = rest.map_or(at, |rest| rest.max(at));
        self.state = State::Pausing { at, why: Setback::Fault(fault) };
    }

    /// Answers every caller with an error and forgets the cell; no write of ours is on its way.
    fn fail(&mut self, ctx: &mut Ctx<'_>, error: impl FnMut(&crate::CellId, &Want) -> ClaimError) {
        self.state = State::Idle;
        self.answer_wants(ctx, error);
    }

    pub(super) fn answer_wants(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut error: impl FnMut(&crate::CellId, &Want) -> ClaimError,
    ) {
        for want in mem::take(&mut self.wants) {
            ctx.claims.remove(&want.ticket);
            let error = error(ctx.id, &want);
            ctx.env.done(want.ticket, Outcome::Claimed(Err(error)));
        }
        self.forget_if_unwanted(ctx);
    }

    /// Answers the callers whose time is over.
    pub(super) fn give_up_on_time(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.env.mono();
        if self.deadline_of_callers().is_some_and(|at| now < at) {
            return;
        }
        let mut kept = mem::take(&mut self.wants);
        kept.retain(|want| {
            let error = match &self.state {
                State::Waiting { seen, addr, .. } if now >= want.until => {
                    let cell = ctx.id.clone();
                    let by = HeldBy { node: seen.node.clone(), addr: addr.clone(), epoch: seen.epoch };
                    if want.waits { ClaimError::Timeout(cell, Some(by)) } else { ClaimError::Held(cell, by) }
                }
                _ if now < want.give_up => return true,
                State::Claiming { write, .. } if write.contradictions > 1 => {
                    ClaimError::Inconsistent { key: Key::owner(ctx.id), why: write.contradiction() }
                }
                State::Claiming { write, .. } => ClaimError::Store(write.fault(ctx.env)),
                State::Pausing { why: Setback::Fault(fault), .. } => ClaimError::Store(fault.clone()),
                State::Pausing { why: Setback::Race(holder), .. } => ClaimError::Contended {
                    cell: ctx.id.clone(),
                    conflicts: self.conflicts,
                    holder: holder.clone(),
                },
                State::Giving(_)
                | State::Held { .. }
                | State::Idle
                | State::Judging(_)
                | State::Reading { .. }
                | State::Waiting { .. } => ClaimError::Store(ctx.env.trouble(&Key::owner(ctx.id))),
            };
            ctx.claims.remove(&want.ticket);
            ctx.env.done(want.ticket, Outcome::Claimed(Err(error)));
            false
        });
        self.wants = kept;
        self.forget_if_unwanted(ctx);
    }

    pub(super) fn cancel(&mut self, ticket: Ticket, ctx: &Ctx<'_>) {
        self.wants.retain(|want| want.ticket != ticket);
        if ctx.env.has(Defect::CancelStopsSettling)
            && self.wants.is_empty()
            && matches!(self.state, State::Claiming { .. })
        {
            self.state = State::Idle;
        }
        self.forget_if_unwanted(ctx);
    }

    /// Drops what only served callers who are gone. A write on its way goes on until it is settled.
    fn forget_if_unwanted(&mut self, ctx: &Ctx<'_>) {
        if !self.wants.is_empty() {
            return;
        }
        match &self.state {
            State::Judging(_) | State::Pausing { .. } | State::Reading { .. } | State::Waiting { .. } => {
                self.state = State::Idle;
            }
            State::Claiming { write, .. } if write.is_harmless(ctx.env) => self.state = State::Idle,
            State::Claiming { .. } | State::Giving(_) | State::Held { .. } | State::Idle => {}
        }
    }
}

/// Returns the epoch of the claim that follows on one.
fn next(epoch: Epoch, ctx: &Ctx<'_>) -> Option<Epoch> {
    if ctx.env.has(Defect::ClaimSameEpoch) {
        return Some(epoch);
    }
    if ctx.env.has(Defect::EpochSkips) {
        return epoch.next()?.next();
    }
    epoch.next()
}
