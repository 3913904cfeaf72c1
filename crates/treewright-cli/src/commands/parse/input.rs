//! What `treewright parse` reads, in batches that go to the threads.

use std::io::{self, BufReader, IsTerminal, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use treewright::parallel::Feeder;
use treewright::pipeline::{Analyser, Pipeline};
use treewright::segment::{Lines, SegmentOptions, Segmenter};
use treewright::treebank::lines::nul_byte;
use treewright::treebank::{self, Entry, Format, InputFormat, Portion, Portions, ReadOptions, Recognised};
use treewright::{Code, Error, Result, Sentence};

use super::documents::{Document, DocumentReader, Item, Layout, Place};
use super::parquet::Table;
use super::resume::{Done, Skimmer};
use super::source::{Interrupt, Live, is_regular_file};
use super::text_lines::{GoodLines, LimitedLines};
use super::{LinesArg, ParseArgs};
use crate::io::{OnError, Progress, advised, endings, is_dash, open_raw, say, usage, with_encoding};

/// Sentences that go to a thread together: enough to make the hand-over cheap, few enough to bound memory.
const BATCH: usize = 64;
/// A thread gets no further sentences with these when their words are this many.
const BATCH_WORDS: usize = 1 << 13;
/// A sentence with more words takes so much memory that only few such are parsed at the same time.
const LARGE: usize = 1 << 12;

/// About this many bytes that a thread reads itself go to it together.
const PORTION: usize = 1 << 16;
/// The same for parsers that are faster with many sentences at once.
const LARGE_PORTION: usize = 1 << 18;

/// Work for a thread.
pub(super) enum Batch {
    /// Sentences.
    Sentences(Vec<Entry>),
    /// The sentences of documents, and how many of them each document has.
    Documents(Vec<Entry>, Documents),
    /// What is still to be read.
    Unread(Portion, Format, Arc<FileInfo>),
    /// Something that could not be read and is left out.
    Bad(Error),
    /// No more portions of this file come.
    EndOfFile(Arc<FileInfo>),
}

type Documents = Vec<Item>;

/// A batch on its way to a thread.
pub(super) struct Given {
    pub batch: Batch,
    /// The checksum of all input to its end; nothing if it was cut short, so that a run cannot go on after it.
    pub checksum: Option<u32>,
}

impl Batch {
    /// The words of its sentences, if these are so long that only few of them may be parsed at the same time.
    fn weight(&self) -> usize {
        match self {
            Batch::Sentences(entries) | Batch::Documents(entries, _) => {
                entries.iter().map(|entry| entry.sentence.len()).filter(|length| *length > LARGE).sum()
            }
            // One that is longer than a portion may be. A row of CoNLL-U has twenty bytes or more.
            Batch::Unread(portion, ..) if portion.bytes().len() > 2 * LARGE_PORTION => {
                portion.bytes().len() / 20
            }
            _ => 0,
        }
    }

    /// Its sentences, its documents if that is what they are of, and what came of reading if that is done only now.
    pub(super) fn read(self, on_error: OnError) -> (Vec<Entry>, Documents, Option<PortionRead>) {
        match self {
            Batch::Sentences(entries) => (entries, Vec::new(), None),
            Batch::Documents(entries, documents) => (entries, documents, None),
            Batch::Unread(portion, format, file) => {
                let (entries, read) = PortionRead::of(&portion, format, &file, on_error);
                (entries, Vec::new(), Some(read))
            }
            Batch::Bad(error) => {
                let read = PortionRead { errors: vec![error], ..PortionRead::default() };
                (Vec::new(), Vec::new(), Some(read))
            }
            Batch::EndOfFile(file) => {
                let read = PortionRead { ends: Some(file), ..PortionRead::default() };
                (Vec::new(), Vec::new(), Some(read))
            }
        }
    }
}

/// What there is to know for reading a file.
pub(super) struct FileInfo {
    pub options: ReadOptions,
    format: Format,
    /// Was the format seen in the content, so that it might be raw text all the same?
    by_content: bool,
}

impl FileInfo {
    /// The error, with the way out if the file may be something else than it was taken for.
    pub(super) fn explained(&self, mut error: Error) -> Error {
        if self.format == Format::Json && error.code == Code::BadJson {
            error
                .message
                .push_str("; if these are documents, name the field with the text: --jsonl-field text");
        }
        if self.by_content && error.code != Code::Io {
            error.message.push_str("; if this is raw text, say --from text");
        }
        advised(error, &self.options)
    }
}

/// What came of a portion.
#[derive(Default)]
pub(super) struct PortionRead {
    /// Errors and sentences.
    pub n_items: usize,
    pub errors: Vec<Error>,
    pub has_sentence_without_tags: bool,
    /// The file, if this is its end.
    pub ends: Option<Arc<FileInfo>>,
}

impl PortionRead {
    /// Reads a portion; up to its first error, if that is to be the end.
    pub(super) fn of(
        portion: &Portion,
        format: Format,
        file: &FileInfo,
        on_error: OnError,
    ) -> (Vec<Entry>, Self) {
        let (mut entries, mut read) = (Vec::new(), PortionRead::default());
        for item in portion.read(format, &file.options) {
            read.n_items += 1;
            match item {
                Ok(entry) => {
                    read.has_sentence_without_tags |= !entry.sentence.has_tags();
                    entries.push(entry);
                }
                Err(error) => {
                    let is_last = on_error.is_fatal(&error);
                    read.errors.push(file.explained(error));
                    if is_last {
                        break;
                    }
                }
            }
        }
        (entries, read)
    }
}

/// Work that is gathered until it is worth handing over, or until there is nothing to do but wait for input.
pub(super) struct Pending<'a> {
    feeder: Feeder<'a, Given>,
    skimmer: Skimmer,
    on_error: OnError,
    entries: Vec<Entry>,
    documents: Documents,
    /// The words of the entries.
    n_words: usize,
}

