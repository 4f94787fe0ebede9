//! Other nodes: is one dead, and if so, fence it. One judgement at a time per node, whoever asks.
//!
//! A verdict of death becomes true by the fence, a compare-and-swap of the very version that was judged to
//! a tombstone; from then on it is permanent and remembered. A live verdict is remembered for as long as
//! that version is known to live.
//!
//! ```text
//!   ask -> Reading -- tombstone, or fenced --------------------------------> dead
//!             |  ^ \- young ---> live (remembered)                            ^
//!             |  |  \- too old --> Fencing -- applied -------------------------+
//!             |  +------------------ lost --+          (garbage: look again)   |
//!             +- missing -> ReadingRetired -- its marker -----------------------+
//!                    ^            +- missing -> Placing -- applied or lost --> Reading
//! ```

mod steps;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::event::Ticket;
use crate::id::{CellId, NodeId};
use crate::judge::{Garbage, StoreClockWatch, Version};
use crate::lru::Lru;
use crate::store::{AttemptId, Fault, Key, ReadId, ReadReply, WriteReply};
use crate::time::{Deadline, Instant, Timer};
use crate::write::Write;

/// What is known about a node.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Verdict {
    /// Its lease can never be renewed again; or, for an asker who takes nothing, it is too old.
    Dead,
    /// The store could not be asked.
    Failed(Fault),
    /// Its lease lives.
    Live { addr: Option<String>, until: Instant },
}

/// Who wants to know.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum Asker {
    /// A claim, which needs a dead node fenced.
    Cell(CellId),
    /// A look-up, which changes nothing.
    Locate(Ticket),
}

#[derive(Clone, Debug, Hash)]
pub(crate) struct Peers {
    /// Nodes being judged; as many as there are operations in flight at most.
    active: BTreeMap<NodeId, Active>,
    dead: Lru<NodeId, ()>,
    known: Lru<NodeId, Known>,
    /// What the last answers showed instead of leases.
    garbage: Lru<NodeId, Garbage>,
    deadlines: BTreeSet<(Instant, NodeId)>,
    clock: StoreClockWatch,
}

#[derive(Clone, Debug, Hash)]
struct Known {
    version: Version,
    live_until: Instant,
}

#[derive(Clone, Debug, Hash)]
struct Active {
    askers: BTreeSet<Asker>,
    state: State,
    failures: u32,
    /// When the askers are told of the trouble instead of waiting on.
    give_up: Instant,
}

#[derive(Clone, Debug, Hash)]
enum State {
    Fencing(Write),
    Pausing(Instant),
    Placing(Write),
    Reading { id: ReadId, issued: Instant, is_conditional: bool },
    ReadingRetired(ReadId),
}

/// How many dead and how many living nodes are remembered.
const REMEMBERED: usize = 4096;

/// Who is to be told what, after a step that ended a judgement.
pub(crate) type Told = Option<(BTreeSet<Asker>, Verdict)>;

/// What a step of a judgement led to.
enum Step {
    /// The node is dead for good.
    Fenced,
    Go(State),
    Tell(Verdict),
}

impl Peers {
    pub(crate) fn new() -> Self {
        Self {
            active: BTreeMap::new(),
            dead: Lru::new(REMEMBERED),
            known: Lru::new(REMEMBERED),
            deadlines: BTreeSet::new(),
            garbage: Lru::new(REMEMBERED),
            clock: StoreClockWatch::default(),
        }
    }

    /// Returns the verdict on `node` if it is known.
    pub(crate) fn verdict(&self, node: &NodeId, env: &Env) -> Option<Verdict> {
        if env.has(Defect::StealLive) || self.dead.get(node).is_some() {
            return Some(Verdict::Dead);
        }
        let known = self.known.get(node).filter(|known| env.mono() < known.live_until)?;
        Some(Verdict::Live { addr: known.version.addr.clone(), until: known.live_until })
    }

    /// Returns the verdict on `node` if it is known; otherwise the asker is told by `on_*` later.
    pub(crate) fn ask(&mut self, node: &NodeId, asker: Asker, env: &mut Env) -> Option<Verdict> {
        if let Some(verdict) = self.verdict(node, env) {
            return Some(verdict);
        }
        match self.active.get_mut(node) {
            Some(active) if is_taking(&active.state) && matches!(asker, Asker::Locate(_)) => {
                return Some(Verdict::Dead);
            }
            Some(active) => {
                active.askers.insert(asker);
            }
            None => {
                let state = self.read(node, env);
                let give_up = env.mono().after(env.config.patience);
                let active = Active { askers: BTreeSet::from([asker]), state, failures: 0, give_up };
                self.active.insert(node.clone(), active);
            }
        }
        None
    }

    pub(crate) fn on_read(&mut self, node: &NodeId, id: ReadId, reply: ReadReply, env: &mut Env) -> Told {
        self.step(node, env, |peers, active, env| match active.state {
            State::Reading { id: awaited, issued, is_conditional } if awaited == id => {
                peers.on_lease(node, reply, (issued, is_conditional), active, env)
            }
            State::ReadingRetired(awaited) if awaited == id => steps::on_retired(node, reply, active, env),
            State::Fencing(ref mut write) | State::Placing(ref mut write) => {
                let fate = write.on_read(id, reply, env);
                peers.settle(node, fate, active, env)
            }
            State::Pausing(_) | State::Reading { .. } | State::ReadingRetired(_) => None,
        })
    }

