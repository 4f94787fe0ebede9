//! What the S3 stores of both drivers promise about the wire, over real sockets.
//!
//! The file that includes this one says how an operation is executed.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::thread;

use tenure_core::{
    AttemptId, CellId, ETag, FaultKind, Guard, Key, ListId, ListOp, ListReply, NodeId, Op, ReadId, ReadOp,
    ReadReply, RemoveId, RemoveOp, RemoveReply, Reply, WriteOp, WriteReply,
};
use tenure_s3::{Bucket, Credentials, LIST_MAX, REPLY_MAX, Settings};

use super::loopback::{Act, Nobody, Seen, Server, answer};
use super::{S3Store, execute, execute_in_two};

const PATIENT: Duration = Duration::from_secs(20);
/// As a lease of ten seconds gives each attempt, and some more.
const ATTEMPT: Duration = Duration::from_secs(3);
const SHORT: Duration = Duration::from_millis(200);
const TAG: &str = "\"0a1b\"";

fn open(address: SocketAddr) -> S3Store {
    let settings = Settings { endpoint: Some(format!("http://{address}")), ..Settings::default() };
    let bucket = Bucket::parse("s3://bkt/p", &settings).expect("a legal address");
    S3Store::new(bucket, Credentials::new("AK", "SK", None).expect("legal")).expect("a client")
}

fn cell(name: &str) -> Key {
    Key::owner(&CellId::new(name).expect("legal"))
}

fn lease() -> Key {
    Key::lease(&NodeId::parse("n.1").expect("legal"))
}

fn write(key: Key, timeout: Duration) -> Op {
    Op::Write(WriteOp {
        id: AttemptId::new(1),
        key,
        guard: Guard::Absent,
        body: (*b"{\"a\":1}").into(),
        timeout,
    })
}

fn read(key: Key, timeout: Duration) -> Op {
    Op::Read(ReadOp { id: ReadId::new(1), key, unless: None, timeout })
}

fn list(timeout: Duration) -> Op {
    Op::List(ListOp { id: ListId::new(1), prefix: Key::LEASES.into(), after: None, timeout })
}

fn stored() -> Vec<u8> {
    answer("200 OK", &[("ETag", TAG)], "")
}

fn is_applied(reply: &Reply) -> bool {
    matches!(reply, Reply::Write(WriteReply::Applied { etag }) if etag.as_bytes() == TAG.as_bytes())
}

fn is_unknown(reply: &Reply, kind: FaultKind) -> bool {
    matches!(reply, Reply::Write(WriteReply::Unknown(fault)) if fault.kind == kind)
}

fn is_failed(reply: &Reply, kind: FaultKind) -> bool {
    matches!(reply, Reply::Read(ReadReply::Failed(fault)) if fault.kind == kind)
        || matches!(reply, Reply::List(ListReply::Failed(fault)) if fault.kind == kind)
}

#[test]
fn bl_40_a_write_is_one_signed_request_with_its_guard_and_its_body() {
    let server = Server::start(|_| Act::Answer(stored()));
    let store = open(server.address());
    let reply = execute(&store, write(cell("a:b"), PATIENT));
    assert!(is_applied(&reply), "{reply:?}");
    let [seen] = &server.seen()[..] else { panic!("{:?}", server.seen()) };
    assert_eq!(seen.request_line, "PUT /bkt/p/cells/a%3Ab/own.json HTTP/1.1");
    assert_eq!(seen.body, b"{\"a\":1}");
    assert_eq!(seen.header("host"), Some(server.address().to_string().as_str()));
    for (name, value) in
        [("if-none-match", "*"), ("accept-encoding", "identity"), ("cache-control", "no-transform")]
    {
        assert_eq!(seen.header(name), Some(value));
    }
    assert!(
        seen.header("authorization")
            .is_some_and(|value| value.starts_with("AWS4-HMAC-SHA256 Credential=AK/"))
    );
    assert_eq!(seen.header("transfer-encoding"), None);
}

