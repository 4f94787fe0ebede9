//! From a URL to a store: which kind it names, and what it needs from the environment.

use core::fmt;
use core::time::Duration;
use std::borrow::Cow;
use std::env;
use std::path::PathBuf;

use tenure_core::{Fault, Op, Reply, StoreClock};
use tenure_s3::{Bucket, BucketError, CredentialsError, Dialect, Settings};

use crate::file::FileStore;
use crate::http::Transport;
use crate::keys::{Files, Keys, find};
use crate::s3::S3Store;
use crate::store::Store;

/// What a store's URL does not say. What is left out comes from the environment, by the AWS conventions; a
/// file store needs nothing of it.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// `http://host[:port]` or `https://host[:port]` of a server that is not AWS; else `AWS_ENDPOINT_URL_S3`
    /// or `AWS_ENDPOINT_URL`, if set.
    pub endpoint: Option<String>,
    /// The region that requests are signed for; else `AWS_REGION` or `AWS_DEFAULT_REGION`.
    pub region: Option<String>,
    /// What the store takes otherwise than most. What its URL says (`s3://bucket?if-match=bare`) goes first.
    pub dialect: Dialect,
    /// A file of PEM certificates that are trusted instead of the system's; else `AWS_CA_BUNDLE` or `SSL_CERT_FILE`.
    pub ca_file: Option<PathBuf>,
    /// What requests are signed with, [`Credentials`](tenure_s3::Credentials) or a source of them; else what the
    /// environment says, or a profile of the AWS tools' shared files, or, with the feature `aws`, what AWS's other
    /// sources give.
    pub keys: Option<Keys>,
}

/// A store of any kind that a URL can name.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per node, and it is not moved")]
#[non_exhaustive]
pub enum AnyStore {
    /// A directory of this host.
    File(FileStore),
    /// A bucket.
    S3(S3Store),
}

/// Opens the store that a URL names: `s3://bucket/prefix` or `file:///directory`. Asks nothing of the store.
///
/// # Errors
/// Says what is wrong with the URL, the options or the environment, and what to do about it.
pub fn open(url: &str, options: &OpenOptions) -> Result<AnyStore, OpenError> {
    Ok(match resolve(url, options, |name| env::var(name).ok())? {
        Place::File(store) => AnyStore::File(store),
        Place::S3(remote) => {
            let Remote { bucket, keys, transport } = *remote;
            AnyStore::S3(S3Store::with(bucket, keys, &transport).map_err(OpenError::Store)?)
        }
    })
}

impl AnyStore {
    /// Returns how far this machine's wall clock is off by the store's, if that made the store refuse a
    /// request; requests are signed with the store's time since then. Otherwise zero. A node goes on all the
    /// same, but the expiry that it publishes for foreign readers is as wrong as its clock: warn of it.
    pub fn clock_error(&self) -> Duration {
        match self {
            Self::File(_) => Duration::ZERO,
            Self::S3(store) => store.clock_error(),
        }
    }
}

impl Store for AnyStore {
    fn execute(&self, op: Op) -> Reply {
        match self {
            Self::File(store) => store.execute(op),
            Self::S3(store) => store.execute(op),
        }
    }

    fn clock(&self) -> StoreClock {
        match self {
            Self::File(store) => Store::clock(store),
            Self::S3(store) => Store::clock(store),
        }
    }
}

/// What a URL and its surroundings amount to; the async driver builds its own store from it.
#[doc(hidden)]
#[derive(Debug)]
pub enum Place {
    /// A directory, opened.
    File(FileStore),
    /// A bucket.
    S3(Box<Remote>),
}

/// A bucket and what goes with it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Remote {
    /// Its address.
    pub bucket: Bucket,
    /// What its requests are signed with.
    pub keys: Keys,
    /// How it is reached.
    pub transport: Transport,
}

