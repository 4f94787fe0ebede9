//! The server's one clock, which stamps versions and answers alike: the only file here that reads a clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::FormatItem;
use time::macros::format_description;

use crate::clock::Moment;

/// As `Date` and `Last-Modified` are spelled.
const HTTP: &[FormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");
/// As S3 spells stamps in a listing: in milliseconds, of which it knows none.
const ISO: &[FormatItem<'_>] = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].000Z");

/// True time since the server began, and the wall time that belongs to it. It never jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// Nanoseconds since 1970.
    wall_at_start: i128,
}

impl Clock {
    /// Starts a clock that is ahead of this machine's by this many seconds, or behind.
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads clocks")]
    pub(crate) fn start(ahead_s: i64) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = i128::try_from(wall.as_nanos()).unwrap_or_default();
        Self { began: Instant::now(), wall_at_start: wall + i128::from(ahead_s) * 1_000_000_000 }
    }

    /// Returns how long the server has been there.
    pub(crate) fn now(&self) -> Moment {
        Moment::START.after(self.began.elapsed())
    }

    /// Returns the wall time at a moment, in whole seconds since 1970, cut off as servers do.
    pub(crate) fn seconds(&self, at: Moment) -> i64 {
        let nanos = self.wall_at_start + i128::from(at.as_nanos());
        i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or_default()
    }
}

/// Spells a time as HTTP's headers do.
pub(crate) fn http(seconds: i64) -> String {
    spell(seconds, HTTP)
}

/// Spells a time as a listing does.
pub(crate) fn iso(seconds: i64) -> String {
    spell(seconds, ISO)
}

fn spell(seconds: i64, format: &[FormatItem<'_>]) -> String {
    // A time outside the calendar is shown as its beginning: nothing that a clock says lies there.
    let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    at.format(format).expect("every field of the format is one that a date has")
}

#[cfg(test)]
mod tests {
    use super::{http, iso};

    #[test]
    fn stamps_are_spelled_as_s3_spells_them() {
        assert_eq!(http(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(iso(784_111_777), "1994-11-06T08:49:37.000Z");
    }
}
