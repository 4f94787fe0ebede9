//! What is hard about requests and answers: those that come late, twice, out of order, or wrong.

use core::time::Duration;

use tenure_core::{
    AttemptId, ETag, Entry, Event, FaultKind, Guard, Key, ListOp, ListReply, Op, ReadReply, Reply, WriteOp,
    WriteReply,
};

use super::{Attempt, Late, Spotter};
use crate::store::Version;
use crate::view::View;
use crate::witness::Witness;

impl Spotter {
    /// Notes what is special about a request that reaches the store, and about what the store then does.
    #[inline(always)]
    pub(super) fn served(&mut self, view: &View<'_>, actor: usize, (op, reply): (&Op, &Reply), late: Late) {
        if late.is_again {
            self.note(Witness::ArrivedTwice);
        }
        match (op, reply) {
            (Op::List(op), Reply::List(reply)) => self.listed(view, op, reply),
            (Op::Read(op), Reply::Read(ReadReply::Found { etag, body, .. })) => {
                self.shown(actor, &op.key, etag, body);
            }
            (Op::Write(op), Reply::Write(reply)) => self.written(view, op, reply, late),
            _ => {}
        }
    }

    fn written(&mut self, view: &View<'_>, op: &WriteOp, reply: &WriteReply, late: Late) {
        if late.age >= A_MINUTE {
            self.note(Witness::ArrivedMinutesLate);
        }
        let is_applied = matches!(reply, WriteReply::Applied { .. });
        let is_over =
            view.session().is_some_and(|sender| !sender.is_running() || sender.engine().fenced().is_some());
        if is_applied && is_over {
            self.note(Witness::LandedAfterEnd);
        }
        let Some((last, before)) = view.store.history(op.key.as_str()).split_last() else { return };
        if *reply == WriteReply::Rejected {
            if is_match(&op.guard, last.etag()) {
                self.note(Witness::RejectedWrongly);
            }
            if last.body.as_ref() == Some(&op.body) {
                self.note(Witness::RejectedOwn);
            }
        }
        if is_applied {
            if late.is_late {
                self.note(Witness::LateLanding);
            }
            let is_earlier = |before: &Version| last.modified() < before.modified();
            if op.key.as_str().starts_with(Key::LEASES) && before.last().is_some_and(is_earlier) {
                self.note(Witness::StampsBack);
            }
            self.applied(view, op, (last, before));
        }
    }

    /// Notes what a session that does not know what became of a write of its own is about to learn of it.
    fn shown(&mut self, actor: usize, key: &Key, etag: &ETag, body: &[u8]) {
        let is_asked = |attempt: &Attempt| attempt.session == actor && attempt.key == *key;
        let Some(place) = self.unknown.iter().position(is_asked) else { return };
        let attempt = self.unknown.swap_remove(place);
        if *attempt.body == *body {
            self.note(Witness::SettledOurs);
        } else if is_match(&attempt.guard, etag) {
            self.note(Witness::SettlingUnmoved);
        } else {
            self.note(Witness::SettledTheirs);
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

    #[inline(always)]
    pub(super) fn told(&mut self, view: &View<'_>, actor: usize, event: &Event) {
        match event {
            Event::Cancel(_) => self.note(Witness::Cancelled),
            Event::ListDone(id, ListReply::Page(_)) => self.answered(actor, id.get()),
            Event::ReadDone(id, reply) => self.told_of_read(view, actor, id.get(), reply),
            Event::WriteDone(id, reply) => self.told_of_write(view, actor, *id, reply),
            Event::Call(..) | Event::ListDone(..) | Event::RemoveDone(..) | Event::Wake => {}
        }
    }

    fn told_of_read(&mut self, view: &View<'_>, actor: usize, number: u64, reply: &ReadReply) {
        match reply {
            ReadReply::Failed(fault) if fault.kind == FaultKind::Network => self.note(Witness::Cut),
            ReadReply::Failed(_) => {}
            ReadReply::Found { body, .. } => {
                if is_garbage(body) {
                    self.note(Witness::Garbled);
                }
                self.answered(actor, number);
            }
            ReadReply::Missing | ReadReply::Unchanged(_) => self.answered(actor, number),
            ReadReply::Throttled { after } => self.throttled(view, *after),
        }
    }

    fn told_of_write(&mut self, view: &View<'_>, actor: usize, id: AttemptId, reply: &WriteReply) {
        if let WriteReply::Throttled { after } = reply {
            self.throttled(view, *after);
        }
        if matches!(reply, WriteReply::Applied { .. } | WriteReply::Rejected) {
            self.answered(actor, id.get());
        }
        let place = self.sent.iter().position(|sent| sent.session == actor && sent.id == id);
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

    fn throttled(&mut self, view: &View<'_>, after: Option<Duration>) {
        if after.is_some_and(|after| after > view.scenario.config.ttl) {
            self.note(Witness::ThrottledLong);
        }
    }

    /// Notes an answer that came before that to an earlier request. A request given up on is not answered.
    fn answered(&mut self, actor: usize, number: u64) {
        if self.latest.len() <= actor {
            self.latest.resize(actor + 1, 0);
        }
        if number < self.latest[actor] {
            self.note(Witness::Overtaken);
        } else {
            self.latest[actor] = number;
        }
    }
}

fn is_match(guard: &Guard, etag: &ETag) -> bool {
    matches!(guard, Guard::Match(guarded) if guarded == etag)
}

/// Tells whether bytes that a read showed are no record, without parsing those that are.
fn is_garbage(body: &[u8]) -> bool {
    !body.starts_with(br#"{"node":""#) || !body.ends_with(b"}")
}

const A_MINUTE: Duration = Duration::from_secs(60);
