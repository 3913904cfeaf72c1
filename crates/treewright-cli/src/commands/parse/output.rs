//! What `treewright parse` writes: treebanks, documents with their trees, drawings.

use std::fs::File;
use std::io::{BufReader, IsTerminal, Write};
use std::sync::Arc;

use treewright::model::Parser;
use treewright::pipeline::{Analyser, PartKind, Pipeline};
use treewright::tree::TreeKind;
use treewright::treebank::{self, Entry, Format, WriteOptions, Writer, WriterState};
use treewright::{Error, Result, draw};

use super::ParseArgs;
use super::documents::{self, Item, Problem};
use super::parquet::{Cell, Table, TableWriter};
use crate::io::endings::Promise;
use crate::io::partial::Partial;
use crate::io::{OnError, Output, usage};
use crate::values::FileFormat;

/// The trees of a batch.
pub(super) enum Trees {
    /// For the rows of a table.
    Cells(Vec<Cell>),
    Entries(Vec<Vec<Entry>>),
    /// Written already, by the thread that parsed them.
    Text {
        text: Vec<u8>,
        n_entries: usize,
        /// What could not be written after that, with its number in the batch.
        error: Option<Error>,
    },
}

/// What the trees of a batch are to be.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// [`Trees::Cells`], with trees in this format.
    Cells(Format),
    /// [`Trees::Entries`].
    Entries,
    /// [`Trees::Text`] in this format.
    Text(Format),
}

impl Trees {
    /// The trees of a batch, in the form that is wanted; adds what has none to the problems.
    pub(super) fn of(
        entries: Vec<Vec<Entry>>,
        documents: &[Item],
        form: Form,
        on_error: OnError,
        problems: &mut Vec<Problem>,
    ) -> Self {
        match form {
            Form::Entries => Trees::Entries(entries),
            Form::Cells(format) => Trees::cells(&entries, documents, format, problems),
            Form::Text(format) => Trees::text(&entries, documents, format, on_error, problems),
        }
    }

    /// For the rows of a table.
    fn cells(
        mut entries: &[Vec<Entry>],
        documents: &[Item],
        format: Format,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let cell = |item: &Item| {
            let (sentences, others) = entries.split_at(item.n_sentences);
            entries = others;
            Cell::of(item, sentences, format, problems)
        };
        Trees::Cells(documents.iter().map(cell).collect())
    }

    /// Written at once.
    fn text(
        entries: &[Vec<Entry>],
        documents: &[Item],
        format: Format,
        on_error: OnError,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut text = Vec::new();
        let written = match documents {
            [] => write_all(entries.iter().flatten(), format, on_error, problems, &mut text),
            documents => documents::write(documents, entries, format, on_error, problems, &mut text),
        };
        Trees::Text { text, n_entries: entries.iter().map(Vec::len).sum(), error: written.err() }
    }
}

/// What a model's trees are written as unless the user says otherwise.
fn default_format(parser: Option<&Parser>) -> Format {
    parser.map_or(Format::Conllu, |parser| parser.info().system.info().format())
}

/// Refuses an output in which the trees would be lost or could not be written, before anything is parsed.
pub(super) fn check(args: &ParseArgs, pipeline: &Pipeline, analyser: &Analyser) -> Result<()> {
    check_name(args, analyser)?;
    let path = args.output.as_deref().map_or("-".into(), |path| path.to_string_lossy());
    let Some(kind) = analyser.parser.as_ref().map(Parser::kind) else { return Ok(()) };
    let Some(format) = given_format(args) else { return Ok(()) };
    let (suggested, other) = match kind {
        TreeKind::Dependencies => ("conllu", TreeKind::Constituents),
        TreeKind::Constituents if default_format(analyser.parser.as_ref()) == Format::Ptb => {
            ("ptb", TreeKind::Dependencies)
        }
        TreeKind::Constituents => ("discbracket", TreeKind::Dependencies),
    };
    if args.k_best > 1 && matches!(format, Format::Text | Format::Tokens | Format::Conllx) {
        let message = format!("{format} has no place for the numbers and scores of several parses");
        return Err(usage(format!("{message}: use --to {suggested} or --to json")));
    }
    match format {
        Format::Text | Format::Tokens if args.text_column.is_some() => {
            Err(usage(format!("{format} holds words alone, and the column is for trees: use --to json")))
        }
        Format::Text | Format::Tokens if args.tree_format().is_none() => Err(usage(format!(
            "by its name, {path:?} is a file of words alone ({format}), and the trees would be lost: add --to \
             {suggested} for trees, or --to {format} for words"
        ))),
        Format::Text | Format::Tokens | Format::Json => Ok(()),
        Format::Alpino => Err(usage(format!("alpino can be read but not written: use --to {suggested}"))),
        _ if kind_of(format) == Some(kind) => Ok(()),
        _ if pipeline.parts().any(|(part, _)| part == PartKind::Parser(other)) => Err(usage(format!(
            "{format} holds {other}, and these trees are {kind}: add --as {other}, or use --to {suggested}"
        ))),
        _ => Err(usage(format!(
            "{format} holds {other}, and this model's trees are {kind}: use --to {suggested}"
        ))),
    }
}

