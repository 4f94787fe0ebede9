//! Answers of the store turned into replies: the only place that knows status codes.
//!
//! [`classify`] says what an answer means, whoever asked; the four `*_reply` functions say what that means
//! for their kind of operation. A write is `Unknown` wherever the answer does not prove the contrary, and a
//! read is `Missing` only on the store's own word.

use core::time::Duration;

use tenure_core::{
    ETag, Fault, FaultKind, Guard, ListOp, ListReply, ReadOp, ReadReply, RemoveReply, Stamps, StoreTime,
    WallTime, WriteOp, WriteReply,
};

use crate::advice::is_about_checksum;
use crate::bucket::Bucket;
use crate::explain::{ErrorBody, MESSAGE_MAX, UNREADABLE, explain, printable};
use crate::list;
use crate::op::REPLY_MAX;
use crate::stamp::{http_date, retry_after};

/// An answer as it came over the wire, read to its end.
#[derive(Clone, Copy, Debug)]
pub struct Response<'b> {
    /// The status code.
    pub status: u16,
    /// The headers that matter.
    pub headers: ResponseHeaders<'b>,
    /// The whole body. One that is cut short or over the limit is a failure of the driver's, not an answer.
    pub body: &'b [u8],
}

impl Response<'_> {
    /// Returns the code and the message of the `<Error>` in the body, bounded and printable. Without one the code
    /// is empty, and the message how the body begins, if the status is no success.
    pub fn error(&self) -> (String, String) {
        let error = ErrorBody::of(self);
        (error.code, error.message)
    }
}

/// The headers of an answer that matter, as raw values.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseHeaders<'b> {
    /// `Content-Length`.
    pub content_length: Option<&'b [u8]>,
    /// `Date`.
    pub date: Option<&'b [u8]>,
    /// `ETag`.
    pub etag: Option<&'b [u8]>,
    /// `Last-Modified`.
    pub last_modified: Option<&'b [u8]>,
    /// `Location`.
    pub location: Option<&'b [u8]>,
    /// `x-amz-bucket-region`.
    pub region: Option<&'b [u8]>,
    /// `x-amz-request-id`.
    pub request_id: Option<&'b [u8]>,
    /// `Retry-After`.
    pub retry_after: Option<&'b [u8]>,
    /// `Transfer-Encoding`.
    pub transfer_encoding: Option<&'b [u8]>,
}

impl<'b> ResponseHeaders<'b> {
    /// Collects the headers from an HTTP client's own type; `lookup` gets names in lower case.
    pub fn collect(lookup: impl Fn(&str) -> Option<&'b [u8]>) -> Self {
        Self {
            content_length: lookup("content-length"),
            date: lookup("date"),
            etag: lookup("etag"),
            last_modified: lookup("last-modified"),
            location: lookup("location"),
            region: lookup("x-amz-bucket-region"),
            request_id: lookup("x-amz-request-id"),
            retry_after: lookup("retry-after"),
            transfer_encoding: lookup("transfer-encoding"),
        }
    }

    pub(crate) fn date(&self) -> Option<StoreTime> {
        self.date.and_then(http_date)
    }

    /// Returns how long the server asks to be left alone, if it says.
    pub fn pause(&self) -> Option<Duration> {
        self.retry_after.and_then(|value| retry_after(value, self.date()))
    }

    /// Returns what the answer shows of the store's clock. A stamp that cannot be read is none.
    pub fn stamps(&self) -> Stamps {
        Stamps { modified: self.last_modified.and_then(http_date), date: self.date() }
    }

    fn etag(&self) -> Option<ETag> {
        self.etag.and_then(ETag::new)
    }
}

/// What an answer is about, and what has been done about it.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The bucket that was asked.
    pub bucket: &'a Bucket,
    /// Whether the cause of a refused signature or token has been corrected since the request was signed:
    /// then the request may be sent again.
    pub corrected: bool,
    /// What this machine's clock said when the request was signed, if that is known.
    pub local: Option<WallTime>,
}

/// What an answer means, before it is asked what that means for a read or a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    /// The token of temporary credentials is no longer taken; the request was not evaluated.
    Expired,
    /// The guard did not hold.
    GuardFailed,
    /// A concurrent operation interfered.
    Interfered,
    /// The object does not exist, on the store's own word.
    NoObject,
    /// Never acceptable as it is.
    Refused(FaultKind),
    /// The signature's time is too far from the store's; the request was not evaluated.
    Skewed,
    /// It was done.
    Success,
    /// The store asks us to slow down; the request was not evaluated.
    Throttled,
    /// The version we named is still the current one.
    Unchanged,
    /// It may have been done or not.
    Unclear(FaultKind),
}

