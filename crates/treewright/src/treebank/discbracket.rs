//! Discbracket: brackets whose words carry their positions, `(S (VP (VB 0=is) (JJ 2=rich)) (NP 1=John))`.
//!
//! Positions count from 0, each stands in the tree exactly once, and children may stand in any order. Otherwise the
//! rules are those of Penn brackets (see `bracket.rs`): `(TAG 0=word)` is a word with its tag, `(-- 0=word)` and
//! `0=word` have none, escaped brackets stay as written. Only the first `=` counts, so a word may contain others, or be empty.

use std::io::{Read, Write};

use super::bracket::BracketText;
use super::bracket_scan::{BracketReader, LeafStyle};
use super::{Entry, ReadOptions, Reader, Writer};
use crate::error::Result;

/// Leaves are `position=word`.
struct Indexed;

impl LeafStyle for Indexed {
    const EXPECTED: &'static str = "(TAG index=word), where the index is a number from 0";

    #[inline]
    fn split(text: &str, _: usize) -> Option<(usize, &str)> {
        let mut position = 0usize;
        for (i, byte) in text.bytes().enumerate() {
            match byte {
                // No sentence has a billion words; nine digits cannot overflow.
                b'0'..=b'9' if i < 9 => position = position * 10 + usize::from(byte - b'0'),
                b'=' if i > 0 => return Some((position, &text[i + 1..])),
                _ => return None,
            }
        }
        None
    }
}

/// Reads discbracket.
pub struct DiscbracketReader<R>(BracketReader<R, Indexed>);

impl<R: Read> DiscbracketReader<R> {
    /// A reader of the text in `source`.
    pub fn new(source: R, options: &ReadOptions) -> Self {
        DiscbracketReader(BracketReader::new(source, options, false))
    }
}

impl<R: Read> Iterator for DiscbracketReader<R> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        self.0.next()
    }
}

impl<R: Read> Reader for DiscbracketReader<R> {
    fn line(&self) -> usize {
        self.0.line()
    }
}

/// Writes discbracket, one tree a line.
pub struct DiscbracketWriter<W> {
    out: W,
    text: BracketText,
}

impl<W: Write> DiscbracketWriter<W> {
    /// A writer to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        DiscbracketWriter { out, text: BracketText::default() }
    }
}

impl<W: Write> Writer for DiscbracketWriter<W> {
    fn write(&mut self, entry: &Entry) -> Result<()> {
        let text = self.text.line(entry, true)?;
        Ok(self.out.write_all(text)?)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()
    }
}
