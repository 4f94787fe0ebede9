//! What a store signs with, and how it stays good: fetched ahead of its end, once for everybody who waits.
//!
//! ```text
//!            due, or demanded              fetched
//!  Waiting ----------------> Fetching ----------------> Waiting, with newer keys
//!     ^                         | failed
//!     '-------------------------'   (the old keys stay; tried again later, or when demanded)
//! ```
//!
//! Fetching happens on a thread of its own. Neither the engine nor its timers ever wait for it: a request that
//! needs newer keys waits on its own thread or as a future of its own, within its own time-out.

mod find;
mod signing;

#[cfg(feature = "aws")]
mod chain;

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tenure_core::{Fault, FaultKind};
use tenure_s3::{Credentials, Provider, refresh_after, retry_after_failures};

use crate::clock;

pub use find::{Files, find};
pub use signing::Signing;

/// What requests are signed with: fixed, or fetched again and again by a [`Provider`].
#[derive(Clone)]
pub struct Keys(Arc<Handle>);

/// Ends the fetching when the last of those who sign is gone.
struct Handle {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Something was demanded, or nobody is left to demand anything.
    changed: Condvar,
    /// Who to ask; nobody if the keys are fixed.
    provider: Option<Box<dyn Provider>>,
}

struct State {
    current: Option<Credentials>,
    /// Counts the keys there have been.
    generation: u64,
    /// Why the last attempt failed; nothing if it did not.
    failure: Option<Fault>,
    is_demanded: bool,
    is_closed: bool,
    waiting: Vec<Box<dyn FnOnce() + Send>>,
}

impl Keys {
    /// Takes keys that last.
    pub fn fixed(credentials: Credentials) -> Self {
        Self(Arc::new(Handle { shared: Arc::new(Shared::new(Some(credentials), None)) }))
    }

    /// Takes a source of keys. It is asked at once, again before its keys end, and whenever the store says
    /// that they have.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn fetched_by(provider: impl Provider) -> Result<Self, Fault> {
        let mut shared = Shared::new(None, Some(Box::new(provider)));
        shared.state.get_mut().unwrap_or_else(PoisonError::into_inner).is_demanded = true;
        let shared = Arc::new(shared);
        let fetching = Arc::clone(&shared);
        let spawned = thread::Builder::new().name("tenure-keys".into()).spawn(move || fetching.run());
        match spawned {
            Ok(_detached) => Ok(Self(Arc::new(Handle { shared }))),
            Err(error) => {
                Err(Fault::new(FaultKind::Unavailable, format!("no thread can be started: {error}")))
            }
        }
    }

    /// Signs with these from now on. What a provider fetches later takes their place.
    pub fn replace(&self, credentials: Credentials) {
        self.0.shared.lock().put(credentials);
    }

    /// Returns the keys and their number; nothing before the first were fetched.
    pub(crate) fn current(&self) -> Option<(Credentials, u64)> {
        let state = self.0.shared.lock();
        Some((state.current.clone()?, state.generation))
    }

    /// Says why there are no keys.
    pub(crate) fn failure(&self) -> Fault {
        let failure = self.0.shared.lock().failure.clone();
        failure.unwrap_or_else(|| Fault::new(FaultKind::TimedOut, "no credentials have come in time"))
    }

    /// Demands keys that are newer than these, and calls back when they are there or cannot be had; at once, if
    /// either is known already.
    pub(crate) fn renew(&self, than: u64, done: impl FnOnce() + Send + 'static) {
        let shared = &self.0.shared;
        let mut state = shared.lock();
        if shared.provider.is_none() || state.is_closed || state.generation > than {
            drop(state);
            done();
            return;
        }
        state.is_demanded = true;
        state.waiting.push(Box::new(done));
        shared.changed.notify_all();
    }
}

impl From<Credentials> for Keys {
    fn from(credentials: Credentials) -> Self {
        Self::fixed(credentials)
    }
}

