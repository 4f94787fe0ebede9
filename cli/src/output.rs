//! Writing to the terminal, to a pipe, and to a pipe that nobody reads any more.

use std::io::{self, ErrorKind, IsTerminal, Write};

use serde_json::{Value, json};

use crate::exit::Failure;

/// Prints what a command found, for people or for programs.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
}

/// Nobody reads standard output any more: the command is done.
#[derive(Debug)]
pub(crate) struct Closed;

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints rows: one JSON object per line, or columns below a heading.
    pub(crate) fn rows<const N: usize>(
        &self,
        heading: [&str; N],
        rows: impl IntoIterator<Item = (Value, [String; N])>,
    ) -> Result<(), Failure> {
        let mut text = String::new();
        if self.json {
            for (object, _) in rows {
                text.push_str(&object.to_string());
                text.push('\n');
            }
        } else {
            let rows: Vec<_> = rows.into_iter().map(|(_, columns)| columns).collect();
            table(heading, &rows, &mut text);
        }
        print(&text).map_or(Ok(()), |result| result)
    }

    /// Reports a failure on standard error.
    pub(crate) fn failure(&self, failure: &Failure) {
        let text = if self.json {
            format!("{}\n", json!({ "error": failure.to_json() }))
        } else {
            format!("tenure: {failure}\n")
        };
        // Nobody left to tell.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Prints text on standard output; nothing if its reader has gone away, which is no failure.
fn print(text: &str) -> Option<Result<(), Failure>> {
    match write(text) {
        Ok(()) => Some(Ok(())),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => None,
        Err(error) => Some(Err(Failure::unavailable(format_args!("cannot write to standard output: {error}")))),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
