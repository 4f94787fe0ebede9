//! What was asked and what came of it.

use core::fmt;

/// The answers to all questions.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they were asked.
    pub checks: Vec<Check>,
}

/// The answer to one question.
#[derive(Clone, Debug)]
pub struct Check {
    /// What was asked: a stable name.
    pub name: &'static str,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What the store did, for people.
    pub sentence: String,
}

/// Whether a store does what a check asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It does not: cells kept in it could have two owners, or none.
    Fails,
    /// It does.
    Holds,
    /// It does not, and that is allowed: ownership is safe, but something is slower or coarser.
    Allowed,
    /// It did not let itself be asked.
    Unclear,
}

/// An answer other than "it holds": the verdict, and what the store did.
pub(super) type Trouble = (Verdict, String);
/// The answer to one question: what was seen to hold, or not to.
pub(super) type Answer = Result<String, Trouble>;

pub(super) fn fails(sentence: impl Into<String>) -> Trouble {
    (Verdict::Fails, sentence.into())
}

pub(super) fn unclear(sentence: impl Into<String>) -> Trouble {
    (Verdict::Unclear, sentence.into())
}

pub(super) fn allowed(sentence: impl Into<String>) -> Trouble {
    (Verdict::Allowed, sentence.into())
}

impl Report {
    pub(super) fn add(&mut self, name: &'static str, answer: Answer) {
        let (verdict, sentence) = match answer {
            Ok(sentence) => (Verdict::Holds, sentence),
            Err(trouble) => trouble,
        };
        self.checks.push(Check { name, verdict, sentence });
    }

    /// Tells whether cells may be kept in this store: something was asked, and every check holds or is allowed
    /// to differ.
    pub fn is_fit(&self) -> bool {
        !self.checks.is_empty()
            && self.checks.iter().all(|check| matches!(check.verdict, Verdict::Holds | Verdict::Allowed))
    }
}

impl Verdict {
    /// Returns the stable word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Fails => "fails",
            Self::Holds => "holds",
            Self::Unclear => "unclear",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<8}{}: {}", self.verdict.as_str(), self.name, self.sentence)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.checks.iter().try_for_each(|check| writeln!(f, "{check}"))
    }
}
