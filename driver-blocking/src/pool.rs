//! The threads that execute a node's operations: started as needed, bounded, and lanes kept apart.

use core::panic::AssertUnwindSafe;
use std::collections::VecDeque;
use std::panic::catch_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::clock;
use crate::session::{Io, Job, Lane};
use crate::store::Store;

/// How many operations of the lease may be on their way: one, and a few that a hanging store still holds.
const LEASE_THREADS: usize = 4;
/// How many other operations may be on their way.
const ORDINARY_THREADS: usize = 16;

/// Executes jobs on threads of its own. Dropping it lets every thread end after its current operation.
#[derive(Debug)]
pub(crate) struct Pool<S> {
    lease: Arc<Workers<S>>,
    ordinary: Arc<Workers<S>>,
}

impl<S: Store> Pool<S> {
    pub(crate) fn new(store: S) -> Self {
        let store = Arc::new(store);
        Self {
            lease: Arc::new(Workers::new(Arc::clone(&store), "tenure-lease", LEASE_THREADS)),
            ordinary: Arc::new(Workers::new(store, "tenure-io", ORDINARY_THREADS)),
        }
    }
}

impl<S: Store> Io for Pool<S> {
    fn start(&mut self, job: Job) {
        match job.lane() {
            Lane::Lease => Workers::start(&self.lease, job),
            Lane::Ordinary => Workers::start(&self.ordinary, job),
        }
    }
}

impl<S> Drop for Pool<S> {
    fn drop(&mut self) {
        self.lease.close();
        self.ordinary.close();
    }
}

#[derive(Debug)]
struct Workers<S> {
    store: Arc<S>,
    name: &'static str,
    threads_max: usize,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    threads: usize,
    is_closed: bool,
}

impl<S: Store> Workers<S> {
    /// Queues the job, and starts a thread for it if none is free and another is allowed.
    fn start(workers: &Arc<Self>, job: Job) {
        let mut queue = workers.lock();
        queue.jobs.push_back(job);
        if queue.idle < queue.jobs.len() && queue.threads < workers.threads_max {
            let worker = Arc::clone(workers);
            let started = thread::Builder::new().name(workers.name.into()).spawn(move || worker.work());
            // A system that refuses a thread now may give one for the next job; until then those that run
            // serve the queue, and a job that nobody takes is answered by its timeout.
            queue.threads += usize::from(started.is_ok());
        }
        drop(queue);
        workers.changed.notify_one();
    }

    fn work(&self) {
        while let Some(mut job) = self.next() {
            // A panic of the store tells the pump by dropping the job; the thread itself can go on.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                if let Some(op) = job.begin(clock::mono()) {
                    job.finish(self.store.execute(op));
                }
            }));
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if queue.is_closed {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

impl<S> Workers<S> {
    fn new(store: Arc<S>, name: &'static str, threads_max: usize) -> Self {
        Self { store, name, threads_max, queue: Mutex::default(), changed: Condvar::new() }
    }

    fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        queue.jobs.clear();
        drop(queue);
        self.changed.notify_all();
    }

    // No code that can panic runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
