//! The way to the store and back: every request is in flight for a while, and may be lost, late or doubled.
//!
//! It also stands in for the driver: a request that is not answered in time by the node's own clock is
//! answered with `Unknown` or `Failed`, whatever becomes of it.

use core::time::Duration;

use tenure_core::{Event, FaultKind, Key, Op, Reply, WriteReply};

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::clock::Moment;
use crate::family::Family;
use crate::fate::{self, Fate, Service};
use crate::queue::Occasion;
use crate::store::Visit;
use crate::view::Step;
use crate::world::World;

/// A request on its way, or done with.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) session: usize,
    sent: Moment,
    /// When its sender gives up.
    give_up: Moment,
    op: Op,
    fate: Fate,
    reply: Option<Reply>,
    /// Whether the answer is not what was asked for.
    is_garbled: bool,
    /// Whether the sender still waits for an answer.
    is_open: bool,
    /// How many occasions of this flight are still to come; its place is used again after the last.
    ahead: u8,
}

impl Flight {
    /// Tells whether it is a write of this record, still to come or done with.
    pub(crate) fn is_for(&self, key: &Key) -> bool {
        matches!(&self.op, Op::Write(op) if op.key == *key)
    }

    /// Returns the same request as a clone of its sender knows it.
    fn forked(&self, session: usize) -> Self {
        let Self { sent, give_up, op, fate, .. } = self;
        let fate = Fate { arrives: None, again: None, ..fate.clone() };
        Self {
            session,
            sent: *sent,
            give_up: *give_up,
            op: op.clone(),
            fate,
            reply: None,
            is_garbled: false,
            is_open: true,
            ahead: 0,
        }
    }

    /// Returns when the request last reaches the store, if it changes anything there.
    pub(crate) fn lands(&self) -> Option<Moment> {
        let after = self.fate.arrives.max(self.fate.again)?;
        matches!(self.op, Op::Write(_) | Op::Remove(_)).then(|| self.sent.after(after))
    }
}

