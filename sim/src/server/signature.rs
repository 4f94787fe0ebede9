//! Who may ask: SigV4, checked from the request as it came over the wire.
//!
//! Everything is recomputed from the target as received and the headers as sent, never from what a signer of ours
//! meant to send. What is refused and in which words is decided here; the arithmetic is a [`Verify`], so that a test
//! can have it done by somebody else's code. [`Keys`] is ours.

use core::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use time::PrimitiveDateTime;
use time::format_description::FormatItem;
use time::macros::format_description;

use crate::server::answer::Answer;
use crate::server::asked::{Asked, pairs};

/// What S3 leaves as it is in a canonical query.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// And in a canonical path.
pub(crate) const UNRESERVED_AND_SLASH: &AsciiSet = &UNRESERVED.remove(b'/');
/// How far a request's time may be from the server's, in seconds.
const SKEW_MAX: u64 = 15 * 60;
const DATE: &[FormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");

/// Knows secrets, and what a request signed with one of them looks like.
pub trait Verify: Send + Sync {
    /// Returns the signature that this request must have.
    fn expect(&self, claim: &Claim<'_>) -> Expected;
}

/// What a verifier knows about a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Expected {
    /// The token of temporary credentials has run out.
    ExpiredToken,
    /// There is no such token, or there should be one.
    InvalidToken,
    /// This is the signature, in hexadecimal digits.
    Signature(String),
    /// Nobody has this access key.
    UnknownKey,
}

/// A signed request as it came over the wire.
#[derive(Clone, Debug)]
pub struct Claim<'r> {
    /// Who says to have signed it.
    pub access_key: &'r str,
    /// When, as `x-amz-date` says: `20130524T000000Z`.
    pub at: &'r str,
    /// For which region.
    pub region: &'r str,
    /// The method.
    pub method: &'r str,
    /// Path and query as received.
    pub target: &'r str,
    /// The signed headers in the order in which `SignedHeaders` names them, with their values as received.
    pub headers: Vec<(&'r str, String)>,
    /// What `x-amz-content-sha256` says.
    pub payload: &'r str,
    /// The session token, if there is one.
    pub token: Option<&'r str>,
}

/// One pair of keys, and the session token that belongs to them.
#[derive(Clone)]
pub struct Keys {
    access_key: String,
    secret: String,
    token: Option<String>,
}

impl Keys {
    /// Takes an access key, its secret and its token.
    pub fn new(access_key: impl Into<String>, secret: impl Into<String>, token: Option<&str>) -> Self {
        Self { access_key: access_key.into(), secret: secret.into(), token: token.map(str::to_owned) }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:?})", self.access_key)
    }
}

impl Verify for Keys {
    fn expect(&self, claim: &Claim<'_>) -> Expected {
        if claim.access_key != self.access_key {
            return Expected::UnknownKey;
        }
        if claim.token != self.token.as_deref() {
            return Expected::InvalidToken;
        }
        let date = claim.at.get(..8).unwrap_or_default();
        let scope = format!("{date}/{}/s3/aws4_request", claim.region);
        let digest = hex(&Sha256::digest(canonical(claim)));
        let to_sign = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{digest}", claim.at);
        let first = format!("AWS4{}", self.secret).into_bytes();
        let key = [date, claim.region, "s3", "aws4_request"].iter().fold(first, |key, part| hmac(&key, part));
        Expected::Signature(hex(&hmac(&key, &to_sign)))
    }
}

