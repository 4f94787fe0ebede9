//! What a node's watchers have been shown of a cell's record.

use tenure_core::{CellId, Holder, Notice, Outcome, Owner, OwnerRecord};

use crate::clock::Moment;
use crate::store::Version;

/// A cell that a session watches, or has watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The cell.
    pub cell: CellId,
    /// How many watches were answered and have not been ended.
    pub watchers: u32,
    /// What they were shown last.
    pub shown: Owner,
    /// When the latest of them began.
    pub at: Moment,
}

impl Watched {
    /// Tells whether this version of the record, or that there is none, is what was shown last.
    pub fn is_shown(&self, version: Option<&Version>) -> bool {
        is_owner(&self.shown, version)
    }

    /// Follows what a session is answered.
    pub(crate) fn learn(all: &mut Vec<Self>, cell: &CellId, outcome: &Outcome, at: Moment) {
        let place = all.iter().position(|watched| watched.cell == *cell);
        match (outcome, place) {
            (Outcome::Watched(Ok(owner)), Some(place)) => {
                all[place].watchers += 1;
                all[place].at = at;
                all[place].shown = owner.clone();
            }
            (Outcome::Watched(Ok(owner)), None) => {
                all.push(Self { cell: cell.clone(), watchers: 1, shown: owner.clone(), at });
            }
            (Outcome::Unwatched, Some(place)) => {
                all[place].watchers = all[place].watchers.saturating_sub(1);
            }
            _ => {}
        }
    }

    /// Follows what a session is told.
    #[expect(clippy::wildcard_enum_match_arm, reason = "notices may be added; these matter to it")]
    pub(crate) fn notice(all: &mut Vec<Self>, notice: &Notice) {
        match notice {
            Notice::Fenced(_) => all.clear(),
            Notice::OwnerChanged { cell, owner } => {
                if let Some(watched) = all.iter_mut().find(|watched| watched.cell == *cell) {
                    watched.shown = owner.clone();
                }
            }
            _ => {}
        }
    }
}

/// Tells whether this is what a version of a record says, or that there is none.
pub(crate) fn is_owner(owner: &Owner, version: Option<&Version>) -> bool {
    let Some(version) = version.filter(|version| version.body.is_some()) else {
        return *owner == Owner::Free { epoch: None };
    };
    match (&version.owner, owner) {
        (None, Owner::Bad(_)) => true,
        (None, _) | (Some(_), Owner::Bad(_)) => false,
        (Some(record), Owner::Free { epoch }) => {
            record.holder() == Holder::Nobody && *epoch == Some(record.epoch)
        }
        (Some(record), Owner::Held { node, epoch }) => is(record, &Holder::Node(node), *epoch),
        (Some(record), Owner::Offered { to, epoch }) => is(record, &Holder::OfferedTo(to), *epoch),
    }
}

fn is(record: &OwnerRecord, holder: &Holder<'_>, epoch: tenure_core::Epoch) -> bool {
    record.holder() == *holder && record.epoch == epoch
}
