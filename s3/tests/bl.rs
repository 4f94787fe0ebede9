//! Entries of the failure log that bite at the wire: what the store's own words become, and what people are told.
//!
//! One test per entry and answer seen in the wild. The table of `response.rs` has its own tests, row by row;
//! requests have theirs in `requests.rs`.

use core::time::Duration;

use tenure_core::{
    AttemptId, CellId, ETag, FaultKind, Guard, Key, ListId, ListOp, ListReply, Op, ReadId, ReadOp, ReadReply,
    Reply, WallTime, WriteOp, WriteReply,
};
use tenure_s3::{Bucket, Credentials, Response, ResponseHeaders, Settings, Signer};

const TIMEOUT: Duration = Duration::from_secs(1);
const SUNDAY: WallTime = WallTime::from_millis(784_111_777_000);
const SUNDAY_TEXT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

#[test]
fn bl_02_a_store_without_conditional_writes_is_unfit_and_no_other_way_is_tried() {
    let answer =
        Answer::error(501, "NotImplemented", "A header you provided implies functionality that is not")
            .element("Header", "If-None-Match");
    let fault = answer.refuses(&create(), FaultKind::Unfit);
    assert_says(&fault, &["501 NotImplemented", "cells/a/own.json", "conditional writes", "another store"]);
}

#[test]
fn bl_04_a_store_whose_key_service_is_throttled_is_throttled_whatever_the_status() {
    for (status, code) in [
        (400, "ThrottlingException"),
        (400, "KMS.ThrottlingException"),
        (403, "Throttling"),
        (429, "TooManyRequests"),
        (503, "RequestLimitExceeded"),
        (503, "SlowDown"),
    ] {
        let answer = Answer::error(status, code, "slow down").header("retry-after", "3");
        let after = Some(Duration::from_secs(3));
        assert_eq!(answer.to(&create()), Reply::Write(WriteReply::Throttled { after }), "{code}");
        assert_eq!(answer.to(&read()), Reply::Read(ReadReply::Throttled { after }), "{code}");
    }
    // Not throttled: the write may have been stored on some of the disks.
    let answer = Answer::error(503, "SlowDownWrite", "Resource requested is unwritable");
    assert!(matches!(answer.to(&create()), Reply::Write(WriteReply::Unknown(_))));
}

#[test]
fn bl_05_a_clock_that_is_off_is_named_with_its_offset() {
    let answer =
        Answer::error(403, "RequestTimeTooSkewed", "The difference is too large").header("date", SUNDAY_TEXT);
    for (local, words) in [
        (SUNDAY.after(Duration::from_secs(3600)), "3600 s ahead of the store's"),
        (SUNDAY.before(Duration::from_secs(7200)), "7200 s behind the store's"),
    ] {
        let Reply::Write(WriteReply::NotApplied(fault)) = answer.to_signed_at(&create(), local) else {
            panic!("not applied")
        };
        assert_says(&fault.to_string(), &[words, "set it"]);
    }
    // The store's own clocks disagree: no other time of ours would help.
    let Reply::Write(WriteReply::Refused(fault)) = answer.to_signed_at(&create(), SUNDAY) else {
        panic!("refused")
    };
    assert_says(&fault.to_string(), &["agrees with its own"]);
}

#[test]
fn bl_09_a_bucket_that_is_gone_is_no_object_that_is_gone() {
    let gone = Answer::error(404, "NoSuchKey", "The specified key does not exist.");
    assert_eq!(gone.to(&update()), Reply::Write(WriteReply::Rejected));
    assert_eq!(gone.to(&read()), Reply::Read(ReadReply::Missing));
    let no_bucket = Answer::error(404, "NoSuchBucket", "The specified bucket does not exist");
    for op in [create(), update(), read()] {
        assert_says(&no_bucket.refuses(&op, FaultKind::Config), &["create the bucket bkt", "store's URL"]);
    }
}

#[test]
fn bl_09_a_store_that_misses_the_object_it_should_create_is_unfit() {
    let answer = Answer::error(404, "NoSuchKey", "The specified key does not exist.");
    let Reply::Write(WriteReply::NotApplied(fault)) = answer.to(&create()) else { panic!("not applied") };
    assert_eq!(fault.kind, FaultKind::Unfit);
    assert_says(&fault.to_string(), &["no write that creates", "another store"]);
}

#[test]
fn bl_10_a_bucket_that_demands_a_checksum_names_the_setting_that_sends_one() {
    for (code, message) in [
        (
            "InvalidRequest",
            "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters",
        ),
        ("InvalidRequest", "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"),
        ("MissingContentMD5", "Missing required header for this request: Content-MD5."),
    ] {
        let fault = Answer::error(400, code, message).refuses(&create(), FaultKind::Config);
        assert_says(&fault, &[code, "?checksum=md5"]);
    }
}

