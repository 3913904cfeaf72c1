//! Text to trees and back: bytes, columns, comments, line numbers.
//!
//! A reader is an iterator over `Result<Entry>` that holds one sentence at a time; after an error it goes on with
//! the next sentence, so that a caller may skip. Writers take entries one by one.
//!
//! This is the door: [`open`] unzips, detects the format and gives a reader; [`reader`] and [`writer`] are for a
//! format that is known. No file is opened here: everything goes through `Read` and `Write`.
//!
//! ```
//! use treewright::treebank::{self, Format, ReadOptions, WriteOptions};
//!
//! let text = "1\tSleep\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n";
//! let mut out = Vec::new();
//! let mut writer = treebank::writer(Format::Conllu, &mut out, &WriteOptions::default())?;
//! for entry in treebank::open(text.as_bytes(), &ReadOptions::default())?.reader {
//!     writer.write(&entry?)?;
//! }
//! writer.finish()?;
//! drop(writer);
//! assert_eq!(out, text.as_bytes());
//! # Ok::<(), treewright::Error>(())
//! ```

mod alpino;
mod bracket;
mod bracket_scan;
mod conllu;
mod discbracket;
mod encoding;
mod export;
mod foreign;
mod format;
mod gzip;
mod json;
pub mod lines;
mod losses;
mod parse_info;
mod portions;
#[cfg(test)]
mod random;
mod sniff;
#[cfg(test)]
mod testing;
mod tigerxml;
mod tokens;
mod write;
mod xml;

use std::io::{Read, Write};

pub use encoding::Encoding;
pub use format::Format;
pub use lines::Limit;
pub use parse_info::ParseInfo;
pub use portions::{Portion, Portions};
pub use tokens::tokenize;
pub use write::{Writer, WriterState};

use crate::error::{Code, Error, Result};
use crate::sentence::Str;
pub use crate::tree::Entry;
use foreign::Kind;
use sniff::{Sniffed, sniff};

/// The sentences of a treebank, read one at a time. After an error it goes on with the next sentence; after an I/O
/// error it ends.
pub type Reader<'a> = Box<dyn Iterator<Item = Result<Entry>> + Send + 'a>;

/// Bytes to be read. The readers take this one type, so that they are compiled once, here, with all optimisations.
type Source<'a> = Box<dyn Read + Send + 'a>;

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The input's name, for error messages and for recognising the format; may be empty.
    pub file: String,
    /// The format.
    pub format: InputFormat,
    /// The encoding, if it is not UTF-8; UTF-16 with a byte order mark needs none.
    pub encoding: Option<Encoding>,
    /// CoNLL-U: may a sentence have several roots? (CoNLL-X always may.)
    pub many_roots: bool,
    /// `tokens`: is each token a `word/TAG`?
    pub tagged: bool,
    /// CoNLL-U and CoNLL-X: true if heads and relations are left unread, so that no mistake in them matters.
    pub words_only: bool,
    /// Brackets: is a tree without words, or a blank line, an entry without words and tree instead of an error?
    pub no_parse: bool,
    /// Brackets: is `(X word)` a constituent above a word without a tag, instead of a word with the tag X?
    pub bare_words: bool,
    /// Penn brackets: is `--` a tag like any other, as it is to EVALB, instead of no tag?
    pub literal_tags: bool,
    /// Export: the label of the virtual root; `TOP` if absent.
    pub root_label: Option<Str>,
    /// How large one sentence may be.
    pub limit: Limit,
}

/// How the format of an input is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputFormat {
    /// It is recognised by the name, then by the content.
    #[default]
    Recognised,
    /// The same; it is this one when neither tells. With [`Format::Text`], anything is text that is not clearly a treebank,
    /// also in a file whose name says that it is text; no more is read before it is asked for than is needed to know.
    RecognisedOr(Format),
    /// It is this one.
    Given(Format),
}

impl From<Option<Format>> for InputFormat {
    fn from(given: Option<Format>) -> Self {
        given.map_or(InputFormat::Recognised, InputFormat::Given)
    }
}

/// How to write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// `tokens`: write each token as `word/TAG`.
    pub tagged: bool,
    /// Export: the label of the root that is left out; `TOP` if absent.
    pub root_label: Option<Str>,
    /// Export: 3 or 4; if absent, 4 from the first sentence with lemmas on, 3 before.
    pub export_version: Option<u32>,
}

/// What [`open`] found.
pub struct Opened<'a> {
    /// The format, given or recognised.
    pub format: Format,
    /// Was the input compressed?
    pub gzip: bool,
    /// The sentences.
    pub reader: Reader<'a>,
}

/// An input whose format is known, before it is read.
pub struct Recognised<'a> {
    /// The format, given or recognised.
    pub format: Format,
    /// Was the input compressed?
    pub gzip: bool,
    /// Did the content show the format, rather than the options or the name?
    pub by_content: bool,
    /// The bytes, uncompressed, as UTF-8.
    pub source: Box<dyn Read + Send + 'a>,
}

