//! Commands into output lines.

use core::fmt::Display;
use tenure_core::{
    Command, Guard, LeaseRecord, Location, Notice, Outcome, Owner, OwnerRecord, Peer, Tenure, WriteOp,
};

use super::session::Session;

pub(crate) fn command(command: &Command, session: &Session) -> String {
    let id = |number: u64| number - session.base;
    let line = match command {
        Command::Done(ticket, outcome) => format!("done {ticket} {}", outcome_line(outcome)),
        Command::Idle { .. } => unreachable!("the session keeps it"),
        Command::List(op) => {
            let after = op.after.as_ref().map_or(String::new(), |after| format!(" after={after}"));
            format!("list l{} {}{after}", id(op.id.get()), op.prefix)
        }
        Command::Notify(notice) => format!("notify {}", notice_line(notice)),
        Command::Read(op) => {
            let unless = op.unless.as_ref().map_or(String::new(), |etag| format!(" unless={etag}"));
            format!("read r{} {}{unless}", id(op.id.get()), op.key)
        }
        Command::Remove(op) => format!("remove d{} {}", id(op.id.get()), key(op.key.as_str())),
        Command::Write(op) => write(op, id(op.id.get())),
    };
    session.short(&line)
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
    let record = OwnerRecord::parse(body).expect("the engine writes owner records");
    let epoch = record.epoch;
    match record.node {
        None => format!(" released epoch={epoch}"),
        Some(node) => format!(" node={node} epoch={epoch}"),
    }
}

fn lease(body: &[u8]) -> String {
    let record = LeaseRecord::parse(body).expect("the engine writes leases");
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

fn notice_line(notice: &Notice) -> String {
    match notice {
        Notice::Authority { until } => format!("authority until={until}"),
        Notice::CellEnded(tenure) => format!("ended {}", tenure_line(tenure)),
        Notice::CellLost { tenure, reason } => format!("lost {} {reason}", tenure_line(tenure)),
        Notice::Fenced(cause) => format!("fenced {cause}"),
        Notice::OwnerChanged { cell, owner } => format!("changed {cell} {}", owner_line(owner)),
        other => panic!("{other:?} has no notation yet"),
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

fn outcome_line(outcome: &Outcome) -> String {
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
