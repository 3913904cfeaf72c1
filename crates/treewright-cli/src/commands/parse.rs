//! `treewright parse`: raw text, tokens, or words and tags, to trees.

use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::Value;
use treewright::parser::{Parser, Search, TreeKind};
use treewright::pipeline::{Analyser, AnalyserWorker, Pipeline, Tagging};
use treewright::segment::{Lines, SegmentOptions, Segmenter};
use treewright::treebank::{
    self, Entry, Format, Portion, Portions, ReadOptions, Recognised, WriteOptions, Writer,
};
use treewright::{Code, Error, Result, draw};

use crate::io::{OnError, Output, Progress, ReadArgs, Skipping, open_raw};
use crate::{models, workers};

/// Parse text, tokens or treebanks with a trained model; trees in the input are ignored
#[derive(Args)]
#[command(after_help = "\
Input that is no treebank is raw text: the model's segmenter finds sentences and tokens, its tagger the tags. Tokens
(--from tokens) are tagged; words with tags (a treebank, or --from tokens --tagged) are parsed as they are.

Examples:
  echo 'The public is still cautious.' | treewright parse
  treewright parse --as constituents letters.txt -o letters.mrg
  treewright parse --model pt.model --jsonl-field text corpus.jsonl.gz -o parsed.jsonl
  treewright parse --model wsj.model --from tokens --tagged <<< 'The/DT public/NN waits/VBZ ./.'
  treewright parse -m nl.model big.discbracket.gz --beam 8 --jobs 2 --json-stats speed.json -o parsed.discbracket")]
pub struct ParseArgs {
    /// What to parse (`-` for stdin): raw text, or any format with words
    #[arg(default_value = "-")]
    files: Vec<String>,

    /// The model: a file, or a name that `treewright models` lists [default: the English one in the program]
    #[arg(long, short)]
    model: Option<String>,

    /// Which trees, if the model can build several kinds
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<KindArg>,

    /// Format of the output [default: a drawing on a terminal; else conllu for dependencies, ptb or discbracket for
    /// constituents]
    #[arg(long, value_name = "FORMAT")]
    to: Option<Format>,

    /// Write here instead of stdout
    #[arg(long, short)]
    output: Option<String>,

    /// The input is TSV: the text stands in this column (from 1); the other columns, the sentence's number and its
    /// tree are written, a line for each sentence
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "jsonl_field"])]
    text_column: Option<usize>,

    /// The input is JSON, one document a line: the text stands in this field; each document is written with a field
    /// `trees`
    #[arg(long, value_name = "FIELD", conflicts_with = "from")]
    jsonl_field: Option<String>,

    /// What line ends in raw text mean
    #[arg(long, value_enum, default_value_t = LinesArg::Free)]
    lines: LinesArg,

    /// Tag anew, also words that have tags
    #[arg(long)]
    retag: bool,

    /// Do not try the second tag of words for which the tagger could hardly decide: up to twice as fast, a little less
    /// accurate (models that gained nothing from it in training never try)
    #[arg(long)]
    first_tags: bool,

    /// How to search [default: as trained]
    #[arg(long, value_enum)]
    decoder: Option<DecoderArg>,

    /// Keep this many hypotheses; 1 is greedy [default: as trained]
    #[arg(long)]
    beam: Option<usize>,

    /// Drop hypotheses that are further behind than this many in hundred of the winners ever were on the development
    /// set; 100 drops none. Less is faster [default: 95]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    keep: Option<u8>,

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

#[derive(Clone, Copy, ValueEnum)]
enum KindArg {
    Dependencies,
    Constituents,
}

