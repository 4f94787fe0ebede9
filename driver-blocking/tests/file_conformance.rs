//! The file store against the conformance suite.

mod common;

use core::time::Duration;

use common::{TempDir, keys};
use tenure_blocking::{Durability, FileStore, Op, Reply, Store, clock};
use tenure_core::Now;
use tenure_sim::conformance::{Race, Report, Settings, Spelling, Subject, Suite, run};

#[test]
fn the_file_store_does_what_ownership_rests_on() {
    let dir = TempDir::new();
    for store in
        [dir.store(), FileStore::open(dir.path()).expect("a store").with_durability(Durability::Machine)]
    {
        let report = ask(&store, Settings { listed: 40, scratch: true, timed: 50, ..Settings::new(1) });
        assert!(report.is_fit(), "{report}");
        assert_eq!(keys(&store, "").0, Vec::<String>::new(), "something is left behind");
    }
}

#[test]
fn a_listing_of_more_than_a_page_conforms() {
    let dir = TempDir::new();
    let store = dir.store().with_journal().expect("a journal");
    let report = ask(&store, Settings { listed: 1100, ..Settings::new(2) });
    assert!(report.is_fit(), "{report}");
    assert!(report.to_string().contains("in 2 pages"), "{report}");
}

#[test]
fn threads_that_race_for_one_record_have_one_winner_a_round() {
    let dir = TempDir::new();
    let store = dir.store();
    let race = Race { contenders: 8, rounds: 150, budget: Duration::from_secs(60), apart: false };
    let report = ask(&store, Settings { race: Some(race), ..Settings::new(3) });
    assert!(report.is_fit(), "{report}");
    assert!(report.to_string().contains("150 clear rounds of 150"), "{report}");
}

fn ask(store: &FileStore, settings: Settings) -> Report {
    let settings = Settings { clock: store.clock(), ..settings };
    run(&mut Suite::new(settings), &Files(store), |_| {})
}

/// The file store as a subject.
struct Files<'a>(&'a FileStore);

impl Subject for Files<'_> {
    fn execute(&self, op: Op, _: Spelling) -> Reply {
        self.0.execute(op)
    }

    fn pause(&self, _: Duration) {
        panic!("it never asks to wait");
    }

    fn now(&self) -> Now {
        clock::now()
    }
}
