//! Blocking nodes over a store in memory: what a user sees, and what the store sees.

mod support;

use core::time::Duration;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use support::{LONG, Memory, TTL, Trap, Watched, config};
use tenure_blocking::{
    Cell, CellId, ClaimError, Epoch, FaultKind, FenceCause, JoinError, Key, Location, Loss, Node, Op, Owner,
    ReleaseError, Reply, Store, StoreClock, VerifyError, WatchError,
};

#[test]
fn a_cell_moves_between_two_nodes_by_release_and_by_transfer() {
    let store = Arc::new(Memory::default());
    let (a, b) = (join("a", &store), join("b", &store));
    let cell = a.claim(id("c")).expect("free");
    assert_eq!((cell.epoch().get(), cell.is_held(), cell.verify()), (1, true, Ok(())));
    assert_eq!(a.locate(id("c")), Ok(Location::Here(cell.epoch())));
    match b.claim(id("c")) {
        Err(ClaimError::Held(_, by)) => assert_eq!((&by.node, by.epoch.get()), (a.id(), 1)),
        other => panic!("a holds it: {other:?}"),
    }

    let twin = cell.clone();
    cell.release().expect("confirmed");
    assert_eq!((twin.is_held(), twin.tenure(), twin.lost()), (false, None, Loss::Ended));
    assert_eq!(twin.verify(), Err(VerifyError::NotOwner(id("c"))));
    assert_eq!(twin.release(), Err(ReleaseError::NotOwner(id("c"))));

    let cell = b.claim(id("c")).expect("released");
    assert_eq!(cell.epoch().get(), 2);
    assert_eq!(cell.transfer(a.id().clone()).expect("offered").get(), 3);
    let cell = a.claim(id("c")).expect("offered to us");
    assert_eq!((cell.epoch().get(), cell.verify()), (3, Ok(())));
}

#[test]
fn a_waiting_claim_gets_the_cell_when_it_is_released() {
    let store = Arc::new(Memory::default());
    let (a, b) = (join("a", &store), join("b", &store));
    let cell = a.claim(id("c")).expect("free");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| b.claim_within(id("c"), LONG));
        store.take_log();
        // The first look that finds the cell held is the second node's.
        store.wait_for("GET cells/c", 1);
        cell.release().expect("confirmed");
        assert_eq!(waiting.join().expect("no panic").expect("released").epoch().get(), 2);
    });
}

#[test]
fn every_operation_costs_exactly_the_requests_it_must() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    store.take_log();
    let cell = node.claim(id("c")).expect("free");
    assert_eq!(store.take_log_of("cells/"), ["GET cells/c/own.json", "PUT cells/c/own.json"]);
    cell.verify().expect("ours");
    assert_eq!(store.take_log_of("cells/"), ["GET cells/c/own.json"]);
    cell.release().expect("confirmed");
    assert_eq!(store.take_log_of("cells/"), ["PUT cells/c/own.json"]);
    let cell = node.claim(id("c")).expect("released by us");
    assert_eq!((cell.epoch().get(), store.take_log_of("cells/")), (2, vec!["PUT cells/c/own.json".into()]));

    let cells: Vec<Cell> =
        (0..20).map(|number| node.claim(id(&format!("n{number}"))).expect("free")).collect();
    store.take_log();
    store.wait_for("PUT nodes/", 3);
    let renewals = store.take_log();
    assert!(renewals.iter().all(|line| *line == format!("PUT nodes/{}.json", node.id())), "{renewals:?}");
    assert!(cells.iter().all(Cell::is_held));
}

#[test]
fn the_last_handle_of_a_tenure_releases_it_and_no_other() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let first = node.claim(id("c")).expect("free");
    let second = node.claim(id("c")).expect("ours");
    assert_eq!(first.tenure(), second.tenure());
    drop(first);
    assert_eq!((second.is_held(), second.verify()), (true, Ok(())));
    drop(second);
    store.wait_for_body("cells/c/own.json", r#""node":"","epoch":1"#);
}

#[test]
fn callers_who_claim_one_cell_at_once_share_one_tenure() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    store.take_log();
    store.trap(Some(Trap::Hold("GET cells/c")));
    let cells: Vec<Cell> = thread::scope(|scope| {
        let claims = [(); 4].map(|()| scope.spawn(|| node.claim(id("c"))));
        store.wait_for("GET cells/c", 1);
        store.trap(None);
        claims.map(|claim| claim.join().expect("no panic").expect("free")).into()
    });
    assert!(cells.iter().all(|cell| cell.epoch().get() == 1 && cell.is_held()));
    assert_eq!(store.take_log_of("PUT cells/c").len(), 1);
}

