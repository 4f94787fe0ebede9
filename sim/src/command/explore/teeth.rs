//! Each planted defect in the small world that aims at it.

use crate::small::{Search, aims};

use super::interrupt;
use super::print::say;
use super::stopwatch::Stopwatch;

/// Looks for all of them, and tells whether each is found in as many moves as are pinned.
pub(super) fn main() -> bool {
    let mut holds = true;
    say!("{:<26} {:>5} {:>7}  caught by", "defect", "moves", "seconds");
    for aim in aims() {
        let watch = Stopwatch::start();
        let name = format!("{:?}", aim.defect);
        match Search::new(&aim.scope).run_while(|_| interrupt::goes_on()) {
            Ok(_) if !interrupt::goes_on() => {
                say!("interrupted: {name} and what follows is left out");
                break;
            }
            Ok(seen) => {
                say!("{name:<26} survives all of {} situations", seen.states);
                holds = false;
            }
            Err(found) => {
                let (why, seconds) = (&found.failure.violation, watch.seconds());
                say!("{name:<26} {:>5} {seconds:>7.1}  {why}", found.depth);
                if found.depth != aim.depth {
                    say!("  but pinned are {} moves", aim.depth);
                    holds = false;
                }
            }
        }
    }
    holds
}
