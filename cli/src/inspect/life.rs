//! Does a lease live? Judged from one answer, by the store's clock alone.
//!
//! A lease is shown as living only while its ttl has not passed, and as dead only when it is certain that a
//! claim would take it: the stamps are cut to units and may disagree by a margin, so between the two lies a
//! time in which neither can be said.

use core::time::Duration;

use tenure_blocking::ownership::{NodeLeaseRecord, Stored};
use tenure_core::{LeaseRecord, NodeId, Stamps, StoreClock, StoreTime, TTL_MAX};

/// What is known of a node's lease.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Life {
    pub(crate) state: LifeState,
    /// How long ago the lease was renewed, if the store's stamps tell.
    pub(crate) age: Option<Duration>,
    /// By how many milliseconds the node's wall clock was ahead of the store's when it was renewed, if the lease tells.
    /// Nothing is judged by that clock; one that is far off makes what it writes hard to read.
    pub(crate) clock_ahead_ms: Option<i64>,
    /// The lease, if it can be read.
    pub(crate) lease: Option<LeaseRecord>,
}

/// Whether a node lives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LifeState {
    /// Its lease has ended, or was fenced: its cells are free to be claimed.
    Dead,
    /// Its lease is past its ttl, but not yet long enough for a takeover.
    Expired,
    /// Its lease has not ended.
    Live,
    /// Its lease is missing, unreadable, or has no time stamps.
    Unknown,
}

impl Life {
    pub(crate) fn dead() -> Self {
        Self { state: LifeState::Dead, age: None, clock_ahead_ms: None, lease: None }
    }

    pub(crate) fn unknown() -> Self {
        Self { state: LifeState::Unknown, age: None, clock_ahead_ms: None, lease: None }
    }

    /// Judges one version of a node's lease, readable or not, as a claim would. One that is not proves nothing, and is
    /// taken for one of the longest ttl: a claim watches it for so long, here its stamps are believed. If they are those of
    /// an answer that is garbage, the fence does not find that version.
    pub(crate) fn of<R>(node: &NodeId, version: &Stored<R>, clock: StoreClock) -> Self {
        let Stored { etag, body, stamps, .. } = version;
        match LeaseRecord::parse_of(node, body) {
            Ok(record) => {
                let (etag, body, stamps) = (etag.clone(), body.clone(), *stamps);
                Self::judge(NodeLeaseRecord { record, etag, body, stamps }, clock)
            }
            Err(_) => Self::unreadable(*stamps, clock),
        }
    }

    fn unreadable(stamps: Stamps, clock: StoreClock) -> Self {
        let age = stamps.date.zip(stamps.modified).map(|(date, modified)| date.since(modified));
        let state = age.map_or(LifeState::Unknown, |age| stage(age, TTL_MAX, clock));
        Self { state, age, clock_ahead_ms: None, lease: None }
    }

    /// Judges one version of a lease by the stamps of the answer that showed it.
    pub(crate) fn judge(lease: NodeLeaseRecord, clock: StoreClock) -> Self {
        let (date, modified) = (lease.stamps.date, lease.stamps.modified);
        let age = date.zip(modified).map(|(date, modified)| date.since(modified));
        let state = match (age, date) {
            _ if lease.record.is_tombstone() => LifeState::Dead,
            (Some(age), Some(date)) => state(&lease.record, age, date, clock),
            (None, _) | (_, None) => LifeState::Unknown,
        };
        let clock_ahead_ms = modified.and_then(|modified| clock_ahead_ms(&lease.record, modified));
        Self { state, age, clock_ahead_ms, lease: Some(lease.record) }
    }

    /// Returns where the node is reached, if it says.
    pub(crate) fn addr(&self) -> Option<&str> {
        self.lease.as_ref()?.addr.as_deref().filter(|addr| *addr != "-" && !addr.is_empty())
    }
}

/// A node writes when its lease would run out by its own clock: a ttl after the renewal.
fn clock_ahead_ms(lease: &LeaseRecord, modified: StoreTime) -> Option<i64> {
    let ttl = lease.ttl.filter(|_| !lease.is_tombstone() && lease.fenced_by.is_none())?;
    let written = i128::from(lease.expires_ms) - i128::try_from(ttl.as_millis()).ok()?;
    let ahead = written - i128::from(modified.as_nanos() / 1_000_000);
    Some(i64::try_from(ahead).unwrap_or(if ahead < 0 { i64::MIN } else { i64::MAX }))
}

