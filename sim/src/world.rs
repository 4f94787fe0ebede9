//! One world: machines, a store, and everything that happens between them, in virtual time.
//!
//! This file decides what happens when, and nothing about how requests travel ([`wire`](crate::wire)) or what
//! goes wrong with machines ([`weather`](crate::weather)). A world runs in two phases: a storm, in which nothing
//! may break, and a calm, in which everything wanted must come about within a bound.

use core::time::Duration;
use std::collections::VecDeque;
use std::rc::Rc;

use tenure_core::{CellId, Command, Event, Op};

use crate::app::App;
use crate::calm::Calm;
use crate::checks::{self, Check, Violation};
use crate::choices::{Choices, Draw, mix};
use crate::client::Client;
use crate::clock::{Clock, Moment};
use crate::context::{Action, Demand};
use crate::foreign::Foreign;
use crate::letters::Letter;
use crate::node::{Machine, Session};
use crate::outage::Outage;
use crate::process::{Factory, Process};
use crate::queue::{Occasion, Queue};
use crate::report::{Failure, Report};
use crate::room::Room;
use crate::scenario::Scenario;
use crate::spotter::Spotter;
use crate::store::Store;
use crate::trace::Trace;
use crate::view::{Step, View};
use crate::watchers::Watchers;
use crate::wire::Flight;

/// A world that is about to run.
///
/// Build it from a scenario and a source of chance, add to it, and run it. Equal choices make equal worlds, so a source
/// that was drawn from already (for the scenario, as a rule) goes on where it is.
#[derive(Debug)]
pub struct World<'c, C, A = Client> {
    pub(crate) scenario: Scenario,
    pub(crate) choices: &'c mut C,
    pub(crate) at: Moment,
    pub(crate) queue: Queue,
    pub(crate) machines: Vec<Machine>,
    pub(crate) sessions: Vec<Session>,
    /// What runs in each of the sessions.
    pub(crate) processes: Vec<Process<A>>,
    pub(crate) factory: Factory<'c, A>,
    /// Used by each call of an application; empty between them.
    pub(crate) actions: Vec<Action>,
    /// What applications want from their engines as soon as the engine at work has been heard out.
    pub(crate) pending: VecDeque<(usize, Demand)>,
    pub(crate) letters: Vec<Option<Letter>>,
    pub(crate) store: Store,
    pub(crate) cells: Vec<CellId>,
    pub(crate) flights: Vec<Flight>,
    /// The places in `flights` that may be used again.
    pub(crate) landed: Vec<usize>,
    pub(crate) calm: Option<Calm>,
    pub(crate) outage: Option<Outage>,
    /// The nodes of another implementation.
    pub(crate) foreigners: Vec<Foreign>,
    /// What the fresh bits are made of that each engine gets before each event.
    entropy: u64,
    /// How many writes were made by hand.
    pub(crate) deeds: u64,
    checks: Watchers,
    pub(crate) spotter: Spotter,
    trace: Trace,
    pub(crate) steps: u64,
    is_over: bool,
}

impl<'c, C: Choices> World<'c, C> {
    /// Builds a world of the built-in application, with every check that its scenario calls for.
    ///
    /// # Panics
    /// If the scenario's configuration breaks one of the protocol's inequalities.
    pub fn new(scenario: Scenario, choices: &'c mut C) -> Self {
        let client = Client::new(&scenario);
        Self::with_app(scenario, choices, move || client.clone())
    }
}

impl<'c, C: Choices, A: App> World<'c, C, A> {
    /// Builds a world in which each process runs the application that `make` makes for it, with every check that its
    /// scenario calls for.
    ///
    /// # Panics
    /// If the scenario's configuration breaks one of the protocol's inequalities.
    pub fn with_app(scenario: Scenario, choices: &'c mut C, make: impl FnMut() -> A + 'c) -> Self {
        scenario.config.check().expect("a scenario's configuration is legal");
        let checks = Watchers::new(checks::standard(&scenario));
        let Room {
            queue,
            objects,
            mut cells,
            machines,
            sessions,
            actions,
            pending,
            flights,
            landed,
            spotter,
        } = Room::take();
        let store = Store::within(objects, scenario.stamping).with_flaw(scenario.flaw);
        cells.truncate(scenario.cells);
        cells.extend((cells.len()..scenario.cells).map(cell_name));
        let mut world = Self {
            scenario,
            choices,
            at: Moment::START,
            queue,
            machines,
            sessions,
            processes: Vec::new(),
            factory: Factory(Box::new(make)),
            actions,
            pending,
            letters: Vec::new(),
            store,
            cells,
            flights,
            landed,
            calm: None,
            outage: None,
            foreigners: Vec::new(),
            entropy: 0,
            deeds: 0,
            checks,
            spotter,
            trace: Trace::silent(),
            steps: 0,
            is_over: false,
        };
        world.set_up();
        world
    }