    pub(crate) fn on_write(
        &mut self,
        node: &NodeId,
        id: AttemptId,
        reply: WriteReply,
        env: &mut Env,
    ) -> Told {
        self.step(node, env, |peers, active, env| match active.state {
            State::Fencing(ref mut write) | State::Placing(ref mut write) => {
                let fate = write.on_write(id, reply, env);
                peers.settle(node, fate, active, env)
            }
            State::Pausing(_) | State::Reading { .. } | State::ReadingRetired(_) => None,
        })
    }

    /// Does what is due for one node, if anything is.
    pub(crate) fn wake(&mut self, env: &mut Env) -> bool {
        let due = self.deadlines.first().filter(|(at, _)| *at <= env.mono());
        let Some((_, node)) = due.cloned() else { return false };
        self.step(&node, env, |peers, active, env| match active.state {
            State::Pausing(_) => Some(Step::Go(peers.read(&node, env))),
            State::Fencing(ref mut write) | State::Placing(ref mut write) => {
                write.on_wake(env);
                None
            }
            State::Reading { .. } | State::ReadingRetired(_) => None,
        });
        true
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.deadlines.first().map(|(at, _)| Deadline { at: *at, timer: Timer::Retry })
    }

    /// Forgets everything under way: the session writes nothing more.
    pub(crate) fn clear(&mut self) {
        self.active.clear();
        self.deadlines.clear();
    }

    /// Tells whether the asker will be told about `node`.
    pub(crate) fn is_asked(&self, node: &NodeId, asker: &Asker) -> bool {
        self.active.get(node).is_some_and(|active| active.askers.contains(asker))
    }

    /// Takes that the read in flight, if it is one, left only now: silence and the store's clock are measured from its
    /// sending.
    pub(crate) fn on_sent(&mut self, node: &NodeId, now: Instant) {
        if let Some(Active { state: State::Reading { issued, .. }, .. }) = self.active.get_mut(node) {
            *issued = now;
        }
    }

    /// Tells whether a judgement awaits the answer to the request of this number.
    pub(crate) fn awaits(&self, node: &NodeId, number: u64) -> bool {
        self.active.get(node).is_some_and(|active| match &active.state {
            State::Fencing(write) | State::Placing(write) => write.awaits(number),
            State::Pausing(_) => false,
            State::Reading { id, .. } | State::ReadingRetired(id) => id.get() == number,
        })
    }

    /// Checks the index against the judgements under way, and that something will move each of them on.
    pub(crate) fn check(&self, env: &Env) -> Result<(), &'static str> {
        if self.active.is_empty() && self.deadlines.is_empty() {
            return Ok(());
        }
        let mut waiting = 0;
        for (node, active) in &self.active {
            let is_awake = match &active.state {
                State::Fencing(write) | State::Placing(write) => write.is_awake(env),
                State::Pausing(_) => true,
                State::Reading { id, .. } | State::ReadingRetired(id) => {
                    matches!(env.reads_for(*id), Some(Target::Peer(awaited)) if awaited == node)
                }
            };
            if !is_awake {
                return Err("a judgement waits for nothing");
            }
            waiting += usize::from(due(&active.state).is_some());
        }
        // As many entries as judgements that wait, and every entry that of one: so each has its own.
        let waits = |(at, node): &(Instant, NodeId)| {
            self.active.get(node).is_some_and(|active| due(&active.state) == Some(*at))
        };
        if !self.deadlines.iter().all(waits) {
            return Err("a judgement is woken at a time for which it does not wait");
        }
        if waiting == self.deadlines.len() {
            Ok(())
        } else {
            Err("a judgement waits for a time at which it is not woken")
        }
    }

    /// Applies one step to a node under judgement and keeps the deadline index true.
    fn step(
        &mut self,
        node: &NodeId,
        env: &mut Env,
        step: impl FnOnce(&mut Self, &mut Active, &mut Env) -> Option<Step>,
    ) -> Told {
        let mut active = self.active.remove(node)?;
        if let Some(at) = due(&active.state) {
            self.deadlines.remove(&(at, node.clone()));
        }
        match step(self, &mut active, env) {
            Some(Step::Fenced) => {
                self.known.remove(node);
                self.garbage.remove(node);
                self.dead.insert(node.clone(), ());
                return Some((active.askers, Verdict::Dead));
            }
            Some(Step::Tell(verdict)) => return Some((active.askers, verdict)),
            Some(Step::Go(state)) => active.state = state,
            None => {}
        }
        if let Some(at) = due(&active.state) {
            self.deadlines.insert((at, node.clone()));
        }
        // A look-up changes nothing, and need not wait for the fence either.
        let mut lookers = BTreeSet::new();
        if is_taking(&active.state) {
            let cells = |asker: &Asker| matches!(asker, Asker::Cell(_));
            (active.askers, lookers) = active.askers.into_iter().partition(cells);
        }
        self.active.insert(node.clone(), active);
        (!lookers.is_empty()).then_some((lookers, Verdict::Dead))
    }

    fn read(&self, node: &NodeId, env: &mut Env) -> State {
        let unless = self.known.get(node).map(|known| known.version.etag.clone());
        let is_conditional = unless.is_some();
        let id = env.read(Target::Peer(node.clone()), Key::lease(node), unless);
        State::Reading { id, issued: env.mono(), is_conditional }
    }
}

/// Tells whether a node found dead is being kept from coming back.
fn is_taking(state: &State) -> bool {
    match state {
        State::Fencing(_) | State::Placing(_) => true,
        State::Pausing(_) | State::Reading { .. } | State::ReadingRetired(_) => false,
    }
}

fn due(state: &State) -> Option<Instant> {
    match state {
        State::Fencing(write) | State::Placing(write) => write.deadline().map(|deadline| deadline.at),
        State::Pausing(at) => Some(*at),
        State::Reading { .. } | State::ReadingRetired(_) => None,
    }
}
