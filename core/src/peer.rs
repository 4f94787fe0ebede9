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

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use crate::config::TTL_MAX;
use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::event::Ticket;
use crate::id::{CellId, ETag, NodeId};
use crate::judge::{Garbage, StoreClockWatch, Version};
use crate::lru::Lru;
use crate::record::{LeaseRecord, RetiredRecord};
use crate::store::{AttemptId, Fault, FaultKind, Guard, Key, ReadId, ReadReply, Stamps, WriteReply};
use crate::time::{Deadline, Instant, Timer};
use crate::write::{Fate, Order, Write};

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

/// How often a lease is read in vain before the askers are told.
const READS_MAX: u32 = 3;

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
            State::ReadingRetired(awaited) if awaited == id => on_retired(node, reply, active, env),
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

    fn on_lease(
        &mut self,
        node: &NodeId,
        reply: ReadReply,
        (issued, is_conditional): (Instant, bool),
        active: &mut Active,
        env: &mut Env,
    ) -> Option<Step> {
        let (version, stamps) = match reply {
            ReadReply::Failed(fault) => return Some(retry(fault, active, env)),
            ReadReply::Throttled { after } => return Some(put_off(Key::lease(node), after, active, env)),
            ReadReply::Missing if env.has(Defect::MissingIsDead) => return Some(Step::Fenced),
            ReadReply::Missing => {
                let id = env.read(Target::Peer(node.clone()), Key::retired(node), None);
                return Some(Step::Go(State::ReadingRetired(id)));
            }
            // No version was named that could be unchanged.
            ReadReply::Unchanged(_) if !is_conditional => return Some(retry(unasked_304(), active, env)),
            ReadReply::Unchanged(stamps) => match self.known.remove(node) {
                Some(known) => (known.version, stamps),
                // Forgotten meanwhile: ask for the whole record.
                None => return Some(Step::Go(self.read(node, env))),
            },
            ReadReply::Found { etag, body, stamps } => {
                let shown = if env.has(Defect::SilenceFromIssue) { issued } else { env.mono() };
                match self.known.remove(node) {
                    Some(known) if known.version.etag == etag && known.version.body == body => {
                        (known.version, stamps)
                    }
                    earlier => {
                        let found = Version::new(node, etag.clone(), body, (stamps, shown), &env.config);
                        let Ok(mut version) = found else {
                            // What was known of the lease stays known: nothing is learned here.
                            if let Some(earlier) = earlier {
                                self.known.insert(node.clone(), earlier);
                            }
                            return Some(self.on_garbage(node, etag, issued, active, env));
                        };
                        if let Some(earlier) = &earlier {
                            if env.has(Defect::MixStamps) {
                                version.keep_stamp_of(&earlier.version);
                            }
                            if version.goes_back_from(&earlier.version) {
                                self.clock.distrust();
                            }
                        }
                        (version, stamps)
                    }
                }
            }
        };
        self.garbage.remove(node);
        if version.is_tombstone {
            return Some(Step::Fenced);
        }
        Some(self.judge(node, version, stamps, issued, active, env))
    }

    fn judge(
        &mut self,
        node: &NodeId,
        mut version: Version,
        stamps: Stamps,
        issued: Instant,
        active: &Active,
        env: &mut Env,
    ) -> Step {
        version.shown_again(stamps);
        if version.is_ahead_of(stamps.date, &env.config) {
            self.clock.distrust();
        }
        let trusted = self.clock.observe(stamps, issued, env.mono(), &env.config);
        let remaining = version.remaining(trusted.date, issued, env.now, &env.config);
        // A foreign expiry may lie years ahead; what becomes of the lease meanwhile is looked at now and then.
        // And silence counts from the answer that first showed a version, so that one must not come late.
        let look_again = if version.is_stamped(trusted.date) { TTL_MAX * 2 } else { env.config.poll };
        let live_until = issued.after(remaining.min(look_again));
        let live_until = if env.has(Defect::LiveForever) { issued.after(TTL_MAX * 100) } else { live_until };
        let step = if !remaining.is_zero() {
            Step::Tell(Verdict::Live { addr: version.addr.clone(), until: live_until })
        } else if env.has(Defect::StealUnfenced) {
            Step::Fenced
        } else if takes(active) {
            let old: &[u8] = if env.has(Defect::FenceForgetsFields) { b"{}" } else { &version.body };
            Step::Go(State::Fencing(fence(node, &version.etag, old, env)))
        } else {
            Step::Tell(Verdict::Dead)
        };
        self.known.insert(node.clone(), Known { version, live_until });
        step
    }

    /// Judges a lease in whose place there is something else, or whose answers are garbage. Its holder may well live.
    fn on_garbage(
        &mut self,
        node: &NodeId,
        etag: ETag,
        issued: Instant,
        active: &mut Active,
        env: &mut Env,
    ) -> Step {
        let garbage = Garbage::shown(etag, env.mono(), self.garbage.get(node).cloned());
        let (is_new, remaining) = (garbage.is_new(), garbage.remaining(issued, &env.config));
        let etag = garbage.etag.clone();
        self.garbage.insert(node.clone(), garbage);
        if is_new {
            retry(Fault::new(FaultKind::Malformed, Key::lease(node).as_str()), active, env)
        } else if !remaining.is_zero() {
            let addr = self.known.get(node).and_then(|known| known.version.addr.clone());
            // Not remembered: bytes that make no sense may make sense in the next answer.
            Step::Tell(Verdict::Live { addr, until: issued })
        } else if takes(active) {
            Step::Go(State::Fencing(fence(node, &etag, b"", env)))
        } else {
            Step::Tell(Verdict::Dead)
        }
    }

    fn settle(&mut self, node: &NodeId, fate: Fate, active: &Active, env: &mut Env) -> Option<Step> {
        match (fate, &active.state) {
            (Fate::Applied { .. }, State::Fencing(_)) => Some(Step::Fenced),
            (Fate::Lost(_), State::Fencing(_)) if env.has(Defect::LostFenceIsDead) => Some(Step::Fenced),
            // It lives, or somebody else was faster; a placeholder is judged like any lease. Look again, at all of it: the
            // version that is known is there no more, and a store that compares contents would say that it is.
            (Fate::Applied { .. } | Fate::Lost(_), _) => {
                self.known.remove(node);
                Some(Step::Go(self.read(node, env)))
            }
            // Not settled in time. Nothing is lost by leaving it at that: wherever it lands later, the version
            // that it replaces was too old, or nothing was there.
            // An attempt on its way is awaited all the same: the next to ask would send another beside it.
            (Fate::Pending, State::Fencing(write) | State::Placing(write))
                if env.mono() >= active.give_up && !write.is_sent() =>
            {
                Some(Step::Tell(Verdict::Failed(write.fault(env))))
            }
            // The lease seems corrupt by now: whatever becomes of the write, what is there is judged.
            (Fate::Pending, State::Fencing(write) | State::Placing(write)) if write.is_corrupt() => {
                Some(Step::Go(self.read(node, env)))
            }
            (Fate::Pending, _) => None,
            (Fate::Refused(fault), _) => Some(Step::Tell(Verdict::Failed(fault))),
        }
    }
}

