//! A server in trouble, and how much either driver's node asks of it.

use core::num::NonZeroU32;
use core::time::Duration;
use std::thread;

use tenure_core::{CellId, ClaimError, Config, FaultKind, StoreClock};
use tenure_sim::server::{Fault, Options, Rule, Server};

use crate::both::{SECRET, Store, credentials, start};

/// How many cells wait.
const CELLS: usize = 1000;

/// How long they wait.
const WAIT: Duration = Duration::from_secs(6);

#[test]
fn bl_04_under_a_permanent_503_a_thousand_waiting_cells_cost_ten_requests_a_second_through_both_drivers() {
    let config = Config {
        patience: Duration::from_millis(500),
        trouble_rate: NonZeroU32::new(10),
        ..Config::new("me").with_ttl(Duration::from_secs(60)).with_clock(StoreClock::HTTP)
    };
    for driver in 0..2 {
        let server = start(Options::default());
        let [blocking, tokio] = Store::both(&server, &credentials(SECRET, None));
        let errors = match (driver, blocking, tokio) {
            (0, Store::Blocking(store), _) => blocking_claims(&server, config.clone(), store),
            (_, _, Store::Tokio(runtime, store)) => {
                runtime.block_on(tokio_claims(&server, config.clone(), store))
            }
            _ => panic!("the stores come in the order of the drivers"),
        };
        assert_eq!(errors.len(), CELLS);
        for error in errors {
            let is_told = matches!(&error, ClaimError::Store(fault) if fault.kind == FaultKind::Unavailable);
            assert!(is_told, "driver {driver}: {error:?}");
        }
        let ordinary = |seen: &&tenure_sim::server::Seen| seen.key.contains("cells/");
        let seen = server.seen();
        let times: Vec<_> = seen.iter().filter(ordinary).map(|seen| seen.at).collect();
        let first = *times.first().expect("the store was asked");
        // The first second has what may be sent ahead of an answer.
        let begin = first.after(Duration::from_secs(1));
        let end = begin.after(Duration::from_secs(5));
        let asked = times.iter().filter(|at| (begin..end).contains(at)).count();
        // What is sent each 100 ms may come a little late; it never comes in numbers.
        assert!((20..=51).contains(&asked), "driver {driver}: {asked} requests in five seconds");
    }
}

fn fail(server: &Server) {
    server.faults([Rule::new(Fault::Error { status: 503, applied: false })]);
}

fn cell(number: usize) -> CellId {
    CellId::new(&format!("c{number}")).expect("a legal cell")
}

fn blocking_claims(server: &Server, config: Config, store: tenure_blocking::S3Store) -> Vec<ClaimError> {
    let node = tenure_blocking::Node::join(config, store).expect("the server serves");
    fail(server);
    thread::scope(|scope| {
        let claim = |number| {
            let node = &node;
            let claims = thread::Builder::new().stack_size(128 << 10);
            let claim = move || node.claim_within(cell(number), WAIT).expect_err("the server is down");
            claims.spawn_scoped(scope, claim).expect("a thread")
        };
        let claims: Vec<_> = (0..CELLS).map(claim).collect();
        claims.into_iter().map(|claim| claim.join().expect("no panic")).collect()
    })
}

async fn tokio_claims(server: &Server, config: Config, store: tenure_tokio::S3Store) -> Vec<ClaimError> {
    let node = tenure_tokio::Node::join(config, store).await.expect("the server serves");
    fail(server);
    let mut claims = tokio::task::JoinSet::new();
    for number in 0..CELLS {
        let node = node.clone();
        claims.spawn(
            async move { node.claim_within(cell(number), WAIT).await.expect_err("the server is down") },
        );
    }
    claims.join_all().await
}
