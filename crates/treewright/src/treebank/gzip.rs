//! Transparent gzip: recognised by its first bytes.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::GzDecoder;

use crate::error::{Code, Error, Result};
use crate::treebank::encoding::{Decoded, Encoding};

/// How much of a text `Plain` shows before it is read.
const PEEK: usize = 1 << 14;

/// The plain text of a source that may have been compressed.
pub(super) struct Plain<'a> {
    /// Was it?
    pub gzip: bool,
    head: Vec<u8>,
    position: usize,
    rest: Box<dyn Read + Send + 'a>,
}

impl Plain<'_> {
    /// The first bytes of the text, whatever was read of it since.
    pub fn peek(&self) -> &[u8] {
        &self.head
    }
}

impl Read for Plain<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.position == self.head.len() {
            return self.rest.read(out);
        }
        let n = out.len().min(self.head.len() - self.position);
        out[..n].copy_from_slice(&self.head[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}

/// Unzips a source if its first bytes say that it is gzip; concatenated gzip files count as one. Of the text no more is
/// read before it is asked for than is `enough`.
pub(super) fn unzip<'a>(
    source: impl Read + Send + 'a,
    encoding: Option<Encoding>,
    enough: impl Fn(&[u8]) -> bool,
) -> Result<Plain<'a>> {
    let mut source: Box<dyn Read + Send + 'a> = Box::new(source);
    let (magic, mut failed) = first_bytes(&mut source, 2, |_| false);
    let gzip = magic == [0x1F, 0x8B];
    let source = io::Cursor::new(magic).chain(source);
    let mut rest: Box<dyn Read + Send + 'a> = if gzip {
        Box::new(Gunzip { decoder: Some(GzDecoder::new(BufReader::with_capacity(1 << 16, source))) })
    } else {
        Box::new(source)
    };
    rest = Box::new(Decoded::new(rest, encoding));
    let mut head = Vec::new();
    if failed.is_none() {
        (head, failed) = first_bytes(&mut rest, PEEK, enough);
    }
    // A failure after readable text is reported when the reader gets there, not before.
    match failed {
        Some(error) if head.is_empty() => Err(error.into()),
        Some(error) => Ok(Plain { gzip, head, position: 0, rest: Box::new(Failed(Some(error))) }),
        None => Ok(Plain { gzip, head, position: 0, rest }),
    }
}

/// Up to `n` bytes, fewer if they are enough, at the end, or before an error.
fn first_bytes(
    source: &mut dyn Read,
    n: usize,
    enough: impl Fn(&[u8]) -> bool,
) -> (Vec<u8>, Option<io::Error>) {
    let mut bytes = vec![0; n];
    let mut end = 0;
    while end < n && !enough(&bytes[..end]) {
        match source.read(&mut bytes[end..]) {
            Ok(0) => break,
            Ok(n) => end += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                bytes.truncate(end);
                return (bytes, Some(error));
            }
        }
    }
    bytes.truncate(end);
    (bytes, None)
}

/// A source that fails once and then is at its end.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A decoder of one gzip file after the other, whose complaints about the data say that they are such.
struct Gunzip<R> {
    /// None at the end.
    decoder: Option<GzDecoder<R>>,
}

impl<R: BufRead> Gunzip<R> {
    /// What is read next, without a word on whose fault an error is.
    fn read_any(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let n_read = decoder.read(out)?;
            if n_read > 0 || out.is_empty() {
                return Ok(n_read);
            }
            let mut rest = self.decoder.take().expect("it was just used").into_inner();
            match rest.fill_buf()?.first() {
                None => break,
                Some(0x1F) => self.decoder = Some(GzDecoder::new(rest)),
                Some(_) => {
                    let message = "there are other bytes after the gzip data; expected the end of the file";
                    return Err(bad_gzip(message));
                }
            }
        }
        Ok(0)
    }
}

fn bad_gzip(message: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, Error::new(Code::BadGzip, message))
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.read_any(out).map_err(|error| match error.kind() {
            _ if error.get_ref().is_some_and(|inner| inner.is::<Error>()) => error,
            ErrorKind::UnexpectedEof => {
                bad_gzip("the gzip data ends too early; expected the rest of the file")
            }
            ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                bad_gzip(format!("the gzip data is damaged ({error}); expected a whole gzip file"))
            }
            _ => error,
        })
    }
}
