//! `tenure demo`, from end to end.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{DEADLINE, Dir, Process, finish, lines, tenure};

#[test]
fn the_demo_shows_the_takeovers_and_a_verdict_that_holds_and_cleans_up() {
    let dir = Dir::new();
    let mut command = tenure(&["demo"]);
    // A store that is meant for other commands is left alone.
    command.env("TMPDIR", dir.path()).env("TENURE_STORE", "s3://production");
    let done = finish(command);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    for word in ["SIGKILL", "SIGSTOP", "at epoch 2", "The verdict: one owner per cell at all times"] {
        assert!(done.stdout.contains(word), "{word} is missing: {}", done.stdout);
    }
    assert!(!done.stdout.contains('\u{1b}'), "colours without a terminal");
    assert_eq!(done.stderr, "");
    assert_clean(&dir);
}

#[test]
fn with_json_the_demo_speaks_objects() {
    let dir = Dir::new();
    let mut command = tenure(&["demo", "--json"]);
    command.env("TMPDIR", dir.path());
    let done = finish(command);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let lines = done.lines();
    let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert_eq!((count("claimed"), count("takeover"), count("fenced")), (6, 5, 1));
    let times: Vec<u64> = lines.iter().filter_map(|line| line["ms"].as_u64()).collect();
    assert!(times.len() > 20 && times.is_sorted(), "{}", done.stdout);
    let verdict = lines.last().expect("a verdict");
    assert_eq!((&verdict["event"], &verdict["holds"]), (&Value::from("verdict"), &Value::from(true)));
    let rules = verdict["rules"].as_array().expect("a list");
    assert!(rules.len() >= 5 && rules.iter().all(|rule| rule["holds"] == true), "{verdict}");
    assert_clean(&dir);
}

#[test]
fn a_ttl_that_no_node_would_take_is_one_error_before_anything_starts() {
    let dir = Dir::new();
    let mut command = tenure(&["demo", "--json", "--ttl", "10ms"]);
    command.env("TMPDIR", dir.path());
    let done = finish(command);
    assert_eq!((done.code, done.stdout.as_str()), (Some(78), ""), "{}", done.stderr);
    assert_eq!(done.error()["kind"], "config");
    assert!(done.error()["message"].as_str().expect("text").contains("ttl"));
    assert_clean(&dir);
}

#[test]
fn an_interrupted_demo_cleans_up() {
    for (event, signal, code) in [("joined", Signal::TERM, 143), ("stopped", Signal::INT, 130)] {
        let dir = Dir::new();
        let mut command = tenure(&["demo", "--json"]);
        let (mut process, stdout) = Process::start_piped(command.env("TMPDIR", dir.path()));
        let said = lines(stdout);
        while !said.recv_timeout(DEADLINE).expect("it goes on").contains(event) {}
        process.signal(signal);
        assert_eq!(process.status().code(), Some(code));
        assert_clean(&dir);
    }
}

#[test]
fn a_killed_demo_leaves_no_process_behind() {
    let dir = Dir::new();
    let mut command = tenure(&["demo", "--json"]);
    let (process, stdout) = Process::start_piped(command.env("TMPDIR", dir.path()));
    let said = lines(stdout);
    while !said.recv_timeout(DEADLINE).expect("it goes on").contains("stopped") {}
    process.signal(Signal::KILL);
    while !processes(&dir).is_empty() {}
}

/// Tells that nothing is left in the directory for temporary files, and no process that names it.
fn assert_clean(dir: &Dir) {
    let left: Vec<_> = fs::read_dir(dir.path()).expect("ours").collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(processes(dir), Vec::<String>::new());
}

/// Returns the command lines that name the directory.
fn processes(dir: &Dir) -> Vec<String> {
    let name = dir.path().display().to_string();
    let entries = fs::read_dir("/proc").expect("Linux");
    let words = entries.filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    words
        .map(|words| String::from_utf8_lossy(&words).into_owned())
        .filter(|words| words.contains(&name))
        .collect()
}
