//! Nodes in processes of their own, over the file store: one is killed or stopped, the other takes over.
//!
//! A child process is this test binary again. It reports on its standard error, since the test harness owns
//! the standard output.

mod common;

use core::time::Duration;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use common::TempDir;
use rustix::process::{Pid, Signal, kill_process};
use tenure_blocking::{Cell, CellId, Config, FileStore, Node, clock};

const TTL: Duration = Duration::from_secs(1);
/// What the guarantee allows after the last renewal, with two seconds for a busy machine.
const TAKEOVER: Duration = Duration::from_secs(1 + 2 + 1 + 2);
const DIR: &str = "TENURE_TEST_DIR";

#[test]
fn the_cell_of_a_killed_process_is_taken_over_in_time() {
    let dir = TempDir::new();
    let mut owner = Owner::start(dir.path());
    owner.process.kill().expect("ours");
    assert_eq!(take_over(&join(dir.path())).epoch().get(), 2);
}

#[test]
fn a_stopped_owner_that_goes_on_knows_at_its_first_look_that_it_owns_nothing() {
    let dir = TempDir::new();
    let mut owner = Owner::start(dir.path());
    assert_eq!(owner.ask("is_held"), "true");
    owner.signal(Signal::STOP);
    let cell = take_over(&join(dir.path()));
    assert_eq!(cell.epoch().get(), 2);
    // The question waits for the process, so its first look is as early as can be.
    owner.send("is_held");
    owner.signal(Signal::CONT);
    assert_eq!(owner.line(), "false");
    let answer = owner.ask("verify");
    assert!(matches!(answer.as_str(), "fenced" | "not_owner"), "{answer}");
    assert_eq!(owner.ask("cause"), "expired");
    cell.verify().expect("ours");
}

#[test]
#[ignore = "the other process of the tests above"]
fn child_process() {
    let dir = std::env::var_os(DIR).expect("started by a test");
    let node = join(Path::new(&dir));
    let cell = node.claim(id()).expect("free");
    eprintln!("{}", cell.epoch());
    for line in std::io::stdin().lines() {
        match line.expect("text").as_str() {
            "is_held" => eprintln!("{}", cell.is_held()),
            "verify" => eprintln!("{}", cell.verify().map_or_else(|error| error.kind(), |()| "verified")),
            "cause" => eprintln!("{}", node.fenced()),
            other => panic!("what is {other}?"),
        }
    }
}

fn take_over(node: &Node) -> Cell {
    let begin = clock::mono();
    let cell = node.claim_within(id(), TAKEOVER).expect("in time");
    assert!(clock::mono().since(begin) <= TAKEOVER);
    cell
}

fn join(dir: &Path) -> Node {
    let store = FileStore::open(dir).expect("a directory of ours");
    Node::join(Config::new("n").with_ttl(TTL), store).expect("a fit store")
}

fn id() -> CellId {
    CellId::new("c").expect("legal")
}

/// A process that owns the cell.
struct Owner {
    process: Child,
    report: BufReader<ChildStderr>,
}

impl Owner {
    fn start(dir: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this test"))
            .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", "child_process"])
            .env(DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("this test runs");
        let report = BufReader::new(process.stderr.take().expect("piped"));
        let mut owner = Self { process, report };
        assert_eq!(owner.line(), "1");
        owner
    }

    fn ask(&mut self, question: &str) -> String {
        self.send(question);
        self.line()
    }

    fn send(&mut self, question: &str) {
        let stdin = self.process.stdin.as_mut().expect("piped");
        stdin.write_all(format!("{question}\n").as_bytes()).expect("it reads");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.report.read_line(&mut line).expect("text");
        line.trim_end().to_owned()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("ours");
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A test that fails leaves nothing running.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
