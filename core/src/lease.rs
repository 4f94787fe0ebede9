//! This node's own lease: joining, renewing, fencing itself, leaving.
//!
//! Authority ends at `first_sent + ttl - margin_hold` of the last write known applied, whatever happens
//! later. A fence is terminal: the session writes nothing more.
//!
//! ```text
//!   New -> Probing -> Creating -> Held <-> Renewing
//!              |          |         |          |
//!              |          |         v          v        (Held -> Leaving: the tombstone is sent)
//!              +----------+------> Fenced <----+------- Leaving
//! ```

use core::mem;
use core::time::Duration;

use crate::config::Config;
use crate::defects::Defect;
use crate::ending::Ending;
use crate::env::{Env, Target};
use crate::error::{FenceCause, JoinError, PublishError};
use crate::event::{Notice, Outcome, Ticket};
use crate::id::{ETag, NodeId};
use crate::probe::{Probe, Verdict};
use crate::record::{Fields, LeaseRecord, Load, fits};
use crate::store::{AttemptId, Fault, FaultKind, Guard, Key, ReadId, ReadReply, WriteReply};
use crate::time::{Deadline, Instant, Timer};
use crate::write::{Current, Fate, Order, Write};

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

#[derive(Clone, Debug, Hash)]
pub(crate) struct Lease {
    /// Where it lives: made once, for every renewal.
    key: Key,
    state: State,
    load: Option<Load>,
    meta: BTreeMap<String, String>,
    /// The last trouble with a renewal, which tells an expiry for lack of rights from a dark store.
    last_fault: Option<Fault>,
    /// What there is to tell of the session's end.
    ending: Option<Box<Ending>>,
}

#[derive(Clone, Debug, Hash)]
enum State {
    Creating {
        write: Write,
        ticket: Ticket,
    },
    Fenced(FenceCause),
    Held(Held),
    /// The tombstone is sent; nothing is granted any more.
    Leaving {
        write: Write,
        until: Instant,
    },
    New,
    Probing {
        probe: Probe,
        ticket: Ticket,
    },
    Renewing {
        write: Write,
        held: Held,
    },
}

#[derive(Clone, Debug, Hash)]
struct Held {
    etag: ETag,
    /// When authority ends.
    until: Instant,
    renew_at: Instant,
    failures: u32,
}

impl Lease {
    pub(crate) fn new(config: &Config, node: &NodeId) -> Self {
        Self {
            key: Key::lease(node),
            state: State::New,
            load: None,
            meta: config.meta.clone(),
            last_fault: None,
            ending: None,
        }
    }

    pub(crate) fn join(&mut self, ticket: Ticket, env: &mut Env) {
        match self.state {
            State::New => self.state = State::Probing { probe: Probe::start(env), ticket },
            State::Fenced(cause) => env.done(ticket, Outcome::Joined(Err(JoinError::Fenced(cause)))),
            State::Creating { .. }
            | State::Held(_)
            | State::Leaving { .. }
            | State::Probing { .. }
            | State::Renewing { .. } => env.done(ticket, Outcome::Joined(Err(JoinError::Joined))),
        }
    }

    /// Takes what the next renewal carries.
    pub(crate) fn publish(
        &mut self,
        load: Option<Load>,
        meta: Option<BTreeMap<String, String>>,
        env: &Env,
    ) -> Result<(), PublishError> {
        if let Some(meta) = meta {
            if !fits(env.config.addr.as_deref(), &meta) {
                // Others could not read the lease, and so not judge it.
                return Err(PublishError::TooLong);
            }
            self.meta = meta;
        }
        self.load = load.or(self.load.take());
        Ok(())
    }

    /// Sends the tombstone of this lease, if no renewal is in flight. Authority ends with it. Returns whether
    /// it was sent.
    pub(crate) fn leave(&mut self, env: &mut Env) -> bool {
        let held = match &self.state {
            State::Held(held) => held,
            State::Renewing { held, .. } if env.has(Defect::LeaveDuringRenewal) => held,
            State::Creating { .. }
            | State::Fenced(_)
            | State::Leaving { .. }
            | State::New
            | State::Probing { .. }
            | State::Renewing { .. } => return false,
        };
        let until = held.until;
        let guard = Guard::Match(held.etag.clone());
        let write = self.start(guard, true, Some(until), env);
        self.state = State::Leaving { write, until };
        true
    }

