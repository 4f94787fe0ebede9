//! The blocking driver's node: this test binary, run again, speaking as much of the agent's lines as the
//! scenarios use, and `is_held` besides. It does one thing at a time.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::env;
use std::io::stdin;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use tenure_blocking::{Cell, CellId, Config, Node, NodeId, OpenOptions, open};

use crate::bucket::Place;

/// What it is: name, ttl in milliseconds, store and endpoint, separated by blanks.
const ROLE: &str = "TENURE_TEST_HOLDER";

/// Returns the command that starts a node on the blocking driver.
pub(crate) fn command(place: &Place, ttl: Duration, name: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this test"));
    let role = format!("{name} {} {} {}", ttl.as_millis(), place.url, place.server.endpoint());
    command
        .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", "holder::a_node_of_another_test"])
        .env(ROLE, role);
    command
}

#[test]
#[ignore = "not a test: the process of a node in the other tests"]
fn a_node_of_another_test() {
    let role = env::var(ROLE).expect("started by another test");
    let [name, ttl, url, endpoint] = role.split(' ').collect::<Vec<_>>().try_into().expect("four words");
    let options = OpenOptions { endpoint: Some(endpoint.to_owned()), ..OpenOptions::default() };
    let store = open(url, &options).expect("a store");
    let ttl = Duration::from_millis(ttl.parse().expect("a number"));
    let node = Node::join(Config::new(name).with_ttl(ttl), store).expect("a fit store");
    // Standard output belongs to the test harness.
    eprintln!("{}", json!({ "event": "joined", "node": node.id().as_str() }));
    let fence = node.clone();
    thread::spawn(move || eprintln!("{}", json!({ "event": "fenced", "reason": fence.fenced().as_str() })));
    serve(&node);
}

/// Answers until the input ends or asks to leave.
fn serve(node: &Node) {
    let mut cells = BTreeMap::new();
    for line in stdin().lines() {
        let request: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        let is_last = request["do"] == "leave";
        if is_last {
            cells.clear();
            node.clone().leave();
        }
        let answer = if is_last { Ok(json!({})) } else { act(node, &mut cells, &request) };
        let (word, value) = answer.map_or_else(|error| ("error", error), |ok| ("ok", ok));
        eprintln!("{}", json!({ "id": request["id"], word: value }));
        if is_last {
            return;
        }
    }
}

fn act(node: &Node, cells: &mut BTreeMap<String, Cell>, request: &Value) -> Result<Value, Value> {
    let name = request["cell"].as_str().expect("a cell").to_owned();
    let verb = request["do"].as_str().expect("a verb");
    if verb == "claim" {
        let wait = Duration::from_millis(request["wait_ms"].as_u64().unwrap_or(0));
        let id = CellId::new(&name).expect("legal");
        let cell = node.claim_within(id, wait).map_err(|error| failure(error.kind(), &error))?;
        let answer = json!({ "cell": name, "epoch": cell.epoch().get() });
        cells.insert(name, cell);
        return Ok(answer);
    }
    let Some(cell) = cells.get(&name) else {
        return Err(failure("not_owner", &"it was never claimed, or given up"));
    };
    let answer = json!({ "cell": name, "epoch": cell.epoch().get() });
    match verb {
        "is_held" => return Ok(json!({ "is_held": cell.is_held() })),
        "release" => {
            let cell = cells.remove(&name).expect("just found");
            cell.release().map_err(|error| failure(error.kind(), &error))?;
        }
        "transfer" => {
            let to = NodeId::parse(request["to"].as_str().expect("a node")).expect("legal");
            // The handle is kept, to see that it is worth nothing.
            let epoch = cell.clone().transfer(to).map_err(|error| failure(error.kind(), &error))?;
            return Ok(json!({ "cell": name, "epoch": epoch.get() }));
        }
        "verify" => cell.verify().map_err(|error| failure(error.kind(), &error))?,
        other => panic!("what is {other}?"),
    }
    Ok(answer)
}

fn failure(kind: &str, message: &dyn fmt::Display) -> Value {
    json!({ "kind": kind, "message": message.to_string() })
}
