//! Small worlds on a coarse clock, in which what happens next is one explicit choice.
//!
//! A [`SmallWorld`] runs the same engines over the same [`Store`] under the same [checks](crate::checks) as a
//! [`World`](crate::World), but there is no latency and no rate: time advances in ticks, and between two ticks
//! everything that can happen can happen in every order. So the world is finite, and [`Search`] explores all of it.
//!
//! ```text
//!   tick 3                                                        tick 4
//!     |  serve   deliver   wake   ask   give up | crash  astray  ... |
//!     |    \________ in every order ___________/   \_ a fault each _/ |
//!     |                                                              |
//!     +-- time passes only when every message that is not astray ----+
//!         has arrived and every engine that is due was woken
//! ```
//!
//! # What a move is
//!
//! A request reaches the store, an answer reaches its sender, an engine that is due is woken, a sender's time is
//! up, an application asks for something, a process that stood still goes on, or a tick passes. All else is a [`Mishap`] and
//! costs one of the scope's faults. Where a move has more than one outcome (how far a stamp is off) each is tried.
//!
//! # What time is
//!
//! A ttl is a few ticks, and the configuration has nothing to spare: margins are what drift and disagreement
//! require, to the tick. So a rule that is one tick short is broken here, whereas with a fine clock it would be broken in
//! one of millions of schedules. A request takes no time unless it goes astray or somebody stands still; then it takes
//! any number of ticks.
//!
//! # What is bounded
//!
//! The nodes, the cells, the ticks, the faults (in all and of each kind), and what the applications may ask for and
//! how often: see [`Scope`]. Each node is one session; a crashed one does not come back. Nodes have joined, and the
//! first holds every cell, before anything can go wrong.
//!
//! # What a search proves, and what not
//!
//! Within these bounds no schedule is left out: if [`Search::run`] returns a complete [`Summary`], the engine that ships
//! keeps every check of [`Standard`] in all of them, but for two situations that happen to have one 128-bit print.
//! And a violation is found on a shortest path. It proves nothing about more faults, more nodes or longer times; nor about
//! what no move does: records put back, clones, unfit or stale stores, foreign nodes, clocks that jump, liveness
//! after the world has healed. Those are for the [`World`](crate::World), whose schedules are sampled.
//!
//! Some situations are never built because others stand for them. Each such saving is argued where it is made, and one test
//! compares every end of several worlds with those that a search without any saving finds: the far past of the store
//! (`residue.rs`), faults that made no difference (`seen.rs`), and, if [asked for](Search::narrowly), orders of
//! moves that commute (`narrow.rs`).
//!
//! # A test of one's own
//!
//! [`Search`] has an example that explores completely; every part of a [`Scope`] can be set, its configuration too:
//!
//! ```
//! use tenure_core::Config;
//! use tenure_sim::small::{Mishap, Scope, Search, Wish};
//!
//! // A node that polls only every second tick, and applications that release what they have.
//! let fine = Scope::fine(3);
//! let config = Config { poll: 2 * fine.tick, ..fine.config.clone() };
//! let scope = Scope { config, horizon: 3, ..fine }
//!     .asking(&[(Wish::Release, 1), (Wish::Claim, 1)])
//!     .with_faults(1, &[(Mishap::Crash, 1)]);
//! if let Err(found) = Search::new(&scope).narrowly().run() {
//!     panic!("after {} moves\n{}", found.depth, found.failure);
//! }
//! ```
//!
//! One schedule at a time is a [`SmallWorld`] with any [`Choices`]: [`SmallWorld::step`] asks them what happens next. An
//! [`Odometer`](crate::Odometer) answers in every way there is, one after the other.

mod aims;
mod app;
mod drive;
mod flight;
mod mishaps;
mod moves;
mod narrow;
mod perform;
mod pool;
mod print;
mod residue;
mod sample;
mod scope;
mod search;
mod seen;
mod serve;
mod trail;

pub use aims::{Aim, Pin, aims, pins};
pub use sample::{Sampler, Sampling};
pub use scope::{Mishap, Scope, Wish};
pub use search::{Counterexample, Search, Summary};

use core::time::Duration;
use std::rc::Rc;

use tenure_core::{Call, CellId, Config, Engine, SessionId, TTL_MAX};

use crate::checks::{Check, Standard, Violation};
use crate::choices::{Choices, Draw};
use crate::clock::{Clock, Moment};
use crate::node::{Machine, Session};
use crate::scenario::Scenario;
use crate::store::Store;
use crate::trace::Trace;
use crate::view::{Step, View};

use app::App;
use flight::Flight;
use moves::Move;
use pool::Pool;
use print::print;
use seen::Budget;

