//! Where credentials come from that do not last: the seam for any source of them.

use core::fmt;
use core::time::Duration;

use tenure_core::{Fault, WallTime};

use crate::credentials::Credentials;

/// Credentials, and until when they are good.
#[derive(Clone, Debug)]
pub struct Issued {
    /// What requests are signed with.
    pub credentials: Credentials,
    /// When the store stops taking them, by a wall clock; nothing if nobody knows.
    pub expires: Option<WallTime>,
}

/// A source of credentials that is asked again before they end, or when the store says that they have.
///
/// It is asked by one thread at a time, which does nothing else, so it may block: for a few seconds at most,
/// since requests that have nothing to be signed with wait for it.
pub trait Provider: fmt::Debug + Send + Sync + 'static {
    /// Fetches credentials anew, from wherever they are; a file is read again, whatever its time stamp says.
    ///
    /// # Errors
    /// A fault that says where they were looked for and what to do. [`FaultKind::Config`] and
    /// [`FaultKind::Denied`] mean that asking again will not help soon.
    ///
    /// [`FaultKind::Config`]: tenure_core::FaultKind::Config
    /// [`FaultKind::Denied`]: tenure_core::FaultKind::Denied
    fn fetch(&self) -> Result<Issued, Fault>;
}

/// How long before their end credentials are fetched anew, at most.
const AHEAD: Duration = Duration::from_secs(300);
/// How soon credentials are fetched anew at the earliest, unless the store demands it: a wall clock that is
/// hours off makes good ones look ended.
const SOONEST: Duration = Duration::from_secs(10);
/// How long to wait after the first failure, and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Returns after how long credentials issued at `now` are fetched anew; nothing if they have no known end.
pub fn refresh_after(issued: &Issued, now: WallTime) -> Option<Duration> {
    let lifetime = issued.expires?.since(now);
    Some((lifetime - AHEAD.min(lifetime / 4)).max(SOONEST))
}

/// Returns how long to wait after so many failures in a row, at least one.
pub fn retry_after_failures(count: u32) -> Duration {
    let (first, most) = RETRY;
    first.saturating_mul(1 << count.saturating_sub(1).min(10)).min(most)
}

#[cfg(test)]
mod tests {
    use super::{Issued, refresh_after, retry_after_failures};
    use crate::credentials::Credentials;
    use core::time::Duration;
    use tenure_core::WallTime;

    #[test]
    fn bl_11_credentials_are_fetched_anew_well_before_their_end() {
        let now = WallTime::from_millis(1_764_400_000_000);
        let after = |lifetime: Option<u64>| {
            let credentials = Credentials::new("a", "b", None).expect("legal");
            let expires = lifetime.map(|secs| now.after(Duration::from_secs(secs)));
            refresh_after(&Issued { credentials, expires }, now).map(|after| after.as_secs())
        };
        assert_eq!(after(None), None);
        assert_eq!(after(Some(3600)), Some(3300));
        assert_eq!(after(Some(900)), Some(675));
        // Ended already, as it seems: asked again soon, but not at once.
        assert_eq!(after(Some(0)), Some(10));
    }

    #[test]
    fn a_source_that_fails_is_asked_ever_more_rarely() {
        let secs: Vec<u64> = [1, 2, 3, 6, 7, 100, u32::MAX].map(|n| retry_after_failures(n).as_secs()).into();
        assert_eq!(secs, [1, 2, 4, 32, 60, 60, 60]);
    }
}
