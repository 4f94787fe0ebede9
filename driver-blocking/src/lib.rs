//! Blocking nodes, cells and stores, and the file store.

mod file;
pub mod ownership;
mod store;
mod wait;

pub use file::{Change, Durability, FileStore, Journal, JournalEntry, JournalError};
pub use store::Store;
