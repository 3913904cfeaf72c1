//! One file per command. `run` gives the exit code: 0 done, 1 the input or the result is not what it should be
//! (2, for usage, is clap's).

mod convert;
mod draw;
mod stats;

use std::process::ExitCode;

use clap::Subcommand;

use crate::io::conclude;

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Convert(convert::ConvertArgs),
    Stats(stats::StatsArgs),
    Draw(draw::DrawArgs),
}

/// Runs one command.
pub fn run(command: Command) -> ExitCode {
    conclude(match command {
        Command::Convert(args) => convert::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Draw(args) => draw::run(&args),
    })
}
