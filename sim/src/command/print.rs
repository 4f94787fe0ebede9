//! Writes for people. Whoever closed the pipe has read enough, and is still told by the exit status how it ended.

use core::fmt::Arguments;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{self, ErrorKind, Write};

/// Writes a line to standard output.
macro_rules! say {
    ($($arguments:tt)*) => { $crate::command::print::line(&format_args!($($arguments)*)) };
}

/// Writes a line to standard error.
macro_rules! complain {
    ($($arguments:tt)*) => { $crate::command::print::complaint(&format_args!($($arguments)*)) };
}

pub(super) use {complain, say};

/// Makes comments of all lines from now on, but for those of [`code`].
pub(super) fn comments() {
    ARE_COMMENTS.store(true, Ordering::Relaxed);
}

pub(super) fn line(text: &Arguments<'_>) {
    if ARE_COMMENTS.load(Ordering::Relaxed) {
        let text = text.to_string();
        text.lines().for_each(|line| code(&format_args!("// {line}")));
    } else {
        code(text);
    }
}

/// Writes a line to standard output as it is.
pub(super) fn code(text: &Arguments<'_>) {
    if let Err(error) = writeln!(io::stdout(), "{text}")
        && error.kind() != ErrorKind::BrokenPipe
    {
        complaint(&format_args!("standard output cannot be written: {error}"));
        // What is missing there would look like an answer.
        std::process::exit(UNWRITABLE.into());
    }
}

pub(super) fn complaint(text: &Arguments<'_>) {
    // If that fails there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{text}");
}

static ARE_COMMENTS: AtomicBool = AtomicBool::new(false);

const UNWRITABLE: u8 = 74;
