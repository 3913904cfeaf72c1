//! `treewright models`: which models are there.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use treewright::Result;
use treewright::pipeline::{PartKind, Pipeline};

use crate::io::Output;
use crate::models;

/// List the available models: the built-in one, and those in the model folders
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright models
  treewright models --json | jq -r '.[].name'

`treewright parse --model NAME` takes a name listed here, or any path. Models are searched for in the folders listed in \
$TREEWRIGHT_MODELS, in ./models, in the folder models next to the program, in ../share/treewright/models from there, \
and in $XDG_DATA_HOME/treewright/models (~/.local/share/treewright/models).")]
pub struct ModelsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ModelsArgs) -> Result<ExitCode> {
    let mut found: Vec<(String, String, Result<Pipeline>)> = Vec::new();
    if let Ok(pipeline) = models::embedded() {
        found.push((models::EMBEDDED.to_owned(), "in the program (default)".to_owned(), Ok(pipeline)));
    }
    for (name, path) in models::listed() {
        if !found.iter().any(|(known, ..)| *known == name) {
            found.push((name, path.display().to_string(), Pipeline::open(&path)));
        }
    }
    let mut out = Output::stdout();
    if args.json {
        let part = |(kind, bytes): (PartKind, usize)| json!({"part": kind.to_string(), "bytes": bytes});
        let model = |(name, place, pipeline): &(String, String, Result<Pipeline>)| match pipeline {
            Ok(pipeline) => {
                json!({"name": name, "place": place, "parts": pipeline.parts().map(part).collect::<Vec<_>>()})
            }
            Err(error) => json!({"name": name, "place": place, "error": error.to_string()}),
        };
        writeln!(out, "{:#}", Value::from(found.iter().map(model).collect::<Vec<_>>()))?;
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        writeln!(out, "there are no models in the folders below")?;
    }
    for (name, place, pipeline) in &found {
        writeln!(out, "{name:<20} {place}")?;
        match pipeline {
            Ok(pipeline) => {
                let parts: Vec<String> = pipeline
                    .parts()
                    .map(|(kind, bytes)| format!("{kind} {:.1} MB", bytes as f64 / 1e6))
                    .collect();
                writeln!(out, "{:<20} {}", "", parts.join(", "))?;
            }
            Err(error) => writeln!(out, "{:<20} damaged: {}", "", error.message)?,
        }
    }
    writeln!(out, "\nModels are looked for by name in{}", models::folder_lines())?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
