//! `treewright info`: what a model is.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use treewright::Result;
use treewright::config::Traces;
use treewright::model::ModelInfo;
use treewright::pipeline::PartKind;

use crate::io::{Output, visible};
use crate::models;

/// Describe a model: its parts, system, data, sizes and settings
#[derive(Args)]
#[command(after_help = "Example:\n  treewright info en.model")]
pub struct InfoArgs {
    /// The model: a file or a name [default: the built-in one]
    model: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &InfoArgs) -> Result<ExitCode> {
    let pipeline = models::open(args.model.as_deref())?;
    let mut out = Output::stdout();
    let mut values = Vec::new();
    for (kind, bytes) in pipeline.parts() {
        let (info, tagger_weight) = match kind {
            PartKind::Parser(kind) => {
                let analyser = pipeline.analyser(Some(kind))?;
                (analyser.parser.map(|parser| parser.info()), analyser.tagger_weight)
            }
            PartKind::Segmenter | PartKind::Tagger | PartKind::Lemmatiser => (None, 0),
        };
        if !args.json {
            print_part(&mut out, kind, bytes, info.as_ref(), tagger_weight)?;
        }
        let mut value = json!({"part": kind.to_string(), "bytes": bytes});
        if let (Some(info), Value::Object(value)) = (info, &mut value)
            && let Value::Object(more) = serde_json::to_value(&info).expect("plain data")
        {
            value.extend(more);
            value.insert("tagger_weight".to_owned(), tagger_weight.into());
        }
        values.push(value);
    }
    if args.json {
        // A lone parser is what most model files are.
        let value = if values.len() == 1 { values.remove(0) } else { json!({ "parts": values }) };
        writeln!(out, "{value:#}")?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn print_part(
    out: &mut Output,
    kind: PartKind,
    bytes: usize,
    info: Option<&ModelInfo>,
    tagger_weight: u32,
) -> Result<()> {
    let mut rows = vec![("part", format!("{kind}, {:.1} MB", bytes as f64 / 1e6))];
    if let Some(info) = info {
        let config = &info.config;
        rows.extend([
            ("system", info.system.to_string()),
            ("scorer", info.scorer.to_owned()),
            ("actions", info.n_actions.to_string()),
        ]);
        match info.n_templates {
            0 => rows.push(("parameters", info.n_features.to_string())),
            n => rows.extend([("templates", n.to_string()), ("features", info.n_features.to_string())]),
        }
        rows.extend([
            ("words", info.n_words.to_string()),
            ("weights", format!("{:.1} MB", info.weight_bytes as f64 / 1e6)),
            ("beam", config.beam.to_string()),
        ]);
        if tagger_weight > 0 {
            rows.push((
                "tag reranking",
                format!("by the parser; the tagger's score has weight {tagger_weight}"),
            ));
        }
        let trained =
            format!("{:?} update, seed {}, up to {} epochs", config.update, config.seed, config.epochs);
        rows.push(("trained", trained));
        if config.system.info().is_binary {
            rows.push(("head rules", config.head_rules.clone()));
        }
        if config.traces == Traces::Removed {
            rows.push(("traces", "removed, with function labels".to_owned()));
        }
        if !config.note.is_empty() {
            rows.push(("note", config.note.clone()));
        }
    }
    for (name, value) in rows {
        writeln!(out, "{name:<18}{}", visible(&value))?;
    }
    Ok(())
}
