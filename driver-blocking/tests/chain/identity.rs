//! A web identity, as pods have it: a token in a file is exchanged for keys that end long before the token changes.

use core::time::Duration;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use tenure_blocking::clock;
use tenure_core::Instant;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::child::{DEADLINE, Talking, WRITERS, command};
use super::common::TempDir;
use super::loopback::{Act, Seen, Server, answer};
use super::{at, stored};

/// How long keys last here; the least that is waited before they are fetched anew is 10 s.
const LIFETIME: Duration = Duration::from_secs(13);

/// A token service, and what it gave.
struct Tokens {
    server: Server,
    given: Arc<Mutex<Vec<Instant>>>,
    asked: Receiver<()>,
}

impl Tokens {
    fn start() -> Self {
        let given = Arc::new(Mutex::new(Vec::new()));
        let (asking, asked): (Sender<()>, _) = channel();
        let (giving, asking) = (Arc::clone(&given), Mutex::new(asking));
        let server = Server::start(move |_| {
            let mut given = giving.lock().expect("no panic");
            given.push(clock::mono().after(LIFETIME));
            let _ = asking.lock().expect("no panic").send(());
            Act::Answer(issue(given.len()))
        });
        Self { server, given, asked }
    }

    fn await_asked(&self) {
        self.asked.recv_timeout(DEADLINE).expect("keys are fetched");
    }

    /// Returns the identity tokens that were shown.
    fn shown(&self) -> Vec<String> {
        let token = |seen: &Seen| {
            let body = String::from_utf8(seen.body.clone()).expect("text");
            let mut parts = body.split('&');
            assert!(parts.any(|part| part == "Action=AssumeRoleWithWebIdentity"), "{body}");
            body.split('&').find_map(|part| part.strip_prefix("WebIdentityToken=")).expect("one").to_owned()
        };
        self.server.seen().iter().map(token).collect()
    }
}

/// BL-11: whoever fetches keys when the file's time changes has exactly one good hour.
#[test]
fn bl_11_a_web_identity_is_exchanged_again_before_its_keys_end_though_its_file_never_looks_changed() {
    let tokens = Tokens::start();
    let (given, revoked) = (Arc::clone(&tokens.given), Arc::new(Mutex::new(BTreeSet::new())));
    let refused = Arc::clone(&revoked);
    let store = Server::start(move |seen| {
        let key = signer(seen);
        let has_ended = clock::mono() >= given.lock().expect("no panic")[key - 1];
        let is_revoked = refused.lock().expect("no panic").contains(&key);
        if has_ended || is_revoked { Act::Answer(expired()) } else { stored(seen) }
    });
    let dir = TempDir::new();
    let path = dir.path().join("token");
    // Always of the same time, as a projected token looks that is not due for a day.
    let put = |text: &str| {
        fs::write(&path, text).expect("a file");
        let file = File::options().write(true).open(&path).expect("the file");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).expect("a time");
    };
    put("first");
    let (file, service) = (path.display().to_string(), at(&tokens.server));
    let environment = [
        ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/tenure"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file.as_str()),
        ("AWS_ENDPOINT_URL_STS", service.as_str()),
    ];
    let mut child = Talking::start(command("writes_at_once", "s3://bkt", &at(&store), &environment));
    let all_applied = ["applied"; WRITERS].join(" | ");

    // All that want keys at once are served by one exchange.
    child.go_on();
    assert_eq!(child.hear(), all_applied);
    assert_eq!((tokens.shown(), signers(&store, 0)), (vec!["first".to_owned()], BTreeSet::from([1])));

    // By their own end, nobody having asked: the file is read again, whatever its time says.
    tokens.await_asked();
    put("second");
    tokens.await_asked();
    let first_end = tokens.given.lock().expect("no panic")[0];
    assert!(clock::mono() < first_end, "fetched ahead of the end");
    wait_until(first_end);
    let before = store.seen().len();
    child.go_on();
    assert_eq!(child.hear(), all_applied, "no write is refused, though the first keys have ended");
    assert_eq!((tokens.shown(), signers(&store, before)), (names(&["first", "second"]), BTreeSet::from([2])));

    // On the store's word, once for all who were refused.
    put("third");
    revoked.lock().expect("no panic").insert(2);
    child.go_on();
    let said = child.hear();
    assert!(said.split(" | ").all(|one| one == "applied" || one.starts_with("not applied: ")), "{said}");
    child.go_on();
    assert_eq!(child.hear(), all_applied);
    assert_eq!(tokens.shown(), names(&["first", "second", "third"]));
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn wait_until(at: Instant) {
    // Nothing is ever sent: the time-out is what is waited for.
    let (_keep, never) = channel::<()>();
    while clock::mono() < at {
        let _ = never.recv_timeout(at.since(clock::mono()));
    }
}

/// Returns the number of the keys that a request is signed with.
fn signer(seen: &Seen) -> usize {
    let authorization = seen.header("authorization").expect("signed");
    let (_, rest) = authorization.split_once("Credential=ASIA").expect("keys of the token service");
    let number = rest.split('/').next().expect("a key").parse().expect("a number");
    assert_eq!(seen.header("x-amz-security-token"), Some(format!("session{number}").as_str()));
    number
}

fn signers(store: &Server, from: usize) -> BTreeSet<usize> {
    store.seen()[from..].iter().map(signer).collect()
}

fn expired() -> Vec<u8> {
    answer("400 Bad Request", &[], "<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>")
}

/// What the token service answers, with the keys of this number.
fn issue(number: usize) -> Vec<u8> {
    let now = Duration::from_nanos(clock::now().wall.as_nanos());
    let end = OffsetDateTime::from(UNIX_EPOCH + now + LIFETIME).format(&Rfc3339).expect("a time");
    let body = format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
         <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA{number}</AccessKeyId>\
         <SecretAccessKey>secret</SecretAccessKey><SessionToken>session{number}</SessionToken>\
         <Expiration>{end}</Expiration></Credentials><AssumedRoleUser><AssumedRoleId>R:tenure</AssumedRoleId>\
         <Arn>arn:aws:sts::123456789012:assumed-role/tenure/t</Arn></AssumedRoleUser>\
         </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
    );
    answer("200 OK", &[("Content-Type", "text/xml")], &body)
}
