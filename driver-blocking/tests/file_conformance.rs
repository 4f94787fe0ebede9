//! The file store against the conformance suite.

mod common;

use core::time::Duration;

use common::{TempDir, keys};
use tenure_blocking::{Durability, FileStore, Store};
use tenure_sim::conformance::{Race, Settings, race, run};

#[test]
fn the_file_store_does_what_ownership_rests_on() {
    let dir = TempDir::new();
    for store in
        [dir.store(), FileStore::open(dir.path()).expect("a store").with_durability(Durability::Machine)]
    {
        let settings = Settings { clock: store.clock(), listed: 40, scratch: true, ..Settings::new(1) };
        let report = run(&settings, &mut |op| store.execute(op), &mut |_| panic!("it never asks to wait"));
        assert!(report.is_fit(), "{report}");
        assert_eq!(keys(&store, "").0, Vec::<String>::new(), "something is left behind");
    }
}

#[test]
fn a_listing_of_more_than_a_page_conforms() {
    let dir = TempDir::new();
    let store = dir.store().with_journal().expect("a journal");
    let settings = Settings { clock: store.clock(), listed: 1100, ..Settings::new(2) };
    let report = run(&settings, &mut |op| store.execute(op), &mut |_| panic!("it never asks to wait"));
    assert!(report.is_fit(), "{report}");
    assert!(report.to_string().contains("in 2 pages"), "{report}");
}

#[test]
fn threads_that_race_for_one_record_have_one_winner_a_round() {
    let dir = TempDir::new();
    let store = dir.store();
    let settings = Race { seed: 3, contenders: 8, rounds: 150, timeout: Duration::from_secs(20) };
    let report = race(&settings, &|op| store.execute(op), &|_| panic!("it never asks to wait"));
    assert!(report.is_fit(), "{report}");
}
