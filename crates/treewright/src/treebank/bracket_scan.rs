//! What the two bracket formats share: finding trees in text, and recovering after an error.
//!
//! The text of the tree at hand is kept, so that an error can name the line and column of anything in it.
//!
//! Where does a tree end whose brackets do not match? In a file with a tree on each line, a line that starts with
//! `(` starts a tree. So it is read once some tree has been seen that fills its line, and after an error; before
//! that, such a line may also continue a tree that is spread over lines without indentation.

use std::io::Read;
use std::marker::PhantomData;
use std::ops::Range;

use super::bracket::{IS_SPECIAL, NO_TAG, NO_WORDS};
use super::lines::{Limit, Lines, column, is_blank};
use super::{Entry, ReadOptions};
use crate::error::{Code, Error, Result};
use crate::ids::TokenIdx;
use crate::sentence::{Sentence, Str, Token};
use crate::tree::{NestedBuilder, TreeError};

/// How a format writes its words.
pub(super) trait LeafStyle {
    /// How a leaf looks, for messages.
    const EXPECTED: &'static str;

    /// The position and the form of the word that is written as `text`, when `n_before` words came before it.
    fn split(text: &str, n_before: usize) -> Option<(usize, &str)>;
}

/// A place in the text at hand.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    line: usize,
    column: usize,
}

impl Place {
    /// A later place, reached by way of the text between the two.
    fn later(self, text: &str, at: usize) -> Place {
        let between = &text[self.at..at];
        match between.rfind('\n') {
            None => Place { at, line: self.line, column: self.column + column(between, between.len()) - 1 },
            Some(newline) => {
                let n_lines = between.bytes().filter(|&byte| byte == b'\n').count();
                let rest = &between[newline + 1..];
                Place { at, line: self.line + n_lines, column: column(rest, rest.len()) }
            }
        }
    }
}

/// An opened bracket.
struct Open {
    /// Where the bracket stands.
    start: usize,
    label: Range<usize>,
    /// White space stands between the bracket and its label.
    is_spaced: bool,
    /// The number of bare words directly inside.
    n_bare: usize,
    /// What `NestedBuilder::close` wants to know.
    first_child: usize,
}

/// A word as it stands in the text: tokens are large, and are made once their number is known.
struct Word {
    position: usize,
    start: usize,
    form: Range<usize>,
    tag: Range<usize>,
}

/// The part of a tree that has been read.
struct HalfTree<S> {
    builder: NestedBuilder,
    /// The words in the order of the file.
    words: Vec<Word>,
    /// The first pair of brackets with nothing in it.
    empty: Option<usize>,
    bare_words: bool,
    /// `--` is a tag.
    literal_tags: bool,
    style: PhantomData<S>,
}

/// What a scan of the text at hand ended with.
enum Scan {
    TreeEnd,
    TextEnd,
}

/// Reads trees in brackets.
pub(super) struct BracketReader<R, S> {
    lines: Lines<R>,
    limit: Limit,
    /// A tree without words, or a blank line, is an entry.
    no_parse: bool,
    /// The lines of the tree at hand, each with a line feed, and what follows on the last of them.
    text: String,
    /// The next byte to look at.
    at: usize,
    /// A place at or before `at` whose line and column are known: a line may hold very many trees.
    known: Place,
    /// A line that starts with a bracket starts a tree.
    line_starts_tree: bool,
    /// Where an unfinished tree may already have ended.
    resume: Option<usize>,
    /// The number of brackets to be closed in the rest of a damaged tree, which is to be skipped.
    damaged_depth: usize,
    n_sentences: usize,
    /// Those before the tree at hand.
    comments: Vec<Str>,
    n_comment_bytes: usize,
    open: Vec<Open>,
    /// The number of brackets opened in the tree at hand, apart from those around a tag and a word.
    n_opened: usize,
    tree: HalfTree<S>,
}

impl<R: Read, S: LeafStyle> BracketReader<R, S> {
    pub(super) fn new(source: R, options: &ReadOptions, literal_tags: bool) -> Self {
        BracketReader {
            lines: Lines::new(source, options.limit),
            limit: options.limit,
            no_parse: options.no_parse,
            text: String::new(),
            at: 0,
            known: Place { at: 0, line: 1, column: 1 },
            line_starts_tree: false,
            resume: None,
            damaged_depth: 0,
            n_sentences: 0,
            comments: Vec::new(),
            n_comment_bytes: 0,
            open: Vec::new(),
            n_opened: 0,
            tree: HalfTree {
                builder: NestedBuilder::default(),
                words: Vec::new(),
                empty: None,
                bare_words: options.bare_words,
                literal_tags,
                style: PhantomData,
            },
        }
    }

