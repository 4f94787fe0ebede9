//! Tenure on real S3-compatible servers: what a store must do, and what nodes do with it.
//!
//! `.ci/with-stores` starts SeaweedFS, MiniStack and Ceph and says where they are; run the tests with it:
//!
//! ```text
//! .ci/with-stores --stores seaweedfs,ministack,ceph cargo test --release --package tenure --features store-tests --test stores -- --test-threads=1
//! ```
//!
//! Nodes are processes: the async driver's is `tenure agent` itself, the blocking driver's is this test binary
//! again, as a [`holder`]. Both speak the agent's lines, so a scenario is written once for both. Every scenario
//! has a prefix of its own in the bucket, and prints what its nodes said if it fails. The numbers that the
//! guarantees are about are printed on standard error, past the test harness, also when all is well.

mod bucket;
mod clocks;
mod conformance;
mod failover;
mod holder;
#[path = "../../../driver-blocking/tests/loopback/nobody.rs"]
mod nobody;
mod operator;
mod process;
mod race;
mod refusals;
mod stage;
