//! Watching cells' records: one conditional read per poll interval and cell, however many watch it.
//!
//! What is watched is the record, not the owner's life: who died without releasing is shown as holding the cell
//! until somebody else takes it. States that come and go between two looks are never seen.
//!
//! ```text
//!   watch -> Reading -- answered, or failed --> Resting
//!               ^                                  |
//!               '-------------- due ---------------'      the last unwatch, or a fence -> (forgotten)
//! ```

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::budget::Lane;
use crate::defects::Defect;
use crate::env::{Env, Target};
use crate::error::{BadRecord, FenceCause, WatchError};
use crate::event::{Notice, Outcome, Owner, Ticket};
use crate::id::{CellId, ETag};
use crate::memory::Memory;
use crate::record::{Holder, OwnerRecord};
use crate::store::{Fault, FaultKind, Key, ReadId, ReadReply};
use crate::time::{Deadline, Instant, Timer};

/// Every cell that somebody on this node watches.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Watches {
    map: BTreeMap<CellId, Watch>,
    deadlines: BTreeSet<(Instant, CellId)>,
}

#[derive(Clone, Debug, Hash)]
struct Watch {
    /// Who waits for the first look.
    callers: Vec<Caller>,
    /// How many were answered and have not ended their watch: none before the first look.
    watchers: u64,
    seen: Option<Seen>,
    step: Step,
    /// Looks failed in a row.
    failures: u32,
}

#[derive(Clone, Debug, Hash)]
struct Caller {
    ticket: Ticket,
    /// When the caller is told of the trouble instead of waiting on.
    give_up: Instant,
}

/// What the last look showed.
#[derive(Clone, Debug, Hash)]
struct Seen {
    owner: Owner,
    /// The version looked at; nothing if there was no record.
    etag: Option<ETag>,
}

#[derive(Clone, Debug, Hash)]
enum Step {
    Reading { id: ReadId, is_conditional: bool },
    Resting(Instant),
}

impl Watches {
    pub(crate) fn new() -> Self {
        Self { map: BTreeMap::new(), deadlines: BTreeSet::new() }
    }

    /// Takes a watcher, who is answered at once if the record has been looked at before.
    pub(crate) fn watch(&mut self, ticket: Ticket, cell: CellId, env: &mut Env) {
        let caller = Caller { ticket, give_up: env.mono().after(env.config.patience) };
        match self.map.get_mut(&cell) {
            Some(Watch { seen: Some(seen), watchers, .. }) => {
                *watchers += 1;
                env.done(ticket, Outcome::Watched(Ok(seen.owner.clone())));
            }
            // Whoever came first gives up first.
            Some(watch) => watch.callers.push(caller),
            None => {
                self.deadlines.insert((caller.give_up, cell.clone()));
                let step = read(&cell, Lane::Look, None, env);
                let callers = alloc::vec![caller];
                self.map.insert(cell, Watch { callers, watchers: 0, seen: None, step, failures: 0 });
            }
        }
    }

    /// Ends the watch of one who was answered; the last one's end stops the polling.
    pub(crate) fn unwatch(&mut self, cell: &CellId) {
        self.with(cell, |watch| watch.watchers = watch.watchers.saturating_sub(1));
    }

    pub(crate) fn on_read(
        &mut self,
        cell: &CellId,
        id: ReadId,
        reply: ReadReply,
        (env, memory): (&mut Env, &mut Memory),
    ) {
        self.with(cell, |watch| {
            if let Step::Reading { id: awaited, is_conditional } = watch.step
                && awaited == id
            {
                watch.on_read(cell, (reply, is_conditional), env, memory);
            }
        });
    }

