//! G5: no write of ours is unconditional, no takeover deletes, and a node's id appears nowhere before its lease.

use core::time::Duration;
use std::sync::Arc;

use tenure_core::{Guard, Holder, Key, LeaseRecord, Op, OwnerRecord, TTL_MAX, WriteOp};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::node::Session;
use crate::trace::Request;
use crate::view::{Step, View};

/// Looks at each request before it leaves.
#[derive(Clone, Debug, Default, Hash)]
pub struct Writes {
    /// What each session created its lease with.
    created: Vec<Option<Arc<[u8]>>>,
}

impl Check for Writes {
    fn kinds(&self) -> Kinds {
        Kinds::CLONED.and(Kinds::SENT_REMOVE).and(Kinds::SENT_WRITE)
    }

    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        if let (Step::Cloned(of), Some(actor)) = (view.step, view.actor) {
            self.created.resize(self.created.len().max(actor + 1), None);
            self.created[actor] = self.created[*of].clone();
            return Ok(());
        }
        let (Step::Sent(op), Some(session), Some(actor)) = (view.step, view.session(), view.actor) else {
            return Ok(());
        };
        let found = match op {
            Op::Remove(op) => remove(view, op.key.as_str()),
            Op::Write(op) if op.key == *session.lease_key() => self.own_lease(actor, op),
            Op::Write(op) if op.key.as_str().starts_with(Key::OWNERS) => owner(view, session, op),
            Op::Write(op) if op.key.as_str().starts_with(Key::LEASES) => other_lease(view, op),
            Op::List(_) | Op::Read(_) | Op::Write(_) => Ok(()),
        };
        found.map_err(|why| Violation::new("G5", format_args!("{why}: {}", Request(op))))
    }
}

impl Writes {
    fn own_lease(&mut self, actor: usize, op: &WriteOp) -> Result<(), &'static str> {
        if op.guard != Guard::Absent {
            return Ok(());
        }
        self.created.resize(self.created.len().max(actor + 1), None);
        let created = self.created[actor].get_or_insert_with(|| op.body.clone());
        if *created == op.body { Ok(()) } else { Err("a session creates its lease a second time") }
    }
}

fn remove(view: &View<'_>, key: &str) -> Result<(), &'static str> {
    if key.starts_with(Key::OWNERS) {
        return Err("an owner record is never removed");
    }
    let Some(node) = Key::node(key) else { return Ok(()) };
    if view.store.current(Key::retired(&node).as_str()).is_none() {
        return Err("a lease is removed only once its marker stands");
    }
    Ok(())
}

fn owner(view: &View<'_>, session: &Session, op: &WriteOp) -> Result<(), &'static str> {
    let record = OwnerRecord::parse(&op.body).map_err(|_| "an owner record that cannot be parsed")?;
    if view.store.history(session.lease_key().as_str()).is_empty() {
        return Err("a node writes a cell before it ever had a lease");
    }
    let is_first = record.epoch.get() == 1 && matches!(record.holder(), Holder::Node(_));
    match op.guard {
        Guard::Absent if !is_first => Err("an owner record beyond the first claim is created"),
        Guard::Absent | Guard::Match(_) => Ok(()),
    }
}

fn other_lease(view: &View<'_>, op: &WriteOp) -> Result<(), &'static str> {
    let lease = LeaseRecord::parse(&op.body).map_err(|_| "a lease that cannot be parsed")?;
    match &op.guard {
        Guard::Absent if lease.is_tombstone() => Err("a removed lease is fenced without having been judged"),
        Guard::Absent if lease.ttl != Some(TTL_MAX) => {
            Err("a placeholder lives for less than the largest ttl")
        }
        Guard::Absent => Ok(()),
        Guard::Match(_) if !lease.is_tombstone() => Err("another node's lease is changed, not fenced"),
        Guard::Match(etag) => {
            let mut versions = view.store.history(op.key.as_str()).iter().rev();
            let version = versions.find(|version| version.etag() == etag);
            let age = version.map_or(Duration::ZERO, |version| view.at.since(version.at));
            match version.and_then(|version| version.body.as_ref()).map(|body| LeaseRecord::parse(body)) {
                Some(Ok(judged)) if rest(&judged) != rest(&lease) => Err("a fenced lease loses what it said"),
                // Its holder answers to nobody here who would see it lose a cell while it lives.
                Some(Ok(judged)) if judged.ttl.is_none() && age < foreign_ttl(&judged) => {
                    Err("a foreign lease is fenced before it can have run out")
                }
                Some(_) | None => Ok(()),
            }
        }
    }
}

/// Returns for how long a lease that does not say its ttl lives, from when it was written: what its publisher's own clock
/// says, else as long as any lease may.
fn foreign_ttl(lease: &LeaseRecord) -> Duration {
    let said = lease
        .load
        .as_ref()
        .map(|load| Duration::from_millis(lease.expires_ms.saturating_sub(load.sampled_ms)));
    said.filter(|ttl| !ttl.is_zero() && *ttl <= TTL_MAX).unwrap_or(TTL_MAX)
}

/// Returns what a tombstone says like the lease that it replaces.
fn rest(lease: &LeaseRecord) -> impl PartialEq + '_ {
    (&lease.node, &lease.addr, lease.ttl, &lease.load, &lease.meta)
}
