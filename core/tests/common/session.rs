//! One engine under test, and the starting points that transcripts build on.

use std::collections::BTreeMap;
use std::sync::Arc;

use core::time::Duration;
use tenure_core::{
    AttemptId, CellId, Command, Config, ETag, Engine, Event, Instant, Key, NodeId, Now, ReadId, ReadReply,
    SessionId, Stamps, StoreClock, StoreTime, Ticket, WallTime, notation,
};

use super::input;

/// Where a transcript starts.
pub(crate) struct Scenario {
    config: Config,
    session: u64,
    seed: u64,
    is_joined: bool,
    held: Vec<(&'static str, u64)>,
}

impl Scenario {
    /// A node that has not joined.
    pub(crate) fn fresh() -> Self {
        Self::of(Config::new("me"), 1, 7)
    }

    /// A node that has not joined, in the shoes of one in the simulator: its configuration, the number of its session
    /// and the seed of its delays.
    pub(crate) fn of(config: Config, session: u64, seed: u64) -> Self {
        Self { config, session, seed, is_joined: false, held: Vec::new() }
    }

    /// A node that has joined at t=0 with a ttl of 10 s: authority ends at t=9000.
    pub(crate) fn joined() -> Self {
        Self { is_joined: true, ..Self::fresh() }
    }

    /// Holds a cell from t=0 at epoch 1; the record's tag is the cell's name and `.1`.
    pub(crate) fn held(self, cell: &'static str) -> Self {
        self.held_at(cell, 1)
    }

    pub(crate) fn held_at(mut self, cell: &'static str, epoch: u64) -> Self {
        self.held.push((cell, epoch));
        self
    }

    /// Uses a ttl of 60 s, so that no renewal falls into a transcript shorter than 18 s.
    pub(crate) fn slow(mut self) -> Self {
        self.config = self.config.with_ttl(Duration::from_secs(60));
        self
    }

    /// Uses one fine store clock, like the file store's.
    pub(crate) fn fine(mut self) -> Self {
        self.config = self.config.with_clock(StoreClock::FINE);
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    pub(crate) fn start(self) -> Session {
        let engine =
            Engine::new(self.config, SessionId::new(self.session), self.seed).expect("a legal configuration");
        let mut session = Session {
            me: engine.node().clone(),
            engine,
            now: Duration::ZERO,
            wall_ms: 1_700_000_000_000,
            base: 0,
            tickets: SETUP_TICKETS,
            last: 0,
            writes: BTreeMap::new(),
        };
        if self.is_joined {
            session.join();
        }
        for (cell, epoch) in self.held {
            session.hold(cell, epoch);
        }
        session.base = session.last;
        session.tickets = 0;
        session
    }
}

/// Tickets of the calls that lead to the starting point.
const SETUP_TICKETS: u64 = 1_000_000;

pub(crate) struct Session {
    pub(crate) engine: Engine,
    pub(crate) me: NodeId,
    /// What the monotonic clock reads.
    now: Duration,
    /// When the monotonic clock read zero, by the wall clock: whoever changes it lets the latter jump.
    pub(crate) wall_ms: u64,
    /// The last request number before the transcript began.
    pub(crate) base: u64,
    tickets: u64,
    last: u64,
    /// Every attempt by the engine's own number.
    pub(crate) writes: BTreeMap<u64, (Key, Arc<[u8]>)>,
}

impl Session {
    /// Feeds one input line and returns what the engine then says.
    pub(crate) fn feed(&mut self, line: &str) -> Vec<String> {
        let line = match line.strip_prefix("t=") {
            Some(rest) => {
                let (at, rest) = rest.split_once(' ').expect("t=TIME is followed by an input");
                self.now = input::duration(at);
                rest.trim()
            }
            None => line,
        };
        if let Some(shown) = self.show(line) {
            return vec![shown];
        }
        if let Some(unsent) = input::unsent(line, self) {
            return vec![format!("nothing: w{unsent} was not sent")];
        }
        let event = input::event(line, self);
        self.lines(event)
    }

    /// Answers a read with any bytes at all, stamped as stored 61 s before the answer.
    pub(crate) fn found(&mut self, read: &str, body: &[u8]) -> Vec<String> {
        let stamps = Stamps {
            modified: Some(StoreTime::from_millis(1_000_000)),
            date: Some(StoreTime::from_millis(1_061_000)),
        };
        let etag = ETag::new(b"e9").expect("not empty");
        let reply = ReadReply::Found { etag, body: body.into(), stamps };
        let event = Event::ReadDone(self.read_id(input::number(read)), reply);
        self.lines(event)
    }