    /// Ends what time has ended. Returns whether the session was fenced just now.
    pub(crate) fn expire(&mut self, env: &mut Env) -> bool {
        let until = match &self.state {
            State::Held(held) | State::Renewing { held, .. } => held.until,
            State::Leaving { until, .. } => *until,
            State::Creating { write, .. } => end_of_authority(write.first_sent(), env),
            State::Fenced(_) | State::New | State::Probing { .. } => return false,
        };
        if env.mono() < until
            || (env.has(Defect::LateRevival) && matches!(self.state, State::Renewing { .. }))
        {
            return false;
        }
        let cause = match (&self.state, &self.last_fault) {
            (State::Leaving { .. }, _) => FenceCause::Left,
            (_, Some(fault)) if fault.kind == FaultKind::Denied => FenceCause::Credentials,
            (_, Some(fault)) if fault.kind == FaultKind::Unfit => FenceCause::StoreUnfit,
            _ => FenceCause::Expired,
        };
        self.fence(cause, env);
        true
    }

    /// Ends the session. What a caller of `join` is told depends on what the store last said.
    pub(crate) fn fence(&mut self, cause: FenceCause, env: &mut Env) {
        let ending = self.ending_of(cause, env);
        self.ending.get_or_insert_with(|| Box::new(ending));
        match mem::replace(&mut self.state, State::Fenced(cause)) {
            State::Creating { write, ticket } => {
                let error = match (cause, &self.last_fault) {
                    (FenceCause::StoreUnfit, Some(fault)) => JoinError::Unfit(fault.detail.to_string()),
                    (FenceCause::Credentials | FenceCause::Expired, _) => JoinError::Store(write.fault(env)),
                    (cause, _) => JoinError::Fenced(cause),
                };
                env.done(ticket, Outcome::Joined(Err(error)));
            }
            State::Probing { probe, ticket } => {
                probe.abandon(env);
                env.done(ticket, Outcome::Joined(Err(JoinError::Fenced(cause))));
            }
            State::Fenced(earlier) => self.state = State::Fenced(earlier),
            State::Held(_) | State::Leaving { .. } | State::New | State::Renewing { .. } => {}
        }
    }

