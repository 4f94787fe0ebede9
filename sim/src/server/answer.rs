//! An answer before it goes out: still in the terms of S3, so that a fault can spoil one part of it.

use core::fmt::Write as _;

use hyper::Response;
use hyper::header::HeaderValue;
use quick_xml::escape::escape;

use crate::server::clock;
use crate::server::evaluate::tag;
use crate::server::part::{Ending, Part};
use crate::server::plan::Spoil;

/// What the server says to one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) etag: Option<String>,
    /// `Last-Modified`, in seconds since 1970.
    pub(crate) modified: Option<i64>,
    /// `Date`, in seconds since 1970.
    pub(crate) date: Option<i64>,
    pub(crate) content: Content,
    /// Whether it comes from something before the store, and so without the store's id of the request.
    pub(crate) is_foreign: bool,
    /// Other headers.
    pub(crate) more: Vec<(&'static str, String)>,
    pub(crate) ending: Ending,
}

/// The body of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) enum Content {
    #[default]
    Nothing,
    /// An object.
    Bytes(std::sync::Arc<[u8]>),
    /// S3's error document, which names the request.
    Error { code: &'static str, message: String, more: String },
    /// A page for people.
    Html(String),
    /// A document.
    Xml(String),
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// An error as S3 tells it.
    pub(crate) fn error(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        let content = Content::Error { code, message: message.into(), more: String::new() };
        Self { content, ..Self::status(status) }
    }

    pub(crate) fn not_implemented(what: &str) -> Self {
        Self::error(501, "NotImplemented", format!("{what} is not among what this server does"))
    }

    /// Adds an element to the error document.
    pub(crate) fn with_detail(mut self, name: &str, value: &str) -> Self {
        if let Content::Error { more, .. } = &mut self.content {
            write!(more, "<{name}>{}</{name}>", escape(value)).expect("writing to a string cannot fail");
        }
        self
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.more.push((name, value.into()));
        self
    }

    /// Spoils one part of it; tells whether it had that part. There is no half of nothing.
    pub(crate) fn spoil(&mut self, spoil: Spoil) -> bool {
        let had = match spoil {
            Spoil::DateAhead(_) | Spoil::NoDate => self.date.is_some(),
            Spoil::NoBody | Spoil::Short | Spoil::Stalled => self.has_body(),
            Spoil::NoModified => self.modified.is_some(),
            Spoil::NoTag | Spoil::WeakTag | Spoil::WrongTag => self.etag.is_some(),
        };
        match spoil {
            Spoil::DateAhead(seconds) => self.date = self.date.map(|date| date.saturating_add(seconds)),
            Spoil::NoBody => self.content = Content::Nothing,
            Spoil::NoDate => self.date = None,
            Spoil::NoModified => self.modified = None,
            Spoil::NoTag => self.etag = None,
            Spoil::Short if self.has_body() => self.ending = Ending::Short,
            Spoil::Stalled if self.has_body() => self.ending = Ending::Stalled,
            Spoil::Short | Spoil::Stalled => {}
            Spoil::WeakTag => self.etag = self.etag.take().map(|etag| format!("W/{etag}")),
            // Any tag but that of what is there.
            Spoil::WrongTag => self.etag = self.etag.take().map(|etag| tag(etag.as_bytes())),
        }
        had
    }

    /// Returns a number of bytes that it has at least, head and body together.
    pub(crate) fn length_min(&self) -> usize {
        let body = match &self.content {
            Content::Nothing => 0,
            Content::Bytes(bytes) => bytes.len(),
            Content::Error { message, .. } => message.len(),
            Content::Html(text) | Content::Xml(text) => text.len(),
        };
        "HTTP/1.1 200 OK\r\n\r\n".len() + body
    }

    const fn has_body(&self) -> bool {
        !matches!(self.content, Content::Nothing)
    }

    /// Spells it out. `id` names the request, `resource` what it was about.
    pub(crate) fn into_response(self, id: &str, resource: &str) -> Response<Part> {
        let (kind, body) = match self.content {
            Content::Nothing => (None, Vec::new()),
            Content::Bytes(bytes) => (Some("application/octet-stream"), bytes.to_vec()),
            Content::Error { code, message, more } => {
                let (message, resource) = (escape(&message), escape(resource));
                let text = format!(
                    "{XML}<Error><Code>{code}</Code><Message>{message}</Message>{more}<Resource>{resource}</Resource>\
                     <RequestId>{id}</RequestId></Error>"
                );
                (Some("application/xml"), text.into_bytes())
            }
            Content::Html(text) => (Some("text/html"), text.into_bytes()),
            Content::Xml(text) => (Some("application/xml"), format!("{XML}{text}").into_bytes()),
        };
        let length = body.len();
        let part = Part::new(body, self.ending);
        let mut response = Response::new(part);
        *response.status_mut() = self.status.try_into().expect("every status here is one of HTTP's");
        let mut set = |name: &'static str, value: &str| {
            // A value that cannot stand in a header is left out: no answer of ours has one.
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().insert(name, value);
            }
        };
        if self.ending != Ending::Whole {
            set("content-length", &length.to_string());
        }
        if !self.is_foreign {
            set("x-amz-request-id", id);
        }
        for (name, value) in [
            ("content-type", kind.map(str::to_owned)),
            ("date", self.date.map(clock::http)),
            ("etag", self.etag),
            ("last-modified", self.modified.map(clock::http)),
        ] {
            if let Some(value) = value {
                set(name, &value);
            }
        }
        for (name, value) in &self.more {
            set(name, value);
        }
        response
    }
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
