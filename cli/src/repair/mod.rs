//! `tenure repair`: puts a record that nobody owns the cell in place of one that is corrupt or was removed.
//!
//! One compare-and-swap on the very version that was judged, so that nothing is lost if it changes meanwhile. What the
//! record can no longer tell, the highest epoch there was, the operator has to say.

mod found;
mod legible;

use serde_json::json;
use tenure_blocking::ownership::CasOutcome;
use tenure_core::{Epoch, Key};

use crate::args::{Global, RepairArgs};
use crate::exit::Failure;
use crate::inspect::Inspector;
use crate::output::{Output, printable};
use crate::repair::found::Found;
use crate::store;

pub(crate) fn main(global: &Global, args: &RepairArgs, output: Output) -> Result<u8, Failure> {
    let RepairArgs { cell, epoch, force } = args;
    let store = store::inspector(global)?;
    let found = Found::look(cell, &store)?;
    let warning = found.judge(&Key::owner(cell), *epoch, *force)?;
    match store.free(cell, found.guard(), *epoch)? {
        CasOutcome::Applied => report(args, &found, &warning, output),
        CasOutcome::Rejected => Err(moved(args, &found, &store)),
    }
}

/// Says what there was and what there is now.
fn report(args: &RepairArgs, found: &Found, warning: &str, output: Output) -> Result<u8, Failure> {
    if output.is_json() {
        let object = json!({
            "cell": args.cell.as_str(), "node": "", "epoch": args.epoch.get(), "state": "released",
            "before": found.to_json(), "warning": warning,
        });
        output.text(&format!("{object}\n"))?;
        return Ok(0);
    }
    let mut text = format!("before  {}\n", printable(&found.to_string()));
    if let Some(excerpt) = found.excerpt() {
        text += &format!("        {}\n", printable(&excerpt));
    }
    let next = args.epoch.next().map_or(0, Epoch::get);
    text +=
        &format!("after   released at epoch {}: the next claim gets epoch {next}\n{warning}\n", args.epoch);
    output.text(&text)?;
    Ok(0)
}

/// Says what stands there instead of what was judged.
fn moved(args: &RepairArgs, before: &Found, store: &Inspector) -> Failure {
    let key = Key::owner(&args.cell);
    let now = match Found::look(&args.cell, store) {
        Ok(now) => now.to_string(),
        Err(failure) => format!("not to be read: {failure}"),
    };
    Failure::contended(format_args!(
        "{key} has changed since it was read: it was {before}, and now is {now}; look again"
    ))
    .with("key", key.as_str())
}
