//! One small world: the one that the command line describes.

use crate::small::{Search, Summary};

use super::print::{complain, say};
use super::stopwatch::Stopwatch;
use super::{Ended, Explore, Verdict, columns, interrupt, titles};

/// Explores it, until it is done, too large, or somebody presses Ctrl-C.
pub(super) fn main(explore: &Explore) -> Ended {
    let scope = explore.scope();
    scope.config.check().map_err(|why| why.to_string())?;
    let watch = Stopwatch::start();
    let mut told = 0.0;
    let goes_on = |seen: &Summary| {
        let seconds = watch.seconds();
        if seconds - told > 1.0 {
            told = seconds;
            progress(seen, seconds);
        }
        seen.states < explore.states_max && interrupt::goes_on()
    };
    let search = Search::new(&scope);
    let is_narrow = explore.defect.is_none() && !explore.shortest;
    let search = if is_narrow { search.narrowly() } else { search };
    let found = match search.run_while(goes_on) {
        Ok(seen) => {
            say!("{}\n{}", titles(), columns("this one", &seen, watch.seconds()));
            return Ok(ended(explore, &seen));
        }
        Err(found) => found,
    };
    let length = if is_narrow { "(--shortest looks for a shortest one)" } else { "and no fewer" };
    say!("{}\ncounterexample of {} moves {length}", found.failure, found.depth);
    Ok(Verdict::Violated)
}

fn ended(explore: &Explore, seen: &Summary) -> Verdict {
    if seen.is_complete {
        say!("every check holds in every situation");
        return Verdict::Holds;
    }
    let (why, verdict) = if interrupt::goes_on() {
        (format!("given up at --states-max {}", explore.states_max), Verdict::Violated)
    } else {
        ("interrupted".to_owned(), Verdict::Interrupted)
    };
    say!("{why}: every check holds within {} moves, and nothing is known beyond", seen.depth);
    verdict
}

fn progress(seen: &Summary, seconds: f64) {
    complain!(
        "{:>3} moves deep, {:>9} situations, {:>7.0} a second, about {} MB",
        seen.depth,
        seen.states,
        seen.states as f64 / seconds,
        seen.states * BYTES_EACH / 1_000_000
    );
}

/// How much memory a situation takes, everything that they share included: measured on worlds of half a million to ten
/// million situations.
const BYTES_EACH: u64 = 200;
