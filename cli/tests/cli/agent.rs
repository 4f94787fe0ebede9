//! `tenure agent`: the protocol on its lines.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Agent, Dir};

#[test]
fn a_cell_is_claimed_verified_released_and_claimed_again() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "10s");
    assert!(agent.node.starts_with("a."));
    for epoch in [1, 2] {
        let ok = json!({ "cell": "c1", "epoch": epoch });
        assert_eq!(agent.call(json!({ "do": "claim", "cell": "c1" }))["ok"], ok);
        assert_eq!(agent.call(json!({ "do": "claim", "cell": "c1" }))["ok"], ok, "the same tenure");
        assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["ok"], ok);
        assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1", "epoch": epoch }))["ok"], ok);
        let other = agent.call(json!({ "do": "verify", "cell": "c1", "epoch": epoch + 1 }));
        assert_eq!(other["error"]["kind"], "not_owner");
        assert_eq!(agent.call(json!({ "do": "release", "cell": "c1" }))["ok"], ok);
        for verb in ["release", "verify"] {
            assert_eq!(agent.call(json!({ "do": verb, "cell": "c1" }))["error"]["kind"], "not_owner");
        }
    }
}

#[test]
fn any_id_comes_back_and_bad_lines_kill_nobody() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "10s");
    for id in [json!("x"), json!([1, { "a": null }]), json!(1.5), json!(true)] {
        agent.send(format!("{}\n", json!({ "id": id, "do": "locate", "cell": "c1" })).as_bytes());
        let answer = agent.hear(|line| line["id"] == id);
        assert_eq!(answer["ok"], json!({ "cell": "c1", "state": "free" }));
    }
    let listed = "[null,\"peers\",null,null,null,null,null,null]";
    let twice = "{\"do\":\"peers\",\"do\":\"leave\"}";
    for line in
        ["nonsense", "[]", "7", "\"x\"", "{\"do\":\"claim\"}", "\u{0}", "{\"do\":\"fly\"}", listed, twice]
    {
        agent.send(format!("{line}\n\n").as_bytes());
        let answer = agent.hear(|line| line["id"].is_null() && line.get("error").is_some());
        assert_eq!(answer["error"]["kind"], "usage", "{line}");
    }
    agent.send(b"\xff\xfe{\n");
    agent.hear(|line| line["error"]["kind"] == "usage");
    let refused = agent.call(json!({ "do": "claim", "cell": "a/b" }));
    assert_eq!(refused["error"]["kind"], "usage");
    assert!(refused["error"]["message"].as_str().expect("text").contains("a$2Fb"));
    assert_eq!(agent.claim("c1"), 1);
}

#[test]
fn a_line_of_many_megabytes_is_refused_and_the_next_one_heard() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "10s");
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..20 {
        agent.send(&chunk);
    }
    agent.send(b"\n");
    let answer = agent.hear(|line| line.get("error").is_some());
    assert_eq!(answer["error"]["kind"], "usage");
    assert_eq!(agent.claim("c1"), 1);
}

#[test]
fn a_claim_that_waits_holds_up_nobody() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "10s");
    let mut b = Agent::join(&dir, "b", "10s");
    a.claim("c1");
    let waiting = b.ask(json!({ "do": "claim", "cell": "c1", "wait_ms": 50_000 }));
    let asked: Vec<u64> =
        (0..100).map(|n| b.ask(json!({ "do": "claim", "cell": format!("d{n}") }))).collect();
    for id in asked {
        assert_eq!(b.answer(id)["ok"]["epoch"], 1);
    }
    a.call(json!({ "do": "release", "cell": "c1" }));
    assert_eq!(b.answer(waiting)["ok"]["epoch"], 2);
}

#[test]
fn a_wait_that_runs_out_names_the_owner() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "10s");
    let mut b = Agent::join(&dir, "b", "10s");
    a.claim("c1");
    let error = b.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 200 }))["error"].clone();
    assert_eq!(
        (&error["kind"], &error["node"], &error["epoch"]),
        (&json!("timeout"), &json!(a.node), &json!(1))
    );
}

