//! Each planted defect in turn, until it is caught.

use crate::Plan;
use tenure_core::Defect;

use super::args::Args;
use super::print::say;
use super::{Ended, Verdict, interrupt};

/// Runs each planted defect until it is caught.
pub(crate) fn main(args: &Args) -> Ended {
    let (start, count) = (args.range.start, args.seeds.unwrap_or(100_000));
    let mut verdict = Verdict::Holds;
    say!("{} bugs, up to {count} worlds for each from seed {start:#x} on", Defect::ALL.len());
    for &defect in Defect::ALL {
        let plan = Plan { defect: Some(defect), ..args.world.plan() };
        match plan.first_caught_while(start, count, args.range.threads(), &interrupt::goes_on) {
            Some(found) => {
                let after = found.seed.wrapping_sub(start) + 1;
                say!("{defect:?}: caught after {after} worlds by {}", found.failure.violation);
            }
            None if !interrupt::goes_on() => {
                say!("{defect:?}: interrupted, and all that follow are left out");
                return Ok(Verdict::Interrupted);
            }
            None => {
                verdict = Verdict::Violated;
                say!("{defect:?}: not caught in {count} worlds");
            }
        }
    }
    Ok(verdict)
}
