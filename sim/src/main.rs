//! `cargo sim`: runs simulated worlds and prints what they met.

use std::process::ExitCode;

fn main() -> ExitCode {
    tenure_sim::command::main("cargo sim", std::env::args_os().skip(1)).into()
}
