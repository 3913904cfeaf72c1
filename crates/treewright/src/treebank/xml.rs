//! What the two XML formats share: events with their line and column, and attributes.
//!
//! The text goes through `Lines`, so bad bytes are found as in every other format. XML that is not well formed ends
//! the reading: nobody knows where the next sentence would start.

use std::io::{BufRead, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::lines::{Limit, Lines};
use crate::error::{Code, Error, Result};
use crate::sentence::Str;

/// Where something stands in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct At {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl At {
    pub(super) fn error(self, code: Code, message: impl Into<String>) -> Error {
        Error::at(code, self.line, self.column, message)
    }
}

/// Hands checked lines to the XML parser, and remembers what was wrong with a bad one.
struct Feed<R> {
    lines: Lines<R>,
    line: String,
    at: usize,
    /// The column of the byte at `at`, kept up to date because a file may be one long line.
    column: usize,
    error: Option<Error>,
    limit: Limit,
    /// How many bytes the current tag or text has, and the sentence before it.
    part_size: usize,
    sentence_size: usize,
}

impl<R: Read> Feed<R> {
    fn place(&self) -> At {
        // After the end of a line is before the start of the next.
        if self.at == self.line.len() {
            return At { line: self.lines.number() + 1, column: 1 };
        }
        At { line: self.lines.number(), column: self.column }
    }
}

impl<R: Read> Read for Feed<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.fill_buf()?;
        let n = bytes.len().min(out.len());
        out[..n].copy_from_slice(&bytes[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl<R: Read> BufRead for Feed<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.at == self.line.len() {
            if self.limit.is_exceeded_by(self.part_size) {
                let At { line, column } = self.place();
                self.error = Some(self.limit.error(line, column));
                return Err(std::io::Error::other("a tag or text that is too long"));
            }
            self.line.clear();
            self.at = 0;
            self.column = 1;
            self.lines.start_sentence();
            match self.lines.next_line() {
                None => {}
                Some(Ok(line)) => {
                    self.line.push_str(line);
                    self.line.push('\n');
                }
                Some(Err(error)) => {
                    self.error = Some(error);
                    return Err(std::io::Error::other("a line that cannot be read"));
                }
            }
        }
        Ok(&self.line.as_bytes()[self.at..])
    }

    fn consume(&mut self, n: usize) {
        let consumed = &self.line.as_bytes()[self.at..self.at + n];
        self.column += consumed.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        self.at += n;
        self.part_size += n;
    }
}

