//! What an engine wants and says, one line each: the notation of transcript tests and of the simulator's.
//!
//! Tags and node ids stand as they are; whoever shows the lines replaces them by something short.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use core::fmt::Display;

use crate::event::{Command, Location, Notice, Outcome, Owner, Peer, Tenure};
use crate::record::{LeaseRecord, OwnerRecord};
use crate::store::{FaultKind, Guard, Op, WriteOp};

/// Writes a command as a line; `Idle` has none. Requests are numbered from `base` on, but for those that are older.
pub fn command(command: Command, base: u64) -> Option<String> {
    Some(match command {
        Command::Done(ticket, outcome) => format!("done {ticket} {}", self::outcome(&outcome)),
        Command::Idle { .. } => return None,
        Command::List(op) => request(&Op::List(op), base),
        Command::Notify(notice) => format!("notify {}", self::notice(&notice)),
        Command::Read(op) => request(&Op::Read(op), base),
        Command::Remove(op) => request(&Op::Remove(op), base),
        Command::Write(op) => request(&Op::Write(op), base),
    })
}

/// Writes a request as a line.
pub fn request(op: &Op, base: u64) -> String {
    match op {
        Op::List(op) => {
            let after = op.after.as_ref().map_or(String::new(), |after| format!(" after={after}"));
            format!("list l{} {}{after}", number(op.id.get(), base), op.prefix)
        }
        Op::Read(op) => {
            let unless = op.unless.as_ref().map_or(String::new(), |etag| format!(" unless={etag}"));
            format!("read r{} {}{unless}", number(op.id.get(), base), op.key)
        }
        Op::Remove(op) => format!("remove d{} {}", number(op.id.get(), base), key(op.key.as_str())),
        Op::Write(op) => write(op, number(op.id.get(), base)),
    }
}

/// Returns the number of a request as counted from `base` on; one from before keeps its own.
fn number(id: u64, base: u64) -> u64 {
    id.checked_sub(base).unwrap_or(id)
}

fn write(op: &WriteOp, id: u64) -> String {
    let guard = match &op.guard {
        Guard::Absent => "absent".to_owned(),
        Guard::Match(etag) => format!("match={etag}"),
    };
    let text = op.key.as_str();
    let body = if text.starts_with("cells/") {
        owner(&op.body)
    } else if text.starts_with("nodes/") {
        lease(&op.body)
    } else {
        String::new()
    };
    format!("write w{id} {} {guard}{body}", key(text))
}

fn owner(body: &[u8]) -> String {
    let record = match OwnerRecord::parse(body) {
        Ok(record) => record,
        Err(error) => return format!(" {error}"),
    };
    let epoch = record.epoch;
    match record.node {
        None => format!(" released epoch={epoch}"),
        Some(node) => format!(" node={node} epoch={epoch}"),
    }
}

fn lease(body: &[u8]) -> String {
    let record = match LeaseRecord::parse(body) {
        Ok(record) => record,
        Err(error) => return format!(" {error}"),
    };
    let meta: String = record.meta.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    match &record.fenced_by {
        Some(by) if record.is_tombstone() => format!(" tombstone by={by}{meta}"),
        Some(by) => format!(" placeholder by={by}{meta}"),
        None => format!(" lease{meta}"),
    }
}

/// Hides the number of a probe object, which says nothing.
fn key(text: &str) -> &str {
    if text.starts_with("probe/") { "probe/*" } else { text }
}

/// Writes a notice as a line.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Authority { until } => format!("authority until={until}"),
        Notice::CellEnded(tenure) => format!("ended {}", tenure_line(tenure)),
        Notice::CellLost { tenure, reason } => format!("lost {} {reason}", tenure_line(tenure)),
        Notice::Fenced(cause) => format!("fenced {cause}"),
        Notice::OwnerChanged { cell, owner } => format!("changed {cell} {}", owner_line(owner)),
    }
}

fn owner_line(owner: &Owner) -> String {
    match owner {
        Owner::Bad(bad) => format!("bad: {bad}"),
        Owner::Free { epoch: None } => "absent".to_owned(),
        Owner::Free { epoch: Some(epoch) } => format!("released epoch={epoch}"),
        Owner::Held { node, epoch } => format!("held node={node} epoch={epoch}"),
        Owner::Offered { to, epoch } => format!("offered to={to} epoch={epoch}"),
    }
}

fn tenure_line(tenure: &Tenure) -> String {
    format!("{} epoch={}", tenure.cell, tenure.epoch)
}

/// Writes the answer to a call as a line.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Claimed(Ok(tenure)) => format!("claimed epoch={}", tenure.epoch),
        Outcome::Claimed(Err(error)) => failure(error.kind(), error),
        Outcome::Joined(Ok(node)) => format!("joined {node}"),
        Outcome::Joined(Err(error)) => failure(error.kind(), error),
        Outcome::Left => "left".to_owned(),
        Outcome::Located(Ok(Location::At { node, addr, epoch })) => {
            format!("at {node} addr={} epoch={epoch}", addr.as_deref().unwrap_or("none"))
        }
        Outcome::Located(Ok(Location::Free)) => "free".to_owned(),
        Outcome::Located(Ok(Location::Here(epoch))) => format!("here epoch={epoch}"),
        Outcome::Located(Err(error)) => failure(error.kind(), error),
        Outcome::Peers(Ok(peers)) => {
            format!("peers{}", peers.iter().map(peer).collect::<String>())
        }
        Outcome::Peers(Err(error)) => failure(error.kind(), error),
        Outcome::Published(Ok(())) => "published".to_owned(),
        Outcome::Published(Err(error)) => format!("error {}: {error}", error.kind()),
        Outcome::Released(Ok(())) => "released".to_owned(),
        Outcome::Released(Err(error)) => failure(error.kind(), error),
        Outcome::Transferred(Ok(epoch)) => format!("transferred epoch={epoch}"),
        Outcome::Transferred(Err(error)) => failure(error.kind(), error),
        Outcome::Unwatched => "unwatched".to_owned(),
        Outcome::Verified(Ok(())) => "verified".to_owned(),
        Outcome::Verified(Err(error)) => failure(error.kind(), error),
        Outcome::Watched(Ok(owner)) => format!("watched {}", owner_line(owner)),
        Outcome::Watched(Err(error)) => failure(error.kind(), error),
    }
}

fn peer(peer: &Peer) -> String {
    let state = if peer.is_live { "live" } else { "dead" };
    let known = if peer.lease.is_some() { "" } else { ",unread" };
    format!(" {}={state}{known}", peer.node)
}

fn failure(kind: &str, error: &dyn Display) -> String {
    format!("error {kind}: {error}")
}

/// Names a kind of fault.
pub const fn fault(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Config => "config",
        FaultKind::Denied => "denied",
        FaultKind::Malformed => "malformed",
        FaultKind::Network => "network",
        FaultKind::Throttled => "throttled",
        FaultKind::TimedOut => "timed-out",
        FaultKind::Unavailable => "unavailable",
        FaultKind::Unfit => "unfit",
    }
}
