//! What the HTTP clients of both drivers share: how they are set up, how a server is reached, and why it was not.

mod client;
mod transport;
mod trouble;

pub use client::{builder, collect, spell};
pub use transport::Transport;
pub use trouble::{detail, fault};
