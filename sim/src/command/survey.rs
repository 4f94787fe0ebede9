//! Many worlds to the last, and a count of what they violate.

use std::collections::BTreeMap;

use tenure_sim::Trace;

use super::args::Args;
use super::{Ended, Verdict};

/// Runs all worlds whatever is violated, and counts what was violated how often.
pub(crate) fn main(args: &Args) -> Ended {
    let plan = args.world.plan();
    let count = args.seeds.unwrap_or(10_000);
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for seed in (args.range.start..).take(usize::try_from(count).unwrap_or(usize::MAX)) {
        if let Err(failure) = plan.run(seed, Trace::silent()) {
            let mut kind = failure.violation.to_string();
            kind.retain(|letter| !letter.is_ascii_digit());
            kind.truncate(kind.char_indices().nth(100).map_or(kind.len(), |(end, _)| end));
            found.entry(kind).or_insert((seed, 0)).1 += 1;
        }
    }
    for (kind, (seed, times)) in &found {
        println!("{times} times, first in {seed:#x}: {kind}");
    }
    Ok(if found.is_empty() { Verdict::Holds } else { Verdict::Violated })
}
