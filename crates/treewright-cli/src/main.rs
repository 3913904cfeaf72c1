//! The `treewright` command: flags, threads, printing and exit codes. Every decision about trees is the library's.

mod commands;
mod io;
mod jobs;
mod models;
mod pictures;
mod values;

use std::process::ExitCode;

use clap::Parser;

/// Shift-reduce syntactic parsing, from treebank to tree.
#[derive(Parser)]
#[command(name = "treewright", version, long_version = models::VERSION, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    io::fail_instead_of_dying_on_large_files();
    commands::run(Cli::parse().command)
}
