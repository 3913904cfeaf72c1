//! `treewright quantize`: smaller weights.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use treewright::{Code, Error, Result};

use crate::io::{Inputs, refuse_unless_model, say};
use crate::models;

/// Make a neural model smaller: 8 bits for each weight instead of 32
///
/// The parses stay nearly the same. Other parts of the model, and parsers that are not neural, are copied unchanged.
#[derive(Args)]
#[command(after_help = "\
Example:
  treewright quantize large.model -o small.model")]
pub struct QuantizeArgs {
    /// The model
    model: PathBuf,

    /// Write the smaller model to this file
    ///
    /// It is written beside its place and renamed, so that programs which have an old model of this name open go on with that one.
    /// Replace models by `mv` yourself, too: `cp` over a model in use ends the programs that use it.
    #[arg(long, short)]
    output: PathBuf,

    /// Overwrite the output even if it is not a model
    #[arg(long)]
    force: bool,

    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &QuantizeArgs) -> Result<ExitCode> {
    let file = models::find(&args.model)?;
    Inputs::default().with("the model", &file).refuse_as_output(Some(&args.output))?;
    if !args.force {
        refuse_unless_model(&args.output)?;
    }
    let pipeline = models::open(Some(&args.model))?;
    let Some(quantized) = pipeline.quantized()? else {
        let message = "there is no neural parser with 32-bit weights in this model";
        return Err(Error::new(Code::BadModel, message).in_file(&args.model.to_string_lossy()));
    };
    models::write(&quantized, &args.output)?;
    if !args.quiet {
        let size = std::fs::metadata(&args.output).map_or(0, |file| file.len());
        say!("wrote {} ({:.1} MB)", args.output.display(), size as f64 / 1e6);
    }
    Ok(ExitCode::SUCCESS)
}
