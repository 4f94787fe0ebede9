//! Compare-and-swap and removal.
//!
//! A write, under the lock of its key: read the current version and judge the guard; write the new one to
//! this lock's own temporary file; force it to disk; rename it over the record; force the directory to disk.
//! The rename is the instant at which the write happens. A process killed at any point before it leaves the
//! old version, at any point after it the new one; its lock goes with it, and the next holder of the lock
//! throws the unfinished temporary file away. There is one such file per lock, so nothing ever piles up.
//!
//! Forcing to disk ([`Durability::Machine`]) matters only when the whole machine stops: then the record's
//! bytes reach the disk before its name points at them, and an applied write's name before the reply. Without
//! it ([`Durability::Process`]) the death of processes is survived all the same.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, fsync, openat, renameat, unlinkat};
use rustix::io::Errno;
use tenure_core::{
    ETag, Fault, FaultKind, Guard, RECORD_MAX, RemoveOp, RemoveReply, StoreTime, WriteOp, WriteReply,
};

use super::clock::touch;
use super::fault::{fault, not_applied};
use super::journal::{Line, Pen};
use super::lock::{self, LockError};
use super::tree::{Content, Place, tag};
use super::{Durability, FileStore};
use crate::wait::Deadline;

impl FileStore {
    pub(super) fn write(&self, op: &WriteOp) -> WriteReply {
        match self.try_write(op) {
            Ok(etag) => WriteReply::Applied { etag },
            Err(reply) => reply,
        }
    }

    pub(super) fn remove(&self, op: &RemoveOp) -> RemoveReply {
        match self.try_remove(op) {
            Ok(()) => RemoveReply::Removed,
            Err(fault) => RemoveReply::Failed(fault),
        }
    }

    fn try_write(&self, op: &WriteOp) -> Result<ETag, WriteReply> {
        let key = op.key.as_str();
        if op.body.len() > RECORD_MAX {
            return Err(WriteReply::Refused(Fault::new(
                FaultKind::Config,
                format!("{key} would have {} bytes; a record has at most {RECORD_MAX}", op.body.len()),
            )));
        }
        let deadline = Deadline::after(op.timeout);
        self.tree.check().map_err(not_applied)?;
        let _lock = self.lock(key, deadline).map_err(not_applied)?;
        let place = match op.guard {
            Guard::Absent => self.tree.make(key, self.is_durable()).map_err(not_applied)?,
            Guard::Match(_) => self.tree.find(key).map_err(not_applied)?.ok_or(WriteReply::Rejected)?,
        };
        let current = self.tree.load_at(&place, key).map_err(not_applied)?;
        let previous = judge(&op.guard, current)?;
        let temporary = temporary(key);
        let swapped = self.swap(op, &place, &temporary, previous, deadline);
        if swapped.is_err() {
            // Best effort: the next writer under this lock does it otherwise.
            let _ = unlinkat(&self.tree.hidden, &temporary, AtFlags::empty());
        }
        swapped
    }

    /// Puts the new version in its place. The guard holds, and the lock keeps it holding.
    fn swap(
        &self,
        op: &WriteOp,
        place: &Place<'_>,
        temporary: &str,
        previous: Option<ETag>,
        deadline: Deadline,
    ) -> Result<ETag, WriteReply> {
        let key = op.key.as_str();
        let failed = |errno| not_applied(fault(errno, "write", self.tree.shown(key)));
        let stamp = self.write_temporary(temporary, &op.body).map_err(failed)?;
        let etag = tag(&op.body);
        let line = || Line::wrote(key, previous.as_ref(), &etag, &op.body, stamp);
        let pen = self.announce(line, deadline).map_err(not_applied)?;
        // Whoever asked has given up by now: better to be sure that it never happens.
        if deadline.is_past() {
            if let Some(pen) = pen {
                pen.withdraw();
            }
            return Err(WriteReply::NotApplied(timed_out(key)));
        }
        if let Err(errno) = renameat(&self.tree.hidden, temporary, &place.dir, place.name) {
            let fault = fault(errno, "replace", self.tree.shown(key));
            // POSIX: with every other error the old file is untouched. The journal's line stays open: whoever
            // writes next looks at the disk and closes or strikes it.
            if errno == Errno::IO {
                return Err(WriteReply::Unknown(fault));
            }
            if let Some(pen) = pen {
                pen.withdraw();
            }
            return Err(not_applied(fault));
        }
        if let Some(pen) = pen {
            pen.commit();
        }
        if self.is_durable() {
            fsync(&place.dir).map_err(|errno| {
                WriteReply::Unknown(fault(errno, "force to disk the directory of", self.tree.shown(key)))
            })?;
        }
        // Whoever waited for the lock, or was stopped, may have written into a directory that had been moved
        // away meanwhile, while others have begun a new store in its place.
        self.tree.check().map_err(WriteReply::Unknown)?;
        Ok(etag)
    }

