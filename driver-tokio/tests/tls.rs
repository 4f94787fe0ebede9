//! The async S3 store behind certificates and proxies: the same suite as the blocking one's.

#[path = "../../driver-blocking/tests/loopback/nobody.rs"]
mod nobody;
#[path = "../../driver-blocking/tests/tls_suite/mod.rs"]
mod tls_suite;

use std::sync::LazyLock;

use tenure_core::{Op, Reply};
use tenure_tokio::{S3Store, Store as _};
use tokio::runtime::Runtime;

/// Shared by all tests: idle connections are served between operations too.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

fn execute(store: &S3Store, op: Op) -> Reply {
    RUNTIME.block_on(store.execute(op))
}
