//! What differs between stores that all speak S3: found out by an operator or by `doctor`, then said by hand.
//!
//! Nothing here is ever switched at run time: a store that answers 412 must mean it. All of it can be said in
//! the query of a store's URL, so that one text is the whole address: `s3://bucket/prefix?if-match=bare`.

use core::fmt;

/// Settings for stores that do not take the requests that most take. Each part may be left out.
///
/// ```
/// use tenure_s3::{Dialect, IfMatch};
///
/// let dialect = Dialect { if_match: Some(IfMatch::Bare), ..Dialect::default() };
/// assert_eq!(dialect.to_string(), "if-match=bare"); // as it is written in a store's URL, behind a `?`
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Dialect {
    /// The checksum that goes with each body; none when left out.
    pub checksum: Option<Checksum>,
    /// How a write names the version that it replaces; [`IfMatch::Verbatim`] when left out.
    pub if_match: Option<IfMatch>,
    /// How the bucket appears in URLs. When left out: path style with an endpoint or a bucket whose name is
    /// not one DNS label (its wildcard certificate would not match), else virtual-host style.
    pub style: Option<Style>,
}

/// A checksum of a write's body, which the store verifies. Buckets with a default retention demand one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Checksum {
    /// `x-amz-checksum-crc32`.
    Crc32,
    /// `x-amz-checksum-crc32c`.
    Crc32c,
    /// `x-amz-checksum-crc64nvme`.
    Crc64Nvme,
    /// `Content-MD5`, which is the oldest and the most widely understood.
    Md5,
    /// `x-amz-checksum-sha256`.
    Sha256,
}

/// How a write names the version that it replaces, in `If-Match`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum IfMatch {
    /// The tag without its quotes. Ceph 16 and some others never find a quoted tag equal.
    Bare,
    /// The tag as the store gave it, which is what HTTP demands.
    Verbatim,
}

/// How the bucket appears in a URL.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Style {
    /// `https://host/bucket/key`.
    Path,
    /// `https://bucket.host/key`.
    VirtualHost,
}

impl Dialect {
    /// Reads the query of a store's URL. The error is the part that is wrong, and why.
    pub(crate) fn parse(query: &str) -> Result<Self, (&str, String)> {
        let mut dialect = Self::default();
        for part in query.split('&') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let is_taken = match key {
                "checksum" => take(&mut dialect.checksum, Checksum::ALL, value, Checksum::as_str),
                "if-match" => take(&mut dialect.if_match, IfMatch::ALL, value, IfMatch::as_str),
                "style" => take(&mut dialect.style, Style::ALL, value, Style::as_str),
                "endpoint" => {
                    return Err((part, "goes into AWS_ENDPOINT_URL_S3, not into the store's URL".into()));
                }
                "region" => return Err((part, "goes into AWS_REGION, not into the store's URL".into())),
                _ => return Err((part, format!("is unknown; {}", known()))),
            };
            match is_taken {
                Taken::Done => {}
                Taken::Twice => return Err((part, "is said twice; leave one".into())),
                Taken::Unknown => return Err((part, format!("has an unknown value; {}", known()))),
            }
        }
        Ok(dialect)
    }

    /// Fills what is left out from another dialect.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            checksum: self.checksum.or(other.checksum),
            if_match: self.if_match.or(other.if_match),
            style: self.style.or(other.style),
        }
    }
}

impl fmt::Display for Dialect {
    /// Spells the query of a store's URL: `checksum=md5&if-match=bare`, or nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("checksum", self.checksum.map(Checksum::as_str)),
            ("if-match", self.if_match.map(IfMatch::as_str)),
            ("style", self.style.map(Style::as_str)),
        ];
        let mut separator = "";
        for (key, value) in parts {
            if let Some(value) = value {
                write!(f, "{separator}{key}={value}")?;
                separator = "&";
            }
        }
        Ok(())
    }
}

impl Checksum {
    const ALL: &'static [Self] = &[Self::Crc32, Self::Crc32c, Self::Crc64Nvme, Self::Md5, Self::Sha256];

    /// Returns the word for it in a store's URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Crc32 => "crc32",
            Self::Crc32c => "crc32c",
            Self::Crc64Nvme => "crc64nvme",
            Self::Md5 => "md5",
            Self::Sha256 => "sha256",
        }
    }
}

impl IfMatch {
    const ALL: &'static [Self] = &[Self::Bare, Self::Verbatim];

