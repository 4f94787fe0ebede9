//! What happens to machines: pauses, deaths, jumping clocks, and the calm after the storm.

use core::time::Duration;

use tenure_core::Event;

use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::clock::Moment;
use crate::family::{Family, Promise};
use crate::faults::Faults;
use crate::outage::{Mode, Outage};
use crate::queue::Occasion;
use crate::view::Step;
use crate::world::World;

/// The phase in which nothing goes wrong and everything wanted must come about.
#[derive(Debug)]
pub(crate) struct Calm {
    /// For each cell, the machines that want it, as bits.
    wanted: Vec<u32>,
    /// Whether every call must be seen to end, rather than only the cells be owned.
    is_thorough: bool,
    /// Everything wanted has come about; only open calls are waited for.
    pub(crate) is_closing: bool,
}

impl Calm {
    pub(crate) fn wants(&self, cell: usize, machine: usize) -> bool {
        self.wanted[cell] >> machine & 1 == 1
    }
}

impl<C: Choices> World<'_, C> {
    /// Lets something happen to one machine, perhaps.
    pub(crate) fn weather(&mut self) -> Result<(), Violation> {
        if self.calm.is_some() {
            return Ok(());
        }
        let every = self.scenario.faults.every;
        let next = self.choices.between(every / 2, every * 3 / 2);
        self.queue.plan(self.at.after(next), Occasion::Weather);
        let machine = self.choices.number(self.machines.len());
        if self.choices.happens(self.scenario.faults.jump) {
            let by = self.off_by(self.scenario.wall_off.max(Duration::from_secs(10)));
            self.machines[machine].clock.jump(by);
            self.emit(None, &Step::Jumped(machine, by))?;
        }
        self.meddle()?;
        if self.choices.happens(self.scenario.faults.outage) {
            self.go_down()?;
        }
        let Some(session) = self.machines[machine].session else { return Ok(()) };
        if self.machines[machine].is_paused {
            return Ok(());
        }
        let ttl = self.scenario.config.ttl;
        if self.choices.happens(self.scenario.faults.crash) {
            let dead_for = self.choices.between(Duration::ZERO, ttl * 3);
            return self.crash(session, dead_for);
        }
        if self.choices.happens(self.scenario.faults.long_pause) {
            return self.pause_long(session);
        }
        if self.choices.happens(self.scenario.faults.suspend) {
            return self.suspend(session);
        }
        if self.choices.happens(self.scenario.faults.short_pause) {
            let pause = self.choices.between(Duration::ZERO, ttl / 3);
            return self.pause(session, pause);
        }
        if self.choices.happens(self.scenario.faults.wakes_early) {
            return self.handle(session, Event::Wake);
        }
        Ok(())
    }

    pub(crate) fn crash(&mut self, session: usize, dead_for: Duration) -> Result<(), Violation> {
        let machine = self.sessions[session].machine;
        self.sessions[session].is_running = false;
        self.machines[machine].clear();
        self.queue.plan(self.at.after(dead_for), Occasion::Start { machine });
        self.emit(Some(session), &Step::Crashed)
    }

    /// Lets a process that has just renewed its lease stand still, perhaps.
    pub(crate) fn stall(&mut self, session: usize) -> Result<(), Violation> {
        let took = self.sessions[session].renews_since.take().map(|since| self.at.since(since));
        let is_slow = took.is_some_and(|took| took > self.scenario.config.ttl / 16);
        let faults = &self.scenario.faults;
        let rate = if is_slow { faults.stall_when_slow } else { faults.stall };
        if self.choices.happens(rate) { self.pause_long(session) } else { Ok(()) }
    }

    /// Lets a process stand still until just before its authority ends, or for longer.
    fn pause_long(&mut self, session: usize) -> Result<(), Violation> {
        let pause = self.long();
        self.pause(session, pause)
    }

    fn long(&mut self) -> Duration {
        let ttl = self.scenario.config.ttl;
        match self.choices.number(2) {
            0 => self.choices.between(ttl / 2, ttl),
            _ => self.choices.between(ttl, ttl * 5 / 2),
        }
    }

    fn pause(&mut self, session: usize, pause: Duration) -> Result<(), Violation> {
        self.stand_still(session, pause);
        self.emit(Some(session), &Step::Paused(pause))
    }

    /// Suspends the machine on which a process runs.
    fn suspend(&mut self, session: usize) -> Result<(), Violation> {
        let pause = self.long();
        self.stand_still(session, pause);
        let stops = self.choices.happens(self.scenario.faults.clock_stops);
        let machine = &mut self.machines[self.sessions[session].machine];
        machine.is_suspended = true;
        machine.stopped_at = stops.then_some(self.at);
        self.emit(Some(session), &Step::Suspended(pause))
    }

    fn stand_still(&mut self, session: usize, pause: Duration) {
        self.machines[self.sessions[session].machine].is_paused = true;
        self.queue.plan(self.at.after(pause), Occasion::Resume { session });
    }

    /// Takes the store away from everybody for a while.
    fn go_down(&mut self) -> Result<(), Violation> {
        let span = self.choices.between(Duration::ZERO, self.scenario.config.ttl * 2);
        let mode = self.choices.one_of(&[Mode::Fails, Mode::Deaf, Mode::Mute]);
        self.outage = Some(Outage { until: self.at.after(span), mode });
        self.emit(None, &Step::Outage(span))
    }

    /// Lets a process go on: it now learns, in order, what it missed.
    pub(crate) fn resume(&mut self, session: usize) -> Result<(), Violation> {
        let machine = self.sessions[session].machine;
        if !self.sessions[session].is_running || !self.machines[machine].is_paused {
            return Ok(());
        }
        let at = self.at;
        let standing = &mut self.machines[machine];
        standing.is_paused = false;
        let was_suspended = core::mem::take(&mut standing.is_suspended);
        if let Some(since) = standing.stopped_at.take() {
            standing.clock.stand(since, at);
        }
        let mut missed = core::mem::take(&mut standing.missed);
        if was_suspended {
            missed.iter_mut().for_each(|occasion| occasion.lose_answer());
        }
        self.emit(Some(session), &Step::Resumed)?;
        // Its timer fires first or its sockets become readable first: either may be.
        let is_wake = |occasion: &&Occasion| matches!(occasion, Occasion::Wake { .. });
        let wakes_first = self.choices.number(2) == 1;
        for occasion in missed.iter().filter(|occasion| is_wake(occasion) && wakes_first) {
            self.queue.plan(self.at, *occasion);
        }
        for occasion in missed.iter().filter(|occasion| !(is_wake(occasion) && wakes_first)) {
            self.queue.plan(self.at, *occasion);
        }
        Ok(())
    }

    /// Ends a process whose session is over; tells whether it did so now.
    pub(crate) fn ends(&mut self, session: usize) -> Result<bool, Violation> {
        let client = &self.sessions[session].client;
        if let Some(open) = client.open().first() {
            let why = format_args!("the session is over but {:?} was never answered", open.call);
            return Err(Violation::new("answers", why));
        }
        // A process that lingers must stay silent; the checks see to that.
        if self.calm.is_none() && self.choices.number(4) == 0 {
            return Ok(false);
        }
        self.crash(session, Duration::ZERO)?;
        Ok(true)
    }

    /// Ends the storm.
    pub(crate) fn heal(&mut self) -> Result<(), Violation> {
        if !self.scenario.family.keeps(Promise::Liveness) {
            self.end();
            return Ok(());
        }
        let Faults { answered_twice, throttle, .. } = self.scenario.faults;
        self.scenario.faults = Faults { answered_twice, throttle, ..Faults::default() };
        self.outage = None;
        self.mend_all()?;
        for session in self.running().collect::<Vec<_>>() {
            self.resume(session)?;
        }
        if self.machines.iter().all(|machine| machine.session.is_none()) {
            self.start(0)?;
        }
        let alive: Vec<usize> = self.running().map(|session| self.sessions[session].machine).collect();
        let wanted = (0..self.cells.len())
            .map(|_| {
                let surely = alive[self.choices.number(alive.len())];
                1 << surely | self.choices.number(1 << self.machines.len()) as u32
            })
            .collect();
        let is_thorough = self.choices.number(4) == 1;
        self.calm = Some(Calm { wanted, is_thorough, is_closing: false });
        let judged = self.last_landing().max(self.at).after(self.bound());
        self.queue.plan(judged, Occasion::Judge);
        self.emit(None, &Step::Healed)
    }

    /// Sees whether the calm has brought everything about.
    pub(crate) fn look_around(&mut self) -> Result<(), Violation> {
        let Some(calm) = &self.calm else { return Ok(()) };
        if !calm.is_closing {
            if self.orphan().is_some() {
                return Ok(());
            }
            if !calm.is_thorough {
                self.end();
                return Ok(());
            }
            let ttl = self.scenario.config.ttl;
            let judged = self.at.after((ttl * 2 + self.scenario.config.patience) * 5 / 4 + self.bound());
            self.queue.plan(judged, Occasion::Judge);
            if let Some(calm) = &mut self.calm {
                calm.is_closing = true;
            }
        }
        if self.running().all(|session| self.sessions[session].client.open().is_empty()) {
            self.end();
        }
        Ok(())
    }

    /// Finds what has not come about although it had to by now.
    pub(crate) fn judge(&mut self) -> Result<(), Violation> {
        let Some(calm) = &self.calm else { return Ok(()) };
        if !calm.is_closing {
            let cell = self.orphan().map_or("", |cell| self.cells[cell].as_str());
            return Err(Violation::new("G4", format_args!("nobody who wants {cell} has it in time")));
        }
        // The bound of the first judgement may still be pending when the second begins.
        let stuck = self
            .running()
            .flat_map(|session| self.sessions[session].client.open())
            .find(|open| self.at.since(open.asked) > self.scenario.config.ttl * 2 + self.bound());
        match stuck {
            Some(open) => Err(Violation::new("answers", format_args!("{:?} is never answered", open.call))),
            None => Ok(()),
        }
    }

    /// Returns a cell that nobody who wants it has.
    fn orphan(&self) -> Option<usize> {
        let calm = self.calm.as_ref()?;
        (0..self.cells.len()).find(|&cell| {
            !self.running().any(|session| {
                let session = &self.sessions[session];
                let now = self.machines[session.machine].now(self.at);
                calm.wants(cell, session.machine) && session.engine.tenure(&self.cells[cell], now).is_some()
            })
        })
    }

    /// Returns how long after the storm everything wanted may take: what G4 grants, with its round trips, a
    /// retry or two of what the storm interrupted, and the drift of the clocks that measure it.
    fn bound(&self) -> Duration {
        let config = &self.scenario.config;
        let ttl =
            if self.scenario.family == Family::LeasesRemoved { tenure_core::TTL_MAX * 2 } else { config.ttl };
        let longest = ttl
            + config.clock.margin.max(self.scenario.disagreement)
            + Duration::from_secs(2)
            + config.poll * 2
            + config.attempt_timeout * 4
            + self.scenario.latency * 32
            + self.scenario.faults.longest_wait();
        let drift_permille = config.drift_permille.max(self.scenario.drift_ppm.div_ceil(1000));
        longest + longest * (3 * drift_permille) / 1000
    }

    /// Returns when the last write now in flight reaches the store.
    fn last_landing(&self) -> Moment {
        self.flights.iter().filter_map(|flight| flight.lands()).max().unwrap_or_default()
    }
}
