//! A store in memory whose every request is logged, and which can be told to hang or to panic.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use tenure_blocking::{
    Config, ETag, Entry, Fault, FaultKind, Guard, ListOp, ListReply, Op, Page, ReadOp, ReadReply,
    RemoveReply, Reply, Stamps, Store, StoreClock, StoreTime, WriteOp, WriteReply, clock,
};

/// Short enough for tests, long enough for a busy machine.
pub(crate) const TTL: Duration = Duration::from_millis(1500);

/// Longer than anything that a test waits for.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) fn config(name: &str) -> Config {
    Config::new(name).with_ttl(TTL)
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    state: Mutex<State>,
    changed: Condvar,
}

/// What happens to requests whose line in the log contains a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trap {
    /// They do not come back until the trap is gone, and then apply nothing.
    Hang(&'static str),
    /// They wait until the trap is gone, and then go on.
    Hold(&'static str),
    /// They panic.
    Panic(&'static str),
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, Object>,
    versions: u64,
    log: Vec<String>,
    trap: Option<Trap>,
}

#[derive(Clone, Debug)]
struct Object {
    etag: ETag,
    body: Box<[u8]>,
    modified: StoreTime,
}

impl Memory {
    /// Returns the requests since the last call, as `PUT cells/a/own.json`.
    pub(crate) fn take_log(&self) -> Vec<String> {
        core::mem::take(&mut self.lock().log)
    }

    /// Returns the requests since the last call whose line contains the text.
    pub(crate) fn take_log_of(&self, text: &str) -> Vec<String> {
        self.take_log().into_iter().filter(|line| line.contains(text)).collect()
    }

    /// Sets or clears the trap.
    pub(crate) fn trap(&self, trap: Option<Trap>) {
        self.lock().trap = trap;
        self.changed.notify_all();
    }

    /// Waits until so many requests have arrived whose line contains the text, not counting those taken.
    pub(crate) fn wait_for(&self, text: &str, count: usize) {
        self.wait_until(text, |state| state.log.iter().filter(|line| line.contains(text)).count() >= count);
    }

    /// Waits until an object whose key starts with `prefix` contains the text.
    pub(crate) fn wait_for_body(&self, prefix: &str, text: &str) {
        self.wait_until(text, |state| {
            let mut objects = state.objects.iter().filter(|(key, _)| key.starts_with(prefix));
            objects.any(|(_, object)| String::from_utf8_lossy(&object.body).contains(text))
        });
    }

    /// Returns the text of the object at `key`.
    pub(crate) fn body(&self, key: &str) -> Option<String> {
        self.lock().objects.get(key).map(|object| String::from_utf8_lossy(&object.body).into_owned())
    }

    fn wait_until(&self, what: &str, is_done: impl Fn(&State) -> bool) {
        let (state, timeout) =
            self.changed.wait_timeout_while(self.lock(), LONG, |state| !is_done(state)).expect("no poison");
        assert!(!timeout.timed_out(), "never happened: {what}; log: {:#?}", state.log);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A trap panics without the lock.
        self.state.lock().expect("no poison")
    }

    /// Logs the request; nothing if it fell into the trap.
    fn admit(&self, line: String) -> Option<MutexGuard<'_, State>> {
        let mut state = self.lock();
        let trap = state.trap;
        state.log.push(line.clone());
        self.changed.notify_all();
        match trap {
            Some(Trap::Hang(text)) if line.contains(text) => {
                drop(self.changed.wait_while(state, |state| state.trap.is_some()).expect("no poison"));
                None
            }
            Some(Trap::Hold(text)) if line.contains(text) => {
                Some(self.changed.wait_while(state, |state| state.trap.is_some()).expect("no poison"))
            }
            Some(Trap::Panic(text)) if line.contains(text) => {
                drop(state);
                panic!("the trap was set for {line}");
            }
            Some(_) | None => Some(state),
        }
    }

    fn list(&self, op: &ListOp) -> ListReply {
        let Some(state) = self.admit(format!("LIST {}", op.prefix)) else { return ListReply::Failed(hung()) };
        let entries = state
            .objects
            .iter()
            .filter(|(key, _)| key.starts_with(&*op.prefix))
            .map(|(key, object)| Entry {
                key: key.clone(),
                etag: Some(object.etag.clone()),
                modified: Some(object.modified),
            })
            .collect();
        ListReply::Page(Page { entries, next: None, date: Some(date()) })
    }

    fn read(&self, op: &ReadOp) -> ReadReply {
        let Some(state) = self.admit(format!("GET {}", op.key)) else { return ReadReply::Failed(hung()) };
        let Some(object) = state.objects.get(op.key.as_str()) else { return ReadReply::Missing };
        let stamps = Stamps { modified: Some(object.modified), date: Some(date()) };
        if op.unless.as_ref() == Some(&object.etag) {
            return ReadReply::Unchanged(stamps);
        }
        ReadReply::Found { etag: object.etag.clone(), body: object.body.clone(), stamps }
    }

    fn write(&self, op: &WriteOp) -> WriteReply {
        let Some(mut state) = self.admit(format!("PUT {}", op.key)) else {
            return WriteReply::Unknown(hung());
        };
        let current = state.objects.get(op.key.as_str()).map(|object| &object.etag);
        let holds = match &op.guard {
            Guard::Absent => current.is_none(),
            Guard::Match(etag) => current == Some(etag),
        };
        if !holds {
            return WriteReply::Rejected;
        }
        state.versions += 1;
        let etag = ETag::new(format!("\"{}\"", state.versions).as_bytes()).expect("not empty");
        let object = Object { etag: etag.clone(), body: op.body.as_ref().into(), modified: date() };
        state.objects.insert(op.key.to_string(), object);
        self.changed.notify_all();
        WriteReply::Applied { etag }
    }
}

impl Store for Memory {
    fn execute(&self, op: Op) -> Reply {
        match op {
            Op::List(op) => Reply::List(self.list(&op)),
            Op::Read(op) => Reply::Read(self.read(&op)),
            Op::Remove(op) => {
                let removed = self.admit(format!("DELETE {}", op.key)).map(|mut state| {
                    state.objects.remove(op.key.as_str());
                });
                Reply::Remove(removed.map_or_else(|| RemoveReply::Failed(hung()), |()| RemoveReply::Removed))
            }
            Op::Write(op) => Reply::Write(self.write(&op)),
        }
    }

    fn clock(&self) -> StoreClock {
        StoreClock::FINE
    }
}

/// A store whose end can be waited for: the receiver is disconnected when a node has let go of it.
#[derive(Debug)]
pub(crate) struct Watched {
    store: Arc<Memory>,
    _alive: Sender<()>,
}

impl Watched {
    pub(crate) fn new(store: &Arc<Memory>) -> (Self, Receiver<()>) {
        let (alive, gone) = channel();
        (Self { store: Arc::clone(store), _alive: alive }, gone)
    }
}

impl Store for Watched {
    fn execute(&self, op: Op) -> Reply {
        self.store.execute(op)
    }

    fn clock(&self) -> StoreClock {
        Store::clock(&self.store)
    }
}

fn hung() -> Fault {
    Fault::new(FaultKind::TimedOut, "the trap was opened")
}

fn date() -> StoreTime {
    StoreTime::from_nanos(clock::now().wall.as_nanos())
}
