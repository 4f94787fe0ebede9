//! Is a version of another node's lease too old? Pure functions of what was seen of it.
//!
//! Normally by the store's own clock: `Date - Last-Modified` of one answer against the lease's ttl. Where
//! the stamps are missing or cannot be trusted, by observed silence on our monotonic clock. This node's wall
//! clock plays no part. Of an answer whose bytes are no lease nothing is believed, its stamps included: such a version
//! is judged by silence, and with the largest ttl.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use crate::config::{Config, TTL_MAX};
use crate::defects::{self, Defect};
use crate::id::{ETag, NodeId};
use crate::record::{LeaseRecord, RecordError};
use crate::store::Stamps;
use crate::time::{Instant, Now, StoreTime};
use crate::write::GARBLED_MAX;

/// One version of a lease, which can be read, and when it was seen.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Version {
    pub(crate) etag: ETag,
    pub(crate) body: Box<[u8]>,
    /// The stamp remembered with this tag; a later 304 usually has none.
    modified: Option<StoreTime>,
    /// When the first answer arrived that showed this version.
    first_shown: Instant,
    pub(crate) addr: Option<String>,
    ttl: Duration,
    /// The publisher's expiry, for a lease that does not say its ttl.
    foreign_expires_ms: Option<u64>,
    pub(crate) is_tombstone: bool,
}

impl Version {
    /// Takes a version of the lease of `node` from an answer that arrived at `shown`.
    ///
    /// # Errors
    /// Says why the bytes are no lease of this node.
    pub(crate) fn new(
        node: &NodeId,
        etag: ETag,
        body: Box<[u8]>,
        seen: (Stamps, Instant),
        config: &Config,
    ) -> Result<Self, RecordError> {
        let record = if defects::has(config.defect, Defect::AnyLease) {
            LeaseRecord::parse(&body)?
        } else {
            LeaseRecord::parse_of(node, &body)?
        };
        Ok(Self::of(&record, etag, body, seen))
    }

    /// Does the same when the bytes have been parsed.
    pub(crate) fn of(
        record: &LeaseRecord,
        etag: ETag,
        body: Box<[u8]>,
        (stamps, shown): (Stamps, Instant),
    ) -> Self {
        let (ttl, foreign_expires_ms) = terms(record);
        Self {
            etag,
            body,
            modified: stamps.modified,
            first_shown: shown,
            is_tombstone: record.is_tombstone(),
            // celld writes `-` for no address, and so do we.
            addr: record.addr.clone().filter(|addr| addr != "-" && !addr.is_empty()),
            ttl,
            foreign_expires_ms,
        }
    }

    /// Takes the stamps of another answer that showed this same version.
    pub(crate) fn shown_again(&mut self, stamps: Stamps) {
        self.modified = self.modified.or(stamps.modified);
    }

    /// Keeps the stamp of another version: a deliberate bug.
    pub(crate) fn keep_stamp_of(&mut self, earlier: &Self) {
        self.modified = earlier.modified;
    }

    /// Tells whether this version, which replaced `earlier`, claims to be older: a stamp that cannot be trusted.
    pub(crate) fn goes_back_from(&self, earlier: &Self) -> bool {
        matches!((self.modified, earlier.modified), (Some(new), Some(old)) if new < old)
    }

    /// Tells whether this version claims to be later than `date`, the date of an answer that shows it, by more than the
    /// two may disagree: judged by such stamps it would live until the date has caught up.
    pub(crate) fn is_ahead_of(&self, date: Option<StoreTime>, config: &Config) -> bool {
        let most = config.clock.unit + config.clock.margin;
        matches!((self.modified, date), (Some(modified), Some(date)) if modified.since(date) > most)
    }

    /// Tells whether the store's clock can judge this version, in an answer whose store clock read `date`.
    pub(crate) fn is_stamped(&self, date: Option<StoreTime>) -> bool {
        self.modified.is_some() && date.is_some()
    }

    /// Returns how much longer the version may live, judged by an answer to a read issued at `issued`, whose
    /// store clock read `date`; zero means dead.
    pub(crate) fn remaining(
        &self,
        date: Option<StoreTime>,
        issued: Instant,
        now: Now,
        config: &Config,
    ) -> Duration {
        if defects::has(config.defect, Defect::JudgeByOwnClock) {
            let expires_ms = LeaseRecord::parse(&self.body).map_or(0, |record| record.expires_ms);
            return Duration::from_millis(expires_ms.saturating_sub(now.wall.as_millis()));
        }
        match (self.modified, date) {
            (_, Some(date))
                if self.foreign_expires_ms.is_some()
                    && defects::has(config.defect, Defect::ForeignByExpiry) =>
            {
                self.until_foreign_expiry(date)
            }
            (Some(modified), Some(date)) => {
                let left = (self.ttl + slack(config)).saturating_sub(date.since(modified));
                left.max(self.until_foreign_expiry(date))
            }
            (None, date) | (_, date @ None) => {
                let left = silence(self.ttl, config).saturating_sub(issued.since(self.first_shown));
                date.map_or(left, |date| left.max(self.until_foreign_expiry(date)))
            }
        }
    }

