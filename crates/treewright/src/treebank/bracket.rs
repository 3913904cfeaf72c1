//! Penn brackets: `(S (NP (DT the) (NN dog)) (VP (VBZ barks)))`, one tree a line or spread over lines.
//!
//! - `(TAG word)` is a word with its tag; traces `(-NONE- *T*-1)` are words like others. Function tags and indices
//!   stay in the labels. Escaped brackets (`-LRB-`) stay as written.
//! - `(-- word)` is a word without a tag, and so it is written, as in other constituent formats. A bare word among
//!   other children, `(A (B w0) w1)`, and one with an empty tag, `( w0)`, are also read as words without a tag.
//! - A label may be empty: `( (S ...))`. Text that stands alone after `(` and a space is a word with an empty tag;
//!   text after `(` and a space with more after it is the label.
//! - A tree that is nothing but `(X word)` is a constituent X above a word without a tag.
//! - With [`ReadOptions::literal_tags`] `--` is a tag.
//! - With [`ReadOptions::bare_words`] `(X word)` is a constituent everywhere, and no word has a tag.
//! - A tree without any word, such as `(())` or `(TOP)`, is an error, or with [`ReadOptions::no_parse`] an entry
//!   without words and without a tree, as is a blank line then: what parsers write when they fail.
//!
//! The writer replaces `(` and `)` in words and labels by `-LRB-` and `-RRB-`; everything else is read back as it
//! was, or refused: a discontinuous tree, an empty word, white space inside a word or label, a tag that is `--`. Lemmas,
//! features, edge labels, secondary edges, names and comments have no place in this format and are left out, but for what a parser says
//! about a tree ([`super::ParseInfo`]), such as `# score = 12.5`: lines before the tree. The reader takes any line
//! between trees that starts with `#` for a comment of the tree after it.

use std::io::{Read, Write};

use super::bracket_scan::{BracketReader, LeafStyle};
use super::parse_info::is_parse_comment;
use super::{Entry, ReadOptions, Reader, Writer};
use crate::error::{Code, Error, Result};
use crate::ids::{NodeId, TokenIdx};
use crate::tree::{Child, ConstituentTree, Tree};

/// Leaves are words, in order.
struct InOrder;

impl LeafStyle for InOrder {
    const EXPECTED: &'static str = "(TAG word)";

    #[inline]
    fn split(text: &str, n_before: usize) -> Option<(usize, &str)> {
        Some((n_before, text))
    }
}

/// Reads Penn brackets.
pub struct PennReader<R>(BracketReader<R, InOrder>);

impl<R: Read> PennReader<R> {
    /// A reader of the text in `source`.
    pub fn new(source: R, options: &ReadOptions) -> Self {
        PennReader(BracketReader::new(source, options, options.literal_tags))
    }
}

impl<R: Read> Iterator for PennReader<R> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        self.0.next()
    }
}

impl<R: Read> Reader for PennReader<R> {
    fn line(&self) -> usize {
        self.0.line()
    }
}

/// Writes Penn brackets, one tree a line.
pub struct PennWriter<W> {
    out: W,
    text: BracketText,
}

impl<W: Write> PennWriter<W> {
    /// A writer to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        PennWriter { out, text: BracketText::default() }
    }
}

impl<W: Write> Writer for PennWriter<W> {
    fn write(&mut self, entry: &Entry) -> Result<()> {
        let text = self.text.line(entry, false)?;
        Ok(self.out.write_all(text)?)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()
    }
}

/// Turns entries into lines of brackets, with or without the positions of the words.
#[derive(Default)]
pub(super) struct BracketText {
    line: Vec<u8>,
    n_sentences: usize,
}

impl BracketText {
    /// The line for one entry, with its end, after lines for what a parser says about it.
    pub(super) fn line(&mut self, entry: &Entry, with_index: bool) -> Result<&[u8]> {
        self.n_sentences += 1;
        self.line.clear();
        for comment in entry.sentence.comments.iter().filter(|comment| is_parse_comment(comment)) {
            self.line.extend_from_slice(comment.as_bytes());
            self.line.push(b'\n');
        }
        match &entry.tree {
            Some(Tree::Constituent(tree)) => self.tree(entry, tree, with_index),
            None if entry.sentence.is_empty() => {
                self.line.extend_from_slice(b"(())");
                Ok(())
            }
            Some(Tree::Dependency(_)) => {
                Err(refusal(Code::WrongTreeKind, "brackets cannot hold a dependency tree; use conllu"))
            }
            None => {
                Err(refusal(Code::WrongTreeKind, "a sentence without a tree cannot be written as brackets"))
            }
        }
        .map_err(|error| error.in_sentence(self.n_sentences))?;
        self.line.push(b'\n');
        Ok(&self.line)
    }

