//! From the command line to a store and to a node's configuration.

use std::env;

use rustix::system::uname;
use tenure_blocking::OpenOptions;
use tenure_blocking::open::{Place, resolve};
use tenure_core::{Config, JoinError};
#[cfg(feature = "object-store")]
use tenure_tokio::Bridged;

use crate::args::Global;
use crate::exit::Failure;
use crate::hints;
use crate::inspect::Inspector;
use crate::log::{Log, Logged};

/// Opens the store for a command that looks and goes.
pub(crate) fn inspector(global: &Global) -> Result<Inspector, Failure> {
    let log = Log::new(global);
    #[cfg(feature = "object-store")]
    if url(global)?.starts_with("az://") || url(global)?.starts_with("gs://") {
        let store = tenure_tokio::open(url(global)?, &options(global))?;
        let bridged = Bridged::new(store)
            .map_err(|error| Failure::unavailable(format_args!("the system refuses a thread: {error}")))?;
        return Inspector::new(Logged::new(bridged, log));
    }
    let store = tenure_blocking::open(url(global)?, &options(global))?;
    Inspector::new(Logged::new(store, log))
}

/// Opens the store for a node.
pub(crate) fn asynchronous(global: &Global) -> Result<Logged<tenure_tokio::AnyStore>, Failure> {
    let store = tenure_tokio::open(url(global)?, &options(global))?;
    Ok(Logged::new(store, Log::new(global)))
}

/// Says why a node could not join; of a store that is unfit, also which it is and what others have seen of its kind.
pub(crate) fn refused(global: &Global, error: JoinError) -> Failure {
    let is_unfit = matches!(error, JoinError::Unfit(_));
    let failure = Failure::from(error);
    if is_unfit { named(global, failure) } else { failure }
}

fn named(global: &Global, failure: Failure) -> Failure {
    // It could be opened a moment ago; if it cannot any more there is nothing to add.
    let Ok(url) = url(global) else { return failure };
    let Ok(Place::S3(remote)) = resolve(url, &options(global), |name| env::var(name).ok()) else {
        return failure.with("store", url);
    };
    let (bucket, host) = (remote.bucket.to_string(), remote.bucket.host());
    let failure = failure.hinting(&format!("the store is {bucket} at {host}"));
    let failure = failure.with("store", bucket).with("host", host);
    match hints::of_host(host) {
        Some(hint) => failure.hinting(hint),
        None => failure,
    }
}

/// Returns what the command line says beside the URL.
pub(crate) fn options(global: &Global) -> OpenOptions {
    let (endpoint, region) = (global.endpoint.clone(), global.region.clone());
    OpenOptions { endpoint, region, ..OpenOptions::default() }
}

/// Two hosts with two default stores would be two owners, so there is no default.
pub(crate) fn url(global: &Global) -> Result<&str, Failure> {
    global.store.as_deref().filter(|url| !url.is_empty()).ok_or_else(|| {
        Failure::usage(
            "no store is named; add --store s3://bucket/prefix or --store file:///dir, or set TENURE_STORE",
        )
    })
}

/// Builds the configuration of a node: its name, or this host's, and the times that follow from the ttl.
pub(crate) fn config(global: &Global, name: Option<&str>) -> Config {
    let config = Config::new(name.map_or_else(host_name, str::to_owned));
    match global.ttl {
        Some(ttl) => config.with_ttl(ttl),
        None => config,
    }
}

/// Returns the host's name with every byte replaced that a node's name cannot have.
fn host_name() -> String {
    let system = uname();
    let legal = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
    let name: String = system.nodename().to_string_lossy().chars().map(legal).take(111).collect();
    if name.is_empty() { "node".to_owned() } else { name }
}
