//! Which calls a session takes, and what it answers to those it does not.

use crate::error::{
    ClaimError, FenceCause, LocateError, PeersError, PublishError, ReleaseError, TransferError, VerifyError,
    WatchError,
};
use crate::event::{Call, Outcome};

/// How far a session has come.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum Phase {
    Fenced(FenceCause),
    Joined,
    /// Nothing is admitted any more, but the node still answers for what it holds.
    Leaving,
    /// Not joined, or about to be.
    New,
}

/// Returns the answer to a call that a session in this phase does not take.
pub(crate) fn refuse(call: &Call, phase: Phase) -> Option<Outcome> {
    // Every call but these needs a lease that is held.
    let cause = match (call, phase) {
        (Call::Join | Call::Leave | Call::Unwatch(_), _) | (_, Phase::Joined) => return None,
        (Call::Publish { .. }, Phase::Leaving | Phase::New) => return None,
        (Call::Claim { .. }, Phase::Leaving) => return Some(Outcome::Claimed(Err(ClaimError::Leaving))),
        (_, Phase::Leaving) => return None,
        (_, Phase::Fenced(cause)) => Some(cause),
        (_, Phase::New) => None,
    };
    Some(match call {
        Call::Claim { .. } => Outcome::Claimed(Err(cause.map_or(ClaimError::NotJoined, ClaimError::Fenced))),
        Call::Locate { .. } => {
            Outcome::Located(Err(cause.map_or(LocateError::NotJoined, LocateError::Fenced)))
        }
        Call::Peers => Outcome::Peers(Err(cause.map_or(PeersError::NotJoined, PeersError::Fenced))),
        Call::Publish { .. } => Outcome::Published(Err(PublishError::Fenced(cause?))),
        Call::Release(tenure) => Outcome::Released(Err(
            cause.map_or_else(|| ReleaseError::NotOwner(tenure.cell.clone()), ReleaseError::Fenced)
        )),
        Call::Transfer { tenure, .. } => Outcome::Transferred(Err(
            cause.map_or_else(|| TransferError::NotOwner(tenure.cell.clone()), TransferError::Fenced)
        )),
        Call::Verify(tenure) => Outcome::Verified(Err(
            cause.map_or_else(|| VerifyError::NotOwner(tenure.cell.clone()), VerifyError::Fenced)
        )),
        Call::Watch(_) => Outcome::Watched(Err(cause.map_or(WatchError::NotJoined, WatchError::Fenced))),
        Call::Join | Call::Leave | Call::Unwatch(_) => return None,
    })
}
