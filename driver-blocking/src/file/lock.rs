//! Locks between processes: a fixed number of lock files, never removed.
//!
//! `flock` belongs to the open file, and every operation opens the lock file for itself, so it excludes
//! threads of one process like those of others, and the kernel drops it when its holder dies, however it
//! dies. A blocking `flock` has no timeout, so a contended lock is polled: each poll is one system call,
//! and between polls the thread is parked, at first for 50 microseconds, at most for 2 milliseconds.
//!
//! A process that is *stopped* inside a write keeps its lock until it goes on or is killed. Writers of the
//! keys that share the lock then run into their timeouts; readers need no lock and never wait.

use core::time::Duration;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, openat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::wait::{Deadline, pause};

/// How many lock files there are. Part of the store's format: two processes that disagree exclude nobody.
const STRIPES: u8 = 64;

const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(2);

/// Why a lock could not be had.
#[derive(Debug)]
pub(super) enum LockError {
    /// Somebody else held it until the deadline.
    TimedOut,
    /// The file system refused.
    System(Errno),
}

/// Returns which of the locks guards this key.
pub(super) fn stripe(key: &str) -> u8 {
    Sha256::digest(key.as_bytes())[0] % STRIPES
}

/// Opens the lock file `name`, which is created if `create`, and locks it. Closing the file unlocks it.
pub(super) fn acquire(
    hidden: &OwnedFd,
    name: &str,
    create: bool,
    deadline: Deadline,
) -> Result<OwnedFd, LockError> {
    let create = if create { OFlags::CREATE } else { OFlags::empty() };
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | create;
    let mut delay = PAUSE_MIN;
    loop {
        let file = openat(hidden, name, flags, Mode::from_raw_mode(0o666)).map_err(LockError::System)?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => {
                    let left = deadline.left();
                    if left.is_zero() {
                        return Err(LockError::TimedOut);
                    }
                    pause(delay.min(left));
                    delay = (delay * 2).min(PAUSE_MAX);
                }
                Err(errno) => return Err(LockError::System(errno)),
            }
        }
        // An operator who tidies up may have removed the file meanwhile, and somebody else may already have
        // locked its successor: only the file that has the name now is the lock.
        if is_named(hidden, name, &file).map_err(LockError::System)? {
            return Ok(file);
        }
    }
}

fn is_named(hidden: &OwnedFd, name: &str, file: &OwnedFd) -> Result<bool, Errno> {
    let ours = fstat(file)?;
    match statat(hidden, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) => Ok((named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}
