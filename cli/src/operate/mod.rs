//! What an operator changes in a store: one compare-and-swap on the very version that was judged, so that nothing is
//! lost if it changes meanwhile.

mod evict;
mod fence;
mod found;
mod legible;
mod repair;

pub(crate) use evict::main as evict;
pub(crate) use repair::main as repair;

use serde_json::json;
use tenure_blocking::ownership::{CasOutcome, OwnershipError};
use tenure_core::{CellId, Epoch, Key};

use crate::exit::Failure;
use crate::inspect::Inspector;
use crate::operate::found::Found;
use crate::output::{Output, printable};

/// Puts a record by which nobody owns the cell in the place of what was found.
///
/// # Errors
/// Says why the store cannot be asked or is unfit, or that what became of the write is not known.
fn free(cell: &CellId, found: &Found, epoch: Epoch, store: &Inspector) -> Result<CasOutcome, Failure> {
    store.probe(&found.guard())?;
    store.free(cell, found.guard(), epoch).map_err(|error| {
        // That may be the answer's fault, and hide that the write was applied.
        let is_hidden = matches!(error, OwnershipError::Bad(_));
        let failure = Failure::from(error);
        if is_hidden {
            failure.hinting("but what became of the write before that is not known: look again")
        } else {
            failure
        }
    })
}

/// Says what there was, that the cell is nobody's now, and what else to know.
///
/// # Errors
/// Says that this cannot be printed, but was done, and for programs what there was: it is not to be had any more.
fn report(cell: &CellId, epoch: Epoch, found: &Found, note: &str, output: Output) -> Result<u8, Failure> {
    let text = told(cell, epoch, found, note, output);
    output.text(&text).map_err(|failure| {
        failure
            .hinting(&format!("all the same {cell} is free now, at epoch {epoch}"))
            .with("before", found.to_json())
    })?;
    Ok(0)
}

fn told(cell: &CellId, epoch: Epoch, found: &Found, note: &str, output: Output) -> String {
    if output.is_json() {
        let object = json!({
            "cell": cell.as_str(), "node": "", "epoch": epoch.get(), "state": "released",
            "before": found.to_json(), "note": note,
        });
        return format!("{object}\n");
    }
    let mut text = format!("before  {}\n", printable(&found.to_string()));
    if let Some(excerpt) = found.excerpt() {
        text += &format!("        {}\n", printable(&excerpt));
    }
    let next = epoch.next().map_or_else(|| "none".to_owned(), |next| next.to_string());
    text += &format!("after   released at epoch {epoch}: the next claim gets epoch {next}\n{note}\n");
    text
}

/// Says what stands there instead of what was judged.
fn moved(cell: &CellId, before: &Found, store: &Inspector) -> Failure {
    let key = Key::owner(cell);
    let now = match Found::look(cell, store) {
        Ok(now) => now.to_string(),
        Err(failure) => format!("not to be read: {failure}"),
    };
    Failure::contended(format_args!(
        "{key} has changed since it was read: it was {before}, and now is {now}; look again"
    ))
    .with("key", key.as_str())
}
