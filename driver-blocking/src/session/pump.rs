//! The engine with everything around it that is not I/O: answers, flags, timeouts, and the order of it all.
//!
//! Commands are carried out strictly in the order in which the engine gives them: a notice that ends a tenure
//! has flipped the handles' flag before the write that gives the cell up is handed to the store.
//!
//! Whatever ends the pump ends the session: when it is dropped, also by a panic, authority is gone, every
//! handle knows, and nobody waits for an answer any more.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use tenure_core::{
    Call, CellId, Command, Engine, Epoch, Event, FenceCause, Instant, Key, Notice, Now, Op, Outcome, Reply,
    Tenure, Ticket,
};

use super::flight::Flights;
use super::watching::Watchers;
use super::{Answer, Answerer, Held, Inbox, Input, Job, Lane, Loss, Session, Shared};
use crate::entropy::Entropy;

/// The longest wait in one go. Waits do not count suspends, so the clock is looked at this often.
const SLICE: Duration = Duration::from_millis(250);

/// How a driver executes operations.
pub trait Io {
    /// Starts a job and returns at once.
    fn start(&mut self, job: Job);
}

/// One session's engine and its surroundings; lives on one thread.
pub struct Pump<I> {
    engine: Engine,
    entropy: Entropy,
    io: I,
    inbox: Inbox,
    lease: Key,
    shared: Arc<Shared>,
    session: Weak<Session>,
    cells: BTreeMap<CellId, (Epoch, Weak<Held>)>,
    watchers: Watchers,
    answers: BTreeMap<Ticket, Answerer>,
    flights: Flights,
    /// When the engine wants to look at the clock.
    until: Option<Instant>,
    /// How long leaving may take.
    patience: Duration,
    /// When leaving is given up; the lease then runs out by itself.
    leave_by: Option<Instant>,
    /// Set when there is nothing left to do: why the session ended.
    over: Option<FenceCause>,
}

impl<I: Io> Pump<I> {
    pub(super) fn new(
        (engine, entropy): (Engine, Entropy),
        io: I,
        shared: Arc<Shared>,
        session: &Arc<Session>,
        inbox: Inbox,
        patience: Duration,
    ) -> Self {
        Self {
            lease: Key::lease(engine.node()),
            engine,
            entropy,
            io,
            inbox,
            shared,
            session: Arc::downgrade(session),
            cells: BTreeMap::new(),
            watchers: Watchers::default(),
            answers: BTreeMap::new(),
            flights: Flights::default(),
            until: None,
            patience,
            leave_by: None,
            over: None,
        }
    }

