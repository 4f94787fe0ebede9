//! One node dies, another takes over.

use core::time::Duration;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Agent, Dir};
use crate::wire::Wire;

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

/// Nobody took the cell, and the store would bear out whoever asked it: only the node's own clock says that it is over.
#[test]
fn bl_18_the_first_word_after_a_pause_longer_than_the_lease_is_that_it_is_over() {
    let wire = Wire::new();
    let mut agent = wire.join("a");
    assert_eq!(agent.claim("c1"), 1);
    agent.process.signal(Signal::STOP);
    // A ttl and a bit: what was on its way has landed long before.
    wire.0.wait_until(wire.0.now().after(Duration::from_millis(3500)));
    let before = (wire.versions("c1"), applied(&wire));
    // Asked while it stands still, so that all of it is there when it goes on, beside every timer that is due.
    let asked = ["verify", "locate", "release", "claim", "verify"]
        .map(|what| agent.ask(json!({ "do": what, "cell": "c1" })));
    agent.process.signal(Signal::CONT);
    for id in asked {
        let answer = agent.answer(id);
        let kind = &answer["error"]["kind"];
        assert!(kind == "fenced" || kind == "not_owner", "{answer}");
    }
    assert_eq!(agent.event("fenced")["reason"], "expired");
    assert_eq!(agent.event("lost")["reason"], "expired");
    agent.close();
    let (_, rest) = agent.end();
    assert!(rest.is_empty(), "{rest:?}");
    // A session that is over writes nothing, not even to give the cell back.
    assert_eq!((wire.versions("c1"), applied(&wire)), before);
}

fn applied(wire: &Wire) -> usize {
    wire.0.seen().iter().filter(|seen| seen.applied).count()
}

#[expect(clippy::disallowed_methods, reason = "a test measures from outside, by any clock")]
fn now() -> Instant {
    Instant::now()
}
