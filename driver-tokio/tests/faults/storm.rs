//! Fail-overs by the hundred while everything goes wrong with the store that may go wrong with a fit one.
//!
//! What makes a store unfit is left out, since nothing could be asserted of ownership then. G1 rests on one word of the
//! store: that a write was refused because its guard did not hold, or was applied because it did. Where conditions are
//! ignored (`ignores-conditions`, `ignores-if-match`, `missing-created`), judged too early (`checks-early`), or bound to
//! tags that are not the version's (`weak-tag`, `wrong-tag`), two claims of one epoch are both told that they were
//! applied, and no client, however careful, can tell. What refuses rightful writes (`412`, `bare-tags`,
//! `marker-exists`) or hides what is there (`hides-first`) leaves ownership alone, but a store that does so at random keeps
//! cells from being owned or listings from being complete, which is asserted here. `unfit.rs` has them all on, and
//! asserts what holds even so.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::sync::Arc;

use tenure_core::CellId;
use tenure_sim::server::{Fault, Options, Rule, Server};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use crate::blocking::Machines;
use crate::fleet::{Machine, cell};
use crate::judge::History;
use crate::listing::Listings;
use crate::rivals::Fleet;

/// How often each kind of trouble befalls a request. There are about forty kinds, so every fifth request is in trouble.
const RATE: f64 = 0.005;
/// Cells for which the same machines contend: one of each driver, so that most fail-overs are from one to the other.
const CELLS: usize = 2;
/// How many keys a page of a listing has at most; some have fewer.
const PAGE: usize = 50;
/// How long the fleet may take, once the store is well again, until every cell is owned: a ttl, the stamps' unit and
/// margin, and the pauses of clients that had been refused; the rest is for a busy machine.
const CALM: Duration = Duration::from_secs(60);

/// A few fail-overs, for every run of the tests.
#[test]
fn a_few_cells_change_hands_through_every_fault() {
    storm(8, 30, 1);
}

/// See `.ci/run`.
#[test]
#[ignore = "takes minutes; to be run in release"]
fn a_thousand_fail_overs_through_every_fault() {
    let fleet = storm(45, 1000, 2);
    // A storm without some of its winds would prove less than it says.
    let seen = fleet.server.seen();
    for (name, fault) in Fault::all().filter(|(_, fault)| !fault.is_unfit()) {
        let count = seen.iter().filter(|seen| seen.effects.contains(&fault)).count();
        println!("{name:<20} befell {count} requests");
        assert!(count > 0, "{name} never befell anybody");
    }
}

/// Runs groups of rivals until there were so many fail-overs; then all calms down, and the history is judged.
fn storm(groups: usize, takeovers: usize, seed: u64) -> Arc<Fleet> {
    let server = Server::start(Options { seed, ..Options::default() }).expect("a loopback port");
    server.faults(every_fault());
    let fleet = Arc::new(Fleet::new(server, seed));
    let listings = Arc::new(Listings::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let wanted: Vec<CellId> = (0..groups).flat_map(cells).collect();
    let blocking = Machines::new(&fleet);
    runtime.block_on(async {
        let mut machines = start(&fleet, &blocking, groups);
        machines.spawn(
            Arc::clone(&listings).run(Arc::clone(&fleet), Machine::new(&fleet.server, "lister".into())),
        );
        blow(&fleet, takeovers).await;
        fleet.over.send_replace(true);
        fleet.server.faults([]);
        let limit = Instant::now() + CALM;
        while !fleet.is_settled(&wanted) {
            assert!(Instant::now() < limit, "not every cell is owned: {}", fleet.tell());
            // Somebody may have been told of a cell; if not, looking again does no harm.
            let _ = timeout_at(Instant::now() + Duration::from_millis(200), fleet.held.notified()).await;
        }
    });
    blocking.stop();
    println!("at the end: {}; {listings:?}", fleet.tell());
    let history = History::of(&fleet.server.store());
    history.check_record();
    history.check_told(&fleet.verified());
    history.check_grants(&fleet.granted());
    assert!(history.takeovers() >= takeovers, "{}", fleet.tell());
    for rival in ["-0.", "-1."] {
        let taken = history.takers().filter(|node| node.as_str().contains(rival)).count();
        assert!(taken >= takeovers / 10, "{taken} fail-overs to nodes named *{rival}*: {}", fleet.tell());
    }
    assert_eq!(listings.wrong.load(Ordering::Relaxed), 0, "a listing was incomplete and no error");
    assert!(listings.complete.load(Ordering::Relaxed) > 0 && listings.errors.load(Ordering::Relaxed) > 0);
    fleet
}

/// Starts the rivals of each group: one through the async driver, one through the blocking one.
pub(crate) fn start(fleet: &Arc<Fleet>, blocking: &Machines, groups: usize) -> JoinSet<()> {
    let mut machines = JoinSet::new();
    for group in 0..groups {
        let machine = Machine::new(&fleet.server, format!("g{group}-0"));
        machines.spawn(Arc::clone(fleet).run(machine, cells(group)));
        blocking.start(format!("g{group}-1"), cells(group));
    }
    machines
}

/// Waits until there were so many fail-overs.
pub(crate) async fn blow(fleet: &Fleet, takeovers: usize) {
    let began = Instant::now();
    loop {
        let done = History::of(&fleet.server.store()).takeovers();
        // What is removed last must be free again before the calm, which a short storm has no time for.
        fleet.removes.store(takeovers >= 1000 && done * 2 < takeovers, Ordering::Relaxed);
        if done >= takeovers {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(400), "{}", fleet.tell());
        sleep(Duration::from_millis(500)).await;
    }
    println!("after {:.0} s: {}", began.elapsed().as_secs_f64(), fleet.tell());
}

fn cells(group: usize) -> Vec<CellId> {
    (0..CELLS).map(|number| cell(&format!("g{group}:{number}"))).collect()
}

/// Every fault of a fit store, at random; and what only befalls what is rare here, whenever it can.
fn every_fault() -> impl Iterator<Item = Rule> {
    let on_nodes = |fault| Rule::new(fault).below("nodes/");
    let often = [
        on_nodes(Fault::ShortPage(PAGE)),
        on_nodes(Fault::MissingDenied).at_rate(10.0 * RATE),
        on_nodes(Fault::MissingRejected).at_rate(0.9),
        on_nodes(Fault::NoToken).at_rate(10.0 * RATE),
        on_nodes(Fault::RepeatToken).at_rate(10.0 * RATE),
    ];
    let random = Fault::all().filter(|(_, fault)| !fault.is_unfit());
    often.into_iter().chain(random.map(|(_, fault)| Rule::new(fault).at_rate(RATE)))
}
