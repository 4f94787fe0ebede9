//! What every machine of the engine works with: the time, the outbox, fresh ids, and who awaits which reply.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use crate::backoff::Rng;
use crate::budget::{self, Budget, Lane, Waiting};
use crate::config::Config;
use crate::defects::{self, Defect};
use crate::event::{Command, Event, Notice, Outcome, Ticket};
use crate::id::{CellId, ETag, NodeId, WriteId};
use crate::pending::Pending;
use crate::store::{
    AttemptId, Fault, FaultKind, Guard, Key, ListId, ListOp, ListReply, Op, ReadId, ReadOp, ReadReply,
    RemoveId, RemoveOp, RemoveReply, WriteOp, WriteReply,
};
use crate::time::{Deadline, Instant, Now, Timer};

/// The machine that a reply belongs to.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Target {
    Cell(CellId),
    Fleet,
    Lease,
    Locate(Ticket),
    Peer(NodeId),
    Probe,
    Watch(CellId),
}

#[derive(Clone, Debug)]
pub(crate) struct Env {
    pub(crate) config: Config,
    pub(crate) node: NodeId,
    pub(crate) now: Now,
    pub(crate) rng: Rng,
    out: VecDeque<Command>,
    /// The number of the last request; one sequence serves all four kinds.
    op: u64,
    /// The number of the last write begun by this session.
    seq: u64,
    /// How many numbers the next write skips.
    skip: u32,
    lists: Pending<Target>,
    reads: Pending<Target>,
    writes: Pending<Target>,
    budget: Budget,
}

impl Target {
    /// Returns the lane of a request that no more is known of.
    pub(crate) fn lane(&self) -> Lane {
        match self {
            Self::Cell(_) | Self::Lease | Self::Peer(_) | Self::Probe => Lane::Own,
            Self::Fleet | Self::Locate(_) | Self::Watch(_) => Lane::Look,
        }
    }
}

impl Env {
    pub(crate) fn new(config: Config, node: NodeId, seed: u64) -> Self {
        Self {
            budget: Budget::new(config.trouble_rate),
            config,
            node,
            now: Now::default(),
            rng: Rng::new(seed),
            out: VecDeque::with_capacity(16),
            op: 0,
            seq: 0,
            skip: 0,
            lists: Pending::new(),
            reads: Pending::new(),
            writes: Pending::new(),
        }
    }

    pub(crate) fn mono(&self) -> Instant {
        self.now.mono
    }

    pub(crate) fn has(&self, defect: Defect) -> bool {
        defects::has(self.config.defect, defect)
    }

    /// Takes fresh bits, which set the next write apart from that of a clone of this session.
    pub(crate) fn stir(&mut self, bits: u64) {
        if self.has(Defect::CloneUnstirred) {
            return;
        }
        // Half of them: the numbers then last for billions of writes.
        self.skip = (bits >> 32) as u32;
    }

    /// Begins a write: the id that makes its bytes unique.
    pub(crate) fn write_id(&mut self) -> WriteId {
        self.seq = self.seq.wrapping_add(1).wrapping_add(core::mem::take(&mut self.skip).into());
        if self.has(Defect::SameWriteId) {
            self.seq = 1;
        }
        WriteId { node: self.node.clone(), seq: self.seq }
    }

    /// Reads an object: at once, or as soon as the store's trouble allows.
    pub(crate) fn read(&mut self, target: Target, key: Key, unless: Option<ETag>) -> ReadId {
        let lane = target.lane();
        self.read_in(lane, target, key, unless, None)
    }

    pub(crate) fn read_in(
        &mut self,
        lane: Lane,
        target: Target,
        key: Key,
        unless: Option<ETag>,
        urgent: Option<Instant>,
    ) -> ReadId {
        let id = ReadId::new(self.next_op());
        let op = Op::Read(ReadOp { id, key, unless, timeout: self.timeout(urgent) });
        self.send(lane, &target, op);
        self.reads.add(id.get(), target);
        id
    }

    /// Writes an object: at once, or as soon as the store's trouble allows.
    pub(crate) fn write(&mut self, target: Target, key: Key, guard: Guard, body: Arc<[u8]>) -> AttemptId {
        let lane = target.lane();
        self.write_in(lane, target, key, guard, body, None)
    }

    pub(crate) fn write_in(
        &mut self,
        lane: Lane,
        target: Target,
        key: Key,
        guard: Guard,
        body: Arc<[u8]>,
        urgent: Option<Instant>,
    ) -> AttemptId {
        let id = AttemptId::new(self.next_op());
        let op = Op::Write(WriteOp { id, key, guard, body, timeout: self.timeout(urgent) });
        self.send(lane, &target, op);
        self.writes.add(id.get(), target);
        id
    }

