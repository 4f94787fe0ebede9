//! Entries of `docs/failures.md` about what these keys may not do, or no longer: the binary against the fault server.

use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_sim::server::{Fault, Rule, Seen};

use crate::support::{Finished, finish};
use crate::wire::{Wire, on_cells};

/// What may not be read is not absent, and its owner is not gone, whoever asks and by whichever command.
#[test]
fn bl_15_a_cell_that_may_not_be_read_is_nobody_s_to_take() {
    let wire = Wire::new();
    let mut holder = wire.join("a");
    assert_eq!(holder.claim("c1"), 1);
    let mut other = wire.join("b");
    wire.0.faults([on_cells(Fault::Denied, "GET")]);
    is_denied(
        &other.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 5000 }))["error"],
        "cells/c1/own.json",
    );
    let done = wire.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(77), ""), "{}", done.stderr);
    is_denied(&done.error(), "cells/c1/own.json");
    is_refused(&finish(wire.tenure(&["owner", "c1", "--json"])));
    assert_eq!(wire.asked("PUT").len(), 1, "the holder's");
    // Nor does it take the holder's cell from it: when the right is back all is as it was.
    wire.0.faults([]);
    assert_eq!(holder.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    assert_eq!(wire.versions("c1"), 1);
}

#[test]
fn bl_15_without_the_right_to_list_a_missing_cell_is_not_free() {
    let wire = Wire::with(Fault::MissingDenied);
    let mut agent = wire.join("a");
    is_denied(
        &agent.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 5000 }))["error"],
        "cells/c1/own.json",
    );
    for args in [&["owner", "c1", "--json"][..], &["cells", "--json"], &["nodes", "--json"]] {
        is_refused(&finish(wire.tenure(args)));
    }
    let done = wire.run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(77), ""), "{}", done.stderr);
    assert!(wire.asked("PUT").is_empty(), "nothing is created where something may be");
}

#[test]
fn bl_15_a_holder_whose_lease_may_not_be_read_is_not_dead() {
    let wire = Wire::new();
    let mut holder = wire.join("a");
    assert_eq!(holder.claim("c1"), 1);
    let mut other = wire.join("b");
    holder.process.signal(Signal::KILL);
    holder.process.status();
    wire.0.faults([Rule::new(Fault::Denied).on("GET").below("nodes/a.")]);
    // Far longer than its lease lives.
    let refused = other.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 12_000 }));
    is_denied(&refused["error"], &format!("nodes/{}.json", holder.node));
    assert_eq!(wire.versions("c1"), 1);
    let touched = |seen: &Seen| seen.key.contains(&holder.node) && seen.method == "PUT" && seen.applied;
    let before = wire.0.seen().into_iter().filter(touched).count();
    // With the right it is judged, fenced and taken from: one more version of its lease.
    wire.0.faults([]);
    let granted = other.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 30_000 }));
    assert_eq!(granted["ok"]["epoch"], 2, "{granted}");
    assert_eq!(wire.0.seen().into_iter().filter(touched).count(), before + 1);
}

#[test]
fn bl_15_bl_50_a_holder_that_may_not_write_any_more_keeps_what_it_has_until_its_authority_ends() {
    let wire = Wire::new();
    let mut holder = wire.join("a");
    assert_eq!(holder.claim("c1"), 1);
    wire.0.faults([Rule::new(Fault::Denied).on("PUT")]);
    let is_denied = |seen: &Seen| seen.status == Some(403);
    wire.await_seen(2, is_denied);
    assert_eq!(holder.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    // The right comes back before the end, and nothing was lost.
    wire.0.faults([]);
    wire.await_renewals(1);
    assert_eq!(holder.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    wire.0.faults([Rule::new(Fault::Denied).on("PUT")]);
    assert_eq!(holder.event("fenced")["reason"], "credentials");
    assert_eq!(holder.event("lost")["reason"], "credentials");
}

#[test]
fn bl_15_the_doctor_names_the_right_that_is_missing() {
    let programs = |wire: &Wire, fault: Fault, right: &str| {
        let done = finish(wire.tenure(&["doctor", "--json", "--rounds", "1"]));
        assert_eq!(done.code, Some(77), "{fault}: {}{}", done.stdout, done.stderr);
        assert!(done.stdout.contains(right), "{fault}: {}", done.stdout);
    };
    let people = |wire: &Wire, fault: Fault| {
        let done = finish(wire.tenure(&["doctor", "--rounds", "1"]));
        for right in ["s3:GetObject", "s3:PutObject", "s3:ListBucket"] {
            assert!(done.stdout.contains(right), "{fault}: {}", done.stdout);
        }
    };
    thread::scope(|scope| {
        for (fault, right) in [(Fault::MissingDenied, "s3:ListBucket"), (Fault::Denied, "s3:GetObject")] {
            scope.spawn(move || programs(&Wire::with(fault), fault, right));
            scope.spawn(move || people(&Wire::with(fault), fault));
        }
    });
}

/// No right that could be granted mends keys that have ended.
#[test]
fn bl_11_the_doctor_asks_for_fresh_keys_and_for_no_right_when_they_have_ended() {
    let wire = Wire::with(Fault::Expired);
    let done = finish(wire.tenure(&["doctor", "--rounds", "1"]));
    assert_eq!(done.code, Some(77), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("get fresh credentials"), "{}", done.stdout);
    assert!(!done.stdout.contains("grant "), "{}", done.stdout);
}

fn is_denied(error: &Value, key: &str) {
    assert_eq!(error["kind"], "denied", "{error}");
    for words in ["AccessDenied", "s3:ListBucket", key] {
        assert!(error["message"].as_str().is_some_and(|text| text.contains(words)), "{words}: {error}");
    }
}

fn is_refused(done: &Finished) {
    assert_eq!((done.code, done.stdout.as_str()), (Some(77), ""), "{}", done.stderr);
    assert_eq!(done.error()["kind"], "denied");
}
