//! How a server is reached: whose certificates are trusted, and which proxy stands between.
//!
//! Both are read from the environment once, by the usual names, so that a file that is missing or garbage is an
//! error before the first request and not a handshake that fails later.

use core::fmt;
use std::fs;
use std::path::Path;

use reqwest::{Certificate, Client, NoProxy, Proxy, Url};
use tenure_core::{Fault, FaultKind};

/// Where a file of certificates may be named; the first that is set counts.
const CA_NAMES: [&str; 2] = ["AWS_CA_BUNDLE", "SSL_CERT_FILE"];

/// Whose certificates are trusted, and which proxies are used.
///
/// The default trusts what the system trusts, and uses no proxy.
#[derive(Clone, Default)]
pub struct Transport {
    roots: Option<Vec<Certificate>>,
    proxies: Vec<Proxy>,
}

impl Transport {
    /// Reads the environment, with `lookup` as such.
    ///
    /// `AWS_CA_BUNDLE`, else `SSL_CERT_FILE`, names a file of PEM certificates, which are trusted instead of the
    /// system's. `HTTPS_PROXY` and `HTTP_PROXY`, else `ALL_PROXY`, name the proxies of the two schemes; `NO_PROXY`
    /// lists names, domains and addresses that are reached without. Each proxy's name may also be in lower case,
    /// which goes first. An empty variable counts as unset.
    ///
    /// # Errors
    /// Names the variable, what is wrong with it, and what to write instead.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let get =
            |name: &str| lookup(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let either = |name: &'static str| {
            get(&name.to_ascii_lowercase()).or_else(|| get(name)).map(|value| (name, value))
        };
        let bypass = either("NO_PROXY").and_then(|(_, list)| NoProxy::from_string(&list));
        let mut proxies = Vec::new();
        for (name, make) in [
            ("HTTP_PROXY", Proxy::http::<Url> as fn(Url) -> reqwest::Result<Proxy>),
            ("HTTPS_PROXY", Proxy::https::<Url>),
        ] {
            let Some((name, value)) = either(name).or_else(|| either("ALL_PROXY")) else { continue };
            let proxy = proxy_url(&value).and_then(|url| make(url).map_err(|_| "is no proxy's address"));
            // The value is not shown: a password may stand in it.
            let proxy = proxy.map_err(|why| config(format!("{name} {why}; write http://host:port")))?;
            proxies.push(proxy.no_proxy(bypass.clone()));
        }
        let transport = Self { roots: None, proxies };
        match CA_NAMES.into_iter().find_map(|name| Some((name, get(name)?))) {
            Some((name, path)) => transport.trusting(name, Path::new(&path)),
            None => Ok(transport),
        }
    }

    /// Trusts the certificates in a PEM file, and no others.
    ///
    /// # Errors
    /// Says why the file is of no use.
    pub fn with_ca_file(self, path: &Path) -> Result<Self, Fault> {
        self.trusting("the CA file", path)
    }

    /// Returns the certificates that are trusted, if not the system's are.
    #[doc(hidden)]
    pub fn roots(&self) -> Option<impl Iterator<Item = Certificate> + use<'_>> {
        self.roots.as_ref().map(|roots| roots.iter().cloned())
    }

    /// Returns the proxies.
    #[doc(hidden)]
    pub fn proxies(&self) -> impl Iterator<Item = Proxy> + use<'_> {
        self.proxies.iter().cloned()
    }

    fn trusting(self, name: &str, path: &Path) -> Result<Self, Fault> {
        let shown = path.display();
        let fail =
            |why: String| config(format!("{name}: {shown} {why}; name a file of certificates in PEM form"));
        let pem = fs::read(path).map_err(|error| fail(format!("cannot be read ({error})")))?;
        let garbage = |error: reqwest::Error| fail(format!("is garbage ({})", super::detail(&error)));
        let roots = Certificate::from_pem_bundle(&pem).map_err(garbage)?;
        if roots.is_empty() {
            return Err(fail("has no certificate in it".into()));
        }
        // Only a client looks at what is inside a certificate.
        Client::builder().no_proxy().tls_certs_only(roots.clone()).build().map_err(garbage)?;
        Ok(Self { roots: Some(roots), ..self })
    }
}

impl fmt::Debug for Transport {
    /// Shows no proxy, since passwords may stand in their addresses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roots = self.roots.as_ref().map(Vec::len);
        f.debug_struct("Transport").field("roots", &roots).field("proxies", &self.proxies.len()).finish()
    }
}

fn proxy_url(text: &str) -> Result<Url, &'static str> {
    let url = if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
    let url = url.map_err(|_| "is no proxy's address")?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        "http" | "https" => Err("names no host"),
        _ => Err("is neither http nor https"),
    }
}

fn config(text: String) -> Fault {
    Fault::new(FaultKind::Config, text)
}

#[cfg(test)]
mod tests {
    use super::Transport;
    use tenure_core::FaultKind;

    fn from(pairs: &[(&str, &str)]) -> Result<Transport, String> {
        let lookup =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Transport::from_env(lookup).map_err(|fault| {
            assert_eq!(fault.kind, FaultKind::Config);
            fault.detail.to_string()
        })
    }

    #[test]
    fn a_proxy_s_address_that_is_none_is_refused_without_showing_it() {
        for (name, value, word) in [
            ("HTTPS_PROXY", "socks5://u:hunter2@h:1", "neither http nor https"),
            ("http_proxy", "http://u:hunter2@h:99999", "no proxy's address"),
            ("ALL_PROXY", "http://", "no proxy's address"),
        ] {
            let error = from(&[(name, value)]).expect_err(value);
            assert!(error.contains(word) && error.contains("write http://host:port"), "{error}");
            assert!(error.to_lowercase().contains("_proxy") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_environment_gives_a_proxy_for_each_scheme() {
        let proxies = |pairs: &[(&str, &str)]| from(pairs).expect("legal").proxies().count();
        assert_eq!(proxies(&[]), 0);
        assert_eq!(proxies(&[("HTTPS_PROXY", "http://p:1"), ("HTTP_PROXY", " ")]), 1);
        assert_eq!(proxies(&[("all_proxy", "p:1"), ("no_proxy", "a,b")]), 2);
    }

    #[test]
    fn a_file_of_certificates_that_is_missing_or_garbage_is_named_with_its_variable() {
        let dir = std::env::temp_dir().join(format!("tenure-ca-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let begin = "-----BEGIN CERTIFICATE-----\n";
        for (name, content, word) in [
            ("none.pem", None, "cannot be read"),
            ("empty.pem", Some(String::new()), "has no certificate"),
            ("page.pem", Some("<html>not here</html>".into()), "has no certificate"),
            ("cut.pem", Some(format!("{begin}AAAA\n")), "garbage"),
            ("noise.pem", Some(format!("{begin}AAAA\n-----END CERTIFICATE-----\n")), "garbage"),
        ] {
            let path = dir.join(name);
            if let Some(content) = content {
                std::fs::write(&path, content).expect("a file");
            }
            let path = path.display().to_string();
            for variable in super::CA_NAMES {
                let error = from(&[(variable, &path)]).expect_err(name);
                for part in [variable, &path, word, "PEM"] {
                    assert!(error.contains(part), "{part}: {error}");
                }
            }
        }
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
