//! What can go wrong with one request, or with a store for good: one list, each with its name for the command line.
//!
//! A [`Fault`] happens at one stage of a request: on its way in, in the place of its evaluation, during it, in the
//! answer, or on the way out. Several may befall one request; of two at the same stage the first counts.

use core::fmt;
use core::time::Duration;

/// One thing that goes wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// A token of temporary credentials is called expired: 400 `ExpiredToken`. Not evaluated.
    Expired,
    /// `If-Match` holds only without its quotes, as on Ceph 16. Unfit, unless the client knows.
    BareTags,
    /// The condition is judged before the body has arrived, so that of two writers at once both may win. Unfit.
    ChecksEarly,
    /// The connection is closed after the answer, without announcing it, as idle connections are.
    CloseIdle,
    /// 409 `ConditionalRequestConflict`. Not evaluated.
    Conflict,
    /// The connection breaks when this many bytes of the answer are sent; nothing for a number drawn by chance.
    /// Evaluated.
    CutAnswer(Option<usize>),
    /// The connection breaks when this many bytes of the request's body are read, or all. Not evaluated.
    CutRequest(usize),
    /// `Date` is this many seconds ahead of the server's clock, or behind. What it stamps stays right.
    DateAhead(i64),
    /// Evaluated this late, whoever is still waiting.
    Delay(Duration),
    /// Evaluated at once, and answered this late.
    DelayAnswer(Duration),
    /// Evaluated, and never answered: the connection is closed.
    Drop,
    /// 403 `AccessDenied`: these keys lack a right, or lost it. Not evaluated.
    Denied,
    /// The answer's body is missing, all else in order.
    EmptyBody,
    /// A 5xx, evaluated or not.
    Error {
        /// The status.
        status: u16,
        /// Whether the request took effect all the same.
        applied: bool,
    },
    /// 200 with an `<Error>` in the body and no tag. Evaluated.
    ErrorInSuccess,
    /// Never evaluated, never answered; the connection stays open.
    Hang,
    /// The first so many keys of each page of a listing are left out, as if they were not there. Unfit.
    HidesFirst(usize),
    /// A page for people in the place of an answer, with this status: a gateway's. Not evaluated.
    Html(u16),
    /// No condition counts. Unfit.
    IgnoresConditions,
    /// `If-Match` does not count. Unfit.
    IgnoresMatch,
    /// The connection is closed at once, and the request lands this much later.
    Late(Duration),
    /// A key that was removed counts as existing when it is to be created, as where the mark of a deletion is taken for
    /// an object: 412, and a read finds nothing. Unfit.
    MarkerExists,
    /// `If-Match` on a key that does not exist answers 412, where S3 answers 404 `NoSuchKey`.
    MissingRejected,
    /// `If-Match` on a key that does not exist creates it. Unfit.
    MissingCreated,
    /// 403 for the reading of a key that does not exist, and for every listing: as S3 answers whoever may not list.
    MissingDenied,
    /// No `Date`.
    NoDate,
    /// No `Last-Modified`, neither in a header nor in a listing.
    NoModified,
    /// No `ETag`.
    NoTag,
    /// A page of a listing is cut off without a token that would say where to go on.
    NoToken,
    /// 301 `PermanentRedirect` without a location, as for a bucket in another region. Not evaluated.
    Moved,
    /// 412 although the condition may hold. Not evaluated. No store that does so is fit: nothing says that the
    /// write was not refused by right.
    Rejected,
    /// 307 `TemporaryRedirect` to an address where nobody is. Not evaluated.
    Redirect,
    /// A page of a listing says it goes on where it began.
    RepeatToken,
    /// 400 `RequestTimeout`: the server was tired of waiting for the request. Not evaluated.
    RequestTimeout,
    /// A page of a listing has at most this many keys.
    ShortPage(usize),
    /// The answer goes out one byte at a time, with this long between two.
    Slow(Duration),
    /// Half of the body under the length of the whole, and then nothing; the connection stays open.
    Stall,
    /// The server asks to slow down: 429 or 503, with this many seconds of `Retry-After` or none. Not evaluated.
    Throttle {
        /// 429 or 503.
        status: u16,
        /// The seconds in `Retry-After`.
        after: Option<u32>,
    },
    /// Half of the body under the length of the whole, and the connection closed.
    Truncate,
    /// The tag is a weak one, as a proxy that compresses makes it. Unfit.
    WeakTag,
    /// 400 `AuthorizationHeaderMalformed`, with the region that it expects. Not evaluated.
    WrongRegion,
    /// The tag is another version's.
    WrongTag,
}

