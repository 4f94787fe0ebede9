//! What a store's URL and the settings around it become, and what is refused.

use super::{Bucket, Dialect, KEY_MAX, Setting, Settings, Style};
use crate::dialect::{Checksum, IfMatch};

fn settings(endpoint: Option<&str>, region: Option<&str>, style: Option<Style>) -> Settings {
    let dialect = Dialect { style, ..Dialect::default() };
    Settings { endpoint: endpoint.map(Into::into), region: region.map(Into::into), dialect }
}

fn url(store: &str, settings: &Settings) -> String {
    let bucket = Bucket::parse(store, settings).expect(store);
    let mut out = Vec::new();
    bucket.push_origin(&mut out);
    bucket.push_object_path("cells/a:b/own.json", &mut out);
    String::from_utf8(out).expect("ASCII")
}

#[test]
fn the_provider_is_addressed_in_virtual_host_style() {
    let aws = settings(None, Some("eu-west-1"), None);
    assert_eq!(
        url("s3://my-bucket/a/b", &aws),
        "https://my-bucket.s3.eu-west-1.amazonaws.com/a/b/cells/a%3Ab/own.json"
    );
    let china = settings(None, Some("cn-north-1"), None);
    assert!(url("s3://bkt", &china).starts_with("https://bkt.s3.cn-north-1.amazonaws.com.cn/cells/"));
}

#[test]
fn bl_12_a_dotted_bucket_or_a_custom_endpoint_is_addressed_in_path_style() {
    let aws = settings(None, Some("eu-west-1"), None);
    assert!(
        url("s3://my.bucket.x", &aws).starts_with("https://s3.eu-west-1.amazonaws.com/my.bucket.x/cells/")
    );
    let own = settings(Some("http://[::1]:9000/"), None, None);
    assert_eq!(url("s3://bkt/p/", &own), "http://[::1]:9000/bkt/p/cells/a%3Ab/own.json");
}

#[test]
fn the_style_can_be_overridden() {
    let own = settings(Some("https://h.example:9000"), None, Some(Style::VirtualHost));
    assert!(url("s3://bkt", &own).starts_with("https://bkt.h.example:9000/cells/"));
    let aws = settings(None, Some("eu-west-1"), Some(Style::Path));
    assert!(url("s3://bkt", &aws).starts_with("https://s3.eu-west-1.amazonaws.com/bkt/"));
    for (store, endpoint) in [("s3://bkt", "http://127.0.0.1:1"), ("s3://B_t", "http://h")] {
        let own = settings(Some(endpoint), None, Some(Style::VirtualHost));
        assert_eq!(Bucket::parse(store, &own).expect_err(store).setting(), Setting::Style);
    }
}

#[test]
fn the_url_says_the_dialect_before_the_settings_do() {
    let own = settings(Some("https://h.example"), None, Some(Style::Path));
    let bucket = Bucket::parse("s3://bkt/p?style=virtual&if-match=bare&checksum=md5", &own).expect("legal");
    let said = Dialect {
        checksum: Some(Checksum::Md5),
        if_match: Some(IfMatch::Bare),
        style: Some(Style::VirtualHost),
    };
    assert_eq!((bucket.dialect(), bucket.host(), bucket.prefix()), (said, "bkt.h.example", "p/"));
    let bucket = Bucket::parse("s3://bkt?if-match=bare", &own).expect("legal");
    assert_eq!((bucket.dialect().style, bucket.host()), (Some(Style::Path), "h.example"));
}

#[test]
fn bl_48_prefixes_that_could_be_folded_are_refused() {
    let own = settings(Some("http://h"), None, None);
    for store in [
        "s3://bkt//",
        "s3://bkt//a",
        "s3://bkt/a//b",
        "s3://bkt/a//",
        "s3://bkt/.",
        "s3://bkt/../a",
        "s3://bkt/a/..",
        "s3://bkt/a b",
        "s3://bkt/a%2Fb",
        "s3://bkt/\u{e9}",
        "s3://bkt/a\\b",
        "s3://bkt/a:b",
    ] {
        assert_eq!(Bucket::parse(store, &own).expect_err(store).setting(), Setting::Prefix, "{store}");
    }
}

