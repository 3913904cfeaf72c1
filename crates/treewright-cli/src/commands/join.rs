//! `treewright join`: several model files in one.

use std::process::ExitCode;

use clap::Args;
use treewright::Result;
use treewright::pipeline::Pipeline;

use crate::io::Output;
use crate::models;

/// Join model files: a segmenter, taggers and parsers in one file, to be used together or alone
#[derive(Args)]
#[command(after_help = "\
A tagger belongs to the parsers behind it, up to the next tagger. Only the first segmenter is kept.

Example:
  treewright join dependencies.model constituents.model -o english.model")]
pub struct JoinArgs {
    /// Model files, in order
    #[arg(required = true)]
    models: Vec<String>,

    /// Where the joined model goes
    #[arg(long, short)]
    output: String,
}

pub fn run(args: &JoinArgs) -> Result<ExitCode> {
    let pipelines = args.models.iter().map(|name| models::open(Some(name))).collect::<Result<Vec<_>>>()?;
    let mut output = Output::create(Some(&args.output))?;
    Pipeline::join(&pipelines).save(&mut output)?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}