    pub(crate) fn list(&mut self, target: Target, prefix: &str, after: Option<Arc<str>>) -> ListId {
        let id = ListId::new(self.next_op());
        let op = Op::List(ListOp { id, prefix: prefix.into(), after, timeout: self.timeout(None) });
        self.send(target.lane(), &target, op);
        self.lists.add(id.get(), target);
        id
    }

    /// Removes an object without waiting for the outcome.
    pub(crate) fn remove(&mut self, key: Key) {
        let id = RemoveId::new(self.next_op());
        self.out.push_back(Command::Remove(RemoveOp { id, key, timeout: self.timeout(None) }));
    }

    pub(crate) fn done(&mut self, ticket: Ticket, outcome: Outcome) {
        self.out.push_back(Command::Done(ticket, outcome));
    }

    pub(crate) fn notify(&mut self, notice: Notice) {
        self.out.push_back(Command::Notify(notice));
    }

    /// Returns the next command, in the order in which they were queued.
    pub(crate) fn poll(&mut self) -> Option<Command> {
        self.out.pop_front()
    }

    pub(crate) fn take_list(&mut self, id: ListId) -> Option<Target> {
        self.lists.take(id.get())
    }

    pub(crate) fn take_read(&mut self, id: ReadId) -> Option<Target> {
        self.reads.take(id.get())
    }

    pub(crate) fn take_write(&mut self, id: AttemptId) -> Option<Target> {
        self.writes.take(id.get())
    }

    /// Returns the machine to which an answer to this read will be brought.
    pub(crate) fn reads_for(&self, id: ReadId) -> Option<&Target> {
        self.reads.get(id.get())
    }

    /// Returns the machine to which an answer to this attempt will be brought.
    pub(crate) fn writes_for(&self, id: AttemptId) -> Option<&Target> {
        self.writes.get(id.get())
    }

    /// Tells whether a reply to this attempt is about a cell.
    pub(crate) fn is_for_cell(&self, id: AttemptId) -> bool {
        matches!(self.writes.get(id.get()), Some(Target::Cell(_)))
    }

    /// Returns when to try again after `failures` failures in a row.
    pub(crate) fn backoff(&mut self, failures: u32) -> Instant {
        if self.has(Defect::NoBackoff) {
            return self.mono();
        }
        let delay = self.rng.backoff(failures, Duration::from_secs(2).min(self.config.ttl / 3));
        self.mono().after(delay)
    }

    /// Returns when to ask again about a key under which the store asked to slow down, and for how long if it said: in
    /// a second at least, and a quarter later than it asked for, give or take a fifth, so that not all come back at once.
    pub(crate) fn rest(&mut self, after: Option<Duration>) -> Instant {
        let wait = after.unwrap_or_default().clamp(Duration::from_secs(1), Duration::from_secs(60));
        let wait = if self.has(Defect::DeafToRetryAfter) { Duration::from_secs(1) } else { wait };
        let jittered = self.rng.jitter(wait.saturating_mul(5) / 4, 200);
        self.mono().after(jittered.max(wait))
    }

    /// Forgets every request in flight and every one not yet handed out: nothing more is written. Only probe
    /// objects are still cleared away.
    pub(crate) fn silence(&mut self) {
        self.lists.clear();
        self.reads.clear();
        self.writes.clear();
        drop(self.budget.sweep());
        self.out
            .retain(|command| matches!(command, Command::Done(..) | Command::Notify(_) | Command::Remove(_)));
    }

    /// Takes from an answer whether the store is of use.
    pub(crate) fn heed(&mut self, fault: Option<Fault>) {
        self.budget.heed(fault);
    }

    /// Tells whether the store has not been of use for so long that nothing should be tried again at once.
    pub(crate) fn is_short(&self) -> bool {
        self.budget.is_short()
    }

    /// Tells whether an attempt has not left yet.
    pub(crate) fn is_waiting(&self, id: AttemptId) -> bool {
        self.budget.is_waiting(id.get())
    }

    /// Returns what to tell a caller about a key that the store gave no answer about.
    pub(crate) fn trouble(&self, key: &Key) -> Fault {
        match self.budget.fault() {
            Some(fault) if !fault.detail.is_empty() => fault.clone(),
            Some(fault) => Fault::new(fault.kind, key.as_str()),
            None => Fault::new(FaultKind::TimedOut, key.as_str()),
        }
    }

