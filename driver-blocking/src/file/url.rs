//! `file:///dir`: the address of a file store.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use tenure_core::{Fault, FaultKind};

/// Returns the directory that a URL names.
pub(super) fn parse(url: &str) -> Result<PathBuf, Fault> {
    let refuse = |why: &str| {
        let shown: String = url.chars().take(200).collect();
        Fault::new(
            FaultKind::Config,
            format!("{shown:?} is no file store: {why}; write file:///absolute/path"),
        )
    };
    let Some(rest) = url.strip_prefix("file://") else {
        return Err(refuse("it does not begin with file://"));
    };
    let path = rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(refuse("its path is not absolute, or it names a host"));
    }
    if path.contains(['?', '#']) {
        return Err(refuse("a file store has no options; spell ? as %3F and # as %23"));
    }
    let bytes = decode(path).ok_or_else(|| refuse("a % is not followed by two hexadecimal digits"))?;
    if bytes.contains(&0) {
        return Err(refuse("its path contains a zero byte"));
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' { digit(rest.next())? << 4 | digit(rest.next())? } else { byte });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::path::Path;

    #[test]
    fn a_url_names_an_absolute_directory() {
        for (url, path) in [
            ("file:///srv/store", "/srv/store"),
            ("file://localhost/srv/store/", "/srv/store"),
            ("file:///a%20b/%C3%A9", "/a b/\u{e9}"),
            ("file:///100%25", "/100%"),
        ] {
            assert_eq!(parse(url).expect(url), Path::new(path), "{url}");
        }
    }

    #[test]
    fn another_url_is_refused_with_the_form_it_should_have() {
        for url in [
            "",
            "/srv/store",
            "s3://b/p",
            "file://",
            "file://host/x",
            "file:relative",
            "file://x",
            "file:///a?b",
            "file:///a%2",
            "file:///a%zz",
            "file:///a%00",
            "file://localhostx/a",
        ] {
            let error = parse(url).expect_err(url).to_string();
            assert!(error.contains("file:///absolute/path"), "{error}");
        }
    }
}
