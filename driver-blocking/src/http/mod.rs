//! What the HTTP clients of both drivers share: how a server is reached, and why it was not.

mod transport;
mod trouble;

pub use transport::Transport;
pub use trouble::{detail, fault};
