//! A store in a directory: real compare-and-swap between the processes of one host.
//!
//! For development, tests and cron jobs. A record is a file whose bytes are the record's and whose path is
//! its key, so it can be looked at with anything; replacing one is an atomic rename under a file lock
//! (`write`), its tag is the hash of its bytes (`tree`), its stamps are the file system's (`clock`).
//! The store's own files are in the hidden directory `.tenure-1`; their number is bounded.
//!
//! What it does not do: serve several hosts (network file systems are refused), interpret records, retry.

mod clock;
mod fault;
mod journal;
mod list;
mod lock;
mod tree;
mod url;
mod write;

pub use journal::{Change, Journal, JournalEntry, JournalError};

use std::path::{Path, PathBuf};

use tenure_core::{Fault, FaultKind, Op, ReadOp, ReadReply, Reply, Stamps, StoreClock};

use self::clock::Clock;
use self::fault::fault;
use self::journal::Pen;
use self::tree::{Content, HIDDEN, Tree};
use crate::store::Store;
use crate::wait::Deadline;

/// What an applied write survives.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Durability {
    /// The sudden end of the machine: every write is forced to disk before it is answered.
    #[default]
    Machine,
    /// The sudden end of any process, but not of the machine: for tests and demonstrations. Epochs may then
    /// be repeated after a power failure, which fences that others keep elsewhere would notice.
    Process,
}

/// A store in a directory, shared by the processes of one host.
#[derive(Debug)]
pub struct FileStore {
    tree: Tree,
    clock: Clock,
    durability: Durability,
}

impl FileStore {
    /// Opens the store in the directory `dir`, which must exist; an empty one becomes a new store.
    ///
    /// # Errors
    /// Names the directory and says what to do if it is missing, not writable, on a network file system, or
    /// on a file system that takes `A` and `a` for one name.
    pub fn open(dir: &Path) -> Result<Self, Fault> {
        let tree = Tree::open(dir)?;
        let clock = Clock::open(&tree.hidden)
            .map_err(|errno| fault(errno, "create files in", dir.join(HIDDEN).display()))?;
        if rustix::fs::statat(&tree.hidden, "CLOCK", rustix::fs::AtFlags::empty()).is_ok() {
            let why = format!(
                "the file system of {} takes A and a for one name, so two cells could share a record; use \
                 another file system",
                dir.display()
            );
            return Err(Fault::new(FaultKind::Unfit, why));
        }
        Ok(Self { tree, clock, durability: Durability::default() })
    }

    /// Opens the store that a URL names: `file:///absolute/path`, with `%XX` for unusual bytes.
    ///
    /// # Errors
    /// Shows the form of the URL, or fails like [`FileStore::open`].
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        Self::open(&url::parse(url)?)
    }

    /// Sets what an applied write of this process survives.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Gives the store directory a journal, if it has none: from now on every process that writes there adds
    /// its applied writes and removals. Do it before any process writes.
    ///
    /// # Errors
    /// Says why the journal's file cannot be created.
    pub fn with_journal(self) -> Result<Self, Fault> {
        journal::create(&self.tree)?;
        Ok(self)
    }

    /// Returns where the store's journal is, whether or not it has one.
    pub fn journal_path(&self) -> PathBuf {
        self.tree.hidden_path(journal::FILE)
    }

    /// Opens the store's journal for reading, after settling what a killed process left open in it.
    ///
    /// # Errors
    /// Says why the journal cannot be settled within `timeout` or cannot be opened.
    pub fn journal(&self, timeout: core::time::Duration) -> Result<Journal, JournalError> {
        let failed = |why: String| JournalError { line: 0, why };
        let settled =
            Pen::take(&self.tree, Deadline::after(timeout)).map_err(|fault| failed(fault.to_string()))?;
        if settled.is_none() {
            return Err(failed(format!("{} does not exist", self.journal_path().display())));
        }
        Journal::read(&self.journal_path())
    }

    fn read(&self, op: &ReadOp) -> ReadReply {
        self.try_read(op).unwrap_or_else(ReadReply::Failed)
    }

    fn try_read(&self, op: &ReadOp) -> Result<ReadReply, Fault> {
        let key = op.key.as_str();
        self.tree.check()?;
        let malformed =
            |why: String| Fault::new(FaultKind::Malformed, format!("{} {why}", self.tree.shown(key)));
        let version = match self.tree.load(key)? {
            None => return Ok(ReadReply::Missing),
            Some(Content::NotAFile) => {
                return Err(malformed(
                    "is a directory, a link or a device, not a record; move it away".to_owned(),
                ));
            }
            Some(Content::Version(version)) => version,
        };
        let date = self.date(|clock| clock.date_after(version.modified))?;
        let stamps = Stamps { modified: Some(version.modified), date: Some(date) };
        if op.unless.as_ref() == Some(&version.etag) {
            return Ok(ReadReply::Unchanged(stamps));
        }
        Ok(ReadReply::Found { etag: version.etag, body: version.body.into(), stamps })
    }
}

impl Store for FileStore {
    fn execute(&self, op: Op) -> Reply {
        match op {
            Op::List(op) => Reply::List(self.list(&op)),
            Op::Read(op) => Reply::Read(self.read(&op)),
            Op::Remove(op) => Reply::Remove(self.remove(&op)),
            Op::Write(op) => Reply::Write(self.write(&op)),
        }
    }

    fn clock(&self) -> StoreClock {
        self.clock.quality()
    }
}
