//! The file store between real processes: races with one winner, and writers killed at any moment.
//!
//! A child process is this test binary again, told by its environment which part to play. It reports on its
//! standard error, since the test harness owns the standard output.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test panics on whatever it does not expect")]

mod common;

use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use common::{TIMEOUT, TempDir, applied, found, read, write};
use tenure_blocking::{Change, Durability, FileStore, JournalEntry};
use tenure_core::{ETag, Guard, Key, ReadReply, WriteReply};

const CONTENDERS: usize = 8;
const ROUNDS: u64 = 400;
const KILLS: u64 = 60;
const KEYS: u64 = 3;

#[test]
fn eight_processes_race_for_one_record_and_each_round_has_one_winner() {
    let dir = TempDir::new();
    let store = dir.store().with_journal().expect("a journal");
    let key = Key::probe(0);
    applied(write(&store, &key, Guard::Absent, b"0 nobody"));
    let mut children: Vec<_> = (0..CONTENDERS).map(|_| spawn("contend", dir.path())).collect();
    let mut winners = Vec::new();
    for round in 1..=ROUNDS {
        // Everybody has read the same version before anybody may write.
        assert!(children.iter_mut().all(|child| next_line(child) == "ready"), "round {round}");
        for child in &mut children {
            child.process.stdin.as_mut().expect("piped").write_all(b"go\n").expect("it waits");
        }
        let answers: Vec<_> = children.iter_mut().map(next_line).collect();
        let won: Vec<_> = (0..CONTENDERS).filter(|child| answers[*child] == "won").collect();
        let lost = answers.iter().filter(|answer| *answer == "lost").count();
        assert_eq!((won.len(), lost), (1, CONTENDERS - 1), "round {round}: {answers:?}");
        winners.push(children[won[0]].process.id());
    }
    for mut child in children {
        assert_eq!(next_line(&mut child), "ready");
        drop(child.process.stdin.take());
        assert!(child.process.wait().expect("ours").success());
    }
    let entries = journal(&store);
    check_history(&entries);
    let written: Vec<_> = entries.iter().skip(1).map(text).collect();
    let expected: Vec<_> =
        winners.iter().zip(1..).map(|(winner, round)| format!("{round} {winner}")).collect();
    assert_eq!(written, expected);
}

#[test]
fn a_writer_killed_at_any_moment_leaves_whole_records_no_lock_and_a_true_journal() {
    let dir = TempDir::new();
    let store = dir.store().with_journal().expect("a journal");
    let mut acknowledged = BTreeMap::new();
    let mut amid = 0;
    for kill in 0..KILLS {
        let mut child = spawn("write", dir.path());
        let mut report: String = (0..KEYS).map(|_| next_line(&mut child) + "\n").collect();
        pause(Duration::from_micros(kill * 6151 % 8000));
        child.process.kill().expect("ours");
        child.process.wait().expect("ours");
        amid += usize::from(has_unfinished_file(dir.path()));
        child.report.read_to_string(&mut report).expect("text");
        // The last line may be cut short; a line with its end was written after the reply.
        for line in report.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let (key, n) = line.trim_end().split_once(' ').expect("two numbers");
            acknowledged.insert(key.parse::<u64>().expect("a number"), n.parse::<u64>().expect("a number"));
        }
        for key in 0..KEYS {
            let (etag, n) = current(&store, &Key::probe(key)).expect("acknowledged");
            assert!(acknowledged[&key] <= n, "a write was lost");
            // No lock is stuck: this would time out.
            applied(write(&store, &Key::probe(key), Guard::Match(etag), &body(n + 1)));
        }
    }
    let entries = journal(&store);
    check_history(&entries);
    assert!(amid > 0, "no writer was killed in the middle of a write");
    for key in 0..KEYS {
        let (etag, n) = current(&store, &Key::probe(key)).expect("written often");
        let last =
            entries.iter().rfind(|entry| entry.key == Key::probe(key).as_str()).expect("written often");
        assert_eq!(last.change, Change::Wrote { etag, body: body(n).into() });
    }
    let leftovers = std::fs::read_dir(dir.path().join(".tenure-1")).expect("ours").count();
    assert!(leftovers < 2 * KEYS as usize + 3, "{leftovers} files of its own");
}

#[test]
#[ignore = "a part played by child processes of the other tests"]
fn child_process() {
    let (Ok(role), Ok(dir)) = (std::env::var("TENURE_TEST_ROLE"), std::env::var("TENURE_TEST_DIR")) else {
        return;
    };
    let store = FileStore::open(Path::new(&dir)).expect("the parent's store");
    match role.as_str() {
        "contend" => contend(&store.with_durability(Durability::Process)),
        "write" => write_until_killed(&store),
        other => panic!("unknown part {other}"),
    }
}

