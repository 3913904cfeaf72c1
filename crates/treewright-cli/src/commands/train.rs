//! `treewright train`: from a treebank to a model.

mod flags;
mod progress;
mod run_log;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use treewright::pipeline::Pipeline;
use treewright::train::{Checkpoint, Choice, PipelineConfig, TextPart, check_dev, check_treebank, choose};
use treewright::treebank::Entry;
use treewright::{Error, Result};

pub use flags::TrainArgs;

use crate::io::{Output, Skipping, for_each_entry, is_dash, say_when_interrupted};
use crate::models;
use progress::Progress;

pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    // Settings that need no data are settled first, so that a mistake in them costs no time.
    let mut config = if args.is_automatic() { None } else { Some(args.settings(None)?) };
    if args.print_config && (config.is_some() || args.train.is_empty()) {
        let config = config.map_or_else(|| args.settings(None), Ok)?;
        print(&config.to_toml())?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = if args.print_config { Path::new("") } else { args.output()? };
    if let Some(config) = &config {
        args.check_vectors(config, &args.parts(None)?)?;
    }
    if !args.print_config {
        check_writable(output)?;
    }
    let mut skipping = Skipping::new(args.read.on_error);
    let Data { training, silver, dev } = read(args, &mut skipping)?;
    let choice = if args.is_automatic() { Some(choose(&training)?) } else { None };
    if choice.is_some() {
        config = Some(args.settings(choice.as_ref())?);
    }
    let mut config = config.expect("either the data or the flags decide");
    if args.print_config {
        print(&config.to_toml())?;
        return Ok(skipping.report());
    }
    let parts = args.parts(choice.as_ref())?;
    args.check_vectors(&config, &parts)?;
    if !args.no_parser {
        check_treebank(config.system.info().kind, &training)?;
        check_dev(config.system.info().kind, &dev)?;
    }
    let resumed = if args.resume { Some(read_checkpoint(args, output)?) } else { None };
    let vectors = args.read_vectors(config.seed)?;
    // A parser is told tags: of the classes it looks at the fine ones.
    config.classes = Arc::new(vectors.classes([].iter(), config.seed));
    if flags::is_neural(&config) {
        config.vectors = vectors.clone();
        config.encoder = args.read_encoder()?;
    }
    let text_seed = args.text_seed.unwrap_or(config.seed);
    let settings = PipelineConfig {
        vectors: if text_seed == config.seed || !parts.contains(&TextPart::Tagger) {
            vectors
        } else {
            args.read_vectors(text_seed)?
        },
        parts,
        text_seed,
        spaces: args.spaces.unwrap_or_default(),
        has_parser: !args.no_parser,
        folds: args.jackknife.unwrap_or(PipelineConfig::default().folds),
        treebank_tags_too: !args.jackknife_only,
        silver: silver.into(),
        resume: resumed,
        parser: config,
    };
    let plan = settings.plan(&training, &dev);
    let mut progress = Progress::new(args.read.quiet, output, &settings.parser, plan)?;
    tell(&mut progress, choice.as_ref(), &settings, &dev);
    let pipeline = Pipeline::train(&settings, &training, &dev, &mut progress)
        .map_err(|error| args.in_templates(error))?;
    models::write(&pipeline, output).inspect_err(|_| {
        let checkpoint = args.checkpoint(output);
        if checkpoint.is_file() {
            progress.say(&format!(
                "The training is not lost: when the model can be written, the same command with --resume goes on from {}",
                checkpoint.display()
            ));
        }
    })?;
    progress.keep_log()?;
    if args.no_parser {
        progress.say(&format!("wrote {}", output.display()));
        return Ok(skipping.report());
    }
    progress.finish(&settings.parser)?;
    // The model is there: what was only for going on is not needed any more.
    let _ = std::fs::remove_file(args.checkpoint(output));
    say_when_interrupted("");
    conclude(args, &settings, &progress);
    Ok(skipping.report())
}

fn print(text: &str) -> Result<()> {
    use std::io::Write;
    let mut out = Output::stdout();
    out.write_all(text.as_bytes())?;
    out.finish()
}

