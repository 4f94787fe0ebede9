//! Runs the engine against a store that answers at once and has no cost of its own, with few cells and with many:
//! what an event costs must not depend on how many cells are held, and leaving must cost the same for each.

use std::collections::VecDeque;
use std::time::Duration;

use tenure_benches::{Cost, Counting, least, live_bytes, measure};
use tenure_core::{
    Call, CellId, Command, Config, ETag, Engine, Event, Instant, Now, Outcome, ReadReply, RemoveReply,
    SessionId, Tenure, Ticket, WallTime, WriteReply,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: usize = 30;
const CLAIMS_PER_ROUND: usize = 100;
const RENEWALS_PER_ROUND: usize = 100;
const LOOKUPS_PER_ROUND: usize = 1000;

fn main() {
    println!("the engine, per event");
    println!("| path | cells held | events | ns/event | allocations/event |\n|---|---|---|---|---|");
    let few = paths(1);
    let many = paths(100_000);
    for ((name, few), (_, many)) in few.rows.iter().zip(&many.rows) {
        println!("| {name}, 100,000 cells to 1 | | | {:.2} x | |", many.nanos / few.nanos);
    }
    println!("\n{} bytes for each cell held, names and tags included", many.bytes_per_cell);

    println!("\nleaving");
    println!("| cells held | ns/cell | allocations/cell | seconds |\n|---|---|---|---|");
    let costs = [10_000, 100_000].map(|held| {
        let cost = least((0..3).map(|_| leave(held)));
        let seconds = cost.nanos * held as f64 / 1e9;
        println!("| {held} | {:.0} | {:.1} | {seconds:.3} |", cost.nanos, cost.allocations);
        cost
    });
    println!("| 100,000 cells to 10,000, each | {:.2} x | | |", costs[1].nanos / costs[0].nanos);
}

struct Paths {
    rows: Vec<(&'static str, Cost)>,
    bytes_per_cell: usize,
}

fn paths(held: usize) -> Paths {
    let before = live_bytes();
    let mut node = Node::holding(held);
    let bytes_per_cell = (live_bytes() - before) / held;
    let mut rows = Vec::new();
    let mut row = |name, events: usize, cost: Cost| {
        println!("| {name} | {held} | {events} | {:.0} | {:.1} |", cost.nanos, cost.allocations);
        rows.push((name, cost));
    };

    let claims = (0..ROUNDS).map(|round| {
        let cells: Vec<CellId> =
            (0..CLAIMS_PER_ROUND).map(|n| cell(held + round * CLAIMS_PER_ROUND + n)).collect();
        let events = node.events;
        let cost = measure(3 * CLAIMS_PER_ROUND, || cells.iter().for_each(|cell| node.claim(cell)));
        assert_eq!(node.events - events, 3 * CLAIMS_PER_ROUND, "a claim is a call, a read and a write");
        cells.iter().for_each(|cell| node.release(cell));
        cost
    });
    row("cold claim", 3, least(claims));

    let renewals = (0..ROUNDS).map(|_| {
        let events = node.events;
        let cost = measure(2 * RENEWALS_PER_ROUND, || (0..RENEWALS_PER_ROUND).for_each(|_| node.renew()));
        assert_eq!(node.events - events, 2 * RENEWALS_PER_ROUND, "a renewal is a wake and a write");
        cost
    });
    row("renewal", 2, least(renewals));

    let idle = (0..ROUNDS).map(|_| {
        measure(LOOKUPS_PER_ROUND, || (0..LOOKUPS_PER_ROUND).for_each(|_| node.handle(Event::Wake)))
    });
    row("wake with nothing due", 1, least(idle));

    let lookups = (0..ROUNDS).map(|_| {
        let cell = cell(held / 2);
        measure(LOOKUPS_PER_ROUND, || {
            for _ in 0..LOOKUPS_PER_ROUND {
                assert!(node.engine.tenure(std::hint::black_box(&cell), node.now()).is_some());
            }
        })
    });
    row("tenure asked, no event", 1, least(lookups));
    Paths { rows, bytes_per_cell }
}

fn leave(held: usize) -> Cost {
    let mut node = Node::holding(held);
    let cost = measure(held, || node.call(Call::Leave));
    assert!(node.has_left, "leaving ends");
    assert_eq!(node.writes_last, held + 1, "each cell is released with one write, then the lease is ended");
    cost
}

fn cell(number: usize) -> CellId {
    CellId::new(&format!("orders:{number:08}")).expect("a legal name")
}

/// An engine and its store.
struct Node {
    engine: Engine,
    mono: Instant,
    until: Option<Instant>,
    todo: VecDeque<Event>,
    tickets: u64,
    tags: u64,
    events: usize,
    /// Writes since the last call.
    writes_last: usize,
    probe_writes: usize,
    has_left: bool,
}

impl Node {
    fn holding(cells: usize) -> Self {
        let engine = Engine::new(Config::new("bench"), SessionId::new(1), 1).expect("a legal configuration");
        let mut node = Self {
            engine,
            mono: Instant::from_millis(0),
            until: None,
            todo: VecDeque::new(),
            tickets: 0,
            tags: 0,
            events: 0,
            writes_last: 0,
            probe_writes: 0,
            has_left: false,
        };
        node.call(Call::Join);
        assert!(node.engine.authority().is_some(), "the store is fit");
        (0..cells).for_each(|number| node.claim(&cell(number)));
        node
    }

    fn claim(&mut self, cell: &CellId) {
        self.call(Call::Claim { cell: cell.clone(), wait: Duration::ZERO });
        assert!(self.engine.tenure(cell, self.now()).is_some(), "a free cell is had");
    }

    fn release(&mut self, cell: &CellId) {
        let epoch = self.engine.tenure(cell, self.now()).expect("the cell is held").epoch;
        self.call(Call::Release(Tenure { cell: cell.clone(), epoch }));
    }

    /// Lets time pass until the lease is due.
    fn renew(&mut self) {
        self.mono = self.until.expect("a held lease has a deadline");
        self.handle(Event::Wake);
    }

    fn call(&mut self, call: Call) {
        self.tickets += 1;
        self.writes_last = 0;
        self.handle(Event::Call(Ticket::new(self.tickets), call));
    }

    /// Handles an event, and the answers of the store until there is nothing left to do.
    fn handle(&mut self, event: Event) {
        self.todo.push_back(event);
        while let Some(event) = self.todo.pop_front() {
            self.events += 1;
            self.engine.handle(self.now(), event);
            loop {
                match self.engine.poll() {
                    Command::Done(_, Outcome::Left) => self.has_left = true,
                    Command::Done(..) | Command::Notify(_) => {}
                    Command::Idle { until } => {
                        self.until = until.map(|until| until.at);
                        break;
                    }
                    Command::List(op) => unreachable!("{op:?} is not needed here"),
                    Command::Read(op) => self.todo.push_back(Event::ReadDone(op.id, ReadReply::Missing)),
                    Command::Remove(op) => {
                        self.todo.push_back(Event::RemoveDone(op.id, RemoveReply::Removed));
                    }
                    Command::Write(op) => {
                        let reply = self.write(op.key.as_str());
                        self.todo.push_back(Event::WriteDone(op.id, reply));
                    }
                }
            }
        }
    }

    /// Applies every write, but the second and the fourth of the probe, which no sound store takes.
    fn write(&mut self, key: &str) -> WriteReply {
        self.writes_last += 1;
        if key.starts_with("probe/") {
            self.probe_writes += 1;
            if self.probe_writes.is_multiple_of(2) {
                return WriteReply::Rejected;
            }
        }
        self.tags += 1;
        // A tag as stores give them, made without formatting.
        let mut tag = *b"\"0000000000000000\"";
        for (digit, place) in tag[1..17].iter_mut().zip((0..16).rev()) {
            *digit = b"0123456789abcdef"[(self.tags >> (4 * place)) as usize & 15];
        }
        WriteReply::Applied { etag: ETag::new(&tag).expect("not empty") }
    }

    fn now(&self) -> Now {
        Now { mono: self.mono, wall: WallTime::from_millis(1_764_400_000_000) }
    }
}
