//! The watchdog: ends a process group when its `tenure` no longer can.
//!
//! It knows the group and the end of authority from its start, so there is no instant at which it runs and does
//! not watch. It reads `until N` (a new end of authority, in nanoseconds of the boot-time clock) and `end` from
//! standard input, and writes `ready` and `term` to standard output. Once it has sent SIGTERM the end is
//! decided: later news does not change it, so that the command is not told to end and then left to run.

use core::time::Duration;
use std::io::{self, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::process::{Pid, Signal, setsid};
use rustix::stdio::stdin;
use tenure_blocking::clock;
use tenure_core::Instant;

use super::group::{is_gone, signal_group};
use crate::args::WatchdogArgs;
use crate::exit::Failure;

/// Timers stop while the machine is suspended, the clock does not; so it is looked at at least this often.
const LOOK: Duration = Duration::from_millis(100);
/// How often the group is killed again after the end, in case something was just started in it.
const AGAIN: Duration = Duration::from_millis(5);

/// What the watchdog knows.
struct Watch {
    term: Duration,
    kill: Duration,
    group: Pid,
    until: Instant,
    is_termed: bool,
}

/// What the input says next.
enum News {
    /// Nothing complete yet.
    None,
    /// All is well, and over.
    End,
    /// The pipe is closed: `tenure` is gone.
    Gone,
}

/// Is the watchdog.
pub(crate) fn watchdog(args: &WatchdogArgs) -> Result<u8, Failure> {
    // A session of its own: no signal of a terminal ends it. It cannot fail in a process that leads no group.
    let _ = setsid();
    // Group 1 would mean every process there is.
    let group = Pid::from_raw(args.group).filter(|_| args.group > 1);
    let group =
        group.ok_or_else(|| Failure::usage(format_args!("{} is no process group of run", args.group)))?;
    let mut watch = Watch {
        term: Duration::from_nanos(args.term),
        kill: Duration::from_nanos(args.kill),
        group,
        until: Instant::from_nanos(args.until),
        is_termed: false,
    };
    say("ready");
    let mut input = Vec::new();
    loop {
        let limit = watch.act();
        match watch.listen(limit, &mut input) {
            News::None => {}
            News::End => return Ok(0),
            News::Gone => {
                watch.end_group();
                return Ok(0);
            }
        }
    }
}

impl Watch {
    /// Does what is due, and returns how long nothing more is.
    fn act(&mut self) -> Duration {
        let left = self.until.since(clock::mono());
        if left <= self.term && !self.is_termed {
            self.is_termed = true;
            signal_group(self.group, Signal::TERM);
            say("term");
        }
        if left <= self.kill {
            signal_group(self.group, Signal::KILL);
            return AGAIN;
        }
        let due = if self.is_termed { self.kill } else { self.term };
        left.saturating_sub(due).min(LOOK)
    }

    /// Waits for input at most for `limit`, and takes it.
    fn listen(&mut self, limit: Duration, input: &mut Vec<u8>) -> News {
        let limit = Timespec::try_from(limit).ok();
        let stdin = stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return News::None,
            Ok(_) => {}
            Err(_) => return News::Gone,
        }
        let mut chunk = [0; 512];
        match read(stdin, &mut chunk) {
            Ok(0) => return News::Gone,
            Ok(length) => input.extend_from_slice(&chunk[..length]),
            Err(Errno::INTR | Errno::AGAIN) => return News::None,
            Err(_) => return News::Gone,
        }
        while let Some(end) = input.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = input.drain(..=end).collect();
            if self.take(&String::from_utf8_lossy(&line)) {
                return News::End;
            }
        }
        News::None
    }

    /// Takes one line; true if it is the last.
    fn take(&mut self, line: &str) -> bool {
        match line.trim().split_once(' ') {
            Some(("until", nanos)) => {
                if let Ok(nanos) = nanos.parse()
                    && !self.is_termed
                {
                    self.until = Instant::from_nanos(nanos);
                }
            }
            Some(_) => {}
            None => return line.trim() == "end",
        }
        false
    }

    /// Ends the group at once, and makes sure of it for a while.
    fn end_group(&self) {
        let limit = clock::mono().after(Duration::from_secs(1));
        signal_group(self.group, Signal::KILL);
        while !is_gone(self.group) && clock::mono() < limit {
            // There is nothing to wait for but time: these are not our children.
            std::thread::park_timeout(AGAIN);
            signal_group(self.group, Signal::KILL);
        }
    }
}

fn say(word: &str) {
    let mut out = io::stdout().lock();
    // If nobody listens, the closed input tells soon.
    let _ = writeln!(out, "{word}").and_then(|()| out.flush());
}
