//! One test per row of the table, then what cannot be told from a status and a code.

use super::{
    About, Class, Response, ResponseHeaders, classify, list_reply, read_reply, remove_reply, write_reply,
};
use crate::bucket::{Bucket, Settings};
use crate::op::REPLY_MAX;
use core::time::Duration;
use proptest::prelude::*;
use tenure_core::{
    AttemptId, CellId, ETag, Fault, FaultKind, Guard, Key, ListId, ListOp, ListReply, ReadId, ReadOp,
    ReadReply, RemoveId, RemoveOp, RemoveReply, Stamps, StoreTime, WallTime, WriteOp, WriteReply,
};

const TIMEOUT: Duration = Duration::from_secs(1);
const SUNDAY: StoreTime = StoreTime::from_millis(784_111_777_000);

fn bucket() -> Bucket {
    let settings = Settings { region: Some("eu-west-1".into()), ..Settings::default() };
    Bucket::parse("s3://bkt/p", &settings).expect("legal")
}

fn key() -> Key {
    Key::owner(&CellId::new("a").expect("legal"))
}

fn tag(text: &str) -> ETag {
    ETag::new(text.as_bytes()).expect("not empty")
}

/// An answer: its status, and a body that an S3 server gives with this code.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn answer(status: u16, code: &str) -> Answer {
    let body = match code {
        "" => String::new(),
        code => format!(
            "<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>the message</Message></Error>"
        ),
    };
    Answer { status, headers: Vec::new(), body }
}

impl Answer {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn saying(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }

    fn ask<R>(&self, ask: impl FnOnce(&About<'_>, &Response<'_>) -> R) -> R {
        self.ask_corrected(false, ask)
    }

    fn ask_corrected<R>(&self, corrected: bool, ask: impl FnOnce(&About<'_>, &Response<'_>) -> R) -> R {
        let length = self.body.len().to_string();
        let headers = ResponseHeaders::collect(|name| {
            let found =
                self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_bytes());
            found.or((name == "content-length").then_some(length.as_bytes()))
        });
        let response = Response { status: self.status, headers, body: self.body.as_bytes() };
        ask(
            &About { bucket: &bucket(), corrected, local: Some(WallTime::from_nanos(SUNDAY.as_nanos())) },
            &response,
        )
    }

    fn read(&self) -> ReadReply {
        let op = ReadOp { id: ReadId::new(1), key: key(), unless: None, timeout: TIMEOUT };
        self.ask(|about, response| read_reply(about, &op, response))
    }

    fn read_unless(&self) -> ReadReply {
        let op = ReadOp { id: ReadId::new(1), key: key(), unless: Some(tag("\"e\"")), timeout: TIMEOUT };
        self.ask(|about, response| read_reply(about, &op, response))
    }

    fn create(&self) -> WriteReply {
        self.ask(|about, response| write_reply(about, &write_op(Guard::Absent), response))
    }

    fn update(&self) -> WriteReply {
        self.ask(|about, response| write_reply(about, &write_op(Guard::Match(tag("\"e\""))), response))
    }

    fn list(&self) -> ListReply {
        let op = ListOp { id: ListId::new(1), prefix: "nodes/".into(), after: None, timeout: TIMEOUT };
        self.ask(|about, response| list_reply(about, &op, response))
    }

    fn remove(&self) -> RemoveReply {
        let op = RemoveOp { id: RemoveId::new(1), key: key(), timeout: TIMEOUT };
        self.ask(|about, response| remove_reply(about, &op, response))
    }

    /// Demands that a write is refused and everything else fails, all with this kind; returns the detail.
    fn is_refused(&self, kind: FaultKind) -> String {
        for reply in [self.create(), self.update()] {
            assert!(matches!(&reply, WriteReply::Refused(fault) if fault.kind == kind), "{reply:?}");
        }
        self.fails_elsewhere(kind)
    }

    /// Demands that a write's fate is unknown and everything else fails, all with this kind.
    fn is_unclear(&self, kind: FaultKind) -> String {
        for reply in [self.create(), self.update()] {
            assert!(matches!(&reply, WriteReply::Unknown(fault) if fault.kind == kind), "{reply:?}");
        }
        self.fails_elsewhere(kind)
    }

    fn fails_elsewhere(&self, kind: FaultKind) -> String {
        let ReadReply::Failed(fault) = self.read() else { panic!("{:?}", self.read()) };
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(matches!(self.list(), ListReply::Failed(fault) if fault.kind == kind));
        assert!(matches!(self.remove(), RemoveReply::Failed(fault) if fault.kind == kind));
        fault.to_string()
    }
}

