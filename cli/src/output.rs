//! Writing to a terminal, to a pipe, and to a pipe that nobody reads any more.

use std::io::{self, ErrorKind, Write};

use serde_json::{Value, json};

use crate::exit::Failure;

/// Prints what a command found, for people or for programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
}

/// What became of printed text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Printed {
    /// It was written.
    Written,
    /// Nobody reads standard output any more, so there is no use in going on. That is no failure.
    Unread,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Tells whether programs read the output.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints rows: one JSON object per line, or columns below a heading.
    pub(crate) fn rows<const N: usize>(
        self,
        heading: Option<[&str; N]>,
        rows: &[(Value, [String; N])],
    ) -> Result<Printed, Failure> {
        if self.json {
            let lines: String = rows.iter().map(|(object, _)| format!("{object}\n")).collect();
            return self.text(&lines);
        }
        let heading = heading.map(|titles| titles.map(str::to_owned));
        let columns: Vec<_> = heading.iter().chain(rows.iter().map(|(_, columns)| columns)).collect();
        self.text(&table(&columns))
    }

    /// Prints text as it is.
    pub(crate) fn text(self, text: &str) -> Result<Printed, Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(Printed::Written),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Printed::Unread),
            Err(error) => Err(Failure::unavailable(format_args!(
                "standard output cannot be written: {error}; redirect it"
            ))),
        }
    }

    /// Reports a failure on standard error.
    pub(crate) fn failure(self, failure: &Failure) {
        let text = if self.json {
            format!("{}\n", json!({ "error": failure.to_json() }))
        } else {
            format!("tenure: {}\n", printable(&failure.to_string()))
        };
        // If that fails there is nobody left to tell.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Lays out columns, each as wide as its widest entry.
fn table<const N: usize>(rows: &[&[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, entry) in widths.iter_mut().zip(row.iter()) {
            *width = (*width).max(printable(entry).chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (entry, width) in row.iter().zip(widths) {
            line.push_str(&format!("{:width$}  ", printable(entry)));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Replaces what could steer a terminal: records and errors may carry text that others wrote.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::{printable, table};

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let rows = [["cell", "state"], ["a-long-name", "held"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&[&rows[0], &rows[1]]), "cell         state\na-long-name  held\n");
    }

    #[test]
    fn text_from_records_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb\u{fffd}c");
    }
}
