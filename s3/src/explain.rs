//! What an answer says, for people: the key, the store's status, code, message and request id, and advice.
//!
//! Every part is bounded and printable, whatever the store sent. Nothing of the request but the key is
//! repeated, so no secret can get in.

use core::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::events::Event;
use tenure_core::{Fault, FaultKind, StoreTime};

use crate::advice::advice;
use crate::response::{About, Response};
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
    pub(crate) endpoint: String,
    /// The header that the store cannot take, of a 501.
    pub(crate) header: String,
    pub(crate) message: String,
    pub(crate) region: String,
    request_id: String,
    pub(crate) server_time: Option<StoreTime>,
    /// The headers that the signature should have covered.
    pub(crate) unsigned: String,
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
                "Header" => error.header = printable(text, CODE_MAX),
                "HeadersNotSigned" => error.unsigned = printable(text, MESSAGE_MAX),
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
    about: &About<'_>,
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
    if let Some(advice) = advice(kind, about, response, error) {
        add(format_args!("; {advice}"));
    }
    Fault::new(kind, text)
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
