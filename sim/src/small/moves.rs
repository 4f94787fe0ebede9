//! What can happen next in a small world.

use super::SmallWorld;
use super::app::App;
use super::scope::{Mishap, Wish};

/// One thing that can happen next. Numbers are those of sessions, or places in the list of flights.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Move {
    /// An application asks for something of a cell; `to` is whom it would hand it to.
    Ask { session: usize, wish: Wish, cell: usize, to: usize },
    /// An answer reaches its sender.
    Deliver(usize),
    /// A sender stops waiting for an answer.
    GiveUp(usize),
    /// A session meets with this.
    Hit(usize, Mishap),
    /// A process that stood still goes on.
    Resume(usize),
    /// A request reaches the store.
    Serve(usize),
    /// A request or an answer meets with this.
    Spoil(usize, Mishap),
    /// Time passes.
    Tick,
    /// An engine that is due is woken.
    Wake(usize),
}

impl SmallWorld {
    /// Lists what can happen next, the quiet first.
    pub(super) fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::with_capacity(16);
        let mut may_tick = self.tick < self.setting.scope.horizon;
        for (place, flight) in self.flights.iter().enumerate() {
            let is_answered = flight.reply.is_some();
            if is_answered && self.apps[flight.session].is_paused {
                continue;
            }
            moves.push(if is_answered { Move::Deliver(place) } else { Move::Serve(place) });
            may_tick &= flight.is_astray;
        }
        for session in 0..self.sessions.len() {
            if self.is_due(session) {
                moves.push(Move::Wake(session));
                may_tick = false;
            }
        }
        for (place, flight) in self.flights.iter().enumerate() {
            if flight.until.is_some_and(|until| until <= self.at()) && !self.apps[flight.session].is_paused {
                moves.push(Move::GiveUp(place));
                may_tick = false;
            }
        }
        if may_tick {
            moves.push(Move::Tick);
        }
        self.asks(&mut moves);
        moves.extend((0..self.apps.len()).filter(|&one| self.apps[one].is_paused).map(Move::Resume));
        if self.budget.faults > 0 {
            self.mishaps(&mut moves);
        }
        moves
    }

    fn is_due(&self, session: usize) -> bool {
        let App { due, is_paused, .. } = &*self.apps[session];
        let now = self.setting.machines[session].now(self.at()).mono;
        self.sessions[session].is_running && !is_paused && due.is_some_and(|due| due <= now)
    }

    fn asks(&self, moves: &mut Vec<Move>) {
        for kind in Wish::ALL {
            if self.asks_left[kind as usize] == 0 {
                continue;
            }
            for session in (0..self.sessions.len()).filter(|&one| self.sessions[one].is_running) {
                for cell in
                    (0..self.setting.cells.len()).filter(|&cell| self.apps[session].may_ask(kind, cell))
                {
                    let others = if kind == Wish::Transfer { self.sessions.len() } else { 1 };
                    for to in (0..others).filter(|&to| kind != Wish::Transfer || to != session) {
                        moves.push(Move::Ask { session, wish: kind, cell, to });
                    }
                }
            }
        }
    }
}
