//! What can happen next in a small world, and what it does.

use core::time::Duration;

use std::rc::Rc;

use tenure_core::{Event, FaultKind, Key, Op, Reply, WriteReply};

use super::SmallWorld;
use super::app::{App, Request};
use super::flight::{self, Flight};
use super::print::print;
use super::scope::{Mishap, Wish};
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::fate;
use crate::store::Visit;
use crate::trace;
use crate::view::Step;

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
        if self.faults_left > 0 {
            self.mishaps(&mut moves);
        }
        moves
    }

    /// Makes one move.
    pub(super) fn perform(&mut self, next: Move, choices: &mut impl Choices) -> Result<(), Violation> {
        match next {
            Move::Ask { session, wish, cell, to } => self.ask(session, wish, cell, to),
            Move::Deliver(place) => self.deliver(place, choices),
            Move::GiveUp(place) => self.give_up(place),
            Move::Hit(session, mishap) => {
                self.pay(mishap);
                self.hit(session, mishap)
            }
            Move::Resume(session) => {
                Rc::make_mut(&mut self.apps[session]).is_paused = false;
                self.emit(Some(session), &Step::Resumed)
            }
            Move::Serve(place) => self.serve(place, choices),
            Move::Spoil(place, mishap) => {
                self.pay(mishap);
                self.spoil(place, mishap, choices)
            }
            Move::Tick => {
                self.tick += 1;
                self.note(None, |_| "tick".to_owned());
                Ok(())
            }
            Move::Wake(session) => self.handle(session, Event::Wake),
        }
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

    fn mishaps(&self, moves: &mut Vec<Move>) {
        for mishap in Mishap::ALL.into_iter().filter(|&mishap| self.mishaps_left[mishap as usize] > 0) {
            let sessions = (0..self.sessions.len()).filter(|&session| self.may_hit(session, mishap));
            moves.extend(sessions.map(|session| Move::Hit(session, mishap)));
            let flights = (0..self.flights.len()).filter(|&place| may_spoil(&self.flights[place], mishap));
            moves.extend(flights.map(|place| Move::Spoil(place, mishap)));
        }
    }

    fn pay(&mut self, mishap: Mishap) {
        self.faults_left -= 1;
        self.mishaps_left[mishap as usize] -= 1;
        // What can never be spent makes no difference.
        for left in &mut self.mishaps_left {
            *left = (*left).min(self.faults_left);
        }
    }

    fn may_hit(&self, session: usize, mishap: Mishap) -> bool {
        let is_running = self.sessions[session].is_running;
        match mishap {
            Mishap::Crash => is_running,
            Mishap::LeaseRemoved => self.store.current(self.sessions[session].lease_key.as_str()).is_some(),
            Mishap::Pause => is_running && !self.apps[session].is_paused,
            Mishap::Astray
            | Mishap::Conflict
            | Mishap::DatedLate
            | Mishap::FailsAfter
            | Mishap::FailsBefore
            | Mishap::NotApplied
            | Mishap::Throttled
            | Mishap::Twice => false,
        }
    }

    fn ask(&mut self, session: usize, wish: Wish, cell: usize, to: usize) -> Result<(), Violation> {
        self.asks_left[wish as usize] -= 1;
        let request = Request { wish, cell };
        let name = &self.setting.cells[cell];
        let wait = self.setting.scope.config.ttl;
        let call = self.apps[session].call(&request, name, self.sessions[to].id(), wait);
        let cell = (request.wish != Wish::Leave).then_some(cell);
        self.call(session, call, cell)
    }

    /// Serves a request that has reached the store.
    fn serve(&mut self, place: usize, choices: &mut impl Choices) -> Result<(), Violation> {
        let reply = self.execute(place, choices)?;
        self.flights[place].answer(reply);
        self.drop_if_done(place);
        Ok(())
    }

    fn execute(&mut self, place: usize, choices: &mut impl Choices) -> Result<Reply, Violation> {
        let ahead = self.stamp_ahead(place, choices);
        let Flight { session, op, until, .. } = &self.flights[place];
        let (session, op, is_late) = (*session, op.clone(), until.is_none());
        let visit = Visit {
            at: self.at(),
            by: Some(session),
            modified_ahead: ahead,
            date_ahead: ahead,
            ..Visit::default()
        };
        let reply = match &*op {
            // Looking changes nothing: the store stays shared.
            Op::List(op) => Reply::List(self.store.list(op, visit)),
            Op::Read(op) => Reply::Read(self.store.read(op, visit)),
            Op::Remove(_) | Op::Write(_) => {
                let reply = Rc::make_mut(&mut self.store).execute(&op, visit);
                self.stored();
                reply
            }
        };
        // How old it is, and whether it is a copy, no check asks; to remember it would tell equal states apart.
        let (is_again, age) = (false, Duration::ZERO);
        self.emit(Some(session), &Step::Served { op: &op, reply: &reply, is_late, is_again, age })?;
        Ok(reply)
    }

    /// Takes the print of a store that has changed.
    fn stored(&mut self) {
        self.store_print = print(&*self.store);
        if let Some(pool) = &self.pool {
            self.store = pool.store(self.store_print, self.store.clone());
        }
    }

    /// Chooses how far the stamp of a lease is off: by half the disagreement, either way.
    fn stamp_ahead(&self, place: usize, choices: &mut impl Choices) -> i64 {
        let most = self.setting.scope.disagreement();
        let own = &self.sessions[self.flights[place].session].lease_key;
        let is_lease = match &*self.flights[place].op {
            Op::List(_) => true,
            // Nobody looks at the stamps of a lease of its own.
            Op::Read(op) => op.key != *own && op.key.as_str().starts_with(Key::LEASES),
            Op::Remove(_) => false,
            Op::Write(op) => op.key.as_str().starts_with(Key::LEASES),
        };
        if most.is_zero() || !is_lease {
            return 0;
        }
        let half = i64::try_from((most / 2).as_nanos()).unwrap_or(i64::MAX);
        choices.one_of(&[half, -half])
    }

    /// Brings an answer to its sender.
    fn deliver(&mut self, place: usize, choices: &mut impl Choices) -> Result<(), Violation> {
        if self.flights[place].is_dated_late {
            let date_ahead = self.stamp_ahead(place, choices);
            let date = self.store.date(Visit { at: self.at(), date_ahead, ..Visit::default() });
            self.flights[place].date(date);
        }
        let Flight { session, op, reply, .. } = self.flights.remove(place);
        let reply = reply.expect("only answers are delivered");
        self.handle(session, flight::event(&op, &reply))
    }

    /// Tells a sender that its time is up.
    fn give_up(&mut self, place: usize) -> Result<(), Violation> {
        let flight = &mut self.flights[place];
        flight.until = None;
        let (session, op) = (flight.session, flight.op.clone());
        self.drop_if_done(place);
        self.handle(session, flight::event(&op, &fate::failed(&op, FaultKind::TimedOut)))
    }

    /// Forgets a flight of which nothing more can come.
    fn drop_if_done(&mut self, place: usize) {
        if !self.flights[place].matters() {
            self.flights.remove(place);
        }
    }

    fn hit(&mut self, session: usize, mishap: Mishap) -> Result<(), Violation> {
        match mishap {
            Mishap::Crash => {
                self.sessions[session].is_running = false;
                Rc::make_mut(&mut self.apps[session]).crash();
                for flight in self.flights.iter_mut().filter(|flight| flight.session == session) {
                    (flight.until, flight.is_astray) = (None, true);
                }
                self.flights.retain(Flight::matters);
                self.emit(Some(session), &Step::Crashed)
            }
            Mishap::LeaseRemoved => {
                let key = self.sessions[session].lease_key.clone();
                let at = self.at();
                Rc::make_mut(&mut self.store).remove_by_force(key.as_str(), at);
                self.stored();
                self.emit(None, &Step::Removed(key.as_str()))
            }
            Mishap::Pause => {
                Rc::make_mut(&mut self.apps[session]).is_paused = true;
                self.note(Some(session), |_| "stands still".to_owned());
                Ok(())
            }
            Mishap::Astray
            | Mishap::Conflict
            | Mishap::DatedLate
            | Mishap::FailsAfter
            | Mishap::FailsBefore
            | Mishap::NotApplied
            | Mishap::Throttled
            | Mishap::Twice => Ok(()),
        }
    }

    fn spoil(&mut self, place: usize, mishap: Mishap, choices: &mut impl Choices) -> Result<(), Violation> {
        let session = self.flights[place].session;
        self.note(Some(session), |world| {
            format!("{} meets with {mishap:?}", trace::Request(&world.flights[place].op))
        });
        let op = &self.flights[place].op;
        let reply = match mishap {
            Mishap::Astray => {
                self.flights[place].is_astray = true;
                return Ok(());
            }
            Mishap::Twice => {
                let copy = self.flights[place].copy();
                self.board(copy);
                return Ok(());
            }
            Mishap::DatedLate => {
                let reply = self.execute(place, choices)?;
                let flight = &mut self.flights[place];
                (flight.is_astray, flight.is_dated_late) = (true, true);
                reply
            }
            Mishap::Conflict => Reply::Write(WriteReply::Conflict),
            Mishap::FailsAfter => {
                let failed = fate::failed(op, FaultKind::Unavailable);
                self.execute(place, choices)?;
                failed
            }
            Mishap::FailsBefore => fate::failed(op, FaultKind::Unavailable),
            Mishap::NotApplied => Reply::Write(WriteReply::NotApplied(fate::fault(FaultKind::Network))),
            Mishap::Throttled => fate::throttled(op, None),
            Mishap::Crash | Mishap::LeaseRemoved | Mishap::Pause => return Ok(()),
        };
        self.flights[place].answer(reply);
        Ok(())
    }
}

/// Tells whether a mishap can meet this request or answer.
fn may_spoil(flight: &Flight, mishap: Mishap) -> bool {
    // What is astray already, or is nobody's concern any more, cannot fare worse.
    if flight.is_astray || flight.until.is_none() {
        return false;
    }
    let is_request = flight.reply.is_none();
    match mishap {
        Mishap::Astray => true,
        Mishap::Conflict | Mishap::FailsAfter | Mishap::NotApplied | Mishap::Twice => {
            is_request && matches!(*flight.op, Op::Write(_))
        }
        Mishap::DatedLate => {
            is_request && matches!(&*flight.op, Op::Read(op) if op.key.as_str().starts_with(Key::LEASES))
        }
        Mishap::FailsBefore | Mishap::Throttled => is_request,
        Mishap::Crash | Mishap::LeaseRemoved | Mishap::Pause => false,
    }
}