    /// Returns how much longer a lease that does not say its ttl claims to live.
    fn until_foreign_expiry(&self, date: StoreTime) -> Duration {
        StoreTime::from_millis(self.foreign_expires_ms.unwrap_or(0)).since(date)
    }
}

/// Bytes that are no lease, found under one tag in a lease's place: the answer is garbage, or the record.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Garbage {
    pub(crate) etag: ETag,
    /// When the first answer arrived that showed garbage under this tag.
    first_shown: Instant,
    /// How many have.
    shown: u32,
}

impl Garbage {
    /// Takes another answer that showed garbage; `before` is what the last ones showed.
    pub(crate) fn shown(etag: ETag, at: Instant, before: Option<Self>) -> Self {
        match before.filter(|before| before.etag == etag) {
            Some(before) => Self { shown: before.shown.saturating_add(1), ..before },
            None => Self { etag, first_shown: at, shown: 1 },
        }
    }

    /// Tells whether the answers may be to blame: there were few.
    pub(crate) fn is_new(&self) -> bool {
        self.shown < GARBLED_MAX
    }

    /// Returns how much longer a lease in this place may live, judged by an answer to a read issued at `issued`: by
    /// silence alone, with the largest ttl.
    pub(crate) fn remaining(&self, issued: Instant, config: &Config) -> Duration {
        silence(TTL_MAX, config).saturating_sub(issued.since(self.first_shown))
    }
}

/// Returns for how long a version must have stood still before its holder's authority has ended on any clock.
fn silence(ttl: Duration, config: &Config) -> Duration {
    ttl + ttl * config.drift_permille / 1000
}

/// Returns the ttl a lease is judged with, and the expiry that must have passed besides.
fn terms(record: &LeaseRecord) -> (Duration, Option<u64>) {
    if let Some(ttl) = record.ttl {
        return (ttl, None);
    }
    let sampled_ms = record.load.as_ref().map_or(record.expires_ms, |load| load.sampled_ms);
    let ttl = Duration::from_millis(record.expires_ms.saturating_sub(sampled_ms));
    let ttl = if ttl.is_zero() || ttl > TTL_MAX { TTL_MAX } else { ttl };
    (ttl, Some(record.expires_ms))
}

/// Stamps are cut to units, and the two in one answer may disagree by the margin.
fn slack(config: &Config) -> Duration {
    let unit = if defects::has(config.defect, Defect::NoUnit) { Duration::ZERO } else { config.clock.unit };
    let margin =
        if defects::has(config.defect, Defect::NoMargin) { Duration::ZERO } else { config.clock.margin };
    unit + margin
}

/// Watches whether the store's `Date` keeps pace with our monotonic clock.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct StoreClockWatch {
    anchor: Option<Anchor>,
    is_distrusted: bool,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Anchor {
    date: StoreTime,
    issued: Instant,
    arrived: Instant,
}

impl StoreClockWatch {
    /// Takes the date of an answer and returns the stamps that may be trusted.
    pub(crate) fn observe(
        &mut self,
        stamps: Stamps,
        issued: Instant,
        arrived: Instant,
        config: &Config,
    ) -> Stamps {
        if let Some(date) = stamps.date {
            self.compare(Anchor { date, issued, arrived }, config);
        }
        if self.is_distrusted { Stamps::default() } else { stamps }
    }

    pub(crate) fn distrust(&mut self) {
        self.is_distrusted = true;
    }

