//! The same life through the blocking driver: machines whose nodes and claims have threads of their own.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use tenure_blocking::{Cell, Node, S3Store, Store};
use tenure_core::{
    CellId, Config, Fault, FaultKind, ListReply, Op, ReadReply, RemoveReply, Reply, WriteReply,
};
use tenure_s3::Credentials;

use crate::fleet::{TTL, bucket};
use crate::judge::Told;
use crate::rivals::{End, Fleet};

/// Machines on threads, which end with this.
pub(crate) struct Machines {
    fleet: Arc<Fleet>,
    stop: Arc<AtomicBool>,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Machines {
    pub(crate) fn new(fleet: &Arc<Fleet>) -> Self {
        Self { fleet: Arc::clone(fleet), stop: Arc::default(), threads: Arc::default() }
    }

    /// Starts a machine that lives like the others of the fleet, for these cells.
    pub(crate) fn start(&self, name: String, cells: Vec<CellId>) {
        let (fleet, stop) = (Arc::clone(&self.fleet), Arc::clone(&self.stop));
        let threads = Arc::clone(&self.threads);
        let running = thread::spawn(move || {
            let credentials = Credentials::new("AK", "SK", None).expect("legal");
            // Not on a thread of the async machines, where a client that blocks cannot be made.
            let store = S3Store::new(bucket(&fleet.server), credentials).expect("a client");
            Machine { name, cells, store: Arc::new(store), fleet, stop, threads }.run();
        });
        self.threads.lock().expect("no panic").push(running);
    }

    /// Stops all machines; the store must be well.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(thread) = { self.threads.lock().expect("no panic").pop() } {
            thread.join().expect("no panic on a machine");
        }
    }
}

struct Machine {
    name: String,
    cells: Vec<CellId>,
    store: Arc<S3Store>,
    fleet: Arc<Fleet>,
    stop: Arc<AtomicBool>,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Machine {
    fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let is_cut = Arc::new(AtomicBool::new(false));
            let line = Line { store: Arc::clone(&self.store), is_cut: Arc::clone(&is_cut) };
            match Node::join(Config::new(self.name.as_str()).with_ttl(TTL), line) {
                Ok(node) => {
                    self.live(&node);
                    is_cut.store(true, Ordering::Relaxed);
                }
                Err(error) => {
                    self.fleet.note_refusal(&error);
                    pause(self.fleet.between(200, 600));
                }
            }
        }
    }

    /// Holds the cells for a moment; returns at the end of the session, or at the instant of a crash.
    fn live(&self, node: &Node) {
        let (holds, held) = channel();
        for cell in &self.cells {
            let (fleet, stop) = (Arc::clone(&self.fleet), Arc::clone(&self.stop));
            let (node, cell, holds) = (node.clone(), cell.clone(), holds.clone());
            // After a crash they go on until the session notices that it is over, as the threads of a process that
            // was cut off do.
            let holding = thread::spawn(move || hold(&fleet, &stop, &node, &cell, &holds));
            self.threads.lock().expect("no panic").push(holding);
        }
        drop(holds);
        let mut crash_at = None;
        while !self.stop.load(Ordering::Relaxed) {
            if let Some(cause) = node.fenced_within(Duration::from_millis(50)) {
                return self.fleet.note_end(cause);
            }
            match (crash_at, held.try_recv()) {
                (None, Ok(())) => {
                    let later = self.fleet.between(500, 2000);
                    crash_at = Some(self.fleet.server.now().after(later));
                }
                (Some(at), _) if self.fleet.server.now() >= at && !*self.fleet.over.borrow() => {
                    match self.fleet.end(node.id()) {
                        End::Crash => return,
                        End::LeaseRemoved => return self.fleet.note_end(node.fenced()),
                    }
                }
                (_, _) => {}
            }
        }
    }
}

/// Claims a cell again and again, and asks the store all the time whether it is still held.
fn hold(fleet: &Fleet, stop: &AtomicBool, node: &Node, id: &CellId, holds: &Sender<()>) {
    while node.fence_cause().is_none() && !stop.load(Ordering::Relaxed) {
        let called = fleet.server.now();
        let Ok(cell) = node.claim_within(id.clone(), Duration::from_secs(60)) else {
            pause(fleet.between(100, 300));
            continue;
        };
        let told = |called| Told {
            cell: id.clone(),
            node: node.id().clone(),
            epoch: cell.epoch(),
            called,
            returned: fleet.server.now(),
        };
        fleet.note_grant(told(called));
        // Nobody may wait for it any more.
        let _ = holds.send(());
        verify(fleet, stop, &cell, told);
    }
}

fn verify(fleet: &Fleet, stop: &AtomicBool, cell: &Cell, told: impl Fn(tenure_sim::Moment) -> Told) {
    while cell.is_held() && !stop.load(Ordering::Relaxed) {
        let called = fleet.server.now();
        if cell.verify().is_ok() {
            fleet.note_verified(told(called));
        }
        pause(fleet.between(100, 300));
    }
}

/// A store that is out of reach once the line is cut. What was on its way then is on its own.
struct Line {
    store: Arc<S3Store>,
    is_cut: Arc<AtomicBool>,
}

impl Store for Line {
    fn execute(&self, op: Op) -> Reply {
        let lost = lost(&op);
        let is_cut = || self.is_cut.load(Ordering::Relaxed);
        if is_cut() {
            return lost;
        }
        let reply = self.store.execute(op);
        if is_cut() { lost } else { reply }
    }
}

fn lost(op: &Op) -> Reply {
    let fault = Fault::new(FaultKind::Network, "the line is cut");
    match op {
        Op::List(_) => Reply::List(ListReply::Failed(fault)),
        Op::Read(_) => Reply::Read(ReadReply::Failed(fault)),
        Op::Remove(_) => Reply::Remove(RemoveReply::Failed(fault)),
        Op::Write(_) => Reply::Write(WriteReply::Unknown(fault)),
    }
}

fn pause(time: Duration) {
    // Nothing is ever sent: the time-out is what is waited for.
    let (_keep, never) = channel::<()>();
    let _ = never.recv_timeout(time);
}
