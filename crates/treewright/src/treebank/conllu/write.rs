//! Writing CoNLL-U and CoNLL-X.

use super::{parse_number, sent_id};
use crate::error::{Code, Error, Result};
use crate::sentence::{EmptyNode, Sentence, Str, Token};
use crate::tree::{Arc, Tree};
use crate::treebank::write::{Layout, push_number};
use crate::treebank::{Entry, Format};

/// Writes CoNLL-U, or CoNLL-X: comments, ranges and empty nodes, which it cannot hold, are left out, and so is a DEPS
/// that is no PHEAD.
pub(in crate::treebank) struct ConlluLayout(pub(in crate::treebank) Format);

impl Layout for ConlluLayout {
    fn entry(&mut self, entry: &Entry, _: usize, out: &mut Vec<u8>) -> Result<()> {
        let is_conllu = self.0 == Format::Conllu;
        Text { buffer: out, is_conllu, n_lines: 0, n_tabs: 0, rows: 0, has_bar: false }.entry(entry)
    }
}

/// A sentence being written, and how many tabs and lines it must have if no value holds any.
struct Text<'a> {
    buffer: &'a mut Vec<u8>,
    is_conllu: bool,
    n_lines: usize,
    n_tabs: usize,
    /// Where the words start, after the comments.
    rows: usize,
    /// Was there a value, other than a word itself, that would be read as absent?
    has_bar: bool,
}

