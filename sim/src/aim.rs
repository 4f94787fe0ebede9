//! Timing at the edge: what could happen at any moment of a span happens just before, at or just after a deadline in it.
//!
//! A rule about time breaks only where one unit more or less decides, and chance hardly ever goes there. So a world
//! can aim: at the end of some node's authority, at the first moment at which some lease may be judged dead, at the
//! turn of the store's second, at the end of a request's time, at the landing of another request for the same record.

use core::time::Duration;

use tenure_core::{Instant, Key, Op};

use crate::app::App;
use crate::choices::{Choices, Draw};
use crate::clock::{Moment, WALL_AT_START};
use crate::fate::{self, Fate};
use crate::world::World;

impl<C: Choices, A: App> World<'_, C, A> {
    /// Moves the stations of a request to deadlines: its arrival, the date of its answer, and the answer's return.
    pub(crate) fn aim_request(&mut self, session: usize, op: &Op, fate: &mut Fate) {
        if self.scenario.aim == crate::Rate::NEVER {
            return;
        }
        let latency = self.scenario.latency;
        let slowness = self.scenario.faults.slowness.max(latency);
        if let Some(arrives) = fate.arrives.filter(|arrives| *arrives <= slowness)
            && self.aims()
        {
            let mut targets = self.lease_deaths();
            self.add_turns(&mut targets, self.at.after(arrives));
            self.add_landings(&mut targets, op);
            let least = self.at.after(latency / 8);
            fate.arrives = Some(
                self.one_in(&targets, least, self.at.after(slowness)).map_or(arrives, |at| at.since(self.at)),
            );
        }
        let (Some(arrives), Some(returns)) = (fate.arrives, fate.returns) else { return };
        let served = self.at.after(if fate.answers_second { fate.again.unwrap_or(arrives) } else { arrives });
        if !fate.date_later.is_zero() && self.aims() {
            let targets = self.lease_deaths();
            if let Some(at) = self.one_in(&targets, served.after(latency / 8), served.after(slowness)) {
                fate.date_later = at.since(served);
            }
        }
        let dated = served.after(fate.date_later);
        let give_up = self.gives_up(session, op);
        if dated.after(returns) <= give_up && self.aims() {
            let mut targets = self.authority_ends();
            targets.push(give_up);
            if let Some(at) = self.one_in(&targets, dated.after(latency / 8), give_up) {
                fate.returns = Some(at.since(dated));
            }
        }
    }

    /// Moves the moment at which a machine wakes to a deadline that is not much later.
    pub(crate) fn aim_wake(&mut self, wake: Moment) -> Moment {
        if !self.aims() {
            return wake;
        }
        // So early that what is then sent may arrive just in time.
        let ahead = self.scenario.latency / 4;
        let mut targets: Vec<Moment> = self.lease_deaths().into_iter().map(|at| at.before(ahead)).collect();
        targets.extend(self.authority_ends());
        self.one_in(&targets, wake, wake.after(self.scenario.config.poll)).unwrap_or(wake)
    }

    /// Moves the end of a pause of the process on a machine to a deadline.
    pub(crate) fn aim_pause(&mut self, pause: Duration) -> Duration {
        if !self.aims() {
            return pause;
        }
        let mut targets = self.authority_ends();
        // A renewal at the last moment that still counts.
        let ahead = self.scenario.latency * 4;
        targets.extend(self.authority_ends().into_iter().map(|at| at.before(ahead)));
        let most = self.at.after(self.scenario.config.ttl * 5 / 2);
        self.one_in(&targets, self.at, most).map_or(pause, |at| at.since(self.at))
    }

    fn aims(&mut self) -> bool {
        self.calm.is_none() && self.choices.happens(self.scenario.aim)
    }

    /// Draws one of the targets in the span, and whether to come just before, at or just after it.
    fn one_in(&mut self, targets: &[Moment], least: Moment, most: Moment) -> Option<Moment> {
        let is_in = |at: &&Moment| (least..=most).contains(*at);
        let place = self.choices.number(targets.iter().filter(is_in).count());
        let at = targets.iter().filter(is_in).nth(place)?;
        let one = Duration::from_nanos(1);
        let at = match self.choices.number(3) {
            0 => *at,
            1 => at.before(one),
            _ => at.after(one),
        };
        Some(at.clamp(least, most))
    }

    /// Returns when the authority of each running node ends, as things stand.
    fn authority_ends(&self) -> Vec<Moment> {
        let ends = self.machines.iter().filter_map(|machine| {
            let until = self.sessions[machine.session?].engine().authority()?;
            Some(machine.clock.when(until))
        });
        ends.collect()
    }

    /// Returns the first moment at which each node's lease may be judged dead: by the store's stamps, if it has any,
    /// else by silence since the version began.
    fn lease_deaths(&self) -> Vec<Moment> {
        let config = &self.scenario.config;
        let stamping = self.scenario.stamping;
        let deaths = self.machines.iter().filter_map(|machine| {
            let lease = self.store.history(self.sessions[machine.session?].lease_key().as_str()).last()?;
            if !(stamping.has_modified && stamping.has_date) {
                return Some(lease.at.after(config.ttl + config.ttl * config.drift_permille / 1000));
            }
            let age = config.ttl + config.clock.unit + config.clock.margin;
            let date = round_up(lease.modified().as_nanos() + nanos(age), nanos(stamping.unit));
            Some(self.dated(date))
        });
        deaths.collect()
    }

    /// Adds the moments around `near` at which the store's date turns.
    fn add_turns(&self, targets: &mut Vec<Moment>, near: Moment) {
        let unit = nanos(self.scenario.stamping.unit);
        if unit == 0 {
            return;
        }
        let stamp = WALL_AT_START + nanos(self.scenario.stamping.phase) + near.as_nanos();
        targets.extend([0, unit, 2 * unit].map(|more| self.dated(stamp - stamp % unit + more)));
    }

    /// Adds when other requests for the same record reach the store, or will have if they are sent when their sender
    /// next wakes.
    fn add_landings(&self, targets: &mut Vec<Moment>, op: &Op) {
        let (Op::Read(tenure_core::ReadOp { key, .. }) | Op::Write(tenure_core::WriteOp { key, .. })) = op
        else {
            return;
        };
        targets.extend(
            self.flights.iter().filter(|flight| flight.is_for(key)).filter_map(|flight| flight.lands()),
        );
        if Key::node(key.as_str()).is_some() {
            let wakes = self.machines.iter().filter_map(|machine| Some(machine.clock.when(machine.wakes()?)));
            targets.extend(wakes.map(|at| at.after(self.scenario.latency)));
        }
    }

    /// Returns the first moment at which an answer may carry this date: from the machine whose clock is ahead.
    fn dated(&self, date: u64) -> Moment {
        let ahead = nanos(self.scenario.disagreement / 2) + nanos(self.scenario.stamping.phase);
        Moment::from_nanos(date.saturating_sub(WALL_AT_START + ahead))
    }

    /// Returns when the sender of a request that is sent now stops waiting.
    pub(crate) fn gives_up(&self, session: usize, op: &Op) -> Moment {
        let machine = &self.machines[self.sessions[session].machine];
        let until: Instant = machine.now(self.at).mono.after(fate::timeout(op));
        machine.clock.when(until)
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn round_up(number: u64, unit: u64) -> u64 {
    if unit == 0 { number } else { number.div_ceil(unit) * unit }
}
