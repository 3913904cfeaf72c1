//! Cuts text that comes in portions, in memory that does not grow with the text.

use super::features::{Case, Cutter, History, Tok, end_features};
use super::output;
use super::portions::Start;
use super::scan::{GapKind, Piece, Scanner, is_line_end};
use super::{Lines, SegmentOptions, Segmenter};
use crate::error::{Code, Error, Result};
use crate::ids::TokenIdx;
use crate::sentence::{Multiword, Sentence, Str, Token};

/// How much text is looked at in one go.
const BLOCK: usize = 1 << 14;

/// Cuts one document, portion by portion. The sentences do not depend on the portions.
///
/// Where line ends end sentences ([`Lines::EndSentences`], [`Lines::AreSentences`]), no line depends on the next, and the
/// sentences of a line are complete with its line feed; white space after that belongs to the next sentence. Otherwise a
/// sentence is complete when enough of the next one is known.
///
/// Memory is bounded by the longest sentence (see [`SegmentOptions::max_tokens`]) and the longest run of white space.
#[derive(Debug)]
pub struct Stream<'a> {
    segmenter: &'a Segmenter,
    options: SegmentOptions,
    /// The text from the start of the open sentence on; it begins at byte `base` of the document.
    text: String,
    base: usize,
    /// The start of a character whose other bytes are still to come.
    partial: Vec<u8>,
    /// Where the next character stands, for errors.
    line: usize,
    column: usize,
    scanner: Scanner,
    pieces: Vec<Piece>,
    next_piece: usize,
    cutter: Cutter,
    /// The first piece of the line.
    line_start: String,
    tokens: Vec<Tok>,
    /// How likely each token of the open sentence is its end, for sentences that must be cut somewhere.
    scores: Vec<i32>,
    /// The first token of the open sentence, and the first that has not been decided on.
    first: usize,
    decided: usize,
    history: History,
    features: Vec<u64>,
    /// Where the last sentence given away ended, white space included.
    given: usize,
    /// Characters of the document before the open sentence.
    n_chars: usize,
    starts_document: bool,
    starts_paragraph: bool,
    buffer: String,
    /// Nothing is decided about tokens from here on.
    stop: Option<usize>,
    /// Did a sentence end with the last token that was decided on?
    has_ended: bool,
}

impl<'a> Stream<'a> {
    /// A stream of the text from a place on.
    pub(super) fn at(segmenter: &'a Segmenter, options: &SegmentOptions, start: Start) -> Self {
        let Start { base, n_chars, line, column, history, before, starts_document, starts_paragraph } = start;
        let scanner = match options.lines {
            Lines::Free => Scanner::default(),
            Lines::EndSentences | Lines::AreSentences => Scanner::by_lines(),
        };
        let mut cutter = Cutter::default();
        cutter.beside.before = before;
        Stream {
            segmenter,
            options: options.clone(),
            text: String::new(),
            base,
            partial: Vec::new(),
            line,
            column,
            scanner: scanner.starting_at(base),
            pieces: Vec::new(),
            next_piece: 0,
            cutter,
            line_start: String::new(),
            tokens: Vec::new(),
            scores: Vec::new(),
            first: 0,
            decided: 0,
            history,
            features: Vec::new(),
            given: base,
            n_chars,
            starts_document,
            starts_paragraph,
            buffer: String::new(),
            stop: None,
            has_ended: true,
        }
    }

    /// Goes on to this place, as far as the text is known, and decides nothing about tokens after it.
    pub(super) fn stop_at(&mut self, stop: Option<usize>, out: &mut Vec<Sentence>) {
        self.stop = stop;
        self.advance(false, out);
    }

    /// Is all decided on up to there?
    pub(super) fn has_stopped(&self) -> bool {
        // Where lines end sentences, nothing is looked ahead to.
        self.options.lines != Lines::Free
            || self
                .tokens
                .get(self.decided)
                .is_some_and(|tok| self.stop.is_some_and(|stop| tok.start >= stop))
    }

    /// Did a sentence end where the stream stopped, and not only because it was too long?
    pub(super) fn is_between_sentences(&self) -> bool {
        self.stop == Some(self.given) && self.has_ended
    }

