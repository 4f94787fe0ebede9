//! The storage of a world, kept by its thread for the next one: worlds are short, and a thread runs many.

use core::cell::Cell;
use std::collections::VecDeque;

use tenure_core::CellId;

use crate::context::{Action, Demand};
use crate::node::{Machine, Session};
use crate::objects::Objects;
use crate::queue::Queue;
use crate::spotter::Spotter;
use crate::wire::Flight;

/// What of a world grows, empty and with room for what a world before it had.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) queue: Queue,
    pub(crate) objects: Objects,
    /// The names of the first few cells, which are the same in every world.
    pub(crate) cells: Vec<CellId>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) actions: Vec<Action>,
    pub(crate) pending: VecDeque<(usize, Demand)>,
    pub(crate) flights: Vec<Flight>,
    pub(crate) landed: Vec<usize>,
    pub(crate) spotter: Spotter,
}

thread_local! {
    static KEPT: Cell<Room> = Cell::default();
}

impl Room {
    /// Takes what this thread has kept, or something new.
    pub(crate) fn take() -> Self {
        KEPT.take()
    }

    /// Empties it and keeps it for the next world of this thread.
    pub(crate) fn keep(mut self) {
        let Self { queue, objects, cells: _, machines, sessions, actions, pending, flights, landed, spotter } =
            &mut self;
        queue.clear();
        objects.clear();
        machines.clear();
        sessions.clear();
        actions.clear();
        pending.clear();
        flights.clear();
        landed.clear();
        spotter.clear();
        KEPT.set(self);
    }
}
