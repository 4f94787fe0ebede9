//! What must be true of a store's history, whatever happened to those who wrote it: G1 and G3.

use std::collections::BTreeMap;

use tenure_core::{CellId, Epoch, Key, NodeId, OwnerRecord};
use tenure_sim::{Moment, Store};

/// The prefix of the fleet's keys.
const PREFIX: &str = "fleet/";

/// A node was told that it owns a cell, by a grant or by a `verify`: the call and its return, by the server's clock.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) cell: CellId,
    pub(crate) node: NodeId,
    pub(crate) epoch: Epoch,
    pub(crate) called: Moment,
    pub(crate) returned: Moment,
}

/// Every version of every owner record, in the order in which they were made.
pub(crate) struct History {
    cells: BTreeMap<String, Vec<(Moment, OwnerRecord)>>,
}

impl History {
    /// Reads a store's history.
    pub(crate) fn of(store: &Store) -> Self {
        let mut cells = BTreeMap::new();
        for key in store.keys() {
            let Some(cell) = key.strip_prefix(PREFIX).and_then(Key::cell) else { continue };
            let versions = store.history(key).iter().map(|version| {
                let body = version.body.as_deref().expect("an owner record is never removed");
                (version.at, OwnerRecord::parse(body).expect("a record"))
            });
            cells.insert(cell.as_str().to_owned(), versions.collect());
        }
        Self { cells }
    }

    /// Returns how often a cell went from an owner that never gave it up to another.
    pub(crate) fn takeovers(&self) -> usize {
        self.takers().count()
    }

    /// Returns who took a cell from an owner that never gave it up, each time.
    pub(crate) fn takers(&self) -> impl Iterator<Item = &NodeId> {
        let pairs = self.cells.values().flat_map(|versions| versions.windows(2));
        pairs.filter_map(|pair| match (&pair[0].1.node, &pair[1].1.node) {
            (Some(old), Some(new)) if old != new => Some(new),
            _ => None,
        })
    }

    /// Returns who owns a cell at the end.
    pub(crate) fn owner(&self, cell: &CellId) -> Option<(&NodeId, Epoch)> {
        let (_, last) = self.cells.get(cell.as_str())?.last()?;
        Some((last.node.as_ref()?, last.epoch))
    }

    /// G1: per cell at most one claim succeeds per epoch, and epochs only grow, here by one.
    pub(crate) fn check_record(&self) {
        for (cell, versions) in &self.cells {
            let (_, first) = &versions[0];
            assert!(first.epoch.get() == 1 && first.node.is_some(), "{cell} begins with {first:?}");
            for pair in versions.windows(2) {
                let ((_, old), (at, new)) = (&pair[0], &pair[1]);
                let is_release = new.epoch == old.epoch && new.node.is_none() && old.node.is_some();
                let is_claim = new.epoch.get() == old.epoch.get() + 1 && new.node.is_some();
                assert!(is_release || is_claim, "{cell} at {at} ms: {old:?} became {new:?}");
            }
        }
    }

    /// G3, and the same of grants: a node is told that it owns a cell only if the record named its session and epoch at
    /// some instant between call and return.
    pub(crate) fn check_told(&self, all: &[Told]) {
        for told in all {
            let versions = self.cells.get(told.cell.as_str()).map(Vec::as_slice).unwrap_or_default();
            let ends = versions.iter().skip(1).map(|(at, _)| *at).chain([Moment::from_nanos(u64::MAX)]);
            let is_named = versions.iter().zip(ends).any(|((from, record), until)| {
                let is_ours = record.node.as_ref() == Some(&told.node) && record.epoch == told.epoch;
                is_ours && *from <= told.returned && told.called < until
            });
            assert!(is_named, "nothing in the history of the record bears this out: {told:?}");
        }
    }

    /// G1, by what the nodes were told: no epoch of a cell was granted to two.
    pub(crate) fn check_grants(&self, all: &[Told]) {
        self.check_told(all);
        let mut granted: BTreeMap<(&CellId, Epoch), &NodeId> = BTreeMap::new();
        for told in all {
            let node = *granted.entry((&told.cell, told.epoch)).or_insert(&told.node);
            assert_eq!(node, &told.node, "{} was granted to both at epoch {}", told.cell, told.epoch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{History, Told};
    use std::sync::Arc;
    use tenure_core::Epoch;
    use tenure_sim::{Moment, Stamping, Store};

    /// A history of one cell: at second 1, 2 and so on, these records.
    fn history(bodies: &[&str]) -> History {
        let mut store = Store::new(Stamping::HTTP);
        for (second, body) in (1..).zip(bodies) {
            store.put_by_force("fleet/cells/c/own.json", Arc::from(body.as_bytes()), at(second));
        }
        History::of(&store)
    }

    fn at(second: u64) -> Moment {
        Moment::from_nanos(second * 1_000_000_000)
    }

    const A1: &str = r#"{"node":"a.1","epoch":1}"#;
    const FREE1: &str = r#"{"node":"","epoch":1}"#;
    const B1: &str = r#"{"node":"b.2","epoch":1}"#;
    const B2: &str = r#"{"node":"b.2","epoch":2}"#;

    #[test]
    fn a_right_history_passes_and_takeovers_are_counted() {
        let taken = history(&[A1, B2]);
        taken.check_record();
        assert_eq!(taken.takeovers(), 1);
        let given = history(&[A1, FREE1, B2]);
        given.check_record();
        assert_eq!(given.takeovers(), 0);
    }

    #[test]
    fn two_owners_of_one_epoch_are_found() {
        for bodies in [&[A1, B1][..], &[A1, FREE1, B1], &[A1, B2, A1], &[B2], &[FREE1]] {
            let found = std::panic::catch_unwind(|| history(bodies).check_record());
            assert!(found.is_err(), "{bodies:?}");
        }
    }

    #[test]
    fn what_nothing_bears_out_is_found() {
        let history = history(&[A1, B2]);
        let told = |node: &str, called, returned| Told {
            cell: crate::fleet::cell("c"),
            node: tenure_core::NodeId::parse(node).expect("legal"),
            epoch: Epoch::new(1).expect("not zero"),
            called: at(called),
            returned: at(returned),
        };
        history.check_told(&[told("a.1", 0, 1), told("a.1", 1, 5)]);
        for wrong in [told("a.1", 2, 5), told("a.1", 0, 0), told("b.2", 0, 9)] {
            let found = std::panic::catch_unwind(|| history.check_told(core::slice::from_ref(&wrong)));
            assert!(found.is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_epoch_granted_to_two_is_found() {
        // As where a write took no heed of its guard: each was there, one after the other.
        let history = history(&[A1, B1]);
        let told = |node: &str, called| Told {
            cell: crate::fleet::cell("c"),
            node: tenure_core::NodeId::parse(node).expect("legal"),
            epoch: Epoch::new(1).expect("not zero"),
            called: at(called),
            returned: at(called + 1),
        };
        history.check_grants(&[told("a.1", 0), told("a.1", 1)]);
        let both = [told("a.1", 0), told("b.2", 1)];
        history.check_told(&both);
        assert!(std::panic::catch_unwind(|| history.check_grants(&both)).is_err());
    }
}