#[test]
fn a_transferred_cell_has_its_new_epoch_from_the_start() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "10s");
    let mut b = Agent::join(&dir, "b", "10s");
    a.claim("c1");
    let to_self = a.call(json!({ "do": "transfer", "cell": "c1", "to": a.node }));
    assert_eq!(to_self["error"]["kind"], "usage");
    assert_eq!(a.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1, "it goes on");
    let given = a.call(json!({ "do": "transfer", "cell": "c1", "to": b.node }));
    assert_eq!(given["ok"], json!({ "cell": "c1", "epoch": 2, "node": b.node }));
    assert_eq!(a.call(json!({ "do": "verify", "cell": "c1" }))["error"]["kind"], "not_owner");
    assert_eq!(b.claim("c1"), 2);
    let at = a.call(json!({ "do": "locate", "cell": "c1" }))["ok"].clone();
    assert_eq!((&at["state"], &at["node"], &at["epoch"]), (&json!("at"), &json!(b.node), &json!(2)));
    let here = b.call(json!({ "do": "locate", "cell": "c1" }))["ok"].clone();
    assert_eq!((&here["state"], &here["node"], &here["epoch"]), (&json!("here"), &json!(b.node), &json!(2)));
}

#[test]
fn peers_show_what_was_published() {
    let dir = Dir::new();
    let mut a = Agent::join(&dir, "a", "2s");
    let mut b = Agent::join(&dir, "b", "2s");
    let load = json!({ "sampled_ms": 1, "resident_cells": 2, "host_websockets": 3, "rss_bytes": 4,
        "cpu_percent_x100": 5, "open_fds": 6, "fd_limit": 7, "pressured": false, "shed_cells": 8 });
    let ok = a.call(json!({ "do": "publish", "load": load, "meta": { "zone": "z1" } }));
    assert_eq!(ok["ok"], json!({}));
    loop {
        let peers = b.call(json!({ "do": "peers" }))["ok"]["peers"].clone();
        let peers = peers.as_array().expect("a list");
        assert_eq!(peers.len(), 2);
        let peer = peers.iter().find(|peer| peer["node"] == a.node).expect("listed");
        assert_eq!(peer["live"], true);
        // With the next renewal.
        if peer["meta"] == json!({ "zone": "z1" }) && peer["load"] == load {
            break;
        }
    }
    let half = a.call(json!({ "do": "publish", "load": { "sampled_ms": 1 } }));
    assert_eq!(half["error"]["kind"], "usage", "all or none");
}

#[test]
fn a_replaced_record_loses_the_cell_and_nothing_else() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "10s");
    agent.claim("c1");
    agent.claim("c2");
    dir.put("cells/c1/own.json", br#"{"node":"x.1","epoch":9,"write":"x.1#1"}"#);
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c1" }))["error"]["kind"], "not_owner");
    let lost = agent.event("lost");
    assert_eq!(lost, json!({ "event": "lost", "cell": "c1", "epoch": 1, "reason": "record_replaced" }));
    assert_eq!(agent.call(json!({ "do": "verify", "cell": "c2" }))["ok"]["epoch"], 1);
}

#[test]
fn a_corrupt_or_regressed_record_is_an_error_that_names_it() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "10s");
    dir.put("cells/c1/own.json", b"garbage");
    let error = agent.call(json!({ "do": "claim", "cell": "c1" }))["error"].clone();
    assert_eq!((&error["kind"], &error["key"]), (&json!("corrupt"), &json!("cells/c1/own.json")));
    assert!(error["etag"].as_str().is_some_and(|etag| !etag.is_empty()));
    agent.claim("c2");
    agent.call(json!({ "do": "release", "cell": "c2" }));
    agent.claim("c2");
    agent.call(json!({ "do": "release", "cell": "c2" }));
    dir.put("cells/c2/own.json", br#"{"node":"","epoch":1,"write":"x.1#1"}"#);
    let error = agent.call(json!({ "do": "claim", "cell": "c2" }))["error"].clone();
    assert_eq!(
        (&error["kind"], &error["seen"], &error["found"]),
        (&json!("regressed"), &json!(2), &json!(1))
    );
}

#[test]
fn a_fenced_agent_says_so_stays_and_answers_fenced() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "2s");
    agent.claim("c1");
    let key = format!("nodes/{}.json", agent.node);
    let tombstone =
        json!({ "node": agent.node, "expires_ms": 0, "ttl_ms": 1000, "write": "x.1#1", "fenced_by": "x.1" });
    dir.put(&key, tombstone.to_string().as_bytes());
    assert_eq!(agent.event("fenced")["reason"], "lease_fenced");
    let lost = agent.event("lost");
    assert_eq!(lost, json!({ "event": "lost", "cell": "c1", "epoch": 1, "reason": "lease_fenced" }));
    for request in [
        json!({ "do": "claim", "cell": "c2" }),
        json!({ "do": "verify", "cell": "c1" }),
        json!({ "do": "release", "cell": "c1" }),
        json!({ "do": "locate", "cell": "c1" }),
        json!({ "do": "transfer", "cell": "c1", "to": "x.1" }),
        json!({ "do": "peers" }),
        json!({ "do": "publish" }),
    ] {
        assert_eq!(agent.call(request.clone())["error"]["kind"], "fenced", "{request}");
    }
    assert_eq!(dir.get(&key)["write"], "x.1#1", "a fenced session writes nothing");
    let id = agent.ask(json!({ "do": "leave" }));
    assert_eq!(agent.answer(id)["error"]["kind"], "fenced");
    assert_eq!(agent.end().0, Some(0));
}

