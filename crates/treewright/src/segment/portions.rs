//! Cuts one document with several threads; the sentences are those that one [`Stream`] finds.
//!
//! A stream looks far back, and may go on with a sentence after a blank line. But what it knows where a sentence has just
//! ended at a line end depends on the text alone. So the text is split after blank lines (where line ends always end
//! sentences, after any line), each thread takes for granted that a sentence begins where its portion does, and
//! tells whether one ended where the next begins. Where none did, the stream is taken on through the next portion, and
//! what the other thread made of that is dropped.

use std::io::{ErrorKind, Read};
use std::sync::Arc;

use super::chars::{Class, class, is_space};
use super::features::{History, Tok};
use super::scan::{GapKind, Spaces};
use super::{Lines, SegmentOptions, Segmenter, Stream};
use crate::error::{Error, Result};
use crate::parallel::{self, Event, Feeder};
use crate::sentence::Sentence;

/// A portion has about this many bytes,
const PORTION: usize = 1 << 14;
/// and at most this many times as much, if no place to split it comes.
const MAX_PORTIONS: usize = 16;

/// What a stream knows where a sentence begins.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// The place in bytes, in characters, and by line and column.
    pub base: usize,
    pub n_chars: usize,
    pub line: usize,
    pub column: usize,
    pub history: History,
    /// The last character before, as the cutter sees it.
    pub before: u64,
    pub starts_document: bool,
    pub starts_paragraph: bool,
}

impl Default for Start {
    fn default() -> Self {
        Start {
            base: 0,
            n_chars: 0,
            line: 1,
            column: 1,
            history: History::default(),
            before: 0,
            starts_document: true,
            starts_paragraph: true,
        }
    }
}

/// What comes after a piece of text.
#[derive(Clone, Debug)]
enum Ending {
    More,
    Over,
    Failed(Error),
}

struct Text {
    bytes: Vec<u8>,
    ending: Ending,
}

/// Work for a thread.
struct Portion {
    /// Nothing if it begins where it came: inside a paragraph that is too long.
    start: Option<Start>,
    text: Arc<Text>,
    /// The text of the next portion, and where it begins, if that may be the start of a sentence.
    next: Option<Arc<Text>>,
    stop: Option<usize>,
}

/// What came of a portion.
struct Cut<'a> {
    sentences: Vec<Sentence>,
    result: Result<()>,
    /// The stream, if it goes on in the next portion, and how many bytes of that it has taken in.
    open: Option<(Stream<'a>, usize)>,
}

/// How much of the next portion is looked at in one go.
const AHEAD: usize = 512;

impl Portion {
    /// Takes a stream that has taken in the first bytes to the end of the portion.
    fn cut<'a>(&self, mut stream: Stream<'a>, n_taken: usize) -> Cut<'a> {
        let mut sentences = Vec::new();
        stream.stop_at(self.stop, &mut sentences);
        let cut = || -> Result<Option<(Stream<'a>, usize)>> {
            stream.push(&self.text.bytes[n_taken..], &mut sentences)?;
            let Some(next) = &self.next else {
                return match &self.text.ending {
                    Ending::Failed(error) => Err(error.clone()),
                    _ => stream.finish(&mut sentences).map(|_| None),
                };
            };
            if self.stop.is_none() {
                return Ok(Some((stream, 0)));
            }
            let mut n_taken = 0;
            for block in next.bytes.chunks(AHEAD) {
                if stream.has_stopped() {
                    break;
                }
                let pushed = stream.push(block, &mut sentences);
                n_taken += block.len();
                // What is wrong further on is for the next portion to tell, unless this stream goes on there.
                if pushed.is_err() && !(stream.has_stopped() && stream.is_between_sentences()) {
                    stream.stop_at(None, &mut sentences);
                    return pushed.map(|()| None);
                }
            }
            if !stream.has_stopped() {
                match &next.ending {
                    Ending::More => return Ok(Some((stream, n_taken))),
                    Ending::Over => stream.end_text(&mut sentences),
                    Ending::Failed(error) => return Err(error.clone()),
                }
            }
            Ok((!stream.is_between_sentences()).then_some((stream, n_taken)))
        };
        let (result, open) = match cut() {
            Ok(open) => (Ok(()), open),
            Err(error) => (Err(error), None),
        };
        Cut { sentences, result, open }
    }
}