    fn tree(&mut self, entry: &Entry, tree: &ConstituentTree, with_index: bool) -> Result<()> {
        if tree.n_tokens() != entry.sentence.len() {
            let message =
                format!("the tree has {} words but the sentence {}", tree.n_tokens(), entry.sentence.len());
            return Err(refusal(Code::WrongTreeKind, message));
        }
        let mut path = Vec::new();
        let mut next_token = 0;
        self.open(tree, tree.root(), &mut path)?;
        while let Some(children) = path.last_mut() {
            match children.next() {
                None => {
                    self.line.push(b')');
                    path.pop();
                }
                Some(Child::Node(node)) => {
                    self.line.push(b' ');
                    self.open(tree, *node, &mut path)?;
                }
                Some(&Child::Token(token)) => {
                    if !with_index && token.index() != next_token {
                        let message =
                            "Penn brackets cannot hold a discontinuous tree; use discbracket or export";
                        return Err(refusal(Code::WrongTreeKind, message));
                    }
                    next_token += 1;
                    self.leaf(entry, token, with_index)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the start of a constituent.
    fn open<'a>(
        &mut self,
        tree: &'a ConstituentTree,
        node: NodeId,
        path: &mut Vec<std::slice::Iter<'a, Child>>,
    ) -> Result<()> {
        self.line.push(b'(');
        self.text(&tree.node(node).label, "label")?;
        path.push(tree.children(node).iter());
        Ok(())
    }

    #[inline]
    fn leaf(&mut self, entry: &Entry, token: TokenIdx, with_index: bool) -> Result<()> {
        let word = entry.sentence.token(token);
        if word.tag == NO_TAG {
            let message =
                format!("the tag of word {} is `--`, which means no tag in brackets", token.index() + 1);
            return Err(refusal(Code::Unwritable, message));
        }
        self.line.extend_from_slice(b" (");
        self.text(if word.tag.is_empty() { NO_TAG } else { &word.tag }, "tag")?;
        self.line.push(b' ');
        if with_index {
            push_number(&mut self.line, token.index());
            self.line.push(b'=');
        } else if word.form.is_empty() {
            let message = format!("word {} is empty, which Penn brackets cannot hold", token.index() + 1);
            return Err(refusal(Code::Unwritable, message));
        }
        self.text(&word.form, "word")?;
        self.line.push(b')');
        Ok(())
    }

    /// Writes text with its brackets escaped.
    #[inline]
    fn text(&mut self, text: &str, what: &str) -> Result<()> {
        if text.bytes().any(|byte| IS_SPECIAL[byte as usize]) {
            return self.special_text(text, what);
        }
        self.line.extend_from_slice(text.as_bytes());
        Ok(())
    }

    #[cold]
    fn special_text(&mut self, text: &str, what: &str) -> Result<()> {
        for byte in text.bytes() {
            match byte {
                b'(' => self.line.extend_from_slice(b"-LRB-"),
                b')' => self.line.extend_from_slice(b"-RRB-"),
                byte if IS_SPECIAL[byte as usize] => {
                    let message =
                        format!("the {what} {text:?} contains white space, which brackets cannot hold");
                    return Err(refusal(Code::Unwritable, message));
                }
                byte => self.line.push(byte),
            }
        }
        Ok(())
    }
}

/// How a word without a tag is written.
pub(super) const NO_TAG: &str = "--";

/// Bytes that end text in brackets, and NUL, which no file may hold.
pub(super) const IS_SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut i = 0;
    while i < 256 {
        special[i] = matches!(i as u8, b'(' | b')' | b' ' | b'\t' | b'\r' | b'\n' | 0);
        i += 1;
    }
    special
};

/// Writes a number in decimal digits; `write!` is several times slower.
#[inline]
pub(super) fn push_number(out: &mut Vec<u8>, mut number: usize) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// An entry that cannot be written has no place in a file.
pub(super) fn refusal(code: Code, message: impl Into<String>) -> Error {
    Error::new(code, message)
}

#[cfg(test)]
mod tests;
