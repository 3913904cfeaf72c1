//! `treewright train`: from a treebank to a model.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use treewright::close_calls::Prices;
use treewright::eval::plot::{Plot, Series};
use treewright::oracle::OracleKind;
use treewright::parser::TreeKind;
use treewright::pipeline::{PartKind, Pipeline};
use treewright::segment::{SegmentConfig, Segmenter};
use treewright::system::SystemTag;
use treewright::tag::{self, TagConfig, Tagger};
use treewright::train::{Checkpoint, EpochReport, Log, TrainConfig, Update, train};
use treewright::treebank::Entry;
use treewright::word_classes::WordVectors;
use treewright::{Code, Error, Result, Sentence};

use crate::io::{Output, ReadArgs, Skipping, for_each_entry};
use crate::recipes;

/// Train a parser on a treebank, with a tagger and a segmenter if they are wanted
#[derive(Args)]
#[command(after_help = "\
With --with tagger the parser learns from tags like those it will see: the training data is tagged in ten parts, each
by a tagger trained on the others (--jackknife). The development data then tells whether, and at which price, the
parser has a say where the tagger could hardly decide.

Examples:
  treewright train --system arc-hybrid --with segmenter,tagger --train train.conllu --dev dev.conllu -o en.model
  treewright train --system arc-hybrid-swap --train train.conllu --dev dev.conllu -o en.model
  treewright train --system sr-gap --beam 8 --update early --head-rules dutch --train train.discbracket \\
      --dev dev.discbracket -o nl.model
  treewright train --recipe fast-dependencies --train train.conllu --dev dev.conllu -o en.model
  treewright train --recipe discontinuous --print-config > settings.toml")]
pub struct TrainArgs {
    /// Settings as a TOML file; flags override it
    #[arg(long, value_name = "FILE.toml")]
    config: Option<String>,

    /// Settings that were found good; flags override them (--print-config shows them)
    #[arg(long, value_name = "NAME", value_parser = recipes::names(), conflicts_with = "config")]
    recipe: Option<String>,

    /// Print all settings as TOML and stop
    #[arg(long)]
    print_config: bool,

    /// Go on from MODEL.checkpoint, to the model that an uninterrupted run gives
    #[arg(long)]
    resume: bool,

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

    /// What else goes into the model: text to tokens, tokens to tags
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART,..")]
    with: Vec<PartArg>,

    /// Train only what --with names, no parser
    #[arg(long, requires = "with")]
    no_parser: bool,

    /// With a tagger: tag the parser's training data in so many parts, each by a tagger trained on the others; 0
    /// trains the parser on the tags of the treebank
    #[arg(long, value_name = "N", default_value_t = 10)]
    jackknife: usize,

    /// Word vectors (a word and its numbers a line, gzipped or not), from which the tagger learns classes of words,
    /// and so does a parser with such features (dependency-classes)
    #[arg(long, value_name = "FILE")]
    vectors: Option<String>,

    /// The scorer
    #[arg(long, value_parser = ["perceptron"], default_value = "perceptron")]
    scorer: String,

    /// The oracle of local training [default: dynamic; static where a system has none]
    #[arg(long, value_name = "static|dynamic|paper")]
    oracle: Option<OracleKind>,

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

    /// Another seed for segmenter and tagger
    #[arg(long, value_name = "SEED", requires = "with")]
    text_seed: Option<u64>,

    /// Threads; the model does not depend on it
    #[arg(long, short)]
    jobs: Option<usize>,

    /// Head rules for binary systems: collins, german, dutch, leftmost or rightmost
    #[arg(long)]
    head_rules: Option<String>,

    /// Sisters that a temporary symbol remembers (binary systems)
    #[arg(long)]
    markov_order: Option<usize>,

    /// Dependencies: make non-projective trees projective, and undo it in parses
    #[arg(long, value_name = "ENCODING", num_args = 0..=1, default_missing_value = "head", value_parser = ["head", "path", "head+path"])]
    pseudo_projective: Option<String>,

    /// Leave out (and report) trees that need an action which fewer than N trees need
    #[arg(long, value_name = "N")]
    rare_actions: Option<usize>,

    /// Leave averaged weights below this out of the model: 0.3 halves it
    #[arg(long, value_name = "W")]
    least_weight: Option<f32>,

