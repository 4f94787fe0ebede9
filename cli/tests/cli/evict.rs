//! `evict`: whom it takes a cell from, and whom only by force.

use core::time::Duration;
use std::fs::{self, File};
use std::process::Command;
use std::time::SystemTime;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_sim::server::{Fault, Rule};

use crate::support::{Agent, Dir, Finished, Process, finish};
use crate::wire::{Wire, named, on_cells};

const RECORD: &str = "cells/c1/own.json";

fn evict(dir: &Dir, args: &[&str]) -> Finished {
    finish(dir.tenure(&[&["evict", "--json"], args].concat()))
}

#[test]
fn a_dead_owner_is_fenced_and_its_cell_is_free_at_the_same_epoch() {
    let dir = Dir::new();
    let mut holder = Agent::join(&dir, "a", "1s");
    holder.claim("c1");
    holder.process.signal(Signal::KILL);
    holder.process.status();
    let mut done = evict(&dir, &["c1", "--epoch", "1"]);
    // As long as its lease lives by the store's clock.
    while done.code == Some(75) {
        assert_eq!(done.error()["kind"], "held", "{}", done.stderr);
        done = evict(&dir, &["c1", "--epoch", "1"]);
    }
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let said = &done.lines()[0];
    assert_eq!((&said["node"], &said["epoch"], &said["state"]), (&json!(""), &json!(1), &json!("released")));
    assert_eq!(said["before"]["node"], json!(holder.node), "{said}");
    assert!(said["note"].as_str().is_some_and(|note| note.contains("is fenced")), "{said}");
    let lease = dir.get(&format!("nodes/{}.json", holder.node));
    assert_eq!((&lease["expires_ms"], &lease["fenced_by"]), (&json!(0), &json!("operator")), "{lease}");
    assert_eq!(lease["ttl_ms"], 1000, "{lease}");
    assert_eq!(Agent::join(&dir, "b", "1s").claim("c1"), 2);
}