#[test]
fn a_body_that_is_held_back_is_on_the_wire_up_to_its_first_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (go_on, told) = channel();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).expect("the head");
            head.push(byte[0]);
        }
        // If it came only with the rest, which waits for us, it would never come.
        stream.read_exact(&mut byte).expect("the first byte");
        stream.set_nonblocking(true).expect("a socket");
        let more = stream.peek(&mut [0]).expect_err("nothing more has come").kind();
        assert_eq!(more, std::io::ErrorKind::WouldBlock);
        stream.set_nonblocking(false).expect("a socket");
        go_on.send(()).expect("somebody waits");
        let mut body = vec![byte[0]; 7];
        stream.read_exact(&mut body[1..]).expect("the rest");
        stream.write_all(&stored()).expect("a client");
        (String::from_utf8(head).expect("text").to_lowercase(), body)
    });
    let reply = execute_in_two(&open(address), write(cell("a"), PATIENT), told);
    assert!(is_applied(&reply), "{reply:?}");
    let (head, body) = server.join().expect("no panic");
    assert!(head.contains("content-length: 7\r\n"), "{head}");
    assert_eq!(body, b"{\"a\":1}");
}

#[test]
fn reads_lists_and_removes_come_back_as_their_own_replies() {
    let page = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>p/nodes/n.1.json</Key></Contents>\
                </ListBucketResult>";
    let server = Server::start(move |seen| {
        Act::Answer(match seen.request_line.split(' ').next() {
            Some("DELETE") => answer("204 No Content", &[], ""),
            _ if seen.request_line.contains("list-type=2") => answer("200 OK", &[], page),
            _ => answer("200 OK", &[("ETag", TAG)], "{}"),
        })
    });
    let store = open(server.address());
    let reply = execute(&store, read(cell("a"), PATIENT));
    assert!(matches!(&reply, Reply::Read(ReadReply::Found { body, .. }) if **body == *b"{}"), "{reply:?}");
    let reply = execute(&store, list(PATIENT));
    assert!(matches!(&reply, Reply::List(ListReply::Page(page)) if page.entries.len() == 1), "{reply:?}");
    let reply =
        execute(&store, Op::Remove(RemoveOp { id: RemoveId::new(1), key: Key::probe(1), timeout: PATIENT }));
    assert_eq!(reply, Reply::Remove(RemoveReply::Removed));
}

#[test]
fn a_read_of_a_version_that_is_known_costs_one_request_and_no_body() {
    let server = Server::start(|seen| {
        Act::Answer(match seen.header("if-none-match") {
            // Some servers say when the version was stored, most do not.
            Some(TAG) => b"HTTP/1.1 304 Not Modified\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n".to_vec(),
            _ => answer("200 OK", &[("ETag", "\"new\"")], "{}"),
        })
    });
    let store = open(server.address());
    let unless = |tag: &str| {
        let unless = ETag::new(tag.as_bytes());
        Op::Read(ReadOp { id: ReadId::new(1), key: cell("a"), unless, timeout: PATIENT })
    };
    let same = execute(&store, unless(TAG));
    assert!(matches!(same, Reply::Read(ReadReply::Unchanged(stamps)) if stamps.date.is_some()), "{same:?}");
    let other = execute(&store, unless("\"old\""));
    assert!(matches!(&other, Reply::Read(ReadReply::Found { body, .. }) if **body == *b"{}"), "{other:?}");
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn a_refused_connection_is_the_one_thing_known_not_to_be_applied() {
    let nobody = Nobody::new();
    let store = open(nobody.address());
    let reply = execute(&store, write(cell("a"), PATIENT));
    let Reply::Write(WriteReply::NotApplied(fault)) = reply else { panic!("{reply:?}") };
    assert_eq!(fault.kind, FaultKind::Network);
    assert!(fault.detail.contains("refused") && fault.detail.contains("AWS_ENDPOINT_URL_S3"), "{fault}");
    assert!(is_failed(&execute(&store, read(cell("a"), PATIENT)), FaultKind::Network));
}

#[test]
fn a_write_whose_answer_is_cut_at_any_byte_is_unknown() {
    let (server, store) = cutting(stored());
    for cut in 0..stored().len() {
        let reply = execute(&store, write(cell(&format!("cut{cut}")), PATIENT));
        assert!(is_unknown(&reply, FaultKind::Network), "cut at {cut}: {reply:?}");
        assert_eq!(server.seen().len(), cut + 1, "cut at {cut}");
    }
    assert!(is_applied(&execute(&store, write(cell(&format!("cut{}", stored().len())), PATIENT))));
}

#[test]
fn a_write_whose_request_is_cut_at_any_byte_is_unknown() {
    // The length of a request of ours is about 600 bytes; the last ones are never reached, which is a server
    // that reads it all and closes.
    for read in (0..700).step_by(50) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let store = open(listener.local_addr().expect("bound"));
        thread::scope(|scope| {
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().expect("a connection");
                let mut request = vec![0; read];
                let mut done = 0;
                while done < read && !request[..done].ends_with(b"{\"a\":1}") {
                    let more = stream.read(&mut request[done..]).expect("a request");
                    assert!(more > 0, "the client waits for an answer");
                    done += more;
                }
            });
            let reply = execute(&store, write(cell("a"), PATIENT));
            assert!(is_unknown(&reply, FaultKind::Network), "after {read} bytes: {reply:?}");
        });
    }
}

