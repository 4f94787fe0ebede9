//! Fresh random bits from the operating system: what makes a process a new node, and not its own clone.

use std::fs::File;
use std::io::{Error, Read};

const SOURCE: &str = "/dev/urandom";

/// The operating system's random bits, kept open: a process that has run out of file descriptors still draws.
#[derive(Debug)]
pub(crate) struct Entropy(File);

impl Entropy {
    /// Opens the source.
    ///
    /// # Errors
    /// Names the source if it cannot be opened; without it a session could be mistaken for another one, so
    /// there is nothing to fall back on.
    pub(crate) fn open() -> Result<Self, Error> {
        File::open(SOURCE).map(Self).map_err(named)
    }

    /// Returns 64 random bits.
    ///
    /// # Errors
    /// Names the source if it cannot be read.
    pub(crate) fn bits(&mut self) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes).map_err(named)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

fn named(error: Error) -> Error {
    Error::new(error.kind(), format!("{SOURCE}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::Entropy;

    #[test]
    fn two_draws_differ() {
        let mut entropy = Entropy::open().expect("a source");
        assert_ne!(entropy.bits().expect("bits"), entropy.bits().expect("bits"));
    }
}
