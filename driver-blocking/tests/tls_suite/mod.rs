//! Certificates and proxies, as the S3 stores of both drivers meet them: real TLS and real proxies on loopback.
//!
//! The file that includes this one says how an operation is executed.

mod server;

use core::net::SocketAddr;
use core::time::Duration;
use std::net::TcpListener;

use tenure_blocking::Transport;
use tenure_core::{AttemptId, CellId, Fault, FaultKind, Guard, Key, Op, Reply, WriteOp, WriteReply};
use tenure_s3::{Bucket, Credentials, Settings};

use self::server::{Authority, Proxy, Server, Verdict};
use super::nobody::Nobody;
use super::{S3Store, execute};

const PATIENT: Duration = Duration::from_secs(20);
/// Resolved by nobody: only a proxy reaches it.
const ELSEWHERE: &str = "store.test";

#[test]
fn a_server_is_trusted_by_the_file_that_names_its_authority() {
    let authority = Authority::new();
    let server = Server::start(authority.certificate("localhost"));
    for variable in ["AWS_CA_BUNDLE", "SSL_CERT_FILE"] {
        let store = open(&at(server.address()), &[(variable, authority.path())]);
        assert!(matches!(write(&store), WriteReply::Applied { .. }), "{variable}");
    }
    assert_eq!(server.requests(), 2);
}