/// One situation of a small world. Copies share what has not changed between them.
#[derive(Debug)]
pub struct SmallWorld {
    setting: Rc<Setting>,
    tick: u32,
    sessions: Vec<Session>,
    apps: Vec<Rc<App>>,
    /// In the order of [`Flight::rank`].
    flights: Vec<Flight>,
    store: Rc<Store>,
    store_print: u128,
    checks: Rc<Standard>,
    checks_print: u128,
    budget: Budget,
    /// How often each wish may still be asked, in the order of [`Wish::ALL`].
    asks_left: [u8; Wish::ALL.len()],
    trace: Option<Box<Trace>>,
    pool: Option<Rc<Pool>>,
}

/// What stays the same in all situations that follow from one beginning.
#[derive(Debug)]
struct Setting {
    scope: Scope,
    scenario: Scenario,
    machines: Vec<Machine>,
    cells: Vec<CellId>,
    /// What was chosen for this beginning.
    variant: u128,
    /// Whether situations are told apart by what can no longer matter too.
    is_exact: bool,
}

impl SmallWorld {
    /// Builds the world at its beginning: every node has joined, and the first holds every cell. Where in its
    /// second the store's clock begins, and how the clocks of the machines run, is left to choice.
    ///
    /// # Panics
    /// If the scope's configuration breaks one of the protocol's inequalities, or a planted defect breaks
    /// something before anything has gone wrong.
    pub fn new(scope: &Scope, choices: &mut impl Choices) -> Self {
        Self::build(scope, None, false, choices)
    }

    /// Builds the world at its beginning; if there is a pool, it shares its parts with other situations.
    fn build(scope: &Scope, pool: Option<Rc<Pool>>, is_exact: bool, choices: &mut impl Choices) -> Self {
        scope.config.check().expect("a scope's configuration is legal");
        let phases = scope.stamping.unit.as_nanos().div_ceil(scope.tick.as_nanos()).max(1);
        let phase = scope.tick * choices.number(phases as usize) as u32;
        let mut machines = Vec::new();
        let mut clocks = Vec::new();
        for number in 0..scope.nodes {
            let either = |most: i64, choices: &mut _| {
                if most == 0 { 0 } else { Draw::one_of(choices, &[-most, most]) }
            };
            let rate = either(scope.drift_ppm().into(), choices);
            let wall = either(scope.wall_off(), choices);
            machines.push(Machine::new(format!("n{}", number + 1), Clock::new(FIRST, rate, wall)));
            clocks.push((rate, wall));
        }
        let scenario = scope.scenario(phase);
        let setting = Setting {
            scope: scope.clone(),
            cells: (1..=scope.cells).map(|n| CellId::new(&format!("c{n}")).expect("legal")).collect(),
            variant: print(&(phase, clocks)),
            machines,
            scenario,
            is_exact,
        };
        let mut world = Self {
            tick: 0,
            sessions: Vec::new(),
            apps: Vec::new(),
            flights: Vec::new(),
            store: Rc::new(Store::new(setting.scenario.stamping)),
            store_print: 0,
            checks: Rc::new(Standard::demanding(!scope.only_guarantees)),
            checks_print: 0,
            budget: Budget { faults: scope.faults, mishaps: scope.mishaps_each() },
            asks_left: scope.asks_each(),
            trace: None,
            pool,
            setting: Rc::new(setting),
        };
        world.set_up(choices).expect("nothing has gone wrong yet");
        world
    }

    /// Keeps a line for each thing that happens from now on.
    #[must_use]
    pub fn with_trace(self) -> Self {
        Self { trace: Some(Box::new(Trace::full())), ..self }
    }

    /// Makes one move, whichever is chosen. Returns false when there is none: the world has come to its end.
    ///
    /// # Errors
    /// Says which check was violated.
    pub fn step(&mut self, choices: &mut impl Choices) -> Result<bool, Violation> {
        let moves = self.moves();
        if moves.is_empty() {
            return Ok(false);
        }
        let next = choices.one_of(&moves);
        self.make(next, choices)?;
        Ok(true)
    }

    /// Makes this move.
    fn make(&mut self, next: Move, choices: &mut impl Choices) -> Result<(), Violation> {
        self.perform(next, choices)?;
        self.checks_print = print(&*self.checks);
        if let Some(pool) = &self.pool {
            self.checks = pool.checks(self.checks_print, self.checks.clone());
        }
        Ok(())
    }

    /// Returns the 128 bits that stand for this situation.
    ///
    /// Left out is what cannot matter any more: the trace, what every situation of one search shares, what is known
    /// about sessions that nothing can reach, and the store's far past.
    pub fn print(&self) -> u128 {
        print(&(self.print_but_budget(), self.budget))
    }

