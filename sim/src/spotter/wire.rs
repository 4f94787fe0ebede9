//! What is hard about requests and answers: those that come late, twice, out of order, or wrong.

use core::time::Duration;

use tenure_core::{Entry, Event, FaultKind, Guard, Key, ListOp, ListReply, Op, ReadReply, Reply, WriteReply};

use super::{Attempt, Spotter};
use crate::store::Version;
use crate::view::View;
use crate::witness::Witness;

impl Spotter {
    /// Notes what is special about a request that reaches the store, and about what the store then does.
    pub(super) fn arrived(&mut self, view: &View<'_>, op: &Op, reply: &Reply, is_again: bool, age: Duration) {
        if is_again {
            self.note(Witness::ArrivedTwice);
        }
        match (op, reply) {
            (Op::List(op), Reply::List(reply)) => self.listed(view, op, reply),
            (Op::Write(op), Reply::Write(reply)) => {
                if age >= A_MINUTE {
                    self.note(Witness::ArrivedMinutesLate);
                }
                let is_applied = matches!(reply, WriteReply::Applied { .. });
                let is_over = view
                    .session()
                    .is_some_and(|sender| !sender.is_running() || sender.engine().fenced().is_some());
                if is_applied && is_over {
                    self.note(Witness::LandedAfterEnd);
                }
                let Some((last, before)) = view.store.history(op.key.as_str()).split_last() else { return };
                if *reply == WriteReply::Rejected && op.guard == Guard::Match(last.etag().clone()) {
                    self.note(Witness::RejectedWrongly);
                }
                if is_applied
                    && op.key.as_str().starts_with(Key::LEASES)
                    && before.last().is_some_and(|before| last.modified() < before.modified())
                {
                    self.note(Witness::StampsBack);
                }
            }
            _ => {}
        }
    }

    fn listed(&mut self, view: &View<'_>, op: &ListOp, reply: &ListReply) {
        match reply {
            ListReply::Page(page) => {
                let is_old = |entry: &Entry| {
                    let current = view.store.history(&entry.key).last();
                    current.map(Version::etag) != entry.etag.as_ref()
                };
                if page.entries.iter().any(is_old) {
                    self.note(Witness::PageStale);
                }
                let there = || view.store.keys().filter(|key| key.starts_with(op.prefix.as_ref())).count();
                if op.after.is_none() && page.next.is_none() && page.entries.len() < there() {
                    self.note(Witness::PageShort);
                }
            }
            ListReply::Failed(_) if op.after.is_some() => self.note(Witness::PageFailed),
            ListReply::Failed(_) | ListReply::Throttled { .. } => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the events named here matter to it")]
    pub(super) fn told(&mut self, view: &View<'_>, actor: usize, event: &Event) {
        self.answered(actor, event);
        match event {
            Event::Cancel(_) => self.note(Witness::Cancelled),
            Event::ReadDone(_, ReadReply::Found { body, .. }) if is_garbage(body) => {
                self.note(Witness::Garbled);
            }
            Event::ReadDone(_, ReadReply::Failed(fault)) if fault.kind == FaultKind::Network => {
                self.note(Witness::Cut);
            }
            Event::ReadDone(_, ReadReply::Throttled { after: Some(after) })
            | Event::WriteDone(_, WriteReply::Throttled { after: Some(after) })
                if *after > view.scenario.config.ttl =>
            {
                self.note(Witness::ThrottledLong);
            }
            _ => {}
        }
        match event {
            Event::WriteDone(id, reply) => {
                let place = self.sent.iter().position(|sent| sent.session == actor && sent.id == *id);
                let Some(place) = place else { return };
                let attempt = self.sent.swap_remove(place);
                match reply {
                    WriteReply::Conflict => self.note(Witness::Conflict),
                    WriteReply::Throttled { .. } => self.note(Witness::Throttled),
                    WriteReply::Unknown(fault) => {
                        if fault.kind == FaultKind::Malformed {
                            self.note(Witness::Untagged);
                        }
                        self.unknown.push(attempt);
                    }
                    WriteReply::Applied { .. }
                    | WriteReply::NotApplied(_)
                    | WriteReply::Refused(_)
                    | WriteReply::Rejected => {}
                }
            }
            Event::Call(..)
            | Event::Cancel(_)
            | Event::ListDone(..)
            | Event::ReadDone(..)
            | Event::RemoveDone(..)
            | Event::Wake => {}
        }
    }

    /// Notes an answer that came before that to an earlier request. A request given up on is not answered.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only the events named here matter to it")]
    fn answered(&mut self, actor: usize, event: &Event) {
        let number = match event {
            Event::ListDone(id, ListReply::Page(_)) => id.get(),
            Event::ReadDone(id, ReadReply::Found { .. } | ReadReply::Missing | ReadReply::Unchanged(_)) => {
                id.get()
            }
            Event::WriteDone(id, WriteReply::Applied { .. } | WriteReply::Rejected) => id.get(),
            _ => return,
        };
        if self.latest.len() <= actor {
            self.latest.resize(actor + 1, 0);
        }
        if number < self.latest[actor] {
            self.note(Witness::Overtaken);
        } else {
            self.latest[actor] = number;
        }
    }

    pub(super) fn served(&mut self, view: &View<'_>, actor: usize, op: &Op, reply: &Reply, is_late: bool) {
        match (op, reply) {
            (Op::Write(op), Reply::Write(WriteReply::Applied { .. })) => {
                if is_late {
                    self.note(Witness::LateLanding);
                }
                self.applied(view, op);
            }
            (Op::Write(op), Reply::Write(WriteReply::Rejected))
                if view.store.current(op.key.as_str()) == Some(&op.body) =>
            {
                self.note(Witness::RejectedOwn);
            }
            (Op::Read(op), Reply::Read(ReadReply::Found { etag, body, .. })) => {
                let is_asked = |attempt: &Attempt| attempt.session == actor && attempt.key == op.key;
                let Some(place) = self.unknown.iter().position(is_asked) else { return };
                let attempt = self.unknown.swap_remove(place);
                if *attempt.body == **body {
                    self.note(Witness::SettledOurs);
                } else if attempt.guard == Guard::Match(etag.clone()) {
                    self.note(Witness::SettlingUnmoved);
                } else {
                    self.note(Witness::SettledTheirs);
                }
            }
            _ => {}
        }
    }
}

/// Tells whether bytes that a read showed are no record, without parsing those that are.
fn is_garbage(body: &[u8]) -> bool {
    !body.starts_with(br#"{"node":""#) || !body.ends_with(b"}")
}

const A_MINUTE: Duration = Duration::from_secs(60);