#[test]
fn bl_38_a_read_whose_answer_is_cut_at_any_byte_fails() {
    let whole = answer("200 OK", &[("ETag", TAG)], "{\"node\":\"x\",\"epoch\":1}");
    let length = whole.len();
    let (_server, store) = cutting(whole);
    for cut in 0..length {
        let reply = execute(&store, read(cell(&format!("cut{cut}")), PATIENT));
        assert!(is_failed(&reply, FaultKind::Network), "cut at {cut}: {reply:?}");
    }
    let whole = execute(&store, read(cell(&format!("cut{length}")), PATIENT));
    assert!(matches!(whole, Reply::Read(ReadReply::Found { .. })), "{whole:?}");
}

/// Starts a server that sends as many bytes of the answer as the cell's name says, and closes.
fn cutting(whole: Vec<u8>) -> (Server, S3Store) {
    let server = Server::start(move |seen| {
        let (_, rest) = seen.request_line.split_once("/cut").expect("a cell that says where to cut");
        let cut: usize = rest.split_once('/').expect("a name").0.parse().expect("a number");
        Act::AnswerAndClose(whole[..cut].to_vec())
    });
    let store = open(server.address());
    (server, store)
}

#[test]
fn bl_38_a_body_that_ends_with_its_connection_is_not_believed() {
    let server = Server::start(|_| Act::AnswerAndClose(b"HTTP/1.1 200 OK\r\nETag: \"e\"\r\n\r\n{}".to_vec()));
    let reply = execute(&open(server.address()), read(cell("a"), PATIENT));
    assert!(is_failed(&reply, FaultKind::Malformed), "{reply:?}");
}

#[test]
fn bl_19_a_server_that_says_nothing_is_given_up_on() {
    let server = Server::start(|_| Act::Hang);
    let store = open(server.address());
    for key in [cell("a"), lease()] {
        let reply = execute(&store, write(key.clone(), SHORT));
        assert!(is_unknown(&reply, FaultKind::TimedOut), "{reply:?}");
        assert!(is_failed(&execute(&store, read(key, SHORT)), FaultKind::TimedOut));
    }
    // The next attempt never waits behind one that was given up on.
    let connections: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 1, 2, 3]);
}

#[test]
fn the_deadline_covers_an_answer_that_never_ends() {
    let head = "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 60000\r\n\r\n";
    let server = Server::start(move |_| Act::Dribble(head.as_bytes().to_vec()));
    let store = open(server.address());
    assert!(is_failed(&execute(&store, read(cell("a"), SHORT)), FaultKind::TimedOut));
    let reply = execute(&store, write(cell("a"), SHORT));
    assert!(is_unknown(&reply, FaultKind::TimedOut), "{reply:?}");
}

