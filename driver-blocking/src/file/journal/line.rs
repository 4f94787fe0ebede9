//! One line of the journal: a change as compact JSON.

use serde::{Deserialize, Serialize};
use tenure_core::{ETag, StoreTime};

use super::{Change, JournalEntry};

/// A change as it is written. Either `etag` and a body are there, or `removed` is true.
#[derive(Debug, Deserialize, Serialize)]
pub(in crate::file) struct Line {
    pub(super) key: String,
    previous: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// The bytes of the version, if they are text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// The bytes of the version in hexadecimal, if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_hex: Option<String>,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    removed: bool,
    modified_ns: u64,
}

impl Line {
    /// Describes the version that is about to be put in place of `previous`.
    pub(in crate::file) fn wrote(
        key: &str,
        previous: Option<&ETag>,
        etag: &ETag,
        body: &[u8],
        stamp: StoreTime,
    ) -> Self {
        let text = core::str::from_utf8(body).ok();
        let hex = || body.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            etag: Some(text_of(etag)),
            body: text.map(str::to_owned),
            body_hex: if text.is_some() { None } else { Some(hex()) },
            removed: false,
            ..Self::removed(key, previous, stamp)
        }
    }

    /// Describes the removal of `previous`.
    pub(in crate::file) fn removed(key: &str, previous: Option<&ETag>, stamp: StoreTime) -> Self {
        Self {
            key: key.to_owned(),
            previous: previous.map(text_of),
            etag: None,
            body: None,
            body_hex: None,
            removed: true,
            modified_ns: stamp.as_nanos(),
        }
    }

    /// Parses a line without its newline. No line that was cut short parses: it lacks its last brace.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    /// Returns the line without its newline.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings, integers and truth values are JSON")
    }

    /// Returns the change, which is the `seq`th.
    pub(super) fn into_entry(self, seq: u64) -> Result<JournalEntry, String> {
        let change = match (self.removed, self.etag, self.body, self.body_hex) {
            (true, None, None, None) => Change::Removed,
            (false, Some(etag), Some(text), None) => {
                Change::Wrote { etag: parse_tag(&etag)?, body: text.into_bytes().into() }
            }
            (false, Some(etag), None, Some(hex)) => {
                Change::Wrote { etag: parse_tag(&etag)?, body: parse_hex(&hex)?.into() }
            }
            _ => return Err("it is neither a write nor a removal".to_owned()),
        };
        let previous = self.previous.as_deref().map(parse_tag).transpose()?;
        Ok(JournalEntry {
            seq,
            key: self.key,
            previous,
            change,
            stamp: StoreTime::from_nanos(self.modified_ns),
        })
    }
}

/// The store's own tags are quoted hexadecimal, so nothing is lost here.
fn text_of(etag: &ETag) -> String {
    String::from_utf8_lossy(etag.as_bytes()).into_owned()
}

fn parse_tag(text: &str) -> Result<ETag, String> {
    ETag::new(text.as_bytes()).ok_or_else(|| "a tag is empty".to_owned())
}

fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or_else(|| "body_hex is not hexadecimal".to_owned())
}

#[cfg(test)]
mod tests {
    use super::Line;
    use crate::file::journal::Change;
    use tenure_core::{ETag, StoreTime};

    #[test]
    fn bytes_that_are_no_text_come_back_as_they_were() {
        let etag = ETag::new(b"\"aa\"").expect("a tag");
        let bytes: Vec<u8> = (0..=255).collect();
        for body in [&bytes[..], b"", b"{\"node\":\"\\\"\n\"}"] {
            let line = Line::wrote("probe/1", Some(&etag), &etag, body, StoreTime::from_nanos(7)).to_bytes();
            assert!(!line.contains(&b'\n'));
            let entry = Line::parse(&line).expect("ours").into_entry(3).expect("ours");
            assert_eq!((entry.seq, entry.stamp.as_nanos()), (3, 7));
            assert_eq!(entry.change, Change::Wrote { etag: etag.clone(), body: body.into() });
        }
    }

    #[test]
    fn a_line_cut_short_anywhere_does_not_parse() {
        let etag = ETag::new(b"\"aa\"").expect("a tag");
        let line =
            Line::wrote("probe/1", None, &etag, b"{\"node\":\"x\"}", StoreTime::from_nanos(7)).to_bytes();
        for end in 0..line.len() {
            assert!(Line::parse(&line[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        let lines = [
            "{}",
            "[]",
            r#"{"key":"k","previous":null,"modified_ns":1}"#,
            r#"{"key":"k","previous":null,"etag":"e","body_hex":"0","modified_ns":1}"#,
            r#"{"key":"k","previous":null,"etag":"e","body_hex":"zz","modified_ns":1}"#,
            r#"{"key":"k","previous":"","removed":true,"modified_ns":1}"#,
        ];
        for text in lines {
            assert!(Line::parse(text.as_bytes()).and_then(|line| line.into_entry(1)).is_err(), "{text}");
        }
    }
}