/// Splits a text into portions.
struct Splitter<R> {
    source: R,
    by_lines: bool,
    size: usize,
    /// What was read and not yet given away, and how much of it was looked at.
    bytes: Vec<u8>,
    n_scanned: usize,
    /// Where `bytes` begin; nothing inside a paragraph.
    start: Option<Start>,
    /// What a stream would know here if a sentence had ended with the last line.
    here: Start,
    /// The white space after the last character that is none; nothing right after one.
    gap: Option<Spaces>,
    /// Does anything of the line come before that?
    in_line: bool,
    /// The characters of the line, white space at its end not counted, and the last of them.
    n_line: usize,
    last: Class,
    has_bad_bytes: bool,
    is_over: bool,
}

impl<R: Read> Splitter<R> {
    fn new(source: R, by_lines: bool, size: usize) -> Self {
        Splitter {
            source,
            by_lines,
            size,
            bytes: Vec::new(),
            n_scanned: 0,
            start: Some(Start::default()),
            here: Start { starts_document: false, ..Start::default() },
            gap: None,
            in_line: false,
            n_line: 0,
            last: class(' '),
            has_bad_bytes: false,
            is_over: false,
        }
    }

    /// The next piece of text, and where it begins if that may be the start of a sentence.
    fn next(&mut self) -> Option<(Option<Start>, Arc<Text>)> {
        while !self.is_over {
            if self.scan() {
                let start = Some(self.here.clone());
                return Some(self.split(start, Ending::More));
            }
            if self.has_bad_bytes {
                // The thread that cuts them will report it.
                return Some(self.end(Ending::Over));
            }
            if self.n_scanned > MAX_PORTIONS * self.size {
                return Some(self.split(None, Ending::More));
            }
            let n = self.bytes.len();
            self.bytes.resize(n + self.size.max(4), 0);
            let read = self.source.read(&mut self.bytes[n..]);
            self.bytes.truncate(n + read.as_ref().map_or(0, |n_read| *n_read));
            match read {
                Ok(0) => return Some(self.end(Ending::Over)),
                Err(error) if error.kind() != ErrorKind::Interrupted => {
                    return Some(self.end(Ending::Failed(error.into())));
                }
                _ => {}
            }
        }
        None
    }

    fn end(&mut self, ending: Ending) -> (Option<Start>, Arc<Text>) {
        self.is_over = true;
        self.n_scanned = self.bytes.len();
        self.split(None, ending)
    }

    /// Gives away what was looked at; the rest begins at `start`.
    fn split(&mut self, start: Option<Start>, ending: Ending) -> (Option<Start>, Arc<Text>) {
        let rest = self.bytes.split_off(self.n_scanned);
        let bytes = std::mem::replace(&mut self.bytes, rest);
        self.n_scanned = 0;
        (std::mem::replace(&mut self.start, start), Arc::new(Text { bytes, ending }))
    }