#[derive(Clone, Copy, ValueEnum)]
enum LinesArg {
    /// What the model makes of them
    Free,
    /// A line end always ends a sentence
    EndSentences,
    /// Each line is one sentence
    AreSentences,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DecoderArg {
    Greedy,
    Beam,
}

impl ParseArgs {
    fn search(&self, default: Search) -> Result<Search> {
        let beam = match (self.decoder, self.beam) {
            (Some(DecoderArg::Greedy), None | Some(1)) => 1,
            (Some(DecoderArg::Greedy), Some(_)) => {
                let message = "--decoder greedy has no beam: leave --beam out";
                return Err(Error::new(Code::BadTraining, 0, 0, message));
            }
            (_, Some(beam)) => beam.max(1),
            // A model trained greedily has no beam of its own.
            (Some(DecoderArg::Beam), None) => default.beam.max(4),
            (None, None) => default.beam,
        };
        let keep = self.keep.map_or(default.keep, usize::from);
        Ok(Search { beam, k_best: self.k_best.max(1), keep })
    }
}

/// Sentences that go to a thread together: enough to make the hand-over cheap, few enough to bound memory.
const BATCH: usize = 64;

/// So many bytes that a thread reads itself go to it together.
const PORTION: usize = 1 << 16;

/// Work for a thread.
enum Batch {
    /// Sentences.
    Sentences(Vec<Entry>),
    /// All sentences of one document.
    Document(Vec<Entry>, Document),
    /// What is still to be read.
    Unread(Portion, Format, Arc<ReadOptions>),
    /// No more portions of this file come.
    EndOfFile(Arc<ReadOptions>),
}

/// A document of a corpus, without its text.
enum Document {
    Json(serde_json::Map<String, Value>),
    /// The columns but that of the text.
    Row(String),
}

/// A batch that was parsed.
struct Parsed {
    trees: Trees,
    n_sentences: usize,
    n_tokens: usize,
    /// The time it took.
    seconds: f64,
    /// What a thread read itself.
    read: Option<PortionRead>,
}

/// What came of a portion.
#[derive(Default)]
struct PortionRead {
    /// Errors and sentences.
    n_items: usize,
    errors: Vec<Error>,
    has_sentence_without_tags: bool,
    /// The file, if this is its end.
    ends: Option<Arc<ReadOptions>>,
}

impl PortionRead {
    /// Reads a portion; up to its first error, if that is to be the end.
    fn of(portion: &Portion, format: Format, options: &ReadOptions, on_error: OnError) -> (Vec<Entry>, Self) {
        let (mut entries, mut read) = (Vec::new(), PortionRead::default());
        for item in portion.read(format, options) {
            read.n_items += 1;
            match item {
                Ok(entry) => {
                    read.has_sentence_without_tags |= !has_tags(&entry);
                    entries.push(entry);
                }
                Err(error) => {
                    read.errors.push(error);
                    if on_error == OnError::Fail {
                        break;
                    }
                }
            }
        }
        (entries, read)
    }
}

/// The trees of a batch.
enum Trees {
    Entries(Vec<Vec<Entry>>, Option<Document>),
    /// Written already, by the thread that parsed them and has them at hand.
    Text {
        text: Vec<u8>,
        n_entries: usize,
        /// What could not be written behind that, with its number in the batch.
        error: Option<Error>,
    },
}

impl Trees {
    /// Written at once, if a format is given.
    fn of(entries: Vec<Vec<Entry>>, document: Option<Document>, format: Option<Format>) -> Self {
        let Some(format) = format else { return Trees::Entries(entries, document) };
        let mut text = Vec::new();
        let error = write_all(entries.iter().flatten(), format, &mut text).err();
        Trees::Text { text, n_entries: entries.iter().map(Vec::len).sum(), error }
    }
}

pub fn run(args: &ParseArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let pipeline = models::open(args.model.as_deref())?;
    let kind = args.kind.map(|kind| match kind {
        KindArg::Dependencies => TreeKind::Dependencies,
        KindArg::Constituents => TreeKind::Constituents,
    });
    let analyser = pipeline.analyser(kind)?;
    let loading = started.elapsed().as_secs_f64();
    let search = analyser.parser.as_ref().map(|parser| args.search(parser.default_search())).transpose()?;
    let jobs =
        args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
    let mut output = Output::create(args.output.as_deref())?;
    let mut sink = Sink::new(args, &analyser, &mut output)?;
    let mut totals = Totals::default();
    let parsing = Instant::now();
    let progress = args.read.progress(&args.files);
    let tagging = if args.retag { Tagging::Always } else { Tagging::Missing };
    let by_workers = sink.format_for_workers();
    let worker = || {
        let close_calls = if args.first_tags { 0 } else { analyser.close_calls };
        let mut worker = analyser.worker(search, tagging).with_close_calls(close_calls);
        move |batch: Batch| {
            let (entries, document, read) = match batch {
                Batch::Sentences(entries) => (entries, None, None),
                Batch::Document(entries, document) => (entries, Some(document), None),
                Batch::Unread(portion, format, options) => {
                    let (entries, read) = PortionRead::of(&portion, format, &options, args.read.on_error);
                    (entries, None, Some(read))
                }
                Batch::EndOfFile(options) => {
                    (Vec::new(), None, Some(PortionRead { ends: Some(options), ..PortionRead::default() }))
                }
            };
            let started = Instant::now();
            let parse = |entry| parse_entry(&mut worker, entry, args.k_best);
            let entries: Vec<Vec<Entry>> = entries.into_iter().map(parse).collect();
            let seconds = started.elapsed().as_secs_f64();
            let n_tokens = entries.iter().map(|entries| entries[0].sentence.len()).sum();
            let n_sentences = entries.len();
            Parsed { trees: Trees::of(entries, document, by_workers), n_sentences, n_tokens, seconds, read }
        }
    };
    let skipping = RefCell::new(Skipping::new(args.read.on_error));
    let without_tags = WithoutTags::new(args, &analyser);
    let mut input = Input {
        args,
        pipeline: &pipeline,
        segmenter: None,
        progress: &progress,
        skipping: &skipping,
        without_tags: &without_tags,
    };
    let mut n_items_of_file = 0;
    workers::in_order(
        jobs,
        worker,
        |send| args.files.iter().try_for_each(|path| input.read(path, send)),
        |Parsed { trees, n_sentences, n_tokens, seconds, read }| {
            totals.seconds += seconds;
            totals.sentences += n_sentences;
            totals.tokens += n_tokens;
            sink.write(trees)?;
            let Some(read) = read else { return Ok(()) };
            if read.has_sentence_without_tags {
                without_tags.warn();
            }
            for error in read.errors {
                let sentence = n_items_of_file + error.location.sentence;
                skipping.borrow_mut().accept(Err::<(), _>(error.in_sentence(sentence)))?;
            }
            n_items_of_file += read.n_items;
            match read.ends {
                Some(options) if n_items_of_file == 0 => Err(treebank::empty_input().in_file(&options.file)),
                Some(_) => {
                    n_items_of_file = 0;
                    Ok(())
                }
                None => Ok(()),
            }
        },
    )?;
    progress.clear();
    sink.finish()?;
    drop(sink);
    output.finish()?;
    totals.report(args, jobs, loading, parsing.elapsed().as_secs_f64())?;
    Ok(skipping.into_inner().report())
}

/// Where sentences come from.
struct Input<'a> {
    args: &'a ParseArgs,
    pipeline: &'a Pipeline,
    /// Loaded when raw text comes.
    segmenter: Option<Segmenter>,
    progress: &'a Progress,
    skipping: &'a RefCell<Skipping>,
    without_tags: &'a WithoutTags,
}

