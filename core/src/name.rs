//! The alphabet of names: which texts may become part of a key, and how any text becomes one that may.

use alloc::string::String;
use core::fmt;

/// Why a text is not a legal name. Its `Display` shows the legal alphabet and, for a cell, an escaped form.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct NameError {
    what: What,
    text: String,
    hint: Option<String>,
}

/// What kind of name was refused.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum What {
    Cell,
    Node,
    NodeName,
}

impl NameError {
    pub(crate) fn new(what: What, text: &str, hint: Option<String>) -> Self {
        // A hostile name may be megabytes long; the error shows enough to recognise it.
        let shown = text.chars().take(80).collect();
        Self { what, text: shown, hint }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noun, rule) = match self.what {
            What::Cell => ("cell name", "1 to 255 bytes of A-Z a-z 0-9 _ . : $ - and not . or .."),
            What::Node => ("node id", "1 to 128 bytes of A-Z a-z 0-9 _ . -"),
            What::NodeName => ("node name", "1 to 111 bytes of A-Z a-z 0-9 _ . -"),
        };
        write!(f, "{:?} is not a {noun}: use {rule}", self.text)?;
        match &self.hint {
            Some(hint) => write!(f, "; its escaped form is {hint}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for NameError {}

/// Tells whether `text` is 1 to 255 bytes of the cell alphabet and neither `.` nor `..`.
pub(crate) fn is_cell(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && text != "."
        && text != ".."
        && text.bytes().all(|b| is_node_byte(b) || b == b':' || b == b'$')
}

/// Tells whether `text` is 1 to `max` bytes of the node alphabet.
pub(crate) fn is_node(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && text.bytes().all(is_node_byte)
}

fn is_node_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')
}

/// Turns any text into a cell name: bytes outside the alphabet, and `$` itself, become `$XX`.
///
/// Injective, and the identity on legal names without `$`. No Unicode normalisation is applied: two
/// forms of one letter are two names. The empty text becomes a lone `$`.
pub(crate) fn escape(text: &str) -> String {
    if text.is_empty() {
        return String::from("$");
    }
    let dots = text == "." || text == "..";
    let mut out = String::with_capacity(text.len());
    for b in text.bytes() {
        if (is_node_byte(b) || b == b':') && !dots {
            out.push(char::from(b));
        } else {
            out.push('$');
            out.push(hex_digit(b >> 4));
            out.push(hex_digit(b & 15));
        }
    }
    out
}

fn hex_digit(nibble: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(nibble & 15)])
}

#[cfg(test)]
mod tests {
    use super::{escape, is_cell};

    #[test]
    fn escaping_is_the_identity_on_plain_names_and_legal_on_all() {
        assert_eq!(escape("orders:42"), "orders:42");
        for text in ["", ".", "..", "a/b", "a$b", "é", "../nodes/n1", "a b", "100%", "\u{0}"] {
            assert!(is_cell(&escape(text)), "{text:?} escapes to {:?}", escape(text));
        }
    }

    #[test]
    fn two_texts_never_share_an_escaped_form() {
        assert_ne!(escape("a/b"), escape("a$2Fb"));
        assert_ne!(escape("\u{e9}"), escape("e\u{301}"));
        assert_ne!(escape(""), escape("$"));
    }
}
