//! `Engine::handle` is total: whatever arrives, in whatever order and at whatever time, it never panics,
//! answers every call exactly once, asks for nothing after a fence and never for a wake-up in the past.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use core::time::Duration;
use proptest::collection::vec;
use proptest::prelude::*;
use tenure_core::{
    AttemptId, Call, CellId, Command, Config, ETag, Engine, Entry, Epoch, Event, Fault, FaultKind, Instant,
    ListId, ListReply, NodeId, Notice, Now, Page, ReadId, ReadOp, ReadReply, SessionId, Stamps, StoreTime,
    Tenure, Ticket, WallTime, WriteOp, WriteReply,
};

/// One step of a run, as numbers: everything they could mean is a legal event.
#[derive(Clone, Debug)]
struct Step {
    advance_ms: u64,
    what: u8,
    pick: u8,
    detail: u16,
}

fn step() -> impl Strategy<Value = Step> {
    let advance = prop_oneof![
        6 => 0..50_u64,
        3 => 50..2_000_u64,
        1 => Just(20_000_u64),
    ];
    (advance, any::<u8>(), any::<u8>(), any::<u16>()).prop_map(|(advance_ms, what, pick, detail)| Step {
        advance_ms,
        what,
        pick,
        detail,
    })
}

/// A driver that does what the steps say, and the properties it watches.
struct Run {
    engine: Engine,
    now: u64,
    tickets: u64,
    open: BTreeSet<Ticket>,
    cancelled: BTreeSet<Ticket>,
    reads: Vec<ReadOp>,
    writes: Vec<WriteOp>,
    lists: Vec<ListId>,
    /// The last attempt for each key.
    sent: BTreeMap<String, WriteOp>,
    is_fenced: bool,
}

impl Run {
    fn new() -> Self {
        // Short of patience, so that giving up happens within a run.
        let patience = Duration::from_millis(400);
        let config = Config { patience, ..Config::new("me").with_ttl(Duration::from_secs(3)) };
        Self {
            engine: Engine::new(config, SessionId::new(1), 3).expect("a legal configuration"),
            now: 0,
            tickets: 0,
            open: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            lists: Vec::new(),
            sent: BTreeMap::new(),
            is_fenced: false,
        }
    }

    fn handle(&mut self, event: Event) {
        let mono = Instant::from_millis(self.now);
        self.engine.handle(Now { mono, wall: WallTime::from_millis(self.now) }, event);
        loop {
            match self.engine.poll() {
                Command::Done(ticket, _) => {
                    let was_open = self.open.remove(&ticket);
                    assert!(
                        was_open || self.cancelled.remove(&ticket),
                        "{ticket} was answered twice or never asked"
                    );
                }
                Command::Idle { until } => {
                    assert!(until.is_none_or(|until| until.at > mono), "{until:?} is not after {mono:?}");
                    break;
                }
                Command::List(op) => {
                    assert!(!self.is_fenced, "{op:?} after the fence");
                    self.lists.push(op.id);
                }
                Command::Notify(Notice::Fenced(_)) => {
                    assert!(!self.is_fenced, "fenced twice");
                    self.is_fenced = true;
                }
                Command::Notify(_) | Command::Remove(_) => {}
                Command::Read(op) => {
                    assert!(!self.is_fenced, "{op:?} after the fence");
                    self.reads.push(op);
                }
                Command::Write(op) => {
                    assert!(!self.is_fenced, "{op:?} after the fence");
                    self.sent.insert(op.key.as_str().to_owned(), op.clone());
                    self.writes.push(op);
                }
            }
        }
        if self.is_fenced {
            assert_eq!(self.open, BTreeSet::new(), "a fence answers everybody");
            assert_eq!(self.engine.authority(), None);
        }
    }

    fn call(&mut self, call: Call) {
        self.tickets += 1;
        let ticket = Ticket::new(self.tickets);
        self.open.insert(ticket);
        self.handle(Event::Call(ticket, call));
    }

