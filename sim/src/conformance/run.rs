//! The two runners: the only part of the suite that waits.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;
use std::{panic, thread};

use tenure_core::{Now, Op, Reply};

use super::gate::{Gate, Ticket};
use super::report::Report;
use super::suite::{Answer, Batch, Release, Spelling, Step, Suite};

/// A store that blocks the calling thread, as the suite sees it.
pub trait Subject: Sync {
    /// Executes one operation, like a driver's `Store`.
    fn execute(&self, op: Op, spelling: Spelling) -> Reply;

    /// Executes a write, but sends only its headers and the first byte of its body before it waits with
    /// [`Ticket::wait`]. A store without a wire may wait before it begins.
    fn execute_held(&self, op: Op, spelling: Spelling, ticket: Ticket) -> Reply {
        ticket.wait();
        self.execute(op, spelling)
    }

    /// Lets time pass.
    fn pause(&self, time: Duration);

    /// Reads the clocks.
    fn now(&self) -> Now;
}

/// A store whose operations are futures, as the suite sees it.
#[expect(async_fn_in_trait, reason = "the runner's future stays on the thread that polls it")]
pub trait AsyncSubject {
    /// Executes one operation, like a driver's `Store`.
    async fn execute(&self, op: Op, spelling: Spelling) -> Reply;

    /// Executes a write, but sends only its headers and the first byte of its body before it waits with
    /// [`Ticket::pass`]. A store without a wire may wait before it begins.
    async fn execute_held(&self, op: Op, spelling: Spelling, ticket: Ticket) -> Reply {
        ticket.pass().await;
        self.execute(op, spelling).await
    }

    /// Lets time pass.
    async fn pause(&self, time: Duration);

    /// Reads the clocks.
    fn now(&self) -> Now;
}

/// Drives a suite to its end, a thread for each operation of a batch. `watch` sees it before every step, and may
/// stop it.
pub fn run(suite: &mut Suite, subject: &impl Subject, mut watch: impl FnMut(&mut Suite)) -> Report {
    loop {
        watch(suite);
        match suite.step() {
            Step::Execute(batch) => suite.answer(execute(batch, subject)),
            Step::Pause(time) => subject.pause(time),
            Step::Done => return suite.report(),
        }
    }
}

/// Drives a suite to its end on any executor, in one task. `watch` sees it before every step, and may stop it.
pub async fn run_async(
    suite: &mut Suite,
    subject: &impl AsyncSubject,
    mut watch: impl FnMut(&mut Suite),
) -> Report {
    loop {
        watch(suite);
        match suite.step() {
            Step::Execute(batch) => suite.answer(execute_async(batch, subject).await),
            Step::Pause(time) => subject.pause(time).await,
            Step::Done => return suite.report(),
        }
    }
}

fn execute(batch: Batch, subject: &impl Subject) -> Vec<Answer> {
    let Batch { ops, release, spelling } = batch;
    let timed = |execute: &dyn Fn(Op) -> Reply, op| {
        let sent = subject.now();
        let reply = execute(op);
        Answer { reply, sent, took: subject.now().mono.since(sent.mono) }
    };
    if ops.len() == 1 && release == Release::Whole {
        return ops.into_iter().map(|op| timed(&|op| subject.execute(op, spelling), op)).collect();
    }
    let (gate, tickets) = Gate::new(ops.len());
    thread::scope(|scope| {
        let contend = |(op, ticket): (Op, Ticket)| {
            scope.spawn(move || match release {
                Release::Whole => {
                    ticket.wait();
                    timed(&|op| subject.execute(op, spelling), op)
                }
                Release::AfterFirstByte(_) => {
                    let ticket = core::cell::Cell::new(Some(ticket));
                    let held = |op| match ticket.take() {
                        Some(ticket) => subject.execute_held(op, spelling, ticket),
                        None => subject.execute(op, spelling),
                    };
                    timed(&held, op)
                }
            })
        };
        let running: Vec<_> = ops.into_iter().zip(tickets).map(contend).collect();
        gate.wait_for_all();
        if let Release::AfterFirstByte(settle) = release {
            subject.pause(settle);
        }
        gate.open();
        let join = |thread: thread::ScopedJoinHandle<'_, Answer>| {
            thread.join().unwrap_or_else(|cause| panic::resume_unwind(cause))
        };
        running.into_iter().map(join).collect()
    })
}

async fn execute_async(batch: Batch, subject: &impl AsyncSubject) -> Vec<Answer> {
    let Batch { ops, release, spelling } = batch;
    let (gate, tickets) = Gate::new(ops.len());
    let contend = async |(op, ticket): (Op, Ticket)| {
        let sent = subject.now();
        let reply = match release {
            Release::Whole => {
                drop(ticket);
                subject.execute(op, spelling).await
            }
            Release::AfterFirstByte(_) => subject.execute_held(op, spelling, ticket).await,
        };
        Answer { reply, sent, took: subject.now().mono.since(sent.mono) }
    };
    let open = async {
        if let Release::AfterFirstByte(settle) = release {
            gate.all_are_there().await;
            subject.pause(settle).await;
        }
        gate.open();
    };
    let mut open = core::pin::pin!(open);
    let mut is_open = false;
    let mut running: Vec<Contender<'_>> =
        ops.into_iter().zip(tickets).map(|pair| Contender::Running(Box::pin(contend(pair)))).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for contender in &mut running {
            if let Contender::Running(future) = contender {
                match future.as_mut().poll(context) {
                    Poll::Ready(answer) => *contender = Contender::Done(answer),
                    Poll::Pending => is_done = false,
                }
            }
        }
        is_open = is_open || open.as_mut().poll(context).is_ready();
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(Contender::answer).collect()
}

/// One operation of a batch.
enum Contender<'a> {
    Running(Pin<Box<dyn Future<Output = Answer> + 'a>>),
    Done(Answer),
}

impl Contender<'_> {
    fn answer(self) -> Option<Answer> {
        match self {
            Self::Done(answer) => Some(answer),
            Self::Running(_) => None,
        }
    }
}
