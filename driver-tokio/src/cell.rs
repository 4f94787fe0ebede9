//! A handle of a cell that this node owns.

use core::time::Duration;
use std::sync::Arc;

use tenure_blocking::Loss;
use tenure_blocking::session::{Answer, Held};
use tenure_core::{Call, CellId, Epoch, NodeId, Outcome, ReleaseError, Tenure, TransferError, VerifyError};

use crate::node::{ask, insist};

/// A cell that this node owns, at one epoch, until it is released, lost or fenced.
///
/// Every clone, and every claim of the same cell by the same node, is a handle of the same tenure. Dropping
/// the last handle asks for a release and does not wait for it.
#[derive(Clone, Debug)]
pub struct Cell {
    held: Arc<Held>,
}

impl Cell {
    pub(crate) fn new(held: Arc<Held>) -> Self {
        Self { held }
    }

    /// Returns the cell's name.
    pub fn id(&self) -> &CellId {
        &self.held.tenure().cell
    }

    /// Returns the epoch: a fencing token, strictly greater with each owner, for everything done under this tenure.
    pub fn epoch(&self) -> Epoch {
        self.held.tenure().epoch
    }

    /// Returns the tenure if this node may act on it now: a local answer from a fresh reading of the clock.
    ///
    /// Takes no lock and asks nobody, so it is right at once after the process was stopped or the machine slept.
    pub fn tenure(&self) -> Option<Tenure> {
        self.is_held().then(|| self.held.tenure().clone())
    }

    /// Tells whether this node may act as the owner now: the local answer of [`Self::tenure`].
    pub fn is_held(&self) -> bool {
        !self.authority_left().is_zero()
    }

    /// Returns how long the tenure lasts if the lease is never renewed again; zero once it is over. Asks nobody.
    pub fn authority_left(&self) -> Duration {
        self.held.authority_left()
    }

    /// Asks the store whether the tenure holds; await it after the work and before acknowledging it.
    ///
    /// Takes about one round trip, bounded by a few request timeouts. Dropping the future only stops listening; a
    /// node that ends meanwhile ends the call.
    ///
    /// # Errors
    /// After any error the work must not be acknowledged; after [`VerifyError::Store`] asking again may help.
    pub async fn verify(&self) -> Result<(), VerifyError> {
        match ask(self.held.session(), Call::Verify(self.held.tenure().clone())).await {
            Some(Answer::Plain(Outcome::Verified(result))) => result,
            _ => Err(VerifyError::Fenced(self.held.session().cause())),
        }
    }

    /// Resolves when the tenure is over, and tells why; a node that ends is one of the reasons. Dropping the
    /// future only stops listening.
    pub async fn lost(&self) -> Loss {
        self.held.loss().listen().await
    }

    /// Gives the cell back, for all its handles, and resolves when the store has confirmed it.
    ///
    /// The tenure is over when the request is sent. The node goes on settling after an error, and when the
    /// future is dropped; a future that was never polled releases by the drop of its handle.
    ///
    /// # Errors
    /// [`ReleaseError::Store`]: not confirmed yet. The other errors say that there was nothing to give back.
    pub async fn release(self) -> Result<(), ReleaseError> {
        match insist(self.held.session(), Call::Release(self.held.tenure().clone())).await {
            Some(Answer::Plain(Outcome::Released(result))) => result,
            _ => Err(ReleaseError::Fenced(self.held.session().cause())),
        }
    }

    /// Hands the cell to another node, which accepts by claiming it; returns the epoch that is already its own.
    ///
    /// The tenure is over when the request is sent. This handle is spent whatever happens: if the node refuses
    /// and no other handle is left, the cell is released as by a drop. The node goes on settling after an
    /// error, and when the future is dropped.
    ///
    /// # Errors
    /// See [`TransferError`] for which of them end the tenure.
    pub async fn transfer(self, to: NodeId) -> Result<Epoch, TransferError> {
        match insist(self.held.session(), Call::Transfer { tenure: self.held.tenure().clone(), to }).await {
            Some(Answer::Plain(Outcome::Transferred(result))) => result,
            _ => Err(TransferError::Fenced(self.held.session().cause())),
        }
    }
}
