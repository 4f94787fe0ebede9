//! The numbers of the protocol, with the inequalities that keep it safe.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

use crate::defects::Defect;
use crate::id::NodeId;
use crate::name::NameError;
use crate::record::fits;

/// The largest ttl a lease may have; a lease that does not say its ttl is judged with it.
pub const TTL_MAX: Duration = Duration::from_secs(60);

/// How finely and how truly a store stamps what it stores.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct StoreClock {
    /// The granularity of the stamps: 1 s for HTTP headers, which are cut to whole seconds.
    pub unit: Duration,
    /// How far the store's `Date` and `Last-Modified` may disagree.
    pub margin: Duration,
}

impl StoreClock {
    /// Stamps in HTTP headers: whole seconds, from machines that agree within two seconds.
    pub const HTTP: Self = Self { unit: Duration::from_secs(1), margin: Duration::from_secs(2) };
    /// One fine clock that stamps everything, as a file system on one host has.
    pub const FINE: Self = Self { unit: Duration::ZERO, margin: Duration::ZERO };
}

/// What a node is and the times it keeps. Every node of a fleet should use the same times.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Config {
    /// The operator's name for the node; the session makes it unique.
    pub name: String,
    /// Where peers reach the node; published in its lease.
    pub addr: Option<String>,
    /// How long the lease lives after each renewal.
    pub ttl: Duration,
    /// How slow this machine's monotonic clock may run, in thousandths.
    pub drift_permille: u32,
    /// How long before the lease could be judged dead this node stops acting on it: at least the drift over
    /// one ttl, plus the time the application needs to stop.
    pub margin_hold: Duration,
    /// The store's stamps.
    pub clock: StoreClock,
    /// How long one request may take.
    pub attempt_timeout: Duration,
    /// How often a waiting claim looks at the record again.
    pub poll: Duration,
    /// How long an operation may try on beyond its caller's wait, when the store does not answer.
    pub patience: Duration,
    /// How many requests a second the store is sent while it gives no useful answer, however many cells wait: while
    /// it is dark, refuses, fails or asks to slow down. A store that answers is asked without limit, and what the
    /// node's own lease needs is never held back. Nothing means no limit.
    pub trouble_rate: Option<NonZeroU32>,
    /// What the application says about the node from the start.
    pub meta: BTreeMap<String, String>,
    /// A deliberate bug, for the simulator's teeth; without the `defects` feature it has no effect.
    #[doc(hidden)]
    pub defect: Option<Defect>,
}

impl Config {
    /// Returns the defaults for a node of this name: ttl 10 s, stamps as in HTTP headers.
    pub fn new(name: impl Into<String>) -> Self {
        let ttl = Duration::from_secs(10);
        Self {
            name: name.into(),
            addr: None,
            ttl,
            drift_permille: 10,
            margin_hold: ttl / 10,
            clock: StoreClock::HTTP,
            attempt_timeout: ttl * 15 / 100,
            poll: poll_for(ttl),
            patience: ttl,
            trouble_rate: NonZeroU32::new(10),
            meta: BTreeMap::new(),
            defect: None,
        }
    }

    /// Sets the ttl and every time that follows from it.
    #[must_use]
    pub fn with_ttl(self, ttl: Duration) -> Self {
        Self {
            ttl,
            margin_hold: ttl / 10,
            attempt_timeout: ttl.saturating_mul(15) / 100,
            poll: poll_for(ttl),
            patience: ttl,
            ..self
        }
    }

    /// Sets where peers reach the node.
    #[must_use]
    pub fn with_addr(self, addr: impl Into<String>) -> Self {
        Self { addr: Some(addr.into()), ..self }
    }

    /// Sets the quality of the store's stamps. A driver does this when it knows the store.
    #[must_use]
    pub fn with_clock(self, clock: StoreClock) -> Self {
        Self { clock, ..self }
    }

