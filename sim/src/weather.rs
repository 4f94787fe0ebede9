//! What happens to machines: pauses, deaths, jumping clocks, and hands that meddle with the store.

use core::time::Duration;

use tenure_core::Event;

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::family::Family;
use crate::outage::{Mode, Outage};
use crate::queue::Occasion;
use crate::view::Step;
use crate::world::World;

impl<C: Choices, A: App> World<'_, C, A> {
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
        if self.choices.happens(self.scenario.faults.clone) {
            return self.clone_process(session);
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
        let pause = self.aim_pause(pause);
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
        let longest = if self.scenario.family == Family::Dark { 3 } else { 2 };
        let span = self.choices.between(Duration::ZERO, self.scenario.config.ttl * longest);
        // To whoever looks for a flaw, a 412 out of the blue would hide it; and it is no darkness.
        let contradicts = self.scenario.flaw.is_none() && self.scenario.family != Family::Dark;
        let modes = if contradicts { Mode::ALL } else { &Mode::ALL[..4] };
        let mode = self.choices.one_of(modes);
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
        if let Some(open) = self.processes[session].open().first() {
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
}
