//! Requests signed from any settings, names and tags: signing never panics, the store finds the signature right
//! from the bytes on the wire alone, and a URL library has nothing to rewrite.
//!
//! An input is lines, most of which may be empty:
//!
//! ```text
//! s3://bucket/prefix       with a dialect as its query, or without
//! http://host:port         endpoint
//! region
//! AKID secret token        credentials
//! 1764400000000            the wall clock, in milliseconds
//! write match "tag"        or: write absent, read ["tag"], list [token], remove
//! orders:42                a cell, whose name is escaped; or nodes/<node>.json
//! ```
//!
//! What is left is the body of a write.

use core::time::Duration;

use tenure_core::{
    AttemptId, CellId, ETag, Guard, Key, ListId, ListOp, Op, ReadId, ReadOp, RemoveId, RemoveOp, WallTime,
    WriteOp,
};
use tenure_s3::{Bucket, Credentials, Dialect, IfMatch, Request, Settings, Signer, Style};

use crate::text::{Lines, header_value, word};
use crate::wire::{Received, percent_decode, spell, split_url};

/// Signs the operation that the input describes.
///
/// # Panics
/// If one of the properties is broken.
pub fn check(input: &[u8]) {
    let Some(case) = Case::parse(input) else { return };
    for style in [Style::Path, Style::VirtualHost] {
        let dialect = Dialect { style: Some(style), ..Dialect::default() };
        let settings = Settings { dialect, ..case.settings.clone() };
        let Ok(bucket) = Bucket::parse(&case.url, &settings) else { continue };
        let mut signer = Signer::new(bucket.clone(), case.credentials());
        // Neither a used buffer nor a cached key leaves a trace in what is signed later.
        let mut buf = b"left over".to_vec();
        let other = Op::Remove(RemoveOp { id: RemoveId::new(0), key: Key::probe(1), timeout: TIMEOUT });
        let day_before = case.at.before(Duration::from_secs(86_400));
        let _ = signer.request(&other, day_before, &mut buf);
        let request = signer.request(&case.op, case.at, &mut buf);
        let mut fresh = Vec::new();
        let mut unused = Signer::new(bucket.clone(), case.credentials());
        let again = spell(&unused.request(&case.op, case.at, &mut fresh));
        assert_eq!(spell(&request), again, "a signature depends on nothing but what is signed");
        judge(&case, &bucket, bucket.dialect().style.unwrap_or(style), &request);
    }
}

struct Case {
    url: String,
    settings: Settings,
    access_key: String,
    secret: String,
    token: Option<String>,
    at: WallTime,
    op: Op,
}

impl Case {
    fn parse(input: &[u8]) -> Option<Self> {
        let mut lines = Lines::new(input);
        let url = lines.text();
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let (endpoint, region) = (some(lines.text()), some(lines.text()));
        let settings = Settings { endpoint, region, dialect: Dialect::default() };
        let credentials = lines.text();
        let mut parts = credentials.splitn(3, ' ').map(|part| part.trim().to_owned());
        let (access_key, secret) = (parts.next()?, parts.next()?);
        let token = parts.next().and_then(some);
        Credentials::new(&access_key, &secret, token.as_deref()).ok()?;
        let at = WallTime::from_millis(lines.text().trim().parse().unwrap_or_default());
        let what = lines.line();
        let name = lines.text();
        let key = match Key::node(&name) {
            Some(node) => Key::lease(&node),
            None => Key::owner(&CellId::escape(&name).ok()?),
        };
        let op = operation(what, key, lines.rest());
        Some(Self { url, settings, access_key, secret, token, at, op })
    }

    fn credentials(&self) -> Credentials {
        Credentials::new(&self.access_key, &self.secret, self.token.as_deref()).expect("tried before")
    }
}

/// Builds the operation that a line names; anything unknown is a remove.
pub(crate) fn operation(what: &[u8], key: Key, body: &[u8]) -> Op {
    let (verb, detail) = word(what);
    let etag = |value: &[u8]| ETag::new(&header_value(value));
    match verb {
        b"list" => {
            let after = Some(String::from_utf8_lossy(detail)).filter(|token| !token.is_empty());
            let (id, prefix) = (ListId::new(1), Key::LEASES.into());
            Op::List(ListOp { id, prefix, after: after.map(|token| token.into()), timeout: TIMEOUT })
        }
        b"read" => Op::Read(ReadOp { id: ReadId::new(1), key, unless: etag(detail), timeout: TIMEOUT }),
        b"write" => {
            let guard = match word(detail) {
                (b"match", tag) => etag(tag).map_or(Guard::Absent, Guard::Match),
                _ => Guard::Absent,
            };
            let id = AttemptId::new(1);
            Op::Write(WriteOp { id, key, guard, body: body.into(), timeout: TIMEOUT })
        }
        _ => Op::Remove(RemoveOp { id: RemoveId::new(1), key, timeout: TIMEOUT }),
    }
}

