//! How both drivers set up their HTTP client and spell a signed request for it.

use core::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{ClientBuilder, Method, Url, redirect, retry};
use tenure_core::{Fault, FaultKind};
use tenure_s3::ResponseHeaders;

use super::Transport;

/// A connection that has been idle this long is not used again (BL-19): servers close theirs after about
/// 20 s, some without saying so. A lease with a ttl of 10 s is renewed well within it.
const POOL_IDLE: Duration = Duration::from_secs(5);

/// Sets up an HTTP client that sends what it is told to, once, and keeps at most `idle_max` connections for later. A
/// server on this machine (`is_local`) is reached without a proxy.
pub fn builder(is_local: bool, transport: &Transport, idle_max: usize) -> ClientBuilder {
    let mut builder = ClientBuilder::new()
        .http1_only()
        .no_brotli()
        .no_deflate()
        .no_gzip()
        .no_zstd()
        .pool_idle_timeout(POOL_IDLE)
        .pool_max_idle_per_host(idle_max)
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
        .user_agent(concat!("tenure/", env!("CARGO_PKG_VERSION")))
        // Not the client's own reading of the environment, which says nothing about what it cannot read.
        .no_proxy();
    if !is_local {
        for proxy in transport.proxies() {
            builder = builder.proxy(proxy);
        }
    }
    match transport.roots() {
        Some(roots) => builder.tls_certs_only(roots),
        None => builder,
    }
}

/// Spells a signed request, but for its body, in the HTTP client's own types.
///
/// # Errors
/// Says what of it cannot be sent as it was signed.
pub fn spell(signed: &tenure_s3::Request<'_>) -> Result<(Method, Url, HeaderMap), Fault> {
    let bad = |what: &str| Fault::new(FaultKind::Malformed, format!("the request's {what} cannot be sent"));
    let url = Url::parse(signed.url).map_err(|_| bad("URL"))?;
    // What is sent must be what is signed: a URL that the library spells otherwise would go elsewhere.
    if url.as_str() != signed.url {
        return Err(bad("URL"));
    }
    let method = signed.method.as_str().parse().map_err(|_| bad("method"))?;
    let mut headers = HeaderMap::new();
    for (name, value) in signed.headers.iter() {
        let mut value = HeaderValue::from_bytes(value).map_err(|_| bad(name))?;
        // Kept out of the client's own traces.
        value.set_sensitive(matches!(name, "authorization" | "x-amz-security-token"));
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok((method, url, headers))
}

/// Picks out of an answer's headers those that say something to us.
pub fn collect(headers: &HeaderMap) -> ResponseHeaders<'_> {
    ResponseHeaders::collect(|name| headers.get(name).map(HeaderValue::as_bytes))
}
