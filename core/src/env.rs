//! What every machine of the engine works with: the time, the outbox, fresh ids, and who awaits which reply.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use crate::backoff::Rng;
use crate::config::Config;
use crate::defects::{self, Defect};
use crate::event::{Command, Notice, Outcome, Ticket};
use crate::id::{CellId, ETag, NodeId, WriteId};
use crate::pending::Pending;
use crate::store::{AttemptId, Guard, Key, ListId, ListOp, ReadId, ReadOp, RemoveId, RemoveOp, WriteOp};
use crate::time::{Instant, Now};

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
}

impl Env {
    pub(crate) fn new(config: Config, node: NodeId, seed: u64) -> Self {
        Self {
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

    pub(crate) fn read(&mut self, target: Target, key: Key, unless: Option<ETag>) -> ReadId {
        let id = ReadId::new(self.next_op());
        self.reads.add(id.get(), target);
        self.out.push_back(Command::Read(ReadOp { id, key, unless, timeout: self.timeout() }));
        id
    }

    pub(crate) fn write(&mut self, target: Target, key: Key, guard: Guard, body: Arc<[u8]>) -> AttemptId {
        let id = AttemptId::new(self.next_op());
        self.writes.add(id.get(), target);
        self.out.push_back(Command::Write(WriteOp { id, key, guard, body, timeout: self.timeout() }));
        id
    }

    pub(crate) fn list(&mut self, target: Target, prefix: &str, after: Option<Arc<str>>) -> ListId {
        let id = ListId::new(self.next_op());
        self.lists.add(id.get(), target);
        self.out.push_back(Command::List(ListOp {
            id,
            prefix: prefix.into(),
            after,
            timeout: self.timeout(),
        }));
        id
    }

    /// Removes an object without waiting for the outcome.
    pub(crate) fn remove(&mut self, key: Key) {
        let id = RemoveId::new(self.next_op());
        self.out.push_back(Command::Remove(RemoveOp { id, key, timeout: self.timeout() }));
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

    /// Forgets every request in flight and every one not yet handed out: nothing more is written. Only probe
    /// objects are still cleared away.
    pub(crate) fn silence(&mut self) {
        self.lists.clear();
        self.reads.clear();
        self.writes.clear();
        self.out
            .retain(|command| matches!(command, Command::Done(..) | Command::Notify(_) | Command::Remove(_)));
    }

    fn next_op(&mut self) -> u64 {
        self.op += 1;
        self.op
    }

    fn timeout(&self) -> Duration {
        self.config.attempt_timeout
    }
}

/// Everything but `now`: the next event replaces it before anybody looks. So an engine that was woken for
/// nothing is the engine that it was.
impl Hash for Env {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { config, node, now: _, rng, out, op, seq, skip, lists, reads, writes } = self;
        (config, node, rng, out).hash(state);
        (op, seq, skip).hash(state);
        (lists, reads, writes).hash(state);
    }
}
