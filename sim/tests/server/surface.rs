//! S3's own behaviour, with nothing wrong.

use core::time::Duration;
use std::thread;

use tenure_sim::server::{Seen, Server};

use crate::client::{Answer, ask, create, get, put, start, stored};

/// The MD5 of `{"a":1}`, by another program.
const TAG: &str = "\"bb6cb5c68df4652941caf652a366f2d8\"";

#[test]
fn what_is_put_can_be_read_with_its_md5_for_a_tag_and_both_stamps() {
    let server = start();
    let created = create(&server, "cells/a%3Ab/own.json", "{\"a\":1}");
    assert_eq!((created.status, created.etag(), created.body.as_str()), (200, TAG, ""));
    let read = get(&server, "cells/a%3Ab/own.json");
    assert_eq!((read.status, read.etag(), read.body.as_str()), (200, TAG, "{\"a\":1}"));
    let (date, modified) = (read.header("date"), read.header("last-modified"));
    assert!(date.is_some_and(|date| date.ends_with(" GMT")) && modified.is_some(), "{read:?}");
    assert!(read.header("x-amz-request-id").is_some_and(|id| id.len() == 16));
    assert_eq!(server.store().history("cells/a:b/own.json").len(), 1);
}

#[test]
fn conditions_on_a_write_are_answered_as_s3_answers_them() {
    let server = start();
    let outcome = |answer: Answer| (answer.status, answer.element("Code").map(str::to_owned));
    let failed = |status, code: &str| (status, Some(code.to_owned()));
    assert_eq!(outcome(put(&server, "k", ("If-Match", TAG), "x")), failed(404, "NoSuchKey"));
    assert_eq!(outcome(create(&server, "k", "{\"a\":1}")), (200, None));
    assert_eq!(outcome(create(&server, "k", "y")), failed(412, "PreconditionFailed"));
    assert_eq!(outcome(put(&server, "k", ("If-Match", "\"stale\""), "y")), failed(412, "PreconditionFailed"));
    assert_eq!(outcome(put(&server, "k", ("If-None-Match", TAG), "y")), failed(501, "NotImplemented"));
    let both = ask(&server, "PUT /tenure/k", &[("If-Match", TAG), ("If-None-Match", "*")], "y");
    assert_eq!(outcome(both), failed(501, "NotImplemented"));
    assert_eq!(stored(&server, "k").as_deref(), Some("{\"a\":1}"));
    assert_eq!(outcome(put(&server, "k", ("If-Match", TAG), "z")), (200, None));
    assert_eq!(stored(&server, "k").as_deref(), Some("z"));
}

#[test]
fn a_read_of_a_known_version_has_no_body() {
    let server = start();
    create(&server, "k", "{\"a\":1}");
    let unchanged = ask(&server, "GET /tenure/k", &[("If-None-Match", TAG)], "");
    assert_eq!((unchanged.status, unchanged.body.as_str()), (304, ""));
    assert!(unchanged.header("date").is_some() && unchanged.header("last-modified").is_none());
    assert_eq!(ask(&server, "GET /tenure/k", &[("If-None-Match", "\"other\"")], "").status, 200);
    let head = ask(&server, "HEAD /tenure/k", &[], "");
    assert_eq!((head.status, head.header("content-length"), head.body.as_str()), (200, Some("7"), ""));
}

#[test]
fn what_was_put_there_by_others_is_an_object_like_any() {
    let server = start();
    server.put("k", b"{\"a\":1}");
    assert_eq!((get(&server, "k").etag(), create(&server, "k", "x").status), (TAG, 412));
    assert_eq!(put(&server, "k", ("If-Match", TAG), "z").status, 200);
}

#[test]
fn the_log_can_be_waited_for() {
    let server = start();
    let waited = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let applied = |log: &[Seen]| log.iter().find(|seen| seen.applied).map(|seen| seen.key.clone());
            server.wait_for(Duration::from_secs(20), applied)
        });
        create(&server, "k", "x");
        waiting.join().expect("no panic")
    });
    assert_eq!(waited.as_deref(), Some("k"));
    let removal = |log: &[Seen]| log.iter().any(|seen| seen.method == "DELETE").then_some(());
    assert_eq!(server.wait_for(Duration::from_millis(1), removal), None);
}

#[test]
fn a_removal_may_have_a_condition_and_leaves_a_version_without_bytes() {
    let server = start();
    create(&server, "k", "{\"a\":1}");
    assert_eq!(ask(&server, "DELETE /tenure/k", &[("If-Match", "\"x\"")], "").status, 412);
    assert_eq!(ask(&server, "DELETE /tenure/k", &[("If-Match", TAG)], "").status, 204);
    assert_eq!(get(&server, "k").element("Code"), Some("NoSuchKey"));
    assert_eq!(ask(&server, "DELETE /tenure/k", &[], "").status, 204);
    assert_eq!(create(&server, "k", "again").status, 200);
    assert_eq!(server.store().history("k").len(), 3);
}

