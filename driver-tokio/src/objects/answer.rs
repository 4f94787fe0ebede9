//! What an answer of Google Cloud Storage or Azure Blob Storage means. The only place that knows their codes, as
//! `tenure-s3` knows S3's.

use core::time::Duration;

use object_store::Error;
use tenure_core::{
    Fault, FaultKind, Guard, ListReply, Op, ReadReply, RemoveReply, Reply, Stamps, WriteReply,
};
use tenure_s3::Response;

use super::ear::Heard;

/// An answer, as far as it is of interest to anyone but the `object_store` crate.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    status: u16,
    code: String,
    message: String,
    after: Option<Duration>,
    /// What it shows of the store's clock.
    pub(super) stamps: Stamps,
}

/// What an answer means, before it is asked what that means for a read or a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    /// The guard did not hold.
    GuardFailed,
    /// A concurrent operation interfered.
    Interfered,
    /// The object does not exist, on the store's own word.
    NoObject,
    /// Never acceptable as it is.
    Refused(FaultKind),
    /// The store asks us to slow down; the request was not evaluated.
    Throttled(Option<Duration>),
    /// The version we named is still the current one.
    Unchanged,
    /// It may have been done or not.
    Unclear(FaultKind),
    /// No request has left.
    Unsent(FaultKind),
}

impl Answer {
    /// Reads an answer. Azure has the code of an error in a header, too, which is all there is of it without a body.
    pub(super) fn new(response: &Response<'_>, azure_code: Option<&[u8]>) -> Self {
        let (code, message) = response.error();
        let code = match azure_code.and_then(|code| core::str::from_utf8(code).ok()) {
            Some(azure) if azure.len() <= 64 => azure.to_owned(),
            Some(_) | None => code,
        };
        let (after, stamps) = (response.headers.pause(), response.headers.stamps());
        Self { status: response.status, code, message, after, stamps }
    }

    /// The table. The first row that fits counts; `-` is an answer that names no code.
    ///
    /// | status | code | class |
    /// | --- | --- | --- |
    /// | 304 | | `Unchanged` |
    /// | 404 | `BlobNotFound` (Azure), `NoSuchKey` (Google) | `NoObject` |
    /// | 404 | any other: no such bucket, or something else at this address | `Refused(Config)` |
    /// | 408 | | `Unclear` |
    /// | 409 | `BlobAlreadyExists`: Azure's word for a failed `If-None-Match: *` | `GuardFailed` |
    /// | 409 | `OperationAborted` | `Interfered` |
    /// | 409 | - or unreadable | `Unclear` |
    /// | 409 | any other: the container is being deleted, the blob is locked | `Refused(Config)` |
    /// | 412 | `Lease...`: somebody holds an Azure lease on the blob, whatever its tag | `Refused(Config)` |
    /// | 412 | | `GuardFailed` |
    /// | 429 | Google takes one write a second of one object | `Throttled` |
    /// | 503 | `ServerBusy` (Azure), `SlowDown` (Google) | `Throttled` |
    /// | 401, 403 | | `Refused(Denied)` |
    /// | 405, 501 | | `Refused(Unfit)` |
    /// | 3xx, 400, 407, 411, 413 | | `Refused(Config)` |
    /// | other 5xx | | `Unclear` |
    /// | anything else, a success that the `object_store` crate cannot read included | | `Unclear` |
    fn class(&self) -> Class {
        match (self.status, self.code.as_str()) {
            (304, _) => Class::Unchanged,
            (404, "BlobNotFound" | "NoSuchKey") => Class::NoObject,
            (404, _) => Class::Refused(FaultKind::Config),
            (408, _) => Class::Unclear(FaultKind::TimedOut),
            (409, "BlobAlreadyExists") => Class::GuardFailed,
            (409, "OperationAborted") => Class::Interfered,
            (409, "" | "Unreadable") => Class::Unclear(FaultKind::Malformed),
            (409, _) => Class::Refused(FaultKind::Config),
            (412, code) if code.starts_with("Lease") => Class::Refused(FaultKind::Config),
            (412, _) => Class::GuardFailed,
            (429, _) | (503, "ServerBusy" | "SlowDown") => Class::Throttled(self.after),
            (401 | 403, _) => Class::Refused(FaultKind::Denied),
            (405 | 501, _) => Class::Refused(FaultKind::Unfit),
            (300..=399 | 400 | 407 | 411 | 413, _) => Class::Refused(FaultKind::Config),
            (500..=599, _) => Class::Unclear(FaultKind::Unavailable),
            _ => Class::Unclear(FaultKind::Malformed),
        }
    }
}

/// What became of an operation that did not succeed, and why, for people.
#[derive(Debug)]
pub(super) struct Failure {
    class: Class,
    detail: String,
}