    /// Dependencies: several words may hang from the root
    #[arg(long)]
    several_roots: bool,

    /// What the model was trained on and its licence, kept in the model
    #[arg(long)]
    note: Option<String>,

    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartArg {
    Segmenter,
    Tagger,
}

#[derive(Clone, Copy, ValueEnum)]
enum UpdateArg {
    Local,
    Early,
    MaxViolation,
}

impl TrainArgs {
    fn config(&self) -> Result<TrainConfig> {
        let mut config: TrainConfig = match &self.config {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| Error::from(error).in_file(path))?;
                toml::from_str(&text).map_err(|error| {
                    let before = &text[..error.span().map_or(0, |span| span.start)];
                    let (line, column) = (
                        before.lines().count().max(1),
                        before.lines().last().map_or(0, |l| l.chars().count()) + 1,
                    );
                    Error::new(Code::BadTraining, line, column, error.message()).in_file(path)
                })?
            }
            None => {
                let recipe = self.recipe.as_deref().and_then(recipes::settings).unwrap_or_default();
                toml::from_str(recipe).expect("recipes are tested")
            }
        };
        macro_rules! set {
            ($($name:ident),*) => { $(if let Some(value) = &self.$name { config.$name = value.clone(); })* };
        }
        set!(
            system,
            oracle,
            features,
            beam,
            epochs,
            explore,
            explore_after,
            seed,
            jobs,
            head_rules,
            markov_order,
            pseudo_projective,
            rare_actions,
            least_weight,
            note
        );
        // A beam of one has nothing to compare: learn step by step, unless told otherwise.
        if self.beam == Some(1) {
            config.update = Update::Local;
        }
        if self.several_roots {
            config.single_root = false;
        }
        if let Some(update) = self.update {
            config.update = match update {
                UpdateArg::Local => Update::Local,
                UpdateArg::Early => Update::Early,
                UpdateArg::MaxViolation => Update::MaxViolation,
            };
        }
        if let Some(path) = self.features.as_deref().filter(|name| std::path::Path::new(name).exists()) {
            config.templates =
                std::fs::read_to_string(path).map_err(|error| Error::from(error).in_file(path))?;
            config.features = String::new();
        }
        Ok(config)
    }

    /// The word vectors, if there are any.
    fn vectors(&self, seed: u64) -> Result<Arc<WordVectors>> {
        let Some(path) = &self.vectors else { return Ok(Arc::default()) };
        let file = File::open(path).map_err(|error| Error::from(error).in_file(path))?;
        let source: Box<dyn std::io::Read> = if path.ends_with(".gz") {
            Box::new(flate2::read::MultiGzDecoder::new(file))
        } else {
            Box::new(file)
        };
        let vectors = WordVectors::read(source, seed).map_err(|error| error.in_file(path))?;
        Ok(Arc::new(vectors))
    }
}

pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let mut config = args.config()?;
    if args.print_config {
        let mut out = Output::create(None)?;
        out.write_all(toml::to_string(&config).expect("plain data").as_bytes())?;
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    let missing = |flag: &str| Error::new(Code::BadTraining, 0, 0, format!("{flag} is missing"));
    let output = args.output.as_deref().ok_or_else(|| missing("-o MODEL"))?;
    if args.train.is_empty() {
        return Err(missing("--train FILE"));
    }
    if args.system.is_none() && args.config.is_none() && args.recipe.is_none() && !args.no_parser {
        return Err(missing("--system S or --recipe NAME"));
    }
    let text_seed = args.text_seed.unwrap_or(config.seed);
    let vectors = args.vectors(config.seed)?;
    // A parser is told tags: of the classes it looks at the fine ones.
    config.classes = Arc::new(vectors.classes([].iter(), config.seed));
    let mut skipping = Skipping::new(args.read.on_error);
    let mut read = |paths: &[String]| -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for_each_entry(paths, &args.read, &mut skipping, |entry, _| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    };
    let (mut training, mut dev) = (read(&args.train)?, read(&args.dev)?);
    let mut parts = Vec::new();
    if args.with.contains(&PartArg::Segmenter) {
        parts.push((PartKind::Segmenter, train_segmenter(args, text_seed, &training)?));
    }
    if args.with.contains(&PartArg::Tagger) {
        let vectors = if text_seed == config.seed { vectors } else { args.vectors(text_seed)? };
        let settings = TagConfig { seed: text_seed, vectors, ..TagConfig::default() };
        parts.push((PartKind::Tagger, train_tagger(args, &settings, config.jobs, &mut training, &mut dev)?));
    }
    if args.no_parser {
        write_file(output, |file| Pipeline::of_parts(parts).save(file))?;
        return Ok(skipping.report());
    }
    let checkpoint_path = format!("{output}.checkpoint");
    let resumed = if args.resume {
        let in_file = |error: Error| error.in_file(&checkpoint_path);
        let bytes = std::fs::read(&checkpoint_path).map_err(|error| in_file(error.into()))?;
        Some(Checkpoint::from_bytes(&bytes).map_err(in_file)?)
    } else {
        None
    };
    let mut log = Progress::new(args.read.quiet, output)?;
    let model = train(&config, &training, &dev, resumed.as_ref(), &mut log)?;
    if parts.is_empty() {
        write_file(output, |file| model.save(file))?;
    } else {
        let mut bytes = Vec::new();
        model.save(&mut bytes)?;
        parts.push((PartKind::Parser(TreeKind::of(config.system)), bytes));
        let mut pipeline = Pipeline::of_parts(parts);
        if let Some(prices) = pipeline.settle_close_calls(&dev, config.jobs)? {
            log.close_calls(&prices);
        }
        write_file(output, |file| pipeline.save(file))?;
    }
    log.finish(output, &config)?;
    // The model is there: what was only for going on is not needed any more.
    let _ = std::fs::remove_file(&checkpoint_path);
    Ok(skipping.report())
}

fn train_segmenter(args: &TrainArgs, seed: u64, training: &[Entry]) -> Result<Vec<u8>> {
    let sentences: Vec<Sentence> = training.iter().map(|entry| entry.sentence.clone()).collect();
    let config = SegmentConfig { seed, ..SegmentConfig::default() };
    let segmenter = Segmenter::train(&sentences, &config, &mut |epoch| {
        if !args.read.quiet {
            eprintln!("segmenter, {}: loss {:.4}", epoch.part, epoch.loss);
        }
    })?;
    Ok(segmenter.to_bytes())
}

/// Trains a tagger. The parser's training data gets tags by jack-knifing, its development data those of the tagger.
fn train_tagger(
    args: &TrainArgs,
    settings: &TagConfig,
    jobs: usize,
    training: &mut [Entry],
    dev: &mut [Entry],
) -> Result<Vec<u8>> {
    let sentences =
        |entries: &[Entry]| entries.iter().map(|entry| entry.sentence.clone()).collect::<Vec<_>>();
    let mut say = |progress: &tag::Progress| {
        if args.read.quiet {
            return;
        }
        match progress {
            tag::Progress::Epoch { layer, epoch, errors, of, dev } => {
                let dev = dev.map_or(String::new(), |dev| format!(", dev {dev:.2}"));
                eprintln!("tagger, {layer}, epoch {epoch}: wrong {errors} of {of}{dev}");
            }
            tag::Progress::Fold { done, folds } => eprintln!("tagger, jack-knife: {done} of {folds}"),
        }
    };
    let (training_sentences, dev_sentences) = (sentences(training), sentences(dev));
    let tagger = Tagger::train(&training_sentences, &dev_sentences, settings, &mut say)?;
    if args.jackknife > 0 && !args.no_parser {
        let tagged = tag::jackknife(&training_sentences, args.jackknife, settings, jobs, &mut say)?;
        training.iter_mut().zip(tagged).for_each(|(entry, sentence)| entry.sentence = sentence);
        let mut worker = tagger.worker();
        dev.iter_mut().for_each(|entry| worker.tag(&mut entry.sentence));
    }
    Ok(tagger.to_bytes())
}

/// Writes a file whole or not at all.
fn write_file(path: &str, write: impl FnOnce(&mut Output) -> Result<()>) -> Result<()> {
    let mut file = Output::create(Some(path))?;
    write(&mut file)?;
    file.finish()
}

/// Tells a person how training goes, and keeps the log, the checkpoints and the learning curve.
struct Progress {
    bar: ProgressBar,
    quiet: bool,
    output: String,
    lines: File,
    reports: Vec<EpochReport>,
}