    /// Looks again at one cell, if any is due.
    pub(crate) fn wake(&mut self, env: &mut Env) -> bool {
        let due = self.deadlines.first().filter(|(at, _)| *at <= env.mono());
        let Some((_, cell)) = due.cloned() else { return false };
        self.with(&cell, |watch| {
            watch.give_up_on_time(&cell, env);
            if !matches!(watch.step, Step::Resting(at) if at <= env.mono()) {
                return;
            }
            // What came as garbage may come well the next time, under the same tag.
            let is_corrupt = |seen: &&Seen| matches!(seen.owner, Owner::Bad(BadRecord::Corrupt { .. }));
            let seen = watch.seen.as_ref().filter(|seen| !is_corrupt(seen));
            let unless = seen.and_then(|seen| seen.etag.clone());
            let lane = if watch.failures == 0 && watch.seen.is_none() { Lane::Look } else { Lane::Poll };
            watch.step = read(&cell, lane, unless, env);
        });
        true
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.deadlines.first().map(|(at, _)| Deadline { at: *at, timer: Timer::Poll })
    }

    /// Ends every watch with the session.
    pub(crate) fn fence(&mut self, cause: FenceCause, env: &mut Env) {
        self.deadlines.clear();
        for caller in core::mem::take(&mut self.map).into_values().flat_map(|watch| watch.callers) {
            env.done(caller.ticket, Outcome::Watched(Err(WatchError::Fenced(cause))));
        }
    }

    /// Tells whether a watch awaits the answer to the request of this number.
    pub(crate) fn awaits(&self, cell: &CellId, number: u64) -> bool {
        let watch = self.map.get(cell);
        watch.is_some_and(|watch| matches!(watch.step, Step::Reading { id, .. } if id.get() == number))
    }

    /// Checks the index against the watches, and that something will move each of them on.
    pub(crate) fn check(&self, env: &Env) -> Result<(), &'static str> {
        if self.map.is_empty() && self.deadlines.is_empty() {
            return Ok(());
        }
        let mut deadlines = 0;
        for (cell, watch) in &self.map {
            match watch.step {
                Step::Reading { id, .. } if matches!(env.reads_for(id), Some(Target::Watch(awaited)) if awaited == cell) =>
                    {}
                Step::Reading { .. } => return Err("a watch waits for nothing"),
                Step::Resting(_) => {}
            }
            deadlines += usize::from(watch.due().is_some());
            if watch.watchers == 0 && watch.callers.is_empty() {
                return Err("a cell is watched for nobody");
            }
        }
        // As many entries as watches that wait for a time, and every entry that of one: so each has its own.
        let is_due =
            |(at, cell): &(Instant, CellId)| self.map.get(cell).is_some_and(|watch| watch.due() == Some(*at));
        if !self.deadlines.iter().all(is_due) {
            return Err("a watch is woken at a time for which it does not wait");
        }
        if deadlines == self.deadlines.len() {
            Ok(())
        } else {
            Err("a watch waits for a time at which it is not woken")
        }
    }

    /// Applies one step to a watched cell and keeps the deadline index true; one that nobody watches any more
    /// is forgotten.
    fn with(&mut self, cell: &CellId, step: impl FnOnce(&mut Watch)) {
        let Some(watch) = self.map.get_mut(cell) else { return };
        let due = watch.due();
        step(watch);
        let is_over = watch.watchers == 0 && watch.callers.is_empty();
        let next = watch.due().filter(|_| !is_over);
        if due != next {
            due.map(|at| self.deadlines.remove(&(at, cell.clone())));
            next.map(|at| self.deadlines.insert((at, cell.clone())));
        }
        if is_over {
            self.map.remove(cell);
        }
    }
}

impl Watch {
    /// Returns when it is time to look again, or to tell a caller that there is nothing to see.
    fn due(&self) -> Option<Instant> {
        let looks = match self.step {
            Step::Reading { .. } => None,
            Step::Resting(at) => Some(at),
        };
        let gives_up = self.callers.first().map(|caller| caller.give_up);
        looks.into_iter().chain(gives_up).min()
    }

    /// Tells those who have waited long enough for a first look.
    fn give_up_on_time(&mut self, cell: &CellId, env: &mut Env) {
        let now = env.mono();
        self.callers.retain(|caller| {
            let waits = now < caller.give_up;
            if !waits {
                let fault = env.trouble(&Key::owner(cell));
                env.done(caller.ticket, Outcome::Watched(Err(WatchError::Store(fault))));
            }
            waits
        });
    }

