//! JSON, one object per line: holds everything an entry holds, and nothing is nested by the depth of a tree.
//!
//! Words count from 1 and 0 is the root, as in CoNLL-U; constituents count from 0, in the order of `nodes`, and
//! every word and constituent names its parent. `docs/formats.md` describes the fields.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{EmptyNode, Multiword, Sentence, Str, Token};
use crate::tree::plain::{Constituents, Dependency, Leaf, Node, Secondary, Text, is_absent, text};
use crate::tree::{Arc, Child, ConstituentTree, DependencyTree, Tree, TreeBuilder, TreeError};
use crate::treebank::lines::{Limit, LineReader, column};
use crate::treebank::write::Layout;
use crate::treebank::{Entry, ParseInfo, ReadOptions, Source};

// An unknown field is an error: to drop it would be a silent loss.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object<'a> {
    #[serde(borrow, default, skip_serializing_if = "is_absent")]
    id: Text<'a>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    comments: Vec<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parse: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share_of_kept: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upper_bound: Option<f64>,
    tokens: Cow<'a, [Token]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    multiwords: Vec<Range<'a>>,
    #[serde(default, skip_serializing_if = "<[EmptyNode]>::is_empty")]
    empty_nodes: Cow<'a, [EmptyNode]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dependencies: Option<Vec<Dependency<'a>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    constituents: Option<Constituents<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range<'a> {
    first: u32,
    last: u32,
    #[serde(borrow)]
    columns: [Text<'a>; 9],
}

/// Reads one object per line; blank lines are skipped.
pub(super) fn reader<'a>(
    source: Source<'a>,
    options: &ReadOptions,
) -> impl Iterator<Item = Result<Entry>> + Send + use<'a> {
    let limit = options.limit;
    LineReader::new(source, limit, move |line: &str, number| parse(line, number, limit).map(Some))
}

fn parse(line: &str, number: usize, limit: Limit) -> Result<Entry> {
    // Words and constituents are objects. Only a long line can have too many of them.
    if limit.is_exceeded_by_items(line.len()) {
        let n_objects = memchr::memchr_iter(b'{', line.as_bytes()).count();
        // A word has two, and a constituent one.
        if limit.is_exceeded_by_items(n_objects / 3) {
            return Err(limit.error(number, 1));
        }
    }
    // The derived readers would take an array of fields, too.
    if !line.trim_ascii_start().starts_with('{') {
        let message = "this line is no JSON object; expected one per line";
        return Err(Error::at(Code::BadJson, number, 1, message));
    }
    let object: Object = serde_json::from_str(line).map_err(|error| {
        let mut offset = error.column().saturating_sub(1).min(line.len());
        while !line.is_char_boundary(offset) {
            offset -= 1;
        }
        // The position is ours to tell, in characters and in the file.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let message = format!("{message}; expected one JSON object per line");
        Error::at(Code::BadJson, number, column(line, offset), message)
    })?;
    if limit.is_exceeded_by_items(object.tokens.len()) {
        return Err(limit.error(number, 1));
    }
    object.into_entry().map_err(|(code, message)| Error::at(code, number, 1, message))
}

/// What is wrong with an object that is valid JSON.
type Problem = (Code, String);

impl Object<'_> {
    fn into_entry(self) -> Result<Entry, Problem> {
        let n = self.tokens.len();
        let Object { parse, score, probability, share_of_kept, exact, upper_bound, .. } = self;
        let info = ParseInfo { parse, score, probability, share_of_kept, exact, upper_bound };
        if let Some(node) = self.empty_nodes.iter().find(|node| node.after > n) {
            let message = format!("an empty node after word {}; expected at most {n}", node.after);
            return Err((Code::BadId, message));
        }
        let sentence = Sentence {
            id: self.id.into(),
            tokens: self.tokens.into_owned(),
            comments: self.comments.into_iter().map(Str::from).chain(info.comments()).collect(),
            multiwords: self
                .multiwords
                .into_iter()
                .map(|range| range.into_multiword(n))
                .collect::<Result<_, _>>()?,
            empty_nodes: self.empty_nodes.into_owned(),
        };
        let tree = match (self.dependencies, self.constituents) {
            (None, None) => None,
            (Some(arcs), None) => Some(Tree::Dependency(dependency_tree(arcs, n)?)),
            (None, Some(tree)) => Some(Tree::Constituent(tree.into_tree(n)?)),
            (Some(_), Some(_)) => {
                return Err((
                    Code::BadJson,
                    "both dependencies and constituents; expected one tree".to_owned(),
                ));
            }
        };
        Ok(Entry { sentence, tree })
    }

    fn from_entry(entry: &Entry) -> Result<Object<'_>> {
        let Entry { sentence, tree } = entry;
        let (dependencies, constituents) = match tree {
            None => (None, None),
            Some(Tree::Dependency(tree)) => {
                (Some(tree.arcs.iter().map(Dependency::from_arc).collect()), None)
            }
            Some(Tree::Constituent(tree)) => (None, Some(Constituents::from_tree(tree))),
        };
        let n_leaves = constituents.as_ref().map(|tree| tree.tokens.len());
        let n_words = dependencies.as_ref().map(Vec::len).or(n_leaves);
        if n_words.is_some_and(|n| n != sentence.len()) {
            let message = "a tree that differs in length from its sentence, which JSON cannot hold";
            return Err(Error::new(Code::Unwritable, message));
        }
        let (comments, info) = ParseInfo::split(&sentence.comments);
        let ParseInfo { parse, score, probability, share_of_kept, exact, upper_bound } = info;
        Ok(Object {
            id: text(&sentence.id),
            comments: comments.iter().map(text).collect(),
            parse,
            score,
            probability,
            share_of_kept,
            exact,
            upper_bound,
            tokens: Cow::Borrowed(&sentence.tokens),
            multiwords: sentence.multiwords.iter().map(Range::from_multiword).collect(),
            empty_nodes: Cow::Borrowed(&sentence.empty_nodes),
            dependencies,
            constituents,
        })
    }
}

