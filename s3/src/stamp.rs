//! The store's time stamps, read from headers and listings.
//!
//! A stamp that cannot be read is no stamp: the engine then falls back to observing silence, so nothing here
//! is an error and nothing is guessed.

use core::time::Duration;

use tenure_core::StoreTime;
use time::format_description::well_known::Rfc3339;
use time::{Date, Month, OffsetDateTime, Time};

/// Reads a header's date: `Sun, 06 Nov 1994 08:49:37 GMT`, or one of the two forms that HTTP calls obsolete.
pub(crate) fn http_date(value: &[u8]) -> Option<StoreTime> {
    let text = core::str::from_utf8(value).ok()?;
    let mut words = [""; 8];
    let mut count = 0;
    for word in text.split([' ', ',', ':', '-']).filter(|word| !word.is_empty()) {
        *words.get_mut(count)? = word;
        count += 1;
    }
    // Every form starts with the name of the day, which says nothing that the date does not.
    let (day, month, year, clock) = match &words[..count] {
        [_, day, month, year, hour, minute, second, "GMT" | "UTC"] => {
            (day, month, year, [hour, minute, second])
        }
        [_, month, day, hour, minute, second, year] => (day, month, year, [hour, minute, second]),
        _ => return None,
    };
    let year = match (year.len(), number(year)?) {
        // Two digits, by the convention of the C library.
        (2, year @ 70..) => 1900 + year,
        (2, year) => 2000 + year,
        (4, year) => year,
        _ => return None,
    };
    let date = Date::from_calendar_date(i32::from(year), month_named(month)?, small(day)?).ok()?;
    let [hour, minute, second] = clock;
    // A leap second has no number of its own.
    let time = Time::from_hms(small(hour)?, small(minute)?, small(second)?.min(59)).ok()?;
    stamp(OffsetDateTime::new_utc(date, time))
}

/// Reads a listing's date: `2026-11-29T20:00:00Z`, with or without a fraction.
pub(crate) fn iso_date(text: &str) -> Option<StoreTime> {
    stamp(OffsetDateTime::parse(text.trim(), &Rfc3339).ok()?)
}

/// Reads `Retry-After`: seconds, or a date judged by the date of the same answer.
pub(crate) fn retry_after(value: &[u8], date: Option<StoreTime>) -> Option<Duration> {
    let text = core::str::from_utf8(value).ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    Some(http_date(value)?.since(date?))
}

fn stamp(at: OffsetDateTime) -> Option<StoreTime> {
    Some(StoreTime::from_nanos(u64::try_from(at.unix_timestamp_nanos()).ok()?))
}

fn number(text: &str) -> Option<u16> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn small(text: &str) -> Option<u8> {
    if text.len() > 2 {
        return None;
    }
    u8::try_from(number(text)?).ok()
}

fn month_named(text: &str) -> Option<Month> {
    const NAMES: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let index = NAMES.iter().position(|name| *name == text)?;
    Month::try_from(u8::try_from(index + 1).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{http_date, iso_date, retry_after};
    use core::time::Duration;
    use proptest::prelude::*;
    use tenure_core::StoreTime;
    use time::OffsetDateTime;
    use time::format_description::well_known::Rfc2822;

    const THEN: StoreTime = StoreTime::from_millis(784_111_777_000);

    #[test]
    fn all_three_forms_of_a_header_date_are_read() {
        assert_eq!(http_date(b"Sun, 06 Nov 1994 08:49:37 GMT"), Some(THEN));
        assert_eq!(http_date(b"Sunday, 06-Nov-94 08:49:37 GMT"), Some(THEN));
        assert_eq!(http_date(b"Sun Nov  6 08:49:37 1994"), Some(THEN));
    }

    #[test]
    fn a_leap_second_is_the_last_second_of_its_minute() {
        assert_eq!(http_date(b"Sat, 31 Dec 2016 23:59:60 GMT"), http_date(b"Sat, 31 Dec 2016 23:59:59 GMT"));
    }

    #[test]
    fn what_is_no_date_is_no_stamp() {
        for text in [
            "",
            "0",
            "-1",
            "now",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 +0200",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 19940 08:49:37 GMT",
            "Sun, 6 6 6 6 6 6 6 6 6 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(http_date(text.as_bytes()), None, "{text}");
        }
        assert_eq!(http_date(b"\xff"), None);
    }

    #[test]
    fn a_listing_date_may_have_a_fraction() {
        assert_eq!(iso_date("1994-11-06T08:49:37Z"), Some(THEN));
        assert_eq!(iso_date("1994-11-06T08:49:37.250Z"), Some(THEN.after(Duration::from_millis(250))));
        assert_eq!(iso_date("1994-11-06T09:49:37+01:00"), Some(THEN));
        for text in ["", "1994-11-06", "1994-11-06T08:49:37", "1969-11-06T08:49:37Z", "yesterday"] {
            assert_eq!(iso_date(text), None, "{text}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_after_the_answer_s_own() {
        assert_eq!(retry_after(b" 7 ", None), Some(Duration::from_secs(7)));
        assert_eq!(retry_after(b"Sun, 06 Nov 1994 08:49:40 GMT", Some(THEN)), Some(Duration::from_secs(3)));
        assert_eq!(retry_after(b"Sun, 06 Nov 1994 08:49:30 GMT", Some(THEN)), Some(Duration::ZERO));
        assert_eq!(retry_after(b"Sun, 06 Nov 1994 08:49:40 GMT", None), None);
        assert_eq!(retry_after(b"-1", Some(THEN)), None);
    }

    proptest! {
        #[test]
        fn a_date_written_by_another_library_reads_back(seconds in 0_i64..7_000_000_000) {
            let at = OffsetDateTime::from_unix_timestamp(seconds).expect("in range");
            let text = at.format(&Rfc2822).expect("formats").replace("+0000", "GMT");
            let expected = StoreTime::from_millis(u64::try_from(seconds).expect("positive") * 1000);
            prop_assert_eq!(http_date(text.as_bytes()), Some(expected));
        }

        #[test]
        fn no_bytes_make_a_date_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = (http_date(&bytes), retry_after(&bytes, Some(THEN)));
            let _ = core::str::from_utf8(&bytes).map(iso_date);
        }
    }
}
