//! Blocking nodes, cells and stores, and the file store.

mod store;

pub use store::Store;
