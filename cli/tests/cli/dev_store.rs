//! `tenure dev-store`: what it prints is all that the other commands need.

use rustix::process::Signal;
use serde_json::Value;
use std::process::Command;
use std::sync::mpsc::Receiver;

use crate::support::{DEADLINE, Process, finish, lines, tenure};

/// A running store, and what it said first.
struct DevStore {
    process: Process,
    told: Value,
    _rest: Receiver<String>,
}

impl DevStore {
    fn start(args: &[&str]) -> Self {
        let args = [&["dev-store", "--json", "--listen", "127.0.0.1:0"], args].concat();
        let (process, stdout) = Process::start_piped(&mut tenure(&args));
        let output = lines(stdout);
        let line = output.recv_timeout(DEADLINE).expect("it says where it is");
        Self { process, told: serde_json::from_str(&line).expect("JSON"), _rest: output }
    }

    /// Describes a run of the binary in the environment that the store told.
    fn tenure(&self, args: &[&str]) -> Command {
        let mut command = tenure(args);
        for (name, value) in self.told["environment"].as_object().expect("an object") {
            command.env(name, value.as_str().expect("text"));
        }
        command
    }

    fn end(self) {
        self.process.signal(Signal::INT);
        let finished = self.process.finish();
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_command_runs_under_a_cell_of_a_dev_store_and_its_owner_is_found() {
    let store = DevStore::start(&["--bucket", "my-dev"]);
    assert_eq!(store.told["store"], "s3://my-dev");
    let ran = finish(store.tenure(&["run", "--cell", "c1", "--", "sh", "-c", "echo $TENURE_EPOCH"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "1\n"), "{}", ran.stderr);
    let owner = finish(store.tenure(&["owner", "--json", "c1"]));
    assert_eq!((owner.code, &owner.lines()[0]["state"]), (Some(0), &Value::from("released")));
    store.end();
}

#[test]
fn a_wrong_secret_is_told() {
    let store = DevStore::start(&[]);
    let mut command = store.tenure(&["owner", "--json", "c1"]);
    command.env("AWS_SECRET_ACCESS_KEY", "another");
    let refused = finish(command);
    assert_eq!(refused.code, Some(77));
    assert!(refused.stderr.contains("SignatureDoesNotMatch"), "{}", refused.stderr);
    store.end();
}

#[test]
fn a_fault_is_met_by_whoever_comes() {
    let store = DevStore::start(&["--fault", "ignores-conditions", "--fault", "delay:0.5", "--seed", "3"]);
    let ran = finish(store.tenure(&["run", "--cell", "c1", "--", "true"]));
    assert_eq!(ran.code, Some(76), "an unfit store is refused: {}", ran.stderr);
    store.end();
}

/// What is printed for people is a script for their shell.
#[test]
fn the_printed_lines_can_be_evaluated() {
    let mut command = tenure(&["dev-store", "--listen", "127.0.0.1:0", "--fault", "late:0.01"]);
    let (process, stdout) = Process::start_piped(&mut command);
    let output = lines(stdout);
    let mut script = String::new();
    while !script.contains("unset") {
        script += &(output.recv_timeout(DEADLINE).expect("a script") + "\n");
    }
    assert!(script.contains("# fault: late:0.01\n") && script.contains("in memory"), "{script}");
    let shown = Command::new("sh")
        .args(["-euc", &format!("{script}\necho $TENURE_STORE $AWS_ENDPOINT_URL")])
        .output();
    let shown = String::from_utf8(shown.expect("a shell").stdout).expect("text");
    assert!(shown.starts_with("s3://tenure http://127.0.0.1:"), "{shown}");
    process.signal(Signal::TERM);
    assert_eq!(process.finish().code, Some(0));
}

#[test]
fn nonsense_is_refused_with_what_to_write_instead() {
    let refused = |args: &[&str], words: &str| {
        let done = finish(tenure(&[&["dev-store"], args].concat()));
        assert_eq!(done.code, Some(64), "{args:?}");
        assert!(done.stderr.contains(words), "{args:?}: {}", done.stderr);
    };
    refused(&["--fault", "gremlins"], "there is no fault gremlins");
    refused(&["--fault", "late:2"], "no number from 0 to 1");
    refused(&["--listen", "localhost"], "--listen");
    refused(&["--listen", "127.0.0.1:0", "--bucket", "Not A Bucket"], "bucket");
    refused(&["--store", "file:///tmp"], "leave --store out");
}

#[test]
fn a_port_that_is_taken_is_said_to_be() {
    let store = DevStore::start(&[]);
    let endpoint = store.told["endpoint"].as_str().expect("text");
    let address = endpoint.strip_prefix("http://").expect("a URL");
    let refused = finish(tenure(&["dev-store", "--listen", address]));
    assert_eq!(refused.code, Some(69));
    assert!(refused.stderr.contains(address) && refused.stderr.contains("127.0.0.1:0"), "{}", refused.stderr);
    store.end();
}
