//! CoNLL-U and CoNLL-X: one word a line, ten columns separated by tabs, a blank line after each sentence.
//!
//! `_` in a column is an empty field of the token and the other way round, except in FORM, where it is the word
//! itself. Comments, ranges, empty nodes, DEPS and MISC are kept as written, so a valid CoNLL-U file comes out
//! byte for byte as it went in. CoNLL-X shares the columns; its PHEAD and PDEPREL live in `deps` and `misc`.

mod write;

pub(super) use write::ConlluLayout;

use crate::error::{Code, Error, Result};
use crate::ids::TokenIdx;
use crate::sentence::{EmptyNode, Multiword, Sentence, Str, Token};
use crate::tree::{Arc, DependencyTree, Tree};
use crate::treebank::lines::{Lines, column, is_blank};
use crate::treebank::{Entry, Format, ReadOptions, Source};

const N_COLUMNS: usize = 10;
const COLUMN_NAMES: [&str; N_COLUMNS] =
    ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"];
const HEAD: usize = 6;
const DEPREL: usize = 7;

/// Reads CoNLL-U, or CoNLL-X: no ranges, no empty nodes, any number of roots.
pub(super) struct ConlluReader<'a> {
    lines: Lines<Source<'a>>,
    is_conllu: bool,
    many_roots: bool,
    n_sentences: usize,
    block: Block,
    /// An I/O error met while skipping a bad sentence: reported after that sentence.
    pending: Option<Error>,
}

impl<'a> ConlluReader<'a> {
    pub(super) fn new(source: Source<'a>, format: Format, options: &ReadOptions) -> Self {
        let is_conllu = format == Format::Conllu;
        let block = Block { words_only: options.words_only, ..Block::default() };
        ConlluReader {
            lines: Lines::new(source, options.limit),
            is_conllu,
            many_roots: options.many_roots || !is_conllu,
            n_sentences: 0,
            block,
            pending: None,
        }
    }

    /// Reads up to the blank line. On an error, `Ended` tells whether that line has been passed.
    fn sentence(&mut self) -> Result<Option<Entry>, (Error, Ended)> {
        let block = &mut self.block;
        block.start();
        self.lines.start_sentence();
        loop {
            let number = self.lines.number() + 1;
            let line = match self.lines.next_line() {
                None => break,
                Some(line) => line.map_err(|error| (error, Ended(false)))?,
            };
            match line.as_bytes().first() {
                Some(b'#') => block.comment(line, number),
                Some(b'0'..=b'9') => block.row(line, number, self.is_conllu),
                _ if is_blank(line.as_bytes()) => {
                    if block.is_untouched() {
                        self.lines.start_sentence();
                        continue;
                    }
                    break;
                }
                _ => Err(split(line, number).err().unwrap_or_else(|| bad_id(line, number))),
            }
            .map_err(|error| (error, Ended(false)))?;
        }
        if block.is_untouched() {
            return Ok(None);
        }
        block.finish(self.many_roots).map(Some).map_err(|error| (error, Ended(true)))
    }
}

/// Has the blank line after the sentence been read?
struct Ended(bool);

impl Iterator for ConlluReader<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.pending.take() {
            return Some(Err(error.in_sentence(self.n_sentences)));
        }
        match self.sentence() {
            Ok(None) => None,
            Ok(Some(entry)) => {
                self.n_sentences += 1;
                Some(Ok(entry))
            }
            Err((error, Ended(ended))) => {
                self.n_sentences += 1;
                if !ended {
                    self.pending = self.lines.skip_past_blank().err();
                }
                Some(Err(error.in_sentence(self.n_sentences)))
            }
        }
    }
}

/// The sentence being read.
#[derive(Debug, Default)]
struct Block {
    /// True if heads and relations are left unread.
    words_only: bool,
    sentence: Sentence,
    arcs: Vec<Arc>,
    /// Line and column of every word's HEAD, for errors that show only at the end.
    head_places: Vec<(usize, usize)>,
    first_line: usize,
    /// The line of the last range.
    range_line: usize,
    n_missing: usize,
    /// The first word without a head.
    first_missing: usize,
    /// Where a relation stood beside a missing head.
    stray_relation: Option<(usize, usize)>,
    n_roots: usize,
    /// The second word whose head is the root.
    second_root: usize,
}