#[test]
fn the_write_that_gives_a_cell_up_reaches_the_store_after_every_handle_has_lost_it() {
    let store = Arc::new(Memory::default());
    let looking = Arc::new(Looking { store: Arc::clone(&store), looks: Mutex::default() });
    let node = Node::join(config("a"), Arc::clone(&looking)).expect("a fit store");
    let peer = join("b", &store);
    let first = node.claim(id("c")).expect("free");
    looking.looks().0 = Some(first.clone());
    first.release().expect("confirmed");
    let second = node.claim(id("c")).expect("released");
    looking.looks().0 = Some(second.clone());
    second.transfer(peer.id().clone()).expect("offered");
    // A release, a claim with the old handle still there, an offer.
    let (cell, looks) = core::mem::take(&mut *looking.looks());
    assert_eq!(looks, [false, false, false]);
    drop(cell);
}

#[test]
fn leaving_ends_every_tenure_for_all_clones_and_frees_the_lease() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let cell = node.claim(id("c")).expect("free");
    let clone = node.clone();
    assert_eq!((clone.fence_cause(), clone.fenced_within(Duration::ZERO)), (None, None));
    node.leave();
    assert_eq!((clone.fenced(), clone.fence_cause()), (FenceCause::Left, Some(FenceCause::Left)));
    assert_eq!((cell.is_held(), clone.authority_left()), (false, Duration::ZERO));
    assert!(matches!(cell.lost(), Loss::Ended | Loss::Fenced(FenceCause::Left)));
    assert!(matches!(clone.claim(id("d")), Err(ClaimError::Fenced(FenceCause::Left))));
    assert!(store.body(&lease(&clone)).expect("kept").contains(r#""expires_ms":0"#));
    assert!(store.body("cells/c/own.json").expect("kept").contains(r#""node":"""#));
}

#[test]
fn a_node_whose_handles_are_all_dropped_leaves_by_itself() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let cell = node.claim(id("c")).expect("free");
    let lease = lease(&node);
    drop(node);
    assert_eq!((cell.is_held(), cell.verify()), (true, Ok(())), "a cell keeps its session");
    drop(cell);
    store.wait_for_body("cells/c/own.json", r#""node":"""#);
    store.wait_for_body(&lease, r#""expires_ms":0"#);
}

#[test]
fn bl_49_a_store_that_hangs_on_cells_costs_neither_the_callers_for_ever_nor_the_lease() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let held = node.claim(id("held")).expect("free");
    store.take_log();
    store.trap(Some(Trap::Hang("cells/")));
    let node = &node;
    thread::scope(|scope| {
        // More than there are threads for.
        let claims: Vec<_> =
            (0..20).map(|number| scope.spawn(move || node.claim(id(&format!("n{number}"))))).collect();
        store.wait_for("PUT nodes/", 5);
        for claim in claims {
            let error = claim.join().expect("no panic").expect_err("the store hangs");
            assert!(matches!(error.kind(), "unavailable" | "timeout"), "{error}");
        }
    });
    assert!(matches!(held.verify(), Err(VerifyError::Store(fault)) if fault.kind == FaultKind::TimedOut));
    assert!(held.is_held());
    store.trap(None);
    held.verify().expect("the store answers again");
}

#[test]
fn a_store_that_hangs_on_renewals_costs_the_lease_in_time_and_the_reason_is_said() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let cell = node.claim(id("c")).expect("free");
    store.trap(Some(Trap::Hang("nodes/")));
    assert_eq!(cell.lost_within(2 * TTL), Some(Loss::Fenced(FenceCause::Expired)));
    assert_eq!((cell.is_held(), node.fence_cause()), (false, Some(FenceCause::Expired)));
    assert_eq!(cell.release(), Err(ReleaseError::Fenced(FenceCause::Expired)));
    store.trap(None);
}

#[test]
fn bl_49_a_store_that_panics_fences_the_node_instead_of_leaving_a_zombie() {
    let store = Arc::new(Memory::default());
    // Long enough for the trace of the panic, which the lease may end during, to be spelled on a busy machine.
    let config = config("a").with_ttl(4 * TTL);
    let node = Node::join(config, Arc::clone(&store)).expect("a fit store");
    let cell = node.claim(id("c")).expect("free");
    store.trap(Some(Trap::Panic("PUT nodes/")));
    assert_eq!(node.fenced_within(LONG), Some(FenceCause::Internal));
    assert_eq!((cell.is_held(), cell.lost()), (false, Loss::Fenced(FenceCause::Internal)));
    assert_eq!(cell.verify(), Err(VerifyError::Fenced(FenceCause::Internal)));
    assert!(matches!(node.claim(id("d")), Err(ClaimError::Fenced(FenceCause::Internal))));
}

#[test]
fn a_caller_whose_own_request_panics_gets_an_error() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    store.trap(Some(Trap::Panic("cells/")));
    assert!(matches!(node.claim(id("c")), Err(ClaimError::Fenced(FenceCause::Internal))));
}

#[test]
fn a_bad_configuration_is_refused_before_any_request() {
    let store = Arc::new(Memory::default());
    let error = Node::join(config("a/b"), Arc::clone(&store)).expect_err("a bad name");
    assert_eq!((error.kind(), error.to_string().contains("a/b")), ("config", true), "{error}");
    assert_eq!(store.take_log(), Vec::<String>::new());
}

#[test]
fn leaving_a_store_that_hangs_is_bounded_and_lets_go_of_it() {
    let store = Arc::new(Memory::default());
    let (watched, gone) = Watched::new(&store);
    let node = Node::join(config("a"), watched).expect("a fit store");
    let cell = node.claim(id("c")).expect("free");
    store.trap(Some(Trap::Hang("PUT ")));
    node.leave();
    assert!(!cell.is_held());
    store.trap(None);
    assert_eq!(gone.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_join_on_a_store_that_hangs_is_bounded() {
    let store = Arc::new(Memory::default());
    store.trap(Some(Trap::Hang("")));
    let error = Node::join(config("a"), Arc::clone(&store)).expect_err("no answer");
    assert!(matches!(error, JoinError::Store(_)), "{error:?}");
    store.trap(None);
}

#[test]
fn a_watcher_sees_a_claim_a_release_and_a_takeover() {
    let store = Arc::new(Memory::default());
    let (a, b) = (join("a", &store), join("b", &store));
    let mut watch = b.watch(id("c")).expect("answered");
    assert_eq!((watch.id(), watch.current()), (&id("c"), &Owner::Free { epoch: None }));
    let cell = a.claim(id("c")).expect("free");
    assert_eq!(watch.changed_within(LONG), Some(&held(&a, 1)));
    cell.release().expect("confirmed");
    assert_eq!(watch.changed(), Some(&Owner::Free { epoch: Epoch::new(1) }));
    let _cell = a.claim(id("c")).expect("released");
    assert_eq!(watch.changed(), Some(&held(&a, 2)));

    store.trap(Some(Trap::Panic("PUT nodes/a.")));
    assert_eq!(a.fenced_within(LONG), Some(FenceCause::Internal));
    assert_eq!(watch.changed_within(Duration::ZERO), None, "dead, but named");
    assert!(!watch.is_over());
    store.trap(None);
    let _cell = b.claim_within(id("c"), LONG).expect("of a dead node");
    assert_eq!(watch.changed(), Some(&held(&b, 3)));
    assert_eq!(watch.current(), &held(&b, 3));
}

#[test]
fn a_slow_watcher_sees_the_latest_state_and_a_clone_sees_for_itself() {
    let store = Arc::new(Memory::default());
    let (a, b) = (join("a", &store), join("b", &store));
    let mut quick = b.watch(id("c")).expect("answered");
    let mut slow = b.watch(id("c")).expect("watched already");
    let mut clone = slow.clone();
    for epoch in 1..=2 {
        let cell = a.claim(id("c")).expect("free");
        assert_eq!(quick.changed(), Some(&held(&a, epoch)));
        cell.release().expect("confirmed");
        assert_eq!(quick.changed(), Some(&Owner::Free { epoch: Epoch::new(epoch) }));
    }
    let last = Owner::Free { epoch: Epoch::new(2) };
    assert_eq!(slow.current(), &Owner::Free { epoch: None });
    assert_eq!(slow.changed_within(Duration::ZERO), Some(&last));
    assert_eq!(slow.changed_within(Duration::ZERO), None);
    assert_eq!(clone.changed_within(Duration::ZERO), Some(&last));
}

#[test]
fn a_cell_is_looked_at_until_the_last_watch_of_it_is_dropped() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let watches = [(); 2].map(|()| node.watch(id("c")).expect("answered"));
    let clone = watches[0].clone();
    drop(watches);
    store.take_log();
    store.wait_for("GET cells/c", 3);
    drop(clone);
    // What was on its way meanwhile has long arrived when the lease has been renewed twice.
    store.take_log();
    store.wait_for("PUT nodes/", 2);
    store.take_log();
    store.wait_for("PUT nodes/", 3);
    assert_eq!(store.take_log_of("cells/"), Vec::<String>::new());

    let watch = node.watch(id("c")).expect("anew");
    assert_eq!(watch.current(), &Owner::Free { epoch: None });
    store.wait_for("GET cells/c", 2);
}

#[test]
fn the_end_of_the_session_ends_every_watch() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let mut watches = ["c", "d", "c"].map(|cell| node.watch(id(cell)).expect("answered"));
    let [first, ..] = &mut watches;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| first.changed().cloned());
        node.clone().leave();
        assert_eq!(waiting.join().expect("no panic"), None);
    });
    for mut watch in watches {
        assert_eq!(watch.changed(), None);
        assert!(watch.is_over());
        assert_eq!(watch.changed_within(LONG), None, "and for good");
        assert_eq!(watch.current(), &Owner::Free { epoch: None });
    }
    assert!(matches!(node.watch(id("c")), Err(WatchError::Fenced(FenceCause::Left))));
}

