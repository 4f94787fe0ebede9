//! What kind of world it is: sizes, clocks, the protocol's numbers, and how often what goes wrong.
//!
//! [`Scenario::swarm`] draws all of it, so that each world has its own mixture: leaving most faults out of
//! most worlds meets combinations that a world with everything a little wrong never shows.

use core::time::Duration;

use tenure_core::{Config, Defect, StoreClock};

use crate::choices::{Choices, Draw, Rate};
use crate::faults::Faults;
use crate::store::Stamping;

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
    /// How likely the built-in application holds on to a cell rather than giving it back or away.
    pub loyalty: Rate,
    /// How much longer than G4's bound the applications may take, once it is calm, until they are content.
    pub grace: Duration,
    /// Where the world is special.
    pub family: Family,
}

/// A kind of world that aims at something rare.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Family {
    /// A mixture of everything the guarantees survive.
    Common,
    /// Every bound is exactly met and most nodes stop renewing: one unit less in a rule breaks it.
    Edge,
    /// Writes land long after their senders gave up, and answers rarely arrive.
    Late,
    /// The store does not stamp its answers; death is judged by silence.
    Silent,
    /// Somebody removes leases behind the protocol's back. G4 may take as long as the largest ttl.
    LeasesRemoved,
    /// Somebody removes owner records or puts old ones back, which G2 and the growth of epochs do not
    /// survive.
    RecordsRemoved,
}

impl Family {
    /// Every family, in order.
    pub const ALL: &'static [Self] =
        &[Self::Common, Self::Edge, Self::Late, Self::Silent, Self::LeasesRemoved, Self::RecordsRemoved];

    /// Returns the word for the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Edge => "edge",
            Self::Late => "late",
            Self::LeasesRemoved => "leases-removed",
            Self::RecordsRemoved => "records-removed",
            Self::Silent => "silent",
        }
    }
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
            disagreement: Duration::ZERO,
            drift_ppm: 0,
            wall_off: Duration::ZERO,
            latency: Duration::from_millis(50),
            pace: ttl / 8,
            storm: ttl * 6,
            faults: Faults::default(),
            loyalty: Rate::percent(80),
            grace: ttl * 4,
            family: Family::Common,
            config,
        }
    }

    /// Draws a world in which every guarantee must hold.
    pub fn swarm(choices: &mut impl Choices) -> Self {
        let family = match choices.number(10) {
            0..5 => Family::Common,
            5..7 => Family::Edge,
            7 => Family::Late,
            8 => Family::Silent,
            _ => Family::LeasesRemoved,
        };
        Self::of(family, choices)
    }

    /// Draws a world of one family.
    pub fn of(family: Family, choices: &mut impl Choices) -> Self {
        let (config, stamping) = numbers(family, choices);
        let ttl = config.ttl;
        let disagreement = match family {
            Family::Edge => config.clock.margin,
            Family::Common
            | Family::Late
            | Family::LeasesRemoved
            | Family::RecordsRemoved
            | Family::Silent => config.clock.margin * choices.number(2) as u32,
        };
        let most_drift = config.drift_permille * 1000;
        let latencies: &[u32] = match family {
            // A taker must be quick to be too early.
            Family::Edge | Family::Silent => &[1000, 200],
            Family::Common | Family::Late | Family::LeasesRemoved | Family::RecordsRemoved => {
                &[200, 50, 1000, 20]
            }
        };
        let mut world = Self {
            machines: 2 + choices.number(3),
            cells: 1 + choices.number(3),
            share_name: choices.number(4) == 1,
            stamping,
            disagreement,
            drift_ppm: if choices.number(4) == 0 { 0 } else { most_drift },
            wall_off: choices.one_of(&[Duration::ZERO, ttl, Duration::from_secs(7200)]),
            // Once the world is calm, a round trip must fit into an attempt.
            latency: (ttl / choices.one_of(latencies)).min(config.attempt_timeout / 3),
            pace: ttl / choices.one_of(&[4, 8, 2]),
            storm: ttl * choices.one_of(&[4, 6, 9]),
            faults: Faults::default(),
            loyalty: choices.one_of(&[Rate::percent(80), Rate::percent(95), Rate::percent(50)]),
            grace: ttl * 4,
            family,
            config,
        };
        world.faults = faults(family, ttl, choices);
        world
    }

    /// Plants a deliberate bug in every node.
    #[must_use]
    pub fn with_defect(mut self, defect: Option<Defect>) -> Self {
        self.config.defect = defect;
        self
    }
}

