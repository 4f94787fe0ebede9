//! `tenure run`: a command that runs only while its cell is held.
//!
//! ```text
//!  tenure ----------- pipe: the end of authority ----------> watchdog (session of its own)
//!    |  \                                                        |
//!    |   anchor: leads the process group                         |
//!    '-- CMD, in the anchor's group <----- TERM, KILL -----------'
//! ```
//!
//! The group exists, and the watchdog knows it, before the command is started: there is no instant at which
//! the command runs and nobody but `tenure` could end it. The watchdog ends the group when it hears nothing of
//! a later end of authority in time (so also when `tenure` is stopped), and at once when its pipe closes, which
//! is what the death of `tenure` looks like.

mod group;
mod guard;
mod hold;
mod plan;
mod terminal;
mod watchdog;

pub(crate) use group::{anchor, this_program};
pub(crate) use hold::main;
pub(crate) use watchdog::watchdog;
