//! The other side of the wire: a server that checks a request's signature from its bytes alone.
//!
//! Written from the provider's description and apart from the signer, so that the two can disagree.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Checks a spelled request's signature as the store does. The error names the first thing that is wrong.
pub(crate) fn verify(spelled: &str, access_key: &str, secret: &str) -> Result<(), String> {
    let (head, body) = spelled.split_once("\n\n").ok_or("no end of head")?;
    let mut lines = head.lines();
    let request_line: Vec<&str> = lines.next().ok_or("no request line")?.split(' ').collect();
    let [method, target, "HTTP/1.1"] = request_line[..] else { return Err("request line".into()) };
    let mut headers: Vec<(String, String)> = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(": ").ok_or("header")?;
        headers.push((name.to_owned(), value.to_owned()));
    }
    let header = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .ok_or(format!("no {name}"))
    };
    let authorization = header("authorization")?;
    let part = |name: &str| {
        let at = authorization.find(name).ok_or(format!("no {name}"))? + name.len();
        Ok::<_, String>(authorization[at..].split([',', ' ']).next().unwrap_or_default())
    };
    let (credential, names, signature) = (part("Credential=")?, part("SignedHeaders=")?, part("Signature=")?);
    let [key, date, region, service, last] = credential.split('/').collect::<Vec<_>>()[..] else {
        return Err("scope".into());
    };
    if (key, service, last) != (access_key, "s3", "aws4_request") {
        return Err("key or scope".into());
    }
    let payload = hex(&Sha256::digest(body.as_bytes()));
    if header("x-amz-content-sha256")? != payload {
        return Err("payload hash".into());
    }
    // What a store demands to be signed.
    for (name, _) in &headers {
        let must = matches!(name.as_str(), "content-md5" | "host")
            || name.starts_with("x-amz-")
            || name.starts_with("if-");
        if must != names.split(';').any(|signed| signed == name) {
            return Err(format!("{name} is signed or not when it should be otherwise"));
        }
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut parameters: Vec<&str> = query.split('&').collect();
    parameters.sort_unstable();
    let mut canonical = format!("{method}\n{path}\n{}\n", parameters.join("&"));
    for name in names.split(';') {
        let value: Vec<&str> = header(name)?.split_ascii_whitespace().collect();
        canonical += &format!("{name}:{}\n", value.join(" "));
    }
    canonical += &format!("\n{names}\n{payload}");
    let time = header("x-amz-date")?;
    if !time.starts_with(date) {
        return Err("date of the scope".into());
    }
    let scope = format!("{date}/{region}/s3/aws4_request");
    let to_sign =
        format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
    let mut signing_key = format!("AWS4{secret}").into_bytes();
    for text in [date, region, "s3", "aws4_request"] {
        signing_key = mac(&signing_key, text);
    }
    if hex(&mac(&signing_key, &to_sign)) == signature {
        Ok(())
    } else {
        Err(format!("signature of\n{canonical}"))
    }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
