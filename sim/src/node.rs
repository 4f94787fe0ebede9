//! Machines and the sessions that run on them.
//!
//! A machine outlives its processes: it has the clocks, and one process at a time. Each process is one
//! session with an engine of its own. The application on top is [`Process`](crate::process::Process).

use std::collections::VecDeque;
use std::rc::Rc;

use tenure_core::{Deadline, Engine, Instant, Key, NodeId, Now, Tenure};

use crate::clock::{Clock, Moment};
use crate::garble::Garbled;
use crate::queue::Occasion;
use crate::watched::Watched;

/// One run of one process, as the protocol knows it: an engine.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) machine: usize,
    /// Shared by the forks of a small world until one of them goes its own way.
    pub(crate) engine: Rc<Engine>,
    /// What the engine draws its delays from.
    pub(crate) seed: u64,
    pub(crate) lease_key: Key,
    /// When it began to write its lease, until it has learned that this is done.
    pub(crate) renews_since: Option<Moment>,
    /// What the engine held when it was last told something.
    pub(crate) held: Vec<Tenure>,
    pub(crate) watched: Vec<Watched>,
    pub(crate) is_running: bool,
    /// Under which keys it got garbage.
    pub(crate) garbled: Vec<Garbled>,
}

impl Session {
    /// Builds the session of a process that has just started.
    pub(crate) fn new(machine: usize, engine: Engine, seed: u64) -> Self {
        let lease_key = Key::lease(engine.node());
        let engine = Rc::new(engine);
        Self {
            machine,
            engine,
            seed,
            lease_key,
            renews_since: None,
            held: Vec::new(),
            watched: Vec::new(),
            is_running: true,
            garbled: Vec::new(),
        }
    }

    /// Returns the number of the machine it runs on.
    pub const fn machine(&self) -> usize {
        self.machine
    }

    /// Returns the id its records carry.
    pub fn id(&self) -> &NodeId {
        self.engine.node()
    }

    /// Returns the key of its lease.
    pub const fn lease_key(&self) -> &Key {
        &self.lease_key
    }

    /// Returns the engine; that of a process that has died stands as it was.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Asks the engine what it holds, now that it has been told something.
    pub(crate) fn note_held(&mut self, now: Now) {
        self.held.clear();
        self.held.extend(self.engine.tenures(now));
    }

    /// Returns what the engine said it may act on when it had last handled an event. Since then only the end of its
    /// authority can have taken that away.
    pub fn held(&self) -> &[Tenure] {
        &self.held
    }

    /// Returns the cells it watches or has watched, and what it was last shown of them.
    pub fn watched(&self) -> &[Watched] {
        &self.watched
    }

    /// Tells whether an answer has shown it garbage under a key.
    pub fn was_garbled(&self, key: &Key) -> bool {
        self.garbled.iter().any(|garbled| garbled.key() == key)
    }

    /// Tells whether the process exists. A paused one does.
    pub const fn is_running(&self) -> bool {
        self.is_running
    }
}

/// A machine: clocks, and a place for one process.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) clock: Clock,
    pub(crate) session: Option<usize>,
    /// What happened to the process while it stood still; it learns of it when it goes on.
    pub(crate) missed: VecDeque<Occasion>,
    pub(crate) is_paused: bool,
    /// Whether it stands still with the whole machine: no answer under way reaches it.
    pub(crate) is_suspended: bool,
    /// Since when its monotonic clock stands still, if it does.
    pub(crate) stopped_at: Option<Moment>,
    wake: Option<Instant>,
    generation: u32,
}

impl Machine {
    pub(crate) const fn new(name: String, clock: Clock) -> Self {
        Self {
            name,
            clock,
            session: None,
            missed: VecDeque::new(),
            is_paused: false,
            is_suspended: false,
            stopped_at: None,
            wake: None,
            generation: 0,
        }
    }

    pub(crate) fn now(&self, at: Moment) -> Now {
        self.clock.now(at)
    }

    /// Takes what the engine waits for; returns when to wake it and under which number, if that is news.
    pub(crate) fn set_wake(&mut self, until: Option<Deadline>) -> Option<(Moment, u32)> {
        let until = until.map(|deadline| deadline.at);
        if until == self.wake {
            return None;
        }
        self.wake = until;
        self.generation += 1;
        Some((self.clock.when(until?), self.generation))
    }

    /// Returns when the engine wants to be woken.
    pub(crate) const fn wakes(&self) -> Option<Instant> {
        self.wake
    }

    /// Tells whether the sleep of this number is the one that counts, and ends it.
    pub(crate) fn take_wake(&mut self, generation: u32) -> bool {
        let is_current = generation == self.generation;
        if is_current {
            self.wake = None;
        }
        is_current
    }

    /// Forgets the process that ran here.
    pub(crate) fn clear(&mut self) {
        self.session = None;
        self.is_paused = false;
        self.is_suspended = false;
        self.stopped_at = None;
        self.missed.clear();
        self.wake = None;
        self.generation += 1;
    }
}