    /// Writes the temporary file anew and returns its stamp, which the rename keeps.
    fn write_temporary(&self, name: &str, body: &[u8]) -> Result<StoreTime, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let file = match openat(&self.tree.hidden, name, flags, mode) {
            Err(Errno::EXIST) => {
                // A process was killed here. Never truncated: it is gone only when its name is.
                unlinkat(&self.tree.hidden, name, AtFlags::empty())?;
                openat(&self.tree.hidden, name, flags, mode)
            }
            opened => opened,
        }?;
        let mut file = File::from(file);
        file.write_all(body).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let stamp = touch(&file)?;
        if self.is_durable() {
            fsync(&file)?;
        }
        Ok(stamp)
    }

    fn try_remove(&self, op: &RemoveOp) -> Result<(), Fault> {
        let key = op.key.as_str();
        let failed = |errno| fault(errno, "remove", self.tree.shown(key));
        let deadline = Deadline::after(op.timeout);
        self.tree.check()?;
        let _lock = self.lock(key, deadline)?;
        let Some(place) = self.tree.find(key)? else { return Ok(()) };
        let previous = match self.tree.load_at(&place, key)? {
            None => return Ok(()),
            Some(Content::NotAFile) => return Err(failed(Errno::ISDIR)),
            Some(Content::Version(version)) => Some(version.etag),
        };
        let stamp = self.clock.date().map_err(failed)?;
        let pen = self.announce(|| Line::removed(key, previous.as_ref(), stamp), deadline)?;
        if let Err(errno) = unlinkat(&place.dir, place.name, AtFlags::empty()) {
            if let Some(pen) = pen {
                pen.withdraw();
            }
            return Err(failed(errno));
        }
        if let Some(pen) = pen {
            pen.commit();
        }
        if self.is_durable() { fsync(&place.dir).map_err(failed) } else { Ok(()) }
    }

    /// Announces a change in the journal, if the store has one.
    fn announce(&self, line: impl FnOnce() -> Line, deadline: Deadline) -> Result<Option<Pen>, Fault> {
        Pen::take(&self.tree, deadline)?.map(|pen| pen.intend(&line())).transpose()
    }

    fn lock(&self, key: &str, deadline: Deadline) -> Result<OwnedFd, Fault> {
        let name = format!("lock-{:02x}", lock::stripe(key));
        lock::acquire(&self.tree.hidden, &name, true, deadline).map_err(|error| match error {
            LockError::TimedOut => timed_out(key),
            LockError::System(errno) => fault(errno, "lock", self.tree.hidden_path(&name).display()),
        })
    }

    fn is_durable(&self) -> bool {
        self.durability == Durability::Machine
    }
}

/// Returns the tag of the version that will be replaced, if the guard holds.
fn judge(guard: &Guard, current: Option<Content>) -> Result<Option<ETag>, WriteReply> {
    match (guard, current) {
        (Guard::Absent, None) => Ok(None),
        (Guard::Match(etag), Some(Content::Version(version))) if version.etag == *etag => {
            Ok(Some(version.etag))
        }
        // Something is there that no read gives a tag for, so no guard can name it.
        (Guard::Absent, Some(_)) | (Guard::Match(_), _) => Err(WriteReply::Rejected),
    }
}

fn temporary(key: &str) -> String {
    format!("new-{:02x}", lock::stripe(key))
}

fn timed_out(key: &str) -> Fault {
    Fault::new(
        FaultKind::TimedOut,
        format!("another process held the lock of {key} all the time; nothing was written"),
    )
}
