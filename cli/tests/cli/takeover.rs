//! One node dies, another takes over.

use core::time::Duration;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Agent, Dir};

#[test]
fn a_killed_node_is_replaced_at_the_next_epoch_within_the_bound() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "1s");
    let mut b = Agent::join(&dir, "b", "1s");
    assert_eq!(a.claim("c1"), 1);
    assert_eq!(a.claim("c2"), 1);
    let held = b.call(json!({ "do": "claim", "cell": "c1" }));
    assert_eq!((&held["error"]["kind"], &held["error"]["node"]), (&json!("held"), &json!(a.node)));
    let first = b.ask(json!({ "do": "claim", "cell": "c1", "wait_ms": 30_000 }));
    let second = b.ask(json!({ "do": "claim", "cell": "c2", "wait_ms": 30_000 }));
    a.process.signal(Signal::KILL);
    let killed = now();
    for (id, cell) in [(first, "c1"), (second, "c2")] {
        let granted = b.answer(id);
        assert_eq!(granted["ok"], json!({ "cell": cell, "epoch": 2 }), "{granted}");
    }
    // ttl + 2 s + poll interval + a few round trips, with a second for a busy machine.
    let bound = Duration::from_millis(1000 + 2000 + 333 + 1000);
    assert!(killed.elapsed() < bound, "{:?}", killed.elapsed());
    let lease = dir.get(&format!("nodes/{}.json", a.node));
    assert_eq!((&lease["expires_ms"], &lease["fenced_by"]), (&json!(0), &json!(b.node)));
}

#[test]
fn a_node_that_leaves_is_replaced_without_waiting_for_its_lease() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "60s");
    let mut b = Agent::join(&dir, "b", "60s");
    a.claim("c1");
    let waiting = b.ask(json!({ "do": "claim", "cell": "c1", "wait_ms": 50_000 }));
    a.close();
    assert_eq!(a.end().0, Some(0));
    let left = now();
    assert_eq!(b.answer(waiting)["ok"]["epoch"], 2);
    assert!(left.elapsed() < Duration::from_secs(20), "{:?}", left.elapsed());
}

#[test]
fn bl_18_bl_20_a_stopped_node_is_replaced_and_fences_itself_when_it_goes_on() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "1s");
    let mut b = Agent::join(&dir, "b", "1s");
    a.claim("c1");
    a.process.signal(Signal::STOP);
    let granted = b.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 30_000 }));
    assert_eq!(granted["ok"]["epoch"], 2, "{granted}");
    let verify = a.ask(json!({ "do": "verify", "cell": "c1" }));
    a.process.signal(Signal::CONT);
    let reason = a.event("fenced")["reason"].clone();
    assert!(reason == "expired" || reason == "lease_fenced", "{reason}");
    let kind = a.answer(verify)["error"]["kind"].clone();
    assert!(kind == "fenced" || kind == "not_owner", "{kind}");
    assert_eq!(b.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 2);
}

#[expect(clippy::disallowed_methods, reason = "a test measures from outside, by any clock")]
fn now() -> Instant {
    Instant::now()
}
