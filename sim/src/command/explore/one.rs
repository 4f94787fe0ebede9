//! One small world: the one that the command line describes.

use core::sync::atomic::Ordering;

use tenure_sim::small::{Search, Summary};

use super::many::on_interrupt;
use super::stopwatch::Stopwatch;
use super::{Ended, Explore, Verdict, columns, titles};

/// Explores it, until it is done, too large, or somebody presses Ctrl-C.
pub(super) fn main(explore: &Explore) -> Ended {
    let scope = explore.scope();
    scope.config.check().map_err(|why| why.to_string())?;
    let is_interrupted = on_interrupt()?;
    let watch = Stopwatch::start();
    let mut told = 0.0;
    let goes_on = |seen: &Summary| {
        let seconds = watch.seconds();
        if seconds - told > 1.0 {
            told = seconds;
            progress(seen, seconds);
        }
        seen.states < explore.states_max && !is_interrupted.load(Ordering::Relaxed)
    };
    let search = Search::new(&scope);
    let is_narrow = explore.defect.is_none() && !explore.shortest;
    let search = if is_narrow { search.narrowly() } else { search };
    let found = match search.run_while(goes_on) {
        Ok(seen) => {
            println!("{}\n{}", titles(), columns("this one", &seen, watch.seconds()));
            return Ok(ended(explore, &seen));
        }
        Err(found) => found,
    };
    let length = if is_narrow { "(--shortest looks for a shortest one)" } else { "and no fewer" };
    println!("{}\ncounterexample of {} moves {length}", found.failure, found.depth);
    Ok(Verdict::Violated)
}

fn ended(explore: &Explore, seen: &Summary) -> Verdict {
    if seen.is_complete {
        println!("every check holds in every situation");
        return Verdict::Holds;
    }
    let why = if seen.states < explore.states_max {
        "interrupted".to_owned()
    } else {
        format!("given up at --states-max {}", explore.states_max)
    };
    println!("{why}: every check holds within {} moves, and nothing is known beyond", seen.depth);
    Verdict::Interrupted
}

fn progress(seen: &Summary, seconds: f64) {
    eprintln!(
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
