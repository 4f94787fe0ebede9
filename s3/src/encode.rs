//! Percent-encoding, once and in one way, so that the signed bytes are the bytes on the wire.

const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";
const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";

/// What a slash means where a text is encoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Slash {
    /// A separator, kept as it is: the text is a path.
    Kept,
    /// A character like any other: the text is one query value.
    Encoded,
}

/// Appends `text`, every byte but `A-Z a-z 0-9 - . _ ~` (and, in a path, `/`) as `%XX`.
pub(crate) fn percent_encode(text: &str, slash: Slash, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        if plain || (byte == b'/' && slash == Slash::Kept) {
            out.push(byte);
        } else {
            out.push(b'%');
            out.push(HEX_UPPER[usize::from(byte >> 4)]);
            out.push(HEX_UPPER[usize::from(byte & 15)]);
        }
    }
}

/// Undoes `encoding-type=url`: `%XX` is a byte and `+` a space, as the stores write them in listings.
///
/// Bytes that are not UTF-8 become replacement characters, which no name of ours contains.
pub(crate) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => match (hex_value(*high), hex_value(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = after;
                }
                (None, _) | (_, None) => bytes.push(first),
            },
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(other),
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Appends the bytes in lower-case hexadecimal.
pub(crate) fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.extend_from_slice(&hex(*byte));
    }
}

/// Returns a byte's two lower-case hexadecimal digits.
pub(crate) fn hex(byte: u8) -> [u8; 2] {
    [HEX_LOWER[usize::from(byte >> 4)], HEX_LOWER[usize::from(byte & 15)]]
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::{Slash, percent_decode, percent_encode};
    use proptest::prelude::*;

    fn encoded(text: &str, slash: Slash) -> String {
        let mut out = Vec::new();
        percent_encode(text, slash, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    /// BL-13: the texts that people really use in names.
    #[test]
    fn bl_13_each_special_character_is_encoded_exactly_once() {
        for (text, expected) in [
            ("a+b", "a%2Bb"),
            ("a b", "a%20b"),
            ("100%", "100%25"),
            ("a%2Fb", "a%252Fb"),
            ("user@x.org", "user%40x.org"),
            ("2016-10-07T23:30:38Z", "2016-10-07T23%3A30%3A38Z"),
            ("$x", "%24x"),
            ("(a)!*'", "%28a%29%21%2A%27"),
            ("a&b=c", "a%26b%3Dc"),
            ("a#b?c", "a%23b%3Fc"),
            ("~t", "~t"),
            ("\u{fc}", "%C3%BC"),
            ("\u{6f22}", "%E6%BC%A2"),
            ("\u{1f980}", "%F0%9F%A6%80"),
        ] {
            assert_eq!(encoded(text, Slash::Kept), expected);
        }
    }

    #[test]
    fn a_slash_separates_in_a_path_and_is_data_in_a_query() {
        assert_eq!(encoded("a/b", Slash::Kept), "a/b");
        assert_eq!(encoded("a/b", Slash::Encoded), "a%2Fb");
    }

    #[test]
    fn broken_escapes_are_kept_as_they_are() {
        assert_eq!(percent_decode("100%"), "100%");
        assert_eq!(percent_decode("%4"), "%4");
        assert_eq!(percent_decode("%zz%41"), "%zzA");
        assert_eq!(percent_decode("a+b%2Bc"), "a b+c");
        assert_eq!(percent_decode("%ff"), "\u{fffd}");
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(text in any::<String>()) {
            prop_assert_eq!(&percent_decode(&encoded(&text, Slash::Encoded)), &text);
            prop_assert_eq!(&percent_decode(&encoded(&text, Slash::Kept)), &text);
        }
    }
}
