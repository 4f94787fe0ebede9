//! Answers in the shapes that Google and Microsoft document, where no server of theirs can run.
//!
//! Google: "HTTP status and error codes for XML", "PUT Object", "GET Bucket" of the Cloud Storage XML API.
//! Microsoft: "Blob service error codes", "Put Blob", "List Blobs" of the Blob service REST API.

use core::time::Duration;

use tenure_core::{ETag, Guard, ListReply, Reply, StoreTime};
use tenure_tokio::ObjectStoreAdapter;

use crate::loopback::{Act, answer};
use crate::subject::{execute, list, read, said, write};
use crate::wire::{azure, google, start};

const TIMEOUT: Duration = Duration::from_secs(10);
const DATE: (&str, &str) = ("Date", "Sun, 29 Nov 2026 20:00:09 GMT");
const MODIFIED: (&str, &str) = ("Last-Modified", "Sun, 29 Nov 2026 20:00:02 GMT");
/// What [`DATE`] says, in milliseconds.
const DATE_MS: u64 = 1_795_982_409_000;

fn error(code: &str) -> String {
    format!("<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>m</Message></Error>")
}

fn tag(text: &str) -> ETag {
    ETag::new(text.as_bytes()).expect("not empty")
}

/// Sends a write to a server that gives this answer; returns the reply, and what the request said in `header`.
fn put(
    cloud: fn(&str) -> ObjectStoreAdapter,
    guard: Guard,
    answer: Vec<u8>,
    header: &str,
) -> (String, Option<String>) {
    let (server, endpoint) = start(move |_| Act::Answer(answer.clone()));
    let reply = execute(&cloud(&endpoint), write(guard, TIMEOUT));
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "{reply:?}");
    (said(&reply), seen[0].header(header).map(str::to_owned))
}

#[test]
fn google_guards_writes_by_generation() {
    let stored = || {
        let generation = ("x-goog-generation", "1795982402000001");
        answer("200 OK", &[("ETag", "\"9b2c\""), generation, DATE], "")
    };
    let header = "x-goog-if-generation-match";
    let applied = "applied @1795982402000001@\"9b2c\"".to_owned();
    assert_eq!(put(google, Guard::Absent, stored(), header), (applied.clone(), Some("0".into())));
    let guard = Guard::Match(tag("@1795982402000000@\"77aa\""));
    assert_eq!(put(google, guard, stored(), header), (applied, Some("1795982402000000".into())));
}

#[test]
fn azure_guards_writes_by_tag() {
    let stored = || answer("201 Created", &[("ETag", "\"0x8DE2\""), MODIFIED, DATE], "");
    let applied = "applied \"0x8DE2\"".to_owned();
    assert_eq!(put(azure, Guard::Absent, stored(), "if-none-match"), (applied.clone(), Some("*".into())));
    let guard = Guard::Match(tag("\"0x8DE1\""));
    assert_eq!(put(azure, guard, stored(), "if-match"), (applied, Some("\"0x8DE1\"".into())));
}

#[test]
fn bl_38_a_success_with_anything_inside_proves_no_write() {
    for inside in ["<!doctype html><h1>Soon</h1>", &error("InternalError")] {
        let headers = [("ETag", "\"9b2c\""), ("x-goog-generation", "7"), DATE];
        for (cloud, status) in [(google as fn(&str) -> _, "200 OK"), (azure, "201 Created")] {
            let answer = answer(status, &headers, inside);
            assert_eq!(put(cloud, Guard::Absent, answer, "date").0, "unknown Malformed", "{inside}");
        }
    }
}

