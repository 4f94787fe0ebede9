//! The store's directory: where keys live, and how a version is read.
//!
//! A key is a path below the directory, walked component by component without following a symbolic link, so
//! that no key, and no link somebody put there, leads out of it. Records are replaced by renaming, never
//! changed in place, so an opened file is one whole version whatever happens meanwhile.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, fsync, mkdirat, openat, stat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use tenure_core::{ETag, Fault, FaultKind, RECORD_MAX, StoreTime};

use super::clock::modified;
use super::fault::fault;

/// Where locks, unfinished writes and the journal live; no key begins with it. The number is the format's:
/// processes that would lock differently must not share a directory.
pub(super) const HIDDEN: &str = ".tenure-1";
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// One version of a record, as it is on disk.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) etag: ETag,
    pub(super) body: Vec<u8>,
    pub(super) modified: StoreTime,
}

/// What is in a key's place.
#[derive(Debug)]
pub(super) enum Content {
    Version(Version),
    /// A directory, a pipe, a link: nothing a record could replace.
    NotAFile,
}

/// The directory of a key and the key's name in it.
#[derive(Debug)]
pub(super) struct Place<'k> {
    pub(super) dir: OwnedFd,
    pub(super) name: &'k str,
}

/// An opened store directory.
#[derive(Debug)]
pub(super) struct Tree {
    path: PathBuf,
    pub(super) root: OwnedFd,
    pub(super) hidden: OwnedFd,
}

impl Tree {
    /// Opens the directory, which must exist: a mistyped path would be a second store with second owners.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let shown = path.display();
        // Later changes of the working directory must not matter.
        let path = std::path::absolute(path).map_err(|error| {
            Fault::new(FaultKind::Config, format!("{shown} is not a usable path: {error}; give another"))
        })?;
        let shown = path.display();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|errno| fault(errno, "open the store directory", &shown))?;
        refuse_network(&root, &path)?;
        match mkdirat(&root, HIDDEN, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(fault(errno, "create a directory in", shown)),
        }
        let hidden = openat(&root, HIDDEN, DIRECTORY, Mode::empty())
            .map_err(|errno| fault(errno, "open", path.join(HIDDEN).display()))?;
        Ok(Self { path, root, hidden })
    }

    /// Returns a key's path, for people.
    pub(super) fn shown(&self, key: &str) -> String {
        self.path.join(key).display().to_string()
    }

    /// Returns where a file of the store's own is.
    pub(super) fn hidden_path(&self, name: &str) -> PathBuf {
        self.path.join(HIDDEN).join(name)
    }

    /// Makes sure that the directory is still the one that was opened. A process that went on in one that
    /// was moved away would never meet those that open its successor.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let root = stat(&self.path).and_then(|named| Ok(same(&named, &fstat(&self.root)?)));
        let hidden = statat(&self.root, HIDDEN, AtFlags::SYMLINK_NOFOLLOW)
            .and_then(|named| Ok(same(&named, &fstat(&self.hidden)?)));
        match root.and_then(|root| Ok(root && hidden?)) {
            Ok(true) => Ok(()),
            Ok(false) | Err(Errno::NOENT | Errno::NOTDIR) => Err(Fault::new(
                FaultKind::Config,
                format!(
                    "the store directory {} was removed, moved or replaced; put it back, or restart with the \
                     right one",
                    self.path.display()
                ),
            )),
            Err(errno) => Err(fault(errno, "look at the store directory", self.path.display())),
        }
    }

    /// Returns the place of a key, or nothing if its directory does not exist.
    pub(super) fn find<'k>(&self, key: &'k str) -> Result<Option<Place<'k>>, Fault> {
        let (dirs, name) = self.split(key)?;
        let mut dir = self.clone_root(key)?;
        for component in dirs {
            dir = match openat(&dir, component, DIRECTORY, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(fault(errno, "open the directory of", self.shown(key))),
            };
        }
        Ok(Some(Place { dir, name }))
    }

    /// Returns the place of a key, creating its directories; `durable` makes their names survive the machine.
    pub(super) fn make<'k>(&self, key: &'k str, durable: bool) -> Result<Place<'k>, Fault> {
        let (dirs, name) = self.split(key)?;
        let failed = |errno| fault(errno, "create the directory of", self.shown(key));
        let mut dir = self.clone_root(key)?;
        for component in dirs {
            match mkdirat(&dir, component, Mode::from_raw_mode(0o777)) {
                Ok(()) if durable => fsync(&dir).map_err(failed)?,
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            dir = openat(&dir, component, DIRECTORY, Mode::empty()).map_err(failed)?;
        }
        Ok(Place { dir, name })
    }

    /// Returns what is in a key's place; nothing if nothing is there.
    pub(super) fn load(&self, key: &str) -> Result<Option<Content>, Fault> {
        match self.find(key)? {
            Some(place) => self.load_at(&place, key),
            None => Ok(None),
        }
    }

    /// Returns what is in this place; nothing if nothing is there.
    pub(super) fn load_at(&self, place: &Place<'_>, key: &str) -> Result<Option<Content>, Fault> {
        let failed = |errno| fault(errno, "read", self.shown(key));
        // Without NONBLOCK, opening a pipe that somebody left here would wait for its other end.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match openat(&place.dir, place.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => return Ok(Some(Content::NotAFile)),
            Err(errno) => return Err(failed(errno)),
        };
        let stat = fstat(&file).map_err(failed)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(Some(Content::NotAFile));
        }
        let modified = modified(&stat);
        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
        let most = RECORD_MAX as u64 + 1;
        let mut body = Vec::with_capacity(usize::try_from(bytes.min(most)).unwrap_or(RECORD_MAX));
        // A foreign hand may be appending to it: never more than shows that it is too long for a record.
        File::from(file)
            .take(most)
            .read_to_end(&mut body)
            .map_err(|error| failed(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
        let etag = if body.len() > RECORD_MAX { tag_of_file(&stat) } else { tag(&body) };
        Ok(Some(Content::Version(Version { etag, body, modified })))
    }

    fn clone_root(&self, key: &str) -> Result<OwnedFd, Fault> {
        openat(&self.root, ".", DIRECTORY, Mode::empty())
            .map_err(|errno| fault(errno, "open the directory of", self.shown(key)))
    }

    /// Splits a key into its directories and its name. The keys of the core are all legal; this is the wall
    /// behind that promise.
    fn split<'k>(&self, key: &'k str) -> Result<(Vec<&'k str>, &'k str), Fault> {
        let mut dirs: Vec<&str> = key.split('/').collect();
        let legal = dirs.iter().all(|part| !matches!(*part, "" | "." | "..") && !part.contains('\0'));
        match dirs.pop() {
            Some(name) if legal && dirs.first().copied().unwrap_or(name) != HIDDEN => Ok((dirs, name)),
            _ => Err(Fault::new(
                FaultKind::Config,
                format!("{key:?} cannot be a key below {}", self.path.display()),
            )),
        }
    }
}

