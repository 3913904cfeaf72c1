//! `treewright parse`: raw text, tokens, or words and tags, to trees.

#[cfg(feature = "parquet")]
mod arrow_schema;
mod csv_records;
mod documents;
mod errors;
mod input;
mod notices;
mod output;
#[cfg_attr(not(feature = "parquet"), path = "parse/no_parquet.rs")]
mod parquet;
mod results;
mod resume;
mod search;
mod source;
mod text_lines;
mod work;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ValueEnum};
use documents::Layout;
use errors::ErrorList;
use input::{Input, WithoutTags};
use output::{Form, Sink};
use parquet::Table;
use results::{Results, Seconds, Summary};
use resume::{Done, State};
use search::DecoderArg;
use source::Interrupt;
use treewright::model::{Parser, Search};
use treewright::parallel;
use treewright::pipeline::{Analyser, Pipeline};
use treewright::tree::TreeKind;
use treewright::treebank::Format;
use treewright::{Code, Result};
use work::Task;

use super::exact::ExactArgs;
use crate::io::endings::ending;
use crate::io::partial::{Partial, Start};
use crate::io::{
    Inputs, OnError, Progress, ReadArgs, conclude, is_dash, is_shown, refuse_model, refuse_same_outputs,
    refuse_several, say, usage,
};
use crate::jobs::{self, Jobs};
use crate::values::FileFormat;
use crate::{models, values};

/// Parse text, tokens or treebanks with a trained model; trees in the input are ignored
#[derive(Args)]
#[command(mut_arg("from", |from| from.value_parser(values::file_format())))]
#[command(after_help = "\
Input that is not a treebank is raw text: the model's segmenter splits it into sentences and tokens, and its tagger \
adds tags. Tokens (--from tokens) are tagged. Words with tags (a treebank, or --from tokens --tagged) keep them if the \
model knows them, whichever column they are in: a parser for Penn tags uses XPOS, and a parser for Universal \
Dependencies adds UPOS to Penn tags. Tags that the model does not know are replaced, and a note says so.

A run with -o FILE that is interrupted keeps what is whole in FILE.part and says how to go on (--resume). Exit status: 0 \
done, 1 nothing done or a bad input, 2 usage, 3 done but for some sentences or rows.

Examples:
  echo 'The public is still cautious.' | treewright parse
  treewright parse --as constituents letters.txt -o letters.mrg
  treewright parse --jsonl-field text corpus.jsonl.gz -o parsed.jsonl
  treewright parse --text-column text --from parquet --to parquet \\
      corpus.parquet -o parsed.parquet
  echo 'The/DT public/NN waits/VBZ ./.' |
      treewright parse --model wsj.model --from tokens --tagged
  treewright parse --model nl.model big.discbracket.gz --beam 8 --jobs 2 \\
      --json-stats speed.json -o parsed.discbracket
  treewright parse --model 2n.model short.mrg --decoder astar --timeout 10 \\
      --json-stats exact.json -o best.mrg")]
pub struct ParseArgs {
    /// What to parse (`-` for stdin): raw text, or any format with words
    #[arg(default_value = "-")]
    files: Vec<PathBuf>,

    /// The model: a file, or a name that `treewright models` lists [default: the built-in English one]. Several models
    /// for the same system vote: their scores are added up; everything else, such as the tagger and the search settings,
    /// is taken from the first
    #[arg(long, short)]
    model: Vec<PathBuf>,

    /// The weight of each of several models, in the order of --model; for a linear model next to neural ones, about 0.2
    /// works well [default: 1 for each]
    #[arg(long, value_name = "W,W", value_delimiter = ',')]
    weights: Vec<f32>,

    /// Which kind of trees to build, if the model can build several
    #[arg(long = "as", value_name = "KIND", value_parser = values::kind())]
    kind: Option<TreeKind>,

    /// Format of the output [default: a drawing on a terminal; else conllu for dependencies, ptb or discbracket for
    /// constituents]
    #[arg(long, value_name = "FORMAT", value_parser = values::file_format())]
    to: Option<FileFormat>,

    /// Write here instead of stdout
    #[arg(long, short)]
    output: Option<PathBuf>,

    /// Read the text from this column of a table (a number from 1, or a name in the first line): TSV, CSV (by the file's
    /// name or --csv) or Parquet (by its name or --from parquet). Writes one row per sentence: the other columns, the
    /// sentence's number and its tree. Parquet keeps its rows and columns and gets two more: the trees of each text, in
    /// the format of --to, and the error if a text has none
    #[arg(long, value_name = "N|NAME", conflicts_with = "jsonl_field")]
    text_column: Option<String>,

