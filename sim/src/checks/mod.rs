//! What must be true, judged from outside: by what the store holds, what the engines answer and who was told.
//!
//! A check sees every step of a world. It keeps its own memory and believes no engine about the past.

mod answers;
mod belief;
mod books;
mod fence;
mod linear;
mod record;
mod requests;
mod session;
mod watches;
mod writes;

pub use answers::Answers;
pub use belief::Belief;
pub use books::Books;
pub use fence::Fence;
pub use linear::Linear;
pub use record::Record;
pub use requests::Requests;
pub use session::Sessions;
pub use watches::Watches;
pub use writes::Writes;

use core::fmt;

use crate::scenario::{Family, Scenario};
use crate::view::{Kinds, View};

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
    /// The check that found it.
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

/// Returns the checks that a world of this scenario must pass.
pub fn standard(scenario: &Scenario) -> Vec<Box<dyn Check>> {
    named(scenario).into_iter().map(|(_, check)| check).collect()
}

/// Returns the same without the one whose violations have this name: to see what it catches that no other does.
pub fn standard_but(name: &str, scenario: &Scenario) -> Vec<Box<dyn Check>> {
    named(scenario).into_iter().filter(|(own, _)| *own != name).map(|(_, check)| check).collect()
}

/// Returns the names that the violations of the standard checks have.
pub fn names() -> Vec<&'static str> {
    named(&Scenario::calm()).into_iter().map(|(name, _)| name).collect()
}

fn named(scenario: &Scenario) -> Vec<(&'static str, Box<dyn Check>)> {
    let mut checks: Vec<(&'static str, Box<dyn Check>)> = vec![
        ("G1", Box::new(Record)),
        ("G3", Box::new(Fence)),
        ("G5", Box::<Writes>::default()),
        ("session", Box::<Sessions>::default()),
        ("answers", Box::<Answers>::default()),
        ("books", Box::new(Books)),
        ("requests", Box::<Requests>::default()),
        ("linear", Box::<Linear>::default()),
        ("watches", Box::<Watches>::default()),
    ];
    // Where owner records are removed by force, a second owner may begin again at epoch 1.
    if scenario.family != Family::RecordsRemoved {
        checks.push(("G2", Box::new(Belief)));
    }
    checks
}
