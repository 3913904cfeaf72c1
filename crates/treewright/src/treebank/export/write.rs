//! The writer of export; its rules stand beside the reader's.

use super::{FIRST_NODE, ROOT_LABEL, ROOT_MARK, SPACES, node_number};
use crate::error::Result;
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str};
use crate::tree::{Child, ConstituentTree};
use crate::treebank::write::{Layout, constituents, push_number, unwritable};
use crate::treebank::{Entry, WriteOptions};

/// Writes export.
pub(in crate::treebank) struct ExportLayout {
    root_label: Str,
    /// The version asked for, and the one that the last `#FORMAT` line told.
    wanted: Option<u32>,
    version: Option<u32>,
}

impl Layout for ExportLayout {
    fn entry(&mut self, entry: &Entry, number: usize, out: &mut Vec<u8>) -> Result<()> {
        let version = self.version;
        let written = self.sentence(entry, number, out);
        if written.is_err() {
            // Nothing of this entry is written, not even its #FORMAT line.
            self.version = version;
        }
        written
    }

    fn version(&self) -> Option<u32> {
        self.version
    }

    fn go_on(&mut self, version: Option<u32>) {
        self.version = version;
    }
}

impl ExportLayout {
    pub(in crate::treebank) fn new(options: &WriteOptions) -> Self {
        ExportLayout {
            root_label: options.root_label.clone().unwrap_or_else(|| Str::from(ROOT_LABEL)),
            wanted: options.export_version,
            version: None,
        }
    }

    fn sentence(&mut self, entry: &Entry, number: usize, out: &mut Vec<u8>) -> Result<()> {
        let tree = constituents(entry, "export")?;
        let has_lemma = entry.sentence.tokens.iter().any(|token| !token.lemma.is_empty());
        let version = match (self.wanted, self.version) {
            (Some(wanted), _) => wanted,
            (None, Some(4)) => 4,
            (None, _) => 3 + u32::from(has_lemma),
        };
        if self.version.replace(version) != Some(version) {
            out.extend_from_slice(format!("#FORMAT {version}\n").as_bytes());
        }
        // Is the root the virtual one, with nothing that only a line of its own could hold?
        let is_virtual = tree.is_none_or(|tree| {
            let root = tree.node(tree.root());
            let is_child = |child| child == Child::Node(tree.root());
            root.label == self.root_label
                && root.edge.is_empty()
                && !tree.secondary_edges().iter().any(|edge| is_child(edge.child))
        });
        let id = match entry.sentence.id.is_empty() {
            true => Str::from(number.to_string()),
            false => entry.sentence.id.clone(),
        };
        let own_root = tree.filter(|_| !is_virtual).map(|tree| tree.node(tree.root()).label.as_str());
        push_start(out, &id, &entry.sentence, own_root)?;
        if let Some(tree) = tree {
            push_lines(out, &entry.sentence, tree, is_virtual, version)?;
        }
        out.extend_from_slice(format!("#EOS {id}\n").as_bytes());
        Ok(())
    }
}

/// Writes the comments and the `#BOS` line, which tells the label of a root that is not the virtual one.
fn push_start(out: &mut Vec<u8>, id: &str, sentence: &Sentence, own_root: Option<&str>) -> Result<()> {
    if id.contains([' ', '\t', '\n', '\r', '\0']) {
        return Err(unwritable(format!("the sentence's name {id:?} contains white space")));
    }
    // The reader puts what the #BOS line held after all other comments.
    let header = sentence.comments.last().and_then(|comment| header_rest(comment));
    let n_lines = sentence.comments.len() - usize::from(header.is_some());
    let mut rest = header.unwrap_or("").to_owned();
    for (i, comment) in sentence.comments.iter().enumerate() {
        if is_no_line(comment) {
            return Err(unwritable(format!("the comment {comment:?} is more than a line")));
        }
        if i < n_lines {
            let prefix: &[u8] = if comment.starts_with("%%") { b"" } else { b"%% " };
            out.extend_from_slice(prefix);
            out.extend_from_slice(comment.as_bytes());
            out.push(b'\n');
        }
    }
    let looks_marked = rest.find("%%").is_some_and(|comment| {
        rest[comment..].rsplit(SPACES).next().is_some_and(|last| last.starts_with(ROOT_MARK))
    });
    if own_root.is_some() || looks_marked {
        let mark = own_root.map_or("", |label| if label.is_empty() { "--" } else { label });
        let separator = match (rest.is_empty(), rest.contains("%%")) {
            (true, _) => "%% ",
            (false, true) => " ",
            (false, false) => " %% ",
        };
        rest.extend([separator, ROOT_MARK, mark]);
    }
    let space = if rest.is_empty() { "" } else { " " };
    out.extend_from_slice(format!("#BOS {id}{space}{rest}\n").as_bytes());
    Ok(())
}