#[test]
fn a_listing_comes_in_pages_and_in_the_encoding_that_was_asked_for() {
    let server = start();
    for key in ["n/a%26b", "n/c%20d", "n/e", "o/f"] {
        assert_eq!(create(&server, key, "1").status, 200);
    }
    let list = |query: &str| ask(&server, &format!("GET /tenure?list-type=2&prefix=n%2F{query}"), &[], "");
    let first = list("&max-keys=2&encoding-type=url");
    assert_eq!(first.element("IsTruncated"), Some("true"));
    assert!(
        first.body.contains("<Key>n/a%26b</Key>") && first.body.contains("<Key>n/c%20d</Key>"),
        "{first:?}"
    );
    assert_eq!(first.element("ETag"), Some("&quot;c4ca4238a0b923820dcc509a6f75849b&quot;"));
    assert!(first.element("LastModified").is_some_and(|text| text.ends_with(".000Z")));
    let token = first.element("NextContinuationToken").expect("there is more").replace(' ', "%20");
    let second = list(&format!("&continuation-token={token}"));
    assert_eq!((second.element("IsTruncated"), second.element("KeyCount")), (Some("false"), Some("1")));
    assert!(second.body.contains("<Key>n/e</Key>") && !second.body.contains("o/f"), "{second:?}");
    assert!(list("").body.contains("<Key>n/a&amp;b</Key>"));
}

#[test]
fn a_bucket_in_the_host_is_the_same_bucket() {
    let server = start();
    create(&server, "p/k", "x");
    let text = "GET /p/k HTTP/1.1\r\nHost: tenure.localhost:9\r\nConnection: close\r\n\r\n";
    assert!(crate::client::raw(&server, text).ends_with("\r\n\r\nx"));
}

#[test]
fn what_is_not_there_is_named() {
    let server = start();
    let code = |line: &str| {
        let answer = ask(&server, line, &[], "");
        assert!(answer.element("RequestId").is_some() && answer.element("Resource").is_some(), "{answer:?}");
        answer.element("Code").map(str::to_owned)
    };
    assert_eq!(code("GET /other/k").as_deref(), Some("NoSuchBucket"));
    assert_eq!(code("GET /tenure/k").as_deref(), Some("NoSuchKey"));
    assert_eq!(code("PATCH /tenure/k").as_deref(), Some("MethodNotAllowed"));
    for line in ["GET /", "GET /tenure", "POST /tenure/k?uploads", "GET /tenure?list-type=2&delimiter=%2F"] {
        assert_eq!(code(line).as_deref(), Some("NotImplemented"), "{line}");
    }
    let long = format!("GET /tenure/{}", "k".repeat(1025));
    assert_eq!(code(&long).as_deref(), Some("KeyTooLongError"));
}

/// The condition counts at the instant of the write, however the bytes of the two requests arrive.
#[test]
fn of_two_writers_with_their_bodies_held_back_one_wins() {
    use std::io::Write as _;
    let server = start();
    for round in 0..20 {
        let line = format!("PUT /tenure/race{round}");
        let text = crate::client::request(&line, &[("If-None-Match", "*")], "body");
        let mut streams: Vec<_> = (0..8).map(|_| crate::client::connect(&server)).collect();
        for stream in &mut streams {
            stream.write_all(&text.as_bytes()[..text.len() - 1]).expect("it can be sent");
        }
        for stream in &mut streams {
            stream.write_all(b"y").expect("it can be sent");
        }
        let won = streams.iter_mut().map(crate::client::read_all).filter(|text| text.contains("200 OK"));
        assert_eq!(won.count(), 1, "round {round}");
    }
}

#[test]
fn many_writers_of_one_key_make_one_chain_of_versions() {
    let server = start();
    create(&server, "k", "0");
    let won: usize = thread::scope(|scope| {
        let races: Vec<_> = (0..8)
            .map(|who| {
                scope.spawn({
                    let server = &server;
                    move || race(server, who)
                })
            })
            .collect();
        races.into_iter().map(|race| race.join().expect("no panic")).sum()
    });
    assert_eq!(server.store().history("k").len(), 1 + won);
}

/// Tries thirty times to replace what is there; returns how often it did.
fn race(server: &Server, who: usize) -> usize {
    let tries = (0..30).filter(|round| {
        let read = get(server, "k");
        let body = format!("{who} {round}");
        put(server, "k", ("If-Match", read.etag()), &body).status == 200
    });
    tries.count()
}

#[test]
fn a_server_that_keeps_no_history_has_only_what_is_current() {
    let options = tenure_sim::server::Options { keeps_history: false, ..Default::default() };
    let server = Server::start(options).expect("a port");
    let tag = create(&server, "k", "1").etag().to_owned();
    put(&server, "k", ("If-Match", &tag), "2");
    assert_eq!(server.store().history("k").len(), 1);
    assert_eq!(stored(&server, "k").as_deref(), Some("2"));
    assert!(server.seen().is_empty());
    assert_eq!(server.requests(), 2);
}
