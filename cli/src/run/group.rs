//! The process group of a command: made before the command, gone before the cell is given back.
//!
//! Its leader is the *anchor*, a process of ours that does nothing and is not reaped until the end. So the
//! group's number is known before anything runs in it, and belongs to nobody else as long as it is used.

use core::time::Duration;
use std::env;
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tenure_blocking::clock;
use tenure_core::Instant;
use tokio::time::sleep;

use crate::exit::Failure;

/// How often it is looked whether the group is gone: nothing tells.
const LOOK: Duration = Duration::from_millis(5);

/// A process group that is ours to end.
#[derive(Debug)]
pub(super) struct Group {
    anchor: Child,
    id: Pid,
}

impl Group {
    /// Starts the anchor in a group of its own.
    pub(super) fn new() -> Result<Self, Failure> {
        let mut anchor = this_program()?;
        anchor.arg("__anchor").process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        let anchor = anchor.spawn().map_err(|error| {
            Failure::unavailable(format_args!("no process group can be made for the command: {error}"))
        })?;
        let id = Pid::from_child(&anchor);
        Ok(Self { anchor, id })
    }

    /// Returns the group's number.
    pub(super) fn id(&self) -> Pid {
        self.id
    }

    /// Lets the anchor go, once something else runs in the group. It stays unreaped, and the number ours.
    pub(super) fn release_anchor(&mut self) {
        drop(self.anchor.stdin.take());
    }

    /// Sends a signal to everything in the group.
    pub(super) fn signal(&self, signal: Signal) {
        signal_group(self.id, signal);
    }

    /// Waits until nothing runs in the group any more, but not beyond `until`; false if something still does.
    pub(super) async fn is_gone_by(&self, until: Instant) -> bool {
        loop {
            if is_gone(self.id) {
                return true;
            }
            if clock::mono() >= until {
                return false;
            }
            sleep(LOOK).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whatever happened: nothing of the group survives its owner.
        self.signal(Signal::KILL);
        // Just killed, so this does not wait for long.
        let _ = self.anchor.wait();
    }
}

/// Is the anchor: stays until standard input ends.
pub(crate) fn anchor() -> Result<u8, Failure> {
    // Any end of the input will do, and nothing is ever sent.
    let _ = io::stdin().read(&mut [0]);
    Ok(0)
}

/// Sends a signal to a group. A stopped process must go on before it can heed a request to end.
pub(super) fn signal_group(group: Pid, signal: Signal) {
    // It fails only when nothing is there that the signal could reach.
    let _ = kill_process_group(group, signal);
    if [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM].contains(&signal) {
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// Tells whether nothing runs in a group any more. What has ended but was not reaped yet does not run.
pub(super) fn is_gone(group: Pid) -> bool {
    match test_kill_process_group(group) {
        Err(Errno::SRCH) => true,
        Err(_) | Ok(()) => members(group).is_some_and(|running| running == 0),
    }
}

/// Counts the running processes of a group, where the system has a `/proc`.
fn members(group: Pid) -> Option<usize> {
    let mut running = 0;
    for entry in fs::read_dir("/proc").ok()? {
        let Ok(entry) = entry else { continue };
        if !entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        // A process that ends meanwhile is gone.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name, in parentheses, may contain anything; state, parent and group follow the last one.
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let (state, number) = (fields.next(), fields.nth(1));
        if number == Some(&group.as_raw_nonzero().to_string()) && !matches!(state, Some("Z" | "X")) {
            running += 1;
        }
    }
    Some(running)
}

/// Returns a command that runs this program again, also if its file was replaced meanwhile.
pub(crate) fn this_program() -> Result<Command, Failure> {
    let running = Path::new("/proc/self/exe");
    let path = env::current_exe().ok().filter(|path| path.exists());
    let path: PathBuf = match path {
        Some(path) => path,
        None if running.exists() => running.to_owned(),
        None => {
            return Err(Failure::unavailable(
                "the tenure program cannot be found; start it by its full path",
            ));
        }
    };
    Ok(Command::new(path))
}
