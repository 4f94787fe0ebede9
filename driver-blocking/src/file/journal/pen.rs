//! Writing the journal: the right to append, an announced change, and its confirmation.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use tenure_core::{Fault, FaultKind};

use super::line::Line;
use super::{Change, FILE, JournalEntry};
use crate::file::fault::fault;
use crate::file::lock::{self, LockError};
use crate::file::tree::{Content, Tree};
use crate::wait::Deadline;

/// Creates the journal, if it does not exist.
pub(in crate::file) fn create(tree: &Tree) -> Result<(), Fault> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat(&tree.hidden, FILE, flags, Mode::from_raw_mode(0o666)) {
        Ok(_) => Ok(()),
        Err(errno) => Err(fault(errno, "create the journal", tree.hidden_path(FILE).display())),
    }
}

/// The right to append to the journal; dropping it gives the right back.
#[derive(Debug)]
pub(in crate::file) struct Pen {
    file: File,
    /// Where the last complete line ends.
    end: u64,
    /// Where the announced line ends.
    open_end: u64,
}

impl Pen {
    /// Waits for the right to append and settles what a killed process left open; nothing if the store has
    /// no journal.
    pub(in crate::file) fn take(tree: &Tree, deadline: Deadline) -> Result<Option<Self>, Fault> {
        let shown = || tree.hidden_path(FILE).display().to_string();
        let file = match lock::acquire(&tree.hidden, FILE, false, deadline) {
            Ok(file) => File::from(file),
            Err(LockError::System(Errno::NOENT)) => return Ok(None),
            Err(LockError::System(errno)) => return Err(fault(errno, "lock the journal", shown())),
            Err(LockError::TimedOut) => {
                let why = format!("other processes held the lock of {} all the time", shown());
                return Err(Fault::new(FaultKind::TimedOut, why));
            }
        };
        let failed = |error| fault(errno(&error), "settle the journal", shown());
        let end = u64::try_from(fstat(&file).map_err(|errno| failed(errno.into()))?.st_size).unwrap_or(0);
        let start = end_of_last_line(&file, end).map_err(failed)?;
        let mut pen = Self { file, end: start, open_end: end };
        if start == end {
            return Ok(Some(pen));
        }
        let mut tail = vec![0; usize::try_from(end - start).unwrap_or(0)];
        pen.file.read_exact_at(&mut tail, start).map_err(failed)?;
        // A line cut short was never complete, and the change only follows a complete line.
        let entry = Line::parse(&tail).and_then(|line| line.into_entry(0)).ok();
        let happened = match entry {
            Some(entry) => has_happened(tree, &entry)?,
            None => false,
        };
        if happened {
            pen.file.write_all_at(b"\n", end).map_err(failed)?;
            pen.end = end + 1;
        } else {
            pen.file.set_len(start).map_err(failed)?;
        }
        pen.open_end = pen.end;
        Ok(Some(pen))
    }

    /// Announces a change that is about to happen.
    pub(in crate::file) fn intend(mut self, line: &Line) -> Result<Self, Fault> {
        let bytes = line.to_bytes();
        if let Err(error) = self.file.write_all_at(&bytes, self.end) {
            let failure = fault(errno(&error), "append to the journal for", &line.key);
            self.withdraw();
            return Err(failure);
        }
        self.open_end = self.end + bytes.len() as u64;
        Ok(self)
    }

    /// Confirms the announced change, which has happened.
    pub(in crate::file) fn commit(self) {
        // If this fails the line stays open, and the next pen finds on the disk that the change happened.
        let _ = self.file.write_all_at(b"\n", self.open_end);
    }

    /// Strikes the announced change, which has not happened.
    pub(in crate::file) fn withdraw(self) {
        // If this fails the line stays open, and the next pen finds on the disk that nothing happened.
        let _ = self.file.set_len(self.end);
    }
}

/// Tells whether the disk shows the announced change. The lock of the journal keeps others from changing
/// anything since, and the stamp tells two versions of equal bytes apart.
fn has_happened(tree: &Tree, entry: &JournalEntry) -> Result<bool, Fault> {
    let content = tree.load(&entry.key)?;
    Ok(match (&entry.change, content) {
        (Change::Removed, content) => content.is_none(),
        (Change::Wrote { etag, .. }, Some(Content::Version(version))) => {
            version.etag == *etag && version.modified == entry.stamp
        }
        (Change::Wrote { .. }, _) => false,
    })
}

/// Returns where the last complete line ends, looking back from `end`.
fn end_of_last_line(file: &File, end: u64) -> io::Result<u64> {
    let mut chunk = [0; 4096];
    let mut upto = end;
    while upto > 0 {
        let from = upto.saturating_sub(chunk.len() as u64);
        let part = &mut chunk[..usize::try_from(upto - from).unwrap_or(0)];
        file.read_exact_at(part, from)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        upto = from;
    }
    Ok(0)
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