    /// Adds a check of your own.
    ///
    /// # Panics
    /// If there are 64 checks already.
    #[must_use]
    pub fn with_check(mut self, check: Box<dyn Check>) -> Self {
        self.checks.add(check);
        self
    }

    /// Uses these checks and no others: to see what one of them catches alone.
    ///
    /// # Panics
    /// If there are more than 64.
    #[must_use]
    pub fn with_only(mut self, checks: Vec<Box<dyn Check>>) -> Self {
        self.checks = Watchers::new(checks);
        self
    }

    /// Keeps one line for each step, all of them or the last few.
    #[must_use]
    pub fn with_trace(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// Runs the world to its end.
    ///
    /// # Errors
    /// Says which check was violated, when, and what led to it.
    pub fn run(mut self) -> Result<Report, Box<Failure>> {
        while !self.is_over && self.choices.goes_on() {
            let Some((at, occasion)) = self.queue.next() else { break };
            self.at = self.at.max(at);
            let addressee = self.addressee(occasion);
            let whose = addressee.map_or(0, |machine| machine as u64 + 1);
            self.choices.turns_to(occasion.kind() << 32 | whose);
            let result = self.happen(occasion, addressee).and_then(|()| self.look_around());
            if let Err(violation) = result {
                return Err(self.fail(violation));
            }
        }
        if let Err(violation) = self.emit(None, &Step::Finished) {
            return Err(self.fail(violation));
        }
        let Self {
            queue, store, cells, machines, sessions, actions, pending, flights, landed, spotter, ..
        } = self;
        let (objects, seen) = (store.into_objects(), *spotter.seen());
        Room { queue, objects, cells, machines, sessions, actions, pending, flights, landed, spotter }.keep();
        let (digest, lines) = (self.trace.digest(), self.trace.into_lines());
        Ok(Report { worlds: 1, steps: self.steps, digest, seen, lines })
    }

    fn fail(self, violation: Violation) -> Box<Failure> {
        Box::new(Failure { violation, at: self.at, steps: self.steps, lines: self.trace.into_lines() })
    }

    fn set_up(&mut self) {
        self.entropy = self.choices.number(1 << 31) as u64;
        for number in 0..self.scenario.machines {
            let name = if self.scenario.share_name { "n".to_owned() } else { numbered("n", number) };
            let ppm = i64::from(self.scenario.drift_ppm);
            let ahead_ppm = match self.choices.number(4) {
                0 => 0,
                1 => -ppm,
                2 => ppm,
                _ => self.choices.number(2 * self.scenario.drift_ppm as usize + 1) as i64 - ppm,
            };
            let start = self.choices.between(Duration::ZERO, Duration::from_secs(3600));
            let wall = self.off_by(self.scenario.wall_off);
            self.machines.push(Machine::new(name, Clock::new(start, ahead_ppm, wall)));
            let begins = self.choices.between(Duration::ZERO, self.scenario.config.ttl / 2);
            self.queue.plan(self.at.after(begins), Occasion::Start { machine: number });
        }
        self.settle_foreigners();
        if !self.scenario.faults.every.is_zero() {
            self.queue.plan(self.at.after(self.scenario.faults.every), Occasion::Weather);
        }
        self.queue.plan(self.at.after(self.scenario.storm), Occasion::Heal);
    }

    fn happen(&mut self, occasion: Occasion, addressee: Option<usize>) -> Result<(), Violation> {
        if let Some(machine) = addressee
            && self.machines[machine].is_paused
        {
            self.machines[machine].missed.push_back(occasion);
            return Ok(());
        }
        match occasion {
            Occasion::Arrive { flight, is_again } => {
                self.arrive(flight, is_again)?;
                self.pass(flight);
                Ok(())
            }
            Occasion::Bring { letter } => self.bring(letter),
            Occasion::Deliver { flight } => {
                self.deliver(flight)?;
                self.pass(flight);
                Ok(())
            }
            Occasion::GiveUp { flight } => {
                self.give_up(flight)?;
                self.pass(flight);
                Ok(())
            }
            Occasion::Foreign { foreign } => self.act_foreign(foreign),
            Occasion::Heal => self.heal(),
            Occasion::Judge => self.judge(),
            Occasion::Resume { session } => self.resume(session),
            Occasion::Start { machine } => self.start(machine),
            Occasion::Tick { session } => self.tick(session),
            Occasion::Turn { session } => self.turn(session),
            Occasion::Wake { machine, generation } => self.wake(machine, generation),
            Occasion::Weather => self.weather(),
        }
    }

    /// Returns the machine whose process would notice the occasion.
    fn addressee(&self, occasion: Occasion) -> Option<usize> {
        let session = match occasion {
            Occasion::Bring { letter } => self.letters[letter].as_ref()?.to,
            Occasion::Deliver { flight } | Occasion::GiveUp { flight } => self.flights[flight].session,
            Occasion::Tick { session } | Occasion::Turn { session } => session,
            Occasion::Wake { machine, .. } => return Some(machine),
            Occasion::Arrive { .. }
            | Occasion::Foreign { .. }
            | Occasion::Heal
            | Occasion::Judge
            | Occasion::Resume { .. }
            | Occasion::Start { .. }
            | Occasion::Weather => return None,
        };
        let session = &self.sessions[session];
        session.is_running.then_some(session.machine)
    }

    fn wake(&mut self, machine: usize, generation: u32) -> Result<(), Violation> {
        let session = self.machines[machine].session;
        match session.filter(|_| self.machines[machine].take_wake(generation)) {
            Some(session) => self.handle(session, Event::Wake),
            None => Ok(()),
        }
    }

    /// Gives the engine an event, does everything it then wants done, and asks what applications want to ask about it.
    pub(crate) fn handle(&mut self, session: usize, event: Event) -> Result<(), Violation> {
        self.hear_out(session, event)?;
        if self.pending.is_empty() { Ok(()) } else { self.ask_pending() }
    }

    /// Gives the engine an event and does everything it then wants done.
    pub(crate) fn hear_out(&mut self, session: usize, event: Event) -> Result<(), Violation> {
        self.emit(Some(session), &Step::Told(&event))?;
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(Violation::new("liveness", format_args!("still busy after {STEPS_MAX} steps")));
        }
        let machine = self.sessions[session].machine;
        let now = self.machines[machine].now(self.at);
        let authority = self.sessions[session].engine.authority();
        let engine = Rc::make_mut(&mut self.sessions[session].engine);
        // Fresh bits, as a driver brings them: what tells clones apart.
        engine.stir(mix(self.entropy ^ self.steps));
        engine.handle(now, event);
        let until = loop {
            match Rc::make_mut(&mut self.sessions[session].engine).poll() {
                Command::Done(ticket, outcome) => self.done(session, ticket, &outcome)?,
                Command::Idle { until } => break until,
                Command::List(op) => self.send(session, Op::List(op))?,
                Command::Notify(notice) => self.noticed(session, &notice)?,
                Command::Read(op) => self.send(session, Op::Read(op))?,
                Command::Remove(op) => self.send(session, Op::Remove(op))?,
                Command::Write(op) => self.send(session, Op::Write(op))?,
            }
        };
        if let Some((at, generation)) = self.machines[machine].set_wake(until) {
            let mut at = at.max(self.at);
            if self.choices.happens(self.scenario.faults.wakes_late) {
                at = at.after(self.choices.between(Duration::ZERO, self.scenario.faults.slowness));
            }
            let at = self.aim_wake(at);
            self.queue.plan(at, Occasion::Wake { machine, generation });
        }
        self.sessions[session].note_held(now);
        self.emit(Some(session), &Step::Handled { now, authority })
    }

