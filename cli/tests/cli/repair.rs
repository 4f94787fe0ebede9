//! `repair`: what it mends, and what it leaves alone.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Agent, Dir, Finished, finish, tenure};

const RECORD: &str = "cells/c1/own.json";

fn repair(dir: &Dir, args: &[&str]) -> Finished {
    finish(dir.tenure(&[&["repair", "--json"], args].concat()))
}

#[test]
fn whatever_is_no_record_is_mended_and_the_next_claim_has_the_epoch_above() {
    let whole = r#"{"node":"n.1","epoch":7,"write":"n.1#3"}"#;
    let huge = format!("{whole}{}", " ".repeat(70_000));
    let bodies: [&[u8]; 9] = [
        b"",
        b"\xff\xfe",
        b"null",
        b"<html>",
        br#"{"node":"n.1"}"#,
        br#"{"node":"n.1","epoch":0}"#,
        br#"{"node":"../x","epoch":7}"#,
        &whole.as_bytes()[..whole.len() - 1],
        huge.as_bytes(),
    ];
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "1s");
    for (at, body) in bodies.iter().enumerate() {
        let cell = format!("c{at}");
        let key = format!("cells/{cell}/own.json");
        dir.put(&key, body);
        let done = repair(&dir, &[&cell, "--epoch", "7"]);
        assert_eq!(done.code, Some(0), "{cell}: {}", done.stderr);
        let said = &done.lines()[0];
        assert_eq!((&said["cell"], &said["state"]), (&json!(cell), &json!("released")), "{said}");
        assert_eq!((&said["node"], &said["epoch"]), (&json!(""), &json!(7)), "{said}");
        let before = &said["before"];
        assert_eq!(before["state"], "corrupt", "{said}");
        assert!(
            String::from_utf8_lossy(body).starts_with(before["text"].as_str().expect("its text")),
            "{said}"
        );
        let record = dir.get(&key);
        assert_eq!((&record["node"], &record["epoch"]), (&json!(""), &json!(7)), "{record}");
        assert!(record["write"].as_str().is_some_and(|write| write.starts_with("operator#")), "{record}");
        assert_eq!(agent.claim(&cell), 8);
    }
}

