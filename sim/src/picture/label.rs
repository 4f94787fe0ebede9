//! Short words for what is drawn.

use tenure_core::{
    ETag, Guard, Holder, Key, LeaseRecord, ListReply, NodeId, Op, Outcome, OwnerRecord, ReadReply, Reply,
    Stamps, WriteOp, WriteReply, notation,
};

use super::scene::Turn;
use crate::view::View;

/// Names a session by its machine and its number.
pub(super) fn session(view: &View<'_>, number: usize) -> String {
    format!("n{}.{}", view.sessions[number].machine() + 1, number + 1)
}

/// Names what an object is about.
pub(super) fn key(key: &str) -> String {
    if let Some(cell) = Key::cell(key) {
        return cell.to_string();
    }
    if Key::node(key).is_some() { "a lease".to_owned() } else { key.to_owned() }
}

/// Returns the number of a request.
pub(super) const fn number(op: &Op) -> u64 {
    match op {
        Op::List(op) => op.id.get(),
        Op::Read(op) => op.id.get(),
        Op::Remove(op) => op.id.get(),
        Op::Write(op) => op.id.get(),
    }
}

/// Says what a request is for, and whether it only keeps things as they are; nothing for one that is not drawn.
pub(super) fn request(view: &View<'_>, actor: usize, op: &Op) -> Option<(String, bool)> {
    Some(match op {
        Op::List(_) => ("list nodes".to_owned(), true),
        Op::Read(op) => match Key::node(op.key.as_str()) {
            Some(id) => (format!("read lease of {}", node(view, &id)), false),
            None => {
                let cell = Key::cell(op.key.as_str());
                let session = &view.sessions[actor];
                let holds = |cell| session.engine().tenure(cell, view.now(session)).is_some();
                let is_check = op.unless.is_some() && cell.as_ref().is_some_and(holds);
                (format!("{} {}", if is_check { "verify" } else { "read" }, key(op.key.as_str())), is_check)
            }
        },
        Op::Remove(_) => return None,
        Op::Write(op) if op.key.as_str().starts_with("probe/") => return None,
        Op::Write(op) => {
            let (what, is_quiet) = write(view, actor, op);
            let guard = match &op.guard {
                Guard::Absent => " if absent".to_owned(),
                Guard::Match(_) if is_quiet => String::new(),
                Guard::Match(tag) => version_of(view, op, tag).map_or(String::new(), |n| format!(" if v{n}")),
            };
            (what + &guard, is_quiet)
        }
    })
}

fn write(view: &View<'_>, actor: usize, op: &WriteOp) -> (String, bool) {
    let me = view.sessions[actor].id();
    if let Some(cell) = Key::cell(op.key.as_str()) {
        let Ok(record) = OwnerRecord::parse(&op.body) else { return (format!("write {cell}"), false) };
        let epoch = record.epoch;
        let what = match record.holder() {
            Holder::Nobody => format!("release {cell} e{epoch}"),
            Holder::Node(_) => format!("claim {cell} e{epoch}"),
            Holder::OfferedTo(to) => format!("offer {cell} e{epoch} to {}", node(view, to)),
        };
        return (what, false);
    }
    let Some(of) = Key::node(op.key.as_str()) else { return (format!("write {}", op.key), false) };
    let lease = LeaseRecord::parse(&op.body).ok();
    let is_tombstone = lease.as_ref().is_some_and(LeaseRecord::is_tombstone);
    match (of == *me, is_tombstone, &op.guard) {
        (true, true, _) => ("leave".to_owned(), false),
        (true, false, Guard::Absent) => ("take lease".to_owned(), false),
        (true, false, Guard::Match(_)) => ("renew lease".to_owned(), true),
        (false, true, _) => (format!("fence {}", node(view, &of)), false),
        (false, false, _) => (format!("stand in for {}", node(view, &of)), false),
    }
}

/// Tells whether a request claims or releases a cell, and which.
pub(super) fn turn(view: &View<'_>, op: &Op) -> Option<Turn> {
    let Op::Write(op) = op else { return None };
    let cell = Key::cell(op.key.as_str())?;
    let place = view.cells.iter().position(|name| *name == cell)?;
    match OwnerRecord::parse(&op.body).ok()?.holder() {
        Holder::Nobody => Some(Turn::Release(place)),
        Holder::Node(_) => Some(Turn::Claim(place)),
        Holder::OfferedTo(_) => None,
    }
}

