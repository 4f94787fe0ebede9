//! Temporary stores, processes with deadlines, and agents to talk to.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Far more than anything here takes; a test that waits that long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A directory that is removed at the end of the test.
#[derive(Debug)]
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tenure-cli-test-{}-{number}", std::process::id()));
        fs::create_dir(&path).expect("a fresh directory");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }

    /// Starts to describe a run of the binary on this store.
    pub(crate) fn tenure(&self, args: &[&str]) -> Command {
        let mut command = tenure(args);
        command.env("TENURE_STORE", self.url());
        command
    }

    /// Puts bytes in the place of a record, as an operator or an enemy would.
    pub(crate) fn put(&self, key: &str, body: &[u8]) {
        let path = self.0.join(key);
        fs::create_dir_all(path.parent().expect("below the store")).expect("a directory");
        let temporary = self.0.join("put.tmp");
        fs::write(&temporary, body).expect("written");
        fs::rename(temporary, path).expect("in place");
    }

    pub(crate) fn get(&self, key: &str) -> Value {
        let body = fs::read(self.0.join(key)).expect("a record");
        serde_json::from_slice(&body).expect("JSON")
    }

    /// Returns every file below the records' directories, with its bytes.
    pub(crate) fn records(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for top in ["cells", "nodes", "retired", "probe"] {
            collect(&self.0.join(top), &mut found);
        }
        found.sort();
        found
    }

    /// Makes a named pipe in the directory.
    pub(crate) fn fifo(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn collect(dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            let bytes = fs::read(&path).expect("readable");
            found.push((path, bytes));
        }
    }
}

/// Starts to describe a run of the binary, without anything from our own environment that it would heed.
pub(crate) fn tenure(args: &[&str]) -> Command {
    let binary = env!("CARGO_BIN_EXE_tenure");
    let mut command = if ignores_requests_to_end() {
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,QUIT,TERM", binary]);
        command
    } else {
        Command::new(binary)
    };
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("AWS_") || name.starts_with("TENURE_") || name.to_lowercase().ends_with("_proxy")
        {
            command.env_remove(name);
        }
    }
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Tells whether this process ignores signals that ask to end, as it does when a shell without job control
/// runs it in the background. The binary, rightly, would go on ignoring what it inherits.
fn ignores_requests_to_end() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM]
        .iter()
        .any(|signal| ignored >> (signal.as_raw() - 1) & 1 == 1)
}

/// What a finished process said.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Returns standard output as JSON lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Returns the one error on standard error.
    pub(crate) fn error(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stderr).expect("one JSON object on standard error");
        value["error"].clone()
    }
}

/// Runs a process to its end.
pub(crate) fn finish(mut command: Command) -> Finished {
    Process::start(&mut command).finish()
}

/// A process that is killed when the test is over.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    out: Option<Receiver<Vec<u8>>>,
    err: Receiver<Vec<u8>>,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the binary starts");
        let out = child.stdout.take().map(drain);
        let err = drain(child.stderr.take().expect("piped"));
        Self { child, out, err }
    }

    /// Starts a process whose output is read by the test.
    pub(crate) fn start_piped(command: &mut Command) -> (Self, std::process::ChildStdout) {
        let mut child = command.spawn().expect("the binary starts");
        let stdout = child.stdout.take().expect("piped");
        let err = drain(child.stderr.take().expect("piped"));
        (Self { child, out: None, err }, stdout)
    }

    pub(crate) fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal).expect("it runs");
    }

    pub(crate) fn status(&mut self) -> ExitStatus {
        // The killer is told in time, or kills: no test hangs.
        let (done, is_done) = channel::<()>();
        let id = self.id();
        let killer = thread::spawn(move || {
            let is_late = is_done.recv_timeout(DEADLINE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if is_late {
                let _ = kill_process(id, Signal::KILL);
            }
            is_late
        });
        let status = self.child.wait().expect("ours");
        drop(done);
        assert!(!killer.join().expect("no panic"), "it did not end in time");
        status
    }

    pub(crate) fn finish(mut self) -> Finished {
        let status = self.status();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let stdout =
            self.out.take().map(|out| out.recv_timeout(DEADLINE).expect("closed")).unwrap_or_default();
        let stderr = self.err.recv_timeout(DEADLINE).expect("closed");
        Finished { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Reads lines on a thread; the receiver ends where the input ends.
pub(crate) fn lines(input: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(input).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// An agent to talk to.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) process: Process,
    pub(crate) node: String,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    last_id: u64,
    heard: Vec<Value>,
}

impl Agent {
    pub(crate) fn join(dir: &Dir, name: &str, ttl: &str) -> Self {
        Self::start(dir.tenure(&["agent", "--name", name, "--ttl", ttl]))
    }

    /// Starts an agent on any store, and waits until it has joined.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().expect("the binary starts");
        let output = lines(child.stdout.take().expect("piped"));
        let input = child.stdin.take();
        let err = drain(child.stderr.take().expect("piped"));
        let process = Process { child, out: None, err };
        let mut agent = Self { process, node: String::new(), input, output, last_id: 0, heard: Vec::new() };
        let joined = agent.event("joined");
        joined["node"].as_str().expect("an id").clone_into(&mut agent.node);
        agent
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("open").write_all(bytes).expect("the agent reads");
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn ask(&mut self, mut request: Value) -> u64 {
        self.last_id += 1;
        request["id"] = json!(self.last_id);
        self.send(format!("{request}\n").as_bytes());
        self.last_id
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn call(&mut self, request: Value) -> Value {
        let id = self.ask(request);
        self.answer(id)
    }

    pub(crate) fn claim(&mut self, cell: &str) -> u64 {
        let answer = self.call(json!({ "do": "claim", "cell": cell }));
        answer["ok"]["epoch"].as_u64().unwrap_or_else(|| panic!("no grant: {answer}"))
    }

    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.hear(|line| line["id"] == json!(id))
    }

    pub(crate) fn event(&mut self, event: &str) -> Value {
        self.hear(|line| line["event"] == json!(event))
    }

    /// Waits for a line; the others are kept for later.
    pub(crate) fn hear(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&is_it) {
            return self.heard.remove(at);
        }
        loop {
            let line = self.output.recv_timeout(DEADLINE).expect("the agent says more");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if is_it(&line) {
                return line;
            }
            self.heard.push(line);
        }
    }

    /// Closes the input.
    pub(crate) fn close(&mut self) {
        drop(self.input.take());
    }

    /// Waits for the end of the agent, and returns its exit code and what it said that nobody heard.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Value>) {
        let status = self.process.status();
        let mut rest = core::mem::take(&mut self.heard);
        rest.extend(self.output.iter().map(|line| serde_json::from_str::<Value>(&line).expect("JSON")));
        (status.code(), rest)
    }
}
