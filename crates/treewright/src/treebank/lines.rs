//! Lines of text from any `Read`, numbered, checked and without an allocation per line.
//!
//! A line is handed out as a slice of one buffer that grows only with the longest line. A byte order mark and the
//! `\r` of `\r\n` are dropped; NUL bytes and invalid UTF-8 are errors with line and column.
//!
//! A limit keeps a hostile or broken input from taking all memory: see [`Limit`].

use std::io::{ErrorKind, Read};
use std::ops::Range;

use super::Entry;
use crate::error::{Code, Error, Result};

const CHUNK: usize = 1 << 16;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Where something stands in a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct At {
    pub line: usize,
    pub column: usize,
}

impl At {
    pub(super) fn error(self, code: Code, message: impl Into<String>) -> Error {
        Error::at(code, self.line, self.column, message)
    }
}

/// How large one sentence may be: this many bytes of input, and one line, word or constituent for every
/// [`Limit::ITEM`] of these bytes, because each takes memory however short it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    n_bytes: usize,
}

impl Limit {
    /// What a line, word or constituent counts for at least.
    pub const ITEM: usize = 64;
    /// Reading and parsing a sentence of this size takes less than 2 GB of memory.
    pub const DEFAULT: Limit = Limit { n_bytes: 64 << 20 };

    /// A limit of this many bytes.
    pub fn bytes(n_bytes: usize) -> Self {
        Limit { n_bytes }
    }

    /// Is a sentence of this many words, or constituents, too large?
    #[inline]
    pub fn is_exceeded_by_items(self, n_items: usize) -> bool {
        n_items > self.n_bytes / Self::ITEM
    }

    /// Is a sentence of this many bytes too large?
    #[inline]
    pub fn is_exceeded_by(self, n_bytes: usize) -> bool {
        n_bytes > self.n_bytes
    }

    /// The error for a sentence that is too large.
    #[cold]
    pub fn error(self, line: usize, column: usize) -> Error {
        let limit = match self.n_bytes {
            n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MB", n >> 20),
            n => format!("{n} bytes"),
        };
        let message = format!(
            "one sentence or line of more than {limit}, or more than {} words, constituents or lines in a \
             sentence; --max-sentence-bytes sets the limit",
            self.n_bytes / Self::ITEM
        );
        Error::at(Code::TooLarge, line, column, message)
    }
}

impl Default for Limit {
    fn default() -> Self {
        Limit::DEFAULT
    }
}

/// A source of lines. After an I/O error it is at its end.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// What has been read and not yet handed out is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// No line ends in `buffer[start..scanned]`.
    scanned: usize,
    /// Where the line handed out last began, for `unread`.
    previous: usize,
    /// The number of the line handed out last.
    number: usize,
    at_end: bool,
    /// Has any NUL byte been read? Until then, no line needs to be searched for one.
    has_nul: bool,
    limit: Limit,
    /// The size of the lines handed out since `start_sentence`.
    spent: usize,
    /// The rest of the current line is to be skipped, because the line was too long.
    in_long_line: bool,
}

impl<R: Read> Lines<R> {
    /// The lines of `source`. A line or sentence beyond `limit` is an error.
    pub fn new(source: R, limit: Limit) -> Self {
        Lines {
            source,
            limit,
            spent: 0,
            in_long_line: false,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            scanned: 0,
            previous: 0,
            number: 0,
            at_end: false,
            has_nul: false,
        }
    }

    /// The number of the line handed out last, from 1; 0 before the first.
    pub fn number(&self) -> usize {
        self.number
    }

    /// A new sentence starts with the next line: the lines before it no longer count.
    #[inline]
    pub fn start_sentence(&mut self) {
        self.spent = 0;
    }