    /// Checks the name and every inequality.
    ///
    /// # Errors
    /// Names the inequality that fails, with its numbers.
    pub fn check(&self) -> Result<(), ConfigError> {
        NodeId::check_name(&self.name).map_err(ConfigError::Name)?;
        if !fits(self.addr.as_deref(), &self.meta) {
            return Err(ConfigError::Facts);
        }
        let least =
            if self.clock.unit.is_zero() { Duration::from_millis(50) } else { Duration::from_secs(3) };
        rule("ttl", self.ttl, ">=", "the least for this store's stamps", least)?;
        // Before any product: a ttl near the end of the number line would overflow them.
        rule("ttl", self.ttl, "<=", "the largest ttl", TTL_MAX)?;
        rule(
            "drift_permille",
            Duration::from_millis(self.drift_permille.into()),
            "<=",
            "1000",
            Duration::from_secs(1),
        )?;
        rule("margin_hold", self.margin_hold, ">=", "drift * ttl", self.ttl * self.drift_permille / 1000)?;
        rule("clock.unit", self.clock.unit, "<=", "the largest ttl", TTL_MAX)?;
        rule("clock.margin", self.clock.margin, "<=", "the largest ttl", TTL_MAX)?;
        rule("poll", self.poll, ">", "nothing", Duration::ZERO)?;
        rule("poll", self.poll, "<=", "the largest ttl", TTL_MAX)?;
        rule("attempt_timeout", self.attempt_timeout, ">", "nothing", Duration::ZERO)?;
        let renew_and_three =
            (self.renew_every() * 11 / 10).saturating_add(self.attempt_timeout.saturating_mul(3));
        let usable = self.ttl.saturating_sub(self.margin_hold);
        rule("ttl/3 * 1.1 + 3 * attempt_timeout", renew_and_three, "<", "ttl - margin_hold", usable)
    }

    /// Returns how long after a renewal the next one is due, before jitter.
    pub fn renew_every(&self) -> Duration {
        self.ttl / 3
    }
}

fn rule(
    left: &'static str,
    left_value: Duration,
    relation: &'static str,
    right: &'static str,
    right_value: Duration,
) -> Result<(), ConfigError> {
    let holds = match relation {
        "<" => left_value < right_value,
        "<=" => left_value <= right_value,
        ">" => left_value > right_value,
        _ => left_value >= right_value,
    };
    if holds {
        return Ok(());
    }
    Err(ConfigError::Inequality { left, left_value, relation, right, right_value })
}

/// Why a configuration is refused.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// Address and facts are too long together for a lease that others can read.
    Facts,
    /// The node's name is not legal.
    Name(NameError),
    /// One of the protocol's inequalities does not hold.
    Inequality {
        /// What should relate.
        left: &'static str,
        /// Its value.
        left_value: Duration,
        /// How it should relate.
        relation: &'static str,
        /// To what it should relate.
        right: &'static str,
        /// Its value.
        right_value: Duration,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Facts => f.write_str("addr and meta are too long: 16 KiB as JSON at most"),
            Self::Name(error) => write!(f, "{error}"),
            Self::Inequality { left, left_value, relation, right, right_value } => {
                write!(f, "{left} ({left_value:?}) must be {relation} {right} ({right_value:?})")
            }
        }
    }
}

impl core::error::Error for ConfigError {}

fn poll_for(ttl: Duration) -> Duration {
    Duration::from_secs(1).min(ttl / 3)
}

#[cfg(test)]
mod tests {
    use super::{Config, StoreClock};
    use alloc::string::ToString;
    use core::time::Duration;

    #[test]
    fn the_defaults_hold_at_every_ttl_allowed() {
        for secs in 3..=60 {
            Config::new("n").with_ttl(Duration::from_secs(secs)).check().expect("a legal ttl");
        }
        Config::new("n")
            .with_clock(StoreClock::FINE)
            .with_ttl(Duration::from_millis(300))
            .check()
            .expect("fine");
    }

    #[test]
    fn nonsense_is_refused_with_the_inequality_that_fails() {
        let short = Config::new("n").with_ttl(Duration::from_secs(2)).check().expect_err("too short");
        assert_eq!(short.to_string(), "ttl (2s) must be >= the least for this store's stamps (3s)");
        let slow = Config { attempt_timeout: Duration::from_secs(3), ..Config::new("n") };
        assert!(slow.check().expect_err("too slow").to_string().contains("< ttl - margin_hold"));
        assert!(Config::new("a/b").check().expect_err("bad name").to_string().contains("a/b"));
        assert!(Config::new("n").with_ttl(Duration::MAX).check().is_err());
        for poll in [Duration::ZERO, Duration::MAX] {
            assert!(Config { poll, ..Config::new("n") }.check().is_err(), "{poll:?}");
        }
        let addr = Some("a".repeat(16 << 10));
        assert!(Config { addr, ..Config::new("n") }.check().is_err());
        let clock = StoreClock { margin: Duration::MAX, ..StoreClock::HTTP };
        assert!(Config::new("n").with_clock(clock).check().is_err());
    }
}