impl<'a> Pending<'a> {
    fn new(feeder: Feeder<'a, Given>, skimmer: Skimmer, on_error: OnError) -> Self {
        Pending { feeder, skimmer, on_error, entries: Vec::new(), documents: Vec::new(), n_words: 0 }
    }

    fn sentence(&mut self, entry: Entry) -> Result<()> {
        self.n_words += entry.sentence.len();
        self.entries.push(entry);
        self.send_if_enough()
    }

    pub(super) fn document(
        &mut self,
        document: Document,
        place: Place,
        entries: impl Iterator<Item = Entry>,
    ) -> Result<()> {
        let before = self.entries.len();
        self.entries.extend(entries);
        let n_sentences = self.entries.len() - before;
        self.n_words += self.entries[before..].iter().map(|entry| entry.sentence.len()).sum::<usize>();
        self.documents.push(Item { document, place, n_sentences });
        self.send_if_enough()
    }

    fn send_if_enough(&mut self) -> Result<()> {
        let n = self.entries.len().max(self.documents.len());
        if n >= BATCH || self.n_words >= BATCH_WORDS { self.send() } else { Ok(()) }
    }

    /// Something that cannot be read: the end, or left out.
    pub(super) fn bad(&mut self, error: Error) -> Result<()> {
        let error = with_encoding(error);
        if self.on_error.is_fatal(&error) {
            return Err(error);
        }
        self.give(Batch::Bad(error))
    }

    /// Takes the batch that has been gathered, if there is one.
    fn gathered(&mut self) -> Option<Batch> {
        let (entries, documents) = (std::mem::take(&mut self.entries), std::mem::take(&mut self.documents));
        self.n_words = 0;
        if !documents.is_empty() {
            Some(Batch::Documents(entries, documents))
        } else if !entries.is_empty() {
            Some(Batch::Sentences(entries))
        } else {
            None
        }
    }

