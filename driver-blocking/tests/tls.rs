//! The blocking S3 store behind certificates and proxies.

#[path = "loopback/nobody.rs"]
mod nobody;
mod tls_suite;

use tenure_blocking::{S3Store, Store as _};
use tenure_core::{Op, Reply};

fn execute(store: &S3Store, op: Op) -> Reply {
    store.execute(op)
}
