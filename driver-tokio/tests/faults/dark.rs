//! A store that accepts and never answers: for a short while it costs nobody anything, for two ttls it ends every
//! tenure when its authority ends.

use core::time::Duration;

use tenure_core::FenceCause;
use tenure_sim::server::{Options, Server, Weather};
use tenure_tokio::{Cell, Node};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::fleet::{Machine, TTL, cell};

/// Nodes that renew at different times, so that the dark begins at every stage of a renewal.
const NODES: u32 = 12;
/// How late a timer may fire on a busy machine.
const SLACK: Duration = Duration::from_millis(300);

/// The default, which leaves a third of a second in the worst case: if the dark begins with a renewal that came late.
const LONG_TTL: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_dark_for_half_a_ttl_costs_no_lease() {
    let server = Server::start(Options::default()).expect("a loopback port");
    let fleet = start(&server, LONG_TTL).await;
    server.set_weather(Weather::Dark);
    sleep(LONG_TTL / 2).await;
    server.set_weather(Weather::Clear);
    // Whoever could not renew in the dark is at its end by then.
    sleep(LONG_TTL).await;
    for (node, cell, _) in &fleet {
        assert_eq!(
            (node.fence_cause(), cell.is_held(), cell.epoch().get()),
            (None, true, 1),
            "{}",
            node.id()
        );
        assert_eq!(cell.verify().await, Ok(()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_dark_for_two_ttls_fences_every_holder_when_its_authority_ends_and_the_fleet_recovers() {
    let server = Server::start(Options::default()).expect("a loopback port");
    let fleet = start(&server, TTL).await;
    server.set_weather(Weather::Dark);
    let dark = Instant::now();
    // What was answered just before the dark has been taken note of by then; nothing else can be from now on.
    sleep(TTL / 10).await;
    let ends: Vec<Instant> =
        fleet.iter().map(|(node, _, _)| Instant::now() + node.authority_left()).collect();
    let mut watching = tokio::task::JoinSet::new();
    for ((node, cell, _), end) in fleet.iter().zip(ends) {
        let (node, cell) = (node.clone(), cell.clone());
        watching.spawn(async move {
            assert!(end > Instant::now() && end <= dark + TTL, "a holder's authority is about a ttl");
            let mut held_until = Instant::now();
            while cell.is_held() {
                held_until = Instant::now();
                sleep(Duration::from_millis(5)).await;
            }
            let over = Instant::now();
            assert!(over >= end, "{} stopped {:?} early", node.id(), end - over);
            assert!(held_until <= end, "{} went on for {:?}", node.id(), held_until - end);
            assert_eq!(node.fenced().await, FenceCause::Expired);
            assert!(Instant::now() <= end + SLACK, "{} was told {:?} late", node.id(), Instant::now() - end);
        });
    }
    while let Some(watched) = watching.join_next().await {
        watched.expect("fenced at its time");
    }
    assert!(dark.elapsed() < TTL * 2);
    tokio::time::sleep_until(dark + TTL * 2).await;
    server.set_weather(Weather::Clear);
    // By itself: the same machines, in new sessions, own the same cells again, each at the next epoch.
    for number in 0..NODES {
        let machine = Machine::new(&server, format!("n{number}"));
        let (node, _line) = machine.join().await.expect("the store is back");
        let claim = node.claim_within(cell(&format!("c{number}")), TTL * 5);
        let cell = timeout(TTL * 6, claim).await.expect("bounded").expect("its last owner is dead");
        assert_eq!((cell.epoch().get(), cell.verify().await), (2, Ok(())));
    }
}

/// Starts nodes that hold a cell each and renew one after the other.
async fn start(server: &Server, ttl: Duration) -> Vec<(Node, Cell, watch::Sender<bool>)> {
    let mut fleet = Vec::new();
    for number in 0..NODES {
        let machine = Machine::new(server, format!("n{number}"));
        let (node, line) = machine.join_for(ttl).await.expect("a store");
        let cell = node.claim(cell(&format!("c{number}"))).await.expect("free");
        fleet.push((node, cell, line));
        // A third of a ttl from the first to the last: the time between two renewals.
        sleep(ttl / 3 / NODES).await;
    }
    fleet
}
