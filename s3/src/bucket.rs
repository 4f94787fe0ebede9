//! Where the records live: `s3://bucket/prefix` and the settings around it, parsed once into valid URLs.
//!
//! Everything that could make a request go astray later (a key too long, a host signed in one spelling and
//! sent in another, a prefix that a URL library would fold) is refused here, before any request.

use core::fmt;

use tenure_core::Key;

use crate::dialect::{Dialect, IfMatch, Style};
use crate::encode::{Slash, percent_encode};
use crate::endpoint::Endpoint;

/// The longest key that S3 takes, in bytes, prefix included.
pub const KEY_MAX: usize = 1024;

/// The longest key of ours below a prefix: the owner record of a cell whose name has 255 bytes.
const RELATIVE_KEY_MAX: usize = Key::OWNERS.len() + 255 + "/own.json".len();

/// What a store's URL does not say; every part may be left out.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// `http://host[:port]` or `https://host[:port]` of the server; the provider's own when left out.
    pub endpoint: Option<String>,
    /// The region that requests are signed for. It may be left out with an endpoint (then `us-east-1`).
    pub region: Option<String>,
    /// What the store takes otherwise than most; what the store's URL itself says in its query goes first.
    pub dialect: Dialect,
}

impl Settings {
    /// Reads endpoint and region by the AWS conventions: `AWS_ENDPOINT_URL_S3` before `AWS_ENDPOINT_URL`,
    /// `AWS_REGION` before `AWS_DEFAULT_REGION`. An empty variable counts as unset.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: [&str; 2]| {
            names.into_iter().filter_map(&lookup).map(|value| value.trim().to_owned()).find(|v| !v.is_empty())
        };
        Self {
            endpoint: first(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]),
            region: first(["AWS_REGION", "AWS_DEFAULT_REGION"]),
            dialect: Dialect::default(),
        }
    }
}

/// A bucket and a prefix at one server: every URL built from it is valid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Bucket {
    name: String,
    /// Empty, or ends with a slash.
    prefix: String,
    region: String,
    /// As it was given, in the URL or beside it.
    dialect: Dialect,
    style: Style,
    endpoint: Endpoint,
    host: String,
}

impl Bucket {
    /// Takes `s3://bucket` or `s3://bucket/prefix`, with a [`Dialect`] as its query or without.
    ///
    /// # Errors
    /// Says which setting is wrong and what to write instead.
    pub fn parse(url: &str, settings: &Settings) -> Result<Self, BucketError> {
        let (name, prefix, query) = split_url(url)?;
        let dialect = match query {
            None => settings.dialect,
            Some(query) => Dialect::parse(query)
                .map_err(|(part, why)| BucketError::new(Setting::Dialect, part, why))?
                .or(settings.dialect),
        };
        let endpoint = match &settings.endpoint {
            None => None,
            // A refused endpoint may contain a password, so the error does not repeat it.
            Some(text) => {
                Some(Endpoint::parse(text).map_err(|why| BucketError::new(Setting::Endpoint, "", why))?)
            }
        };
        let region = match (settings.region.as_deref(), &endpoint) {
            (Some(region), _) => region,
            (None, Some(_)) => "us-east-1",
            (None, None) => {
                let why = "is missing; set AWS_REGION, or AWS_ENDPOINT_URL for a store that is not AWS";
                return Err(BucketError::new(Setting::Region, "", why));
            }
        };
        check_region(region, endpoint.is_none())?;
        let style = dialect.style.unwrap_or(if endpoint.is_some() || !is_dns_label(name) {
            Style::Path
        } else {
            Style::VirtualHost
        });
        let server = endpoint.unwrap_or_else(|| Endpoint::aws(region));
        let endpoint = match style {
            Style::Path => server,
            Style::VirtualHost => with_bucket(&server, name)?,
        };
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let host = endpoint.authority();
        Ok(Self { name: name.to_owned(), prefix, region: region.to_owned(), dialect, style, endpoint, host })
    }

    /// Returns the bucket's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the prefix: empty, or text that ends with a slash.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the region that requests are signed for.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// Returns what was said about the store's dialect, in the URL or beside it.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the same bucket with versions named in another way.
    #[must_use]
    pub fn with_if_match(self, if_match: IfMatch) -> Self {
        Self { dialect: Dialect { if_match: Some(if_match), ..self.dialect }, ..self }
    }

    /// Returns the value of the `Host` header, which is signed byte for byte.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Tells whether the server is on this machine or on its own link, so that a proxy must not come between.
    pub fn is_local(&self) -> bool {
        self.endpoint.is_local()
    }

    /// Appends scheme and authority.
    pub(crate) fn push_origin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.endpoint.scheme.as_str().as_bytes());
        out.extend_from_slice(b"://");
        out.extend_from_slice(self.host.as_bytes());
    }

    /// Appends the encoded path of an object; `key` is relative to the prefix.
    pub(crate) fn push_object_path(&self, key: &str, out: &mut Vec<u8>) {
        if self.style == Style::Path {
            out.push(b'/');
            out.extend_from_slice(self.name.as_bytes());
        }
        out.push(b'/');
        percent_encode(&self.prefix, Slash::Kept, out);
        percent_encode(key, Slash::Kept, out);
    }

    /// Appends the encoded path of the bucket itself.
    pub(crate) fn push_bucket_path(&self, out: &mut Vec<u8>) {
        out.push(b'/');
        if self.style == Style::Path {
            out.extend_from_slice(self.name.as_bytes());
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, prefix) = (&self.name, self.prefix.trim_end_matches('/'));
        write!(f, "s3://{name}")?;
        if prefix.is_empty() { Ok(()) } else { write!(f, "/{prefix}") }
    }
}

