//! Async nodes over a store in memory: what a user sees, and what the store sees.

#[path = "../../driver-blocking/tests/support/mod.rs"]
mod support;

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;

use support::{LONG, Memory, TTL, Trap, Watched, config};
use tenure_tokio::{
    Cell, CellId, ClaimError, Epoch, FenceCause, Loss, Node, Op, Owner, ReleaseError, Reply, Store,
    StoreClock, Threaded, VerifyError, WatchError,
};
use tokio::time::timeout;

#[tokio::test]
async fn a_cell_moves_between_two_nodes_by_release_and_by_transfer() {
    let store = Arc::new(Memory::default());
    let (a, b) = (join("a", &store).await, join("b", &store).await);
    let cell = a.claim(id("c")).await.expect("free");
    assert_eq!((cell.epoch().get(), cell.is_held(), cell.verify().await), (1, true, Ok(())));
    match b.claim(id("c")).await {
        Err(ClaimError::Held(_, by)) => assert_eq!((&by.node, by.epoch.get()), (a.id(), 1)),
        other => panic!("a holds it: {other:?}"),
    }

    let twin = cell.clone();
    cell.release().await.expect("confirmed");
    assert_eq!((twin.is_held(), twin.tenure(), twin.lost().await), (false, None, Loss::Ended));
    assert_eq!(twin.release().await, Err(ReleaseError::NotOwner(id("c"))));

    let cell = b.claim(id("c")).await.expect("released");
    assert_eq!(cell.epoch().get(), 2);
    assert_eq!(cell.transfer(a.id().clone()).await.expect("offered").get(), 3);
    let cell = a.claim(id("c")).await.expect("offered to us");
    assert_eq!((cell.epoch().get(), cell.verify().await), (3, Ok(())));
}

#[tokio::test]
async fn every_operation_costs_exactly_the_requests_it_must() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store).await;
    store.take_log();
    let cell = node.claim(id("c")).await.expect("free");
    assert_eq!(store.take_log_of("cells/"), ["GET cells/c/own.json", "PUT cells/c/own.json"]);
    cell.verify().await.expect("ours");
    assert_eq!(store.take_log_of("cells/"), ["GET cells/c/own.json"]);
    cell.release().await.expect("confirmed");
    assert_eq!(store.take_log_of("cells/"), ["PUT cells/c/own.json"]);
    let cell = node.claim(id("c")).await.expect("released by us");
    assert_eq!((cell.epoch().get(), store.take_log_of("cells/")), (2, vec!["PUT cells/c/own.json".into()]));
}

#[tokio::test]
async fn a_thousand_cells_of_one_dead_node_cost_two_requests_each_and_one_verdict() {
    let store = Arc::new(Memory::default());
    let (a, b) = (join("a", &store).await, join("b", &store).await);
    let old = claim_all(&a, 1000).await;
    store.trap(Some(Trap::Panic("PUT nodes/a.")));
    assert_eq!(timeout(LONG, a.fenced()).await, Ok(FenceCause::Internal));
    store.trap(None);
    // Nothing tells that a lease has run out but time.
    assert!(timeout(TTL, b.fenced()).await.is_err());
    store.take_log();

    let new = claim_all(&b, 1000).await;
    assert!(new.iter().all(|cell| cell.is_held() && cell.epoch().get() == 2));
    assert!(!old.iter().any(Cell::is_held));
    let log = store.take_log();
    let count = |text: &str| log.iter().filter(|line| line.contains(text)).count();
    assert_eq!((count("GET cells/"), count("PUT cells/"), count("PUT nodes/a.")), (1000, 1000, 1));
    assert!(count("GET nodes/a.") <= 2, "{}", count("GET nodes/a."));
}

#[tokio::test]
async fn a_dropped_claim_gives_back_what_it_wins() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store).await;
    store.take_log();
    poll_once(node.claim(id("c"))).await;
    // Whether the claim was stopped before its write or won and was given back: nobody owns the cell, and
    // the next claim gets a tenure of its own.
    let cell = node.claim(id("c")).await.expect("given back");
    assert_eq!((cell.is_held(), cell.verify().await), (true, Ok(())));
    drop(cell);
    store.wait_for_body("cells/c/own.json", r#""node":"""#);
}

