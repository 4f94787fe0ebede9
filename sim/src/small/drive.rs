//! The driver of each engine in a small world: events in, commands out, and the application's part.

use std::rc::Rc;

use tenure_core::{Call, Command, Event, Notice, Op, Outcome, Ticket};

use super::SmallWorld;
use super::flight::Flight;
use super::pool::Handled;
use crate::checks::Violation;
use crate::fate;
use crate::view::Step;

impl SmallWorld {
    /// Asks an engine for something on the application's behalf.
    pub(super) fn call(&mut self, session: usize, call: Call, cell: Option<usize>) -> Result<(), Violation> {
        let at = self.at();
        let ticket = Rc::make_mut(&mut self.apps[session]).begin(call.clone(), cell, at);
        self.emit(Some(session), &Step::Asked(ticket, &call))?;
        self.handle(session, Event::Call(ticket, call))
    }

    /// Gives the engine an event and does everything it then wants done.
    pub(super) fn handle(&mut self, session: usize, event: Event) -> Result<(), Violation> {
        self.emit(Some(session), &Step::Told(&event))?;
        let now = self.setting.machines[session].now(self.at());
        let engine = &self.sessions[session].engine;
        let authority = engine.authority();
        let handled = match &self.pool {
            Some(pool) => pool.handle((engine, self.apps[session].engine_print), now, &event),
            None => Rc::new(Handled::new(engine, now, &event)),
        };
        self.sessions[session].engine = handled.engine.clone();
        let app = Rc::make_mut(&mut self.apps[session]);
        (app.engine_print, app.due) = (handled.print, handled.due);
        for command in &handled.commands {
            match command {
                Command::Done(ticket, outcome) => self.done(session, *ticket, outcome)?,
                Command::Idle { .. } => {}
                Command::List(op) => self.send(session, Op::List(op.clone()))?,
                Command::Notify(notice) => self.noticed(session, notice)?,
                Command::Read(op) => self.send(session, Op::Read(op.clone()))?,
                Command::Remove(op) => self.send(session, Op::Remove(op.clone()))?,
                Command::Write(op) => self.send(session, Op::Write(op.clone()))?,
            }
        }
        if matches!(event, Event::Wake) && handled.due.is_some_and(|due| due <= now.mono) {
            return Err(Violation::new("liveness", "an engine that was woken is still due"));
        }
        self.sessions[session].note_held(now);
        self.emit(Some(session), &Step::Handled { now, authority })
    }

    fn done(&mut self, session: usize, ticket: Ticket, outcome: &Outcome) -> Result<(), Violation> {
        let Some(open) = Rc::make_mut(&mut self.apps[session]).end(ticket) else {
            return Err(Violation::new("answers", format_args!("{ticket} was answered but is not open")));
        };
        let step = Step::Done { ticket, call: &open.call, asked: open.asked, outcome };
        self.emit(Some(session), &step)?;
        let app = Rc::make_mut(&mut self.apps[session]);
        let Some(tenure) = app.on_done(&open, outcome) else { return Ok(()) };
        let now = self.setting.machines[session].now(self.at());
        if self.sessions[session].engine.tenure(&tenure.cell, now).as_ref() == Some(&tenure) {
            self.emit(Some(session), &Step::Acknowledged(ticket, &tenure))?;
        }
        Ok(())
    }

    fn noticed(&mut self, session: usize, notice: &Notice) -> Result<(), Violation> {
        Rc::make_mut(&mut self.apps[session]).on_notice(notice);
        self.emit(Some(session), &Step::Noticed(notice))
    }

    fn send(&mut self, session: usize, op: Op) -> Result<(), Violation> {
        self.emit(Some(session), &Step::Sent(&op))?;
        let clock = &self.setting.machines[session].clock;
        let until = clock.when(clock.now(self.at()).mono.after(fate::timeout(&op)));
        self.board(Flight::new(session, op, until));
        Ok(())
    }

    pub(super) fn board(&mut self, flight: Flight) {
        let place = self.flights.partition_point(|other| other.rank() <= flight.rank());
        self.flights.insert(place, flight);
    }
}
