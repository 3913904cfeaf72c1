//! One file per command. `run` gives the exit code: 0 done, 1 nothing done, or the input or the result is not what it should
//! be, 3 done but for some rows or sentences (2, for usage, is clap's).

mod compare;
mod completions;
mod convert;
mod derive;
mod draw;
mod eval;
mod exact;
mod features;
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

/// Lists the commands: each with its module, which has its flags and `run`.
macro_rules! commands {
    ($($name:ident = $module:ident::$args:ident,)*) => {
        /// The commands.
        #[derive(Subcommand)]
        pub enum Command {
            $($name(Box<$module::$args>),)*
        }

        /// Runs one command.
        pub fn run(command: Command) -> ExitCode {
            conclude(match command {
                $(Command::$name(args) => $module::run(&args),)*
            })
        }
    };
}

commands! {
    Convert = convert::ConvertArgs,
    Stats = stats::StatsArgs,
    Train = train::TrainArgs,
    Parse = parse::ParseArgs,
    Features = features::FeaturesArgs,
    Info = info::InfoArgs,
    Models = models::ModelsArgs,
    Join = join::JoinArgs,
    Quantize = quantize::QuantizeArgs,
    Draw = draw::DrawArgs,
    Eval = eval::EvalArgs,
    Compare = compare::CompareArgs,
    SearchErrors = search_errors::SearchErrorsArgs,
    Derive = derive::DeriveArgs,
    Oracle = oracle::OracleArgs,
    Completions = completions::CompletionsArgs,
    Man = man::ManArgs,
}