/// The table. The first row that fits counts; `-` is an answer that names no code.
///
/// | status | code | class |
/// | --- | --- | --- |
/// | 200, 201, 204 | - | `Success` |
/// | 200, 201, 204 | any: an error in a body that promised success (BL-38) | `Unclear` |
/// | 304 | | `Unchanged` |
/// | 4xx | `RequestTimeout` (BL-19: the connection was idle or slow) | `Unclear` |
/// | 408 | | `Unclear` |
/// | 400, 401, 403 | `RequestTimeTooSkewed` | `Skewed` |
/// | 400, 401, 403 | `ExpiredToken`, `InvalidToken`, `InvalidTokenId`, `TokenRefreshRequired` | `Expired` |
/// | 400, 403, 503 | `SlowDown`, `Throttling...`, `KMS.Throttling...`: the keys' service, for one | `Throttled` |
/// | 404 | `NoSuchKey` | `NoObject` |
/// | 404 | - with an empty body and a request id | `NoObject` |
/// | 404 | any other: no such bucket, or no S3 at this address | `Refused(Config)` |
/// | 409 | `ConditionalRequestConflict`, `OperationAborted` | `Interfered` |
/// | 409 | - or unreadable | `Unclear` |
/// | 409 | any other: the bucket's state, a locked object | `Refused(Config)` |
/// | 412 | | `GuardFailed` |
/// | 429 | | `Throttled` |
/// | 401, 403 | | `Refused(Denied)` |
/// | 400 | `IncompleteBody` (the connection broke, the store noticed first) | `Unclear` |
/// | 3xx, 400, 407 | wrong region, redirect, malformed, a proxy that wants a password | `Refused(Config)` |
/// | 501 | about the checksum that a setting adds (BL-10) | `Refused(Config)` |
/// | 405, 501 | the store cannot do it | `Refused(Unfit)` |
/// | other 5xx | | `Unclear` |
/// | anything else | | `Unclear` |
///
/// A 404 without a code comes from whatever stands between us and the store as often as from the store: a
/// gateway that is being redeployed answers it for every key. Taken for `Missing`, it would end every
/// tenure of a fleet at once, so it counts only if the answer is empty (the body of a page not found is
/// not) and carries the request id that S3 servers give.
pub(crate) fn classify(response: &Response<'_>, code: &str) -> Class {
    let signed_by_store = response.body.is_empty() && response.headers.request_id.is_some();
    match (response.status, code) {
        (200 | 201 | 204, "") => Class::Success,
        (200 | 201 | 204, _) => Class::Unclear(FaultKind::Unavailable),
        (304, _) => Class::Unchanged,
        (400..=499, "RequestTimeout") | (408, _) => Class::Unclear(FaultKind::TimedOut),
        (400 | 401 | 403, "RequestTimeTooSkewed") => Class::Skewed,
        (400 | 401 | 403, "ExpiredToken" | "InvalidToken" | "InvalidTokenId" | "TokenRefreshRequired") => {
            Class::Expired
        }
        (400 | 403 | 503, code) if is_throttling(code) => Class::Throttled,
        (404, "NoSuchKey") => Class::NoObject,
        (404, "") if signed_by_store => Class::NoObject,
        (404, _) => Class::Refused(FaultKind::Config),
        (409, "ConditionalRequestConflict" | "OperationAborted") => Class::Interfered,
        (409, "" | UNREADABLE) => Class::Unclear(FaultKind::Malformed),
        (409, _) => Class::Refused(FaultKind::Config),
        (412, _) => Class::GuardFailed,
        (429, _) => Class::Throttled,
        (401 | 403, _) => Class::Refused(FaultKind::Denied),
        (400, "IncompleteBody") => Class::Unclear(FaultKind::Network),
        (300..=399 | 400 | 407, _) => Class::Refused(FaultKind::Config),
        (405 | 501, _) => Class::Refused(FaultKind::Unfit),
        (500..=599, _) => Class::Unclear(FaultKind::Unavailable),
        _ => Class::Unclear(FaultKind::Malformed),
    }
}

