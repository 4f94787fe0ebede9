//! What a check sees: the step just made, and everything there is, from outside.

use core::time::Duration;

use tenure_core::{Call, CellId, Event, Instant, Notice, Now, Op, Outcome, Reply, Tenure, Ticket};

use crate::clock::Moment;
use crate::node::{Machine, Session};
use crate::scenario::Scenario;
use crate::store::Store;

/// One step of a world: the smallest thing that happens, at one moment of true time.
///
/// One event of an engine makes many of them, in this order: `Told`, then for each command that the engine gives `Sent`,
/// `Done` (after which the application may have `Acknowledged` or `Noted` something) or `Noticed`, and at last `Handled`.
#[derive(Debug)]
pub enum Step<'w> {
    /// The application acknowledged work done under a tenure: it asked `verify` under this ticket, was told
    /// yes, and the engine still says it holds the tenure.
    Acknowledged(Ticket, &'w Tenure),
    /// The engine is about to be told this.
    Told(&'w Event),
    /// The application is about to ask this.
    Asked(Ticket, &'w Call),
    /// The process is a clone, just made, of that of another session: it has the same memory and the same id, and
    /// whatever a check knows about the one is so of the other.
    Cloned(usize),
    /// The process died.
    Crashed,
    /// The engine answered a call.
    Done {
        /// The call's number.
        ticket: Ticket,
        /// The call.
        call: &'w Call,
        /// When it was asked.
        asked: Moment,
        /// The answer.
        outcome: &'w Outcome,
    },
    /// The engine has handled an event, and everything it wanted done has been taken from it. What it now says it may
    /// act on is [`Session::held`].
    Handled {
        /// When the event was handled, by the node's clocks.
        now: Now,
        /// When authority would have ended, as the engine said before the event.
        authority: Option<Instant>,
    },
    /// The world has ended, and nothing was found in it so far.
    Finished,
    /// The world stopped going wrong.
    Healed,
    /// A wall clock jumped by so many nanoseconds.
    Jumped(usize, i64),
    /// Somebody outside the protocol did this to an object.
    Meddled(Deed, &'w str),
    /// The application wrote this into the trace.
    Noted(&'w str),
    /// The engine said this to its application.
    Noticed(&'w Notice),
    /// The store is down for so long.
    Outage(Duration),
    /// The process stands still for so long.
    Paused(Duration),
    /// Somebody removed this object behind the protocol's back.
    Removed(&'w str),
    /// Somebody put back an earlier version of this object.
    Restored(&'w str),
    /// The process goes on.
    Resumed,
    /// The engine sent a request.
    Sent(&'w Op),
    /// The store served a request and will say, or would have said, this.
    Served {
        /// The request.
        op: &'w Op,
        /// The answer, which may not arrive.
        reply: &'w Reply,
        /// Whether the sender has been told an answer already.
        is_late: bool,
        /// Whether this is a copy of a request that has arrived before.
        is_again: bool,
        /// How long ago the request was sent.
        age: Duration,
    },
    /// A process started.
    Started,
    /// The machine on which the process runs is suspended for so long.
    Suspended(Duration),
}

/// What somebody outside the protocol does to an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Deed {
    /// It is turned into garbage.
    Corrupted,
    /// A cell is freed, its holder's lease having been judged and fenced.
    Evicted,
    /// A cell is freed, whoever holds it.
    EvictedByForce,
    /// A node of another implementation claims a free cell.
    ForeignClaimed,
    /// A node of another implementation gives a cell back.
    ForeignReleased,
    /// A node of another implementation renews its lease.
    ForeignRenewed,
    /// A node of another implementation takes a cell whose holder seems dead to it.
    ForeignTook,
    /// A corrupt record is replaced by a released one of the last epoch known.
    Mended,
}

impl Deed {
    /// Returns the words for a trace.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Corrupted => "corrupts",
            Self::Evicted => "frees",
            Self::EvictedByForce => "frees by force",
            Self::ForeignClaimed => "foreign claims",
            Self::ForeignReleased => "foreign releases",
            Self::ForeignRenewed => "foreign renews",
            Self::ForeignTook => "foreign takes over",
            Self::Mended => "mends",
        }
    }
}

/// A world at one moment, as nobody inside can see it: what a [`Check`](crate::Check) looks at.
///
/// ```
/// use tenure_core::{Holder, Key};
/// use tenure_sim::{Check, Prng, Scenario, Step, View, Violation, World};
///
/// /// Nobody who has left is named by a record: looks into the store whenever a process dies.
/// #[derive(Debug)]
/// struct LeavesNothing;
///
/// impl Check for LeavesNothing {
///     fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
///         let (Step::Crashed, Some(session)) = (view.step, view.session()) else { return Ok(()) };
///         if session.engine().fenced() != Some(tenure_core::FenceCause::Left) {
///             return Ok(());
///         }
///         for cell in view.cells {
///             let last = view.store.history(Key::owner(cell).as_str()).last();
///             let owner = last.and_then(|version| version.owner.as_ref());
///             if owner.is_some_and(|owner| owner.holder() == Holder::Node(session.id())) {
///                 let why = format_args!("{} left and still has {cell}", session.id());
///                 return Err(Violation::new("leaves nothing", why));
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let mut choices = Prng::new(3);
/// World::new(Scenario::calm(), &mut choices).with_check(Box::new(LeavesNothing)).run().expect("holds");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'w> {
    /// The true time.
    pub at: Moment,
    /// The step just made.
    pub step: &'w Step<'w>,
    /// The number of the session that made it, if it was one.
    pub actor: Option<usize>,
    /// Every session there ever was.
    pub sessions: &'w [Session],
    /// The store.
    pub store: &'w Store,
    /// The cells the applications want.
    pub cells: &'w [CellId],
    /// What kind of world it is.
    pub scenario: &'w Scenario,
    /// Since when it is calm, if it is.
    pub calm: Option<Moment>,
    pub(crate) machines: &'w [Machine],
}

impl View<'_> {
    /// Returns the session that made the step.
    pub fn session(&self) -> Option<&Session> {
        self.actor.map(|index| &self.sessions[index])
    }

    /// Returns how much time may have passed at most while the clock of a session measured this much: it may run slow,
    /// and have stood still.
    pub(crate) fn longest(&self, session: &Session, measured: Duration) -> Duration {
        const PPM: u32 = 1_000_000;
        let slowest = PPM.saturating_sub(self.scenario.drift_ppm).max(1);
        let stood = self.machines[session.machine].clock.stood();
        // A millisecond for what was rounded on the way.
        (measured + stood) * PPM / slowest + Duration::from_millis(1)
    }

    /// Reads the clocks of the machine on which a session runs.
    pub fn now(&self, session: &Session) -> Now {
        self.machines[session.machine].now(self.at)
    }
}
