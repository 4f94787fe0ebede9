//! What befalls one request, sorted by stage: the one place where every [`Fault`] means something.

use core::time::Duration;

use crate::server::answer::{Answer, Content};
use crate::server::evaluate::{denied, rejected};
use crate::server::fault::Fault;
use crate::server::signature::expired;

/// The faults of one request, each beside what it means. By default all goes well.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    // On the way in.
    pub(crate) silence: Option<Fault>,
    pub(crate) checks_early: Option<Fault>,
    pub(crate) cut_request: Option<(Fault, usize)>,
    /// Said in the place of an evaluation.
    pub(crate) refusal: Option<(Fault, Answer)>,
    /// The connection is closed, and the evaluation comes this much later.
    pub(crate) late: Option<(Fault, Duration)>,
    pub(crate) delay: Option<(Fault, Duration)>,
    // While it is evaluated.
    pub(crate) conditions: Conditions,
    pub(crate) page: Page,
    pub(crate) hides_missing: Option<Fault>,
    // In the answer.
    /// Said in the place of what came of the evaluation.
    pub(crate) failure: Option<(Fault, Answer)>,
    pub(crate) delay_answer: Option<(Fault, Duration)>,
    pub(crate) drop: Option<Fault>,
    pub(crate) spoils: Vec<(Fault, Spoil)>,
    // On the way out.
    pub(crate) cut_answer: Option<(Fault, Option<usize>)>,
    pub(crate) pace: Option<(Fault, Duration)>,
    pub(crate) close: Option<Fault>,
}

/// What is wrong with the judging of conditions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) bare_tags: bool,
    pub(crate) ignores_all: bool,
    pub(crate) ignores_match: bool,
    pub(crate) marker_exists: bool,
    pub(crate) missing_created: bool,
    pub(crate) missing_rejected: bool,
    /// The faults behind all that.
    pub(crate) faults: Vec<Fault>,
}

/// What is wrong with a page of a listing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Page {
    pub(crate) hides_first: Option<(Fault, usize)>,
    pub(crate) has_no_modified: Option<Fault>,
    pub(crate) has_no_token: Option<Fault>,
    pub(crate) keys_max: Option<(Fault, usize)>,
    pub(crate) repeats_token: Option<Fault>,
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
        match fault {
            Fault::BareTags
            | Fault::IgnoresConditions
            | Fault::IgnoresMatch
            | Fault::MarkerExists
            | Fault::MissingCreated
            | Fault::MissingRejected => self.conditions.add(fault),
            Fault::ChecksEarly => self.checks_early = Some(fault),
            Fault::CloseIdle => self.close = Some(fault),
            Fault::Conflict => self.refuse(fault, conflict()),
            Fault::CutAnswer(after) => self.cut_answer = Some((fault, after)),
            Fault::CutRequest(after) => self.cut_request = Some((fault, after)),
            Fault::DateAhead(seconds) => self.spoil(fault, Spoil::DateAhead(seconds)),
            Fault::Delay(by) => self.delay = Some((fault, by)),
            Fault::DelayAnswer(by) => self.delay_answer = Some((fault, by)),
            Fault::Denied => self.refuse(fault, denied()),
            Fault::Drop => self.drop = Some(fault),
            Fault::EmptyBody => self.spoil(fault, Spoil::NoBody),
            Fault::Error { status, applied: true } => self.fail(fault, error(status)),
            Fault::Error { status, applied: false } => self.refuse(fault, error(status)),
            Fault::ErrorInSuccess => self.fail(fault, Answer { status: 200, ..error(500) }),
            Fault::Expired => self.refuse(fault, expired()),
            Fault::Hang => self.silence = Some(fault),
            Fault::HidesFirst(keys) => self.page.hides_first = Some((fault, keys)),
            Fault::Html(status) => self.refuse(fault, html(status)),
            Fault::Late(by) => self.late = Some((fault, by)),
            Fault::MissingDenied => self.hides_missing = Some(fault),
            Fault::Moved => self.refuse(fault, moved()),
            Fault::NoDate => self.spoil(fault, Spoil::NoDate),
            Fault::NoModified => {
                self.page.has_no_modified = Some(fault);
                self.spoil(fault, Spoil::NoModified);
            }
            Fault::NoTag => self.spoil(fault, Spoil::NoTag),
            Fault::NoToken => self.page.has_no_token = Some(fault),
            Fault::Redirect => self.refuse(fault, redirect()),
            Fault::Rejected => {
                // What has no condition cannot be told that it does not hold.
                if method == "PUT" {
                    self.refuse(fault, rejected());
                }
            }
            Fault::RepeatToken => self.page.repeats_token = Some(fault),
            Fault::RequestTimeout => self.refuse(fault, request_timeout()),
            Fault::ShortPage(keys) => self.page.keys_max = Some((fault, keys)),
            Fault::Slow(pace) => self.pace = Some((fault, pace)),
            Fault::Stall => self.spoil(fault, Spoil::Stalled),
            Fault::Throttle { status, after } => self.refuse(fault, throttle(status, after)),
            Fault::Truncate => self.spoil(fault, Spoil::Short),
            Fault::WeakTag => self.spoil(fault, Spoil::WeakTag),
            Fault::WrongRegion => self.refuse(fault, wrong_region()),
            Fault::WrongTag => self.spoil(fault, Spoil::WrongTag),
        }
    }

    fn refuse(&mut self, fault: Fault, answer: Answer) {
        self.refusal.get_or_insert((fault, answer));
    }

    fn fail(&mut self, fault: Fault, answer: Answer) {
        self.failure.get_or_insert((fault, answer));
    }

    fn spoil(&mut self, fault: Fault, spoil: Spoil) {
        self.spoils.push((fault, spoil));
    }
}

impl Conditions {
    fn add(&mut self, fault: Fault) {
        self.bare_tags |= fault == Fault::BareTags;
        self.ignores_all |= fault == Fault::IgnoresConditions;
        self.ignores_match |= fault == Fault::IgnoresMatch;
        self.marker_exists |= fault == Fault::MarkerExists;
        self.missing_created |= fault == Fault::MissingCreated;
        self.missing_rejected |= fault == Fault::MissingRejected;
        self.faults.push(fault);
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
    let etag = Some(format!("W/\"page-{status}\""));
    Answer { content, etag, is_foreign: true, ..Answer::status(status) }
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
