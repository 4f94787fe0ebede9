//! Signs one conditional PUT of a record, the whole of it (URL, headers, body hash), beside its peers.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials as AwsCredentials;
use aws_sigv4::http_request::{
    PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use hmac::{Hmac, KeyInit, Mac};
use rusty_s3::actions::PutObject;
use rusty_s3::{Bucket as RustyBucket, Credentials as RustyCredentials, S3Action, UrlStyle};
use sha2::{Digest, Sha256};
use tenure_benches::{Cost, Counting, least, measure};
use tenure_core::{AttemptId, CellId, ETag, Guard, Key, Op, WallTime, WriteOp};
use tenure_s3::{Bucket, Credentials, Settings, Signer};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ENDPOINT: &str = "http://127.0.0.1:9000";
const KEY: &str = "prod/cells/orders%3A42/own.json";
const ACCESS_KEY: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const REGION: &str = "us-east-1";
const ETAG: &str = "\"9b2cf535f27731c974343645a3985328\"";
const BODY: &[u8] = br#"{"node":"n.9f3c2a7b1d04e5f6","epoch":700}"#;

const ROUNDS: usize = 40;
const SIGNED_PER_ROUND: usize = 500;

fn main() {
    let mut workers = [
        ("floor: 2 SHA-256 and 1 HMAC", floor()),
        ("tenure-s3: cached key, reused buffer", tenure(false)),
        ("tenure-s3: key derived each time", tenure(true)),
        ("aws-sigv4: signing alone, request prepared", aws_sigv4()),
        ("rusty-s3: presigned, body not hashed", rusty_s3()),
    ];
    // The signers take turns, so that all of them see the same machine.
    let mut samples: Vec<Vec<Cost>> = vec![Vec::new(); workers.len()];
    for _ in 0..ROUNDS {
        for ((_, work), samples) in workers.iter_mut().zip(&mut samples) {
            samples.push(measure(SIGNED_PER_ROUND, || (0..SIGNED_PER_ROUND).for_each(|_| work())));
        }
    }
    let costs: Vec<Cost> = samples.into_iter().map(least).collect();
    let unit = costs[1].nanos;
    println!("signing one conditional PUT of {} bytes", BODY.len());
    println!("| signer | relative time | allocations | ns |\n|---|---|---|---|");
    for ((name, _), cost) in workers.iter().zip(costs) {
        println!("| {name} | {:.2} | {:.0} | {:.0} |", cost.nanos / unit, cost.allocations, cost.nanos);
    }
}

type Work = Box<dyn FnMut()>;

/// What no signer can do without: hash the body, hash the canonical request, sign the rest.
fn floor() -> Work {
    let canonical = [b'x'; 400];
    let to_sign = [b'x'; 130];
    Box::new(move || {
        black_box(Sha256::digest(black_box(BODY)));
        black_box(Sha256::digest(black_box(canonical)));
        let mut mac = Hmac::<Sha256>::new_from_slice(&[7; 32]).expect("any key");
        mac.update(black_box(&to_sign));
        black_box(mac.finalize());
    })
}

fn tenure(derives: bool) -> Work {
    let settings = Settings { endpoint: Some(ENDPOINT.into()), ..Settings::default() };
    let bucket = Bucket::parse("s3://bkt/prod", &settings).expect("legal settings");
    let credentials = Credentials::new(ACCESS_KEY, SECRET, None).expect("legal credentials");
    let mut signer = Signer::new(bucket, credentials);
    let op = Op::Write(WriteOp {
        id: AttemptId::new(1),
        key: Key::owner(&CellId::new("orders:42").expect("a legal name")),
        guard: Guard::Match(ETag::new(ETAG.as_bytes()).expect("not empty")),
        body: Arc::from(BODY),
        timeout: Duration::from_secs(1),
    });
    let mut buf = Vec::with_capacity(4096);
    let mut millis = 1_764_400_000_000;
    Box::new(move || {
        // Another day each time, which no cached key is for.
        millis += if derives { 86_400_000 } else { 1 };
        let request = signer.request(black_box(&op), WallTime::from_millis(millis), &mut buf);
        black_box(request);
    })
}

fn aws_sigv4() -> Work {
    let identity: Identity = AwsCredentials::new(ACCESS_KEY, SECRET, None, None, "bench").into();
    let url = format!("{ENDPOINT}/bkt/{KEY}");
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    Box::new(move || {
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(REGION)
            .name("s3")
            .time(SystemTime::UNIX_EPOCH + Duration::from_secs(1_764_400_000))
            .settings(settings.clone())
            .build()
            .expect("complete")
            .into();
        let headers = [("host", "127.0.0.1:9000"), ("if-match", ETAG)].into_iter();
        let request = SignableRequest::new(
            "PUT",
            black_box(url.as_str()),
            headers,
            SignableBody::Bytes(black_box(BODY)),
        )
        .expect("a legal request");
        black_box(sign(request, &params).expect("it can be signed"));
    })
}

fn rusty_s3() -> Work {
    let endpoint = ENDPOINT.parse().expect("a URL");
    let bucket = RustyBucket::new(endpoint, UrlStyle::Path, "bkt", REGION).expect("legal settings");
    let credentials = RustyCredentials::new(ACCESS_KEY, SECRET);
    let at = jiff::Timestamp::from_second(1_764_400_000).expect("a time");
    Box::new(move || {
        let mut action = PutObject::new(&bucket, Some(&credentials), "prod/cells/orders:42/own.json");
        action.headers_mut().insert("if-match", ETAG);
        black_box(action.sign_with_time(Duration::from_secs(60), &at));
    })
}
