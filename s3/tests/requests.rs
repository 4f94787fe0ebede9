//! Our own requests, compared stage by stage with files, and checked as a server would.
//!
//! `UPDATE=1 cargo test -p tenure-s3 --test requests` rewrites the files.

#[path = "wire/verify.rs"]
mod verify;
mod wire;

use core::time::Duration;
use std::fs;

use proptest::prelude::*;
use tenure_core::{
    AttemptId, CellId, ETag, Guard, Key, ListId, ListOp, NodeId, Op, ReadId, ReadOp, RemoveId, RemoveOp,
    WallTime, WriteOp,
};
use tenure_s3::{Bucket, Checksum, Credentials, Dialect, IfMatch, Settings, Signer, Style};

const KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const NOW: WallTime = WallTime::from_millis(1_764_446_400_000);
const CHECKSUMS: &[Checksum] =
    &[Checksum::Crc32, Checksum::Crc32c, Checksum::Crc64Nvme, Checksum::Md5, Checksum::Sha256];
const TIMEOUT: Duration = Duration::from_secs(1);

fn local(token: Option<&str>) -> Signer {
    let settings = Settings { endpoint: Some("http://[::1]:9000".into()), ..Settings::default() };
    signer("s3://bkt/fleet/a", &settings, token)
}

fn provider(token: Option<&str>) -> Signer {
    let settings = Settings { region: Some("eu-west-1".into()), ..Settings::default() };
    signer("s3://my-bucket", &settings, token)
}

fn signer(url: &str, settings: &Settings, token: Option<&str>) -> Signer {
    let bucket = Bucket::parse(url, settings).expect("a legal address");
    Signer::new(bucket, Credentials::new(KEY, SECRET, token).expect("legal credentials"))
}

fn cell(name: &str) -> Key {
    Key::owner(&CellId::new(name).expect("a legal name"))
}

fn tag(text: &str) -> ETag {
    ETag::new(text.as_bytes()).expect("not empty")
}

fn read(key: Key, unless: Option<&str>) -> Op {
    Op::Read(ReadOp { id: ReadId::new(1), key, unless: unless.map(tag), timeout: TIMEOUT })
}

fn write(key: Key, guard: Guard, body: &str) -> Op {
    Op::Write(WriteOp { id: AttemptId::new(1), key, guard, body: body.as_bytes().into(), timeout: TIMEOUT })
}

fn list(prefix: &str, after: Option<&str>) -> Op {
    Op::List(ListOp {
        id: ListId::new(1),
        prefix: prefix.into(),
        after: after.map(Into::into),
        timeout: TIMEOUT,
    })
}

fn check(case: &str, mut signer: Signer, op: &Op) {
    let mut buf = b"left over".to_vec();
    let request = signer.request(op, NOW, &mut buf);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let stages = [
        ("req", wire::spell(&request, false)),
        ("creq", text(request.canonical_request())),
        ("sts", text(request.string_to_sign())),
        ("sreq", wire::spell(&request, true)),
    ];
    let folder = format!("{}/tests/vectors/{case}", env!("CARGO_MANIFEST_DIR"));
    for (stage, made) in &stages {
        let path = format!("{folder}/{case}.{stage}");
        if std::env::var_os("UPDATE").is_some() {
            fs::create_dir_all(&folder).expect(&folder);
            fs::write(&path, made).expect(&path);
        }
        assert_eq!(made, &fs::read_to_string(&path).expect(&path), "{case}: {stage}");
    }
    verify::verify(&stages[3].1, KEY, SECRET).expect(case);
}

#[test]
fn a_create_is_guarded_by_a_star() {
    let body = r#"{"node":"web-1.9f3c2a7b1d04e5f6","epoch":1,"write":"web-1.9f3c2a7b1d04e5f6#2"}"#;
    check("create", local(None), &write(cell("orders:42"), Guard::Absent, body));
}

#[test]
fn bl_44_an_update_signs_its_guard_and_the_session_token() {
    let lease = Key::lease(&NodeId::parse("web-1.9f3c2a7b1d04e5f6").expect("legal"));
    let guard = Guard::Match(tag("\"6805f2cfc46c0f04559748bb039d69ae\""));
    check(
        "update",
        provider(Some("IQoJb3JpZ2luX2VjEXAMPLETOKEN//////////wEaCXVzLWVhc3QtMSJ=")),
        &write(lease, guard, "{}"),
    );
}

#[test]
fn a_read_and_a_conditional_read_have_no_body() {
    check("read", provider(None), &read(cell("a"), None));
    check("read-unless", local(None), &read(cell("a"), Some("W/\"weak\"")));
}

#[test]
fn a_list_encodes_each_value_of_its_query() {
    check("list", local(None), &list(Key::LEASES, None));
    check(
        "list-next",
        provider(None),
        &list(Key::OWNERS, Some("1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=")),
    );
}

#[test]
fn a_remove_is_a_plain_delete() {
    check(
        "remove",
        local(None),
        &Op::Remove(RemoveOp { id: RemoveId::new(1), key: Key::probe(7), timeout: TIMEOUT }),
    );
}

#[test]
fn bl_44_a_token_is_sent_only_if_there_is_one() {
    for (token, expected) in [(None, false), (Some("t"), true)] {
        let mut buf = Vec::new();
        let op = read(cell("a"), None);
        let mut signer = local(token);
        let request = signer.request(&op, NOW, &mut buf);
        assert_eq!(request.headers.iter().any(|(name, _)| name == "x-amz-security-token"), expected);
    }
}