/// Refuses an output whose name says that it is something else than what will be written.
fn check_name(args: &ParseArgs, analyser: &Analyser) -> Result<()> {
    let Some(path) = args.output.as_deref() else { return Ok(()) };
    let Some(promise) = Promise::of(path) else { return Ok(()) };
    let (written, is_right) = if args.jsonl_field.is_some() {
        let is_right = matches!(promise, Promise::Treebank(Format::Json | Format::Text));
        ("JSON, a document a line".to_owned(), is_right)
    } else if args.is_parquet() {
        // --to names the trees' format, or the table's.
        (Promise::Parquet.name(), promise == Promise::Parquet || args.to == Some(FileFormat::Parquet))
    } else if args.text_column.is_some() {
        if args.read.from.is_some() {
            // The flags do not go together, which is said later.
            return Ok(());
        }
        let table = if documents::is_csv(args) { Promise::Csv } else { Promise::Tsv };
        (table.name(), promise == table || promise == Promise::Treebank(Format::Text))
    } else {
        let format = default_format(analyser.parser.as_ref());
        let refused = if args.to.is_none() { promise.refuses(format, path) } else { None };
        return refused.map_or(Ok(()), |message| Err(usage(message)));
    };
    if is_right {
        return Ok(());
    }
    let (path, promised) = (path.to_string_lossy(), promise.name());
    Err(usage(format!(
        "by its name, {path:?} is {promised}, and the documents are written as they were read, as {written}: name \
         another file"
    )))
}

/// The format that the user names, or that the name of the output shows.
fn given_format(args: &ParseArgs) -> Option<Format> {
    // What documents are written to does not say how their trees are.
    let is_of_documents = args.jsonl_field.is_some() || args.text_column.is_some();
    let by_name = || Format::from_path(&args.output.as_deref()?.to_string_lossy());
    args.tree_format().or_else(|| if is_of_documents { None } else { by_name() })
}

/// Are the trees drawn on the terminal?
pub(super) fn is_drawn(args: &ParseArgs, analyser: &Analyser) -> bool {
    let is_of_documents = args.jsonl_field.is_some() || args.text_column.is_some();
    let is_tree = analyser.parser.is_some() && given_format(args).is_none() && !is_of_documents;
    is_tree && args.output.is_none() && std::io::stdout().is_terminal()
}

/// Opens the output.
pub(super) fn open(args: &ParseArgs, analyser: &Analyser, partial: Option<&Partial>) -> Result<Output> {
    if let Some(partial) = partial {
        Ok(Output::partial(partial.clone()))
    } else if is_drawn(args, analyser) {
        Ok(Output::stdout_with_colors())
    } else {
        Output::create(args.output.as_deref())
    }
}

/// What a format holds, if not everything.
fn kind_of(format: Format) -> Option<TreeKind> {
    match format {
        Format::Conllu | Format::Conllx => Some(TreeKind::Dependencies),
        Format::Ptb | Format::Discbracket | Format::Export | Format::Tigerxml | Format::Alpino => {
            Some(TreeKind::Constituents)
        }
        Format::Json | Format::Text | Format::Tokens => None,
    }
}

/// Where trees go.
pub(super) enum Sink<'a> {
    /// A table that gets more columns.
    Table(TableWriter),
    /// Cells of which a table is made at the end.
    Cells {
        output: &'a mut Output,
        format: Format,
    },
    /// A file that is a sequence of trees, or of documents with trees.
    Sequence {
        output: &'a mut Output,
        format: Format,
        n_entries: usize,
    },
    Treebank {
        writer: Writer<'a>,
        is_json: bool,
    },
    Drawing {
        output: &'a mut Output,
        options: draw::TerminalOptions,
        n_drawn: usize,
    },
}

