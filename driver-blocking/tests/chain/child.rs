//! Other processes of these tests, whose environment says where their credentials are.
//!
//! Each is this test binary again. What it has to say goes to its standard error, since the test harness owns the
//! standard output; what it is to do next it is told on its standard input.

use core::time::Duration;
use std::io::{BufRead as _, BufReader, Write as _, stdin};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use tenure_blocking::{
    AnyStore, CellId, Guard, Key, Node, Op, OpenOptions, Reply, Store as _, WriteOp, WriteReply, open,
};
use tenure_core::{AttemptId, Config};

/// Far more than anything here takes.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// How many write at the same time.
pub(crate) const WRITERS: usize = 8;
/// The lease of the process that holds a cell.
pub(crate) const TTL: Duration = Duration::from_secs(3);

const STORE: &str = "TENURE_TEST_STORE";
/// The fetching may take 6 s, and another test's processes may be in the way.
const PATIENT: Duration = Duration::from_secs(30);

/// Describes a process that runs one of the tests below, with this environment and no other.
pub(crate) fn command(test: &str, url: &str, endpoint: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command
        .args(["--exact", &format!("child::{test}"), "--ignored", "--nocapture"])
        .env_clear()
        .env(STORE, url)
        .env("AWS_ENDPOINT_URL", endpoint)
        .env("AWS_REGION", "eu-west-1")
        .envs(environment.iter().copied());
    command
}

/// A process that is told what to do, and is killed at the end of the test.
pub(crate) struct Talking {
    child: Child,
    input: ChildStdin,
    said: Receiver<String>,
}

impl Talking {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let (input, output) = (child.stdin.take().expect("piped"), child.stderr.take().expect("piped"));
        let (sender, said) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.take_while(|line| sender.send(line.clone()).is_ok()).for_each(drop);
        });
        Self { child, input, said }
    }

    /// Has it do its work once more.
    pub(crate) fn go_on(&mut self) {
        self.input.write_all(b"\n").expect("it listens");
    }

    /// Returns the next line that it says.
    pub(crate) fn hear(&self) -> String {
        self.said.recv_timeout(DEADLINE).expect("it says more")
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "another process of the tests: it writes so often, one after the other"]
fn writes() {
    let store = store();
    for number in 0..std::env::var("TENURE_TEST_WRITES").expect("a number").parse().expect("a number") {
        eprintln!("{}", write(&store, number));
    }
}

#[test]
#[ignore = "another process of the tests: for each line that it is sent it writes several times at once"]
fn writes_at_once() {
    let store = store();
    for line in stdin().lines() {
        line.expect("text");
        let said = thread::scope(|scope| {
            let writing: Vec<_> = (0..WRITERS).map(|_| scope.spawn(|| write(&store, 1))).collect();
            writing.into_iter().map(|one| one.join().expect("no panic")).collect::<Vec<_>>()
        });
        eprintln!("{}", said.join(" | "));
    }
}

#[test]
#[ignore = "another process of the tests: it holds a cell, and says when it does no more"]
fn holds() {
    let config = Config::new("holder").with_ttl(TTL);
    let node = Node::join(config, store()).expect("a lease");
    let cell = node.claim(CellId::new("c").expect("legal")).expect("free");
    eprintln!("held");
    // Its own question, asked all the time: no notice is waited for.
    let (_keep, never) = channel::<()>();
    while cell.is_held() {
        let _ = never.recv_timeout(Duration::from_millis(5));
    }
    eprintln!("over");
    eprintln!("{}", node.fenced().as_str());
}

fn store() -> AnyStore {
    let url = std::env::var(STORE).expect("started by a test");
    open(&url, &OpenOptions::default()).expect("a legal environment")
}

fn write(store: &AnyStore, number: u64) -> String {
    let op = WriteOp {
        id: AttemptId::new(number),
        key: Key::owner(&CellId::new("a").expect("legal")),
        guard: Guard::Absent,
        body: (*b"{}").into(),
        timeout: PATIENT,
    };
    match store.execute(Op::Write(op)) {
        Reply::Write(WriteReply::Applied { .. }) => "applied".to_owned(),
        Reply::Write(WriteReply::NotApplied(fault)) => format!("not applied: {fault}"),
        other => format!("{other:?}"),
    }
}