/// An answer, classified, with what is needed to explain it.
struct Verdict<'v> {
    class: Class,
    error: ErrorBody,
    about: &'v About<'v>,
    subject: &'v str,
    response: &'v Response<'v>,
}

impl<'v> Verdict<'v> {
    fn new(about: &'v About<'v>, subject: &'v str, response: &'v Response<'v>) -> Self {
        let error = ErrorBody::of(response);
        let mut class = classify(response, &error.code);
        if class == Class::Refused(FaultKind::Unfit) && response.status == 501 && is_about_checksum(&error) {
            class = Class::Refused(FaultKind::Config);
        }
        Self { class, error, about, subject, response }
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        explain(kind, self.about, self.subject, self.response, &self.error)
    }

    /// Says why a success is none.
    fn page(&self) -> Fault {
        let (subject, status) = (printable(self.subject, MESSAGE_MAX), self.response.status);
        let why = "with a page of something between here and the store";
        Fault::new(FaultKind::Malformed, format!("{subject} answered {status} {why}"))
    }

    fn after(&self) -> Option<Duration> {
        self.response.headers.pause()
    }

    /// Says why this answer is of no use to anything but a write.
    fn failure(&self) -> Fault {
        self.fault(match self.class {
            // Corrected, it is worth asking again, which a denial is not.
            Class::Expired | Class::Skewed if self.about.corrected => FaultKind::Unavailable,
            Class::Expired | Class::Skewed => FaultKind::Denied,
            Class::Interfered => FaultKind::Unavailable,
            Class::Throttled => FaultKind::Throttled,
            Class::Refused(kind) | Class::Unclear(kind) => kind,
            Class::GuardFailed | Class::NoObject | Class::Success | Class::Unchanged => FaultKind::Malformed,
        })
    }
}

/// Turns the answer to a read into its reply.
///
/// A page of a gateway is no record, nor a corrupt one: markup without the request id that S3 servers give.
pub fn read_reply(about: &About<'_>, op: &ReadOp, response: &Response<'_>) -> ReadReply {
    let verdict = Verdict::new(about, op.key.as_str(), response);
    match verdict.class {
        Class::Success => match response.headers.etag() {
            Some(_) if is_page(response) && is_markup(response) => ReadReply::Failed(verdict.page()),
            Some(etag) if response.status == 200 && (is_whole(response) || is_cut_by_us(response)) => {
                ReadReply::Found { etag, body: response.body.into(), stamps: response.headers.stamps() }
            }
            Some(_) | None => ReadReply::Failed(verdict.failure()),
        },
        Class::Unchanged if op.unless.is_some() => ReadReply::Unchanged(response.headers.stamps()),
        Class::NoObject => ReadReply::Missing,
        Class::Throttled => ReadReply::Throttled { after: verdict.after() },
        Class::Expired
        | Class::GuardFailed
        | Class::Interfered
        | Class::Refused(_)
        | Class::Skewed
        | Class::Unchanged
        | Class::Unclear(_) => ReadReply::Failed(verdict.failure()),
    }
}

/// Turns the answer to a write into its reply.
///
/// A weak tag is handed on as it is (BL-40): no compare-and-swap can match it, and the engine says so. A page is no
/// proof of a write, whatever its status and its tag: a body without the request id that S3 servers give.
pub fn write_reply(about: &About<'_>, op: &WriteOp, response: &Response<'_>) -> WriteReply {
    let verdict = Verdict::new(about, op.key.as_str(), response);
    match verdict.class {
        Class::Success => match response.headers.etag() {
            Some(_) if is_page(response) => WriteReply::Unknown(verdict.page()),
            Some(etag) => WriteReply::Applied { etag },
            None => WriteReply::Unknown(verdict.fault(FaultKind::Malformed)),
        },
        Class::NoObject => match op.guard {
            // A create needs no object to be there, so the store has not judged this guard.
            Guard::Absent => WriteReply::NotApplied(verdict.fault(FaultKind::Unfit)),
            Guard::Match(_) => WriteReply::Rejected,
        },
        Class::GuardFailed => WriteReply::Rejected,
        Class::Interfered => WriteReply::Conflict,
        Class::Throttled => WriteReply::Throttled { after: verdict.after() },
        Class::Expired | Class::Skewed if about.corrected => WriteReply::NotApplied(verdict.failure()),
        Class::Expired | Class::Refused(_) | Class::Skewed => WriteReply::Refused(verdict.failure()),
        Class::Unchanged | Class::Unclear(_) => WriteReply::Unknown(verdict.failure()),
    }
}

