//! The blocking S3 store over real sockets.

mod keys_suite;
mod loopback;
mod s3_suite;

use tenure_blocking::{S3Store, Store as _};
use tenure_core::{Op, Reply};

fn execute(store: &S3Store, op: Op) -> Reply {
    store.execute(op)
}
