//! Alpino XML, read only: `<alpino_ds>` elements, one or several, alone or inside any other element.
//!
//! - A `<node>` with a `word` is a word at position `begin`; its tag is `pos`, or else `pt`; its lemma is `lemma`, or
//!   else `root`; `postag` goes to the second tag (`xpos`). Every other `<node>` is a constituent labelled `cat`, as
//!   written. `rel` is the edge label, `--` is none. Positions decide about order and discontinuity.
//! - A `<node>` with nothing but an `index` refers to the node that has the same index and content. It becomes a
//!   secondary edge from that node to the constituent in which the reference stands.
//! - A constituent that holds references only dominates no word and is dropped, with the secondary edges into it.
//! - The sentence's name is the `id` of `<alpino_ds>`, or the `sentid` of `<sentence>`, or for the first sentence of a
//!   file the file's name without directory and ending. `<comment>` texts become comments. The text of `<sentence>`
//!   is not kept: it is the words.

use rustc_hash::FxHashMap;

use super::lines::At;
use super::xml::{Part, XmlFormat, XmlReader, XmlSource};
use super::{Entry, ReadOptions, Source};
use crate::error::{Code, Result};
use crate::ids::TokenIdx;
use crate::sentence::{Sentence, Str, Token};
use crate::tree::{Child, TreeBuilder};

/// A `<node>`, in the order of the file: parents before children.
struct Element {
    parent: Option<usize>,
    kind: Kind,
    index: Option<Str>,
    edge: Str,
    at: At,
    n_children: usize,
}

enum Kind {
    Word,
    Constituent(Str),
    Reference,
}

/// Reads Alpino XML.
pub(super) fn reader<'a>(source: Source<'a>, options: &ReadOptions) -> XmlReader<'a, Alpino> {
    let name = options.file.rsplit(['/', '\\']).next().unwrap_or("");
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let name = name.strip_suffix(".xml").unwrap_or(name);
    XmlReader::new(source, options.limit, Alpino { file_id: Str::from(name) })
}

pub(super) struct Alpino {
    /// The name for a first sentence that has none.
    file_id: Str,
}

impl XmlFormat for Alpino {
    type Parts = Parsed;
    const ELEMENT: [&'static str; 2] = ["alpino_ds", "<alpino_ds> inside another; expected </alpino_ds>"];

    fn start(&self, source: &XmlSource<'_>, number: usize) -> Parsed {
        let id = source.attribute("id").cloned().unwrap_or_default();
        Parsed { id, is_first: number == 1, ..Parsed::default() }
    }

    fn n_words(parsed: &Parsed) -> usize {
        parsed.words.len()
    }

    fn add(parsed: &mut Parsed, part: Part, source: &XmlSource<'_>, at: At) -> Result<()> {
        match (part, source.name()) {
            (Part::Start, "node") => return parsed.open(source, at),
            (Part::Start, "sentence") => {
                if let (true, Some(id)) = (parsed.id.is_empty(), source.attribute("sentid")) {
                    parsed.id = id.clone();
                }
            }
            (Part::Start, "comment") => parsed.comment = Some(String::new()),
            (Part::Text, _) => {
                if let Some(comment) = &mut parsed.comment {
                    comment.push_str(source.text());
                }
            }
            (Part::End, "comment") => {
                if let Some(text) = parsed.comment.take() {
                    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    parsed.comments.push(Str::from(format!("# {line}")));
                }
            }
            (Part::End, "node") => drop(parsed.open.pop()),
            _ => {}
        }
        Ok(())
    }

    fn entry(&self, mut parsed: Parsed, start: At) -> Result<Entry> {
        if parsed.id.is_empty() && parsed.is_first {
            parsed.id = self.file_id.clone();
        }
        parsed.entry(start)
    }
}

/// One sentence as its elements give it.
#[derive(Default)]
pub(super) struct Parsed {
    id: Str,
    /// Is it the first sentence of its file?
    is_first: bool,
    comments: Vec<Str>,
    /// The text of the `<comment>` that is open.
    comment: Option<String>,
    elements: Vec<Element>,
    /// The open elements.
    open: Vec<usize>,
    /// Words in the order of the file, each with its position and element.
    words: Vec<(usize, usize, Token)>,
}

impl Parsed {
    fn open(&mut self, source: &XmlSource<'_>, at: At) -> Result<()> {
        let parent = self.open.last().copied();
        let element = self.elements.len();
        self.open.push(element);
        let get = |name: &str| source.attribute(name).cloned();
        let index = get("index");
        let edge = get("rel").filter(|rel| rel != "--").unwrap_or_default();
        let is_reference = index.is_some() && get("word").is_none() && get("cat").is_none();
        let kind = match get("word") {
            Some(_) => Kind::Word,
            None if is_reference => Kind::Reference,
            None => Kind::Constituent(get("cat").unwrap_or_default()),
        };
        self.elements.push(Element { parent, kind, index, edge, at, n_children: 0 });
        if let Some(word) = get("word") {
            let token = Token {
                lemma: get("lemma").or_else(|| get("root")).unwrap_or_default(),
                xpos: get("postag").unwrap_or_default(),
                ..Token::new(word, get("pos").or_else(|| get("pt")).unwrap_or_default())
            };
            let Some(begin) = get("begin").and_then(|begin| begin.parse().ok()) else {
                let message = "a word without position; expected begin=\"number\"";
                return Err(at.error(Code::BadIndex, message));
            };
            self.words.push((begin, element, token));
        }
        if let Some(parent) = parent {
            let parent = &mut self.elements[parent];
            parent.n_children += 1;
            match parent.kind {
                Kind::Word => {
                    return Err(
                        at.error(Code::BadXml, "a <node> inside a word; expected it inside a constituent")
                    );
                }
                // A constituent may lack its category.
                Kind::Reference => parent.kind = Kind::Constituent(Str::default()),
                Kind::Constituent(_) => {}
            }
        }
        Ok(())
    }

