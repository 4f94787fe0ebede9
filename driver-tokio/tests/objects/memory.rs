//! The crate's store in memory, as a user hands it in: nothing is heard of its requests.

use core::time::Duration;

use tenure_sim::conformance::{Race, Settings};
use tenure_tokio::ObjectStoreAdapter;
use tenure_tokio::object_store::memory::InMemory;

use crate::subject::ask;

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
