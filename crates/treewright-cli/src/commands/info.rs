//! `treewright info`: what a model is.

use std::process::ExitCode;

use clap::Args;
use treewright::Result;
use treewright::parser::Parser;

/// Say what a model is: system, data, sizes and settings
#[derive(Args)]
#[command(after_help = "Example:\n  treewright info en.model")]
pub struct InfoArgs {
    /// The model file
    model: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &InfoArgs) -> Result<ExitCode> {
    let info = Parser::open(&args.model)?.info();
    if args.json {
        println!("{:#}", serde_json::to_value(&info).expect("plain data"));
        return Ok(ExitCode::SUCCESS);
    }
    let row = |name: &str, value: String| println!("{name:<18}{value}");
    row("system", info.system.to_string());
    row("actions", info.n_actions.to_string());
    row("templates", info.n_templates.to_string());
    row("features", info.n_features.to_string());
    row("words", info.n_words.to_string());
    row("weights", format!("{:.1} MB", info.weight_bytes as f64 / 1e6));
    row("beam", info.config.beam.to_string());
    row(
        "trained",
        format!(
            "{:?} update, seed {}, up to {} epochs",
            info.config.update, info.config.seed, info.config.epochs
        ),
    );
    if !info.config.note.is_empty() {
        row("note", info.config.note.clone());
    }
    Ok(ExitCode::SUCCESS)
}