#[test]
fn bl_10_a_store_that_does_not_know_the_checksum_names_the_setting_that_sent_it() {
    let store = "s3://bkt/p?checksum=crc64nvme";
    let unknown =
        Answer::error(501, "NotImplemented", "A header you provided implies functionality that is not")
            .element("Header", "x-amz-checksum-crc64nvme");
    let wrong = Answer::error(400, "InvalidRequest", "Value for x-amz-checksum-crc64nvme header is invalid.");
    let bad = Answer::error(400, "BadDigest", "The digest you specified did not match what we received.");
    for answer in [unknown, wrong, bad] {
        let fault = answer.at(store).refuses(&create(), FaultKind::Config);
        assert_says(&fault, &["checksum=crc64nvme", "leave"]);
    }
}

#[test]
fn bl_10_a_body_changed_on_the_way_is_told_from_a_setting() {
    let answer = Answer::error(400, "XAmzContentSHA256Mismatch", "The provided header does not match");
    assert_says(&answer.refuses(&create(), FaultKind::Config), &["changes the request's body"]);
}

#[test]
fn bl_11_an_expired_token_wants_fresh_credentials() {
    for (status, code) in
        [(400, "ExpiredToken"), (400, "InvalidToken"), (403, "InvalidTokenId"), (400, "TokenRefreshRequired")]
    {
        let fault = Answer::error(status, code, "expired").refuses(&update(), FaultKind::Denied);
        assert_says(&fault, &[code, "fresh credentials", "AWS_SESSION_TOKEN"]);
    }
}

#[test]
fn bl_12_a_signature_that_does_not_match_may_be_the_secret_s_or_the_way_s_fault() {
    let answer =
        Answer::error(403, "SignatureDoesNotMatch", "The request signature we calculated does not match");
    assert_says(
        &answer.refuses(&create(), FaultKind::Denied),
        &["AWS_SECRET_ACCESS_KEY", "host, path or headers"],
    );
}

#[test]
fn bl_12_a_plain_request_on_a_port_for_tls_names_the_scheme() {
    for page in [
        "<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>",
        "Client sent an HTTP request to an HTTPS server.",
    ] {
        let fault = Answer::new(400, page).refuses(&create(), FaultKind::Config);
        assert_says(&fault, &["https:// in AWS_ENDPOINT_URL_S3"]);
    }
}

#[test]
fn bl_14_a_wrong_region_names_the_configured_and_the_expected_one() {
    let moved = Answer::error(301, "PermanentRedirect", "The bucket you are attempting to access must be");
    for answer in [
        moved.clone().header("x-amz-bucket-region", "us-west-2"),
        Answer::new(301, "").header("x-amz-bucket-region", "us-west-2"),
        Answer::error(400, "AuthorizationHeaderMalformed", "the region 'eu-west-1' is wrong")
            .element("Region", "us-west-2"),
    ] {
        for op in [create(), update(), read(), list()] {
            let fault = answer.refuses(&op, FaultKind::Config);
            assert_says(&fault, &["region eu-west-1", "in us-west-2", "set AWS_REGION"]);
        }
    }
    let fault =
        moved.element("Endpoint", "bkt.s3.us-west-2.amazonaws.com").refuses(&create(), FaultKind::Config);
    assert_says(&fault, &["bkt.s3.us-west-2.amazonaws.com", "not followed"]);
}

#[test]
fn bl_14_a_redirect_to_another_host_is_named_and_not_followed() {
    let answer = Answer::new(307, "").header("location", "https://bkt.s3-us-west-2.amazonaws.com/p");
    let fault = answer.refuses(&create(), FaultKind::Config);
    assert_says(&fault, &["https://bkt.s3-us-west-2.amazonaws.com/p", "not followed", "AWS_ENDPOINT_URL_S3"]);
}

#[test]
fn bl_15_a_read_that_is_denied_does_not_say_that_the_object_is_absent() {
    let answer = Answer::error(403, "AccessDenied", "Access Denied").header("x-amz-request-id", "R1");
    for op in [read(), create(), update(), list()] {
        let fault = answer.refuses(&op, FaultKind::Denied);
        assert_says(&fault, &["AccessDenied", "request R1", "s3:ListBucket", "s3://bkt/p"]);
    }
    // A proxy's page is no word of the store's about rights.
    let page = Answer::new(403, "<html><body>Blocked by policy</body></html>");
    assert_says(
        &page.refuses(&read(), FaultKind::Denied),
        &["Blocked by policy", "an S3 endpoint?", "proxy"],
    );
}

#[test]
fn bl_15_what_is_no_right_to_grant_is_not_called_one() {
    for (code, word) in
        [("AccountProblem", "provider"), ("QuotaExceeded", "quota"), ("InvalidAccessKeyId", "KEY_ID")]
    {
        let fault = Answer::error(403, code, "no").refuses(&create(), FaultKind::Denied);
        assert_says(&fault, &[word]);
        assert!(!fault.contains("grant"), "{fault}");
    }
}

#[test]
fn bl_19_a_store_that_waited_too_long_for_the_request_has_settled_nothing() {
    let answer = Answer::error(400, "RequestTimeout", "Your socket connection to the server was not read");
    let Reply::Write(WriteReply::Unknown(fault)) = answer.to(&update()) else { panic!("unknown") };
    assert_eq!(fault.kind, FaultKind::TimedOut);
}