/// Says what the store answered.
pub(super) fn reply(view: &View<'_>, op: &Op, reply: &Reply) -> String {
    match (op, reply) {
        (_, Reply::List(ListReply::Page(page))) => format!("{} nodes", page.entries.len()),
        (_, Reply::List(ListReply::Failed(fault)) | Reply::Read(ReadReply::Failed(fault))) => {
            notation::fault(fault.kind).to_owned()
        }
        (_, Reply::List(ListReply::Throttled { .. }) | Reply::Read(ReadReply::Throttled { .. })) => {
            "slow down".to_owned()
        }
        (Op::Read(op), Reply::Read(ReadReply::Found { stamps, .. })) => {
            let number = view.store.history(op.key.as_str()).len();
            let is_old = if is_too_old(view, op.key.as_str(), stamps) { ", too old" } else { "" };
            format!("v{number}: {}{is_old}", holder(view, op.key.as_str()))
        }
        (_, Reply::Read(ReadReply::Found { .. })) => "found".to_owned(),
        (_, Reply::Read(ReadReply::Missing)) => "absent".to_owned(),
        (Op::Read(op), Reply::Read(ReadReply::Unchanged(stamps))) => {
            let is_old = is_too_old(view, op.key.as_str(), stamps);
            if is_old { "unchanged, too old" } else { "unchanged" }.to_owned()
        }
        (_, Reply::Read(ReadReply::Unchanged(_))) => "unchanged".to_owned(),
        (_, Reply::Remove(_)) => "removed".to_owned(),
        (_, Reply::Write(reply)) => match reply {
            WriteReply::Applied { .. } => "applied".to_owned(),
            WriteReply::Conflict => "conflict".to_owned(),
            WriteReply::NotApplied(_) => "not applied".to_owned(),
            WriteReply::Refused(_) => "refused".to_owned(),
            WriteReply::Rejected => "rejected".to_owned(),
            WriteReply::Throttled { .. } => "slow down".to_owned(),
            WriteReply::Unknown(fault) => notation::fault(fault.kind).to_owned(),
        },
    }
}

/// Tells whether an answer shows a lease that may be fenced, by its stamps.
fn is_too_old(view: &View<'_>, key: &str, stamps: &Stamps) -> bool {
    let Some(version) = view.store.history(key).last().filter(|_| Key::node(key).is_some()) else {
        return false;
    };
    let lease = version.body.as_ref().and_then(|body| LeaseRecord::parse(body).ok());
    // An answer that it is unchanged has no other stamp than the version had.
    let remembered = view.scenario.stamping.has_modified.then(|| version.modified());
    let (modified, ttl) = (stamps.modified.or(remembered), lease.and_then(|lease| lease.ttl));
    let (Some(ttl), Some(modified), Some(date)) = (ttl, modified, stamps.date) else { return false };
    let clock = &view.scenario.config.clock;
    date.since(modified) >= ttl + clock.unit + clock.margin
}

/// Says what a write made of an object; nothing for a renewal, which changes only when the lease ends.
pub(super) fn version(view: &View<'_>, op: &WriteOp) -> Option<String> {
    let text = op.key.as_str();
    let number = view.store.history(text).len();
    if let Some(cell) = Key::cell(text) {
        return Some(format!("{cell} v{number}: {}", holder(view, text)));
    }
    let of = Key::node(text)?;
    let record = LeaseRecord::parse(&op.body).ok()?;
    let of = node(view, &of);
    if record.fenced_by.is_some() {
        return Some(format!("lease of {of} v{number}: dead"));
    }
    (number == 1).then(|| format!("lease of {of} v1"))
}

/// Says what an application was answered, if that matters to what is drawn.
pub(super) fn outcome(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Verified(Ok(())) => Some("verified".to_owned()),
        Outcome::Verified(Err(_)) => Some("not verified".to_owned()),
        Outcome::Claimed(Err(error)) => Some(format!("claim: {}", error.kind())),
        Outcome::Claimed(Ok(_))
        | Outcome::Joined(_)
        | Outcome::Left
        | Outcome::Located(_)
        | Outcome::Peers(_)
        | Outcome::Published(_)
        | Outcome::Released(_)
        | Outcome::Transferred(_)
        | Outcome::Unwatched
        | Outcome::Watched(_) => None,
    }
}

fn holder(view: &View<'_>, key: &str) -> String {
    let Some(version) = view.store.history(key).last() else { return "absent".to_owned() };
    match &version.owner {
        Some(record) => match record.holder() {
            Holder::Nobody => format!("free e{}", record.epoch),
            Holder::Node(id) => format!("{} e{}", node(view, id), record.epoch),
            Holder::OfferedTo(id) => format!("for {} e{}", node(view, id), record.epoch),
        },
        None => match version.body.as_ref().map(|body| LeaseRecord::parse(body)) {
            Some(Ok(record)) if record.is_tombstone() => "dead".to_owned(),
            Some(Ok(_)) => "lease".to_owned(),
            Some(Err(_)) => "garbage".to_owned(),
            None => "absent".to_owned(),
        },
    }
}

fn node(view: &View<'_>, id: &NodeId) -> String {
    let number = view.sessions.iter().position(|session| session.id() == id);
    number.map_or_else(|| id.to_string(), |number| session(view, number))
}

/// Returns which version of an object has this tag.
fn version_of(view: &View<'_>, op: &WriteOp, tag: &ETag) -> Option<usize> {
    view.store
        .history(op.key.as_str())
        .iter()
        .position(|version| version.etag() == tag)
        .map(|place| place + 1)
}