impl Input<'_> {
    fn read(&mut self, path: &str, send: &mut dyn FnMut(Batch) -> Result<()>) -> Result<()> {
        let args = self.args;
        let in_documents = args.text_column.is_some() || args.jsonl_field.is_some();
        let text = Some(Format::Text);
        let options = ReadOptions { fallback: text, ..args.read.options(path) };
        let options = if in_documents { ReadOptions { format: text, ..options } } else { options };
        let Recognised { format, source, .. } =
            treebank::recognise(self.progress.watch(open_raw(path)?), &options)?;
        if format.has_blank_lines() {
            let options = Arc::new(options);
            for portion in Portions::new(source, PORTION) {
                let portion = portion.map_err(|error| error.in_file(&options.file))?;
                send(Batch::Unread(portion, format, options.clone()))?;
            }
            return send(Batch::EndOfFile(options));
        }
        let mut batch = Vec::new();
        let read = self.read_sentences(format, source, &options, &mut batch, send);
        if !batch.is_empty() {
            send(Batch::Sentences(batch))?;
        }
        read
    }

    /// Sends what is read in batches; what is left of the last stays in `batch`, though there be an error.
    fn read_sentences(
        &mut self,
        format: Format,
        source: impl std::io::Read + Send,
        options: &ReadOptions,
        batch: &mut Vec<Entry>,
        send: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let args = self.args;
        let in_documents = args.text_column.is_some() || args.jsonl_field.is_some();
        let mut add = |entry: Entry, batch: &mut Vec<Entry>| -> Result<()> {
            batch.push(entry);
            if batch.len() == BATCH { send(Batch::Sentences(std::mem::take(batch))) } else { Ok(()) }
        };
        if format != Format::Text {
            for item in treebank::reader(format, source, options) {
                // Not borrowed while the entry is sent, for then results are taken.
                let accepted = self.skipping.borrow_mut().accept(item)?;
                if let Some(entry) = accepted {
                    if !has_tags(&entry) {
                        self.without_tags.warn();
                    }
                    add(entry, batch)?;
                }
            }
        } else {
            if self.segmenter.is_none() {
                self.segmenter = self.pipeline.segmenter()?;
            }
            let Some(segmenter) = &self.segmenter else {
                let message = "this is raw text, and the model has no segmenter: give it tokens (--from tokens, \
                               one sentence a line) or use a model with one";
                return Err(Error::new(Code::BadModel, 0, 0, message).in_file(&options.file));
            };
            let lines = match args.lines {
                LinesArg::Free => Lines::Free,
                LinesArg::EndSentences => Lines::EndSentences,
                LinesArg::AreSentences => Lines::AreSentences,
            };
            let cut = SegmentOptions { lines, ..SegmentOptions::default() };
            let source = BufReader::with_capacity(1 << 16, source);
            if in_documents {
                return self.read_documents(source, &options.file, segmenter, &cut, send);
            }
            for sentence in segmenter.read(source, &cut) {
                let sentence = sentence.map_err(|error| error.in_file(&options.file))?;
                add(Entry { sentence, tree: None }, batch)?;
            }
        }
        Ok(())
    }

    /// One document a line, each a batch of its own.
    fn read_documents(
        &self,
        source: impl BufRead,
        file: &str,
        segmenter: &Segmenter,
        cut: &SegmentOptions,
        send: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        for (number, line) in source.lines().enumerate() {
            let error =
                |code, column, message: String| Error::new(code, number + 1, column, message).in_file(file);
            let line = line.map_err(|cause| match cause.kind() {
                std::io::ErrorKind::InvalidData => {
                    error(Code::InvalidUtf8, 1, "this line is not UTF-8".to_owned())
                }
                _ => Error::from(cause).in_file(file),
            })?;
            if line.is_empty() && self.args.jsonl_field.is_some() {
                continue;
            }
            let (text, document) = if let Some(field) = &self.args.jsonl_field {
                let value: Value = serde_json::from_str(&line)
                    .map_err(|cause| error(Code::BadJson, cause.column(), cause.to_string()))?;
                let Value::Object(object) = value else {
                    return Err(error(Code::BadJson, 1, "expected a JSON object".to_owned()));
                };
                let Some(Value::String(text)) = object.get(field) else {
                    return Err(error(Code::BadJson, 1, format!("expected a string in the field {field:?}")));
                };
                (text.clone(), Document::Json(object))
            } else {
                let column = self.args.text_column.expect("one of the two");
                let columns: Vec<&str> = line.split('\t').collect();
                let Some(text) = column.checked_sub(1).and_then(|at| columns.get(at)) else {
                    let message = format!("expected text in column {column}; there are {}", columns.len());
                    return Err(error(Code::ColumnCount, 1, message));
                };
                let rest = columns.iter().enumerate().filter(|(i, _)| i + 1 != column);
                let rest: Vec<&str> = rest.map(|(_, column)| *column).collect();
                (text.to_string(), Document::Row(rest.join("\t")))
            };
            let sentences = segmenter.segment(&text, cut).sentences.into_iter();
            let entries = sentences.map(|sentence| Entry { sentence, tree: None }).collect();
            send(Batch::Document(entries, document))?;
        }
        Ok(())
    }
}