/// Tells whether some asker wants to take what a dead node held.
fn takes(active: &Active) -> bool {
    active.askers.iter().any(|asker| matches!(asker, Asker::Cell(_)))
}

/// Tells whether a node found dead is being kept from coming back.
fn is_taking(state: &State) -> bool {
    match state {
        State::Fencing(_) | State::Placing(_) => true,
        State::Pausing(_) | State::Reading { .. } | State::ReadingRetired(_) => false,
    }
}

/// Sends the tombstone of exactly the version that was judged, which says `old`.
fn fence(node: &NodeId, etag: &ETag, old: &[u8], env: &mut Env) -> Write {
    let id = env.write_id();
    let body = LeaseRecord::fence(old, node, &env.node, &id).into();
    start(node, Guard::Match(etag.clone()), body, env)
}

/// Takes the key of a lease that somebody removed, so that its holder's next renewal fails.
fn place(node: &NodeId, env: &mut Env) -> Write {
    let id = env.write_id();
    let mut record = LeaseRecord::placeholder(node, &env.node, id, env.now.wall.as_millis());
    if env.has(Defect::PlaceholderTtl) {
        record.ttl = Some(env.config.ttl / 4);
    }
    if env.has(Defect::PlaceholderIsTombstone) {
        record.expires_ms = 0;
    }
    start(node, Guard::Absent, record.to_bytes().into(), env)
}

fn start(node: &NodeId, guard: Guard, body: Arc<[u8]>, env: &mut Env) -> Write {
    let target = Target::Peer(node.clone());
    Write::start(Order { target, key: Key::lease(node), guard, body, urgent: None }, env)
}

fn on_retired(node: &NodeId, reply: ReadReply, active: &mut Active, env: &mut Env) -> Option<Step> {
    Some(match reply {
        ReadReply::Failed(fault) => retry(fault, active, env),
        ReadReply::Found { body, .. }
            if env.has(Defect::AnyMarker) || RetiredRecord::parse_of(node, &body).is_ok() =>
        {
            Step::Fenced
        }
        // An answer that makes no sense kills nobody; junk that stays there is no marker.
        ReadReply::Found { .. } if active.failures + 1 < READS_MAX => {
            retry(Fault::new(FaultKind::Malformed, Key::retired(node).as_str()), active, env)
        }
        ReadReply::Unchanged(_) => retry(unasked_304(), active, env),
        ReadReply::Found { .. } | ReadReply::Missing if takes(active) => {
            Step::Go(State::Placing(place(node, env)))
        }
        ReadReply::Found { .. } | ReadReply::Missing => Step::Tell(Verdict::Dead),
        ReadReply::Throttled { after } => put_off(Key::retired(node), after, active, env),
    })
}

fn unasked_304() -> Fault {
    Fault::new(FaultKind::Malformed, "304 to an unconditional read")
}

fn retry(fault: Fault, active: &mut Active, env: &mut Env) -> Step {
    active.failures += 1;
    if active.failures >= READS_MAX || env.is_short() {
        return Step::Tell(Verdict::Failed(fault));
    }
    Step::Go(State::Pausing(env.backoff(active.failures)))
}

/// The store asked to slow down: the key rests.
fn put_off(key: Key, after: Option<Duration>, active: &mut Active, env: &mut Env) -> Step {
    let mut step = retry(Fault::new(FaultKind::Throttled, key.as_str()), active, env);
    if let Step::Go(State::Pausing(at)) = &mut step {
        *at = env.rest(after).max(*at);
    }
    step
}

fn due(state: &State) -> Option<Instant> {
    match state {
        State::Fencing(write) | State::Placing(write) => write.deadline().map(|deadline| deadline.at),
        State::Pausing(at) => Some(*at),
        State::Reading { .. } | State::ReadingRetired(_) => None,
    }
}
