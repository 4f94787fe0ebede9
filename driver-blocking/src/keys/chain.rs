//! The rest of AWS's sources of credentials, by its own library: roles, web identities, containers, instances
//! (IMDSv2), single sign-on, processes.

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::time::UNIX_EPOCH;

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::imds;
use aws_config::{Region, provider_config::ProviderConfig};
use aws_credential_types::provider::ProvideCredentials as _;
use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder as HttpBuilder, Connector};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use tenure_core::{Fault, FaultKind, WallTime};
use tenure_s3::{Credentials, Issued, Provider};
use tokio::runtime::{Builder, Runtime};

use crate::clock;

/// How long an instance's metadata may take to connect, and to answer: it is one hop away, or not there.
const METADATA: Duration = Duration::from_secs(1);
/// How long all sources together may take.
const ALL: Duration = Duration::from_secs(6);

/// Asks each source in AWS's own order until one has credentials.
pub(super) struct Chain {
    region: Region,
    proxy: ProxyConfig,
    runtime: Runtime,
}

impl Chain {
    /// Takes the region whose token service exchanges identities, and the environment, which says through
    /// which proxy that is reached.
    ///
    /// Metadata are plain HTTP from this machine's own link, and go through no proxy: the library would hand
    /// them, with a session's token, to whatever `HTTP_PROXY` names.
    pub(super) fn new(region: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let get = |name: &str| lookup(&name.to_ascii_lowercase()).or_else(|| lookup(name));
        let proxy = get("HTTPS_PROXY").filter(|url| !url.trim().is_empty());
        let proxy = match proxy.map(|url| ProxyConfig::https(url.trim())) {
            None => ProxyConfig::disabled(),
            Some(Ok(proxy)) => match get("NO_PROXY") {
                Some(list) => proxy.no_proxy(list),
                None => proxy,
            },
            // Not shown: a password may stand in it.
            Some(Err(_)) => {
                let why = "HTTPS_PROXY is no proxy's address; write http://host:port";
                return Err(Fault::new(FaultKind::Config, why));
            }
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            Fault::new(FaultKind::Unavailable, format!("no runtime can be started: {error}"))
        })?;
        Ok(Self { region: Region::new(region.to_owned()), proxy, runtime })
    }

    async fn ask(&self) -> Result<Issued, Fault> {
        let config = ProviderConfig::without_region().with_http_client(client(self.proxy.clone()));
        let metadata = imds::Client::builder()
            .connect_timeout(METADATA)
            .read_timeout(METADATA)
            .max_attempts(1)
            .configure(&config)
            .build();
        // Built anew each time: what was read from files last time may have changed.
        let chain = DefaultCredentialsChain::builder()
            .configure(config)
            .region(self.region.clone())
            .imds_client(metadata)
            .build()
            .await;
        let asked = clock::mono();
        let given = chain.provide_credentials().await;
        let given = given.map_err(|error| fault(&error, clock::mono().since(asked)))?;
        let credentials =
            Credentials::new(given.access_key_id(), given.secret_access_key(), given.session_token());
        let credentials = credentials.map_err(|error| {
            Fault::new(FaultKind::Config, format!("what AWS's sources gave is no key: {error}"))
        })?;
        let since = given.expiry().and_then(|expires| expires.duration_since(UNIX_EPOCH).ok());
        let expires =
            since.map(|since| WallTime::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)));
        Ok(Issued { credentials, expires })
    }
}

impl Provider for Chain {
    fn fetch(&self) -> Result<Issued, Fault> {
        self.runtime.block_on(async {
            tokio::time::timeout(ALL, self.ask()).await.unwrap_or_else(|_| {
                let why = format!("AWS's sources of credentials took longer than {} s", ALL.as_secs());
                Err(Fault::new(FaultKind::TimedOut, why))
            })
        })
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({})", self.region)
    }
}

/// Returns the library's HTTP client, but for the proxy.
fn client(proxy: ProxyConfig) -> SharedHttpClient {
    HttpBuilder::new().build_with_connector_fn(move |settings, components| {
        let mut builder = Connector::builder().proxy_config(proxy.clone());
        builder.set_connector_settings(settings.cloned());
        builder.set_sleep_impl(components.and_then(|components| components.sleep_impl()));
        builder.tls_provider(tls::Provider::Rustls(CryptoMode::AwsLc)).build()
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the list is another crate's, and open")]
fn fault(error: &CredentialsError, took: Duration) -> Fault {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    // Metadata that stay silent are passed over like metadata that are not there, but for the time it takes.
    let is_silent = matches!(error, CredentialsError::CredentialsNotLoaded(_)) && took >= METADATA;
    let (kind, advice) = match error {
        _ if is_silent || text.contains("timeout") || text.contains("timed out") => (
            FaultKind::TimedOut,
            "metadata did not answer: in a container on an instance, raise their hop limit to 2; where there are \
             none, set AWS_EC2_METADATA_DISABLED=true",
        ),
        CredentialsError::CredentialsNotLoaded(_) => (
            FaultKind::Denied,
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or give this machine a role",
        ),
        CredentialsError::InvalidConfiguration(_) => (FaultKind::Config, "correct the AWS configuration"),
        _ => (FaultKind::Unavailable, "is the source reachable, and may this machine take the role?"),
    };
    Fault::new(kind, format!("AWS's sources gave none: {text}; {advice}"))
}
