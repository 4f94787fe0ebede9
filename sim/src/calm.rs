//! The calm after the storm: nothing goes wrong any more, and everything wanted must come about within a bound.

use core::time::Duration;

use tenure_core::{Call, Key, TTL_MAX};

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::clock::Moment;
use crate::family::Promise;
use crate::faults::Faults;
use crate::process::OpenCall;
use crate::queue::Occasion;
use crate::view::Step;
use crate::world::World;

/// The phase in which nothing goes wrong and everything wanted must come about.
#[derive(Debug)]
pub(crate) struct Calm {
    pub(crate) since: Moment,
    /// For each cell, the machines that the world has chosen to want it, as bits.
    chosen: Vec<u32>,
    /// For each cell, the machines that do want it, as bits.
    wanted: Vec<u32>,
    /// Whether every cell that is wanted has been had by somebody who wants it.
    is_owned: bool,
    /// Whether every call must be seen to end, rather than only the cells be owned.
    is_thorough: bool,
    /// Everything wanted has come about; only open calls are waited for.
    pub(crate) is_closing: bool,
    /// How many steps engines had made, and which cell was an orphan, when last looked at.
    orphan: Option<(u64, usize)>,
}

impl Calm {
    pub(crate) const fn has_chosen(&self, cell: usize, machine: usize) -> bool {
        has(self.chosen.as_slice()[cell], machine)
    }
}