/// The treebanks.
struct Data {
    training: Vec<Entry>,
    silver: Vec<Entry>,
    dev: Vec<Entry>,
}

fn read(args: &TrainArgs, skipping: &mut Skipping) -> Result<Data> {
    // Where the data decides, or several roots are wanted anyway, sentences with several roots are no mistake.
    let mut read_args = args.read.clone();
    read_args.many_roots |= args.is_automatic() || args.several_roots;
    let mut read = |paths: &[PathBuf]| -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for_each_entry(paths, &read_args, skipping, |entry, _| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    };
    Ok(Data { training: read(&args.train)?, silver: read(&args.silver)?, dev: read(&args.dev)? })
}

fn read_checkpoint(args: &TrainArgs, output: &Path) -> Result<Checkpoint> {
    let path = args.checkpoint(output);
    let bytes = std::fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => TrainArgs::no_checkpoint(&path),
        _ => Error::from(error).in_file(&path.to_string_lossy()),
    })?;
    Checkpoint::from_bytes(&bytes).map_err(|error| error.in_file(&path.to_string_lossy()))
}

/// Says what the data decided, and what will be trained.
fn tell(progress: &mut Progress, choice: Option<&Choice>, settings: &PipelineConfig, dev: &[Entry]) {
    let PipelineConfig { parts, has_parser, .. } = settings;
    if let Some(choice) = choice {
        choice.reasons.iter().for_each(|reason| progress.say(reason));
        let names: Vec<&str> = parts.iter().map(|part| part.name()).chain(["parser"]).collect();
        progress.say(&format!("Training: {}.", names.join(", ")));
        let line =
            serde_json::json!({"recipe": choice.recipe.name, "reasons": choice.reasons, "parts": names});
        progress.note(&line);
    }
    progress.tell_log();
    if dev.is_empty() && *has_parser {
        progress.say(
            "Without --dev nothing tells which epoch is best, or how good the model is: the last is kept.",
        );
    }
}

/// Says what was made, how good it is, and what to do with it.
fn conclude(args: &TrainArgs, settings: &PipelineConfig, progress: &Progress) {
    let output = args.output.as_deref().unwrap_or(Path::new(""));
    let size = std::fs::metadata(output).map_or(0, |file| file.len());
    let output = output.display();
    let mut line =
        format!("wrote {output} ({:.1} MB): {}", size as f64 / 1e6, settings.parser.system.info().kind);
    if let Some(score) = progress.score() {
        line += &format!(", {} {score:.1} on dev", progress.measure());
        let own: Vec<String> =
            progress.accuracies.iter().map(|(name, percent)| format!("{name} {percent:.1}")).collect();
        match (settings.has(TextPart::Tagger), own.is_empty()) {
            (true, false) => line += &format!(" (with its own tags; {})", own.join(", ")),
            (true, true) => line += " (with its own tags)",
            (false, false) => line += &format!(" (with the treebank's tags; {})", own.join(", ")),
            (false, true) => line += " (with the treebank's tags)",
        }
    }
    progress.say(&line);
    progress.say(&format!("the log is {output}.log.jsonl, the learning curve {output}.curve.svg"));
    let input = if settings.has(TextPart::Segmenter) {
        "text.txt".into()
    } else if settings.has(TextPart::Tagger) {
        "tokens.txt --from tokens".into()
    } else {
        args.dev.first().or(args.train.first()).map_or(Cow::Borrowed(""), |path| path.to_string_lossy())
    };
    progress.say(&format!("Try: treewright parse --model {output} {input}"));
}

/// Finds out before the training that its result can be written.
///
/// # Errors
/// When it cannot be.
fn check_writable(output: &Path) -> Result<()> {
    // A pipe would take this for the model.
    if !is_dash(output) && output.metadata().map_or(true, |metadata| metadata.is_file()) {
        drop(Output::create_model(output)?);
    }
    Ok(())
}

/// Writes a file whole or not at all.
fn write_file(path: &Path, write: impl FnOnce(&mut Output) -> Result<()>) -> Result<()> {
    let mut file = Output::create(Some(path))?;
    write(&mut file)?;
    file.finish()
}
