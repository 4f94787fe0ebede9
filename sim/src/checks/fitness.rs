//! Nobody joins a store that cannot compare-and-swap, or writes there more than it takes to find out.

use tenure_core::{Op, Outcome};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// For worlds whose store is unfit.
#[derive(Clone, Copy, Debug)]
pub struct Fitness;

impl Check for Fitness {
    fn kinds(&self) -> Kinds {
        Kinds::DONE.and(Kinds::SENT_WRITE)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        match view.step {
            Step::Done { outcome: Outcome::Joined(Ok(_)), .. } => Err(Violation::new(
                "fitness",
                format_args!("joined a store that is unfit: {:?}", view.scenario.flaw),
            )),
            Step::Sent(Op::Write(op)) if !op.key.as_str().starts_with("probe/") => {
                Err(Violation::new("fitness", format_args!("wrote {} to a store that is unfit", op.key)))
            }
            _ => Ok(()),
        }
    }
}