impl<C: Choices, A: App> World<'_, C, A> {
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
        let chosen = (0..self.cells.len())
            .map(|_| {
                let surely = alive[self.choices.number(alive.len())];
                1 << surely | self.choices.number(1 << self.machines.len()) as u32
            })
            .collect();
        let is_thorough = self.choices.number(4) == 1;
        let wanted = vec![0; self.cells.len()];
        let since = self.at;
        self.calm = Some(Calm {
            since,
            chosen,
            wanted,
            is_owned: false,
            is_thorough,
            is_closing: false,
            orphan: None,
        });
        for session in self.running().collect::<Vec<_>>() {
            self.note_wants(session);
        }
        let judged = self.last_landing().max(self.at).after(self.bound());
        self.queue.plan(judged, Occasion::Judge);
        self.emit(None, &Step::Healed)
    }

    /// Notes what a process wants, if it is calm.
    pub(crate) fn note_wants(&mut self, session: usize) {
        let Some(calm) = &mut self.calm else { return };
        calm.orphan = None;
        let machine = self.sessions[session].machine;
        for (place, cell) in self.cells.iter().enumerate() {
            let wants = self.processes[session].app.wants(cell, has(calm.chosen[place], machine));
            calm.wanted[place] = calm.wanted[place] & !(1 << machine) | u32::from(wants) << machine;
        }
    }

    /// Sees whether the calm has brought everything about.
    pub(crate) fn look_around(&mut self) -> Result<(), Violation> {
        let Some(calm) = &self.calm else { return Ok(()) };
        if !calm.is_closing {
            let is_thorough = calm.is_thorough;
            let is_owned = calm.is_owned || self.is_settled();
            let has_come_about = is_owned && self.stale().is_none() && self.discontented().is_none();
            if has_come_about && !is_thorough {
                self.end();
            }
            if let Some(calm) = &mut self.calm {
                calm.is_owned = is_owned;
                calm.is_closing = has_come_about;
            }
            if !(has_come_about && is_thorough) {
                return Ok(());
            }
            if let Some(judged) = self.open_calls().map(|(session, open)| self.due(session, open)).max() {
                self.queue.plan(judged.max(self.at), Occasion::Judge);
            }
        }
        if self.running().all(|session| self.processes[session].open().is_empty()) {
            self.end();
        }
        Ok(())
    }

    /// Finds what has not come about although it had to by now.
    pub(crate) fn judge(&mut self) -> Result<(), Violation> {
        let Some(calm) = &self.calm else { return Ok(()) };
        if calm.is_closing {
            return self.judge_calls();
        }
        if !calm.is_owned {
            let cell = self.orphan().map_or("", |cell| self.cells[cell].as_str());
            return Err(Violation::new("G4", format_args!("nobody who wants {cell} has it in time")));
        }
        if let Some((session, cell, since)) = self.stale() {
            let due = since.after(self.watch_bound());
            if due <= self.at {
                let node = self.sessions[session].id();
                let why = format_args!("{node} watches {cell} and was not told in time what its record says");
                return Err(Violation::new("watches", why));
            }
            self.queue.plan(due, Occasion::Judge);
        } else if let Some(session) = self.discontented() {
            let due = calm.since.after(self.bound() + self.scenario.grace);
            if due <= self.at {
                let (node, app) = (self.sessions[session].id(), &self.processes[session].app);
                let why = format_args!("the application of {node} is not content in time: {app:?}");
                return Err(Violation::new("content", why));
            }
            self.queue.plan(due, Occasion::Judge);
        }
        Ok(())
    }

    /// Finds a call that should have been answered.
    fn judge_calls(&self) -> Result<(), Violation> {
        match self.open_calls().find(|(session, open)| self.due(*session, open) <= self.at) {
            Some((_, open)) => {
                Err(Violation::new("answers", format_args!("{:?} is never answered", open.call)))
            }
            None => Ok(()),
        }
    }

    /// Tells whether every cell that is wanted is had. Time alone only ends tenures: an orphan stays one until some
    /// engine makes a step, and is likely to stay one even then.
    fn is_settled(&mut self) -> bool {
        let steps = self.steps;
        let orphan = match self.calm.as_ref().and_then(|calm| calm.orphan) {
            Some((seen_at, _)) if seen_at == steps => return false,
            Some((_, cell)) if self.is_orphan(cell) => Some(cell),
            Some(_) | None => self.orphan(),
        };
        if let Some(calm) = &mut self.calm {
            calm.orphan = orphan.map(|cell| (steps, cell));
        }
        orphan.is_none()
    }

    fn open_calls(&self) -> impl Iterator<Item = (usize, &OpenCall)> {
        self.running()
            .flat_map(|session| self.processes[session].open().iter().map(move |open| (session, open)))
    }

    /// Returns when a call must have been answered if it is calm by then: a claim may wait as long as it says, and any
    /// call for as long as others take to be judged, all by the clock of its machine, which may have stood still.
    fn due(&self, session: usize, open: &OpenCall) -> Moment {
        let wait = if let Call::Claim { wait, .. } = open.call { wait } else { Duration::ZERO };
        let stood = self.machines[self.sessions[session].machine].clock.stood();
        open.asked.after(self.drifted(wait.max(self.scenario.config.ttl * 2) + stood) + self.bound())
    }

    /// Returns a cell that somebody wants and nobody who wants it has.
    fn orphan(&self) -> Option<usize> {
        (0..self.cells.len()).find(|&cell| self.is_orphan(cell))
    }

    fn is_orphan(&self, cell: usize) -> bool {
        let Some(calm) = self.calm.as_ref().filter(|calm| calm.wanted[cell] != 0) else { return false };
        !self.running().any(|session| {
            let session = &self.sessions[session];
            let now = || self.machines[session.machine].now(self.at);
            has(calm.wanted[cell], session.machine)
                && session.engine.tenure(&self.cells[cell], now()).is_some()
        })
    }

    /// Returns a session that watches a cell and was last shown something else than its record says, the cell, and
    /// since when it could have been shown.
    fn stale(&self) -> Option<(usize, &str, Moment)> {
        let calm = self.calm.as_ref()?;
        self.running().find_map(|session| {
            self.sessions[session].watched.iter().filter(|watched| watched.watchers > 0).find_map(|watched| {
                let last = self.store.history(Key::owner(&watched.cell).as_str()).last();
                let changed = last.map_or(Moment::START, |version| version.at);
                let since = changed.max(watched.at).max(calm.since);
                (!watched.is_shown(last)).then_some((session, watched.cell.as_str(), since))
            })
        })
    }

    /// Returns a session whose application still lacks something.
    fn discontented(&self) -> Option<usize> {
        self.running().find(|&session| !self.processes[session].app.is_content())
    }

    /// Returns how long after the storm everything wanted may take: what G4 grants, with its round trips, a
    /// retry or two of what the storm interrupted, and the drift of the clocks that measure it.
    fn bound(&self) -> Duration {
        let config = &self.scenario.config;
        let ttl = if self.scenario.family.is_patient() { TTL_MAX * 2 } else { config.ttl };
        let longest = ttl
            + config.clock.margin.max(self.scenario.disagreement)
            + Duration::from_secs(2)
            + config.poll * 2
            + config.attempt_timeout * 4
            + self.scenario.latency * 32
            + self.scenario.faults.longest_wait()
            + config.trouble_rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate.get());
        self.drifted(longest)
    }

    /// Returns how long after a change, in the calm, whoever watches may take to be told: a look that the storm spoils,
    /// the longest rest after it, its turn with a store that was of no use, and the look that shows it.
    fn watch_bound(&self) -> Duration {
        let config = &self.scenario.config;
        let rest = (config.poll * 2).max(self.scenario.faults.longest_wait());
        let turn = config.trouble_rate.map_or(Duration::ZERO, |rate| Duration::from_secs(1) / rate.get());
        self.drifted(config.attempt_timeout + rest + turn + self.scenario.latency * 8)
    }

    /// Returns how long the slowest clock may take for it.
    fn drifted(&self, longest: Duration) -> Duration {
        let drift_permille = self.scenario.config.drift_permille.max(self.scenario.drift_ppm.div_ceil(1000));
        longest + longest * (3 * drift_permille) / 1000
    }

    /// Returns when the last write now in flight reaches the store.
    fn last_landing(&self) -> Moment {
        self.flights.iter().filter_map(|flight| flight.lands()).max().unwrap_or_default()
    }
}

/// Tells whether a machine is one of these.
const fn has(machines: u32, machine: usize) -> bool {
    machines >> machine & 1 == 1
}
