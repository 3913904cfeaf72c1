//! What the two XML formats share: parts with their line and column, attributes, and the way from one sentence to the next.
//!
//! The text goes through `Lines`, so bad bytes are found as in every other format. XML that is not well formed ends
//! the reading: nobody knows where the next sentence would start.

use std::io::{BufRead, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::lines::{At, Limit, Lines};
use super::{Entry, Source};
use crate::error::{Code, Error, Result};
use crate::sentence::Str;

/// Hands checked lines to the XML parser, and remembers what was wrong with a bad one.
struct Feed<'a> {
    lines: Lines<Source<'a>>,
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

impl Feed<'_> {
    fn place(&self) -> At {
        // After the end of a line is before the start of the next.
        if self.at == self.line.len() {
            return At { line: self.lines.number() + 1, column: 1 };
        }
        At { line: self.lines.number(), column: self.column }
    }
}

impl Read for Feed<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.fill_buf()?;
        let n = bytes.len().min(out.len());
        out[..n].copy_from_slice(&bytes[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Feed<'_> {
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

/// What was read: a start tag, an end tag or text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Start,
    End,
    Text,
}

/// Reads XML part by part. An element without content has a start and an end like others.
pub(super) struct XmlSource<'a> {
    reader: quick_xml::Reader<Feed<'a>>,
    buffer: Vec<u8>,
    attributes: Vec<(Str, Str)>,
    name: Str,
    text: String,
    depth: usize,
    /// The number of start tags since `start_sentence`.
    n_elements: usize,
    has_ended: bool,
}

impl<'a> XmlSource<'a> {
    fn new(source: Source<'a>, limit: Limit) -> Self {
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
    fn start_sentence(&mut self) {
        self.n_elements = 0;
        self.reader.get_mut().sentence_size = 0;
    }

    /// An error if the sentence, which has this many words, is too large.
    fn check_size(&self, start: At, n_words: usize) -> Result<()> {
        let Feed { limit, sentence_size, .. } = *self.reader.get_ref();
        // A word and a constituent, and an edge above each of them.
        let n_items = n_words.max(self.n_elements / 4);
        if limit.is_exceeded_by(sentence_size) || limit.is_exceeded_by_items(n_items) {
            return Err(limit.error(start.line, start.column));
        }
        Ok(())
    }

    /// The name of the tag read last.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The text read last.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The value of an attribute of the start tag read last.
    pub(super) fn attribute(&self, name: &str) -> Option<&Str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All attributes of the start tag read last.
    pub(super) fn attributes(&self) -> &[(Str, Str)] {
        &self.attributes
    }

    /// The next part, and where it starts; `None` at the end of the file, and after an error.
    fn next(&mut self) -> Result<Option<(Part, At)>> {
        if self.has_ended {
            return Ok(None);
        }
        let result = self.advance();
        self.has_ended = !matches!(result, Ok(Some(_)));
        result
    }

    fn advance(&mut self) -> Result<Option<(Part, At)>> {
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
            let part = match event {
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
                    Part::Start
                }
                Event::End(end) => {
                    self.depth -= 1;
                    self.name = Str::from(end.local_name().as_ref());
                    Part::End
                }
                Event::Text(text) => {
                    self.text = text.xml10_content().into_owned();
                    Part::Text
                }
                Event::CData(text) => {
                    self.text = text.xml10_content().into_owned();
                    Part::Text
                }
                Event::GeneralRef(reference) => {
                    let text = format!("&{};", reference.xml10_content());
                    let text =
                        quick_xml::escape::unescape(&text).map_err(|error| bad_xml(at, &error.into()))?;
                    self.text = text.into_owned();
                    Part::Text
                }
                Event::Eof if self.depth > 0 => {
                    return Err(
                        at.error(Code::Truncated, "the file ends inside an element; expected its end tag")
                    );
                }
                Event::Eof => return Ok(None),
                _ => continue,
            };
            return Ok(Some((part, at)));
        }
    }
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

/// How an XML format holds sentences.
pub(super) trait XmlFormat {
    /// A sentence while its parts are read.
    type Parts;
    /// The element that holds a sentence, and what is wrong with one inside another.
    const ELEMENT: [&'static str; 2];

    /// A sentence whose start tag was just read, and its number, from 1.
    fn start(&self, source: &XmlSource<'_>, number: usize) -> Self::Parts;

    /// The number of words so far.
    fn n_words(parts: &Self::Parts) -> usize;

    /// Adds what was just read.
    fn add(parts: &mut Self::Parts, part: Part, source: &XmlSource<'_>, at: At) -> Result<()>;

    /// The sentence, once all its parts are there.
    fn entry(&self, parts: Self::Parts, start: At) -> Result<Entry>;
}

/// Reads an XML format.
pub(super) struct XmlReader<'a, F> {
    source: XmlSource<'a>,
    format: F,
    n_sentences: usize,
}

impl<'a, F: XmlFormat> XmlReader<'a, F> {
    pub(super) fn new(source: Source<'a>, limit: Limit, format: F) -> Self {
        XmlReader { source: XmlSource::new(source, limit), format, n_sentences: 0 }
    }

    fn next_entry(&mut self) -> Result<Option<Entry>> {
        let start = loop {
            match self.source.next()? {
                None => return Ok(None),
                Some((Part::Start, at)) if self.source.name() == F::ELEMENT[0] => break at,
                Some(_) => {}
            }
        };
        self.n_sentences += 1;
        self.source.start_sentence();
        let mut parts = self.format.start(&self.source, self.n_sentences);
        // After an error in the sentence, its other parts are skipped.
        let mut error = None;
        loop {
            if error.is_none() {
                error = self.source.check_size(start, F::n_words(&parts)).err();
            }
            let (part, at) = match self.source.next() {
                Ok(Some(part)) => part,
                Ok(None) => return Err(start.error(Code::Truncated, "the file ends inside the sentence")),
                // The first error says more than what came of it.
                Err(later) => return Err(error.unwrap_or(later)),
            };
            let is_sentence = part != Part::Text && self.source.name() == F::ELEMENT[0];
            match part {
                Part::End if is_sentence => break,
                Part::Start if is_sentence => {
                    error.get_or_insert(at.error(Code::BadXml, F::ELEMENT[1]));
                }
                part if error.is_none() => error = F::add(&mut parts, part, &self.source, at).err(),
                _ => {}
            }
        }
        error.map_or_else(|| self.format.entry(parts, start).map(Some), Err)
    }
}

impl<F: XmlFormat> Iterator for XmlReader<'_, F> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let result = self.next_entry().transpose()?;
        Some(result.map_err(|error| error.in_sentence(self.n_sentences)))
    }
}