    /// Reads one more line after the text at hand; `false` at the end of the file.
    fn read_line(&mut self) -> Result<bool> {
        self.lines.start_sentence();
        match self.lines.next_line() {
            None => Ok(false),
            Some(Ok(line)) => {
                self.text.push_str(line);
                self.text.push('\n');
                Ok(true)
            }
            Some(Err(error)) => {
                // An empty line stands for the bad one, so that later lines keep their numbers.
                self.text.push('\n');
                let is_between = self.open.is_empty() && self.damaged_depth == 0;
                Err(error.in_sentence(self.n_sentences + usize::from(is_between)))
            }
        }
    }

    /// Drops the text at hand, all of which has been looked at, and reads a line.
    fn start_line(&mut self) -> Result<bool> {
        self.text.clear();
        self.at = 0;
        self.known = Place { at: 0, line: self.lines.number() + 1, column: 1 };
        self.read_line()
    }

    fn next_tree(&mut self) -> Result<Option<Entry>> {
        if self.damaged_depth > 0 && !self.skip_damaged()? {
            return Ok(None);
        }
        // The start of a tree.
        loop {
            match self.text.as_bytes().get(self.at) {
                None => {
                    if !self.start_line()? {
                        return Ok(None);
                    }
                    if self.no_parse && is_blank(self.text.trim_end_matches('\n').as_bytes()) {
                        self.at = self.text.len();
                        self.n_sentences += 1;
                        return Ok(Some(Entry::default()));
                    }
                }
                Some(b'(') => break,
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'#') if self.starts_line(self.at) => self.comment()?,
                Some(b')') => return Err(self.stray_bracket()),
                Some(_) => return Err(self.stray_text()),
            }
        }
        self.n_sentences += 1;
        self.n_opened = 0;
        self.known = self.known.later(&self.text, self.at);
        self.drop_earlier_trees();
        let start = self.at;
        loop {
            match self.scan()? {
                Scan::TreeEnd => break,
                Scan::TextEnd if self.limit.is_exceeded_by(self.text.len() - start) => {
                    return Err(self.too_large());
                }
                Scan::TextEnd if self.read_line()? => {}
                Scan::TextEnd => return Err(self.unclosed(start, None)),
            }
        }
        let fills_line = self.starts_line(start) && !self.text[start..self.at].contains('\n');
        self.line_starts_tree |= fills_line;
        self.entry(start).map(Some)
    }

    /// Drops the trees before the one that starts here, if they are most of the text at hand: each tree may start on
    /// the line on which the one before it ends.
    fn drop_earlier_trees(&mut self) {
        // What stands before a tree tells whether the tree starts a line.
        let earlier = self.at.saturating_sub(1);
        if earlier > 1 << 16 && earlier >= self.text.len() / 2 && self.text.is_char_boundary(earlier) {
            self.text.drain(..earlier);
            self.at -= earlier;
            self.known.at = self.at;
        }
    }

    #[cold]
    fn too_large(&self) -> Error {
        let start = self.open.first().map_or(self.at, |bracket| bracket.start);
        let Place { line, column, .. } = self.known.later(&self.text, start);
        self.limit.error(line, column).in_sentence(self.n_sentences)
    }

    /// Takes a line between trees as a comment of the next tree.
    fn comment(&mut self) -> Result<()> {
        let length = self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        let line = &self.text[self.at..self.at + length];
        self.comments.push(Str::new(line.trim_end_matches('\r')));
        self.at += length;
        self.n_comment_bytes += length;
        let limit = self.limit;
        if limit.is_exceeded_by_items(self.comments.len()) || limit.is_exceeded_by(self.n_comment_bytes) {
            return Err(self.too_large().in_sentence(self.n_sentences + 1));
        }
        Ok(())
    }

    fn starts_line(&self, at: usize) -> bool {
        at == 0 || self.text.as_bytes()[at - 1] == b'\n'
    }

    /// Goes on with the tree until it ends or the text does.
    fn scan(&mut self) -> Result<Scan> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            match bytes.get(at) {
                None => {
                    self.at = at;
                    return Ok(Scan::TextEnd);
                }
                Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
                Some(b'(') => {
                    if !self.open.is_empty() && bytes[at - 1] == b'\n' {
                        self.resume.get_or_insert(at);
                        if self.line_starts_tree {
                            return Err(self.unclosed(self.open[0].start, Some(at)));
                        }
                    }
                    let label = at + 1..text_end(bytes, at + 1);
                    // Nearly every bracket holds a tag, one space and a word.
                    if bytes.get(label.end) == Some(&b' ')
                        && !label.is_empty()
                        && !self.open.is_empty()
                        && !self.tree.bare_words
                    {
                        let word = label.end + 1..text_end(bytes, label.end + 1);
                        if bytes.get(word.end) == Some(&b')') && !word.is_empty() {
                            at = word.end + 1;
                            if self.limit.is_exceeded_by_items(self.tree.words.len()) {
                                self.at = at;
                                return Err(self.too_large());
                            }
                            if !self.tree.word(&self.text, word.clone(), label) {
                                self.at = at;
                                return Err(self.bad_leaf(word));
                            }
                            continue;
                        }
                    }
                    let (start, first_child) = (at, self.tree.builder.n_waiting());
                    at = label.end;
                    self.n_opened += 1;
                    if self.limit.is_exceeded_by_items(self.n_opened) {
                        self.at = at;
                        return Err(self.too_large());
                    }
                    self.open.push(Open { start, label, is_spaced: false, n_bare: 0, first_child });
                }
                Some(b')') => {
                    let bracket = self.open.pop().expect("a tree is scanned only while a bracket is open");
                    at += 1;
                    let is_whole_tree = self.open.is_empty();
                    if let Err(word) = self.tree.close(&self.text, bracket, is_whole_tree) {
                        self.at = at;
                        return Err(self.bad_leaf(word));
                    }
                    if is_whole_tree {
                        self.at = at;
                        return Ok(Scan::TreeEnd);
                    }
                }
                Some(_) => {
                    let word = at..text_end(bytes, at);
                    at = word.end;
                    let top = self.open.last_mut().expect("a tree is scanned only while a bracket is open");
                    let has_child = self.tree.builder.n_waiting() > top.first_child;
                    if top.label.is_empty() && !has_child {
                        top.label = word;
                        top.is_spaced = true;
                        continue;
                    }
                    top.n_bare += 1;
                    if self.limit.is_exceeded_by_items(self.tree.words.len()) {
                        self.at = at;
                        return Err(self.too_large());
                    }
                    if !self.tree.word(&self.text, word.clone(), 0..0) {
                        self.at = at;
                        return Err(self.bad_leaf(word));
                    }
                }
            }
        }
    }

    /// The finished tree, and its words in their order.
    fn entry(&mut self, start: usize) -> Result<Entry> {
        if self.tree.words.is_empty() {
            if self.no_parse {
                return Ok(Entry::default());
            }
            // As a sentence without words is written.
            if self.text.get(start..self.at) == Some(NO_WORDS) {
                let comments = std::mem::take(&mut self.comments);
                return Ok(Entry { sentence: Sentence { comments, ..Sentence::default() }, tree: None });
            }
            return Err(self.error(
                Code::EmptyConstituent,
                start,
                "a tree without words; expected at least one",
            ));
        }
        if let Some(empty) = self.tree.empty {
            let message = "a constituent without words; expected at least one word in it";
            return Err(self.error(Code::EmptyConstituent, empty, message));
        }
        let tree = self.tree.builder.finish().map_err(|error| self.bad_tree(&error, start))?;
        let (tokens, comments) = (self.tree.tokens(&self.text), std::mem::take(&mut self.comments));
        let sentence = Sentence { tokens, comments, ..Sentence::default() };
        Ok(Entry { sentence, tree: Some(tree.into()) })
    }

    /// Skips the rest of a damaged tree: to its end, or to a line that starts with a bracket.
    fn skip_damaged(&mut self) -> Result<bool> {
        while self.damaged_depth > 0 {
            match self.text.as_bytes().get(self.at) {
                None => {
                    if !self.start_line()? {
                        return Ok(false);
                    }
                    if self.text.starts_with('(') {
                        self.damaged_depth = 0;
                    }
                }
                Some(b'(') if self.at > 0 && self.starts_line(self.at) => self.damaged_depth = 0,
                Some(byte) => {
                    match byte {
                        b'(' => self.damaged_depth += 1,
                        b')' => self.damaged_depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                }
            }
        }
        Ok(true)
    }

    fn error(&self, code: Code, at: usize, message: impl Into<String>) -> Error {
        let Place { line, column, .. } = self.known.later(&self.text, at);
        Error::at(code, line, column, message).in_sentence(self.n_sentences)
    }

    #[cold]
    fn bad_leaf(&self, at: Range<usize>) -> Error {
        let message =
            format!("{:?} where a word should stand; expected {}", &self.text[at.clone()], S::EXPECTED);
        self.error(Code::BadIndex, at.start, message)
    }

    #[cold]
    fn bad_tree(&self, error: &TreeError, start: usize) -> Error {
        let n = self.tree.words.len();
        match *error {
            TreeError::TwoParents(token) => {
                let at = self.tree.words.iter().rev().find(|word| word.position == token.index());
                let message = format!("word {} stands in the tree twice; expected once", token.index());
                self.error(Code::TwoParents, at.map_or(start, |word| word.start), message)
            }
            TreeError::Unattached(token) => {
                let message = format!(
                    "word {} is missing; expected the words 0 to {} in a tree of {n} words",
                    token.index(),
                    n - 1
                );
                let outside = self.tree.words.iter().find(|word| word.position >= n);
                self.error(Code::MissingWord, outside.map_or(start, |word| word.start), message)
            }
            _ => self.error(Code::Unbalanced, start, error.to_string()),
        }
    }

    /// The tree that starts at `start` is not closed where the next one starts, or at the end.
    #[cold]
    fn unclosed(&mut self, start: usize, next: Option<usize>) -> Error {
        let (n, s) = (self.open.len(), if self.open.len() == 1 { "" } else { "s" });
        let place = if next.is_some() { "where the next tree starts" } else { "at the end of the file" };
        let message = format!("{n} bracket{s} not closed {place}; expected as many `)` as `(`");
        let error = self.error(Code::Unbalanced, start, message);
        // Go on with the line that may have been a tree of its own.
        self.at = self.resume.unwrap_or(self.text.len());
        self.open.clear();
        error
    }

    #[cold]
    fn stray_bracket(&mut self) -> Error {
        let error = self.error(Code::Unbalanced, self.at, "a `)` that closes nothing; expected `(`");
        self.skip_while(|byte| byte == b')' || byte.is_ascii_whitespace());
        error
    }

    #[cold]
    fn stray_text(&mut self) -> Error {
        let text = &self.text[self.at..text_end(self.text.as_bytes(), self.at)];
        let shown: String = text.chars().take(20).collect();
        let message = format!("{shown:?} outside of any tree; expected `(`");
        let error = self.error(Code::ExpectedBracket, self.at, message).in_sentence(self.n_sentences + 1);
        self.skip_while(|byte| byte != b'(');
        error
    }

    fn skip_while(&mut self, skip: impl Fn(u8) -> bool) {
        self.at += self.text.as_bytes()[self.at..].iter().take_while(|&&byte| skip(byte)).count();
    }
}

