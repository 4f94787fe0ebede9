//! Async nodes, cells and stores on tokio.

mod store;

pub use store::Store;