    fn compare(&mut self, seen: Anchor, config: &Config) {
        let Some(anchor) = self.anchor else {
            self.anchor = Some(seen);
            return;
        };
        let drift = |span: Duration| span * config.drift_permille / 1000;
        let allowed = config.clock.unit + config.clock.margin + config.ttl / 20;
        let longest = seen.arrived.since(anchor.issued);
        let shortest = seen.issued.since(anchor.arrived);
        let ahead = seen.date.since(anchor.date) > longest + drift(longest) + allowed;
        let behind = seen.date.since(anchor.date) + drift(shortest) + allowed < shortest;
        let back = anchor.date.since(seen.date) > allowed;
        self.is_distrusted |= ahead || behind || back;
        // The allowance for drift grows with the span, so the span is kept short.
        if shortest > Duration::from_secs(60) {
            self.anchor = Some(seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Garbage, StoreClockWatch, Version};
    use crate::config::Config;
    use crate::id::{ETag, NodeId};
    use crate::store::Stamps;
    use crate::time::{Instant, Now, StoreTime};
    use alloc::string::ToString;
    use core::time::Duration;

    fn at(ms: u64) -> Stamps {
        Stamps { modified: Some(StoreTime::from_millis(ms)), date: Some(StoreTime::from_millis(ms)) }
    }

    fn version(body: &str, stamps: Stamps) -> Version {
        let node = NodeId::parse("x").expect("legal");
        let seen = (stamps, Instant::from_millis(500));
        Version::new(&node, tag(), body.as_bytes().into(), seen, &Config::new("n")).expect("x's lease")
    }

    fn tag() -> ETag {
        ETag::new(b"e").expect("not empty")
    }

    fn left(version: &Version, date: Option<u64>, issued: u64) -> Duration {
        let date = date.map(StoreTime::from_millis);
        version.remaining(date, Instant::from_millis(issued), Now::default(), &Config::new("n"))
    }

    #[test]
    fn a_lease_is_dead_at_ttl_and_unit_and_margin_by_the_stores_clock_and_not_a_unit_earlier() {
        let lease = version(r#"{"node":"x","expires_ms":1,"ttl_ms":10000}"#, at(1_000_000));
        assert_eq!(left(&lease, Some(1_012_000), 0), Duration::from_secs(1));
        assert_eq!(left(&lease, Some(1_013_000), 0), Duration::ZERO);
    }

    #[test]
    fn silence_counts_from_the_answer_that_first_showed_the_version_to_the_issue_of_the_next_read() {
        let lease = version(r#"{"node":"x","expires_ms":1,"ttl_ms":10000}"#, Stamps::default());
        assert_eq!(left(&lease, None, 10_599), Duration::from_millis(1));
        assert_eq!(left(&lease, None, 10_600), Duration::ZERO);
    }

    #[test]
    fn bl_51_an_absurd_expiry_neither_locks_nor_kills_a_lease_that_says_its_ttl() {
        for expires in ["0", "1", "4102444800000", "18446744073709551615"] {
            let body = alloc::format!(r#"{{"node":"x","expires_ms":{expires},"ttl_ms":10000}}"#);
            let lease = version(&body, at(1_000_000));
            assert_eq!(left(&lease, Some(1_005_000), 0), Duration::from_secs(8), "{expires}");
            assert_eq!(left(&lease, Some(1_013_000), 0), Duration::ZERO, "{expires}");
        }
    }

    #[test]
    fn a_foreign_lease_must_also_have_expired_by_the_stores_date() {
        let lease = version(r#"{"node":"x","expires_ms":1100000}"#, at(1_000_000));
        assert_eq!(left(&lease, Some(1_063_000), 0), Duration::from_secs(37));
        assert_eq!(left(&lease, Some(1_100_000), 0), Duration::ZERO);
    }

    #[test]
    fn garbage_is_judged_by_silence_with_the_largest_ttl() {
        let first = Garbage::shown(tag(), Instant::from_millis(500), None);
        let again = Garbage::shown(tag(), Instant::from_millis(40_000), Some(first));
        let left = |issued| again.remaining(Instant::from_millis(issued), &Config::new("n"));
        assert_eq!(left(61_099), Duration::from_millis(1));
        assert_eq!(left(61_100), Duration::ZERO);
    }

    #[test]
    fn a_lease_that_names_another_node_is_none() {
        let node = NodeId::parse("y").expect("legal");
        let body = br#"{"node":"x","expires_ms":0,"fenced_by":"z"}"#;
        let seen = (at(1), Instant::from_millis(0));
        let shown = Version::new(&node, tag(), body.as_slice().into(), seen, &Config::new("n"));
        assert!(shown.is_err_and(|why| why.to_string() == "it is the record of x, not of y"));
    }

    #[test]
    fn a_date_that_runs_away_is_not_trusted() {
        let config = Config::new("n");
        let mut watch = StoreClockWatch::default();
        let ms = Instant::from_millis;
        assert_eq!(watch.observe(at(1_000_000), ms(0), ms(100), &config), at(1_000_000));
        assert_eq!(watch.observe(at(1_006_000), ms(5_000), ms(5_100), &config), at(1_006_000));
        assert_eq!(watch.observe(at(1_020_000), ms(6_000), ms(6_100), &config), Stamps::default());
        assert_eq!(watch.observe(at(1_007_000), ms(7_000), ms(7_100), &config), Stamps::default());
    }

    #[test]
    fn a_date_that_stands_still_is_not_trusted() {
        let config = Config::new("n");
        let mut watch = StoreClockWatch::default();
        let ms = Instant::from_millis;
        watch.observe(at(1_000_000), ms(0), ms(100), &config);
        assert_eq!(watch.observe(at(1_000_000), ms(9_000), ms(9_100), &config), Stamps::default());
    }
}
