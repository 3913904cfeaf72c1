//! TIGER-XML: `<s>` elements with terminals `<t>`, nonterminals `<nt>` and the edges between them.
//!
//! - `word lemma pos morph` are the form, lemma, tag and features of a word, `cat` and the `label` of an `<edge>` the
//!   label and edge label of a constituent; `--` is an empty value, except for `word`. `xpos`, `deps` and `misc` are
//!   the other columns of a word, and other attributes of `<t>` are gathered in `misc` as `name=value|...`.
//! - `<secedge>` stands in the element that has a second parent, and `idref` names that parent.
//! - The root is kept as written; an edge label above it is an attribute `label` of `<graph>`, our own addition. A sentence that is nothing but one `<t>` gets a root labelled
//!   [`ReadOptions::root_label`] (`VROOT`).
//! - The sentence's name is the `id` of `<s>`; the writer makes up the other ids. The corpus header, matches and
//!   frames are not kept. Comments and multiword tokens have no place and are left out.
//! - Refused on writing: characters that XML cannot hold, and values that are `--`.

use rustc_hash::FxHashMap;

use super::lines::At;
use super::write::{Layout, constituents, push_number, unwritable};
use super::xml::{Part, XmlFormat, XmlReader, XmlSource};
use super::{Entry, ReadOptions, Source};
use crate::error::{Code, Error, Result};
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str, Token};
use crate::tree::{Child, ConstituentTree, TreeBuilder, TreeError};

const ROOT_LABEL: &str = "VROOT";

/// An edge as written: from a constituent to `idref`, or, if secondary, from `idref` to a child.
struct Edge {
    end: Child,
    idref: Str,
    label: Str,
    at: At,
}

/// One sentence as its elements give it.
#[derive(Default)]
pub(super) struct Graph {
    sentence: Sentence,
    root: Option<Str>,
    /// The edge label above the root.
    root_edge: Str,
    ids: FxHashMap<Str, Child>,
    token_places: Vec<At>,
    labels: Vec<Str>,
    node_places: Vec<At>,
    edges: Vec<Edge>,
    secondary: Vec<Edge>,
    /// The `<t>` or `<nt>` that is open.
    current: Option<Child>,
}

/// Reads TIGER-XML.
pub(super) fn reader<'a>(source: Source<'a>, options: &ReadOptions) -> XmlReader<'a, Tiger> {
    let root_label = options.root_label.clone().unwrap_or_else(|| Str::from(ROOT_LABEL));
    XmlReader::new(source, options.limit, Tiger { root_label, no_parse: options.no_parse })
}

pub(super) struct Tiger {
    root_label: Str,
    no_parse: bool,
}

