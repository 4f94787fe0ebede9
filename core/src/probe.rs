//! The cheap check at join that the store does compare-and-swap at all: create, create again, update, stale update.
//!
//! It runs on the same endpoint, credentials and prefix as the real traffic. Only a definite wrong answer
//! condemns a store; throttling, conflicts and unknown outcomes start another round under a fresh key.

use alloc::format;
use alloc::string::{String, ToString};

use crate::backoff::mix;
use crate::defects::Defect;
use crate::digits;
use crate::env::{Env, Target};
use crate::id::ETag;
use crate::store::{AttemptId, Fault, FaultKind, Guard, Key, WriteReply};
use crate::time::{Deadline, Instant, Timer};

#[derive(Clone, Debug, Hash)]
pub(crate) struct Probe {
    key: Key,
    step: Step,
    /// When trouble is reported instead of tried again.
    give_up: Instant,
    rounds: u32,
}

#[derive(Clone, Debug, Hash)]
enum Step {
    Create(AttemptId),
    CreateAgain(AttemptId, ETag),
    Update(AttemptId, ETag),
    StaleUpdate(AttemptId),
    Pausing(Instant),
}

/// What the probe found.
#[derive(Debug)]
pub(crate) enum Verdict {
    Fit,
    Pending,
    Store(Fault),
    Unfit(String),
}

impl Probe {
    pub(crate) fn start(env: &mut Env) -> Self {
        let give_up = env.mono().after(env.config.patience);
        let (key, step) = create(env);
        Self { key, step, give_up, rounds: 1 }
    }

    pub(crate) fn on_write(&mut self, id: AttemptId, reply: WriteReply, env: &mut Env) -> Verdict {
        let step = core::mem::replace(&mut self.step, Step::Pausing(self.give_up));
        let awaited = match &step {
            Step::Create(awaited)
            | Step::CreateAgain(awaited, _)
            | Step::Update(awaited, _)
            | Step::StaleUpdate(awaited) => Some(*awaited),
            Step::Pausing(_) => None,
        };
        if awaited != Some(id) {
            self.step = step;
            return Verdict::Pending;
        }
        let applied = match reply {
            WriteReply::Applied { etag } if etag.is_weak() && !env.has(Defect::ProbeTakesWeak) => {
                return self.unfit(
                    format!("it gives weak etags ({etag}), which no compare-and-swap can match"),
                    env,
                );
            }
            WriteReply::Applied { etag } => Some(etag),
            WriteReply::Rejected => None,
            WriteReply::Refused(fault) if fault.kind == FaultKind::Unfit => {
                return self.unfit(fault.detail.to_string(), env);
            }
            WriteReply::Refused(fault) => return self.end(Verdict::Store(fault), env),
            WriteReply::Conflict => return self.again("409 again and again", FaultKind::Unavailable, env),
            WriteReply::Throttled { after } => {
                let rest = env.rest(after);
                return self.put_off(rest, Fault::new(FaultKind::Throttled, self.key.as_str()), env);
            }
            WriteReply::NotApplied(fault) | WriteReply::Unknown(fault) => {
                return self.again(&fault.detail, fault.kind, env);
            }
        };
        match (step, applied) {
            (Step::Create(_), Some(etag)) => {
                self.step = Step::CreateAgain(self.send(Guard::Absent, env), etag);
            }
            (Step::CreateAgain(..), Some(_)) => {
                return self.unfit("it overwrote an object although told to create it".to_string(), env);
            }
            (Step::CreateAgain(_, etag), None) => {
                self.step = Step::Update(self.send(Guard::Match(etag.clone()), env), etag);
            }
            (Step::Update(_, before), Some(etag)) if etag == before => {
                return self.unfit(format!("its etag {etag} did not change with the content"), env);
            }
            (Step::Update(_, before), Some(_)) => {
                self.step = Step::StaleUpdate(self.send(Guard::Match(before), env));
            }
            (Step::StaleUpdate(_), Some(_)) => {
                return self.unfit("it overwrote an object although its etag had changed".to_string(), env);
            }
            (Step::StaleUpdate(_), None) => return self.end(Verdict::Fit, env),
            // A copy of our own request may have won, whose reply was lost: only repetition convicts.
            (Step::Create(_) | Step::Update(..), None) if self.rounds < 4 => {
                return self.again("it rejects a guard that holds", FaultKind::Unavailable, env);
            }
            (Step::Create(_), None) => {
                return self.unfit("it refuses to create an object that does not exist".to_string(), env);
            }
            (Step::Update(_, etag), None) => {
                return self.unfit(format!("it refuses its own etag {etag} in If-Match"), env);
            }
            (Step::Pausing(_), _) => {}
        }
        Verdict::Pending
    }

    /// Clears away what an unfinished probe may have left.
    pub(crate) fn abandon(&self, env: &mut Env) {
        env.remove(self.key.clone());
    }

    pub(crate) fn on_wake(&mut self, env: &mut Env) {
        if matches!(self.step, Step::Pausing(at) if at <= env.mono()) {
            (self.key, self.step) = create(env);
            self.rounds += 1;
        }
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        match self.step {
            Step::Pausing(at) => Some(Deadline { at, timer: Timer::Retry }),
            Step::Create(_) | Step::CreateAgain(..) | Step::Update(..) | Step::StaleUpdate(_) => None,
        }
    }

    fn send(&self, guard: Guard, env: &mut Env) -> AttemptId {
        send(&self.key, guard, env)
    }

    fn again(&mut self, detail: &str, kind: FaultKind, env: &mut Env) -> Verdict {
        let at = env.backoff(self.rounds);
        self.put_off(at, Fault::new(kind, detail), env)
    }

    /// Begins a new round then, unless there is no patience left for it.
    fn put_off(&mut self, at: Instant, fault: Fault, env: &mut Env) -> Verdict {
        env.remove(self.key.clone());
        if env.mono() >= self.give_up || at > self.give_up.after(env.config.attempt_timeout) {
            return Verdict::Store(fault);
        }
        self.step = Step::Pausing(at);
        Verdict::Pending
    }

    fn unfit(&self, why: String, env: &mut Env) -> Verdict {
        self.end(Verdict::Unfit(why), env)
    }

    fn end(&self, verdict: Verdict, env: &mut Env) -> Verdict {
        env.remove(self.key.clone());
        verdict
    }
}

/// Sends the create of a fresh probe object. Its key is scrambled: a node's id appears nowhere before its
/// lease is held.
fn create(env: &mut Env) -> (Key, Step) {
    let key = Key::probe(mix(env.rng.next()));
    let id = send(&key, Guard::Absent, env);
    (key, Step::Create(id))
}

/// The body of a probe, with the least number that may stand in it.
const BODY: &[u8; 29] = br#"{"probe":1000000000000000000}"#;
/// Where the number begins.
const START: usize = r#"{"probe":"#.len();
/// The least number of its length.
const LEAST: u64 = 1_000_000_000_000_000_000;

fn send(key: &Key, guard: Guard, env: &mut Env) -> AttemptId {
    let mut room = [0; 20];
    // All bodies have one length: where a tag is made of size and time, another length would hide it (BL-33).
    let number = digits::decimal(LEAST + env.rng.next() % (9 * LEAST), &mut room);
    let mut body = *BODY;
    body[START..START + number.len()].copy_from_slice(number);
    env.write(Target::Probe, key.clone(), guard, body.as_slice().into())
}