fn write_op(guard: Guard) -> WriteOp {
    WriteOp { id: AttemptId::new(1), key: key(), guard, body: b"{}".as_slice().into(), timeout: TIMEOUT }
}

#[test]
fn row_success_with_a_tag_is_applied_or_found() {
    let put = answer(200, "").with("etag", "\"new\"");
    assert_eq!(put.create(), WriteReply::Applied { etag: tag("\"new\"") });
    assert_eq!(put.update(), WriteReply::Applied { etag: tag("\"new\"") });
    let get = answer(200, "")
        .with("etag", "\"e\"")
        .with("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")
        .with("date", "Sun, 06 Nov 1994 08:49:39 GMT")
        .saying("{}");
    let stamps = Stamps { modified: Some(SUNDAY), date: Some(SUNDAY.after(Duration::from_secs(2))) };
    assert_eq!(get.read(), ReadReply::Found { etag: tag("\"e\""), body: (*b"{}").into(), stamps });
    assert_eq!(answer(204, "").remove(), RemoveReply::Removed);
}

#[test]
fn row_success_without_a_tag_proves_no_write() {
    for put in [answer(200, ""), answer(200, "").with("etag", "")] {
        assert!(matches!(put.create(), WriteReply::Unknown(_)));
        assert!(matches!(put.update(), WriteReply::Unknown(_)));
        assert!(matches!(put.read(), ReadReply::Failed(fault) if fault.to_string().contains("no ETag")));
    }
}

#[test]
fn bl_38_row_an_error_body_breaks_the_promise_of_its_status() {
    for code in ["InternalError", "SlowDown", "NoSuchKey"] {
        answer(200, code).with("etag", "\"e\"").is_unclear(FaultKind::Unavailable);
    }
    for body in ["\u{feff} <Error/>", "<!-- x --><Error><Code>Int", "<s:Error xmlns:s='u'></s:Error>"] {
        answer(200, "").with("etag", "\"e\"").saying(body).is_unclear(FaultKind::Unavailable);
    }
}

#[test]
fn bl_38_a_page_proves_no_write_whatever_its_tag() {
    for (status, etag) in [(200, "W/\"page\""), (200, "\"page\""), (201, "\"page\"")] {
        let page = answer(status, "").with("etag", etag).saying("<!doctype html><h1>Soon</h1>");
        for reply in [page.create(), page.update()] {
            let WriteReply::Unknown(fault) = reply else { panic!("{reply:?}") };
            assert!(fault.to_string().contains("between here and the store"), "{fault}");
        }
        // A store that has something to say about a success says who it is.
        let told = page.with("x-amz-request-id", "4");
        assert!(matches!(told.update(), WriteReply::Applied { .. }));
    }
}

#[test]
fn bl_38_a_page_is_no_record_and_no_corrupt_one_either() {
    let page = answer(200, "").with("etag", "W/\"page\"").saying(" <!doctype html><h1>Soon</h1>");
    let ReadReply::Failed(fault) = page.read() else { panic!("{:?}", page.read()) };
    assert_eq!(fault.kind, FaultKind::Malformed);
    assert!(fault.to_string().contains("between here and the store"), "{fault}");
    // Somebody may have stored one in the place of a record: then the store says that it is there.
    let stored = page.with("x-amz-request-id", "4");
    assert!(matches!(stored.read(), ReadReply::Found { .. }));
}

