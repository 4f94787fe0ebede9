//! The provider's request signature, version 4, built in one buffer that its owner reuses.
//!
//! A [`Draft`] appends URL and header values to the buffer, then the two texts that the signature is made
//! from (canonical request, string to sign), then the signature. Both texts stay in the buffer behind the
//! request, so that a test, or a person with a 403, can compare the stage that differs. The canonical path
//! and query *are* the bytes of the URL: nothing is encoded twice or in two ways.

use core::fmt;
use core::ops::Range;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use tenure_core::WallTime;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::credentials::Credentials;
use crate::encode::{hex, push_hex};

const ALGORITHM: &[u8] = b"AWS4-HMAC-SHA256";
const SERVICE: &[u8] = b"s3";
/// No request of ours has more headers, signature included.
const HEADERS_MAX: usize = 10;

/// A time as signatures spell it, `20130524T000000Z`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct AmzDate([u8; 16]);

impl AmzDate {
    pub(crate) fn new(at: WallTime) -> Self {
        let seconds = i64::try_from(at.as_millis() / 1000).unwrap_or(i64::MAX);
        // The clock's last second lies in the year 2554, well within the calendar.
        let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let mut text = *b"00000000T000000Z";
        let fields = [
            (0..4, u32::try_from(at.year()).unwrap_or_default()),
            (4..6, u32::from(u8::from(at.month()))),
            (6..8, u32::from(at.day())),
            (9..11, u32::from(at.hour())),
            (11..13, u32::from(at.minute())),
            (13..15, u32::from(at.second())),
        ];
        for (range, mut value) in fields {
            for digit in text[range].iter_mut().rev() {
                *digit = b'0' + u8::try_from(value % 10).unwrap_or_default();
                value /= 10;
            }
        }
        Self(text)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn date(&self) -> [u8; 8] {
        let mut date = [0; 8];
        date.copy_from_slice(&self.0[..8]);
        date
    }
}

/// The signing key of one day, made again only when the day changes.
pub(crate) struct KeyCache {
    made: Option<([u8; 8], Zeroizing<[u8; 32]>)>,
}

impl KeyCache {
    pub(crate) const fn new() -> Self {
        Self { made: None }
    }

    /// Drops the key, because the secret it was made from has changed.
    pub(crate) fn clear(&mut self) {
        self.made = None;
    }

    fn key(&mut self, credentials: &Credentials, date: [u8; 8], region: &str) -> &[u8; 32] {
        if self.made.as_ref().is_some_and(|(made_for, _)| *made_for != date) {
            self.made = None;
        }
        let (_, key) =
            self.made.get_or_insert_with(|| (date, derive_key(credentials.secret(), &date, region)));
        key
    }
}

/// Who signs, where and when.
pub(crate) struct Scope<'s> {
    pub(crate) credentials: &'s Credentials,
    pub(crate) region: &'s str,
    pub(crate) at: AmzDate,
}

/// One header: its name, and where in the buffer its value lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    start: usize,
    end: usize,
    signed: bool,
}

impl Field {
    const NONE: Self = Self { name: "", start: 0, end: 0, signed: false };

    pub(crate) fn value(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A request that is being built in its owner's buffer.
pub(crate) struct Draft<'b> {
    buf: &'b mut Vec<u8>,
    method: &'static str,
    /// Where the origin ends and the path starts.
    path: usize,
    /// Where the path ends and the query, if any, starts with `?`.
    query: usize,
    url: usize,
    fields: [Field; HEADERS_MAX],
    len: usize,
}

/// A finished request: ranges into the buffer it was built in.
#[derive(Clone, Copy)]
pub(crate) struct Signed<'b> {
    buf: &'b [u8],
    url: usize,
    fields: [Field; HEADERS_MAX],
    len: usize,
    canonical: (usize, usize),
    to_sign: (usize, usize),
}

impl<'b> Signed<'b> {
    pub(crate) fn url(&self) -> &'b str {
        core::str::from_utf8(&self.buf[..self.url]).expect("a URL is built from ASCII only")
    }

    /// Returns the headers, the signature last.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'static str, &'b [u8])> + use<'b> {
        let Self { buf, fields, len, .. } = *self;
        fields.into_iter().take(len).map(move |field| (field.name, &buf[field.value()]))
    }

    pub(crate) fn canonical_request(&self) -> &'b [u8] {
        &self.buf[self.canonical.0..self.canonical.1]
    }

    pub(crate) fn string_to_sign(&self) -> &'b [u8] {
        &self.buf[self.to_sign.0..self.to_sign.1]
    }
}

impl<'b> Draft<'b> {
    /// Clears the buffer and writes the URL: origin, encoded path, and an encoded query in canonical order.
    pub(crate) fn new(
        method: &'static str,
        buf: &'b mut Vec<u8>,
        origin: impl FnOnce(&mut Vec<u8>),
        path: impl FnOnce(&mut Vec<u8>),
        query: impl FnOnce(&mut Vec<u8>),
    ) -> Self {
        buf.clear();
        origin(buf);
        let path_at = buf.len();
        path(buf);
        let query_at = buf.len();
        query(buf);
        let url = buf.len();
        Self { buf, method, path: path_at, query: query_at, url, fields: [Field::NONE; HEADERS_MAX], len: 0 }
    }

    /// Adds a header that the signature covers. The name is in lower case.
    pub(crate) fn signed(&mut self, name: &'static str, value: &[u8]) {
        self.push(name, true, |buf| buf.extend_from_slice(value));
    }

