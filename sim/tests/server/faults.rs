//! Each fault, seen from both ends: what the client is told, and what became of the store.

use core::time::Duration;
use std::io::Write as _;

use tenure_sim::server::{Fault, Rule, Server};

use crate::client::{
    Answer, ask, await_stored, await_that, connect, create, get, hang_up, is_silent, put, raw, read_all,
    request, start,
};

const QUIET: Duration = Duration::from_millis(150);

/// Starts a server on which one object, `k`, was stored before all began to go wrong in this way.
fn with(fault: Fault) -> Server {
    let server = start();
    create(&server, "k", "{\"old\":1}");
    server.faults([Rule::new(fault)]);
    server
}

fn was_applied(server: &Server) -> bool {
    server.store().history("k").len() == 2
}

/// Replaces `k` under the tag that it has.
fn replace(server: &Server) -> Answer {
    put(server, "k", ("If-Match", OLD), "{\"new\":2}")
}

/// The tag of `{"old":1}`.
const OLD: &str = "\"1295a774d2711e42588d498852de2c65\"";

#[test]
fn what_is_refused_is_not_applied_and_says_why() {
    for (name, status, code) in [
        ("301", 301, Some("PermanentRedirect")),
        ("307", 307, Some("TemporaryRedirect")),
        ("403", 403, Some("AccessDenied")),
        ("409", 409, Some("ConditionalRequestConflict")),
        ("412", 412, Some("PreconditionFailed")),
        ("429", 429, Some("TooManyRequests")),
        ("500", 500, Some("InternalError")),
        ("502", 502, Some("BadGateway")),
        ("503", 503, Some("SlowDown")),
        ("expired-token", 400, Some("ExpiredToken")),
        ("html-200", 200, None),
        ("html-404", 404, None),
        ("html-502", 502, None),
        ("request-timeout", 400, Some("RequestTimeout")),
        ("wrong-region", 400, Some("AuthorizationHeaderMalformed")),
    ] {
        let server = with(Fault::named(name).expect("it has a name"));
        let answer = replace(&server);
        assert_eq!((answer.status, answer.element("Code")), (status, code), "{name}");
        // What stands before a store gives its pages tags of their own.
        let tag = name.strip_prefix("html-").map(|status| format!("W/\"page-{status}\""));
        assert_eq!(answer.header("etag"), tag.as_deref(), "{name}");
        assert!(!was_applied(&server), "{name}");
    }
    assert_eq!(replace(&with(Fault::Moved)).header("location"), None);
    assert!(replace(&with(Fault::Redirect)).header("location").is_some());
    assert!(replace(&with(Fault::WrongRegion)).element("Region").is_some());
    assert_eq!(replace(&with(Fault::named("503-after").expect("named"))).header("retry-after"), Some("1"));
    assert_eq!(replace(&with(Fault::named("503").expect("named"))).header("retry-after"), None);
}

#[test]
fn without_the_right_to_list_what_is_missing_is_denied_and_what_is_there_is_not() {
    let server = with(Fault::MissingDenied);
    assert_eq!(get(&server, "k").status, 200);
    for line in ["GET /tenure/none", "HEAD /tenure/none", "GET /tenure?list-type=2&prefix=k"] {
        assert_eq!(ask(&server, line, &[], "").status, 403, "{line}");
    }
    assert_eq!(get(&server, "none").element("Code"), Some("AccessDenied"));
    assert_eq!(put(&server, "none", ("If-Match", OLD), "x").element("Code"), Some("NoSuchKey"));
    assert_eq!((replace(&server).status, was_applied(&server)), (200, true));
}

#[test]
fn what_fails_after_it_was_applied_is_applied() {
    for (name, status) in [("500-applied", 500), ("504-applied", 504), ("error-in-200", 200)] {
        let server = with(Fault::named(name).expect("it has a name"));
        let answer = replace(&server);
        assert_eq!((answer.status, answer.header("etag")), (status, None), "{name}");
        assert!(answer.element("Code").is_some() && was_applied(&server), "{name}");
    }
    let server = with(Fault::Drop);
    assert_eq!(raw(&server, &request("PUT /tenure/k", &[("If-Match", OLD)], "{\"new\":2}")), "");
    assert!(was_applied(&server));
}

