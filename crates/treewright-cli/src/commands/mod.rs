//! One file per command. `run` gives the exit code: 0 done, 1 the input or the result is not what it should be
//! (2, for usage, is clap's).

use std::process::ExitCode;

use clap::Subcommand;

/// The commands.
#[derive(Subcommand)]
pub enum Command {}

/// Runs one command.
pub fn run(command: Command) -> ExitCode {
    match command {}
}