    /// Returns the word for it in a store's URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Verbatim => "verbatim",
        }
    }

    /// Returns the bytes that stand for a tag. A tag without quotes, a weak one and one with nothing between its
    /// quotes stay as they are.
    pub(crate) fn spell(self, tag: &[u8]) -> &[u8] {
        match (self, tag) {
            (Self::Bare, [b'"', inner @ .., b'"']) if !inner.is_empty() => inner,
            (Self::Bare | Self::Verbatim, _) => tag,
        }
    }
}

impl Style {
    const ALL: &'static [Self] = &[Self::Path, Self::VirtualHost];

    /// Returns the word for it in a store's URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::VirtualHost => "virtual",
        }
    }
}

enum Taken {
    Done,
    Twice,
    Unknown,
}

fn take<T: Copy>(slot: &mut Option<T>, all: &[T], word: &str, as_str: fn(T) -> &'static str) -> Taken {
    match all.iter().find(|value| as_str(**value) == word) {
        None => Taken::Unknown,
        Some(_) if slot.is_some() => Taken::Twice,
        Some(value) => {
            *slot = Some(*value);
            Taken::Done
        }
    }
}

/// Names everything that may be said.
fn known() -> String {
    let words = |words: Vec<&str>| words.join("|");
    format!(
        "known are checksum={}, if-match={} and style={}, joined by &",
        words(Checksum::ALL.iter().map(|value| value.as_str()).collect()),
        words(IfMatch::ALL.iter().map(|value| value.as_str()).collect()),
        words(Style::ALL.iter().map(|value| value.as_str()).collect()),
    )
}

#[cfg(test)]
mod tests {
    use super::{Checksum, Dialect, IfMatch, Style};

    #[test]
    fn every_dialect_reads_back_from_its_own_spelling() {
        let some = |values: &[Checksum]| values.iter().copied().map(Some).chain([None]).collect::<Vec<_>>();
        for checksum in some(Checksum::ALL) {
            for if_match in [None, Some(IfMatch::Bare), Some(IfMatch::Verbatim)] {
                for style in [None, Some(Style::Path), Some(Style::VirtualHost)] {
                    let dialect = Dialect { checksum, if_match, style };
                    if dialect != Dialect::default() {
                        assert_eq!(Dialect::parse(&dialect.to_string()), Ok(dialect));
                    }
                }
            }
        }
        assert_eq!(Dialect::default().to_string(), "");
    }

    #[test]
    fn what_is_unknown_is_shown_beside_what_is_known() {
        for (query, part, word) in [
            ("", "", "if-match=bare|verbatim"),
            ("if-mach=bare", "if-mach=bare", "checksum=crc32|crc32c|crc64nvme|md5|sha256"),
            ("if-match=bare&style=vhost", "style=vhost", "style=path|virtual"),
            ("if-match=Bare", "if-match=Bare", "bare|verbatim"),
            ("if-match", "if-match", "bare|verbatim"),
            ("if-match=bare&", "", "is unknown"),
            ("style=path&style=path", "style=path", "twice"),
            ("region=eu-west-1", "region=eu-west-1", "AWS_REGION"),
            ("endpoint=http://h", "endpoint=http://h", "AWS_ENDPOINT_URL_S3"),
        ] {
            let (shown, why) = Dialect::parse(query).expect_err(query);
            assert_eq!(shown, part, "{query}");
            assert!(why.contains(word), "{query}: {why}");
        }
    }

    #[test]
    fn what_is_left_out_comes_from_the_other() {
        let ours = Dialect { if_match: Some(IfMatch::Verbatim), ..Dialect::default() };
        let theirs =
            Dialect { if_match: Some(IfMatch::Bare), style: Some(Style::Path), ..Dialect::default() };
        assert_eq!(ours.or(theirs), Dialect { style: Some(Style::Path), ..ours });
    }

    #[test]
    fn bl_08_only_whole_quotes_are_stripped() {
        for (tag, bare) in [
            ("\"abc\"", "abc"),
            ("abc", "abc"),
            ("\"abc", "\"abc"),
            ("W/\"abc\"", "W/\"abc\""),
            ("\"\"", "\"\""),
            ("\"", "\""),
            ("\"a\"b\"", "a\"b"),
        ] {
            assert_eq!(IfMatch::Bare.spell(tag.as_bytes()), bare.as_bytes(), "{tag}");
            assert_eq!(IfMatch::Verbatim.spell(tag.as_bytes()), tag.as_bytes(), "{tag}");
        }
    }
}