/// Writes the lines of the words and constituents.
fn push_lines(
    out: &mut Vec<u8>,
    sentence: &Sentence,
    tree: &ConstituentTree,
    is_virtual: bool,
    version: u32,
) -> Result<()> {
    let n_nodes = tree.n_nodes() - usize::from(is_virtual);
    let number = |node: NodeId| if node.index() < n_nodes { FIRST_NODE + node.index() } else { 0 };
    let secondary = tree.secondary_edges();
    let mut next_secondary = 0;
    let mut rest = |text: &mut Vec<u8>, child: Child| -> Result<()> {
        while let Some(edge) = secondary.get(next_secondary).filter(|edge| edge.child == child) {
            next_secondary += 1;
            // A remark starts in this place, too.
            if edge.label.starts_with("%%") {
                let message = format!("the secondary edge {:?} looks like a comment of export", edge.label);
                return Err(unwritable(message));
            }
            push_value(text, &edge.label, "secondary edge")?;
            text.push(b'\t');
            push_number(text, number(edge.parent));
        }
        Ok(())
    };
    for ((i, token), parent) in sentence.tokens.iter().enumerate().zip(tree.token_parents()) {
        push_word(out, &token.form)?;
        if version == 4 {
            push_value(out, &token.lemma, "lemma")?;
        }
        push_value(out, &token.tag, "tag")?;
        push_value(out, &token.feats, "morph")?;
        push_value(out, tree.token_edge(TokenIdx::new(i)), "edge")?;
        out.push(b'\t');
        push_number(out, number(parent));
        rest(out, Child::Token(TokenIdx::new(i)))?;
        if token.misc.starts_with("%%") {
            if is_no_line(&token.misc) {
                return Err(unwritable("a comment after a word is more than a line"));
            }
            out.push(b'\t');
            out.extend_from_slice(token.misc.trim_end_matches(SPACES).as_bytes());
        }
        out.push(b'\n');
    }
    for ((id, node), parent) in tree.nodes().zip(tree.parents()).take(n_nodes) {
        out.push(b'#');
        push_number(out, number(id));
        if version == 4 {
            out.extend_from_slice(b"\t--");
        }
        push_value(out, &node.label, "label")?;
        out.extend_from_slice(b"\t--");
        push_value(out, &node.edge, "edge")?;
        out.push(b'\t');
        push_number(out, parent.map_or(0, number));
        rest(out, Child::Node(id))?;
        out.push(b'\n');
    }
    Ok(())
}

/// What a comment says about the `#BOS` line, if it would be read back from there as it is.
fn header_rest(comment: &str) -> Option<&str> {
    let rest = comment.strip_prefix("#BOS ")?;
    // A `%%` with nothing after it would be taken for the start of our mark.
    let ends_in_mark = rest.find("%%").is_some_and(|start| rest[start..] == *"%%");
    (!rest.is_empty() && rest == rest.trim_matches(SPACES) && !ends_in_mark).then_some(rest)
}

/// Would this text not be read back from the end of a line?
fn is_no_line(text: &str) -> bool {
    text.contains(['\n', '\0']) || text.ends_with('\r')
}

/// Writes a tab and a column.
fn push_value(out: &mut Vec<u8>, value: &str, what: &str) -> Result<()> {
    if value == "--" || value.contains([' ', '\t', '\n', '\r', '\0']) {
        let message = format!("the {what} {value:?} has no place in a column of export");
        return Err(unwritable(message));
    }
    out.push(b'\t');
    out.extend_from_slice(if value.is_empty() { b"--" } else { value.as_bytes() });
    Ok(())
}

/// Writes the first column of a word's line.
fn push_word(out: &mut Vec<u8>, form: &str) -> Result<()> {
    let is_taken = node_number(form).is_some() || form == "#EOS" || form == "#BOS" || form.starts_with("%%");
    if form.is_empty() || is_taken || form.contains([' ', '\t', '\n', '\r', '\0']) {
        let message = format!("the word {form:?} has no place in the first column of export");
        return Err(unwritable(message));
    }
    out.extend_from_slice(form.as_bytes());
    Ok(())
}
