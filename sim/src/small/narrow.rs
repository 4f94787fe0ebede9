//! Which moves may wait for others: one order of those that commute is enough.
//!
//! Two engines that handle something at the same moment do not see each other; only the store makes one of them
//! see what the other did. So when all that can happen to a session is inside of it, it goes first, and the rest of the
//! world waits: a stubborn set (Valmari: Stubborn Sets for Reduced State Space Generation, 1990).
//!
//! Be T every move of one session's inside: an answer reaches it, it is woken, it stops waiting, it is hit by a pause
//! or a crash, an answer to it is spoilt. T alone is explored if
//!
//! - nothing outside of T can add to it: no request that it waits for is still to be served, and its application may ask
//!   for nothing. Then whatever happens outside first can happen after a move of T as well, and comes to the same:
//!   the outside touches the store and other sessions, T touches its own. (Faults come from one budget, but of two that
//!   both happen the order is the same to it.)
//! - some move of T must come before time passes, and nothing outside prevents it;
//! - nobody can tell when it came: no cell is held by the session or lost to it, no call is answered. A crash is an
//!   exception. It can hide that two sessions hold one cell, but not from the order in which something else of T comes
//!   first; and it says nothing to anybody unless a call is open.
//!
//! Then every end of the world is still reached, and every violation, though not always on a shortest path: a move of
//! T may come before what mattered. Tests compare all ends with those of a search that leaves out nothing.

use super::SmallWorld;
use super::moves::Move;
use super::scope::Mishap;

impl SmallWorld {
    /// Returns the moves inside of this session, out of all there are, if the rest of the world can wait for them.
    pub(super) fn inside(&self, session: usize, moves: &[Move]) -> Option<Vec<Move>> {
        let app = &self.apps[session];
        let may_die_waiting = self.budget.mishaps[Mishap::Crash as usize] > 0 && !app.open.is_empty();
        if !self.sessions[session].is_running || app.is_paused || may_die_waiting {
            return None;
        }
        let is_awaited = |flight: &super::Flight| flight.session == session && flight.until.is_some();
        if self.flights.iter().any(|flight| is_awaited(flight) && flight.reply.is_none()) {
            return None;
        }
        let is_of = |place: usize| self.flights[place].session == session;
        let mut is_urgent = false;
        let mut inside = Vec::new();
        for &next in moves {
            let is_inside = match next {
                Move::Ask { session: who, .. } if who == session => return None,
                Move::Deliver(place) => {
                    is_urgent |= is_of(place) && !self.flights[place].is_astray;
                    is_of(place)
                }
                Move::GiveUp(place) => {
                    is_urgent |= is_of(place);
                    is_of(place)
                }
                Move::Hit(who, Mishap::Crash | Mishap::Pause) | Move::Resume(who) => who == session,
                Move::Spoil(place, _) => is_of(place),
                Move::Wake(who) => {
                    is_urgent |= who == session;
                    who == session
                }
                Move::Ask { .. } | Move::Hit(..) | Move::Serve(_) | Move::Tick => false,
            };
            if is_inside {
                inside.push(next);
            }
        }
        (is_urgent && inside.len() < moves.len()).then_some(inside)
    }

    /// Tells whether nobody but the session can tell this situation from that before one of its moves.
    pub(super) fn is_secret(&self, before: &Self, session: usize, next: Move) -> bool {
        if matches!(next, Move::Hit(..) | Move::Spoil(..)) {
            return true;
        }
        let now = self.setting.machines[session].now(self.at());
        let held = |world: &Self| {
            let engine = &world.sessions[session].engine;
            self.setting.cells.iter().map(|cell| engine.tenure(cell, now)).collect::<Vec<_>>()
        };
        self.apps[session].was_told_nothing(&before.apps[session]) && held(self) == held(before)
    }
}