#[test]
fn an_answer_is_cut_at_any_byte() {
    let server = start();
    create(&server, "k", "x");
    let get = request("GET /tenure/k", &[], "");
    let whole = raw(&server, &get).len();
    for cut in [0, 1, 9, whole - 2, whole - 1] {
        server.faults([Rule::new(Fault::CutAnswer(Some(cut)))]);
        assert_eq!(raw(&server, &get).len(), cut);
    }
    server.faults([Rule::new(Fault::CutAnswer(None))]);
    let lengths: std::collections::BTreeSet<usize> = (0..20).map(|_| raw(&server, &get).len()).collect();
    assert!(lengths.len() > 5, "{lengths:?}");
}

#[test]
fn a_request_is_cut_before_it_is_evaluated() {
    for cut in [0, 3, 9] {
        let server = with(Fault::CutRequest(cut));
        assert_eq!(raw(&server, &request("PUT /tenure/k", &[("If-Match", OLD)], "{\"new\":2}")), "");
        assert!(!was_applied(&server));
    }
}

#[test]
fn what_hangs_is_never_evaluated() {
    let server = with(Fault::Hang);
    let mut stream = connect(&server);
    stream.write_all(request("PUT /tenure/k", &[("If-Match", OLD)], "{\"new\":2}").as_bytes()).expect("sent");
    assert!(is_silent(&mut stream, QUIET));
    assert!(!was_applied(&server));
}

#[test]
fn a_late_write_lands_after_its_sender_has_gone() {
    let server = with(Fault::Late(QUIET));
    assert_eq!(raw(&server, &request("PUT /tenure/k", &[("If-Match", OLD)], "{\"new\":2}")), "");
    assert!(!was_applied(&server) && server.late() == 1);
    await_stored(&server, "k", "{\"new\":2}");
    let store = server.store();
    let [_, landed] = store.history("k") else { panic!("two versions") };
    let sent = server.seen().last().expect("it arrived").at;
    assert!(landed.at.since(sent) >= QUIET);
}

#[test]
fn a_delayed_write_lands_although_its_sender_gave_up() {
    let server = with(Fault::Delay(QUIET));
    let mut stream = connect(&server);
    stream.write_all(request("PUT /tenure/k", &[("If-Match", OLD)], "{\"new\":2}").as_bytes()).expect("sent");
    await_that(&server, || server.late() > 0);
    hang_up(&stream);
    await_stored(&server, "k", "{\"new\":2}");
}

#[test]
fn a_delayed_answer_is_to_a_write_that_was_there_all_the_time() {
    let server = with(Fault::DelayAnswer(QUIET));
    assert_eq!(replace(&server).status, 200);
    let landed = server.store().history("k")[1].at;
    assert!(server.now().since(landed) >= QUIET);
}

#[test]
fn an_answer_goes_out_byte_by_byte() {
    let pace = Duration::from_millis(1);
    let server = with(Fault::Slow(pace));
    let before = server.now();
    let text = raw(&server, &request("GET /tenure/k", &[], ""));
    assert!(text.ends_with("{\"old\":1}"));
    let least = pace * u32::try_from(text.len()).expect("short");
    assert!(server.now().since(before) >= least);
}

#[test]
fn a_body_is_shorter_than_its_length_says_and_the_connection_ends_or_not() {
    let server = with(Fault::Truncate);
    let cut = get(&server, "k");
    assert_eq!((cut.header("content-length"), cut.body.as_str()), (Some("9"), "{\"ol"));

    let server = with(Fault::Stall);
    let mut stream = connect(&server);
    stream.write_all(request("GET /tenure/k", &[], "").as_bytes()).expect("sent");
    let mut half = vec![0; 0];
    let mut byte = [0];
    while !half.ends_with(b"{\"ol") {
        std::io::Read::read_exact(&mut stream, &mut byte).expect("the first half");
        half.extend_from_slice(&byte);
    }
    assert!(is_silent(&mut stream, QUIET));
}