impl Progress {
    fn new(quiet: bool, output: &str) -> Result<Self> {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style =
            ProgressStyle::with_template("epoch {prefix:>2} {bar:30} {pos}/{len} sentences {eta:>4} left");
        let bar =
            ProgressBar::with_draw_target(None, target).with_style(style.expect("the template is valid"));
        let path = format!("{output}.log.jsonl");
        let lines = File::create(&path).map_err(|error| Error::from(error).in_file(&path))?;
        Ok(Progress { bar, quiet, output: output.to_owned(), lines, reports: Vec::new() })
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            self.bar.suspend(|| eprintln!("{line}"));
        }
    }

    /// What the development set says about asking the parser where the tagger could hardly decide.
    fn close_calls(&mut self, Prices { best, scores }: &Prices) {
        let shown: Vec<String> = scores.iter().map(|(price, score)| format!("{price}: {score:.2}")).collect();
        self.say(&format!("close calls of the tagger, dev by price: {}; kept {best}", shown.join(", ")));
        let _ = writeln!(self.lines, "{}", serde_json::json!({"close_calls": best, "dev_by_price": scores}));
    }

    /// Draws the curve and says where everything is.
    fn finish(&self, output: &str, config: &TrainConfig) -> Result<()> {
        self.bar.finish_and_clear();
        let curve = Plot {
            title: format!("{} on the development set", config.system),
            x_title: "epoch".to_owned(),
            y_title: if config.system.name().starts_with("arc-") { "LAS" } else { "F1" }.to_owned(),
            groups: self.reports.iter().map(|report| report.epoch.to_string()).collect(),
            joined: true,
            series: vec![
                Series {
                    name: "all".to_owned(),
                    values: self.reports.iter().map(|report| report.dev).collect(),
                },
                Series {
                    name: if config.system.name().starts_with("arc-") {
                        "non-projective F1"
                    } else {
                        "discontinuous F1"
                    }
                    .to_owned(),
                    values: self.reports.iter().map(|report| report.dev_disc).collect(),
                },
            ],
        };
        let path = format!("{output}.curve.svg");
        write_file(&path, |file| Ok(file.write_all(curve.svg().as_bytes())?))?;
        self.say(&format!("wrote {output}, {output}.log.jsonl and {path}"));
        Ok(())
    }
}

impl Log for Progress {
    fn prepared(&mut self, usable: usize, underivable: &[(usize, String)], n_actions: usize) {
        const SHOWN: usize = 5;
        self.say(&format!("{usable} trees, {n_actions} actions"));
        for (number, why) in underivable.iter().take(SHOWN) {
            self.say(&format!("left out: sentence {number}: {why}"));
        }
        if underivable.len() > SHOWN {
            self.say(&format!("left out: {} sentences in all", underivable.len()));
        }
        let left_out: Vec<usize> = underivable.iter().map(|(number, _)| *number).collect();
        let line = serde_json::json!({"trees": usable, "actions": n_actions, "left_out": left_out});
        // The log is a convenience: a full disk is noticed when the model is written.
        let _ = writeln!(self.lines, "{line}");
    }

    fn sentence(&mut self, epoch: usize, done: usize, total: usize) {
        if done == 1 {
            self.bar.reset();
            self.bar.set_length(total as u64);
            self.bar.set_prefix(epoch.to_string());
        }
        if done.is_multiple_of(64) || done == total {
            self.bar.set_position(done as u64);
        }
    }

    fn epoch(&mut self, report: &EpochReport) {
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        self.say(&format!(
            "epoch {:>2}: wrong {} of {}, dev {} ({}), {} features, {:.1} + {:.1} s{}",
            report.epoch,
            report.errors,
            report.of,
            shown(report.dev),
            shown(report.dev_disc),
            report.features,
            report.train_seconds,
            report.dev_seconds,
            if report.best { "  best" } else { "" }
        ));
        let _ = writeln!(self.lines, "{}", serde_json::to_string(report).expect("plain data"));
        self.reports.push(report.clone());
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        write_file(&format!("{}.checkpoint", self.output), |file| Ok(file.write_all(&checkpoint.to_bytes())?))
    }
}
