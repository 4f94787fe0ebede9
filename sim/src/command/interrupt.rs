//! Ctrl-C: the first time whatever runs ends soon, with a summary of what it has; the second time at once.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Once;

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);
static HANDLER: Once = Once::new();

/// Listens from now on.
///
/// # Errors
/// Says why that is not possible.
pub(super) fn listen() -> Result<(), String> {
    let mut result = Ok(());
    HANDLER.call_once(|| {
        // The second time is meant: whoever presses it again does not want to wait for the summary.
        let handler = || {
            if IS_INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
        };
        result = ctrlc::set_handler(handler).map_err(|error| format!("Ctrl-C cannot be handled: {error}"));
    });
    result
}

/// Tells whether nobody has pressed it.
pub(super) fn goes_on() -> bool {
    !IS_INTERRUPTED.load(Ordering::Relaxed)
}

/// The exit status of whoever was interrupted: 128 and the number of the signal, as shells have it.
pub(super) const INTERRUPTED: u8 = 130;
