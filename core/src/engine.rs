//! The engine: one door in, one door out. It routes events to the machines and owns what they share.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::admit::{self, Phase};
use crate::budget;
use crate::cell::{Cells, Standing};
use crate::config::{Config, ConfigError};
use crate::defects::Defect;
use crate::ending::Ending;
use crate::env::{Env, Target};
use crate::error::FenceCause;
use crate::event::{Call, Command, Event, Location, Notice, Outcome, Tenure, Ticket};
use crate::fleet::Fleet;
use crate::id::{CellId, NodeId, SessionId};
use crate::lease::Lease;
use crate::locate::Locates;
use crate::peer::{Asker, Peers, Told};
use crate::store::Op;
use crate::time::{Deadline, Instant, Now, Timer, sooner};
use crate::watch::Watches;

/// One node's session: every decision it makes.
///
/// A value without I/O, clock or randomness: the driver brings events and the time, and executes commands.
/// Cloning it forks the session, which only a simulator should do.
#[derive(Clone, Debug, Hash)]
pub struct Engine {
    env: Env,
    lease: Lease,
    cells: Cells,
    peers: Peers,
    locates: Locates,
    fleet: Fleet,
    watches: Watches,
    leaving: Option<Leaving>,
}

/// A graceful end under way.
#[derive(Clone, Debug, Hash)]
struct Leaving {
    callers: Vec<Ticket>,
    /// Cells held when it began and not given back yet.
    queue: VecDeque<CellId>,
    /// When the rest is abandoned rather than given back; nothing once that has happened.
    give_up: Option<Instant>,
}

/// How many cells a leaving node gives back at once.
const GIVING_MAX: usize = 32;

impl Engine {
    /// Creates an engine that has not joined. `session` is fresh entropy from the driver; `seed` jitters delays.
    ///
    /// # Errors
    /// Refuses a configuration that breaks one of the protocol's inequalities.
    pub fn new(config: Config, session: SessionId, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let node = NodeId::new(&config.name, session).map_err(ConfigError::Name)?;
        Ok(Self {
            lease: Lease::new(&config, &node),
            env: Env::new(config, node, seed),
            cells: Cells::new(),
            peers: Peers::new(),
            locates: Locates::new(),
            fleet: Fleet::new(),
            watches: Watches::new(),
            leaving: None,
        })
    }

    /// Takes 64 fresh random bits; a driver brings new ones before each [`Self::handle`].
    ///
    /// A process that was cloned with its memory, and its clocks, decides everything as its twin does. Fresh
    /// bits are what makes the bytes of their next renewals differ, so that at most one of them finds its own
    /// in the store and goes on. Nothing else depends on them.
    pub fn stir(&mut self, bits: u64) {
        self.env.stir(bits);
    }

    /// Stops jittering: from now on each delay is the middle of its range.
    ///
    /// For exhaustive search, where chance must not make equal situations differ. A fleet of steady nodes would
    /// renew in step.
    #[doc(hidden)]
    pub fn steady(&mut self) {
        self.env.rng.steady();
    }

    /// Advances time to `now`, then applies one event. Total: late, repeated and unknown events are no-ops.
    pub fn handle(&mut self, now: Now, event: Event) {
        // Time never goes back, whatever the driver says.
        self.env.now = Now { mono: now.mono.max(self.env.mono()), wall: now.wall };
        let is_late_grant = self.env.has(Defect::GrantWithoutLease)
            && matches!(&event, Event::WriteDone(id, _) if self.env.is_for_cell(*id));
        // What time has ended ends before anything else happens.
        if !is_late_grant {
            self.expire();
        }
        self.apply(event);
        if is_late_grant {
            self.expire();
        }
        self.wake_due();
        self.go_on_leaving();
        if !self.env.has(Defect::ForgottenInLine) {
            self.send_waiting();
        }
    }

    /// Returns the next command. Call until it says `Idle`, then wait for an event or the deadline.
    pub fn poll(&mut self) -> Command {
        match self.env.poll() {
            Some(command) => command,
            None => Command::Idle { until: self.deadline() },
        }
    }

    /// Returns the tenure this node may act on at `now`, without I/O.
    pub fn tenure(&self, cell: &CellId, now: Now) -> Option<Tenure> {
        self.authority().filter(|until| now.mono < *until)?;
        let epoch = self.cells.tenure(cell, &self.env)?;
        Some(Tenure { cell: cell.clone(), epoch })
    }