    /// Does the same, but leaves out what may still go wrong.
    fn print_but_budget(&self) -> u128 {
        self.print_with(self.store_print, self.setting.is_exact)
    }

    fn print_with(&self, store_print: u128, is_exact: bool) -> u128 {
        let flights: u128 = self.flights.iter().fold(0, |all, flight| print(&(all, flight.print())));
        let sessions = (0..self.sessions.len()).fold(0, |all, session| {
            let app = (is_exact || !self.is_gone(session)).then_some(&self.apps[session]);
            print(&(all, self.sessions[session].is_running, app))
        });
        print(&(
            (self.setting.variant, self.tick, self.asks_left),
            (sessions, flights),
            (store_print, self.checks_print),
        ))
    }

    /// Tells whether nothing that happens can reach this session any more, so that what its engine and its application
    /// know makes no difference: its process is dead, or its session is over, everybody was answered, and nothing
    /// is under way to it.
    fn is_gone(&self, session: usize) -> bool {
        if !self.sessions[session].is_running {
            return true;
        }
        let app = &self.apps[session];
        app.is_over() && !self.flights.iter().any(|one| one.session == session && one.until.is_some())
    }

    /// Returns the time.
    pub fn at(&self) -> Moment {
        Moment::START.after(self.setting.scope.tick * self.tick)
    }

    /// Copies the situation, so that two worlds can go on from here.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            setting: self.setting.clone(),
            tick: self.tick,
            sessions: self.sessions.clone(),
            apps: self.apps.clone(),
            flights: self.flights.clone(),
            store: self.store.clone(),
            store_print: self.store_print,
            checks: self.checks.clone(),
            checks_print: self.checks_print,
            budget: self.budget,
            asks_left: self.asks_left,
            trace: self.trace.clone(),
            pool: self.pool.clone(),
        }
    }

    /// Lets every node join and the first claim every cell, with nothing going wrong.
    fn set_up(&mut self, choices: &mut impl Choices) -> Result<(), Violation> {
        for number in 0..self.setting.scope.nodes {
            let scope = &self.setting.scope;
            let mut config = scope.config.clone();
            config.name.clone_from(&self.setting.machines[number].name);
            if number > 0 && scope.rivals_rest {
                config =
                    Config { ttl: TTL_MAX, margin_hold: TTL_MAX * config.drift_permille / 1000, ..config };
            }
            let id = number as u64 + 1;
            let mut engine = Engine::new(config, SessionId::new(id), id).expect("checked");
            engine.steady();
            self.apps.push(Rc::new(App::new(self.setting.scope.cells, print(&engine))));
            self.sessions.push(Session::new(number, engine, id));
            self.emit(Some(number), &Step::Started)?;
            self.call(number, Call::Join, None)?;
            self.calm_down(choices)?;
        }
        for cell in 0..self.setting.scope.cells {
            let claim = Call::Claim { cell: self.setting.cells[cell].clone(), wait: Duration::ZERO };
            self.call(0, claim, Some(cell))?;
            self.calm_down(choices)?;
        }
        Ok(())
    }

    /// Lets everything in flight arrive.
    fn calm_down(&mut self, choices: &mut impl Choices) -> Result<(), Violation> {
        while !self.flights.is_empty() {
            let next = if self.flights[0].reply.is_none() { Move::Serve(0) } else { Move::Deliver(0) };
            self.perform(next, choices)?;
        }
        Ok(())
    }

    /// Tells everybody who watches about a step.
    fn emit(&mut self, actor: Option<usize>, step: &Step<'_>) -> Result<(), Violation> {
        let view = View {
            at: self.at(),
            step,
            actor,
            sessions: &self.sessions,
            store: &self.store,
            cells: &self.setting.cells,
            scenario: &self.setting.scenario,
            machines: &self.setting.machines,
            calm: None,
        };
        if let Some(trace) = &mut self.trace {
            trace.record(&view);
        }
        Rc::make_mut(&mut self.checks).observe(&view)
    }

    /// Writes down what is no step of its own.
    fn note(&mut self, session: Option<usize>, what: impl FnOnce(&Self) -> String) {
        if self.trace.is_none() {
            return;
        }
        let who = session.map_or_else(String::new, |session| format!("n{}.{} ", session + 1, session + 1));
        let line = format!("t={} {who}{}", self.at(), what(self));
        if let Some(trace) = &mut self.trace {
            trace.note(line);
        }
    }
}

/// What the monotonic clocks read when the world begins: not so little that a time before it cannot be named.
const FIRST: Duration = Duration::from_secs(1000);
