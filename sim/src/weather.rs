//! What happens to machines: pauses, deaths, jumping clocks, and hands that meddle with the store.

use core::time::Duration;

use tenure_core::{Event, Key};

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
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
        if self.choices.happens(self.scenario.faults.short_pause) {
            let pause = self.choices.between(Duration::ZERO, ttl / 3);
            return self.pause(session, pause);
        }
        if self.choices.happens(self.scenario.faults.wakes_early) {
            return self.handle(session, Event::Wake);
        }
        Ok(())
    }

    /// Lets somebody meddle with the store by hand.
    fn meddle(&mut self) -> Result<(), Violation> {
        if self.choices.happens(self.scenario.faults.lease_removed)
            && let Some(key) = self.some_key(Key::LEASES)
        {
            self.store.remove_by_force(&key, self.at);
            self.emit(None, &Step::Removed(&key))?;
        }
        if self.choices.happens(self.scenario.faults.record_removed)
            && let Some(key) = self.some_key(Key::OWNERS)
        {
            self.store.remove_by_force(&key, self.at);
            self.emit(None, &Step::Removed(&key))?;
        }
        if self.choices.happens(self.scenario.faults.record_restored)
            && let Some(key) = self.some_key(Key::OWNERS)
        {
            let recent = self.store.history(&key).len().min(4);
            let back = self.choices.number(recent);
            if self.store.restore_by_force(&key, back, self.at) {
                self.emit(None, &Step::Restored(&key))?;
            }
        }
        Ok(())
    }

    fn some_key(&mut self, prefix: &str) -> Option<String> {
        let keys: Vec<&str> = self.store.keys().filter(|key| key.starts_with(prefix)).collect();
        let place = self.choices.number(keys.len());
        keys.get(place).map(|key| (*key).to_owned())
    }

    fn crash(&mut self, session: usize, dead_for: Duration) -> Result<(), Violation> {
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
        let ttl = self.scenario.config.ttl;
        let pause = match self.choices.number(2) {
            0 => self.choices.between(ttl / 2, ttl),
            _ => self.choices.between(ttl, ttl * 5 / 2),
        };
        self.pause(session, pause)
    }

    fn pause(&mut self, session: usize, pause: Duration) -> Result<(), Violation> {
        self.machines[self.sessions[session].machine].is_paused = true;
        self.queue.plan(self.at.after(pause), Occasion::Resume { session });
        self.emit(Some(session), &Step::Paused(pause))
    }

    /// Lets a process go on: it now learns, in order, what it missed.
    pub(crate) fn resume(&mut self, session: usize) -> Result<(), Violation> {
        let machine = self.sessions[session].machine;
        if !self.sessions[session].is_running || !self.machines[machine].is_paused {
            return Ok(());
        }
        self.machines[machine].is_paused = false;
        let missed = core::mem::take(&mut self.machines[machine].missed);
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