    /// Returns what there is to tell of the session's end, once it has ended.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        self.ending.as_deref()
    }

    fn ending_of(&self, cause: FenceCause, env: &Env) -> Ending {
        let until = match &self.state {
            State::Held(held) | State::Renewing { held, .. } => Some(held.until),
            State::Leaving { until, .. } => Some(*until),
            State::Creating { .. } | State::Fenced(_) | State::New | State::Probing { .. } => None,
        };
        let lasts = env.config.ttl.saturating_sub(env.config.margin_hold);
        Ending {
            headroom: until.map_or(Duration::ZERO, |until| until.since(env.mono())),
            renewed: until.map(|until| env.mono().since(until.before(lasts))),
            fault: self.last_fault.clone(),
            ..Ending::new(cause)
        }
    }

    /// Handles a reply to the probe. Returns whether the session was fenced.
    pub(crate) fn on_probe(&mut self, id: AttemptId, reply: WriteReply, env: &mut Env) -> bool {
        let State::Probing { probe, ticket } = &mut self.state else { return false };
        let ticket = *ticket;
        let (error, cause) = match probe.on_write(id, reply, env) {
            Verdict::Pending => return false,
            Verdict::Fit => {
                let write = self.start(Guard::Absent, false, None, env);
                self.state = State::Creating { write, ticket };
                return false;
            }
            Verdict::Store(fault) => {
                let cause = cause_of(&fault);
                (JoinError::Store(fault), cause)
            }
            Verdict::Unfit(why) => (JoinError::Unfit(why), FenceCause::StoreUnfit),
        };
        env.done(ticket, Outcome::Joined(Err(error)));
        self.ending = Some(Box::new(Ending::new(cause)));
        self.state = State::Fenced(cause);
        true
    }

    pub(crate) fn on_write(&mut self, id: AttemptId, reply: WriteReply, env: &mut Env) -> bool {
        match self.write() {
            Some(write) => {
                let fate = write.on_write(id, reply, env);
                self.settle(fate, env)
            }
            None => false,
        }
    }

    pub(crate) fn on_read(&mut self, id: ReadId, reply: ReadReply, env: &mut Env) -> bool {
        match self.write() {
            Some(write) => {
                let fate = write.on_read(id, reply, env);
                self.settle(fate, env)
            }
            None => false,
        }
    }

    pub(crate) fn on_wake(&mut self, env: &mut Env) {
        match &mut self.state {
            State::Probing { probe, .. } => probe.on_wake(env),
            State::Held(held) if held.renew_at <= env.mono() => {
                let held = held.clone();
                let write = self.start(Guard::Match(held.etag.clone()), false, Some(held.until), env);
                self.state = State::Renewing { write, held };
            }
            State::Creating { write, .. } | State::Leaving { write, .. } | State::Renewing { write, .. } => {
                write.on_wake(env);
            }
            State::Fenced(_) | State::Held(_) | State::New => {}
        }
    }

    /// Returns when authority ends, while tenures may be granted and acted on.
    pub(crate) fn authority(&self, env: &Env) -> Option<Instant> {
        match &self.state {
            State::Held(held) | State::Renewing { held, .. } => Some(held.until),
            State::Leaving { until, .. } if env.has(Defect::LeaveBeforeRelease) => Some(*until),
            State::Creating { .. }
            | State::Fenced(_)
            | State::Leaving { .. }
            | State::New
            | State::Probing { .. } => None,
        }
    }

    pub(crate) fn fenced(&self) -> Option<FenceCause> {
        match self.state {
            State::Fenced(cause) => Some(cause),
            State::Creating { .. }
            | State::Held(_)
            | State::Leaving { .. }
            | State::New
            | State::Probing { .. }
            | State::Renewing { .. } => None,
        }
    }

    pub(crate) fn deadline(&self, env: &Env) -> Option<Deadline> {
        let fence = |at| Deadline { at, timer: Timer::Fence };
        match &self.state {
            State::Held(held) => {
                Some(Deadline { at: held.renew_at, timer: Timer::Renew }.min(fence(held.until)))
            }
            State::Renewing { write, .. } if env.has(Defect::LateRevival) => write.deadline(),
            State::Renewing { write, held } => Some(earlier(write.deadline(), fence(held.until))),
            State::Leaving { write, until } => Some(earlier(write.deadline(), fence(*until))),
            State::Creating { write, .. } => {
                Some(earlier(write.deadline(), fence(end_of_authority(write.first_sent(), env))))
            }
            State::Probing { probe, .. } => probe.deadline(),
            State::Fenced(_) | State::New => None,
        }
    }

    /// Checks that something will move the lease on, and that it does not outlive its authority.
    pub(crate) fn check(&self, env: &Env) -> Result<(), &'static str> {
        let (State::Creating { write, .. } | State::Leaving { write, .. } | State::Renewing { write, .. }) =
            &self.state
        else {
            return Ok(());
        };
        if write.is_awake(env) { Ok(()) } else { Err("a write of the lease waits for nothing") }
    }

    fn write(&mut self) -> Option<&mut Write> {
        match &mut self.state {
            State::Creating { write, .. } | State::Leaving { write, .. } | State::Renewing { write, .. } => {
                Some(write)
            }
            State::Fenced(_) | State::Held(_) | State::New | State::Probing { .. } => None,
        }
    }

    fn start(&mut self, guard: Guard, tombstone: bool, urgent: Option<Instant>, env: &mut Env) -> Write {
        let id = env.write_id();
        let lives_ms = u64::try_from(env.config.ttl.as_millis()).unwrap_or(u64::MAX);
        let record = Fields {
            node: &env.node,
            expires_ms: if tombstone { 0 } else { env.now.wall.as_millis().saturating_add(lives_ms) },
            addr: env.config.addr.as_deref(),
            ttl: Some(env.config.ttl),
            write: Some(&id),
            load: self.load.as_ref(),
            meta: &self.meta,
            fenced_by: tombstone.then_some(env.node.as_str()),
        };
        let key = self.key.clone();
        Write::start(Order { target: Target::Lease, key, guard, body: record.to_bytes().into(), urgent }, env)
    }

    /// Applies the fate of the write in flight. Returns whether the session was fenced.
    fn settle(&mut self, fate: Fate, env: &mut Env) -> bool {
        if let Fate::Pending = fate {
            if let Some(write) = self.write() {
                let unfit = (write.contradictions > 4).then(|| write.contradiction());
                let fault = write.last_fault.clone();
                self.last_fault = match fault {
                    _ if unfit.is_some() => unfit.map(|why| Fault::new(FaultKind::Unfit, why)),
                    Some(fault) => Some(fault),
                    None => self.last_fault.take(),
                };
            }
            return false;
        }
        match (mem::replace(&mut self.state, State::New), fate) {
            (State::Creating { ticket, .. }, Fate::Applied { etag, counts_from }) => {
                self.hold(etag, counts_from, end_of_authority(counts_from, env), env);
                let node = env.node.clone();
                env.done(ticket, Outcome::Joined(Ok(node)));
                false
            }
            (State::Renewing { held, .. }, Fate::Applied { etag, counts_from }) => {
                // A renewal found late never shortens the authority held so far.
                let until = end_of_authority(counts_from, env).max(held.until);
                self.hold(etag, counts_from, until, env);
                false
            }
            (State::Renewing { held, .. }, Fate::Lost(Current::Missing))
                if env.has(Defect::RecreateLease) =>
            {
                let write = self.start(Guard::Absent, false, Some(held.until), env);
                self.state = State::Renewing { write, held };
                false
            }
            (State::Renewing { mut held, .. }, Fate::Refused(fault)) => {
                // Refused before it was evaluated: the lease is what it was, until its time is over.
                held.failures += 1;
                held.renew_at = env.backoff(held.failures).min(held.until);
                self.last_fault = Some(fault);
                self.state = State::Held(held);
                false
            }
            (State::Creating { ticket, .. }, Fate::Refused(fault)) => {
                let cause = cause_of(&fault);
                self.ending = Some(Box::new(Ending { fault: Some(fault.clone()), ..Ending::new(cause) }));
                self.state = State::Fenced(cause);
                env.done(ticket, Outcome::Joined(Err(JoinError::Store(fault))));
                true
            }
            (state @ State::Leaving { .. }, _) => {
                self.state = state;
                self.fence(FenceCause::Left, env);
                true
            }
            (state, Fate::Lost(current)) => {
                self.state = state;
                let (cause, by) = loss(&current);
                self.ending = Some(Box::new(Ending { by, ..self.ending_of(cause, env) }));
                self.fence(cause, env);
                true
            }
            (state, _) => {
                self.state = state;
                false
            }
        }
    }

    fn hold(&mut self, etag: ETag, counts_from: Instant, until: Instant, env: &mut Env) {
        let renew_at = counts_from.after(env.rng.jitter(env.config.renew_every(), 100));
        let renew_at = if env.has(Defect::NeverRenew) { until } else { renew_at };
        self.last_fault = None;
        self.state = State::Held(Held { etag, until, renew_at, failures: 0 });
        env.notify(Notice::Authority { until });
    }
}

