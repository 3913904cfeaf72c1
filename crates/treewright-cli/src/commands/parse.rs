//! `treewright parse`: words and tags to trees.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Instant;

use clap::Args;
use treewright::parser::{Parser, Search};
use treewright::treebank::{self, Entry, Format, WriteOptions};
use treewright::{Error, Result};

use crate::io::{Output, ReadArgs, Skipping};

/// Parse sentences with a trained model; trees in the input are ignored
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright parse --model en.model dev.conllu > parsed.conllu
  echo 'The/DT public/NN waits/VBZ ./.' | treewright parse --model wsj.model --from tokens --tagged
  treewright parse -m nl.model big.discbracket.gz --beam 8 --jobs 2 --json-stats speed.json -o parsed.discbracket")]
pub struct ParseArgs {
    /// What to parse (`-` for stdin): any format with words and tags
    #[arg(default_value = "-")]
    files: Vec<String>,

    /// The model file
    #[arg(long, short)]
    model: String,

    /// Format of the output [default: conllu for dependencies; ptb or discbracket for constituents]
    #[arg(long, value_name = "FORMAT")]
    to: Option<Format>,

    /// Write here instead of stdout
    #[arg(long, short)]
    output: Option<String>,

    /// Keep this many hypotheses; 1 is greedy [default: as trained]
    #[arg(long)]
    beam: Option<usize>,

    /// Write this many parses per sentence, best first, each with its score
    #[arg(long, default_value_t = 1)]
    k_best: usize,

    /// Threads; the output does not depend on it [default: all cores]
    #[arg(long, short)]
    jobs: Option<usize>,

    /// Write speed figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json_stats: Option<String>,

    /// Say at the end how fast it was, also when stderr is not a terminal
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// Sentences that go to a thread together: enough to make the hand-over cheap, few enough to bound memory.
const BATCH: usize = 64;

pub fn run(args: &ParseArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let parser = Parser::open(&args.model)?;
    let loading = started.elapsed().as_secs_f64();
    let default = parser.default_search();
    let search = Search { beam: args.beam.unwrap_or(default.beam), k_best: args.k_best.max(1) };
    let jobs =
        args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
    let mut skipping = Skipping::new(args.read.on_error);
    let path = args.output.as_deref();
    let mut output = Output::create(path)?;
    let format = args.to.or_else(|| Format::from_path(path?)).unwrap_or_else(|| default_format(&parser));
    let gzip = path.is_some_and(|path| path.ends_with(".gz"));
    let mut writer = treebank::writer(
        format,
        &mut output,
        &WriteOptions { gzip, tagged: args.read.tagged, ..WriteOptions::default() },
    )?;
    let mut totals = Totals::default();
    let parsing = Instant::now();
    let progress = args.read.progress(&args.files);
    // Batches go round the workers in turn and come back in the same turn: order without a queue that can grow.
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..jobs)
            .map(|_| {
                let (to_worker, work) = mpsc::sync_channel::<Vec<Entry>>(2);
                let (done, from_worker) = mpsc::sync_channel::<(Vec<Vec<Entry>>, f64)>(2);
                let mut worker = parser.worker().with_search(search);
                scope.spawn(move || {
                    for batch in work {
                        let started = Instant::now();
                        let parsed =
                            batch.into_iter().map(|entry| parse_entry(&mut worker, entry, search)).collect();
                        if done.send((parsed, started.elapsed().as_secs_f64())).is_err() {
                            break;
                        }
                    }
                });
                (to_worker, from_worker)
            })
            .collect();
        let (mut sent, mut received) = (0usize, 0usize);
        let mut batch = Vec::with_capacity(BATCH);
        let send = |batch: Vec<Entry>, sent: &mut usize| {
            workers[*sent % jobs].0.send(batch).expect("the worker waits for work");
            *sent += 1;
        };
        let mut receive = |received: &mut usize| -> Result<()> {
            let (parsed, seconds) = workers[*received % jobs].1.recv().expect("the worker answers");
            *received += 1;
            totals.seconds += seconds;
            for entries in parsed {
                totals.sentences += 1;
                totals.tokens += entries[0].sentence.len();
                entries.iter().try_for_each(|entry| writer.write(entry))?;
            }
            Ok(())
        };
        for path in &args.files {
            let opened = args.read.open(path, &progress)?;
            for item in opened.reader {
                let Some(entry) = skipping.accept(item)? else { continue };
                batch.push(entry);
                if batch.len() == BATCH {
                    send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)), &mut sent);
                    if sent - received >= 2 * jobs {
                        receive(&mut received)?;
                    }
                }
            }
        }
        if !batch.is_empty() {
            send(batch, &mut sent);
        }
        while received < sent {
            receive(&mut received)?;
        }
        Ok(())
    })?;
    progress.clear();
    writer.finish()?;
    drop(writer);
    output.finish()?;
    totals.report(args, jobs, loading, parsing.elapsed().as_secs_f64())?;
    Ok(skipping.report())
}

/// The entry with the parser's trees instead of its own: one entry per parse wanted.
fn parse_entry(worker: &mut treewright::parser::Worker, entry: Entry, search: Search) -> Vec<Entry> {
    if search.k_best == 1 {
        let tree = worker.parse(&entry.sentence);
        return vec![Entry { tree, ..entry }];
    }
    let parses = worker.parse_k_best(&entry.sentence).into_iter().enumerate();
    let mut entries: Vec<Entry> = parses
        .map(|(rank, scored)| {
            let mut sentence = entry.sentence.clone();
            sentence.comments.push(format!("# parse = {}", rank + 1).into());
            sentence.comments.push(format!("# score = {}", scored.score).into());
            Entry { sentence, tree: Some(scored.tree) }
        })
        .collect();
    if entries.is_empty() {
        entries.push(Entry { tree: None, ..entry });
    }
    entries
}

/// What a model's trees are written as unless the user says otherwise.
fn default_format(parser: &Parser) -> Format {
    match parser.info().system.name() {
        name if name.starts_with("arc-") => Format::Conllu,
        name if name.starts_with("sr-") => Format::Discbracket,
        _ => Format::Ptb,
    }
}

#[derive(Default)]
struct Totals {
    sentences: usize,
    tokens: usize,
    seconds: f64,
}

impl Totals {
    fn report(&self, args: &ParseArgs, jobs: usize, loading: f64, wall: f64) -> Result<()> {
        let rate = self.tokens as f64 / wall.max(1e-9);
        if !args.read.quiet && (args.verbose || std::io::stderr().is_terminal()) {
            eprintln!(
                "parsed {} sentences, {} tokens in {wall:.2} s ({rate:.0} tokens/s, {jobs} jobs)",
                self.sentences, self.tokens
            );
        }
        if let Some(path) = &args.json_stats {
            let stats = serde_json::json!({
                "sentences": self.sentences,
                "tokens": self.tokens,
                "jobs": jobs,
                "loading_seconds": loading,
                "parsing_seconds": self.seconds,
                "wall_seconds": wall,
                "tokens_per_second": rate,
                "tokens_per_parsing_second": self.tokens as f64 / self.seconds.max(1e-9),
            });
            std::fs::write(path, format!("{stats:#}\n")).map_err(|error| Error::from(error).in_file(path))?;
        }
        Ok(())
    }
}