impl Failure {
    /// Judges by what was heard of the request.
    pub(super) fn heard(subject: &str, heard: &Heard, error: &Error) -> Self {
        match heard {
            Heard::Answer(answer) => {
                let mut detail = format!("{subject} answered {} {}", answer.status, answer.code);
                if (200..300).contains(&answer.status) {
                    detail = format!("{detail}, which cannot be used: {error}");
                } else if !answer.message.is_empty() {
                    detail = format!("{detail} ({})", answer.message);
                }
                Self { class: answer.class(), detail }
            }
            Heard::Unsent(fault) => {
                Self { class: Class::Unsent(fault.kind), detail: fault.detail.to_string() }
            }
            Heard::Silent(fault) => {
                Self { class: Class::Unclear(fault.kind), detail: fault.detail.to_string() }
            }
            Heard::Begun => Self { class: Class::Unclear(FaultKind::Network), detail: error.to_string() },
            // Credentials are fetched first, and over other requests than the operation's.
            Heard::Nothing => {
                let class = Self::named(subject, error).class;
                let is_refused = matches!(class, Class::Refused(_));
                let class = if is_refused { class } else { Class::Unsent(FaultKind::Unavailable) };
                Self { class, detail: format!("{subject} was not asked for: {error}") }
            }
        }
    }

    /// Judges by the error's name alone, of a store that nothing was heard of: what has no name may have happened.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the list is another crate's, and open")]
    pub(super) fn named(subject: &str, error: &Error) -> Self {
        let class = match error {
            Error::AlreadyExists { .. } | Error::Precondition { .. } => Class::GuardFailed,
            Error::NotFound { .. } => Class::NoObject,
            Error::NotModified { .. } => Class::Unchanged,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                Class::Refused(FaultKind::Denied)
            }
            Error::NotImplemented { .. } | Error::NotSupported { .. } => Class::Refused(FaultKind::Unfit),
            Error::InvalidPath { .. } | Error::UnknownConfigurationKey { .. } => {
                Class::Refused(FaultKind::Config)
            }
            _ => Class::Unclear(FaultKind::Unavailable),
        };
        Self { class, detail: format!("{subject}: {error}") }
    }

    fn fault(self, kind: FaultKind) -> Fault {
        Fault::new(kind, self.detail)
    }

    /// Says what it means for the operation.
    pub(super) fn reply(self, op: &Op) -> Reply {
        match op {
            Op::List(_) => Reply::List(self.list_reply()),
            Op::Read(op) => Reply::Read(self.read_reply(op.unless.is_some())),
            Op::Remove(_) if self.class == Class::NoObject => Reply::Remove(RemoveReply::Removed),
            Op::Remove(_) => Reply::Remove(RemoveReply::Failed(self.failure())),
            Op::Write(op) => Reply::Write(self.write_reply(&op.guard)),
        }
    }

    fn list_reply(self) -> ListReply {
        if let Class::Throttled(after) = self.class {
            return ListReply::Throttled { after };
        }
        ListReply::Failed(self.failure())
    }

    /// Leaves the stamps of an unchanged version to the caller.
    fn read_reply(self, is_conditional: bool) -> ReadReply {
        match self.class {
            Class::NoObject => ReadReply::Missing,
            Class::Throttled(after) => ReadReply::Throttled { after },
            Class::Unchanged if is_conditional => ReadReply::Unchanged(Stamps::default()),
            Class::GuardFailed
            | Class::Interfered
            | Class::Refused(_)
            | Class::Unchanged
            | Class::Unclear(_)
            | Class::Unsent(_) => ReadReply::Failed(self.failure()),
        }
    }

    fn write_reply(self, guard: &Guard) -> WriteReply {
        match (self.class, guard) {
            (Class::GuardFailed, _) | (Class::NoObject, Guard::Match(_)) => WriteReply::Rejected,
            (Class::Interfered, _) => WriteReply::Conflict,
            // A create needs no object to be there, so the store has not judged this guard.
            (Class::NoObject, Guard::Absent) => WriteReply::NotApplied(self.fault(FaultKind::Unfit)),
            (Class::Refused(kind), _) => WriteReply::Refused(self.fault(kind)),
            (Class::Throttled(after), _) => WriteReply::Throttled { after },
            (Class::Unchanged, _) => WriteReply::Unknown(self.fault(FaultKind::Malformed)),
            (Class::Unclear(kind), _) => WriteReply::Unknown(self.fault(kind)),
            (Class::Unsent(kind), _) => WriteReply::NotApplied(self.fault(kind)),
        }
    }

    /// Says why this is of no use to anything but a write.
    fn failure(self) -> Fault {
        let kind = match self.class {
            Class::Interfered => FaultKind::Unavailable,
            Class::Throttled(_) => FaultKind::Throttled,
            Class::Refused(kind) | Class::Unclear(kind) | Class::Unsent(kind) => kind,
            Class::GuardFailed | Class::NoObject | Class::Unchanged => FaultKind::Malformed,
        };
        self.fault(kind)
    }
}