    /// Sends what has been gathered.
    fn send(&mut self) -> Result<()> {
        self.gathered().map_or(Ok(()), |batch| self.pass(batch))
    }

    /// Sends what has been gathered before an error: in a run without the error, more would have come with it.
    fn send_last(&mut self) -> Result<()> {
        match self.gathered() {
            Some(batch) if !self.skimmer.is_skipping() => {
                self.feeder.give_weighing(batch.weight(), Given { batch, checksum: None })
            }
            _ => Ok(()),
        }
    }

    /// Sends what has been gathered, and this.
    fn give(&mut self, batch: Batch) -> Result<()> {
        self.send()?;
        self.pass(batch)
    }

    /// Gives a batch to the threads, unless it was done before.
    fn pass(&mut self, batch: Batch) -> Result<()> {
        match self.skimmer.take(&batch)? {
            None => Ok(()),
            checksum => self.feeder.give_weighing(batch.weight(), Given { batch, checksum }),
        }
    }
}

/// [`Pending`], for the loop that reads and for the source that it reads from.
pub(super) struct SharedPending<'a>(Mutex<Pending<'a>>);

impl<'a> SharedPending<'a> {
    fn new(pending: Pending<'a>) -> Self {
        SharedPending(Mutex::new(pending))
    }

    pub(super) fn with<T>(&self, change: impl FnOnce(&mut Pending<'a>) -> T) -> T {
        change(&mut self.0.lock().expect("nobody panics while changing it"))
    }
}

/// Where sentences come from.
pub(super) struct Input<'a> {
    pub args: &'a ParseArgs,
    pub pipeline: &'a Pipeline,
    pub jobs: usize,
    pub progress: &'a Progress,
    pub interrupt: &'a Interrupt,
    pub without_tags: &'a WithoutTags,
    /// How documents are laid out, if the input has any.
    pub layout: Option<Layout>,
    /// Is the parser faster with many sentences at once?
    pub prefers_batches: bool,
    /// Sentences of raw text so far.
    pub n_sentences: usize,
    /// The batches that an earlier run has done.
    pub done: Done,
    /// True if the run can be resumed.
    pub is_resumable: bool,
}

