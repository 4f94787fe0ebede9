//! The other side of the wire: a request as the bytes of HTTP/1.1, and a server that checks its signature from
//! these bytes and the secret, and from nothing else.
//!
//! Written from the provider's description of the signature and apart from the signer, so that the two can disagree.

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use tenure_s3::Request;

/// Spells a request as a client sends it that changes nothing.
///
/// # Panics
/// If a value could end its header early, or the URL is not absolute.
pub(crate) fn spell(request: &Request<'_>) -> Vec<u8> {
    let (_, target) = split_url(request.url);
    let mut bytes = format!("{} {target} HTTP/1.1\r\n", request.method.as_str()).into_bytes();
    for (name, value) in request.headers.iter() {
        let is_legal = value.iter().all(|&b| b == b'\t' || (b >= b' ' && b != 0x7f));
        assert!(is_legal, "{name} cannot be sent: {}", value.escape_ascii());
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(request.body);
    bytes
}

/// Cuts an absolute URL into authority and request target.
pub(crate) fn split_url(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").expect("the URL is absolute").1;
    rest.split_at(rest.find('/').expect("the URL has a path"))
}

/// A request as a server takes it apart.
#[derive(Debug)]
pub(crate) struct Received<'w> {
    pub(crate) method: &'w str,
    pub(crate) path: &'w str,
    pub(crate) query: &'w str,
    pub(crate) headers: BTreeMap<&'w str, &'w [u8]>,
    pub(crate) body: &'w [u8],
}

impl<'w> Received<'w> {
    /// Parses the bytes of one request.
    pub(crate) fn parse(bytes: &'w [u8]) -> Result<Self, String> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or("the head has no end")?;
        let (head, body) = (&bytes[..end], &bytes[end + 4..]);
        let mut lines = head.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first =
            core::str::from_utf8(lines.next().unwrap_or_default()).map_err(|error| error.to_string())?;
        let [method, target, "HTTP/1.1"] = first.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("the request line is {first:?}"));
        };
        if !target.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(format!("the request target is {target:?}"));
        }
        let mut headers = BTreeMap::new();
        for line in lines {
            let colon = line.iter().position(|&b| b == b':').ok_or("a header has no colon")?;
            let name = core::str::from_utf8(&line[..colon]).map_err(|error| error.to_string())?;
            if headers.insert(name, line[colon + 1..].trim_ascii()).is_some() {
                return Err(format!("{name} is there twice"));
            }
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Self { method, path, query, headers, body })
    }

    /// Returns a header's value.
    pub(crate) fn header(&self, name: &str) -> Result<&'w [u8], String> {
        self.headers.get(name).copied().ok_or_else(|| format!("{name} is missing"))
    }

    /// Checks the signature as the store does. The error names the first thing that is wrong.
    pub(crate) fn verify(&self, access_key: &str, secret: &str) -> Result<(), String> {
        let authorization = core::str::from_utf8(self.header("authorization")?).map_err(|e| e.to_string())?;
        let parts = authorization.strip_prefix("AWS4-HMAC-SHA256 ").ok_or("another algorithm")?;
        let [credential, names, signature] = parts.split(',').collect::<Vec<_>>()[..] else {
            return Err(format!("the authorization has other parts: {parts}"));
        };
        let value = |part: &'_ str, name: &str| {
            part.trim().strip_prefix(name).map(str::to_owned).ok_or_else(|| format!("{part} is not {name}"))
        };
        let (credential, names) = (value(credential, "Credential=")?, value(names, "SignedHeaders=")?);
        let signature = value(signature, "Signature=")?;
        let [key, date, region, service, last] = credential.split('/').collect::<Vec<_>>()[..] else {
            return Err(format!("the scope is {credential}"));
        };
        if (key, service, last) != (access_key, "s3", "aws4_request") {
            return Err(format!("the scope is {credential}"));
        }
        let canonical = self.canonical(&names)?;
        let time = core::str::from_utf8(self.header("x-amz-date")?).map_err(|error| error.to_string())?;
        if time.len() != 16 || !time.starts_with(date) {
            return Err(format!("{time} is not a time on {date}"));
        }
        let scope = format!("{date}/{region}/s3/aws4_request");
        let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(&canonical)));
        let secret = format!("AWS4{secret}").into_bytes();
        let signing_key = [date, region, "s3", "aws4_request"]
            .into_iter()
            .fold(secret, |key, part| mac(&key, part.as_bytes()));
        if hex(&mac(&signing_key, to_sign.as_bytes())) == signature {
            return Ok(());
        }
        Err(format!("the signature is not that of\n{}", canonical.escape_ascii()))
    }

    fn canonical(&self, names: &str) -> Result<Vec<u8>, String> {
        let signed: Vec<&str> = names.split(';').collect();
        if !signed.is_sorted() {
            return Err(format!("{names} is not in order"));
        }
        // What a store demands to be signed; an unsigned guard could be dropped on the way.
        for name in self.headers.keys() {
            let must = *name == "host" || name.starts_with("x-amz-") || name.starts_with("if-");
            if must && !signed.contains(name) {
                return Err(format!("{name} is not signed"));
            }
        }
        let payload = hex(&Sha256::digest(self.body));
        if self.header("x-amz-content-sha256")? != payload.as_bytes() {
            return Err("the body has another hash".into());
        }
        let mut parameters: Vec<&str> = self.query.split('&').collect();
        parameters.sort_unstable();
        let (method, path, query) = (self.method, self.path, parameters.join("&"));
        let mut canonical = format!("{method}\n{path}\n{query}\n").into_bytes();
        for name in signed {
            canonical.extend_from_slice(name.as_bytes());
            canonical.push(b':');
            let words = self.header(name)?.split(|&b| b == b' ' || b == b'\t');
            let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
            canonical.extend(words.join(&b' '));
            canonical.push(b'\n');
        }
        canonical.extend(format!("\n{names}\n{payload}").into_bytes());
        Ok(canonical)
    }
}

/// Undoes percent-encoding, once.
pub(crate) fn percent_decode(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).expect("two digits follow a percent sign"));
        bytes.extend(&part.as_bytes()[2..]);
    }
    bytes
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