#[test]
fn an_update_that_google_cannot_guard_is_never_sent() {
    let (server, endpoint) = start(|_| Act::Answer(answer("200 OK", &[], "")));
    let reply = execute(&google(&endpoint), write(Guard::Match(tag("\"no generation\"")), TIMEOUT));
    assert_eq!(said(&reply), "not applied Unavailable");
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn each_refusal_of_a_write_is_told_apart() {
    let absent = || Guard::Absent;
    let matching = || Guard::Match(tag("@1795982402000000@\"77aa\""));
    for (cloud, guard, status, code, expected) in [
        (google as fn(&str) -> _, absent(), "412 Precondition Failed", "PreconditionFailed", "rejected"),
        (google, matching(), "412 Precondition Failed", "PreconditionFailed", "rejected"),
        (google, matching(), "404 Not Found", "NoSuchKey", "rejected"),
        (google, matching(), "404 Not Found", "NoSuchBucket", "refused Config"),
        (google, absent(), "404 Not Found", "NoSuchBucket", "refused Config"),
        (google, absent(), "409 Conflict", "OperationAborted", "conflict"),
        (google, absent(), "429 Too Many Requests", "SlowDown", "throttled Some(2s)"),
        (google, absent(), "503 Service Unavailable", "SlowDown", "throttled Some(2s)"),
        (google, absent(), "503 Service Unavailable", "ServiceUnavailable", "unknown Unavailable"),
        (google, absent(), "500 Internal Server Error", "InternalError", "unknown Unavailable"),
        (google, absent(), "401 Unauthorized", "AuthenticationRequired", "refused Denied"),
        (google, absent(), "403 Forbidden", "AccessDenied", "refused Denied"),
        (google, absent(), "400 Bad Request", "InvalidArgument", "refused Config"),
        (azure, absent(), "409 Conflict", "BlobAlreadyExists", "rejected"),
        (azure, matching(), "412 Precondition Failed", "ConditionNotMet", "rejected"),
        (azure, matching(), "412 Precondition Failed", "LeaseIdMissing", "refused Config"),
        (azure, matching(), "404 Not Found", "BlobNotFound", "rejected"),
        (azure, matching(), "404 Not Found", "ContainerNotFound", "refused Config"),
        (azure, absent(), "404 Not Found", "ContainerNotFound", "refused Config"),
        (azure, absent(), "409 Conflict", "ContainerBeingDeleted", "refused Config"),
        (azure, absent(), "409 Conflict", "BlobImmutableDueToPolicy", "refused Config"),
        (azure, absent(), "503 Service Unavailable", "ServerBusy", "throttled Some(2s)"),
        (azure, absent(), "500 Internal Server Error", "OperationTimedOut", "unknown Unavailable"),
        (azure, absent(), "403 Forbidden", "AuthenticationFailed", "refused Denied"),
    ] {
        let answer = answer(status, &[DATE, ("Retry-After", "2")], &error(code));
        assert_eq!(put(cloud, guard, answer, "date").0, expected, "{status} {code}");
    }
}

#[test]
fn azures_code_counts_also_where_the_body_is_missing() {
    let answer = answer("409 Conflict", &[DATE, ("x-ms-error-code", "BlobAlreadyExists")], "");
    assert_eq!(put(azure, Guard::Absent, answer, "date").0, "rejected");
}

#[test]
fn a_read_has_the_stamps_and_the_tag_of_its_answer() {
    for (cloud, version, expected) in [
        (google as fn(&str) -> _, ("x-goog-generation", "7"), "@7@\"9b2c\""),
        (azure, ("x-ms-version", "2023-11-03"), "\"9b2c\""),
    ] {
        let (server, endpoint) = start(move |request| {
            Act::Answer(match request.header("if-none-match") {
                Some("\"9b2c\"") => answer("304 Not Modified", &[DATE], ""),
                _ => answer("200 OK", &[("ETag", "\"9b2c\""), version, MODIFIED, DATE], "body"),
            })
        });
        let store = cloud(&endpoint);
        let stamps = format!("Some({DATE_MS})");
        let modified = format!("Some({})", DATE_MS - 7000);
        let found = execute(&store, read(None));
        assert_eq!(said(&found), format!("found {} body {modified} {stamps}", tag(expected)));
        let unchanged = execute(&store, read(Some(tag(expected))));
        assert_eq!(said(&unchanged), format!("unchanged None {stamps}"));
        assert_eq!(server.seen().len(), 2);
    }
}

#[test]
fn a_record_is_missing_only_on_the_stores_own_word() {
    for (cloud, code, expected) in [
        (google as fn(&str) -> _, "NoSuchKey", "missing"),
        (google, "NoSuchBucket", "failed Config"),
        (azure, "BlobNotFound", "missing"),
        (azure, "ContainerNotFound", "failed Config"),
        (azure, "", "failed Config"),
    ] {
        let body = if code.is_empty() { "<html>not here</html>".to_owned() } else { error(code) };
        let (_server, endpoint) = start(move |_| Act::Answer(answer("404 Not Found", &[DATE], &body)));
        assert_eq!(said(&execute(&cloud(&endpoint), read(None))), expected, "{code}");
    }
}

#[test]
fn a_listing_goes_on_where_its_page_ended() {
    let google_page = |key: &str, next: &str| {
        format!(
            "<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://doc.s3.amazonaws.com/2006-03-01'>\
             <Name>bkt</Name><Prefix>p/nodes/</Prefix><IsTruncated>true</IsTruncated>{next}<Contents><Key>p/{key}</Key>\
             <Generation>7</Generation><MetaGeneration>1</MetaGeneration><LastModified>2026-11-29T20:00:02.000Z\
             </LastModified><ETag>\"9b2c\"</ETag><Size>4</Size></Contents></ListBucketResult>"
        )
    };
    let azure_page = |key: &str, next: &str| {
        format!(
            "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"https://a/\" \
             ContainerName=\"bkt\"><Prefix>p/nodes/</Prefix><Blobs><Blob><Name>p/{key}</Name><Properties>\
             <Last-Modified>Sun, 29 Nov 2026 20:00:02 GMT</Last-Modified><Etag>9b2c</Etag><Content-Length>4\
             </Content-Length><Content-Type>application/json</Content-Type></Properties></Blob></Blobs>{next}\
             </EnumerationResults>"
        )
    };
    let pages = [
        (
            google as fn(&str) -> ObjectStoreAdapter,
            google_page("nodes/a.1.json", "<NextContinuationToken>more</NextContinuationToken>"),
            google_page("nodes/b.2.json", ""),
        ),
        (
            azure,
            azure_page("nodes/a.1.json", "<NextMarker>more</NextMarker>"),
            azure_page("nodes/b.2.json", "<NextMarker />"),
        ),
    ];
    for (cloud, first, second) in pages {
        let (server, endpoint) = start(move |request| {
            let is_second = request.request_line.contains("=more");
            Act::Answer(answer("200 OK", &[DATE], if is_second { &second } else { &first }))
        });
        let store = cloud(&endpoint);
        let mut keys = Vec::new();
        let mut after = None;
        loop {
            let Reply::List(ListReply::Page(page)) = execute(&store, list("nodes/", after.as_deref())) else {
                panic!("no page")
            };
            assert_eq!(page.date, Some(StoreTime::from_millis(DATE_MS)));
            for entry in page.entries {
                assert_eq!(entry.modified, Some(StoreTime::from_millis(DATE_MS - 7000)));
                assert_eq!(entry.etag, Some(tag("\"9b2c\"")));
                keys.push(entry.key);
            }
            after = page.next.map(|next| next.to_string());
            if after.is_none() {
                break;
            }
        }
        assert_eq!(keys, ["nodes/a.1.json", "nodes/b.2.json"]);
        let seen = server.seen();
        assert!(seen.iter().all(|request| request.request_line.contains("prefix=p%2Fnodes%2F")), "{seen:?}");
        assert_eq!(seen.len(), 2);
    }
}

#[test]
fn a_listing_shows_no_tags_once_versions_have_shown_names_that_it_leaves_out() {
    let (_server, endpoint) = start(|request| {
        let page = "<ListBucketResult><Contents><Key>p/cells/c/own.json</Key><LastModified>2026-11-29T20:00:02.000Z\
                    </LastModified><ETag>\"9b2c\"</ETag><Size>4</Size></Contents></ListBucketResult>";
        let generation = ("x-goog-generation", "7");
        Act::Answer(if request.request_line.contains("list-type=2") {
            answer("200 OK", &[DATE], page)
        } else {
            answer("200 OK", &[("ETag", "\"9b2c\""), generation, MODIFIED, DATE], "body")
        })
    });
    let store = google(&endpoint);
    execute(&store, read(None));
    let Reply::List(ListReply::Page(page)) = execute(&store, list("cells/", None)) else { panic!("no page") };
    assert_eq!(page.entries.len(), 1);
    assert_eq!(page.entries[0].etag, None, "it would never equal the tag of a read");
}

#[test]
fn garbage_for_a_listing_is_a_failure_and_throttling_is_told() {
    for (cloud, status, body, expected) in [
        (google as fn(&str) -> _, "200 OK", "<ListBucketResult><Contents>", "failed Malformed"),
        (azure, "200 OK", "not xml", "failed Malformed"),
        (google, "429 Too Many Requests", "", "throttled None"),
        (azure, "403 Forbidden", "", "failed Denied"),
    ] {
        let (_server, endpoint) = start(move |_| Act::Answer(answer(status, &[DATE], body)));
        let said = said(&execute(&cloud(&endpoint), list("nodes/", None)));
        assert_eq!(said, expected, "{status} {body}");
    }
}
