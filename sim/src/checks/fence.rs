//! G3: `verify` succeeds only if the record named this session and epoch between the call and its return.

use tenure_core::{Call, CellId, Epoch, Holder, Key, NodeId, Outcome, Tenure};

use super::{Check, Violation};
use crate::clock::Moment;
use crate::kinds::Kinds;
use crate::view::{Step, View};

/// Looks up, for each answer that says "yours", what the store held while the question was open.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Fence;

impl Check for Fence {
    fn kinds(&self) -> Kinds {
        Kinds::DONE
    }

    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let Step::Done { call, asked, outcome, .. } = view.step else { return Ok(()) };
        let Some(session) = view.session() else { return Ok(()) };
        match (call, outcome) {
            (Call::Verify(Tenure { cell, epoch }), Outcome::Verified(Ok(())))
                if !was_held(view, session.id(), cell, *epoch, *asked) =>
            {
                let why = format_args!("{cell} was verified at epoch {epoch}, which the record did not name");
                Err(Violation::new("G3", why))
            }
            (Call::Claim { .. }, Outcome::Claimed(Ok(Tenure { cell, epoch })))
                if !was_held(view, session.id(), cell, *epoch, Moment::START) =>
            {
                let why = format_args!("{cell} was granted at epoch {epoch}, which no record ever named");
                Err(Violation::new("G3", why))
            }
            _ => Ok(()),
        }
    }
}

/// Tells whether the record named this holder and epoch at some instant from `since` until now.
pub(super) fn was_held(view: &View<'_>, node: &NodeId, cell: &CellId, epoch: Epoch, since: Moment) -> bool {
    let history = view.store.history(Key::owner(cell).as_str());
    let mut until = None;
    history
        .iter()
        .rev()
        .take_while(|version| {
            // A version counts until the next one came; what ended before the question does not count.
            let is_recent = until.is_none_or(|until| until >= since);
            until = Some(version.at);
            is_recent
        })
        .filter_map(|version| version.owner.as_ref())
        .any(|record| record.epoch == epoch && record.holder() == Holder::Node(node))
}
