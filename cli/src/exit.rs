//! Failures of a command: what is said about them, and the exit code that goes with them.

use core::fmt;

use serde_json::{Map, Value, json};
use tenure_blocking::OpenError;
use tenure_blocking::ownership::OwnershipError;
use tenure_core::{
    BadRecord, ClaimError, Fault, FenceCause, HeldBy, JoinError, LocateError, PeersError, PublishError,
    ReleaseError, TransferError, VerifyError,
};

/// The exit codes of DESIGN, beside the child's own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Code {
    Usage = 64,
    Corrupt = 65,
    Unavailable = 69,
    NotAcquired = 75,
    Unfit = 76,
    Denied = 77,
    Config = 78,
    Lost = 79,
}

/// Why a command or a request failed: a stable word for programs, a sentence for people, and facts.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    code: u8,
    kind: &'static str,
    message: String,
    facts: Map<String, Value>,
}

impl Failure {
    fn new(kind: &'static str, message: impl fmt::Display) -> Self {
        Self { code: code(kind) as u8, kind, message: message.to_string(), facts: Map::new() }
    }

    /// The caller asked for something that makes no sense.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new("usage", message)
    }

    /// Something outside the store, such as the operating system, would not serve us.
    pub(crate) fn unavailable(message: impl fmt::Display) -> Self {
        Self::new("unavailable", message)
    }

    /// A setting is wrong.
    pub(crate) fn config(message: impl fmt::Display) -> Self {
        Self::new("config", message)
    }

    /// The store contradicts itself.
    pub(crate) fn inconsistent(message: impl fmt::Display) -> Self {
        Self::new("inconsistent", message)
    }

    /// A record is not what was to be replaced any more.
    pub(crate) fn contended(message: impl fmt::Display) -> Self {
        Self::new("contended", message)
    }

    /// An epoch is lower than one there was.
    pub(crate) fn regressed(message: impl fmt::Display) -> Self {
        Self::new("regressed", message)
    }

    /// Another node owns a cell.
    pub(crate) fn held(message: impl fmt::Display) -> Self {
        Self::new("held", message)
    }

    /// A record needs no mending.
    pub(crate) fn sound(message: impl fmt::Display) -> Self {
        Self::new("sound", message)
    }

    /// The node does not own a cell.
    pub(crate) fn not_owner(message: impl fmt::Display) -> Self {
        Self::new("not_owner", message)
    }

    /// The session has ended.
    pub(crate) fn fenced(cause: FenceCause) -> Self {
        Self::of_cause(
            cause,
            Self::new("fenced", format_args!("this session has ended ({cause}); start a new one")),
        )
    }

    /// Ownership ended while a command ran.
    pub(crate) fn lost(message: impl fmt::Display) -> Self {
        Self::new("lost", message).exiting(Code::Lost as u8)
    }

    /// Exits with this code instead.
    #[must_use]
    pub(crate) fn exiting(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Says one more thing to people.
    #[must_use]
    pub(crate) fn hinting(mut self, hint: &str) -> Self {
        self.message = format!("{}; {hint}", self.message);
        self
    }

    /// Adds a fact for programs.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the process's exit code.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Returns the failure as the `error` of a JSON object.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = self.facts.clone();
        error.insert("kind".to_owned(), json!(self.kind));
        error.insert("message".to_owned(), json!(self.message));
        Value::Object(error)
    }

    fn of_cause(cause: FenceCause, failure: Self) -> Self {
        let code = match cause {
            FenceCause::Credentials => Code::Denied as u8,
            FenceCause::StoreUnfit => Code::Unfit as u8,
            FenceCause::Expired => Code::Unavailable as u8,
            FenceCause::Internal
            | FenceCause::LeaseFenced
            | FenceCause::LeaseRemoved
            | FenceCause::LeaseReplaced
            | FenceCause::Left => failure.code,
        };
        Self { code, ..failure }.with("reason", cause.as_str())
    }

    fn held_by(self, by: &HeldBy) -> Self {
        self.with("node", by.node.as_str()).with("addr", by.addr.clone()).with("epoch", by.epoch.get())
    }

    fn bad(self, bad: &BadRecord) -> Self {
        match bad {
            BadRecord::Corrupt { key, etag, .. } => {
                self.hinting(REPAIR).with("key", key.as_str()).with("etag", etag.to_string())
            }
            BadRecord::Regressed { key, seen, found } => self
                .hinting(REPAIR)
                .with("key", key.as_str())
                .with("seen", seen.get())
                .with("found", found.map(tenure_core::Epoch::get)),
            BadRecord::Exhausted { key } => self.with("key", key.as_str()),
            _ => self,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The remedy that a bad record calls for.
const REPAIR: &str = "`tenure repair` puts one there";

/// Maps the stable words of the core's errors to exit codes.
fn code(kind: &str) -> Code {
    match kind {
        "usage" => Code::Usage,
        "corrupt" | "regressed" => Code::Corrupt,
        "unfit" | "inconsistent" => Code::Unfit,
        "denied" => Code::Denied,
        "config" => Code::Config,
        "unavailable" => Code::Unavailable,
        // held, timeout, contended, not_owner, fenced, sound
        _ => Code::NotAcquired,
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::new(fault.kind_str(), fault)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::new(error.kind(), error)
    }
}

impl From<OwnershipError> for Failure {
    fn from(error: OwnershipError) -> Self {
        let failure = Self::new(error.kind(), &error);
        match &error {
            OwnershipError::Bad(bad) => failure.bad(bad),
            OwnershipError::Inconsistent { key, .. } | OwnershipError::Unsettled { key, .. } => {
                failure.with("key", key.as_str())
            }
            OwnershipError::Store(_) | _ => failure,
        }
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        let failure = Self::new(error.kind(), &error);
        match error {
            JoinError::Fenced(cause) => Self::of_cause(cause, failure),
            // Some stores only want a setting, and the probe at a join asks too little to know which.
            JoinError::Unfit(_) => failure.hinting("`tenure doctor` tells whether a setting helps"),
            JoinError::Config(_) | JoinError::Joined | JoinError::Store(_) | _ => failure,
        }
    }
}

impl From<PublishError> for Failure {
    fn from(error: PublishError) -> Self {
        let failure = Self::new(error.kind(), &error);
        match error {
            PublishError::Fenced(cause) => Self::of_cause(cause, failure),
            PublishError::TooLong | _ => failure,
        }
    }
}

impl From<ClaimError> for Failure {
    fn from(error: ClaimError) -> Self {
        let failure = Self::new(error.kind(), &error);
        match &error {
            ClaimError::Bad(bad) => failure.bad(bad),
            ClaimError::Contended { conflicts, holder, .. } => {
                let failure = failure.with("conflicts", *conflicts);
                match holder {
                    Some(holder) => failure.with("node", holder.as_str()),
                    None => failure,
                }
            }
            ClaimError::Fenced(cause) => Self::of_cause(*cause, failure),
            ClaimError::Held(_, by) | ClaimError::Timeout(_, Some(by)) => failure.held_by(by),
            ClaimError::Inconsistent { key, .. } => failure.with("key", key.as_str()),
            ClaimError::Leaving
            | ClaimError::NotJoined
            | ClaimError::Store(_)
            | ClaimError::Timeout(_, None)
            | _ => failure,
        }
    }
}

impl From<LocateError> for Failure {
    fn from(error: LocateError) -> Self {
        let failure = Self::new(error.kind(), &error);
        match &error {
            LocateError::Bad(bad) => failure.bad(bad),
            LocateError::Fenced(cause) => Self::of_cause(*cause, failure),
            LocateError::NotJoined | LocateError::Store(_) | _ => failure,
        }
    }
}

macro_rules! plain {
    ($($error:ident),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let failure = Self::new(error.kind(), &error);
                match error {
                    $error::Fenced(cause) => Self::of_cause(cause, failure),
                    _ => failure,
                }
            }
        }
    )*};
}