/// Unzips `source` if it is gzip and finds out its format if the options do not tell.
///
/// # Errors
/// When the input is empty, its format unknown or that of a file which is no text, such as PDF, or its first bytes cannot
/// be read.
pub fn recognise<'a>(source: impl Read + Send + 'a, options: &ReadOptions) -> Result<Recognised<'a>> {
    let in_file = |error: Error| error.in_file(&options.file);
    let (given, fallback) = match options.format {
        InputFormat::Recognised => (None, None),
        InputFormat::RecognisedOr(format) => (None, Some(format)),
        InputFormat::Given(format) => (Some(format), None),
    };
    let prefers_text = fallback == Some(Format::Text);
    let by_name =
        Format::from_path(&options.file).filter(|&format| !(prefers_text && format == Format::Text));
    let known = given.or(by_name);
    let is_known = |head: &[u8]| foreign::kind_of(head, false) != Kind::Unknown;
    let enough = |head: &[u8]| {
        known.is_some() || prefers_text && is_known(head) && sniff(head, false) != Sniffed::Unknown
    };
    let plain = gzip::unzip(source, options.encoding, enough).map_err(in_file)?;
    let gzip = plain.gzip;
    if let (None, Kind::Foreign(foreign)) = (known, foreign::kind_of(plain.peek(), true)) {
        return Err(in_file(foreign.error()));
    }
    let shown = || match sniff(plain.peek(), true) {
        Sniffed::Treebank(format) => Some(format),
        Sniffed::Prose | Sniffed::Unknown => None,
    };
    let shown = || if prefers_text { shown() } else { Format::detect(plain.peek()) };
    let by_content = if known.is_some() { None } else { shown() };
    let format = match known.or(by_content).or(fallback) {
        Some(format) => format,
        None if plain.peek().is_empty() => return Err(in_file(empty_input())),
        None => {
            let message = format!("this is none of the formats {}; name the one it is", Format::names());
            return Err(in_file(Error::at(Code::UnknownFormat, 1, 1, message)));
        }
    };
    let by_content = by_content.is_some();
    Ok(Recognised { format, gzip, by_content, source: Box::new(plain) })
}

/// Recognises an input and reads it.
///
/// # Errors
/// As [`recognise`].
pub fn open<'a>(source: impl Read + Send + 'a, options: &ReadOptions) -> Result<Opened<'a>> {
    let Recognised { format, gzip, source, .. } = recognise(source, options)?;
    Ok(Opened { format, gzip, reader: reader(format, source, options) })
}

/// Reads text in a known format, uncompressed.
pub fn reader<'a>(format: Format, source: impl Read + Send + 'a, options: &ReadOptions) -> Reader<'a> {
    let mut numbered = numbered_reader(format, Box::new(source), options);
    let mut is_empty = true;
    Box::new(std::iter::from_fn(move || {
        let item = numbered.next().or_else(|| is_empty.then(|| Err(numbered.in_file(empty_input()))));
        is_empty = false;
        item
    }))
}

/// The same, but an input without a sentence is no error.
fn numbered_reader<'a>(format: Format, source: Source<'a>, options: &ReadOptions) -> Numbered<'a> {
    let inner: Reader<'a> = match format {
        Format::Conllu | Format::Conllx => Box::new(conllu::ConlluReader::new(source, format, options)),
        Format::Ptb => Box::new(bracket::reader(source, options)),
        Format::Discbracket => Box::new(discbracket::reader(source, options)),
        Format::Export => Box::new(export::ExportReader::new(source, options)),
        Format::Tigerxml => Box::new(tigerxml::reader(source, options)),
        Format::Alpino => Box::new(alpino::reader(source, options)),
        Format::Json => Box::new(json::reader(source, options)),
        Format::Text | Format::Tokens => Box::new(tokens::reader(source, format, options)),
    };
    Numbered { inner, file: options.file.clone(), n_sentences: 0 }
}

/// Writes a format. Small writes are gathered; `finish` flushes, so call it.
///
/// # Errors
/// When the format can be read only.
pub fn writer<'a>(format: Format, sink: impl Write + 'a, options: &WriteOptions) -> Result<Writer<'a>> {
    let layout: Box<dyn write::Layout> = match format {
        Format::Conllu | Format::Conllx => Box::new(conllu::ConlluLayout(format)),
        Format::Ptb => Box::new(bracket::Brackets { with_index: false }),
        Format::Discbracket => Box::new(bracket::Brackets { with_index: true }),
        Format::Export => Box::new(export::ExportLayout::new(options)),
        Format::Tigerxml => Box::new(tigerxml::TigerLayout),
        Format::Json => Box::new(json::JsonLayout),
        Format::Text | Format::Tokens => Box::new(tokens::TokensLayout::new(format, options)),
        Format::Alpino => return Err(Error::new(Code::UnknownFormat, "alpino can be read but not written")),
    };
    Ok(Writer::new(layout, Box::new(sink)))
}

/// Sentences with their trees as text.
///
/// # Errors
/// When the format cannot hold one of them.
pub fn to_string<'a>(entries: impl IntoIterator<Item = &'a Entry>, format: Format) -> Result<String> {
    let mut bytes = Vec::new();
    let mut writer = writer(format, &mut bytes, &WriteOptions::default())?;
    entries.into_iter().try_for_each(|entry| writer.write(entry))?;
    writer.finish()?;
    drop(writer);
    Ok(String::from_utf8(bytes).expect("every format is written as UTF-8"))
}

/// An input without a sentence.
pub fn empty_input() -> Error {
    Error::at(Code::EmptyInput, 1, 1, "the input is empty; expected at least one sentence")
}

/// Puts the file and, unless the reader knows better, the number of the sentence into errors.
struct Numbered<'a> {
    inner: Reader<'a>,
    file: String,
    n_sentences: usize,
}

impl Numbered<'_> {
    fn in_file(&self, error: Error) -> Error {
        error.in_file(&self.file)
    }
}

impl Iterator for Numbered<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.inner.next()?;
        self.n_sentences += 1;
        Some(item.map_err(|mut error| {
            if error.location.sentence == 0 {
                error.location.sentence = self.n_sentences;
            }
            self.in_file(error)
        }))
    }
}

#[cfg(test)]
mod tests;
