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
//! - `(())` is a sentence without words. Any other tree without a word, such as `(TOP)`, is an error, or with [`ReadOptions::no_parse`] an entry
//!   without words and without a tree, as is a blank line then: what parsers write when they fail.
//!
//! The writer replaces `(` and `)` in words and labels by `-LRB-` and `-RRB-`; everything else is read back as it
//! was, or refused: a discontinuous tree, an empty word, white space inside a word or label, a tag that is `--`. Lemmas,
//! features, edge labels, secondary edges, names and comments have no place in this format and are left out, but for what a parser says
//! about a tree ([`super::ParseInfo`]), such as `# score = 12.5`: lines before the tree. The reader takes any line
//! between trees that starts with `#` for a comment of the tree after it.

use super::bracket_scan::{BracketReader, LeafStyle};
use super::parse_info::is_parse_comment;
use super::write::{Layout, push_number, unwritable};
use super::{Entry, ReadOptions, Source};
use crate::error::{Code, Error, Result};
use crate::ids::{NodeId, TokenIdx};
use crate::tree::{Child, ConstituentTree, Tree};

/// Leaves are words, in order.
pub(super) struct InOrder;

impl LeafStyle for InOrder {
    const EXPECTED: &'static str = "(TAG word)";

    #[inline]
    fn split(text: &str, n_before: usize) -> Option<(usize, &str)> {
        Some((n_before, text))
    }
}

/// Reads Penn brackets.
pub(super) fn reader<'a>(source: Source<'a>, options: &ReadOptions) -> BracketReader<Source<'a>, InOrder> {
    BracketReader::new(source, options, options.literal_tags)
}

/// Writes a tree a line, with or without the positions of the words.
pub(super) struct Brackets {
    pub with_index: bool,
}

impl Layout for Brackets {
    fn entry(&mut self, entry: &Entry, _: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut line = Line { out, with_index: self.with_index };
        // What a parser says about the tree stands on lines before it.
        for comment in entry.sentence.comments.iter().filter(|comment| is_parse_comment(comment)) {
            line.out.extend_from_slice(comment.as_bytes());
            line.out.push(b'\n');
        }
        let wrong = |message: &str| Err(Error::new(Code::WrongTreeKind, message));
        match &entry.tree {
            Some(Tree::Constituent(tree)) => line.tree(entry, tree)?,
            None if entry.sentence.is_empty() => line.out.extend_from_slice(NO_WORDS.as_bytes()),
            Some(Tree::Dependency(_)) => {
                return wrong("brackets cannot hold a dependency tree; use conllu");
            }
            None => return wrong("a sentence without a tree cannot be written as brackets"),
        }
        line.out.push(b'\n');
        Ok(())
    }
}

/// A line of brackets that is being written.
struct Line<'a> {
    out: &'a mut Vec<u8>,
    with_index: bool,
}

impl Line<'_> {
    fn tree(&mut self, entry: &Entry, tree: &ConstituentTree) -> Result<()> {
        if tree.n_tokens() != entry.sentence.len() {
            let message =
                format!("the tree has {} words but the sentence {}", tree.n_tokens(), entry.sentence.len());
            return Err(Error::new(Code::WrongTreeKind, message));
        }
        let mut path = Vec::new();
        let mut next_token = 0;
        self.open(tree, tree.root(), &mut path)?;
        while let Some(children) = path.last_mut() {
            match children.next() {
                None => {
                    self.out.push(b')');
                    path.pop();
                }
                Some(Child::Node(node)) => {
                    self.out.push(b' ');
                    self.open(tree, *node, &mut path)?;
                }
                Some(&Child::Token(token)) => {
                    if !self.with_index && token.index() != next_token {
                        let message =
                            "Penn brackets cannot hold a discontinuous tree; use discbracket or export";
                        return Err(Error::new(Code::WrongTreeKind, message));
                    }
                    next_token += 1;
                    self.leaf(entry, token)?;
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
        self.out.push(b'(');
        self.text(&tree.node(node).label, "label")?;
        path.push(tree.children(node).iter());
        Ok(())
    }

    #[inline]
    fn leaf(&mut self, entry: &Entry, token: TokenIdx) -> Result<()> {
        let word = entry.sentence.token(token);
        if word.tag == NO_TAG {
            let message =
                format!("the tag of word {} is `--`, which means no tag in brackets", token.index() + 1);
            return Err(unwritable(message));
        }
        self.out.extend_from_slice(b" (");
        self.text(if word.tag.is_empty() { NO_TAG } else { &word.tag }, "tag")?;
        self.out.push(b' ');
        if self.with_index {
            push_number(self.out, token.index());
            self.out.push(b'=');
        } else if word.form.is_empty() {
            let message = format!("word {} is empty, which Penn brackets cannot hold", token.index() + 1);
            return Err(unwritable(message));
        }
        self.text(&word.form, "word")?;
        self.out.push(b')');
        Ok(())
    }

    /// Writes text with its brackets escaped.
    #[inline]
    fn text(&mut self, text: &str, what: &str) -> Result<()> {
        if text.bytes().any(|byte| IS_SPECIAL[byte as usize]) {
            return self.special_text(text, what);
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    #[cold]
    fn special_text(&mut self, text: &str, what: &str) -> Result<()> {
        for byte in text.bytes() {
            match byte {
                b'(' => self.out.extend_from_slice(b"-LRB-"),
                b')' => self.out.extend_from_slice(b"-RRB-"),
                byte if IS_SPECIAL[byte as usize] => {
                    let message =
                        format!("the {what} {text:?} contains white space, which brackets cannot hold");
                    return Err(unwritable(message));
                }
                byte => self.out.push(byte),
            }
        }
        Ok(())
    }
}

/// The notation of a sentence without words.
pub(super) const NO_WORDS: &str = "(())";

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

#[cfg(test)]
mod tests;
