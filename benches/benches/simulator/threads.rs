//! The small protocol under shuttle: a thread for each node, scheduled at random, messages lost at random.

use shuttle::rand::Rng;
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::atomic::{AtomicU8, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::{Config, Runner, thread};

use crate::small::{NODES, Node, Record, Reply, is_one, serve};

/// How many requests each node makes: 21 in all.
const OPERATIONS: usize = 7;

struct Store {
    record: Record,
    /// Until when each node believes that it owns.
    until: [u8; NODES],
}

/// Runs so many schedules; returns how many operations each has.
pub fn run(runs: usize) -> usize {
    Runner::new(RandomScheduler::new_from_seed(7, runs), Config::new()).run(once);
    NODES * OPERATIONS
}

fn once() {
    let store = Arc::new(Mutex::new(Store { record: Record::default(), until: [0; NODES] }));
    let clock = Arc::new(AtomicU8::new(1));
    let nodes: Vec<_> = (0..NODES)
        .map(|me| {
            let (store, clock) = (store.clone(), clock.clone());
            thread::spawn(move || live(me, &store, &clock))
        })
        .collect();
    nodes.into_iter().for_each(|node| node.join().expect("one owner"));
}

fn live(me: usize, store: &Mutex<Store>, clock: &AtomicU8) {
    let mut node = Node::new(me as u8);
    let mut chance = shuttle::rand::thread_rng();
    for _ in 0..OPERATIONS {
        let now = clock.fetch_add(1, Ordering::SeqCst);
        let op = node.next(now);
        let fate = chance.gen_range(0..8);
        let mut store = store.lock().expect("nobody panics with it");
        let now = clock.load(Ordering::SeqCst);
        // One request in eight is lost, and one answer: the sender cannot tell them apart.
        let reply = if fate == 0 { Reply::Unknown } else { serve(&mut store.record, op, now) };
        node.told(if fate == 1 { Reply::Unknown } else { reply });
        store.until[me] = node.until;
        assert!(is_one(store.until, now), "two owners");
    }
}
