//! Doing what one request asks for, with the cells that the agent holds.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tenure_core::{CellId, ClaimError, FenceCause, Location, NodeId, Peer};
use tenure_tokio::{Cell, Loss, Node};
use tokio::sync::{mpsc, watch};

use super::request::{Tenure, What};
use super::wire::Outgoing;
use crate::exit::Failure;
use crate::inspect::describe;
use crate::log::Log;

/// What all requests share.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    node: Node,
    cells: Arc<Mutex<BTreeMap<CellId, Cell>>>,
    out: mpsc::Sender<Outgoing>,
    /// Whether no claim may wait for another owner any more.
    is_hurried: watch::Sender<bool>,
    log: Log,
}

impl Agent {
    pub(super) fn new(node: Node, out: mpsc::Sender<Outgoing>, log: Log) -> Self {
        Self { node, cells: Arc::default(), out, is_hurried: watch::Sender::new(false), log }
    }

    /// Gives up every claim that waits for another owner. What needs only its requests goes on.
    pub(super) fn hurry(&self) {
        self.is_hurried.send_replace(true);
    }

    /// Returns the session.
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Returns where to say what happens.
    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    /// Does what is asked and returns what to answer. Leaving is not done here.
    pub(super) async fn serve(&self, what: What) -> Result<Value, Failure> {
        if let Some(cause) = self.node.fence_cause() {
            return Err(Failure::fenced(cause));
        }
        match what {
            What::Claim { cell, wait } => self.claim(cell, wait).await,
            What::Leave => Ok(json!({})),
            What::Locate { cell } => self.locate(cell).await,
            What::Peers => {
                let peers: Vec<Value> = self.node.peers().await?.iter().map(describe_peer).collect();
                Ok(json!({ "peers": peers }))
            }
            What::Publish { load, meta } => {
                self.node.publish(load, meta).await?;
                Ok(json!({}))
            }
            What::Release(tenure) => {
                let cell = self.held(&tenure)?;
                let released = cell.clone().release().await;
                self.forget_ended(&cell);
                released?;
                self.log.info(format_args!("released {}", tenure.cell));
                Ok(describe_cell(&cell))
            }
            What::Transfer { tenure, to } => self.transfer(&tenure, to).await,
            What::Verify(tenure) => {
                let cell = self.held(&tenure)?;
                cell.verify().await?;
                Ok(describe_cell(&cell))
            }
        }
    }

    async fn claim(&self, cell: CellId, wait: Duration) -> Result<Value, Failure> {
        let held = self.claim_within(cell, wait).await?;
        self.log.info(format_args!("claimed {} at epoch {}", held.id(), held.epoch()));
        let answer = describe_cell(&held);
        let before = self.cells().insert(held.id().clone(), held.clone());
        // A cell that this node has already is claimed as the same tenure, which is being watched.
        if before.is_none_or(|before| before.epoch() != held.epoch()) {
            let agent = self.clone();
            tokio::spawn(async move { agent.watch(held).await });
        }
        Ok(answer)
    }

    /// Claims a cell, waiting for another owner only until there is a hurry.
    async fn claim_within(&self, cell: CellId, wait: Duration) -> Result<Cell, ClaimError> {
        let claim = self.node.claim_within(cell.clone(), wait);
        if wait.is_zero() {
            return claim.await;
        }
        let mut hurry = self.is_hurried.subscribe();
        let at_once = async {
            // It cannot fail while this agent lives; then there would be nobody left to answer.
            let _ = hurry.wait_for(|is_hurried| *is_hurried).await;
            // A second claim, which does not wait, finds out whether the first one does.
            match self.node.claim(cell).await {
                Err(ClaimError::Held(cell, by)) => Err(ClaimError::Timeout(cell, Some(by))),
                result => result,
            }
        };
        tokio::select! {
            biased;
            result = claim => result,
            result = at_once => result,
        }
    }

    async fn locate(&self, cell: CellId) -> Result<Value, Failure> {
        let name = cell.as_str().to_owned();
        Ok(match self.node.locate(cell).await? {
            Location::At { node, addr, epoch } => {
                json!({ "cell": name, "state": "at", "node": node.as_str(), "addr": addr, "epoch": epoch.get() })
            }
            Location::Free => json!({ "cell": name, "state": "free" }),
            Location::Here(epoch) => {
                json!({ "cell": name, "state": "here", "node": self.node.id().as_str(), "epoch": epoch.get() })
            }
        })
    }