impl<'a> Sink<'a> {
    pub(super) fn new(args: &ParseArgs, analyser: &Analyser, output: &'a mut Output) -> Result<Self> {
        let format = given_format(args).unwrap_or_else(|| default_format(analyser.parser.as_ref()));
        // What the output file is called says how documents are written, not their trees.
        if args.jsonl_field.is_some() {
            return Ok(Sink::Sequence {
                output,
                format: args.tree_format().unwrap_or(Format::Json),
                n_entries: 0,
            });
        }
        if args.text_column.is_some() {
            let format =
                args.tree_format().unwrap_or_else(|| match default_format(analyser.parser.as_ref()) {
                    Format::Conllu => Format::Json,
                    format => format,
                });
            if !matches!(format, Format::Json | Format::Ptb | Format::Discbracket | Format::Tokens) {
                let message =
                    format!("a tree in {format} takes several lines; write json, ptb or discbracket");
                return Err(usage(message));
            }
            return Ok(Sink::Sequence { output, format, n_entries: 0 });
        }
        if is_drawn(args, analyser) {
            let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
            let color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            let options = draw::TerminalOptions { width, color, ascii: false };
            return Ok(Sink::Drawing { output, options, n_drawn: 0 });
        }
        if format.is_sequence() {
            return Ok(Sink::Sequence { output, format, n_entries: 0 });
        }
        let options = WriteOptions { tagged: args.read.tagged, ..WriteOptions::default() };
        let is_json = format == Format::Json;
        Ok(Sink::Treebank { writer: treebank::writer(format, output, &options)?, is_json })
    }

    /// A table, written by a thread of its own.
    #[cfg_attr(not(feature = "parquet"), expect(unreachable_code, reason = "there are no tables"))]
    pub(super) fn table(args: &ParseArgs, analyser: &Analyser, table: Arc<Table>, output: Output) -> Self {
        let format = args.tree_format().unwrap_or_else(|| default_format(analyser.parser.as_ref()));
        Sink::Table(TableWriter::start(table, output, format))
    }

    /// Cells for a table, to be kept until there are all.
    pub(super) fn cells(args: &ParseArgs, analyser: &Analyser, output: &'a mut Output) -> Self {
        let format = args.tree_format().unwrap_or_else(|| default_format(analyser.parser.as_ref()));
        Sink::Cells { output, format }
    }

    /// The number of entries, and the state of a writer.
    pub(super) fn state(&self) -> (usize, WriterState) {
        match self {
            Sink::Sequence { n_entries, .. } => (*n_entries, WriterState::default()),
            Sink::Treebank { writer, .. } => (0, writer.state()),
            Sink::Table(_) | Sink::Cells { .. } | Sink::Drawing { .. } => (0, WriterState::default()),
        }
    }

    /// Goes on in this state.
    pub(super) fn go_on(&mut self, entries: usize, state: WriterState) {
        match self {
            Sink::Sequence { n_entries, .. } => *n_entries = entries,
            Sink::Treebank { writer, .. } => writer.go_on(state),
            Sink::Table(_) | Sink::Cells { .. } | Sink::Drawing { .. } => {}
        }
    }

    /// Is there a place for the score of each tree?
    pub(super) fn has_scores(&self) -> bool {
        match self {
            Sink::Table(writer) => writer.format() == Format::Json,
            Sink::Sequence { format, .. } | Sink::Cells { format, .. } => *format == Format::Json,
            Sink::Treebank { is_json, .. } => *is_json,
            Sink::Drawing { .. } => false,
        }
    }

    /// In which form it takes trees.
    pub(super) fn form(&self) -> Form {
        match self {
            Sink::Table(writer) => Form::Cells(writer.format()),
            Sink::Cells { format, .. } => Form::Cells(*format),
            Sink::Sequence { format, .. } => Form::Text(*format),
            Sink::Treebank { .. } | Sink::Drawing { .. } => Form::Entries,
        }
    }

