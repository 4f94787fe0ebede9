//! Stores that cannot be used: one error that says what to do, the documented exit code, and no write.

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tenure_blocking::{FaultKind, ListReply};

use crate::bucket::{Place, Server};
use crate::nobody::Nobody;

/// A node on the async driver, and a look at the store on the blocking one.
const COMMANDS: [&[&str]; 2] = [&["agent", "--name", "n"], &["owner", "c"]];

#[test]
fn a_wrong_secret_is_denied() {
    let place = Place::new(Server::SeaweedFs, "denied");
    for command in COMMANDS {
        let output = tenure(&place, &place.server.endpoint(), command, &[("AWS_SECRET_ACCESS_KEY", "wrong")]);
        assert_refused(&output, 77, "denied", "secret");
    }
    assert_untouched(&place);
}

#[test]
fn an_unknown_access_key_is_denied() {
    let place = Place::new(Server::SeaweedFs, "unknown");
    for command in COMMANDS {
        let output = tenure(&place, &place.server.endpoint(), command, &[("AWS_ACCESS_KEY_ID", "NOBODY")]);
        assert_refused(&output, 77, "denied", "key");
    }
    assert_untouched(&place);
}

#[test]
fn a_missing_bucket_is_a_matter_of_configuration() {
    let place = Place::without_bucket(Server::MiniStack);
    for command in COMMANDS {
        let output = tenure(&place, &place.server.endpoint(), command, &[]);
        assert_refused(&output, 78, "config", "bucket");
    }
    let listed = place.list();
    let ListReply::Failed(fault) = listed else { panic!("the bucket is there: {listed:?}") };
    assert_eq!(fault.kind, FaultKind::Config, "{fault}");
}

#[test]
fn an_endpoint_where_nobody_listens_is_unavailable() {
    let place = Place::new(Server::MiniStack, "unavailable");
    let nobody = Nobody::new();
    for command in COMMANDS {
        let output = tenure(&place, &format!("http://{}", nobody.address()), command, &[]);
        assert_refused(&output, 69, "unavailable", "endpoint");
    }
    assert_untouched(&place);
}

/// Runs a command to its end, with something else in its environment.
fn tenure(place: &Place, endpoint: &str, command: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["--json", "--ttl", "3s", "--store", &place.url, "--endpoint", endpoint])
        .args(command)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("it can be started")
}

/// Asserts that there is one error of this kind, with this word in its advice.
#[track_caller]
fn assert_refused(output: &Output, code: i32, kind: &str, word: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let line: Value = serde_json::from_str(&stderr).expect("JSON");
    let error = &line["error"];
    assert_eq!(error["kind"], kind, "{stderr}");
    let message = error["message"].as_str().expect("text");
    assert!(message.to_lowercase().contains(word), "it does not say what to do: {message}");
}

/// Asserts that nothing was written below the prefix. SeaweedFS has no bucket before its first object.
#[track_caller]
fn assert_untouched(place: &Place) {
    match place.list() {
        ListReply::Page(page) => assert!(page.entries.is_empty(), "written: {:?}", page.entries),
        ListReply::Failed(fault) if fault.kind == FaultKind::Config => {}
        reply @ (ListReply::Failed(_) | ListReply::Throttled { .. }) => {
            panic!("{} cannot be listed: {reply:?}", place.url)
        }
    }
}
