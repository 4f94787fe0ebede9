//! Entries of `docs/failures.md` that need real processes, and no more than a directory between them.

use core::time::Duration;
use std::fs::{self, File};
use std::thread;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::support::{Agent, Dir, finish};

#[test]
fn bl_13_bl_48_a_name_that_is_none_is_refused_with_one_that_is() {
    let dir = Dir::new();
    for (name, legal) in [
        ("a+b", "a$2Bb"),
        ("a b", "a$20b"),
        ("100%", "100$25"),
        ("a%2Fb", "a$252Fb"),
        ("user@x.org", "user$40x.org"),
        ("(a)!*'", "$28a$29$21$2A$27"),
        ("a&b=c", "a$26b$3Dc"),
        ("a#b?c", "a$23b$3Fc"),
        ("~t", "$7Et"),
        ("..", "$2E$2E"),
        ("../nodes/n1", "..$2Fnodes$2Fn1"),
        ("a//b", "a$2F$2Fb"),
        ("/a", "$2Fa"),
        ("a/", "a$2F"),
        ("\u{1}", "$01"),
        // One letter, in its two Unicode forms: two names.
        ("\u{e9}", "$C3$A9"),
        ("e\u{301}", "e$CC$81"),
        ("\u{5357}", "$E5$8D$97"),
        ("\u{1f600}", "$F0$9F$98$80"),
    ] {
        let done = finish(dir.tenure(&["owner", name]));
        assert_eq!(done.code, Some(64), "{name:?}: {}", done.stderr);
        assert!(done.stderr.contains(legal), "{name:?}: {}", done.stderr);
        let done = finish(dir.tenure(&["owner", "--json", legal]));
        assert_eq!((done.code, &done.lines()[0]["cell"]), (Some(0), &json!(legal)), "{}", done.stderr);
    }
    for name in ["", &"\u{5357}".repeat(400)] {
        assert_eq!(finish(dir.tenure(&["owner", name])).code, Some(64), "{name:?}");
    }
    // These are names like any other.
    for name in ["own.json", "CON", "2016-10-07T23:30:38Z", "$x"] {
        assert_eq!(finish(dir.tenure(&["owner", name])).code, Some(0), "{name:?}");
    }
    assert!(dir.records().is_empty());
}

#[test]
fn bl_16_two_processes_of_one_name_are_two_nodes() {
    let dir = Dir::new();
    let mut agents = ["c1", "c2"].map(|cell| (Agent::join(&dir, "twin", "1s"), cell));
    assert_ne!(agents[0].0.node, agents[1].0.node);
    for (agent, cell) in &mut agents {
        assert_eq!(agent.claim(cell), 1);
    }
    for (agent, cell) in &mut agents {
        let key = format!("nodes/{}.json", agent.node);
        let first = dir.get(&key)["write"].clone();
        while dir.get(&key)["write"] == first {}
        assert_eq!(agent.call(json!({ "do": "verify", "cell": cell }))["ok"]["epoch"], 1);
    }
    let (other, _) = &mut agents[1];
    let held = other.call(json!({ "do": "claim", "cell": "c1" }))["error"].clone();
    assert_eq!(held["kind"], "held", "{held}");
}

#[test]
fn bl_22_a_grace_that_leaves_no_time_is_refused() {
    let dir = Dir::new();
    for grace in ["1800ms", "2s", "1h"] {
        let args = ["run", "--cell", "c", "--ttl", "2s", "--grace", grace, "--", "echo", "ran"];
        let done = finish(dir.tenure(&args));
        assert_eq!((done.code, done.stdout.as_str()), (Some(64), ""), "{grace}: {}", done.stderr);
        assert!(done.stderr.contains("--grace"), "{grace}: {}", done.stderr);
    }
    assert!(dir.records().is_empty());
}

#[test]
fn bl_32_an_owner_record_removed_under_its_holder_is_told_and_not_made_again() {
    let dir = Dir::new();
    let mut agent = Agent::join(&dir, "a", "2s");
    agent.claim("c1");
    let record = dir.path().join("cells/c1/own.json");
    fs::remove_file(&record).expect("it is there");
    let refused = agent.call(json!({ "do": "verify", "cell": "c1" }))["error"].clone();
    assert_eq!(refused["kind"], "not_owner", "{refused}");
    assert_eq!(agent.event("lost")["reason"], "record_removed");
    assert!(!record.exists());
    // What was held at epoch 1 is not to be had at epoch 1 from one who knows.
    let refused = agent.call(json!({ "do": "claim", "cell": "c1" }))["error"].clone();
    assert_eq!(refused["kind"], "regressed", "{refused}");
    assert!(!record.exists());
}

