//! `tenure owner`: who owns one cell.

use crate::args::{Global, OwnerArgs};
use crate::exit::Failure;
use crate::inspect::CellState;
use crate::output::Output;
use crate::store;

pub(crate) fn main(global: &Global, args: &OwnerArgs, output: Output) -> Result<u8, Failure> {
    let store = store::inspector(global)?;
    let state = CellState::look(&args.cell, &store)?;
    output.rows(Some(CellState::HEADING), &[state.row()])?;
    state.corrupt().map_or(Ok(0), Err)
}
