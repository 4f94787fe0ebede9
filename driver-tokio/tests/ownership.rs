//! celld's surface, awaited: over the file store, on a runtime of one thread.

use core::time::Duration;
use std::path::PathBuf;

use tenure_tokio::ownership::{CasGuard, CasOutcome, LeaseCasOutcome, OwnershipError, OwnershipStore};
use tenure_tokio::{AnyStore, BadRecord, CellId, Epoch, LeaseRecord, NodeId, OpenOptions, open};

#[tokio::test]
async fn a_cell_goes_from_one_owner_to_the_next_and_a_stale_tag_is_rejected() {
    let dir = Dir::new("owner");
    let (one, two) = (dir.speaks_for("a.1"), dir.speaks_for("b.2"));
    assert_eq!(one.read_owner(cell()).await, Ok(None));
    assert_eq!(one.cas_owner(cell(), CasGuard::Absent, Epoch::FIRST).await, Ok(CasOutcome::Applied));
    assert_eq!(two.cas_owner(cell(), CasGuard::Absent, Epoch::FIRST).await, Ok(CasOutcome::Rejected));
    let held = two.read_owner(cell()).await.expect("readable").expect("there");
    assert_eq!(held.record.node.as_ref(), Some(one.node()));
    assert_eq!(one.release_owner(cell(), Epoch::FIRST).await, Ok(CasOutcome::Applied));
    let next = Epoch::FIRST.next().expect("another");
    let stale = two.cas_owner(cell(), CasGuard::Match(held.etag), next).await;
    assert_eq!(stale, Ok(CasOutcome::Rejected));
    let free = two.read_owner(cell()).await.expect("readable").expect("there");
    assert_eq!(two.cas_owner(cell(), CasGuard::Match(free.etag), next).await, Ok(CasOutcome::Applied));
}

#[tokio::test]
async fn leases_are_swapped_under_their_tags_and_listed() {
    let dir = Dir::new("lease");
    let store = dir.speaks_for("a.1");
    let lease = LeaseRecord::parse(br#"{"node":"a.1","expires_ms":5,"ttl_ms":3000}"#).expect("a lease");
    let first = store.cas_node_lease(lease.clone(), CasGuard::Absent).await;
    let Ok(LeaseCasOutcome::Applied { etag }) = first else { panic!("{first:?}") };
    let again = store.cas_node_lease(lease.clone(), CasGuard::Absent).await;
    assert_eq!(again, Ok(LeaseCasOutcome::Rejected));
    let renewed = store.cas_node_lease(lease, CasGuard::Match(etag)).await;
    assert!(matches!(renewed, Ok(LeaseCasOutcome::Applied { .. })), "{renewed:?}");
    let read = store.read_node_lease(store.node().clone()).await.expect("readable").expect("there");
    let peers = store.read_capacity_peers().await.expect("listed");
    assert_eq!(peers.iter().map(|peer| &peer.body).collect::<Vec<_>>(), [&read.body]);
    let fenced = dir.speaks_for("b.2").fence_node_lease(store.node().clone(), read).await;
    assert!(matches!(fenced, Ok(LeaseCasOutcome::Applied { .. })), "{fenced:?}");
    let read = store.read_node_lease(store.node().clone()).await.expect("readable").expect("there");
    assert!(read.record.is_tombstone());
}

#[tokio::test]
async fn a_corrupt_record_is_an_error_that_names_its_key_until_it_is_freed() {
    let dir = Dir::new("corrupt");
    std::fs::create_dir_all(dir.0.join("cells/c")).expect("a directory");
    std::fs::write(dir.0.join("cells/c/own.json"), b"{").expect("written");
    let store = dir.speaks_for("a.1");
    let error = store.read_owner(cell()).await.expect_err("corrupt");
    let OwnershipError::Bad(BadRecord::Corrupt { key, etag, .. }) = error else { panic!("{error:?}") };
    assert_eq!(key.as_str(), "cells/c/own.json");
    let freed = store.free_owner(cell(), CasGuard::Match(etag), Epoch::FIRST).await;
    assert_eq!(freed, Ok(CasOutcome::Applied));
    let record = store.read_owner(cell()).await.expect("readable").expect("there").record;
    assert_eq!((record.node, record.epoch), (None, Epoch::FIRST));
}

/// A store in a directory that goes with the test.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("tenure-ownership-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        Self(dir)
    }

    fn speaks_for(&self, node: &str) -> OwnershipStore {
        let url = format!("file://{}", self.0.display());
        let store: AnyStore = open(&url, &OpenOptions::default()).expect("a directory");
        OwnershipStore::new(store, NodeId::parse(node).expect("legal"), Duration::from_secs(20))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn cell() -> CellId {
    CellId::new("c").expect("legal")
}