impl<R: Read, S: LeafStyle> Iterator for BracketReader<R, S> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let result = self.next_tree().transpose()?;
        if let Err(error) = &result {
            self.line_starts_tree = true;
            if !self.open.is_empty() {
                // Nobody knows how many brackets were on a line that could not be read.
                let is_known = !matches!(error.code, Code::InvalidUtf8 | Code::NulByte | Code::TooLarge);
                self.damaged_depth = if is_known { self.open.len() } else { usize::MAX / 2 };
            }
        }
        self.open.clear();
        self.tree.clear();
        self.comments.clear();
        self.n_comment_bytes = 0;
        self.resume = None;
        if result.is_err() {
            self.known = self.known.later(&self.text, self.at);
        }
        Some(result)
    }
}

impl<S: LeafStyle> HalfTree<S> {
    fn clear(&mut self) {
        self.builder.clear();
        self.words.clear();
        self.empty = None;
    }

    /// Adds one word; `false` if it is not written as it should be.
    #[inline]
    fn word(&mut self, text: &str, word: Range<usize>, tag: Range<usize>) -> bool {
        let Some((position, form)) = S::split(&text[word.clone()], self.words.len()) else { return false };
        self.builder.token(TokenIdx::new(position));
        let form = word.end - form.len()..word.end;
        self.words.push(Word { position, start: word.start, form, tag });
        true
    }

