//! What befalls one request, sorted by stage: the one place where every [`Fault`] means something.

use core::time::Duration;

use crate::server::answer::{Answer, Content};
use crate::server::evaluate::{denied, rejected};
use crate::server::fault::Fault;
use crate::server::signature::expired;

/// The faults of one request. By default all goes well.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    // On the way in.
    pub(crate) is_silent: bool,
    pub(crate) checks_early: bool,
    pub(crate) cut_request: Option<usize>,
    /// Said in the place of an evaluation.
    pub(crate) refusal: Option<Answer>,
    /// The connection is closed, and the evaluation comes this much later.
    pub(crate) late: Option<Duration>,
    pub(crate) delay: Option<Duration>,
    // While it is evaluated.
    pub(crate) conditions: Conditions,
    pub(crate) page: Page,
    pub(crate) hides_missing: bool,
    // In the answer.
    /// Said in the place of what came of the evaluation.
    pub(crate) failure: Option<Answer>,
    pub(crate) delay_answer: Option<Duration>,
    pub(crate) is_dropped: bool,
    pub(crate) spoils: Vec<Spoil>,
    // On the way out.
    pub(crate) cut_answer: Option<Option<usize>>,
    pub(crate) pace: Option<Duration>,
    pub(crate) closes: bool,
}

/// What is wrong with the judging of conditions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) bare_tags: bool,
    pub(crate) ignores_all: bool,
    pub(crate) ignores_match: bool,
    pub(crate) missing_created: bool,
    pub(crate) missing_rejected: bool,
}

/// What is wrong with a page of a listing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Page {
    pub(crate) has_no_modified: bool,
    pub(crate) has_no_token: bool,
    pub(crate) keys_max: Option<usize>,
    pub(crate) repeats_token: bool,
}

/// What is wrong with one part of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spoil {
    DateAhead(i64),
    NoBody,
    NoDate,
    NoModified,
    NoTag,
    Short,
    Stalled,
    WeakTag,
    WrongTag,
}

impl Plan {
    /// Sorts the faults of a request. Of two that cannot both happen the first does.
    pub(crate) fn of(faults: &[Fault], method: &str) -> Self {
        let mut plan = Self::default();
        for fault in faults {
            plan.add(*fault, method);
        }
        plan
    }

    fn add(&mut self, fault: Fault, method: &str) {
        let refuse = |plan: &mut Self, answer: Answer| {
            plan.refusal.get_or_insert(answer);
        };
        match fault {
            Fault::BareTags => self.conditions.bare_tags = true,
            Fault::ChecksEarly => self.checks_early = true,
            Fault::CloseIdle => self.closes = true,
            Fault::Conflict => refuse(self, conflict()),
            Fault::CutAnswer(after) => self.cut_answer = Some(after),
            Fault::CutRequest(after) => self.cut_request = Some(after),
            Fault::DateAhead(seconds) => self.spoils.push(Spoil::DateAhead(seconds)),
            Fault::Delay(by) => self.delay = Some(by),
            Fault::DelayAnswer(by) => self.delay_answer = Some(by),
            Fault::Denied => refuse(self, denied()),
            Fault::Drop => self.is_dropped = true,
            Fault::EmptyBody => self.spoils.push(Spoil::NoBody),
            Fault::Error { status, applied: true } => {
                self.failure.get_or_insert_with(|| error(status));
            }
            Fault::Error { status, applied: false } => refuse(self, error(status)),
            Fault::ErrorInSuccess => {
                self.failure.get_or_insert_with(|| Answer { status: 200, ..error(500) });
            }
            Fault::Expired => refuse(self, expired()),
            Fault::Hang => self.is_silent = true,
            Fault::Html(status) => refuse(self, html(status)),
            Fault::IgnoresConditions => self.conditions.ignores_all = true,
            Fault::IgnoresMatch => self.conditions.ignores_match = true,
            Fault::Late(by) => self.late = Some(by),
            Fault::MissingCreated => self.conditions.missing_created = true,
            Fault::MissingDenied => self.hides_missing = true,
            Fault::MissingRejected => self.conditions.missing_rejected = true,
            Fault::Moved => refuse(self, moved()),
            Fault::NoDate => self.spoils.push(Spoil::NoDate),
            Fault::NoModified => {
                self.page.has_no_modified = true;
                self.spoils.push(Spoil::NoModified);
            }
            Fault::NoTag => self.spoils.push(Spoil::NoTag),
            Fault::NoToken => self.page.has_no_token = true,
            Fault::Redirect => refuse(self, redirect()),
            Fault::Rejected => {
                // What has no condition cannot be told that it does not hold.
                if method == "PUT" {
                    refuse(self, rejected());
                }
            }
            Fault::RepeatToken => self.page.repeats_token = true,
            Fault::RequestTimeout => refuse(self, request_timeout()),
            Fault::ShortPage(keys) => self.page.keys_max = Some(keys),
            Fault::Slow(pace) => self.pace = Some(pace),
            Fault::Stall => self.spoils.push(Spoil::Stalled),
            Fault::Throttle { status, after } => refuse(self, throttle(status, after)),
            Fault::Truncate => self.spoils.push(Spoil::Short),
            Fault::WeakTag => self.spoils.push(Spoil::WeakTag),
            Fault::WrongRegion => refuse(self, wrong_region()),
            Fault::WrongTag => self.spoils.push(Spoil::WrongTag),
        }
    }
}

fn conflict() -> Answer {
    let message =
        "The conditional request cannot succeed due to a conflicting operation against this resource.";
    Answer::error(409, "ConditionalRequestConflict", message)
}

fn error(status: u16) -> Answer {
    let code = match status {
        501 => "NotImplemented",
        502 => "BadGateway",
        503 => "ServiceUnavailable",
        504 => "GatewayTimeout",
        _ => "InternalError",
    };
    Answer::error(status, code, "We encountered an internal error. Please try again.")
}

/// A page of something that stands before the store. Web frameworks give their pages tags, whatever the method.
fn html(status: u16) -> Answer {
    let content = Content::Html(format!("<html><body><h1>{status}</h1></body></html>"));
    Answer { content, etag: Some(format!("W/\"page-{status}\"")), ..Answer::status(status) }
}

fn moved() -> Answer {
    let message = "The bucket you are attempting to access must be addressed using the specified endpoint.";
    Answer::error(301, "PermanentRedirect", message).with("x-amz-bucket-region", ELSEWHERE)
}

fn redirect() -> Answer {
    let message = "Please re-send this request to the specified temporary endpoint.";
    Answer::error(307, "TemporaryRedirect", message).with("location", "http://127.0.0.1:1/")
}

fn request_timeout() -> Answer {
    let message =
        "Your socket connection to the server was not read from or written to within the timeout period.";
    Answer::error(400, "RequestTimeout", message)
}

fn throttle(status: u16, after: Option<u32>) -> Answer {
    let code = if status == 429 { "TooManyRequests" } else { "SlowDown" };
    let answer = Answer::error(status, code, "Please reduce your request rate.");
    match after {
        Some(seconds) => answer.with("retry-after", seconds.to_string()),
        None => answer,
    }
}

fn wrong_region() -> Answer {
    let message =
        format!("The authorization header is malformed; the region is wrong; expecting '{ELSEWHERE}'");
    Answer::error(400, "AuthorizationHeaderMalformed", message).with_detail("Region", ELSEWHERE)
}

/// The region in which the bucket is said to be when it is not here.
const ELSEWHERE: &str = "eu-elsewhere-1";
