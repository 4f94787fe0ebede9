//! What kind of world it is: sizes, clocks, the protocol's numbers, and how often what goes wrong.
//!
//! [`Scenario::swarm`] draws all of it, so that each world has its own mixture: leaving most faults out of
//! most worlds meets combinations that a world with everything a little wrong never shows.

use core::num::NonZeroU32;
use core::time::Duration;

use tenure_core::{Config, Defect};

use crate::choices::{Choices, Draw, Rate};
use crate::family::{Family, Promise};
use crate::faults::Faults;
use crate::make::{Flaw, Stamping};
use crate::{numbers, rates};

/// Everything about a world that is fixed before it begins.
///
/// Start from [`Scenario::swarm`], which draws a rough world in which every guarantee must hold, or from
/// [`Scenario::calm`], in which nothing goes wrong, and set the fields that your test is about.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How many machines there are, each running one node at a time: 1 to 31.
    pub machines: usize,
    /// How many cells they want.
    pub cells: usize,
    /// Whether all machines run under one operator's name.
    pub share_name: bool,
    /// What every node is configured with, but for its name.
    pub config: Config,
    /// How the store stamps its answers.
    pub stamping: Stamping,
    /// How many nodes of another implementation there are.
    pub foreigners: usize,
    /// How far off their wall clocks may be.
    pub foreign_wall_off: Duration,
    /// Whether they take cells whose holders seem dead to them, without fencing anybody: they go by their wall
    /// clocks, and G2 may break.
    pub foreigners_take: bool,
    /// What is wrong with the store, if it is unfit.
    pub flaw: Option<Flaw>,
    /// How far any two stamps of the store may disagree: at most `config.clock.margin`, or G2 may break.
    pub disagreement: Duration,
    /// How fast or slow a monotonic clock may run, in millionths: at most the configured drift, or G2 may
    /// break.
    pub drift_ppm: u32,
    /// How far off a wall clock may be when the world begins.
    pub wall_off: Duration,
    /// How long a request usually takes in one direction, at most.
    pub latency: Duration,
    /// The longest time from one turn of an application to the next; the shortest is an eighth of it. In the calm a
    /// turn comes every sixteenth of a ttl.
    pub pace: Duration,
    /// How long things go wrong before the world heals.
    pub storm: Duration,
    /// What goes wrong until then.
    pub faults: Faults,
    /// How often what could happen at any moment of a span happens around a deadline in it.
    pub aim: Rate,
    /// How likely the built-in application holds on to a cell rather than giving it back or away.
    pub loyalty: Rate,
    /// How much longer than G4's bound the applications may take, once it is calm, until they are content.
    pub grace: Duration,
    /// Where the world is special.
    pub family: Family,
}

impl Scenario {
    /// Describes a world in which nothing goes wrong: three machines and two cells, the protocol's default times, clocks
    /// that are right, a store that stamps as S3 does, and a minute of storm without a single fault.
    ///
    /// It is a place to start from: set what the test is about, and leave the rest.
    ///
    /// ```
    /// use core::time::Duration;
    /// use tenure_sim::{Faults, Rate, Scenario};
    ///
    /// let scenario = Scenario {
    ///     machines: 2,
    ///     faults: Faults {
    ///         reply_lost: Rate::percent(20),
    ///         // Every five seconds some machine may die or stand still.
    ///         every: Duration::from_secs(5),
    ///         crash: Rate::percent(10),
    ///         long_pause: Rate::percent(10),
    ///         ..Faults::default()
    ///     },
    ///     ..Scenario::calm()
    /// };
    /// # assert_eq!(scenario.cells, 2);
    /// ```
    pub fn calm() -> Self {
        let config = Config::new("n");
        let ttl = config.ttl;
        Self {
            machines: 3,
            cells: 2,
            share_name: false,
            stamping: Stamping::HTTP,
            foreigners: 0,
            foreign_wall_off: Duration::ZERO,
            foreigners_take: false,
            flaw: None,
            disagreement: Duration::ZERO,
            drift_ppm: 0,
            wall_off: Duration::ZERO,
            latency: Duration::from_millis(50),
            pace: ttl / 8,
            storm: ttl * 6,
            faults: Faults::default(),
            aim: Rate::NEVER,
            loyalty: Rate::percent(80),
            grace: ttl * 4,
            family: Family::Common,
            config,
        }
    }

    /// Draws a world in which every guarantee must hold.
    pub fn swarm(choices: &mut impl Choices) -> Self {
        let family = Family::draw(choices);
        Self::of(family, choices)
    }

    /// Draws a world in which every guarantee must hold or, one time in twelve, one with an assumption broken, which is
    /// held to what does not rest on it.
    pub fn wild(choices: &mut impl Choices) -> Self {
        let family =
            if choices.number(12) == 11 { Family::draw_broken(choices) } else { Family::draw(choices) };
        Self::of(family, choices)
    }