/// Draws the protocol's numbers; every inequality of the configuration holds.
fn numbers(family: Family, choices: &mut impl Choices) -> (Config, Stamping) {
    let is_fine = choices.number(3) == 1;
    let ttl = if is_fine {
        Duration::from_millis(choices.one_of(&[1000, 300, 500, 3000]))
    } else {
        Duration::from_secs(choices.one_of(&[3, 5, 4, 10]))
    };
    let mut config = Config::new("n").with_ttl(ttl);
    if choices.number(2) == 1 {
        config.addr = Some("10.0.0.1:70".into());
    }
    // Drift allowed for but not had is spare time too.
    let drifts: &[u32] = if family == Family::Silent { &[0, 10] } else { &[10, 0, 50, 100] };
    config.drift_permille = choices.one_of(drifts);
    // Half the worlds have no spare time for the application to stop: the rule itself must carry G2.
    if matches!(family, Family::Edge | Family::Silent) || choices.number(2) == 1 {
        config.margin_hold = ttl * config.drift_permille / 1000;
    }
    let permille = if family == Family::Common { choices.one_of(&[150, 50, 100]) } else { 150 };
    config.attempt_timeout = ttl * permille / 1000;
    // Whoever looks often is there when the time has just come.
    config.poll /= match family {
        Family::Edge | Family::Silent => choices.one_of(&[16, 4]),
        Family::Common | Family::Late | Family::LeasesRemoved | Family::RecordsRemoved => {
            choices.one_of(&[1, 4])
        }
    };
    config.patience = ttl * choices.one_of(&[2, 1, 4]) / 2;
    let mut stamping = Stamping { page: choices.one_of(&[1000, 1, 2]), ..Stamping::HTTP };
    config.clock = if is_fine { StoreClock::FINE } else { StoreClock::HTTP };
    if !is_fine {
        let margins = [2000, 0, 500];
        config.clock.margin = Duration::from_millis(choices.one_of(&margins));
        stamping.phase = choices.between(Duration::ZERO, Duration::from_secs(1));
    }
    stamping.unit = config.clock.unit;
    if family == Family::Silent || (family != Family::Edge && choices.number(8) == 1) {
        let (has_modified, has_date) = choices.one_of(&[(false, false), (true, false), (false, true)]);
        stamping = Stamping { has_modified, has_date, ..stamping };
    }
    (config, stamping)
}

fn faults(family: Family, ttl: Duration, choices: &mut impl Choices) -> Faults {
    let mut rate = |percents: &[u32]| {
        if choices.number(2) == 0 { Rate::NEVER } else { Rate::percent(choices.one_of(percents)) }
    };
    let mut faults = Faults {
        request_lost: rate(&[2, 10, 30]),
        reply_lost: rate(&[2, 10, 30]),
        lands_late: rate(&[2, 10]),
        duplicated: rate(&[2, 10]),
        answered_twice: rate(&[50]),
        slow: rate(&[5, 20]),
        dated_late: rate(&[5, 20]),
        conflict: rate(&[2, 10]),
        throttled: rate(&[2, 10]),
        failed_before: rate(&[2, 10]),
        failed_after: rate(&[2, 10]),
        not_applied: rate(&[2, 10]),
        refused: rate(&[1, 5]),
        wakes_late: rate(&[5, 20]),
        wakes_early: rate(&[5]),
        short_pause: rate(&[10, 20]),
        long_pause: rate(&[5, 15]),
        crash: rate(&[10, 25]),
        jump: rate(&[10]),
        ..Faults::default()
    };
    faults.lateness = ttl * choices.one_of(&[1, 3, 8]);
    faults.slowness = ttl / choices.one_of(&[10, 5, 2]);
    faults.every = ttl / 2;
    faults.message_lost = Rate::percent(25);
    match family {
        Family::Common => {}
        Family::Edge | Family::Silent => {
            if choices.number(2) == 1 {
                // Nothing else disturbs the aim.
                faults = Faults { every: ttl / 4, ..Faults::default() };
            }
            faults.long_pause = Rate::percent(choices.one_of(&[5, 25]));
            faults.stall = Rate::percent(choices.one_of(&[0, 3, 10]));
            faults.stall_when_slow = Rate::percent(choices.one_of(&[0, 50]));
            faults.slow = Rate::percent(choices.one_of(&[10, 25]));
            faults.dated_late = Rate::percent(choices.one_of(&[0, 20, 40]));
            faults.slowness = ttl / 7;
            faults.lands_late = Rate::percent(choices.one_of(&[0, 10, 30]));
            faults.lateness = ttl / 6;
        }
        Family::Late => {
            faults.lands_late = Rate::percent(20);
            faults.reply_lost = Rate::percent(20);
            faults.duplicated = Rate::percent(10);
        }
        Family::LeasesRemoved => faults.lease_removed = Rate::percent(20),
        Family::RecordsRemoved => {
            faults.record_removed = Rate::percent(10);
            faults.record_restored = Rate::percent(20);
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::{Family, Scenario};
    use crate::choices::{Prng, Tape};

    #[test]
    fn every_drawn_configuration_is_legal() {
        for seed in 0..2000 {
            for &family in Family::ALL {
                let world = Scenario::of(family, &mut Prng::new(seed));
                world.config.check().expect("the numbers are drawn to be legal");
                assert!(world.disagreement <= world.config.clock.margin);
            }
        }
    }

    #[test]
    fn the_calmest_world_has_no_faults() {
        let calm = Scenario::swarm(&mut Tape::new(&[]));
        assert_eq!(calm.faults.request_lost, super::Rate::NEVER);
        assert_eq!(calm.family, Family::Common);
    }
}
