//! A node in a process of its own that speaks the agent's lines.

use core::time::Duration;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tenure_blocking::clock;

use crate::stage::Transcript;

/// How long anything may take that has no limit of its own. Long, for it only ends a test that has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a process reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stream {
    /// The agent.
    Stdout,
    /// A child of the test harness, which has its own use for standard output.
    Stderr,
}

/// The process. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    node: String,
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    /// What it said that nobody has asked for yet.
    unasked: VecDeque<Value>,
    transcript: Transcript,
    requests: u64,
}

/// What a request was answered with: `ok`, or `error`.
pub(crate) type Answer = Result<Value, Value>;

impl Process {
    /// Starts it and waits until it has joined.
    pub(crate) fn start(mut command: Command, reports: Stream, name: &str, transcript: &Transcript) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(if reports == Stream::Stdout { Stdio::piped() } else { Stdio::null() })
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        let (sender, lines) = channel();
        let streams = [
            child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
            child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        ];
        for stream in streams.into_iter().flatten() {
            let (name, transcript, sender) = (name.to_owned(), transcript.clone(), sender.clone());
            thread::spawn(move || listen(stream, &name, &transcript, &sender));
        }
        let stdin = child.stdin.take().expect("piped");
        let mut process = Self {
            name: name.to_owned(),
            node: String::new(),
            child,
            stdin,
            lines,
            unasked: VecDeque::new(),
            transcript: transcript.clone(),
            requests: 0,
        };
        let joined = process.event("joined");
        process.node = joined["node"].as_str().expect("a node's id").to_owned();
        process
    }

    /// Returns the node's id.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Asks and waits for the answer.
    pub(crate) fn ask(&mut self, request: Value) -> Answer {
        let id = self.send(request);
        self.answer(id)
    }

    /// Claims a cell without waiting for another owner.
    pub(crate) fn claim(&mut self, cell: &str) -> Answer {
        self.ask(json!({ "do": "claim", "cell": cell }))
    }

    /// Begins to claim a cell, waiting for another owner.
    pub(crate) fn send_claim(&mut self, cell: &str, wait: Duration) -> u64 {
        self.send(json!({ "do": "claim", "cell": cell, "wait_ms": wait.as_millis() as u64 }))
    }

    /// Asks for something about a cell that this node owns: `release`, `verify` or `is_held`.
    pub(crate) fn about(&mut self, verb: &str, cell: &str) -> Answer {
        self.ask(json!({ "do": verb, "cell": cell }))
    }

    /// Hands a cell to another node.
    pub(crate) fn transfer(&mut self, cell: &str, to: &str) -> Answer {
        self.ask(json!({ "do": "transfer", "cell": cell, "to": to }))
    }

    /// Sends a request and returns its id; a stopped process finds it when it goes on.
    pub(crate) fn send(&mut self, mut request: Value) -> u64 {
        self.requests += 1;
        request["id"] = json!(self.requests);
        self.transcript.note(format_args!("{} <- {request}", self.name));
        writeln!(self.stdin, "{request}")
            .unwrap_or_else(|error| panic!("{} does not listen: {error}", self.name));
        self.requests
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Answer {
        let line = self.find(&format!("an answer to {id}"), |line| line["id"] == json!(id));
        match (line.get("ok"), line.get("error")) {
            (Some(ok), None) => Ok(ok.clone()),
            (None, Some(error)) => Err(error.clone()),
            _ => panic!("{} answered neither ok nor error: {line}", self.name),
        }
    }

    /// Waits for an event of this name.
    #[track_caller]
    pub(crate) fn event(&mut self, name: &str) -> Value {
        self.find(&format!("the event {name}"), |line| line["event"] == name)
    }

    /// Sends a signal to this process alone.
    pub(crate) fn signal(&self, signal: Signal) {
        self.transcript.note(format_args!("{} gets signal {}", self.name, signal.as_raw()));
        kill_process(Pid::from_child(&self.child), signal).expect("it is ours and has not been awaited");
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().expect("it is ours");
    }

    /// Asks it to leave, and returns how it ended.
    pub(crate) fn leave(mut self) -> ExitStatus {
        let id = self.send(json!({ "do": "leave" }));
        self.answer(id).unwrap_or_else(|error| panic!("{} does not leave: {error}", self.name));
        self.child.wait().expect("it is ours")
    }

    #[track_caller]
    fn find(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unasked.iter().position(&is_it) {
            return self.unasked.remove(at).expect("just found");
        }
        let begin = clock::mono();
        loop {
            let left = PATIENCE.saturating_sub(clock::mono().since(begin));
            match self.lines.recv_timeout(left) {
                Ok(line) if is_it(&line) => return line,
                Ok(line) => self.unasked.push_back(line),
                Err(error) => panic!("{} owes {what}: {error}", self.name),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be stopped, or gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Notes every line, and passes on those that are JSON objects.
fn listen(stream: Box<dyn Read + Send>, name: &str, transcript: &Transcript, sender: &Sender<Value>) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        transcript.note(format_args!("{name} -> {line}"));
        if let Ok(value @ Value::Object(_)) = serde_json::from_str(&line) {
            // A test that has ended does not listen any more.
            let _ = sender.send(value);
        }
    }
}
