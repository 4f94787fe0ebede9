//! Our signatures against the provider's own signer, from nothing but the bytes on the wire.
//!
//! A request is spelled as an HTTP client sends it and taken apart again; the published `aws-sigv4` crate then
//! signs what arrived: the request line, the headers that the signature names, the body. Both must agree on
//! every part of the `Authorization` header.

mod wire;

use core::time::Duration;
use std::time::SystemTime;

use aws_credential_types::Credentials as AwsCredentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use proptest::prelude::*;
use proptest::sample::select;
use tenure_core::{
    AttemptId, CellId, ETag, Guard, Key, ListId, ListOp, NodeId, Op, ReadId, ReadOp, RemoveId, RemoveOp,
    WallTime, WriteOp,
};
use tenure_s3::{Bucket, Checksum, Credentials, Dialect, IfMatch, Settings, Signer, Style};

const TIMEOUT: Duration = Duration::from_secs(1);

/// Who signs what, where and when.
#[derive(Clone, Debug)]
struct Case {
    store: String,
    settings: Settings,
    access_key: String,
    secret: String,
    token: Option<String>,
    at: WallTime,
    key: Key,
    tag: ETag,
    listed: (String, Option<String>),
    body: String,
}

impl Case {
    /// One operation of every kind.
    fn ops(&self) -> [Op; 6] {
        let write = |guard| WriteOp {
            id: AttemptId::new(1),
            key: self.key.clone(),
            guard,
            body: self.body.as_bytes().into(),
            timeout: TIMEOUT,
        };
        let read = |unless| ReadOp { id: ReadId::new(1), key: self.key.clone(), unless, timeout: TIMEOUT };
        let (prefix, after) = &self.listed;
        let after = after.as_deref().map(Into::into);
        [
            Op::Read(read(None)),
            Op::Read(read(Some(self.tag.clone()))),
            Op::Write(write(Guard::Absent)),
            Op::Write(write(Guard::Match(self.tag.clone()))),
            Op::Remove(RemoveOp { id: RemoveId::new(1), key: self.key.clone(), timeout: TIMEOUT }),
            Op::List(ListOp { id: ListId::new(1), prefix: prefix.as_str().into(), after, timeout: TIMEOUT }),
        ]
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let bucket = Bucket::parse(&self.store, &self.settings).expect("a legal address");
        let scheme = if self.settings.endpoint.as_ref().is_some_and(|url| url.starts_with("http:")) {
            "http"
        } else {
            "https"
        };
        let credentials = Credentials::new(&self.access_key, &self.secret, self.token.as_deref());
        let mut signer = Signer::new(bucket, credentials.expect("legal credentials"));
        let mut buf = Vec::new();
        for op in self.ops() {
            let sent = wire::spell(&signer.request(&op, self.at, &mut buf), true);
            let received = Received::parse(&sent);
            prop_assert_eq!(self.sign_again(scheme, &received), received.header("authorization"), "{}", sent);
        }
        // The comparison has teeth: what was changed on the way is noticed.
        let sent = wire::spell(&signer.request(&self.ops()[3], self.at, &mut buf), true);
        let forged = sent.replacen(" HTTP/1.1", "x HTTP/1.1", 1);
        let received = Received::parse(&forged);
        prop_assert_ne!(self.sign_again(scheme, &received), received.header("authorization"));
        Ok(())
    }

    /// Returns the `Authorization` header that the provider's signer gives to what has arrived.
    fn sign_again(&self, scheme: &str, received: &Received<'_>) -> String {
        let identity: Identity =
            AwsCredentials::new(&self.access_key, &self.secret, self.token.clone(), None, "test").into();
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        // Headers that the signer adds itself, from what is known otherwise.
        let own = ["x-amz-content-sha256", "x-amz-date", "x-amz-security-token"];
        let authorization = received.header("authorization");
        let (_, names) = authorization.split_once("SignedHeaders=").expect("it names the headers");
        let (names, _) = names.split_once(',').expect("the signature follows");
        let region = authorization.split('/').nth(2).expect("a scope");
        let headers = received
            .headers
            .iter()
            .copied()
            .filter(|(name, _)| names.split(';').any(|signed| signed == *name) && !own.contains(name));
        let url = format!("{scheme}://{}{}", received.header("host"), received.target);
        let body = SignableBody::Bytes(received.body.as_bytes());
        let request = SignableRequest::new(received.method, url, headers, body).expect("a legal request");
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name("s3")
            .time(time_of(&received.header("x-amz-date")))
            .settings(settings)
            .build()
            .expect("complete");
        let (instructions, _) = sign(request, &params.into()).expect("it can be signed").into_parts();
        for name in own.into_iter().filter(|name| *name != "x-amz-security-token" || self.token.is_some()) {
            let added = instructions.headers().find(|(known, _)| *known == name).map(|(_, value)| value);
            assert_eq!(added, Some(received.header(name).as_str()), "{name}");
        }
        let (_, again) = instructions.headers().find(|(name, _)| *name == "authorization").expect("signed");
        // Blanks after the commas are a matter of taste.
        again.replace(", ", ",")
    }
}