#[test]
fn bl_38_success_with_an_error_inside_is_no_success() {
    for code in ["InternalError", "SlowDown"] {
        let answer = Answer::error(200, code, "We encountered an internal error.").header("etag", "\"e\"");
        let Reply::Write(WriteReply::Unknown(fault)) = answer.to(&update()) else { panic!("unknown") };
        assert_says(&fault.to_string(), &["answered 200", code]);
        assert!(matches!(answer.to(&read()), Reply::Read(ReadReply::Failed(_))));
        assert!(matches!(answer.to(&list()), Reply::List(ListReply::Failed(_))));
    }
}

#[test]
fn bl_40_a_weak_tag_stays_weak_on_its_way_in_and_out() {
    let answer = Answer::new(200, "{}").header("etag", "W/\"abc\"");
    let Reply::Read(ReadReply::Found { etag, .. }) = answer.to(&read()) else { panic!("found") };
    assert!(etag.is_weak());
    // Made strong on the way, it could match what it must not: also where tags are sent bare.
    for store in ["s3://bkt", "s3://bkt?if-match=bare"] {
        let (mut signer, mut buf) = (signer(store), Vec::new());
        let op = write(Guard::Match(etag.clone()));
        let request = signer.request(&op, SUNDAY, &mut buf);
        let sent = request.headers.iter().find(|(name, _)| *name == "if-match").expect("guarded").1;
        assert_eq!(sent, b"W/\"abc\"");
    }
}

#[test]
fn bl_44_headers_that_somebody_adds_on_the_way_are_named() {
    let answer =
        Answer::error(403, "AccessDenied", "There were headers present in the request which were not signed")
            .element("HeadersNotSigned", "x-amz-meta-proxy");
    assert_says(&answer.refuses(&create(), FaultKind::Denied), &["adds headers", "x-amz-meta-proxy"]);
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

fn write(guard: Guard) -> Op {
    Op::Write(WriteOp { id: AttemptId::new(1), key: key(), guard, body: (*b"{}").into(), timeout: TIMEOUT })
}

fn create() -> Op {
    write(Guard::Absent)
}

fn update() -> Op {
    write(Guard::Match(ETag::new(b"\"e\"").expect("not empty")))
}

fn read() -> Op {
    Op::Read(ReadOp { id: ReadId::new(1), key: key(), unless: None, timeout: TIMEOUT })
}

fn list() -> Op {
    Op::List(ListOp { id: ListId::new(1), prefix: Key::LEASES.into(), after: None, timeout: TIMEOUT })
}

fn key() -> Key {
    Key::owner(&CellId::new("a").expect("legal"))
}

fn signer(store: &str) -> Signer {
    let settings = Settings { region: Some("eu-west-1".into()), ..Settings::default() };
    let bucket = Bucket::parse(store, &settings).expect("a legal address");
    Signer::new(bucket, Credentials::new("AK", "SK", None).expect("legal"))
}

/// An answer, and the address of the store that it comes from.
#[derive(Clone)]
struct Answer {
    store: &'static str,
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Answer {
    fn new(status: u16, body: &str) -> Self {
        Self { store: "s3://bkt/p", status, headers: Vec::new(), body: body.to_owned() }
    }

    fn error(status: u16, code: &str, message: &str) -> Self {
        Self::new(status, &format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>"))
    }

    /// Adds an element to the error document.
    fn element(self, name: &str, text: &str) -> Self {
        let body = self.body.replace("</Error>", &format!("<{name}>{text}</{name}></Error>"));
        Self { body, ..self }
    }

    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn at(self, store: &'static str) -> Self {
        Self { store, ..self }
    }

    fn to(&self, op: &Op) -> Reply {
        self.to_signed_at(op, SUNDAY)
    }

    /// Signs a request on a machine whose clock says `local`, and gives this answer to it.
    fn to_signed_at(&self, op: &Op, local: WallTime) -> Reply {
        let (mut signer, mut buf) = (signer(self.store), Vec::new());
        let signed_at = signer.request(op, local, &mut buf).signed_at;
        let length = self.body.len().to_string();
        let headers = ResponseHeaders::collect(|name| {
            let found = self.headers.iter().find(|(known, _)| *known == name);
            found
                .map(|(_, value)| value.as_bytes())
                .or((name == "content-length").then_some(length.as_bytes()))
        });
        signer.reply(op, signed_at, &Response { status: self.status, headers, body: self.body.as_bytes() })
    }

    /// Demands that a write is refused, and anything else fails, with this kind; returns what is said.
    fn refuses(&self, op: &Op, kind: FaultKind) -> String {
        let reply = self.to(op);
        let (Reply::Write(WriteReply::Refused(fault))
        | Reply::Read(ReadReply::Failed(fault))
        | Reply::List(ListReply::Failed(fault))) = reply
        else {
            panic!("{reply:?}")
        };
        assert_eq!(fault.kind, kind, "{fault}");
        fault.to_string()
    }
}