#[test]
fn a_part_of_an_answer_is_wrong_or_missing() {
    let right = get(&with(Fault::NoToken), "k");
    assert_eq!((right.etag(), right.status), (OLD, 200));
    let spoiled = |fault| get(&with(fault), "k");
    assert_eq!(spoiled(Fault::NoTag).header("etag"), None);
    assert_eq!(spoiled(Fault::NoDate).header("date"), None);
    assert_eq!(spoiled(Fault::NoModified).header("last-modified"), None);
    assert_eq!(spoiled(Fault::WeakTag).etag(), format!("W/{OLD}"));
    let wrong = spoiled(Fault::WrongTag);
    assert!(wrong.etag() != OLD && wrong.etag().len() == OLD.len());
    let empty = spoiled(Fault::EmptyBody);
    assert_eq!((empty.status, empty.etag(), empty.body.as_str()), (200, OLD, ""));
    let ahead = spoiled(Fault::DateAhead(366 * 86_400));
    let year =
        |date: Option<&str>| date.and_then(|date| date.get(12..16)?.parse::<u32>().ok()).expect("a year");
    assert!(year(ahead.header("date")) > year(ahead.header("last-modified")));
}

#[test]
fn conditions_do_not_count_on_an_unfit_store() {
    let stale = |server: &Server| put(server, "k", ("If-Match", "\"stale\""), "{\"new\":2}").status;
    let again = |server: &Server| create(server, "k", "{\"new\":2}").status;
    assert_eq!(stale(&with(Fault::IgnoresConditions)), 200);
    assert_eq!(again(&with(Fault::IgnoresConditions)), 200);
    assert_eq!(stale(&with(Fault::IgnoresMatch)), 200);
    assert_eq!(again(&with(Fault::IgnoresMatch)), 412);

    let missing = |fault| put(&with(fault), "missing", ("If-Match", OLD), "x").status;
    assert_eq!(missing(Fault::NoTag), 404);
    assert_eq!(missing(Fault::MissingRejected), 412);
    assert_eq!(missing(Fault::MissingCreated), 200);
}

#[test]
fn tags_count_without_their_quotes_only() {
    let server = with(Fault::BareTags);
    assert_eq!(replace(&server).status, 412);
    assert_eq!(put(&server, "k", ("If-Match", OLD.trim_matches('"')), "{\"new\":2}").status, 200);
}

#[test]
fn a_condition_that_is_checked_early_lets_two_win() {
    let server = with(Fault::ChecksEarly);
    let text = request("PUT /tenure/new", &[("If-None-Match", "*")], "body");
    let mut streams = [connect(&server), connect(&server)];
    for stream in &mut streams {
        stream.write_all(&text.as_bytes()[..text.len() - 1]).expect("sent");
    }
    await_that(&server, || server.requests() == 3);
    for stream in &mut streams {
        stream.write_all(b"y").expect("sent");
    }
    assert!(streams.iter_mut().map(read_all).all(|text| text.contains("200 OK")));
}

#[test]
fn a_page_of_a_listing_is_short_or_leads_nowhere() {
    let page = |fault, token: &str| {
        let server = with(Fault::NoDate);
        create(&server, "l", "x");
        server.faults([Rule::new(fault), Rule::new(Fault::ShortPage(1))]);
        ask(&server, &format!("GET /tenure?list-type=2&prefix={token}"), &[], "")
    };
    let short = page(Fault::NoDate, "");
    assert_eq!((short.element("KeyCount"), short.element("NextContinuationToken")), (Some("1"), Some("k")));
    let lost = page(Fault::NoToken, "");
    assert_eq!((lost.element("IsTruncated"), lost.element("NextContinuationToken")), (Some("true"), None));
    let again = page(Fault::RepeatToken, "&continuation-token=a");
    assert_eq!(again.element("NextContinuationToken"), Some("a"));
    assert_eq!(page(Fault::NoModified, "").element("LastModified"), None);
}
