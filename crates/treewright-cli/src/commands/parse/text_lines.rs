//! Holds lines and blank space of raw text to the limit on one sentence, so that a small compressed file cannot take all
//! memory or keep the parser busy for hours.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use treewright::Error;
use treewright::treebank::lines::nul_byte;
use treewright::treebank::{Limit, ReadOptions};

use super::input::{SharedPending, valid_text};

/// Is this nothing but white space, or what the segmenter takes for it?
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' ' | b'\t'..=b'\r' | b'\0' | 0x1C..=0x1F))
}

/// Text up to the first line that is too large or has a NUL byte in it; reading that is an error.
pub(super) struct LimitedLines<'a, R> {
    source: R,
    file: &'a str,
    limit: Limit,
    /// The line being read, from 1, and what has been read of it.
    number: usize,
    n_bytes: usize,
    n_chars: usize,
    /// White space since the last line with anything else.
    n_blank: usize,
    failed: Option<Error>,
}

impl<'a, R: Read> LimitedLines<'a, R> {
    pub(super) fn new(source: R, options: &'a ReadOptions) -> Self {
        let ReadOptions { file, limit, .. } = options;
        LimitedLines {
            source,
            file,
            limit: *limit,
            number: 1,
            n_bytes: 0,
            n_chars: 0,
            n_blank: 0,
            failed: None,
        }
    }

    /// Ends the text; what comes before the error, this many bytes, can still be parsed.
    fn fail(&mut self, error: Error, n_good: usize) -> io::Result<usize> {
        let error = error.in_file(self.file);
        self.failed = Some(error.clone());
        if n_good > 0 { Ok(n_good) } else { Err(io::Error::other(error)) }
    }
}

/// How many characters begin in these bytes.
fn n_chars(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

impl<R: Read> Read for LimitedLines<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = &self.failed {
            return Err(io::Error::other(error.clone()));
        }
        let n = self.source.read(out)?;
        let nul = memchr::memchr(0, &out[..n]);
        let mut n_good = 0;
        while n_good < n {
            let rest = &out[n_good..n];
            let newline = memchr::memchr(b'\n', rest);
            let part = &rest[..newline.map_or(rest.len(), |newline| newline + 1)];
            self.n_bytes += part.len();
            self.n_blank = if is_blank(part) { self.n_blank + part.len() } else { 0 };
            if self.limit.is_exceeded_by(self.n_bytes.max(self.n_blank)) {
                return self.fail(self.limit.error(self.number, 1), n_good);
            }
            if let Some(nul) = nul.filter(|nul| (n_good..n_good + part.len()).contains(nul)) {
                let column = self.n_chars + n_chars(&out[n_good..nul]) + 1;
                return self.fail(nul_byte(self.number, column), n_good);
            }
            n_good += part.len();
            if newline.is_some() {
                self.number += 1;
                self.n_bytes = 0;
                self.n_chars = 0;
            } else {
                self.n_chars += n_chars(part);
            }
        }
        Ok(n)
    }
}

/// The lines of a text that are UTF-8, without NUL bytes and not too large. The others are reported, and only their ends are left; of a run
/// of blank lines that is too large, the start.
pub(super) struct GoodLines<'a, 'b, R> {
    source: BufReader<R>,
    file: &'a str,
    limit: Limit,
    pending: &'a SharedPending<'b>,
    line: Vec<u8>,
    position: usize,
    number: usize,
    /// White space since the last line with anything else.
    n_blank: usize,
}

impl<'a, 'b, R: Read> GoodLines<'a, 'b, R> {
    pub(super) fn new(source: R, options: &'a ReadOptions, pending: &'a SharedPending<'b>) -> Self {
        GoodLines {
            source: BufReader::with_capacity(1 << 16, source),
            file: &options.file,
            limit: options.limit,
            pending,
            line: Vec::new(),
            position: 0,
            number: 0,
            n_blank: 0,
        }
    }

    /// Reads the next line, and tells its length; of a line that is too large, only the start is kept.
    fn next_line(&mut self) -> io::Result<usize> {
        self.line.clear();
        let mut length = 0;
        loop {
            let bytes = match self.source.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.map_or(bytes.len(), |end| end + 1)];
            let n = part.len();
            length += n;
            if !self.limit.is_exceeded_by(length) {
                self.line.extend_from_slice(part);
            }
            self.source.consume(n);
            if n == 0 || end.is_some() {
                return Ok(length);
            }
        }
    }

    fn report(&self, error: Error) -> io::Result<()> {
        self.pending.with(|pending| pending.bad(error)).map_err(io::Error::other)
    }
}

impl<R: Read> Read for GoodLines<'_, '_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.position == self.line.len() {
            self.position = 0;
            let length = self.next_line()?;
            if length == 0 {
                return Ok(0);
            }
            self.number += 1;
            let was_large = self.limit.is_exceeded_by(self.n_blank);
            let is_large = self.limit.is_exceeded_by(length);
            self.n_blank = if !is_large && is_blank(&self.line) { self.n_blank + length } else { 0 };
            if self.limit.is_exceeded_by(self.n_blank) {
                self.line.clear();
                if !was_large {
                    self.report(self.limit.error(self.number, 1).in_file(self.file))?;
                }
                continue;
            }
            let checked = match is_large {
                true => Err(self.limit.error(self.number, 1).in_file(self.file)),
                false => valid_text(&self.line, self.number, self.file).map(|_| ()),
            };
            if let Err(error) = checked {
                self.line.clear();
                self.line.push(b'\n');
                self.report(error)?;
            }
        }
        let n = out.len().min(self.line.len() - self.position);
        out[..n].copy_from_slice(&self.line[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}