    /// The next line, without its end.
    ///
    /// Once the lines of a sentence exceed the limit, each further line is an error until `start_sentence`.
    #[inline]
    pub fn next_line(&mut self) -> Option<Result<&str>> {
        match self.advance() {
            Ok(Some(range)) => {
                // A blank line may be the end of a sentence that is just small enough.
                if self.limit.is_exceeded_by(self.spent)
                    && (self.limit.is_exceeded_by(self.start - self.previous)
                        || !is_blank(&self.buffer[range.clone()]))
                {
                    return Some(Err(self.limit.error(self.number, 1)));
                }
                let line = &self.buffer[range];
                if self.has_nul && memchr::memchr(0, line).is_some() {
                    return Some(Err(bad_bytes(line, self.number)));
                }
                Some(std::str::from_utf8(line).map_err(|_| bad_bytes(line, self.number)))
            }
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// The next line as it is, unchecked: for skipping what is known to be bad. Of a line that is too long this is
    /// only a part.
    fn next_bytes(&mut self) -> Option<Result<&[u8]>> {
        match self.advance() {
            Ok(range) => range.map(|range| Ok(&self.buffer[range])),
            Err(error) if error.code == Code::TooLarge => Some(Ok(b"_")),
            Err(error) => Some(Err(error)),
        }
    }

    /// Takes back the line handed out last: it will be handed out again. Once per line.
    pub fn unread(&mut self) {
        self.scanned = self.previous;
        self.start = self.previous;
        self.number = self.number.saturating_sub(1);
    }

    /// Skips to after the next blank line, or to the end.
    ///
    /// # Errors
    /// When reading fails.
    pub fn skip_past_blank(&mut self) -> Result<()> {
        while let Some(line) = self.next_bytes() {
            if is_blank(line?) {
                break;
            }
        }
        Ok(())
    }

    /// Finds the next line in the buffer, reading more as needed.
    #[inline]
    fn advance(&mut self) -> Result<Option<Range<usize>>> {
        if self.in_long_line {
            self.skip_long_line()?;
        }
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..self.end]) {
                let newline = self.scanned + at;
                return Ok(Some(self.hand_out(newline, newline + 1)));
            }
            self.scanned = self.end;
            if self.at_end {
                let is_rest = self.start < self.end;
                return Ok(is_rest.then(|| self.hand_out(self.end, self.end)));
            }
            if self.limit.is_exceeded_by(self.end - self.start) {
                self.number += 1;
                self.in_long_line = true;
                return Err(self.limit.error(self.number, 1));
            }
            self.fill()?;
        }
    }

    /// Reads up to the end of the line without keeping it.
    #[cold]
    fn skip_long_line(&mut self) -> Result<()> {
        self.in_long_line = false;
        self.scanned = self.start;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..self.end]) {
                self.start = self.scanned + at + 1;
                break;
            }
            self.start = self.end;
            self.scanned = self.end;
            if self.at_end {
                break;
            }
            self.fill()?;
        }
        self.scanned = self.start;
        self.previous = self.start;
        Ok(())
    }

    /// The line from `start` to `newline`; the next one starts at `next`.
    #[inline]
    fn hand_out(&mut self, newline: usize, next: usize) -> Range<usize> {
        let mut line = self.start..newline;
        self.previous = self.start;
        self.spent += (next - self.start).max(Limit::ITEM);
        self.start = next;
        self.scanned = next;
        self.number += 1;
        if self.number == 1 && self.buffer[line.clone()].starts_with(BYTE_ORDER_MARK) {
            line.start += 3;
        }
        if self.buffer[line.clone()].ends_with(b"\r") {
            line.end -= 1;
        }
        line
    }

    /// Reads more after the unfinished line.
    fn fill(&mut self) -> Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
            self.previous = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => {
                    self.has_nul = self.has_nul || memchr::memchr(0, &self.buffer[self.end..][..n]).is_some();
                    self.end += n;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    // What was read of the broken line is no line.
                    self.at_end = true;
                    self.end = self.start;
                    self.scanned = self.start;
                    let mut error = Error::from(error);
                    error.location.line = self.number + 1;
                    error.location.column = 1;
                    return Err(error);
                }
            }
            return Ok(());
        }
    }
}

/// Is this the empty line that ends a sentence? Stray spaces and tabs do not count.
#[inline]
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// The column, in characters and from 1, of the byte at `offset`.
#[inline]
pub fn column(line: &str, offset: usize) -> usize {
    let before = &line.as_bytes()[..offset];
    if before.is_ascii() {
        return offset + 1;
    }
    before.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() + 1
}

/// The error for a NUL byte.
pub fn nul_byte(line: usize, column: usize) -> Error {
    let message = "a NUL byte; expected text, or the name of its encoding (such as utf-16le)";
    Error::at(Code::NulByte, line, column, message)
}

/// The first thing wrong with the bytes of a line.
#[cold]
fn bad_bytes(line: &[u8], number: usize) -> Error {
    let (valid, bad) = match std::str::from_utf8(line) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = std::str::from_utf8(&line[..error.valid_up_to()]).expect("checked just now");
            (valid, line.get(valid.len()).copied())
        }
    };
    if let Some(nul) = valid.find('\0') {
        return nul_byte(number, column(valid, nul));
    }
    let message = if number == 1 && (line.starts_with(b"\xFF\xFE") || line.starts_with(b"\xFE\xFF")) {
        "the file is UTF-16; expected UTF-8".to_owned()
    } else {
        format!(
            "the byte 0x{:02X} is not UTF-8; expected UTF-8 text, or the name of its encoding (such as latin1)",
            bad.unwrap_or_default()
        )
    };
    Error::at(Code::InvalidUtf8, number, valid.chars().count() + 1, message)
}

/// Reads a format with a sentence on each line. Blank lines are skipped, and so is a line of which `parse`, which also
/// gets its number, makes nothing.
pub(super) struct LineReader<R, P> {
    lines: Lines<R>,
    parse: P,
}

impl<R: Read, P: FnMut(&str, usize) -> Result<Option<Entry>>> LineReader<R, P> {
    pub(super) fn new(source: R, limit: Limit, parse: P) -> Self {
        LineReader { lines: Lines::new(source, limit), parse }
    }
}