    /// The first line of the table has the names of the columns [default: only if --text-column is a name]
    #[arg(long, requires = "text_column", conflicts_with = "jsonl_field")]
    header: bool,

    /// The table is CSV: columns separated by commas, quoted where needed [default: only if a file's name ends in .csv]
    #[arg(long, requires = "text_column", conflicts_with = "jsonl_field")]
    csv: bool,

    /// The name of the new column with trees [default: parse in Parquet, tree in TSV and CSV]; in Parquet the one with errors
    /// has this name and `_error`
    #[arg(long, value_name = "NAME", requires = "text_column", conflicts_with = "jsonl_field")]
    parse_column: Option<String>,

    /// Read the text from this field of JSON documents, one per line. Each document is written as it was, with its trees
    /// in one more field: as objects, or as strings if --to names a format other than json
    #[arg(long, value_name = "FIELD", conflicts_with = "from")]
    jsonl_field: Option<String>,

    /// The name of the new field with the trees of a JSON document
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "trees",
        requires = "jsonl_field",
        conflicts_with = "text_column"
    )]
    trees_field: String,

    /// What the ends of lines mean in raw text [default: free; end-sentences for text typed at a terminal]
    #[arg(long, value_enum)]
    lines: Option<LinesArg>,

    /// Replace all tags in the input with the tagger's [default: tag only sentences without tags, or with tags that the
    /// model does not know]
    #[arg(long)]
    retag: bool,

    /// Keep the tags in the input, even those that the model does not know
    #[arg(long, conflicts_with = "retag")]
    keep_tags: bool,

    /// Use only the tagger's best tags. Without this flag, where its two best tags are close, the sentence is parsed
    /// with both and the parse with the better total score is kept: up to twice the time, a little more accurate (models
    /// that do not benefit have it turned off)
    #[arg(long, alias = "first-tags")]
    no_tag_reranking: bool,

    /// How to search [default: as trained]
    #[arg(long, value_enum)]
    decoder: Option<DecoderArg>,

    #[command(flatten)]
    exact: ExactArgs,

    /// Keep this many hypotheses, at most 4096; 1 is greedy. With exact search: the width of the beam that finds the
    /// initial answer [default: as trained; 16 for astar and best-first]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_BEAM))]
    beam: Option<u16>,

    /// Prune hypotheses whose score gap to the best is larger than the gaps that this many percent of the eventual
    /// winners had on the development set; 100 prunes nothing, a smaller number is faster [default: 95]
    #[arg(long, value_name = "PERCENT", alias = "keep", value_parser = clap::value_parser!(u8).range(1..=100))]
    prune_percentile: Option<u8>,

    /// Write up to this many different parses per sentence, best first, each with its score and its share of all that the
    /// search kept (`share_of_kept`; `probability` only if all parses of the sentence are written). A plain beam must be at
    /// least as wide; the first parse is the same as without this flag, and the others are not pruned. A wider --beam finds
    /// more
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=MAX_BEAM))]
    k_best: u16,

    /// Threads, at most four per core; the output does not depend on their number [default: one per core]
    #[arg(long, short)]
    jobs: Option<Jobs>,

    /// Write speed figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json_stats: Option<PathBuf>,

    /// Go on with an interrupted run: give the same command once more with this flag. What is whole in OUTPUT.part is kept,
    /// and the result has the bytes of a run that was not interrupted
    #[arg(long, conflicts_with = "force")]
    resume: bool,

    /// Start from the beginning, even if an interrupted run has left OUTPUT.part
    #[arg(long)]
    force: bool,

    /// List every sentence, row or document without a tree in this file, with its place, its code and the reason: JSON, an
    /// object a line, if the name ends in .jsonl, otherwise columns between tabs. With --on-error skip, documents and
    /// rows keep their place in the output: without trees, but with one more field or column that says why
    #[arg(long, value_name = "FILE")]
    errors_to: Option<PathBuf>,

    /// Report the speed at the end, even if stderr is not a terminal
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LinesArg {
    /// The model decides
    Free,
    /// Every line end ends a sentence
    EndSentences,
    /// Each line is one sentence
    AreSentences,
}

/// A wider beam is a mistake: its time and memory grow with its width, its accuracy does not.
const MAX_BEAM: i64 = 4096;