#[tokio::test]
async fn a_claim_that_is_dropped_while_its_write_is_on_its_way_releases_the_cell() {
    let store = Arc::new(Memory::default());
    let node = join_threaded("a", &store).await;
    store.take_log();
    store.trap(Some(Trap::Hold("PUT cells/c")));
    {
        let mut claim = pin!(node.claim(id("c")));
        assert!(poll_now(claim.as_mut()).is_pending());
        store.wait_for("PUT cells/c", 1);
        assert!(poll_now(claim.as_mut()).is_pending());
    }
    store.trap(None);
    store.wait_for_body("cells/c/own.json", r#""node":"","epoch":1"#);
}

#[tokio::test]
async fn bl_49_an_application_that_blocks_its_whole_executor_for_longer_than_a_ttl_keeps_its_cells() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store).await;
    let cell = node.claim(id("c")).await.expect("free");
    store.take_log();
    // This blocks the one thread that the application has. Renewals are a third of a ttl apart.
    store.wait_for("PUT nodes/", 5);
    assert_eq!((cell.is_held(), cell.verify().await, node.fence_cause()), (true, Ok(()), None));
}

#[tokio::test]
async fn bl_18_bl_49_a_tenure_ends_with_its_authority_even_if_the_engine_never_wakes() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store).await;
    let cell = node.claim(id("c")).await.expect("free");
    store.take_log();
    // This store blocks the engine's own thread, so nothing but the clock can end the tenure.
    store.trap(Some(Trap::Hang("PUT nodes/")));
    store.wait_for("PUT nodes/", 1);
    assert!(cell.is_held());
    let left = cell.authority_left();
    assert!(timeout(left, cell.lost()).await.is_err(), "nobody could have said so");
    assert_eq!((cell.is_held(), cell.tenure(), node.fence_cause()), (false, None, None));
    store.trap(None);
    assert_eq!(node.fenced().await, FenceCause::Expired);
}

#[tokio::test]
async fn bl_49_a_blocking_store_that_hangs_costs_neither_the_callers_for_ever_nor_the_lease() {
    let store = Arc::new(Memory::default());
    let node = join_threaded("a", &store).await;
    let held = node.claim(id("held")).await.expect("free");
    store.take_log();
    store.trap(Some(Trap::Hang("cells/")));
    // More than there are threads for.
    let claims: Vec<_> = (0..80)
        .map(|number| {
            let node = node.clone();
            tokio::spawn(async move { node.claim(id(&format!("n{number}"))).await })
        })
        .collect();
    for claim in claims {
        let error = claim.await.expect("no panic").expect_err("the store hangs");
        assert!(matches!(error.kind(), "unavailable" | "timeout"), "{error}");
    }
    store.wait_for("PUT nodes/", 5);
    assert!(held.is_held());
    store.trap(None);
    held.verify().await.expect("the store answers again");
}

#[tokio::test]
async fn bl_49_a_store_that_panics_fences_the_node_instead_of_leaving_a_zombie() {
    for threaded in [false, true] {
        let store = Arc::new(Memory::default());
        // Long enough for the trace of the panic, which the lease may end during, to be spelled on a busy machine.
        let config = config("a").with_ttl(4 * TTL);
        let node = match threaded {
            true => Node::join(config, Threaded::new(Arc::clone(&store))).await,
            false => Node::join(config, Direct(Arc::clone(&store))).await,
        };
        let node = node.expect("a fit store");
        let cell = node.claim(id("c")).await.expect("free");
        store.trap(Some(Trap::Panic("PUT nodes/")));
        assert_eq!(timeout(LONG, node.fenced()).await, Ok(FenceCause::Internal));
        assert_eq!((cell.is_held(), cell.lost().await), (false, Loss::Fenced(FenceCause::Internal)));
        assert_eq!(cell.verify().await, Err(VerifyError::Fenced(FenceCause::Internal)));
        assert!(matches!(node.claim(id("d")).await, Err(ClaimError::Fenced(FenceCause::Internal))));
    }
}

#[tokio::test]
async fn bl_49_a_flood_of_calls_costs_no_lease() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store).await;
    let cell = node.claim(id("c")).await.expect("free");
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..100_000 {
        let node = node.clone();
        calls.spawn(async move { drop(node.locate_fresh(id(&format!("n{number}"))).await) });
    }
    // Some are given up on: that many take longer than a ttl. The node is not.
    calls.join_all().await;
    assert_eq!(node.fence_cause(), None);
    assert!(cell.is_held());
}