    fn take(&mut self, step: &Step) {
        self.now += step.advance_ms;
        match step.what % 16 {
            0..=3 => self.call(call(step)),
            4 => {
                let ticket = Ticket::new(u64::from(step.pick) % (self.tickets + 2));
                if self.open.remove(&ticket) {
                    self.cancelled.insert(ticket);
                }
                self.handle(Event::Cancel(ticket));
            }
            5 => self.handle(Event::Wake),
            6 => {
                // A reply that nobody waits for, or to a request that another machine made.
                let number = u64::from(step.detail % 64);
                self.handle(Event::ReadDone(ReadId::new(number), ReadReply::Missing));
                self.handle(Event::WriteDone(AttemptId::new(number), WriteReply::Rejected));
                self.handle(Event::ListDone(ListId::new(number), ListReply::Throttled { after: None }));
                self.reads.retain(|op| op.id.get() != number);
                self.writes.retain(|op| op.id.get() != number);
                self.lists.retain(|id| id.get() != number);
            }
            7..=10 if !self.reads.is_empty() => {
                let op = self.reads.remove(usize::from(step.pick) % self.reads.len());
                let reply = self.read_reply(&op, step.detail);
                self.handle(Event::ReadDone(op.id, reply.clone()));
                // Once more: a repeated reply is a no-op.
                self.handle(Event::ReadDone(op.id, reply));
            }
            11..=14 if !self.writes.is_empty() => {
                let op = self.writes.remove(usize::from(step.pick) % self.writes.len());
                let reply = write_reply(&op, step.detail);
                self.handle(Event::WriteDone(op.id, reply.clone()));
                self.handle(Event::WriteDone(op.id, reply));
            }
            _ if !self.lists.is_empty() => {
                let id = self.lists.remove(usize::from(step.pick) % self.lists.len());
                self.handle(Event::ListDone(id, list_reply(step.detail)));
            }
            _ => self.handle(Event::Wake),
        }
    }

