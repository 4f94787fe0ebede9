//! Fresh random bits from the operating system: what makes a process a new node.

use std::fs::File;
use std::io::{Error, Read};

const SOURCE: &str = "/dev/urandom";

/// Returns 64 random bits.
///
/// # Errors
/// Names the source that could not be read; without it a session could be mistaken for another one, so
/// there is nothing to fall back on.
pub(crate) fn bits() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    File::open(SOURCE)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| Error::new(error.kind(), format!("{SOURCE}: {error}")))?;
    Ok(u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::bits;

    #[test]
    fn two_sessions_draw_different_bits() {
        assert_ne!(bits().expect("a source"), bits().expect("a source"));
    }
}
