//! The conformance suite on both servers, through both drivers' stores.

use core::time::Duration;
use std::thread;

use tenure_blocking::{Op, Reply, Store as _, StoreClock};
use tenure_sim::conformance::{Race, Report, Settings, race, run};
use tenure_tokio::Store as _;
use tokio::runtime::{Builder, Runtime};

use crate::bucket::{Place, Server, say};
use crate::stage::Driver;

/// More than a page of a listing.
const LISTED: u16 = 1100;

#[test]
fn both_servers_do_what_ownership_rests_on_through_both_drivers() {
    for server in Server::ALL {
        for driver in Driver::ALL {
            let store = Store::open(driver, &Place::new(server, "conformance"));
            let settings =
                Settings { clock: StoreClock::HTTP, listed: LISTED, scratch: true, ..Settings::new(1) };
            let report = run(&settings, &mut |op| store.execute(op), &mut pause);
            show(server, driver, &report);
        }
    }
}

#[test]
fn a_race_on_either_server_has_one_winner_through_both_drivers() {
    for server in Server::ALL {
        for driver in Driver::ALL {
            let store = Store::open(driver, &Place::new(server, "race"));
            // SeaweedFS takes long when many contend for one key.
            let (contenders, rounds) = match server {
                Server::MiniStack => (8, 100),
                Server::SeaweedFs => (3, 40),
            };
            let settings = Race { seed: 2, contenders, rounds, timeout: Duration::from_secs(20) };
            let report = race(&settings, &|op| store.execute(op), &pause);
            show(server, driver, &report);
        }
    }
}

/// Prints a report, and fails if it is not fit or something was left behind.
fn show(server: Server, driver: Driver, report: &Report) {
    say(format_args!("conformance of {server} through the {driver} driver:"));
    for check in &report.checks {
        say(format_args!("  {check}"));
    }
    assert!(report.is_fit(), "{server}, {driver} driver:\n{report}");
}

/// Either driver's store, from any thread.
enum Store {
    Blocking(tenure_blocking::S3Store),
    Tokio(Runtime, tenure_tokio::S3Store),
}

impl Store {
    fn open(driver: Driver, place: &Place) -> Self {
        match driver {
            Driver::Blocking => Self::Blocking(place.store()),
            Driver::Tokio => {
                let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
                let store = tenure_tokio::S3Store::new(place.bucket(), place.credentials());
                Self::Tokio(runtime, store.expect("an HTTP client"))
            }
        }
    }

    fn execute(&self, op: Op) -> Reply {
        match self {
            Self::Blocking(store) => store.execute(op),
            Self::Tokio(runtime, store) => runtime.block_on(store.execute(op)),
        }
    }
}

/// Leaves a store alone that asks for it.
fn pause(time: Duration) {
    thread::park_timeout(time);
}