    fn on_read(
        &mut self,
        cell: &CellId,
        (reply, is_conditional): (ReadReply, bool),
        env: &mut Env,
        memory: &mut Memory,
    ) {
        let mut rest = None;
        let fault = match reply {
            ReadReply::Found { etag, body, .. } => {
                let owner = owner(cell, &etag, &body, memory);
                return self.show(cell, Seen { owner, etag: Some(etag) }, env);
            }
            ReadReply::Missing => {
                return self.show(cell, Seen { owner: Owner::Free { epoch: None }, etag: None }, env);
            }
            ReadReply::Unchanged(_) if is_conditional => return self.rest(env),
            ReadReply::Unchanged(_) => Fault::new(FaultKind::Malformed, "304 to an unconditional read"),
            ReadReply::Failed(fault) => fault,
            ReadReply::Throttled { after } => {
                rest = Some(env.rest(after));
                Fault::new(FaultKind::Throttled, Key::owner(cell).as_str())
            }
        };
        self.fail(&fault, rest, env);
    }

    /// Tells the watchers what a look showed, unless it shows what they know.
    fn show(&mut self, cell: &CellId, seen: Seen, env: &mut Env) {
        let owner = &seen.owner;
        let repeats = env.has(Defect::WatchRepeats);
        if self.seen.as_ref().is_some_and(|before| before.owner != *owner || repeats) {
            env.notify(Notice::OwnerChanged { cell: cell.clone(), owner: owner.clone() });
        }
        for caller in self.callers.drain(..) {
            self.watchers += 1;
            env.done(caller.ticket, Outcome::Watched(Ok(owner.clone())));
        }
        self.seen = Some(seen);
        self.rest(env);
    }

    fn rest(&mut self, env: &mut Env) {
        self.failures = 0;
        let delay = env.rng.jitter(env.config.poll * 9 / 10, 100);
        let delay = if env.has(Defect::WatchOnce) { crate::config::TTL_MAX * 100 } else { delay };
        self.step = Step::Resting(env.mono().after(delay));
    }

    /// A look failed: look again, later each time. Only who has seen nothing yet is told, and not for ever.
    fn fail(&mut self, fault: &Fault, rest: Option<Instant>, env: &mut Env) {
        let now = env.mono();
        let is_hopeless = matches!(fault.kind, FaultKind::Config | FaultKind::Denied);
        self.callers.retain(|caller| {
            let waits = !is_hopeless && now < caller.give_up;
            if !waits {
                env.done(caller.ticket, Outcome::Watched(Err(WatchError::Store(fault.clone()))));
            }
            waits
        });
        self.failures = self.failures.saturating_add(1);
        let at = now.after(env.rng.backoff(self.failures, env.config.poll * 2));
        self.step = Step::Resting(rest.map_or(at, |rest| rest.max(at)));
    }
}

fn read(cell: &CellId, lane: Lane, unless: Option<ETag>, env: &mut Env) -> Step {
    let is_conditional = unless.is_some();
    let id = env.read_in(lane, Target::Watch(cell.clone()), Key::owner(cell), unless, None);
    Step::Reading { id, is_conditional }
}

/// Says what a version of the record means.
fn owner(cell: &CellId, etag: &ETag, body: &[u8], memory: &mut Memory) -> Owner {
    let record = match OwnerRecord::parse(body) {
        Ok(record) => record,
        Err(why) => {
            let (key, etag) = (Key::owner(cell), etag.clone());
            return Owner::Bad(BadRecord::Corrupt { key, etag, why: alloc::format!("{why}") });
        }
    };
    memory.note(cell, record.epoch);
    let epoch = record.epoch;
    match record.holder() {
        Holder::Nobody => Owner::Free { epoch: Some(epoch) },
        Holder::Node(node) => Owner::Held { node: node.clone(), epoch },
        Holder::OfferedTo(to) => Owner::Offered { to: to.clone(), epoch },
    }
}
