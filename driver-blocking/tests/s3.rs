//! The blocking S3 store over real sockets.

mod keys_suite;
mod loopback;
mod s3_suite;

use std::sync::mpsc::Receiver;

use tenure_blocking::{S3Store, Store as _};
use tenure_core::{Op, Reply};

fn execute(store: &S3Store, op: Op) -> Reply {
    store.execute(op)
}

/// Executes a write whose body goes on after its first byte when told to.
fn execute_in_two(store: &S3Store, op: Op, go_on: Receiver<()>) -> Reply {
    store.execute_in_two(op, move || go_on.recv().expect("told"))
}
