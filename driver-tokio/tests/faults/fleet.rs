//! Nodes through the async driver's S3 store, each on a line that can be cut, as a crash of its process would.

use core::future::pending;
use core::time::Duration;
use std::sync::Arc;

use tenure_core::{CellId, Config, Op, Reply};
use tenure_s3::{Bucket, Credentials, Settings};
use tenure_sim::server::Server;
use tenure_tokio::{JoinError, Node, S3Store, Store};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The shortest that a store with stamps in whole seconds allows.
pub(crate) const TTL: Duration = Duration::from_secs(3);

/// Where one node after the other runs: a machine with its own connections.
#[derive(Clone)]
pub(crate) struct Machine {
    name: String,
    store: Arc<S3Store>,
    io: Handle,
}

impl Machine {
    /// Sets up a machine; its requests are served by the runtime that this is called on.
    pub(crate) fn new(server: &Server, name: String) -> Self {
        let credentials = Credentials::new("AK", "SK", None).expect("legal");
        let store = Arc::new(S3Store::new(bucket(server), credentials).expect("a client"));
        Self { name, store, io: Handle::current() }
    }

    /// Returns the store, without a line that could be cut.
    pub(crate) fn store(&self) -> &S3Store {
        &self.store
    }

    /// Starts a node; its line is cut by sending `true`, or by dropping the sender.
    pub(crate) async fn join(&self) -> Result<(Node, watch::Sender<bool>), JoinError> {
        self.join_for(TTL).await
    }

    /// Starts a node with a lease of another length.
    pub(crate) async fn join_for(&self, ttl: Duration) -> Result<(Node, watch::Sender<bool>), JoinError> {
        let (cut, is_cut) = watch::channel(false);
        let line = Line { store: Arc::clone(&self.store), io: self.io.clone(), is_cut };
        let node = Node::join(Config::new(self.name.as_str()).with_ttl(ttl), line).await?;
        Ok((node, cut))
    }
}

/// A store that is out of reach once the line is cut. What was on its way then is on its own.
struct Line {
    store: Arc<S3Store>,
    io: Handle,
    is_cut: watch::Receiver<bool>,
}

impl Store for Line {
    async fn execute(&self, op: Op) -> Reply {
        let mut is_cut = self.is_cut.clone();
        let cut = async { drop(is_cut.wait_for(|cut| *cut).await) };
        let store = Arc::clone(&self.store);
        // Connections belong to the machine, not to the node, which has a runtime of its own.
        let request = async { Aborting(self.io.spawn(async move { store.execute(op).await })).done().await };
        tokio::select! {
            biased;
            () = cut => {}
            reply = request => return reply,
        }
        pending().await
    }
}

/// A task that ends with whoever waits for it.
struct Aborting<T>(JoinHandle<T>);

impl<T> Aborting<T> {
    async fn done(mut self) -> T {
        match (&mut self.0).await {
            Ok(done) => done,
            // The machine is gone, at the end of the test.
            Err(_) => pending().await,
        }
    }
}

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns where the fleet's keys are.
pub(crate) fn bucket(server: &Server) -> Bucket {
    let settings = Settings { endpoint: Some(server.endpoint()), ..Settings::default() };
    Bucket::parse("s3://tenure/fleet", &settings).expect("a legal address")
}

pub(crate) fn cell(name: &str) -> CellId {
    CellId::new(name).expect("legal")
}