    /// Adds what an opened bracket turns out to be once it is closed. The error is a word that is not written as it
    /// should be.
    fn close(&mut self, text: &str, bracket: Open, is_whole_tree: bool) -> Result<(), Range<usize>> {
        let Open { start, label, is_spaced, n_bare, first_child } = bracket;
        let n_children = self.builder.n_waiting() - first_child;
        if n_children == 0 && is_spaced {
            // `( word)`
            if !self.word(text, label.clone(), 0..0) {
                return Err(label);
            }
            if is_whole_tree {
                self.builder.close(first_child, Str::default());
            }
        } else if n_children == 0 {
            self.empty.get_or_insert(start);
        } else if n_children == 1 && n_bare == 1 && !is_whole_tree && !self.bare_words {
            self.words.last_mut().expect("a bare word is a word").tag = label;
        } else {
            self.builder.close(first_child, Str::from(&text[label]));
        }
        Ok(())
    }

    /// The words in the order of the sentence.
    fn tokens(&mut self, text: &str) -> Vec<Token> {
        if !self.words.is_sorted_by_key(|word| word.position) {
            self.words.sort_unstable_by_key(|word| word.position);
        }
        let literal_tags = self.literal_tags;
        let token = |word: &Word| {
            let tag = &text[word.tag.clone()];
            Token::new(&text[word.form.clone()], if tag == NO_TAG && !literal_tags { "" } else { tag })
        };
        self.words.iter().map(token).collect()
    }
}

/// The end of the text that starts at `from`.
#[inline]
fn text_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() && !IS_SPECIAL[bytes[at] as usize] {
        at += 1;
    }
    at
}
