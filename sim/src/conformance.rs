//! The store conformance suite: does a store do what ownership rests on?
//!
//! [`Suite`] is a machine without I/O, like the engine: it says what to execute (one operation, or several at
//! once), what pause to make, and takes the answers with the times they took; it ends with a [`Report`]. Two
//! runners drive it, [`run`] with threads and [`run_async`] with futures of any executor, so that one suite
//! serves every store there is: simulated, files, real servers, through both drivers.
//!
//! ```text
//! loop { match suite.step() { Execute(batch) => suite.answer(..), Pause(time) => .., Done => break } }
//! ```
//!
//! Questions are asked one at a time; the races let several contenders ask the same one at the same instant,
//! which is where stores that check and then write are found out. A store may throttle, time out or answer with
//! a conflict: such answers are settled or tried again within a budget, and what remains open is reported as
//! unclear, which is not fit. The suite leaves nothing behind, also when it is [stopped](Suite::stop), and
//! touches only keys under `probe/`, unless [`Settings::scratch`] says that the whole prefix is nobody's.

mod bench;
mod checks;
mod gate;
mod latency;
mod race;
mod report;
mod run;
mod suite;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
mod words;

pub use gate::Ticket;
pub use latency::Latency;
pub use race::Race;
pub use report::{Check, Outcome, Report, Verdict};
pub use run::{AsyncSubject, Subject, run, run_async};
pub use suite::{Answer, Batch, Progress, Release, Spelling, Step, Suite};

use core::time::Duration;

use tenure_core::StoreClock;

/// What to ask, and how patiently.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which probe keys to use. Two runs against one store at the same time need different seeds.
    pub seed: u64,
    /// How true the store's stamps are said to be.
    pub clock: StoreClock,
    /// Ask only what needs no write. Then little is known: see [`Report::outcome`].
    pub read_only: bool,
    /// How many keys to list; more than the store's page, usually 1000, to see a listing go on.
    pub listed: u16,
    /// Whether keys outside `probe/` may be written and removed too: then the longest and strangest cell
    /// names are tried. Only for a prefix that nobody uses.
    pub scratch: bool,
    /// Let contenders race, too.
    pub race: Option<Race>,
    /// How many writes are timed, and how many reads; none are if this is zero.
    pub timed: u16,
    /// How long one request may take.
    pub timeout: Duration,
    /// The setting that makes the store's client spell tags the other way in `If-Match` ([`Spelling::Other`]),
    /// as its user writes it; nothing if there is none.
    pub other_spelling: Option<&'static str>,
}

impl Settings {
    /// Returns the settings for a quick look at a store that may be in use: every question that one client can
    /// ask, no race.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            clock: StoreClock::HTTP,
            read_only: false,
            listed: 5,
            scratch: false,
            race: None,
            timed: 0,
            timeout: Duration::from_secs(10),
            other_spelling: None,
        }
    }
}
