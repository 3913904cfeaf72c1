//! The one writer: it gathers a sentence in memory, so that nothing of one that a format cannot hold is written.

use std::io::{BufWriter, Write};

use serde::{Deserialize, Serialize};

use super::Entry;
use crate::error::{Code, Error, Result};
use crate::tree::{ConstituentTree, Tree};

/// How a format writes sentences.
pub(super) trait Layout {
    /// Adds the sentence with this number, from 1, to `out`; what is there after an error is not written.
    fn entry(&mut self, entry: &Entry, number: usize, out: &mut Vec<u8>) -> Result<()>;

    /// What stands before the first sentence and after the last one.
    fn frame(&self) -> [&'static str; 2] {
        ["", ""]
    }

    /// The version of the format that the last sentence was written in, where a file may change it on the way.
    fn version(&self) -> Option<u32> {
        None
    }

    /// Goes on after other sentences, the last of which was written in this version.
    fn go_on(&mut self, _version: Option<u32>) {}
}

/// The state of a [`Writer`], on which the next sentence depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WriterState {
    n_sentences: usize,
    has_started: bool,
    version: Option<u32>,
}

/// A streaming writer of any format.
pub struct Writer<'a> {
    layout: Box<dyn Layout>,
    sink: BufWriter<Box<dyn Write + 'a>>,
    text: Vec<u8>,
    n_sentences: usize,
    has_started: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(layout: Box<dyn Layout>, sink: Box<dyn Write + 'a>) -> Self {
        let sink = BufWriter::with_capacity(1 << 16, sink);
        Writer { layout, sink, text: Vec::new(), n_sentences: 0, has_started: false }
    }

    /// Writes one sentence.
    ///
    /// # Errors
    /// When the format cannot hold this entry, or the output fails.
    pub fn write(&mut self, entry: &Entry) -> Result<()> {
        self.n_sentences += 1;
        self.text.clear();
        let laid_out = self.layout.entry(entry, self.n_sentences, &mut self.text);
        laid_out.map_err(|error| error.in_sentence(self.n_sentences))?;
        self.start()?;
        Ok(self.sink.write_all(&self.text)?)
    }

    /// The state it has come to, for [`Writer::go_on`].
    pub fn state(&self) -> WriterState {
        WriterState {
            n_sentences: self.n_sentences,
            has_started: self.has_started,
            version: self.layout.version(),
        }
    }

    /// Goes on where another writer of the same format and options had come to, after what that one wrote.
    pub fn go_on(&mut self, state: WriterState) {
        self.n_sentences = state.n_sentences;
        self.has_started = state.has_started;
        if state.has_started {
            self.layout.go_on(state.version);
        }
    }

    /// Flushes, so that a reader at the other end sees what was written.
    ///
    /// # Errors
    /// When the output fails.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.sink.flush()?)
    }

    /// Writes what the format needs at its end and flushes. To be called once.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(&mut self) -> Result<()> {
        self.start()?;
        let [_, end] = self.layout.frame();
        self.sink.write_all(end.as_bytes())?;
        self.flush()
    }

    /// Writes what stands before the first sentence.
    fn start(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.has_started, true) {
            return Ok(());
        }
        let [start, _] = self.layout.frame();
        Ok(self.sink.write_all(start.as_bytes())?)
    }
}

/// The constituent tree of an entry, for formats that hold no other; an entry without words may do without.
pub(super) fn constituents<'a>(entry: &'a Entry, format: &str) -> Result<Option<&'a ConstituentTree>> {
    let wrong = |message: String| Err(Error::new(Code::WrongTreeKind, message));
    match &entry.tree {
        Some(Tree::Constituent(tree)) if tree.n_tokens() == entry.sentence.len() => Ok(Some(tree)),
        Some(Tree::Constituent(_)) => wrong("the tree and the sentence differ in length".to_owned()),
        None if entry.sentence.is_empty() => Ok(None),
        _ => wrong(format!("{format} holds constituent trees only")),
    }
}

/// Something that a format has no place for.
pub(super) fn unwritable(message: impl Into<String>) -> Error {
    Error::new(Code::Unwritable, message)
}

/// Writes a number in decimal digits; `write!` is several times slower.
#[inline]
pub(super) fn push_number(out: &mut Vec<u8>, mut number: usize) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
