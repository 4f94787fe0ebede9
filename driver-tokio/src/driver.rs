//! The thread that owns the engine and does its I/O, on a runtime of its own.
//!
//! An application that blocks its executor therefore delays its own answers, but no renewal.

use std::io::Error;
use std::sync::Arc;
use std::thread;

use tenure_blocking::clock;
use tenure_blocking::session::{Input, Io, Job, Lane, Pump};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::store::Store;

/// How many operations may be on their way, those on the node's own lease apart.
pub(crate) const ORDINARY_MAX: usize = 64;

/// How many inputs are taken before the runtime gets a turn, in which it runs several times as many tasks.
/// Otherwise, under a flood of calls, each of which makes a task, a renewal would be the last of a queue that
/// only grows (BL-49).
const INPUTS_MAX: u64 = 16;

/// Builds the runtime that the engine and the store's futures share.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread().thread_name("tenure-io").enable_all().build()
}

/// Starts the thread. It ends when the session has ended and everyone has been answered.
pub(crate) fn start<S: Store>(
    runtime: Runtime,
    pump: Pump<Tasks<S>>,
    inbox: UnboundedReceiver<Input>,
) -> Result<(), Error> {
    let thread = thread::Builder::new().name("tenure-engine".into());
    thread.spawn(move || own(runtime, inbox, pump))?;
    Ok(())
}

/// Runs the session and ends it. The parameters are dropped from the last to the first, also by a panic: the
/// session ends before its queue does, so that a caller without an answer finds the reason, and nothing waits
/// for the runtime, which waits for calls that hang.
fn own<S: Store>(runtime: Runtime, mut inbox: UnboundedReceiver<Input>, mut pump: Pump<Tasks<S>>) {
    runtime.block_on(run(&mut pump, &mut inbox));
    drop(pump);
    drop(inbox);
    runtime.shutdown_background();
}

async fn run<S: Store>(pump: &mut Pump<Tasks<S>>, inbox: &mut UnboundedReceiver<Input>) {
    for turn in 1_u64.. {
        if pump.is_over() {
            return;
        }
        if turn.is_multiple_of(INPUTS_MAX) {
            yield_now().await;
        }
        let input = match pump.wait(clock::mono()) {
            Some(limit) => timeout(limit, inbox.recv()).await.ok().flatten(),
            None => inbox.recv().await,
        };
        pump.step(clock::now, input);
    }
}

/// Executes each job as a task of the engine's runtime.
#[derive(Debug)]
pub(crate) struct Tasks<S> {
    runtime: Handle,
    store: Arc<S>,
    ordinary: Arc<Semaphore>,
}

impl<S: Store> Tasks<S> {
    pub(crate) fn new(runtime: &Runtime, store: S) -> Self {
        let ordinary = Arc::new(Semaphore::new(ORDINARY_MAX));
        Self { runtime: runtime.handle().clone(), store: Arc::new(store), ordinary }
    }
}

impl<S: Store> Io for Tasks<S> {
    fn start(&mut self, mut job: Job) {
        let store = Arc::clone(&self.store);
        let ordinary = Arc::clone(&self.ordinary);
        // The task is not awaited: it brings its reply to the inbox, and the pump answers for one that hangs.
        drop(self.runtime.spawn(async move {
            let _permit = match job.lane() {
                Lane::Lease => None,
                Lane::Ordinary => ordinary.acquire().await.ok(),
            };
            let Some(op) = job.begin(clock::mono()) else { return };
            if let Ok(reply) = timeout(job.limit(), store.execute(op)).await {
                job.finish(reply);
            }
        }));
    }
}
