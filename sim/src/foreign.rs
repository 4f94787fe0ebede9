//! Nodes of another implementation in the same bucket: they write records in celld's shape, go by their own wall
//! clock, and know neither our fences nor our write ids.

use core::time::Duration;

use tenure_core::{Holder, Key, LeaseRecord, NodeId, OwnerRecord};

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::clock::{Moment, WALL_AT_START};
use crate::queue::Occasion;
use crate::view::{Deed, Step};
use crate::world::World;

/// One such node.
#[derive(Clone, Debug)]
pub(crate) struct Foreign {
    node: NodeId,
    /// How far its wall clock is ahead of true time, in nanoseconds.
    wall_ahead: i64,
    /// Whether it says when it made its lease, and so for how long it meant it.
    says_when: bool,
    has_lease: bool,
}

impl<C: Choices, A: App> World<'_, C, A> {
    /// Adds the foreign nodes of this world.
    pub(crate) fn settle_foreigners(&mut self) {
        for foreign in 0..self.scenario.foreigners {
            let wall_ahead = self.off_by(self.scenario.foreign_wall_off);
            let says_when = self.choices.number(4) > 0;
            let node = self.foreign_id();
            self.foreigners.push(Foreign { node, wall_ahead, says_when, has_lease: false });
            self.queue.plan(self.at.after(self.scenario.pace), Occasion::Foreign { foreign });
        }
    }

    /// Lets a foreign node do something; in the calm they are all gone.
    pub(crate) fn act_foreign(&mut self, foreign: usize) -> Result<(), Violation> {
        if self.calm.is_some() {
            return Ok(());
        }
        let ttl = self.scenario.config.ttl;
        // Now and then it does nothing for a while, and its lease may run out.
        let rest = if self.choices.number(16) == 1 { ttl * 3 } else { ttl / 4 };
        let next = self.choices.between(ttl / 16, rest);
        self.queue.plan(self.at.after(next), Occasion::Foreign { foreign });
        if !self.foreigners[foreign].has_lease || self.choices.number(2) == 0 {
            return self.renew_foreign(foreign);
        }
        let cell = self.choices.number(self.cells.len());
        self.visit_cell(foreign, cell)
    }

    fn renew_foreign(&mut self, foreign: usize) -> Result<(), Violation> {
        let Foreign { node, wall_ahead, says_when, has_lease } = self.foreigners[foreign].clone();
        let key = Key::lease(&node);
        let lease = self.store.current(key.as_str()).and_then(|body| LeaseRecord::parse(body).ok());
        if has_lease && lease.is_none_or(|lease| lease.is_tombstone()) {
            // Its compare-and-swap fails: it begins again under another name.
            self.foreigners[foreign].has_lease = false;
            self.foreigners[foreign].node = self.foreign_id();
            return Ok(());
        }
        let now_ms = wall_ms(self.at, wall_ahead);
        let lives = self.scenario.config.ttl * 2;
        let expires_ms = now_ms + u64::try_from(lives.as_millis()).unwrap_or(u64::MAX);
        let load = if says_when {
            format!(
                r#","load":{{"sampled_ms":{now_ms},"resident_cells":1,"host_websockets":0,"rss_bytes":1,"cpu_percent_x100":0,"open_fds":1,"fd_limit":2,"pressured":false,"shed_cells":0}}"#
            )
        } else {
            String::new()
        };
        let body = format!(
            r#"{{"node":"{node}","expires_ms":{expires_ms},"addr":"10.0.0.9:70","peer_protocol":2,"ownership_index_generation":"1"{load}}}"#
        );
        self.foreigners[foreign].has_lease = true;
        self.store.put_by_force(key.as_str(), body.into_bytes().into(), self.at);
        self.emit(None, &Step::Meddled(Deed::ForeignRenewed, key.as_str()))
    }

    /// Claims a cell that is free, gives one back, or takes one from whoever seems to be dead.
    fn visit_cell(&mut self, foreign: usize, cell: usize) -> Result<(), Violation> {
        let node = self.foreigners[foreign].node.clone();
        let key = Key::owner(&self.cells[cell]);
        let record = match self.store.history(key.as_str()).last() {
            Some(version) if version.body.is_some() && version.owner.is_none() => return Ok(()),
            version => version.and_then(|version| version.owner.clone()),
        };
        let next = record.as_ref().map_or(Some(tenure_core::Epoch::FIRST), |record| record.epoch.next());
        let Some(next) = next else { return Ok(()) };
        let claim = OwnerRecord { node: Some(node.clone()), epoch: next, write: None };
        let holder = record.as_ref().map_or(Holder::Nobody, OwnerRecord::holder);
        let (record, deed) = match (holder, &record) {
            (Holder::Node(own), Some(record)) if *own == node => {
                (OwnerRecord { node: None, epoch: record.epoch, write: None }, Deed::ForeignReleased)
            }
            (Holder::Node(other), _) if self.scenario.foreigners_take && self.seems_dead(foreign, other) => {
                (claim, Deed::ForeignTook)
            }
            (Holder::Nobody, _) => (claim, Deed::ForeignClaimed),
            (Holder::Node(_) | Holder::OfferedTo(_), _) => return Ok(()),
        };
        self.store.put_by_force(key.as_str(), record.to_bytes().into(), self.at);
        self.emit(None, &Step::Meddled(deed, key.as_str()))
    }

    /// Tells whether a lease has run out by the publisher's wall clock and this node's own: all that it goes by.
    fn seems_dead(&self, foreign: usize, node: &NodeId) -> bool {
        let body = self.store.current(Key::lease(node).as_str());
        let lease = body.and_then(|body| LeaseRecord::parse(body).ok());
        let now_ms = wall_ms(self.at, self.foreigners[foreign].wall_ahead);
        lease.is_none_or(|lease| lease.expires_ms < now_ms)
    }

    fn foreign_id(&mut self) -> NodeId {
        self.deeds += 1;
        NodeId::parse(&format!("celld-{}", self.deeds)).expect("letters and digits are a legal name")
    }
}

fn wall_ms(at: Moment, ahead: i64) -> u64 {
    let wall = (WALL_AT_START + at.as_nanos()).saturating_add_signed(ahead);
    wall / u64::try_from(Duration::from_millis(1).as_nanos()).unwrap_or(1)
}