#[test]
fn bl_48_the_longest_key_fits_under_the_longest_prefix() {
    let own = settings(Some("http://h"), None, None);
    let longest = format!("s3://bkt/{}", "p".repeat(753));
    let bucket = Bucket::parse(&longest, &own).expect("fits");
    let cell = tenure_core::CellId::new(&"c".repeat(255)).expect("legal");
    let node = tenure_core::NodeId::parse(&"n".repeat(128)).expect("legal");
    assert_eq!(bucket.prefix().len() + tenure_core::Key::owner(&cell).as_str().len(), KEY_MAX);
    assert!(bucket.prefix().len() + tenure_core::Key::retired(&node).as_str().len() <= KEY_MAX);
    let error = Bucket::parse(&format!("{longest}p"), &own).expect_err("too long").to_string();
    assert!(error.contains("at most 753 bytes"), "{error}");
}

#[test]
fn bad_urls_and_buckets_are_refused() {
    let own = settings(Some("http://h"), None, None);
    for (store, setting) in [
        ("", Setting::Url),
        ("http://bkt/p", Setting::Url),
        ("S3://bkt", Setting::Url),
        ("s3://key:secret@bkt", Setting::Url),
        ("s3://bkt#x", Setting::Url),
        ("s3://bkt?region=x", Setting::Dialect),
        ("s3://bkt?", Setting::Dialect),
        ("s3://bkt/p?if-match=quoted", Setting::Dialect),
        ("s3://", Setting::Bucket),
        ("s3:///p", Setting::Bucket),
        ("s3://ab", Setting::Bucket),
        ("s3://..", Setting::Bucket),
        ("s3://a..b", Setting::Bucket),
        ("s3://-ab", Setting::Bucket),
        ("s3://b\u{e9}t", Setting::Bucket),
    ] {
        let error = Bucket::parse(store, &own).expect_err(store);
        assert_eq!(error.setting(), setting, "{store}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn a_missing_or_malformed_region_names_the_variable_or_the_form() {
    let none = Bucket::parse("s3://bkt", &settings(None, None, None)).expect_err("no region");
    assert!(none.to_string().contains("AWS_REGION"), "{none}");
    for region in ["", "eu west", "eu/west", "a\r\nb", "EU-WEST-1", "eu_west_1"] {
        let error = Bucket::parse("s3://bkt", &settings(None, Some(region), None)).expect_err(region);
        assert_eq!(error.setting(), Setting::Region);
    }
}

#[test]
fn a_refused_endpoint_does_not_show_its_password() {
    let own = settings(Some("http://key:hunter2@h"), None, None);
    let error = Bucket::parse("s3://bkt", &own).expect_err("user name").to_string();
    assert!(error.starts_with("the endpoint has a user name") && !error.contains("hunter2"), "{error}");
}

#[test]
fn the_environment_is_read_by_the_aws_conventions() {
    let env = |pairs: &'static [(&str, &str)]| {
        Settings::from_env(move |name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(env(&[]), Settings::default());
    let both = env(&[
        ("AWS_DEFAULT_REGION", "r2"),
        ("AWS_ENDPOINT_URL", "http://b"),
        ("AWS_ENDPOINT_URL_S3", "http://a"),
        ("AWS_REGION", "r1"),
    ]);
    assert_eq!(both, settings(Some("http://a"), Some("r1"), None));
    let fallback = env(&[("AWS_DEFAULT_REGION", "r2"), ("AWS_ENDPOINT_URL", "http://b"), ("AWS_REGION", "")]);
    assert_eq!(fallback, settings(Some("http://b"), Some("r2"), None));
}

#[test]
fn a_bucket_is_shown_as_its_url() {
    let own = settings(Some("http://h"), None, None);
    assert_eq!(Bucket::parse("s3://bkt/a/b/", &own).expect("legal").to_string(), "s3://bkt/a/b");
    assert_eq!(Bucket::parse("s3://bkt", &own).expect("legal").to_string(), "s3://bkt");
}
