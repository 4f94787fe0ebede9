//! Each planted defect in turn, until it is caught.

use tenure_core::Defect;
use tenure_sim::Plan;

use super::args::Args;
use super::{Ended, Verdict};

/// Runs each planted defect until it is caught.
pub(crate) fn main(args: &Args) -> Ended {
    let (start, count) = (args.range.start, args.seeds.unwrap_or(100_000));
    let mut verdict = Verdict::Holds;
    for &defect in Defect::ALL {
        let plan = Plan { defect: Some(defect), ..args.world.plan() };
        match plan.first_caught(start, count, args.range.threads()) {
            Some(found) => {
                let after = found.seed.wrapping_sub(start) + 1;
                println!("{defect:?}: caught after {after} worlds by {}", found.failure.violation);
            }
            None => {
                verdict = Verdict::Violated;
                println!("{defect:?}: not caught in {count} worlds");
            }
        }
    }
    Ok(verdict)
}
