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

use std::io::Read;

use rustc_hash::FxHashMap;

use super::xml::{At, Part, XmlSource};
use super::{Entry, ReadOptions, Reader};
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
pub struct AlpinoReader<R: Read> {
    source: XmlSource<R>,
    /// The name for a first sentence that has none.
    file_id: Str,
    n_sentences: usize,
}

impl<R: Read> AlpinoReader<R> {
    /// A reader of the text in `source`.
    pub fn new(source: R, options: &ReadOptions) -> Self {
        let name = options.file.rsplit(['/', '\\']).next().unwrap_or("");
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let name = name.strip_suffix(".xml").unwrap_or(name);
        let source = XmlSource::new(source, options.limit);
        AlpinoReader { source, file_id: Str::from(name), n_sentences: 0 }
    }

    fn next_entry(&mut self) -> Result<Option<Entry>> {
        let start = loop {
            match self.source.next()? {
                None => return Ok(None),
                Some((Part::Start("alpino_ds"), at)) => break at,
                Some(_) => {}
            }
        };
        self.n_sentences += 1;
        self.source.start_sentence();
        let mut parsed =
            Parsed { id: self.source.attribute("id").cloned().unwrap_or_default(), ..Parsed::default() };
        let mut comment: Option<String> = None;
        let mut error = None;
        loop {
            if error.is_none()
                && let Err(too_large) = self.source.check_size(start, parsed.words.len())
            {
                error = Some(too_large);
                comment = None;
            }
            let part = match self.source.next() {
                Ok(part) => part,
                // The first error says more than what came of it.
                Err(later) => return Err(error.unwrap_or(later)),
            };
            match part {
                None => return Err(start.error(Code::Truncated, "the file ends inside the sentence")),
                // After an error the rest of the sentence is skipped.
                Some((Part::Start("node"), at)) if error.is_none() => {
                    error = parsed.open(&self.source, at).err();
                }
                Some((Part::Start("sentence"), _)) => {
                    if let (true, Some(id)) = (parsed.id.is_empty(), self.source.attribute("sentid")) {
                        parsed.id = id.clone();
                    }
                }
                Some((Part::Start("alpino_ds"), at)) => {
                    let message = "<alpino_ds> inside another; expected </alpino_ds>";
                    error = error.or(Some(at.error(Code::BadXml, message)));
                }
                Some((Part::Start("comment"), _)) if error.is_none() => comment = Some(String::new()),
                Some((Part::Text(text), _)) => {
                    if let Some(comment) = &mut comment {
                        comment.push_str(text);
                    }
                }
                Some((Part::End("comment"), _)) => {
                    if let Some(text) = comment.take() {
                        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                        parsed.comments.push(Str::from(format!("# {line}")));
                    }
                }
                Some((Part::End("node"), _)) => drop(parsed.open.pop()),
                Some((Part::End("alpino_ds"), _)) => break,
                Some(_) => {}
            }
        }
        if parsed.id.is_empty() && self.n_sentences == 1 {
            parsed.id = self.file_id.clone();
        }
        match error {
            Some(error) => Err(error),
            None => parsed.entry(start).map(Some),
        }
    }
}

impl<R: Read> Iterator for AlpinoReader<R> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let result = self.next_entry().transpose()?;
        Some(result.map_err(|error| error.in_sentence(self.n_sentences)))
    }
}

impl<R: Read> Reader for AlpinoReader<R> {
    fn line(&self) -> usize {
        self.source.line()
    }
}

/// One sentence as its elements give it.
#[derive(Default)]
struct Parsed {
    id: Str,
    comments: Vec<Str>,
    elements: Vec<Element>,
    /// The open elements.
    open: Vec<usize>,
    /// Words in the order of the file, each with its position and element.
    words: Vec<(usize, usize, Token)>,
}

impl Parsed {
    fn open<R: Read>(&mut self, source: &XmlSource<R>, at: At) -> Result<()> {
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
