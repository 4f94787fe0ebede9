//! Processes: an application on its engine, from its start to its end, and what passes between the two.
//!
//! What an application does about an answer it does when its engine has nothing more to say: an engine is told one
//! event at a time. Only a promise to the outside is made at once.

use core::fmt;

use tenure_core::{Call, Engine, Event, Notice, Outcome, SessionId, Ticket};

use crate::app::App;
use crate::checks::Violation;
use crate::choices::{Choices, Draw};
use crate::clock::Moment;
use crate::context::{Action, Context, Demand};
use crate::node::Session;
use crate::queue::Occasion;
use crate::view::Step;
use crate::watched::Watched;
use crate::world::World;

/// What runs in one session beside its engine.
#[derive(Debug)]
pub(crate) struct Process<A> {
    pub(crate) app: A,
    pub(crate) phase: Phase,
    open: Vec<OpenCall>,
    tickets: u64,
}

/// How far a session has come, as its application was told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// It has not asked to join yet.
    New,
    /// It waits for the answer to its join.
    Joining,
    /// It may use cells.
    Joined,
    /// It waits for the answer to its leave.
    Leaving,
    /// The session has ended, or never began.
    Over,
}

/// A call that has not been answered.
#[derive(Clone, Debug)]
pub(crate) struct OpenCall {
    pub(crate) ticket: Ticket,
    pub(crate) call: Call,
    pub(crate) asked: Moment,
}

/// Makes the application of each new process.
pub(crate) struct Factory<'c, A>(pub(crate) Box<dyn FnMut() -> A + 'c>);

impl<A> Process<A> {
    const fn new(app: A) -> Self {
        Self { app, phase: Phase::New, open: Vec::new(), tickets: 0 }
    }

    /// Returns the process's memory for a clone of it, if its application can be cloned.
    pub(crate) fn fork(&self) -> Option<Self>
    where
        A: App,
    {
        let (phase, open, tickets) = (self.phase, self.open.clone(), self.tickets);
        Some(Self { app: self.app.fork()?, phase, open, tickets })
    }

    /// Returns the calls that wait for an answer.
    pub(crate) fn open(&self) -> &[OpenCall] {
        &self.open
    }

    fn begin(&mut self, open: OpenCall) {
        match open.call {
            Call::Join => self.phase = Phase::Joining,
            Call::Leave => self.phase = Phase::Leaving,
            Call::Claim { .. }
            | Call::Locate { .. }
            | Call::Peers
            | Call::Publish { .. }
            | Call::Release(_)
            | Call::Transfer { .. }
            | Call::Unwatch(_)
            | Call::Verify(_)
            | Call::Watch(_) => {}
        }
        self.open.push(open);
    }

    /// Takes the call of this number off the list of those that wait.
    fn end(&mut self, ticket: Ticket) -> Option<OpenCall> {
        let place = self.open.iter().position(|open| open.ticket == ticket)?;
        Some(self.open.swap_remove(place))
    }

    /// Takes a claim off that list; any other call goes on and is answered all the same.
    fn cancel(&mut self, ticket: Ticket) {
        self.open.retain(|open| open.ticket != ticket || !matches!(open.call, Call::Claim { .. }));
    }

    /// Follows the session as far as an answer tells.
    const fn learn(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Joined(Ok(_)) => self.phase = Phase::Joined,
            Outcome::Joined(Err(_)) | Outcome::Left => self.phase = Phase::Over,
            Outcome::Claimed(_)
            | Outcome::Located(_)
            | Outcome::Peers(_)
            | Outcome::Published(_)
            | Outcome::Released(_)
            | Outcome::Transferred(_)
            | Outcome::Unwatched
            | Outcome::Verified(_)
            | Outcome::Watched(_) => {}
        }
    }
}