    /// Tells whether the session has ended and everyone has been answered.
    pub fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Returns how long to wait for the next input before calling [`Self::step`] anyway; nothing: for ever.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let due = [self.until, self.flights.due(), self.leave_by].into_iter().flatten().min()?;
        Some(due.since(now).min(SLICE))
    }

    /// Does what the input asks for, and everything that is due by the clock. The clock is read when the
    /// replies that are taken now have arrived.
    pub fn step(&mut self, clock: impl FnOnce() -> Now, input: Option<Input>) {
        let urgent = self.flights.urgent().take();
        let now = clock();
        for (number, reply) in urgent {
            self.land(now, number, reply);
        }
        // The input first: after a pause it may be the very reply that would be given up next.
        if let Some(input) = input {
            self.on_input(now, input);
        }
        while let Some(event) = self.flights.overdue(now.mono) {
            self.feed(now, event);
        }
        if self.until.is_some_and(|until| until <= now.mono) {
            self.feed(now, Event::Wake);
        }
        if self.leave_by.is_some_and(|by| by <= now.mono) {
            self.over.get_or_insert(FenceCause::Left);
        }
        // A session that left still waits for its tombstone to be settled; any other writes nothing more.
        match self.shared.fence.get() {
            Some(FenceCause::Left) if !self.answers.is_empty() => {}
            Some(cause) => {
                self.over.get_or_insert(cause);
            }
            None => {}
        }
    }

    fn on_input(&mut self, now: Now, input: Input) {
        match input {
            Input::Call { ticket, call, answer } => self.call(now, ticket, call, answer),
            Input::Cancel(ticket) => {
                self.answers.remove(&ticket);
                self.feed(now, Event::Cancel(ticket));
            }
            Input::Dropped(tenure) => {
                if self.is_forsaken(&tenure) {
                    self.call_for_nobody(now, Call::Release(tenure));
                }
            }
            Input::Orphaned => self.call_for_nobody(now, Call::Leave),
            Input::Panicked => {
                self.over.get_or_insert(FenceCause::Internal);
            }
            Input::Replied(number, reply) => self.land(now, number, reply),
            Input::Unwatched(cell) => {
                self.watchers.leave(cell.clone());
                self.call_for_nobody(now, Call::Unwatch(cell));
            }
            // Taken before.
            Input::Urgent => {}
        }
    }

    fn land(&mut self, now: Now, number: u64, reply: Reply) {
        if let Some(event) = self.flights.land(number, reply) {
            self.feed(now, event);
        }
    }

    fn call(&mut self, now: Now, ticket: Ticket, call: Call, answer: Answerer) {
        if call == Call::Leave {
            self.leave_by.get_or_insert(now.mono.after(self.patience));
        }
        if let Call::Watch(cell) = &call {
            self.watchers.ask(ticket, cell.clone());
        }
        self.answers.insert(ticket, answer);
        self.feed(now, Event::Call(ticket, call));
    }

    fn call_for_nobody(&mut self, now: Now, call: Call) {
        self.call(now, self.shared.ticket(), call, Box::new(drop));
    }

    /// Lets the engine handle one event and carries out what it wants done.
    fn feed(&mut self, now: Now, event: Event) {
        // A clone of this process draws other bits; the clock is for machines that were cloned with the state
        // of their random numbers. Where no bits can be drawn the node goes on with the clock alone.
        let bits = self.entropy.bits().unwrap_or(0);
        self.engine.stir(bits.wrapping_add(now.wall.as_nanos() << 32));
        self.engine.handle(now, event);
        self.until = loop {
            match self.engine.poll() {
                Command::Done(ticket, outcome) => self.done(ticket, outcome),
                Command::Idle { until } => break until.map(|deadline| deadline.at),
                Command::List(op) => self.launch(now, Op::List(op)),
                Command::Notify(notice) => self.notify(notice),
                Command::Read(op) => self.launch(now, Op::Read(op)),
                Command::Remove(op) => self.launch(now, Op::Remove(op)),
                Command::Write(op) => self.launch(now, Op::Write(op)),
            }
        };
    }

    fn launch(&mut self, now: Now, op: Op) {
        let key = match &op {
            Op::List(_) => None,
            Op::Read(op) => Some(&op.key),
            Op::Remove(op) => Some(&op.key),
            Op::Write(op) => Some(&op.key),
        };
        let lane = if key == Some(&self.lease) { Lane::Lease } else { Lane::Ordinary };
        let job = self.flights.launch(now.mono, op, lane, Arc::clone(&self.inbox));
        self.io.start(job);
    }

    fn done(&mut self, ticket: Ticket, outcome: Outcome) {
        if matches!(outcome, Outcome::Joined(Err(_))) {
            // Nothing was gained, so there is nothing to give back: whatever of ours lands late runs out.
            self.over.get_or_insert(FenceCause::Left);
        }
        let answer = if let Outcome::Claimed(result) = outcome {
            result.map(|tenure| self.hold(&tenure)).transpose().map(Answer::Claimed)
        } else if let Outcome::Watched(result) = outcome {
            self.watchers.answer(ticket, result, self.session.upgrade()).map(Answer::Watched)
        } else {
            Some(Answer::Plain(outcome))
        };
        // An answer that nobody takes is dropped, and with it a handle, which asks for the release. There is
        // none if no handle of the session is left: then nobody waits for one, and the node is leaving.
        if let (Some(answerer), Some(answer)) = (self.answers.remove(&ticket), answer) {
            answerer(answer);
        }
    }

    /// Returns the handle of a tenure, the one that others share if there is one.
    fn hold(&mut self, tenure: &Tenure) -> Option<Arc<Held>> {
        if let Some((epoch, held)) = self.cells.get(&tenure.cell)
            && *epoch == tenure.epoch
            && let Some(held) = held.upgrade()
        {
            return Some(held);
        }
        let held = Arc::new(Held::new(tenure.clone(), self.session.upgrade()?));
        self.cells.insert(tenure.cell.clone(), (tenure.epoch, Arc::downgrade(&held)));
        Some(held)
    }

    /// Tells whether a tenure goes on without any handle: a claim may have made a new one meanwhile.
    fn is_forsaken(&self, tenure: &Tenure) -> bool {
        self.cells
            .get(&tenure.cell)
            .is_some_and(|(epoch, held)| *epoch == tenure.epoch && held.strong_count() == 0)
    }

    fn notify(&mut self, notice: Notice) {
        match notice {
            Notice::Authority { until } => self.shared.extend(until),
            Notice::CellEnded(tenure) => self.end(&tenure, Loss::Ended),
            Notice::CellLost { tenure, reason } => self.end(&tenure, Loss::Lost(reason)),
            Notice::Fenced(cause) => self.end_all(cause),
            Notice::OwnerChanged { cell, owner } => self.watchers.change(&cell, owner),
            // A notice this driver does not know ends nothing; those that do are above.
            _ => {}
        }
    }

    fn end(&mut self, tenure: &Tenure, loss: Loss) {
        let Some((epoch, held)) = self.cells.get(&tenure.cell) else { return };
        if *epoch != tenure.epoch {
            return;
        }
        if let Some(held) = held.upgrade() {
            held.end(loss);
        }
        self.cells.remove(&tenure.cell);
    }
}

impl<I> Pump<I> {
    /// Ends the session: authority first, then every tenure, then every watch.
    fn end_all(&mut self, cause: FenceCause) {
        self.shared.fence(cause, self.engine.ending());
        for (_, held) in core::mem::take(&mut self.cells).into_values() {
            if let Some(held) = held.upgrade() {
                held.end(Loss::Fenced(cause));
            }
        }
        self.watchers.end();
    }
}

impl<I> Drop for Pump<I> {
    fn drop(&mut self) {
        // Without a reason of its own the thread is ending by a panic.
        self.end_all(self.over.unwrap_or(FenceCause::Internal));
    }
}

impl<I> fmt::Debug for Pump<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pump").field("engine", &self.engine).field("over", &self.over).finish_non_exhaustive()
    }
}
