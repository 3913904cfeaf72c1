//! `treewright stats`: what is in a treebank.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use treewright::Result;
use treewright::stats::Stats;

use crate::io::{Inputs, Output, ReadArgs, Skipping, for_each_entry, visible};

/// Count what is in a treebank: sizes, labels, non-projectivity, discontinuity, unary chains
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright stats train.conllu dev.conllu
  treewright stats train.export.gz --json | jq .discontinuous")]
pub struct StatsArgs {
    /// The treebanks (`-` for stdin); several are counted together
    #[arg(default_value = "-")]
    files: Vec<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Write here instead of stdout
    #[arg(long, short)]
    output: Option<PathBuf>,

    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &StatsArgs) -> Result<ExitCode> {
    Inputs::default().with("the input", &args.files).refuse_as_output(args.output.as_deref())?;
    let mut stats = Stats::new();
    let mut skipping = Skipping::new(args.read.on_error);
    for_each_entry(&args.files, &args.read, &mut skipping, |entry, _| {
        stats.add(&entry);
        Ok(())
    })?;
    let text = if args.json { format!("{:#}\n", stats.json()) } else { visible(&stats.text()) };
    Output::put(args.output.as_deref(), text)?;
    Ok(skipping.report())
}