/// Takes part in every round: reads the record, and when told to tries to write the next round into it.
fn contend(store: &FileStore) {
    loop {
        let (etag, version, ..) = found(read(store, &Key::probe(0)));
        let version = String::from_utf8(version).expect("text");
        let round = version.split(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a round");
        eprintln!("ready");
        if std::io::stdin().read_line(&mut String::new()).expect("the parent says when") == 0 {
            return;
        }
        let next = format!("{} {}", round + 1, std::process::id());
        match write(store, &Key::probe(0), Guard::Match(etag), next.as_bytes()) {
            WriteReply::Applied { .. } => eprintln!("won"),
            WriteReply::Rejected => eprintln!("lost"),
            other => panic!("{other:?}"),
        }
    }
}

/// Writes versions of a few records, each after the other, and reports each reply.
fn write_until_killed(store: &FileStore) {
    for turn in 0.. {
        let key = turn % KEYS;
        let (guard, n) = match current(store, &Key::probe(key)) {
            Some((etag, n)) => (Guard::Match(etag), n + 1),
            None => (Guard::Absent, 1),
        };
        applied(write(store, &Key::probe(key), guard, &body(n)));
        eprintln!("{key} {n}");
    }
}

/// Tells whether a writer has left a version behind that never got its name.
fn has_unfinished_file(dir: &Path) -> bool {
    let names = std::fs::read_dir(dir.join(".tenure-1")).expect("ours");
    names
        .map(|entry| entry.expect("readable").file_name())
        .any(|name| name.to_string_lossy().starts_with("new-"))
}

/// A body whose every byte follows from its first number, so that a torn one shows.
fn body(n: u64) -> Vec<u8> {
    let length = usize::try_from(n * 7919 % 60_000).expect("small");
    let filler: String = (0..length).map(|i| char::from(b'a' + ((n as usize + i) % 26) as u8)).collect();
    format!("{n} {filler}").into_bytes()
}

fn current(store: &FileStore, key: &Key) -> Option<(ETag, u64)> {
    let reply = read(store, key);
    if reply == ReadReply::Missing {
        return None;
    }
    let (etag, bytes, ..) = found(reply);
    let text = core::str::from_utf8(&bytes).expect("a torn record");
    let n = text.split(' ').next().and_then(|n| n.parse().ok()).expect("a torn record");
    assert!(bytes == body(n), "a torn record");
    Some((etag, n))
}

/// Checks what holds for every history: each change replaces the version before it, and stamps never go back.
fn check_history(entries: &[JournalEntry]) {
    let mut current: BTreeMap<&str, &JournalEntry> = BTreeMap::new();
    for (n, entry) in entries.iter().enumerate() {
        assert_eq!(entry.seq, n as u64 + 1);
        let before = current.insert(&entry.key, entry);
        let expected = before.and_then(|before| match &before.change {
            Change::Removed => None,
            Change::Wrote { etag, .. } => Some(etag),
        });
        assert_eq!(entry.previous.as_ref(), expected, "change {} of {}", entry.seq, entry.key);
        assert!(before.is_none_or(|before| before.stamp <= entry.stamp), "change {}", entry.seq);
    }
}

fn journal(store: &FileStore) -> Vec<JournalEntry> {
    store.journal(TIMEOUT).expect("settled").collect::<Result<_, _>>().expect("readable")
}

fn text(entry: &JournalEntry) -> String {
    match &entry.change {
        Change::Wrote { body, .. } => String::from_utf8(body.to_vec()).expect("text"),
        Change::Removed => panic!("nobody removed it"),
    }
}

struct Spawned {
    process: Child,
    report: BufReader<std::process::ChildStderr>,
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // A test that fails leaves nothing running.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(role: &str, dir: &Path) -> Spawned {
    let mut process = Command::new(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", "child_process"])
        .env("TENURE_TEST_ROLE", role)
        .env("TENURE_TEST_DIR", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this test runs");
    let report = BufReader::new(process.stderr.take().expect("piped"));
    Spawned { process, report }
}

fn next_line(child: &mut Spawned) -> String {
    let mut line = String::new();
    child.report.read_line(&mut line).expect("text");
    line.trim_end().to_owned()
}

/// Lets a writer run for a while: which instant the kill hits is what this test varies.
fn pause(time: Duration) {
    let (_sender, receiver) = mpsc::channel::<()>();
    let _ = receiver.recv_timeout(time);
}
