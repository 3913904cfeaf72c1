//! What `treewright parse` writes: treebanks, documents with their trees, drawings.

use std::io::{IsTerminal, Write};

use serde_json::Value;
use treewright::parser::Parser;
use treewright::pipeline::Analyser;
use treewright::treebank::{self, Entry, Format, WriteOptions, Writer};
use treewright::{Code, Error, Result, draw};

use super::ParseArgs;
use super::input::Document;
use crate::io::Output;

/// The trees of a batch.
pub(super) enum Trees {
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
    pub(super) fn of(entries: Vec<Vec<Entry>>, document: Option<Document>, format: Option<Format>) -> Self {
        let Some(format) = format else { return Trees::Entries(entries, document) };
        let mut text = Vec::new();
        let error = write_all(entries.iter().flatten(), format, &mut text).err();
        Trees::Text { text, n_entries: entries.iter().map(Vec::len).sum(), error }
    }
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
pub(super) enum Sink<'a> {
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
    pub(super) fn new(args: &ParseArgs, analyser: &Analyser, output: &'a mut Output) -> Result<Self> {
        let path = args.output.as_deref();
        let given = args.to.or_else(|| Format::from_path(&path?.to_string_lossy()));
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
        if format.is_sequence() {
            return Ok(Sink::Sequence { output, format, n_entries: 0 });
        }
        let options = WriteOptions { tagged: args.read.tagged, ..WriteOptions::default() };
        Ok(Sink::Treebank(treebank::writer(format, output, &options)?))
    }

    /// What the workers are to write trees as, if they are.
    pub(super) fn format_for_workers(&self) -> Option<Format> {
        match self {
            Sink::Sequence { format, .. } => Some(*format),
            Sink::Treebank(_) | Sink::Drawing { .. } | Sink::Documents { .. } => None,
        }
    }

    pub(super) fn write(&mut self, trees: Trees) -> Result<()> {
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
            (Sink::Treebank(writer), Trees::Entries(entries, _)) => {
                entries.iter().flatten().try_for_each(|entry| writer.write(entry))
            }
            (Sink::Drawing { output, options, n_drawn }, Trees::Entries(entries, _)) => {
                for entry in entries.iter().flatten().filter(|entry| entry.tree.is_some()) {
                    let layout = draw::Layout::of(entry, &draw::Options::default())?.with_title("");
                    let separator = if *n_drawn > 0 { "\n" } else { "" };
                    write!(output, "{separator}{}", draw::terminal(&layout, options)?)?;
                    *n_drawn += 1;
                }
                output.flush()?;
                Ok(())
            }
            (Sink::Documents { output, format }, Trees::Entries(entries, Some(document))) => {
                write_document(output, *format, &entries, document)
            }
            _ => unreachable!(
                "workers write for sequences, and documents are read where documents are written"
            ),
        }
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        match self {
            Sink::Treebank(writer) => writer.finish(),
            Sink::Sequence { .. } | Sink::Drawing { .. } | Sink::Documents { .. } => Ok(()),
        }
    }
}

/// A document with its trees.
fn write_document(
    output: &mut Output,
    format: Format,
    parsed: &[Vec<Entry>],
    document: Document,
) -> Result<()> {
    let texts: Vec<String> = parsed
        .iter()
        .map(|entries| entries.iter().map(|entry| as_text(entry, format)).collect())
        .collect::<Result<_>>()?;
    match document {
        Document::Json(mut object) => {
            let tree = |text: String| match format {
                Format::Json => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                _ => Value::String(text),
            };
            object.insert("trees".to_owned(), texts.into_iter().map(tree).collect());
            serde_json::to_writer(&mut *output, &object)
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
