//! What must be true, judged from outside: by what the store holds, what the engines answer and who was told.
//!
//! A check sees every step of a world. It keeps its own memory and believes no engine about the past.

mod answers;
mod belief;
mod books;
mod fence;
mod fitness;
mod linear;
mod orphans;
mod record;
mod requests;
mod session;
mod twins;
mod watches;
mod writes;

pub use answers::Answers;
pub use belief::Belief;
pub use books::Books;
pub use fence::Fence;
pub use fitness::Fitness;
pub use linear::Linear;
pub use orphans::Orphans;
pub use record::Record;
pub use requests::Requests;
pub use session::Sessions;
pub use twins::Twins;
pub use watches::Watches;
pub use writes::Writes;

use core::fmt;

use crate::family::Promise;
use crate::kinds::Kinds;
use crate::scenario::Scenario;
use crate::view::View;

/// Something that must be true of every world.
///
/// A world asks it about every step, tens of thousands of times, so it should look only where something can have
/// changed. It may keep a memory of its own, and share state with the application under test; [`View`] has an example.
pub trait Check: fmt::Debug {
    /// Looks at the step just made.
    ///
    /// # Errors
    /// Says what is not as it must be.
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation>;

    /// Says which kinds of steps it looks at; a world does not show it the others. All, unless it knows better.
    fn kinds(&self) -> Kinds {
        Kinds::ALL
    }
}

/// Something is not as it must be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    /// The check that found it, by the name of its promise ([`Promise::as_str`](crate::Promise::as_str)).
    pub check: &'static str,
    /// What it found.
    pub why: String,
}

impl Violation {
    /// Builds a violation.
    pub fn new(check: &'static str, why: impl fmt::Display) -> Self {
        Self { check, why: why.to_string() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.why)
    }
}

impl core::error::Error for Violation {}

/// The checks that every world within the bounds of all guarantees must pass, as one value: it can be copied
/// and hashed, so that what the checks remember is part of a small world's state. (No small world watches cells.)
#[derive(Clone, Debug, Hash)]
pub struct Standard {
    is_strict: bool,
    answers: Answers,
    belief: Belief,
    fence: Fence,
    history: Linear,
    record: Record,
    sessions: Sessions,
    writes: Writes,
}

impl Standard {
    /// Demands G1, G2 and G3 of a world; if `is_strict`, all else that is true of every world too.
    pub fn demanding(is_strict: bool) -> Self {
        Self {
            is_strict,
            answers: Answers::default(),
            belief: Belief,
            fence: Fence,
            history: Linear::default(),
            record: Record,
            sessions: Sessions::default(),
            writes: Writes::default(),
        }
    }
}

impl Check for Standard {
    fn observe(&mut self, view: &View<'_>) -> Result<(), Violation> {
        let Self { is_strict, answers, belief, fence, history, record, sessions, writes } = self;
        record.observe(view)?;
        fence.observe(view)?;
        belief.observe(view)?;
        if !*is_strict {
            return Ok(());
        }
        writes.observe(view)?;
        sessions.observe(view)?;
        answers.observe(view)?;
        history.observe(view)
    }
}

/// Returns the checks that a world of this scenario must pass: those of every promise it is held to. That of
/// liveness is part of the world's own end.
pub fn standard(scenario: &Scenario) -> Vec<Box<dyn Check>> {
    scenario.promises().filter_map(check).collect()
}

/// Returns the same without the one of this promise: to see what it catches that no other does.
pub fn standard_but(promise: Promise, scenario: &Scenario) -> Vec<Box<dyn Check>> {
    scenario.promises().filter(|other| *other != promise).filter_map(check).collect()
}

fn check(promise: Promise) -> Option<Box<dyn Check>> {
    match promise {
        Promise::Answers => Some(Box::<Answers>::default()),
        Promise::Belief => Some(Box::new(Belief)),
        Promise::Books => Some(Box::<Books>::default()),
        Promise::Fence => Some(Box::new(Fence)),
        Promise::Fitness => Some(Box::new(Fitness)),
        Promise::History => Some(Box::<Linear>::default()),
        Promise::Liveness => None,
        Promise::Orphans => Some(Box::<Orphans>::default()),
        Promise::Twins => Some(Box::<Twins>::default()),
        Promise::Watches => Some(Box::<Watches>::default()),
        Promise::Record => Some(Box::new(Record)),
        Promise::Requests => Some(Box::<Requests>::default()),
        Promise::Sessions => Some(Box::<Sessions>::default()),
        Promise::Writes => Some(Box::<Writes>::default()),
    }
}
