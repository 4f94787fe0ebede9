//! An owner is cut off from its store, and another node takes over.

use core::time::Duration;
use std::sync::Arc;

use tenure_blocking::clock;
use tenure_tokio::object_store::memory::InMemory;
use tenure_tokio::{CellId, ClaimError, Config, Node, ObjectStoreAdapter, Op, Reply, Store, StoreClock};
use tokio::sync::watch;

use crate::subject::runtime;

/// The shortest ttl that whole-second stamps allow.
const TTL: Duration = Duration::from_secs(3);
/// Longer than any takeover may take.
const WAIT: Duration = Duration::from_secs(30);

#[test]
fn a_store_without_a_date_is_watched_until_its_silent_owner_is_dead() {
    let store = ObjectStoreAdapter::new(InMemory::new(), "").expect("legal");
    runtime().block_on(fail_over(Arc::new(store)));
}

/// Lets a node own a cell, cuts it off, and lets another claim it.
pub(crate) async fn fail_over(store: Arc<ObjectStoreAdapter>) -> Duration {
    let (scissors, is_cut) = watch::channel(false);
    let cell = CellId::new("c").expect("legal");
    let config = |name: &str| Config::new(name).with_ttl(TTL);
    let a = Node::join(config("a"), Cuttable { store: Arc::clone(&store), is_cut }).await.expect("a joins");
    let b = Node::join(config("b"), store).await.expect("b joins");
    let mine = a.claim(cell.clone()).await.expect("nobody's");
    mine.verify().await.expect("its own");
    let refused = b.claim(cell.clone()).await.expect_err("it has an owner");
    assert!(matches!(&refused, ClaimError::Held(_, by) if by.node == *a.id()), "{refused:?}");

    scissors.send_replace(true);
    let begin = clock::mono();
    let theirs = b.claim_within(cell.clone(), WAIT).await.expect("a dead owner is replaced");
    let took = clock::mono().since(begin);
    assert_eq!(theirs.epoch().get(), mine.epoch().get() + 1);
    assert!(!mine.is_held(), "two nodes own one cell");
    theirs.verify().await.expect("its own");

    scissors.send_replace(false);
    mine.verify().await.expect_err("it has lost the cell");
    theirs.verify().await.expect("still its own");
    b.leave().await;
    a.leave().await;
    took
}

/// A store that can be cut off: what is asked meanwhile is never answered.
struct Cuttable {
    store: Arc<ObjectStoreAdapter>,
    is_cut: watch::Receiver<bool>,
}

impl Store for Cuttable {
    async fn execute(&self, op: Op) -> Reply {
        let mut is_cut = self.is_cut.clone();
        // Whoever holds the scissors is alive.
        let _ = is_cut.wait_for(|is_cut| !is_cut).await;
        self.store.execute(op).await
    }

    fn clock(&self) -> StoreClock {
        self.store.clock()
    }
}
