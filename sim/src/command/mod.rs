//! The command line of the simulator: one file per command.

mod args;
mod explore;
mod find;
mod many;
mod one;
mod pictures;
mod show;
mod stopwatch;
mod survey;
mod teeth;

use core::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread;

use clap::Parser;
use clap::error::ErrorKind;

use self::args::{Args, Command};

/// Runs the command that the process was started with.
pub(crate) fn main() -> ExitCode {
    // A panic in a world is reported with its seed, like any other violation.
    std::panic::set_hook(Box::new(|_| {}));
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Whoever closed the pipe has read enough.
            let _ = error.print();
            return if is_answer { ExitCode::SUCCESS } else { Verdict::Usage.into() };
        }
    };
    let verdict = match &args.command {
        Some(Command::Explore(explore)) => explore::main(explore),
        Some(Command::Find(find)) => find::main(find),
        Some(Command::Pictures(pictures)) => pictures::main(pictures),
        None if args.seed.is_some() || args.tape.is_some() => one::main(&args),
        None if args.teeth => teeth::main(&args),
        None if args.survey => survey::main(&args),
        None => many::main(&args),
    };
    verdict
        .unwrap_or_else(|why| {
            eprintln!("{why}");
            Verdict::Usage
        })
        .into()
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

impl From<bool> for Verdict {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Violated }
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        Self::from(match verdict {
            Verdict::Holds => 0,
            Verdict::Interrupted => 130,
            Verdict::Usage => 64,
            Verdict::Violated => 1,
        })
    }
}

/// What a command returns: how it ended, or what makes it unusable.
type Ended = Result<Verdict, String>;

/// Returns how many threads the machine runs at once.
fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
