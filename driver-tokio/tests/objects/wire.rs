//! What goes over the wire below the crate, and what does not: retries, redirects, requests past their time.

use core::time::Duration;

use tenure_blocking::Transport;
use tenure_core::{Guard, Op};
use tenure_tokio::ObjectStoreAdapter;
use tenure_tokio::object_store::StaticCredentialProvider;
use tenure_tokio::object_store::azure::MicrosoftAzureBuilder;
use tenure_tokio::object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};

use crate::loopback::{Act, Nobody, Seen, Server, answer};
use crate::subject::{execute, list, read, said, write};

const TIMEOUT: Duration = Duration::from_secs(10);

/// Builds both clouds' stores, at this endpoint.
pub(crate) fn both(endpoint: &str) -> [(&'static str, ObjectStoreAdapter); 2] {
    [("azure", azure(endpoint)), ("google", google(endpoint))]
}

pub(crate) fn google(endpoint: &str) -> ObjectStoreAdapter {
    let credential = GcpCredential { bearer: "token".into() };
    let builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name("bkt")
        .with_credentials(std::sync::Arc::new(StaticCredentialProvider::new(credential)));
    ObjectStoreAdapter::google(builder, Some(endpoint), "p", &Transport::default()).expect("complete")
}

pub(crate) fn azure(endpoint: &str) -> ObjectStoreAdapter {
    let builder = MicrosoftAzureBuilder::new()
        .with_account("acct")
        .with_access_key("c2VjcmV0")
        .with_container_name("bkt")
        .with_endpoint(endpoint.to_owned());
    ObjectStoreAdapter::azure(builder, "p", &Transport::default()).expect("complete")
}

pub(crate) fn start(script: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> (Server, String) {
    let server = Server::start(script);
    let endpoint = format!("http://{}", server.address());
    (server, endpoint)
}

fn create(timeout: Duration) -> Op {
    write(Guard::Absent, timeout)
}

#[test]
fn a_request_is_sent_once_whatever_the_answer() {
    for status in ["500 Oops", "503 Service Unavailable", "429 Too Many Requests", "408 Request Timeout"] {
        let (server, endpoint) = start(move |_| Act::Answer(answer(status, &[], "")));
        for (cloud, store) in both(&endpoint) {
            for op in [create(TIMEOUT), read(None), list("cells/", None)] {
                let before = server.seen().len();
                execute(&store, op);
                assert_eq!(server.seen().len(), before + 1, "{cloud}, {status}");
            }
        }
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let (server, endpoint) = start(|_| {
        Act::Answer(answer("307 Temporary Redirect", &[("Location", "http://127.0.0.1:1/elsewhere")], ""))
    });
    for (cloud, store) in both(&endpoint) {
        let reply = execute(&store, create(TIMEOUT));
        assert_eq!(said(&reply), "refused Config", "{cloud}");
    }
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn a_write_that_was_never_sent_is_not_applied_and_one_without_an_answer_is_unknown() {
    let nobody = Nobody::new();
    for (cloud, store) in both(&format!("http://{}", nobody.address())) {
        let reply = execute(&store, create(TIMEOUT));
        assert_eq!(said(&reply), "not applied Network", "{cloud}");
    }
    let (server, endpoint) = start(|_| Act::AnswerAndClose(Vec::new()));
    for (cloud, store) in both(&endpoint) {
        let reply = execute(&store, create(TIMEOUT));
        assert_eq!(said(&reply), "unknown Network", "{cloud}");
    }
    assert_eq!(server.seen().len(), 2, "one request each");
}

#[test]
fn a_write_that_is_given_up_on_is_unknown() {
    let (_server, endpoint) = start(|_| Act::Hang);
    for (cloud, store) in both(&endpoint) {
        let reply = execute(&store, create(Duration::from_millis(300)));
        assert_eq!(said(&reply), "unknown TimedOut", "{cloud}");
    }
}

#[test]
fn a_success_that_is_cut_short_or_has_no_tag_is_unknown() {
    for bytes in [
        b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 10\r\n\r\nshort".to_vec(),
        answer("200 OK", &[], ""),
    ] {
        let (_server, endpoint) = start(move |_| Act::AnswerAndClose(bytes.clone()));
        for (cloud, store) in both(&endpoint) {
            let reply = said(&execute(&store, create(TIMEOUT)));
            assert!(reply.starts_with("unknown"), "{cloud}: {reply}");
        }
    }
}