impl Block {
    /// Forgets the last sentence, but not how long it was: neighbours are often alike, and growing costs.
    fn start(&mut self) {
        let n_tokens = self.head_places.len().clamp(8, 64);
        self.sentence = Sentence::default();
        self.sentence.tokens.reserve(n_tokens);
        self.arcs = Vec::with_capacity(n_tokens);
        self.head_places.clear();
        self.first_line = 0;
        self.n_missing = 0;
        self.stray_relation = None;
        self.n_roots = 0;
    }

    fn is_untouched(&self) -> bool {
        self.first_line == 0
    }

    fn comment(&mut self, line: &str, number: usize) -> Result<()> {
        let Sentence { id, tokens, comments, multiwords, empty_nodes } = &mut self.sentence;
        if !tokens.is_empty() || !multiwords.is_empty() || !empty_nodes.is_empty() {
            let message = "a comment inside a sentence; expected a word or a blank line";
            return Err(Error::at(Code::MisplacedLine, number, 1, message));
        }
        if self.first_line == 0 {
            self.first_line = number;
        }
        if id.is_empty()
            && let Some(name) = sent_id(line)
        {
            *id = Str::new(name);
        }
        comments.push(Str::new(line));
        Ok(())
    }

    /// A line of ten columns.
    fn row(&mut self, line: &str, number: usize, is_conllu: bool) -> Result<()> {
        let fields = split(line, number)?;
        if self.first_line == 0 {
            self.first_line = number;
        }
        let expected = self.sentence.len() + 1;
        match parse_id(fields[0]) {
            Some(Id::Word(id)) if id == expected => self.word(line, number, &fields),
            Some(Id::Range(first, last)) if is_conllu => self.range(number, first, last, &fields),
            Some(Id::Empty(after, index)) if is_conllu => self.empty_node(number, after, index, &fields),
            Some(Id::Word(id)) if (1..expected).contains(&id) => {
                let message = format!("word {id} stands here twice; expected word {expected}");
                Err(Error::at(Code::DuplicateId, number, 1, message))
            }
            _ => {
                let message = format!("the ID is {:?}; expected word {expected}", fields[0]);
                Err(Error::at(Code::BadId, number, 1, message))
            }
        }
    }

    fn word(&mut self, line: &str, number: usize, fields: &[&str; N_COLUMNS]) -> Result<()> {
        let [_, form, lemma, tag, xpos, feats, head, relation, deps, misc] = *fields;
        let index = self.sentence.tokens.len();
        let place = |which: usize| {
            let offset = fields[..which].iter().map(|field| field.len() + 1).sum();
            (number, column(line, offset))
        };
        let head_place = place(HEAD);
        let head = if self.words_only {
            None
        } else if head == "_" {
            if self.n_missing == 0 {
                self.first_missing = index;
            }
            self.n_missing += 1;
            if relation != "_" && self.stray_relation.is_none() {
                self.stray_relation = Some(place(DEPREL));
            }
            None
        } else {
            match parse_number(head) {
                Some(0) => {
                    self.n_roots += 1;
                    if self.n_roots == 2 {
                        self.second_root = index;
                    }
                    None
                }
                Some(head) if head == index + 1 => {
                    let message = format!("word {head} is its own head; expected another word, or 0");
                    return Err(Error::at(Code::Cycle, head_place.0, head_place.1, message));
                }
                Some(head) => Some(TokenIdx::new(head - 1)),
                None => {
                    let message = format!("the head is {head:?}; expected a word's number, 0 or _");
                    return Err(Error::at(Code::BadHead, head_place.0, head_place.1, message));
                }
            }
        };
        self.head_places.push(head_place);
        self.arcs.push(Arc { head, label: value(relation) });
        self.sentence.tokens.push(Token {
            form: Str::new(form),
            lemma: value(lemma),
            tag: value(tag),
            xpos: value(xpos),
            feats: value(feats),
            deps: value(deps),
            misc: value(misc),
        });
        Ok(())
    }