#[test]
fn row_304_is_unchanged_for_a_read_that_named_a_version() {
    let date = answer(304, "").with("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(date.read_unless(), ReadReply::Unchanged(Stamps { modified: None, date: Some(SUNDAY) }));
    date.is_unclear(FaultKind::Malformed);
}

#[test]
fn bl_19_row_a_request_timeout_is_unclear_under_any_status() {
    answer(400, "RequestTimeout").is_unclear(FaultKind::TimedOut);
    answer(403, "RequestTimeout").is_unclear(FaultKind::TimedOut);
    answer(408, "").is_unclear(FaultKind::TimedOut);
}

#[test]
fn row_a_skewed_signature_is_not_applied_once_it_is_corrected() {
    let skewed = answer(403, "RequestTimeTooSkewed");
    assert!(skewed.is_refused(FaultKind::Denied).contains("clock"));
    let reply =
        skewed.ask_corrected(true, |about, response| write_reply(about, &write_op(Guard::Absent), response));
    assert!(matches!(reply, WriteReply::NotApplied(_)), "{reply:?}");
}

#[test]
fn bl_11_row_an_expired_token_is_not_applied_once_it_is_replaced() {
    for (status, code) in [(400, "ExpiredToken"), (403, "InvalidToken"), (401, "TokenRefreshRequired")] {
        let expired = answer(status, code);
        assert!(expired.is_refused(FaultKind::Denied).contains("fresh credentials"));
        let op = write_op(Guard::Match(tag("e")));
        let reply = expired.ask_corrected(true, |about, response| write_reply(about, &op, response));
        assert!(matches!(reply, WriteReply::NotApplied(_)), "{reply:?}");
    }
}

#[test]
fn bl_09_row_no_such_key_means_four_things_to_four_operations() {
    let missing = answer(404, "NoSuchKey");
    assert!(matches!(missing.create(), WriteReply::NotApplied(fault) if fault.kind == FaultKind::Unfit));
    assert_eq!(missing.update(), WriteReply::Rejected);
    assert_eq!(missing.read(), ReadReply::Missing);
    assert_eq!(missing.remove(), RemoveReply::Removed);
    assert!(matches!(missing.list(), ListReply::Failed(_)));
}

#[test]
fn row_an_empty_404_counts_only_with_the_store_s_request_id() {
    assert_eq!(answer(404, "").with("x-amz-request-id", "1").read(), ReadReply::Missing);
    assert!(answer(404, "").is_refused(FaultKind::Config).contains("an S3 endpoint?"));
    answer(404, "").with("x-amz-request-id", "1").saying("404 page not found").is_refused(FaultKind::Config);
    answer(404, "").saying("<html>not here</html>").is_refused(FaultKind::Config);
}

#[test]
fn row_no_such_bucket_is_a_setting() {
    let detail = answer(404, "NoSuchBucket").is_refused(FaultKind::Config);
    assert!(detail.contains("create the bucket bkt"), "{detail}");
}

#[test]
fn bl_06_row_409_of_two_codes_is_a_conflict() {
    for code in ["ConditionalRequestConflict", "OperationAborted"] {
        assert_eq!(answer(409, code).create(), WriteReply::Conflict);
        assert_eq!(answer(409, code).update(), WriteReply::Conflict);
        answer(409, code).fails_elsewhere(FaultKind::Unavailable);
    }
}

#[test]
fn row_409_that_names_no_code_is_unclear() {
    answer(409, "").is_unclear(FaultKind::Malformed);
    answer(409, "").saying("<Error><Code>Operat").is_unclear(FaultKind::Malformed);
}

#[test]
fn bl_06_row_409_of_another_code_is_a_setting() {
    answer(409, "InvalidBucketState").is_refused(FaultKind::Config);
}

#[test]
fn row_412_is_rejected() {
    for code in ["", "PreconditionFailed"] {
        assert_eq!(answer(412, code).create(), WriteReply::Rejected);
        assert_eq!(answer(412, code).update(), WriteReply::Rejected);
        answer(412, code).fails_elsewhere(FaultKind::Malformed);
    }
}

#[test]
fn bl_04_row_429_and_slow_down_are_throttled_with_their_delay() {
    for throttled in [answer(429, ""), answer(429, "SlowDown"), answer(503, "SlowDown")] {
        assert_eq!(throttled.create(), WriteReply::Throttled { after: None });
        assert_eq!(throttled.update(), WriteReply::Throttled { after: None });
        assert_eq!(throttled.list(), ListReply::Throttled { after: None });
        assert!(
            matches!(throttled.remove(), RemoveReply::Failed(fault) if fault.kind == FaultKind::Throttled)
        );
        let two = throttled.with("retry-after", "2");
        assert_eq!(two.read(), ReadReply::Throttled { after: Some(Duration::from_secs(2)) });
    }
    let dated = answer(503, "SlowDown")
        .with("date", "Sun, 06 Nov 1994 08:49:37 GMT")
        .with("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT");
    assert_eq!(dated.create(), WriteReply::Throttled { after: Some(Duration::from_secs(3)) });
}

#[test]
fn bl_15_row_403_is_denied_and_never_missing() {
    let detail = answer(403, "AccessDenied").is_refused(FaultKind::Denied);
    assert!(detail.contains("s3:ListBucket"), "{detail}");
    let detail = answer(403, "SignatureDoesNotMatch").is_refused(FaultKind::Denied);
    assert!(detail.contains("AWS_SECRET_ACCESS_KEY"), "{detail}");
    answer(401, "").is_refused(FaultKind::Denied);
}

#[test]
fn row_an_incomplete_body_is_unclear() {
    answer(400, "IncompleteBody").is_unclear(FaultKind::Network);
}

#[test]
fn bl_14_row_a_wrong_region_names_both_regions_and_the_setting() {
    let redirect = answer(301, "PermanentRedirect").with("x-amz-bucket-region", "us-west-2");
    let malformed = answer(400, "").saying(
        "<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message><Region>us-west-2</Region></Error>",
    );
    for wrong in [redirect, malformed] {
        let detail = wrong.is_refused(FaultKind::Config);
        for part in ["eu-west-1", "us-west-2", "AWS_REGION"] {
            assert!(detail.contains(part), "{detail}");
        }
    }
}

#[test]
fn bl_14_row_a_redirect_names_its_location_and_is_not_followed() {
    let detail = answer(307, "").with("location", "https://other.example/x").is_refused(FaultKind::Config);
    assert!(detail.contains("https://other.example/x") && detail.contains("not followed"), "{detail}");
    answer(302, "").is_refused(FaultKind::Config);
}

#[test]
fn bl_10_row_a_malformed_request_is_a_setting() {
    answer(400, "InvalidRequest").is_refused(FaultKind::Config);
    answer(400, "").saying("The plain HTTP request was sent to HTTPS port").is_refused(FaultKind::Config);
    answer(407, "").is_refused(FaultKind::Config);
}

#[test]
fn bl_02_row_a_store_that_cannot_do_it_is_unfit() {
    assert!(answer(501, "NotImplemented").is_refused(FaultKind::Unfit).contains("another store"));
    answer(405, "").is_refused(FaultKind::Unfit);
}

#[test]
fn row_other_5xx_are_unclear() {
    for (status, code) in
        [(500, "InternalError"), (502, ""), (503, "ServiceUnavailable"), (503, "SlowDownWrite")]
    {
        answer(status, code).is_unclear(FaultKind::Unavailable);
    }
}

#[test]
fn row_anything_else_is_unclear() {
    for status in [0, 100, 202, 206, 299, 402, 418, 499, 600, u16::MAX] {
        answer(status, "").with("etag", "\"e\"").is_unclear(FaultKind::Malformed);
    }
}

#[test]
fn bl_40_a_weak_tag_is_handed_on_as_it_is() {
    let WriteReply::Applied { etag } = answer(200, "").with("etag", "W/\"e\"").create() else {
        panic!("applied")
    };
    assert!(etag.is_weak());
}

#[test]
fn bl_38_a_body_whose_length_is_not_known_is_not_read_as_a_record() {
    let get = |headers: ResponseHeaders<'_>| {
        let op = ReadOp { id: ReadId::new(1), key: key(), unless: None, timeout: TIMEOUT };
        let headers = ResponseHeaders { etag: Some(b"\"e\""), ..headers };
        let response = Response { status: 200, headers, body: b"{}" };
        read_reply(&About { bucket: &bucket(), corrected: false, local: None }, &op, &response)
    };
    assert!(matches!(get(ResponseHeaders::default()), ReadReply::Failed(_)));
    let shorter = ResponseHeaders { content_length: Some(b"3"), ..ResponseHeaders::default() };
    assert!(matches!(get(shorter), ReadReply::Failed(_)));
    let chunked = ResponseHeaders { transfer_encoding: Some(b"chunked"), ..ResponseHeaders::default() };
    assert!(matches!(get(chunked), ReadReply::Found { .. }));
}