    /// Returns every tenure this node may act on at `now`, in the order of the cells' names, without I/O. Takes time
    /// in proportion to the cells that it holds or has something under way about.
    pub fn tenures(&self, now: Now) -> impl Iterator<Item = Tenure> {
        let has_authority = self.authority().is_some_and(|until| now.mono < until);
        let held = has_authority.then(|| self.cells.tenures(&self.env));
        held.into_iter().flatten().map(|(cell, epoch)| Tenure { cell: cell.clone(), epoch })
    }

    /// Returns this node's id.
    pub fn node(&self) -> &NodeId {
        &self.env.node
    }

    /// Returns what there is to tell of the session's end, once it has ended.
    pub fn ending(&self) -> Option<&Ending> {
        self.lease.ending()
    }

    /// Tells whether this node holds the cell, or has something under way about its record.
    pub fn is_at_work(&self, cell: &CellId) -> bool {
        self.cells.knows(cell)
    }

    /// Returns when authority ends, while the lease is held.
    pub fn authority(&self) -> Option<Instant> {
        self.lease.authority(&self.env)
    }

    /// Returns why the session ended, once it has.
    pub fn fenced(&self) -> Option<FenceCause> {
        self.lease.fenced()
    }

    /// Checks the engine's own bookkeeping, between two events: every index is true, whatever waits for an answer
    /// or for a time will be woken, and nothing is kept that nobody needs.
    ///
    /// # Errors
    /// Says what is not as it must be.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), &'static str> {
        self.env.check()?;
        self.lease.check(&self.env)?;
        self.cells.check(&self.env, &self.peers)?;
        self.peers.check(&self.env)?;
        // Once the tombstone is sent, judgements are dropped; the end of the session, which is near, answers who asked.
        if self.authority().is_some() {
            self.locates.check(&self.env, &self.peers)?;
        }
        self.watches.check(&self.env)?;
        if self.lease.fenced().is_some() && !(self.cells.is_empty() && self.leaving.is_none()) {
            return Err("an ended session still works on something");
        }
        Ok(())
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Call(ticket, call) => self.call(ticket, call),
            Event::Cancel(ticket) => {
                let standing = self.standing();
                self.cells.cancel(ticket, (&mut self.env, &mut self.peers, standing));
            }
            Event::ListDone(id, reply) => {
                if self.env.take_list(id).is_some() {
                    self.env.heed(reply.fault());
                    self.fleet.on_list(id, reply, &mut self.env);
                }
            }
            Event::ReadDone(id, reply) => self.on_read(id, reply),
            // A probe object that could not be removed is litter, not a danger.
            Event::RemoveDone(..) | Event::Wake => {}
            Event::WriteDone(id, reply) => self.on_write(id, reply),
        }
    }

    fn on_read(&mut self, id: crate::ReadId, reply: crate::ReadReply) {
        let standing = self.standing();
        let target = self.env.take_read(id);
        if target.is_some() {
            self.env.heed(reply.fault());
        }
        match target {
            Some(Target::Cell(cell)) => {
                self.cells.on_read(&cell, id, reply, (&mut self.env, &mut self.peers, standing));
            }
            Some(Target::Fleet) => self.fleet.on_read(id, reply, &mut self.env),
            Some(Target::Lease) => {
                if self.lease.on_read(id, reply, &mut self.env) {
                    self.end_session();
                }
            }
            Some(Target::Locate(ticket)) => {
                let with = (&mut self.env, &mut self.peers, &mut self.cells.memory);
                self.locates.on_read(ticket, id, reply, with);
            }
            Some(Target::Peer(node)) => {
                let told = self.peers.on_read(&node, id, reply, &mut self.env);
                self.tell(&node, told);
            }
            Some(Target::Watch(cell)) => {
                let with = (&mut self.env, &mut self.cells.memory);
                self.watches.on_read(&cell, id, reply, with);
            }
            Some(Target::Probe) | None => {}
        }
    }

    fn on_write(&mut self, id: crate::AttemptId, reply: crate::WriteReply) {
        let standing = self.standing();
        let target = self.env.take_write(id);
        if target.is_some() {
            self.env.heed(reply.fault());
        }
        let ended = match target {
            Some(Target::Cell(cell)) => {
                self.cells.on_write(&cell, id, reply, (&mut self.env, &mut self.peers, standing));
                false
            }
            Some(Target::Lease) => self.lease.on_write(id, reply, &mut self.env),
            Some(Target::Peer(node)) => {
                let told = self.peers.on_write(&node, id, reply, &mut self.env);
                self.tell(&node, told);
                false
            }
            Some(Target::Probe) => self.lease.on_probe(id, reply, &mut self.env),
            Some(Target::Fleet | Target::Locate(_) | Target::Watch(_)) | None => false,
        };
        if ended {
            self.end_session();
        }
    }

    fn call(&mut self, ticket: Ticket, call: Call) {
        if let Some(refused) = admit::refuse(&call, self.phase()) {
            return self.env.done(ticket, refused);
        }
        let standing = self.standing();
        let with = (&mut self.env, &mut self.peers, standing);
        match call {
            Call::Claim { cell, wait } => self.cells.claim(&cell, (ticket, wait), with),
            Call::Join => self.lease.join(ticket, &mut self.env),
            Call::Leave => self.leave(ticket),
            Call::Locate { cell, max_age } => match self.tenure(&cell, self.env.now) {
                Some(tenure) => self.env.done(ticket, Outcome::Located(Ok(Location::Here(tenure.epoch)))),
                None => self.locates.ask(ticket, cell, max_age, (&mut self.env, &self.cells.memory)),
            },
            Call::Peers => self.fleet.ask(ticket, &mut self.env),
            Call::Publish { load, meta } => {
                let published = self.lease.publish(load, meta, &self.env);
                self.env.done(ticket, Outcome::Published(published));
            }
            Call::Release(tenure) => self.cells.release(ticket, &tenure, with),
            Call::Transfer { tenure, to } => self.cells.transfer(ticket, &tenure, &to, with),
            Call::Unwatch(cell) => {
                self.watches.unwatch(&cell);
                self.env.done(ticket, Outcome::Unwatched);
            }
            Call::Verify(tenure) => self.cells.verify(ticket, &tenure, with),
            Call::Watch(cell) => self.watches.watch(ticket, cell, &mut self.env),
        }
    }

    fn phase(&self) -> Phase {
        if let Some(cause) = self.lease.fenced() {
            Phase::Fenced(cause)
        } else if self.leaving.is_some() {
            Phase::Leaving
        } else if self.authority().is_none() {
            Phase::New
        } else {
            Phase::Joined
        }
    }

    fn standing(&self) -> Standing {
        let is_leaving = self.leaving.is_some() && !self.env.has(Defect::GrantWhileLeaving);
        Standing { authority: self.authority(), is_leaving }
    }

    /// Tells those who asked about a node what was found. An asker may have turned to another node since.
    fn tell(&mut self, node: &NodeId, told: Told) {
        let Some((askers, verdict)) = told else { return };
        for asker in askers {
            match asker {
                Asker::Cell(cell) => {
                    let standing = self.standing();
                    let with = (&mut self.env, &mut self.peers, standing);
                    self.cells.on_verdict(&cell, node, verdict.clone(), with);
                }
                Asker::Locate(ticket) => {
                    self.locates.on_verdict(ticket, node, verdict.clone(), &mut self.env)
                }
            }
        }
    }

    fn expire(&mut self) {
        if self.lease.expire(&mut self.env) {
            self.end_session();
        }
    }

    /// Does everything that is due by now.
    fn wake_due(&mut self) {
        self.lease.on_wake(&mut self.env);
        while self.peers.wake(&mut self.env) {}
        while self.watches.wake(&mut self.env) {}
        if self.cells.is_due(self.env.mono()) {
            let standing = self.standing();
            while self.cells.wake((&mut self.env, &mut self.peers, standing)) {}
        }
        while let Some(event) = self.env.next_expired() {
            self.apply(event);
        }
    }

    /// Sends what waits, as far as the store's answers allow; what nobody needs any more is dropped.
    fn send_waiting(&mut self) {
        while let Some((op, target)) = self.env.next_waiting() {
            if self.needs(&op, &target) {
                if let Target::Peer(node) = &target {
                    self.peers.on_sent(node, self.env.mono());
                }
                self.env.send_waiting(op);
            } else {
                self.env.forget(&op);
            }
        }
        if let Some(mut lanes) = self.env.sweep() {
            for lane in &mut lanes {
                lane.retain(|waiting| {
                    let is_needed =
                        self.env.target(&waiting.op).is_some_and(|target| self.needs(&waiting.op, target));
                    if !is_needed {
                        self.env.forget(&waiting.op);
                    }
                    is_needed
                });
            }
            self.env.put_back(lanes);
        }
    }

    /// Tells whether the machine that asked for a request still awaits the answer.
    fn needs(&self, op: &Op, target: &Target) -> bool {
        let number = budget::number(op);
        match target {
            Target::Cell(cell) => self.cells.awaits(cell, number),
            Target::Fleet => self.fleet.awaits(number),
            Target::Lease | Target::Probe => true,
            Target::Locate(ticket) => self.locates.awaits(*ticket, number),
            Target::Peer(node) => self.peers.awaits(node, number),
            Target::Watch(cell) => self.watches.awaits(cell, number),
        }
    }

    fn leave(&mut self, ticket: Ticket) {
        if self.lease.fenced().is_some() {
            return self.env.done(ticket, Outcome::Left);
        }
        if let Some(leaving) = &mut self.leaving {
            leaving.callers.push(ticket);
            return;
        }
        let queue = self.cells.held().cloned().collect();
        let give_up = self.env.mono().after(self.env.config.patience);
        self.leaving = Some(Leaving { callers: alloc::vec![ticket], queue, give_up: Some(give_up) });
        if self.authority().is_none() {
            // Not joined yet: there is nothing to give back.
            self.lease.fence(FenceCause::Left, &mut self.env);
            return self.end_session();
        }
        if self.env.has(Defect::LeaveBeforeRelease) {
            return self.end_lease();
        }
        if self.env.has(Defect::GrantWhileLeaving) {
            return;
        }
        let standing = self.standing();
        self.cells.admit_no_more(&mut self.env, &mut self.peers, standing);
    }

    /// Gives cells back, a bounded number at once; when all are settled, or time is up, ends the lease.
    fn go_on_leaving(&mut self) {
        if self.leaving.is_none() {
            return;
        }
        let standing = self.standing();
        let Some(leaving) = self.leaving.as_mut().filter(|_| standing.authority.is_some()) else { return };
        while self.cells.giving() < GIVING_MAX
            && let Some(cell) = leaving.queue.pop_front()
        {
            self.cells.give_back(&cell, (&mut self.env, &mut self.peers, standing));
        }
        let now = self.env.mono();
        if leaving.give_up.take_if(|at| now >= *at).is_some() {
            leaving.queue.clear();
            self.cells.abandon(&mut self.env);
        }
        if self.cells.is_empty() {
            // All tenures have ended: now nobody needs to wait for the lease to run out.
            self.end_lease();
        }
    }

    /// Sends our own tombstone, after which this session writes nothing: judgements under way are dropped.
    fn end_lease(&mut self) {
        if self.env.has(Defect::LeaveSilently) {
            self.lease.fence(FenceCause::Left, &mut self.env);
            return self.end_session();
        }
        if self.lease.leave(&mut self.env) {
            self.peers.clear();
        }
    }

    /// Ends everything with the session: nothing more is written, every caller is answered.
    fn end_session(&mut self) {
        let Some(cause) = self.lease.fenced() else { return };
        if self.env.has(Defect::WriteAfterFence) {
            return self.env.notify(Notice::Fenced(cause));
        }
        self.env.silence();
        self.env.notify(Notice::Fenced(cause));
        self.cells.fence(cause, &mut self.env);
        self.peers.clear();
        self.locates.fence(cause, &mut self.env);
        self.fleet.fence(cause, &mut self.env);
        self.watches.fence(cause, &mut self.env);
        if let Some(leaving) = self.leaving.take() {
            for ticket in leaving.callers {
                self.env.done(ticket, Outcome::Left);
            }
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let give_up = self.leaving.as_ref().and_then(|leaving| leaving.give_up);
        let give_up = give_up.filter(|_| self.authority().is_some());
        let leaving = give_up.map(|at| Deadline { at, timer: Timer::Poll });
        let lease = sooner(self.lease.deadline(&self.env), leaving);
        let others = sooner(self.peers.deadline(), self.watches.deadline());
        let others = sooner(others, self.env.deadline());
        sooner(lease, sooner(self.cells.deadline(), others))
    }
}
