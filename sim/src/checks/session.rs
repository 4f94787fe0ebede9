//! A session ends once, and then it is over: it holds nothing, writes nothing and never comes back.

use tenure_core::{
    Call, FenceCause, Guard, Holder, Instant, Key, LeaseRecord, Notice, Op, Outcome, OwnerRecord, Reply,
    WriteReply,
};

use super::{Check, Violation};
use crate::kinds::Kinds;
use crate::node::Session;
use crate::view::{Step, View};

/// Follows each session from its start to its end.
#[derive(Clone, Debug, Default, Hash)]
pub struct Sessions {
    memories: Vec<Memory>,
}

#[derive(Clone, Debug, Default, Hash)]
struct Memory {
    /// Why it ended, once it said so.
    fenced: Option<FenceCause>,
    /// Whether its application has asked it to leave.
    is_leaving: bool,
    /// Whether it has sent the tombstone of its own lease.
    has_left: bool,
    /// The latest end of authority it told its application.
    authority: Option<Instant>,
    /// Whether the store rejected a write of its under a guard that held.
    was_contradicted: bool,
}

impl Check for Sessions {
    fn kinds(&self) -> Kinds {
        Kinds::ASKED
            .and(Kinds::CLONED)
            .and(Kinds::DONE)
            .and(Kinds::HANDLED)
            .and(Kinds::NOTICED)
            .and(Kinds::SENT)
            .and(Kinds::SERVED_WRITE)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the steps named here matter to it")]
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let (Some(session), Some(actor)) = (view.session(), view.actor) else { return Ok(()) };
        if self.memories.len() <= actor {
            self.memories.resize(actor + 1, Memory::default());
        }
        if let Step::Cloned(of) = view.step {
            self.memories[actor] = self.memories[*of].clone();
            return Ok(());
        }
        let memory = &mut self.memories[actor];
        let found = match view.step {
            Step::Asked(_, Call::Leave) => {
                memory.is_leaving = true;
                Ok(())
            }
            Step::Done { outcome: Outcome::Claimed(Ok(_)), .. } if memory.is_leaving => {
                Err("a cell is granted while the node leaves")
            }
            Step::Handled { now, authority, .. } => memory.handled(view, session, now.mono, *authority),
            Step::Noticed(Notice::Authority { until }) => {
                memory.authority = Some(*until);
                Ok(())
            }
            Step::Noticed(Notice::Fenced(cause)) => memory.ended(view, session, *cause),
            Step::Sent(op) => memory.sent(view, session, op),
            Step::Served { op: Op::Write(op), reply: Reply::Write(WriteReply::Rejected), .. } => {
                let current = view.store.history(op.key.as_str()).last();
                let holds =
                    |guard: &Guard| current.is_some_and(|last| *guard == Guard::Match(last.etag().clone()));
                memory.was_contradicted |= holds(&op.guard);
                Ok(())
            }
            _ => Ok(()),
        };
        found.map_err(|why| Violation::new("sessions", format_args!("session {}: {why}", actor + 1)))
    }
}

impl Memory {
    fn handled(
        &self,
        view: &View<'_>,
        session: &Session,
        now: Instant,
        before: Option<Instant>,
    ) -> Result<(), &'static str> {
        let after = session.engine().authority();
        if before.is_some_and(|until| until <= now) && after.is_some_and(|until| until > now) {
            return Err("an authority that had ended came back");
        }
        if self.fenced.is_some() && after.is_some_and(|until| until > now) {
            return Err("an ended session has authority");
        }
        if self.fenced.is_some() && holds_something(view, session) {
            return Err("an ended session holds a cell");
        }
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>, session: &Session, cause: FenceCause) -> Result<(), &'static str> {
        if self.fenced.replace(cause).is_some() {
            return Err("a session ended twice");
        }
        let now = view.now(session).mono;
        let lease = view.store.history(session.lease_key().as_str());
        let is_true = match cause {
            FenceCause::Expired | FenceCause::Credentials => self.authority.is_none_or(|until| until <= now),
            // A tombstone or a placeholder: both name who put them there.
            FenceCause::LeaseFenced => lease
                .iter()
                .filter_map(|version| version.body.as_ref())
                .any(|body| LeaseRecord::parse(body).is_ok_and(|record| record.fenced_by.is_some())),
            FenceCause::LeaseRemoved => lease.iter().any(|version| version.body.is_none()),
            // After a removal even an early write of its own may have landed once more.
            FenceCause::LeaseReplaced => {
                lease.iter().any(|version| version.body.is_none() || version.by != view.actor)
            }
            FenceCause::Internal => false,
            // Others need not wait for its lease to run out: it said so, if it ever had one.
            FenceCause::Left => self.authority.is_none() || self.has_left,
            // A fit store; but a join may not have found that out, or the store has contradicted itself.
            FenceCause::StoreUnfit => self.authority.is_none() || self.was_contradicted,
        };
        if is_true { Ok(()) } else { Err("a session ended for a reason that is not so") }
    }

    fn sent(&mut self, view: &View<'_>, session: &Session, op: &Op) -> Result<(), &'static str> {
        let write = match op {
            // What is left of an unfinished probe is cleared away after all.
            Op::Remove(op) if !op.key.as_str().starts_with(PROBES) => {
                return if self.has_left {
                    Err("a session removes something after it has left")
                } else {
                    Ok(())
                };
            }
            Op::Remove(_) => return Ok(()),
            Op::List(_) | Op::Read(_) if self.fenced.is_some() => {
                return Err("an ended session asks the store");
            }
            Op::List(_) | Op::Read(_) => return Ok(()),
            Op::Write(write) => write,
        };
        let is_own_lease = write.key == *session.lease_key();
        let is_tombstone = is_own_lease && is_tombstone(&write.body);
        match self.fenced {
            Some(FenceCause::Left) | None => {}
            Some(_) => return Err("an ended session writes"),
        }
        if (self.has_left || self.fenced.is_some()) && !is_tombstone {
            return Err("a session that has left writes");
        }
        if is_tombstone {
            self.has_left = true;
            if holds_something(view, session) {
                return Err("a session leaves while it holds a cell");
            }
        }
        let claims = |body: &[u8]| {
            OwnerRecord::parse(body)
                .is_ok_and(|record| matches!(record.holder(), Holder::Node(node) if node == session.id()))
        };
        let is_over = self.authority.is_some_and(|until| until <= view.now(session).mono);
        if is_over && write.key.as_str().starts_with(Key::OWNERS) && claims(&write.body) {
            return Err("a claim is sent after authority has ended");
        }
        Ok(())
    }
}

/// Tells whether a lease is a tombstone. Most are not, and need not be parsed to see that: a tombstone names who
/// fenced it, in a field whose name would have to be escaped not to be found.
fn is_tombstone(body: &[u8]) -> bool {
    let may_be = |text: &str| text.contains("fenced_by") || text.contains('\\');
    core::str::from_utf8(body).is_ok_and(may_be)
        && LeaseRecord::parse(body).is_ok_and(|record| record.is_tombstone())
}

fn holds_something(view: &View<'_>, session: &Session) -> bool {
    let now = view.now(session);
    view.cells.iter().any(|cell| session.engine().tenure(cell, now).is_some())
}

/// Where a node tries out the store.
const PROBES: &str = "probe/";