pub fn run(args: &ParseArgs) -> Result<ExitCode> {
    let started = Instant::now();
    refuse_several(args.output.as_deref())?;
    args.refuse_to_overwrite()?;
    let pipeline = models::open(args.model.first().map(PathBuf::as_path))?;
    let analyser = with_voters(pipeline.analyser(args.kind)?, args)?;
    // Those who wait for the answer to a line should not have to wait for a tagger; a file with tags may need none.
    if !args.files.iter().all(source::is_regular_file) {
        analyser.load()?;
    }
    let loading = started.elapsed().as_secs_f64();
    let search = analyser.parser.as_ref().map(|parser| args.search(parser)).transpose()?;
    let jobs = args.jobs.map_or_else(jobs::cores, |jobs| jobs.threads(args.read.quiet));
    output::check(args, &pipeline, &analyser)?;
    let table = args.table()?.map(Arc::new);
    if args.retag && !analyser.can_tag() {
        return Err(usage(
            "--retag needs a model with a tagger, and this one has none; without it, the tags stay as they are",
        ));
    }
    let layout = if table.is_some() { None } else { Layout::of(args)? };
    let (partial, state) = match resume::start(args, table.is_some())? {
        None => (None, None),
        Some(Start::Complete) => return Ok(ExitCode::SUCCESS),
        Some(Start::At(partial, state)) => (Some(partial), state),
    };
    let run = Run { args, pipeline: &pipeline, analyser: &analyser, search, jobs, loading, table, layout };
    let done = run.parse(partial.as_ref(), state.map(|state| State::of(&state)));
    let (Some(partial), Err(error)) = (partial, &done) else { return done };
    let message = partial.stop();
    let is_refused = error.code == Code::Usage;
    // A full disk needs room; a bad row comes again.
    let is_bad_input = error.code != Code::Io && args.read.on_error == OnError::Fail;
    let code = conclude(done);
    if let Some(message) = message.filter(|_| !is_refused) {
        say!("{message}");
        if is_bad_input {
            say!("when the input is mended, or with --on-error skip, which leaves out what is bad");
        }
    }
    Ok(code)
}

/// A run whose settings are known.
struct Run<'a> {
    args: &'a ParseArgs,
    pipeline: &'a Pipeline,
    analyser: &'a Analyser,
    search: Option<Search>,
    jobs: usize,
    loading: f64,
    table: Option<Arc<Table>>,
    layout: Option<Layout>,
}

impl Run<'_> {
    /// Parses everything; what was done before, to this state, is left out.
    fn parse(self, partial: Option<&Partial>, state: Option<State>) -> Result<ExitCode> {
        let Run { args, pipeline, analyser, search, jobs, loading, table, layout } = self;
        let errors_bytes = state.as_ref().map(|state| state.errors_bytes);
        let errors = args.errors_to.as_deref().map(|path| ErrorList::open(path, errors_bytes)).transpose()?;
        let state = state.unwrap_or_default();
        let is_of_documents = table.is_some() || layout.is_some();
        let mut output = Some(output::open(args, analyser, partial)?);
        let sink = match &table {
            None => Sink::new(args, analyser, output.as_mut().expect("it is opened"))?,
            Some(_) if partial.is_some() => {
                Sink::cells(args, analyser, output.as_mut().expect("it is opened"))
            }
            Some(table) => Sink::table(args, analyser, table.clone(), output.take().expect("it is opened")),
        };
        let form = sink.form();
        let parsing = Instant::now();
        let progress = args.progress();
        let interrupt = Interrupt::default();
        let without_tags = WithoutTags::new(args, analyser);
        let task = Task::new(args, analyser, search, &sink);
        let mut input = Input {
            args,
            pipeline,
            jobs,
            progress: &progress,
            interrupt: &interrupt,
            without_tags: &without_tags,
            layout,
            prefers_batches: analyser.parser.as_ref().is_some_and(Parser::prefers_batches),
            n_sentences: 0,
            done: Done { batches: state.batches, checksum: state.checksum },
            is_resumable: partial.is_some(),
        };
        let noted = results::Progress { partial, errors, started: parsing };
        let mut results = Results::new(args, sink, &without_tags, state, noted);
        parallel::in_order(
            jobs,
            || {
                let mut thread = task.thread();
                move |batch| thread.parse(batch)
            },
            |feeder| input.read_all(table.as_deref(), feeder),
            || interrupt.raise(),
            |event| results.take(event),
        )?;
        progress.clear();
        let Summary { totals, notices, skipping } = results.finish()?;
        if let Some(output) = output {
            output.finish()?;
        }
        if let Some(partial) = partial {
            partial.end()?;
            if let (Some(table), Form::Cells(format)) = (&table, form) {
                output::make_table(table, partial, format)?;
            }
            partial.finish()?;
        }
        if !args.read.quiet {
            notices.tell(totals.sentences);
            if args.may_replace_tags(analyser) {
                notices.tell_kept_tags();
            }
        }
        let seconds = Seconds { loading, wall: parsing.elapsed().as_secs_f64() };
        totals.report(args, jobs, seconds, search.is_some_and(search::can_prove))?;
        let what = if is_of_documents { "row" } else { "sentence" };
        match skipping.report_of(what, totals.sentences > 0) {
            // Documents and tables have rows even if there is no text in them.
            ExitCode::SUCCESS if totals.sentences == 0 && !is_of_documents => Ok(ExitCode::FAILURE),
            code => Ok(code),
        }
    }
}

