//! Operations turned into requests: method, URL and headers.
//!
//! A body is sent whole, with the SHA-256 that its signature covers and no other checksum unless the store's
//! dialect says so (BL-10). What a
//! write's guard says stands in one signed header, so that a middlebox that drops it breaks the signature
//! instead of the guard (BL-44).

use core::fmt;

use tenure_core::{Guard, ListOp, ReadOp, RemoveOp, WriteOp};

use crate::bucket::Bucket;
use crate::checksum;
use crate::dialect::IfMatch;
use crate::encode::{Slash, percent_encode};
use crate::signer::SignedAt;
use crate::sigv4::{Draft, Signed};

/// A method of HTTP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    /// Removes an object.
    Delete,
    /// Reads an object, or lists.
    Get,
    /// Writes an object.
    Put,
}

impl Method {
    /// Returns the method as it stands in a request.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Put => "PUT",
        }
    }
}

/// A signed request, for any HTTP client that sends URL and headers as they are.
///
/// The client adds `Content-Length`, and may add hop-by-hop headers and `User-Agent`; none of them is signed.
/// It must not follow redirects, send again, or decode the answer's body.
#[derive(Clone, Copy)]
pub struct Request<'b> {
    /// The method.
    pub method: Method,
    /// The absolute URL, encoded once: not to be encoded or normalised again.
    pub url: &'b str,
    /// The headers, `host` among them.
    pub headers: Headers<'b>,
    /// The body; empty unless this is a write.
    pub body: &'b [u8],
    /// When and with what this was signed; to be handed back with the answer.
    pub signed_at: SignedAt,
}

impl<'b> Request<'b> {
    pub(crate) fn new(method: Method, signed: Signed<'b>, body: &'b [u8], signed_at: SignedAt) -> Self {
        Self { method, url: signed.url(), headers: Headers { signed }, body, signed_at }
    }

    /// Returns the canonical request that the signature was made from: what a store that answers
    /// `SignatureDoesNotMatch` shows as its own. It contains the session token, if there is one.
    pub fn canonical_request(&self) -> &'b [u8] {
        self.headers.signed.canonical_request()
    }

    /// Returns the string to sign.
    pub fn string_to_sign(&self) -> &'b [u8] {
        self.headers.signed.string_to_sign()
    }
}

impl fmt::Debug for Request<'_> {
    /// Shows no header: signature and token are among them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {})", self.method.as_str(), self.url)
    }
}

/// The headers of a signed request.
#[derive(Clone, Copy)]
pub struct Headers<'b> {
    signed: Signed<'b>,
}

impl<'b> Headers<'b> {
    /// Returns names, in lower case, and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'b [u8])> + use<'b> {
        self.signed.headers()
    }
}

impl fmt::Debug for Headers<'_> {
    /// Shows no value: signature and token are among them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

pub(crate) fn read<'b>(bucket: &Bucket, op: &ReadOp, buf: &'b mut Vec<u8>) -> Draft<'b> {
    let mut draft = object(Method::Get, bucket, op.key.as_str(), buf);
    if let Some(etag) = &op.unless {
        draft.signed("if-none-match", etag.as_bytes());
    }
    draft
}

pub(crate) fn write<'b>(bucket: &Bucket, op: &WriteOp, buf: &'b mut Vec<u8>) -> Draft<'b> {
    let mut draft = object(Method::Put, bucket, op.key.as_str(), buf);
    // BL-40: a proxy that compresses what it stores or serves weakens the tag.
    draft.unsigned("cache-control", b"no-transform");
    match &op.guard {
        Guard::Absent => draft.signed("if-none-match", b"*"),
        Guard::Match(etag) => {
            let spelling = bucket.dialect().if_match.unwrap_or(IfMatch::Verbatim);
            draft.signed("if-match", spelling.spell(etag.as_bytes()));
        }
    }
    if let Some(checksum) = bucket.dialect().checksum {
        let (name, value) = checksum::header(checksum, &op.body);
        draft.signed(name, value.as_bytes());
    }
    draft
}

pub(crate) fn remove<'b>(bucket: &Bucket, op: &RemoveOp, buf: &'b mut Vec<u8>) -> Draft<'b> {
    object(Method::Delete, bucket, op.key.as_str(), buf)
}

pub(crate) fn list<'b>(bucket: &Bucket, op: &ListOp, buf: &'b mut Vec<u8>) -> Draft<'b> {
    let query = |buf: &mut Vec<u8>| {
        // In the order of the alphabet, which is the canonical one.
        buf.push(b'?');
        if let Some(after) = &op.after {
            buf.extend_from_slice(b"continuation-token=");
            percent_encode(after, Slash::Encoded, buf);
            buf.push(b'&');
        }
        buf.extend_from_slice(b"encoding-type=url&list-type=2&prefix=");
        percent_encode(bucket.prefix(), Slash::Encoded, buf);
        percent_encode(&op.prefix, Slash::Encoded, buf);
    };
    let origin = |buf: &mut Vec<u8>| bucket.push_origin(buf);
    let path = |buf: &mut Vec<u8>| bucket.push_bucket_path(buf);
    common(Draft::new(Method::Get.as_str(), buf, origin, path, query), bucket)
}

fn object<'b>(method: Method, bucket: &Bucket, key: &str, buf: &'b mut Vec<u8>) -> Draft<'b> {
    let origin = |buf: &mut Vec<u8>| bucket.push_origin(buf);
    let path = |buf: &mut Vec<u8>| bucket.push_object_path(key, buf);
    common(Draft::new(method.as_str(), buf, origin, path, |_| {}), bucket)
}

pub(crate) fn common<'b>(mut draft: Draft<'b>, bucket: &Bucket) -> Draft<'b> {
    draft.unsigned("accept-encoding", b"identity");
    draft.signed("host", bucket.host().as_bytes());
    draft
}

#[cfg(test)]
mod tests {
    use super::{Method, object};
    use crate::bucket::{Bucket, Settings};
    use crate::credentials::Credentials;
    use crate::sigv4::{AmzDate, KeyCache, Scope, payload_hash};
    use proptest::prelude::*;
    use tenure_core::WallTime;

    /// Signs a read of any key, legal for us or not, and returns the URL and the canonical request.
    fn signed(key: &str) -> (String, String) {
        let settings = Settings { endpoint: Some("http://[::1]:9000".into()), ..Settings::default() };
        let bucket = Bucket::parse("s3://bkt/p", &settings).expect("legal");
        let credentials = Credentials::new("AK", "SK", None).expect("legal");
        let mut buf = Vec::new();
        let draft = object(Method::Get, &bucket, key, &mut buf);
        let at = AmzDate::new(WallTime::from_millis(0));
        let scope = Scope { credentials: &credentials, region: bucket.region(), at };
        let request = draft.sign(&payload_hash(b""), &scope, &mut KeyCache::new());
        let canonical = core::str::from_utf8(request.canonical_request()).expect("text");
        (request.url().to_owned(), canonical.to_owned())
    }

    proptest! {
        #[test]
        fn bl_13_the_request_line_and_the_canonical_uri_are_the_same_bytes(key in any::<String>()) {
            let (url, canonical) = signed(&key);
            let path = url.strip_prefix("http://[::1]:9000").expect("origin");
            prop_assert_eq!(canonical.lines().nth(1), Some(path));
            prop_assert_eq!(crate::encode::percent_decode(path), format!("/bkt/p/{key}"));
            prop_assert!(path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/%".contains(&b)));
        }
    }
}
