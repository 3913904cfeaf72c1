//! What `treewright parse` reads, in batches that go to the threads.

use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use treewright::pipeline::{Analyser, Pipeline};
use treewright::segment::{Lines, SegmentOptions, Segmenter};
use treewright::treebank::{self, Entry, Format, Portion, Portions, ReadOptions, Recognised};
use treewright::{Code, Error, Result};

use super::{LinesArg, ParseArgs};
use crate::io::{OnError, Progress, Skipping, open_raw, say};

/// Sentences that go to a thread together: enough to make the hand-over cheap, few enough to bound memory.
const BATCH: usize = 64;

/// So many bytes that a thread reads itself go to it together.
const PORTION: usize = 1 << 16;

/// Work for a thread.
pub(super) enum Batch {
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
pub(super) enum Document {
    Json(serde_json::Map<String, Value>),
    /// The columns but that of the text.
    Row(String),
}

/// What came of a portion.
#[derive(Default)]
pub(super) struct PortionRead {
    /// Errors and sentences.
    pub(super) n_items: usize,
    pub(super) errors: Vec<Error>,
    pub(super) has_sentence_without_tags: bool,
    /// The file, if this is its end.
    pub(super) ends: Option<Arc<ReadOptions>>,
}

impl PortionRead {
    /// Reads a portion; up to its first error, if that is to be the end.
    pub(super) fn of(
        portion: &Portion,
        format: Format,
        options: &ReadOptions,
        on_error: OnError,
    ) -> (Vec<Entry>, Self) {
        let (mut entries, mut read) = (Vec::new(), PortionRead::default());
        for item in portion.read(format, options) {
            read.n_items += 1;
            match item {
                Ok(entry) => {
                    read.has_sentence_without_tags |= !entry.sentence.has_tags();
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

/// Where sentences come from.
pub(super) struct Input<'a> {
    pub(super) args: &'a ParseArgs,
    pub(super) pipeline: &'a Pipeline,
    /// Loaded when raw text comes.
    pub(super) segmenter: Option<Segmenter>,
    pub(super) progress: &'a Progress,
    pub(super) skipping: &'a RefCell<Skipping>,
    pub(super) without_tags: &'a WithoutTags,
}

impl Input<'_> {
    /// Is it a corpus, with a document in each line?
    fn is_of_documents(&self) -> bool {
        self.args.text_column.is_some() || self.args.jsonl_field.is_some()
    }

    pub(super) fn read(&mut self, path: &Path, send: &mut dyn FnMut(Batch) -> Result<()>) -> Result<()> {
        let args = self.args;
        let in_documents = self.is_of_documents();
        let text = Some(Format::Text);
        let options = ReadOptions { fallback: text, ..args.read.options(path) };
        let options = if in_documents { ReadOptions { format: text, ..options } } else { options };
        let Recognised { format, source, .. } =
            treebank::recognise(self.progress.watch(open_raw(path)?), &options)?;
        if format.has_blank_lines() {
            let options = Arc::new(options);
            for portion in Portions::new(source, PORTION, options.limit) {
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
        let mut add = |entry: Entry, batch: &mut Vec<Entry>| -> Result<()> {
            batch.push(entry);
            if batch.len() == BATCH { send(Batch::Sentences(std::mem::take(batch))) } else { Ok(()) }
        };
        if format != Format::Text {
            for item in treebank::reader(format, source, options) {
                // Not borrowed while the entry is sent, for then results are taken.
                let accepted = self.skipping.borrow_mut().accept(item)?;
                if let Some(entry) = accepted {
                    if !entry.sentence.has_tags() {
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
            if self.is_of_documents() {
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
pub(super) struct WithoutTags {
    is_due: Cell<bool>,
}

impl WithoutTags {
    pub(super) fn new(args: &ParseArgs, analyser: &Analyser) -> Self {
        WithoutTags { is_due: Cell::new(analyser.tagger.is_none() && !args.read.quiet) }
    }

    pub(super) fn warn(&self) {
        if self.is_due.replace(false) {
            say!("note: the input has no tags and the model has no tagger; the trees will be poor");
        }
    }
}
