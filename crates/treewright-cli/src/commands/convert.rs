//! `treewright convert`: from one format to another, through transforms.

use std::process::ExitCode;

use clap::Args;
use treewright::treebank::{self, Format, WriteOptions};
use treewright::{Code, Error, Result};

use crate::io::{Output, ReadArgs, Skipping};

/// Convert a treebank between formats and apply transforms
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright convert train.export train.discbracket
  treewright convert wsj.mrg.gz - --to ptb --transform remove-traces,strip-functions
  treewright convert ewt.conllu - --to conllu --transform pseudo-projective:head > projective.conllu

The formats are conllu, conllx, ptb, discbracket, export, tigerxml, alpino (read only), json, text and tokens.
A name that ends in .gz is written compressed; compressed input is recognised.")]
pub struct ConvertArgs {
    /// The input (`-` for stdin)
    input: String,

    /// The output (`-` for stdout)
    output: String,

    /// Format of the output [default: by the output's extension, else the input's format]
    #[arg(long, value_name = "FORMAT")]
    to: Option<Format>,

    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &ConvertArgs) -> Result<ExitCode> {
    let mut skipping = Skipping::new(args.read.on_error);
    let progress = args.read.progress(std::slice::from_ref(&args.input));
    let opened = args.read.open(&args.input, &progress)?;
    let format = args.to.or_else(|| Format::from_path(&args.output)).unwrap_or(opened.format);
    let mut output = Output::create(Some(&args.output))?;
    let gzip = args.output.ends_with(".gz");
    let options = WriteOptions { gzip, tagged: args.read.tagged, ..WriteOptions::default() };
    let mut writer = treebank::writer(format, &mut output, &options)?;
    for (number, item) in opened.reader.enumerate() {
        let Some(entry) = skipping.accept(item)? else { continue };
        let written = writer.write(&entry).map_err(|error| match error.code {
            Code::Io => error,
            _ => Error { location: treewright::error::Location::default(), ..error }
                .in_file(crate::io::shown_name(&args.input))
                .in_sentence(number + 1),
        });
        skipping.accept(written)?;
    }
    writer.finish()?;
    drop(writer);
    output.finish()?;
    progress.clear();
    Ok(skipping.report())
}
