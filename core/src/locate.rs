//! Finding a cell's owner: a look-up that changes nothing.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::time::Duration;

use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::error::{BadRecord, FenceCause, LocateError};
use crate::event::{Location, Outcome, Ticket};
use crate::id::{CellId, Epoch, NodeId};
use crate::lru::Lru;
use crate::memory::Memory;
use crate::peer::{Asker, Peers, Verdict};
use crate::record::{Holder, OwnerRecord};
use crate::store::{Fault, FaultKind, Key, ReadId, ReadReply};
use crate::time::Instant;

#[derive(Clone, Debug, Hash)]
pub(crate) struct Locates {
    /// Look-ups under way.
    open: BTreeMap<Ticket, Locate>,
    cache: Lru<CellId, Cached>,
}

#[derive(Clone, Debug, Hash)]
struct Locate {
    cell: CellId,
    /// When the read was issued that the answer rests on.
    issued: Instant,
    step: Step,
    tries: u32,
}

#[derive(Clone, Debug, Hash)]
enum Step {
    Judging { node: NodeId, epoch: Epoch },
    Reading(ReadId),
}

#[derive(Clone, Debug, Hash)]
struct Cached {
    node: NodeId,
    addr: Option<String>,
    epoch: Epoch,
    issued: Instant,
    /// Until when the owner's lease is known to live.
    until: Instant,
}

/// How many answers are remembered.
const REMEMBERED: usize = 65_536;

/// How often one look-up asks a store that fails to answer.
const TRIES_MAX: u32 = 3;

impl Locates {
    pub(crate) fn new() -> Self {
        Self { open: BTreeMap::new(), cache: Lru::new(REMEMBERED) }
    }

    pub(crate) fn ask(
        &mut self,
        ticket: Ticket,
        cell: CellId,
        max_age: Duration,
        (env, memory): (&mut Env, &Memory),
    ) {
        let now = env.mono();
        if let Some(cached) = self.cache.get(&cell)
            && (env.has(Defect::LocateStale)
                || (now < cached.until && now.since(cached.issued) < max_age))
            // Whatever showed a higher epoch since, the cell is no longer where it was.
            && memory.epoch(&cell).is_none_or(|seen| seen <= cached.epoch)
        {
            let Cached { node, addr, epoch, .. } = cached.clone();
            return env.done(ticket, Outcome::Located(Ok(Location::At { node, addr, epoch })));
        }
        let id = read(ticket, &cell, env);
        self.open.insert(ticket, Locate { cell, issued: now, step: Step::Reading(id), tries: 1 });
    }

    pub(crate) fn on_read(
        &mut self,
        ticket: Ticket,
        id: ReadId,
        reply: ReadReply,
        (env, peers, memory): (&mut Env, &mut Peers, &mut Memory),
    ) {
        let Some(mut open) = self.open.remove(&ticket) else { return };
        if !matches!(open.step, Step::Reading(awaited) if awaited == id) {
            self.open.insert(ticket, open);
            return;
        }
        let fault = match reply {
            ReadReply::Found { etag, body, .. } => {
                let record = match OwnerRecord::parse(&body) {
                    Ok(record) => record,
                    Err(why) => {
                        let key = Key::owner(&open.cell);
                        let bad = BadRecord::Corrupt { key, etag, why: alloc::format!("{why}") };
                        env.done(ticket, Outcome::Located(Err(LocateError::Bad(bad))));
                        return;
                    }
                };
                memory.note(&open.cell, record.epoch);
                match record.holder() {
                    Holder::Node(node) if *node != env.node => {
                        let (node, epoch) = (node.clone(), record.epoch);
                        let verdict = peers.ask(&node, Asker::Locate(ticket), env);
                        open.step = Step::Judging { node: node.clone(), epoch };
                        self.open.insert(ticket, open);
                        if let Some(verdict) = verdict {
                            self.on_verdict(ticket, &node, verdict, env);
                        }
                    }
                    // Ours in name only: what we hold is answered before any read.
                    Holder::Nobody | Holder::Node(_) | Holder::OfferedTo(_) => free(ticket, env),
                }
                return;
            }
            ReadReply::Missing => return free(ticket, env),
            ReadReply::Failed(fault) => fault,
            ReadReply::Throttled { .. } => Fault::new(FaultKind::Throttled, Key::owner(&open.cell).as_str()),
            ReadReply::Unchanged(_) => Fault::new(FaultKind::Malformed, "304 to an unconditional read"),
        };
        let is_hopeless = matches!(fault.kind, FaultKind::Throttled | FaultKind::Denied) || env.is_short();
        if open.tries >= TRIES_MAX || is_hopeless {
            env.done(ticket, Outcome::Located(Err(LocateError::Store(fault))));
            return;
        }
        open.tries += 1;
        open.issued = env.mono();
        open.step = Step::Reading(read(ticket, &open.cell, env));
        self.open.insert(ticket, open);
    }

    /// Takes the verdict on the node `of`; it counts only for the node that this look-up found.
    pub(crate) fn on_verdict(&mut self, ticket: Ticket, of: &NodeId, verdict: Verdict, env: &mut Env) {
        let Some(open) = self.open.remove(&ticket) else { return };
        let (node, epoch) = match open.step {
            Step::Judging { node, epoch } if node == *of => (node, epoch),
            Step::Judging { .. } | Step::Reading(_) => {
                self.open.insert(ticket, open);
                return;
            }
        };
        let (cell, issued) = (open.cell, open.issued);
        match verdict {
            Verdict::Dead => free(ticket, env),
            Verdict::Failed(fault) => env.done(ticket, Outcome::Located(Err(LocateError::Store(fault)))),
            Verdict::Live { addr, until } => {
                let cached = Cached { node: node.clone(), addr: addr.clone(), epoch, issued, until };
                self.cache.insert(cell, cached);
                env.done(ticket, Outcome::Located(Ok(Location::At { node, addr, epoch })));
            }
        }
    }

    /// Tells whether a look-up awaits the answer to the request of this number.
    pub(crate) fn awaits(&self, ticket: Ticket, number: u64) -> bool {
        let open = self.open.get(&ticket);
        open.is_some_and(|open| matches!(open.step, Step::Reading(id) if id.get() == number))
    }

    /// Checks that something will move each look-up on.
    pub(crate) fn check(&self, env: &Env, peers: &Peers) -> Result<(), &'static str> {
        let is_awake = |(ticket, open): (&Ticket, &Locate)| match &open.step {
            Step::Judging { node, .. } => peers.is_asked(node, &Asker::Locate(*ticket)),
            Step::Reading(id) => env.reads_for(*id) == Some(&Target::Locate(*ticket)),
        };
        if self.open.iter().all(is_awake) { Ok(()) } else { Err("a look-up waits for nothing") }
    }

    pub(crate) fn fence(&mut self, cause: FenceCause, env: &mut Env) {
        for ticket in core::mem::take(&mut self.open).into_keys() {
            env.done(ticket, Outcome::Located(Err(LocateError::Fenced(cause))));
        }
    }
}

fn read(ticket: Ticket, cell: &CellId, env: &mut Env) -> ReadId {
    env.read(Target::Locate(ticket), Key::owner(cell), None)
}

fn free(ticket: Ticket, env: &mut Env) {
    env.done(ticket, Outcome::Located(Ok(Location::Free)));
}