/// Tells whether the request may be evaluated; if not, what is answered.
pub(crate) fn check(
    asked: &Asked,
    body: &[u8],
    now: i64,
    region: Option<&str>,
    verify: &dyn Verify,
) -> Result<(), Box<Answer>> {
    let denied = |message: &str| Box::new(Answer::error(403, "AccessDenied", message));
    let malformed = |message: &str| Box::new(Answer::error(400, "AuthorizationHeaderMalformed", message));
    let authorization = asked.header("authorization").ok_or_else(|| denied("Access Denied: not signed"))?;
    let words = Words::of(authorization).ok_or_else(|| malformed("The authorization header is malformed"))?;
    if let Some(region) = region.filter(|region| *region != words.region) {
        let message = format!("the region '{}' is wrong; expecting '{region}'", words.region);
        return Err(malformed(&message).with_detail("Region", region).into());
    }
    let at = asked.header("x-amz-date").ok_or_else(|| denied("x-amz-date is missing"))?;
    let then = PrimitiveDateTime::parse(at, DATE).map_err(|_| denied("x-amz-date is no date"))?;
    if !at.starts_with(words.date) {
        return Err(malformed("the date of the credential is not that of x-amz-date"));
    }
    let names: Vec<&str> = words.signed.split(';').collect();
    let must = |name: &str| name == "host" || name.starts_with("x-amz-");
    let unsigned =
        asked.headers.keys().map(|name| name.as_str()).find(|name| must(name) && !names.contains(name));
    if let Some(name) = unsigned {
        let message = "There were headers present in the request which were not signed";
        return Err(denied(message).with_detail("HeadersNotSigned", name).into());
    }
    let payload = asked.header("x-amz-content-sha256");
    let payload =
        payload.ok_or_else(|| Answer::error(400, "InvalidRequest", "x-amz-content-sha256 is missing"))?;
    if payload.starts_with("STREAMING-") {
        return Err(Answer::not_implemented("a body in signed chunks").into());
    }
    let mut headers = Vec::with_capacity(names.len());
    for name in names {
        let values: Option<Vec<&str>> = asked
            .headers
            .get_all(name)
            .iter()
            .map(|value| core::str::from_utf8(value.as_bytes()).ok())
            .collect();
        let values = values.filter(|values| !values.is_empty());
        headers.push((
            name,
            values.ok_or_else(|| denied("a signed header is not there, or no text"))?.join(","),
        ));
    }
    let (method, target, token) = (&asked.method, &asked.target, asked.header("x-amz-security-token"));
    let claim = Claim {
        access_key: words.access_key,
        at,
        region: words.region,
        method,
        target,
        headers,
        payload,
        token,
    };
    match verify.expect(&claim) {
        Expected::Signature(signature) if signature == words.signature => {}
        Expected::Signature(_) => {
            let message = "The request signature we calculated does not match the signature you provided. Check your \
                           key and signing method.";
            return Err(Answer::error(403, "SignatureDoesNotMatch", message).into());
        }
        Expected::UnknownKey => {
            let message = "The AWS Access Key Id you provided does not exist in our records.";
            return Err(Answer::error(403, "InvalidAccessKeyId", message)
                .with_detail("AWSAccessKeyId", words.access_key)
                .into());
        }
        Expected::InvalidToken => {
            return Err(Answer::error(
                400,
                "InvalidToken",
                "The provided token is malformed or otherwise invalid.",
            )
            .into());
        }
        Expected::ExpiredToken => return Err(expired().into()),
    }
    if then.assume_utc().unix_timestamp().abs_diff(now) > SKEW_MAX {
        let message = "The difference between the request time and the current time is too large.";
        return Err(Answer::error(403, "RequestTimeTooSkewed", message)
            .with_detail("RequestTime", at)
            .into());
    }
    if payload != "UNSIGNED-PAYLOAD" && payload != hex(&Sha256::digest(body)) {
        let message = "The provided 'x-amz-content-sha256' header does not match what was computed.";
        return Err(Answer::error(400, "XAmzContentSHA256Mismatch", message).into());
    }
    Ok(())
}

pub(crate) fn expired() -> Answer {
    Answer::error(400, "ExpiredToken", "The provided token has expired.")
}

/// The words of an `Authorization` header.
struct Words<'h> {
    access_key: &'h str,
    date: &'h str,
    region: &'h str,
    signed: &'h str,
    signature: &'h str,
}

