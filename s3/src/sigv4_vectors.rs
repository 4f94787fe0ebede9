//! The provider's published examples, compared stage by stage so that a failure names the stage.

use super::{AmzDate, Draft, KeyCache, Scope, payload_hash};
use crate::credentials::Credentials;
use tenure_core::WallTime;

/// The headers that the examples use, and an `x-amz-meta` one of our own.
const NAMES: [&str; 7] =
    ["date", "host", "range", "x-amz-content-sha256", "x-amz-date", "x-amz-meta-a", "x-amz-storage-class"];
const MAY_24_2013: WallTime = WallTime::from_millis(1_369_353_600_000);

fn check(case: &str) {
    let file = |end: &str| {
        let path = format!("{}/tests/vectors/{case}/{case}.{end}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).expect(&path)
    };
    let request = file("req");
    let signed = sign(&request, &mut KeyCache::new());
    assert_eq!(signed.canonical, file("creq"), "{case}: canonical request");
    assert_eq!(signed.to_sign, file("sts"), "{case}: string to sign");
    let expected = file("sreq");
    let authorization =
        expected.lines().find_map(|line| line.strip_prefix("Authorization: ")).expect("signed");
    assert_eq!(signed.authorization, authorization, "{case}: signature");
}

struct Stages {
    canonical: String,
    to_sign: String,
    authorization: String,
}

fn sign(request: &str, keys: &mut KeyCache) -> Stages {
    let (head, body) = request.split_once("\n\n").expect("head and body");
    let mut lines = head.lines();
    let mut line = lines.next().expect("request line").split(' ');
    let method = match line.next() {
        Some("GET") => "GET",
        Some("PUT") => "PUT",
        other => panic!("method {other:?}"),
    };
    let target = line.next().expect("target");
    let query = target.find('?').unwrap_or(target.len());
    let mut buf = b"left over from the last request".to_vec();
    let mut draft = Draft::new(
        method,
        &mut buf,
        |_| {},
        |buf| buf.extend_from_slice(&target.as_bytes()[..query]),
        |buf| buf.extend_from_slice(&target.as_bytes()[query..]),
    );
    for line in lines {
        let (name, value) = line.split_once(':').expect("header");
        let name = NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name)).expect(name);
        draft.signed(name, value.as_bytes());
    }
    let credentials =
        Credentials::new("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None)
            .expect("legal");
    let scope = Scope { credentials: &credentials, region: "us-east-1", at: AmzDate::new(MAY_24_2013) };
    let signed = draft.sign(&payload_hash(body.as_bytes()), &scope, keys);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let (_, authorization) = signed.headers().last().expect("signed");
    Stages {
        canonical: text(signed.canonical_request()),
        to_sign: text(signed.string_to_sign()),
        authorization: text(authorization),
    }
}

#[test]
fn the_published_example_get_object_is_reproduced() {
    check("aws-get-object");
}

#[test]
fn the_published_example_put_object_is_reproduced() {
    check("aws-put-object");
}

#[test]
fn the_published_example_get_bucket_lifecycle_is_reproduced() {
    check("aws-get-lifecycle");
}

#[test]
fn the_published_example_list_objects_is_reproduced() {
    check("aws-list-objects");
}

#[test]
fn bl_44_header_values_are_trimmed_and_folded_for_the_signature() {
    let plain = sign("GET / HTTP/1.1\nhost:h\nx-amz-meta-a:a b c\n\n", &mut KeyCache::new());
    let blanks = sign("GET / HTTP/1.1\nhost: h\nx-amz-meta-a: \t a  b \t c  \n\n", &mut KeyCache::new());
    assert_eq!(plain.canonical, blanks.canonical);
    assert!(plain.canonical.contains("\nx-amz-meta-a:a b c\n"));
}

#[test]
fn a_cached_key_signs_as_a_fresh_one_and_serves_its_day_only() {
    let request = "GET / HTTP/1.1\nhost:h\n\n";
    let mut keys = KeyCache::new();
    let fresh = sign(request, &mut keys);
    assert_eq!(sign(request, &mut keys).authorization, fresh.authorization);
    let credentials = Credentials::new("a", "b", None).expect("legal");
    let today = *keys.key(&credentials, *b"20130524", "us-east-1");
    assert_ne!(today, *keys.key(&credentials, *b"20130525", "us-east-1"));
}

#[test]
fn a_time_is_spelled_in_sixteen_characters() {
    for (millis, text) in [
        (0, "19700101T000000Z"),
        (1_369_353_600_999, "20130524T000000Z"),
        (1_709_251_199_000, "20240229T235959Z"),
        (u64::MAX, "25540721T233433Z"),
    ] {
        assert_eq!(AmzDate::new(WallTime::from_millis(millis)).as_bytes(), text.as_bytes());
    }
}
