//! Documents, sentences, tokens and trees as Python sees them. All are views of entries that stay in Rust: a Python object
//! is made when it is asked for.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyString};
use treewright::draw::{self, Layout, Options, TerminalOptions};
use treewright::ids::{NodeId, TokenIdx};
use treewright::tree::{Child, Entry, TreeBuilder};
use treewright::treebank::{self, Format};

use crate::error::{exception, wrong};

/// A text with its sentences.
#[pyclass(frozen, sequence, module = "treewright")]
pub struct Document {
    pub entries: Arc<Vec<Entry>>,
    pub text: Option<String>,
}

/// A sentence: its tokens and its tree.
#[pyclass(frozen, sequence, module = "treewright")]
pub struct Sentence {
    entries: Arc<Vec<Entry>>,
    index: usize,
}

/// A word and what is known about it.
#[pyclass(frozen, module = "treewright")]
pub struct Token {
    entries: Arc<Vec<Entry>>,
    sentence: usize,
    index: usize,
}

/// A constituent tree or a part of it, or a dependency tree.
#[pyclass(frozen, sequence, module = "treewright")]
pub struct Tree {
    entries: Arc<Vec<Entry>>,
    sentence: usize,
    at: Place,
}

/// What of a sentence a tree is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Dependencies,
    Constituent(NodeId),
    /// The tag above a word.
    Word(TokenIdx),
}

impl Document {
    pub fn new(entries: Vec<Entry>, text: Option<String>) -> Self {
        Document { entries: Arc::new(entries), text }
    }

    fn sentence(&self, index: usize) -> Sentence {
        Sentence { entries: self.entries.clone(), index }
    }
}

#[pymethods]
impl Document {
    /// The sentences.
    #[getter]
    fn sentences(&self) -> Vec<Sentence> {
        (0..self.entries.len()).map(|index| self.sentence(index)).collect()
    }

    /// The text as it was given; None for tokens.
    #[getter]
    fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    fn __len__(&self) -> usize {
        self.entries.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.sentences())?.try_iter()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Sentence> {
        Ok(self.sentence(place_of(index, self.entries.len())?))
    }

    /// The document in a treebank format (`conllu`, `ptb`, `discbracket`, `export`, `json`, ..); by default CoNLL-U for
    /// dependencies and brackets for constituents.
    #[pyo3(signature = (format=None))]
    fn to_string(&self, format: Option<&str>) -> PyResult<String> {
        written(&self.entries, format)
    }

    fn __str__(&self) -> PyResult<String> {
        written(&self.entries, None)
    }

    fn __repr__(&self) -> String {
        let words: usize = self.entries.iter().map(|entry| entry.sentence.len()).sum();
        format!("<treewright.Document: {} sentences, {words} words>", self.entries.len())
    }
}

impl Sentence {
    fn entry(&self) -> &Entry {
        &self.entries[self.index]
    }

    fn token(&self, index: usize) -> Token {
        Token { entries: self.entries.clone(), sentence: self.index, index }
    }
}

#[pymethods]
impl Sentence {
    /// The words.
    #[getter]
    fn tokens(&self) -> Vec<Token> {
        (0..self.entry().sentence.len()).map(|index| self.token(index)).collect()
    }

    /// The tree; None if there is no parser, or no word.
    #[getter]
    fn tree(&self) -> Option<Tree> {
        let at = match self.entry().tree.as_ref()? {
            treewright::Tree::Dependency(_) => Place::Dependencies,
            treewright::Tree::Constituent(tree) => Place::Constituent(tree.root()),
        };
        Some(Tree { entries: self.entries.clone(), sentence: self.index, at })
    }

    /// The sentence as it stands in the text, or its words with spaces between them.
    #[getter]
    fn text(&self) -> String {
        let sentence = &self.entry().sentence;
        let text = sentence.comments.iter().find_map(|comment| comment.strip_prefix("# text = "));
        text.map_or_else(|| words(sentence).join(" "), str::to_owned)
    }

