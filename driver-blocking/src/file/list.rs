//! Listing: the keys below a prefix, in the byte order of whole keys, a page at a time.
//!
//! Every page reads the directories again, so a page costs time in proportion to the names in them; nothing
//! is kept between pages, and a key that is there all the time is listed exactly once. Tags are computed
//! from the files of the page.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use tenure_core::{Entry, Fault, ListOp, ListReply, Page, StoreTime};

use super::FileStore;
use super::fault::fault;
use super::tree::{Content, HIDDEN};

/// How many keys a page has, as with S3.
const PAGE: usize = 1000;
/// How many components the longest kind of key has: `cells/<cell>/own.json`. What lies deeper is no key.
const DEPTH: usize = 3;

/// What is being looked for, and what was found.
struct Search<'a> {
    prefix: &'a str,
    after: &'a str,
    keys: Vec<String>,
}

impl FileStore {
    pub(super) fn list(&self, op: &ListOp) -> ListReply {
        match self.try_list(op) {
            Ok(page) => ListReply::Page(page),
            Err(fault) => ListReply::Failed(fault),
        }
    }

    fn try_list(&self, op: &ListOp) -> Result<Page, Fault> {
        self.tree.check()?;
        let after = op.after.as_deref().unwrap_or("");
        let mut search = Search { prefix: &op.prefix, after, keys: Vec::new() };
        let root = openat(&self.tree.root, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| fault(errno, "list", self.tree.shown("")))?;
        self.collect(&root, "", DEPTH, &mut search)?;
        let mut keys = search.keys;
        let more = keys.len() > PAGE;
        keys.truncate(PAGE);
        let next = keys.last().filter(|_| more).map(|last| Arc::from(last.as_str()));
        let entries: Vec<_> = keys.into_iter().filter_map(|key| self.describe(key)).collect();
        let newest = entries.iter().filter_map(|entry| entry.modified).max().unwrap_or_default();
        let date = self.date(|clock| clock.date_after_all(newest))?;
        Ok(Page { entries, next, date: Some(date) })
    }

    /// Adds the keys below one directory, whose own key is `base`, until there is one more than a page has.
    fn collect(&self, dir: &OwnedFd, base: &str, depth: usize, search: &mut Search<'_>) -> Result<(), Fault> {
        let failed = |errno| fault(errno, "list", self.tree.shown(base));
        let mut found = Vec::new();
        for entry in Dir::read_from(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // A name that is not even text cannot be part of a key.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name == "." || name == ".." || (base.is_empty() && name == HIDDEN) {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                kind = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(failed(errno)),
                };
            }
            let key = format!("{base}{name}");
            if kind == FileType::RegularFile && search.wants(&key) {
                found.push(key);
            } else if kind == FileType::Directory && depth > 1 && search.wants_some_below(&format!("{key}/"))
            {
                // With its slash: `a/own.json` comes after `a-/own.json`, although `a` comes before `a-`.
                found.push(format!("{key}/"));
            }
        }
        found.sort_unstable();
        for key in found {
            if search.keys.len() > PAGE {
                break;
            }
            let Some(name) = key.strip_suffix('/') else {
                search.keys.push(key);
                continue;
            };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            match openat(dir, &name[base.len()..], flags, Mode::empty()) {
                Ok(below) => self.collect(&below, &key, depth - 1, search)?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(fault(errno, "list", self.tree.shown(name))),
            }
        }
        Ok(())
    }

    /// Describes one key; nothing if its file has just gone. A file that cannot be read, or is no record,
    /// is listed without a tag: it hides nobody else.
    fn describe(&self, key: String) -> Option<Entry> {
        let (etag, modified) = match self.tree.load(&key) {
            Ok(None | Some(Content::NotAFile)) => return None,
            Ok(Some(Content::Version(version))) => (Some(version.etag), Some(version.modified)),
            Err(_) => (None, None),
        };
        Some(Entry { key, etag, modified })
    }

    /// Reads the store's clock.
    pub(super) fn date(
        &self,
        read: impl FnOnce(&super::clock::Clock) -> Result<StoreTime, Errno>,
    ) -> Result<StoreTime, Fault> {
        read(&self.clock).map_err(|errno| fault(errno, "read the time of", self.tree.shown(HIDDEN)))
    }
}

impl Search<'_> {
    fn wants(&self, key: &str) -> bool {
        key.starts_with(self.prefix) && key > self.after
    }

    /// Tells whether any key that begins with `dir` can be wanted.
    fn wants_some_below(&self, dir: &str) -> bool {
        let in_prefix = dir.starts_with(self.prefix) || self.prefix.starts_with(dir);
        in_prefix && (dir > self.after || self.after.starts_with(dir))
    }
}