#[test]
fn a_living_owner_is_left_alone_unless_forced_and_then_finds_out_when_it_asks() {
    let dir = Dir::new();
    let mut holder = Agent::join(&dir, "a", "2s");
    holder.claim("c1");
    holder.claim("c2");
    let before = dir.get(RECORD);
    let done = evict(&dir, &["c1", "--epoch", "1"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(75), ""), "{}", done.stderr);
    let error = done.error();
    assert_eq!(
        (&error["kind"], &error["node"], &error["epoch"]),
        (&json!("held"), &json!(holder.node), &json!(1))
    );
    let said = error["message"].as_str().expect("a sentence");
    assert!(said.contains("its lease is live: renewed ") && said.contains("--force"), "{said}");
    assert_eq!(dir.get(RECORD), before);

    let done = evict(&dir, &["c1", "--epoch", "1", "--force"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let note = done.lines()[0]["note"].clone();
    assert!(note.as_str().is_some_and(|note| note.starts_with("by force: ")), "{note}");
    let mut other = Agent::join(&dir, "b", "2s");
    assert_eq!(other.claim("c1"), 2);
    let refused = holder.call(json!({ "do": "verify", "cell": "c1" }))["error"].clone();
    assert_eq!(refused["kind"], "not_owner", "{refused}");
    assert_eq!(holder.event("lost")["reason"], "record_replaced");
    // Its lease and what else it has are its own still.
    assert_eq!(holder.call(json!({ "do": "verify", "cell": "c2" }))["ok"]["epoch"], 1);
}

#[test]
fn what_is_owned_otherwise_than_was_said_is_left_alone() {
    let dir = Dir::new();
    dir.put("cells/released/own.json", br#"{"node":"","epoch":3,"write":"z.1#1"}"#);
    dir.put("cells/other/own.json", br#"{"node":"z.1","epoch":4,"write":"z.1#1"}"#);
    dir.put("cells/corrupt/own.json", b"garbage");
    let before = dir.records();
    for (cell, code, kind) in [
        ("released", 75, "not_owner"),
        ("other", 75, "contended"),
        ("absent", 75, "not_owner"),
        ("corrupt", 65, "corrupt"),
    ] {
        for force in [&["--epoch", "3"][..], &["--epoch", "3", "--force"]] {
            let done = evict(&dir, &[&[cell], force].concat());
            assert_eq!(
                (done.code, done.error()["kind"].as_str()),
                (Some(code), Some(kind)),
                "{cell}: {}",
                done.stderr
            );
        }
    }
    assert_eq!(dir.records(), before);
    for args in [&["other"][..], &["other", "--epoch", "0"]] {
        assert_eq!(evict(&dir, args).code, Some(64));
    }
}

#[test]
fn an_offer_is_withdrawn_from_whoever_has_not_accepted_it() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "2s");
    let mut b = Agent::join(&dir, "b", "2s");
    a.claim("c1");
    a.call(json!({ "do": "transfer", "cell": "c1", "to": b.node }));
    let done = evict(&dir, &["c1", "--epoch", "2"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.lines()[0]["before"]["state"], "offered");
    assert_eq!(b.claim("c1"), 3);
}

/// A node whose lease is gone, or cannot be read, is dead only when that is certain.
#[test]
fn without_a_lease_to_judge_nobody_is_evicted_but_by_force() {
    let dir = Dir::new();
    let owned = |node: &str| dir.put(RECORD, format!(r#"{{"node":"{node}","epoch":7}}"#).as_bytes());
    owned("gone.1");
    let done = evict(&dir, &["c1", "--epoch", "7"]);
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(75), Some("held")), "{}", done.stderr);
    assert!(done.stderr.contains("its lease is missing"), "{}", done.stderr);
    dir.put("retired/gone.1.json", br#"{"node":"gone.1"}"#);
    assert_eq!(evict(&dir, &["c1", "--epoch", "7"]).code, Some(0));

    owned("bad.1");
    let lease = "nodes/bad.1.json";
    dir.put(lease, b"garbage");
    assert_eq!(evict(&dir, &["c1", "--epoch", "7"]).code, Some(75));
    assert_eq!(fs::read(dir.path().join(lease)).expect("a lease"), b"garbage");
    // Longer than any lease lives.
    let file = File::options().write(true).open(dir.path().join(lease)).expect("it is there");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).expect("a stamp");
    let done = evict(&dir, &["c1", "--epoch", "7"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(dir.get(lease)["fenced_by"], "operator");

    owned("gone.2");
    assert_eq!(evict(&dir, &["c1", "--epoch", "7", "--force"]).code, Some(0));
    assert_eq!(Agent::join(&dir, "b", "1s").claim("c1"), 8);
}

/// A server where `x.1`, whose lease lives for a second, owns `c1` at epoch 7 and is dead by now.
fn dead() -> Wire {
    let wire = Wire::new();
    wire.0.put("p/nodes/x.1.json", lease(1).as_bytes());
    wire.0.put("p/cells/c1/own.json", br#"{"node":"x.1","epoch":7,"write":"x.1#9"}"#);
    // Its ttl, and what the stamps of a store may be off by.
    wire.0.wait_until(wire.0.now().after(Duration::from_secs(5)));
    wire
}

fn lease(write: u32) -> String {
    format!(r#"{{"node":"x.1","expires_ms":5,"ttl_ms":1000,"write":"x.1#{write}","zz":1.50}}"#)
}

fn evict_x(wire: &Wire) -> Command {
    wire.tenure(&["evict", "--json", "c1", "--epoch", "7"])
}

fn stored(wire: &Wire, key: &str) -> String {
    let store = wire.0.store();
    String::from_utf8_lossy(store.current(key).expect("it is there")).into_owned()
}

#[test]
fn an_eviction_whose_replies_are_lost_happens_once_and_keeps_what_the_lease_says() {
    let wire = dead();
    wire.0.faults([
        Rule::new(Fault::Drop).on("PUT").below("nodes/").times(1),
        on_cells(Fault::Drop, "PUT").times(1),
    ]);
    let done = finish(evict_x(&wire));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(stored(&wire, "p/nodes/x.1.json").contains(r#""zz":1.50"#));
    assert_eq!((wire.versions("c1"), wire.0.store().history("p/nodes/x.1.json").len()), (2, 2));
    let record: Value = serde_json::from_str(&stored(&wire, "p/cells/c1/own.json")).expect("JSON");
    assert_eq!((&record["node"], &record["epoch"]), (&json!(""), &json!(7)));
}

#[test]
fn an_owner_that_renews_at_the_last_moment_keeps_its_cell() {
    let wire = dead();
    let record = stored(&wire, "p/cells/c1/own.json");
    // Until it has renewed no fence is let through.
    wire.0.faults([Rule::new(named("429")).on("PUT").below("nodes/")]);
    let operator = Process::start(&mut evict_x(&wire));
    wire.await_seen(1, |seen| seen.method == "PUT" && seen.key.contains("nodes/"));
    wire.0.put("p/nodes/x.1.json", lease(2).replace("1000", "60000").as_bytes());
    wire.0.faults([]);
    let done = operator.finish();
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(75), Some("held")), "{}", done.stderr);
    assert_eq!(stored(&wire, "p/cells/c1/own.json"), record);
    assert!(stored(&wire, "p/nodes/x.1.json").contains("x.1#2"));
}

#[test]
fn a_cell_that_has_moved_meanwhile_is_left_to_its_new_owner() {
    let wire = dead();
    wire.0.faults([on_cells(named("429"), "PUT")]);
    let operator = Process::start(&mut evict_x(&wire));
    wire.await_seen(1, |seen| seen.method == "PUT" && seen.key.contains("cells/"));
    let taken = r#"{"node":"y.1","epoch":8,"write":"y.1#1"}"#;
    wire.0.put("p/cells/c1/own.json", taken.as_bytes());
    wire.0.faults([]);
    let done = operator.finish();
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(75), Some("contended")), "{}", done.stderr);
    assert!(done.stderr.contains("now is owned by y.1 at epoch 8"), "{}", done.stderr);
    assert_eq!(stored(&wire, "p/cells/c1/own.json"), taken);
}

/// Something on the way to the store has a clock of its own.
#[test]
fn an_owner_that_lives_is_not_called_dead_by_a_date_that_runs_away() {
    let wire = Wire::new();
    wire.0.put("p/nodes/x.1.json", lease(1).replace("1000", "60000").as_bytes());
    wire.0.put("p/cells/c1/own.json", br#"{"node":"x.1","epoch":7,"write":"x.1#9"}"#);
    wire.0.faults([Rule::new(named("date-ahead")).on("GET").below("nodes/")]);
    let done = finish(evict_x(&wire));
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(75), Some("held")), "{}", done.stderr);
    assert_eq!((wire.versions("c1"), wire.0.store().history("p/nodes/x.1.json").len()), (1, 1));
}

#[test]
fn through_something_that_drops_conditions_no_lease_is_written_over() {
    let wire = dead();
    wire.0.faults([Rule::new(named("ignores-conditions"))]);
    let done = finish(evict_x(&wire));
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(76), Some("unfit")), "{}", done.stderr);
    assert_eq!((wire.versions("c1"), wire.0.store().history("p/nodes/x.1.json").len()), (1, 1));
}

/// What comes in the place of the lease once the fence was sent may hide anything.
#[test]
fn a_fence_of_which_nothing_can_be_read_evicts_nobody_but_by_force() {
    let garbled = || {
        let wire = dead();
        let on = |fault, method| Rule::new(fault).on(method).below("nodes/");
        wire.0.faults([on(Fault::Drop, "PUT").times(1), on(named("empty"), "GET").after(2)]);
        wire
    };
    let wire = garbled();
    let done = finish(evict_x(&wire));
    assert_eq!((done.code, done.error()["kind"].as_str()), (Some(75), Some("held")), "{}", done.stderr);
    assert!(done.stderr.contains("whether it is fenced cannot be read"), "{}", done.stderr);
    assert_eq!(wire.versions("c1"), 1);
    let wire = garbled();
    let done = finish(wire.tenure(&["evict", "--json", "c1", "--epoch", "7", "--force"]));
    assert_eq!((done.code, wire.versions("c1")), (Some(0), 2), "{}", done.stderr);
}

#[test]
fn a_lease_without_time_stamps_or_that_may_not_be_read_proves_nobody_dead() {
    let wire = dead();
    for (fault, code, kind) in [("no-modified", 75, "held"), ("no-date", 75, "held"), ("403", 77, "denied")] {
        wire.0.faults([Rule::new(named(fault)).on("GET").below("nodes/")]);
        let done = finish(evict_x(&wire));
        assert_eq!(
            (done.code, done.error()["kind"].as_str()),
            (Some(code), Some(kind)),
            "{fault}: {}",
            done.stderr
        );
    }
    assert_eq!((wire.versions("c1"), wire.0.store().history("p/nodes/x.1.json").len()), (1, 1));
}
