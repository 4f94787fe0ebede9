//! One session of a node, as both drivers run it: everything but the threads, the sockets and the surface.
//!
//! ```text
//!  handles (Node, Cell) --Input--> inbox --> Pump { Engine } --Job--> the driver's I/O
//!        ^                           ^          |                         |
//!        '-- Shared, Held, answers --|----------'                         |
//!                                    '------------- Input::Replied -------'
//! ```
//!
//! One thread owns the [`Pump`]; everyone else sends it values. What handles read without asking that
//! thread is two atomics: the time at which the node's authority ends, and whether the cell's tenure has
//! ended; and, behind a lock of its own, what a watched cell's record says. This module is public for the
//! async driver, not for applications.

mod flight;
mod held;
mod latch;
mod pump;
mod watching;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, OnceLock};

use tenure_core::{
    Call, CellId, ClaimError, Config, Ending, Engine, Fault, FaultKind, FenceCause, Instant, JoinError,
    NodeId, Outcome, Reply, SessionId, Tenure, Ticket, WatchError,
};

pub use flight::{Job, Lane};
pub use held::{Held, Loss};
pub use latch::{Latch, Listen};
pub use pump::{Io, Pump};
pub use watching::{Turn, Watching};

use crate::entropy::Entropy;

/// Puts an input into the pump's one queue; once the pump has ended, the input is dropped.
pub type Inbox = Arc<dyn Fn(Input) + Send + Sync>;

/// Carries an answer to its caller. Dropped uncalled when the session ends first.
pub type Answerer = Box<dyn FnOnce(Answer) + Send>;

/// What the pump takes from its queue.
pub enum Input {
    /// A handle asks for something.
    Call {
        /// Names the call, for [`Input::Cancel`].
        ticket: Ticket,
        /// What is asked for.
        call: Call,
        /// Where the answer goes.
        answer: Answerer,
    },
    /// The caller stopped listening.
    Cancel(Ticket),
    /// The last handle of a tenure was dropped.
    Dropped(Tenure),
    /// The last handle of the session was dropped.
    Orphaned,
    /// A call of the store panicked.
    Panicked,
    /// The store answered a job.
    Replied(u64, Reply),
    /// A watcher of the cell is gone.
    Unwatched(CellId),
    /// The store answered a job that must not wait in this queue; the answer is elsewhere.
    Urgent,
}

/// The answer to a call.
#[derive(Debug)]
pub enum Answer {
    /// To [`Call::Claim`]. If nobody is left to receive it, dropping it gives the cell back.
    Claimed(Result<Arc<Held>, ClaimError>),
    /// To any other call.
    Plain(Outcome),
    /// To [`Call::Watch`]. If nobody is left to receive it, dropping it ends the watch.
    Watched(Result<Watching, WatchError>),
}

/// What handles see of the session without asking the pump.
#[derive(Debug)]
pub(crate) struct Shared {
    /// When authority ends, in nanoseconds of the monotonic clock; zero while there is none.
    authority: AtomicU64,
    fence: Latch<FenceCause>,
    /// Set before the latch, if the engine has anything to tell.
    ending: OnceLock<Ending>,
    tickets: AtomicU64,
}

impl Shared {
    fn new() -> Self {
        Self {
            authority: AtomicU64::new(0),
            fence: Latch::new(),
            ending: OnceLock::new(),
            tickets: AtomicU64::new(0),
        }
    }

    /// Moves the end of authority; an ended session has none to move.
    fn extend(&self, until: Instant) {
        if self.fence.get().is_none() {
            self.authority.store(until.as_nanos(), Ordering::SeqCst);
        }
    }

    /// Ends the session. Authority goes before anybody is told.
    fn fence(&self, cause: FenceCause, ending: Option<&Ending>) {
        self.authority.store(0, Ordering::SeqCst);
        // Of an end that the driver itself brings about the engine knows nothing, or what it knew before.
        if let Some(ending) = ending.filter(|ending| ending.cause == cause) {
            self.ending.get_or_init(|| ending.clone());
        }
        self.fence.set(cause);
    }