#[test]
fn bl_08_a_tag_is_echoed_byte_for_byte() {
    for bytes in [&b"\"abc\""[..], b"abc", b"W/\"a\"", b"\"a  b\"", b"\xff\xfe"] {
        let guard = Guard::Match(ETag::new(bytes).expect("not empty"));
        let mut buf = Vec::new();
        let op = write(cell("a"), guard, "{}");
        let mut signer = local(None);
        let request = signer.request(&op, NOW, &mut buf);
        assert_eq!(request.headers.iter().find(|(name, _)| *name == "if-match"), Some(("if-match", bytes)));
    }
}

#[test]
fn bl_08_a_dialect_with_bare_tags_strips_the_quotes_of_a_write_s_guard_alone() {
    let dialect = Dialect { if_match: Some(IfMatch::Bare), ..Dialect::default() };
    let settings = Settings { endpoint: Some("http://h".into()), dialect, ..Settings::default() };
    let mut buf = Vec::new();
    for (op, name, value) in [
        (write(cell("a"), Guard::Match(tag("\"abc\"")), "{}"), "if-match", "abc"),
        (write(cell("a"), Guard::Absent, "{}"), "if-none-match", "*"),
        (read(cell("a"), Some("\"abc\"")), "if-none-match", "\"abc\""),
    ] {
        let mut signer = signer("s3://bkt", &settings, None);
        let request = signer.request(&op, NOW, &mut buf);
        let sent = request.headers.iter().find(|(known, _)| *known == name).expect(name).1;
        assert_eq!(sent, value.as_bytes());
        assert_eq!(verify::verify(&wire::spell(&request, true), KEY, SECRET), Ok(()));
    }
}

#[test]
fn bl_10_a_write_has_one_checksum_more_if_its_dialect_says_so_and_nothing_else_has() {
    let is_checksum = |name: &str| name == "content-md5" || name.starts_with("x-amz-checksum-");
    let body = "{\"a\":1}";
    for (checksum, expected) in [
        (None, None),
        (Some(Checksum::Md5), Some(("content-md5", "u2y1xo30ZSlByvZSo2by2A=="))),
        (Some(Checksum::Crc32c), Some(("x-amz-checksum-crc32c", "z/fVag=="))),
    ] {
        let dialect = Dialect { checksum, ..Dialect::default() };
        let settings = Settings { endpoint: Some("http://h".into()), dialect, ..Settings::default() };
        for (op, expected) in [
            (write(cell("a"), Guard::Absent, body), expected),
            (read(cell("a"), None), None),
            (list(Key::LEASES, None), None),
        ] {
            let (mut buf, mut signer) = (Vec::new(), signer("s3://bkt", &settings, None));
            let request = signer.request(&op, NOW, &mut buf);
            let sent = request.headers.iter().find(|(name, _)| is_checksum(name));
            assert_eq!(sent, expected.map(|(name, value)| (name, value.as_bytes())));
        }
    }
}

#[test]
fn neither_secret_nor_signature_nor_token_is_shown() {
    let mut buf = Vec::new();
    let mut signer = local(Some("t0k3n"));
    let op = read(cell("a"), None);
    let shown = format!("{signer:?}");
    let request = signer.request(&op, NOW, &mut buf);
    let shown = format!("{shown} {request:?} {:?}", request.headers);
    for hidden in [SECRET, "t0k3n", "Signature", KEY] {
        assert!(!shown.contains(hidden), "{shown}");
    }
}

#[test]
fn a_buffer_is_reused_without_growing() {
    let mut buf = Vec::new();
    let mut signer = local(Some("token"));
    let op = write(cell("a"), Guard::Absent, "{}");
    let first = signer.request(&op, NOW, &mut buf).url.to_owned();
    let capacity = buf.capacity();
    assert_eq!(signer.request(&op, NOW, &mut buf).url, first);
    assert_eq!(buf.capacity(), capacity);
}

proptest! {
    #[test]
    fn bl_13_a_server_accepts_every_request_from_its_bytes_alone(
        name in "[A-Za-z0-9_.:$-]{3,60}",
        etag in "[!-~]([ -~]{0,20}[!-~])?",
        after in proptest::option::of(any::<String>()),
        body in "[ -~]{0,40}",
        millis in 0_u64..4_000_000_000_000,
        virtual_host in any::<bool>(),
        checksum in proptest::option::of(proptest::sample::select(CHECKSUMS)),
    ) {
        let style = if virtual_host { Style::VirtualHost } else { Style::Path };
        let settings = Settings {
            endpoint: Some("https://store.example:8443/".into()),
            region: Some("r-1".into()),
            dialect: Dialect { checksum, if_match: None, style: Some(style) },
        };
        let mut signer = signer("s3://bkt/a.b/c_d-e", &settings, Some("token/+="));
        let at = WallTime::from_millis(millis);
        for op in [
            read(cell(&name), Some(&etag)),
            write(cell(&name), Guard::Match(tag(&etag)), &body),
            write(cell(&name), Guard::Absent, &body),
            list(&name, after.as_deref()),
        ] {
            let mut buf = Vec::new();
            let spelled = wire::spell(&signer.request(&op, at, &mut buf), true);
            prop_assert_eq!(verify::verify(&spelled, KEY, SECRET), Ok(()));
            // The check has teeth: a guard or a path changed on the way is noticed.
            let forged = spelled.replacen("/a.b/", "/a.c/", 1).replacen("a.b%2F", "a.c%2F", 1);
            prop_assert!(verify::verify(&forged, KEY, SECRET).is_err());
        }
    }
}