fn end_of_authority(counts_from: Instant, env: &Env) -> Instant {
    let margin = if env.has(Defect::NoHoldMargin) { Duration::ZERO } else { env.config.margin_hold };
    counts_from.after(env.config.ttl).before(margin)
}

fn earlier(retry: Option<Deadline>, fence: Deadline) -> Deadline {
    retry.map_or(fence, |retry| retry.min(fence))
}

/// Returns what a lease that is no longer ours says about its end, and whom it names.
fn loss(current: &Current) -> (FenceCause, Option<String>) {
    let Current::Version { body, .. } = current else { return (FenceCause::LeaseRemoved, None) };
    let Ok(record) = LeaseRecord::parse(body) else { return (FenceCause::LeaseReplaced, None) };
    let cause = match record.fenced_by {
        Some(_) if record.is_tombstone() => FenceCause::LeaseFenced,
        // A placeholder: the lease was removed, and its key taken to keep us from renewing.
        Some(_) => FenceCause::LeaseRemoved,
        None if record.is_tombstone() => FenceCause::LeaseFenced,
        None => FenceCause::LeaseReplaced,
    };
    (cause, record.fenced_by.or_else(|| Some(record.node.as_str().to_string())))
}

fn cause_of(fault: &Fault) -> FenceCause {
    match fault.kind {
        FaultKind::Denied => FenceCause::Credentials,
        FaultKind::Config | FaultKind::Malformed | FaultKind::Unfit => FenceCause::StoreUnfit,
        // A store that could not be reached has failed no check.
        FaultKind::Network | FaultKind::Throttled | FaultKind::TimedOut | FaultKind::Unavailable => {
            FenceCause::Expired
        }
    }
}
