//! A node: one session that claims cells.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_blocking::clock;
use tenure_blocking::session::{Answer, Inbox, Session, failed};
use tenure_core::{
    Call, CellId, ClaimError, Config, Ending, FaultKind, FenceCause, JoinError, Load, LocateError, Location,
    NodeId, Outcome, Peer, PeersError, PublishError, Ticket, WatchError,
};
use tokio::sync::{mpsc, oneshot};

use crate::cell::Cell;
use crate::driver::{self, Tasks};
use crate::store::Store;
use crate::watch::Watch;

/// A member of the fleet, for one session: it holds a lease, and cells as long as the lease lives.
///
/// Every clone is the same session. Its engine runs on a thread and a runtime of its own, so its futures can
/// be awaited on any executor. When the last clone, the last [`Cell`] and the last [`Watch`] are
/// dropped without [`leave`](Self::leave), the node leaves in the background, within about one ttl.
#[derive(Clone, Debug)]
pub struct Node {
    session: Arc<Session>,
}

impl Node {
    /// Probes the store, takes a lease under a fresh session, and keeps it renewed. The configuration's
    /// `clock` is replaced by the store's own.
    ///
    /// Resolves when the lease is held or the node's patience has run out; after an error nothing goes on.
    /// Dropping the future ends the session; a lease that was on its way already runs out by itself.
    ///
    /// # Errors
    /// Refuses a bad configuration and an unfit store, and reports a store that cannot be used.
    pub async fn join(config: Config, store: impl Store) -> Result<Self, JoinError> {
        let session = Self::start(config, store)?;
        match insist(&session, Call::Join).await {
            Some(Answer::Plain(Outcome::Joined(Ok(_)))) => Ok(Self { session }),
            Some(Answer::Plain(Outcome::Joined(Err(error)))) => Err(error),
            _ => Err(JoinError::Fenced(session.cause())),
        }
    }

    fn start(config: Config, store: impl Store) -> Result<Arc<Session>, JoinError> {
        let config = config.with_clock(store.clock());
        let (sender, receiver) = mpsc::unbounded_channel();
        // A closed queue has dropped the input, which is what its sender learns.
        let inbox: Inbox = Arc::new(move |input| drop(sender.send(input)));
        let refused = |error| failed(FaultKind::Unavailable, &error);
        let runtime = driver::runtime().map_err(refused)?;
        let opened = Session::open(config, inbox, Tasks::new(&runtime, store));
        let (session, pump) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // An async caller must not drop a runtime in any way that may block.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        driver::start(runtime, pump, receiver).map_err(refused)?;
        Ok(session)
    }

    /// Returns the node's id: its name and this session.
    pub fn id(&self) -> &NodeId {
        self.session.node()
    }

    /// Claims a cell without waiting for another owner: [`Self::claim_within`] with no wait.
    ///
    /// # Errors
    /// [`ClaimError::Held`] names the owner; see there for the rest.
    pub async fn claim(&self, cell: CellId) -> Result<Cell, ClaimError> {
        self.claim_within(cell, Duration::ZERO).await
    }

    /// Claims a cell, waiting at most for `wait` until another owner releases it or is dead.
    ///
    /// Takes `wait` and the requests that the claim needs, bounded by the node's patience; a node that ends
    /// meanwhile ends the call. Dropping the future stops listening: what it turns out to have won is given
    /// back. A cell that this node holds already gives another handle of its tenure.
    ///
    /// # Errors
    /// See [`ClaimError`]; a cell that turns out later to have been won is given back by the node.
    pub async fn claim_within(&self, cell: CellId, wait: Duration) -> Result<Cell, ClaimError> {
        match ask(&self.session, Call::Claim { cell, wait }).await {
            Some(Answer::Claimed(result)) => result.map(Cell::new),
            _ => Err(ClaimError::Fenced(self.session.cause())),
        }
    }

    /// Finds a cell's owner, from an answer not older than the poll interval if there is one.
    ///
    /// Takes the requests that needs, if any. Dropping the future only stops listening; a node that ends
    /// meanwhile ends the call.
    ///
    /// # Errors
    /// See [`LocateError`].
    pub async fn locate(&self, cell: CellId) -> Result<Location, LocateError> {
        self.locate_at_most(cell, self.session.poll()).await
    }

