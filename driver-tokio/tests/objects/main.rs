//! The adapter for the `object_store` crate: over the crate's own store in memory, against answers as Google and
//! Microsoft document them, and, with the feature `store-tests`, on Azurite:
//!
//! ```text
//! .ci/with-stores --stores azurite cargo test --package tenure-tokio --features object-store,store-tests --test objects
//! ```

#[cfg(feature = "store-tests")]
mod azurite;
mod failover;
#[path = "../../../driver-blocking/tests/loopback/mod.rs"]
mod loopback;
mod memory;
mod shapes;
mod subject;
mod wire;
