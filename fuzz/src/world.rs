//! libFuzzer as the source of chance of a simulated world: no check may be violated, whatever happens when.
//!
//! The first byte picks the family of the world, every four that follow answer one question. A tape that has run
//! out answers zero, which is quiet, so a short input is a calm world.

use tenure_sim::{Family, Scenario, Tape, Trace, World};

/// A longer tape is cut: a world that goes on for ever teaches nothing.
const CHOICES_MAX: usize = 4096;

/// Runs one world.
///
/// # Panics
/// If a check is violated; the message ends with the last steps.
pub fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let family = Family::ALL[usize::from(*first) % Family::ALL.len()];
    let tape: Vec<u32> =
        rest.as_chunks::<4>().0.iter().take(CHOICES_MAX).map(|&choice| u32::from_le_bytes(choice)).collect();
    let mut choices = Tape::new(&tape);
    let scenario = Scenario::of(family, &mut choices);
    if let Err(failure) = World::new(scenario, &mut choices).with_trace(Trace::last(60)).run() {
        panic!("a world of family {} breaks\n{failure}", family.as_str());
    }
}
