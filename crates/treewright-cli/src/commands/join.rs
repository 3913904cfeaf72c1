//! `treewright join`: several model files in one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use treewright::Result;
use treewright::pipeline::Pipeline;

use crate::io::{Inputs, refuse_unless_model};
use crate::models;

/// Join model files: a segmenter, taggers, lemmatisers and parsers in one file
#[derive(Args)]
#[command(after_help = "\
A tagger serves the parsers and the lemmatiser after it, up to the next tagger. A lemmatiser from a file without a \
tagger is put after the tagger that gives most of the tags it knows. Only the first segmenter is kept. A model \
named NAME.gz is compressed: smaller to store and to send, but slower to open.

Example:
  treewright join dependencies.model constituents.model -o both.model")]
pub struct JoinArgs {
    /// Model files, in order
    #[arg(required = true)]
    models: Vec<PathBuf>,

    /// Write the joined model to this file
    ///
    /// It is written beside its place and renamed, so that programs which have an old model of this name open go on with that one.
    /// Replace models by `mv` yourself, too: `cp` over a model in use ends the programs that use it.
    #[arg(long, short)]
    output: PathBuf,

    /// Overwrite the output even if it is not a model
    #[arg(long)]
    force: bool,
}

pub fn run(args: &JoinArgs) -> Result<ExitCode> {
    let found = args.models.iter().map(|name| models::find(name)).collect::<Result<Vec<_>>>()?;
    let files: Vec<PathBuf> = found.into_iter().flatten().collect();
    Inputs::default().with("one of the models to join", &files).refuse_as_output(Some(&args.output))?;
    if !args.force {
        refuse_unless_model(&args.output)?;
    }
    let pipelines = args.models.iter().map(|name| models::open(Some(name))).collect::<Result<Vec<_>>>()?;
    models::write(&Pipeline::join(&pipelines), &args.output)?;
    Ok(ExitCode::SUCCESS)
}
