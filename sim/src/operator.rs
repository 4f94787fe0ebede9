//! What people do to the store by hand, by the rules and against them.

use std::sync::Arc;

use tenure_core::{Holder, Key, LeaseRecord, NodeId, OwnerRecord, TTL_MAX, WriteId};

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::garble::{self, GARBAGE};
use crate::view::{Deed, Step};
use crate::world::World;

impl<C: Choices, A: App> World<'_, C, A> {
    /// Lets somebody meddle with the store by hand.
    pub(crate) fn meddle(&mut self) -> Result<(), Violation> {
        if self.choices.happens(self.scenario.faults.lease_removed)
            && let Some(key) = self.some_key(Key::LEASES)
        {
            self.store.remove_by_force(&key, self.at);
            self.emit(None, &Step::Removed(&key))?;
        }
        if self.choices.happens(self.scenario.faults.record_removed)
            && let Some(key) = self.some_key(Key::OWNERS)
        {
            self.store.remove_by_force(&key, self.at);
            self.emit(None, &Step::Removed(&key))?;
        }
        if self.choices.happens(self.scenario.faults.record_restored)
            && let Some(key) = self.some_key(Key::OWNERS)
        {
            let recent = self.store.history(&key).len().min(4);
            let back = self.choices.number(recent);
            if self.store.restore_by_force(&key, back, self.at) {
                self.emit(None, &Step::Restored(&key))?;
            }
        }
        self.operate()
    }

    fn some_key(&mut self, prefix: &str) -> Option<String> {
        let keys: Vec<&str> = self.store.keys().filter(|key| key.starts_with(prefix)).collect();
        let place = self.choices.number(keys.len());
        keys.get(place).map(|key| (*key).to_owned())
    }

    fn operate(&mut self) -> Result<(), Violation> {
        if self.choices.happens(self.scenario.faults.evicted) {
            self.evict(Deed::Evicted)?;
        }
        if self.choices.happens(self.scenario.faults.evicted_by_force) {
            self.evict(Deed::EvictedByForce)?;
        }
        if self.choices.happens(self.scenario.faults.record_corrupted) {
            self.corrupt(Key::OWNERS)?;
        }
        if self.choices.happens(self.scenario.faults.lease_corrupted) {
            self.corrupt(Key::LEASES)?;
        }
        if self.choices.happens(self.scenario.faults.record_mended) {
            self.mend_all()?;
        }
        Ok(())
    }

    /// Frees a cell that somebody holds, if the operator's rules allow it.
    fn evict(&mut self, deed: Deed) -> Result<(), Violation> {
        let Some(key) = self.some_key(Key::OWNERS) else { return Ok(()) };
        let record = self.store.history(&key).last().and_then(|version| version.owner.as_ref());
        let Some(Holder::Node(node)) = record.map(OwnerRecord::holder) else { return Ok(()) };
        let node = node.clone();
        if deed == Deed::Evicted && !self.fence_by_hand(&node) {
            return Ok(());
        }
        self.free(&key, deed)
    }

    /// Replaces the owner record under `key` by a released one of the last epoch known.
    fn free(&mut self, key: &str, deed: Deed) -> Result<(), Violation> {
        let last = self.store.history(key).iter().rev().find_map(|version| version.owner.as_ref());
        let Some(epoch) = last.map(|record| record.epoch) else { return Ok(()) };
        let record = OwnerRecord { node: None, epoch, write: Some(self.by_hand()) };
        self.store.put_by_force(key, record.to_bytes().into(), self.at);
        self.emit(None, &Step::Meddled(deed, key))
    }

    /// Puts a tombstone in the place of a lease that is provably too old; tells whether one stands there now.
    ///
    /// What the store's stamps prove to an operator, at best, is that the version is a whole ttl old.
    fn fence_by_hand(&mut self, node: &NodeId) -> bool {
        let key = Key::lease(node);
        let Some(version) = self.store.history(key.as_str()).last() else { return false };
        let (Some(body), age) = (version.body.clone(), self.at.since(version.at)) else { return false };
        let lease = LeaseRecord::parse(&body).ok();
        if lease.as_ref().is_some_and(LeaseRecord::is_tombstone) {
            return true;
        }
        if age < lease.and_then(|lease| lease.ttl).unwrap_or(TTL_MAX) {
            return false;
        }
        let write = self.by_hand();
        let tombstone: Arc<[u8]> = LeaseRecord::fence(&body, node, &write.node.clone(), &write).into();
        self.store.put_by_force(key.as_str(), tombstone, self.at);
        true
    }

    /// Turns some record into garbage.
    fn corrupt(&mut self, prefix: &str) -> Result<(), Violation> {
        let Some(key) = self.some_key(prefix) else { return Ok(()) };
        let which = self.choices.number(GARBAGE);
        let Some(body) = self.store.current(&key) else { return Ok(()) };
        let garbage = garble::garbage(body, which).into();
        self.store.put_by_force(&key, garbage, self.at);
        self.emit(None, &Step::Meddled(Deed::Corrupted, &key))
    }

    /// Mends every owner record that is garbage. Whoever does that stops the node that it named last: it may
    /// still believe what the record said.
    pub(crate) fn mend_all(&mut self) -> Result<(), Violation> {
        for cell in 0..self.cells.len() {
            let key = Key::owner(&self.cells[cell]);
            let history = self.store.history(key.as_str());
            let Some((last, before)) = history.split_last() else { continue };
            if last.body.is_none() || last.owner.is_some() {
                continue;
            }
            let named = before.iter().rev().find_map(|version| version.owner.as_ref());
            let named = named.and_then(|record| record.node.clone());
            let holders =
                self.running().filter(|&session| Some(self.sessions[session].id()) == named.as_ref());
            for session in holders.collect::<Vec<_>>() {
                let dead_for = self.scenario.config.ttl;
                self.crash(session, dead_for)?;
            }
            self.free(key.as_str(), Deed::Mended)?;
        }
        Ok(())
    }

    /// Returns the id of the operator's next write.
    fn by_hand(&mut self) -> WriteId {
        self.deeds += 1;
        let node = NodeId::parse("operator").expect("letters are a legal name");
        WriteId { node, seq: self.deeds }
    }
}
