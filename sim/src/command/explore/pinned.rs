//! The worlds whose sizes are known.

use tenure_sim::small::{Search, pins};

use super::stopwatch::Stopwatch;
use super::{columns, titles};

/// Explores all of them, and tells whether each holds and has the size that is pinned.
pub(super) fn main() -> bool {
    let mut holds = true;
    println!("{}", titles());
    for pin in pins() {
        let watch = Stopwatch::start();
        match Search::new(&pin.scope).narrowly().run() {
            Ok(seen) => {
                println!("{}", columns(pin.name, &seen, watch.seconds()));
                if (seen.states, seen.depth) != (pin.states, pin.depth) {
                    println!("  but pinned are {} states and depth {}", pin.states, pin.depth);
                    holds = false;
                }
            }
            Err(found) => {
                println!("{}\n{}: violated after {} moves", found.failure, pin.name, found.depth);
                holds = false;
            }
        }
    }
    holds
}
