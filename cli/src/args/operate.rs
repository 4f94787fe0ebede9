//! What may be written to change a store by hand: `tenure evict` and `tenure repair`.

use clap::Args;
use tenure_core::{CellId, Epoch};

use super::{cell, epoch};

/// `tenure evict`.
#[derive(Args, Debug)]
#[command(after_help = EVICT_HELP)]
pub(crate) struct EvictArgs {
    /// The cell
    #[arg(value_parser = cell)]
    pub(crate) cell: CellId,
    /// The epoch at which it is owned, as `tenure owner` shows it; the next claim gets the one above it
    #[arg(long, value_name = "N", value_parser = epoch, allow_negative_numbers = true)]
    pub(crate) epoch: Epoch,
    /// Free it also from a node that lives, or may
    #[arg(long)]
    pub(crate) force: bool,
}

const EVICT_HELP: &str = "\
The lease of the owner is judged first, by the store's clock. If it has ended, the node is fenced: it is dead for good,
and all of its cells are free to be claimed, this one included. If it has not, nothing is changed (exit code 75): stop
that node, or wait. A claim takes the cell of a dead node anyhow; evicting it shows that nobody owns it.
Nothing is changed (75) either if the cell is owned at another epoch, or by nobody.

--force frees the cell of a node that lives, or may, and leaves its lease and its other cells alone. What that breaks: the
node goes on as the owner until it asks the store, by `verify` or by a watch, and until then the next owner is not the
only one. Work that is verified before it is acknowledged stays safe, and so does what checks the epoch.";

/// `tenure repair`.
#[derive(Args, Debug)]
#[command(after_help = REPAIR_HELP)]
pub(crate) struct RepairArgs {
    /// The cell
    #[arg(value_parser = cell)]
    pub(crate) cell: CellId,
    /// The highest epoch at which the cell was ever owned; the next claim gets the one above it
    #[arg(long, value_name = "N", value_parser = epoch, allow_negative_numbers = true)]
    pub(crate) epoch: Epoch,
    /// Mend it also below an epoch that the corrupt record seems to have, or raise the epoch of a sound record
    #[arg(long)]
    pub(crate) force: bool,
}

const REPAIR_HELP: &str = "\
It replaces what it finds by a record that gives the cell to nobody, and writes nothing if that has changed meanwhile
(exit code 75). A sound record is left alone (75): wait for its owner, or claim the cell.

The epoch is yours to say, for the record that knew it is gone: look at the logs of whoever owned the cell, or
at a node's error `regressed`, which names the highest epoch that it has seen. Too high does no harm; too low, and
a fencing token is given out twice.

Nobody asks the last owner. If it still runs it goes on as the owner until it asks the store: stop it first, or let
it verify.

--force breaks what the record that it overrules stands for. Below an epoch that a corrupt record still seems to have:
that no epoch is given out twice. In place of a sound record with a lower epoch, as a restored backup has it: that the
node it names is the only one that acts as the owner, until that node asks the store. No force lowers the epoch of a
sound record.";