/// Turns the answer to a list into its reply.
pub fn list_reply(about: &About<'_>, op: &ListOp, response: &Response<'_>) -> ListReply {
    let verdict = Verdict::new(about, &op.prefix, response);
    match verdict.class {
        Class::Success if response.status == 200 && is_whole(response) => {
            match list::parse(response.body, about.bucket, op) {
                Ok(page) => ListReply::Page(tenure_core::Page { date: response.headers.date(), ..page }),
                Err(why) => {
                    // The reason quotes what the store sent.
                    let why = printable(&why, MESSAGE_MAX);
                    let detail = format!("the listing of {} cannot be used: {why}", op.prefix);
                    ListReply::Failed(Fault::new(FaultKind::Malformed, detail))
                }
            }
        }
        Class::Throttled => ListReply::Throttled { after: verdict.after() },
        Class::Expired
        | Class::GuardFailed
        | Class::Interfered
        | Class::NoObject
        | Class::Refused(_)
        | Class::Skewed
        | Class::Success
        | Class::Unchanged
        | Class::Unclear(_) => ListReply::Failed(verdict.failure()),
    }
}

/// Turns the answer to a remove into its reply.
pub fn remove_reply(about: &About<'_>, op: &tenure_core::RemoveOp, response: &Response<'_>) -> RemoveReply {
    let verdict = Verdict::new(about, op.key.as_str(), response);
    match verdict.class {
        Class::NoObject | Class::Success => RemoveReply::Removed,
        Class::Expired
        | Class::GuardFailed
        | Class::Interfered
        | Class::Refused(_)
        | Class::Skewed
        | Class::Throttled
        | Class::Unchanged
        | Class::Unclear(_) => RemoveReply::Failed(verdict.failure()),
    }
}

/// Returns the store's time if it refused the signature for its time, so that the caller can sign with that.
pub(crate) fn skewed(response: &Response<'_>) -> Option<StoreTime> {
    let error = ErrorBody::of(response);
    if classify(response, &error.code) != Class::Skewed {
        return None;
    }
    store_time(response, &error)
}

/// Tells whether the store no longer takes the credentials.
pub(crate) fn is_expired(response: &Response<'_>) -> bool {
    classify(response, &ErrorBody::of(response).code) == Class::Expired
}

/// Returns what the store's clock says, by the answer's head or by its error.
pub(crate) fn store_time(response: &Response<'_>, error: &ErrorBody) -> Option<StoreTime> {
    response.headers.date().or(error.server_time)
}

/// `SlowDownRead` and `SlowDownWrite` are not among them: some stores say so of a write that too few of their
/// disks have confirmed, which may have been applied.
fn is_throttling(code: &str) -> bool {
    let code = code.strip_prefix("KMS.").unwrap_or(code);
    matches!(
        code,
        "RequestLimitExceeded" | "SlowDown" | "Throttling" | "ThrottlingException" | "TooManyRequests"
    )
}

/// Tells whether an answer to a write, or one that is markup, comes from whatever stands between us and the store: a
/// gateway that is being redeployed answers every method with a page, and its framework gives each page a tag. Stores
/// answer a write without a body, or else with the request id that S3 servers give.
fn is_page(response: &Response<'_>) -> bool {
    !response.body.is_empty() && response.headers.request_id.is_none()
}

/// Tells whether the body is a page or a document, as no record is.
fn is_markup(response: &Response<'_>) -> bool {
    response.body.trim_ascii_start().starts_with(b"<")
}

/// Tells whether the end of the body is known to be its end, rather than that of a connection cut short.
fn is_whole(response: &Response<'_>) -> bool {
    match response.headers.content_length {
        Some(length) => {
            core::str::from_utf8(length).ok().and_then(|text| text.trim().parse().ok())
                == Some(response.body.len())
        }
        None => response.headers.transfer_encoding.is_some(),
    }
}

/// Tells whether no more of the body was read because it is too long for a record as it is. That is an answer: whoever
/// reads such a record must learn that it is corrupt, and its tag.
fn is_cut_by_us(response: &Response<'_>) -> bool {
    response.body.len() > REPLY_MAX
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
