//! `owner`, `cells`, `nodes`: what they show, by the store's clock.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Agent, Dir, finish};

#[test]
fn an_absent_cell_is_free_and_that_is_no_failure() {
    let dir = Dir::new();
    let done = finish(dir.tenure(&["owner", "c1", "--json"]));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let line = &done.lines()[0];
    assert_eq!(
        (&line["cell"], &line["node"], &line["epoch"], &line["state"]),
        (&json!("c1"), &json!(""), &json!(0), &json!("free"))
    );
    assert!(dir.records().is_empty(), "looking wrote something");
}

#[test]
fn every_state_of_a_cell_is_shown() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "1s");
    let mut b = Agent::join(&dir, "b", "1s");
    a.claim("held");
    a.claim("released");
    a.call(json!({ "do": "release", "cell": "released" }));
    a.claim("offered");
    a.call(json!({ "do": "transfer", "cell": "offered", "to": b.node }));
    b.claim("dead");
    b.process.signal(Signal::KILL);
    b.process.status();
    dir.put("cells/missing/own.json", br#"{"node":"gone.1","epoch":4}"#);
    dir.put("cells/retired/own.json", br#"{"node":"old.1","epoch":5}"#);
    dir.put("retired/old.1.json", br#"{"node":"old.1"}"#);
    // Until the dead node's lease has run out, by the store's clock, it counts as living.
    let dead = wait_for(&dir, "dead", "dead");
    assert_eq!((&dead["node"], &dead["epoch"]), (&json!(b.node), &json!(1)));
    let done = finish(dir.tenure(&["cells", "--json"]));
    let shown: Vec<_> =
        done.lines().iter().map(|line| (line["cell"].clone(), line["state"].clone())).collect();
    let expected = [
        ("dead", "dead"),
        ("held", "held"),
        ("missing", "unknown"),
        ("offered", "offered"),
        ("released", "released"),
        ("retired", "dead"),
    ];
    assert_eq!(shown, expected.map(|(cell, state)| (json!(cell), json!(state))));
    let offered = &done.lines()[3];
    assert_eq!((&offered["node"], &offered["epoch"]), (&json!(b.node), &json!(2)));
    let released = &done.lines()[4];
    assert_eq!((&released["node"], &released["epoch"]), (&json!(""), &json!(1)));
}

#[test]
fn a_prefix_selects_cells_and_people_get_columns() {
    let dir = Dir::new();
    for cell in ["a1", "a2", "b1"] {
        dir.put(&format!("cells/{cell}/own.json"), br#"{"node":"","epoch":3}"#);
    }
    let done = finish(dir.tenure(&["cells", "a"]));
    assert_eq!(
        done.stdout,
        "CELL  STATE     EPOCH  NODE  ADDR\na1    released  3      -     -\na2    released  3      -     -\n"
    );
}

#[test]
fn looking_changes_no_record_and_creates_nothing_but_the_clock_of_a_file_store() {
    let dir = Dir::new();
    dir.put("cells/c1/own.json", br#"{"node":"x.1","epoch":3}"#);
    let before = dir.records();
    for args in [&["owner", "c1"][..], &["owner", "c2"], &["cells"], &["nodes"]] {
        assert_eq!(finish(dir.tenure(args)).code, Some(0), "{args:?}");
    }
    assert_eq!(dir.records(), before);
    let names = |dir: &Path| -> BTreeSet<_> {
        fs::read_dir(dir).expect("ours").map(|entry| entry.expect("readable").file_name()).collect()
    };
    assert_eq!(names(dir.path()), BTreeSet::from([".tenure-1".into(), "cells".into()]));
    assert_eq!(names(&dir.path().join(".tenure-1")), BTreeSet::from(["clock".into()]));
}

#[test]
fn all_pages_are_listed_once_each() {
    let dir = Dir::new();
    for at in 0..2345 {
        dir.put(&format!("cells/c{at:04}/own.json"), br#"{"node":"","epoch":3}"#);
    }
    let done = finish(dir.tenure(&["cells", "--json"]));
    let cells: Vec<_> = done.lines().iter().map(|line| line["cell"].clone()).collect();
    assert_eq!(cells, (0..2345).map(|at| json!(format!("c{at:04}"))).collect::<Vec<_>>());
}

#[test]
fn nodes_are_shown_as_living_fenced_or_dead() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "1s");
    let b = Agent::join(&dir, "b", "1s");
    let left = b.node.clone();
    a.call(json!({ "do": "publish", "meta": { "zone": "z1" } }));
    drop(b);
    let state = |node: &str| {
        let done = finish(dir.tenure(&["nodes", "--json"]));
        done.lines().into_iter().find(|line| line["node"] == *node).expect("listed")
    };
    assert_eq!(state(&a.node)["state"], "live");
    // With the next renewal.
    while state(&a.node)["meta"]["zone"] != "z1" {}
    while state(&left)["state"] != "dead" {}
    a.close();
    let node = a.node.clone();
    assert_eq!(a.end().0, Some(0));
    assert_eq!(state(&node)["state"], "fenced");
}

#[test]
fn what_others_wrote_cannot_steer_the_terminal() {
    let dir = Dir::new();
    dir.put("nodes/x.1.json", br#"{"node":"x.1","expires_ms":1,"ttl_ms":60000,"addr":"\u001b[2J"}"#);
    let done = finish(dir.tenure(&["nodes"]));
    assert!(done.stdout.contains("x.1") && !done.stdout.contains('\u{1b}'), "{:?}", done.stdout);
}

/// Looks at a cell until it has this state.
fn wait_for(dir: &Dir, cell: &str, state: &str) -> Value {
    loop {
        let done = finish(dir.tenure(&["owner", cell, "--json"]));
        let line = done.lines().remove(0);
        if line["state"] == state {
            return line;
        }
        assert_eq!(line["state"], "held", "{line}");
    }
}