impl<'h> Words<'h> {
    fn of(header: &'h str) -> Option<Self> {
        let rest = header.strip_prefix("AWS4-HMAC-SHA256")?;
        let (mut credential, mut signed, mut signature) = (None, None, None);
        for part in rest.split(',') {
            match part.trim().split_once('=')? {
                ("Credential", value) => credential = Some(value),
                ("Signature", value) => signature = Some(value),
                ("SignedHeaders", value) => signed = Some(value),
                _ => return None,
            }
        }
        // An access key may have slashes in it, what follows has none.
        let mut scope = credential?.rsplitn(5, '/');
        let (terminator, service, region, date) =
            (scope.next()?, scope.next()?, scope.next()?, scope.next()?);
        let access_key = scope.next()?;
        (terminator == "aws4_request" && service == "s3" && date.len() == 8).then_some(())?;
        Some(Self { access_key, date, region, signed: signed?, signature: signature? })
    }
}

/// Builds the canonical request, by the rules and not by what the client wrote: names and values of the target are
/// decoded and encoded again, parameters sorted, blanks folded.
fn canonical(claim: &Claim<'_>) -> String {
    let (path, query) = claim.target.split_once('?').unwrap_or((claim.target, ""));
    let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    let path = utf8_percent_encode(&path, UNRESERVED_AND_SLASH);
    let encode = |text: &str| utf8_percent_encode(text, UNRESERVED).to_string();
    let mut query: Vec<String> =
        pairs(query).map(|(name, value)| format!("{}={}", encode(&name), encode(&value))).collect();
    query.sort_unstable();
    let mut headers = String::new();
    let mut names = Vec::new();
    for (name, value) in &claim.headers {
        let folded: Vec<&str> = value.split_ascii_whitespace().collect();
        headers += &format!("{name}:{}\n", folded.join(" "));
        names.push(*name);
    }
    let (method, query, names, payload) = (claim.method, query.join("&"), names.join(";"), claim.payload);
    format!("{method}\n{path}\n{query}\n{headers}\n{names}\n{payload}")
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Claim, Expected, Keys, Verify as _, Words};

    /// The provider's published example of reading an object.
    #[test]
    fn the_published_example_has_its_published_signature() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let at = "20130524T000000Z";
        let claim = Claim {
            access_key: "AKIAIOSFODNN7EXAMPLE",
            at,
            region: "us-east-1",
            method: "GET",
            target: "/test.txt",
            headers: vec![
                ("host", "examplebucket.s3.amazonaws.com".to_owned()),
                ("range", "bytes=0-9".to_owned()),
                ("x-amz-content-sha256", empty.to_owned()),
                ("x-amz-date", at.to_owned()),
            ],
            payload: empty,
            token: None,
        };
        let keys = Keys::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None);
        let published = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
        assert_eq!(keys.expect(&claim), Expected::Signature(published.to_owned()));
        assert_eq!(keys.expect(&Claim { access_key: "other", ..claim.clone() }), Expected::UnknownKey);
        assert_eq!(keys.expect(&Claim { token: Some("t"), ..claim }), Expected::InvalidToken);
    }

    #[test]
    fn an_authorization_is_taken_apart_and_nonsense_is_not() {
        let text = "AWS4-HMAC-SHA256 Credential=a/b/20130524/eu-x/s3/aws4_request, SignedHeaders=host;x-amz-date,Signature=00";
        let words = Words::of(text).expect("well formed");
        assert_eq!((words.access_key, words.date, words.region), ("a/b", "20130524", "eu-x"));
        assert_eq!((words.signed, words.signature), ("host;x-amz-date", "00"));
        for text in [
            "",
            "AWS k:s",
            "AWS4-HMAC-SHA256 Credential=a",
            "AWS4-HMAC-SHA256 Credential=a/1/r/s3/x,SignedHeaders=h,Signature=0",
        ] {
            assert!(Words::of(text).is_none(), "{text}");
        }
    }
}
