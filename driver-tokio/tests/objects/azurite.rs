//! Azurite, Microsoft's emulator of Azure Blob Storage, as `.ci/with-stores` starts it.

use core::time::Duration;
use std::env;
use std::sync::Arc;

use tenure_blocking::clock;
use tenure_sim::conformance::{Race, Settings};
use tenure_tokio::{AnyStore, ObjectStoreAdapter, OpenOptions, open};

use crate::failover::fail_over;
use crate::subject::{ask, ask_blocking, runtime};

/// What the liveness guarantee allows for a ttl of 3 s, and two seconds for a busy machine.
const TAKEOVER: Duration = Duration::from_millis(3000 + 2000 + 2000 + 1000 + 500 + 2000);

/// Opens a prefix that no other test and no other run uses.
fn place(name: &str) -> ObjectStoreAdapter {
    let variable = |name: &str| {
        env::var(name)
            .unwrap_or_else(|_| panic!("{name} is not set; run this by .ci/with-stores --stores azurite"))
    };
    let unique = clock::now().wall.as_nanos();
    let url = format!("az://{}/{name}-{unique:x}", variable("TENURE_TEST_BUCKET"));
    let options = OpenOptions { endpoint: Some(variable("TENURE_TEST_AZURITE")), ..OpenOptions::default() };
    match open(&url, &options) {
        Ok(AnyStore::Objects(store)) => store,
        other => panic!("{other:?}"),
    }
}

#[test]
fn azurite_does_what_ownership_rests_on() {
    let settings = Settings { listed: 1100, scratch: true, timed: 50, ..Settings::new(1) };
    let report = ask(&place("conformance"), settings);
    println!("{report}");
    assert!(report.is_fit(), "{report}");
    assert!(report.to_string().contains("in 2 pages"), "{report}");
}

#[test]
fn azurite_does_it_through_the_blocking_driver_too() {
    let race = Race { contenders: 8, rounds: 10, budget: Duration::from_secs(60), apart: false };
    let settings = Settings { race: Some(race), timed: 50, ..Settings::new(3) };
    let report = ask_blocking(place("blocking"), settings);
    println!("{report}");
    assert!(report.is_fit(), "{report}");
}

#[test]
fn a_race_on_azurite_has_one_winner() {
    let race = Race { contenders: 8, rounds: 40, budget: Duration::from_secs(120), apart: true };
    let settings = Settings { race: Some(race), timeout: Duration::from_secs(20), ..Settings::new(2) };
    let report = ask(&place("race"), settings);
    println!("{report}");
    assert!(report.is_fit(), "{report}");
    let all = report
        .checks
        .iter()
        .filter(|check| check.name.starts_with("race") && check.sentence.contains(" rounds of 40:"));
    assert_eq!(all.count(), 4, "not every round was run:\n{report}");
}

#[test]
fn an_owner_that_is_cut_off_is_replaced_in_time() {
    let took = runtime().block_on(fail_over(Arc::new(place("failover"))));
    println!("replaced after {took:.1?} (<= {TAKEOVER:?})");
    assert!(took <= TAKEOVER, "replaced after {took:?}");
}
