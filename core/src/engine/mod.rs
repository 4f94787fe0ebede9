//! The engine: events in, commands out.

use crate::config::{Config, ConfigError};
use crate::error::FenceCause;
use crate::event::{Command, Event, Tenure};
use crate::id::{CellId, NodeId, SessionId};
use crate::time::{Instant, Now};

/// One node's session: every decision it makes.
#[derive(Clone, Debug)]
pub struct Engine {
    node: NodeId,
}

impl Engine {
    /// Creates an engine that has not joined. `session` is fresh entropy from the driver; `seed` jitters delays.
    ///
    /// # Errors
    /// Refuses a configuration that breaks one of the protocol's inequalities.
    pub fn new(config: Config, session: SessionId, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let _ = seed;
        Ok(Self { node: NodeId::new(&config.name, session).map_err(ConfigError::Name)? })
    }

    /// Advances time to `now`, then applies one event. Total: late, repeated and unknown events are no-ops.
    pub fn handle(&mut self, now: Now, event: Event) {
        let _ = (now, event);
    }

    /// Returns the next command. Call until it says `Idle`, then wait for an event or the deadline.
    pub fn poll(&mut self) -> Command {
        Command::Idle { until: None }
    }

    /// Returns the tenure this node may act on at `now`, without I/O.
    pub fn tenure(&self, cell: &CellId, now: Now) -> Option<Tenure> {
        let _ = (cell, now);
        None
    }

    /// Returns this node's id.
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// Returns when authority ends, while the lease is held.
    pub fn authority(&self) -> Option<Instant> {
        None
    }

    /// Returns why the session ended, once it has.
    pub fn fenced(&self) -> Option<FenceCause> {
        None
    }
}
