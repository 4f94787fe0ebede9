//! What a run saw, and what it found.

use core::fmt;

use crate::checks::Violation;
use crate::clock::Moment;
use crate::witness::Seen;

/// What one world, or many, met while nothing was violated.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Report {
    /// How many worlds ran.
    pub worlds: u64,
    /// How many events engines handled.
    pub steps: u64,
    /// The digest of everything that happened: equal for equal worlds, whatever ran them in which order.
    pub digest: u64,
    /// How often each hard situation was met.
    pub seen: Seen,
    /// The trace, as far as it was kept.
    pub lines: Vec<String>,
}

impl Report {
    /// Adds what another run saw. The order in which runs are added does not matter; their lines are dropped.
    pub fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.steps += other.steps;
        self.digest = self.digest.wrapping_add(other.digest);
        self.seen.add(&other.seen);
    }
}

/// A check that was violated, and what led to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// Which check, and why.
    pub violation: Violation,
    /// When.
    pub at: Moment,
    /// How many events engines had handled by then; in a small world, how many moves it had made.
    pub steps: u64,
    /// The trace up to then, as far as it was kept.
    pub lines: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "    {line}")?;
        }
        write!(f, "violated at t={}: {}", self.at, self.violation)
    }
}

impl core::error::Error for Failure {}
