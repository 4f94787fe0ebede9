//! The records and their bytes: compact JSON, deterministic, every version unique by its write id.
//!
//! Readers tolerate unknown fields, and a foreign implementation's record that lacks ours is accepted
//! where a rule exists for it. What cannot be parsed is an error with a reason, never a guess.

mod lease;
mod owner;
mod retired;

pub(crate) use lease::Fields;
pub(crate) use lease::fits;
pub use lease::{LeaseRecord, Load};
pub use owner::{Holder, OwnerRecord};
pub use retired::RetiredRecord;

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::digits;
use crate::id::WriteId;
use crate::store::Key;

/// The most bytes that a record has. What is longer is corrupt, whatever it says.
pub const RECORD_MAX: usize = 64 * 1024;

/// Why bytes are not the record they should be.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RecordError {
    why: String,
}

impl RecordError {
    /// Keeps enough of the reason to recognise it: the parser quotes whole texts, however long.
    fn new(why: impl fmt::Display) -> Self {
        let mut why = why.to_string();
        if let Some((end, _)) = why.char_indices().nth(200) {
            why.truncate(end);
            why.push_str("...");
        }
        Self { why }
    }
}

/// Checks that bytes are a record of the kind that belongs under a key and, where the record says so, of that very key.
///
/// An answer of anything else is garbage: it proves nothing about what is stored there.
///
/// # Errors
/// Says what is wrong with them.
pub fn check_record(key: &Key, body: &[u8]) -> Result<(), RecordError> {
    match Key::node(key.as_str()) {
        Some(node) => LeaseRecord::parse_of(&node, body).map(|_| ()),
        // It does not name its cell.
        None => OwnerRecord::parse(body).map(|_| ()),
    }
}

/// Parses the fields of a record. An array would do for the parser, but no other reader takes it for a record;
/// nor does the parser look whether a field that it skips is text.
fn fields<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, RecordError> {
    if body.len() > RECORD_MAX {
        return Err(RecordError::new(format_args!("it has more than {RECORD_MAX} bytes")));
    }
    let text = core::str::from_utf8(body).map_err(RecordError::new)?;
    match body.trim_ascii_start().first() {
        Some(b'{') => serde_json::from_str(text).map_err(RecordError::new),
        Some(_) | None => Err(RecordError::new("a record is a JSON object")),
    }
}

/// A text field: borrowed from the record's bytes unless it is escaped there, even where it is optional.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Tells whether a byte stands for itself in a JSON text.
const fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

/// Writes a field whose value is text, quoted; `start` is whatever comes before that quote.
fn put_text(out: &mut Vec<u8>, start: &str, value: &str) {
    if value.bytes().all(is_plain) {
        put_name(out, start, value);
    } else {
        put_json(out, start, &value);
    }
}

/// Writes a field whose value is a name, or empty: the alphabet of names needs no escaping.
fn put_name(out: &mut Vec<u8>, start: &str, name: &str) {
    out.extend_from_slice(start.as_bytes());
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

/// Writes a field whose value is a number.
fn put_number(out: &mut Vec<u8>, start: &str, value: u64) {
    out.extend_from_slice(start.as_bytes());
    out.extend_from_slice(digits::decimal(value, &mut [0; 20]));
}

/// Writes a field of any kind.
fn put_json(out: &mut Vec<u8>, start: &str, value: &impl Serialize) {
    out.extend_from_slice(start.as_bytes());
    out.append(&mut serde_json::to_vec(value).expect("strings, numbers and maps of them are JSON"));
}

/// Writes the id of a write.
fn put_write(out: &mut Vec<u8>, start: &str, write: &WriteId) {
    out.extend_from_slice(start.as_bytes());
    out.push(b'"');
    out.extend_from_slice(write.node.as_str().as_bytes());
    put_number(out, "#", write.seq);
    out.push(b'"');
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl core::error::Error for RecordError {}
