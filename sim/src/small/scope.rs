//! How large a small world is: its clock, its nodes, what may go wrong how often, and what may be asked.

use core::time::Duration;

use tenure_core::{Config, Defect, StoreClock};

use crate::choices::Tape;
use crate::family::Family;
use crate::make::Stamping;
use crate::scenario::Scenario;

/// The bounds within which a small world is explored: all of it is.
///
/// Times are multiples of a tick, in which a ttl is a few, so that one tick less in a rule of the protocol breaks it.
#[derive(Clone, Debug)]
pub struct Scope {
    /// How many nodes there are. They have joined when the world begins, and the first holds every cell.
    pub nodes: usize,
    /// How many cells there are.
    pub cells: usize,
    /// How long a tick is. All that happens between two ticks happens at one moment, in every order.
    pub tick: Duration,
    /// How many ticks the world lasts.
    pub horizon: u32,
    /// How many things go wrong at most.
    pub faults: u8,
    /// What may go wrong, and how often at most.
    pub mishaps: Vec<(Mishap, u8)>,
    /// What the applications ask for, and how often all of them together at most.
    pub asks: Vec<(Wish, u8)>,
    /// Whether each monotonic clock runs as slow or as fast as the configuration allows, rather than true.
    pub drifts: bool,
    /// Whether each wall clock is off by a ttl, either way.
    pub walls_are_off: bool,
    /// Whether the stamps of leases disagree by as much as the configuration allows, in every way.
    pub disagrees: bool,
    /// Whether only the guarantees G1, G2 and G3 are demanded, and not all that is true besides.
    pub only_guarantees: bool,
    /// What every node is configured with, but for its name.
    pub config: Config,
    /// Whether all nodes but the first have leases that outlast the world: they never renew, which leaves far fewer
    /// situations.
    pub rivals_rest: bool,
    /// How the store stamps its answers. Its phase is not fixed: the world begins at each tick of a unit.
    pub stamping: Stamping,
}

/// Something that goes wrong, at the price of one fault.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Mishap {
    /// A request or an answer goes astray: it arrives when it likes, long after its sender gave up, or never.
    Astray,
    /// A write meets a concurrent operation (409).
    Conflict,
    /// A process dies with its requests in flight, which may arrive or not.
    Crash,
    /// A read is evaluated when it arrives, and its answer dated when that arrives, whenever it likes.
    DatedLate,
    /// The store fails after it has applied a write.
    FailsAfter,
    /// The store fails before it has evaluated a request.
    FailsBefore,
    /// Somebody removes a lease behind the protocol's back.
    LeaseRemoved,
    /// A write certainly does not leave the machine.
    NotApplied,
    /// A process stands still for as long as it likes.
    Pause,
    /// The store asks to slow down.
    Throttled,
    /// A write arrives a second time, whenever it likes.
    Twice,
}

impl Mishap {
    /// Everything that can go wrong, in order.
    pub const ALL: [Self; 11] = [
        Self::Astray,
        Self::Conflict,
        Self::Crash,
        Self::DatedLate,
        Self::FailsAfter,
        Self::FailsBefore,
        Self::LeaseRemoved,
        Self::NotApplied,
        Self::Pause,
        Self::Throttled,
        Self::Twice,
    ];
}

/// Something that an application may ask its node for.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Wish {
    /// To have a cell, now or not.
    Claim,
    /// To have a cell, waiting one ttl for its owner.
    ClaimWaiting,
    /// To leave the fleet.
    Leave,
    /// To give a cell back.
    Release,
    /// To hand a cell to another node.
    Transfer,
    /// To have a tenure confirmed by the store.
    Verify,
}

impl Wish {
    /// Everything that can be asked, in order.
    pub const ALL: [Self; 6] =
        [Self::Claim, Self::ClaimWaiting, Self::Leave, Self::Release, Self::Transfer, Self::Verify];
}

impl Scope {
    /// Two nodes over a store with one fine clock, true clocks everywhere: a ttl of so many ticks, no margin anywhere.
    pub fn fine(ttl: u32) -> Self {
        let tick = Duration::from_millis(100);
        Self {
            nodes: 2,
            cells: 1,
            tick,
            horizon: ttl + 2,
            faults: 1,
            mishaps: vec![(Mishap::Astray, u8::MAX), (Mishap::Pause, u8::MAX)],
            asks: vec![(Wish::Claim, 1)],
            drifts: false,
            walls_are_off: false,
            disagrees: false,
            only_guarantees: false,
            rivals_rest: false,
            stamping: Stamping { unit: Duration::ZERO, ..Stamping::HTTP },
            config: config(tick, ttl, StoreClock::FINE),
        }
    }

