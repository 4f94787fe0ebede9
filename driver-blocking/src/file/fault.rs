//! What an error of the file system means for an operation, and what a person can do about it.

use core::fmt::Display;

use rustix::io::Errno;
use tenure_core::{Fault, FaultKind, WriteReply};

/// Builds the fault for a failed call: `doing` says what was tried, `path` on what.
pub(super) fn fault(errno: Errno, doing: &str, path: impl Display) -> Fault {
    let (kind, advice) = meaning(errno);
    Fault::new(kind, format!("cannot {doing} {path}: {errno}; {advice}"))
}

/// Returns the reply to a write that failed before it could take effect.
pub(super) fn not_applied(fault: Fault) -> WriteReply {
    match fault.kind {
        FaultKind::Config | FaultKind::Denied | FaultKind::Malformed | FaultKind::Unfit => {
            WriteReply::Refused(fault)
        }
        // A full disk or a failing device may be well again before the caller's time is up.
        FaultKind::Network | FaultKind::Throttled | FaultKind::TimedOut | FaultKind::Unavailable | _ => {
            WriteReply::NotApplied(fault)
        }
    }
}

fn meaning(errno: Errno) -> (FaultKind, &'static str) {
    match errno {
        Errno::ACCESS | Errno::PERM => {
            (FaultKind::Denied, "give this user read and write access to the whole store directory")
        }
        Errno::ROFS => (FaultKind::Config, "the file system is mounted read-only: remount it read-write"),
        Errno::NOENT => (FaultKind::Config, "create the store directory, or correct the path"),
        Errno::NOTDIR | Errno::ISDIR | Errno::LOOP => (
            FaultKind::Config,
            "something that is no record is in its place: move it out of the store directory",
        ),
        Errno::NAMETOOLONG => (FaultKind::Config, "use a file system with names of 255 bytes"),
        Errno::XDEV => (FaultKind::Config, "keep the whole store directory on one file system"),
        Errno::NOLCK | Errno::NOTSUP | Errno::NOSYS | Errno::INVAL => {
            (FaultKind::Unfit, "use a local file system that has file locks")
        }
        Errno::NOSPC | Errno::DQUOT => (FaultKind::Unavailable, "free some space, or raise the quota"),
        Errno::MFILE | Errno::NFILE => (FaultKind::Unavailable, "raise the limit of open files"),
        _ => (FaultKind::Unavailable, "check the disk and its file system"),
    }
}

#[cfg(test)]
mod tests {
    use super::{fault, not_applied};
    use rustix::io::Errno;
    use tenure_core::{FaultKind, WriteReply};

    #[test]
    fn a_fault_names_the_path_and_says_what_to_do() {
        let cases = [
            (Errno::NOSPC, FaultKind::Unavailable, "free some space"),
            (Errno::ACCESS, FaultKind::Denied, "read and write access"),
            (Errno::ROFS, FaultKind::Config, "read-write"),
            (Errno::NOENT, FaultKind::Config, "create the store directory"),
        ];
        for (errno, kind, advice) in cases {
            let fault = fault(errno, "write", "/data/cells/a/own.json");
            assert_eq!(fault.kind, kind, "{errno}");
            assert!(fault.detail.contains("/data/cells/a/own.json"), "{fault}");
            assert!(fault.detail.contains(advice), "{fault}");
        }
    }

    #[test]
    fn a_full_disk_may_be_tried_again_and_a_denial_may_not() {
        assert!(matches!(not_applied(fault(Errno::NOSPC, "write", "x")), WriteReply::NotApplied(_)));
        assert!(matches!(not_applied(fault(Errno::ACCESS, "write", "x")), WriteReply::Refused(_)));
    }
}