impl ParseArgs {
    /// True if tags in the input could be replaced, and no flag says whether they should be.
    fn may_replace_tags(&self, analyser: &Analyser) -> bool {
        !self.retag && !self.keep_tags && !self.read.tagged && analyser.can_tag()
    }

    /// Refuses to write where something is read.
    fn refuse_to_overwrite(&self) -> Result<()> {
        let models = self.model.iter().map(|model| models::find(model)).collect::<Result<Vec<_>>>()?;
        let inputs =
            Inputs::default().with("the input", &self.files).with("the model", models.iter().flatten());
        inputs.refuse_as_output(self.output.as_deref())?;
        inputs.refuse_as_output(self.json_stats.as_deref())?;
        inputs.refuse_as_output(self.errors_to.as_deref())?;
        let trees = "the output for trees";
        refuse_same_outputs(trees, self.output.as_deref(), self.json_stats.as_deref())?;
        refuse_same_outputs(trees, self.output.as_deref(), self.errors_to.as_deref())?;
        refuse_same_outputs("the list of errors", self.errors_to.as_deref(), self.json_stats.as_deref())?;
        // A partial output takes another file's place only at the end.
        self.output.as_deref().filter(|path| !is_dash(path)).map_or(Ok(()), refuse_model)
    }

    /// A progress bar over the input, unless it would be in the way; who is to type is told so.
    fn progress(&self) -> Progress {
        let is_typed = self.files.iter().any(|path| is_dash(path)) && std::io::stdin().is_terminal();
        // Nothing may be drawn over what is being typed, nor stand before what is shown.
        let progress = if is_typed || is_shown(self.output.as_deref()) {
            Progress::hidden()
        } else {
            self.read.progress(&self.files)
        };
        if is_typed && !self.read.quiet {
            say!("Type text, and end it with Ctrl-D on a line of its own.");
        }
        progress
    }

    /// The format of the trees, if it is given.
    fn tree_format(&self) -> Option<Format> {
        self.to.and_then(FileFormat::treebank)
    }

    /// Is the input Parquet?
    fn is_parquet(&self) -> bool {
        match self.read.from {
            Some(format) => format == FileFormat::Parquet,
            None => self.files.iter().any(|path| ending(path) == "parquet"),
        }
    }

    /// The table that is read, if the input is Parquet.
    fn table(&self) -> Result<Option<Table>> {
        if let (Some(FileFormat::Treebank(format)), Some(_)) = (self.read.from, &self.text_column) {
            return Err(usage(format!("--text-column is for tables, not for {format}: leave --from out")));
        }
        if !self.is_parquet() {
            return match self.to {
                Some(FileFormat::Parquet) => Err(usage(
                    "--to parquet is for input in Parquet, which gets more columns: add --from parquet",
                )),
                _ => Ok(None),
            };
        }
        let Some(text_column) = &self.text_column else {
            return Err(usage("Parquet needs --text-column NAME, the column with the texts"));
        };
        if self.header || self.csv {
            return Err(usage("--header and --csv are for tables of text, and this is Parquet"));
        }
        if self.output.as_deref().is_none_or(is_dash) && std::io::stdout().is_terminal() {
            return Err(usage("Parquet is not for terminals: name a file with -o"));
        }
        let parse_column = self.parse_column.as_deref().unwrap_or("parse");
        Table::open(&self.files, text_column, parse_column).map(Some)
    }
}

/// The analyser, whose parser goes by the scores of further models, too, if there are any.
fn with_voters(mut analyser: Analyser, args: &ParseArgs) -> Result<Analyser> {
    let ParseArgs { weights, model, .. } = args;
    let is_weight = |weight: &f32| weight.is_finite() && *weight > 0.0;
    if !weights.is_empty() && (weights.len() != model.len() || !weights.iter().all(is_weight)) {
        let message =
            format!("--weights must have a number above 0 for each --model; there are {}", model.len());
        return Err(usage(message));
    }
    let (Some(first), Some(others)) =
        (&analyser.parser, args.model.get(1..).filter(|others| !others.is_empty()))
    else {
        return Ok(analyser);
    };
    let mut parsers = vec![first.clone()];
    for path in others {
        parsers.extend(models::open(Some(path))?.analyser(Some(first.kind()))?.parser);
    }
    analyser.parser = Some(Parser::ensemble(&parsers, &args.weights)?);
    // The weight of the tagger's score was tuned for the scores of the first model alone.
    analyser.tagger_weight = 0;
    Ok(analyser)
}
