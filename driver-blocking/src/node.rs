//! A node: one session that claims cells.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

use tenure_core::{
    Call, CellId, ClaimError, Config, Ending, FaultKind, FenceCause, JoinError, Load, LocateError, Location,
    NodeId, Outcome, Peer, PeersError, PublishError, WatchError,
};

use crate::cell::Cell;
use crate::clock;
use crate::driver;
use crate::pool::Pool;
use crate::session::{Answer, Inbox, Session, failed};
use crate::store::Store;
use crate::watch::Watch;

/// A member of the fleet, for one session: it holds a lease, and cells as long as the lease lives.
///
/// Every clone is the same session. Its engine runs on a thread of its own. When the last clone, the last
/// [`Cell`] and the last [`Watch`] are dropped without [`leave`](Self::leave), the node leaves in the background,
/// within about one ttl.
#[derive(Clone, Debug)]
pub struct Node {
    session: Arc<Session>,
}

impl Node {
    /// Probes the store, takes a lease under a fresh session, and keeps it renewed. The configuration's
    /// `clock` is replaced by the store's own.
    ///
    /// Blocks until the lease is held or the node's patience has run out; after an error nothing goes on.
    ///
    /// # Errors
    /// Refuses a bad configuration and an unfit store, and reports a store that cannot be used.
    pub fn join(config: Config, store: impl Store) -> Result<Self, JoinError> {
        let config = config.with_clock(store.clock());
        let (sender, receiver) = mpsc::channel();
        // A closed queue has dropped the input, which is what its sender learns.
        let inbox: Inbox = Arc::new(move |input| drop(sender.send(input)));
        let (session, pump) = Session::open(config, inbox, Pool::new(store))?;
        driver::start(pump, receiver).map_err(|error| failed(FaultKind::Unavailable, &error))?;
        match ask(&session, Call::Join) {
            Some(Answer::Plain(Outcome::Joined(Ok(_)))) => Ok(Self { session }),
            Some(Answer::Plain(Outcome::Joined(Err(error)))) => Err(error),
            _ => Err(JoinError::Fenced(session.cause())),
        }
    }

    /// Returns the node's id: its name and this session.
    pub fn id(&self) -> &NodeId {
        self.session.node()
    }

    /// Claims a cell without waiting for another owner: [`Self::claim_within`] with no wait.
    ///
    /// # Errors
    /// [`ClaimError::Held`] names the owner; see there for the rest.
    pub fn claim(&self, cell: CellId) -> Result<Cell, ClaimError> {
        self.claim_within(cell, Duration::ZERO)
    }

    /// Claims a cell, waiting at most for `wait` until another owner releases it or is dead.
    ///
    /// Blocks for `wait` and the requests that the claim needs, bounded by the node's patience; a node that
    /// ends meanwhile ends the call. A cell that this node holds already gives another handle of its tenure.
    ///
    /// # Errors
    /// See [`ClaimError`]; a cell that turns out later to have been won is given back by the node.
    pub fn claim_within(&self, cell: CellId, wait: Duration) -> Result<Cell, ClaimError> {
        match ask(&self.session, Call::Claim { cell, wait }) {
            Some(Answer::Claimed(result)) => result.map(Cell::new),
            _ => Err(ClaimError::Fenced(self.session.cause())),
        }
    }

    /// Finds a cell's owner, from an answer not older than the poll interval if there is one.
    ///
    /// Blocks for the requests that takes, if any; a node that ends meanwhile ends the call.
    ///
    /// # Errors
    /// See [`LocateError`].
    pub fn locate(&self, cell: CellId) -> Result<Location, LocateError> {
        self.locate_at_most(cell, self.session.poll())
    }

    /// Finds a cell's owner by asking the store; otherwise as [`Self::locate`].
    ///
    /// # Errors
    /// See [`LocateError`].
    pub fn locate_fresh(&self, cell: CellId) -> Result<Location, LocateError> {
        self.locate_at_most(cell, Duration::ZERO)
    }

    /// Watches what a cell's record says, from now on until the last [`Watch`] of it is dropped.
    ///
    /// Blocks for a first look, at most for the node's patience; a cell that is watched already takes none. A node
    /// that ends meanwhile ends the call.
    ///
    /// # Errors
    /// See [`WatchError`].
    pub fn watch(&self, cell: CellId) -> Result<Watch, WatchError> {
        match ask(&self.session, Call::Watch(cell)) {
            Some(Answer::Watched(result)) => result.map(Watch::new),
            _ => Err(WatchError::Fenced(self.session.cause())),
        }
    }

    /// Lists the nodes of the fleet, this one included.
    ///
    /// Blocks for the requests that takes; a node that ends meanwhile ends the call.
    ///
    /// # Errors
    /// See [`PeersError`].
    pub fn peers(&self) -> Result<Vec<Peer>, PeersError> {
        match ask(&self.session, Call::Peers) {
            Some(Answer::Plain(Outcome::Peers(result))) => result,
            _ => Err(PeersError::Fenced(self.session.cause())),
        }
    }

    /// Publishes load and facts about this node with its next renewal; nothing keeps what was published.
    ///
    /// Blocks for no request.
    ///
    /// # Errors
    /// See [`PublishError`].
    pub fn publish(
        &self,
        load: Option<Load>,
        meta: Option<BTreeMap<String, String>>,
    ) -> Result<(), PublishError> {
        match ask(&self.session, Call::Publish { load, meta }) {
            Some(Answer::Plain(Outcome::Published(result))) => result,
            _ => Err(PublishError::Fenced(self.session.cause())),
        }
    }

    /// Blocks until the session has ended, and tells why. It never begins again: join as a new one.
    pub fn fenced(&self) -> FenceCause {
        self.session.fence().wait()
    }

    /// Waits for the end of the session at most for `limit`; nothing if it goes on.
    pub fn fenced_within(&self, limit: Duration) -> Option<FenceCause> {
        self.session.fence().wait_within(limit)
    }

    /// Returns why the session has ended, once it has. Asks nobody.
    pub fn fence_cause(&self) -> Option<FenceCause> {
        self.session.fence().get()
    }

    /// Returns how the session ended, once it has: how much authority was left, when the lease was last renewed, the last
    /// trouble with it, and who fenced it. Nothing if it was the driver that failed ([`FenceCause::Internal`]). Asks nobody.
    pub fn ending(&self) -> Option<&Ending> {
        self.session.ending()
    }

    /// Returns how long this node's cells are held if the lease is never renewed again; zero once the session
    /// has ended. Asks nobody.
    pub fn authority_left(&self) -> Duration {
        self.session.authority_left(clock::mono())
    }

    /// Gives every cell back, ends the session for all clones, and frees the lease so that nobody waits for it.
    ///
    /// Blocks until that is done, at most for the node's patience (one ttl) and two requests; what is not done by
    /// then runs out by itself.
    pub fn leave(self) {
        ask(&self.session, Call::Leave);
    }

    fn locate_at_most(&self, cell: CellId, max_age: Duration) -> Result<Location, LocateError> {
        match ask(&self.session, Call::Locate { cell, max_age }) {
            Some(Answer::Plain(Outcome::Located(result))) => result,
            _ => Err(LocateError::Fenced(self.session.cause())),
        }
    }
}

/// Asks the engine and blocks until it answers; nothing once the session has ended.
pub(crate) fn ask(session: &Session, call: Call) -> Option<Answer> {
    let (sender, receiver) = mpsc::sync_channel(1);
    session.call(call, Box::new(move |answer| drop(sender.send(answer))));
    receiver.recv().ok()
}