impl fmt::Debug for Keys {
    /// Shows the kind of key, and who gives it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = &self.0.shared;
        f.debug_tuple("Keys").field(&shared.lock().current).field(&shared.provider).finish()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn new(current: Option<Credentials>, provider: Option<Box<dyn Provider>>) -> Self {
        let state = State {
            generation: u64::from(current.is_some()),
            current,
            failure: None,
            is_demanded: false,
            is_closed: false,
            waiting: Vec::new(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), provider }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches whenever it is time to, until nobody is left.
    fn run(&self) {
        let Some(provider) = &self.provider else { return };
        let (mut due, mut failures) = (None, 0);
        while self.wait(due) {
            let fetched = provider.fetch();
            let mut state = self.lock();
            state.is_demanded = false;
            match fetched {
                Ok(issued) => {
                    (due, failures) = (refresh_after(&issued, clock::wall()), 0);
                    state.put(issued.credentials);
                }
                Err(fault) => {
                    failures += 1;
                    // Without keys somebody will demand them, at a pace of his own.
                    due = state.current.as_ref().map(|_| retry_after_failures(failures));
                    state.failure = Some(fault);
                }
            }
            let waiting = core::mem::take(&mut state.waiting);
            drop(state);
            for done in waiting {
                done();
            }
        }
        for done in core::mem::take(&mut self.lock().waiting) {
            done();
        }
    }

    /// Waits until keys are demanded or due; false if nobody is left.
    fn wait(&self, due: Option<Duration>) -> bool {
        let is_idle = |state: &mut State| !state.is_demanded && !state.is_closed;
        let state = match due {
            Some(due) => {
                let waited = self.changed.wait_timeout_while(self.lock(), due, is_idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.changed.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner),
        };
        !state.is_closed
    }
}

impl State {
    /// Takes fetched keys. The same ones again are no newer: a store that refused them will refuse them again.
    fn put(&mut self, credentials: Credentials) {
        self.failure = None;
        if self.current.as_ref() != Some(&credentials) {
            self.current = Some(credentials);
            self.generation += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;
    use core::time::Duration;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use tenure_core::{Fault, FaultKind};
    use tenure_s3::{Credentials, Issued, Provider};

    const PATIENT: Duration = Duration::from_secs(20);

    /// A source that answers when, and as, the test says; it tells the test each time it is asked.
    #[derive(Debug)]
    struct Scripted {
        asked: Mutex<Sender<()>>,
        answers: Mutex<Receiver<Result<Issued, Fault>>>,
    }

    impl Provider for Scripted {
        fn fetch(&self) -> Result<Issued, Fault> {
            self.asked.lock().unwrap().send(()).ok();
            let gone = || Err(Fault::new(FaultKind::Unavailable, "the test is over"));
            self.answers.lock().unwrap().recv().unwrap_or_else(|_| gone())
        }
    }

    struct Scene {
        keys: Keys,
        asked: Receiver<()>,
        answers: Sender<Result<Issued, Fault>>,
    }

    fn scene() -> Scene {
        let (asking, asked) = channel();
        let (answers, answering) = channel();
        let provider = Scripted { asked: Mutex::new(asking), answers: Mutex::new(answering) };
        Scene { keys: Keys::fetched_by(provider).expect("a thread"), asked, answers }
    }

    fn issue(name: &str) -> Result<Issued, Fault> {
        Ok(Issued { credentials: credentials(name), expires: None })
    }

    fn credentials(name: &str) -> Credentials {
        Credentials::new(name, "s", None).expect("legal")
    }

    fn renew(keys: &Keys, than: u64) -> Receiver<()> {
        let (done, waiting) = channel();
        keys.renew(than, move || done.send(()).unwrap_or_default());
        waiting
    }

    #[test]
    fn bl_11_all_who_wait_are_served_by_one_fetch() {
        let scene = scene();
        let waiting: Vec<Receiver<()>> = (0..10).map(|_| renew(&scene.keys, 0)).collect();
        scene.asked.recv_timeout(PATIENT).expect("asked at once");
        assert!(scene.keys.current().is_none());
        scene.answers.send(issue("first")).expect("asked");
        for waiting in waiting {
            waiting.recv_timeout(PATIENT).expect("served");
        }
        assert_eq!(scene.keys.current(), Some((credentials("first"), 1)));
        // Nobody asks for what is there already.
        renew(&scene.keys, 0).recv_timeout(PATIENT).expect("at once");
        assert!(scene.asked.try_recv().is_err());
    }

    #[test]
    fn bl_11_keys_that_are_fetched_again_unchanged_are_no_newer() {
        let scene = scene();
        scene.answers.send(issue("same")).expect("asked");
        renew(&scene.keys, 0).recv_timeout(PATIENT).expect("served");
        scene.answers.send(issue("same")).expect("asked again");
        renew(&scene.keys, 1).recv_timeout(PATIENT).expect("served");
        assert_eq!(scene.keys.current(), Some((credentials("same"), 1)));
        scene.answers.send(issue("other")).expect("asked again");
        renew(&scene.keys, 1).recv_timeout(PATIENT).expect("served");
        assert_eq!(scene.keys.current(), Some((credentials("other"), 2)));
    }

    #[test]
    fn a_source_that_fails_leaves_the_old_keys_and_says_why() {
        let scene = scene();
        let fault = Fault::new(FaultKind::Unavailable, "nobody answers");
        // It waits before the answer is there: whoever asks after a failure asks anew.
        let waiting = renew(&scene.keys, 0);
        scene.answers.send(Err(fault.clone())).expect("asked");
        waiting.recv_timeout(PATIENT).expect("told");
        assert_eq!((scene.keys.current(), scene.keys.failure()), (None, fault.clone()));
        scene.answers.send(issue("first")).expect("asked again");
        renew(&scene.keys, 0).recv_timeout(PATIENT).expect("served");
        scene.answers.send(Err(fault)).expect("asked again");
        renew(&scene.keys, 1).recv_timeout(PATIENT).expect("told");
        assert_eq!(scene.keys.current(), Some((credentials("first"), 1)));
    }

    #[test]
    fn keys_that_were_set_by_hand_serve_until_they_are_set_again() {
        let keys = Keys::fixed(credentials("a"));
        renew(&keys, 1).recv_timeout(PATIENT).expect("nobody to ask");
        keys.replace(credentials("b"));
        assert_eq!(keys.current(), Some((credentials("b"), 2)));
    }

    #[test]
    fn the_source_is_let_go_when_nobody_signs_any_more() {
        let Scene { keys, asked, answers } = scene();
        drop((keys, answers));
        // The sender of questions goes with the source.
        while asked.recv_timeout(PATIENT).is_ok() {}
        assert_eq!(asked.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
    }

    #[test]
    fn bl_11_neither_keys_nor_their_source_show_a_secret() {
        let keys = Keys::fixed(Credentials::new("AKIAXYZ", "s3cr3t", Some("t0k3n")).expect("legal"));
        let shown = format!("{keys:?}");
        assert!(!shown.contains("s3cr3t") && !shown.contains("t0k3n") && !shown.contains("XYZ"), "{shown}");
    }
}