    fn lines(&mut self, event: Event) -> Vec<String> {
        let commands = self.handle(event);
        let lines = commands.into_iter().filter_map(|command| notation::command(command, self.base));
        lines.map(|line| self.short(&line)).collect()
    }

    pub(crate) fn handle(&mut self, event: Event) -> Vec<Command> {
        let now = self.now();
        self.engine.handle(now, event);
        let mut commands = Vec::new();
        loop {
            let command = self.engine.poll();
            if let Command::Idle { until } = &command {
                // What is due has been done: otherwise a driver would spin.
                assert!(until.is_none_or(|until| until.at > now.mono), "{until:?} is not after {now:?}");
                return commands;
            }
            if let Command::Write(op) = &command {
                self.writes.insert(op.id.get(), (op.key.clone(), op.body.clone()));
            }
            self.last = self.last.max(number(&command));
            commands.push(command);
        }
    }

    pub(crate) fn now(&self) -> Now {
        Now {
            mono: Instant::default().after(self.now),
            wall: WallTime::from_millis(self.wall_ms).after(self.now),
        }
    }

    pub(crate) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket::new(self.tickets)
    }

    /// Returns the text that the node's id is written as.
    pub(crate) fn short(&self, text: &str) -> String {
        text.replace(self.me.as_str(), "me")
    }

    pub(crate) fn long(&self, text: &str) -> String {
        text.replace("\"me\"", &format!("\"{}\"", self.me)).replace("\"me#", &format!("\"{}#", self.me))
    }

    pub(crate) fn read_id(&self, shown: u64) -> ReadId {
        ReadId::new(self.base + shown)
    }

    pub(crate) fn attempt_id(&self, shown: u64) -> AttemptId {
        AttemptId::new(self.base + shown)
    }

    /// Returns the body of an attempt and the tag that a store which hashes content would give it.
    pub(crate) fn written(&self, shown: u64) -> (Arc<[u8]>, String) {
        let (key, body) = self.writes.get(&(self.base + shown)).expect("that attempt was sent");
        let first = self.writes.iter().find(|(_, (k, b))| k == key && b == body);
        let first = first.expect("at least itself").0;
        (body.clone(), format!("w{}", first - self.base))
    }

    fn show(&mut self, line: &str) -> Option<String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "authority" => match self.engine.authority() {
                Some(until) => format!("until={until}"),
                None => "none".to_owned(),
            },
            "body" => {
                let (body, _) = self.written(input::number(rest));
                self.short(&String::from_utf8_lossy(&body))
            }
            "ending" => self.engine.ending().map_or_else(|| "none".to_owned(), ToString::to_string),
            "idle" => {
                let Command::Idle { until } = self.engine.poll() else { panic!("something was not polled") };
                match until {
                    Some(due) => format!("idle until={} {:?}", due.at, due.timer),
                    None => "idle".to_owned(),
                }
            }
            "tenure" => match self.engine.tenure(&cell(rest), self.now()) {
                Some(tenure) => format!("epoch={}", tenure.epoch),
                None => "none".to_owned(),
            },
            _ => return None,
        })
    }

    /// Answers the probe and the creation of the lease.
    fn join(&mut self) {
        let mut lines = self.feed("join");
        for reply in ["applied p1", "rejected", "applied p2", "rejected", "applied lease"] {
            let write = lines.iter().find_map(|line| line.strip_prefix("write ")).expect("a write");
            let id = write.split(' ').next().expect("an id").to_owned();
            lines = self.feed(&format!("{id} {reply}"));
        }
    }

    fn hold(&mut self, name: &str, epoch: u64) {
        let read = self.feed(&format!("claim {name}")).remove(0);
        let id = read.split(' ').nth(1).expect("an id");
        let released = format!(r#"{{"node":"","epoch":{}}}"#, epoch - 1);
        let found = if epoch == 1 { "missing".to_owned() } else { format!("found {name}.0 {released}") };
        let write = self.feed(&format!("{id} {found}")).remove(0);
        let id = write.split(' ').nth(1).expect("an id");
        self.feed(&format!("{id} applied {name}.{epoch}"));
    }
}

pub(crate) fn cell(name: &str) -> CellId {
    CellId::new(name).expect("a legal cell")
}

fn number(command: &Command) -> u64 {
    match command {
        Command::List(op) => op.id.get(),
        Command::Read(op) => op.id.get(),
        Command::Remove(op) => op.id.get(),
        Command::Write(op) => op.id.get(),
        Command::Done(..) | Command::Idle { .. } | Command::Notify(_) => 0,
    }
}