#[test]
fn bl_32_a_record_removed_under_its_holder_is_mended_at_its_epoch_and_no_epoch_comes_twice() {
    let dir = Dir::new();
    dir.put(RECORD, br#"{"node":"","epoch":6,"write":"z.1#1"}"#);
    let mut holder = Agent::join(&dir, "a", "2s");
    assert_eq!(holder.claim("c1"), 7);
    let record = dir.path().join(RECORD);
    fs::remove_file(&record).expect("it is there");
    let refused = holder.call(json!({ "do": "verify", "cell": "c1" }))["error"].clone();
    assert_eq!(refused["kind"], "not_owner", "{refused}");
    let lost = holder.event("lost");
    assert_eq!((&lost["epoch"], &lost["reason"]), (&json!(7), &json!("record_removed")));
    // Who knows of epoch 7 says so, and makes nothing new.
    let refused = holder.call(json!({ "do": "claim", "cell": "c1" }))["error"].clone();
    assert_eq!((&refused["kind"], &refused["seen"]), (&json!("regressed"), &json!(7)), "{refused}");
    let advice = refused["message"].as_str().expect("a sentence");
    assert!(advice.contains("`tenure repair`"), "{advice}");
    assert!(!record.exists());

    let done = repair(&dir, &["c1", "--epoch", "7"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.lines()[0]["before"]["state"], "free");
    // A process that knows nothing gets the same epoch as one that does.
    let mut other = Agent::join(&dir, "b", "2s");
    assert_eq!(other.claim("c1"), 8);
    let held = holder.call(json!({ "do": "claim", "cell": "c1" }))["error"].clone();
    assert_eq!((&held["kind"], &held["epoch"]), (&json!("held"), &json!(8)), "{held}");
    other.call(json!({ "do": "release", "cell": "c1" }));
    assert_eq!(holder.claim("c1"), 9);
}

#[test]
fn bl_32_a_restored_record_is_raised_by_force_only() {
    let dir = Dir::new();
    dir.put(RECORD, br#"{"node":"","epoch":6,"write":"z.1#1"}"#);
    let mut agent = Agent::join(&dir, "a", "2s");
    assert_eq!(agent.claim("c1"), 7);
    agent.call(json!({ "do": "release", "cell": "c1" }));
    let restored = br#"{"node":"old.1","epoch":3,"write":"old.1#1"}"#;
    dir.put(RECORD, restored);
    let refused = agent.call(json!({ "do": "claim", "cell": "c1" }))["error"].clone();
    assert_eq!((&refused["kind"], &refused["seen"]), (&json!("regressed"), &json!(7)), "{refused}");
    for args in
        [&["c1", "--epoch", "7"][..], &["c1", "--epoch", "3", "--force"], &["c1", "--epoch", "2", "--force"]]
    {
        is_left_alone(&dir, args, "old.1", 3);
    }
    assert_eq!(fs::read(dir.path().join(RECORD)).expect("a record"), restored);
    let done = repair(&dir, &["c1", "--epoch", "7", "--force"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let said = &done.lines()[0];
    assert_eq!((&said["before"]["node"], &said["before"]["epoch"]), (&json!("old.1"), &json!(3)), "{said}");
    assert!(said["note"].as_str().is_some_and(|note| note.contains("old.1")), "{said}");
    assert_eq!(agent.claim("c1"), 8);
}

#[test]
fn a_sound_record_is_left_alone_and_what_to_do_instead_is_said() {
    let dir = Dir::new();
    let mut holder = Agent::join(&dir, "a", "1s");
    let other = Agent::join(&dir, "b", "1s");
    holder.claim("c1");
    let said = is_left_alone(&dir, &["c1", "--epoch", "9"], &holder.node, 1);
    assert!(said.contains("whose lease is live; stop that node"), "{said}");
    assert_eq!(holder.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    holder.call(json!({ "do": "transfer", "cell": "c1", "to": other.node }));
    let said = is_left_alone(&dir, &["c1", "--epoch", "9"], &other.node, 2);
    assert!(said.contains("offered to b."), "{said}");
    assert_eq!(holder.claim("c1"), 3);
    holder.call(json!({ "do": "release", "cell": "c1" }));
    let said = is_left_alone(&dir, &["c1", "--epoch", "3"], "", 3);
    assert!(said.contains("released at epoch 3; the next claim gets the cell"), "{said}");
}

#[test]
fn a_holder_that_is_overruled_by_force_finds_out_when_it_asks() {
    let dir = Dir::new();
    let mut holder = Agent::join(&dir, "a", "2s");
    holder.claim("c1");
    let done = repair(&dir, &["c1", "--epoch", "5", "--force"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.lines()[0]["before"]["state"], "held");
    let refused = holder.call(json!({ "do": "verify", "cell": "c1" }))["error"].clone();
    assert_eq!(refused["kind"], "not_owner", "{refused}");
    assert_eq!(holder.event("lost")["reason"], "record_replaced");
    assert_eq!(holder.claim("c1"), 6);
}

#[test]
fn an_epoch_that_can_still_be_read_is_not_gone_below_unless_forced() {
    let dir = Dir::new();
    let body = br#"{"node":"n.1","epoch":9,"write":"n.1#3""#;
    dir.put(RECORD, body);
    let done = repair(&dir, &["c1", "--epoch", "8"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(65), ""), "{}", done.stderr);
    let error = done.error();
    assert_eq!(
        (&error["kind"], &error["seen"], &error["key"]),
        (&json!("regressed"), &json!(9), &json!(RECORD))
    );
    assert_eq!(fs::read(dir.path().join(RECORD)).expect("a record"), body);
    let done = repair(&dir, &["c1", "--epoch", "8", "--force"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let note = done.lines()[0]["note"].clone();
    assert!(note.as_str().is_some_and(|said| said.contains("from 9 to 9")), "{note}");
    assert_eq!(dir.get(RECORD)["epoch"], 8);
}

#[test]
fn people_see_what_was_there_and_what_is_now() {
    let dir = Dir::new();
    dir.put(RECORD, b"\x1b[2J{\"node\":\"n.1\",\"epoch\":7");
    let done = finish(dir.tenure(&["repair", "c1", "--epoch", "7"]));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let lines: Vec<_> = done.stdout.lines().collect();
    let [before, excerpt, after, note] = lines[..] else { panic!("{}", done.stdout) };
    assert!(before.starts_with("before  corrupt (etag "), "{before}");
    assert_eq!(excerpt, "        \u{fffd}[2J{\"node\":\"n.1\",\"epoch\":7");
    assert_eq!(after, "after   released at epoch 7: the next claim gets epoch 8");
    assert!(note.contains("stop it, or let it verify"), "{note}");
}

#[test]
fn the_epoch_has_to_be_said_and_must_leave_room_for_another() {
    let dir = Dir::new();
    for epoch in [
        &[][..],
        &["--epoch", "0"],
        &["--epoch", "-1"],
        &["--epoch", "18446744073709551615"],
        &["--epoch", "x"],
    ] {
        let done = repair(&dir, &[&["c1"], epoch].concat());
        assert_eq!(done.code, Some(64), "{epoch:?}: {}", done.stderr);
        assert!(done.stderr.contains("--epoch"), "{epoch:?}: {}", done.stderr);
    }
    assert!(dir.records().is_empty());
    assert_eq!(finish(tenure(&["repair", "c1", "--epoch", "1"])).code, Some(64));
    assert_eq!(repair(&dir, &["c1", "--epoch", "18446744073709551614"]).code, Some(0));
    assert_eq!(Agent::join(&dir, "a", "1s").claim("c1"), u64::MAX);
}

#[test]
fn of_operators_that_mend_one_record_at_once_exactly_one_does() {
    let dir = Dir::new();
    dir.put(RECORD, b"garbage");
    let epochs = ["7", "8", "9", "10"];
    let (mut applied, mut refused) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let mend = |epoch| (epoch, repair(&dir, &["c1", "--epoch", epoch]));
        let all = epochs.map(|epoch| scope.spawn(move || mend(epoch)));
        for operator in all {
            let (epoch, done) = operator.join().expect("no panic");
            match done.code {
                Some(0) => applied.push(epoch.to_owned()),
                Some(75) => refused += 1,
                _ => panic!("{epoch}: {done:?}"),
            }
        }
    });
    assert_eq!((applied.len(), refused), (1, 3));
    assert_eq!(dir.get(RECORD)["epoch"].to_string(), applied[0]);
}

#[test]
fn a_dead_owner_s_record_is_sound_too() {
    let dir = Dir::new();
    let mut holder = Agent::join(&dir, "a", "1s");
    holder.claim("c1");
    holder.process.signal(Signal::KILL);
    holder.process.status();
    let said = is_left_alone(&dir, &["c1", "--epoch", "9"], &holder.node, 1);
    assert!(said.contains("whose lease is "), "{said}");
    assert_eq!(dir.get(RECORD)["epoch"], 1);
}

/// Demands that a sound record is not written over, and returns what is said.
fn is_left_alone(dir: &Dir, args: &[&str], node: &str, epoch: u64) -> String {
    let before = dir.get(RECORD);
    let done = repair(dir, args);
    assert_eq!((done.code, done.stdout.as_str()), (Some(75), ""), "{args:?}: {}", done.stderr);
    let error = done.error();
    assert_eq!(
        (&error["kind"], &error["node"], &error["epoch"]),
        (&json!("sound"), &json!(node), &json!(epoch))
    );
    assert_eq!(dir.get(RECORD), before, "{args:?}");
    error["message"].as_str().map(str::to_owned).unwrap_or_else(|| panic!("{}", Value::from(done.stderr)))
}
