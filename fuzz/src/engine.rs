//! Any events, in any order, at any time, with any bytes in the store's mouth: the engine acts only on evidence.
//!
//! The core's own tests show that `handle` is total and answers every call once. Here a witness keeps what the
//! store has really said, and holds every command and every tenure against it.

mod run;
mod witness;

use arbitrary::Unstructured;
use tenure_core::Defect;

use run::Run;

/// A longer input is cut.
const STEPS_MAX: usize = 600;

/// Runs the steps that the input describes.
///
/// # Panics
/// If the engine panics, or does something for which there is no evidence.
pub fn check(input: &[u8]) {
    check_with(None, input);
}

/// The same with a bug planted in the engine, to show that the witness can see it.
///
/// # Panics
/// If the engine panics, or does something for which there is no evidence.
pub fn check_with(defect: Option<Defect>, input: &[u8]) {
    let mut input = Unstructured::new(input);
    let mut run = Run::new(defect, &mut input);
    for _ in 0..STEPS_MAX {
        if input.is_empty() || run.step(&mut input).is_err() {
            break;
        }
    }
    run.end();
}