impl<C: Choices, A: App> World<'_, C, A> {
    /// Sends a request.
    pub(crate) fn send(&mut self, session: usize, op: Op) -> Result<(), Violation> {
        self.emit(Some(session), &Step::Sent(&op))?;
        let mut fate = self.scenario.faults.fate(&op, self.scenario.latency, self.choices);
        self.aim_request(session, &op, &mut fate);
        if let Some(outage) = self.outage.filter(|outage| self.at < outage.until) {
            outage.befall(&op, &mut fate);
        }
        if let Op::Write(write) = &op
            && write.key == self.sessions[session].lease_key
        {
            self.sessions[session].renews_since.get_or_insert(self.at);
        }
        let now = self.at;
        let give_up = self.gives_up(session, &op);
        let is_in_time = fate.answered().is_some_and(|answered| now.after(answered) <= give_up);
        let arrivals = [(fate.arrives, false), (fate.again, true)];
        // It never leaves the machine then: nothing on the way can lose it.
        let is_unsent = |reply: &Reply| matches!(reply, Reply::Write(WriteReply::NotApplied(_)));
        let reply = match &fate.service {
            Service::Instead(reply) if is_unsent(reply) => Some(Reply::clone(reply)),
            Service::Instead(_) | Service::Served | Service::ServedThen(_) => None,
        };
        let is_unsent = reply.is_some();
        let flight = self.board(Flight {
            session,
            sent: now,
            give_up,
            op,
            fate,
            reply,
            is_garbled: false,
            is_open: true,
            ahead: 0,
        });
        if is_unsent {
            let soon = self.choices.between(Duration::ZERO, self.scenario.latency);
            self.plan_flight(now.after(soon), flight, Occasion::Deliver { flight });
            return Ok(());
        }
        if !is_in_time {
            self.plan_flight(give_up, flight, Occasion::GiveUp { flight });
        }
        for (after, is_again) in arrivals {
            if let Some(after) = after {
                self.plan_flight(now.after(after), flight, Occasion::Arrive { flight, is_again });
            }
        }
        Ok(())
    }

    /// Lets a clone wait for the answers that its original waits for: they come to the original's connections.
    pub(crate) fn await_in_vain(&mut self, original: usize, clone: usize) {
        let open = |flight: &&Flight| flight.session == original && flight.is_open;
        let flights: Vec<Flight> =
            self.flights.iter().filter(open).map(|flight| flight.forked(clone)).collect();
        for flight in flights {
            let give_up = flight.give_up.max(self.at);
            let flight = self.board(flight);
            self.plan_flight(give_up, flight, Occasion::GiveUp { flight });
        }
    }

    /// Notes that an occasion of a flight has passed.
    pub(crate) fn pass(&mut self, flight: usize) {
        self.flights[flight].ahead -= 1;
        if self.flights[flight].ahead == 0 {
            self.landed.push(flight);
        }
    }

    /// Gives a flight a place. Inlined: it is built there, rather than moved.
    #[inline(always)]
    fn board(&mut self, flight: Flight) -> usize {
        match self.landed.pop() {
            Some(place) => {
                self.flights[place] = flight;
                place
            }
            None => {
                self.flights.push(flight);
                self.flights.len() - 1
            }
        }
    }

    fn plan_flight(&mut self, at: Moment, flight: usize, occasion: Occasion) {
        self.flights[flight].ahead += 1;
        self.queue.plan(at, occasion);
    }

    /// Serves a request that has reached the store.
    pub(crate) fn arrive(&mut self, flight: usize, is_again: bool) -> Result<(), Violation> {
        let (modified_ahead, date_ahead) = self.disagree();
        // Nothing that watches the service looks at the flights, which can be borrowed meanwhile.
        let mut flights = core::mem::take(&mut self.flights);
        let result = self.serve(&mut flights[flight], is_again, (modified_ahead, date_ahead));
        self.flights = flights;
        if let Some(at) = result? {
            self.plan_flight(at, flight, Occasion::Deliver { flight });
        }
        Ok(())
    }

    /// Serves a request; returns when its answer arrives, if it does.
    fn serve(
        &mut self,
        flight: &mut Flight,
        is_again: bool,
        (modified_ahead, date_ahead): (i64, i64),
    ) -> Result<Option<Moment>, Violation> {
        let Flight { session, sent, op, fate, is_open, .. } = &*flight;
        let (session, is_late, age) = (*session, !is_open, self.at.since(*sent));
        let is_answer = is_again == fate.answers_second;
        let service = if is_again { &Service::Served } else { &fate.service };
        let later = i64::try_from(fate.date_later.as_nanos()).unwrap_or(i64::MAX);
        let date_ahead = date_ahead.saturating_add(later);
        let (hides, stale) = (fate.hides, fate.stale);
        let visit = Visit { at: self.at, by: Some(session), modified_ahead, date_ahead, hides, stale };
        let reply = match service {
            Service::Instead(reply) => Reply::clone(reply),
            Service::Served | Service::ServedThen(_) => self.store.execute(op, visit),
        };
        self.emit(Some(session), &Step::Served { op, reply: &reply, is_late, is_again, age })?;
        let Some(returns) = fate.returns.filter(|_| is_answer) else { return Ok(None) };
        let reply = match service {
            Service::ServedThen(kind) => fate::failed(op, *kind),
            Service::Instead(_) | Service::Served => reply,
        };
        let at = self.at.after(fate.date_later + returns);
        let (reply, is_garbled) = match (op, reply) {
            (Op::Read(op), Reply::Read(reply)) => {
                let (reply, is_garbled) = self.garble(session, op, reply, fate.garbles.as_deref());
                (Reply::Read(reply), is_garbled)
            }
            (_, reply) => (reply, false),
        };
        (flight.reply, flight.is_garbled) = (Some(reply), is_garbled);
        Ok(Some(at))
    }

    /// Brings an answer to its sender.
    pub(crate) fn deliver(&mut self, flight: usize) -> Result<(), Violation> {
        let Flight { session, is_open, .. } = self.flights[flight];
        let Some(reply) = self.flights[flight].reply.take() else { return Ok(()) };
        if !self.sessions[session].is_running {
            return Ok(());
        }
        // A driver should drop an answer to what it has given up on; the engine must not depend on it.
        if !is_open && !self.choices.happens(self.scenario.faults.answered_twice) {
            return Ok(());
        }
        self.flights[flight].is_open = false;
        if let (Op::Read(op), Reply::Read(reply)) = (&self.flights[flight].op, &reply)
            && !self.sessions[session].garbled.is_empty()
        {
            let key = op.key.clone();
            self.note_garbled(session, &key, self.flights[flight].is_garbled, reply);
        }
        let event = answer(&self.flights[flight].op, reply);
        self.handle(session, event)
    }

    /// Tells a sender that its time is up.
    pub(crate) fn give_up(&mut self, flight: usize) -> Result<(), Violation> {
        let Flight { session, is_open, .. } = self.flights[flight];
        if !is_open || !self.sessions[session].is_running {
            return Ok(());
        }
        self.flights[flight].is_open = false;
        let op = &self.flights[flight].op;
        let event = answer(op, fate::failed(op, FaultKind::TimedOut));
        self.handle(session, event)
    }

    /// Draws how far the stamps of this answer are off: by at most half the disagreement each.
    fn disagree(&mut self) -> (i64, i64) {
        if self.scenario.disagreement.is_zero() {
            return (0, 0);
        }
        let most = self.scenario.disagreement / 2;
        let half = i64::try_from(most.as_nanos()).unwrap_or(i64::MAX);
        let is_edge = self.scenario.family == Family::Edge;
        match self.choices.number(4) {
            0 => (0, 0),
            1 => (-half, half),
            2 if is_edge => (-half, half),
            2 => (half, -half),
            _ => (self.off_by(most), self.off_by(most)),
        }
    }
}

/// Pairs an answer with its request, as the event that the engine is owed.
pub(crate) fn answer(op: &Op, reply: Reply) -> Event {
    match (op, reply) {
        (Op::List(op), Reply::List(reply)) => Event::ListDone(op.id, reply),
        (Op::Read(op), Reply::Read(reply)) => Event::ReadDone(op.id, reply),
        (Op::Remove(op), Reply::Remove(reply)) => Event::RemoveDone(op.id, reply),
        (Op::Write(op), Reply::Write(reply)) => Event::WriteDone(op.id, reply),
        (Op::List(_) | Op::Read(_) | Op::Remove(_) | Op::Write(_), _) => {
            unreachable!("a store answers each operation with a reply of its own kind")
        }
    }
}