/// Returns the tag of a file that no conforming writer made, since it is too long for a record, and that may be
/// too long to read: what the file system knows of this version.
fn tag_of_file(stat: &Stat) -> ETag {
    let modified = modified(stat).as_nanos();
    let text = format!("\"{}-{}-{modified}\"", stat.st_ino, stat.st_size);
    ETag::new(text.as_bytes()).expect("two quotes are not empty")
}

/// Returns the tag of a body: its hash, so that every process computes the same one from what is on disk.
/// Equal bytes have equal tags, as on S3; the bytes of two versions of one record are never equal.
pub(super) fn tag(body: &[u8]) -> ETag {
    let mut text = String::with_capacity(66);
    text.push('"');
    for byte in Sha256::digest(body) {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
        }
    }
    text.push('"');
    ETag::new(text.as_bytes()).expect("two quotes are not empty")
}

fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Refuses file systems shared between hosts: their locks and caches do not exclude the other hosts.
#[cfg(any(target_os = "android", target_os = "linux"))]
fn refuse_network(root: &OwnedFd, path: &Path) -> Result<(), Fault> {
    const NETWORK: [(u32, &str); 4] =
        [(0x6969, "NFS"), (0x517b, "SMB"), (0xfe53_4d42, "SMB"), (0xff53_4d42, "CIFS")];
    let kind = rustix::fs::fstatfs(root)
        .map_err(|errno| fault(errno, "look at the file system of", path.display()))?
        .f_type;
    // The field's type and sign differ between platforms; the magic numbers have 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "32 bits are meant")]
    let kind = kind as u32;
    match NETWORK.iter().find(|(magic, _)| *magic == kind) {
        None => Ok(()),
        Some((_, name)) => Err(Fault::new(
            FaultKind::Unfit,
            format!(
                "{} is on {name}, but a file store serves one host; use a local disk, or a bucket",
                path.display()
            ),
        )),
    }
}

#[cfg(not(any(target_os = "android", target_os = "linux")))]
fn refuse_network(_root: &OwnedFd, _path: &Path) -> Result<(), Fault> {
    Ok(())
}
