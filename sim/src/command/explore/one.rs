//! One small world: the one that the command line describes.

use crate::small::{Search, Summary};

use super::print::{complain, say};
use super::stopwatch::Stopwatch;
use super::{Ended, Explore, Verdict, columns, interrupt, memory, titles};

/// Explores it, until it is done, too large, or somebody presses Ctrl-C.
pub(super) fn main(explore: &Explore) -> Ended {
    let scope = explore.scope();
    scope.config.check().map_err(|why| why.to_string())?;
    let states_max = explore.states_max.unwrap_or_else(memory::states);
    let watch = Stopwatch::start();
    let mut told = 0.0;
    let goes_on = |seen: &Summary| {
        let seconds = watch.seconds();
        if seconds - told > 1.0 {
            told = seconds;
            progress(seen, seconds);
        }
        seen.states < states_max && interrupt::goes_on()
    };
    let search = Search::new(&scope);
    let is_narrow = explore.defect.is_none() && !explore.shortest;
    let search = if is_narrow { search.narrowly() } else { search };
    let found = match search.run_while(goes_on) {
        Ok(seen) => {
            say!("{}\n{}", titles(), columns("this one", &seen, watch.seconds()));
            return Ok(ended(states_max, &seen));
        }
        Err(found) => found,
    };
    let length = if is_narrow { "(--shortest looks for a shortest one)" } else { "and no fewer" };
    say!("{}\ncounterexample of {} moves {length}", found.failure, found.depth);
    Ok(Verdict::Violated)
}

fn ended(states_max: u64, seen: &Summary) -> Verdict {
    if seen.is_complete {
        say!("every check holds in every situation");
        return Verdict::Holds;
    }
    let (why, verdict) = if interrupt::goes_on() {
        let size = states_max * memory::BYTES_EACH / 1_000_000;
        let why = format!(
            "given up at {states_max} situations, which take about {size} MB; a larger --states-max needs more memory, \
             fewer --faults, --cells or --ticks make the world smaller"
        );
        (why, Verdict::Violated)
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
        seen.states * memory::BYTES_EACH / 1_000_000
    );
}