    /// Returns the request whose turn it is, and whom it is for, if one more may be sent.
    pub(crate) fn next_waiting(&mut self) -> Option<(Op, Target)> {
        if !self.budget.has_room(self.mono()) {
            return None;
        }
        loop {
            let op = self.budget.pop()?;
            if let Some(target) = self.target(&op) {
                break Some((op, target.clone()));
            }
        }
    }

    /// Hands out a request that waited.
    pub(crate) fn send_waiting(&mut self, op: Op) {
        self.budget.spend_turn(self.mono());
        self.out.push_back(command(op));
    }

    /// Forgets a request that waited in vain for its turn: nobody needs the answer any more.
    pub(crate) fn forget(&mut self, op: &Op) {
        let number = budget::number(op);
        match op {
            Op::List(_) => self.lists.take(number),
            Op::Read(_) => self.reads.take(number),
            Op::Remove(_) => None,
            Op::Write(_) => self.writes.take(number),
        };
    }

    /// Returns a request that has waited too long, answered by what is known: it never left.
    pub(crate) fn next_expired(&mut self) -> Option<Event> {
        let op = self.budget.pop_expired(self.mono(), self.config.patience)?;
        Some(match op {
            Op::List(op) => Event::ListDone(op.id, ListReply::Failed(self.trouble(&Key::join([&op.prefix])))),
            Op::Read(op) => Event::ReadDone(op.id, ReadReply::Failed(self.trouble(&op.key))),
            Op::Remove(op) => Event::RemoveDone(op.id, RemoveReply::Failed(self.trouble(&op.key))),
            Op::Write(op) => Event::WriteDone(op.id, WriteReply::NotApplied(self.trouble(&op.key))),
        })
    }

    /// Returns when something that waits may be sent, or has waited too long.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let at = self.budget.deadline(self.config.patience).filter(|_| !self.has(Defect::ForgottenInLine))?;
        Some(Deadline { at, timer: Timer::Retry })
    }

    /// Returns everything that waits, once it is time to look for what nobody needs any more.
    pub(crate) fn sweep(&mut self) -> Option<[VecDeque<Waiting>; 4]> {
        self.budget.is_crowded().then(|| self.budget.sweep())
    }

    pub(crate) fn put_back(&mut self, lanes: [VecDeque<Waiting>; 4]) {
        self.budget.put_back(lanes);
    }

    /// Returns the machine that awaits the answer to a request.
    pub(crate) fn target(&self, op: &Op) -> Option<&Target> {
        let number = budget::number(op);
        match op {
            Op::List(_) => self.lists.get(number),
            Op::Read(_) => self.reads.get(number),
            Op::Remove(_) => None,
            Op::Write(_) => self.writes.get(number),
        }
    }

    /// Checks that every request that waits can be answered.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        self.budget.check()
    }

    /// Sends a request, or lets it wait: those for this node's own lease never do.
    fn send(&mut self, lane: Lane, target: &Target, op: Op) {
        let now = self.mono();
        let is_own = match target {
            Target::Lease => !self.has(Defect::BudgetedLease),
            Target::Probe => true,
            Target::Cell(_) | Target::Fleet | Target::Locate(_) | Target::Peer(_) | Target::Watch(_) => {
                self.has(Defect::Unbounded)
            }
        };
        if is_own {
            self.budget.spend(now);
            self.out.push_back(command(op));
        } else if let Some(op) = self.budget.admit(lane, op, now) {
            self.out.push_back(command(op));
        }
    }

    fn next_op(&mut self) -> u64 {
        self.op += 1;
        self.op
    }

    /// Returns how long an attempt may take. One that must be over by a certain time takes at most half of what is
    /// left until then: a store that comes back while the attempt hangs is then asked once more in time.
    fn timeout(&self, urgent: Option<Instant>) -> Duration {
        let most = self.config.attempt_timeout;
        match urgent {
            Some(until) => most.min((until.since(self.mono()) / 2).max(self.config.ttl / 100)),
            None => most,
        }
    }
}

/// Everything but `now`: the next event replaces it before anybody looks. So an engine that was woken for
/// nothing is the engine that it was.
impl Hash for Env {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { config, node, now: _, rng, out, op, seq, skip, lists, reads, writes, budget } = self;
        (config, node, rng, out).hash(state);
        (op, seq, skip).hash(state);
        (lists, reads, writes, budget).hash(state);
    }
}

fn command(op: Op) -> Command {
    match op {
        Op::List(op) => Command::List(op),
        Op::Read(op) => Command::Read(op),
        Op::Remove(op) => Command::Remove(op),
        Op::Write(op) => Command::Write(op),
    }
}
