//! What goes wrong in a small world, whom it can meet and what it does to them.

use std::rc::Rc;

use tenure_core::{FaultKind, Key, Op, Reply, WriteReply};

use super::SmallWorld;
use super::flight::Flight;
use super::moves::Move;
use super::scope::Mishap;
use super::seen::Budget;
use crate::checks::Violation;
use crate::choices::Choices;
use crate::fate;
use crate::trace;
use crate::view::Step;

impl SmallWorld {
    pub(super) fn mishaps(&self, moves: &mut Vec<Move>) {
        for mishap in Mishap::ALL.into_iter().filter(|&mishap| self.budget.mishaps[mishap as usize] > 0) {
            let sessions = (0..self.sessions.len()).filter(|&session| self.may_hit(session, mishap));
            moves.extend(sessions.map(|session| Move::Hit(session, mishap)));
            let flights = (0..self.flights.len()).filter(|&place| may_spoil(&self.flights[place], mishap));
            moves.extend(flights.map(|place| Move::Spoil(place, mishap)));
        }
    }

    pub(super) fn pay(&mut self, mishap: Mishap) {
        let Budget { faults, mishaps } = &mut self.budget;
        *faults -= 1;
        mishaps[mishap as usize] -= 1;
        // What can never be spent makes no difference.
        for left in mishaps {
            *left = (*left).min(*faults);
        }
    }

    fn may_hit(&self, session: usize, mishap: Mishap) -> bool {
        // Who is gone can fare no worse.
        let is_there = !self.is_gone(session);
        match mishap {
            Mishap::Crash => is_there,
            Mishap::LeaseRemoved => self.store.current(self.sessions[session].lease_key.as_str()).is_some(),
            Mishap::Pause => is_there && !self.apps[session].is_paused,
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

    pub(super) fn hit(&mut self, session: usize, mishap: Mishap) -> Result<(), Violation> {
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

    pub(super) fn spoil(
        &mut self,
        place: usize,
        mishap: Mishap,
        choices: &mut impl Choices,
    ) -> Result<(), Violation> {
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
