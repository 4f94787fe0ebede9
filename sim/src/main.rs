//! `cargo sim`: runs simulated worlds and prints what they met.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
