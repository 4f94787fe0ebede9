//! How many requests a store in trouble is sent: what useful answers pay for, and a trickle beside it.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use core::num::NonZeroU32;
use core::time::Duration;
use tenure_core::{
    Call, CellId, ClaimError, Command, Config, ETag, Engine, Event, Fault, FaultKind, Instant, Key,
    ListReply, Now, Op, Outcome, Page, ReadReply, Reply, SessionId, Stamps, StoreTime, Tenure, Ticket,
    VerifyError, WallTime, WriteReply,
};

/// How long the store takes to answer, in milliseconds.
const ROUND_TRIP: u64 = 20;

/// What the store does with a request.
type Manner = fn(&Op, u64) -> Option<Reply>;

/// A node and a store that serves it, in milliseconds of one clock.
struct Bench {
    engine: Engine,
    now: u64,
    /// What the node will be told, and when.
    due: BTreeMap<(u64, u64), Event>,
    planned: u64,
    objects: BTreeMap<Key, (ETag, Arc<[u8]>)>,
    manner: Manner,
    /// A key under which the store serves whatever its manner.
    spared: Option<Key>,
    sent: Vec<(u64, Op)>,
    done: Vec<(u64, Ticket, Outcome)>,
    tickets: u64,
}

impl Bench {
    /// A node with a ttl of 60 s that holds its lease.
    fn joined() -> Self {
        Self::with(Config::new("me").with_ttl(Duration::from_secs(60)))
    }

    fn with(config: Config) -> Self {
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

    fn call(&mut self, call: Call) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket::new(self.tickets);
        self.handle(Event::Call(ticket, call));
        ticket
    }

    fn claim(&mut self, name: &str, wait: Duration) -> Ticket {
        self.call(Call::Claim { cell: cell(name), wait })
    }

    /// Puts a cell into the hands of a node whose lease lives.
    fn held_by_another(&mut self, name: &str) {
        let record = r#"{"node":"b.1","epoch":3,"write":"b.1#4"}"#;
        self.put(Key::owner(&cell(name)), record);
        let lease = r#"{"node":"b.1","expires_ms":9,"addr":"-","peer_protocol":1,"ownership_index_generation":"1","ttl_ms":60000,"write":"b.1#1"}"#;
        self.put(Key::lease(&"b.1".parse_node()), lease);
    }

    fn put(&mut self, key: Key, body: &str) {
        self.planned += 1;
        let etag = ETag::new(format!("p{}", self.planned).as_bytes()).expect("not empty");
        self.objects.insert(key, (etag, body.as_bytes().into()));
    }

