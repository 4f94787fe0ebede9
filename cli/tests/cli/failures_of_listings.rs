//! Entries of `docs/failures.md` about listings: the binary against the fault server.

use serde_json::{Value, json};
use tenure_sim::server::{Fault, Rule};

use crate::support::{Finished, finish};
use crate::wire::Wire;

#[test]
fn bl_46_a_listing_that_cannot_be_ended_is_an_error_and_not_what_was_listed_so_far() {
    let wire = Wire::new();
    for cell in ["c1", "c2", "c3"] {
        assert_eq!(finish(wire.run_on(cell)).code, Some(0));
    }
    let cells = wire.tenure(&["cells", "--json"]);
    assert_eq!(finish(cells).lines().len(), 3);
    for fault in [Fault::NoToken, Fault::RepeatToken] {
        wire.0.faults([Rule::new(Fault::ShortPage(1)), Rule::new(fault)]);
        let done = finish(wire.tenure(&["cells", "--json"]));
        assert_ne!(done.code, Some(0), "{fault}: {}", done.stdout);
        assert!(done.error()["message"].as_str().is_some_and(|text| !text.is_empty()), "{fault}");
    }
}

#[test]
fn bl_46_every_page_of_2500_nodes_and_of_their_cells_is_listed() {
    const COUNT: usize = 2500;
    let wire = Wire::new();
    for number in 0..COUNT {
        let node = format!("n{number:04}.1");
        let lease = json!({ "node": node, "expires_ms": 0, "fenced_by": "x.1" });
        wire.0.put(&format!("p/nodes/{node}.json"), lease.to_string().as_bytes());
        // Each has a character that a listing must spell otherwise, and one that a URL must.
        let record = json!({ "node": "", "epoch": number + 1 });
        wire.0.put(&format!("p/cells/c$:{number:04}/own.json"), record.to_string().as_bytes());
    }
    let nodes = finish(wire.tenure(&["nodes", "--json"]));
    let expected: Vec<Value> = (0..COUNT).map(|number| json!(format!("n{number:04}.1"))).collect();
    assert_eq!(listed(&nodes, "node"), expected);
    let cells = finish(wire.tenure(&["cells", "--json"]));
    let expected: Vec<Value> = (0..COUNT).map(|number| json!(format!("c$:{number:04}"))).collect();
    assert_eq!(listed(&cells, "cell"), expected);
    // A page has a thousand keys at most, and each record is read once.
    let listings = wire.0.seen().iter().filter(|seen| !seen.key.ends_with(".json")).count();
    assert_eq!((listings, wire.0.requests()), (6, 6 + 2 * COUNT));
}

#[test]
fn bl_46_a_node_that_no_listing_shows_is_not_dead() {
    let wire = Wire::new();
    let mut holder = wire.join("a");
    assert_eq!(holder.claim("c1"), 1);
    let mut other = wire.join("b");
    // Whatever is listed, there is but one record on it, and it is not the holder's.
    wire.0.put("p/nodes/!.json", b"{}");
    wire.0.faults([Rule::new(Fault::ShortPage(1)), Rule::new(Fault::RepeatToken)]);
    let listed = other.call(json!({ "do": "peers" }));
    assert_eq!(listed["error"]["kind"], "inconsistent", "{listed}");
    let refused = other.call(json!({ "do": "claim", "cell": "c1" }));
    assert_eq!(refused["error"]["kind"], "held", "{refused}");
    assert_eq!(holder.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
}

/// A listing that leaves out a living node's lease: nothing that looks at the fleet, or for a cell, counts it as dead.
#[test]
fn bl_46_absence_from_a_list_never_proves_a_node_dead() {
    let wire = Wire::new();
    let mut holder = wire.join("a");
    assert_eq!(holder.claim("c1"), 1);
    let mut other = wire.join("b");
    let shown = |args: &[&str]| finish(wire.tenure(&[args, &["--json"]].concat()));
    let nodes = || listed(&shown(&["nodes"]), "node");
    assert_eq!(nodes(), [json!(holder.node), json!(other.node)]);
    // The keys of a page are in order, so that the first is the holder's.
    wire.0.faults([Rule::new(Fault::HidesFirst(1)).below("nodes/")]);
    assert_eq!(nodes(), [json!(other.node)], "the fault is there");
    for args in [&["cells"][..], &["owner", "c1"]] {
        let cell = shown(args).lines().remove(0);
        assert_eq!(
            (&cell["node"], &cell["epoch"], &cell["state"]),
            (&json!(holder.node), &json!(1), &json!("held")),
            "{cell}"
        );
    }
    let peers = other.call(json!({ "do": "peers" }));
    let is_holder = |peer: &Value| peer["node"] == json!(holder.node);
    assert!(peers["ok"]["peers"].as_array().is_some_and(|peers| !peers.iter().any(is_holder)), "{peers}");
    // Far longer than a lease lives that is not renewed.
    let refused = other.call(json!({ "do": "claim", "cell": "c1", "wait_ms": 10_000 }));
    assert_eq!(
        (&refused["error"]["kind"], &refused["error"]["node"]),
        (&json!("timeout"), &json!(holder.node)),
        "{refused}"
    );
    let run = wire.run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(75), ""), "{}", run.stderr);
    // Nor may an operator who does not insist.
    let evict = finish(wire.tenure(&["evict", "c1", "--epoch", "1", "--json"]));
    assert_eq!((evict.code, evict.error()["kind"].as_str()), (Some(75), Some("held")), "{}", evict.stderr);
    assert_eq!(holder.call(json!({ "do": "verify", "cell": "c1" }))["ok"]["epoch"], 1);
    assert_eq!(wire.versions("c1"), 1);
    let store = wire.0.store();
    let lease = store.history(&format!("p/nodes/{}.json", holder.node));
    let is_its_own = |body: &[u8]| !String::from_utf8_lossy(body).contains("fenced_by");
    assert!(
        lease.iter().all(|version| version.body.as_deref().is_some_and(is_its_own)),
        "it was never fenced"
    );
}

#[test]
fn bl_38_a_listing_answered_200_with_an_error_inside_is_no_empty_fleet() {
    let wire = Wire::new();
    let _agent = wire.join("a");
    for fault in [Fault::ErrorInSuccess, Fault::Truncate, Fault::EmptyBody, Fault::Html(200)] {
        // Once it is asked for again.
        wire.0.faults([Rule::new(fault).on("GET").times(1)]);
        assert_eq!(finish(wire.tenure(&["nodes", "--json"])).lines().len(), 1, "{fault}");
        wire.0.faults([Rule::new(fault).on("GET")]);
        let done = finish(wire.tenure(&["nodes", "--json"]));
        assert_ne!(done.code, Some(0), "{fault}");
        assert_eq!(done.stdout, "", "{fault}");
    }
}

fn listed(done: &Finished, name: &str) -> Vec<Value> {
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.lines().iter().map(|line| line[name].clone()).collect()
}
