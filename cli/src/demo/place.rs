//! The temporary directory of the demonstration's store.

use std::env;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

use crate::exit::Failure;

/// A directory that only this user can enter, removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
}

impl Place {
    /// Makes a fresh directory.
    pub(super) fn new() -> Result<Self, Failure> {
        let parent = env::temp_dir();
        for number in 0..1000 {
            let path = parent.join(format!("tenure-demo-{}-{number}", process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let shown = parent.display();
                    return Err(Failure::config(format_args!(
                        "no directory can be made in {shown}: {error}; set TMPDIR to one that is yours"
                    )));
                }
            }
        }
        let shown = parent.display();
        Err(Failure::config(format_args!("{shown} is full of old demos; remove {shown}/tenure-demo-*")))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the store's URL.
    pub(super) fn url(&self) -> String {
        let mut url = "file://".to_owned();
        for byte in self.path.as_os_str().as_bytes() {
            if byte.is_ascii_alphanumeric() || b"/_.-".contains(byte) {
                url.push(char::from(*byte));
            } else {
                url.push_str(&format!("%{byte:02X}"));
            }
        }
        url
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A directory that cannot be removed is named in the output's first line.
        let _ = fs::remove_dir_all(&self.path);
    }
}
