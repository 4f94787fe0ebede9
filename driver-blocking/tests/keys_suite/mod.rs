//! Keys that end, as the S3 stores of both drivers meet them (BL-11).
//!
//! The file that includes this one says how an operation is executed.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use tenure_blocking::{Keys, Transport};
use tenure_core::{AttemptId, CellId, Fault, FaultKind, Guard, Key, Op, Reply, WriteOp, WriteReply};
use tenure_s3::{Bucket, Credentials, Issued, Provider, Settings};

use super::loopback::{Act, Seen, Server, answer};
use super::{S3Store, execute};

const PATIENT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn bl_11_keys_that_have_ended_are_fetched_once_and_the_write_may_be_sent_again() {
    let server = Server::start(taking("NEW"));
    let source = Source::giving([keys("OLD"), keys("NEW")]);
    let store = open(&server, source.keys());
    let WriteReply::NotApplied(fault) = write(&store, PATIENT) else { panic!("not applied") };
    assert!(fault.detail.contains("ExpiredToken"), "{fault}");
    assert!(matches!(write(&store, PATIENT), WriteReply::Applied { .. }));
    assert_eq!((source.asked(), signers(&server)), (2, vec!["OLD".to_owned(), "NEW".to_owned()]));
}

#[test]
fn bl_11_keys_that_are_no_better_are_not_sent_again_for_ever() {
    let server = Server::start(taking("NEW"));
    let source = Source::giving([keys("OLD"), keys("OLD")]);
    let store = open(&server, source.keys());
    let WriteReply::Refused(fault) = write(&store, PATIENT) else { panic!("refused") };
    assert_eq!(fault.kind, FaultKind::Denied);
    assert!(fault.detail.contains("fresh credentials"), "{fault}");
    assert_eq!(source.asked(), 2);
}

#[test]
fn bl_11_a_source_that_never_answers_costs_a_request_its_own_time_and_no_more() {
    let server = Server::start(taking("NEW"));
    let (hold, held) = channel();
    let store = open(&server, Source::hanging_after([], held).keys());
    let WriteReply::NotApplied(fault) = write(&store, SHORT) else { panic!("not applied") };
    assert_eq!(fault.kind, FaultKind::TimedOut);
    assert!(server.seen().is_empty());
    drop(hold);
}

#[test]
fn bl_11_good_keys_serve_while_their_source_hangs() {
    let server = Server::start(|seen| match signer(seen).as_str() {
        // One store of many has stopped taking them; this one takes them still.
        "OLD" if seen.request_line.contains("/gone/") => Act::Answer(expired()),
        _ => Act::Answer(stored()),
    });
    let (hold, held) = channel();
    let store = open(&server, Source::hanging_after([keys("OLD")], held).keys());
    assert!(matches!(write_to(&store, "a", PATIENT), WriteReply::Applied { .. }));
    let WriteReply::Refused(_) = write_to(&store, "gone", SHORT) else { panic!("refused") };
    assert!(matches!(write_to(&store, "b", PATIENT), WriteReply::Applied { .. }));
    drop(hold);
}

#[test]
fn a_source_that_has_nothing_is_told_at_once_with_its_own_words() {
    let server = Server::start(taking("NEW"));
    // Asked at the start, and again for the write.
    let gone = || Err(Fault::new(FaultKind::Denied, "the role is gone; ask for it"));
    let source = Source::giving([gone(), gone()]);
    let WriteReply::Refused(fault) = write(&open(&server, source.keys()), PATIENT) else { panic!("refused") };
    assert_eq!(fault.kind, FaultKind::Denied);
    assert!(fault.detail.contains("no credentials: the role is gone; ask for it"), "{fault}");
    assert!(server.seen().is_empty());
}

#[test]
fn keys_set_by_hand_take_the_place_of_those_that_have_ended() {
    let server = Server::start(taking("NEW"));
    let store = open(&server, Credentials::new("OLD", "s", None).expect("legal").into());
    assert!(matches!(write(&store, PATIENT), WriteReply::Refused(_)));
    store.replace_credentials(Credentials::new("NEW", "s", None).expect("legal"));
    assert!(matches!(write(&store, PATIENT), WriteReply::Applied { .. }));
}

/// A server that takes the keys of this name only.
fn taking(name: &'static str) -> impl Fn(&Seen) -> Act {
    move |seen| Act::Answer(if signer(seen) == name { stored() } else { expired() })
}

fn stored() -> Vec<u8> {
    answer("200 OK", &[("ETag", "\"e\"")], "")
}

fn expired() -> Vec<u8> {
    answer("400 Bad Request", &[], "<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>")
}

/// Returns the access key that a request is signed with.
fn signer(seen: &Seen) -> String {
    let authorization = seen.header("authorization").expect("signed");
    let (_, rest) = authorization.split_once("Credential=").expect("a scope");
    rest.split('/').next().expect("a key").to_owned()
}

fn signers(server: &Server) -> Vec<String> {
    server.seen().iter().map(signer).collect()
}

/// A source of keys that gives what the test says, in order.
#[derive(Clone, Debug)]
struct Source {
    given: Arc<Mutex<VecDeque<Result<Issued, Fault>>>>,
    /// What it waits for when there is nothing left to give.
    held: Arc<Mutex<Receiver<()>>>,
    asked: Arc<AtomicUsize>,
}

impl Source {
    fn giving<const N: usize>(given: [Result<Issued, Fault>; N]) -> Self {
        Self::hanging_after(given, channel::<()>().1)
    }

    fn hanging_after<const N: usize>(given: [Result<Issued, Fault>; N], held: Receiver<()>) -> Self {
        let given = Arc::new(Mutex::new(VecDeque::from(given)));
        Self { given, held: Arc::new(Mutex::new(held)), asked: Arc::default() }
    }

    fn keys(&self) -> Keys {
        Keys::fetched_by(self.clone()).expect("a thread")
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Provider for Source {
    fn fetch(&self) -> Result<Issued, Fault> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let next = self.given.lock().expect("no panic while it is held").pop_front();
        next.unwrap_or_else(|| {
            self.held.lock().expect("no panic while it is held").recv().ok();
            Err(Fault::new(FaultKind::Unavailable, "the test is over"))
        })
    }
}

fn keys(name: &str) -> Result<Issued, Fault> {
    let credentials = Credentials::new(name, "s", Some("token")).expect("legal");
    Ok(Issued { credentials, expires: None })
}

fn open(server: &Server, keys: Keys) -> S3Store {
    let settings = Settings { endpoint: Some(format!("http://{}", server.address())), ..Settings::default() };
    let bucket = Bucket::parse("s3://bkt", &settings).expect("a legal address");
    S3Store::with(bucket, keys, &Transport::default()).expect("a client")
}

fn write(store: &S3Store, timeout: Duration) -> WriteReply {
    write_to(store, "a", timeout)
}

fn write_to(store: &S3Store, cell: &str, timeout: Duration) -> WriteReply {
    let key = Key::owner(&CellId::new(cell).expect("legal"));
    let (id, body) = (AttemptId::new(1), (*b"{}").into());
    let op = WriteOp { id, key, guard: Guard::Absent, body, timeout };
    let Reply::Write(reply) = execute(store, Op::Write(op)) else { panic!("a write's reply") };
    reply
}
