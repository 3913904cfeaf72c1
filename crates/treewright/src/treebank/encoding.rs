//! Text in other encodings than UTF-8, decoded while it is read.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult, UTF_8, UTF_16BE, UTF_16LE};

use super::lines::BYTE_ORDER_MARK;
use crate::error::{Code, Error};

const CHUNK: usize = 1 << 15;

/// An encoding of text, by any of the names that the [Encoding Standard](https://encoding.spec.whatwg.org) knows:
/// `latin1` (which is `windows-1252`, a superset), `iso-8859-2`, `utf-16le`, `shift_jis`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let plain = name.to_ascii_lowercase().replace("latin-", "latin").replace("utf16", "utf-16");
        encoding_rs::Encoding::for_label(plain.as_bytes()).map(Encoding).ok_or_else(|| {
            let message = format!(
                "unknown encoding {name:?}; expected utf-8, latin1, windows-1252, iso-8859-2, utf-16le, utf-16be or another \
                 name of the Encoding Standard"
            );
            Error::new(Code::UnknownFormat, message)
        })
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// A source as UTF-8, without a byte order mark. Without an encoding the rest is passed on as it is, unless the mark is that
/// of UTF-16; a byte order mark also overrules the encoding that is given.
pub(super) struct Decoded<R> {
    source: R,
    encoding: Option<Encoding>,
    state: State,
    /// Read and not yet decoded, or not yet handed out where nothing is decoded.
    input: Vec<u8>,
    start: usize,
    at_end: bool,
}

enum State {
    /// Nothing has been read.
    Start,
    Plain,
    Decoding {
        decoder: Box<Decoder>,
        /// Decoded and not yet handed out is `buffer[position..end]`.
        buffer: Vec<u8>,
        position: usize,
        end: usize,
        n_lines: usize,
        is_finished: bool,
    },
}

impl<R: Read> Decoded<R> {
    pub(super) fn new(source: R, encoding: Option<Encoding>) -> Self {
        let encoding = encoding.filter(|encoding| encoding.0 != UTF_8);
        Decoded { source, encoding, state: State::Start, input: Vec::new(), start: 0, at_end: false }
    }

