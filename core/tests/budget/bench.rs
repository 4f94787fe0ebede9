//! A node and a store that serves it after a while, in whatever manner a test says.

use std::collections::BTreeMap;
use std::sync::Arc;

use core::time::Duration;
use tenure_core::{
    Call, CellId, Command, Config, ETag, Engine, Event, Fault, FaultKind, Instant, Key, ListReply, Now, Op,
    Outcome, Page, ReadReply, Reply, SessionId, Stamps, StoreTime, Ticket, WallTime, WriteReply,
};

/// How long the store takes to answer, in milliseconds.
pub(crate) const ROUND_TRIP: u64 = 20;

/// What the store does with a request.
pub(crate) type Manner = fn(&Op, u64) -> Option<Reply>;

/// A node and a store that serves it, in milliseconds of one clock.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) now: u64,
    /// What the node will be told, and when.
    pub(crate) due: BTreeMap<(u64, u64), Event>,
    pub(crate) planned: u64,
    pub(crate) objects: BTreeMap<Key, (ETag, Arc<[u8]>)>,
    pub(crate) manner: Manner,
    /// A key under which the store serves whatever its manner.
    pub(crate) spared: Option<Key>,
    pub(crate) sent: Vec<(u64, Op)>,
    pub(crate) done: Vec<(u64, Ticket, Outcome)>,
    pub(crate) tickets: u64,
}

impl Bench {
    /// A node with a ttl of 60 s that holds its lease.
    pub(crate) fn joined() -> Self {
        Self::with(Config::new("me").with_ttl(Duration::from_secs(60)))
    }

    pub(crate) fn with(config: Config) -> Self {
        let mut bench = Self {
            engine: Engine::new(config, SessionId::new(1), 7).expect("a legal configuration"),
            now: 0,
            due: BTreeMap::new(),
            planned: 0,
            objects: BTreeMap::new(),
            manner: serves,
            spared: None,
            sent: Vec::new(),
            done: Vec::new(),
            tickets: 0,
        };
        bench.call(Call::Join);
        bench.run_until(200);
        assert!(bench.engine.authority().is_some());
        bench
    }

    pub(crate) fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket::new(self.tickets);
        self.handle(Event::Call(ticket, call));
        ticket
    }

    pub(crate) fn claim(&mut self, name: &str, wait: Duration) -> Ticket {
        self.call(Call::Claim { cell: cell(name), wait })
    }

    /// Puts a cell into the hands of a node whose lease lives.
    pub(crate) fn held_by_another(&mut self, name: &str) {
        let record = r#"{"node":"b.1","epoch":3,"write":"b.1#4"}"#;
        self.put(Key::owner(&cell(name)), record);
        let lease = r#"{"node":"b.1","expires_ms":9,"addr":"-","peer_protocol":1,"ownership_index_generation":"1","ttl_ms":60000,"write":"b.1#1"}"#;
        self.put(Key::lease(&"b.1".parse_node()), lease);
    }

    pub(crate) fn put(&mut self, key: Key, body: &str) {
        self.planned += 1;
        let etag = ETag::new(format!("p{}", self.planned).as_bytes()).expect("not empty");
        self.objects.insert(key, (etag, body.as_bytes().into()));
    }

    /// Lets everything happen that happens until then.
    pub(crate) fn run_until(&mut self, until: u64) {
        loop {
            let Command::Idle { until: wakes } = self.engine.poll() else {
                panic!("something was not polled")
            };
            let wakes = wakes.map(|due| due.at.as_nanos().div_ceil(1_000_000));
            let told = self.due.first_key_value().map(|((at, _), _)| *at);
            match (told, wakes) {
                (Some(told), wakes) if told <= until && wakes.is_none_or(|wakes| told <= wakes) => {
                    let (_, event) = self.due.pop_first().expect("just seen");
                    self.now = told;
                    self.handle(event);
                }
                (_, Some(wakes)) if wakes <= until => {
                    self.now = self.now.max(wakes);
                    self.handle(Event::Wake);
                }
                _ => break,
            }
        }
        self.now = until;
        self.engine.check().expect("the engine's books are in order");
    }

    pub(crate) fn handle(&mut self, event: Event) {
        let now = Now { mono: Instant::from_millis(self.now), wall: WallTime::from_millis(self.now) };
        self.engine.handle(now, event);
        loop {
            let op = match self.engine.poll() {
                Command::Done(ticket, outcome) => {
                    self.done.push((self.now, ticket, outcome));
                    continue;
                }
                Command::Idle { .. } => break,
                Command::List(op) => Op::List(op),
                Command::Notify(_) => continue,
                Command::Read(op) => Op::Read(op),
                Command::Remove(op) => Op::Remove(op),
                Command::Write(op) => Op::Write(op),
            };
            let is_spared = self.spared.is_some() && key(&op) == self.spared.as_ref();
            let reply = if is_spared { serves(&op, self.now) } else { (self.manner)(&op, self.now) };
            // What never arrives is given up on by the driver.
            let takes = if reply.is_some() { ROUND_TRIP } else { timeout(&op) };
            let reply = reply.unwrap_or_else(|| failed(&op, FaultKind::TimedOut));
            let reply =
                if reply == Reply::List(ListReply::Page(Page::default())) { self.serve(&op) } else { reply };
            self.planned += 1;
            self.due.insert((self.now + takes, self.planned), event_of(&op, reply));
            self.sent.push((self.now, op));
        }
    }

    /// Lets everything happen until then, with a lease that is renewed all the same: callers are answered by their own
    /// time, not by the end of the session.
    pub(crate) fn engine_is_kept(&mut self, until: u64) {
        let lease = Key::lease(self.engine.node());
        self.spared = Some(lease);
        self.run_until(until);
    }

    pub(crate) fn serve(&mut self, op: &Op) -> Reply {
        let date = StoreTime::from_millis(1_000_000_000 + self.now);
        let stamps = Stamps { modified: Some(date), date: Some(date) };
        match op {
            Op::List(_) => Reply::List(ListReply::Page(Page::default())),
            Op::Read(op) => Reply::Read(match self.objects.get(&op.key) {
                None => ReadReply::Missing,
                Some((etag, _)) if op.unless.as_ref() == Some(etag) => ReadReply::Unchanged(stamps),
                Some((etag, body)) => ReadReply::Found { etag: etag.clone(), body: (**body).into(), stamps },
            }),
            Op::Remove(op) => {
                self.objects.remove(&op.key);
                Reply::Remove(tenure_core::RemoveReply::Removed)
            }
            Op::Write(op) => Reply::Write({
                let current = self.objects.get(&op.key).map(|(etag, _)| etag);
                let holds = match &op.guard {
                    tenure_core::Guard::Absent => current.is_none(),
                    tenure_core::Guard::Match(etag) => current == Some(etag),
                };
                if holds {
                    let etag = ETag::new(format!("e{}", op.id.get()).as_bytes()).expect("not empty");
                    self.objects.insert(op.key.clone(), (etag.clone(), op.body.clone()));
                    WriteReply::Applied { etag }
                } else {
                    WriteReply::Rejected
                }
            }),
        }
    }

    /// Returns how many requests that are not for the node's own lease were sent in each second of a span.
    pub(crate) fn per_second(&self, from: u64, until: u64) -> Vec<usize> {
        let lease = Key::lease(self.engine.node());
        let ordinary = self.sent.iter().filter(|(_, op)| key(op) != Some(&lease));
        let mut counts = vec![0; usize::try_from((until - from) / 1000).expect("a short span")];
        for (at, _) in ordinary.filter(|(at, _)| (from..until).contains(at)) {
            counts[usize::try_from((at - from) / 1000).expect("a short span")] += 1;
        }
        counts
    }
}

