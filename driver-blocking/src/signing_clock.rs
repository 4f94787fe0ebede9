//! The wall clock that requests are signed with, and nothing else.
//!
//! Whether it is right is the signer's business: a store that calls the time skewed has it corrected by its
//! own `Date`, without this clock being touched.

use core::time::Duration;
use std::time::SystemTime;

use tenure_core::WallTime;

/// Reads the wall clock. A machine whose clock lies before 1970 is at 1970.
pub(crate) fn wall_now() -> WallTime {
    #[expect(clippy::disallowed_methods, reason = "a signature names the time; no decision rests on it")]
    let now = SystemTime::now();
    let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    WallTime::default().after(since_1970)
}