fn state(lease: &LeaseRecord, age: Duration, date: StoreTime, clock: StoreClock) -> LifeState {
    let (ttl, foreign_expires_ms) = terms(lease);
    if date < StoreTime::from_millis(foreign_expires_ms) { LifeState::Live } else { stage(age, ttl, clock) }
}

/// Returns what is certain of a lease of this age and ttl.
fn stage(age: Duration, ttl: Duration, clock: StoreClock) -> LifeState {
    if age < ttl {
        LifeState::Live
    } else if age < ttl + clock.unit + clock.margin {
        LifeState::Expired
    } else {
        LifeState::Dead
    }
}

/// Returns the ttl of a lease and, for one that does not say its ttl, the time that must have passed besides.
fn terms(lease: &LeaseRecord) -> (Duration, u64) {
    if let Some(ttl) = lease.ttl {
        return (ttl, 0);
    }
    let sampled_ms = lease.load.as_ref().map_or(lease.expires_ms, |load| load.sampled_ms);
    let ttl = Duration::from_millis(lease.expires_ms.saturating_sub(sampled_ms));
    let ttl = if ttl.is_zero() || ttl > TTL_MAX { TTL_MAX } else { ttl };
    (ttl, lease.expires_ms)
}

impl LifeState {
    /// Returns the stable word for a cell whose owner's lease this is.
    pub(crate) const fn of_cell(self) -> &'static str {
        match self {
            Self::Live => "held",
            Self::Dead | Self::Expired | Self::Unknown => self.as_str(),
        }
    }

    /// Returns the stable word for programs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Expired => "expired",
            Self::Live => "live",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Life, LifeState};
    use tenure_blocking::ownership::NodeLeaseRecord;
    use tenure_core::{ETag, LeaseRecord, Stamps, StoreClock, StoreTime};

    fn judged_by(body: &str, stamps: Stamps, clock: StoreClock) -> LifeState {
        let record = LeaseRecord::parse(body.as_bytes()).expect("a lease");
        let etag = ETag::new(b"e").expect("not empty");
        Life::judge(NodeLeaseRecord { record, etag, body: body.as_bytes().into(), stamps }, clock).state
    }

    fn judged(body: &str, age_s: u64, clock: StoreClock) -> LifeState {
        let at = |s| Some(StoreTime::from_millis(1_000_000 + s * 1000));
        judged_by(body, Stamps { modified: at(0), date: at(age_s) }, clock)
    }

    #[test]
    fn an_expired_lease_is_never_live_and_dead_only_when_a_claim_would_take_it() {
        let lease = r#"{"node":"x","expires_ms":99999999999999,"ttl_ms":10000}"#;
        assert_eq!(judged(lease, 9, StoreClock::HTTP), LifeState::Live);
        assert_eq!(judged(lease, 10, StoreClock::HTTP), LifeState::Expired);
        assert_eq!(judged(lease, 13, StoreClock::HTTP), LifeState::Dead);
        assert_eq!(judged(lease, 10, StoreClock::FINE), LifeState::Dead);
    }

    #[test]
    fn a_tombstone_is_dead_at_once() {
        let tombstone = r#"{"node":"x","expires_ms":0,"ttl_ms":10000,"fenced_by":"y"}"#;
        assert_eq!(judged(tombstone, 0, StoreClock::HTTP), LifeState::Dead);
    }

    #[test]
    fn a_foreign_lease_lives_until_its_own_expiry_too() {
        let lease = r#"{"node":"x","expires_ms":1100000}"#;
        assert_eq!(judged(lease, 99, StoreClock::HTTP), LifeState::Live);
        assert_eq!(judged(lease, 100, StoreClock::HTTP), LifeState::Dead);
    }

    #[test]
    fn without_stamps_nothing_is_known_but_a_tombstone() {
        let lease = r#"{"node":"x","expires_ms":1,"ttl_ms":3000}"#;
        assert_eq!(judged_by(lease, Stamps::default(), StoreClock::HTTP), LifeState::Unknown);
        let tombstone = r#"{"node":"x","expires_ms":0,"fenced_by":"y"}"#;
        assert_eq!(judged_by(tombstone, Stamps::default(), StoreClock::HTTP), LifeState::Dead);
    }
}
