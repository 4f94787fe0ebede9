//! What each move does.

use std::rc::Rc;

use tenure_core::{Event, FaultKind};

use super::SmallWorld;
use super::app::Request;
use super::flight::{self, Flight};
use super::moves::Move;
use super::scope::Wish;
use crate::checks::Violation;
use crate::choices::Choices;
use crate::fate;
use crate::store::Visit;
use crate::view::Step;

impl SmallWorld {
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

    fn ask(&mut self, session: usize, wish: Wish, cell: usize, to: usize) -> Result<(), Violation> {
        self.asks_left[wish as usize] -= 1;
        let request = Request { wish, cell };
        let name = &self.setting.cells[cell];
        let wait = self.setting.scope.config.ttl;
        let call = self.apps[session].call(&request, name, self.sessions[to].id(), wait);
        let cell = (request.wish != Wish::Leave).then_some(cell);
        self.call(session, call, cell)
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
    pub(super) fn drop_if_done(&mut self, place: usize) {
        if !self.flights[place].matters() {
            self.flights.remove(place);
        }
    }
}
