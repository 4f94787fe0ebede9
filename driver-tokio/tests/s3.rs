//! The async S3 store over real sockets: the same suite as the blocking one's.

#[path = "../../driver-blocking/tests/keys_suite/mod.rs"]
mod keys_suite;
#[path = "../../driver-blocking/tests/loopback/mod.rs"]
mod loopback;
#[path = "../../driver-blocking/tests/s3_suite/mod.rs"]
mod s3_suite;

use std::sync::LazyLock;
use std::sync::mpsc::Receiver;

use tenure_core::{Op, Reply};
use tenure_tokio::{S3Store, Store as _};
use tokio::runtime::Runtime;

/// Shared by all tests: idle connections are served between operations too.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

fn execute(store: &S3Store, op: Op) -> Reply {
    RUNTIME.block_on(store.execute(op))
}

/// Executes a write whose body goes on after its first byte when told to.
fn execute_in_two(store: &S3Store, op: Op, go_on: Receiver<()>) -> Reply {
    RUNTIME.block_on(store.execute_in_two(op, async {
        let told = tokio::task::spawn_blocking(move || go_on.recv());
        told.await.expect("no panic").expect("told");
    }))
}