/// The names that faults have on a command line, in the order of the alphabet, with what else they need.
const NAMES: &[(&str, Fault)] = &[
    ("301", Fault::Moved),
    ("307", Fault::Redirect),
    ("403", Fault::Denied),
    ("409", Fault::Conflict),
    ("412", Fault::Rejected),
    ("429", Fault::Throttle { status: 429, after: None }),
    ("429-after", Fault::Throttle { status: 429, after: Some(1) }),
    ("500", Fault::Error { status: 500, applied: false }),
    ("500-applied", Fault::Error { status: 500, applied: true }),
    ("502", Fault::Error { status: 502, applied: false }),
    ("503", Fault::Throttle { status: 503, after: None }),
    ("503-after", Fault::Throttle { status: 503, after: Some(1) }),
    ("504-applied", Fault::Error { status: 504, applied: true }),
    ("bare-tags", Fault::BareTags),
    ("checks-early", Fault::ChecksEarly),
    ("close-idle", Fault::CloseIdle),
    ("cut", Fault::CutAnswer(None)),
    ("cut-request", Fault::CutRequest(0)),
    ("date-ahead", Fault::DateAhead(3600)),
    ("date-behind", Fault::DateAhead(-3600)),
    ("delay", Fault::Delay(Duration::from_millis(300))),
    ("delay-answer", Fault::DelayAnswer(Duration::from_millis(300))),
    ("drop", Fault::Drop),
    ("empty", Fault::EmptyBody),
    ("error-in-200", Fault::ErrorInSuccess),
    ("expired-token", Fault::Expired),
    ("hang", Fault::Hang),
    ("hides-first", Fault::HidesFirst(1)),
    ("html-200", Fault::Html(200)),
    ("html-404", Fault::Html(404)),
    ("html-502", Fault::Html(502)),
    ("ignores-conditions", Fault::IgnoresConditions),
    ("ignores-if-match", Fault::IgnoresMatch),
    ("late", Fault::Late(Duration::from_secs(3))),
    ("marker-exists", Fault::MarkerExists),
    ("missing-created", Fault::MissingCreated),
    ("missing-denied", Fault::MissingDenied),
    ("missing-rejected", Fault::MissingRejected),
    ("no-date", Fault::NoDate),
    ("no-modified", Fault::NoModified),
    ("no-tag", Fault::NoTag),
    ("no-token", Fault::NoToken),
    ("repeat-token", Fault::RepeatToken),
    ("request-timeout", Fault::RequestTimeout),
    ("short-page", Fault::ShortPage(1)),
    ("slow", Fault::Slow(Duration::from_millis(300))),
    ("stall", Fault::Stall),
    ("truncate", Fault::Truncate),
    ("weak-tag", Fault::WeakTag),
    ("wrong-region", Fault::WrongRegion),
    ("wrong-tag", Fault::WrongTag),
];

impl Fault {
    /// Returns every fault that has a name, by its name.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        NAMES.iter().copied()
    }

    /// Returns the fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, fault)| *fault)
    }

    /// Tells whether a store with this fault cannot be used at all: its word on a condition, or on what there is, is
    /// worth nothing.
    pub const fn is_unfit(self) -> bool {
        matches!(
            self,
            Self::BareTags
                | Self::ChecksEarly
                | Self::HidesFirst(_)
                | Self::IgnoresConditions
                | Self::IgnoresMatch
                | Self::MarkerExists
                | Self::MissingCreated
                | Self::Rejected
                | Self::WeakTag
                | Self::WrongTag
        )
    }
}

impl fmt::Display for Fault {
    /// Writes the name, or what it is if it has none with these numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, fault)| fault == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{self:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, NAMES};

    #[test]
    fn every_name_means_one_fault_and_finds_it() {
        assert!(NAMES.is_sorted_by(|(a, _), (b, _)| a < b));
        for (name, fault) in Fault::all() {
            assert_eq!(Fault::named(name), Some(fault));
            assert_eq!(fault.to_string(), name);
        }
        assert_eq!(Fault::named("no-such"), None);
    }
}