/// A request taken apart.
struct Received<'t> {
    method: &'t str,
    target: &'t str,
    headers: Vec<(&'t str, &'t str)>,
    body: &'t str,
}

impl<'t> Received<'t> {
    fn parse(text: &'t str) -> Self {
        let (head, body) = text.split_once("\n\n").expect("head and body");
        let (line, headers) = head.split_once('\n').expect("headers");
        let (method, rest) = line.split_once(' ').expect("a method");
        let target = rest.strip_suffix(" HTTP/1.1").expect("a version");
        let headers = headers.lines().map(|line| line.split_once(": ").expect("a header")).collect();
        Self { method, target, headers, body }
    }

    fn header(&self, name: &str) -> String {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).expect(name).to_owned()
    }
}

/// Reads `20130524T000000Z`.
fn time_of(text: &str) -> SystemTime {
    let number = |range: core::ops::Range<usize>| text[range].parse::<u8>().expect("digits");
    let year = text[..4].parse().expect("a year");
    let month = time::Month::try_from(number(4..6)).expect("a month");
    let date = time::Date::from_calendar_date(year, month, number(6..8)).expect("a date");
    let time = time::Time::from_hms(number(9..11), number(11..13), number(13..15)).expect("a time");
    time::OffsetDateTime::new_utc(date, time).into()
}

/// Any key that Tenure ever uses: cells of any text, escaped, leases, markers and probes.
fn keys() -> impl Strategy<Value = Key> {
    let node = "[A-Za-z0-9_-][A-Za-z0-9_.-]{0,60}\\.[0-9a-f]{16}"
        .prop_filter_map("no node's id", |text| NodeId::parse(&text).ok());
    prop_oneof![
        "[A-Za-z0-9_.:$-]{1,100}"
            .prop_filter_map("no cell's name", |text| CellId::new(&text).ok())
            .prop_map(|cell| Key::owner(&cell)),
        any::<String>()
            .prop_filter_map("too long", |text| CellId::escape(&text).ok())
            .prop_map(|cell| Key::owner(&cell)),
        node.clone().prop_map(|node| Key::lease(&node)),
        node.prop_map(|node| Key::retired(&node)),
        any::<u64>().prop_map(Key::probe),
    ]
}

/// An address: with an endpoint of one's own in any spelling, or the provider's.
fn stores() -> impl Strategy<Value = (String, Settings)> {
    let prefix = "(/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,12}){0,4}";
    let endpoint = select(&[
        "http://127.0.0.1:9000",
        "http://[::1]:80",
        "https://s3.store.example:8443/",
        "https://Store.Example:443",
        "http://minio",
    ]);
    let checksum = proptest::option::of(select(&[
        Checksum::Crc32,
        Checksum::Crc32c,
        Checksum::Crc64Nvme,
        Checksum::Md5,
        Checksum::Sha256,
    ]));
    let if_match = proptest::option::of(select(&[IfMatch::Bare, IfMatch::Verbatim]));
    let at = prop_oneof![
        (Just(None), "[a-z]{2}-[a-z]{3,9}-[0-9]", any::<bool>()),
        (endpoint.prop_map(Some), "[A-Za-z0-9_-]{1,20}", any::<bool>()),
    ];
    ("[a-z0-9][a-z0-9-]{1,20}[a-z0-9]", prefix, at, checksum, if_match).prop_map(
        |(bucket, prefix, (endpoint, region, virtual_host), checksum, if_match)| {
            let is_address = endpoint.is_some_and(|url| url.contains("127.0.0.1") || url.contains('['));
            let style = if virtual_host && !is_address { Style::VirtualHost } else { Style::Path };
            let settings = Settings {
                endpoint: endpoint.map(Into::into),
                region: Some(region),
                dialect: Dialect { checksum, if_match, style: Some(style) },
            };
            (format!("s3://{bucket}{prefix}"), settings)
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    let identity = ("[A-Za-z0-9]{1,24}", "[!-~]{1,60}", proptest::option::of("[!-~]{1,200}"));
    let tag = "[!-~]([ -~]{0,40}[!-~])?".prop_map(|text| ETag::new(text.as_bytes()).expect("not empty"));
    let listed = (
        prop_oneof![select(&["nodes/", "cells/", "retired/"]).prop_map(str::to_owned), any::<String>()],
        proptest::option::of(any::<String>()),
    );
    let at = (0_u64..8_000_000_000_000).prop_map(WallTime::from_millis);
    (stores(), identity, at, keys(), tag, listed, "[ -~]{0,80}").prop_map(
        |((store, settings), (access_key, secret, token), at, key, tag, listed, body)| Case {
            store,
            settings,
            access_key,
            secret,
            token,
            at,
            key,
            tag,
            listed,
            body,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn bl_13_bl_44_the_provider_s_own_signer_agrees_with_every_kind_of_request(case in cases()) {
        case.check()?;
    }
}
