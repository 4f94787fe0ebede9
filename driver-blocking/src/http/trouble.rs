//! Why a request got no answer, for people: the HTTP client's own words, and what to do.

use core::error::Error;
use std::io;

use rustls::CertificateError;
use tenure_core::{Fault, FaultKind};

/// Builds the fault of a request without an answer.
pub fn fault(error: &reqwest::Error) -> Fault {
    Fault::new(if error.is_timeout() { FaultKind::TimedOut } else { FaultKind::Network }, detail(error))
}

/// Spells an error and its causes; reqwest's own text names the URL, in which nothing is secret.
pub fn detail(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error).skip(1) {
        let cause = cause.to_string();
        // A wrapper that only repeats what it wraps says nothing.
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    match advice(error) {
        Some(advice) => format!("{text}; {advice}"),
        None => text,
    }
}

fn advice(error: &reqwest::Error) -> Option<&'static str> {
    for cause in causes(error) {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return Some(about_tls(tls));
        }
        // These errors have no types of their own outside the HTTP client.
        match cause.to_string().as_str() {
            "tunnel error: proxy authorization required" => {
                return Some(
                    "the HTTP proxy wants a password: write http://user:password@host:port in HTTPS_PROXY",
                );
            }
            "tunnel error: unsuccessful" => {
                return Some(
                    "the HTTP proxy refused to connect: is the store allowed there? correct HTTPS_PROXY or NO_PROXY",
                );
            }
            text if text.starts_with("tunnel error") => {
                return Some("the HTTP proxy does not answer as one: correct HTTPS_PROXY or NO_PROXY");
            }
            _ => {}
        }
    }
    if error.is_dns() {
        return Some(
            "the host's name is unknown here: correct the endpoint (--endpoint, or AWS_ENDPOINT_URL_S3) or the name service",
        );
    }
    error.is_connect().then_some(
        "is the endpoint (--endpoint, or AWS_ENDPOINT_URL_S3) right, and can it be reached from here? a proxy \
         (HTTPS_PROXY, NO_PROXY) may stand between",
    )
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the lists are another crate's, and open")]
fn about_tls(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(why) => match why {
            // A bad signature is what another authority of the same name looks like: one that was made anew.
            CertificateError::BadSignature | CertificateError::UnknownIssuer => {
                "the server's certificate is signed by nobody trusted here: name the CA's file in AWS_CA_BUNDLE"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired, or this machine's clock is off"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the server's certificate is not valid yet, or this machine's clock is off"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server's certificate is for another name: correct the endpoint, or take ?style=path"
            }
            _ => "the server's certificate cannot be trusted: look at it, and at AWS_CA_BUNDLE",
        },
        rustls::Error::InvalidMessage(_) => "the server does not speak TLS: is it http:// and not https://?",
        _ => "the server's TLS does not agree with ours",
    }
}

/// Returns an error and its causes, outermost first, with those that an I/O error hides.
fn causes<'e>(error: &'e reqwest::Error) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error;
    core::iter::successors(Some(first), |&cause| match cause.downcast_ref::<io::Error>() {
        // Its source is the source of what it wraps.
        Some(io) => match io.get_ref() {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => io.source(),
        },
        None => cause.source(),
    })
}