impl Range<'_> {
    fn into_multiword(self, n: usize) -> Result<Multiword, Problem> {
        let Range { first, last, columns } = self;
        if first == 0 || last < first || last as usize > n {
            let message = format!("the multiword {first}-{last}; expected a range inside 1-{n}");
            return Err((Code::BadId, message));
        }
        let (first, last) = (TokenIdx::new(first as usize - 1), TokenIdx::new(last as usize - 1));
        Ok(Multiword { first, last, columns: columns.map(Str::from) })
    }

    fn from_multiword(range: &Multiword) -> Range<'_> {
        let (first, last) = (range.first.index() as u32 + 1, range.last.index() as u32 + 1);
        Range { first, last, columns: range.columns.each_ref().map(text) }
    }
}

fn dependency_tree(arcs: Vec<Dependency>, n: usize) -> Result<DependencyTree, Problem> {
    if arcs.len() != n {
        return Err((
            Code::BadJson,
            format!("{} dependencies; expected {n}, one for each token", arcs.len()),
        ));
    }
    if let Some(i) = arcs.iter().position(|arc| arc.head as usize > n) {
        let message = format!("the head of word {} is {}; expected at most {n}", i + 1, arcs[i].head);
        return Err((Code::BadHead, message));
    }
    let arc = |arc: Dependency| Arc {
        head: (arc.head as usize).checked_sub(1).map(TokenIdx::new),
        label: arc.relation.into(),
    };
    let tree = DependencyTree { arcs: arcs.into_iter().map(arc).collect() };
    match tree.find_cycle() {
        Some(word) => {
            let message = format!("word {} is its own ancestor; expected a tree", word.index() + 1);
            Err((Code::Cycle, message))
        }
        None => Ok(tree),
    }
}

impl Constituents<'_> {
    fn into_tree(self, n: usize) -> Result<ConstituentTree, Problem> {
        let n_nodes = self.nodes.len();
        let node = |index: u32| {
            if (index as usize) < n_nodes {
                return Ok(NodeId::new(index as usize));
            }
            Err((Code::BadParent, format!("node {index}; expected at most the last of {n_nodes}, from 0")))
        };
        if self.tokens.len() != n {
            let message = format!("constituents over {} tokens; expected {n}", self.tokens.len());
            return Err((Code::BadJson, message));
        }
        let mut builder = TreeBuilder::with_tokens(n);
        for Node { label, edge, .. } in &self.nodes {
            let id = builder.node(label.as_ref());
            builder.set_edge(id, edge.as_ref());
        }
        for (i, Node { parent, .. }) in self.nodes.iter().enumerate() {
            if let Some(parent) = *parent {
                builder.attach(Child::Node(NodeId::new(i)), node(parent)?);
            }
        }
        for (i, Leaf { parent, edge }) in self.tokens.iter().enumerate() {
            let token = TokenIdx::new(i);
            builder.attach(Child::Token(token), node(*parent)?);
            if !edge.is_empty() {
                builder.set_token_edge(token, edge.as_ref());
            }
        }
        for Secondary { token, node: child, label, parent } in &self.secondary {
            let child = match (token, child) {
                (Some(token), None) if (1..=n).contains(&(*token as usize)) => {
                    Child::Token(TokenIdx::new(*token as usize - 1))
                }
                (None, Some(child)) => Child::Node(node(*child)?),
                _ => {
                    let message =
                        format!("a secondary edge; expected a token of 1 to {n} or a node, not both");
                    return Err((Code::BadParent, message));
                }
            };
            builder.secondary(child, label.as_ref(), node(*parent)?);
        }
        builder.finish().map_err(|error| {
            let code = match error {
                TreeError::NoWords(_) | TreeError::Empty => Code::EmptyConstituent,
                TreeError::TwoParents(_) | TreeError::NodeTwoParents(_) => Code::TwoParents,
                TreeError::Unattached(_) => Code::MissingWord,
                TreeError::Unrooted(_) => Code::BadParent,
            };
            (code, format!("{error}; expected one tree over all tokens"))
        })
    }
}

/// Writes one object per line.
pub(super) struct JsonLayout;

impl Layout for JsonLayout {
    fn entry(&mut self, entry: &Entry, _: usize, out: &mut Vec<u8>) -> Result<()> {
        serde_json::to_writer(&mut *out, &Object::from_entry(entry)?)
            .expect("strings and numbers can be written to memory");
        out.push(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests;