impl Text<'_> {
    fn entry(&mut self, entry: &Entry) -> Result<()> {
        let Entry { sentence, tree } = entry;
        let arcs = match tree {
            None => None,
            Some(Tree::Dependency(tree)) => Some(&tree.arcs[..]),
            Some(Tree::Constituent(_)) => {
                let message = "a constituent tree; CoNLL-U and CoNLL-X hold dependencies";
                return Err(Error::new(Code::WrongTreeKind, message));
            }
        };
        if sentence.is_empty() {
            return Err(unwritable("a sentence without words"));
        }
        if arcs.is_some_and(|arcs| arcs.len() != sentence.len()) {
            return Err(unwritable("a tree that differs in length from its sentence"));
        }
        if self.is_conllu {
            self.comments(sentence);
        }
        self.rows = self.buffer.len();
        let (mut ranges, mut nodes) =
            (sentence.multiwords.iter().peekable(), sentence.empty_nodes.iter().peekable());
        for (i, token) in sentence.tokens.iter().enumerate() {
            if self.is_conllu && (ranges.peek().is_some() || nodes.peek().is_some()) {
                self.empty_nodes(i, &mut nodes)?;
                if let Some(range) = ranges.next_if(|range| range.first.index() == i) {
                    let next = ranges.peek().map_or(sentence.len(), |range| range.first.index());
                    if !(i..next).contains(&range.last.index()) {
                        return Err(unwritable("a range that overlaps another or ends after the sentence"));
                    }
                    self.number(i + 1);
                    self.buffer.push(b'-');
                    self.number(range.last.index() + 1);
                    self.columns(&range.columns)?;
                }
            }
            self.word(i, token, arcs.map(|arcs| &arcs[i]), sentence.len())?;
        }
        if self.is_conllu {
            self.empty_nodes(sentence.len(), &mut nodes)?;
            if ranges.peek().is_some() || nodes.peek().is_some() {
                return Err(unwritable("a range or an empty node that is out of place"));
            }
        }
        self.end_line();
        self.check()
    }

    fn comments(&mut self, sentence: &Sentence) {
        let named = sentence.comments.iter().position(|comment| sent_id(comment).is_some());
        // The id is the truth; a comment that says otherwise is older.
        if named.is_none() && !sentence.id.is_empty() {
            self.sent_id(&sentence.id);
        }
        for (i, comment) in sentence.comments.iter().enumerate() {
            if named == Some(i) && !sentence.id.is_empty() && sent_id(comment) != Some(&sentence.id) {
                self.sent_id(&sentence.id);
                continue;
            }
            if !comment.starts_with('#') {
                self.buffer.extend_from_slice(b"# ");
            }
            self.buffer.extend_from_slice(comment.as_bytes());
            self.end_line();
        }
    }

    fn sent_id(&mut self, id: &str) {
        self.buffer.extend_from_slice(b"# sent_id = ");
        self.buffer.extend_from_slice(id.as_bytes());
        self.end_line();
    }

    fn empty_nodes<'a>(
        &mut self,
        after: usize,
        nodes: &mut std::iter::Peekable<impl Iterator<Item = &'a EmptyNode>>,
    ) -> Result<()> {
        let mut expected = 1;
        while let Some(node) = nodes.next_if(|node| node.after == after) {
            if node.number != expected {
                return Err(unwritable("empty nodes that are not numbered from 1"));
            }
            expected += 1;
            self.number(after);
            self.buffer.push(b'.');
            self.number(node.number as usize);
            self.columns(&node.columns)?;
        }
        Ok(())
    }

    fn columns(&mut self, columns: &[Str; 9]) -> Result<()> {
        for column in columns {
            if column.is_empty() {
                return Err(Error::new(Code::EmptyColumn, "an empty column in a range or an empty node"));
            }
            self.buffer.push(b'\t');
            self.buffer.extend_from_slice(column.as_bytes());
        }
        self.n_tabs += 9;
        self.end_line();
        Ok(())
    }

    #[inline]
    fn word(&mut self, i: usize, token: &Token, arc: Option<&Arc>, n: usize) -> Result<()> {
        if token.form.is_empty() {
            return Err(Error::new(Code::EmptyColumn, format!("word {} has no form", i + 1)));
        }
        self.number(i + 1);
        self.buffer.push(b'\t');
        self.buffer.extend_from_slice(token.form.as_bytes());
        for field in [&token.lemma, &token.tag, &token.xpos, &token.feats] {
            self.field(field);
        }
        match arc {
            None => self.buffer.extend_from_slice(b"\t_\t_"),
            Some(arc) => {
                let head = arc.head.map_or(0, |head| head.index() + 1);
                if head > n {
                    let message = format!("the head of word {} is {head}, after the last word, {n}", i + 1);
                    return Err(Error::new(Code::BadHead, message));
                }
                self.buffer.push(b'\t');
                self.number(head);
                self.field(&arc.label);
            }
        }
        let has_deps = self.is_conllu || parse_number(&token.deps).is_some();
        self.field(if has_deps { &token.deps } else { "" });
        self.field(&token.misc);
        self.n_tabs += 9;
        self.end_line();
        Ok(())
    }

    #[inline]
    fn field(&mut self, value: &str) {
        self.has_bar |= value == "_";
        self.buffer.push(b'\t');
        self.buffer.extend_from_slice(if value.is_empty() { b"_" } else { value.as_bytes() });
    }

    #[inline]
    fn number(&mut self, number: usize) {
        push_number(self.buffer, number);
    }

    fn end_line(&mut self) {
        self.buffer.push(b'\n');
        self.n_lines += 1;
    }

    /// Would this be read as it was meant? Counting is much cheaper than looking at every value.
    fn check(&self) -> Result<()> {
        let count = |byte| memchr::memchr_iter(byte, self.buffer).count();
        if count(b'\n') != self.n_lines {
            return Err(unwritable("a value with a line end in it"));
        }
        // Tabs are welcome in comments.
        if memchr::memchr_iter(b'\t', &self.buffer[self.rows..]).count() != self.n_tabs {
            return Err(unwritable("a value with a tab in it"));
        }
        if count(0) > 0 {
            return Err(unwritable("a value with a NUL character in it"));
        }
        if memchr::memmem::find(self.buffer, b"\r\n").is_some() {
            return Err(unwritable("a value with a carriage return at its end"));
        }
        if self.has_bar {
            return Err(unwritable("a value `_`, which means that there is none, outside of FORM"));
        }
        Ok(())
    }
}

fn unwritable(what: &str) -> Error {
    Error::new(Code::Unwritable, format!("{what}, which CoNLL-U and CoNLL-X cannot hold"))
}