    /// Two nodes over a store that stamps in whole seconds, of two ticks each. The ttl must be six ticks at least.
    pub fn whole_seconds(ttl: u32) -> Self {
        let tick = Duration::from_millis(500);
        let clock = StoreClock { unit: tick * 2, margin: Duration::ZERO };
        Self {
            tick,
            horizon: ttl + 4,
            stamping: Stamping::HTTP,
            config: config(tick, ttl, clock),
            ..Self::fine(ttl)
        }
    }

    /// Lets the applications ask for this.
    #[must_use]
    pub fn asking(mut self, asks: &[(Wish, u8)]) -> Self {
        self.asks = asks.to_vec();
        self
    }

    /// Lets so many things go wrong, of these kinds.
    #[must_use]
    pub fn with_faults(mut self, faults: u8, mishaps: &[(Mishap, u8)]) -> Self {
        self.faults = faults;
        self.mishaps = mishaps.to_vec();
        self
    }

    /// Lets nothing go wrong.
    #[must_use]
    pub fn without_faults(self) -> Self {
        self.with_faults(0, &[])
    }

    /// Stamps nothing: death is judged by silence.
    #[must_use]
    pub fn without_stamps(mut self) -> Self {
        self.stamping = Stamping { has_modified: false, has_date: false, ..self.stamping };
        self
    }

    /// Lets monotonic clocks be off by a tick in a ttl, and holders stop that much earlier.
    #[must_use]
    pub fn with_drift(mut self) -> Self {
        let permille = 1000 * self.tick.as_millis() / self.config.ttl.as_millis();
        self.config.drift_permille = permille as u32;
        self.config.margin_hold = self.config.ttl * self.config.drift_permille / 1000;
        self.drifts = true;
        self
    }

    /// Lets any two stamps of the store disagree by a unit or a tick, and takers wait that much longer.
    #[must_use]
    pub fn with_disagreement(mut self) -> Self {
        self.config.clock.margin = self.config.clock.unit.max(self.tick);
        self.disagrees = true;
        self
    }

    /// Plants a deliberate bug in every node.
    #[must_use]
    pub fn with_defect(mut self, defect: Option<Defect>) -> Self {
        self.config.defect = defect;
        self
    }

    /// Returns the scenario that checks are shown: one without faults drawn by rate.
    pub(super) fn scenario(&self, phase: Duration) -> Scenario {
        let calm = Scenario::of(Family::Edge, &mut Tape::new(&[]));
        Scenario {
            machines: self.nodes,
            cells: self.cells,
            share_name: false,
            config: self.config.clone(),
            stamping: Stamping { phase, ..self.stamping },
            disagreement: self.disagreement(),
            drift_ppm: self.drift_ppm(),
            wall_off: Duration::ZERO,
            ..calm
        }
    }

    /// Returns how often each mishap may happen.
    pub(super) fn mishaps_each(&self) -> [u8; Mishap::ALL.len()] {
        let mut each = [0; Mishap::ALL.len()];
        for &(mishap, times) in &self.mishaps {
            each[mishap as usize] = times.min(self.faults);
        }
        each
    }

    /// Returns how often each wish may be asked.
    pub(super) fn asks_each(&self) -> [u8; Wish::ALL.len()] {
        let mut each = [0; Wish::ALL.len()];
        for &(wish, times) in &self.asks {
            each[wish as usize] += times;
        }
        each
    }

    pub(super) fn drift_ppm(&self) -> u32 {
        if self.drifts { self.config.drift_permille * 1000 } else { 0 }
    }

    pub(super) fn wall_off(&self) -> i64 {
        let most = if self.walls_are_off { self.config.ttl } else { Duration::ZERO };
        i64::try_from(most.as_nanos()).unwrap_or(i64::MAX)
    }

    pub(super) fn disagreement(&self) -> Duration {
        if self.disagrees { self.config.clock.margin } else { Duration::ZERO }
    }
}

/// Returns a configuration with nothing to spare: whatever takes less than a tick is over at the next one.
fn config(tick: Duration, ttl: u32, clock: StoreClock) -> Config {
    Config {
        drift_permille: 0,
        margin_hold: Duration::ZERO,
        clock,
        attempt_timeout: tick * 2 / 5,
        poll: tick,
        patience: tick * 2,
        // Never more than a few requests: what they have cost would only make equal situations differ.
        trouble_rate: None,
        ..Config::new("n").with_ttl(tick * ttl)
    }
}
