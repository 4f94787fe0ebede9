//! One client of the store under test: it tries again what was not answered, settles what may have happened,
//! and remembers which keys to remove.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::{
    AttemptId, ETag, Guard, Key, ListId, ListOp, ListReply, Op, Page, ReadId, ReadOp, ReadReply, RemoveId,
    RemoveOp, RemoveReply, Reply, Stamps, WriteOp, WriteReply,
};

use super::report::{Answer, Trouble, fails, unclear};

/// How often one question is put before its answer counts as unclear.
const ATTEMPTS: u32 = 8;
/// The least time to leave a throttling store alone.
const THROTTLE_MIN: Duration = Duration::from_secs(1);

/// Numbers requests and bodies; shared, so that no two contenders send equal bytes.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The client.
pub(super) struct Bench<'a> {
    seed: u64,
    timeout: Duration,
    execute: &'a mut dyn FnMut(Op) -> Reply,
    pause: &'a mut dyn FnMut(Duration),
    used: BTreeSet<Key>,
}

/// What became of a write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    Applied(ETag),
    Rejected,
}

/// What a read showed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Seen {
    Found { etag: ETag, body: Box<[u8]>, stamps: Stamps },
    Missing,
    Unchanged(Stamps),
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        seed: u64,
        timeout: Duration,
        execute: &'a mut dyn FnMut(Op) -> Reply,
        pause: &'a mut dyn FnMut(Duration),
    ) -> Self {
        Self { seed, timeout, execute, pause, used: BTreeSet::new() }
    }

    /// Returns one of the 65,536 keys of this seed; they share the first 12 digits, and so a prefix.
    pub(super) fn key(&mut self, index: u16) -> Key {
        self.note(Key::probe(self.seed << 16 | u64::from(index)))
    }

    /// Remembers to remove this key in the end.
    pub(super) fn note(&mut self, key: Key) -> Key {
        self.used.insert(key.clone());
        key
    }

    /// Returns the text that all keys of this seed begin with.
    pub(super) fn prefix(&self) -> String {
        Key::probe(self.seed << 16).as_str().trim_end_matches("0000").to_owned()
    }

    /// Returns a body like no other of the same length as every other.
    pub(super) fn body(&self) -> Arc<[u8]> {
        format!(r#"{{"probe":"{:016x}","write":{:020}}}"#, self.seed, number()).into_bytes().into()
    }

    /// Writes, and finds out what became of it.
    pub(super) fn write(&mut self, key: &Key, guard: &Guard, body: &Arc<[u8]>) -> Result<Fate, Trouble> {
        let mut open = false;
        let mut last = String::new();
        let mut denied = 0;
        for attempt in 0..ATTEMPTS {
            let op = WriteOp {
                id: AttemptId::new(number()),
                key: key.clone(),
                guard: guard.clone(),
                body: body.clone(),
                timeout: self.timeout,
            };
            let Reply::Write(reply) = (self.execute)(Op::Write(op)) else {
                return Err(fails(format!("a write of {key} was answered as if it were something else")));
            };
            last = format!("{reply:?}");
            match reply {
                WriteReply::Applied { etag } => return Ok(Fate::Applied(etag)),
                WriteReply::Refused(fault) if !open => {
                    return Err(fails(format!("a write of {key} was refused: {fault}")));
                }
                WriteReply::Rejected => denied += 1,
                WriteReply::Unknown(_) => open = true,
                WriteReply::Throttled { after } => {
                    (self.pause)(after.unwrap_or_default().max(THROTTLE_MIN));
                    continue;
                }
                WriteReply::Conflict | WriteReply::NotApplied(_) | WriteReply::Refused(_) => {}
            }
            // Whoever was told "no" may have won with an earlier attempt, even one that was sent for him.
            if let Some(fate) = self.settle(key, guard, body)? {
                return Ok(fate);
            }
            self.wait_before(attempt + 1);
        }
        if denied == ATTEMPTS {
            return Err(fails(format!("a write of {key} was always rejected although its guard holds")));
        }
        Err(unclear(format!("a write of {key} was tried {ATTEMPTS} times; the last answer was {last}")))
    }

    /// Looks whether a write has been decided; nothing if what its guard names is still there.
    fn settle(&mut self, key: &Key, guard: &Guard, body: &[u8]) -> Result<Option<Fate>, Trouble> {
        Ok(match (self.read(key, None)?, guard) {
            (Seen::Found { etag, body: found, .. }, _) if *found == *body => Some(Fate::Applied(etag)),
            (Seen::Found { etag, .. }, Guard::Match(expected)) if etag == *expected => None,
            (Seen::Missing, Guard::Absent) => None,
            (Seen::Found { .. } | Seen::Missing, _) => Some(Fate::Rejected),
            (Seen::Unchanged(_), _) => {
                return Err(fails(format!("a plain read of {key} was answered as a conditional one")));
            }
        })
    }

    /// Reads, conditionally if a tag is given.
    pub(super) fn read(&mut self, key: &Key, unless: Option<&ETag>) -> Result<Seen, Trouble> {
        let mut last = String::new();
        for attempt in 0..ATTEMPTS {
            let op = ReadOp {
                id: ReadId::new(number()),
                key: key.clone(),
                unless: unless.cloned(),
                timeout: self.timeout,
            };
            let Reply::Read(reply) = (self.execute)(Op::Read(op)) else {
                return Err(fails(format!("a read of {key} was answered as if it were something else")));
            };
            match reply {
                ReadReply::Found { etag, body, stamps } => return Ok(Seen::Found { etag, body, stamps }),
                ReadReply::Missing => return Ok(Seen::Missing),
                ReadReply::Unchanged(stamps) => return Ok(Seen::Unchanged(stamps)),
                ReadReply::Throttled { after } => (self.pause)(after.unwrap_or_default().max(THROTTLE_MIN)),
                ReadReply::Failed(fault) => {
                    last = fault.to_string();
                    self.wait_before(attempt + 1);
                }
            }
        }
        Err(unclear(format!("{key} could not be read: {last}")))
    }

    /// Reads a record that must be there.
    pub(super) fn found(&mut self, key: &Key) -> Result<(ETag, Box<[u8]>, Stamps), Trouble> {
        match self.read(key, None)? {
            Seen::Found { etag, body, stamps } => Ok((etag, body, stamps)),
            Seen::Missing => Err(fails(format!("{key} was stored and is missing"))),
            Seen::Unchanged(_) => {
                Err(fails(format!("a plain read of {key} was answered as a conditional one")))
            }
        }
    }

    /// Creates a record, which must succeed.
    pub(super) fn create(&mut self, key: &Key, body: &Arc<[u8]>) -> Result<ETag, Trouble> {
        match self.write(key, &Guard::Absent, body)? {
            Fate::Applied(etag) => Ok(etag),
            Fate::Rejected => Err(unclear(format!("{key} exists already; use another seed"))),
        }
    }

    /// Replaces a version that is there, which must succeed.
    pub(super) fn update(&mut self, key: &Key, etag: &ETag, body: &Arc<[u8]>) -> Result<ETag, Trouble> {
        match self.write(key, &Guard::Match(etag.clone()), body)? {
            Fate::Applied(etag) => Ok(etag),
            Fate::Rejected => Err(fails(format!("an update of {key} under its own tag {etag} was rejected"))),
        }
    }

    /// Lists one page.
    pub(super) fn list(&mut self, prefix: &str, after: Option<Arc<str>>) -> Result<Page, Trouble> {
        let mut last = String::new();
        for attempt in 0..ATTEMPTS {
            let op = ListOp {
                id: ListId::new(number()),
                prefix: prefix.into(),
                after: after.clone(),
                timeout: self.timeout,
            };
            let Reply::List(reply) = (self.execute)(Op::List(op)) else {
                return Err(fails(format!(
                    "a listing of {prefix} was answered as if it were something else"
                )));
            };
            match reply {
                ListReply::Page(page) => return Ok(page),
                ListReply::Throttled { after } => (self.pause)(after.unwrap_or_default().max(THROTTLE_MIN)),
                ListReply::Failed(fault) => {
                    last = fault.to_string();
                    self.wait_before(attempt + 1);
                }
            }
        }
        Err(unclear(format!("{prefix} could not be listed: {last}")))
    }

    /// Removes a record, whether or not it is there.
    pub(super) fn remove(&mut self, key: &Key) -> Result<(), Trouble> {
        let mut last = String::new();
        for attempt in 0..ATTEMPTS {
            let op = RemoveOp { id: RemoveId::new(number()), key: key.clone(), timeout: self.timeout };
            match (self.execute)(Op::Remove(op)) {
                Reply::Remove(RemoveReply::Removed) => return Ok(()),
                Reply::Remove(RemoveReply::Failed(fault)) => {
                    last = fault.to_string();
                    self.wait_before(attempt + 1);
                }
                Reply::List(_) | Reply::Read(_) | Reply::Write(_) => {
                    return Err(fails(format!(
                        "a removal of {key} was answered as if it were something else"
                    )));
                }
            }
        }
        Err(unclear(format!("{key} could not be removed: {last}")))
    }

    /// Removes every key that was used.
    pub(super) fn clean(&mut self) -> Answer {
        let mut left = None;
        for key in core::mem::take(&mut self.used) {
            left = left.or(self.remove(&key).err());
        }
        match left {
            None => Ok("nothing was left behind".to_owned()),
            Some(trouble) => Err(trouble),
        }
    }

    fn wait_before(&mut self, attempt: u32) {
        (self.pause)(Duration::from_millis(50) * attempt);
    }
}

fn number() -> u64 {
    NUMBER.fetch_add(1, Ordering::Relaxed)
}