    async fn transfer(&self, tenure: &Tenure, to: NodeId) -> Result<Value, Failure> {
        if to == *self.node.id() {
            return Err(Failure::usage(format_args!(
                "cell {} is this node's own already; name another",
                tenure.cell
            )));
        }
        let cell = self.held(tenure)?;
        let offered = cell.clone().transfer(to.clone()).await;
        self.forget_ended(&cell);
        let epoch = offered?;
        self.log.info(format_args!("transferred {} to {to} at epoch {epoch}", tenure.cell));
        Ok(json!({ "cell": tenure.cell.as_str(), "epoch": epoch.get(), "node": to.as_str() }))
    }

    /// Reports the loss of one tenure. A fence, which ends them all, is reported by the agent's loop.
    async fn watch(&self, cell: Cell) {
        let Loss::Lost(reason) = cell.lost().await else { return };
        self.forget_ended(&cell);
        self.log.info(format_args!("lost {} at epoch {} ({reason})", cell.id(), cell.epoch()));
        // Without a reader the agent is about to end.
        let _ = self.out.send(Outgoing::Line(lost(&cell, reason.as_str()))).await;
    }

    /// Reports the end of the session, and of every tenure with it.
    pub(super) async fn report_fence(&self, cause: FenceCause) {
        let ending = self.node.ending();
        match ending {
            Some(ending) => self.log.info(format_args!("fenced ({ending})")),
            None => self.log.info(format_args!("fenced ({cause})")),
        }
        let cells = core::mem::take(&mut *self.cells());
        let mut fenced = json!({ "event": "fenced", "reason": cause.as_str() });
        if let Some(ending) = ending {
            fenced["headroom_ms"] = json!(millis(ending.headroom));
            fenced["renewed_ms_ago"] = json!(ending.renewed.map(millis));
            fenced["fault"] = json!(ending.fault.as_ref().map(ToString::to_string));
            fenced["by"] = json!(ending.by);
        }
        let lines = cells.values().map(|cell| lost(cell, cause.as_str()));
        for line in core::iter::once(fenced).chain(lines) {
            if self.out.send(Outgoing::Line(line)).await.is_err() {
                return;
            }
        }
    }

    /// Forgets a tenure that was given up. One that goes on, because giving it up was refused, is kept.
    fn forget_ended(&self, cell: &Cell) {
        let mut cells = self.cells();
        if !cell.is_held() && cells.get(cell.id()).is_some_and(|held| held.epoch() == cell.epoch()) {
            cells.remove(cell.id());
        }
    }

    fn held(&self, tenure: &Tenure) -> Result<Cell, Failure> {
        self.cells()
            .get(&tenure.cell)
            .filter(|cell| tenure.is(cell))
            .cloned()
            .ok_or_else(|| tenure.not_owned())
    }

    fn cells(&self) -> MutexGuard<'_, BTreeMap<CellId, Cell>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tenure {
    fn is(&self, cell: &Cell) -> bool {
        self.epoch.is_none_or(|epoch| epoch == cell.epoch())
    }

    fn not_owned(&self) -> Failure {
        match self.epoch {
            None => {
                Failure::not_owner(format_args!("this node does not own cell {}; claim it first", self.cell))
            }
            Some(epoch) => Failure::not_owner(format_args!(
                "this node does not own cell {} at epoch {epoch}; claim it first",
                self.cell
            )),
        }
    }
}

fn describe_cell(cell: &Cell) -> Value {
    json!({ "cell": cell.id().as_str(), "epoch": cell.epoch().get() })
}

fn lost(cell: &Cell, reason: &str) -> Value {
    json!({ "event": "lost", "cell": cell.id().as_str(), "epoch": cell.epoch().get(), "reason": reason })
}

fn describe_peer(peer: &Peer) -> Value {
    let mut object = Map::new();
    let addr = peer.lease.as_ref().and_then(|lease| lease.addr.as_deref()).filter(|addr| *addr != "-");
    object.insert("node".to_owned(), json!(peer.node.as_str()));
    object.insert("live".to_owned(), json!(peer.is_live));
    object.insert("addr".to_owned(), json!(addr));
    if let Some(lease) = &peer.lease {
        describe(lease, &mut object);
    }
    Value::Object(object)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
