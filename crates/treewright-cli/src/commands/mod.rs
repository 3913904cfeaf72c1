//! One file per command. `run` gives the exit code: 0 done, 1 the input or the result is not what it should be
//! (2, for usage, is clap's).

mod compare;
mod completions;
mod convert;
mod derive;
mod draw;
mod eval;
mod exact;
mod info;
mod join;
mod man;
mod models;
mod oracle;
mod parse;
mod quantize;
mod scoring;
mod search_errors;
mod stats;
mod train;
mod worst;

use std::process::ExitCode;

use clap::Subcommand;

use crate::io::conclude;

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Convert(convert::ConvertArgs),
    Stats(stats::StatsArgs),
    Train(Box<train::TrainArgs>),
    Parse(parse::ParseArgs),
    Info(info::InfoArgs),
    Models(models::ModelsArgs),
    Join(join::JoinArgs),
    Quantize(quantize::QuantizeArgs),
    Draw(draw::DrawArgs),
    Eval(eval::EvalArgs),
    Compare(compare::CompareArgs),
    SearchErrors(search_errors::SearchErrorsArgs),
    Derive(derive::DeriveArgs),
    Oracle(oracle::OracleArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Runs one command.
pub fn run(command: Command) -> ExitCode {
    conclude(match command {
        Command::Convert(args) => convert::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Train(args) => train::run(&args),
        Command::Parse(args) => parse::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Join(args) => join::run(&args),
        Command::Quantize(args) => quantize::run(&args),
        Command::Draw(args) => draw::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::SearchErrors(args) => search_errors::run(&args),
        Command::Derive(args) => derive::run(&args),
        Command::Oracle(args) => oracle::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    })
}