    fn read_reply(&self, op: &ReadOp, detail: u16) -> ReadReply {
        let date = StoreTime::from_millis(1_000_000 + self.now + u64::from(detail >> 12) * 1_000);
        let modified = StoreTime::from_millis(1_000_000 + (self.now / 7_000) * 7_000);
        let stamps = match detail >> 8 & 7 {
            0 => Stamps::default(),
            1 => Stamps { modified: Some(modified), date: None },
            2 => Stamps { modified: Some(StoreTime::from_millis(u64::MAX)), date: Some(date) },
            _ => Stamps { modified: Some(modified), date: Some(date) },
        };
        let found = |etag: &str, body: &[u8]| ReadReply::Found { etag: tag(etag), body: body.into(), stamps };
        match detail % 16 {
            0 => ReadReply::Missing,
            1 => ReadReply::Unchanged(stamps),
            2 => ReadReply::Throttled { after: Some(Duration::MAX) },
            3 => ReadReply::Failed(fault(detail)),
            4..=8 => match self.sent.get(op.key.as_str()) {
                Some(sent) => found(&format!("e{}", sent.id.get()), &sent.body),
                None => ReadReply::Missing,
            },
            9 => found("x1", b"\xff{}"),
            10 => found(
                "x2",
                br#"{"node":"b.1","epoch":18446744073709551615,"expires_ms":18446744073709551615}"#,
            ),
            11 => found("x3", br#"{"node":"","epoch":3}"#),
            12 => found("x4", br#"{"node":"b.1","epoch":4,"expires_ms":9,"ttl_ms":3000}"#),
            13 => found("x5", br#"{"node":"b.1","epoch":5,"expires_ms":0,"fenced_by":"c"}"#),
            14 => {
                let me = self.engine.node();
                found(
                    "x6",
                    format!(r#"{{"node":"{me}","epoch":6,"expires_ms":9,"write":"b.1#3"}}"#).as_bytes(),
                )
            }
            _ => {
                found("x7", format!(r#"{{"node":"c.1","epoch":{},"expires_ms":9}}"#, detail >> 4).as_bytes())
            }
        }
    }
}

fn call(step: &Step) -> Call {
    let cell = CellId::new(["a", "b", "c"][usize::from(step.pick) % 3]).expect("legal");
    let tenure =
        Tenure { cell: cell.clone(), epoch: Epoch::new(u64::from(step.detail % 4) + 1).expect("not 0") };
    match step.detail >> 2 & 15 {
        0..=5 => Call::Claim { cell, wait: Duration::from_millis(u64::from(step.detail >> 6)) },
        6 => Call::Claim { cell, wait: Duration::MAX },
        7 => Call::Join,
        8 if step.pick > 128 => Call::Leave,
        9 => Call::Locate { cell, max_age: Duration::from_millis(u64::from(step.detail >> 6)) },
        10 => Call::Peers,
        11 => Call::Publish { load: None, meta: Some(BTreeMap::new()) },
        12 => Call::Transfer { tenure, to: NodeId::parse("b.1").expect("legal") },
        13 => Call::Release(tenure),
        14 if step.pick > 170 => Call::Unwatch(cell),
        14 => Call::Watch(cell),
        _ => Call::Verify(tenure),
    }
}

fn write_reply(op: &WriteOp, detail: u16) -> WriteReply {
    match detail % 12 {
        0 => WriteReply::Conflict,
        1 => WriteReply::NotApplied(fault(detail >> 4)),
        2 => WriteReply::Refused(fault(detail >> 4)),
        3 | 4 => WriteReply::Rejected,
        5 => WriteReply::Throttled { after: Some(Duration::from_millis(u64::from(detail))) },
        6 | 7 => WriteReply::Unknown(fault(detail >> 4)),
        _ => WriteReply::Applied { etag: tag(&format!("e{}", op.id.get())) },
    }
}

fn list_reply(detail: u16) -> ListReply {
    let entry = |key: &str| Entry {
        key: key.to_owned(),
        etag: Some(tag("x4")).filter(|_| detail & 16 == 0),
        modified: Some(StoreTime::from_millis(u64::from(detail))),
    };
    match detail % 4 {
        0 => ListReply::Failed(fault(detail >> 2)),
        1 => ListReply::Throttled { after: None },
        _ => ListReply::Page(Page {
            entries: vec![entry("nodes/b.1.json"), entry("nodes/../x"), entry("cells/a/own.json"), entry("")],
            next: Some("more".into()).filter(|_| detail & 32 == 0),
            date: Some(StoreTime::from_millis(u64::from(detail))),
        }),
    }
}

fn fault(detail: u16) -> Fault {
    let kinds = [
        FaultKind::Config,
        FaultKind::Denied,
        FaultKind::Malformed,
        FaultKind::Network,
        FaultKind::Throttled,
        FaultKind::TimedOut,
        FaultKind::Unavailable,
        FaultKind::Unfit,
    ];
    Fault::new(kinds[usize::from(detail) % kinds.len()], "")
}

fn tag(text: &str) -> ETag {
    ETag::new(text.as_bytes()).expect("not empty")
}

/// Joins without trouble, so that a run starts where most of the decisions are.
fn join(run: &mut Run) {
    run.call(Call::Join);
    for reply in [1, 0, 1, 0, 1] {
        let op = run.writes.remove(0);
        let etag = tag(&format!("e{}", op.id.get()));
        let reply = if reply == 1 { WriteReply::Applied { etag } } else { WriteReply::Rejected };
        run.handle(Event::WriteDone(op.id, reply));
    }
    assert!(run.engine.authority().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_every_call_is_answered_once_and_nothing_follows_a_fence(
        joins in any::<bool>(),
        steps in vec(step(), 0..200),
    ) {
        let mut run = Run::new();
        if joins {
            join(&mut run);
        }
        for step in &steps {
            run.take(step);
        }
        run.now += 100_000;
        run.call(Call::Leave);
        // Without a lease to give back, leaving ends the session at once.
        prop_assert!(run.is_fenced);
        prop_assert_eq!(run.open, BTreeSet::new());
    }

    #[test]
    fn a_record_is_created_only_at_the_first_epoch(
        steps in vec(step(), 0..200),
    ) {
        let mut run = Run::new();
        join(&mut run);
        let mut written: BTreeMap<AttemptId, WriteOp> = BTreeMap::new();
        for step in &steps {
            run.take(step);
            written.extend(run.writes.iter().map(|op| (op.id, op.clone())));
        }
        for op in written.values().filter(|op| op.key.as_str().starts_with("cells/")) {
            let record = tenure_core::OwnerRecord::parse(&op.body).expect("we write what we can read");
            let creates = op.guard == tenure_core::Guard::Absent;
            prop_assert!(!creates || record.epoch == Epoch::FIRST, "{:?} creates {:?}", op.key, record);
        }
    }
}
