//! The journal: every applied write and removal of a store, in the order in which they happened, so that a
//! history can be judged from outside afterwards.
//!
//! It belongs to the store directory, not to a process: once it exists, every process that writes there
//! writes to it. All of them take its lock around the instant of each change, so the order of its lines is
//! the order of the changes; that makes it an instrument for tests and demonstrations rather than something
//! to leave on. It survives the death of any process at any point, but is not forced to disk.
//!
//! A line is appended *before* the change and its newline *after* it. A process killed in between leaves an
//! open last line. Whoever takes the lock next looks at the disk: if the record is the version that the line
//! announces, the newline is added, otherwise the line is struck. So complete lines are changes that happened
//! and nothing else, and at most the last line is open.

mod line;
mod pen;

pub(super) use line::Line;
pub(super) use pen::{Pen, create};

use core::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use tenure_core::{ETag, StoreTime};

/// The journal's file in the store's hidden directory.
pub(super) const FILE: &str = "journal.jsonl";
/// Longer than any line: a record's bytes take at most six characters each.
const LINE_MAX: u64 = 1024 * 1024;

/// One change that happened.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JournalEntry {
    /// The number of the change, from 1, in the order in which all changes of the store happened.
    pub seq: u64,
    /// The record's key.
    pub key: String,
    /// The tag of the version that was replaced or removed; nothing if there was none.
    pub previous: Option<ETag>,
    /// What happened.
    pub change: Change,
    /// When, by the store's clock: for a write, its version's `Last-Modified`.
    pub stamp: StoreTime,
}

/// What a change did to a record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// It was removed.
    Removed,
    /// It was created or replaced.
    Wrote {
        /// The tag of the new version.
        etag: ETag,
        /// The bytes of the new version.
        body: Box<[u8]>,
    },
}

/// Reads a journal's complete lines, first to last. An open last line is not among them: it announces a
/// change that is under way, or whose process was killed. [`FileStore::journal`](crate::FileStore::journal)
/// settles such a line first.
#[derive(Debug)]
pub struct Journal {
    lines: BufReader<File>,
    seq: u64,
    failed: bool,
}

/// Why a journal cannot be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JournalError {
    /// The number of the line, from 1; 0 if the file could not be opened.
    pub line: u64,
    /// What is wrong with it.
    pub why: String,
}

impl Journal {
    /// Opens the journal at `path`.
    ///
    /// # Errors
    /// Says why the file cannot be opened.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        match File::open(path) {
            Ok(file) => Ok(Self { lines: BufReader::new(file), seq: 0, failed: false }),
            Err(error) => Err(JournalError { line: 0, why: format!("{}: {error}", path.display()) }),
        }
    }

    fn read_entry(&mut self) -> Result<Option<JournalEntry>, String> {
        let mut text = Vec::new();
        (&mut self.lines).take(LINE_MAX).read_until(b'\n', &mut text).map_err(|error| error.to_string())?;
        if text.len() as u64 == LINE_MAX {
            return Err("longer than any line of a journal".to_owned());
        }
        if text.pop() != Some(b'\n') {
            return Ok(None);
        }
        self.seq += 1;
        Line::parse(&text).and_then(|line| line.into_entry(self.seq)).map(Some)
    }
}

impl Iterator for Journal {
    type Item = Result<JournalEntry, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let line = self.seq + 1;
        let entry = self.read_entry().map_err(|why| JournalError { line, why });
        // What follows a line that makes no sense makes none either.
        self.failed = entry.is_err();
        entry.transpose()
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "the journal cannot be opened: {}", self.why),
            line => write!(f, "line {line} of the journal makes no sense: {}", self.why),
        }
    }
}

impl core::error::Error for JournalError {}