    fn entry(mut self, start: At) -> Result<Entry> {
        if self.words.is_empty() {
            return Err(start.error(Code::EmptyConstituent, "a sentence without words; expected one"));
        }
        // Words by position.
        self.words.sort_by_key(|&(position, ..)| position);
        let mut token_of = vec![None; self.elements.len()];
        for (i, &(position, element, _)) in self.words.iter().enumerate() {
            let at = self.elements[element].at;
            if position < i {
                let message = format!("word {position} stands in the tree twice; expected once");
                return Err(at.error(Code::TwoParents, message));
            }
            if position > i {
                let message =
                    format!("word {i} is missing before word {position}; expected every position from 0");
                return Err(at.error(Code::MissingWord, message));
            }
            token_of[element] = Some(TokenIdx::new(i));
        }
        // Constituents that dominate a word; children come after their parents.
        let mut has_word = vec![false; self.elements.len()];
        for (i, element) in self.elements.iter().enumerate().rev() {
            has_word[i] |= matches!(element.kind, Kind::Word);
            if !has_word[i] && element.n_children == 0 && matches!(element.kind, Kind::Constituent(_)) {
                let message = "a <node> with neither word, index nor children; expected one of them";
                return Err(element.at.error(Code::EmptyConstituent, message));
            }
            if let (true, Some(parent)) = (has_word[i], element.parent) {
                has_word[parent] = true;
            }
        }
        let mut builder = TreeBuilder::with_tokens(self.words.len());
        let mut child_of = vec![None; self.elements.len()];
        // What an index refers to; a constituent that was dropped is nothing.
        let mut antecedents: FxHashMap<&Str, Option<Child>> = FxHashMap::default();
        for (i, element) in self.elements.iter().enumerate() {
            let child = match &element.kind {
                Kind::Reference => continue,
                Kind::Word => Some(Child::Token(token_of[i].expect("every word has a position"))),
                Kind::Constituent(label) if has_word[i] => Some(Child::Node(builder.node(label.clone()))),
                Kind::Constituent(_) => None,
            };
            if let Some(index) = &element.index {
                antecedents.entry(index).or_insert(child);
            }
            let Some(child) = child else { continue };
            child_of[i] = Some(child);
            match element.parent.and_then(|parent| child_of[parent]) {
                Some(Child::Node(parent)) => builder.attach(child, parent),
                _ => check_root(element.at, child, i)?,
            }
            match child {
                Child::Node(node) => builder.set_edge(node, element.edge.clone()),
                Child::Token(token) if !element.edge.is_empty() => {
                    builder.set_token_edge(token, element.edge.clone());
                }
                Child::Token(_) => {}
            }
        }
        for element in self.elements.iter().filter(|element| matches!(element.kind, Kind::Reference)) {
            let index = element.index.as_ref().expect("a reference has an index");
            let parent = element.parent.and_then(|parent| child_of[parent]);
            match (antecedents.get(index), parent) {
                (Some(&Some(child)), Some(Child::Node(parent))) => {
                    builder.secondary(child, element.edge.clone(), parent);
                }
                (Some(_), _) => {}
                (None, _) => {
                    let message = format!("no <node> with content has the index {index:?}; expected one");
                    return Err(element.at.error(Code::BadId, message));
                }
            }
        }
        let tree = builder.finish().map_err(|error| start.error(Code::RootCount, error.to_string()))?;
        let tokens = self.words.into_iter().map(|(_, _, token)| token).collect();
        let sentence = Sentence { id: self.id, tokens, comments: self.comments, ..Sentence::default() };
        Ok(Entry { sentence, tree: Some(tree.into()) })
    }
}

/// Only the first element may have no parent, and it must be a constituent.
fn check_root(at: At, child: Child, element: usize) -> Result<()> {
    match child {
        Child::Node(_) if element == 0 => Ok(()),
        Child::Node(_) => Err(at.error(Code::RootCount, "a second <node> at the top; expected one")),
        Child::Token(_) => Err(at.error(Code::RootCount, "a word at the top; expected a constituent")),
    }
}

#[cfg(test)]
mod tests;
