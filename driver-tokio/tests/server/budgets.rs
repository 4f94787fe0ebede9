//! What trouble on one connection costs a node of either driver, by the server's own record of connections.

use core::time::Duration;
use std::collections::BTreeSet;
use std::thread;

use tenure_core::{CellId, Config, StoreClock};
use tenure_sim::server::{Fault, Options, Rule, Seen, Server};
use tokio::runtime::Runtime;

use crate::both::{SECRET, Store, credentials, start};

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Longer than either store keeps a connection that nobody uses, and a fourth of what servers do.
const IDLE: Duration = Duration::from_millis(5500);

/// How long a claim waits at most.
const WAIT: Duration = Duration::from_secs(30);

/// A node of either driver.
#[derive(Clone)]
enum Node<'r> {
    Blocking(tenure_blocking::Node),
    Tokio(&'r Runtime, tenure_tokio::Node),
}

impl Node<'_> {
    /// Claims a cell, gives it back, and returns the epoch at which it was granted.
    fn claim(&self, cell: &str) -> u64 {
        let id = CellId::new(cell).expect("legal");
        match self {
            Self::Blocking(node) => {
                let held = node.claim_within(id, WAIT).expect("a grant");
                let epoch = held.epoch().get();
                held.release().expect("it is released");
                epoch
            }
            Self::Tokio(runtime, node) => runtime.block_on(async {
                let held = node.claim_within(id, WAIT).await.expect("a grant");
                let epoch = held.epoch().get();
                held.release().await.expect("it is released");
                epoch
            }),
        }
    }

    fn is_fenced(&self) -> bool {
        match self {
            Self::Blocking(node) => node.fence_cause().is_some(),
            Self::Tokio(_, node) => node.fence_cause().is_some(),
        }
    }
}

