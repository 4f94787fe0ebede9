//! AWS's other sources of credentials, in processes of their own whose environment says where they are.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test prints whatever it does not expect")]

mod child;
#[path = "../common/mod.rs"]
mod common;
mod fence;
mod identity;
#[path = "../loopback/mod.rs"]
mod loopback;

use core::time::Duration;
use std::fs;

use common::TempDir;
use loopback::{Act, Seen, Server, answer};
use tenure_blocking::clock;

#[test]
fn bl_11_an_instance_s_metadata_gives_keys_by_a_session_of_its_own() {
    let (store, metadata) = (Server::start(stored), Server::start(instance));
    let said = child(&store, &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &at(&metadata))], 2);
    assert_eq!(said, "applied\napplied\n");
    let lines: Vec<String> = metadata.seen().into_iter().map(|seen| seen.request_line).collect();
    // One fetch for both writes, by IMDSv2: nothing is read without the session's token.
    assert!(lines[0].starts_with("PUT /latest/api/token "), "{lines:?}");
    assert!(
        metadata.seen()[1..].iter().all(|seen| seen.header("x-aws-ec2-metadata-token") == Some("session"))
    );
    assert_eq!(lines.iter().filter(|line| line.contains("/security-credentials/role ")).count(), 1);
    for seen in store.seen() {
        assert!(seen.header("authorization").is_some_and(|value| value.contains("Credential=ASIAINSTANCE/")));
        assert_eq!(seen.header("x-amz-security-token"), Some("token"));
    }
}

#[test]
fn bl_11_metadata_that_takes_the_connection_and_says_nothing_is_given_up_on_with_a_hint() {
    let (store, metadata) = (Server::start(stored), Server::start(|_| Act::Hang));
    let before = clock::mono();
    let said = child(&store, &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &at(&metadata))], 1);
    assert!(said.starts_with("not applied: ") && said.contains("hop limit"), "{said}");
    assert!(store.seen().is_empty());
    // Once at the start and once for the write, a second or two each.
    let took = clock::mono().since(before);
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn bl_11_keys_in_the_environment_or_a_profile_ask_no_metadata_at_all() {
    let (store, metadata) = (Server::start(stored), Server::start(instance));
    let dir = TempDir::new();
    let file = dir.path().join("credentials");
    fs::write(&file, "[work]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = s\n").expect("a file");
    let metadata_at = ("AWS_EC2_METADATA_SERVICE_ENDPOINT", at(&metadata));
    let metadata_at = (metadata_at.0, metadata_at.1.as_str());
    let file = file.display().to_string();
    for environment in [
        &[metadata_at, ("AWS_ACCESS_KEY_ID", "AKIASTATIC"), ("AWS_SECRET_ACCESS_KEY", "s")][..],
        &[metadata_at, ("AWS_SHARED_CREDENTIALS_FILE", &file), ("AWS_PROFILE", "work")],
    ] {
        assert_eq!(child(&store, environment, 1), "applied\n");
    }
    assert!(metadata.seen().is_empty(), "{:?}", metadata.seen());
    let signers: Vec<bool> = ["AKIASTATIC", "AKIAPROFILE"]
        .iter()
        .zip(store.seen())
        .map(|(key, seen)| seen.header("authorization").is_some_and(|value| value.contains(key)))
        .collect();
    assert_eq!(signers, [true, true]);
}

#[test]
fn bl_11_a_proxy_does_not_come_between_an_instance_and_its_metadata() {
    let (store, metadata) = (Server::start(stored), Server::start(instance));
    let proxy = Server::start(|_| Act::Answer(answer("502 Bad Gateway", &[], "")));
    let environment = [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", at(&metadata)),
        ("HTTP_PROXY", at(&proxy)),
        ("HTTPS_PROXY", at(&proxy)),
    ];
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(child(&store, &environment, 1), "applied\n");
    assert!(proxy.seen().is_empty(), "{:?}", proxy.seen());
}

#[test]
fn a_container_s_endpoint_gives_keys() {
    let store = Server::start(stored);
    let container = Server::start(|seen| {
        let is_known = seen.header("authorization") == Some("secret");
        Act::Answer(if is_known { issued("ASIACONTAINER") } else { answer("403 Forbidden", &[], "") })
    });
    let uri = format!("{}/v2/credentials", at(&container));
    let environment = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret"),
    ];
    assert_eq!(child(&store, &environment, 1), "applied\n");
    assert!(store.seen()[0].header("authorization").is_some_and(|value| value.contains("ASIACONTAINER")));
}

/// Runs a process that has this environment and no other, and returns what it says.
fn child(store: &Server, environment: &[(&str, &str)], writes: usize) -> String {
    let mut command = child::command("writes", "s3://bkt", &at(store), environment);
    let done = command.env("TENURE_TEST_WRITES", writes.to_string()).output().expect("it starts");
    let said = String::from_utf8(done.stderr).expect("text");
    assert!(done.status.success(), "{said}");
    said
}

fn at(server: &Server) -> String {
    format!("http://{}", server.address())
}

fn stored(_: &Seen) -> Act {
    Act::Answer(answer("200 OK", &[("ETag", "\"e\"")], ""))
}

/// The metadata service of an instance with a role.
fn instance(seen: &Seen) -> Act {
    let path = seen.request_line.split(' ').nth(1).expect("a path");
    Act::Answer(match path {
        "/latest/api/token" => {
            answer("200 OK", &[("x-aws-ec2-metadata-token-ttl-seconds", "21600")], "session")
        }
        path if path.ends_with("/security-credentials/") => answer("200 OK", &[], "role"),
        path if path.ends_with("/security-credentials/role") => issued("ASIAINSTANCE"),
        _ => answer("404 Not Found", &[], ""),
    })
}

fn issued(access_key: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"Code":"Success","LastUpdated":"2026-01-01T00:00:00Z","Type":"AWS-HMAC","AccessKeyId":"{access_key}",
            "SecretAccessKey":"secret","Token":"token","Expiration":"2099-01-01T00:00:00Z","AccountId":"1"}}"#
    );
    answer("200 OK", &[("Content-Type", "application/json")], &body)
}
