//! What the inspecting commands show of a cell and of a node.

use serde_json::{Map, Value, json};
use tenure_blocking::ownership::OwnershipError;
use tenure_core::{CellId, Holder, LeaseRecord, NodeId};

use super::{Inspector, Life};
use crate::exit::Failure;

/// One cell and its owner.
#[derive(Debug)]
pub(crate) struct CellState {
    cell: CellId,
    /// The owner, or whom the cell is offered to; empty if nobody.
    node: String,
    /// The epoch; 0 if there is none.
    epoch: u64,
    state: &'static str,
    addr: Option<String>,
    /// Why the record cannot be read.
    corrupt: Option<Failure>,
}

impl CellState {
    /// Finds out who owns a cell.
    ///
    /// # Errors
    /// Says why the store cannot be asked; a corrupt record is a state like others.
    pub(crate) fn look(cell: &CellId, store: &Inspector) -> Result<Self, Failure> {
        let nobody = |state| Self {
            cell: cell.clone(),
            node: String::new(),
            epoch: 0,
            state,
            addr: None,
            corrupt: None,
        };
        let record = match store.owner(cell) {
            Ok(Some(owner)) => owner.record,
            Ok(None) => return Ok(nobody("free")),
            Err(error @ OwnershipError::Bad(_)) => {
                return Ok(Self { corrupt: Some(error.into()), ..nobody("corrupt") });
            }
            Err(error) => return Err(error.into()),
        };
        let epoch = record.epoch.get();
        Ok(match record.holder() {
            Holder::Nobody => Self { epoch, ..nobody("released") },
            Holder::OfferedTo(node) => Self { epoch, node: node.to_string(), ..nobody("offered") },
            Holder::Node(node) => {
                let life = store.life(node)?;
                let addr = life.addr().map(str::to_owned);
                Self { epoch, node: node.to_string(), addr, ..nobody(life.state.of_cell()) }
            }
        })
    }

    /// Returns the heading of [`Self::row`].
    pub(crate) const HEADING: [&'static str; 5] = ["CELL", "STATE", "EPOCH", "NODE", "ADDR"];

    /// Returns the state for programs and for people.
    pub(crate) fn row(&self) -> (Value, [String; 5]) {
        let Self { cell, node, epoch, state, addr, corrupt } = self;
        let mut object =
            json!({ "cell": cell.as_str(), "node": node, "epoch": epoch, "state": state, "addr": addr });
        if let (Some(failure), Some(fields)) = (corrupt, object.as_object_mut()) {
            fields.insert("error".to_owned(), failure.to_json());
        }
        let shown = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let epoch = if *epoch == 0 { String::new() } else { epoch.to_string() };
        let columns = [
            cell.to_string(),
            (*state).to_owned(),
            shown(&epoch),
            shown(node),
            shown(addr.as_deref().unwrap_or("")),
        ];
        (object, columns)
    }

    /// Returns why the record cannot be read, if it cannot.
    pub(crate) fn corrupt(self) -> Option<Failure> {
        self.corrupt
    }
}

/// One node and its lease.
#[derive(Debug)]
pub(crate) struct NodeState {
    node: NodeId,
    life: Life,
}

impl NodeState {
    pub(crate) fn new(node: NodeId, life: Life) -> Self {
        Self { node, life }
    }

    /// Returns the heading of [`Self::row`].
    pub(crate) const HEADING: [&'static str; 4] = ["NODE", "STATE", "RENEWED", "ADDR"];

    /// Returns the state for programs and for people.
    pub(crate) fn row(&self) -> (Value, [String; 4]) {
        let lease = self.life.lease.as_ref();
        let state = match lease {
            Some(lease) if lease.is_tombstone() => "fenced",
            Some(_) | None => self.life.state.as_str(),
        };
        let age = self.life.age;
        let age_ms = age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let mut object = Map::new();
        object.insert("node".to_owned(), json!(self.node.as_str()));
        object.insert("state".to_owned(), json!(state));
        object.insert("addr".to_owned(), json!(self.life.addr()));
        object.insert("age_ms".to_owned(), json!(age_ms));
        object.insert("clock_ahead_ms".to_owned(), json!(self.life.clock_ahead_ms));
        if let Some(lease) = lease {
            describe(lease, &mut object);
        }
        let renewed = age.map_or_else(|| "-".to_owned(), |age| format!("{:.1} s ago", age.as_secs_f64()));
        let columns = [
            self.node.to_string(),
            state.to_owned(),
            match self.life.clock_ahead_ms {
                Some(ahead) if ahead.unsigned_abs() >= FAR_OFF_MS => {
                    let word = if ahead < 0 { "behind" } else { "ahead" };
                    format!("{renewed}, by a clock {} {word}", rounded(ahead.unsigned_abs()))
                }
                Some(_) | None => renewed,
            },
            self.life.addr().unwrap_or("-").to_owned(),
        ];
        (Value::Object(object), columns)
    }
}

/// Adds what a lease says about its node.
pub(crate) fn describe(lease: &LeaseRecord, object: &mut Map<String, Value>) {
    let ttl_ms = lease.ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
    object.insert("ttl_ms".to_owned(), json!(ttl_ms));
    object.insert("load".to_owned(), json!(lease.load));
    object.insert("meta".to_owned(), json!(lease.meta));
    if let Some(by) = &lease.fenced_by {
        object.insert("fenced_by".to_owned(), json!(by));
    }
}

/// Says about how long so many milliseconds are.
fn rounded(ms: u64) -> String {
    const MINUTE: u64 = 60_000;
    let (unit, name) = match ms {
        0..7_200_000 => (MINUTE, "min"),
        7_200_000..172_800_000 => (60 * MINUTE, "h"),
        172_800_000.. => (24 * 60 * MINUTE, "days"),
    };
    format!("{} {name}", ms.saturating_add(unit / 2) / unit)
}

/// From when on a node's clock is remarked upon, in milliseconds.
const FAR_OFF_MS: u64 = 60_000;
