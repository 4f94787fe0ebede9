//! The real binary, in real processes, on file stores in temporary directories.

#![allow(missing_docs, reason = "tests are documented by their names")]

mod agent;
mod bad_input;
mod demo;
mod dev_store;
mod doctor;
mod evict;
mod failures_at_rest;
mod failures_of_listings;
mod failures_of_rights;
mod failures_on_the_wire;
mod inspect;
#[path = "../../../driver-blocking/tests/loopback/nobody.rs"]
mod nobody;
mod repair;
mod repair_on_the_wire;
mod run;
mod support;
mod takeover;
mod wire;