#[test]
fn what_is_too_long_for_a_record_is_read_as_far_as_shows_that_and_keeps_its_tag() {
    let read = |len| {
        let op = ReadOp { id: ReadId::new(1), key: key(), unless: None, timeout: TIMEOUT };
        let headers = ResponseHeaders {
            content_length: Some(b"70000"),
            etag: Some(b"\"e\""),
            ..ResponseHeaders::default()
        };
        let body = vec![b'x'; len];
        let response = Response { status: 200, headers, body: &body };
        read_reply(&About { bucket: &bucket(), corrected: false, local: None }, &op, &response)
    };
    assert!(matches!(read(REPLY_MAX), ReadReply::Failed(_)));
    let ReadReply::Found { etag, .. } = read(REPLY_MAX + 1) else { panic!("it is a version") };
    assert_eq!(etag.to_string(), "\"e\"");
}

#[test]
fn bl_46_a_listing_needs_its_own_document() {
    let page = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
    let listed = answer(200, "").with("date", "Sun, 06 Nov 1994 08:49:37 GMT").saying(page).list();
    assert!(matches!(listed, ListReply::Page(page) if page.date == Some(SUNDAY) && page.entries.is_empty()));
    assert!(matches!(answer(200, "SlowDown").list(), ListReply::Failed(_)));
    assert!(matches!(answer(200, "").saying("<html/>").list(), ListReply::Failed(_)));
}

