//! Somebody who looks at the whole fleet all the time: what is listed is complete, or an error.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::{Key, ListId, ListOp, ListReply, Op, Reply};
use tenure_tokio::{Node, Store as _};
use tokio::time::sleep;

use crate::fleet::Machine;
use crate::rivals::Fleet;

/// How long a page may take; the faults' pauses are shorter.
const PATIENCE: Duration = Duration::from_secs(2);

/// What came of all that was listed.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    pub(crate) complete: AtomicUsize,
    pub(crate) errors: AtomicUsize,
    /// Neither complete nor an error.
    pub(crate) wrong: AtomicUsize,
}

impl Listings {
    /// Lists nodes, as a member of the fleet, and cells, page by page, in turn.
    pub(crate) async fn run(self: Arc<Self>, fleet: Arc<Fleet>, machine: Machine) {
        loop {
            let Ok((node, _line)) = machine.join().await else {
                sleep(fleet.between(200, 600)).await;
                continue;
            };
            while node.fence_cause().is_none() {
                self.nodes(&fleet, &node).await;
                self.cells(&fleet, &machine).await;
                sleep(fleet.between(50, 150)).await;
            }
        }
    }

    async fn nodes(&self, fleet: &Fleet, node: &Node) {
        let before = keys(fleet, Key::LEASES);
        let peers = node.peers().await;
        let listed = peers.map(|peers| peers.iter().map(|peer| Key::lease(&peer.node).to_string()).collect());
        self.judge(fleet, Key::LEASES, &before, listed.ok());
    }

    async fn cells(&self, fleet: &Fleet, machine: &Machine) {
        let before = keys(fleet, Key::OWNERS);
        self.judge(fleet, Key::OWNERS, &before, pages(machine).await);
    }

    fn judge(
        &self,
        fleet: &Fleet,
        prefix: &str,
        before: &BTreeSet<String>,
        listed: Option<BTreeSet<String>>,
    ) {
        let counter = match listed {
            None => &self.errors,
            // What was there before and is there still must be listed; what came or went meanwhile may be.
            Some(listed) => {
                let after = keys(fleet, prefix);
                let missing: Vec<_> =
                    before.intersection(&after).filter(|key| !listed.contains(*key)).collect();
                if missing.is_empty() {
                    &self.complete
                } else {
                    println!("a listing of {prefix} lacks {missing:?}");
                    &self.wrong
                }
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Lists every cell by the async driver's store alone; nothing if any page is an error or leads nowhere.
async fn pages(machine: &Machine) -> Option<BTreeSet<String>> {
    let (mut listed, mut tokens, mut after) = (BTreeSet::new(), BTreeSet::new(), None);
    loop {
        let op = ListOp { id: ListId::new(1), prefix: Key::OWNERS.into(), after, timeout: PATIENCE };
        let Reply::List(ListReply::Page(page)) = machine.store().execute(Op::List(op)).await else {
            return None;
        };
        listed.extend(page.entries.into_iter().map(|entry| entry.key));
        match page.next {
            None => return Some(listed),
            Some(next) if !tokens.insert(Arc::clone(&next)) => return None,
            Some(next) => after = Some(next),
        }
    }
}

fn keys(fleet: &Fleet, prefix: &str) -> BTreeSet<String> {
    let store = fleet.server.store();
    let below = store.keys().filter_map(|key| key.strip_prefix("fleet/"));
    below.filter(|key| key.starts_with(prefix)).map(str::to_owned).collect()
}