impl<C: Choices, A: App> World<'_, C, A> {
    /// Starts a new process, which is a new session, on a machine that runs none.
    pub(crate) fn start(&mut self, machine: usize) -> Result<(), Violation> {
        if self.machines[machine].session.is_some() {
            return Ok(());
        }
        let number = self.sessions.len();
        let mut config = self.scenario.config.clone();
        config.name.clone_from(&self.machines[machine].name);
        let seed = (self.choices.number(1 << 31) as u64) << 16;
        let engine = Engine::new(config, SessionId::new(number as u64 + 1), seed)
            .expect("the configuration was checked when the world began");
        self.sessions.push(Session::new(machine, engine, seed));
        self.processes.push(Process::new((self.factory.0)()));
        self.machines[machine].session = Some(number);
        self.note_wants(number);
        self.emit(Some(number), &Step::Started)?;
        self.tick(number)
    }

    /// Gives a process its regular turn.
    pub(crate) fn tick(&mut self, session: usize) -> Result<(), Violation> {
        if !self.sessions[session].is_running {
            return Ok(());
        }
        if self.processes[session].phase == Phase::Over && self.ends(session)? {
            return Ok(());
        }
        let pause = match &self.calm {
            Some(_) => self.scenario.config.ttl / 16,
            None => self.choices.between(self.scenario.pace / 8, self.scenario.pace),
        };
        self.queue.plan(self.at.after(pause), Occasion::Tick { session });
        self.turn(session)
    }

    /// Lets an application do the next thing.
    pub(crate) fn turn(&mut self, session: usize) -> Result<(), Violation> {
        if !self.sessions[session].is_running || self.is_closing() {
            return Ok(());
        }
        match self.processes[session].phase {
            Phase::New => {
                let join = self.with_context(session, |_, ctx| ctx.demand(Call::Join));
                debug_assert_eq!(join, Ticket::new(1), "joining is the first thing a session asks");
            }
            Phase::Joined => self.with_context(session, |app, ctx| app.on_turn(ctx)),
            Phase::Joining | Phase::Leaving | Phase::Over => return Ok(()),
        }
        self.act(session)?;
        self.ask_pending()
    }

    /// Brings an answer to the application that asked.
    pub(crate) fn done(
        &mut self,
        session: usize,
        ticket: Ticket,
        outcome: &Outcome,
    ) -> Result<(), Violation> {
        let Some(open) = self.processes[session].end(ticket) else {
            return Err(Violation::new("answers", format_args!("{ticket} was answered but is not open")));
        };
        self.processes[session].learn(outcome);
        if let Call::Watch(cell) | Call::Unwatch(cell) = &open.call {
            Watched::learn(&mut self.sessions[session].watched, cell, outcome, self.at);
        }
        let step = Step::Done { ticket, call: &open.call, asked: open.asked, outcome };
        self.emit(Some(session), &step)?;
        if matches!(open.call, Call::Join) {
            return Ok(());
        }
        self.with_context(session, |app, ctx| app.on_answer(ticket, &open.call, outcome, ctx));
        self.act(session)
    }

    /// Brings a notice to the application.
    pub(crate) fn noticed(&mut self, session: usize, notice: &Notice) -> Result<(), Violation> {
        let process = &mut self.processes[session];
        if matches!(notice, Notice::Fenced(_)) && process.phase != Phase::Leaving {
            process.phase = Phase::Over;
        }
        self.emit(Some(session), &Step::Noticed(notice))?;
        Watched::notice(&mut self.sessions[session].watched, notice);
        self.with_context(session, |app, ctx| app.on_notice(notice, ctx));
        self.act(session)?;
        if matches!(notice, Notice::Authority { .. }) { self.stall(session) } else { Ok(()) }
    }

    /// Asks the engines what applications wanted to ask while an engine was still being heard out, and what they want
    /// to ask about the answers to that.
    pub(crate) fn ask_pending(&mut self) -> Result<(), Violation> {
        while let Some((session, demand)) = self.pending.pop_front() {
            match demand {
                Demand::Ask(ticket, call) => {
                    let open = OpenCall { ticket, call: call.clone(), asked: self.at };
                    self.processes[session].begin(open);
                    self.emit(Some(session), &Step::Asked(ticket, &call))?;
                    self.hear_out(session, Event::Call(ticket, call))?;
                }
                Demand::Cancel(ticket) => {
                    // What has become due first, a fence say, may still answer the call; after that nothing may.
                    self.hear_out(session, Event::Cancel(ticket))?;
                    self.processes[session].cancel(ticket);
                }
            }
        }
        Ok(())
    }

    /// Does what an application has just asked for, but for what concerns its engine.
    pub(crate) fn act(&mut self, session: usize) -> Result<(), Violation> {
        if self.actions.is_empty() {
            return Ok(());
        }
        let mut actions = core::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Acknowledge(ticket, tenure) => {
                    self.emit(Some(session), &Step::Acknowledged(ticket, &tenure))?;
                }
                // Of a world that is winding up only the answers are awaited.
                Action::Demand(Demand::Ask(..)) if self.is_closing() => {}
                Action::Demand(demand) => self.pending.push_back((session, demand)),
                Action::Note(text) => self.emit(Some(session), &Step::Noted(&text))?,
                Action::Tell(to, text) => self.tell(session, &to, text),
                Action::TurnAfter(after) => {
                    let clock = &self.machines[self.sessions[session].machine].clock;
                    let at = clock.when(clock.now(self.at).mono.after(after));
                    self.queue.plan(at.max(self.at), Occasion::Turn { session });
                }
            }
        }
        self.actions = actions;
        Ok(())
    }

    /// Lets an application look at its world and say what it wants done.
    pub(crate) fn with_context<T>(
        &mut self,
        session: usize,
        visit: impl FnOnce(&mut A, &mut Context<'_>) -> T,
    ) -> T {
        let process = &mut self.processes[session];
        let mut context = Context {
            session,
            at: self.at,
            machines: &self.machines,
            sessions: &self.sessions,
            cells: &self.cells,
            calm: self.calm.as_ref(),
            choices: self.choices,
            tickets: &mut process.tickets,
            actions: &mut self.actions,
        };
        visit(&mut process.app, &mut context)
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.calm.as_ref().is_some_and(|calm| calm.is_closing)
    }
}

impl<A> fmt::Debug for Factory<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Factory(..)")
    }
}