#[test]
fn to_leave_is_answered_last_and_gives_everything_back() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "60s");
    agent.claim("c1");
    let mut other = Agent::join(&dir, "b", "60s");
    other.claim("c2");
    let waiting = agent.ask(json!({ "do": "claim", "cell": "c2", "wait_ms": 50_000 }));
    let leave = agent.ask(json!({ "do": "leave" }));
    assert!(agent.answer(waiting).get("error").is_some());
    let node = agent.node.clone();
    let (code, rest) = agent.end();
    assert_eq!((code, rest), (Some(0), vec![json!({ "id": leave, "ok": {} })]));
    assert_left(&dir, &node);
}

#[test]
fn the_end_of_input_leaves_after_what_was_asked_for() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "60s");
    let asked = agent.ask(json!({ "do": "claim", "cell": "c1" }));
    agent.close();
    assert_eq!(agent.answer(asked)["ok"]["epoch"], 1);
    let node = agent.node.clone();
    let (code, rest) = agent.end();
    assert_eq!((code, rest), (Some(0), Vec::<Value>::new()));
    assert_left(&dir, &node);
}

#[test]
fn at_the_end_of_input_no_claim_waits_for_another_owner() {
    let dir = Dir::new();
    let mut owner = Agent::join(&dir, "b", "60s");
    owner.claim("c2");
    let mut agent = Agent::join(&dir, "a", "60s");
    agent.claim("c1");
    // One that waits already, and some that are asked for with the last words. An agent that let them wait
    // would answer after a whole ttl, and then that its session is over.
    let waiting = agent.ask(json!({ "do": "claim", "cell": "c2", "wait_ms": 600_000 }));
    let located = agent.ask(json!({ "do": "locate", "cell": "c2" }));
    assert_eq!(agent.answer(located)["ok"]["node"], owner.node);
    let held = agent.ask(json!({ "do": "claim", "cell": "c2", "wait_ms": 600_000 }));
    let free = agent.ask(json!({ "do": "claim", "cell": "c3", "wait_ms": 600_000 }));
    let verified = agent.ask(json!({ "do": "verify", "cell": "c1" }));
    agent.close();
    for id in [waiting, held] {
        let error = agent.answer(id)["error"].clone();
        assert_eq!((&error["kind"], &error["node"]), (&json!("timeout"), &json!(owner.node)));
    }
    assert_eq!(agent.answer(free)["ok"]["epoch"], 1);
    assert_eq!(agent.answer(verified)["ok"]["epoch"], 1);
    let node = agent.node.clone();
    assert_eq!(agent.end().0, Some(0));
    assert_left(&dir, &node);
    assert_eq!(dir.get("cells/c3/own.json")["node"], "");
}

#[test]
fn a_request_to_end_leaves_gracefully() {
    for signal in [Signal::TERM, Signal::INT] {
        let dir = Dir::new();
        let mut agent = Agent::join(&dir, "a", "60s");
        agent.claim("c1");
        agent.process.signal(signal);
        let node = agent.node.clone();
        assert_eq!(agent.end().0, Some(0));
        assert_left(&dir, &node);
    }
}

#[test]
fn an_agent_whose_output_nobody_reads_leaves() {
    let dir = Dir::new();
    let mut command = dir.tenure(&["agent", "--ttl", "60s"]);
    let (mut process, stdout) =
        crate::support::Process::start_piped(command.stdin(std::process::Stdio::piped()));
    drop(stdout);
    assert_eq!(process.status().code(), Some(0));
}

/// Tells by the records that a node left gracefully: its cell is free, its lease a tombstone of its own.
fn assert_left(dir: &Dir, node: &str) {
    assert_eq!(dir.get("cells/c1/own.json")["node"], "");
    let lease = dir.get(&format!("nodes/{node}.json"));
    assert_eq!((&lease["expires_ms"], &lease["fenced_by"]), (&json!(0), &json!(node)));
}