    /// Its name in the treebank, or its number in the document.
    #[getter]
    fn id(&self) -> &str {
        &self.entry().sentence.id
    }

    fn __len__(&self) -> usize {
        self.entry().sentence.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.tokens())?.try_iter()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Token> {
        Ok(self.token(place_of(index, self.entry().sentence.len())?))
    }

    /// The sentence in a treebank format, as `Document.to_string`.
    #[pyo3(signature = (format=None))]
    fn to_string(&self, format: Option<&str>) -> PyResult<String> {
        written(std::slice::from_ref(self.entry()), format)
    }

    fn __str__(&self) -> PyResult<String> {
        self.to_string(None)
    }

    fn __repr__(&self) -> String {
        format!("<treewright.Sentence: {:?}>", self.text())
    }

    fn _repr_svg_(&self) -> PyResult<Option<String>> {
        self.tree().map(|tree| tree._repr_svg_()).transpose()
    }
}

impl Token {
    fn token(&self) -> &treewright::Token {
        &self.entries[self.sentence].sentence.tokens[self.index]
    }

    fn arc(&self) -> Option<&treewright::tree::Arc> {
        match self.entries[self.sentence].tree.as_ref()? {
            treewright::Tree::Dependency(tree) => tree.arcs.get(self.index),
            treewright::Tree::Constituent(_) => None,
        }
    }

    /// Where it stands in the text, in characters: MISC tells, or that of the multiword token it belongs to.
    fn range(&self) -> Option<(usize, usize)> {
        let sentence = &self.entries[self.sentence].sentence;
        let covering = sentence
            .multiwords
            .iter()
            .find(|range| (range.first.index()..=range.last.index()).contains(&self.index));
        let misc = covering.map_or(&self.token().misc, |range| &range.columns[8]);
        let range = misc.split('|').find_map(|part| part.strip_prefix("TokenRange="))?;
        let (start, end) = range.split_once(':')?;
        Some((start.parse().ok()?, end.parse().ok()?))
    }
}

#[pymethods]
impl Token {
    /// Its number in the sentence, from 1.
    #[getter]
    fn id(&self) -> usize {
        self.index + 1
    }

    /// The word as written.
    #[getter]
    fn form(&self) -> &str {
        &self.token().form
    }

    /// The lemma; empty if there is none.
    #[getter]
    fn lemma(&self) -> &str {
        &self.token().lemma
    }

    /// The part of speech: UPOS, or the one tag of a constituent treebank.
    #[getter]
    fn upos(&self) -> &str {
        &self.token().tag
    }

    /// The treebank's own part of speech beside UPOS.
    #[getter]
    fn xpos(&self) -> &str {
        &self.token().xpos
    }

    /// Morphological features, such as `Number=Sing`.
    #[getter]
    fn feats(&self) -> &str {
        &self.token().feats
    }

    /// The MISC column.
    #[getter]
    fn misc(&self) -> &str {
        &self.token().misc
    }

    /// The number of its head, 0 for the root; None without a dependency tree.
    #[getter]
    fn head(&self) -> Option<usize> {
        Some(self.arc()?.head.map_or(0, |head| head.index() + 1))
    }

    /// Its relation to its head; None without a dependency tree.
    #[getter]
    fn deprel(&self) -> Option<&str> {
        Some(&self.arc()?.label)
    }

    /// Where it begins in the text, in characters; None for tokens that came without a text.
    #[getter]
    fn start(&self) -> Option<usize> {
        Some(self.range()?.0)
    }

    /// Where it ends in the text.
    #[getter]
    fn end(&self) -> Option<usize> {
        Some(self.range()?.1)
    }

    fn __str__(&self) -> &str {
        self.form()
    }

    fn __repr__(&self) -> String {
        match (self.head(), self.deprel()) {
            (Some(head), Some(deprel)) => {
                format!("<treewright.Token {} {:?} {} {head} {deprel}>", self.id(), self.form(), self.upos())
            }
            _ => format!("<treewright.Token {} {:?} {}>", self.id(), self.form(), self.upos()),
        }
    }
}

