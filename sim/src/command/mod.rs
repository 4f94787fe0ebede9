//! The command line of the simulator: `cargo sim`, and `tenure sim` of the shipped binary.

mod args;
mod explore;
mod find;
mod interrupt;
mod many;
mod one;
mod pictures;
mod print;
mod show;
mod stopwatch;
mod story;
mod survey;
mod teeth;

use core::num::NonZeroUsize;
use core::panic::AssertUnwindSafe;
use std::ffi::OsString;
use std::panic::catch_unwind;
use std::thread;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use self::args::{Args, Command};
use self::print::{complain, say};
use crate::Witness;

/// Runs what these words ask for, prints its answer, and returns the exit status of the process: 0 if every check held, 1
/// if one was violated, 64 if the words make no sense, 74 if the answer cannot be written, 130 after Ctrl-C.
///
/// `name` is what people type in front of the words, as in `cargo sim`. The function takes Ctrl-C for the whole process,
/// and silences panics: that of a world is a violation, and is printed as one.
pub fn main(name: &'static str, words: impl IntoIterator<Item = OsString>) -> u8 {
    // A panic in a world is reported with its seed, like any other violation.
    std::panic::set_hook(Box::new(|_| {}));
    let words = core::iter::once(OsString::from(name)).chain(words);
    let parser = Args::command().name(name).bin_name(name);
    let parsed = parser.try_get_matches_from(words).and_then(|matches| Args::from_arg_matches(&matches));
    let args = match parsed {
        Ok(args) => args,
        Err(error) => {
            let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Whoever closed the pipe has read enough.
            let _ = error.print();
            return if is_answer { Verdict::Holds } else { Verdict::Usage }.status();
        }
    };
    match catch_unwind(AssertUnwindSafe(|| interrupt::listen().and_then(|()| run(name, &args)))) {
        Ok(Ok(verdict)) => verdict.status(),
        Ok(Err(why)) => {
            complain!("error: {why}");
            Verdict::Usage.status()
        }
        Err(panic) => {
            complain!("error: the simulator has a bug: {}", crate::run::said(&*panic));
            BUG
        }
    }
}

/// The exit status of a program that broke, as sysexits has it.
const BUG: u8 = 70;

fn run(name: &'static str, args: &Args) -> Ended {
    args.check()?;
    match &args.command {
        Some(Command::Explore(explore)) => explore::main(explore),
        Some(Command::Find(find)) => find::main(name, find),
        Some(Command::Pictures(pictures)) => pictures::main(pictures),
        Some(Command::Situations) => {
            Witness::ALL.iter().for_each(|witness| say!("{:<22} {}", witness.as_str(), witness.meaning()));
            Ok(Verdict::Holds)
        }
        None if args.seed.is_some() || args.tape.is_some() => one::main(name, args),
        None if args.teeth => teeth::main(args),
        None if args.survey => survey::main(args),
        None => many::main(name, args),
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    /// What was asked for was found, every check held, every defect was caught.
    Holds,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// The command line, or a file that it names, cannot be used.
    Usage,
    /// A check was violated, a defect survived, or what was looked for was not found.
    Violated,
}

impl Verdict {
    const fn status(self) -> u8 {
        match self {
            Self::Holds => 0,
            Self::Interrupted => interrupt::INTERRUPTED,
            Self::Usage => 64,
            Self::Violated => 1,
        }
    }

    /// Returns this, unless somebody pressed Ctrl-C before it was known of everything.
    fn unless_interrupted(self) -> Self {
        if interrupt::goes_on() { self } else { Self::Interrupted }
    }
}

impl From<bool> for Verdict {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Violated }
    }
}

/// What a command returns: how it ended, or what makes it unusable.
type Ended = Result<Verdict, String>;

/// Returns how many threads the machine runs at once.
fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