    /// Tells everybody who watches about a step. Inlined: where a step is made it is known which it is, and to most
    /// steps most of those who watch have nothing to say.
    #[inline(always)]
    pub(crate) fn emit(&mut self, actor: Option<usize>, step: &Step<'_>) -> Result<(), Violation> {
        let view = View {
            at: self.at,
            step,
            actor,
            sessions: &self.sessions,
            store: &self.store,
            cells: &self.cells,
            scenario: &self.scenario,
            machines: &self.machines,
            calm: self.calm.as_ref().map(|calm| calm.since),
        };
        self.trace.record(&view);
        self.spotter.observe(&view);
        self.checks.observe(&view)
    }

    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }

    /// Returns the sessions whose processes exist.
    pub(crate) fn running(&self) -> impl Iterator<Item = usize> {
        self.machines.iter().filter_map(|machine| machine.session)
    }

    /// Draws how far something is off, either way, in nanoseconds.
    pub(crate) fn off_by(&mut self, most: Duration) -> i64 {
        let off = self.choices.between(Duration::ZERO, most).as_nanos();
        let off = i64::try_from(off).unwrap_or(i64::MAX);
        if self.choices.number(2) == 0 { off } else { -off }
    }
}

fn cell_name(number: usize) -> CellId {
    CellId::new(&numbered("c", number)).expect("a letter and digits are a legal name")
}

fn numbered(letter: &str, number: usize) -> String {
    // Formatting would take several times as long, and every world has some names.
    [letter, &(number + 1).to_string()].concat()
}

/// A world that makes more steps than this is stuck in a loop.
const STEPS_MAX: u64 = 200_000;
