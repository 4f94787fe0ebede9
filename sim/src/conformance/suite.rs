//! The machine: steps out, answers in.
//!
//! The questions are written as `async` functions, because that is how a sequence with waits reads best. The
//! futures never meet an executor: the suite polls them itself, with a waker that does nothing, and they wait
//! for one thing only, the runner's answer on the [`Desk`].

use core::cell::RefCell;
use core::fmt;
use core::future::poll_fn;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::rc::Rc;

use tenure_core::{Now, Op, Reply};

use super::bench::Bench;
use super::report::Report;
use super::{Settings, checks};

/// What the runner owes next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Execute these operations, then call [`Suite::answer`].
    Execute(Batch),
    /// Let this much time pass, then ask for the next step.
    Pause(Duration),
    /// Nothing: the report is whole.
    Done,
}

/// Operations that are executed at the same time, each on a connection of its own.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The operations; mostly one.
    pub ops: Vec<Op>,
    /// How far each goes before it waits for the others.
    pub release: Release,
    /// How tags are spelled in what is sent.
    pub spelling: Spelling,
}

/// How far an operation goes before it waits for the others of its batch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Release {
    /// Each is sent whole; all begin together.
    Whole,
    /// Each write sends its headers and the first byte of its body. Once all have, and this much time later, all
    /// send the rest: a store that judges a guard before it has the body judges all of them by the same version.
    AfterFirstByte(Duration),
}

/// How a tag is spelled in `If-Match`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spelling {
    /// As the store's settings say.
    AsSet,
    /// The other way: bare if they say quoted ([`Settings::other_spelling`]).
    Other,
}

/// The answer to one operation, and when it came about.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What the store said.
    pub reply: Reply,
    /// The runner's clocks when the operation was handed to the store's client.
    pub sent: Now,
    /// How long the answer took.
    pub took: Duration,
}

/// How far a suite has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Progress {
    /// The question that is being asked.
    pub check: &'static str,
    /// How many questions have been answered.
    pub answered: usize,
    /// How many there are.
    pub questions: usize,
    /// How many requests have been answered.
    pub requests: u64,
}

/// A run of the suite.
pub struct Suite {
    desk: Rc<Desk>,
    work: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Suite {
    /// Prepares to ask; nothing is asked yet.
    pub fn new(settings: Settings) -> Self {
        let desk = Rc::new(Desk::default());
        let bench = Bench::new(Rc::clone(&desk), settings);
        Self { desk, work: Some(Box::pin(checks::all(bench))) }
    }

    /// Returns what the runner owes next: the same again as long as a batch is not answered.
    pub fn step(&mut self) -> Step {
        if let Some(step @ Step::Execute(_)) = &self.desk.0.borrow().step {
            return step.clone();
        }
        // Whoever asks for the step after a pause has made it.
        self.desk.0.borrow_mut().step = None;
        if let Some(work) = &mut self.work
            && work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            self.work = None;
        }
        self.desk.0.borrow().step.clone().unwrap_or(Step::Done)
    }

    /// Takes the answers to a batch, in the order of its operations. Ignored when none were asked for.
    pub fn answer(&mut self, answers: Vec<Answer>) {
        let mut state = self.desk.0.borrow_mut();
        if matches!(state.step, Some(Step::Execute(_))) {
            state.step = None;
            state.requests += u64::try_from(answers.len()).unwrap_or(u64::MAX);
            state.answers = Some(answers);
        }
    }

    /// Asks no further question. Steps go on until what was written is removed.
    pub fn stop(&mut self) {
        self.desk.0.borrow_mut().is_stopped = true;
    }

    /// Tells how far it has come.
    pub fn progress(&self) -> Progress {
        let state = self.desk.0.borrow();
        Progress {
            check: state.check,
            answered: state.report.checks.len(),
            questions: state.questions,
            requests: state.requests,
        }
    }

    /// Returns what is known so far; all there is after [`Step::Done`].
    pub fn report(&self) -> Report {
        self.desk.0.borrow().report.clone()
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Suite({:?})", self.progress())
    }
}

/// Where the questions and the runner meet.
#[derive(Debug, Default)]
pub(super) struct Desk(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    step: Option<Step>,
    answers: Option<Vec<Answer>>,
    report: Report,
    check: &'static str,
    questions: usize,
    requests: u64,
    is_stopped: bool,
}

impl Desk {
    /// Has a batch executed. There may be fewer answers than operations if the runner is wrong.
    pub(super) async fn execute(&self, batch: Batch) -> Vec<Answer> {
        self.0.borrow_mut().step = Some(Step::Execute(batch));
        poll_fn(|_| self.0.borrow_mut().answers.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Lets time pass.
    pub(super) async fn pause(&self, time: Duration) {
        self.0.borrow_mut().step = Some(Step::Pause(time));
        poll_fn(|_| if self.0.borrow().step.is_none() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Changes the report.
    pub(super) fn note(&self, note: impl FnOnce(&mut Report)) {
        note(&mut self.0.borrow_mut().report);
    }

    pub(super) fn expect(&self, questions: usize) {
        self.0.borrow_mut().questions = questions;
    }

    pub(super) fn begin(&self, check: &'static str) {
        let _ = mem::replace(&mut self.0.borrow_mut().check, check);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.borrow().is_stopped
    }
}