/// Finds out what a URL names, with `lookup` as the environment.
///
/// # Errors
/// As [`open`].
#[doc(hidden)]
pub fn resolve(
    url: &str,
    options: &OpenOptions,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Place, OpenError> {
    let url = &*presentable(url);
    match url.split_once("://") {
        Some(("file", _)) => FileStore::from_url(url).map(Place::File).map_err(OpenError::Store),
        Some(("s3", _)) => {
            let settings = Settings::from_env(&lookup);
            let mut settings = Settings {
                endpoint: options.endpoint.clone().or(settings.endpoint),
                region: options.region.clone().or(settings.region),
                dialect: options.dialect.or(settings.dialect),
            };
            let files = Files::from_env(&lookup);
            if settings.region.is_none() && settings.endpoint.is_none() {
                settings.region = files.read().map_err(OpenError::Store)?.region;
            }
            let bucket = Bucket::parse(url, &settings).map_err(OpenError::Bucket)?;
            let keys = match &options.keys {
                Some(keys) => keys.clone(),
                None => find(&lookup, &files, bucket.region())?,
            };
            let transport = Transport::from_env(lookup);
            let transport = match &options.ca_file {
                Some(path) => transport.and_then(|transport| transport.with_ca_file(path)),
                None => transport,
            };
            let transport = transport.map_err(OpenError::Store)?;
            Ok(Place::S3(Box::new(Remote { bucket, keys, transport })))
        }
        Some(_) | None => Err(OpenError::Scheme(url.chars().take(80).collect())),
    }
}

/// Leaves a user's name and password out of an address that will be refused, since the refusal shows it. An
/// address that may be good, or that the bucket's own parser judges, stays as it is.
fn presentable(url: &str) -> Cow<'_, str> {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + "://".len()));
    let is_good = match scheme {
        "file://" => rest.starts_with('/') || rest.starts_with("localhost/"),
        "s3://" => true,
        _ => false,
    };
    // A password may contain anything, another @ and a slash included.
    match rest.rsplit_once('@') {
        Some((_, place)) if !is_good => Cow::Owned(format!("{scheme}{place}")),
        Some(_) | None => Cow::Borrowed(url),
    }
}

/// Why a store could not be opened. Its `Display` says what to do.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum OpenError {
    /// The bucket's URL, endpoint, region or style is wrong.
    Bucket(BucketError),
    /// There are no usable credentials.
    Credentials(CredentialsError),
    /// The URL names no kind of store that there is.
    Scheme(String),
    /// The directory cannot be a store, or the HTTP client cannot be set up.
    Store(Fault),
}

impl OpenError {
    /// Returns the stable word for programs: `config`, `denied`, `unfit`, `unavailable` or `usage`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bucket(_) => "config",
            Self::Credentials(_) => "denied",
            Self::Scheme(_) => "usage",
            Self::Store(fault) => fault.kind_str(),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bucket(error) => write!(f, "{error}"),
            Self::Credentials(error) => write!(f, "{error}"),
            Self::Scheme(url) if url.starts_with("az://") || url.starts_with("gs://") => {
                write!(
                    f,
                    "{url:?} is opened by the async driver only, and by a command that was built with --features object-store"
                )
            }
            Self::Scheme(url) => {
                write!(f, "{url:?} is no store; write s3://bucket/prefix or file:///absolute/directory")
            }
            Self::Store(fault) => write!(f, "{fault}"),
        }
    }
}

impl core::error::Error for OpenError {}

#[cfg(test)]
mod tests {
    use super::{Keys, OpenError, OpenOptions, Place, presentable, resolve};
    use tenure_s3::{Credentials, Dialect, IfMatch};

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIAKEY"), ("AWS_SECRET_ACCESS_KEY", "secret")];

    const BAD_CA: [(&str, &str); 4] =
        [KEYS[0], KEYS[1], ("AWS_REGION", "r1"), ("AWS_CA_BUNDLE", "/no/such/file")];

    #[test]
    fn a_bucket_takes_from_the_environment_what_the_options_leave_out() {
        let environment =
            [&KEYS[..], &[("AWS_REGION", "eu-west-1"), ("AWS_ENDPOINT_URL", "http://h:9")]].concat();
        let (bucket, _) = s3("s3://bkt/p", &OpenOptions::default(), &environment).expect("complete");
        assert_eq!((bucket.region(), bucket.host(), bucket.prefix()), ("eu-west-1", "h:9", "p/"));

        let options = OpenOptions {
            endpoint: Some("http://127.0.0.1:1".into()),
            region: Some("us-west-2".into()),
            ca_file: None,
            keys: Some(Credentials::new("AKIAOTHER", "secret", None).expect("legal").into()),
            dialect: Dialect { if_match: Some(IfMatch::Bare), ..Dialect::default() },
        };
        let (bucket, _) = s3("s3://bkt?style=path", &options, &[]).expect("complete");
        assert_eq!((bucket.region(), bucket.host()), ("us-west-2", "127.0.0.1:1"));
        assert_eq!(bucket.dialect().to_string(), "if-match=bare&style=path");
    }

