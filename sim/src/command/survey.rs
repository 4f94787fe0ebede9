//! Many worlds to the last, and a count of what they violate.

use std::collections::BTreeMap;

use crate::Trace;

use super::args::Args;
use super::print::say;
use super::{Ended, Verdict, interrupt};

/// Runs all worlds whatever is violated, and counts what was violated how often.
pub(crate) fn main(args: &Args) -> Ended {
    let plan = args.world.plan();
    let (start, count) = (args.range.start, args.seeds.unwrap_or(10_000));
    say!("seeds {start:#x} to {:#x}", start.wrapping_add(count - 1));
    let mut worlds = 0;
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    while worlds < count && interrupt::goes_on() {
        let seed = start.wrapping_add(worlds);
        worlds += 1;
        if let Err(failure) = plan.run(seed, Trace::silent()) {
            let mut kind = failure.violation.to_string();
            kind.retain(|letter| !letter.is_ascii_digit());
            kind.truncate(kind.char_indices().nth(100).map_or(kind.len(), |(end, _)| end));
            found.entry(kind).or_insert((seed, 0)).1 += 1;
        }
    }
    for (kind, (seed, times)) in &found {
        say!("{times} times, first in {seed:#x}: {kind}");
    }
    say!(
        "{worlds} of {count} worlds, of which {} violate something",
        found.values().map(|(_, times)| times).sum::<u64>()
    );
    if worlds < count {
        return Ok(Verdict::Interrupted);
    }
    Ok(if found.is_empty() { Verdict::Holds } else { Verdict::Violated })
}