#[test]
fn a_store_that_panics_ends_every_watch() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let mut watch = node.watch(id("c")).expect("answered");
    store.trap(Some(Trap::Panic("PUT nodes/")));
    assert_eq!(watch.changed(), None);
    assert!(watch.is_over());
}

#[test]
fn a_watch_keeps_its_session_and_the_last_handle_ends_it() {
    let store = Arc::new(Memory::default());
    let (node, other) = (join("a", &store), join("b", &store));
    let lease = lease(&node);
    let mut watch = node.watch(id("c")).expect("answered");
    drop(node);
    let _cell = other.claim(id("c")).expect("free");
    assert_eq!(watch.changed(), Some(&held(&other, 1)));
    drop(watch);
    store.wait_for_body(&lease, r#""expires_ms":0"#);
}

#[test]
fn a_watch_of_a_store_that_hangs_is_bounded_and_one_that_began_outlasts_it() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let mut watch = node.watch(id("c")).expect("answered");
    store.trap(Some(Trap::Hang("GET cells/")));
    let error = node.watch(id("d")).expect_err("no answer");
    assert!(matches!(&error, WatchError::Store(fault) if fault.kind == FaultKind::TimedOut), "{error}");
    store.trap(None);
    let _cell = node.claim(id("c")).expect("free");
    assert_eq!(watch.changed(), Some(&held(&node, 1)));
}

