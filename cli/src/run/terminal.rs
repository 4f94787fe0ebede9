//! Lending the terminal to the command, which is in another process group and could not read from it.
//!
//! Only when both standard input and output are the terminal, and this process is in its foreground: otherwise
//! somebody else, a pager at the end of a pipe say, may need it. A command that has the terminal and is stopped
//! from its keyboard goes on at once, since a suspended owner is of no use to anybody.

use std::io::{IsTerminal, stdout};

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Pid, WaitId, WaitIdOptions, getpgrp, waitid};
use rustix::stdio::stdin;
use rustix::termios::{isatty, tcgetpgrp, tcsetpgrp};

/// The terminal while a group has it; taken back when dropped.
#[derive(Debug)]
pub(super) struct Lent {
    ours: Pid,
}

impl Lent {
    /// Lends the terminal to a group, if it is ours to lend.
    pub(super) fn to(group: Pid) -> Option<Self> {
        let ours = getpgrp();
        let is_ours = isatty(stdin()) && stdout().is_terminal() && tcgetpgrp(stdin()) == Ok(ours);
        if !is_ours {
            return None;
        }
        tcsetpgrp(stdin(), group).ok()?;
        Some(Self { ours })
    }

    /// Tells whether the command has been stopped since this was asked last.
    pub(super) fn is_stopped(command: Pid) -> bool {
        let stopped = waitid(WaitId::Pid(command), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
        matches!(stopped, Ok(Some(_)))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Whoever takes a terminal from the background is stopped, unless it does not listen.
        let mut background = SigSet::empty();
        background.add(Signal::SIGTTOU);
        if background.thread_block().is_ok() {
            // A terminal that is gone cannot be taken back, and need not be.
            let _ = tcsetpgrp(stdin(), self.ours);
            let _ = background.thread_unblock();
        }
    }
}