    fn range(&mut self, number: usize, first: usize, last: usize, fields: &[&str; N_COLUMNS]) -> Result<()> {
        let Sentence { tokens, multiwords, .. } = &mut self.sentence;
        let is_free = multiwords.last().is_none_or(|before| before.last.index() < first.wrapping_sub(1));
        if first != tokens.len() + 1 || last < first || !is_free {
            let message = format!(
                "the range {first}-{last} is out of place; expected one that starts with word {} and overlaps no other",
                tokens.len() + 1
            );
            return Err(Error::at(Code::BadId, number, 1, message));
        }
        self.range_line = number;
        let (first, last) = (TokenIdx::new(first - 1), TokenIdx::new(last - 1));
        multiwords.push(Multiword { first, last, columns: verbatim(fields) });
        Ok(())
    }

    fn empty_node(
        &mut self,
        number: usize,
        after: usize,
        index: usize,
        fields: &[&str; N_COLUMNS],
    ) -> Result<()> {
        let Sentence { tokens, multiwords, empty_nodes, .. } = &mut self.sentence;
        let n = tokens.len();
        let expected =
            empty_nodes.last().filter(|node| node.after == n).map_or(1, |node| node.number as usize + 1);
        let in_range_start = multiwords.last().is_some_and(|range| range.first.index() == n);
        if after != n || index != expected || in_range_start {
            let is_again = after == n && (1..expected).contains(&index);
            let code = if is_again { Code::DuplicateId } else { Code::BadId };
            let message = if in_range_start {
                format!(
                    "the empty node {after}.{index} is out of place; expected the first word of the range"
                )
            } else {
                format!(
                    "the empty node {after}.{index} is out of place; expected {n}.{expected} or word {}",
                    n + 1
                )
            };
            return Err(Error::at(code, number, 1, message));
        }
        empty_nodes.push(EmptyNode { after, number: index as u32, columns: verbatim(fields) });
        Ok(())
    }

    /// Checks what only the whole sentence shows, and gives it away.
    fn finish(&mut self, many_roots: bool) -> Result<Entry> {
        let n = self.sentence.len();
        if n == 0 {
            let message = "a sentence without words; expected a line that starts with 1";
            return Err(Error::at(Code::MisplacedLine, self.first_line, 1, message));
        }
        if let Some(range) = self.sentence.multiwords.last()
            && range.last.index() >= n
        {
            let (first, last) = (range.first.index() + 1, range.last.index() + 1);
            let message = format!("the range {first}-{last} ends after the last word, {n}");
            return Err(Error::at(Code::BadId, self.range_line, 1, message));
        }
        if self.words_only {
            return Ok(Entry { sentence: std::mem::take(&mut self.sentence), tree: None });
        }
        let at = |word: usize, code: Code, message: String| {
            let (line, column) = self.head_places[word];
            Err(Error::at(code, line, column, message))
        };
        if self.n_missing == n {
            if let Some((line, column)) = self.stray_relation {
                let message = "a relation without a head; expected a head, or _ in both columns";
                return Err(Error::at(Code::MissingHead, line, column, message));
            }
            return Ok(Entry { sentence: std::mem::take(&mut self.sentence), tree: None });
        }
        if self.n_missing > 0 {
            let message = format!(
                "word {} has no head; expected one for every word of the sentence, or for none",
                self.first_missing + 1
            );
            return at(self.first_missing, Code::MissingHead, message);
        }
        let is_outside = |arc: &Arc| arc.head.is_some_and(|head| head.index() >= n);
        if let Some(word) = self.arcs.iter().position(is_outside) {
            let head = self.arcs[word].head.map_or(0, |head| head.index() + 1);
            return at(
                word,
                Code::BadHead,
                format!("the head is {head}; expected at most {n}, the last word"),
            );
        }
        let tree = DependencyTree { arcs: std::mem::take(&mut self.arcs) };
        if let Some(word) = tree.find_cycle() {
            let message = format!("word {} is its own ancestor; expected a tree", word.index() + 1);
            return at(word.index(), Code::Cycle, message);
        }
        if self.n_roots > 1 && !many_roots {
            let message = format!("word {} is a second root; expected one", self.second_root + 1);
            return at(self.second_root, Code::RootCount, message);
        }
        Ok(Entry { sentence: std::mem::take(&mut self.sentence), tree: Some(Tree::Dependency(tree)) })
    }
}

