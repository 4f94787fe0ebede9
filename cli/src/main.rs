//! The `tenure` command: picks the command, reports its failure, and turns it into an exit code.

mod agent;
mod args;
mod cells;
mod demo;
mod dev_store;
mod doctor;
mod exit;
mod hints;
mod inspect;
mod log;
mod nodes;
mod operate;
mod output;
mod owner;
mod run;
mod signals;
mod store;

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Cli, Command};
use crate::exit::Failure;
use crate::output::Output;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let output = Output::new(cli.global.json);
    match execute(&cli, output) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.code())
        }
    }
}

fn execute(cli: &Cli, output: Output) -> Result<u8, Failure> {
    let global = &cli.global;
    match &cli.command {
        Command::Agent(args) => agent::main(global, args),
        Command::Anchor => run::anchor(),
        Command::Cells(args) => cells::main(global, args, output),
        Command::Demo => demo::main(global, output),
        Command::DevStore(args) => dev_store::main(global, args, output),
        Command::Doctor(args) => doctor::main(global, args, output),
        Command::Evict(args) => operate::evict(global, args, output),
        Command::Nodes => nodes::main(global, output),
        Command::Owner(args) => owner::main(global, args, output),
        Command::Repair(args) => operate::repair(global, args, output),
        Command::Run(args) => run::main(global, args),
        Command::Sim(_) if global.json => Err(Failure::usage("sim prints for people: it has no --json")),
        Command::Sim(args) => Ok(tenure_sim::command::main("tenure sim", args.words.iter().cloned())),
        Command::Watchdog(args) => run::watchdog(args),
    }
}

/// Shows the help that was asked for, or says what is wrong with the command line.
fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Whoever closed the pipe has read enough.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let mut words = std::env::args_os().skip(1).take_while(|word| word != OsStr::new("--"));
    let failure = Failure::usage(sentence(error));
    if words.any(|word| word == OsStr::new("--json")) {
        Output::new(true).failure(&failure);
    } else {
        // If that fails there is nobody left to tell.
        let _ = error.print();
    }
    ExitCode::from(failure.code())
}

/// Returns the first paragraph of clap's message, which names the argument, on one line.
fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let paragraph = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    format!("{}; see tenure --help", words.join(" "))
}
