//! Signatures by the provider's own code, from the request as it came over the wire.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use tenure_sim::server::{Claim, Expected, Verify};
use time::PrimitiveDateTime;
use time::macros::format_description;

/// Knows one secret, and takes any session token: it is part of what is signed.
#[derive(Debug)]
pub(crate) struct Aws {
    pub(crate) access_key: &'static str,
    pub(crate) secret: &'static str,
}

/// What the provider's signer adds by itself, from its settings.
const ADDED: [&str; 4] = ["host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"];

impl Verify for Aws {
    fn expect(&self, claim: &Claim<'_>) -> Expected {
        if claim.access_key != self.access_key {
            return Expected::UnknownKey;
        }
        let token = claim.token.map(str::to_owned);
        let identity: Identity = Credentials::new(self.access_key, self.secret, token, None, "test").into();
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(claim.region)
            .name("s3")
            .time(then(claim.at))
            .settings(settings)
            .build()
            .expect("complete")
            .into();
        let host = claim.headers.iter().find(|(name, _)| *name == "host").map(|(_, host)| host.as_str());
        let url = format!("http://{}{}", host.expect("signed"), claim.target);
        let headers = claim.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers = headers.filter(|(name, _)| !ADDED.contains(name));
        let body = SignableBody::Precomputed(claim.payload.to_owned());
        let request = SignableRequest::new(claim.method, url, headers, body).expect("a legal request");
        let (_, signature) = sign(request, &params).expect("it can be signed").into_parts();
        Expected::Signature(signature)
    }
}

fn then(at: &str) -> SystemTime {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    PrimitiveDateTime::parse(at, format).expect("the server has looked").assume_utc().into()
}
