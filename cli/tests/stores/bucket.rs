//! The servers under test, and a prefix in their bucket for each scenario.

use core::fmt;
use core::time::Duration;
use std::env;
use std::io::{self, Write};
use std::sync::Arc;

use tenure_blocking::ownership::{NodeLeaseRecord, OwnerRecord, OwnershipStore};
use tenure_blocking::{
    Bucket, CellId, Credentials, ListOp, ListReply, NodeId, Op, Reply, Settings, Store, clock,
};
use tenure_core::ListId;

/// A server that `.ci/with-stores` has started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Server {
    /// A product in wide use, which takes tags only without their quotes.
    Ceph,
    /// Fast, and checks no signatures.
    MiniStack,
    /// A product in wide use, which checks signatures and the time they were made.
    SeaweedFs,
}

impl Server {
    /// All that conform.
    pub(crate) const ALL: [Self; 3] = [Self::Ceph, Self::MiniStack, Self::SeaweedFs];
    /// Those on which nodes run.
    pub(crate) const USED: [Self; 2] = [Self::MiniStack, Self::SeaweedFs];

    /// Tells whether tags must be spelled without quotes, as the doctor finds out.
    fn takes_bare_tags(self) -> bool {
        matches!(self, Self::Ceph)
    }

    /// Returns where it listens.
    pub(crate) fn endpoint(self) -> String {
        variable(match self {
            Self::Ceph => "TENURE_TEST_CEPH",
            Self::MiniStack => "TENURE_TEST_MINISTACK",
            Self::SeaweedFs => "TENURE_TEST_SEAWEEDFS",
        })
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ceph => "Ceph RGW",
            Self::MiniStack => "MiniStack",
            Self::SeaweedFs => "SeaweedFS",
        })
    }
}

/// A prefix that no other scenario and no other run uses.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Where its bucket is.
    pub(crate) server: Server,
    /// The bucket and the prefix: `s3://bucket/prefix`.
    pub(crate) url: String,
}

impl Place {
    /// Makes a place; the name is for people who look into the bucket.
    pub(crate) fn new(server: Server, name: &str) -> Self {
        let unique = clock::now().wall.as_nanos();
        let bucket = variable("TENURE_TEST_BUCKET");
        let setting = if server.takes_bare_tags() { "?if-match=bare" } else { "" };
        Self { server, url: format!("s3://{bucket}/{name}-{unique:x}{setting}") }
    }

    /// Makes a place in a bucket that nobody has created.
    pub(crate) fn without_bucket(server: Server) -> Self {
        Self { server, url: format!("s3://tenure-none-{:x}/p", clock::now().wall.as_nanos()) }
    }

    /// Returns the address for a store of either driver.
    pub(crate) fn bucket(&self) -> Bucket {
        let settings = Settings { endpoint: Some(self.server.endpoint()), ..Settings::from_env(lookup) };
        Bucket::parse(&self.url, &settings).expect("a legal address")
    }

    /// Returns the right credentials.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::from_env(lookup).expect("set by .ci/with-stores")
    }

    /// Reads, past all nodes, who owns a cell.
    pub(crate) fn owner(&self, cell: &str) -> Option<OwnerRecord> {
        let cell = CellId::new(cell).expect("a legal name");
        self.ownership().read_owner(&cell).unwrap_or_else(|error| panic!("cell {cell}: {error:?}"))
    }

    /// Reads, past all nodes, the lease of a node.
    pub(crate) fn lease(&self, node: &str) -> NodeLeaseRecord {
        let node = NodeId::parse(node).expect("a node's own id");
        let lease =
            self.ownership().read_node_lease(&node).unwrap_or_else(|error| panic!("{node}: {error:?}"));
        lease.expect("a node that has joined has a lease")
    }

    /// Lists everything below the prefix.
    pub(crate) fn list(&self) -> ListReply {
        let op =
            ListOp { id: ListId::new(1), prefix: "".into(), after: None, timeout: Duration::from_secs(10) };
        match self.store().execute(Op::List(op)) {
            Reply::List(reply) => reply,
            reply @ (Reply::Read(_) | Reply::Remove(_) | Reply::Write(_)) => {
                panic!("a listing is answered with {reply:?}")
            }
        }
    }

    /// Returns the blocking driver's store of this place.
    pub(crate) fn store(&self) -> tenure_blocking::S3Store {
        tenure_blocking::S3Store::new(self.bucket(), self.credentials()).expect("an HTTP client")
    }

    fn ownership(&self) -> OwnershipStore {
        OwnershipStore::new(Arc::new(self.store()), NodeId::parse("observer.1").expect("legal"))
    }
}

/// Prints a line where the test harness does not catch it.
pub(crate) fn say(text: fmt::Arguments<'_>) {
    // A test does not fail for want of a reader.
    let _ = writeln!(io::stderr(), "    {text}");
}

fn variable(name: &str) -> String {
    env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; run these tests by .ci/with-stores cargo test ..."))
}

fn lookup(name: &str) -> Option<String> {
    env::var(name).ok()
}