plain!(PeersError, ReleaseError, TransferError, VerifyError);

#[cfg(test)]
mod tests {
    use super::Failure;
    use tenure_core::{CellId, ClaimError, Epoch, Fault, FaultKind, FenceCause, HeldBy, JoinError, NodeId};

    #[test]
    fn every_kind_of_fault_has_its_exit_code() {
        for (kind, code) in [
            (FaultKind::Config, 78),
            (FaultKind::Denied, 77),
            (FaultKind::Malformed, 76),
            (FaultKind::Network, 69),
            (FaultKind::Throttled, 69),
            (FaultKind::TimedOut, 69),
            (FaultKind::Unavailable, 69),
            (FaultKind::Unfit, 76),
        ] {
            assert_eq!(Failure::from(JoinError::Store(Fault::new(kind, "x"))).code(), code, "{kind:?}");
        }
        assert_eq!(Failure::from(JoinError::Unfit("x".into())).code(), 76);
        assert_eq!(Failure::from(JoinError::Fenced(FenceCause::Credentials)).code(), 77);
    }

    #[test]
    fn a_held_cell_is_not_acquired_and_its_holder_is_named() {
        let cell = CellId::new("c1").expect("legal");
        let node = NodeId::parse("b.1").expect("legal");
        let held = HeldBy { node, addr: None, epoch: Epoch::FIRST };
        let failure = Failure::from(ClaimError::Held(cell, held));
        assert_eq!(failure.code(), 75);
        let error = failure.to_json();
        assert_eq!((error["kind"].as_str(), error["node"].as_str()), (Some("held"), Some("b.1")));
        assert_eq!(error["epoch"], 1);
    }
}