impl Tree {
    fn entry(&self) -> &Entry {
        &self.entries[self.sentence]
    }

    fn constituents(&self) -> &treewright::ConstituentTree {
        match &self.entry().tree {
            Some(treewright::Tree::Constituent(tree)) => tree,
            _ => unreachable!("a constituent is a part of a constituent tree"),
        }
    }

    fn dependencies(&self) -> PyResult<&treewright::DependencyTree> {
        match &self.entry().tree {
            Some(treewright::Tree::Dependency(tree)) => Ok(tree),
            _ => {
                Err(PyTypeError::new_err("this is a constituent tree: it has a label and children, no heads"))
            }
        }
    }

    fn part(&self, at: Place) -> Tree {
        Tree { entries: self.entries.clone(), sentence: self.sentence, at }
    }

    /// The words below, in the order of the sentence.
    fn tokens(&self) -> Vec<TokenIdx> {
        match self.at {
            Place::Dependencies => (0..self.entry().sentence.len()).map(TokenIdx::new).collect(),
            Place::Constituent(node) => self.constituents().tokens_under(node),
            Place::Word(token) => vec![token],
        }
    }

    fn children(&self) -> PyResult<Vec<Place>> {
        match self.at {
            Place::Dependencies => Err(PyTypeError::new_err(
                "a dependency tree has no label and no children: look at heads() and relations()",
            )),
            Place::Constituent(node) => {
                let place = |child: &Child| match *child {
                    Child::Node(node) => Place::Constituent(node),
                    Child::Token(token) => Place::Word(token),
                };
                Ok(self.constituents().children(node).iter().map(place).collect())
            }
            Place::Word(_) => Ok(Vec::new()),
        }
    }

    fn child<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        if let Place::Word(token) = self.at {
            place_of(index, 1)?;
            return Ok(PyString::new(py, &self.entry().sentence.token(token).form).into_any());
        }
        let children = self.children()?;
        let at = children[place_of(index, children.len())?];
        Ok(self.part(at).into_pyobject(py)?.into_any())
    }

    /// The sentence and tree of this part alone.
    fn own_entry(&self) -> PyResult<Entry> {
        let entry = self.entry();
        let top = match self.at {
            Place::Dependencies => return Ok(entry.clone()),
            Place::Constituent(node) if node == self.constituents().root() => return Ok(entry.clone()),
            Place::Word(_) => return Err(wrong("a word with its tag is not a tree of its own")),
            Place::Constituent(node) => node,
        };
        let tree = self.constituents();
        let tokens = self.tokens();
        let mut builder = TreeBuilder::with_tokens(tokens.len());
        let root = builder.node(tree.node(top).label.clone());
        let mut open = vec![(top, root)];
        while let Some((node, copy)) = open.pop() {
            for &child in tree.children(node) {
                match child {
                    Child::Token(token) => {
                        let at = tokens.binary_search(&token).expect("a word below the node");
                        builder.attach(Child::Token(TokenIdx::new(at)), copy);
                    }
                    Child::Node(child) => {
                        let below = builder.node(tree.node(child).label.clone());
                        builder.attach(Child::Node(below), copy);
                        open.push((child, below));
                    }
                }
            }
        }
        let tree = builder.finish().map_err(|error| wrong(error.to_string()))?;
        let tokens = tokens.into_iter().map(|token| entry.sentence.token(token).clone()).collect();
        let sentence = treewright::Sentence { tokens, ..treewright::Sentence::default() };
        Ok(Entry { sentence, tree: Some(treewright::Tree::Constituent(tree)) })
    }

    fn layout(&self) -> PyResult<Layout> {
        Layout::of(&self.own_entry()?, &Options::default()).map_err(exception)
    }
}