    /// Lets everything happen that happens until then.
    fn run_until(&mut self, until: u64) {
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

    fn handle(&mut self, event: Event) {
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
    fn engine_is_kept(&mut self, until: u64) {
        let lease = Key::lease(self.engine.node());
        self.spared = Some(lease);
        self.run_until(until);
    }

    fn serve(&mut self, op: &Op) -> Reply {
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
    fn per_second(&self, from: u64, until: u64) -> Vec<usize> {
        let lease = Key::lease(self.engine.node());
        let ordinary = self.sent.iter().filter(|(_, op)| key(op) != Some(&lease));
        let mut counts = vec![0; usize::try_from((until - from) / 1000).expect("a short span")];
        for (at, _) in ordinary.filter(|(at, _)| (from..until).contains(at)) {
            counts[usize::try_from((at - from) / 1000).expect("a short span")] += 1;
        }
        counts
    }
}

trait ParseNode {
    fn parse_node(&self) -> tenure_core::NodeId;
}

impl ParseNode for str {
    fn parse_node(&self) -> tenure_core::NodeId {
        tenure_core::NodeId::parse(self).expect("a legal node")
    }
}

fn serves(_: &Op, _: u64) -> Option<Reply> {
    Some(Reply::List(ListReply::Page(Page::default())))
}

fn unavailable(op: &Op, _: u64) -> Option<Reply> {
    Some(failed(op, FaultKind::Unavailable))
}

fn dark(_: &Op, _: u64) -> Option<Reply> {
    None
}

fn throttles(op: &Op, _: u64) -> Option<Reply> {
    Some(match op {
        Op::List(_) => Reply::List(ListReply::Throttled { after: None }),
        Op::Read(_) => Reply::Read(ReadReply::Throttled { after: None }),
        Op::Remove(_) => failed(op, FaultKind::Throttled),
        Op::Write(_) => Reply::Write(WriteReply::Throttled { after: None }),
    })
}

fn failed(op: &Op, kind: FaultKind) -> Reply {
    let fault = Fault::new(kind, "503");
    match op {
        Op::List(_) => Reply::List(ListReply::Failed(fault)),
        Op::Read(_) => Reply::Read(ReadReply::Failed(fault)),
        Op::Remove(_) => Reply::Remove(tenure_core::RemoveReply::Failed(fault)),
        Op::Write(_) => Reply::Write(WriteReply::Unknown(fault)),
    }
}

fn event_of(op: &Op, reply: Reply) -> Event {
    match (op, reply) {
        (Op::List(op), Reply::List(reply)) => Event::ListDone(op.id, reply),
        (Op::Read(op), Reply::Read(reply)) => Event::ReadDone(op.id, reply),
        (Op::Remove(op), Reply::Remove(reply)) => Event::RemoveDone(op.id, reply),
        (Op::Write(op), Reply::Write(reply)) => Event::WriteDone(op.id, reply),
        (op, reply) => panic!("{reply:?} does not answer {op:?}"),
    }
}

fn timeout(op: &Op) -> u64 {
    let timeout = match op {
        Op::List(op) => op.timeout,
        Op::Read(op) => op.timeout,
        Op::Remove(op) => op.timeout,
        Op::Write(op) => op.timeout,
    };
    u64::try_from(timeout.as_millis()).expect("a short time")
}

fn key(op: &Op) -> Option<&Key> {
    match op {
        Op::List(_) => None,
        Op::Read(op) => Some(&op.key),
        Op::Remove(op) => Some(&op.key),
        Op::Write(op) => Some(&op.key),
    }
}

fn cell(name: &str) -> CellId {
    CellId::new(name).expect("a legal cell")
}

/// A node that waits for this many cells of another's, and a store that has just begun to behave like that.
fn waiting_for(cells: usize, manner: Manner) -> Bench {
    let mut bench = Bench::joined();
    for n in 0..cells {
        bench.held_by_another(&format!("c{n}"));
        bench.claim(&format!("c{n}"), HOUR);
    }
    bench.run_until(5_000);
    bench.manner = manner;
    bench
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn bl_04_a_store_that_is_of_no_use_is_asked_ten_times_a_second_however_many_cells_wait() {
    for manner in [unavailable as Manner, dark, throttles] {
        let mut bench = waiting_for(1000, manner);
        bench.run_until(15_000);
        let counts = bench.per_second(5_000, 15_000);
        // What was on its way when the trouble began still brings good answers, and there is some credit.
        assert!(counts[0] < 90 && counts[1..].iter().all(|count| *count == 10), "{counts:?}");
    }
}

#[test]
fn the_rate_is_configured() {
    for (rate, most) in [(NonZeroU32::new(3), 3), (NonZeroU32::new(100), 100), (None, 10_000)] {
        let mut bench =
            Bench::with(Config { trouble_rate: rate, ..Config::new("me").with_ttl(Duration::from_secs(60)) });
        bench.manner = unavailable;
        for n in 0..1000 {
            bench.claim(&format!("c{n}"), HOUR);
        }
        bench.run_until(5_200);
        let counts = bench.per_second(1_200, 5_200);
        assert!(
            counts.iter().all(|count| *count <= most && (rate.is_none() || *count == most)),
            "{counts:?}"
        );
        assert!(rate.is_some() || counts[0] > 500, "{counts:?}");
    }
}

#[test]
fn a_store_that_answers_is_asked_without_limit() {
    let mut bench = Bench::joined();
    for n in 0..10_000 {
        bench.claim(&format!("c{n}"), Duration::ZERO);
    }
    bench.run_until(1_000);
    assert_eq!(bench.done.len(), 1 + 10_000);
    let last = bench.done.last().expect("just counted").0;
    // A read and a write each, and a few round trips until as many are on their way as there are.
    assert!(last <= 200 + 8 * ROUND_TRIP, "{last}");
}

#[test]
fn a_store_that_comes_back_is_asked_for_everything_that_waits_within_a_few_round_trips() {
    let mut bench = waiting_for(1000, unavailable);
    bench.run_until(45_000);
    for n in 0..1000 {
        bench.put(Key::owner(&cell(&format!("c{n}"))), r#"{"node":"","epoch":3}"#);
    }
    bench.done.clear();
    bench.manner = serves;
    // The store is asked ten times a second at least, so it is known within a tenth of a second to be back.
    bench.run_until(47_000);
    let granted =
        bench.done.iter().filter(|(_, _, outcome)| matches!(outcome, Outcome::Claimed(Ok(_)))).count();
    assert_eq!(granted, 1000);
    let mut before = 32;
    for from in (45_000..47_000).step_by(ROUND_TRIP as usize) {
        let sent = bench.sent.iter().filter(|(at, _)| (from..from + ROUND_TRIP).contains(at)).count();
        assert!(sent <= 5 * before + 32, "{sent} after {before}");
        before = sent;
    }
}

#[test]
fn bl_04_throttled_keys_do_not_slow_the_others() {
    let mut bench = Bench::joined();
    for n in 0..60 {
        bench.claim(&format!("good{n}"), Duration::ZERO);
    }
    bench.run_until(1_000);
    // Two in three keys are throttled: what every store does that limits the writes to one key.
    bench.manner = |op, now| match key(op).filter(|key| key.as_str().contains("hot")) {
        Some(_) => throttles(op, now),
        None => serves(op, now),
    };
    for n in 0..120 {
        bench.claim(&format!("hot{n}"), HOUR);
    }
    bench.run_until(5_000);
    bench.done.clear();
    for at in (5_000..15_000).step_by(1_000) {
        bench.run_until(at);
        for n in 0..60 {
            let tenure = Tenure { cell: cell(&format!("good{n}")), epoch: tenure_core::Epoch::FIRST };
            bench.call(Call::Verify(tenure));
        }
        // In a few round trips, not in the seconds that it takes to ask for the throttled ones.
        bench.run_until(at + 10 * ROUND_TRIP);
        assert_eq!(bench.done.len(), 60, "at {at}");
        assert!(bench.done.drain(..).all(|(_, _, outcome)| outcome == Outcome::Verified(Ok(()))));
    }
}

#[test]
fn bl_49_the_lease_is_renewed_in_time_whatever_else_waits() {
    let mut bench =
        waiting_for(1000, |op, now| match key(op).filter(|key| key.as_str().contains("nodes/me")) {
            Some(_) => serves(op, now),
            None => unavailable(op, now),
        });
    bench.run_until(120_000);
    assert!(bench.engine.authority().is_some());
    let lease = Key::lease(bench.engine.node());
    let renewals: Vec<u64> =
        bench.sent.iter().filter(|(_, op)| key(op) == Some(&lease)).map(|(at, _)| *at).collect();
    assert!(renewals.is_sorted_by(|a, b| b - a < 60_000 * 11 / 30 + 100), "{renewals:?}");
}

#[test]
fn bl_03_a_store_that_is_dark_for_half_a_ttl_costs_no_lease_and_for_two_ttl_ends_it_when_authority_ends() {
    for (until, is_held) in [(5_000 + 30_000, true), (5_000 + 120_000, false)] {
        let mut bench = waiting_for(100, dark);
        let mut authority = bench.engine.authority();
        while bench.now < until {
            assert!(
                bench.engine.fenced().is_none() || authority.is_some_and(|at| at.as_millis() <= bench.now)
            );
            authority = bench.engine.authority().or(authority);
            bench.run_until(bench.now + 10);
        }
        bench.manner = serves;
        bench.run_until(until + 15_000);
        assert_eq!(bench.engine.authority().is_some(), is_held);
        if let Some((at, ..)) = bench.done.iter().find(|(_, _, outcome)| is_fenced(outcome)) {
            assert_eq!(Some(*at), authority.map(Instant::as_millis), "neither sooner nor later");
        }
    }
}

fn is_fenced(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Claimed(Err(ClaimError::Fenced(_))))
}

#[test]
fn every_cell_has_its_turn() {
    let mut bench = waiting_for(300, unavailable);
    bench.run_until(10_000);
    let mut asked = BTreeMap::new();
    let before = bench.sent.len();
    bench.run_until(10_000 + 40_000);
    for (_, op) in &bench.sent[before..] {
        *asked.entry(key(op).cloned()).or_insert(0) += 1;
    }
    asked.retain(|key, _| key.as_ref().is_some_and(|key| key.as_str().starts_with("cells/")));
    assert_eq!(asked.len(), 300);
    assert!(asked.values().all(|count| (1..=2).contains(count)), "{asked:?}");
}

#[test]
fn a_release_and_a_verification_do_not_queue_behind_those_who_only_look() {
    let mut bench = Bench::joined();
    for name in ["mine", "yours"] {
        bench.claim(name, Duration::ZERO);
    }
    for n in 0..1000 {
        bench.held_by_another(&format!("c{n}"));
        bench.claim(&format!("c{n}"), HOUR);
    }
    bench.run_until(5_000);
    bench.manner = unavailable;
    bench.run_until(10_000);
    let first = tenure_core::Epoch::FIRST;
    bench.call(Call::Release(Tenure { cell: cell("mine"), epoch: first }));
    bench.call(Call::Verify(Tenure { cell: cell("yours"), epoch: first }));
    let before = bench.sent.len();
    bench.run_until(10_500);
    let sent = &bench.sent[before..];
    for name in ["mine", "yours"] {
        assert!(sent.iter().any(|(_, op)| key(op) == Some(&Key::owner(&cell(name)))), "{name}: {sent:?}");
    }
    // What became of the release is asked for again and again, if more slowly.
    let before = bench.sent.len();
    bench.run_until(20_000);
    let asked = bench.sent[before..].iter().filter(|(_, op)| key(op) == Some(&Key::owner(&cell("mine"))));
    assert!(asked.count() >= 3);
}

#[test]
fn whoever_calls_is_answered_in_time_with_what_is_wrong_with_the_store() {
    let kinds = [(unavailable as Manner, FaultKind::Unavailable), (throttles, FaultKind::Throttled)];
    for (manner, kind) in kinds.into_iter().chain([(dark as Manner, FaultKind::TimedOut)]) {
        let mut bench = waiting_for(1000, manner);
        bench.manner = serves;
        let mine: Vec<CellId> = (0..200).map(|n| cell(&format!("mine{n}"))).collect();
        mine.iter().for_each(|cell| {
            bench.claim(cell.as_str(), Duration::ZERO);
        });
        bench.run_until(6_000);
        bench.manner = manner;
        bench.run_until(10_000);
        bench.done.clear();
        let first = tenure_core::Epoch::FIRST;
        for (n, cell_held) in mine.iter().enumerate().take(200) {
            let tenure = Tenure { cell: cell_held.clone(), epoch: first };
            bench.call(if n % 2 == 0 { Call::Release(tenure) } else { Call::Verify(tenure) });
            bench.claim(&format!("new{n}"), Duration::ZERO);
            bench.call(Call::Locate { cell: cell(&format!("c{n}")), max_age: Duration::ZERO });
            bench.call(Call::Watch(cell(&format!("watched{n}"))));
        }
        bench.call(Call::Peers);
        // The node's patience is a ttl, and a request may take what an attempt may.
        let last = 10_000 + 60_000 * 115 / 100;
        bench.engine_is_kept(last);
        assert_eq!(bench.done.len(), 801, "{kind:?}");
        for (at, _, outcome) in &bench.done {
            assert!(*at <= last && fault_of(outcome) == Some(kind), "{kind:?}: {outcome:?} at {at}");
        }
    }
}

fn fault_of(outcome: &Outcome) -> Option<FaultKind> {
    use tenure_core::{LocateError, PeersError, ReleaseError, WatchError};
    match outcome {
        Outcome::Claimed(Err(ClaimError::Store(fault)))
        | Outcome::Located(Err(LocateError::Store(fault)))
        | Outcome::Peers(Err(PeersError::Store(fault)))
        | Outcome::Released(Err(ReleaseError::Store(fault)))
        | Outcome::Verified(Err(VerifyError::Store(fault)))
        | Outcome::Watched(Err(WatchError::Store(fault))) => Some(fault.kind),
        Outcome::Claimed(_)
        | Outcome::Joined(_)
        | Outcome::Left
        | Outcome::Located(_)
        | Outcome::Peers(_)
        | Outcome::Published(_)
        | Outcome::Released(_)
        | Outcome::Transferred(_)
        | Outcome::Unwatched
        | Outcome::Verified(_)
        | Outcome::Watched(_) => None,
    }
}

#[test]
fn what_nobody_waits_for_any_more_is_not_sent() {
    let mut bench = Bench::joined();
    bench.manner = unavailable;
    let tickets: Vec<Ticket> = (0..1000).map(|n| bench.claim(&format!("c{n}"), HOUR)).collect();
    bench.run_until(1_000);
    for ticket in tickets {
        bench.handle(Event::Cancel(ticket));
    }
    let before = bench.sent.len();
    bench.run_until(15_000);
    assert_eq!(bench.sent.len(), before, "{:?}", &bench.sent[before..]);
}