    /// Reads more after what has not been decoded.
    fn fill(&mut self) -> io::Result<()> {
        self.input.drain(..self.start);
        self.start = 0;
        let end = self.input.len();
        self.input.resize(end + CHUNK, 0);
        let result = loop {
            match self.source.read(&mut self.input[end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.input.truncate(end + *result.as_ref().unwrap_or(&0));
        self.at_end = result? == 0;
        Ok(())
    }

    /// Finds out whether there is anything to decode.
    fn begin(&mut self) -> io::Result<()> {
        // More is waited for only where it may be a mark.
        let is_short =
            |input: &[u8]| input.len() < 2 || input.len() < 3 && BYTE_ORDER_MARK.starts_with(input);
        while is_short(&self.input) && !self.at_end {
            self.fill()?;
        }
        let marked = match self.input[..] {
            [0xFF, 0xFE, ..] => Some(UTF_16LE),
            [0xFE, 0xFF, ..] => Some(UTF_16BE),
            _ => None,
        };
        self.state = match marked.or(self.encoding.map(|encoding| encoding.0)) {
            None => {
                if self.input.starts_with(BYTE_ORDER_MARK) {
                    self.start = BYTE_ORDER_MARK.len();
                }
                State::Plain
            }
            Some(encoding) => {
                let decoder = Box::new(encoding.new_decoder());
                let buffer = vec![0; CHUNK * 3];
                State::Decoding { decoder, buffer, position: 0, end: 0, n_lines: 0, is_finished: false }
            }
        };
        Ok(())
    }

    /// Decodes until there is text, or no more.
    fn decode(&mut self) -> io::Result<()> {
        loop {
            if self.start == self.input.len() && !self.at_end {
                self.fill()?;
            }
            let State::Decoding { decoder, buffer, position, end, n_lines, is_finished } = &mut self.state
            else {
                return Ok(());
            };
            (*position, *end) = (0, 0);
            if *is_finished {
                return Ok(());
            }
            let input = &self.input[self.start..];
            let (result, n_read, n_written) =
                decoder.decode_to_utf8_without_replacement(input, buffer, self.at_end);
            self.start += n_read;
            *end = n_written;
            *n_lines += memchr::memchr_iter(b'\n', &buffer[..n_written]).count();
            *is_finished = self.at_end && result == DecoderResult::InputEmpty;
            if let DecoderResult::Malformed(..) = result {
                let name = decoder.encoding().name();
                let message = format!("bytes that are not {name}; expected text in this encoding");
                let error = Error::at(Code::InvalidUtf8, *n_lines + 1, 1, message);
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
            if n_written > 0 {
                return Ok(());
            }
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let State::Start = self.state {
            self.begin()?;
        }
        if let State::Decoding { position, end, .. } = &self.state
            && position == end
        {
            self.decode()?;
        }
        let (text, position) = match &mut self.state {
            State::Decoding { buffer, position, end, .. } => (&buffer[..*end], position),
            _ if self.start == self.input.len() => return self.source.read(out),
            _ => (&self.input[..], &mut self.start),
        };
        let n = out.len().min(text.len() - *position);
        out[..n].copy_from_slice(&text[*position..*position + n]);
        *position += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(out.len());
            self.0.read(&mut out[..n])
        }
    }

    #[track_caller]
    fn check(bytes: &[u8], encoding: Option<&str>, expected: &str) {
        let encoding = encoding.map(|name| name.parse().expect("an encoding"));
        for size in [1, 2, 3, 1000] {
            let mut text = Vec::new();
            let read = Decoded::new(Slow(bytes, size), encoding).read_to_end(&mut text);
            assert_eq!(read.map(|_| String::from_utf8(text)).expect("it is read"), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn text_is_decoded() {
        check(b"caf\xE9 \x96\n", Some("latin1"), "caf\u{E9} \u{2013}\n");
        check(b"caf\xE9", Some("Latin-1"), "caf\u{E9}");
        check(b"\xFF\xFEa\0\xE9\0", None, "a\u{E9}");
        check(b"\xFE\xFF\0a\0\n", None, "a\n");
        check(b"a\0\xE9\0", Some("utf16le"), "a\u{E9}");
        check("a\u{E9}".as_bytes(), None, "a\u{E9}");
        check("a\u{E9}".as_bytes(), Some("utf-8"), "a\u{E9}");
        check(b"\xEF\xBB\xBFa\xEF\xBB\xBF", None, "a\u{FEFF}");
        check(b"\xEF\xBB\xBF", None, "");
        check(b"\xEF\xBB\xBF\xC3\xA9", Some("latin1"), "\u{E9}");
        check(b"\xEF\xBB", Some("latin1"), "\u{EF}\u{BB}");
        check(b"", None, "");
        check(b"", Some("latin1"), "");
        check(b"x", None, "x");
        assert!("klingon".parse::<Encoding>().is_err());
    }

    #[test]
    fn more_than_a_buffer_is_decoded() {
        let text = "\u{E9}\n".repeat(100_000);
        let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
        let mut decoded = String::new();
        let encoding = Some("iso-8859-1".parse().expect("an encoding"));
        Decoded::new(&latin[..], encoding).read_to_string(&mut decoded).expect("it is read");
        assert!(decoded == text);
    }

    #[test]
    fn bytes_that_are_not_in_the_encoding_are_errors() {
        // A lone surrogate in the second line.
        let bytes = b"\xFF\xFEa\0\n\0\x00\xD8a\0";
        let error =
            Decoded::new(&bytes[..], None).read_to_end(&mut Vec::new()).expect_err("half a character");
        let error = Error::from(error);
        assert_eq!((error.code, error.location.line), (Code::InvalidUtf8, 2));
    }
}