/// A store that looks, with each write of a cell, whether a handle still says that it is held.
struct Looking {
    store: Arc<Memory>,
    looks: Mutex<(Option<Cell>, Vec<bool>)>,
}

impl Looking {
    fn looks(&self) -> MutexGuard<'_, (Option<Cell>, Vec<bool>)> {
        self.looks.lock().expect("no poison")
    }
}

impl Store for Looking {
    fn execute(&self, op: Op) -> Reply {
        if let Op::Write(write) = &op
            && let (Some(cell), looks) = &mut *self.looks()
            && write.key == Key::owner(cell.id())
        {
            looks.push(cell.is_held());
        }
        self.store.execute(op)
    }

    fn clock(&self) -> StoreClock {
        Store::clock(&self.store)
    }
}

fn join(name: &str, store: &Arc<Memory>) -> Node {
    Node::join(config(name), Arc::clone(store)).expect("a fit store")
}

fn id(text: &str) -> CellId {
    CellId::new(text).expect("legal")
}

fn held(node: &Node, epoch: u64) -> Owner {
    Owner::Held { node: node.id().clone(), epoch: Epoch::new(epoch).expect("not zero") }
}

fn lease(node: &Node) -> String {
    format!("nodes/{}.json", node.id())
}

#[test]
fn bl_16_every_write_is_set_apart_from_that_of_a_cloned_process() {
    let store = Arc::new(Memory::default());
    let node = join("a", &store);
    let _cell = node.claim(id("c")).expect("free");
    // The engine by itself counts 1, 2, 3: so would its clone.
    let body = store.body("cells/c/own.json").expect("claimed");
    assert!(!body.contains("#2\""), "{body}");
}