impl Input<'_> {
    /// Reads all files, or the table that stands for them, and hands out what is in them.
    pub(super) fn read_all(&mut self, table: Option<&Table>, feeder: Feeder<'_, Given>) -> Result<()> {
        let args = self.args;
        let skimmer = Skimmer::new(self.done, self.is_resumable);
        let pending = SharedPending::new(Pending::new(feeder, skimmer, args.read.on_error));
        match table {
            Some(table) => self.read_table(table, &pending),
            None => args.files.iter().try_for_each(|path| self.read(path, &pending)),
        }?;
        pending.with(|pending| pending.skimmer.finish())
    }

    fn read(&mut self, path: &Path, pending: &SharedPending<'_>) -> Result<()> {
        let read = self.read_file(path, pending);
        pending.with(|pending| if read.is_err() { pending.send_last() } else { pending.send() })?;
        read
    }

    fn read_file(&mut self, path: &Path, pending: &SharedPending<'_>) -> Result<()> {
        let args = self.args;
        // Trees in the input are ignored, and mistakes in them.
        let mut options = ReadOptions { words_only: true, ..args.read.options(path) };
        if self.layout.is_some() {
            options.format = InputFormat::Given(Format::Text);
        } else if options.format == InputFormat::Recognised {
            options.format = InputFormat::RecognisedOr(Format::Text);
        }
        let is_live = !is_regular_file(path);
        let bytes = self.progress.watch(open_raw(path)?);
        let source: Box<dyn Read + Send + '_> = if is_live {
            // An error here comes again with the next thing that is sent.
            let send = || drop(pending.with(Pending::send));
            Box::new(Live::new(bytes, self.interrupt, send))
        } else {
            bytes
        };
        let Recognised { format, source, by_content, .. } =
            treebank::recognise(source, &options).map_err(|error| advised(error, &options))?;
        if options.tagged && format != Format::Tokens {
            let message = format!(
                "--tagged is for tokens written as word/TAG, and {} is {format}: add --from tokens, or leave --tagged out",
                options.file
            );
            return Err(usage(message));
        }
        let is_table = matches!(&endings::ending(path)[..], "csv" | "tsv");
        if format == Format::Text && is_table && self.layout.is_none() && args.read.from.is_none() {
            let message = format!(
                "by its name, {} is a table: name the column with the text (--text-column text, or its number), or \
                 say --from text",
                options.file
            );
            return Err(usage(message));
        }
        let file = FileInfo { options, format, by_content };
        if format.has_blank_lines() {
            let size = if self.prefers_batches { LARGE_PORTION } else { PORTION };
            return send_portions(source, format, file, (is_live, size), pending);
        }
        if format == Format::Text {
            let n_before = self.n_sentences;
            self.read_text(source, path, is_live, &file.options, pending)?;
            if self.n_sentences == n_before && self.layout.is_none() && !args.read.quiet {
                say!("note: there is no text in {}", file.options.file);
            }
            return Ok(());
        }
        for item in treebank::reader(format, source, &file.options) {
            match item.map_err(|error| file.explained(error)) {
                Ok(entry) => {
                    if !entry.sentence.has_tags() {
                        self.without_tags.warn();
                    }
                    pending.with(|pending| pending.sentence(entry))?;
                }
                Err(error) => pending.with(|pending| pending.bad(error))?,
            }
        }
        Ok(())
    }

    /// The rows of Parquet files.
    fn read_table(&mut self, table: &Table, pending: &SharedPending<'_>) -> Result<()> {
        let segmenter = &self.segmenter(&self.args.files[0].to_string_lossy())?;
        let cut = SegmentOptions { lines: self.lines(false), ..SegmentOptions::default() };
        let limit = self.args.read.max_sentence_bytes.unwrap_or_default();
        let mut name: Arc<str> = Arc::from("");
        table.for_each_row(|text, file, number| {
            if *name != *file {
                name = Arc::from(file);
            }
            let name = name.clone();
            let reader =
                DocumentReader { file, name, on_error: self.args.read.on_error, segmenter, cut: &cut, limit };
            reader.send_cell(text, number, pending)
        })?;
        pending.with(Pending::send)
    }

    /// What cuts raw text.
    fn segmenter(&self, file: &str) -> Result<Arc<Segmenter>> {
        self.pipeline.segmenter()?.ok_or_else(|| {
            let message = "this is raw text, and the model has no segmenter: give it tokens (--from tokens, one \
                           sentence a line) or use a model with one";
            Error::new(Code::BadModel, message).in_file(file)
        })
    }

    /// What the ends of lines mean.
    fn lines(&self, is_typed: bool) -> Lines {
        match self.args.lines {
            None if is_typed => Lines::EndSentences,
            None | Some(LinesArg::Free) => Lines::Free,
            Some(LinesArg::EndSentences) => Lines::EndSentences,
            Some(LinesArg::AreSentences) => Lines::AreSentences,
        }
    }

    /// Raw text, or documents with some in them.
    fn read_text(
        &mut self,
        source: Box<dyn Read + Send + '_>,
        path: &Path,
        is_live: bool,
        options: &ReadOptions,
        pending: &SharedPending<'_>,
    ) -> Result<()> {
        let segmenter = &self.segmenter(&options.file)?;
        let lines = self.lines(is_dash(path) && io::stdin().is_terminal());
        let cut = SegmentOptions { lines, ..SegmentOptions::default() };
        if let Some(layout) = &mut self.layout {
            let reader = DocumentReader {
                file: &options.file,
                name: Arc::from(&options.file[..]),
                on_error: self.args.read.on_error,
                segmenter,
                cut: &cut,
                limit: options.limit,
            };
            return reader.read(layout, source, pending);
        }
        let document = (!is_dash(path)).then_some(&options.file[..]);
        let in_file = |error: Error| error.in_file(&options.file);
        let n_sentences = &mut self.n_sentences;
        let mut send = |mut sentence: Sentence| {
            *n_sentences += 1;
            name_sentence(&mut sentence, *n_sentences, document);
            pending.with(|pending| pending.sentence(Entry { sentence, ..Entry::default() }))
        };
        let source: Box<dyn Read + '_> = match self.args.read.on_error {
            OnError::Skip => Box::new(GoodLines::new(source, options, pending)),
            // What is typed or comes through a pipe is parsed as soon as it is there: no thread waits for a portion.
            OnError::Fail if self.jobs > 1 && !is_live => {
                let source = LimitedLines::new(source, options);
                return segmenter.read_in_parallel(source, &cut, self.jobs, send).map_err(in_file);
            }
            OnError::Fail => Box::new(LimitedLines::new(source, options)),
        };
        let mut sentences = segmenter.read(BufReader::with_capacity(1 << 16, source), &cut);
        sentences.try_for_each(|sentence| send(sentence.map_err(in_file)?))
    }
}