#[tokio::test]
async fn leaving_goes_on_when_its_future_is_dropped() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store).await;
    let cell = node.claim(id("c")).await.expect("free");
    let lease = format!("nodes/{}.json", node.id());
    poll_once(node.clone().leave()).await;
    assert_eq!(node.fenced().await, FenceCause::Left);
    assert!(!cell.is_held());
    store.wait_for_body("cells/c/own.json", r#""node":"""#);
    store.wait_for_body(&lease, r#""expires_ms":0"#);
    assert!(store.body(&lease).expect("kept").contains("fenced_by"));
}

#[tokio::test]
async fn a_dropped_join_ends_its_thread_and_lets_go_of_the_store() {
    let store = Arc::new(Memory::default());
    let (watched, gone) = Watched::new(&store);
    store.trap(Some(Trap::Hold("PUT nodes/")));
    {
        let mut join = pin!(Node::join(config("a"), Threaded::new(watched)));
        assert!(poll_now(join.as_mut()).is_pending());
        store.wait_for("PUT nodes/", 1);
    }
    store.trap(None);
    assert_eq!(gone.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[tokio::test]
async fn a_session_that_ended_lets_go_of_the_store_while_handles_remain() {
    let store = Arc::new(Memory::default());
    let (watched, gone) = Watched::new(&store);
    let node = Node::join(config("a"), Threaded::new(watched)).await.expect("a fit store");
    let cell = node.claim(id("c")).await.expect("free");
    node.clone().leave().await;
    assert_eq!(gone.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    assert_eq!(cell.release().await, Err(ReleaseError::Fenced(FenceCause::Left)));
    node.leave().await;
}

#[tokio::test]
async fn a_watcher_sees_a_claim_a_release_and_a_takeover() {
    let store = Arc::new(Memory::default());
    let (a, b) = (join("a", &store).await, join("b", &store).await);
    let mut watch = b.watch(id("c")).await.expect("answered");
    assert_eq!((watch.id(), watch.current()), (&id("c"), &Owner::Free { epoch: None }));
    let cell = a.claim(id("c")).await.expect("free");
    assert_eq!(watch.changed().await, Some(&held(&a, 1)));
    cell.release().await.expect("confirmed");
    assert_eq!(watch.changed().await, Some(&Owner::Free { epoch: Epoch::new(1) }));
    let _cell = a.claim(id("c")).await.expect("released");
    assert_eq!(watch.changed().await, Some(&held(&a, 2)));

    store.trap(Some(Trap::Panic("PUT nodes/a.")));
    assert_eq!(timeout(LONG, a.fenced()).await, Ok(FenceCause::Internal));
    assert!(poll_now(pin!(watch.changed())).is_pending(), "dead, but named");
    store.trap(None);
    let _cell = b.claim_within(id("c"), LONG).await.expect("of a dead node");
    assert_eq!(watch.changed().await, Some(&held(&b, 3)), "a dropped future has lost nothing");
    assert_eq!(watch.current(), &held(&b, 3));
}

#[tokio::test]
async fn a_slow_watcher_sees_the_latest_state_and_a_clone_sees_for_itself() {
    let store = Arc::new(Memory::default());
    let (a, b) = (join("a", &store).await, join("b", &store).await);
    let mut quick = b.watch(id("c")).await.expect("answered");
    let mut slow = b.watch(id("c")).await.expect("watched already");
    let mut clone = slow.clone();
    for epoch in 1..=2 {
        let cell = a.claim(id("c")).await.expect("free");
        assert_eq!(quick.changed().await, Some(&held(&a, epoch)));
        cell.release().await.expect("confirmed");
        assert_eq!(quick.changed().await, Some(&Owner::Free { epoch: Epoch::new(epoch) }));
    }
    let last = Owner::Free { epoch: Epoch::new(2) };
    assert_eq!(slow.current(), &Owner::Free { epoch: None });
    assert_eq!(poll_now(pin!(slow.changed())), Poll::Ready(Some(&last)));
    assert!(poll_now(pin!(slow.changed())).is_pending());
    assert_eq!(poll_now(pin!(clone.changed())), Poll::Ready(Some(&last)));
}

#[tokio::test]
async fn a_cell_is_looked_at_until_the_last_watch_of_it_is_dropped() {
    let store = Arc::new(Memory::default());
    let node = join_threaded("a", &store).await;
    let first = node.watch(id("c")).await.expect("answered");
    let second = node.watch(id("c")).await.expect("watched already");
    let clone = first.clone();
    drop((first, second));
    store.take_log();
    store.wait_for("GET cells/c", 3);
    drop(clone);
    assert_unwatched(&store);
}

#[tokio::test]
async fn a_dropped_watch_future_watches_nothing() {
    let store = Arc::new(Memory::default());
    let node = join_threaded("a", &store).await;
    store.take_log();
    store.trap(Some(Trap::Hold("GET cells/c")));
    {
        let mut watch = pin!(node.watch(id("c")));
        assert!(poll_now(watch.as_mut()).is_pending());
        store.wait_for("GET cells/c", 1);
    }
    store.trap(None);
    assert_unwatched(&store);
}

#[tokio::test]
async fn the_end_of_the_session_ends_every_watch() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store).await;
    let mut watch = node.watch(id("c")).await.expect("answered");
    let mut twin = watch.clone();
    let waiting = tokio::spawn(async move { twin.changed().await.cloned() });
    node.clone().leave().await;
    assert_eq!(waiting.await.expect("no panic"), None);
    for _ in 0..2 {
        assert_eq!(watch.changed().await, None);
        assert!(watch.is_over());
    }
    assert_eq!(watch.current(), &Owner::Free { epoch: None });
    assert!(matches!(node.watch(id("c")).await, Err(WatchError::Fenced(FenceCause::Left))));
}

#[tokio::test]
async fn a_store_that_panics_ends_every_watch() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store).await;
    let mut watch = node.watch(id("c")).await.expect("answered");
    store.trap(Some(Trap::Panic("PUT nodes/")));
    assert_eq!(timeout(LONG, watch.changed()).await, Ok(None));
    assert!(watch.is_over());
}

