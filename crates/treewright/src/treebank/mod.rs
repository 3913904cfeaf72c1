//! Text to trees and back: bytes, columns, comments, line numbers.
//!
//! A reader is an iterator over `Result<Entry>` that holds one sentence at a time; after an error it goes on with
//! the next sentence, so that a caller may skip. Writers take entries one by one.

use crate::error::Result;
use crate::sentence::Sentence;
use crate::tree::Tree;

/// One sentence of a treebank, with its tree if it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The words.
    pub sentence: Sentence,
    /// The annotation.
    pub tree: Option<Tree>,
}

/// A streaming reader.
pub trait Reader: Iterator<Item = Result<Entry>> {
    /// The line that will be read next, from 1.
    fn line(&self) -> usize;
}

/// A streaming writer.
pub trait Writer {
    /// Writes one sentence.
    ///
    /// # Errors
    /// When the format cannot hold this entry, or the output fails.
    fn write(&mut self, entry: &Entry) -> Result<()>;

    /// Writes what the format needs at its end. To be called once.
    ///
    /// # Errors
    /// When the output fails.
    fn finish(&mut self) -> Result<()>;
}
