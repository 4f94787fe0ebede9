//! The nodes of the demonstration: each a process of its own, this same program as `tenure agent`.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::{Value, json};
use tenure_blocking::clock;
use tenure_core::Instant;

use super::Stop;
use crate::run::this_program;

/// How long an answer may take beyond what it has to wait for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What happens meanwhile.
#[derive(Debug)]
pub(super) enum News {
    /// An agent wrote a line.
    Line { node: usize, line: Value, at: Instant },
    /// An agent's output ended.
    Closed { node: usize },
    /// Somebody wants the demonstration to end.
    Interrupted(Signal),
}

/// Something an agent said, and when it was heard.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) line: Value,
    pub(super) at: Instant,
}

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    node: usize,
    id: u64,
}

/// All nodes, dead ones included.
#[derive(Debug)]
pub(super) struct Fleet {
    store: String,
    ttl: Duration,
    nodes: Vec<Agent>,
    news: Receiver<News>,
    sender: Sender<News>,
    /// Held while a line gets its time and is sent, so that lines come in the order of their times.
    turn: Arc<Mutex<()>>,
    last_id: u64,
    answers: BTreeMap<u64, Said>,
    events: Vec<(usize, Said)>,
}

#[derive(Debug)]
struct Agent {
    name: &'static str,
    process: Child,
    input: ChildStdin,
    /// Its end is no surprise any more.
    is_done: bool,
}

impl Fleet {
    pub(super) fn new(store: String, ttl: Duration, (sender, news): (Sender<News>, Receiver<News>)) -> Self {
        Self {
            store,
            ttl,
            nodes: Vec::new(),
            news,
            sender,
            turn: Arc::default(),
            last_id: 0,
            answers: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Starts an agent in a process group of its own, so that an interrupt from the terminal reaches only us.
    pub(super) fn start(&mut self, name: &'static str) -> Result<usize, Stop> {
        let ttl = format!("{}ms", self.ttl.as_millis());
        let mut command = this_program().map_err(Stop::Failed)?;
        command.args(["agent", "--name", name, "--store", &self.store, "--ttl", &ttl]).process_group(0);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process =
            spawned.map_err(|error| Stop::broken(format_args!("{name} cannot be started: {error}")))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Stop::broken(format_args!("{name} has no pipes")));
        };
        let (node, sender, turn) = (self.nodes.len(), self.sender.clone(), Arc::clone(&self.turn));
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_default();
                let _turn = turn.lock();
                // The demonstration may be over.
                let _ = sender.send(News::Line { node, line, at: clock::mono() });
            }
            let _ = sender.send(News::Closed { node });
        });
        self.nodes.push(Agent { name, process, input, is_done: false });
        Ok(node)
    }

    /// Sends a request.
    pub(super) fn ask(&mut self, node: usize, mut request: Value) -> Result<Asked, Stop> {
        self.last_id += 1;
        request["id"] = json!(self.last_id);
        let agent = &mut self.nodes[node];
        writeln!(agent.input, "{request}")
            .map_err(|error| Stop::broken(format_args!("{} takes no requests: {error}", agent.name)))?;
        Ok(Asked { node, id: self.last_id })
    }

    /// Waits for the first of several answers, by the time at which it was heard, and returns which it is.
    pub(super) fn first_of(&mut self, asked: &[Asked], wait: Duration) -> Result<(usize, Said), Stop> {
        let limit = clock::mono().after(wait + PATIENCE);
        loop {
            let heard = asked.iter().enumerate();
            let heard = heard.filter_map(|(at, one)| Some((self.answers.get(&one.id)?.at, at, one.id)));
            let first = heard.min();
            if let Some((_, at, id)) = first
                && let Some(said) = self.answers.remove(&id)
            {
                return Ok((at, said));
            }
            let name = asked.first().map_or("a node", |one| self.nodes[one.node].name);
            self.listen(limit, name)?;
        }
    }

    /// Waits for the answer to a request.
    pub(super) fn answer(&mut self, asked: Asked) -> Result<Said, Stop> {
        self.first_of(&[asked], Duration::ZERO).map(|(_, said)| said)
    }

    /// Waits for something that a node says unasked.
    pub(super) fn event(&mut self, node: usize, event: &str) -> Result<Said, Stop> {
        let limit = clock::mono().after(PATIENCE);
        loop {
            let found =
                self.events.iter().position(|(from, said)| *from == node && said.line["event"] == event);
            if let Some(at) = found {
                return Ok(self.events.remove(at).1);
            }
            let name = self.nodes[node].name;
            self.listen(limit, name)?;
        }
    }

    fn listen(&mut self, limit: Instant, name: &str) -> Result<(), Stop> {
        match self.news.recv_timeout(limit.since(clock::mono())) {
            Ok(News::Line { node, line, at }) => {
                let said = Said { line, at };
                match said.line.get("id").and_then(Value::as_u64) {
                    Some(id) => drop(self.answers.insert(id, said)),
                    None => self.events.push((node, said)),
                }
                Ok(())
            }
            Ok(News::Closed { node }) if self.nodes[node].is_done => Ok(()),
            Ok(News::Closed { node }) => {
                Err(Stop::broken(format_args!("{} ended unexpectedly", self.nodes[node].name)))
            }
            Ok(News::Interrupted(signal)) => Err(Stop::Interrupted(signal)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(Stop::broken(format_args!("{name} does not answer")))
            }
        }
    }

    /// Kills a node, as a crash would.
    pub(super) fn kill(&mut self, node: usize) -> Result<Instant, Stop> {
        let agent = &mut self.nodes[node];
        agent.is_done = true;
        let at = clock::mono();
        let killed = agent.process.kill().and_then(|()| agent.process.wait());
        killed.map_err(|error| Stop::broken(format_args!("{} cannot be killed: {error}", agent.name)))?;
        Ok(at)
    }

    /// Stops a node, as a debugger or a long pause would, and returns when it does not run any more.
    pub(super) fn pause(&mut self, node: usize) -> Result<Instant, Stop> {
        let at = clock::mono();
        self.signal(node, Signal::STOP)?;
        let id = Pid::from_child(&self.nodes[node].process);
        waitpid(Some(id), WaitOptions::UNTRACED).map_err(|error| {
            Stop::broken(format_args!("{} cannot be stopped: {error}", self.nodes[node].name))
        })?;
        Ok(at)
    }

    /// Lets a stopped node go on.
    pub(super) fn resume(&mut self, node: usize) -> Result<(), Stop> {
        self.signal(node, Signal::CONT)
    }

    fn signal(&mut self, node: usize, signal: Signal) -> Result<(), Stop> {
        let agent = &self.nodes[node];
        kill_process(Pid::from_child(&agent.process), signal)
            .map_err(|error| Stop::broken(format_args!("{} cannot be signalled: {error}", agent.name)))
    }

    /// Lets every node that still runs leave.
    pub(super) fn leave(&mut self) -> Result<(), Stop> {
        let mut asked = Vec::new();
        for node in 0..self.nodes.len() {
            if !self.nodes[node].is_done {
                self.nodes[node].is_done = true;
                asked.push(self.ask(node, json!({ "do": "leave" }))?);
            }
        }
        asked.into_iter().try_for_each(|one| self.answer(one).map(drop))
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for agent in &mut self.nodes {
            // Also one that was stopped. It fails for those that have ended.
            let _ = agent.process.kill();
            let _ = agent.process.wait();
        }
    }
}
