//! A failure for people: what was violated, what led to it, and how to look closer.

use super::print::say;
use crate::{Found, Plan, Shrunk, Tape, Trace};

/// Shows the failure of a seed with its last steps and the commands that lead on.
pub(crate) fn found(name: &str, plan: &Plan, found: &Found) {
    // Nothing was traced in the run that failed; the same seed fails in the same way.
    match plan.run(found.seed, Trace::last(20)) {
        Err(failure) => say!("seed {:#x}\n{failure}", found.seed),
        Ok(_) => say!("seed {:#x}\n{}\nbut it held when run again", found.seed, found.failure),
    }
    commands(name, &seed(plan, found.seed), " --shrink", "failure.svg");
}

/// Shows the commands that replay a world, and that draw it into this file; `shrink` is the word that makes it smaller
/// first, if it is not yet.
pub(crate) fn commands(name: &str, world: &str, shrink: &str, picture: &str) {
    say!("trace:  {name} {world} --trace");
    if !shrink.is_empty() {
        say!("shrink: {name} {world}{shrink}");
    }
    say!("draw:   {name} {world}{shrink} --picture {picture}");
    say!("test:   {name} {world}{shrink} --transcript");
}

/// Says how small a world became.
pub(crate) fn sizes(shrunk: &Shrunk) -> String {
    let (before, after) = (shrunk.before, shrunk.after);
    let end = if shrunk.is_minimal { "none can be spared" } else { "more runs may find a smaller one" };
    format!(
        "from {} steps to {}, and from {} choices ({} not zero) to {} ({} not zero), in {} runs; {end}",
        before.steps, after.steps, before.choices, before.loud, after.choices, after.loud, shrunk.runs
    )
}

/// Returns the words that name a seed on a command line.
pub(crate) fn seed(plan: &Plan, seed: u64) -> String {
    format!("--seed {seed:#x}{}", options(plan))
}

/// Returns the words that name a tape on a command line.
pub(crate) fn tape(plan: &Plan, tape: &[u32]) -> String {
    format!("--tape {}{}", Tape::to_text(tape), options(plan))
}

fn options(plan: &Plan) -> String {
    let family = plan.family.map_or_else(String::new, |family| format!(" --family {}", family.as_str()));
    let defect = plan.defect.map_or_else(String::new, |defect| format!(" --defect {defect:?}"));
    family + &defect
}