#[test]
fn an_answer_over_the_limit_is_not_read_and_one_at_the_limit_is() {
    let sized = |length: usize| answer("200 OK", &[("ETag", TAG)], &" ".repeat(length));
    let server = Server::start(move |seen| {
        Act::Answer(sized(match &seen.request_line {
            line if line.contains("list-type=2") => LIST_MAX + 1,
            line if line.contains("/most/") => REPLY_MAX,
            _ => REPLY_MAX + 1,
        }))
    });
    let store = open(server.address());
    let most = execute(&store, read(cell("most"), PATIENT));
    assert!(matches!(most, Reply::Read(ReadReply::Found { body, .. }) if body.len() == REPLY_MAX));
    // Too long for a record, and known by its tag all the same: whoever reads it calls it corrupt.
    let more = execute(&store, read(cell("more"), PATIENT));
    assert!(matches!(more, Reply::Read(ReadReply::Found { body, .. }) if body.len() == REPLY_MAX + 1));
    assert!(is_failed(&execute(&store, list(PATIENT)), FaultKind::Malformed));
    // The store said yes, but not in a way that we read to its end.
    assert!(is_unknown(&execute(&store, write(cell("more"), PATIENT)), FaultKind::Malformed));
}

#[test]
fn bl_14_a_redirect_is_not_followed() {
    let elsewhere = Server::start(|_| Act::Answer(stored()));
    let location = format!("http://{}/bkt/p/cells/a/own.json", elsewhere.address());
    for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let redirect = answer(status, &[("Location", &location)], "");
        let server = Server::start(move |_| Act::Answer(redirect.clone()));
        let reply = execute(&open(server.address()), write(cell("a"), PATIENT));
        let Reply::Write(WriteReply::Refused(fault)) = reply else { panic!("{status}: {reply:?}") };
        assert_eq!(fault.kind, FaultKind::Config);
        assert!(fault.detail.contains(&location), "{fault}");
    }
    assert!(elsewhere.seen().is_empty());
}

/// The first answer of a round makes its connection one to be reused; then it breaks with a request read.
#[test]
fn bl_01_a_request_lost_on_a_reused_connection_is_sent_once_and_unknown() {
    let server = Server::start(|seen| match &seen.request_line {
        line if line.contains("/first") => Act::Answer(stored()),
        _ => Act::AnswerAndClose(Vec::new()),
    });
    let store = open(server.address());
    let mut reused = 0;
    for round in 0..20 {
        assert!(is_applied(&execute(&store, write(cell(&format!("first{round}")), PATIENT))));
        let reply = execute(&store, write(cell(&format!("lost{round}")), PATIENT));
        assert!(is_unknown(&reply, FaultKind::Network), "{reply:?}");
        let seen = server.seen();
        assert_eq!(seen.len(), 2 * (round + 1), "each request arrives once");
        reused += usize::from(seen[2 * round].connection == seen[2 * round + 1].connection);
    }
    assert!(reused > 0, "no round met the case that this is about");
}

/// hyper may resend what it has not begun to send. The server closes each connection right after its answer,
/// so that the next request races the news of it; whatever happens, no request arrives twice, and one that may
/// have is unknown. Very rarely, on a loaded machine, the HTTP client loses such a request: it arrives nowhere,
/// and only the attempt's own deadline answers it.
#[test]
fn bl_01_a_connection_that_closes_while_idle_makes_no_request_arrive_twice() {
    const ROUNDS: usize = 200;
    let server = Server::start(|_| Act::AnswerAndClose(stored()));
    let store = open(server.address());
    let replies: Vec<Reply> =
        (0..ROUNDS).map(|round| execute(&store, write(cell(&format!("c{round}")), ATTEMPT))).collect();
    let seen = server.seen();
    for (round, reply) in replies.iter().enumerate() {
        let path = format!("/cells/c{round}/");
        let arrived = seen.iter().filter(|seen| seen.request_line.contains(&path)).count();
        if is_applied(reply) {
            assert_eq!(arrived, 1, "round {round}");
        } else {
            let is_broken = is_unknown(reply, FaultKind::Network) && arrived <= 1;
            let is_lost = is_unknown(reply, FaultKind::TimedOut) && arrived == 0;
            assert!(is_broken || is_lost, "round {round}: {reply:?}, arrived {arrived} times");
        }
    }
    assert!(replies.iter().any(is_applied));
}

#[test]
fn bl_49_leases_have_connections_of_their_own() {
    let server = Server::start(|_| Act::Answer(stored()));
    let store = open(server.address());
    for key in [cell("a"), lease(), cell("b"), lease()] {
        assert!(is_applied(&execute(&store, write(key, PATIENT))));
    }
    let seen = server.seen();
    for renewal in seen.iter().filter(|seen| seen.request_line.contains("/nodes/")) {
        let shared =
            |other: &&Seen| other.connection == renewal.connection && other.request_line.contains("/cells/");
        assert!(!seen.iter().any(|other| shared(&other)), "{seen:?}");
    }
}

