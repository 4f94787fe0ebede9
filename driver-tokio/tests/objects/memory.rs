//! The crate's store in memory, as a user hands it in: nothing is heard of its requests.

use core::time::Duration;

use tenure_blocking::Store as _;
use tenure_core::Guard;
use tenure_sim::conformance::{Race, Settings};
use tenure_tokio::object_store::memory::InMemory;
use tenure_tokio::{Bridged, ObjectStoreAdapter};

use crate::subject::{ask, read, said, write};

#[test]
fn a_store_of_the_crate_does_what_ownership_rests_on() {
    let store = ObjectStoreAdapter::new(InMemory::new(), "some/prefix").expect("a legal prefix");
    let race = Race { contenders: 8, rounds: 50, budget: Duration::from_secs(60), apart: true };
    let settings = Settings { listed: 1100, scratch: true, race: Some(race), timed: 20, ..Settings::new(1) };
    let report = ask(&store, settings);
    assert!(report.is_fit(), "{report}");
    let text = report.to_string();
    assert!(text.contains("in 2 pages"), "{text}");
    assert!(text.contains("50 clear rounds of 50"), "{text}");
    // Without a `Date` no stamp is used.
    assert!(text.contains("a dead node is judged by watching it"), "{text}");
}

#[test]
fn a_prefix_that_some_store_would_take_for_another_is_refused() {
    for prefix in ["a//b", "a/../b", "/a", "a b", "a%2Fb"] {
        assert!(ObjectStoreAdapter::new(InMemory::new(), prefix).is_err(), "{prefix}");
    }
    for prefix in ["", "a", "a/b/"] {
        assert!(ObjectStoreAdapter::new(InMemory::new(), prefix).is_ok(), "{prefix}");
    }
}

#[test]
fn who_blocks_uses_an_async_store_over_a_bridge_from_any_thread() {
    let store = ObjectStoreAdapter::new(InMemory::new(), "").expect("legal");
    let store = Bridged::new(store).expect("a thread");
    let applied = std::thread::scope(|scope| {
        let create = || said(&store.execute(write(Guard::Absent, Duration::from_secs(10))));
        let both = [scope.spawn(create), scope.spawn(create)];
        both.map(|thread| thread.join().expect("no panic")).iter().filter(|said| *said != "rejected").count()
    });
    assert_eq!(applied, 1);
    assert!(said(&store.execute(read(None))).starts_with("found"));
}