/// Lets a node of each driver join a server of its own, and hands both to `test`, the two at once.
fn on_both(test: impl Fn(&Server, &Node<'_>) + Sync) {
    // An attempt has 0.9 s, more than a busy machine takes to answer one.
    let config = Config::new("me").with_ttl(Duration::from_secs(6)).with_clock(StoreClock::HTTP);
    thread::scope(|scope| {
        for driver in 0..2 {
            let (config, test) = (config.clone(), &test);
            scope.spawn(move || {
                let server = start(Options::default());
                let [blocking, tokio] = Store::both(&server, &credentials(SECRET, None));
                match (driver, blocking, tokio) {
                    (0, Store::Blocking(store), _) => {
                        let node = tenure_blocking::Node::join(config, store).expect("the server serves");
                        test(&server, &Node::Blocking(node));
                    }
                    (_, _, Store::Tokio(runtime, store)) => {
                        let node = runtime.block_on(tenure_tokio::Node::join(config, store));
                        test(&server, &Node::Tokio(&runtime, node.expect("the server serves")));
                    }
                    _ => panic!("the stores come in the order of the drivers"),
                }
            });
        }
    });
}

/// A connection that was kept for the next request breaks under it before or after it took effect, says nothing more,
/// or stops in the middle of an answer.
#[test]
fn bl_19_a_kept_connection_that_is_dead_costs_one_attempt_and_is_not_used_again() {
    on_both(|server, node| {
        for fault in [Fault::Hang, Fault::CutRequest(0), Fault::Drop] {
            // The lease has one connection, on which each renewal follows the one before.
            server.faults([Rule::new(fault).on("PUT").below("nodes/").times(1)]);
            assert!(costs_one_attempt(server, "nodes/", fault), "a renewal on a new connection");
            for method in ["GET", "PUT"] {
                claim_on_a_dead_connection(server, node, method, fault);
            }
        }
        // What is not there has an answer with a body, of which half comes.
        claim_on_a_dead_connection(server, node, "GET", Fault::Stall);
        assert!(!node.is_fenced());
    });
}

/// Claims cells until one of the claims has met the fault on a connection that was kept: the client may not have it
/// back from the last request when the next one comes.
fn claim_on_a_dead_connection(server: &Server, node: &Node<'_>, method: &'static str, fault: Fault) {
    for round in 0.. {
        assert!(round < 20, "no claim met {fault} on a connection that was kept");
        server.faults([]);
        node.claim(&format!("{method}-{round}-before"));
        let cell = format!("{method}-{round}-{fault}:");
        server.faults([Rule::new(fault).on(method).below(&*cell).times(1)]);
        assert_eq!(node.claim(&cell), 1);
        if costs_one_attempt(server, &cell, fault) {
            return;
        }
    }
}

/// Waits for the request that met the fault and for the next one of the same record that was answered, and compares
/// their connections. Tells whether the first of them was kept from before.
fn costs_one_attempt(server: &Server, record: &str, fault: Fault) -> bool {
    let met = |log: &[Seen]| {
        let of_record = |seen: &&Seen| seen.key.contains(record);
        let lost = log.iter().rposition(|seen| of_record(&seen) && seen.faults == [fault])?;
        let after: Vec<Seen> = log[lost + 1..].iter().filter(of_record).cloned().collect();
        after.iter().any(|seen| seen.status.is_some()).then(|| (log[..=lost].to_vec(), after))
    };
    let (before, after) = server.wait_for(LIMIT, met).expect("it is tried again");
    let (lost, before) = before.split_last().expect("it was met");
    let next = &after[0];
    assert!(
        matches!(next.status, Some(200 | 404)),
        "{fault} at {record} cost more than one attempt: {after:?}"
    );
    let is_reused = after.iter().any(|seen| seen.connection == lost.connection);
    assert!(!is_reused, "{fault} at {record}: {after:?} on {}", lost.connection);
    before.iter().any(|seen| seen.connection == lost.connection)
}

/// Servers close a connection that is idle, some without a word.
#[test]
fn bl_19_a_connection_that_was_idle_for_long_is_not_used_again() {
    on_both(|server, node| {
        node.claim("before");
        let before = server.seen().iter().map(|seen| seen.connection).max().expect("a claim was made");
        server.wait_until(server.now().after(IDLE));
        node.claim("after");
        let is_of_cells = |seen: &&Seen| seen.key.contains("cells/after");
        let after: Vec<usize> =
            server.seen().iter().filter(is_of_cells).map(|seen| seen.connection).collect();
        assert!(!after.is_empty() && after.iter().all(|connection| *connection > before), "{after:?}");
    });
}

/// Requests for cells hang, more than may be on their way at once; the lease is renewed as if there were none.
#[test]
fn bl_49_renewals_go_on_while_every_other_request_hangs() {
    const CLAIMS: usize = 40;
    on_both(|server, node| {
        server.faults([Rule::new(Fault::Hang).below("cells/")]);
        let is_renewal = |seen: &&Seen| seen.key.contains("nodes/") && seen.method == "PUT";
        thread::scope(|scope| {
            for number in 0..CLAIMS {
                let node = node.clone();
                scope.spawn(move || node.claim(&format!("c{number}")));
            }
            let renewed = |log: &[Seen]| {
                let first = log.iter().rposition(|seen| seen.key.contains("cells/"))?;
                let hanging = log.iter().filter(|seen| seen.key.contains("cells/")).count();
                let renewals = log[..first].iter().filter(is_renewal).filter(|seen| seen.applied).count();
                (hanging >= CLAIMS && renewals >= 3).then(|| log.to_vec())
            };
            let log = server.wait_for(LIMIT, renewed).expect("the lease is renewed");
            server.faults([]);
            assert!(log.iter().filter(is_renewal).all(|seen| seen.faults.is_empty()));
            // Only the last of them may still be waiting for its answer.
            let unanswered = log.iter().filter(is_renewal).filter(|seen| seen.status.is_none()).count();
            assert!(unanswered <= 1, "{unanswered} renewals were given up on");
        });
        assert!(!node.is_fenced());
        let log = server.seen();
        let connections = |of_lease: bool| -> BTreeSet<usize> {
            let of_either = log.iter().filter(|seen| seen.key.contains("nodes/") == of_lease);
            of_either.map(|seen| seen.connection).collect()
        };
        let (leases, others) = (connections(true), connections(false));
        assert!(leases.is_disjoint(&others), "{leases:?} and {others:?}");
        assert_eq!(leases.len(), 1, "nothing went wrong with the lease's one connection: {leases:?}");
    });
}
