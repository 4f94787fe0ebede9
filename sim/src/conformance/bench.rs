//! One client of the store under test: it tries again what was not answered, settles what may have happened,
//! and remembers which keys to remove.

use core::time::Duration;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use tenure_core::{
    AttemptId, ETag, FaultKind, Guard, Key, ListId, ListOp, ListReply, Op, Page, ReadId, ReadOp, ReadReply,
    RemoveId, RemoveOp, RemoveReply, Reply, Stamps, WriteOp, WriteReply,
};

use super::Settings;
use super::report::{self, Report, Trouble, fails, faulty, refused, unclear, undecided};
use super::suite::{Answer, Batch, Desk, Release, Spelling};
use super::words::{cause, told};

/// How often one question is put before its answer counts as unclear.
const ATTEMPTS: u32 = 8;
/// How long one question may be put before its answer counts as unclear.
const PATIENCE: Duration = Duration::from_secs(30);
/// The least time to leave a throttling store alone.
const THROTTLE_MIN: Duration = Duration::from_secs(1);
/// How long to wait, times the number of the round, before what is still listed is removed again.
const CLEANING_PAUSE: Duration = Duration::from_millis(250);
/// How many operations of one kind are executed at once where many are needed.
const WIDTH: usize = 8;

/// The client.
pub(super) struct Bench {
    pub(super) settings: Settings,
    /// How tags are spelled from now on.
    pub(super) spelling: Spelling,
    desk: Rc<Desk>,
    number: u64,
    used: BTreeSet<Key>,
    has_written: bool,
    is_cleaning: bool,
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

/// How often and how long a question may still be put.
struct Budget {
    attempts: u32,
    spent: Duration,
}

impl Bench {
    pub(super) fn new(desk: Rc<Desk>, settings: Settings) -> Self {
        let (number, used) = (0, BTreeSet::new());
        Self {
            settings,
            spelling: Spelling::AsSet,
            desk,
            number,
            used,
            has_written: false,
            is_cleaning: false,
        }
    }

    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Tells whether no further question is to be asked.
    pub(super) fn is_stopped(&self) -> bool {
        self.desk.is_stopped() && !self.is_cleaning
    }

    /// Tells whether there may be something to remove.
    pub(super) fn has_written(&self) -> bool {
        self.has_written
    }

    /// Changes the report.
    pub(super) fn note(&self, note: impl FnOnce(&mut Report)) {
        self.desk.note(note);
    }

    /// Returns one of the 65,536 keys of this seed; they share the first 12 digits, and so a prefix.
    pub(super) fn key(&mut self, index: u16) -> Key {
        self.remember(Key::probe(self.settings.seed << 16 | u64::from(index)))
    }

    /// Remembers to remove this key in the end.
    pub(super) fn remember(&mut self, key: Key) -> Key {
        self.used.insert(key.clone());
        key
    }

    /// Returns the text that all keys of this seed begin with.
    pub(super) fn prefix(&self) -> String {
        Key::probe(self.settings.seed << 16).as_str().trim_end_matches("0000").to_owned()
    }

