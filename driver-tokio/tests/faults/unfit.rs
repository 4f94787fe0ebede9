//! Stores that nobody can keep cells in: what holds on them all the same.
//!
//! Two nodes may own one epoch there, so the record is not judged (`storm.rs` says why). But nobody is told of a tenure,
//! by a grant or by a `verify`, that the record did not show at some instant of the call: G3 rests on reads. And nobody
//! goes on with a store once it was seen to be unfit.

use core::time::Duration;
use std::sync::Arc;

use tenure_core::{FenceCause, JoinError};
use tenure_sim::server::{Fault, Options, Rule, Server};

use crate::blocking::Machines;
use crate::fleet::{Machine, cell};
use crate::judge::History;
use crate::rivals::Fleet;
use crate::storm::{blow, start};

/// How often each kind of trouble befalls a request.
const RATE: f64 = 0.005;

#[test]
fn on_a_store_that_lies_at_random_nobody_is_told_what_the_record_never_said() {
    let server = Server::start(Options { seed: 3, ..Options::default() }).expect("a loopback port");
    server.faults(Fault::all().map(|(_, fault)| Rule::new(fault).at_rate(RATE)));
    let fleet = Arc::new(Fleet::new(server, 3));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let blocking = Machines::new(&fleet);
    runtime.expect("a runtime").block_on(async {
        let _machines = start(&fleet, &blocking, 8);
        blow(&fleet, 30).await;
        fleet.over.send_replace(true);
        fleet.server.faults([]);
    });
    blocking.stop();
    println!("at the end: {}", fleet.tell());
    let history = History::of(&fleet.server.store());
    history.check_told(&fleet.verified());
    history.check_told(&fleet.granted());
    assert_eq!(fleet.ends().get(FenceCause::Internal.as_str()), None, "{}", fleet.tell());
    let removed = |seen: &&tenure_sim::server::Seen| seen.method == "DELETE" && !seen.key.contains("/probe/");
    assert_eq!(fleet.server.seen().iter().filter(removed).count(), 0, "records were removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_joins_a_store_whose_conditions_are_seen_to_be_worth_nothing() {
    for (name, fault) in Fault::all().filter(|(_, fault)| fault.is_unfit()) {
        let server = Server::start(Options::default()).expect("a loopback port");
        server.faults([Rule::new(fault)]);
        let joined = Machine::new(&server, "a".into()).join().await;
        // Four writes of one key by one node do not show these; the doctor does.
        let is_hidden =
            [Fault::ChecksEarly, Fault::HidesFirst(1), Fault::MarkerExists, Fault::MissingCreated]
                .contains(&fault);
        match joined {
            Ok(_) => assert!(is_hidden, "{name} was joined"),
            Err(error) => assert!(matches!(error, JoinError::Unfit(_)) && !is_hidden, "{name}: {error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_refuses_every_guard_from_now_on_ends_its_nodes_by_that_name() {
    for fault in [Fault::BareTags, Fault::Rejected, Fault::WeakTag, Fault::WrongTag] {
        let server = Server::start(Options::default()).expect("a loopback port");
        let machine = Machine::new(&server, "a".into());
        let (node, _line) = machine.join().await.expect("it is fit yet");
        let held = node.claim(cell("c")).await.expect("free");
        server.faults([Rule::new(fault)]);
        let cause = tokio::time::timeout(Duration::from_secs(20), node.fenced()).await.expect("bounded");
        assert_eq!(cause, FenceCause::StoreUnfit, "{fault}: {:?}", node.ending());
        assert!(!held.is_held(), "{fault}");
    }
}
