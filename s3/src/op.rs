//! What a driver needs to know about an operation, beside its request, and the replies that need no answer.

use core::time::Duration;

use tenure_core::{Fault, Key, ListReply, Op, RECORD_MAX, ReadReply, RemoveReply, Reply, WriteReply};

/// The most bytes a driver reads of an answer about one object.
pub const REPLY_MAX: usize = RECORD_MAX;
/// The most bytes a driver reads of a listing.
pub const LIST_MAX: usize = 4 << 20;

/// Returns the most bytes to read of the answer's body, but for one more, which shows that it [`is_too_long`].
pub const fn reply_max(op: &Op) -> usize {
    match op {
        Op::List(_) => LIST_MAX,
        Op::Read(_) | Op::Remove(_) | Op::Write(_) => REPLY_MAX,
    }
}

/// Tells whether a body of `len` bytes makes an answer unusable. A record that is too long is an answer all the
/// same: it is corrupt, and whoever reads it must learn its tag.
pub fn is_too_long(op: &Op, status: u16, len: usize) -> bool {
    len > reply_max(op) && !(matches!(op, Op::Read(_)) && status == 200)
}

/// Returns how long the operation may take, from the connection to the last byte of the answer.
pub const fn timeout(op: &Op) -> Duration {
    match op {
        Op::List(op) => op.timeout,
        Op::Read(op) => op.timeout,
        Op::Remove(op) => op.timeout,
        Op::Write(op) => op.timeout,
    }
}

/// Tells whether the operation is about one lease, whose traffic must never wait for other traffic (BL-49).
pub fn is_lease(op: &Op) -> bool {
    let key = match op {
        Op::List(_) => return false,
        Op::Read(op) => &op.key,
        Op::Remove(op) => &op.key,
        Op::Write(op) => &op.key,
    };
    key.as_str().starts_with(Key::LEASES)
}

/// Returns the reply to an operation whose request cannot even be spelled, now or later.
pub fn unsendable(op: &Op, fault: Fault) -> Reply {
    match op {
        Op::Write(_) => Reply::Write(WriteReply::Refused(fault)),
        Op::List(_) | Op::Read(_) | Op::Remove(_) => unanswered(op, fault),
    }
}

/// Returns the reply to an operation whose request certainly never left this machine, this time.
pub fn unsent(op: &Op, fault: Fault) -> Reply {
    match op {
        Op::Write(_) => Reply::Write(WriteReply::NotApplied(fault)),
        Op::List(_) | Op::Read(_) | Op::Remove(_) => unanswered(op, fault),
    }
}

/// Returns the reply to an operation whose request may have left and whose answer did not come whole.
pub fn unanswered(op: &Op, fault: Fault) -> Reply {
    match op {
        Op::List(_) => Reply::List(ListReply::Failed(fault)),
        Op::Read(_) => Reply::Read(ReadReply::Failed(fault)),
        Op::Remove(_) => Reply::Remove(RemoveReply::Failed(fault)),
        Op::Write(_) => Reply::Write(WriteReply::Unknown(fault)),
    }
}