    /// Returns a body like no other of the same length as every other.
    pub(super) fn body(&mut self) -> Arc<[u8]> {
        let number = self.number();
        format!(r#"{{"probe":"{:016x}","write":{number:020}}}"#, self.settings.seed).into_bytes().into()
    }

    /// Has one operation executed.
    pub(super) async fn one(&mut self, op: Op) -> Result<Answer, Trouble> {
        let mut answers = self.together(vec![op], Release::Whole).await?;
        answers.pop().ok_or_else(|| unclear("the runner gave no answer"))
    }

    /// Has several operations executed at the same time; there are as many answers.
    pub(super) async fn together(&mut self, ops: Vec<Op>, release: Release) -> Result<Vec<Answer>, Trouble> {
        if self.is_stopped() {
            return Err(unclear("it was not asked to the end"));
        }
        let count = ops.len();
        let answers = self.desk.execute(Batch { ops, release, spelling: self.spelling }).await;
        if answers.len() != count {
            return Err(unclear(format!("the runner gave {} answers to {count} operations", answers.len())));
        }
        Ok(answers)
    }

    pub(super) fn write_op(&mut self, key: &Key, guard: &Guard, body: &Arc<[u8]>) -> Op {
        self.has_written = true;
        Op::Write(WriteOp {
            id: AttemptId::new(self.number()),
            key: key.clone(),
            guard: guard.clone(),
            body: Arc::clone(body),
            timeout: self.settings.timeout,
        })
    }

    /// Writes, and finds out what became of it.
    pub(super) async fn write(
        &mut self,
        key: &Key,
        guard: &Guard,
        body: &Arc<[u8]>,
    ) -> Result<Fate, Trouble> {
        let (mut budget, mut open, mut denied) = (Budget::new(), false, 0);
        loop {
            let op = self.write_op(key, guard, body);
            let answer = self.one(op).await?;
            let Reply::Write(reply) = answer.reply else { return Err(wrong_kind("a write", key.as_str())) };
            let last = told(&reply);
            match reply {
                WriteReply::Applied { etag } => return Ok(Fate::Applied(etag)),
                WriteReply::Refused(fault) if !open => {
                    return Err(faulty(format_args!("a write of {key} was refused"), &fault));
                }
                WriteReply::Rejected => denied += 1,
                WriteReply::Unknown(_) => open = true,
                WriteReply::Throttled { .. }
                | WriteReply::Conflict
                | WriteReply::NotApplied(_)
                | WriteReply::Refused(_) => {}
            }
            let cause = cause(&reply);
            let is_last = budget.spend(answer.took);
            if let WriteReply::Throttled { after } = reply {
                self.wait(&mut budget, after.unwrap_or_default().max(THROTTLE_MIN)).await;
            } else {
                // Whoever was told "no" may have won with an earlier attempt, even one that was sent for him.
                if let Some(fate) = self.settle(key, guard, body).await? {
                    return Ok(fate);
                }
                self.wait_a_little(&mut budget).await;
            }
            if !is_last {
                continue;
            }
            if denied == budget.attempts {
                let sentence = format!("a write of {key} was always rejected although its guard holds");
                return Err(refused(guard, key, sentence));
            }
            let times = budget.attempts;
            return Err(undecided(
                cause,
                format!("a write of {key} was tried {times} times; the last time, {last}"),
            ));
        }
    }

    /// Looks whether a write has been decided; nothing if what its guard names is still there.
    async fn settle(&mut self, key: &Key, guard: &Guard, body: &[u8]) -> Result<Option<Fate>, Trouble> {
        Ok(match (self.read(key, None).await?, guard) {
            (Seen::Found { etag, body: found, .. }, _) if *found == *body => Some(Fate::Applied(etag)),
            (Seen::Found { etag, .. }, Guard::Match(expected)) if etag == *expected => None,
            (Seen::Missing, Guard::Absent) => None,
            (Seen::Found { .. } | Seen::Missing, _) => Some(Fate::Rejected),
            (Seen::Unchanged(_), _) => return Err(unasked_condition(key)),
        })
    }

    pub(super) fn read_op(&mut self, key: &Key, unless: Option<&ETag>) -> Op {
        let (id, timeout) = (ReadId::new(self.number()), self.settings.timeout);
        Op::Read(ReadOp { id, key: key.clone(), unless: unless.cloned(), timeout })
    }

    /// Reads, conditionally if a tag is given.
    pub(super) async fn read(&mut self, key: &Key, unless: Option<&ETag>) -> Result<Seen, Trouble> {
        let mut budget = Budget::new();
        loop {
            let op = self.read_op(key, unless);
            let answer = self.one(op).await?;
            let Reply::Read(reply) = answer.reply else { return Err(wrong_kind("a read", key.as_str())) };
            let is_last = budget.spend(answer.took);
            match reply {
                ReadReply::Found { etag, body, stamps } => return Ok(Seen::Found { etag, body, stamps }),
                ReadReply::Missing => return Ok(Seen::Missing),
                ReadReply::Unchanged(stamps) => return Ok(Seen::Unchanged(stamps)),
                ReadReply::Throttled { .. } if is_last => return Err(throttled(key.as_str())),
                ReadReply::Throttled { after } => {
                    self.wait(&mut budget, after.unwrap_or_default().max(THROTTLE_MIN)).await;
                }
                ReadReply::Failed(fault) if is_last || is_final(fault.kind) => {
                    return Err(faulty(format_args!("{key} could not be read"), &fault));
                }
                ReadReply::Failed(_) => self.wait_a_little(&mut budget).await,
            }
        }
    }

    /// Reads a record that must be there.
    pub(super) async fn found(&mut self, key: &Key) -> Result<(ETag, Box<[u8]>, Stamps), Trouble> {
        match self.read(key, None).await? {
            Seen::Found { etag, body, stamps } => Ok((etag, body, stamps)),
            Seen::Missing => Err(fails(format!("{key} was stored and is missing"))),
            Seen::Unchanged(_) => Err(unasked_condition(key)),
        }
    }

    /// Creates a record, which must succeed.
    pub(super) async fn create(&mut self, key: &Key, body: &Arc<[u8]>) -> Result<ETag, Trouble> {
        match self.write(key, &Guard::Absent, body).await? {
            Fate::Applied(etag) => Ok(etag),
            Fate::Rejected => Err(unclear(format!("{key} is new and yet said to exist"))),
        }
    }

    /// Creates many records, a few at a time, each with a body of its own.
    pub(super) async fn create_all(&mut self, keys: &[Key]) -> Result<Vec<ETag>, Trouble> {
        let mut tags = Vec::new();
        for some in keys.chunks(WIDTH) {
            let bodies: Vec<_> = some.iter().map(|_| self.body()).collect();
            let ops = some.iter().zip(&bodies).map(|(key, body)| self.write_op(key, &Guard::Absent, body));
            let ops = ops.collect();
            let answers = self.together(ops, Release::Whole).await?;
            for ((key, body), answer) in some.iter().zip(&bodies).zip(answers) {
                match answer.reply {
                    Reply::Write(WriteReply::Applied { etag }) => tags.push(etag),
                    // One at a time again, and patiently.
                    Reply::Write(_) | Reply::List(_) | Reply::Read(_) | Reply::Remove(_) => {
                        tags.push(self.create(key, body).await?);
                    }
                }
            }
        }
        Ok(tags)
    }

    /// Replaces a version that is there, which must succeed.
    pub(super) async fn update(&mut self, key: &Key, etag: &ETag, body: &Arc<[u8]>) -> Result<ETag, Trouble> {
        match self.write(key, &Guard::Match(etag.clone()), body).await? {
            Fate::Applied(etag) => Ok(etag),
            Fate::Rejected => Err(fails(format!("an update of {key} under its own tag {etag} was rejected"))),
        }
    }

    /// Lists one page; says, beside it, when it was asked for and how long it took.
    pub(super) async fn list(
        &mut self,
        prefix: &str,
        after: Option<Arc<str>>,
    ) -> Result<(Page, Answer), Trouble> {
        let mut budget = Budget::new();
        loop {
            let (id, timeout) = (ListId::new(self.number()), self.settings.timeout);
            let op = ListOp { id, prefix: prefix.into(), after: after.clone(), timeout };
            let mut answer = self.one(Op::List(op)).await?;
            let Reply::List(reply) = &mut answer.reply else { return Err(wrong_kind("a listing", prefix)) };
            let is_last = budget.spend(answer.took);
            match reply {
                ListReply::Page(page) => return Ok((core::mem::take(page), answer)),
                ListReply::Throttled { .. } if is_last => return Err(throttled(prefix)),
                ListReply::Throttled { after } => {
                    let after = after.unwrap_or_default().max(THROTTLE_MIN);
                    self.wait(&mut budget, after).await;
                }
                ListReply::Failed(fault) if is_last || is_final(fault.kind) => {
                    return Err(faulty(format_args!("{prefix} could not be listed"), fault));
                }
                ListReply::Failed(_) => self.wait_a_little(&mut budget).await,
            }
        }
    }

    /// Removes a record, whether or not it is there.
    pub(super) async fn remove(&mut self, key: &Key) -> Result<(), Trouble> {
        let mut budget = Budget::new();
        loop {
            let op = self.remove_op(key);
            let answer = self.one(op).await?;
            let Reply::Remove(reply) = answer.reply else {
                return Err(wrong_kind("a removal", key.as_str()));
            };
            let is_last = budget.spend(answer.took);
            match reply {
                RemoveReply::Removed => return Ok(()),
                RemoveReply::Failed(fault) if is_last || is_final(fault.kind) => {
                    return Err(faulty(format_args!("{key} could not be removed"), &fault));
                }
                RemoveReply::Failed(fault) if fault.kind == FaultKind::Throttled => {
                    self.wait(&mut budget, THROTTLE_MIN).await;
                }
                RemoveReply::Failed(_) => self.wait_a_little(&mut budget).await,
            }
        }
    }

    fn remove_op(&mut self, key: &Key) -> Op {
        let (id, timeout) = (RemoveId::new(self.number()), self.settings.timeout);
        Op::Remove(RemoveOp { id, key: key.clone(), timeout })
    }

    /// Removes every key that was used, and what landed late below this seed's prefix.
    pub(super) async fn clean(&mut self) -> report::Answer {
        self.is_cleaning = true;
        let mut keys: Vec<_> = core::mem::take(&mut self.used).into_iter().collect();
        let prefix = self.prefix();
        for round in 1..=ATTEMPTS {
            let mut left = None;
            for some in keys.chunks(WIDTH) {
                let ops = some.iter().map(|key| self.remove_op(key)).collect();
                let answers = self.together(ops, Release::Whole).await?;
                for (key, answer) in some.iter().zip(answers) {
                    if !matches!(answer.reply, Reply::Remove(RemoveReply::Removed)) {
                        left = left.or(self.remove(key).await.err());
                    }
                }
            }
            if let Some(trouble) = left {
                let advice =
                    format!("remove what is left below {prefix}; a node needs s3:DeleteObject on probe/");
                return Err(trouble.advise(advice));
            }
            let (page, _) = self.list(&prefix, None).await?;
            if page.entries.is_empty() {
                return Ok("nothing was left behind".to_owned());
            }
            // A listing may lag behind, and a write that nobody waited for may still land.
            self.desk.pause(CLEANING_PAUSE * round).await;
            let listed = |text: &str| u64::from_str_radix(text.strip_prefix("probe/")?, 16).ok();
            keys = page.entries.iter().filter_map(|entry| Some(Key::probe(listed(&entry.key)?))).collect();
        }
        let left = match keys.as_slice() {
            [key] => format!("{key} is said to be removed, and is listed still"),
            _ => format!("{} keys below {prefix} are said to be removed, and are listed still", keys.len()),
        };
        Err(fails(left).advise(format!("remove {prefix}*")))
    }

    async fn wait_a_little(&mut self, budget: &mut Budget) {
        let time = Duration::from_millis(50) * budget.attempts;
        self.wait(budget, time).await;
    }

    async fn wait(&mut self, budget: &mut Budget, time: Duration) {
        // A store that asks for more patience than there is will be unclear; there is no use in waiting longer.
        let time = time.min(PATIENCE);
        budget.spent += time;
        if budget.spent < PATIENCE && !self.is_stopped() {
            self.desk.pause(time).await;
        }
    }

    fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }
}

impl Budget {
    fn new() -> Self {
        Self { attempts: 0, spent: Duration::ZERO }
    }

    /// Counts an attempt; tells whether it was the last.
    fn spend(&mut self, took: Duration) -> bool {
        self.attempts += 1;
        self.spent += took;
        self.attempts >= ATTEMPTS || self.spent >= PATIENCE
    }
}

/// Tells whether asking again will not help.
fn is_final(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Config | FaultKind::Denied | FaultKind::Unfit)
}

fn throttled(subject: &str) -> Trouble {
    let sentence = format!("the store kept asking to slow down when asked for {subject}");
    undecided(Some(FaultKind::Throttled), sentence)
}

fn wrong_kind(what: &str, subject: &str) -> Trouble {
    fails(format!("{what} of {subject} was answered as if it were something else"))
}

fn unasked_condition(key: &Key) -> Trouble {
    fails(format!("a plain read of {key} was answered as a conditional one"))
}