#[pymethods]
impl Tree {
    /// `dependencies` or `constituents`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.at {
            Place::Dependencies => "dependencies",
            Place::Constituent(_) | Place::Word(_) => "constituents",
        }
    }

    /// The label of the constituent, or the tag above a word.
    fn label(&self) -> PyResult<&str> {
        match self.at {
            Place::Dependencies => self.children().map(|_| ""),
            Place::Constituent(node) => Ok(&self.constituents().node(node).label),
            Place::Word(token) => Ok(&self.entry().sentence.token(token).tag),
        }
    }

    /// The words below.
    fn leaves(&self) -> Vec<&str> {
        self.tokens().into_iter().map(|token| &*self.entry().sentence.token(token).form).collect()
    }

    /// The words below with their tags.
    fn pos(&self) -> Vec<(&str, &str)> {
        let pair = |token| {
            let token = self.entry().sentence.token(token);
            (&*token.form, &*token.tag)
        };
        self.tokens().into_iter().map(pair).collect()
    }

    /// The positions of the words below in the sentence, from 0; with gaps where the constituent is discontinuous.
    fn indices(&self) -> Vec<usize> {
        self.tokens().into_iter().map(TokenIdx::index).collect()
    }

    /// Heads of the words, from 1, 0 for the root. Only dependency trees have them.
    fn heads(&self) -> PyResult<Vec<usize>> {
        let arcs = &self.dependencies()?.arcs;
        Ok(arcs.iter().map(|arc| arc.head.map_or(0, |head| head.index() + 1)).collect())
    }

    /// The relations of the words to their heads. Only dependency trees have them.
    fn relations(&self) -> PyResult<Vec<&str>> {
        Ok(self.dependencies()?.arcs.iter().map(|arc| &*arc.label).collect())
    }

    /// Does an arc cross another, or has this constituent, or one below it, a gap?
    fn is_discontinuous(&self) -> bool {
        match &self.entry().tree {
            Some(treewright::Tree::Dependency(tree)) => !tree.is_projective(),
            _ => {
                let has_gap = self.tokens().windows(2).any(|pair| pair[1].index() != pair[0].index() + 1);
                let has_part_with_gap = || match self.own_entry().map(|entry| entry.tree) {
                    Ok(Some(treewright::Tree::Constituent(tree))) => tree.is_discontinuous(),
                    _ => false,
                };
                has_gap || has_part_with_gap()
            }
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.at {
            Place::Dependencies => Ok(self.entry().sentence.len()),
            Place::Word(_) => Ok(1),
            Place::Constituent(_) => Ok(self.children()?.len()),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        if let Place::Word(token) = self.at {
            return PyList::new(py, [&*self.entry().sentence.token(token).form])?.try_iter();
        }
        PyList::new(py, self.children()?.into_iter().map(|at| self.part(at)))?.try_iter()
    }

    /// A child, or with several numbers the part they lead to, as in NLTK.
    fn __getitem__<'py>(&self, py: Python<'py>, index: Index) -> PyResult<Bound<'py, PyAny>> {
        match index {
            Index::One(index) => self.child(py, index),
            Index::Path(path) => {
                let mut part = self.part(self.at).into_pyobject(py)?.into_any();
                for index in path {
                    part = part.get_item(index)?;
                }
                Ok(part)
            }
        }
    }

    /// This constituent and all below it, each before those below it; with `filter`, those for which it is true.
    #[pyo3(signature = (filter=None))]
    fn subtrees<'py>(
        &self,
        py: Python<'py>,
        filter: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.children()?;
        let list = PyList::empty(py);
        let mut open = vec![self.at];
        while let Some(at) = open.pop() {
            let part = self.part(at);
            let mut below = part.children()?;
            below.reverse();
            open.extend(below);
            let part = part.into_pyobject(py)?;
            if filter.map_or(Ok(true), |filter| filter.call1((&part,))?.is_truthy())? {
                list.append(part)?;
            }
        }
        Ok(list)
    }

    /// The number of levels: 2 for a tag above its word.
    fn height(&self) -> PyResult<usize> {
        let mut highest = 0;
        let mut open = vec![(self.at, 1)];
        while let Some((at, level)) = open.pop() {
            // A word counts as a level below its tag.
            highest = highest.max(level + usize::from(matches!(at, Place::Word(_))));
            open.extend(self.part(at).children()?.into_iter().map(|child| (child, level + 1)));
        }
        Ok(highest)
    }

    /// The tree as brackets or CoNLL-U, or in another treebank format.
    #[pyo3(signature = (format=None))]
    fn to_string(&self, format: Option<&str>) -> PyResult<String> {
        if let (Place::Word(token), None) = (self.at, format) {
            let token = self.entry().sentence.token(token);
            return Ok(format!("({} {})\n", token.tag, token.form));
        }
        written(std::slice::from_ref(&self.own_entry()?), format)
    }

    /// A drawing as SVG, or with characters (`text`).
    #[pyo3(signature = (format="svg", width=100))]
    fn draw(&self, format: &str, width: usize) -> PyResult<String> {
        match format {
            "svg" => self._repr_svg_(),
            "text" => {
                let options = TerminalOptions { width, ..TerminalOptions::default() };
                draw::terminal(&self.layout()?, &options).map_err(exception)
            }
            _ => Err(wrong(format!("drawings are \"svg\" or \"text\", not {format:?}"))),
        }
    }

    /// Prints the drawing with characters.
    #[pyo3(signature = (width=100))]
    fn pretty_print(&self, py: Python<'_>, width: usize) -> PyResult<()> {
        let drawing = self.draw("text", width)?;
        py.import("builtins")?.getattr("print")?.call1((drawing,)).map(drop)
    }

    fn _repr_svg_(&self) -> PyResult<String> {
        draw::svg(&self.layout()?).map_err(exception)
    }

    fn __eq__(&self, other: &Tree) -> PyResult<bool> {
        if self.at == Place::Dependencies || other.at == Place::Dependencies {
            return Ok(self.at == other.at && self.entry().tree == other.entry().tree);
        }
        Ok(self.to_string(Some("discbracket"))? == other.to_string(Some("discbracket"))?)
    }

    fn __str__(&self) -> PyResult<String> {
        Ok(self.to_string(None)?.trim_end().to_owned())
    }

    fn __repr__(&self) -> PyResult<String> {
        match self.at {
            Place::Dependencies => {
                Ok(format!("<treewright.Tree: dependencies of {} words>", self.__len__()?))
            }
            _ => Ok(format!("<treewright.Tree: {}>", self.__str__()?)),
        }
    }
}