impl<R: Read, P: FnMut(&str, usize) -> Result<Option<Entry>>> Iterator for LineReader<R, P> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let number = self.lines.number() + 1;
            self.lines.start_sentence();
            let entry = match self.lines.next_line()? {
                Ok(line) if is_blank(line.as_bytes()) => continue,
                line => line.and_then(|line| (self.parse)(line, number)),
            };
            if let Some(item) = entry.transpose() {
                return Some(item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in pieces of one size, then fails if told to.
    struct Drip<'a> {
        bytes: &'a [u8],
        piece: usize,
        fails: bool,
    }

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let n = self.piece.min(self.bytes.len()).min(out.len());
            if n == 0 && self.fails {
                return Err(std::io::Error::other("unplugged"));
            }
            out[..n].copy_from_slice(&self.bytes[..n]);
            self.bytes = &self.bytes[n..];
            Ok(n)
        }
    }

    fn all(bytes: &[u8], piece: usize) -> Vec<String> {
        let mut lines = Lines::new(Drip { bytes, piece, fails: false }, Limit::DEFAULT);
        let mut out = Vec::new();
        while let Some(line) = lines.next_line() {
            out.push(line.map_or_else(|error| error.to_string().trim().to_owned(), str::to_owned));
        }
        out
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &[&str]) {
        for piece in [1, 2, 3, 1000] {
            assert_eq!(all(bytes, piece), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn lines_end_in_any_way() {
        check(b"", &[]);
        check(b"\n", &[""]);
        check(b"a\nb", &["a", "b"]);
        check(b"a\r\n\r\nb\r\n", &["a", "", "b"]);
        check(b"a\rb\n", &["a\rb"]);
        check(b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n", &["a", "\u{feff}b"]);
    }

    #[test]
    fn bad_bytes_have_a_column() {
        check(
            "ok\né\0\n".as_bytes(),
            &["ok", "2:2: a NUL byte; expected text, or the name of its encoding (such as utf-16le) [TW004]"],
        );
        check(
            b"\xC3\xA9\xFFx\nok",
            &[
                "1:2: the byte 0xFF is not UTF-8; expected UTF-8 text, or the name of its encoding (such as latin1) [TW003]",
                "ok",
            ],
        );
        check(
            b"a\0\xFF\n",
            &["1:2: a NUL byte; expected text, or the name of its encoding (such as utf-16le) [TW004]"],
        );
        check(b"\xFF\xFEa\0\n", &["1:1: the file is UTF-16; expected UTF-8 [TW003]"]);
        // A character that the end of the file cuts.
        check(
            b"ab\xC3",
            &[
                "1:3: the byte 0xC3 is not UTF-8; expected UTF-8 text, or the name of its encoding (such as latin1) [TW003]",
            ],
        );
    }

    #[test]
    fn a_long_line_grows_the_buffer() {
        let mut text = "é".repeat(3 * CHUNK);
        text.push_str("\nend");
        let lines = all(text.as_bytes(), 1000);
        assert_eq!((lines.len(), lines[0].len(), lines[1].as_str()), (2, 6 * CHUNK, "end"));
    }

    #[test]
    fn a_line_can_be_taken_back() {
        let mut lines = Lines::new(&b"\xEF\xBB\xBFa\nb\n"[..], Limit::DEFAULT);
        for expected in ["a", "b"] {
            for _ in 0..2 {
                lines.next_line();
                lines.unread();
            }
            assert_eq!(lines.next_line(), Some(Ok(expected)));
        }
        assert_eq!((lines.number(), lines.next_line()), (2, None));
    }

    #[test]
    fn a_failing_source_ends() {
        let mut lines = Lines::new(Drip { bytes: b"a\nb", piece: 2, fails: true }, Limit::DEFAULT);
        assert_eq!(lines.next_line(), Some(Ok("a")));
        let error = lines.next_line().and_then(Result::err).expect("the source fails");
        assert_eq!((error.code, error.location.line), (Code::Io, 2));
        assert_eq!(lines.next_line(), None);
    }

    #[test]
    fn an_interrupted_source_goes_on() {
        /// Is interrupted before each piece.
        struct Nervous<'a>(Drip<'a>, bool);
        impl Read for Nervous<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                self.1 = !self.1;
                if self.1 { Err(ErrorKind::Interrupted.into()) } else { self.0.read(out) }
            }
        }
        let mut lines =
            Lines::new(Nervous(Drip { bytes: b"ab\nc", piece: 1, fails: false }, false), Limit::DEFAULT);
        assert_eq!(lines.next_line(), Some(Ok("ab")));
        assert_eq!(lines.next_line(), Some(Ok("c")));
        assert_eq!(lines.next_line(), None);
    }

    #[test]
    fn blank_lines() {
        assert!([&b""[..], b" \t", b"\r", b" \r\r"].into_iter().all(is_blank));
        assert!(![&b"_"[..], b"  .", b"\xC2\xA0", b"\0"].into_iter().any(is_blank));
    }

    #[test]
    fn skipping_stops_behind_a_blank_line() {
        let mut lines = Lines::new(&b"a\xFF\n\0\n \t\nb"[..], Limit::DEFAULT);
        assert_eq!(lines.skip_past_blank(), Ok(()));
        assert_eq!(lines.next_line(), Some(Ok("b")));
        assert_eq!(lines.number(), 4);
    }
}