#[test]
fn bl_50_every_end_of_a_lease_has_its_own_reason() {
    type Break = fn(&Dir, &str);
    let ends: [(&str, Break); 4] = [
        ("lease_removed", |dir, key| fs::remove_file(dir.path().join(key)).expect("it is there")),
        ("lease_replaced", |dir, key| {
            let mut lease = dir.get(key);
            lease["write"] = json!("x.1#1");
            dir.put(key, lease.to_string().as_bytes());
        }),
        ("lease_fenced", |dir, key| {
            let mut lease = dir.get(key);
            (lease["write"], lease["expires_ms"], lease["fenced_by"]) =
                (json!("x.1#1"), json!(0), json!("x.1"));
            dir.put(key, lease.to_string().as_bytes());
        }),
        ("expired", |dir, _| {
            // Nothing can be read or written where the store was.
            fs::rename(dir.path(), dir.path().with_extension("moved")).expect("moved");
        }),
    ];
    // Most of the time is spent waiting, so all of them wait together.
    thread::scope(|scope| {
        for (reason, end) in ends {
            scope.spawn(move || {
                let dir = Dir::new();
                let mut agent = Agent::join(&dir, "a", "2s");
                agent.claim("c1");
                end(&dir, &format!("nodes/{}.json", agent.node));
                let fenced = agent.event("fenced");
                assert_eq!(fenced["reason"], reason);
                let by = match reason {
                    "lease_fenced" => json!("x.1"),
                    "lease_replaced" => json!(agent.node),
                    _ => Value::Null,
                };
                assert_eq!(fenced["by"], by, "{fenced}");
                // Whoever looks for the cause sees at once whether time had run out.
                let (headroom, renewed) = (fenced["headroom_ms"].as_u64(), fenced["renewed_ms_ago"].as_u64());
                assert_eq!(headroom == Some(0), reason == "expired", "{fenced}");
                assert!(renewed.is_some_and(|ago| reason != "expired" || ago >= 1500), "{fenced}");
                assert_eq!(fenced["fault"].is_string(), reason == "expired", "{fenced}");
                assert_eq!(agent.event("lost")["reason"], reason);
                let _ = fs::remove_dir_all(dir.path().with_extension("moved"));
            });
        }
    });
}

#[test]
fn bl_51_no_expiry_written_in_a_lease_locks_its_cell() {
    const DAY_MS: u64 = 86_400_000;
    let dir = Dir::new();
    let now = now_ms();
    let mut agent = Agent::join(&dir, "a", "1s");
    let absurd = [0, 1, now + 365 * DAY_MS, 1 << 63, u64::MAX];
    let claims: Vec<(u64, u64)> = (absurd.into_iter().enumerate())
        .map(|(number, expires_ms)| {
            let cell = hold(&dir, number, &json!(expires_ms));
            (expires_ms, agent.ask(json!({ "do": "claim", "cell": cell, "wait_ms": 30_000 })))
        })
        .collect();
    // It is said whose clock wrote nonsense.
    let nodes = finish(dir.tenure(&["nodes"])).stdout;
    assert!(nodes.contains(", by a clock 365 days ahead"), "{nodes}");
    for (expires_ms, claim) in claims {
        let granted = agent.answer(claim);
        assert_eq!(granted["ok"]["epoch"], 8, "{expires_ms}: {granted}");
    }
    // One that died three days ago is waited for by nobody, whatever it wrote.
    for (number, expires_ms) in [(10, now - 3 * DAY_MS), (11, now + 365 * DAY_MS)] {
        let cell = hold(&dir, number, &json!(expires_ms));
        let lease = File::options().write(true).open(dir.path().join(format!("nodes/x.{number}.json")));
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_millis(now - 3 * DAY_MS);
        lease.expect("it is there").set_modified(long_ago).expect("a stamp");
        let granted = agent.call(json!({ "do": "claim", "cell": cell, "wait_ms": 0 }));
        assert_eq!(granted["ok"]["epoch"], 8, "{expires_ms}: {granted}");
    }
}

/// Lets a dead node hold a cell at epoch 7, and returns the cell.
fn hold(dir: &Dir, number: usize, expires_ms: &Value) -> String {
    let (node, cell) = (format!("x.{number}"), format!("c{number}"));
    let lease = json!({ "node": node, "expires_ms": expires_ms, "addr": "-", "peer_protocol": 1, "ttl_ms": 1000,
        "write": format!("{node}#1") });
    dir.put(&format!("nodes/{node}.json"), lease.to_string().as_bytes());
    let owner = json!({ "node": node, "epoch": 7, "write": format!("{node}#2") });
    dir.put(&format!("cells/{cell}/own.json"), owner.to_string().as_bytes());
    cell
}

#[expect(clippy::disallowed_methods, reason = "a test writes what another host would have written")]
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_millis()).expect("it fits")
}
