//! `tenure doctor`: asks the store everything that ownership rests on, and says what to do.
//!
//! The questions are the conformance suite's; this adds what only a command knows: the store's URL and host, the
//! bucket around the prefix, a bar that moves, and an exit code. Nothing is left behind, also when it is
//! interrupted: the suite is stopped, and removes what it wrote.

mod bucket;
mod progress;
mod show;
mod subject;

use core::cell::Cell;
use core::pin::pin;
use core::time::Duration;

use rustix::process::Signal;
use tenure_blocking::clock;
use tenure_sim::conformance::{Outcome, Race, Report, Settings, Suite, run_async};

use crate::args::{DoctorArgs, Global};
use crate::exit::{Code, Failure};
use crate::output::Output;
use crate::signals::{self, Signals, code_of};

use self::progress::Progress;
use self::show::Show;
use self::subject::Place;

/// How long one request may take. A store that needs longer is too slow for any ttl.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How many contend in a race: as many as the store's client keeps connections for.
const CONTENDERS: u16 = 16;
/// How long each kind of race may take.
const RACE_BUDGET: Duration = Duration::from_secs(15);
/// More keys than a page of a listing has.
const LISTED: u16 = 1100;
/// How many writes are timed, and how many reads.
const TIMED: u16 = 100;

pub(crate) fn main(global: &Global, args: &DoctorArgs, output: Output) -> Result<u8, Failure> {
    let place = Place::open(global)?;
    let settings = Settings {
        clock: place.clock(),
        read_only: args.read_only,
        listed: LISTED,
        race: (args.rounds > 0).then_some(Race {
            contenders: CONTENDERS,
            rounds: args.rounds,
            budget: RACE_BUDGET,
            apart: place.has_wire(),
        }),
        timed: TIMED,
        timeout: TIMEOUT,
        other_spelling: place.other_spelling(),
        ..Settings::new(seed())
    };
    let mut suite = Suite::new(settings);
    let show = Show::new(output, global, &place, args.read_only);
    signals::runtime()?.block_on(examine(&place, &mut suite, &show))
}

/// Asks, shows, and returns the exit code.
async fn examine(place: &Place, suite: &mut Suite, show: &Show) -> Result<u8, Failure> {
    let mut signals = Signals::listen(&[Signal::INT, Signal::TERM])?;
    let begin = clock::mono();
    let stopped: Cell<Option<Signal>> = Cell::new(None);
    let mut progress = Progress::new(show.is_for_people());
    let mut requests = 0;
    let mut report = {
        let mut work = pin!(run_async(suite, place, |suite| {
            if stopped.get().is_some() || progress.is_unread() {
                suite.stop();
            }
            requests = suite.progress().requests;
            progress.watch(suite, show);
        }));
        loop {
            tokio::select! {
                report = &mut work => break report,
                signal = signals.next() => match stopped.replace(Some(signal)) {
                    None => show.say("stopping; what was written is being removed (once more: leave it)"),
                    Some(_) => {
                        show.say("what was written is left below probe/ of the store");
                        return Ok(code_of(signal.as_raw()));
                    }
                },
            }
        }
    };
    progress.finish(&report, show)?;
    if stopped.get().is_none() {
        let asked = report.checks.len();
        bucket::look(place, &mut report).await;
        show.checks(&report.checks[asked..])?;
    }
    let code = stopped.get().map_or_else(|| code(&report), |signal| code_of(signal.as_raw()));
    show.summary(&report, place, requests, clock::mono().since(begin), code)?;
    Ok(code)
}

/// A store that wrongly accepted a write is unfit whatever else was denied or left open.
fn code(report: &Report) -> u8 {
    match report.outcome() {
        // One is fit, but not by the URL that was given: nodes must not be started with that.
        Outcome::Config | Outcome::FitWithSettings => Code::Config as u8,
        Outcome::Denied => Code::Denied as u8,
        Outcome::Fit => 0,
        Outcome::Unclear => Code::Unavailable as u8,
        Outcome::Unfit => Code::Unfit as u8,
    }
}

/// Returns a number that no other doctor at the same store has: the time in nanoseconds, and this process.
fn seed() -> u64 {
    let time = clock::wall().as_nanos() ^ (u64::from(std::process::id()) << 24);
    time & 0xffff_ffff_ffff
}