#[test]
fn a_node_needs_no_runtime_of_the_application() {
    let store = Arc::new(Memory::default());
    let mut join = pin!(Node::join(config("a"), Direct(Arc::clone(&store))));
    let mut context = Context::from_waker(Waker::noop());
    let node = loop {
        if let Poll::Ready(node) = join.as_mut().poll(&mut context) {
            break node.expect("a fit store");
        }
    };
    assert!(node.authority_left() > Duration::ZERO);
}

/// Calls the store on the engine's own thread.
struct Direct(Arc<Memory>);

impl Store for Direct {
    async fn execute(&self, op: Op) -> Reply {
        tenure_blocking::Store::execute(&self.0, op)
    }

    fn clock(&self) -> StoreClock {
        tenure_blocking::Store::clock(&self.0)
    }
}

async fn join(name: &str, store: &Arc<Memory>) -> Node {
    Node::join(config(name), Direct(Arc::clone(store))).await.expect("a fit store")
}

async fn join_threaded(name: &str, store: &Arc<Memory>) -> Node {
    Node::join(config(name), Threaded::new(Arc::clone(store))).await.expect("a fit store")
}

async fn claim_all(node: &Node, count: usize) -> Vec<Cell> {
    let claim = |number| {
        let node = node.clone();
        tokio::spawn(async move { node.claim(id(&format!("n{number}"))).await.expect("to be had") })
    };
    let claims: Vec<_> = (0..count).map(claim).collect();
    let mut cells = Vec::new();
    for claim in claims {
        cells.push(claim.await.expect("no panic"));
    }
    cells
}

/// Checks that nothing asks for a cell any more.
fn assert_unwatched(store: &Memory) {
    // What was on its way meanwhile has long arrived when the lease has been renewed twice.
    store.take_log();
    store.wait_for("PUT nodes/", 2);
    store.take_log();
    store.wait_for("PUT nodes/", 3);
    assert_eq!(store.take_log_of("cells/"), Vec::<String>::new());
}

fn held(node: &Node, epoch: u64) -> Owner {
    Owner::Held { node: node.id().clone(), epoch: Epoch::new(epoch).expect("not zero") }
}

fn id(text: &str) -> CellId {
    CellId::new(text).expect("legal")
}

/// Polls a future once and drops it.
async fn poll_once(future: impl Future) {
    let mut future = pin!(future);
    core::future::poll_fn(|context| {
        let _ = future.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

fn poll_now<F: Future>(future: core::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
