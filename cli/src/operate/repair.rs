//! `tenure repair`: puts a record that nobody owns the cell in place of one that is corrupt or was removed.
//!
//! What the record can no longer tell, the highest epoch there was, the operator has to say.

use tenure_blocking::ownership::CasOutcome;
use tenure_core::{Epoch, Holder, Key, NodeId, OwnerRecord};

use super::found::Found;
use super::{legible, moved, report};
use crate::args::{Global, RepairArgs};
use crate::exit::Failure;
use crate::inspect::LifeState;
use crate::output::Output;
use crate::store;

pub(crate) fn main(global: &Global, args: &RepairArgs, output: Output) -> Result<u8, Failure> {
    let RepairArgs { cell, epoch, force } = args;
    let store = store::inspector(global)?;
    let found = Found::look(cell, &store)?;
    let note = judge(&found, &Key::owner(cell), *epoch, *force)?;
    match store.free(cell, found.guard(), *epoch)? {
        CasOutcome::Applied => report(cell, *epoch, &found, &note, output),
        CasOutcome::Rejected => Err(moved(cell, &found, &store)),
    }
}

/// Decides whether a record with this epoch may replace what was found; returns what to take care of then.
///
/// # Errors
/// Says what was found, and what to do instead.
fn judge(found: &Found, key: &Key, epoch: Epoch, force: bool) -> Result<String, Failure> {
    let body = match found {
        Found::Corrupt { body, .. } => body,
        Found::Missing => return Ok(format!("mind the last owner; {STOP}")),
        Found::Sound { record, .. } if force && record.epoch < epoch => return Ok(overruled(record)),
        Found::Sound { record, owner, .. } => return Err(sound(found, record, *owner, key, force)),
    };
    match legible::epoch(body).filter(|legible| *legible > epoch) {
        Some(legible) if !force => Err(Failure::regressed(format_args!(
            "{key} is corrupt, but seems to have had epoch {legible}, and {epoch} is lower; name the highest epoch that there ever was, or add --force if that number is garbage, too: if it is not, epochs are owned twice"
        ))
        .with("key", key.as_str())
        .with("seen", legible.get())),
        Some(legible) => Ok(format!(
            "by force: if the cell was ever owned at an epoch from {} to {legible}, its tokens come twice; {STOP}",
            epoch.get() + 1
        )),
        None => Ok(format!("mind the last owner; {STOP}")),
    }
}

/// Says what it means to put a higher epoch in the place of a sound record.
fn overruled(record: &OwnerRecord) -> String {
    match record.holder() {
        Holder::Nobody => "by force: the record was sound, and only its epoch has changed".to_owned(),
        Holder::Node(node) | Holder::OfferedTo(node) => {
            format!("by force: mind {node}, which had the cell at epoch {}; {STOP}", record.epoch)
        }
    }
}

/// Says how a cell with a sound record is had.
fn sound(found: &Found, record: &OwnerRecord, owner: Option<LifeState>, key: &Key, force: bool) -> Failure {
    let instead = match owner {
        Some(LifeState::Live) => "stop that node, and the next claim gets the cell",
        Some(LifeState::Expired | LifeState::Unknown) => {
            "a claim that waits for a moment gets it if that node is dead"
        }
        Some(LifeState::Dead) | None => "the next claim gets the cell",
    };
    let forced = if force {
        format!("not even --force puts anything but a higher epoch in the place of {}", record.epoch)
    } else {
        "if it is an old one that somebody restored, add --force and the highest epoch that there ever was"
            .to_owned()
    };
    Failure::sound(format_args!("{key} is sound: {found}; {instead}; {forced}"))
        .with("key", key.as_str())
        .with("node", record.node.as_ref().map_or("", NodeId::as_str))
        .with("epoch", record.epoch.get())
}

const STOP: &str =
    "if it still runs, it goes on as the owner until it asks the store: stop it, or let it verify";
