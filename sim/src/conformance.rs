//! The store conformance suite: does a store do what ownership rests on?
//!
//! Written once over "a way to execute an operation", it runs against every store there is: simulated, files,
//! real servers. [`run`] asks one question at a time; [`race`] lets several contenders ask the same one at the
//! same instant, which is where stores that check and then write are found out.
//!
//! A store may throttle, time out or answer with a conflict: such answers are settled or tried again a bounded
//! number of times, and what remains open is reported as unclear, which is not fit. It leaves nothing behind,
//! and touches only keys under `probe/`, unless [`Settings::scratch`] says that the whole prefix is nobody's.

mod bench;
mod checks;
mod race;
mod report;
#[cfg(test)]
mod tests;

pub use race::{Race, race};
pub use report::{Check, Report, Verdict};

use core::time::Duration;

use tenure_core::{Op, Reply, StoreClock};

use self::bench::Bench;

/// What to ask, and how patiently.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which probe keys to use. Two runs against one store at the same time need different seeds.
    pub seed: u64,
    /// How true the store's stamps are said to be.
    pub clock: StoreClock,
    /// How many keys to list; more than the store's page, usually 1000, to see a listing go on.
    pub listed: u16,
    /// Whether keys outside `probe/` may be written and removed too: then the longest and strangest cell
    /// names are tried. Only for a prefix that nobody uses.
    pub scratch: bool,
    /// How long one request may take.
    pub timeout: Duration,
}

impl Settings {
    /// Returns the settings for a quick look at a store that may be in use.
    pub fn new(seed: u64) -> Self {
        Self { seed, clock: StoreClock::HTTP, listed: 5, scratch: false, timeout: Duration::from_secs(10) }
    }
}

/// Asks every question that one client can ask. `execute` executes one operation and gives its reply; `pause`
/// lets time pass, for a store that asks to be left alone for a while.
pub fn run(
    settings: &Settings,
    execute: &mut dyn FnMut(Op) -> Reply,
    pause: &mut dyn FnMut(Duration),
) -> Report {
    let mut bench = Bench::new(settings.seed, settings.timeout, execute, pause);
    let mut report = Report::default();
    for (name, check) in checks::ALL {
        report.add(name, check(&mut bench, settings));
    }
    if settings.scratch {
        report.add("names", checks::names(&mut bench));
    }
    report.add("cleaned up", bench.clean());
    report
}
