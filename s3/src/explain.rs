//! What an answer says, for people: the store's code and message, the key, and what to do about it.
//!
//! Every part is bounded and printable, whatever the store sent. Nothing of the request but the key is
//! repeated, so no secret can get in.

use core::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::events::Event;
use tenure_core::{Fault, FaultKind, StoreTime};

use crate::bucket::Bucket;
use crate::response::Response;
use crate::stamp::iso_date;
use crate::xml::walk;

/// Stands for the code of an error document that names none or is not well formed.
pub(crate) const UNREADABLE: &str = "Unreadable";

const CODE_MAX: usize = 64;
pub(crate) const MESSAGE_MAX: usize = 200;
const SUBJECT_MAX: usize = 300;

/// The `<Error>` document of an answer; every part is empty if there is none.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    pub(crate) code: String,
    pub(crate) server_time: Option<StoreTime>,
    endpoint: String,
    message: String,
    region: String,
    request_id: String,
}

impl ErrorBody {
    /// Reads the error in an answer, also in one whose status promised success.
    ///
    /// An error document that names no code, or is not well formed, has the code [`UNREADABLE`]: the answer is
    /// an error all the same.
    pub(crate) fn of(response: &Response<'_>) -> Self {
        if !is_error_document(response.body) {
            let message = if response.status >= 300 { snippet(response.body) } else { String::new() };
            return Self { message, ..Self::default() };
        }
        let mut error = Self::default();
        let read = walk(response.body, |path, text| {
            let [root, name] = path else { return };
            if root != "Error" {
                return;
            }
            match name.as_str() {
                "Code" => error.code = printable(text, CODE_MAX),
                "Endpoint" => error.endpoint = printable(text, MESSAGE_MAX),
                "Message" => error.message = printable(text, MESSAGE_MAX),
                "Region" => error.region = printable(text, CODE_MAX),
                "RequestId" => error.request_id = printable(text, CODE_MAX),
                "ServerTime" => error.server_time = iso_date(text),
                _ => {}
            }
        });
        if read.is_err() || error.code.is_empty() {
            return Self { code: UNREADABLE.into(), message: snippet(response.body), ..Self::default() };
        }
        error
    }
}

/// Builds the fault of an answer.
pub(crate) fn explain(
    kind: FaultKind,
    bucket: &Bucket,
    subject: &str,
    response: &Response<'_>,
    error: &ErrorBody,
) -> Fault {
    let mut text = format!("{} answered {}", printable(subject, SUBJECT_MAX), response.status);
    let mut add = |part: core::fmt::Arguments<'_>| {
        text.write_fmt(part).expect("writing to a string cannot fail");
    };
    if !error.code.is_empty() {
        add(format_args!(" {}", error.code));
    }
    if !error.message.is_empty() {
        add(format_args!(" ({})", error.message));
    }
    let from_header = response.headers.request_id.map(|id| printable(&String::from_utf8_lossy(id), CODE_MAX));
    let request_id = from_header.unwrap_or_else(|| error.request_id.clone());
    if !request_id.is_empty() {
        add(format_args!(", request {request_id}"));
    }
    if let Some(advice) = advice(kind, bucket, response, error) {
        add(format_args!("; {advice}"));
    }
    Fault::new(kind, text)
}

/// Says what to do, where something can be done.
fn advice(kind: FaultKind, bucket: &Bucket, response: &Response<'_>, error: &ErrorBody) -> Option<String> {
    let header = |value: Option<&[u8]>| {
        value.map(|value| printable(&String::from_utf8_lossy(value), MESSAGE_MAX)).unwrap_or_default()
    };
    let either = |first: String, second: &str| if first.is_empty() { second.to_owned() } else { first };
    let ours = bucket.region();
    let region = either(header(response.headers.region), &error.region);
    // BL-14: a wrong region shows itself as a redirect or as a 400.
    if matches!(response.status, 300..=400) && !region.is_empty() && region != ours {
        return Some(format!(
            "requests are signed for region {ours}, the bucket is in {region}: set AWS_REGION to it"
        ));
    }
    let text = match (response.status, error.code.as_str()) {
        (300..=399, _) => {
            let to = either(header(response.headers.location), &error.endpoint);
            let to = either(to, "another address");
            format!("it redirects to {to}, which is not followed: correct AWS_ENDPOINT_URL_S3 or AWS_REGION")
        }
        (_, "AuthorizationHeaderMalformed") => {
            format!("requests are signed for region {ours}: correct AWS_REGION")
        }
        (_, "NoSuchBucket") => {
            format!("create the bucket {} or correct the store's URL", bucket.name())
        }
        (404 | 405, "") => format!("is {} an S3 endpoint? correct AWS_ENDPOINT_URL_S3", bucket.host()),
        (_, "RequestTimeTooSkewed") => "this machine's clock is off: set it".into(),
        (_, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
            "get fresh credentials (AWS_SESSION_TOKEN)".into()
        }
        (_, "InvalidAccessKeyId" | "SignatureDoesNotMatch") => {
            "correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into()
        }
        (_, "MissingContentMD5" | "XAmzContentSHA256Mismatch") => {
            "something between here and the store changes or misses the body's checksum".into()
        }
        (409, _) => "look at the bucket's state and its object lock".into(),
        (407, _) => "the HTTP proxy wants a password: correct HTTPS_PROXY or NO_PROXY".into(),
        (501, _) => "it cannot do conditional writes, which ownership rests on: use another store".into(),
        // BL-15: without the right to list, even a missing key is denied.
        (_, _) if kind == FaultKind::Denied => {
            format!("grant s3:GetObject, s3:PutObject and s3:ListBucket on {bucket}")
        }
        (200..=299, "") if response.headers.etag.is_none_or(<[u8]>::is_empty) => "it has no ETag".into(),
        (200..=299, "") => "it does not say how long it is, or is shorter".into(),
        (_, _) => return None,
    };
    Some(text)
}

/// Tells whether the first element of a body is an `<Error>`; the rest is not looked at.
fn is_error_document(body: &[u8]) -> bool {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    if !start.starts_with(b"<") {
        return false;
    }
    let text = match core::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) => core::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(Event::Start(root) | Event::Empty(root)) => return root.local_name().as_ref() == "Error",
            Ok(Event::Comment(_) | Event::Decl(_) | Event::DocType(_) | Event::PI(_) | Event::Text(_)) => {}
            Ok(Event::CData(_) | Event::End(_) | Event::Eof | Event::GeneralRef(_)) | Err(_) => return false,
        }
    }
}

/// Returns the start of a body that is no error document: a gateway's page often says what is wrong.
fn snippet(body: &[u8]) -> String {
    let start = &body[..body.len().min(4 * MESSAGE_MAX)];
    printable(&String::from_utf8_lossy(start), 80)
}

/// Returns at most `max` characters, each run of blanks and control characters one blank.
pub(crate) fn printable(text: &str, max: usize) -> String {
    let mut out = String::new();
    for char in text.trim().chars().take(max) {
        if !(char.is_whitespace() || char.is_control()) {
            out.push(char);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}
