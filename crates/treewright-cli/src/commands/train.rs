//! `treewright train`: from a treebank to a model.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use treewright::system::SystemTag;
use treewright::train::{EpochReport, Log, OracleKind, TrainConfig, Update, train};
use treewright::treebank::Entry;
use treewright::{Error, Result};

use crate::io::{Output, ReadArgs, Skipping, for_each_entry};

/// Train a parser on a treebank
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright train --system arc-hybrid-swap --train train.conllu --dev dev.conllu -o en.model
  treewright train --system sr-gap --beam 8 --update early --head-rules dutch --train train.discbracket \\
      --dev dev.discbracket -o nl.model
  treewright train --print-config > settings.toml")]
pub struct TrainArgs {
    /// The transition system
    #[arg(long, value_parser = |name: &str| name.parse::<SystemTag>())]
    system: Option<SystemTag>,

    /// The training treebank; may be given several times
    #[arg(long, value_name = "FILE")]
    train: Vec<String>,

    /// The development treebank: the best epoch by it is kept
    #[arg(long, value_name = "FILE")]
    dev: Vec<String>,

    /// Where the model goes
    #[arg(long, short)]
    output: Option<String>,

    /// The oracle of local training
    #[arg(long, value_enum)]
    oracle: Option<OracleArg>,

    /// A shipped feature set, or a file with templates
    #[arg(long, value_name = "SET|FILE")]
    features: Option<String>,

    /// Items in the beam; 1 trains locally, step by step, unless --update says otherwise
    #[arg(long)]
    beam: Option<usize>,

    /// The update of global training
    #[arg(long, value_enum)]
    update: Option<UpdateArg>,

    /// Passes over the data
    #[arg(long)]
    epochs: Option<usize>,

    /// Probability of following the model's own wrong action (local training)
    #[arg(long, value_name = "P")]
    explore: Option<f64>,

    /// Explore only after this many epochs
    #[arg(long, value_name = "N")]
    explore_after: Option<usize>,

    /// Same seed, same model
    #[arg(long)]
    seed: Option<u64>,

    /// Threads; the model does not depend on it
    #[arg(long, short)]
    jobs: Option<usize>,

    /// Head rules for binary systems: collins, german, dutch, leftmost or rightmost
    #[arg(long)]
    head_rules: Option<String>,

    /// Sisters that a temporary symbol remembers (binary systems)
    #[arg(long)]
    markov_order: Option<usize>,

    /// What the model was trained on and its licence, kept in the model
    #[arg(long)]
    note: Option<String>,

    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum OracleArg {
    Static,
    Dynamic,
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
enum UpdateArg {
    Local,
    Early,
    MaxViolation,
}

impl TrainArgs {
    fn config(&self) -> Result<TrainConfig> {
        let mut config = TrainConfig::default();
        macro_rules! set {
            ($($name:ident),*) => { $(if let Some(value) = &self.$name { config.$name = value.clone(); })* };
        }
        set!(
            system,
            features,
            beam,
            epochs,
            explore,
            explore_after,
            seed,
            jobs,
            head_rules,
            markov_order,
            note
        );
        if config.beam == 1 {
            config.update = Update::Local;
        }
        if let Some(update) = self.update {
            config.update = match update {
                UpdateArg::Local => Update::Local,
                UpdateArg::Early => Update::Early,
                UpdateArg::MaxViolation => Update::MaxViolation,
            };
        }
        if let Some(oracle) = self.oracle {
            config.oracle = match oracle {
                OracleArg::Static => OracleKind::Static,
                OracleArg::Dynamic => OracleKind::Dynamic,
                OracleArg::Paper => OracleKind::Paper,
            };
        }
        if let Some(path) = self.features.as_deref().filter(|name| std::path::Path::new(name).exists()) {
            config.templates =
                std::fs::read_to_string(path).map_err(|error| Error::from(error).in_file(path))?;
            config.features = String::new();
        }
        Ok(config)
    }
}

pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let config = args.config()?;
    let output = args.output.as_deref().unwrap_or("treewright.model");
    let mut skipping = Skipping::new(args.read.on_error);
    let mut read = |paths: &[String]| -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for_each_entry(paths, &args.read, &mut skipping, |entry, _| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    };
    let (training, dev) = (read(&args.train)?, read(&args.dev)?);
    let mut log = Progress::new(args.read.quiet);
    let model = train(&config, &training, &dev, &mut log)?;
    let mut file = Output::create(Some(output))?;
    model.save(&mut file)?;
    file.finish()?;
    if !args.read.quiet {
        eprintln!("wrote {output}");
    }
    Ok(skipping.report())
}

/// Tells a person how training goes.
struct Progress {
    bar: ProgressBar,
    quiet: bool,
}

impl Progress {
    fn new(quiet: bool) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(
            None,
            if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() },
        );
        let style =
            ProgressStyle::with_template("epoch {prefix:>2} {bar:30} {pos}/{len} sentences {eta:>4} left");
        Progress { bar: bar.with_style(style.expect("the template is valid")), quiet }
    }
}

impl Log for Progress {
    fn prepared(&mut self, usable: usize, underivable: &[(usize, String)], n_actions: usize) {
        const SHOWN: usize = 5;
        if self.quiet {
            return;
        }
        eprintln!("{usable} trees, {n_actions} actions");
        for (number, why) in underivable.iter().take(SHOWN) {
            eprintln!("left out: sentence {number}: {why}");
        }
        if underivable.len() > SHOWN {
            eprintln!("left out: {} sentences in all", underivable.len());
        }
    }

    fn sentence(&mut self, epoch: usize, done: usize, total: usize) {
        if done == 1 {
            self.bar.reset();
            self.bar.set_length(total as u64);
            self.bar.set_prefix(epoch.to_string());
        }
        if done % 64 == 0 || done == total {
            self.bar.set_position(done as u64);
        }
    }

    fn epoch(&mut self, report: &EpochReport) {
        if self.quiet {
            return;
        }
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        self.bar.suspend(|| {
            let _ = writeln!(
                std::io::stderr(),
                "epoch {:>2}: wrong {} of {}, dev {} ({}), {} features, {:.1} + {:.1} s{}",
                report.epoch,
                report.errors,
                report.of,
                shown(report.dev),
                shown(report.dev_disc),
                report.features,
                report.seconds.0,
                report.seconds.1,
                if report.best { "  best" } else { "" }
            );
        });
    }
}
