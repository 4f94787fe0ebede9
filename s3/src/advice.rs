//! What a person can do about an answer: which setting to change, whom to ask.
//!
//! Advice follows from the status, the store's own code, and what was sent; it never guesses further than that.

use core::time::Duration;

use tenure_core::{FaultKind, WallTime};

use crate::dialect::Checksum;
use crate::explain::{ErrorBody, MESSAGE_MAX, printable};
use crate::response::{About, Response, store_time};

/// Says what to do, where something can be done.
pub(crate) fn advice(
    kind: FaultKind,
    about: &About<'_>,
    response: &Response<'_>,
    error: &ErrorBody,
) -> Option<String> {
    wrong_region(about, response, error)
        .or_else(|| about_code(about, response, error))
        .or_else(|| about_status(kind, about, response, error))
}

/// BL-14: a wrong region shows itself as a redirect or as a 400.
fn wrong_region(about: &About<'_>, response: &Response<'_>, error: &ErrorBody) -> Option<String> {
    let ours = about.bucket.region();
    let region = either(text_of(response.headers.region), &error.region);
    let is_wrong = matches!(response.status, 300..=400) && !region.is_empty() && region != ours;
    is_wrong.then(|| {
        format!("requests are signed for region {ours}, the bucket is in {region}: set AWS_REGION to it")
    })
}

fn about_code(about: &About<'_>, response: &Response<'_>, error: &ErrorBody) -> Option<String> {
    let bucket = about.bucket;
    let text = match error.code.as_str() {
        _ if is_about_checksum(error) => checksum(bucket.dialect().checksum),
        "AccountProblem" | "AllAccessDisabled" | "InvalidPayer" | "NotSignedUp" | "UserSuspended" => {
            "the account cannot be used: ask the store's provider".into()
        }
        "AuthorizationHeaderMalformed" => {
            format!("requests are signed for region {}: correct AWS_REGION", bucket.region())
        }
        "ExpiredToken" | "InvalidToken" | "InvalidTokenId" | "TokenRefreshRequired" => {
            "get fresh credentials (AWS_SESSION_TOKEN)".into()
        }
        "InvalidAccessKeyId" => {
            "correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; temporary ones need AWS_SESSION_TOKEN, too"
                .into()
        }
        "InvalidBucketName" | "NoSuchBucket" => {
            format!("create the bucket {} or correct the store's URL", bucket.name())
        }
        "QuotaExceeded" | "ServiceQuotaExceededException" | "XMinioStorageFull" => {
            "the store is full, or the account's quota is used up: make room".into()
        }
        "RequestTimeTooSkewed" => skewed(about, response, error),
        // BL-12, BL-13, BL-44: what is signed must be what arrives.
        "SignatureDoesNotMatch" => {
            "correct AWS_SECRET_ACCESS_KEY; if it is right, something between here and the \
                                    store changes the request's host, path or headers"
                .into()
        }
        "XAmzContentSHA256Mismatch" => {
            "something between here and the store changes the request's body".into()
        }
        _ if !error.unsigned.is_empty() => {
            format!("something between here and the store adds headers to the request: {}", error.unsigned)
        }
        _ => return None,
    };
    Some(text)
}

fn about_status(
    kind: FaultKind,
    about: &About<'_>,
    response: &Response<'_>,
    error: &ErrorBody,
) -> Option<String> {
    let bucket = about.bucket;
    let no_s3 =
        || format!("is {} an S3 endpoint? correct AWS_ENDPOINT_URL_S3, or the proxy between", bucket.host());
    let text = match (response.status, error.code.as_str()) {
        (300..=399, _) => {
            let to = either(text_of(response.headers.location), &error.endpoint);
            let to = either(to, "another address");
            format!("it redirects to {to}, which is not followed: correct AWS_ENDPOINT_URL_S3 or AWS_REGION")
        }
        (400, "") if is_plain_to_tls(error) => "write https:// in AWS_ENDPOINT_URL_S3".into(),
        (401 | 403, "") if !response.body.is_empty() => no_s3(),
        (404 | 405, "") => no_s3(),
        (404, "NoSuchKey") if kind == FaultKind::Unfit => {
            "it takes no write that creates: use another store".into()
        }
        (407, _) => "the HTTP proxy wants a password: correct HTTPS_PROXY or NO_PROXY".into(),
        (409, _) => "look at the bucket's state and its object lock".into(),
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

/// Tells whether an error is about a checksum of the body, one that is missing or one that was sent (BL-10).
pub(crate) fn is_about_checksum(error: &ErrorBody) -> bool {
    const CODES: [&str; 3] = ["BadDigest", "InvalidDigest", "MissingContentMD5"];
    let names = |text: &str| {
        let text = text.to_ascii_lowercase();
        text.contains("content-md5") || text.contains("x-amz-checksum")
    };
    CODES.contains(&error.code.as_str()) || names(&error.header) || names(&error.message)
}

fn checksum(sent: Option<Checksum>) -> String {
    match sent {
        None => "add a checksum to every write: ?checksum=md5 in the store's URL".into(),
        Some(sent) => {
            format!(
                "leave checksum={} out of the store's URL, or take another that this store knows",
                sent.as_str()
            )
        }
    }
}

/// Names how far the clock is off; what is signed after this is signed with the store's time.
fn skewed(about: &About<'_>, response: &Response<'_>, error: &ErrorBody) -> String {
    let Some((local, store)) = about.local.zip(store_time(response, error)) else {
        return "this machine's clock is off: set it".into();
    };
    let store = WallTime::from_nanos(store.as_nanos());
    let (ahead, behind) = (local.since(store), store.since(local));
    let (off, side) = if ahead > behind { (ahead, "ahead of") } else { (behind, "behind") };
    if off < Duration::from_secs(1) {
        return "the store refuses a time that agrees with its own: look at its clocks".into();
    }
    format!("this machine's clock is {} s {side} the store's: set it", off.as_secs())
}

fn is_plain_to_tls(error: &ErrorBody) -> bool {
    // What nginx and Go's server say on a port that wants TLS.
    let message = error.message.to_ascii_lowercase();
    message.contains("http request") && message.contains("https")
}

fn text_of(header: Option<&[u8]>) -> String {
    header.map(|value| printable(&String::from_utf8_lossy(value), MESSAGE_MAX)).unwrap_or_default()
}

fn either(first: String, second: &str) -> String {
    if first.is_empty() { second.to_owned() } else { first }
}
