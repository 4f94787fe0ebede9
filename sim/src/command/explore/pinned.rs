//! The worlds whose sizes are known.

use crate::small::{Search, pins};

use super::print::say;
use super::stopwatch::Stopwatch;
use super::{columns, interrupt, titles};

/// Explores all of them, and tells whether each holds and has the size that is pinned.
pub(super) fn main() -> bool {
    let mut holds = true;
    say!("{}", titles());
    for pin in pins() {
        let watch = Stopwatch::start();
        match Search::new(&pin.scope).narrowly().run_while(|_| interrupt::goes_on()) {
            Ok(_) if !interrupt::goes_on() => {
                say!("interrupted: \"{}\" and what follows is left out", pin.name);
                break;
            }
            Ok(seen) => {
                say!("{}", columns(pin.name, &seen, watch.seconds()));
                if (seen.states, seen.depth) != (pin.states, pin.depth) {
                    say!("  but pinned are {} states and depth {}", pin.states, pin.depth);
                    holds = false;
                }
            }
            Err(found) => {
                say!("{}\n{}: violated after {} moves", found.failure, pin.name, found.depth);
                holds = false;
            }
        }
    }
    holds
}
