//! Fail-overs by the hundred while everything goes wrong with the store that may go wrong with a fit one.

use core::num::NonZeroU32;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use tenure_core::CellId;
use tenure_sim::server::{Fault, Options, Rule, Server};
use tenure_sim::{Choices, Prng};
use tenure_tokio::{Cell, Node};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::fleet::{Machine, cell};
use crate::judge::{History, Verified};

/// How often each kind of trouble befalls a request. There are about forty kinds, so every fifth request is in trouble.
const RATE: f64 = 0.005;
/// Machines that contend for the same cells.
const RIVALS: usize = 2;
/// Cells for which the same machines contend.
const CELLS: usize = 2;
/// How long the fleet may take, once the store is well again, until every cell is owned: a ttl, the stamps' unit and
/// margin, and the pauses of clients that had been refused; the rest is for a busy machine.
const CALM: Duration = Duration::from_secs(60);

/// A few fail-overs, for every run of the tests.
#[test]
fn a_few_cells_change_hands_through_every_fault() {
    storm(8, 30, 1);
}

/// See `.ci/run`.
#[test]
#[ignore = "takes minutes; to be run in release"]
fn a_thousand_fail_overs_through_every_fault() {
    storm(45, 1000, 2);
}

/// Runs groups of rivals until there were so many fail-overs; then all calms down, and the history is judged.
fn storm(groups: usize, takeovers: usize, seed: u64) {
    let server = Server::start(Options { seed, ..Options::default() }).expect("a loopback port");
    server.faults(every_fault());
    let (over, _) = watch::channel(false);
    let fleet = Arc::new(Fleet {
        server,
        over,
        crashes: AtomicUsize::new(0),
        held: Notify::new(),
        verified: Mutex::default(),
        chance: Mutex::new(Prng::new(seed)),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let wanted: Vec<CellId> = (0..groups).flat_map(cells).collect();
    runtime.expect("a runtime").block_on(async {
        let mut machines = JoinSet::new();
        for group in 0..groups {
            for rival in 0..RIVALS {
                let machine = Machine::new(&fleet.server, format!("g{group}-{rival}"));
                machines.spawn(Arc::clone(&fleet).run(machine, cells(group)));
            }
        }
        let began = Instant::now();
        while History::of(&fleet.server.store()).takeovers() < takeovers {
            assert!(began.elapsed() < Duration::from_secs(400), "{}", fleet.tell());
            sleep(Duration::from_millis(500)).await;
        }
        println!("after {:.0} s: {}", began.elapsed().as_secs_f64(), fleet.tell());
        fleet.over.send_replace(true);
        fleet.server.faults([]);
        let limit = Instant::now() + CALM;
        while !fleet.is_settled(&wanted) {
            assert!(Instant::now() < limit, "not every cell is owned: {}", fleet.tell());
            // Somebody may have been told of a cell; if not, looking again does no harm.
            let _ = timeout_at(Instant::now() + Duration::from_millis(200), fleet.held.notified()).await;
        }
    });
    fleet.check(takeovers);
}

fn cells(group: usize) -> Vec<CellId> {
    (0..CELLS).map(|number| cell(&format!("g{group}:{number}"))).collect()
}

fn every_fault() -> impl Iterator<Item = Rule> {
    Fault::all().filter(|(_, fault)| !fault.is_unfit()).map(|(_, fault)| Rule::new(fault).at_rate(RATE))
}

struct Fleet {
    server: Server,
    /// No more crashes.
    over: watch::Sender<bool>,
    crashes: AtomicUsize,
    /// Somebody was granted a cell.
    held: Notify,
    verified: Mutex<Vec<Verified>>,
    chance: Mutex<Prng>,
}

impl Fleet {
    /// Runs one session after the other on a machine: each joins, claims its cells, holds them for a moment and crashes.
    async fn run(self: Arc<Self>, machine: Machine, cells: Vec<CellId>) {
        let mut over = self.over.subscribe();
        loop {
            // Refused for whatever reason: an application looks at its settings, and tries again.
            let Ok((node, cut)) = machine.join().await else {
                sleep(self.between(200, 600)).await;
                continue;
            };
            let mut work = JoinSet::new();
            let (holds, mut held) = watch::channel(false);
            for cell in &cells {
                work.spawn(Arc::clone(&self).hold(node.clone(), cell.clone(), holds.clone()));
            }
            let crash = async {
                // The sender is above.
                let _ = held.wait_for(|held| *held).await;
                sleep(self.between(500, 2000)).await;
                if *over.borrow_and_update() {
                    core::future::pending::<()>().await;
                }
            };
            tokio::select! {
                _ = node.fenced() => {}
                () = crash => {
                    self.crashes.fetch_add(1, Ordering::Relaxed);
                    cut.send_replace(true);
                }
            }
        }
    }

    /// Claims a cell again and again, and asks the store all the time whether it is still held.
    async fn hold(self: Arc<Self>, node: Node, id: CellId, holds: watch::Sender<bool>) {
        loop {
            match node.claim_within(id.clone(), Duration::from_secs(60)).await {
                Ok(cell) => {
                    holds.send_replace(true);
                    self.held.notify_one();
                    self.verify(&node, &cell).await;
                }
                Err(_) if node.fence_cause().is_some() => return,
                Err(_) => sleep(self.between(100, 300)).await,
            }
        }
    }

    async fn verify(&self, node: &Node, cell: &Cell) {
        while cell.is_held() {
            let called = self.server.now();
            if cell.verify().await.is_ok() {
                let returned = self.server.now();
                let (node, epoch, cell) = (node.id().clone(), cell.epoch(), cell.id().clone());
                let verified = Verified { cell, node, epoch, called, returned };
                self.verified.lock().expect("no panic").push(verified);
            }
            sleep_until(Instant::now() + self.between(100, 300)).await;
        }
    }

    fn between(&self, least_ms: u32, most_ms: u32) -> Duration {
        let span = NonZeroU32::new(most_ms - least_ms).expect("some time");
        let more = self.chance.lock().expect("no panic").below(span);
        Duration::from_millis((least_ms + more).into())
    }

    /// Tells whether each cell is owned by somebody who could verify it after the storm.
    fn is_settled(&self, wanted: &[CellId]) -> bool {
        let history = History::of(&self.server.store());
        let verified = self.verified.lock().expect("no panic");
        self.server.late() == 0
            && wanted.iter().all(|cell| {
                let owner = history.owner(cell);
                let last = verified.iter().rev().find(|one| one.cell == *cell);
                last.is_some_and(|one| {
                    let is_fresh = self.server.now().since(one.returned) < Duration::from_secs(1);
                    is_fresh && owner == Some((&one.node, one.epoch))
                })
            })
    }

    fn tell(&self) -> String {
        let history = History::of(&self.server.store());
        format!(
            "{} fail-overs, {} crashes, {} requests, {} verified",
            history.takeovers(),
            self.crashes.load(Ordering::Relaxed),
            self.server.requests(),
            self.verified.lock().expect("no panic").len(),
        )
    }

    fn check(&self, takeovers: usize) {
        let history = History::of(&self.server.store());
        history.check_record();
        history.check_verified(&self.verified.lock().expect("no panic"));
        assert!(history.takeovers() >= takeovers, "{}", self.tell());
        // A storm without some of its winds would prove less than it says.
        let seen = self.server.seen();
        let met = |fault: Fault| seen.iter().filter(|seen| seen.faults.contains(&fault)).count();
        if takeovers >= 1000 {
            for (name, fault) in Fault::all().filter(|(_, fault)| !fault.is_unfit()) {
                assert!(met(fault) > 0, "{name} was never met");
            }
        }
        println!("at the end: {}", self.tell());
    }
}
