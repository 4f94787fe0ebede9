//! What all machines of a storm share, and how those of the async driver live: each joins, claims its cells, holds them
//! for a moment and crashes, again and again.

use core::num::NonZeroU32;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tenure_core::{CellId, FenceCause, JoinError, NodeId};
use tenure_sim::server::Server;
use tenure_sim::{Choices, Prng};
use tenure_tokio::{Cell, Node};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::fleet::Machine;
use crate::judge::{History, Told};

/// How often a machine's end is that somebody removes its lease, instead of a crash: one in so many.
const REMOVALS: NonZeroU32 = NonZeroU32::new(32).expect("it is not zero");

/// The fleet of a storm, and what its nodes were told.
pub(crate) struct Fleet {
    pub(crate) server: Server,
    /// No more crashes.
    pub(crate) over: watch::Sender<bool>,
    /// Whether leases are removed, too. A cell of theirs is free only after the longest ttl there is.
    pub(crate) removes: AtomicBool,
    /// Somebody was granted a cell.
    pub(crate) held: Notify,
    granted: Mutex<Vec<Told>>,
    verified: Mutex<Vec<Told>>,
    /// How sessions ended or failed to begin, by its word, and how often.
    ends: Mutex<BTreeMap<&'static str, usize>>,
    crashes: AtomicUsize,
    chance: Mutex<Prng>,
}

/// How a session is made to end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    Crash,
    LeaseRemoved,
}

impl Fleet {
    pub(crate) fn new(server: Server, seed: u64) -> Self {
        Self {
            server,
            over: watch::channel(false).0,
            removes: AtomicBool::new(false),
            held: Notify::new(),
            granted: Mutex::default(),
            verified: Mutex::default(),
            ends: Mutex::default(),
            crashes: AtomicUsize::new(0),
            chance: Mutex::new(Prng::new(seed)),
        }
    }

    /// Runs one session after the other on a machine.
    pub(crate) async fn run(self: Arc<Self>, machine: Machine, cells: Vec<CellId>) {
        let mut over = self.over.subscribe();
        loop {
            // Refused for whatever reason: an application looks at its settings, and tries again.
            let (node, cut) = match machine.join().await {
                Ok(joined) => joined,
                Err(error) => {
                    self.note_refusal(&error);
                    sleep(self.between(200, 600)).await;
                    continue;
                }
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
                cause = node.fenced() => self.note_end(cause),
                () = crash => match self.end(node.id()) {
                    End::Crash => drop(cut.send_replace(true)),
                    End::LeaseRemoved => self.note_end(node.fenced().await),
                },
            }
        }
    }

    /// Claims a cell again and again, and asks the store all the time whether it is still held.
    async fn hold(self: Arc<Self>, node: Node, id: CellId, holds: watch::Sender<bool>) {
        loop {
            let called = self.server.now();
            match node.claim_within(id.clone(), Duration::from_secs(60)).await {
                Ok(cell) => {
                    self.note_grant(Told {
                        cell: id.clone(),
                        node: node.id().clone(),
                        epoch: cell.epoch(),
                        called,
                        returned: self.server.now(),
                    });
                    holds.send_replace(true);
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
                self.note_verified(Told { cell, node, epoch, called, returned });
            }
            sleep_until(Instant::now() + self.between(100, 300)).await;
        }
    }

    /// Decides how a session that has held its cells for a moment ends, and removes its lease if it is that.
    pub(crate) fn end(&self, node: &NodeId) -> End {
        if self.removes.load(Ordering::Relaxed) && self.chance.lock().expect("no panic").below(REMOVALS) == 0
        {
            self.server.remove(&format!("fleet/nodes/{node}.json"));
            return End::LeaseRemoved;
        }
        self.crashes.fetch_add(1, Ordering::Relaxed);
        End::Crash
    }

    pub(crate) fn note_grant(&self, told: Told) {
        self.granted.lock().expect("no panic").push(told);
        self.held.notify_one();
    }

    pub(crate) fn note_verified(&self, told: Told) {
        self.verified.lock().expect("no panic").push(told);
    }

    pub(crate) fn note_end(&self, cause: FenceCause) {
        *self.ends.lock().expect("no panic").entry(cause.as_str()).or_default() += 1;
    }

    pub(crate) fn note_refusal(&self, error: &JoinError) {
        let word = if matches!(error, JoinError::Unfit(_)) { "unfit at the join" } else { "no join" };
        *self.ends.lock().expect("no panic").entry(word).or_default() += 1;
    }

    pub(crate) fn granted(&self) -> Vec<Told> {
        self.granted.lock().expect("no panic").clone()
    }

    pub(crate) fn verified(&self) -> Vec<Told> {
        self.verified.lock().expect("no panic").clone()
    }

    pub(crate) fn ends(&self) -> BTreeMap<&'static str, usize> {
        self.ends.lock().expect("no panic").clone()
    }

    pub(crate) fn between(&self, least_ms: u32, most_ms: u32) -> Duration {
        let span = NonZeroU32::new(most_ms - least_ms).expect("some time");
        let more = self.chance.lock().expect("no panic").below(span);
        Duration::from_millis((least_ms + more).into())
    }

    /// Tells whether each cell is owned by somebody who could verify it after the storm.
    pub(crate) fn is_settled(&self, wanted: &[CellId]) -> bool {
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

    pub(crate) fn tell(&self) -> String {
        let history = History::of(&self.server.store());
        format!(
            "{} fail-overs, {} crashes, {} requests, {} granted, {} verified, ends: {:?}",
            history.takeovers(),
            self.crashes.load(Ordering::Relaxed),
            self.server.requests(),
            self.granted.lock().expect("no panic").len(),
            self.verified.lock().expect("no panic").len(),
            self.ends(),
        )
    }
}
