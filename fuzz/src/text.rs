//! Inputs that a person can read and write: lines first, then whatever is left.

/// An input of which lines are taken one by one.
#[derive(Debug)]
pub(crate) struct Lines<'i> {
    rest: &'i [u8],
}

impl<'i> Lines<'i> {
    pub(crate) const fn new(input: &'i [u8]) -> Self {
        Self { rest: input }
    }

    /// Returns the next line without its end; an empty one when there is none left.
    pub(crate) fn line(&mut self) -> &'i [u8] {
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        line
    }

    /// Returns the next line as text, its broken parts replaced.
    pub(crate) fn text(&mut self) -> String {
        String::from_utf8_lossy(self.line()).into_owned()
    }

    /// Returns what no line has taken.
    pub(crate) const fn rest(self) -> &'i [u8] {
        self.rest
    }
}

/// Cuts a line at its first blank.
pub(crate) fn word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

/// Drops from a header's value what no HTTP client would hand on or send.
pub(crate) fn header_value(value: &[u8]) -> Vec<u8> {
    let kept: Vec<u8> = value.iter().copied().filter(|&b| b == b'\t' || (b >= b' ' && b != 0x7f)).collect();
    kept.trim_ascii().to_vec()
}