#[test]
fn the_reason_why_a_listing_cannot_be_used_is_printable_and_bounded() {
    let page = format!("<ListBucketResult><A></\u{3}{}></ListBucketResult>", "a".repeat(20_000));
    let ListReply::Failed(why) = answer(200, "").saying(&page).list() else { panic!("failed") };
    assert!(why.detail.len() < 400 && !why.detail.contains(char::is_control), "{why}");
}

#[test]
fn a_fault_names_what_was_said_and_is_bounded() {
    let detail = answer(403, "AccessDenied").with("x-amz-request-id", "4442587FB7D0A2F9").read();
    let ReadReply::Failed(Fault { detail, .. }) = detail else { panic!("failed") };
    assert_eq!(
        &*detail,
        "cells/a/own.json answered 403 AccessDenied (the message), request 4442587FB7D0A2F9; grant \
         s3:GetObject, s3:PutObject and s3:ListBucket on s3://bkt/p"
    );
    let long = "x\r\n".repeat(20_000);
    let huge =
        answer(500, "").saying(&format!("<Error><Code>{long}</Code><Message>{long}</Message></Error>"));
    let ReadReply::Failed(Fault { detail, .. }) = huge.read() else { panic!("failed") };
    assert!(detail.len() < 1000 && !detail.contains(['\r', '\n']), "{detail}");
}

proptest! {
    #[test]
    fn no_answer_makes_a_reply_panic_and_no_fault_is_long(
        status in prop_oneof![any::<u16>(), 100_u16..600],
        values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 9),
        body in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..300),
            "<Error>(<[A-Z][a-z]{0,8}>[ -~]{0,9}</[A-Z][a-z]{0,8}>){0,4}(</Error>)?".prop_map(String::into_bytes),
        ],
    ) {
        let mut values = values.iter();
        let mut next = || values.next().map(Vec::as_slice).filter(|value| value.len() > 4);
        let headers = ResponseHeaders {
            content_length: next(), date: next(), etag: next(), last_modified: next(), location: next(),
            region: next(), request_id: next(), retry_after: next(), transfer_encoding: next(),
        };
        let response = Response { status, headers, body: &body };
        let about = About { bucket: &bucket(), corrected: false, local: None };
        let write = write_reply(&about, &write_op(Guard::Absent), &response);
        // Whatever the store says: a write is applied only under a tag and a status that promises it.
        if let WriteReply::Applied { etag } = &write {
            prop_assert!((200..=204).contains(&status));
            prop_assert_eq!(Some(etag.as_bytes()), headers.etag);
        }
        if let WriteReply::NotApplied(fault) | WriteReply::Refused(fault) | WriteReply::Unknown(fault) = write {
            prop_assert!(fault.detail.chars().count() < 1000 && !fault.detail.contains(char::is_control));
        }
        let op = ReadOp { id: ReadId::new(1), key: key(), unless: None, timeout: TIMEOUT };
        if read_reply(&about, &op, &response) == ReadReply::Missing {
            prop_assert_eq!(status, 404);
        }
        let op = ListOp { id: ListId::new(1), prefix: "nodes/".into(), after: None, timeout: TIMEOUT };
        let _ = list_reply(&about, &op, &response);
        let op = RemoveOp { id: RemoveId::new(1), key: key(), timeout: TIMEOUT };
        let _ = remove_reply(&about, &op, &response);
        let _ = super::skewed(&response);
    }

    #[test]
    fn a_code_is_never_more_than_its_status(status in 400_u16..600, code in "[A-Za-z]{1,20}") {
        let response = Response { status, headers: ResponseHeaders::default(), body: b"x" };
        prop_assert_ne!(classify(&response, &code), Class::Success);
    }
}