    /// Draws a world of one family.
    pub fn of(family: Family, choices: &mut impl Choices) -> Self {
        let (config, stamping) = numbers::draw(family, choices);
        let ttl = config.ttl;
        let is_at_margin = family == Family::Edge || choices.number(2) == 1;
        let disagreement = if family == Family::Misstamped {
            config.clock.margin + ttl * choices.one_of(&[2, 1])
        } else if is_at_margin {
            config.clock.margin
        } else {
            Duration::ZERO
        };
        let stated_ppm = config.drift_permille * 1000;
        let drift_ppm = if family == Family::Drifting {
            stated_ppm + choices.one_of(&[200_000, 400_000, 0])
        } else if choices.number(4) == 0 {
            0
        } else {
            stated_ppm
        };
        let flaw = (family == Family::Unfit).then(|| choices.one_of(Flaw::ALL));
        // A taker must be quick to be too early.
        let latencies: &[u32] = if family.is_aimed() { &[1000, 200] } else { &[200, 50, 1000, 20] };
        let mut world = Self {
            machines: 2 + choices.number(3),
            cells: 1 + choices.number(3),
            share_name: choices.number(4) == 1,
            stamping,
            disagreement,
            foreigners: if family.has_foreigners() { 1 + choices.number(2) } else { 0 },
            foreign_wall_off: if family == Family::Takers { Duration::from_secs(7200) } else { ttl },
            foreigners_take: family == Family::Takers,
            flaw,
            drift_ppm,
            wall_off: choices.one_of(&[Duration::ZERO, ttl, Duration::from_secs(7200)]),
            // Once the world is calm, a round trip must fit into an attempt.
            latency: (ttl / choices.one_of(latencies)).min(config.attempt_timeout / 3),
            pace: ttl / choices.one_of(&[4, 8, 2]),
            storm: ttl * choices.one_of(&[4, 6, 9]),
            faults: Faults::default(),
            aim: Rate::NEVER,
            loyalty: choices.one_of(&[Rate::percent(80), Rate::percent(95), Rate::percent(50)]),
            grace: ttl * 4,
            family,
            config,
        };
        world.faults = rates::draw(family, ttl, choices);
        if family == Family::Dark {
            // A few cells and a low rate: what a thousand cells are at the usual one.
            world.cells = choices.one_of(&[6, 10]);
            world.config.trouble_rate = NonZeroU32::new(choices.one_of(&[2, 5, 10]));
            world.pace = ttl / 32;
        }
        if family == Family::Late {
            // Long enough for what lands minutes late to meet other sessions than its sender's.
            world.storm = world.storm.max(world.faults.lateness * 5 / 4);
        }
        if family.is_edge() {
            world.spare_nothing(choices);
        }
        world
    }

    /// Takes away, in most worlds, what is allowed for more than one thing at once: a rule breaks where nothing makes up
    /// for it. And lets some worlds aim at deadlines, but sparingly: what is moved comes late, and every second request
    /// that does so hides more than it shows.
    fn spare_nothing(&mut self, choices: &mut impl Choices) {
        self.aim = choices.one_of(&[Rate::NEVER, Rate::percent(5)]);
        self.machines = self.machines.max(3);
        self.storm = self.storm.max(self.config.ttl * 6);
        let ttl = self.config.ttl;
        let needed = choices.number(8);
        match needed {
            // Clocks at the ends of a wide drift, all of which is needed.
            1 | 2 => {
                (self.config.drift_permille, self.drift_ppm) = (100, 100_000);
                self.config.margin_hold = ttl / 10;
            }
            // Clocks that are true: what is decided by the order of events alone.
            _ => {
                (self.config.drift_permille, self.drift_ppm) = (0, 0);
                self.config.margin_hold = Duration::ZERO;
            }
        }
        // The stamps disagree by as much as is allowed for, or not at all.
        let is_disagreeing = needed == 0 && !self.config.clock.unit.is_zero();
        self.disagreement = if is_disagreeing { Duration::from_secs(2) } else { Duration::ZERO };
        self.config.clock.margin = self.disagreement;
    }

    /// Returns what the world is held to: every promise that rests on no broken assumption.
    pub fn promises(&self) -> impl Iterator<Item = Promise> {
        let family = self.family;
        let (is_fit, has_twins) = (self.flaw.is_none(), self.faults.clone != Rate::NEVER);
        let binds = move |promise: &Promise| match promise {
            // These two ask for something only where there is something to ask for.
            Promise::Fitness => !is_fit,
            Promise::Twins => has_twins,
            Promise::Answers
            | Promise::Belief
            | Promise::Books
            | Promise::Fence
            | Promise::History
            | Promise::Liveness
            | Promise::Record
            | Promise::Requests
            | Promise::Sessions
            | Promise::Watches
            | Promise::Orphans
            | Promise::Writes => family.keeps(*promise),
        };
        Promise::ALL.iter().copied().filter(binds)
    }

    /// Plants a deliberate bug in every node.
    #[must_use]
    pub fn with_defect(mut self, defect: Option<Defect>) -> Self {
        self.config.defect = defect;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, Scenario};
    use crate::choices::{Prng, Rate, Tape};

    #[test]
    fn every_drawn_configuration_is_legal() {
        for seed in 0..2000 {
            for &family in Family::ALL {
                let world = Scenario::of(family, &mut Prng::new(seed));
                world.config.check().expect("the numbers are drawn to be legal");
                let is_within_margin = world.disagreement <= world.config.clock.margin;
                assert!(is_within_margin || family == Family::Misstamped);
                let is_within_drift = world.drift_ppm <= world.config.drift_permille * 1000;
                assert!(is_within_drift || family == Family::Drifting);
            }
        }
    }

    #[test]
    fn the_calmest_world_has_no_faults() {
        let calm = Scenario::swarm(&mut Tape::new(&[]));
        assert_eq!(calm.faults.request_lost, Rate::NEVER);
        assert_eq!(calm.family, Family::Common);
    }
}
