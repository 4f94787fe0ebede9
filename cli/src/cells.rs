//! `tenure cells`: who owns which cell, a page of the listing at a time.

use tenure_core::{CellId, Key};

use crate::args::{CellsArgs, Global};
use crate::exit::Failure;
use crate::inspect::{CellState, parallel};
use crate::output::{Output, Printed};
use crate::store;

pub(crate) fn main(global: &Global, args: &CellsArgs, output: Output) -> Result<u8, Failure> {
    // Every prefix of a cell's name is a cell's name itself, but for these three.
    if !matches!(args.prefix.as_str(), "" | "." | "..") {
        CellId::new(&args.prefix).map_err(Failure::usage)?;
    }
    let store = store::inspector(global)?;
    let mut heading = Some(CellState::HEADING);
    let mut corrupt = None;
    store.pages(&format!("{}{}", Key::OWNERS, args.prefix), |page| {
        let cells: Vec<_> = page.entries.iter().filter_map(|entry| Key::cell(&entry.key)).collect();
        let states: Vec<_> =
            parallel(&cells, |cell| CellState::look(cell, &store)).into_iter().collect::<Result<_, _>>()?;
        let rows: Vec<_> = states.iter().map(CellState::row).collect();
        let printed = output.rows(heading.take(), &rows)?;
        corrupt = corrupt.take().or_else(|| states.into_iter().find_map(CellState::corrupt));
        Ok(printed == Printed::Written)
    })?;
    corrupt.map_or(Ok(0), Err)
}
