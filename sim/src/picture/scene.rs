//! Everything that can be drawn of a world.

use std::collections::BTreeMap;

use crate::clock::Moment;

/// Everything that can be drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Scene {
    pub(super) machines: usize,
    pub(super) sessions: Vec<Life>,
    pub(super) messages: Vec<Message>,
    pub(super) marks: Vec<Mark>,
    /// What the store held from when on.
    pub(super) versions: Vec<(Moment, String)>,
    /// From when to when the store was down.
    pub(super) outages: Vec<(Moment, Moment)>,
    pub(super) end: Moment,
    /// Where the request of a session and a number stands in `messages`.
    pub(super) places: BTreeMap<(usize, u64), usize>,
}

/// One session, from its start to its end.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) machine: usize,
    pub(super) start: Moment,
    pub(super) end: Option<Moment>,
    /// From when to when the lease gave it authority.
    pub(super) authority: Option<(Moment, Moment)>,
    /// From when to when it would have had authority if it had not died.
    pub(super) promised: Option<(Moment, Moment)>,
    pub(super) tenures: Vec<Held>,
    pub(super) pauses: Vec<Pause>,
}

/// A time in which a session stood still.
#[derive(Clone, Debug)]
pub(super) struct Pause {
    pub(super) from: Moment,
    pub(super) to: Option<Moment>,
    /// Whether its machine did, and not the process alone.
    pub(super) is_suspended: bool,
}

/// A cell that a session held.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) cell: usize,
    pub(super) label: String,
    pub(super) from: Moment,
    pub(super) to: Option<Moment>,
}

/// One request and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) session: usize,
    pub(super) label: String,
    /// Whether it only keeps things as they are.
    pub(super) is_quiet: bool,
    /// Whether it claims or releases a cell, and which.
    pub(super) turn: Option<Turn>,
    /// Whether it changes nothing that anybody else looks for, so that many of its kind say no more than one.
    pub(super) is_idle: bool,
    pub(super) sent: Moment,
    /// When it reached the store, what that answered, and whether its sender had given up by then.
    pub(super) served: Vec<(Moment, String, bool)>,
    /// When an answer of the store reached the sender.
    pub(super) answered: Option<Moment>,
    /// When the sender gave up.
    pub(super) given_up: Option<Moment>,
}

/// A cell that changes hands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    Claim(usize),
    Release(usize),
}

/// Something that happened in a lane.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) at: Moment,
    pub(super) place: Place,
    pub(super) kind: Kind,
    pub(super) label: String,
}

/// Where a mark stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    Machine(usize),
    Session(usize),
    Store,
}

/// What a mark looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Answer,
    /// The world stops going wrong.
    Calm,
    Crash,
    /// What follows here is left out.
    Cut,
    End,
    /// The lease of somebody who may be dead may be fenced.
    Judged,
    Meddling,
    /// What an application wrote into the trace.
    Note,
    Start,
}

impl Life {
    pub(super) const fn new(machine: usize, start: Moment, authority: Option<(Moment, Moment)>) -> Self {
        Self { machine, start, end: None, authority, promised: None, tenures: Vec::new(), pauses: Vec::new() }
    }
}

impl Scene {
    /// Names a session by its machine and its number.
    pub(super) fn name(&self, session: usize) -> String {
        format!("n{}.{}", self.sessions[session].machine + 1, session + 1)
    }
}
