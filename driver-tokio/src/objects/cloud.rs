//! The two clouds: `gs://bucket/prefix` and `az://container/prefix`, and builders of a user's own.

use core::sync::atomic::AtomicBool;
use std::env;
use std::sync::Arc;

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::list::PaginatedListStore;
use object_store::{ObjectStore, RetryConfig};
use reqwest::Url;
use tenure_blocking::{OpenError, OpenOptions, Transport};
use tenure_core::{Fault, FaultKind};

use super::ObjectStoreAdapter;
use super::wire::Wire;

/// What the builder of Azure's store asks for in vain when it is missing, and where that comes from.
const AZURE_HINT: &str =
    "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or another of Azure's credentials";
const GOOGLE_HINT: &str =
    "set GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT to the path of a key file";

impl ObjectStoreAdapter {
    /// Builds a store of a container of Azure Blob Storage. The builder's own HTTP client, time-outs and retries are
    /// not used.
    ///
    /// # Errors
    /// Says what the builder lacks, and what is wrong with the prefix or the transport.
    pub fn azure(
        builder: MicrosoftAzureBuilder,
        prefix: &str,
        transport: &Transport,
    ) -> Result<Self, OpenError> {
        let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
        let emulated =
            builder.get_config_value(&AzureConfigKey::UseEmulator).is_some_and(|text| text == "true");
        let wire =
            Wire::new(emulated || is_local(endpoint.as_deref()), transport).map_err(OpenError::Store)?;
        let store = builder.with_retry(once()).with_http_connector(wire).build();
        Self::cloud(store.map_err(|error| unusable("Azure", &error, AZURE_HINT))?, prefix, true)
    }

    /// Builds a store of a bucket of Google Cloud Storage. The builder's own HTTP client, time-outs and retries are
    /// not used. `endpoint` is where its `base_url` is, if it has one: for a server on this machine there is no proxy.
    ///
    /// # Errors
    /// Says what the builder lacks, and what is wrong with the prefix or the transport.
    pub fn google(
        builder: GoogleCloudStorageBuilder,
        endpoint: Option<&str>,
        prefix: &str,
        transport: &Transport,
    ) -> Result<Self, OpenError> {
        let wire = Wire::new(is_local(endpoint), transport).map_err(OpenError::Store)?;
        let builder = match endpoint {
            Some(endpoint) => builder.with_base_url(endpoint),
            None => builder,
        };
        let store = builder.with_retry(once()).with_http_connector(wire).build();
        Self::cloud(store.map_err(|error| unusable("Google", &error, GOOGLE_HINT))?, prefix, false)
    }

    fn cloud<S: ObjectStore + PaginatedListStore>(
        store: S,
        prefix: &str,
        is_azure: bool,
    ) -> Result<Self, OpenError> {
        let store = Arc::new(store);
        Ok(Self {
            objects: Arc::<S>::clone(&store),
            pages: Some(store),
            prefix: tenure_s3::prefix(prefix).map_err(OpenError::Bucket)?,
            is_azure,
            listens: true,
            has_versions: AtomicBool::new(false),
        })
    }
}

/// Opens `gs://bucket/prefix` or `az://container/prefix` with what the environment says by the `object_store` crate's
/// names (`GOOGLE_...`, `AZURE_...`); nothing if the URL is of another kind.
pub(crate) fn open(url: &str, options: &OpenOptions) -> Option<Result<ObjectStoreAdapter, OpenError>> {
    let (scheme, rest) = url.split_once("://")?;
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    match scheme {
        "az" | "gs" => Some(open_cloud(scheme == "az", name, prefix, options)),
        _ => None,
    }
}

fn open_cloud(
    is_azure: bool,
    name: &str,
    prefix: &str,
    options: &OpenOptions,
) -> Result<ObjectStoreAdapter, OpenError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "_.-$".contains(c);
    if name.is_empty() || !name.chars().all(legal) {
        let form = if is_azure { "az://container/prefix" } else { "gs://bucket/prefix" };
        let why = format!("a name may have A-Z a-z 0-9 _ . - and $; write {form}");
        return Err(OpenError::Store(Fault::new(FaultKind::Config, why)));
    }
    let transport = Transport::from_env(|name| env::var(name).ok());
    let transport = match &options.ca_file {
        Some(path) => transport.and_then(|transport| transport.with_ca_file(path)),
        None => transport,
    };
    let transport = transport.map_err(OpenError::Store)?;
    if is_azure {
        let builder = MicrosoftAzureBuilder::from_env().with_container_name(name);
        let builder = match &options.endpoint {
            Some(endpoint) => builder.with_endpoint(endpoint.clone()),
            None => builder,
        };
        ObjectStoreAdapter::azure(builder, prefix, &transport)
    } else {
        let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(name);
        ObjectStoreAdapter::google(builder, options.endpoint.as_deref(), prefix, &transport)
    }
}

/// What the engine asks for is sent once: it knows what may be sent again, and when.
fn once() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn is_local(endpoint: Option<&str>) -> bool {
    let url = endpoint.and_then(|endpoint| Url::parse(endpoint).ok());
    url.is_some_and(|url| tenure_s3::is_local(&url.origin().ascii_serialization()))
}

fn unusable(whose: &str, error: &object_store::Error, hint: &str) -> OpenError {
    let why = format!("{whose}'s store cannot be set up: {error}; {hint}");
    OpenError::Store(Fault::new(FaultKind::Config, why))
}