pub(crate) trait ParseNode {
    fn parse_node(&self) -> tenure_core::NodeId;
}

impl ParseNode for str {
    fn parse_node(&self) -> tenure_core::NodeId {
        tenure_core::NodeId::parse(self).expect("a legal node")
    }
}

pub(crate) fn serves(_: &Op, _: u64) -> Option<Reply> {
    Some(Reply::List(ListReply::Page(Page::default())))
}

pub(crate) fn unavailable(op: &Op, _: u64) -> Option<Reply> {
    Some(failed(op, FaultKind::Unavailable))
}

pub(crate) fn dark(_: &Op, _: u64) -> Option<Reply> {
    None
}

pub(crate) fn throttles(op: &Op, _: u64) -> Option<Reply> {
    Some(match op {
        Op::List(_) => Reply::List(ListReply::Throttled { after: None }),
        Op::Read(_) => Reply::Read(ReadReply::Throttled { after: None }),
        Op::Remove(_) => failed(op, FaultKind::Throttled),
        Op::Write(_) => Reply::Write(WriteReply::Throttled { after: None }),
    })
}

pub(crate) fn failed(op: &Op, kind: FaultKind) -> Reply {
    let fault = Fault::new(kind, "503");
    match op {
        Op::List(_) => Reply::List(ListReply::Failed(fault)),
        Op::Read(_) => Reply::Read(ReadReply::Failed(fault)),
        Op::Remove(_) => Reply::Remove(tenure_core::RemoveReply::Failed(fault)),
        Op::Write(_) => Reply::Write(WriteReply::Unknown(fault)),
    }
}

pub(crate) fn event_of(op: &Op, reply: Reply) -> Event {
    match (op, reply) {
        (Op::List(op), Reply::List(reply)) => Event::ListDone(op.id, reply),
        (Op::Read(op), Reply::Read(reply)) => Event::ReadDone(op.id, reply),
        (Op::Remove(op), Reply::Remove(reply)) => Event::RemoveDone(op.id, reply),
        (Op::Write(op), Reply::Write(reply)) => Event::WriteDone(op.id, reply),
        (op, reply) => panic!("{reply:?} does not answer {op:?}"),
    }
}

pub(crate) fn timeout(op: &Op) -> u64 {
    let timeout = match op {
        Op::List(op) => op.timeout,
        Op::Read(op) => op.timeout,
        Op::Remove(op) => op.timeout,
        Op::Write(op) => op.timeout,
    };
    u64::try_from(timeout.as_millis()).expect("a short time")
}

pub(crate) fn key(op: &Op) -> Option<&Key> {
    match op {
        Op::List(_) => None,
        Op::Read(op) => Some(&op.key),
        Op::Remove(op) => Some(&op.key),
        Op::Write(op) => Some(&op.key),
    }
}

pub(crate) fn cell(name: &str) -> CellId {
    CellId::new(name).expect("a legal cell")
}

/// A node that waits for this many cells of another's, and a store that has just begun to behave like that.
pub(crate) fn waiting_for(cells: usize, manner: Manner) -> Bench {
    let mut bench = Bench::joined();
    for n in 0..cells {
        bench.held_by_another(&format!("c{n}"));
        bench.claim(&format!("c{n}"), HOUR);
    }
    bench.run_until(5_000);
    bench.manner = manner;
    bench
}

pub(crate) const HOUR: Duration = Duration::from_secs(3600);