    fn authority_left(&self, now: Instant) -> Duration {
        Instant::from_nanos(self.authority.load(Ordering::SeqCst)).since(now)
    }

    fn ticket(&self) -> Ticket {
        Ticket::new(self.tickets.fetch_add(1, Ordering::Relaxed))
    }
}

/// What all handles of one session share. When the last is dropped without leaving, the node leaves by itself.
pub struct Session {
    node: NodeId,
    poll: Duration,
    shared: Arc<Shared>,
    inbox: Inbox,
}

impl Session {
    /// Draws a session, makes its engine, and returns the handles' part and the thread's part.
    ///
    /// # Errors
    /// Refuses a configuration that breaks an inequality, and a system without random bits.
    pub fn open<I: Io>(config: Config, inbox: Inbox, io: I) -> Result<(Arc<Self>, Pump<I>), JoinError> {
        let failing = |error| failed(FaultKind::Unavailable, &error);
        let mut entropy = Entropy::open().map_err(failing)?;
        let mut random = || entropy.bits().map_err(failing);
        let poll = config.poll;
        // Giving the cells back, and then one more write.
        let patience = config.patience.saturating_add(config.attempt_timeout.saturating_mul(2));
        let engine = Engine::new(config, SessionId::new(random()?), random()?).map_err(JoinError::Config)?;
        let shared = Arc::new(Shared::new());
        let session = Arc::new(Self {
            node: engine.node().clone(),
            poll,
            shared: Arc::clone(&shared),
            inbox: Arc::clone(&inbox),
        });
        let pump = Pump::new((engine, entropy), io, shared, &session, inbox, patience);
        Ok((session, pump))
    }

    /// Returns the node's id.
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// Returns how old a remembered answer may be.
    pub fn poll(&self) -> Duration {
        self.poll
    }

    /// Returns the latch that is set when the session has ended.
    pub fn fence(&self) -> &Latch<FenceCause> {
        &self.shared.fence
    }

    /// Returns why a call got no answer. The pump sets the cause before it drops what waits for answers.
    pub fn cause(&self) -> FenceCause {
        self.shared.fence.get().unwrap_or(FenceCause::Internal)
    }

    /// Returns what there is to tell of the session's end, once it has ended.
    pub fn ending(&self) -> Option<&Ending> {
        self.shared.ending.get()
    }

    /// Returns how much authority is left at `now`, were it never renewed again.
    pub fn authority_left(&self, now: Instant) -> Duration {
        self.shared.authority_left(now)
    }

    /// Sends a call to the pump. After the session's end the answerer is dropped instead.
    pub fn call(&self, call: Call, answer: Answerer) -> Ticket {
        let ticket = self.shared.ticket();
        (self.inbox)(Input::Call { ticket, call, answer });
        ticket
    }

    /// Tells the pump that nobody listens for an answer any more.
    pub fn cancel(&self, ticket: Ticket) {
        (self.inbox)(Input::Cancel(ticket));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        (self.inbox)(Input::Orphaned);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, poll: _, shared: _, inbox: _ } = self;
        f.debug_struct("Session").field("node", node).finish_non_exhaustive()
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { ticket, call, answer: _ } => write!(f, "Call({ticket}, {call:?})"),
            Self::Cancel(ticket) => write!(f, "Cancel({ticket})"),
            Self::Dropped(tenure) => write!(f, "Dropped({tenure:?})"),
            Self::Orphaned => f.write_str("Orphaned"),
            Self::Panicked => f.write_str("Panicked"),
            Self::Replied(number, reply) => write!(f, "Replied({number}, {reply:?})"),
            Self::Unwatched(cell) => write!(f, "Unwatched({cell})"),
            Self::Urgent => f.write_str("Urgent"),
        }
    }
}

/// Says in a [`JoinError`] what went wrong before the store was asked anything.
pub fn failed(kind: FaultKind, error: &dyn fmt::Display) -> JoinError {
    JoinError::Store(Fault::new(kind, error.to_string()))
}
