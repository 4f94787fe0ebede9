//! `tenure nodes`: the fleet, from the leases of its nodes.

use tenure_core::Key;

use crate::args::Global;
use crate::exit::Failure;
use crate::inspect::{NodeState, parallel};
use crate::output::{Output, Printed};
use crate::store;

pub(crate) fn main(global: &Global, output: Output) -> Result<u8, Failure> {
    let store = store::inspector(global)?;
    let mut heading = Some(NodeState::HEADING);
    store.pages(Key::LEASES, |page| {
        let nodes: Vec<_> = page.entries.iter().filter_map(|entry| Key::node(&entry.key)).collect();
        let states = parallel(&nodes, |node| store.life(node).map(|life| NodeState::new(node.clone(), life)));
        let rows: Vec<_> =
            states.into_iter().map(|state| state.map(|state| state.row())).collect::<Result<_, _>>()?;
        Ok(output.rows(heading.take(), &rows)? == Printed::Written)
    })?;
    Ok(0)
}
