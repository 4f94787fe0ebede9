//! The protocol's numbers of a world: ttl, margins, time-outs, and how the store stamps.

use core::time::Duration;

use tenure_core::{Config, StoreClock};

use crate::choices::{Choices, Draw};
use crate::family::Family;
use crate::make::Stamping;

/// Draws the protocol's numbers; every inequality of the configuration holds.
pub(crate) fn draw(family: Family, choices: &mut impl Choices) -> (Config, Stamping) {
    let is_fine = if family.is_edge() { choices.number(3) > 0 } else { choices.number(3) == 1 };
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
    if family.is_aimed() || choices.number(2) == 1 {
        config.margin_hold = ttl * config.drift_permille / 1000;
    }
    let permille = if family == Family::Common { choices.one_of(&[150, 50, 100]) } else { 150 };
    config.attempt_timeout = ttl * permille / 1000;
    // Whoever looks often is there when the time has just come.
    config.poll /= choices.one_of(if family.is_aimed() { &[16, 4] } else { &[1, 4] });
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