    /// Looks at what was read, up to the next place to split it. Is there one?
    fn scan(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.bytes);
        let text = match std::str::from_utf8(&bytes[self.n_scanned..]) {
            Ok(text) => text,
            Err(error) => {
                self.has_bad_bytes = error.error_len().is_some();
                let good = &bytes[self.n_scanned..][..error.valid_up_to()];
                std::str::from_utf8(good).expect("checked just now")
            }
        };
        let may_split = text.chars().any(|c| self.add(c));
        self.bytes = bytes;
        // Bad bytes after a place to split are looked at again.
        self.has_bad_bytes &= !may_split;
        may_split
    }

    /// Takes in a character. Can the text be split here? In lines, that is after it; otherwise before it, and it was not
    /// taken in.
    fn add(&mut self, c: char) -> bool {
        let mut may_split = false;
        if is_space(c) {
            if self.in_line {
                let gap = self.gap.get_or_insert_default();
                gap.push(c);
                if self.by_lines && c == '\n' {
                    may_split = self.end_line();
                }
            }
        } else {
            if let Some(gap) = self.gap.take() {
                match gap.kind() {
                    GapKind::Newline | GapKind::Blank => {
                        self.gap = Some(gap);
                        if self.end_line() && !self.by_lines && gap.kind() == GapKind::Blank {
                            return true;
                        }
                    }
                    _ => self.n_line += gap.n_chars,
                }
            }
            self.in_line = true;
            self.n_line += 1;
            self.last = class(c);
        }
        self.n_scanned += c.len_utf8();
        self.here.base += c.len_utf8();
        self.here.n_chars += 1;
        (self.here.line, self.here.column) =
            if c == '\n' { (self.here.line + 1, 1) } else { (self.here.line, self.here.column + 1) };
        may_split
    }

    /// A line is over. Is there enough before it for a portion?
    fn end_line(&mut self) -> bool {
        let kind = self.gap.take().expect("a line ends with white space").kind();
        let line = Tok::of_line(self.n_line, self.last, kind);
        self.here.history.add(&line);
        self.here.history.decide(&line, true);
        self.here.before = self.last as u64 + 1;
        self.here.starts_paragraph = kind == GapKind::Blank;
        self.in_line = false;
        self.n_line = 0;
        self.n_scanned >= self.size
    }
}

impl Segmenter {
    /// Cuts a document while it is read, with `jobs` threads, and hands its sentences to `take`: those that
    /// [`Segmenter::read`] gives, in the same order. Memory is bounded.
    ///
    /// # Errors
    /// When it cannot be read or is not UTF-8, after the sentences before that; or the first error of `take`.
    pub fn read_in_parallel(
        &self,
        source: impl Read + Send,
        options: &SegmentOptions,
        jobs: usize,
        take: impl FnMut(Sentence) -> Result<()>,
    ) -> Result<()> {
        self.read_portions(source, options, jobs, PORTION, take)
    }

    /// The same with portions of about this size.
    pub(super) fn read_portions(
        &self,
        source: impl Read + Send,
        options: &SegmentOptions,
        jobs: usize,
        size: usize,
        mut take: impl FnMut(Sentence) -> Result<()>,
    ) -> Result<()> {
        let worker = || {
            |portion: Portion| {
                let stream = |start: &Start| Stream::at(self, options, start.clone());
                let cut = portion.start.as_ref().map(|start| portion.cut(stream(start), 0));
                (portion, cut)
            }
        };
        let feed = |mut feeder: Feeder<'_, Portion>| {
            let mut splitter = Splitter::new(source, options.lines != Lines::Free, size);
            let mut next = splitter.next();
            while let Some((start, text)) = next {
                next = splitter.next();
                let stop = next.as_ref().and_then(|(start, _)| Some(start.as_ref()?.base));
                let next_text = next.as_ref().map(|(_, text)| text.clone());
                feeder.give(Portion { start, text, next: next_text, stop })?;
            }
            Ok(())
        };
        let mut open: Option<(Stream<'_>, usize)> = None;
        parallel::in_order(
            jobs,
            worker,
            feed,
            || (),
            |event| {
                let Event::Done((portion, cut)) = event else { return Ok(()) };
                let cut = match open.take() {
                    Some((stream, n_taken)) => portion.cut(stream, n_taken),
                    None => cut.expect("a portion without a start follows one that did not end"),
                };
                open = cut.open;
                cut.sentences.into_iter().try_for_each(&mut take)?;
                cut.result
            },
        )
    }
}
