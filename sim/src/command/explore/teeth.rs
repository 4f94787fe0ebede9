//! Each planted defect in the small world that aims at it.

use tenure_sim::small::{Search, aims};

use super::stopwatch::Stopwatch;

/// Looks for all of them, and tells whether each is found in as many moves as are pinned.
pub(super) fn main() -> bool {
    let mut holds = true;
    println!("{:<26} {:>5} {:>7}  caught by", "defect", "moves", "seconds");
    for aim in aims() {
        let watch = Stopwatch::start();
        let name = format!("{:?}", aim.defect);
        match Search::new(&aim.scope).run() {
            Ok(seen) => {
                println!("{name:<26} survives all of {} situations", seen.states);
                holds = false;
            }
            Err(found) => {
                let (why, seconds) = (&found.failure.violation, watch.seconds());
                println!("{name:<26} {:>5} {seconds:>7.1}  {why}", found.depth);
                if found.depth != aim.depth {
                    println!("  but pinned are {} moves", aim.depth);
                    holds = false;
                }
            }
        }
    }
    holds
}
