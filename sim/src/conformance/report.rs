//! What was asked and what came of it.

use core::fmt;

use tenure_core::{Fault, FaultKind, Guard, Key};

use super::latency::Latency;

/// The answers to all questions.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order in which they were asked.
    pub checks: Vec<Check>,
    /// What must be set for this store, as its user writes it: without it, it is not fit.
    pub settings: Vec<&'static str>,
    /// How long single writes took, if they were timed.
    pub writes: Option<Latency>,
    /// How long single reads took, if they were timed.
    pub reads: Option<Latency>,
    /// By how many milliseconds the store's clock is ahead of this machine's, if it showed one; good to a second.
    pub store_ahead_ms: Option<i64>,
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
    /// What to do about it, where something can be done.
    pub advice: Option<String>,
    /// The trouble that left the answer open.
    pub cause: Option<FaultKind>,
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

/// What all answers amount to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Cells may be kept in this store.
    Fit,
    /// Cells may be kept in this store once nodes are given the [`settings`](Report::settings).
    FitWithSettings,
    /// They must not be: at least one check fails, whatever else was denied or left open.
    Unfit,
    /// A right is missing.
    Denied,
    /// An address or a setting is wrong.
    Config,
    /// A question was left open: the store did not answer, or answered neither yes nor no too often.
    Unclear,
}

/// An answer other than "it holds".
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) verdict: Verdict,
    pub(super) sentence: String,
    pub(super) advice: Option<String>,
    pub(super) cause: Option<FaultKind>,
}

/// The answer to one question: what was seen to hold, or not to.
pub(super) type Answer = Result<String, Trouble>;

pub(super) fn fails(sentence: impl Into<String>) -> Trouble {
    Trouble { verdict: Verdict::Fails, sentence: sentence.into(), advice: None, cause: None }
}

pub(super) fn unclear(sentence: impl Into<String>) -> Trouble {
    Trouble { verdict: Verdict::Unclear, ..fails(sentence) }
}

pub(super) fn allowed(sentence: impl Into<String>) -> Trouble {
    Trouble { verdict: Verdict::Allowed, ..fails(sentence) }
}

/// A fault leaves the question open, unless it shows that the store cannot do what was asked.
pub(super) fn faulty(what: impl fmt::Display, fault: &Fault) -> Trouble {
    undecided(Some(fault.kind), format!("{what}: {fault}"))
}

/// A question that was put until there was no patience left. Who makes no sense every time cannot be used.
pub(super) fn undecided(cause: Option<FaultKind>, sentence: String) -> Trouble {
    let is_unfit = matches!(cause, Some(FaultKind::Malformed | FaultKind::Unfit));
    Trouble { cause, ..if is_unfit { fails(sentence) } else { unclear(sentence) } }
}

/// A guard that should have held and did not; of a weak tag that says why.
pub(super) fn refused(guard: &Guard, key: &Key, sentence: String) -> Trouble {
    match guard {
        Guard::Match(etag) if etag.is_weak() => weak(format_args!("the tag {etag} of {key}")),
        Guard::Absent | Guard::Match(_) => fails(sentence),
    }
}

/// A tag that no compare-and-swap can match (BL-40).
pub(super) fn weak(tag: fmt::Arguments<'_>) -> Trouble {
    fails(format!("{tag} is weak: no update can be guarded by it")).advise(
        "go round the proxy between here and the store, or switch its compression off: that makes tags weak; if \
         there is none, use another store",
    )
}

impl Trouble {
    /// Says what to do about it.
    pub(super) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

impl Report {
    pub(super) fn add(&mut self, name: &'static str, answer: Answer) {
        let (verdict, sentence, advice, cause) = match answer {
            Ok(sentence) => (Verdict::Holds, sentence, None, None),
            Err(Trouble { verdict, sentence, advice, cause }) => (verdict, sentence, advice, cause),
        };
        self.checks.push(Check { name, verdict, sentence, advice, cause });
    }

    /// Returns what all answers amount to. Nothing asked is unclear, and a report of read-only questions says no
    /// more than that nothing was seen to be wrong.
    pub fn outcome(&self) -> Outcome {
        let caused = |kinds: &[FaultKind]| {
            self.checks.iter().any(|check| check.cause.is_some_and(|cause| kinds.contains(&cause)))
        };
        let any = |verdict| self.checks.iter().any(|check| check.verdict == verdict);
        if any(Verdict::Fails) || caused(&[FaultKind::Malformed, FaultKind::Unfit]) {
            Outcome::Unfit
        } else if caused(&[FaultKind::Denied]) {
            Outcome::Denied
        } else if caused(&[FaultKind::Config]) {
            Outcome::Config
        } else if self.checks.is_empty() || any(Verdict::Unclear) {
            Outcome::Unclear
        } else if self.settings.is_empty() {
            Outcome::Fit
        } else {
            Outcome::FitWithSettings
        }
    }

    /// Tells whether cells may be kept in this store, with its settings if it needs any: something was asked, and
    /// every check holds or is allowed to differ.
    pub fn is_fit(&self) -> bool {
        matches!(self.outcome(), Outcome::Fit | Outcome::FitWithSettings)
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

impl Outcome {
    /// Returns the stable word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Denied => "denied",
            Self::Fit => "fit",
            Self::FitWithSettings => "fit_with_settings",
            Self::Unclear => "unclear",
            Self::Unfit => "unfit",
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
