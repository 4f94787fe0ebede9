//! The address of the machine that serves the bucket: scheme, host, port, and nothing else.
//!
//! The text that is signed as the host is the text that goes into the `Host` header, byte for byte, so it is
//! fixed here once: lower case, default port left out. Everything that a URL library could rewrite between
//! signing and sending (user names, paths, queries) is refused instead.

use core::fmt::Write as _;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A scheme and an authority, in the one spelling that is both signed and sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Host {
    Ip(IpAddr),
    Name(String),
}

impl Endpoint {
    /// Takes `http://host[:port]` or `https://host[:port]`; an error says what to write instead.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.bytes().any(|b| !b.is_ascii_graphic()) {
            return Err("has blanks, control or non-ASCII characters; write http://host:port".into());
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err("has no scheme; write http://host:port or https://host:port".into());
        };
        let scheme = if scheme.eq_ignore_ascii_case("http") {
            Scheme::Http
        } else if scheme.eq_ignore_ascii_case("https") {
            Scheme::Https
        } else {
            return Err("has an unknown scheme; use http or https".into());
        };
        if rest.contains('@') {
            return Err(
                "has a user name; credentials go into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into()
            );
        }
        if rest.contains(['?', '#']) {
            return Err("has a query or a fragment; leave it out".into());
        }
        let authority = rest.trim_end_matches('/');
        if authority.contains('/') {
            return Err("has a path; give only scheme, host and port".into());
        }
        let (host, port) = split_port(authority)?;
        let port = port.filter(|port| *port != scheme.default_port());
        Ok(Self { scheme, host: Host::parse(host)?, port })
    }

    /// Builds the provider's own endpoint, `https://s3.<region>.amazonaws.com`.
    pub(crate) fn aws(region: &str) -> Self {
        let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        Self { scheme: Scheme::Https, host: Host::Name(format!("s3.{region}.{domain}")), port: None }
    }

    /// Returns the endpoint of one bucket in virtual-host style; nothing if the host is an address.
    pub(crate) fn with_bucket(&self, bucket: &str) -> Option<Self> {
        match &self.host {
            Host::Ip(_) => None,
            Host::Name(name) => Some(Self { host: Host::Name(format!("{bucket}.{name}")), ..self.clone() }),
        }
    }

    /// Tells whether the traffic stays on this machine, or on the link that it is connected to (BL-11).
    pub(crate) fn is_local(&self) -> bool {
        match &self.host {
            Host::Ip(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_link_local(),
            Host::Ip(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unicast_link_local(),
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        }
    }

    /// Returns the value of the `Host` header.
    pub(crate) fn authority(&self) -> String {
        let mut text = match &self.host {
            Host::Ip(IpAddr::V4(ip)) => ip.to_string(),
            Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]"),
            Host::Name(name) => name.clone(),
        };
        if let Some(port) = self.port {
            write!(text, ":{port}").expect("writing to a string cannot fail");
        }
        text
    }
}

/// Tells whether a server (`http://host:port`) is on this machine or on its own link, so that a proxy must not come
/// between.
pub fn is_local(origin: &str) -> bool {
    Endpoint::parse(origin).is_ok_and(|endpoint| endpoint.is_local())
}

impl Host {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let ip: Ipv6Addr =
                inner.parse().map_err(|_| "has a malformed IPv6 address; write [::1]".to_owned())?;
            return Ok(Self::Ip(IpAddr::V6(ip)));
        }
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Ip(IpAddr::V4(ip)));
        }
        if text.is_empty() {
            return Err("has no host".into());
        }
        let name = text.to_ascii_lowercase();
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if name.len() > 253 || !name.bytes().all(legal) || name.starts_with('.') || name.contains("..") {
            return Err("has a malformed host name; an IPv6 address is written in brackets, [::1]".into());
        }
        // A name that ends in a number is read as an address in one of its ancient spellings (0x7f.1, 127.1)
        // by URL libraries, which would then send to another host than the one that was signed.
        let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
            return Err("has a malformed IPv4 address; write four decimal numbers".into());
        }
        Ok(Self::Name(name))
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    // The colons inside an IPv6 address's brackets separate no port.
    let after_host = authority.rfind(']').map_or(0, |at| at + 1);
    let Some(colon) = authority[after_host..].find(':').map(|at| after_host + at) else {
        return Ok((authority, None));
    };
    let (host, port) = (&authority[..colon], &authority[colon + 1..]);
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(port) if digits && port != 0 => Ok((host, Some(port))),
        Ok(_) | Err(_) => {
            Err("has a malformed port; write a number from 1 to 65535, and an IPv6 address in brackets"
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    fn spelled(text: &str) -> String {
        let endpoint = Endpoint::parse(text).expect(text);
        format!("{}://{}", endpoint.scheme.as_str(), endpoint.authority())
    }

    #[test]
    fn bl_12_the_default_port_is_left_out_and_any_other_kept() {
        assert_eq!(spelled("https://h:443"), "https://h");
        assert_eq!(spelled("http://h:80"), "http://h");
        assert_eq!(spelled("http://h:443"), "http://h:443");
        assert_eq!(spelled("http://h:9000"), "http://h:9000");
    }

    #[test]
    fn bl_12_trailing_slashes_are_trimmed_and_case_is_folded() {
        assert_eq!(spelled("https://h/"), "https://h");
        assert_eq!(spelled("HTTP://H.Example:9000//"), "http://h.example:9000");
    }

    #[test]
    fn addresses_of_both_families_have_one_spelling() {
        assert_eq!(spelled("http://127.0.0.1:9000"), "http://127.0.0.1:9000");
        assert_eq!(spelled("http://[::1]:9000"), "http://[::1]:9000");
        assert_eq!(spelled("https://[2001:DB8:0:0::1]:443/"), "https://[2001:db8::1]");
    }

    #[test]
    fn bl_12_what_a_url_library_could_rewrite_is_refused_with_a_remedy() {
        for (text, remedy) in [
            ("h:9000", "no scheme"),
            ("ftp://h", "use http or https"),
            ("http://key:secret@h", "AWS_ACCESS_KEY_ID"),
            ("http://h?x=1", "query"),
            ("http://h#x", "fragment"),
            ("http://h/path", "path"),
            ("http://h:", "port"),
            ("http://h:0", "port"),
            ("http://h:65536", "port"),
            ("http://h:+1", "port"),
            ("http://h:9000:1", "port"),
            ("http://::1", "brackets"),
            ("http://[::1", "brackets"),
            ("http://[::1]x", "host"),
            ("http://[::zz]", "IPv6"),
            ("http://", "no host"),
            ("http:///", "no host"),
            ("http://a b", "blanks"),
            ("http://h\u{e9}", "non-ASCII"),
            ("http://a%41", "host name"),
            ("http://127.1", "IPv4"),
            ("http://0x7f.1", "IPv4"),
            ("http://0x7f000001", "IPv4"),
            ("http://1.2.3.999", "IPv4"),
            ("", "no scheme"),
        ] {
            let why = Endpoint::parse(text).expect_err(text);
            assert!(why.contains(remedy), "{text}: {why}");
        }
    }

    #[test]
    fn what_is_near_is_recognised_in_every_form() {
        for text in [
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://localhost",
            "http://b.localhost:1",
            "http://169.254.169.254",
            "http://[fe80::1]",
        ] {
            assert!(Endpoint::parse(text).expect(text).is_local(), "{text}");
        }
        for text in ["http://localhost.example", "http://169.255.0.1", "http://10.0.0.1", "http://[fd00::1]"]
        {
            assert!(!Endpoint::parse(text).expect(text).is_local(), "{text}");
        }
    }
}