    /// Adds a header that a proxy may change or drop without breaking the signature.
    pub(crate) fn unsigned(&mut self, name: &'static str, value: &[u8]) {
        self.push(name, false, |buf| buf.extend_from_slice(value));
    }

    fn push(&mut self, name: &'static str, signed: bool, value: impl FnOnce(&mut Vec<u8>)) {
        assert!(self.len < HEADERS_MAX, "every request of ours has its headers counted");
        let start = self.buf.len();
        value(self.buf);
        self.fields[self.len] = Field { name, start, end: self.buf.len(), signed };
        self.len += 1;
    }

    /// Signs what has been written, `payload` being the hexadecimal SHA-256 of the body.
    pub(crate) fn sign(mut self, payload: &[u8; 64], scope: &Scope<'_>, keys: &mut KeyCache) -> Signed<'b> {
        self.fields[..self.len].sort_unstable_by_key(|field| field.name);
        let canonical = self.push_canonical_request(payload);
        let to_sign = self.push_string_to_sign(canonical.clone(), scope);
        let key = keys.key(scope.credentials, scope.at.date(), scope.region);
        let signature = hmac(key, &[&self.buf[to_sign.clone()]]);
        let fields = self.fields;
        let len = self.len;
        self.push("authorization", false, |buf| {
            buf.extend_from_slice(ALGORITHM);
            buf.extend_from_slice(b" Credential=");
            buf.extend_from_slice(scope.credentials.access_key().as_bytes());
            buf.push(b'/');
            push_scope(scope, buf);
            buf.extend_from_slice(b",SignedHeaders=");
            push_signed_names(&fields[..len], buf);
            buf.extend_from_slice(b",Signature=");
            push_hex(&signature, buf);
        });
        Signed {
            buf: self.buf,
            url: self.url,
            fields: self.fields,
            len: self.len,
            canonical: (canonical.start, canonical.end),
            to_sign: (to_sign.start, to_sign.end),
        }
    }

    fn push_canonical_request(&mut self, payload: &[u8; 64]) -> Range<usize> {
        let start = self.buf.len();
        self.buf.extend_from_slice(self.method.as_bytes());
        self.buf.push(b'\n');
        self.buf.extend_from_within(self.path..self.query);
        self.buf.push(b'\n');
        // The query is kept with its question mark, which the canonical form has not.
        self.buf.extend_from_within((self.query + 1).min(self.url)..self.url);
        self.buf.push(b'\n');
        for field in self.fields[..self.len].iter().filter(|field| field.signed) {
            self.buf.extend_from_slice(field.name.as_bytes());
            self.buf.push(b':');
            push_folded(self.buf, field.value());
            self.buf.push(b'\n');
        }
        self.buf.push(b'\n');
        push_signed_names(&self.fields[..self.len], self.buf);
        self.buf.push(b'\n');
        self.buf.extend_from_slice(payload);
        start..self.buf.len()
    }

    fn push_string_to_sign(&mut self, canonical: Range<usize>, scope: &Scope<'_>) -> Range<usize> {
        let digest = Sha256::digest(&self.buf[canonical]);
        let start = self.buf.len();
        self.buf.extend_from_slice(ALGORITHM);
        self.buf.push(b'\n');
        self.buf.extend_from_slice(scope.at.as_bytes());
        self.buf.push(b'\n');
        push_scope(scope, self.buf);
        self.buf.push(b'\n');
        push_hex(&digest, self.buf);
        start..self.buf.len()
    }
}

impl fmt::Debug for Draft<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Returns the hexadecimal SHA-256 of a body.
pub(crate) fn payload_hash(body: &[u8]) -> [u8; 64] {
    let mut hash = [0; 64];
    for (pair, byte) in hash.as_chunks_mut::<2>().0.iter_mut().zip(Sha256::digest(body)) {
        *pair = hex(byte);
    }
    hash
}

fn push_scope(scope: &Scope<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&scope.at.date());
    out.push(b'/');
    out.extend_from_slice(scope.region.as_bytes());
    out.push(b'/');
    out.extend_from_slice(SERVICE);
    out.extend_from_slice(b"/aws4_request");
}

fn push_signed_names(fields: &[Field], out: &mut Vec<u8>) {
    let mut separator: &[u8] = b"";
    for field in fields.iter().filter(|field| field.signed) {
        out.extend_from_slice(separator);
        out.extend_from_slice(field.name.as_bytes());
        separator = b";";
    }
}

/// Appends a header's value as the signature wants it: trimmed, each run of blanks one blank.
fn push_folded(buf: &mut Vec<u8>, value: Range<usize>) {
    let start = buf.len();
    for at in value {
        let byte = buf[at];
        let blank = byte == b' ' || byte == b'\t';
        if !blank {
            buf.push(byte);
        } else if buf.len() > start && buf.last() != Some(&b' ') {
            buf.push(b' ');
        }
    }
    if buf.len() > start && buf.last() == Some(&b' ') {
        buf.pop();
    }
}

fn derive_key(secret: &str, date: &[u8; 8], region: &str) -> Zeroizing<[u8; 32]> {
    let mut first = Zeroizing::new(Vec::with_capacity(4 + secret.len()));
    first.extend_from_slice(b"AWS4");
    first.extend_from_slice(secret.as_bytes());
    let mut key = Zeroizing::new(hmac(&first, &[date]));
    for part in [region.as_bytes(), SERVICE, b"aws4_request"] {
        key = Zeroizing::new(hmac(&key[..], &[part]));
    }
    key
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
#[path = "sigv4_vectors.rs"]
mod vectors;