/// A parser that was trained with tags does badly without: the user should know, once.
struct WithoutTags {
    is_due: Cell<bool>,
}

impl WithoutTags {
    fn new(args: &ParseArgs, analyser: &Analyser) -> Self {
        WithoutTags { is_due: Cell::new(analyser.tagger.is_none() && !args.read.quiet) }
    }

    fn warn(&self) {
        if self.is_due.replace(false) {
            eprintln!("note: the input has no tags and the model has no tagger; the trees will be poor");
        }
    }
}

fn has_tags(entry: &Entry) -> bool {
    entry.sentence.tokens.iter().any(|token| !token.tag.is_empty() || !token.xpos.is_empty())
}

/// The entry with the parser's trees instead of its own: one entry per parse wanted.
fn parse_entry(worker: &mut AnalyserWorker<'_>, mut entry: Entry, k_best: usize) -> Vec<Entry> {
    if k_best <= 1 {
        let tree = worker.analyse(&mut entry.sentence);
        return vec![Entry { tree, ..entry }];
    }
    let parses = worker.analyse_k_best(&mut entry.sentence).into_iter().enumerate();
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
fn default_format(parser: Option<&Parser>) -> Format {
    match parser.map(|parser| parser.info().system.name()) {
        Some(name) if name.starts_with("sr-") => Format::Discbracket,
        Some(name) if !name.starts_with("arc-") => Format::Ptb,
        _ => Format::Conllu,
    }
}

/// Where trees go.
enum Sink<'a> {
    /// A file that is a sequence of trees.
    Sequence {
        output: &'a mut Output,
        format: Format,
        n_entries: usize,
    },
    Treebank(Box<dyn Writer + 'a>),
    Drawing {
        output: &'a mut Output,
        options: draw::TerminalOptions,
        n_drawn: usize,
    },
    Documents {
        output: &'a mut Output,
        format: Format,
    },
}

impl<'a> Sink<'a> {
    fn new(args: &ParseArgs, analyser: &Analyser, output: &'a mut Output) -> Result<Self> {
        let path = args.output.as_deref();
        let given = args.to.or_else(|| Format::from_path(path?));
        let format = given.unwrap_or_else(|| default_format(analyser.parser.as_ref()));
        if args.jsonl_field.is_some() {
            return Ok(Sink::Documents { output, format: args.to.unwrap_or(format) });
        }
        if args.text_column.is_some() {
            let format = args.to.unwrap_or(if format == Format::Conllu { Format::Json } else { format });
            if !matches!(format, Format::Json | Format::Ptb | Format::Discbracket | Format::Tokens) {
                let message =
                    format!("a tree in {format} takes several lines; write json, ptb or discbracket");
                return Err(Error::new(Code::WrongTreeKind, 0, 0, message));
            }
            return Ok(Sink::Documents { output, format });
        }
        let on_terminal = path.is_none() && std::io::stdout().is_terminal();
        if on_terminal && given.is_none() && analyser.parser.is_some() {
            let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
            let color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            let options = draw::TerminalOptions { width, color, ascii: false };
            return Ok(Sink::Drawing { output, options, n_drawn: 0 });
        }
        let gzip = path.is_some_and(|path| path.ends_with(".gz"));
        if format.is_sequence() && !gzip {
            return Ok(Sink::Sequence { output, format, n_entries: 0 });
        }
        let options = WriteOptions { gzip, tagged: args.read.tagged, ..WriteOptions::default() };
        Ok(Sink::Treebank(treebank::writer(format, output, &options)?))
    }

    /// What the workers are to write trees as, if they are.
    fn format_for_workers(&self) -> Option<Format> {
        match self {
            Sink::Sequence { format, .. } => Some(*format),
            Sink::Treebank(_) | Sink::Drawing { .. } | Sink::Documents { .. } => None,
        }
    }

    fn write(&mut self, trees: Trees) -> Result<()> {
        match (self, trees) {
            (Sink::Sequence { output, n_entries, .. }, Trees::Text { text, n_entries: more, error }) => {
                output.write_all(&text)?;
                if let Some(error) = error {
                    let sentence = error.location.sentence;
                    return Err(error.in_sentence(*n_entries + sentence));
                }
                *n_entries += more;
                Ok(())
            }
            (sink, Trees::Entries(entries, document)) => sink.write_entries(&entries, document),
            _ => unreachable!("workers write for sequences alone"),
        }
    }

    fn write_entries(&mut self, parsed: &[Vec<Entry>], document: Option<Document>) -> Result<()> {
        match self {
            Sink::Sequence { .. } => unreachable!("workers write for sequences"),
            Sink::Treebank(writer) => parsed.iter().flatten().try_for_each(|entry| writer.write(entry)),
            Sink::Drawing { output, options, n_drawn } => {
                for entry in parsed.iter().flatten().filter(|entry| entry.tree.is_some()) {
                    let layout = draw::Layout::of(entry, &draw::Options::default())?.with_title("");
                    let separator = if *n_drawn > 0 { "\n" } else { "" };
                    write!(output, "{separator}{}", draw::terminal(&layout, options)?)?;
                    *n_drawn += 1;
                }
                output.flush()?;
                Ok(())
            }
            Sink::Documents { output, format } => {
                let texts: Vec<String> = parsed
                    .iter()
                    .map(|entries| entries.iter().map(|entry| as_text(entry, *format)).collect())
                    .collect::<Result<_>>()?;
                match document.expect("every batch is a document here") {
                    Document::Json(mut object) => {
                        let tree = |text: String| match format {
                            Format::Json => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                            _ => Value::String(text),
                        };
                        object.insert("trees".to_owned(), texts.into_iter().map(tree).collect());
                        serde_json::to_writer(&mut **output, &object)
                            .map_err(|error| Error::from(std::io::Error::from(error)))?;
                        writeln!(output)?;
                    }
                    Document::Row(rest) => {
                        // A document without a sentence keeps its place, too.
                        if texts.is_empty() {
                            writeln!(output, "{rest}\t0\t")?;
                        }
                        for (number, text) in texts.iter().enumerate() {
                            writeln!(output, "{rest}\t{}\t{}", number + 1, text.trim_end())?;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn finish(&mut self) -> Result<()> {
        match self {
            Sink::Treebank(writer) => writer.finish(),
            Sink::Sequence { .. } | Sink::Drawing { .. } | Sink::Documents { .. } => Ok(()),
        }
    }
}

/// One tree as text.
fn as_text(entry: &Entry, format: Format) -> Result<String> {
    let mut bytes = Vec::new();
    write_all([entry].into_iter(), format, &mut bytes)?;
    Ok(String::from_utf8(bytes).expect("formats write UTF-8"))
}

/// Writes trees; those before one that cannot be written are there all the same.
fn write_all<'a>(entries: impl Iterator<Item = &'a Entry>, format: Format, out: &mut Vec<u8>) -> Result<()> {
    let mut writer = treebank::writer(format, out, &WriteOptions::default())?;
    for entry in entries {
        if let Err(error) = writer.write(entry) {
            writer.finish()?;
            return Err(error);
        }
    }
    writer.finish()
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
        // Under a drawing of one sentence, figures about speed are noise.
        let to_people = std::io::stderr().is_terminal() && self.sentences > 20;
        if !args.read.quiet && (args.verbose || to_people) {
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