/// The ten columns of a line.
#[inline]
fn split(line: &str, number: usize) -> Result<[&str; N_COLUMNS]> {
    let mut fields = [""; N_COLUMNS];
    let mut n = 0;
    let mut start = 0;
    let mut has_empty = false;
    for tab in memchr::memchr_iter(b'\t', line.as_bytes()) {
        if n == N_COLUMNS - 1 {
            return Err(wrong_count(line, number, tab + 1));
        }
        fields[n] = &line[start..tab];
        has_empty |= start == tab;
        n += 1;
        start = tab + 1;
    }
    if n != N_COLUMNS - 1 {
        return Err(wrong_count(line, number, start));
    }
    fields[n] = &line[start..];
    if has_empty || start == line.len() {
        return Err(empty_column(line, number, &fields));
    }
    Ok(fields)
}

#[cold]
fn wrong_count(line: &str, number: usize, last: usize) -> Error {
    let n = memchr::memchr_iter(b'\t', line.as_bytes()).count() + 1;
    let hint = if n == 1 && line.contains(' ') { " (tabs, not spaces)" } else { "" };
    let message = format!("{n} columns; expected {N_COLUMNS}, separated by tabs{hint}");
    Error::at(Code::ColumnCount, number, column(line, last), message)
}

#[cold]
fn empty_column(line: &str, number: usize, fields: &[&str; N_COLUMNS]) -> Error {
    let which = fields.iter().position(|field| field.is_empty()).expect("the caller found one");
    let offset = fields[..which].iter().map(|field| field.len() + 1).sum();
    let message = format!("column {} ({}) is empty; expected a value or _", which + 1, COLUMN_NAMES[which]);
    Error::at(Code::EmptyColumn, number, column(line, offset), message)
}

#[cold]
fn bad_id(line: &str, number: usize) -> Error {
    let id = line.split('\t').next().unwrap_or_default();
    Error::at(Code::BadId, number, 1, format!("the ID is {id:?}; expected a number"))
}

/// A field of a token: `_` means that it is not given.
#[inline]
fn value(field: &str) -> Str {
    if field == "_" { Str::const_new("") } else { Str::new(field) }
}

/// Columns 2 to 10 as written.
fn verbatim(fields: &[&str; N_COLUMNS]) -> [Str; 9] {
    std::array::from_fn(|i| Str::new(fields[i + 1]))
}

/// The name in a `# sent_id = name` comment.
fn sent_id(comment: &str) -> Option<&str> {
    let name = comment.strip_prefix('#')?.trim_start().strip_prefix("sent_id")?;
    Some(name.trim_start().strip_prefix('=')?.trim())
}

enum Id {
    Word(usize),
    Range(usize, usize),
    Empty(usize, usize),
}

#[inline]
fn parse_id(field: &str) -> Option<Id> {
    if let Some(id) = parse_number(field) {
        return Some(Id::Word(id));
    }
    if let Some((first, last)) = field.split_once('-') {
        return Some(Id::Range(parse_number(first)?, parse_number(last)?));
    }
    let (after, number) = field.split_once('.')?;
    Some(Id::Empty(parse_number(after)?, parse_number(number)?))
}

/// A number as it would be written: no sign, no leading zero, small enough for an id.
#[inline]
fn parse_number(field: &str) -> Option<usize> {
    let bytes = field.as_bytes();
    if bytes.is_empty() || bytes.len() > 9 || (bytes[0] == b'0' && bytes.len() > 1) {
        return None;
    }
    let mut number = 0;
    for &byte in bytes {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + usize::from(byte - b'0');
    }
    Some(number)
}

#[cfg(test)]
mod tests;