    /// Takes the next bytes, which may end inside a character, and adds the sentences that are complete.
    ///
    /// # Errors
    /// When the bytes are not UTF-8; what was before them can still be finished.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Sentence>) -> Result<()> {
        for block in bytes.chunks(BLOCK) {
            let result = self.decode(block);
            self.advance(false, out);
            self.compact();
            result?;
        }
        Ok(())
    }

    /// Ends the document: adds the sentences that are left. White space that no sentence keeps is given back: all of a
    /// document that is nothing else, or what follows the last line feed where lines end sentences.
    ///
    /// # Errors
    /// When the document ends inside a character.
    pub fn finish(mut self, out: &mut Vec<Sentence>) -> Result<String> {
        self.end_text(out);
        if !self.partial.is_empty() {
            return Err(self.not_utf8());
        }
        Ok(self.text.split_off(self.given - self.base))
    }

    /// No more text comes: adds the sentences that are left, up to where the stream stops.
    pub(super) fn end_text(&mut self, out: &mut Vec<Sentence>) {
        self.scanner.finish(&mut self.pieces);
        self.advance(true, out);
    }

    /// Adds the block's characters to the text.
    fn decode(&mut self, block: &[u8]) -> Result<()> {
        let mut rest = block;
        while !self.partial.is_empty() {
            let Some((&byte, others)) = rest.split_first() else { return Ok(()) };
            self.partial.push(byte);
            match std::str::from_utf8(&self.partial) {
                Ok(text) => {
                    let text = text.to_owned();
                    self.partial.clear();
                    self.add(&text);
                }
                Err(error) if error.error_len().is_some() => return Err(self.not_utf8()),
                Err(_) => {}
            }
            rest = others;
        }
        match std::str::from_utf8(rest) {
            Ok(text) => self.add(text),
            Err(error) => {
                let (valid, bad) = rest.split_at(error.valid_up_to());
                self.add(std::str::from_utf8(valid).expect("checked just now"));
                if error.error_len().is_some() {
                    return Err(self.not_utf8());
                }
                self.partial.extend_from_slice(bad);
            }
        }
        Ok(())
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        let n_lines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        if let Some(newline) = memchr::memrchr(b'\n', text.as_bytes()) {
            self.column = 1 + text[newline + 1..].chars().count();
        } else {
            self.column += text.chars().count();
        }
        self.line += n_lines;
    }

    fn not_utf8(&self) -> Error {
        let message =
            "bytes that are not UTF-8; expected UTF-8 text, or the name of its encoding (such as latin1)";
        Error::at(Code::InvalidUtf8, self.line, self.column, message)
    }

    /// Cuts as far as what is known of the text allows: nothing may depend on where it stops for now.
    fn advance(&mut self, is_over: bool, out: &mut Vec<Sentence>) {
        self.scanner.scan(&self.text, self.base, &self.segmenter.rules, &mut self.pieces);
        // A piece is cut when the next one is complete, and a token's end is judged by two tokens after it; but nothing is
        // waited for where a line ends a sentence.
        while let Some(piece) = self.pieces.get(self.next_piece)
            && (is_over || piece.gap.ends_line || self.next_piece + 1 < self.pieces.len())
        {
            self.cut_piece();
        }
        while let Some(tok) = self.tokens.get(self.decided)
            && self.stop.is_none_or(|stop| tok.start < stop)
            && (is_over || self.decided + 2 < self.tokens.len() || self.rest_of_line() > 0)
        {
            self.decide(out);
        }
    }

    /// If the line is known to end at the next undecided token or one of the two after it: the number of its tokens from
    /// there on. Otherwise 0.
    fn rest_of_line(&self) -> usize {
        let ahead = self.tokens[self.decided..].iter().take(3);
        ahead.enumerate().find(|(_, tok)| tok.gap.ends_line).map_or(0, |(i, _)| i + 1)
    }

    fn cut_piece(&mut self) {
        let Stream { segmenter, text, base, pieces, next_piece, cutter, line_start, tokens, .. } = self;
        let slice = |piece: &Piece| &text[piece.start - *base..piece.end - *base];
        let piece = &pieces[*next_piece];
        if line_start.is_empty() {
            line_start.push_str(slice(piece));
        }
        let next = match piece.gap.ends_line {
            // What the next line begins with is not known yet: most likely it is something like the start of this one.
            true if piece.gap.kind != GapKind::End => Some(&line_start[..]),
            true => None,
            false => pieces.get(*next_piece + 1).map(slice),
        };
        let first = tokens.len();
        let decide = |features: &[u64], _: usize| segmenter.tokens.score(features) > 0;
        cutter.cut(&segmenter.rules, piece, slice(piece), next, decide, tokens);
        for tok in &mut tokens[first..] {
            tok.case = Case(segmenter.cases.get(tok.lower).clamp(0, 5) as u8);
        }
        if piece.gap.ends_line {
            line_start.clear();
        }
        *next_piece += 1;
    }

    /// Does a sentence end after the next token?
    fn decide(&mut self, out: &mut Vec<Sentence>) {
        let tok = self.tokens[self.decided];
        self.history.add(&tok);
        let is_line_end = matches!(tok.gap.kind, GapKind::Newline | GapKind::Blank);
        let (is_end, score) = match (tok.gap.kind, self.options.lines) {
            (GapKind::End, _) => (true, 0),
            (_, Lines::EndSentences | Lines::AreSentences) if is_line_end => (true, 0),
            (_, lines) => {
                let known = match self.rest_of_line() {
                    0 => self.tokens.len(),
                    n => self.decided + n,
                };
                end_features(
                    &self.history,
                    &self.tokens[..known],
                    self.first,
                    self.decided,
                    &mut self.features,
                );
                let score = self.segmenter.sentences.score(&self.features);
                (score > 0 && lines != Lines::AreSentences, score)
            }
        };
        self.history.decide(&tok, is_end);
        self.has_ended = is_end;
        self.scores.push(score);
        self.decided += 1;
        if is_end {
            self.emit(self.decided, out);
        } else if self.scores.len() >= self.options.max_tokens.max(1) {
            // The likeliest place, but not so near the start that the rest would soon be too long again.
            let half = self.scores.len() / 2;
            let best = (half..self.scores.len()).max_by_key(|&i| (self.scores[i], i)).unwrap_or(half);
            self.emit(self.first + best + 1, out);
            self.history.restart(self.decided - self.first);
        }
    }

    /// Gives away the open sentence up to token `end`.
    fn emit(&mut self, end: usize, out: &mut Vec<Sentence>) {
        let n = end - self.first;
        let mut sentence = Sentence { tokens: Vec::with_capacity(n + n / 8), ..Sentence::default() };
        let mut text = String::from("# text = ");
        let start = self.tokens[self.first].start;
        // White space at the start of the document, or after a line that ended a sentence.
        let before = &self.text[self.given - self.base..start - self.base];
        self.starts_paragraph |= before.contains(is_line_end);
        self.n_chars += before.chars().count();
        for (i, tok) in self.tokens[self.first..end].iter().enumerate() {
            let form = &self.text[tok.start - self.base..tok.end - self.base];
            let after = &self.text[tok.end - self.base..tok.gap.end - self.base];
            let range = self.n_chars..self.n_chars + tok.n_chars as usize;
            self.n_chars = range.end + tok.gap.n_chars;
            let misc = output::misc(if i == 0 { before } else { "" }, after, range, &mut self.buffer);
            text.push_str(form);
            if !after.is_empty() && i + 1 < n {
                text.push(' ');
            }
            let neighbour = |j: Option<usize>| {
                let tok = j.filter(|&j| j < n).map(|j| &self.tokens[self.first + j]);
                tok.map_or("", |tok| &self.text[tok.start - self.base..tok.end - self.base])
            };
            let neighbours = [neighbour(i.checked_sub(1)), neighbour(Some(i + 1))];
            self.segmenter.add_words(form, neighbours, misc, &mut sentence);
        }
        if self.starts_document {
            sentence.comments.push(Str::const_new("# newdoc"));
        }
        if self.starts_paragraph {
            sentence.comments.push(Str::const_new("# newpar"));
        }
        sentence.comments.push(Str::from(text));
        out.push(sentence);
        self.starts_document = false;
        self.starts_paragraph = self.tokens[end - 1].gap.kind == GapKind::Blank;
        self.scores.drain(..n);
        self.given = self.tokens[end - 1].gap.end;
        self.first = end;
    }

    /// Forgets what has been given away.
    fn compact(&mut self) {
        self.tokens.drain(..self.first);
        self.decided -= self.first;
        self.first = 0;
        self.pieces.drain(..self.next_piece);
        self.next_piece = 0;
        self.text.drain(..self.given - self.base);
        self.base = self.given;
    }
}

impl Segmenter {
    /// Adds a surface token to a sentence, as one word or as several.
    fn add_words(&self, form: &str, neighbours: [&str; 2], misc: Str, sentence: &mut Sentence) {
        let Some(words) = self.multiwords.words(form, neighbours) else {
            sentence.tokens.push(Token { form: Str::new(form), misc, ..Token::default() });
            return;
        };
        let first = TokenIdx::new(sentence.tokens.len());
        sentence.tokens.extend(words.into_iter().map(|form| Token { form, ..Token::default() }));
        let mut columns: [Str; 9] = std::array::from_fn(|_| Str::const_new("_"));
        columns[0] = Str::new(form);
        columns[8] = misc;
        sentence.multiwords.push(Multiword { first, last: TokenIdx::new(sentence.len() - 1), columns });
    }
}
