//! What an operator changes in a real store: garbage, a missing record and a dead node's cell, each by its own condition.

use core::time::Duration;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::Value;
use tenure_blocking::{CellId, NodeId, Op, Reply, Store};
use tenure_core::{AttemptId, Guard, Holder, Key, WriteOp, WriteReply};

use crate::bucket::{Place, Server};

#[test]
fn an_operator_mends_and_frees_cells_on_every_store() {
    // Most of the time is spent waiting for a lease to end, so all of them wait together.
    thread::scope(|scope| {
        for server in Server::ALL {
            scope.spawn(move || mend_and_free(&Place::new(server, "operator")));
        }
    });
}

fn mend_and_free(place: &Place) {
    let (dead, x) = (cell("dead"), NodeId::parse("x.1").expect("legal"));
    put(place, Key::lease(&x), br#"{"node":"x.1","expires_ms":5,"ttl_ms":1000,"write":"x.1#1","zz":1.50}"#);
    put(place, Key::owner(&dead), br#"{"node":"x.1","epoch":7,"write":"x.1#2"}"#);
    put(place, Key::owner(&cell("corrupt")), b"garbage");

    for mended in ["corrupt", "missing"] {
        assert_done(&tenure(place, &["repair", mended, "--epoch", "7"]));
        assert_free(place, mended);
        let again = tenure(place, &["repair", mended, "--epoch", "9"]);
        assert_eq!(again.status.code(), Some(75), "{}: {again:?}", place.server);
        assert_free(place, mended);
    }

    let evicted = loop {
        let output = tenure(place, &["evict", "dead", "--epoch", "7"]);
        match output.status.code() {
            // Until its lease has ended by the store's stamps.
            Some(75) => assert_eq!(error(&output)["kind"], "held", "{}: {output:?}", place.server),
            _ => break output,
        }
    };
    assert_done(&evicted);
    assert_free(place, "dead");
    let lease = place.lease("x.1");
    assert!(lease.record.is_tombstone(), "{}: {lease:?}", place.server);
    assert!(String::from_utf8_lossy(&lease.body).contains(r#""zz":1.50"#), "{}: {lease:?}", place.server);
}

#[track_caller]
fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[track_caller]
fn assert_free(place: &Place, cell: &str) {
    let owner = place.owner(cell).expect("it has a record").record;
    assert_eq!((owner.holder(), owner.epoch.get()), (Holder::Nobody, 7), "{} {cell}", place.server);
}

fn error(output: &Output) -> Value {
    let line: Value = serde_json::from_slice(&output.stderr).expect("one JSON object on standard error");
    line["error"].clone()
}

fn tenure(place: &Place, command: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["--json", "--store", &place.url, "--endpoint", &place.server.endpoint()])
        .args(command)
        .stdin(Stdio::null())
        .output()
        .expect("it can be started")
}

/// Puts what was not there before.
fn put(place: &Place, key: Key, body: &[u8]) {
    let (id, timeout) = (AttemptId::new(1), Duration::from_secs(10));
    let op = WriteOp { id, key, guard: Guard::Absent, body: body.into(), timeout };
    let reply = place.store().execute(Op::Write(op));
    assert!(matches!(reply, Reply::Write(WriteReply::Applied { .. })), "{}: {reply:?}", place.server);
}

fn cell(name: &str) -> CellId {
    CellId::new(name).expect("legal")
}
