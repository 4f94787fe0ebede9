//! The conformance suite on all servers, through both drivers' stores.

use core::time::Duration;
use std::thread;

use tenure_blocking::{Op, Reply, Store as _, clock};
use tenure_core::Now;
use tenure_sim::conformance::{
    AsyncSubject, Race, Report, Settings, Spelling, Subject, Suite, Ticket, run, run_async,
};
use tenure_tokio::Store as _;
use tokio::runtime::Builder;

use crate::bucket::{Place, Server, say};
use crate::stage::Driver;

/// More than a page of a listing.
const LISTED: u16 = 1100;

#[test]
fn all_servers_do_what_ownership_rests_on_through_both_drivers() {
    for server in Server::ALL {
        for driver in Driver::ALL {
            let settings = Settings { listed: LISTED, scratch: true, timed: 100, ..Settings::new(1) };
            ask(server, driver, settings);
        }
    }
}

#[test]
fn a_race_on_any_server_has_one_winner_through_both_drivers() {
    for server in Server::ALL {
        for driver in Driver::ALL {
            // SeaweedFS takes long when many contend for one key.
            let (contenders, rounds) = match server {
                Server::Ceph | Server::MiniStack => (8, 100),
                Server::SeaweedFs => (3, 40),
            };
            let race = Race { contenders, rounds, budget: Duration::from_secs(120), apart: true };
            let settings =
                Settings { race: Some(race), timeout: Duration::from_secs(20), ..Settings::new(2) };
            let report = ask(server, driver, settings);
            let all = report.checks.iter().filter(|check| {
                check.name.starts_with("race") && check.sentence.contains(&format!(" rounds of {rounds}:"))
            });
            assert_eq!(all.count(), 4, "not every round was run:\n{report}");
        }
    }
}

/// Asks through one driver, prints the report, and fails if it is not fit.
fn ask(server: Server, driver: Driver, settings: Settings) -> Report {
    let place = Place::new(server, "conformance");
    let mut suite = Suite::new(settings);
    let report = match driver {
        Driver::Blocking => run(&mut suite, &Blocking(place.store()), |_| {}),
        Driver::Tokio => {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            let store = tenure_tokio::S3Store::new(place.bucket(), place.credentials());
            let store = Tokio(store.expect("an HTTP client"));
            runtime.block_on(run_async(&mut suite, &store, |_| {}))
        }
    };
    say(format_args!("conformance of {server} through the {driver} driver:"));
    for check in &report.checks {
        say(format_args!("  {check}"));
    }
    assert!(report.is_fit(), "{server}, {driver} driver:\n{report}");
    report
}

struct Blocking(tenure_blocking::S3Store);

impl Subject for Blocking {
    fn execute(&self, op: Op, _: Spelling) -> Reply {
        self.0.execute(op)
    }

    fn execute_held(&self, op: Op, _: Spelling, ticket: Ticket) -> Reply {
        self.0.execute_in_two(op, || ticket.wait())
    }

    fn pause(&self, time: Duration) {
        thread::park_timeout(time);
    }

    fn now(&self) -> Now {
        clock::now()
    }
}

struct Tokio(tenure_tokio::S3Store);

impl AsyncSubject for Tokio {
    async fn execute(&self, op: Op, _: Spelling) -> Reply {
        self.0.execute(op).await
    }

    async fn execute_held(&self, op: Op, _: Spelling, ticket: Ticket) -> Reply {
        self.0.execute_in_two(op, ticket.pass()).await
    }

    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn now(&self) -> Now {
        clock::now()
    }
}
