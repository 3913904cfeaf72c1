//! Portions of a text whose sentences end with blank lines (CoNLL-U, CoNLL-X), so that several threads can read it: what
//! is found in them, errors with their lines included, is what one reader finds in the whole.

use std::io::{ErrorKind, Read};

use super::{Entry, Format, Limit, ReadOptions, numbered_reader};
use crate::error::{Error, Result};
use crate::treebank::lines::{BYTE_ORDER_MARK, is_blank};

/// Some whole sentences, not yet read.
#[derive(Clone, Debug, Default)]
pub struct Portion {
    text: Vec<u8>,
    /// The lines before it in its file.
    n_lines_before: usize,
}

impl Portion {
    /// Its size in bytes.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// Its sentences and errors. The numbers of sentences in errors count from this portion's start.
    pub fn read<'a>(
        &'a self,
        format: Format,
        options: &ReadOptions,
    ) -> impl Iterator<Item = Result<Entry>> + use<'a> {
        // A reader drops a byte order mark, but only that of the file: before others it gets a blank line.
        let is_marked = self.n_lines_before > 0 && self.text.starts_with(BYTE_ORDER_MARK);
        let before: &[u8] = if is_marked { b"\n" } else { b"" };
        let n_lines_before = self.n_lines_before - before.len();
        numbered_reader(format, Box::new(before.chain(&self.text[..])), options).map(move |item| {
            item.map_err(|mut error| {
                error.location.line += n_lines_before;
                error
            })
        })
    }
}

/// Cuts a source into portions.
pub struct Portions<'a> {
    source: Box<dyn Read + 'a>,
    /// A portion has this many bytes, more or less.
    size: usize,
    /// Are sentences handed out as soon as they have been read?
    is_eager: bool,
    /// What was read and not yet handed out.
    rest: Vec<u8>,
    /// No portion ends in the first of these bytes.
    searched: usize,
    n_lines: usize,
    /// Why there is no more.
    failed: Option<Error>,
    at_end: bool,
    limit: Limit,
    /// The rest of the last sentence is to be skipped, because it is too large; is the line so far blank?
    in_large_sentence: Option<bool>,
}

impl<'a> Portions<'a> {
    /// Portions of about `size` bytes; a sentence is never cut. Of a sentence beyond the limit there is only as much
    /// as a reader with the same limit needs to find it so.
    pub fn new(source: impl Read + 'a, size: usize, limit: Limit) -> Self {
        Portions {
            source: Box::new(source),
            size,
            is_eager: false,
            rest: Vec::new(),
            searched: 0,
            n_lines: 0,
            failed: None,
            at_end: false,
            limit,
            in_large_sentence: None,
        }
    }

    /// Portions of at most about `size` bytes that hold the sentences which one reading of the source completes: nothing
    /// waits for more to come.
    pub fn eager(source: impl Read + 'a, size: usize, limit: Limit) -> Self {
        Portions { is_eager: true, ..Portions::new(source, size, limit) }
    }

    /// Skips to the line feed that ends the next blank line. It stays, so that nothing after it looks like the start of
    /// the file.
    fn skip_large_sentence(&mut self, mut is_blank_line: bool) {
        loop {
            self.fill(1 << 16);
            for (i, &byte) in self.rest.iter().enumerate() {
                if byte != b'\n' {
                    is_blank_line &= is_blank(&[byte]);
                    continue;
                }
                if is_blank_line {
                    self.rest.drain(..i);
                    return;
                }
                self.n_lines += 1;
                is_blank_line = true;
            }
            self.rest.clear();
            if self.at_end {
                return;
            }
        }
    }

    /// Reads until `rest` has this many bytes, or there is no more; or once.
    fn fill(&mut self, size: usize) {
        let mut end = self.rest.len();
        self.rest.resize(size.max(end), 0);
        while end < self.rest.len() && !self.at_end {
            match self.source.read(&mut self.rest[end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => {
                    end += n;
                    if self.is_eager {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let mut error = Error::from(error);
                    error.location.line =
                        self.n_lines + memchr::memchr_iter(b'\n', &self.rest[..end]).count() + 1;
                    error.location.column = 1;
                    self.failed = Some(error);
                    self.at_end = true;
                    // Of the sentence that was broken off nothing is read.
                    end = last_cut(&self.rest[..end], 0).unwrap_or(0);
                }
            }
        }
        self.rest.truncate(end);
    }
}

impl Iterator for Portions<'_> {
    type Item = Result<Portion>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(is_blank_line) = self.in_large_sentence.take() {
            self.skip_large_sentence(is_blank_line);
        }
        let mut size = self.size.max(1);
        let cut = loop {
            self.fill(size);
            if self.at_end {
                break self.rest.len();
            }
            if let Some(cut) = last_cut(&self.rest, self.searched) {
                break cut;
            }
            if self.limit.is_exceeded_by(self.rest.len()) {
                let line = memchr::memrchr(b'\n', &self.rest).map_or(0, |newline| newline + 1);
                let line = &self.rest[line..];
                // A line that is too long ends no sentence.
                self.in_large_sentence = Some(is_blank(line) && !self.limit.is_exceeded_by(line.len()));
                break self.rest.len();
            }
            self.searched = memchr::memrchr(b'\n', &self.rest).map_or(0, |newline| newline + 1);
            size = size.max(self.rest.len() * 2);
        };
        self.searched = 0;
        if cut == 0 {
            return self.failed.take().map(Err);
        }
        let after = self.rest.split_off(cut);
        let text = std::mem::replace(&mut self.rest, after);
        let n_lines_before = self.n_lines;
        self.n_lines += memchr::memchr_iter(b'\n', &text).count();
        Some(Ok(Portion { text, n_lines_before }))
    }
}

/// The place after the last blank line, if that is after `from`.
fn last_cut(text: &[u8], from: usize) -> Option<usize> {
    let mut end = memchr::memrchr(b'\n', text)? + 1;
    while end > from {
        let start = memchr::memrchr(b'\n', &text[..end - 1]).map_or(0, |before| before + 1);
        if is_blank(&text[start..end - 1]) {
            return Some(end);
        }
        end = start;
    }
    None
}