/// A start tag, an end tag or text.
pub(super) enum Part<'a> {
    Start(&'a str),
    End(&'a str),
    Text(&'a str),
}

/// Reads XML part by part. An element without content has a start and an end like others.
pub(super) struct XmlSource<R: Read> {
    reader: quick_xml::Reader<Feed<R>>,
    buffer: Vec<u8>,
    attributes: Vec<(Str, Str)>,
    name: Str,
    text: String,
    depth: usize,
    /// The number of start tags since `start_sentence`.
    n_elements: usize,
    has_ended: bool,
}

impl<R: Read> XmlSource<R> {
    pub(super) fn new(source: R, limit: Limit) -> Self {
        let feed = Feed {
            lines: Lines::new(source, limit),
            line: String::new(),
            at: 0,
            column: 1,
            error: None,
            limit,
            part_size: 0,
            sentence_size: 0,
        };
        let mut reader = quick_xml::Reader::from_reader(feed);
        reader.config_mut().expand_empty_elements = true;
        XmlSource {
            reader,
            buffer: Vec::new(),
            attributes: Vec::new(),
            name: Str::default(),
            text: String::new(),
            depth: 0,
            n_elements: 0,
            has_ended: false,
        }
    }

    /// A sentence starts here: what was before no longer counts.
    pub(super) fn start_sentence(&mut self) {
        self.n_elements = 0;
        self.reader.get_mut().sentence_size = 0;
    }

    /// An error if the sentence, which has this many words, is too large.
    pub(super) fn check_size(&self, start: At, n_words: usize) -> Result<()> {
        let Feed { limit, sentence_size, .. } = *self.reader.get_ref();
        // A word and a constituent, and an edge above each of them.
        let n_items = n_words.max(self.n_elements / 4);
        if limit.is_exceeded_by(sentence_size) || limit.is_exceeded_by_items(n_items) {
            return Err(limit.error(start.line, start.column));
        }
        Ok(())
    }

    pub(super) fn line(&self) -> usize {
        self.reader.get_ref().place().line
    }

    /// The value of an attribute of the start tag read last.
    pub(super) fn attribute(&self, name: &str) -> Option<&Str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All attributes of the start tag read last.
    pub(super) fn attributes(&self) -> &[(Str, Str)] {
        &self.attributes
    }

    /// The next part; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<(Part<'_>, At)>> {
        if self.has_ended {
            return Ok(None);
        }
        let result = self.advance();
        self.has_ended = !matches!(result, Ok(Some(_)));
        let Some((kind, at)) = result? else { return Ok(None) };
        let part = match kind {
            Kind::Start => Part::Start(&self.name),
            Kind::End => Part::End(&self.name),
            Kind::Text => Part::Text(&self.text),
        };
        Ok(Some((part, at)))
    }

    fn advance(&mut self) -> Result<Option<(Kind, At)>> {
        loop {
            let at = self.reader.get_ref().place();
            self.buffer.clear();
            let feed = self.reader.get_mut();
            feed.sentence_size += std::mem::take(&mut feed.part_size);
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(error) => {
                    let bad_line = self.reader.get_mut().error.take();
                    return Err(bad_line.unwrap_or_else(|| bad_xml(at, &error)));
                }
            };
            let kind = match event {
                Event::Start(start) => {
                    self.depth += 1;
                    self.n_elements += 1;
                    // The parser keeps the names of all open elements.
                    let limit = self.reader.get_ref().limit;
                    if limit.is_exceeded_by_items(self.depth / 2) {
                        return Err(limit.error(at.line, at.column));
                    }
                    self.name = Str::from(start.local_name().as_ref());
                    read_attributes(&start, &mut self.attributes).map_err(|error| bad_xml(at, &error))?;
                    if let Some(name) = doubled(&self.attributes) {
                        let message = format!(
                            "not well-formed XML, reading ends here: the attribute {name:?} for the second time; \
                             expected each once"
                        );
                        return Err(at.error(Code::BadXml, message));
                    }
                    Kind::Start
                }
                Event::End(end) => {
                    self.depth -= 1;
                    self.name = Str::from(end.local_name().as_ref());
                    Kind::End
                }
                Event::Text(text) => {
                    self.text.clear();
                    self.text.push_str(&text.xml10_content());
                    Kind::Text
                }
                Event::CData(text) => {
                    self.text.clear();
                    self.text.push_str(&text.xml10_content());
                    Kind::Text
                }
                Event::GeneralRef(reference) => {
                    self.text.clear();
                    let name = reference.xml10_content();
                    let text = format!("&{name};");
                    let text =
                        quick_xml::escape::unescape(&text).map_err(|error| bad_xml(at, &error.into()))?;
                    self.text.push_str(&text);
                    Kind::Text
                }
                Event::Eof if self.depth > 0 => {
                    return Err(
                        at.error(Code::Truncated, "the file ends inside an element; expected its end tag")
                    );
                }
                Event::Eof => return Ok(None),
                _ => continue,
            };
            return Ok(Some((kind, at)));
        }
    }
}

enum Kind {
    Start,
    End,
    Text,
}

fn read_attributes(start: &BytesStart<'_>, out: &mut Vec<(Str, Str)>) -> quick_xml::Result<()> {
    out.clear();
    // The library's check for doubled names takes quadratic time; ours comes later.
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute?;
        let value = attribute.normalized_value(XmlVersion::Explicit1_0)?;
        out.push((Str::from(attribute.key.as_ref()), Str::from(value)));
    }
    Ok(())
}

/// An attribute that stands in the tag twice.
fn doubled(attributes: &[(Str, Str)]) -> Option<&str> {
    // Comparing all pairs is fastest for the usual few; a tag may have any number.
    if attributes.len() <= 16 {
        let is_again =
            |&(i, (name, _)): &(usize, &(Str, Str))| attributes[..i].iter().any(|(n, _)| n == name);
        return attributes.iter().enumerate().find(is_again).map(|(_, (name, _))| name.as_str());
    }
    let mut names: Vec<&str> = attributes.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cold]
fn bad_xml(at: At, error: &quick_xml::Error) -> Error {
    at.error(Code::BadXml, format!("not well-formed XML, reading ends here: {error}"))
}