    /// Finds a cell's owner by asking the store; otherwise as [`Self::locate`].
    ///
    /// # Errors
    /// See [`LocateError`].
    pub async fn locate_fresh(&self, cell: CellId) -> Result<Location, LocateError> {
        self.locate_at_most(cell, Duration::ZERO).await
    }

    /// Watches what a cell's record says, from now on until the last [`Watch`] of it is dropped.
    ///
    /// Takes for a first look, at most for the node's patience; a cell that is watched already takes none. A node
    /// that ends meanwhile ends the call. Dropping the future watches nothing.
    ///
    /// # Errors
    /// See [`WatchError`].
    pub async fn watch(&self, cell: CellId) -> Result<Watch, WatchError> {
        match ask(&self.session, Call::Watch(cell)).await {
            Some(Answer::Watched(result)) => result.map(Watch::new),
            _ => Err(WatchError::Fenced(self.session.cause())),
        }
    }

    /// Lists the nodes of the fleet, this one included.
    ///
    /// Takes the requests that needs. Dropping the future only stops listening; a node that ends meanwhile
    /// ends the call.
    ///
    /// # Errors
    /// See [`PeersError`].
    pub async fn peers(&self) -> Result<Vec<Peer>, PeersError> {
        match ask(&self.session, Call::Peers).await {
            Some(Answer::Plain(Outcome::Peers(result))) => result,
            _ => Err(PeersError::Fenced(self.session.cause())),
        }
    }

    /// Publishes load and facts about this node with its next renewal; nothing keeps what was published.
    ///
    /// Waits for no request. Dropping the future only stops listening.
    ///
    /// # Errors
    /// See [`PublishError`].
    pub async fn publish(
        &self,
        load: Option<Load>,
        meta: Option<BTreeMap<String, String>>,
    ) -> Result<(), PublishError> {
        match ask(&self.session, Call::Publish { load, meta }).await {
            Some(Answer::Plain(Outcome::Published(result))) => result,
            _ => Err(PublishError::Fenced(self.session.cause())),
        }
    }

    /// Resolves when the session has ended, and tells why. It never begins again: join as a new one. Dropping
    /// the future only stops listening.
    pub async fn fenced(&self) -> FenceCause {
        self.session.fence().listen().await
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
    /// Resolves when that is done, after at most the node's patience (one ttl) and two requests; what is not done
    /// by then runs out by itself. Once polled, it goes on when the future is dropped.
    pub async fn leave(self) {
        insist(&self.session, Call::Leave).await;
    }

    async fn locate_at_most(&self, cell: CellId, max_age: Duration) -> Result<Location, LocateError> {
        match ask(&self.session, Call::Locate { cell, max_age }).await {
            Some(Answer::Plain(Outcome::Located(result))) => result,
            _ => Err(LocateError::Fenced(self.session.cause())),
        }
    }
}

/// Asks the engine; nothing once the session has ended. Dropping the future tells the engine.
pub(crate) async fn ask(session: &Session, call: Call) -> Option<Answer> {
    let (ticket, answer) = send(session, call);
    let mut listening = Listening { session, ticket: Some(ticket) };
    let answer = answer.await;
    listening.ticket = None;
    answer.ok()
}

/// Asks the engine for something that goes on whether or not anybody listens.
pub(crate) async fn insist(session: &Session, call: Call) -> Option<Answer> {
    send(session, call).1.await.ok()
}

fn send(session: &Session, call: Call) -> (Ticket, oneshot::Receiver<Answer>) {
    let (sender, receiver) = oneshot::channel();
    let ticket = session.call(call, Box::new(move |answer| drop(sender.send(answer))));
    (ticket, receiver)
}

/// Tells the engine when a caller goes away before its answer.
struct Listening<'a> {
    session: &'a Session,
    ticket: Option<Ticket>,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.session.cancel(ticket);
        }
    }
}
