//! The two records and their bytes: compact JSON, deterministic, every version unique by its write id.
//!
//! Readers tolerate unknown fields, and a foreign implementation's record that lacks ours is accepted
//! where a rule exists for it. What cannot be parsed is an error with a reason, never a guess.

mod lease;
mod owner;

pub use lease::{LeaseRecord, Load};
pub use owner::{Holder, OwnerRecord};

use alloc::string::{String, ToString};
use core::fmt;

/// Why bytes are not the record they should be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RecordError {
    why: String,
}

impl RecordError {
    fn new(why: impl fmt::Display) -> Self {
        Self { why: why.to_string() }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl core::error::Error for RecordError {}
