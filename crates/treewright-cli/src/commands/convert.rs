//! `treewright convert`: from one format to another, through transforms.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use treewright::tree::{HeadRules, Transform, TransformHelp};
use treewright::treebank::{self, Format, WriteOptions};
use treewright::{Code, Result};

use crate::io::endings::Promise;
use crate::io::{Inputs, Output, Progress, ReadArgs, Skipping, is_shown, read_text, say, shown_name, usage};
use crate::values;

/// Convert a treebank between formats and apply transforms
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright convert train.export train.discbracket
  treewright convert wsj.mrg.gz - --transform remove-traces,strip-functions
  treewright convert ewt.conllu projective.conllu \\
      --transform pseudo-projective:head

The transforms are listed by --list-transforms; they are applied from left to right.
The formats are conllu, conllx, ptb, discbracket, export, tigerxml, alpino (read only), json, text and tokens. \
A name that ends in .gz is written compressed; compressed input is recognised.")]
pub struct ConvertArgs {
    /// The input (`-` for stdin)
    #[arg(
        value_name = "IN",
        required_unless_present = "list_transforms",
        default_value = "-",
        hide_default_value = true
    )]
    input: PathBuf,

    /// The output (`-` for stdout)
    #[arg(
        value_name = "OUT",
        required_unless_present_any = ["list_transforms", "o"],
        default_value = "-",
        hide_default_value = true
    )]
    output: PathBuf,

    /// Write here; the same as OUT
    #[arg(long = "output", short, value_name = "FILE", conflicts_with = "output")]
    o: Option<PathBuf>,

    /// Format of the output [default: by the output's extension, else the input's format]
    #[arg(long, value_name = "FORMAT", value_parser = values::format())]
    to: Option<Format>,

    /// Transforms to apply, in order, separated by commas; `--list-transforms` explains them
    #[arg(long, value_name = "T,...")]
    transform: Option<String>,

    /// Explain the transforms and stop
    #[arg(long, exclusive = true)]
    list_transforms: bool,

    /// Export: the label of the virtual root
    #[arg(long, value_name = "LABEL")]
    root_label: Option<String>,

    #[command(flatten)]
    read: ReadArgs,
}

pub fn run(args: &ConvertArgs) -> Result<ExitCode> {
    if args.list_transforms {
        let mut out = Output::stdout();
        for TransformHelp { name, parameters, help, inverse, .. } in Transform::ALL {
            let undone = inverse.map_or(String::new(), |inverse| format!(" (undone by {inverse})"));
            writeln!(out, "{:<44}{help}{undone}", format!("{name}{parameters}"))?;
        }
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let output_path = args.o.as_ref().unwrap_or(&args.output);
    Inputs::default().with("the input", [&args.input]).refuse_as_output(Some(output_path))?;
    let mut load = |path: &str| {
        read_text(Path::new(path)).map_err(|error| match error.io_kind {
            Some(ErrorKind::NotFound) => {
                let known: Vec<&str> = HeadRules::built_in().map(|(name, _)| name).collect();
                let message =
                    format!("there are no head rules of this name ({}), and no such file", known.join(", "));
                usage(message).in_file(path)
            }
            _ => error,
        })
    };
    let transforms = match &args.transform {
        Some(list) => Transform::parse_list(list, &mut load).map_err(|error| error.in_file("--transform"))?,
        None => Vec::new(),
    };
    let mut skipping = Skipping::new(args.read.on_error);
    let progress = match is_shown(Some(output_path)) {
        true => Progress::hidden(),
        false => args.read.progress(std::slice::from_ref(&args.input)),
    };
    let opened = args.read.open(&args.input, &progress)?;
    let format =
        args.to.or_else(|| Format::from_path(&output_path.to_string_lossy())).unwrap_or(opened.format);
    let promise = if args.to.is_none() { Promise::of(output_path) } else { None };
    if let Some(message) = promise.and_then(|promise| promise.refuses(format, output_path)) {
        return Err(usage(message));
    }
    let mut output = Output::create(Some(output_path))?;
    let options = WriteOptions {
        tagged: args.read.tagged,
        root_label: args.root_label.as_deref().map(Into::into),
        ..WriteOptions::default()
    };
    let mut writer = treebank::writer(format, &mut output, &options)?;
    let mut n_written = 0;
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (number, item) in opened.reader.enumerate() {
        let Some(entry) = skipping.accept(item)? else { continue };
        let changed = Transform::apply_all(&transforms, entry);
        let written = changed.and_then(|entry| {
            writer.write(&entry)?;
            format.leaves_out(&entry).into_iter().for_each(|what| *left_out.entry(what).or_default() += 1);
            Ok(())
        });
        let written = written.map_err(|error| match error.code {
            Code::Io => error,
            _ => error.in_file(&shown_name(&args.input)).in_sentence(number + 1),
        });
        n_written += usize::from(skipping.accept(written)?.is_some());
    }
    writer.finish()?;
    drop(writer);
    output.finish()?;
    progress.clear();
    if !args.read.quiet {
        for (what, sentences) in left_out {
            say!("note: {format} has no place for {what}: left out in {sentences} sentences");
        }
    }
    Ok(skipping.report_of("sentence", n_written > 0))
}