impl XmlFormat for Tiger {
    type Parts = Graph;
    const ELEMENT: [&'static str; 2] = ["s", "a sentence inside another; expected </s>"];

    fn start(&self, source: &XmlSource<'_>, _: usize) -> Graph {
        let mut graph = Graph::default();
        graph.sentence.id = source.attribute("id").cloned().unwrap_or_default();
        graph
    }

    fn n_words(graph: &Graph) -> usize {
        graph.sentence.len()
    }

    fn add(graph: &mut Graph, part: Part, source: &XmlSource<'_>, at: At) -> Result<()> {
        match (part, source.name()) {
            (Part::Start, name) => graph.element(name, source, at),
            (Part::End, "t" | "nt") => {
                graph.current = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn entry(&self, graph: Graph, start: At) -> Result<Entry> {
        graph.entry(&self.root_label, self.no_parse, start)
    }
}

/// A value, in which `--` means nothing.
fn value(text: Option<&Str>) -> Str {
    text.filter(|text| *text != "--").cloned().unwrap_or_default()
}

impl Graph {
    /// Takes in a start tag.
    fn element(&mut self, name: &str, source: &XmlSource<'_>, at: At) -> Result<()> {
        let required = |attribute: &str| {
            source.attribute(attribute).cloned().ok_or_else(|| {
                at.error(
                    Code::BadXml,
                    format!("<{name}> without {attribute}; expected <{name} {attribute}=...>"),
                )
            })
        };
        match name {
            "graph" => {
                self.root = source.attribute("root").cloned();
                self.root_edge = value(source.attribute("label"));
            }
            "t" => {
                let child = Child::Token(TokenIdx::new(self.sentence.len()));
                self.open(required("id")?, child, at)?;
                let mut token = Token::new(required("word")?, Str::default());
                for (key, text) in source.attributes() {
                    match key.as_str() {
                        "id" | "word" => {}
                        "lemma" => token.lemma = value(Some(text)),
                        "pos" => token.tag = value(Some(text)),
                        "morph" => token.feats = value(Some(text)),
                        "xpos" => token.xpos = text.clone(),
                        "deps" => token.deps = text.clone(),
                        // After other attributes, or before them.
                        "misc" if token.misc.is_empty() => token.misc = text.clone(),
                        "misc" => token.misc.push_str(&format!("|{text}")),
                        _ if text == "--" => {}
                        _ => {
                            let bar = if token.misc.is_empty() { "" } else { "|" };
                            token.misc.push_str(&format!("{bar}{key}={text}"));
                        }
                    }
                }
                self.sentence.tokens.push(token);
                self.token_places.push(at);
            }
            "nt" => {
                self.open(required("id")?, Child::Node(NodeId::new(self.labels.len())), at)?;
                self.labels.push(value(Some(&required("cat")?)));
                self.node_places.push(at);
            }
            "edge" | "secedge" => {
                let (idref, label) = (required("idref")?, value(source.attribute("label")));
                let expected = if name == "edge" { "<nt>" } else { "<t> or <nt>" };
                let edge = match self.current {
                    Some(end) => Edge { end, idref, label, at },
                    None => return Err(at.error(Code::BadXml, format!("<{name}> outside of {expected}"))),
                };
                match (name, edge.end) {
                    ("secedge", _) => self.secondary.push(edge),
                    (_, Child::Node(_)) => self.edges.push(edge),
                    _ => return Err(at.error(Code::BadXml, format!("<{name}> outside of {expected}"))),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, id: Str, child: Child, at: At) -> Result<()> {
        self.current = Some(child);
        if self.ids.contains_key(&id) {
            return Err(
                at.error(Code::DuplicateId, format!("the id {id:?} for the second time; expected each once"))
            );
        }
        self.ids.insert(id, child);
        Ok(())
    }

    fn find(&self, edge: &Edge) -> Result<Child> {
        self.ids.get(&edge.idref).copied().ok_or_else(|| {
            let message =
                format!("{:?} is not in the sentence; expected the id of a <t> or <nt>", edge.idref);
            edge.at.error(Code::BadId, message)
        })
    }

    /// The tree, once all elements are there.
    fn entry(mut self, root_label: &Str, no_parse: bool, start: At) -> Result<Entry> {
        if self.sentence.is_empty() {
            if no_parse && self.labels.is_empty() {
                return Ok(Entry { sentence: self.sentence, tree: None });
            }
            return Err(start.error(Code::EmptyConstituent, "a sentence without words; expected one"));
        }
        let mut builder = TreeBuilder::with_tokens(self.sentence.len());
        for label in std::mem::take(&mut self.labels) {
            builder.node(label);
        }
        for edge in &self.edges {
            let child = self.find(edge)?;
            let Child::Node(parent) = edge.end else { unreachable!("only constituents have edges") };
            let has_parent = match child {
                Child::Token(token) => builder.token_parent(token).is_some(),
                Child::Node(node) => builder.parent(node).is_some(),
            };
            if has_parent {
                let message =
                    format!("{:?} has two parents; expected one, and <secedge> for others", edge.idref);
                return Err(edge.at.error(Code::TwoParents, message));
            }
            builder.attach(child, parent);
            match child {
                Child::Token(token) if !edge.label.is_empty() => {
                    builder.set_token_edge(token, edge.label.clone());
                }
                Child::Token(_) => {}
                Child::Node(node) => builder.set_edge(node, edge.label.clone()),
            }
        }
        if builder.n_nodes() == 0 && self.sentence.len() == 1 {
            let root = builder.node(root_label.clone());
            builder.attach(Child::Token(TokenIdx::new(0)), root);
        } else if let Some(root) = &self.root {
            match self.ids.get(root) {
                Some(Child::Node(node)) if builder.parent(*node).is_none() => {}
                _ => {
                    let message =
                        format!("the root {root:?} is no <nt> without parent; expected the topmost <nt>");
                    return Err(start.error(Code::RootCount, message));
                }
            }
        }
        let top = (0..builder.n_nodes()).map(NodeId::new).find(|&node| builder.parent(node).is_none());
        if let Some(top) = top {
            builder.set_edge(top, std::mem::take(&mut self.root_edge));
        }
        for edge in &self.secondary {
            let Child::Node(parent) = self.find(edge)? else {
                let message =
                    format!("the second parent {:?} is a word; expected the id of a <nt>", edge.idref);
                return Err(edge.at.error(Code::BadParent, message));
            };
            builder.secondary(edge.end, edge.label.clone(), parent);
        }
        let parents: Vec<Option<NodeId>> =
            (0..builder.n_nodes()).map(|i| builder.parent(NodeId::new(i))).collect();
        let tree = builder.finish().map_err(|error| self.bad_tree(&error, &parents, start))?;
        Ok(Entry { sentence: self.sentence, tree: Some(tree.into()) })
    }

    fn bad_tree(&self, error: &TreeError, parents: &[Option<NodeId>], start: At) -> Error {
        match *error {
            TreeError::Unattached(token) => {
                let at = self.token_places[token.index()];
                at.error(Code::MissingWord, "the word hangs nowhere; expected an <edge> to it")
            }
            TreeError::NoWords(i) | TreeError::Unrooted(i) => {
                // Climbing from there either reaches a top or goes round.
                let mut node = i;
                for _ in 0..=parents.len() {
                    let Some(parent) = parents[node] else {
                        let at = self.node_places[i];
                        return match error {
                            TreeError::NoWords(_) => at.error(
                                Code::EmptyConstituent,
                                "a constituent without words; expected one in it",
                            ),
                            _ => at.error(
                                Code::RootCount,
                                "a constituent apart from the root; expected one root",
                            ),
                        };
                    };
                    node = parent.index();
                }
                self.node_places[node]
                    .error(Code::Cycle, "a constituent is its own ancestor; expected a tree")
            }
            _ => start.error(Code::RootCount, error.to_string()),
        }
    }
}

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<corpus id="corpus">
<head>
<annotation>
<feature name="word" domain="T"/>
<feature name="lemma" domain="T"/>
<feature name="pos" domain="T"/>
<feature name="morph" domain="T"/>
<feature name="cat" domain="NT"/>
<edgelabel/>
<secedgelabel/>
</annotation>
</head>
<body>
"#;

/// Writes TIGER-XML.
pub(super) struct TigerLayout;

impl Layout for TigerLayout {
    fn entry(&mut self, entry: &Entry, number: usize, out: &mut Vec<u8>) -> Result<()> {
        let id = match entry.sentence.id.is_empty() {
            true => Str::from(format!("s{number}")),
            false => entry.sentence.id.clone(),
        };
        out.extend_from_slice(b"<s");
        push_attribute(out, "id", &id)?;
        out.extend_from_slice(b">\n");
        if let Some(tree) = constituents(entry, "TIGER-XML")? {
            push_graph(out, &id, &entry.sentence, tree)?;
        }
        out.extend_from_slice(b"</s>\n");
        Ok(())
    }

    fn frame(&self) -> [&'static str; 2] {
        [HEAD, "</body>\n</corpus>\n"]
    }
}

fn push_graph(out: &mut Vec<u8>, id: &str, sentence: &Sentence, tree: &ConstituentTree) -> Result<()> {
    // Constituents count from 500, as they do in the TIGER treebank, unless words take these numbers.
    let first_node = (sentence.len() + 1).max(500);
    let name = |child: Child| match child {
        Child::Token(token) => token.index() + 1,
        Child::Node(node) => first_node + node.index(),
    };
    let push_id = |out: &mut Vec<u8>, attribute: &str, child: Child| {
        out.extend_from_slice(format!(" {attribute}=\"").as_bytes());
        push_escaped(out, id)?;
        out.push(b'_');
        push_number(out, name(child));
        out.push(b'"');
        Ok::<(), Error>(())
    };
    let push_edge = |out: &mut Vec<u8>, element: &str, label: &str, end: Child| {
        out.extend_from_slice(element.as_bytes());
        push_value(out, "label", label)?;
        push_id(out, "idref", end)?;
        out.extend_from_slice(b"/>\n");
        Ok::<(), Error>(())
    };
    out.extend_from_slice(b"<graph");
    push_id(out, "root", Child::Node(tree.root()))?;
    let root_edge = &tree.node(tree.root()).edge;
    if !root_edge.is_empty() {
        push_value(out, "label", root_edge)?;
    }
    if tree.is_discontinuous() {
        out.extend_from_slice(b" discontinuous=\"true\"");
    }
    out.extend_from_slice(b">\n<terminals>\n");
    let mut secondary = tree.secondary_edges().iter().peekable();
    let mut push_secondary = |out: &mut Vec<u8>, child: Child| {
        while let Some(edge) = secondary.next_if(|edge| edge.child == child) {
            push_edge(out, "<secedge", &edge.label, Child::Node(edge.parent))?;
        }
        Ok::<(), Error>(())
    };
    for (i, token) in sentence.tokens.iter().enumerate() {
        let child = Child::Token(TokenIdx::new(i));
        out.extend_from_slice(b"<t");
        push_id(out, "id", child)?;
        push_attribute(out, "word", &token.form)?;
        push_value(out, "lemma", &token.lemma)?;
        push_value(out, "pos", &token.tag)?;
        push_value(out, "morph", &token.feats)?;
        for (name, text) in [("xpos", &token.xpos), ("deps", &token.deps), ("misc", &token.misc)] {
            if !text.is_empty() {
                push_attribute(out, name, text)?;
            }
        }
        let end = out.len();
        out.extend_from_slice(b">\n");
        let before = out.len();
        push_secondary(out, child)?;
        if out.len() > before {
            out.extend_from_slice(b"</t>\n");
        } else {
            out.truncate(end);
            out.extend_from_slice(b"/>\n");
        }
    }
    out.extend_from_slice(b"</terminals>\n<nonterminals>\n");
    for (id, node) in tree.nodes() {
        out.extend_from_slice(b"<nt");
        push_id(out, "id", Child::Node(id))?;
        push_value(out, "cat", &node.label)?;
        out.extend_from_slice(b">\n");
        for &child in tree.children(id) {
            let label = match child {
                Child::Token(token) => tree.token_edge(token),
                Child::Node(node) => &tree.node(node).edge,
            };
            push_edge(out, "<edge", label, child)?;
        }
        push_secondary(out, Child::Node(id))?;
        out.extend_from_slice(b"</nt>\n");
    }
    out.extend_from_slice(b"</nonterminals>\n</graph>\n");
    Ok(())
}

/// Writes an attribute in which nothing is `--`.
fn push_value(out: &mut Vec<u8>, name: &str, value: &str) -> Result<()> {
    if value == "--" {
        return Err(unwritable(format!("the {name} is `--`, which means nothing in TIGER-XML")));
    }
    push_attribute(out, name, if value.is_empty() { "--" } else { value })
}

fn push_attribute(out: &mut Vec<u8>, name: &str, value: &str) -> Result<()> {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    push_escaped(out, value)?;
    out.push(b'"');
    Ok(())
}

fn push_escaped(out: &mut Vec<u8>, text: &str) -> Result<()> {
    for c in text.chars() {
        match c {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            // As themselves they would be read back as spaces.
            '\t' => out.extend_from_slice(b"&#9;"),
            '\n' => out.extend_from_slice(b"&#10;"),
            '\r' => out.extend_from_slice(b"&#13;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                return Err(unwritable(format!("{text:?} has a character that XML cannot hold")));
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
