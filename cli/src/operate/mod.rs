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
use tenure_core::{CellId, Epoch, Key};

use crate::exit::Failure;
use crate::inspect::Inspector;
use crate::operate::found::Found;
use crate::output::{Output, printable};

/// Says what there was, that the cell is nobody's now, and what else to know.
fn report(cell: &CellId, epoch: Epoch, found: &Found, note: &str, output: Output) -> Result<u8, Failure> {
    if output.is_json() {
        let object = json!({
            "cell": cell.as_str(), "node": "", "epoch": epoch.get(), "state": "released",
            "before": found.to_json(), "note": note,
        });
        output.text(&format!("{object}\n"))?;
        return Ok(0);
    }
    let mut text = format!("before  {}\n", printable(&found.to_string()));
    if let Some(excerpt) = found.excerpt() {
        text += &format!("        {}\n", printable(&excerpt));
    }
    let next = epoch.next().map_or_else(|| "none".to_owned(), |next| next.to_string());
    text += &format!("after   released at epoch {epoch}: the next claim gets epoch {next}\n{note}\n");
    output.text(&text)?;
    Ok(0)
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