    #[test]
    fn what_is_missing_is_named_with_its_kind() {
        for (url, environment, kind, word) in [
            ("", &KEYS[..], "usage", "s3://bucket/prefix"),
            ("gs://b", &KEYS, "usage", "--features object-store"),
            ("az://b", &KEYS, "usage", "--features object-store"),
            ("gopher://b", &KEYS, "usage", "s3://bucket/prefix"),
            ("/srv/store", &KEYS, "usage", "file:///absolute/directory"),
            ("s3://", &KEYS, "config", "bucket"),
            ("s3://bkt", &KEYS, "config", "AWS_REGION"),
            ("s3://bkt", &BAD_CA, "config", "AWS_CA_BUNDLE: /no/such/file"),
            ("s3://bkt?if-mach=bare", &KEYS, "config", "if-match=bare|verbatim"),
            // Elsewhere AWS's other sources may have some.
            #[cfg(not(feature = "aws"))]
            ("s3://bkt", &[("AWS_REGION", "r1")], "denied", "AWS_ACCESS_KEY_ID"),
            ("s3://bkt", &[("AWS_REGION", "r1"), KEYS[1]], "denied", "AWS_ACCESS_KEY_ID"),
            ("file://host/x", &[], "config", "file:///absolute/path"),
            ("file:///no/such/directory", &[], "config", "/no/such/directory"),
        ] {
            let error = refused(url, environment);
            assert_eq!(error.kind(), kind, "{url}: {error}");
            assert!(error.to_string().contains(word), "{url}: {error}");
        }
    }

    #[test]
    fn only_an_address_that_can_be_no_store_loses_its_user() {
        for (url, shown) in [
            ("https://u:secret@host/b", "https://host/b"),
            ("https://u:se@c/r@et@host/b", "https://host/b"),
            ("u:secret@host/b", "host/b"),
            ("S3://u:secret@bucket", "S3://bucket"),
            ("file://u:secret@host/dir", "file://host/dir"),
            ("https://host/b", "https://host/b"),
            ("file:///dir/a@b", "file:///dir/a@b"),
            ("file://localhost/dir/a@b", "file://localhost/dir/a@b"),
            ("s3://bucket/a@b", "s3://bucket/a@b"),
        ] {
            assert_eq!(presentable(url), shown);
        }
    }

    #[test]
    fn a_profile_gives_keys_and_region_and_what_it_lacks_is_named() {
        let dir = std::env::temp_dir().join(format!("tenure-profile-{}", std::process::id()));
        std::fs::create_dir_all(dir.join(".aws")).expect("a directory");
        let home = dir.display().to_string();
        let keys = "[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = s\n[half]\naws_access_key_id = A\n";
        std::fs::write(dir.join(".aws/credentials"), keys).expect("a file");
        std::fs::write(dir.join(".aws/config"), "[profile work]\nregion = us-west-2\n").expect("a file");
        let at = |profile| [("HOME", home.as_str()), ("AWS_PROFILE", profile), ("AWS_REGION", "")];
        let (bucket, keys) = s3("s3://bkt", &OpenOptions::default(), &at("work")).expect("complete");
        assert_eq!(bucket.region(), "us-west-2");
        assert!(format!("{keys:?}").contains("work"), "{keys:?}");
        for (environment, words) in [
            (at("other"), ["AWS_PROFILE", "\"other\""]),
            (
                [("HOME", home.as_str()), ("AWS_PROFILE", "half"), ("AWS_REGION", "r1")],
                ["aws_secret_access_key", "half"],
            ),
            (
                [("AWS_CONFIG_FILE", "/no/such/file"), ("AWS_PROFILE", "work"), ("AWS_REGION", "r1")],
                ["AWS_CONFIG_FILE names /no/such/file", "cannot be read"],
            ),
        ] {
            let error = refused("s3://bkt", &environment);
            assert_eq!(error.kind(), "config", "{error}");
            for word in words {
                assert!(error.to_string().contains(word), "{word}: {error}");
            }
        }
        std::fs::remove_dir_all(&dir).expect("removed");
    }

    type Environment<'a> = &'a [(&'a str, &'a str)];

    fn s3(
        url: &str,
        options: &OpenOptions,
        environment: Environment<'_>,
    ) -> Result<(tenure_s3::Bucket, Keys), OpenError> {
        match resolve(url, options, |name| look_up(environment, name))? {
            Place::S3(remote) => Ok((remote.bucket, remote.keys)),
            Place::File(store) => panic!("{url} is no directory: {store:?}"),
        }
    }

    fn refused(url: &str, environment: Environment<'_>) -> OpenError {
        resolve(url, &OpenOptions::default(), |name| look_up(environment, name)).expect_err(url)
    }

    fn look_up(environment: Environment<'_>, name: &str) -> Option<String> {
        environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    }
}
