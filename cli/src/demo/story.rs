//! What happens, in order.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tenure_blocking::{FileStore, Store};
use tenure_core::{
    AttemptId, ETag, Fault, FaultKind, Guard, Instant, Key, NodeId, Op, Reply, WriteOp, WriteReply,
};

use super::Stop;
use super::fleet::{Asked, Fleet};
use super::judge::History;
use super::place::Place;
use super::timeline::{Timeline, Tone};
use crate::exit::Failure;

const CELLS: [&str; 6] = ["orders:1", "orders:2", "orders:3", "orders:4", "orders:5", "orders:6"];
/// How long a lock of the store may be held by a process that runs.
const LOCK: Duration = Duration::from_millis(200);

/// The demonstration under way.
#[derive(Debug)]
pub(super) struct Story {
    fleet: Fleet,
    store: FileStore,
    timeline: Timeline,
    ttl: Duration,
    /// The id of each node, by its number.
    ids: BTreeMap<usize, String>,
    /// Who was told that it owns a cell, and at which epoch.
    owners: BTreeMap<&'static str, (usize, u64)>,
    slowest: Duration,
}

impl Story {
    pub(super) fn new(fleet: Fleet, store: FileStore, timeline: Timeline, ttl: Duration) -> Self {
        Self {
            fleet,
            store,
            timeline,
            ttl,
            ids: BTreeMap::new(),
            owners: BTreeMap::new(),
            slowest: Duration::ZERO,
        }
    }

    /// Tells the story to its end.
    pub(super) fn tell(mut self, place: &Place) -> Result<(), Stop> {
        let ttl = self.ttl;
        self.timeline.remark(&format!(
            "Three nodes share nothing but the store {}, and leases of {ttl:?}.\n\n",
            place.url()
        ))?;
        let [a, b, c] = ["n1", "n2", "n3"].map(|name| self.fleet.start(name));
        let (a, b, c) = (a?, b?, c?);
        self.greet(&[a, b, c])?;
        for (cell, node) in CELLS.into_iter().zip([a, a, b, b, c, c]) {
            self.claim(node, cell)?;
        }
        self.refuse(b, CELLS[0])?;

        let kept = self.wait_for(&[(b, CELLS[0]), (c, CELLS[1])])?;
        let killed = self.fleet.kill(a)?;
        self.happens(a, killed, "is killed (SIGKILL)", "killed")?;
        self.watch_takeovers(kept, killed, "the kill")?;

        // The same name, a new process: a new node.
        let again = self.fleet.start("n1")?;
        self.greet(&[again])?;
        let paused = self.pause(c)?;
        self.happens(c, paused, "is stopped (SIGSTOP), and believes that it owns its cells", "stopped")?;
        let kept = self.wait_for(&[(again, CELLS[1]), (b, CELLS[4]), (again, CELLS[5])])?;
        self.watch_takeovers(kept, paused, "the stop")?;
        self.wake(c, CELLS[4])?;
        self.verify_all()?;
        self.conclude(&BTreeSet::from([again, b]))?;
        self.fleet.leave()
    }

    /// Waits for nodes that were started together, and shows them in the order in which they came.
    fn greet(&mut self, nodes: &[usize]) -> Result<(), Stop> {
        let mut joined = Vec::new();
        for node in nodes {
            let said = self.fleet.event(*node, "joined")?;
            let id = said.line["node"].as_str().unwrap_or_default().to_owned();
            self.ids.insert(*node, id.clone());
            joined.push((said.at, id));
        }
        joined.sort();
        joined.into_iter().try_for_each(|(at, id)| {
            let facts = json!({ "event": "joined", "node": id });
            self.timeline.say_at(at, Tone::Plain, &format!("{id} joins"), facts)
        })
    }

    fn claim(&mut self, node: usize, cell: &'static str) -> Result<(), Stop> {
        let asked = self.fleet.ask(node, json!({ "do": "claim", "cell": cell }))?;
        let said = self.fleet.answer(asked)?;
        let epoch = granted(&said.line)?;
        self.owners.insert(cell, (node, epoch));
        let text = format!("{} owns {cell} at epoch {epoch}", self.name(node));
        self.timeline.say_at(said.at, Tone::Plain, &text, self.facts("claimed", node, cell, epoch))
    }