/// Which part of a store's address is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Setting {
    /// The bucket's name in the URL.
    Bucket,
    /// [`Settings::dialect`], or the query of the URL.
    Dialect,
    /// [`Settings::endpoint`].
    Endpoint,
    /// The prefix in the URL.
    Prefix,
    /// [`Settings::region`].
    Region,
    /// [`Dialect::style`].
    Style,
    /// The URL as a whole.
    Url,
}

/// Why a store's address is refused. Its `Display` names the setting and says what to write instead.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BucketError {
    setting: Setting,
    shown: String,
    why: String,
}

impl BucketError {
    fn new(setting: Setting, shown: &str, why: impl Into<String>) -> Self {
        Self { setting, shown: shown.chars().take(80).collect(), why: why.into() }
    }

    /// Returns which setting is wrong.
    pub fn setting(&self) -> Setting {
        self.setting
    }
}

impl fmt::Display for BucketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match self.setting {
            Setting::Bucket => "the bucket",
            Setting::Dialect => "the store's setting",
            Setting::Endpoint => "the endpoint",
            Setting::Prefix => "the prefix",
            Setting::Region => "the region",
            Setting::Style => "the address style",
            Setting::Url => "the store's URL",
        };
        f.write_str(noun)?;
        if !self.shown.is_empty() {
            write!(f, " {:?}", self.shown)?;
        }
        write!(f, " {}", self.why)
    }
}

impl core::error::Error for BucketError {}

/// Splits a URL into bucket, prefix and query.
fn split_url(url: &str) -> Result<(&str, &str, Option<&str>), BucketError> {
    let Some(rest) = url.strip_prefix("s3://") else {
        return Err(BucketError::new(
            Setting::Url,
            "",
            "does not start with s3://; write s3://bucket/prefix",
        ));
    };
    if rest.contains('@') {
        // Not shown: what stands before the @ may be a secret.
        let why = "has a user name; credentials go into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
        return Err(BucketError::new(Setting::Url, "", why));
    }
    if rest.contains('#') {
        return Err(BucketError::new(Setting::Url, url, "has a fragment; leave it out"));
    }
    let (rest, query) = match rest.split_once('?') {
        None => (rest, None),
        Some((rest, query)) => (rest, Some(query)),
    };
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    check_name(name)?;
    let prefix = prefix.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(prefix);
    check_prefix(prefix)?;
    Ok((name, prefix, query))
}

fn check_name(name: &str) -> Result<(), BucketError> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let good = (3..=63).contains(&bytes.len())
        && name.bytes().all(legal)
        && edge(bytes.first())
        && edge(bytes.last())
        && !name.contains("..");
    if good {
        return Ok(());
    }
    let why =
        "is not a bucket's name: use 3 to 63 of a-z 0-9 . -, starting and ending with a letter or digit";
    Err(BucketError::new(Setting::Bucket, name, why))
}

/// Returns the prefix as it stands before a key, empty or with a slash at its end.
///
/// # Errors
/// Refuses what no store of ours takes, whether it speaks S3 or not.
pub fn prefix(text: &str) -> Result<String, BucketError> {
    let text = text.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(text);
    check_prefix(text)?;
    Ok(if text.is_empty() { String::new() } else { format!("{text}/") })
}

/// BL-48: a prefix in which a URL library could fold something, or under which a key could grow too long.
fn check_prefix(prefix: &str) -> Result<(), BucketError> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'-');
    if prefix.is_empty() {
        return Ok(());
    }
    if !prefix.bytes().all(legal) {
        return Err(BucketError::new(Setting::Prefix, prefix, "may only have A-Z a-z 0-9 _ . - and /"));
    }
    if prefix.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
        return Err(BucketError::new(Setting::Prefix, prefix, "has an empty, . or .. segment"));
    }
    let most = KEY_MAX - RELATIVE_KEY_MAX - "/".len();
    if prefix.len() > most {
        let why = format!("is too long: at most {most} bytes, so that every key stays within {KEY_MAX}");
        return Err(BucketError::new(Setting::Prefix, prefix, why));
    }
    Ok(())
}

/// A region that becomes part of a host name has capitals no more than that: they would be folded on the way.
fn check_region(region: &str, is_in_host: bool) -> Result<(), BucketError> {
    let legal = |b: u8| match b {
        b'A'..=b'Z' | b'_' => !is_in_host,
        _ => b.is_ascii_alphanumeric() || b == b'-',
    };
    if (1..=63).contains(&region.len()) && region.bytes().all(legal) {
        return Ok(());
    }
    Err(BucketError::new(Setting::Region, region, "is not a region's name; write one like eu-west-1"))
}

fn with_bucket(server: &Endpoint, name: &str) -> Result<Endpoint, BucketError> {
    let dns = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.');
    if !dns {
        let why = "cannot be virtual-host: the bucket's name is no host name; use path style";
        return Err(BucketError::new(Setting::Style, "", why));
    }
    server.with_bucket(name).ok_or_else(|| {
        let why = "cannot be virtual-host: the endpoint is an IP address; use path style";
        BucketError::new(Setting::Style, "", why)
    })
}

fn is_dns_label(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