#[test]
fn bl_49_a_renewal_does_not_wait_for_hanging_requests() {
    let server = Server::start(|seen: &Seen| match &seen.request_line {
        line if line.contains("/nodes/") => Act::Answer(stored()),
        _ => Act::Hang,
    });
    let store = open(server.address());
    let hanging = AtomicUsize::new(0);
    thread::scope(|scope| {
        for round in 0..8 {
            let (store, hanging) = (&store, &hanging);
            scope.spawn(move || {
                hanging.fetch_add(1, Ordering::SeqCst);
                execute(store, write(cell(&format!("c{round}")), Duration::from_secs(1)));
                hanging.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while server.seen().len() < 8 {
            thread::yield_now();
        }
        assert!(is_applied(&execute(&store, write(lease(), PATIENT))));
        assert_eq!(hanging.load(Ordering::SeqCst), 8, "the renewal came back before any of them");
    });
}

#[test]
fn a_skewed_clock_is_corrected_by_the_store_s_date_and_the_request_left_to_the_engine() {
    let skewed = answer(
        "403 Forbidden",
        &[("Date", "Sun, 06 Nov 1994 08:49:37 GMT")],
        "<Error><Code>RequestTimeTooSkewed</Code></Error>",
    );
    let server = Server::start(move |seen| match &seen.request_line {
        line if line.contains("/first/") => Act::Answer(skewed.clone()),
        _ => Act::Answer(stored()),
    });
    let store = open(server.address());
    let reply = execute(&store, write(cell("first"), PATIENT));
    assert!(matches!(reply, Reply::Write(WriteReply::NotApplied(_))), "{reply:?}");
    assert_eq!(server.seen().len(), 1);
    assert!(store.clock_error() > Duration::from_secs(3600));
    assert!(is_applied(&execute(&store, write(lease(), PATIENT))));
    let date = server.seen()[1].header("x-amz-date").expect("dated").to_owned();
    assert!(date.starts_with("19941106T08"), "{date}");
}

#[test]
fn replaced_credentials_sign_the_next_request() {
    let server = Server::start(|_| Act::Answer(stored()));
    let store = open(server.address());
    store.replace_credentials(Credentials::new("AK2", "SK2", Some("token")).expect("legal"));
    assert!(is_applied(&execute(&store, write(cell("a"), PATIENT))));
    let seen = &server.seen()[0];
    assert!(seen.header("authorization").is_some_and(|value| value.contains("Credential=AK2/")));
    assert_eq!(seen.header("x-amz-security-token"), Some("token"));
}

#[test]
fn a_store_shows_where_it_is_and_nothing_it_signed() {
    let server = Server::start(|_| Act::Answer(stored()));
    let store = open(server.address());
    store.replace_credentials(Credentials::new("AK2", "SK2", Some("token")).expect("legal"));
    execute(&store, write(cell("a"), PATIENT));
    assert_eq!(format!("{store:?}"), "S3Store(s3://bkt/p)");
}

#[test]
fn a_tag_that_cannot_stand_in_a_header_is_never_sent() {
    let server = Server::start(|_| Act::Answer(stored()));
    let etag = ETag::new(b"a\r\nx-evil: 1").expect("not empty");
    let unless =
        Op::Read(ReadOp { id: ReadId::new(1), key: cell("a"), unless: Some(etag), timeout: PATIENT });
    assert!(is_failed(&execute(&open(server.address()), unless), FaultKind::Malformed));
    assert!(server.seen().is_empty());
}

#[test]
fn a_compressed_answer_is_not_decoded_behind_our_back() {
    let server = Server::start(|_| {
        Act::Answer(answer("200 OK", &[("ETag", TAG), ("Content-Encoding", "gzip")], "{}"))
    });
    let reply = execute(&open(server.address()), read(cell("a"), PATIENT));
    assert!(matches!(&reply, Reply::Read(ReadReply::Found { body, .. }) if **body == *b"{}"), "{reply:?}");
}