#[test]
fn a_server_that_nobody_vouches_for_is_refused_and_the_variable_is_named() {
    // The other has the same name, as one has that was made anew.
    let (authority, other) = (Authority::new(), Authority::new());
    let server = Server::start(authority.certificate("localhost"));
    for environment in [&[][..], &[("AWS_CA_BUNDLE", other.path())]] {
        let fault = not_applied(&open(&at(server.address()), environment));
        assert_says(&fault, &["certificate", "signed by nobody trusted", "AWS_CA_BUNDLE"]);
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn a_certificate_that_has_expired_is_told_from_one_for_another_name() {
    let authority = Authority::new();
    for (certificate, words) in [
        (authority.expired("localhost"), ["has expired", "clock"]),
        (authority.certificate("other.example"), ["for another name", "style=path"]),
    ] {
        let server = Server::start(certificate);
        let fault = not_applied(&open(&at(server.address()), &[("AWS_CA_BUNDLE", authority.path())]));
        assert_says(&fault, &words);
        assert_eq!(server.requests(), 0);
    }
}

#[test]
fn a_server_without_tls_is_told_by_its_first_words() {
    let authority = Authority::new();
    let proxy = Proxy::start(Verdict::Chatter);
    let fault = not_applied(&open(&at(proxy.address()), &[("AWS_CA_BUNDLE", authority.path())]));
    assert_says(&fault, &["does not speak TLS", "http://"]);
}

#[test]
fn a_tunnel_through_a_proxy_reaches_the_server_with_tls_from_end_to_end() {
    let authority = Authority::new();
    let server = Server::start(authority.certificate(ELSEWHERE));
    let proxy = Proxy::start(Verdict::Tunnel(server.address()));
    let address = format!("http://{}", proxy.address());
    let url = format!("https://{ELSEWHERE}");
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let store = open(&url, &[("AWS_CA_BUNDLE", authority.path()), (name, &address)]);
        assert!(matches!(write(&store), WriteReply::Applied { .. }), "{name}");
    }
    assert_eq!(server.requests(), 3);
    assert_eq!(proxy.seen(), ["CONNECT store.test:443 HTTP/1.1"; 3]);
}

#[test]
fn a_plain_request_goes_to_the_proxy_whole() {
    let proxy = Proxy::start(Verdict::Answer("200 OK"));
    let address = proxy.address().to_string();
    let store = open("http://store.test:9000", &[("HTTP_PROXY", &address)]);
    assert!(matches!(write(&store), WriteReply::Applied { .. }));
    assert_eq!(proxy.seen(), ["PUT http://store.test:9000/bkt/cells/a/own.json HTTP/1.1"]);
}

#[test]
fn bl_11_what_is_near_or_listed_is_reached_without_the_proxy() {
    let authority = Authority::new();
    let server = Server::start(authority.certificate("localhost"));
    let proxy = Proxy::start(Verdict::Answer("403 Forbidden"));
    let (address, ca) = (format!("http://{}", proxy.address()), ("AWS_CA_BUNDLE", authority.path()));
    let store = open(&at(server.address()), &[ca, ("HTTPS_PROXY", &address)]);
    assert!(matches!(write(&store), WriteReply::Applied { .. }));
    // Nothing resolves the name, so that it fails, but not at the proxy.
    for list in [ELSEWHERE, "other.example, .test", "*"] {
        let long = format!("http://{}.{ELSEWHERE}", "x".repeat(64));
        let list = if list == ELSEWHERE { long.trim_start_matches("http://") } else { list };
        let fault = not_applied(&open(&long, &[("HTTP_PROXY", &address), ("NO_PROXY", list)]));
        assert_says(&fault, &["name is unknown", "AWS_ENDPOINT_URL_S3"]);
    }
    assert!(proxy.seen().is_empty());
}

#[test]
fn a_proxy_that_refuses_is_named() {
    for (verdict, words) in [
        (Verdict::Answer("407 Proxy Authentication Required"), ["wants a password", "HTTPS_PROXY"]),
        (Verdict::Answer("403 Forbidden"), ["refused to connect", "NO_PROXY"]),
        (Verdict::Hangup, ["does not answer as one", "HTTPS_PROXY"]),
    ] {
        let proxy = Proxy::start(verdict);
        let fault = not_applied(&open(
            "https://store.test",
            &[("HTTPS_PROXY", &format!("http://{}", proxy.address()))],
        ));
        assert_says(&fault, &words);
    }
    let nobody = Nobody::new();
    let address = nobody.address().to_string();
    let fault = not_applied(&open("https://store.test", &[("HTTPS_PROXY", &address)]));
    assert_says(&fault, &["refused", "HTTPS_PROXY"]);
}

#[test]
fn a_proxy_that_wants_a_password_gets_the_one_in_its_address() {
    let proxy = Proxy::start(Verdict::Password("Basic dTpw"));
    let address = format!("http://u:p@{}", proxy.address());
    let store = open("http://store.test", &[("HTTP_PROXY", &address)]);
    assert!(matches!(write(&store), WriteReply::Applied { .. }));
    // Plain requests without it are answered, by the proxy, with a status of its own.
    let store = open("http://store.test", &[("HTTP_PROXY", &proxy.address().to_string())]);
    let WriteReply::Refused(fault) = write(&store) else { panic!("refused") };
    assert_eq!(fault.kind, FaultKind::Config);
    assert_says(&fault, &["407", "HTTPS_PROXY"]);
}

fn at(address: SocketAddr) -> String {
    format!("https://localhost:{}", address.port())
}

fn open(endpoint: &str, environment: &[(&str, &str)]) -> S3Store {
    let lookup = |name: &str| {
        environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let settings = Settings { endpoint: Some(endpoint.into()), ..Settings::default() };
    let bucket = Bucket::parse("s3://bkt", &settings).expect("a legal address");
    let transport = Transport::from_env(lookup).expect("a legal environment");
    S3Store::with(bucket, Credentials::new("AK", "SK", None).expect("legal"), &transport).expect("a client")
}

fn write(store: &S3Store) -> WriteReply {
    let op = WriteOp {
        id: AttemptId::new(1),
        key: Key::owner(&CellId::new("a").expect("legal")),
        guard: Guard::Absent,
        body: (*b"{}").into(),
        timeout: PATIENT,
    };
    let Reply::Write(reply) = execute(store, Op::Write(op)) else { panic!("a write's reply") };
    reply
}

/// Demands that a write fails before any byte of it has left.
fn not_applied(store: &S3Store) -> Fault {
    let reply = write(store);
    let WriteReply::NotApplied(fault) = reply else { panic!("{reply:?}") };
    assert_eq!(fault.kind, FaultKind::Network, "{fault}");
    fault
}

fn assert_says(fault: &Fault, words: &[&str]) {
    for word in words {
        assert!(fault.detail.contains(word), "{word:?} is not in {:?}", fault.detail);
    }
}

/// Binds a free port of this machine.
fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a free port")
}
