//! `tenure evict`: frees a cell whose owner does not give it back.
//!
//! An owner that may live would go on as the owner, beside the next one. So its lease is judged and fenced first, as by a
//! claim; where that cannot be done only force frees the cell.

use tenure_blocking::ownership::{CasOutcome, OwnershipError};
use tenure_core::{BadRecord, Holder, Key, NodeId, OwnerRecord};

use super::fence::{Fencing, fence};
use super::found::Found;
use super::{free, moved, report};
use crate::args::{EvictArgs, Global};
use crate::exit::Failure;
use crate::inspect::Inspector;
use crate::output::Output;
use crate::store;

pub(crate) fn main(global: &Global, args: &EvictArgs, output: Output) -> Result<u8, Failure> {
    let EvictArgs { cell, epoch, force } = args;
    let store = store::inspector(global)?;
    let found = Found::look(cell, &store)?;
    let record = owned(args, &found)?;
    let note = match record.holder() {
        Holder::Node(node) => make_way(node, record, *force, &store)?,
        Holder::OfferedTo(node) => format!("nobody acts on an offer: {node} can no longer accept it"),
        Holder::Nobody => return Err(nobodys(args, &found)),
    };
    match free(cell, &found, *epoch, &store)? {
        CasOutcome::Applied => report(cell, *epoch, &found, &note, output),
        CasOutcome::Rejected => Err(moved(cell, &found, &store)),
    }
}

/// Returns the record if it has the epoch that was named.
///
/// # Errors
/// Says what was found instead.
fn owned<'f>(args: &EvictArgs, found: &'f Found) -> Result<&'f OwnerRecord, Failure> {
    let key = Key::owner(&args.cell);
    match found {
        Found::Corrupt { etag, why, .. } => {
            let bad = BadRecord::Corrupt { key, etag: etag.clone(), why: why.clone() };
            Err(OwnershipError::Bad(bad).into())
        }
        Found::Missing => Err(nobodys(args, found)),
        Found::Sound { record, .. } if record.epoch == args.epoch => Ok(record),
        Found::Sound { record, .. } => Err(Failure::contended(format_args!(
            "{key} is not at epoch {}: it is {found}; nothing was changed: name the epoch at which it is to be evicted",
            args.epoch
        ))
        .with("key", key.as_str())
        .with("node", record.node.as_ref().map_or("", NodeId::as_str))
        .with("epoch", record.epoch.get())),
    }
}

fn nobodys(args: &EvictArgs, found: &Found) -> Failure {
    let key = Key::owner(&args.cell);
    Failure::not_owner(format_args!("nobody owns {}: {key} is {found}", args.cell)).with("key", key.as_str())
}

/// Sees to it that the owner acts on the cell no more, or says by whose force it may; returns what was done.
fn make_way(node: &NodeId, record: &OwnerRecord, force: bool, store: &Inspector) -> Result<String, Failure> {
    match fence(node, store)? {
        Fencing::Already => Ok(format!("{node} had been fenced before")),
        Fencing::Fenced => Ok(format!("{node} was dead and is fenced: its other cells are free to be claimed")),
        Fencing::Refused(_) if force => Ok(format!(
            "by force: {node} was not fenced; if it lives it goes on as the owner at epoch {} until it asks the store: stop it, or let it verify",
            record.epoch
        )),
        Fencing::Refused(why) => Err(Failure::held(format_args!(
            "{node} owns the cell at epoch {}, and {why}; --force frees the cell all the same, but then that node goes on as the owner until it asks the store",
            record.epoch
        ))
        .with("node", node.as_str())
        .with("epoch", record.epoch.get())),
    }
}