    /// Shows that a cell that is owned cannot be had.
    fn refuse(&mut self, node: usize, cell: &'static str) -> Result<(), Stop> {
        let asked = self.fleet.ask(node, json!({ "do": "claim", "cell": cell }))?;
        let said = self.fleet.answer(asked)?;
        let error = &said.line["error"];
        if error["kind"] != "held" {
            return Err(wrong(format!("{cell} should have been refused, but: {}", said.line)));
        }
        let holder = error["node"].as_str().unwrap_or("?");
        let text = format!("{} asks for {cell} and is refused: {holder} owns it", self.name(node));
        let facts = json!({ "event": "refused", "node": self.ids[&node], "cell": cell, "owner": holder });
        self.timeline.say_at(said.at, Tone::Plain, &text, facts)
    }

    /// Lets nodes wait for cells that others own.
    fn wait_for(
        &mut self,
        wanted: &[(usize, &'static str)],
    ) -> Result<Vec<(Asked, usize, &'static str)>, Stop> {
        let wait_ms = u64::try_from((self.ttl * 5).as_millis()).unwrap_or(u64::MAX);
        let mut kept = Vec::new();
        for (node, cell) in wanted.iter().copied() {
            let asked = self.fleet.ask(node, json!({ "do": "claim", "cell": cell, "wait_ms": wait_ms }))?;
            kept.push((asked, node, cell));
            let facts = json!({ "event": "waiting", "node": self.ids[&node], "cell": cell });
            self.timeline.say(Tone::Plain, &format!("{} waits for {cell}", self.name(node)), facts)?;
        }
        Ok(kept)
    }

    /// Waits for all of them, in the order in which they come.
    fn watch_takeovers(
        &mut self,
        mut kept: Vec<(Asked, usize, &'static str)>,
        since: Instant,
        what: &str,
    ) -> Result<(), Stop> {
        while !kept.is_empty() {
            let asked: Vec<Asked> = kept.iter().map(|(asked, ..)| *asked).collect();
            let (at, said) = self.fleet.first_of(&asked, self.ttl * 5)?;
            let (_, node, cell) = kept.remove(at);
            let epoch = granted(&said.line)?;
            let before = self.owners.insert(cell, (node, epoch));
            if before.is_none_or(|(_, before)| epoch != before + 1) {
                return Err(wrong(format!("{cell} went from {before:?} to epoch {epoch}")));
            }
            let took = said.at.since(since);
            self.slowest = self.slowest.max(took);
            let text = format!(
                "{} owns {cell} at epoch {epoch}, {:.3} s after {what}",
                self.name(node),
                took.as_secs_f64()
            );
            let mut facts = self.facts("takeover", node, cell, epoch);
            facts["took_ms"] = json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
            self.timeline.say_at(said.at, Tone::Good, &text, facts)?;
        }
        Ok(())
    }

    /// Stops a node, but not inside a write: there it would keep a lock of the file store, which no node on a
    /// bucket could.
    fn pause(&mut self, node: usize) -> Result<Instant, Stop> {
        loop {
            let at = self.fleet.pause(node)?;
            if !self.holds_lock(node)? {
                return Ok(at);
            }
            self.fleet.resume(node)?;
        }
    }

    /// Tells whether a lock is held for long. The write whose guard cannot hold changes nothing, but needs the
    /// lock of the node's lease, as looking at the journal needs the journal's.
    fn holds_lock(&self, node: usize) -> Result<bool, Stop> {
        let node = NodeId::parse(&self.ids[&node]).map_err(|error| wrong(error.to_string()))?;
        let nowhere = ETag::new(b"\"no version has this tag\"").ok_or_else(|| wrong("no tag".to_owned()))?;
        let op = WriteOp {
            id: AttemptId::new(1),
            key: Key::lease(&node),
            guard: Guard::Match(nowhere),
            body: [].into(),
            timeout: LOCK,
        };
        match self.store.execute(Op::Write(op)) {
            Reply::Write(WriteReply::Rejected) => Ok(self.store.journal(LOCK).is_err()),
            Reply::Write(WriteReply::NotApplied(Fault { kind: FaultKind::TimedOut, .. })) => Ok(true),
            Reply::List(_) | Reply::Read(_) | Reply::Remove(_) | Reply::Write(_) => {
                Err(wrong("the store does not answer what was asked".to_owned()))
            }
        }
    }

    /// Lets a stopped node go on: it must find out by itself that it owns nothing any more.
    fn wake(&mut self, node: usize, cell: &'static str) -> Result<(), Stop> {
        // Before it runs again, since it may say something before we do.
        let resumed = tenure_blocking::clock::mono();
        self.fleet.resume(node)?;
        self.happens(node, resumed, "goes on (SIGCONT)", "resumed")?;
        let asked = self.fleet.ask(node, json!({ "do": "verify", "cell": cell }))?;
        let fenced = self.fleet.event(node, "fenced")?;
        let reason = fenced.line["reason"].as_str().unwrap_or("?");
        let stops = format!("{} finds its authority ended ({reason}) and stops acting", self.name(node));
        let stops_facts = json!({ "event": "fenced", "node": self.ids[&node], "reason": reason });
        let answer = self.fleet.answer(asked)?;
        let kind = answer.line["error"]["kind"].as_str().unwrap_or("none");
        if !matches!(kind, "fenced" | "not_owner") {
            return Err(wrong(format!(
                "{cell} was taken over, but its old owner's verify says {}",
                answer.line
            )));
        }
        let asks = format!("{} asks whether {cell} is still its own: no ({kind})", self.name(node));
        let asks_facts = json!({ "event": "refuted", "node": self.ids[&node], "cell": cell, "kind": kind });
        // Either may be said first.
        let mut both = [(fenced.at, stops, stops_facts), (answer.at, asks, asks_facts)];
        both.sort_by_key(|(at, ..)| *at);
        both.into_iter().try_for_each(|(at, text, facts)| self.timeline.say_at(at, Tone::Plain, &text, facts))
    }

    /// Lets every owner ask the store whether it is one.
    fn verify_all(&mut self) -> Result<(), Stop> {
        for (cell, (node, epoch)) in self.owners.clone() {
            let asked = self.fleet.ask(node, json!({ "do": "verify", "cell": cell, "epoch": epoch }))?;
            let said = self.fleet.answer(asked)?;
            if granted(&said.line)? != epoch {
                return Err(wrong(format!("{cell} is verified at another epoch: {}", said.line)));
            }
        }
        let text = format!("all {} owners are confirmed by the store", self.owners.len());
        self.timeline.say(Tone::Plain, &text, json!({ "event": "verified", "cells": self.owners.len() }))
    }

    fn conclude(&mut self, live: &BTreeSet<usize>) -> Result<(), Stop> {
        // Settles the line that the killed node may have left unfinished.
        self.store.journal(Duration::from_secs(5)).map_err(|error| wrong(error.to_string()))?;
        let history = History::read(&self.store.journal_path()).map_err(wrong)?;
        let live = live.iter().map(|node| self.ids[node].clone()).collect();
        self.timeline.remark("\nThe judge has read nothing but the store's journal:\n")?;
        let mut holds = true;
        let mut rules = Vec::new();
        for finding in history.judge(&CELLS, &live) {
            let (tone, word, detail) = match &finding.result {
                Ok(evidence) => (Tone::Good, "holds ", evidence),
                Err(why) => (Tone::Bad, "BROKEN", why),
            };
            holds &= finding.result.is_ok();
            rules.push(json!({ "rule": finding.rule, "holds": finding.result.is_ok(), "detail": detail }));
            self.timeline.remark_in(tone, &format!("  {word}  {} ({detail})", finding.rule))?;
        }
        let slowest_ms = u64::try_from(self.slowest.as_millis()).unwrap_or(u64::MAX);
        let facts =
            json!({ "event": "verdict", "holds": holds, "rules": rules, "slowest_takeover_ms": slowest_ms });
        let slowest = self.slowest.as_secs_f64();
        if !holds {
            self.timeline.conclude(Tone::Bad, "The verdict: more than one owner was possible.", &facts)?;
            return Err(wrong("the judge found a rule broken; please report the output above".to_owned()));
        }
        let text = format!(
            "The verdict: one owner per cell at all times. The slowest takeover took {slowest:.3} s with a ttl of {:?}.",
            self.ttl
        );
        self.timeline.conclude(Tone::Good, &text, &facts)
    }

    fn happens(&self, node: usize, at: Instant, what: &str, event: &str) -> Result<(), Stop> {
        let facts = json!({ "event": event, "node": self.ids[&node] });
        self.timeline.say_at(at, Tone::Bad, &format!("{} {what}", self.name(node)), facts)
    }

    fn facts(&self, event: &str, node: usize, cell: &str, epoch: u64) -> Value {
        json!({ "event": event, "node": self.ids[&node], "cell": cell, "epoch": epoch })
    }

    /// Returns the short name of a node.
    fn name(&self, node: usize) -> &str {
        self.ids[&node].split('.').next().unwrap_or_default()
    }
}

/// Returns the epoch of a granted or verified cell.
fn granted(line: &Value) -> Result<u64, Stop> {
    line["ok"]["epoch"].as_u64().ok_or_else(|| wrong(format!("a node should own a cell, but answers {line}")))
}

fn wrong(why: String) -> Stop {
    Stop::Failed(Failure::inconsistent(format_args!("the demonstration went wrong: {why}")))
}