fn judge(case: &Case, bucket: &Bucket, style: Style, request: &Request<'_>) {
    let bytes = spell(request);
    let received = Received::parse(&bytes).expect("a server can take the request apart");
    if let Err(why) = received.verify(&case.access_key, &case.secret) {
        panic!("{}: {why}", bytes.escape_ascii());
    }
    let (authority, target) = split_url(request.url);
    assert_eq!(
        received.header("host"),
        Ok(authority.as_bytes()),
        "the host that is asked is the host signed"
    );
    let rewritten = url::Url::parse(request.url).expect("a URL library takes the URL");
    assert_eq!(rewritten.as_str(), request.url, "a URL library sends what was signed");
    let signed =
        core::str::from_utf8(request.canonical_request().split(|&b| b == b'\n').nth(1).unwrap_or_default());
    assert_eq!(signed, Ok(received.path), "the canonical URI and the request line are the same bytes");

    let token = case.token.as_ref().map(|token| token.trim().as_bytes());
    assert_eq!(received.header("x-amz-security-token").ok(), token);
    let if_match = received.header("if-match").ok();
    let if_none_match = received.header("if-none-match").ok();
    let object = |key: &Key| {
        assert_eq!(path_of(bucket, style, target), format!("{}{key}", bucket.prefix()).into_bytes())
    };
    match &case.op {
        Op::List(op) => {
            let mut expected = vec![("encoding-type", "url"), ("list-type", "2")];
            let prefix = format!("{}{}", bucket.prefix(), op.prefix);
            expected.push(("prefix", &prefix));
            if let Some(after) = &op.after {
                expected.insert(0, ("continuation-token", after));
            }
            let decoded: Vec<(Vec<u8>, Vec<u8>)> = received
                .query
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .map(|(name, value)| (percent_decode(name), percent_decode(value)))
                .collect();
            let expected: Vec<(Vec<u8>, Vec<u8>)> =
                expected.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            assert_eq!(decoded, expected);
            assert_eq!((received.method, if_match, if_none_match), ("GET", None, None));
        }
        Op::Read(op) => {
            object(&op.key);
            let unless = op.unless.as_ref().map(ETag::as_bytes);
            assert_eq!((received.method, if_match, if_none_match), ("GET", None, unless));
        }
        Op::Remove(op) => {
            object(&op.key);
            assert_eq!((received.method, if_match, if_none_match), ("DELETE", None, None));
        }
        Op::Write(op) => {
            object(&op.key);
            let guards = match &op.guard {
                Guard::Absent => (None, Some(&b"*"[..])),
                Guard::Match(etag) => (Some(spelled(etag, bucket)), None),
            };
            assert_eq!(
                (received.method, (if_match, if_none_match)),
                ("PUT", guards),
                "no write is unguarded"
            );
            assert_eq!(received.body, &*op.body);
        }
    }
}

/// Returns the object's key as a server understands the target.
/// Returns how the bucket's dialect wants a tag in `If-Match`.
fn spelled<'e>(etag: &'e ETag, bucket: &Bucket) -> &'e [u8] {
    let tag = etag.as_bytes();
    let inner = tag.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    let is_bare = bucket.dialect().if_match == Some(IfMatch::Bare);
    inner.filter(|inner| is_bare && !inner.is_empty()).unwrap_or(tag)
}

fn path_of(bucket: &Bucket, style: Style, target: &str) -> Vec<u8> {
    let before = match style {
        Style::Path => format!("/{}/", bucket.name()),
        Style::VirtualHost => "/".to_owned(),
    };
    let path = percent_decode(target.split('?').next().unwrap_or_default());
    path.strip_prefix(before.as_bytes()).expect("the bucket stands before the key").to_vec()
}

const TIMEOUT: Duration = Duration::from_secs(1);