    /// Writes the trees of a batch, and adds to its problems; sentences in those count from the start of the output.
    pub(super) fn write(
        &mut self,
        trees: Trees,
        on_error: OnError,
        problems: &mut Vec<Problem>,
    ) -> Result<()> {
        match (self, trees) {
            (Sink::Table(writer), Trees::Cells(cells)) => writer.write(cells),
            (Sink::Cells { output, .. }, Trees::Cells(cells)) => {
                cells.iter().try_for_each(|cell| cell.write(*output))
            }
            (Sink::Sequence { output, n_entries, .. }, Trees::Text { text, n_entries: more, error }) => {
                output.write_all(&text)?;
                for problem in problems.iter_mut().filter(|problem| problem.is_failure) {
                    let sentence = &mut problem.error.location.sentence;
                    *sentence += if *sentence > 0 { *n_entries } else { 0 };
                }
                if let Some(error) = error {
                    let sentence = error.location.sentence;
                    return Err(error.in_sentence(*n_entries + sentence));
                }
                *n_entries += more;
                Ok(())
            }
            (Sink::Treebank { writer, .. }, Trees::Entries(entries)) => {
                entries.iter().flatten().try_for_each(|entry| match writer.write(entry) {
                    Err(error) if !on_error.is_fatal(&error) => {
                        problems.push(Problem { is_failure: true, error });
                        Ok(())
                    }
                    written => written,
                })
            }
            (Sink::Drawing { output, options, n_drawn }, Trees::Entries(entries)) => {
                for entry in entries.iter().flatten().filter(|entry| entry.tree.is_some()) {
                    let title = title(entry);
                    let layout = draw::Layout::of(entry, &draw::Options::default())?.with_title(title);
                    let separator = if *n_drawn > 0 { "\n" } else { "" };
                    write!(output, "{separator}{}", draw::terminal(&layout, options)?)?;
                    *n_drawn += 1;
                }
                output.flush()?;
                Ok(())
            }
            _ => unreachable!("workers write sequences, and nothing else"),
        }
    }

    /// Shows the trees written so far to the reader of the output.
    pub(super) fn flush(&mut self) -> Result<()> {
        match self {
            Sink::Treebank { writer, .. } => writer.flush(),
            Sink::Table(_) => Ok(()),
            Sink::Sequence { output, .. } | Sink::Cells { output, .. } | Sink::Drawing { output, .. } => {
                Ok(output.flush()?)
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        match self {
            Sink::Treebank { writer, .. } => writer.finish(),
            Sink::Table(writer) => writer.finish(),
            Sink::Sequence { .. } | Sink::Cells { .. } | Sink::Drawing { .. } => Ok(()),
        }
    }
}

/// Makes a table of the cells that were kept.
#[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "there are no tables"))]
pub(super) fn make_table(table: &Arc<Table>, partial: &Partial, format: Format) -> Result<()> {
    let in_file = |error: Error| error.in_file(&partial.path().to_string_lossy());
    let source = File::open(partial.path()).map_err(Error::from).map_err(in_file)?;
    let mut source = BufReader::with_capacity(1 << 16, source);
    let mut writer = TableWriter::start(table.clone(), Output::create(Some(&partial.target()))?, format);
    loop {
        let cells = Cell::read_some(&mut source).map_err(in_file)?;
        if cells.is_empty() {
            return writer.finish();
        }
        writer.write(cells)?;
    }
}

/// What stands above a drawing: which of several parses it is.
fn title(entry: &Entry) -> String {
    let comments = &entry.sentence.comments;
    let value = |name: &str| comments.iter().rev().find_map(|c| c.strip_prefix("# ")?.strip_prefix(name));
    let (probability, share) = (value("probability = "), value("share_of_kept = "));
    match (value("parse = "), value("score = "), probability.or(share)) {
        (Some(parse), Some(score), Some(figure)) => {
            let name = if probability.is_some() { "probability" } else { "share of kept" };
            format!("parse {parse}, score {score}, {name} {figure}")
        }
        _ => String::new(),
    }
}

/// Writes trees; those before one that cannot be written are there all the same, and where that is no reason to stop, those
/// after it.
fn write_all<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    format: Format,
    on_error: OnError,
    problems: &mut Vec<Problem>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut writer = treebank::writer(format, out, &WriteOptions::default())?;
    for entry in entries {
        if let Err(error) = writer.write(entry) {
            if on_error.is_fatal(&error) {
                writer.finish()?;
                return Err(error);
            }
            problems.push(Problem { is_failure: true, error });
        }
    }
    writer.finish()
}
