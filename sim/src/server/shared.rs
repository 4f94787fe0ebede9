//! What all requests share: the store behind a lock, the script, the log and the settings.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::clock::Moment;
use crate::server::asked::Asked;
use crate::server::clock::Clock;
use crate::server::fault::Fault;
use crate::server::script::Script;
use crate::server::signature::Verify;
use crate::store::Store;

/// How the server meets those who come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Weather {
    /// It serves them.
    Clear,
    /// It accepts connections and requests, and never says a word to those that come in this time.
    Dark,
    /// Nobody listens: connections are refused, and those there were are closed.
    Refusing,
}

/// One request that reached the server.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When its head was there.
    pub at: Moment,
    /// Counts connections.
    pub connection: usize,
    /// Its method.
    pub method: String,
    /// The key it was about, or the prefix of a listing; with the bucket's prefix, as the store has it.
    pub key: String,
    /// What was to befall it.
    pub faults: Vec<Fault>,
    /// What did: the faults without which it would have been served otherwise. A fault of the answer befalls no request
    /// that is never answered, one of listings none for a record.
    pub effects: Vec<Fault>,
    /// What it was answered; nothing if it has had no answer.
    pub status: Option<u16>,
    /// Whether it has changed the store.
    pub applied: bool,
}

pub(crate) struct Shared {
    pub(crate) bucket: String,
    pub(crate) region: Option<String>,
    pub(crate) verify: Option<Arc<dyn Verify>>,
    pub(crate) clock: Clock,
    pub(crate) weather: watch::Sender<Weather>,
    /// Requests that will be evaluated although their answer may not be waited for.
    underway: AtomicUsize,
    held: Mutex<Held>,
    /// Told of every change to the log.
    log: Condvar,
}

/// What is only looked at and changed by one at a time.
pub(crate) struct Held {
    pub(crate) store: Store,
    script: Script,
    seen: Vec<Seen>,
    /// Counts requests.
    arrived: usize,
    keeps_history: bool,
}

impl Shared {
    pub(crate) fn new(
        bucket: String,
        region: Option<String>,
        verify: Option<Arc<dyn Verify>>,
        clock: Clock,
        held: Held,
    ) -> Self {
        let weather = watch::Sender::new(Weather::Clear);
        let (underway, held, log) = (AtomicUsize::new(0), Mutex::new(held), Condvar::new());
        Self { bucket, region, verify, clock, weather, underway, held, log }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Held> {
        // A request that panicked was between two whole states: nothing in here is done by halves.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_dark(&self) -> bool {
        *self.weather.borrow() != Weather::Clear
    }

    /// Notes that a request is here, and decides what befalls it.
    pub(crate) fn arrive(&self, connection: usize, asked: &Asked) -> (usize, Vec<Fault>) {
        let mut held = self.lock();
        let at = self.clock.now();
        let faults = held.script.draw(&asked.method, asked.key());
        let number = held.arrived;
        held.arrived += 1;
        if held.keeps_history {
            let (method, key) = (asked.method.clone(), asked.key().to_owned());
            let faults = faults.clone();
            let (effects, status, applied) = (Vec::new(), None, false);
            held.seen.push(Seen { at, connection, method, key, faults, effects, status, applied });
        }
        drop(held);
        self.noted();
        (number, faults)
    }

    /// Lets those look again who wait for something in the log.
    pub(crate) fn noted(&self) {
        self.log.notify_all();
    }

    /// Waits until `look` finds what it looks for in the log, at most for `limit`.
    pub(crate) fn wait_for<T>(
        &self,
        limit: Duration,
        mut look: impl FnMut(&[Seen]) -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        let is_missing = |held: &mut Held| {
            found = look(&held.seen);
            found.is_none()
        };
        drop(self.log.wait_timeout_while(self.lock(), limit, is_missing));
        found
    }

    pub(crate) fn underway(&self, more: isize) {
        self.underway.fetch_add(more.cast_unsigned(), Ordering::SeqCst);
    }

    pub(crate) fn late(&self) -> usize {
        self.underway.load(Ordering::SeqCst)
    }
}

impl Held {
    pub(crate) const fn new(store: Store, script: Script, keeps_history: bool) -> Self {
        Self { store, script, seen: Vec::new(), arrived: 0, keeps_history }
    }

    pub(crate) const fn script(&mut self) -> &mut Script {
        &mut self.script
    }

    pub(crate) fn seen(&self) -> &[Seen] {
        &self.seen
    }

    pub(crate) const fn arrived(&self) -> usize {
        self.arrived
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.script.below(bound)
    }

    /// Notes that a request has changed the store.
    pub(crate) fn changed(&mut self, number: usize, key: &str) {
        if let Some(seen) = self.seen.get_mut(number) {
            seen.applied = true;
        }
        if !self.keeps_history {
            self.store.forget_history(key);
        }
    }

    /// Notes which faults have made a difference to a request.
    pub(crate) fn befell(&mut self, number: usize, effects: impl IntoIterator<Item = Fault>) {
        if let Some(seen) = self.seen.get_mut(number) {
            seen.effects.extend(effects);
        }
    }

    /// Notes what a request was answered.
    pub(crate) fn answered(&mut self, number: usize, status: u16) {
        if let Some(seen) = self.seen.get_mut(number) {
            seen.status = Some(status);
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({})", self.bucket)
    }
}