/// Sends text whose sentences end with blank lines; the threads will read it.
fn send_portions(
    source: Box<dyn Read + Send + '_>,
    format: Format,
    file: FileInfo,
    (is_live, size): (bool, usize),
    pending: &SharedPending<'_>,
) -> Result<()> {
    let file = Arc::new(file);
    let limit = file.options.limit;
    let portions = match is_live {
        true => Portions::eager(source, size, limit),
        false => Portions::new(source, size, limit),
    };
    for portion in portions {
        let portion = portion.map_err(|error| error.in_file(&file.options.file))?;
        pending.with(|pending| pending.give(Batch::Unread(portion, format, file.clone())))?;
    }
    pending.with(|pending| pending.give(Batch::EndOfFile(file)))
}

/// Adds the number, and the name of the document to its first sentence.
fn name_sentence(sentence: &mut Sentence, number: usize, document: Option<&str>) {
    sentence.id = number.to_string().into();
    let comments = &mut sentence.comments;
    if let Some(first) = comments.first_mut()
        && *first == "# newdoc"
        && let Some(name) = document.filter(|name| !name.contains(char::is_control))
    {
        *first = format!("# newdoc id = {name}").into();
    }
    // Before the text, which is the last.
    comments.insert(comments.len().saturating_sub(1), format!("# sent_id = {number}").into());
}

/// A line as text.
pub(super) fn valid_text<'a>(line: &'a [u8], number: usize, file: &str) -> Result<&'a str> {
    if let Some(nul) = memchr::memchr(0, line) {
        let before = String::from_utf8_lossy(&line[..nul]);
        return Err(nul_byte(number, before.chars().count() + 1).in_file(file));
    }
    std::str::from_utf8(line).map_err(|error| {
        let valid = String::from_utf8_lossy(&line[..error.valid_up_to()]);
        let message =
            "bytes that are not UTF-8; expected UTF-8 text, or its encoding (such as --encoding latin1)";
        Error::at(Code::InvalidUtf8, number, valid.chars().count() + 1, message).in_file(file)
    })
}

/// A parser that was trained with tags does badly without: the user should know, once.
pub(super) struct WithoutTags {
    is_due: AtomicBool,
}

impl WithoutTags {
    pub(super) fn new(args: &ParseArgs, analyser: &Analyser) -> Self {
        WithoutTags { is_due: AtomicBool::new(analyser.lacks_tagger() && !args.read.quiet) }
    }

    pub(super) fn warn(&self) {
        if self.is_due.swap(false, Ordering::Relaxed) {
            say!("note: the input has no tags and the model has no tagger; the trees will be poor");
        }
    }
}
