//! What is said of an answer that settles nothing, and what to do where the check itself has no better advice.

use tenure_core::{FaultKind, WriteReply};

use super::report::{Trouble, Verdict};

/// Returns why a write has not been decided by this answer; nothing if it has, or if the store gave no reason.
pub(super) fn cause(reply: &WriteReply) -> Option<FaultKind> {
    match reply {
        WriteReply::NotApplied(fault) | WriteReply::Refused(fault) | WriteReply::Unknown(fault) => {
            Some(fault.kind)
        }
        WriteReply::Throttled { .. } => Some(FaultKind::Throttled),
        WriteReply::Applied { .. } | WriteReply::Conflict | WriteReply::Rejected => None,
    }
}

/// Says for people what a write was answered.
pub(super) fn told(reply: &WriteReply) -> String {
    match reply {
        WriteReply::Applied { etag } => format!("it was applied, under the tag {etag}"),
        WriteReply::Conflict => "another operation was in the way (409)".to_owned(),
        WriteReply::NotApplied(fault) => format!("it was not applied: {fault}"),
        WriteReply::Refused(fault) => format!("it was refused: {fault}"),
        WriteReply::Rejected => "its guard did not hold (412)".to_owned(),
        WriteReply::Throttled { .. } => "the store asked to slow down".to_owned(),
        WriteReply::Unknown(fault) => format!("it may have been applied: {fault}"),
    }
}

/// Adds what to do, if the check has not said it.
pub(super) fn advised(trouble: Trouble) -> Trouble {
    let advice = match (trouble.verdict, trouble.cause) {
        _ if trouble.advice.is_some() => return trouble,
        (Verdict::Allowed | Verdict::Holds, _) => return trouble,
        (_, Some(cause)) => remedy(cause),
        (Verdict::Fails, None) => "use another store, or another version of this one",
        (Verdict::Unclear, None) => "run it again, when less goes on in the store",
    };
    trouble.advise(advice)
}

/// Says what to do about a cause that is no single check's. The core's list of them is open.
const fn remedy(cause: FaultKind) -> &'static str {
    match cause {
        FaultKind::Config => "correct the address or the setting first",
        FaultKind::Denied => "mend the keys or their rights first",
        FaultKind::Malformed => {
            "look for a proxy or a gateway that answers in the store's place, and go round it"
        }
        FaultKind::Network => {
            "is the endpoint right, and do the network, its firewall and its proxy let this machine through?"
        }
        FaultKind::Throttled => {
            "have the store's limit of requests raised, or run it again when less is asked"
        }
        FaultKind::TimedOut => "run it nearer to the store, or when the store is less busy",
        FaultKind::Unavailable => "look into the store's own health, and run it again when it is well",
        FaultKind::Unfit => "use another store, or another version of this one",
        _ => "look at what the store says",
    }
}