/// What stands in the brackets after a tree.
#[derive(FromPyObject)]
enum Index {
    One(isize),
    Path(Vec<isize>),
}

/// An index as Python counts: from the end if it is negative.
fn place_of(index: isize, len: usize) -> PyResult<usize> {
    let at = if index < 0 { index + len as isize } else { index };
    usize::try_from(at).ok().filter(|&at| at < len).ok_or_else(|| PyIndexError::new_err("index out of range"))
}

fn words(sentence: &treewright::Sentence) -> Vec<&str> {
    sentence.surface().map(|(form, ..)| form).collect()
}

/// The format of that name.
pub fn format_named(name: &str) -> PyResult<Format> {
    name.parse().map_err(|_| wrong(format!("there is no format {name:?}; there are {}", Format::names())))
}

/// The format that suits the trees of a few entries.
pub fn format_for(entries: &[Entry]) -> Format {
    let is_discontinuous = |tree: &treewright::Tree| match tree {
        treewright::Tree::Constituent(tree) => tree.is_discontinuous(),
        treewright::Tree::Dependency(_) => false,
    };
    match entries.iter().find_map(|entry| entry.tree.as_ref()) {
        Some(treewright::Tree::Constituent(_)) => {
            if entries.iter().filter_map(|entry| entry.tree.as_ref()).any(is_discontinuous) {
                Format::Discbracket
            } else {
                Format::Ptb
            }
        }
        _ => Format::Conllu,
    }
}

/// Entries in a format, or in the one that suits them.
pub fn written(entries: &[Entry], format: Option<&str>) -> PyResult<String> {
    let format = format.map_or_else(|| Ok(format_for(entries)), format_named)?;
    treebank::to_string(entries, format).map_err(exception)
}
