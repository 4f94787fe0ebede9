//! A request as the bytes that go over the wire.

use tenure_s3::Request;

/// Spells a request as an HTTP client that changes nothing sends it, but for line ends.
pub(crate) fn spell(request: &Request<'_>, with_signature: bool) -> String {
    let target = target(request.url);
    let mut text = format!("{} {target} HTTP/1.1\n", request.method.as_str());
    for (name, value) in request.headers.iter() {
        if name != "authorization" || with_signature {
            text += &format!("{name}: {}\n", core::str::from_utf8(value).expect("text"));
        }
    }
    text += "\n";
    text += core::str::from_utf8(request.body).expect("text");
    text
}

fn target(url: &str) -> &str {
    let authority = url.find("://").expect("absolute") + 3;
    &url[authority + url[authority..].find('/').expect("a path")..]
}
