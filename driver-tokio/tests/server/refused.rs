//! What the server refuses, as both drivers tell it.

use tenure_core::{Fault, FaultKind, ReadReply, Reply, WriteReply};
use tenure_sim::server::{self, Options, Rule, Server};

use crate::both::{SECRET, Store, credentials, start};

fn refusal(reply: Reply) -> Fault {
    let Reply::Write(WriteReply::Refused(fault)) = reply else { panic!("{reply:?}") };
    fault
}

#[test]
fn a_wrong_secret_is_told() {
    let server = start(Options::default());
    for store in Store::both(&server, &credentials("another", None)) {
        let fault = refusal(store.create("a"));
        assert_eq!(fault.kind, FaultKind::Denied);
        assert!(fault.detail.contains("SignatureDoesNotMatch"), "{fault}");
    }
    assert!(server.seen().iter().all(|seen| seen.status == Some(403) && !seen.applied));
}

#[test]
fn a_session_token_is_part_of_what_is_signed() {
    let server = start(Options::default());
    for store in Store::both(&server, &credentials(SECRET, Some("a/b+c=="))) {
        assert!(matches!(store.read("a"), Reply::Read(ReadReply::Missing)), "{:?}", store.read("a"));
    }
}

#[test]
fn an_expired_token_is_a_refusal_of_its_own_name() {
    let server = start(Options::default());
    server.faults([Rule::new(server::Fault::Expired)]);
    for store in Store::both(&server, &credentials(SECRET, Some("old"))) {
        let fault = refusal(store.create("a"));
        assert!(fault.kind == FaultKind::Denied && fault.detail.contains("ExpiredToken"), "{fault}");
    }
}

#[test]
fn the_region_that_is_expected_is_named() {
    let server = start(Options { region: Some("eu-west-9".to_owned()), ..Options::default() });
    for store in Store::both(&server, &credentials(SECRET, None)) {
        let fault = refusal(store.create("a"));
        assert!(fault.kind == FaultKind::Config && fault.detail.contains("eu-west-9"), "{fault}");
    }
}

/// A client whose clock is off is told so once, and signs with the server's time from then on.
#[test]
fn a_clock_that_is_off_costs_one_attempt() {
    for ahead_s in [-3600, 3600, 40 * 365 * 86_400] {
        let server = start(Options { ahead_s, ..Options::default() });
        for (store, cell) in Store::both(&server, &credentials(SECRET, None)).iter().zip(["a", "b"]) {
            assert!(matches!(store.create(cell), Reply::Write(WriteReply::NotApplied(_))), "{ahead_s}");
            assert!(matches!(store.create(cell), Reply::Write(WriteReply::Applied { .. })), "{ahead_s}");
        }
        assert_eq!(codes(&server), [403, 200, 403, 200]);
    }
}

/// Fourteen minutes are nothing to S3.
#[test]
fn a_clock_that_is_off_by_less_than_a_quarter_of_an_hour_costs_nothing() {
    let server = start(Options { ahead_s: 14 * 60, ..Options::default() });
    for store in Store::both(&server, &credentials(SECRET, None)) {
        assert!(matches!(store.read("a"), Reply::Read(ReadReply::Missing)));
    }
    assert_eq!(codes(&server), [404, 404]);
}

fn codes(server: &Server) -> Vec<u16> {
    server.seen().iter().filter_map(|seen| seen.status).collect()
}
