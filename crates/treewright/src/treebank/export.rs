//! NeGra export, versions 3 and 4: a line per word and per constituent, each with the number of its parent.
//!
//! ```text
//! #FORMAT 4
//! #BOS 1 editor date origin %% comment
//! word  lemma  tag    morph  edge  parent  [secondary-edge  secondary-parent]...  [%% comment]
//! #500  lemma  label  morph  edge  parent  ...
//! #EOS 1
//! ```
//! Version 3 has no lemma column. Columns are separated by tabs or spaces; `--` is an empty column, except for the
//! word itself. Without a `#FORMAT` line the number of columns tells the version: odd is 3, even is 4.
//!
//! - **Root.** Parent 0 is a virtual root. It becomes a node labelled [`ReadOptions::root_label`] (`TOP`), and such a
//!   root is left out on writing. Any other root is written as a node under 0, and the `#BOS` line ends in a comment
//!   `%% root=LABEL` that says so, which the reader understands and removes. (`%% root=`, with nothing after it,
//!   says that the virtual root is meant, and is written only when a comment would otherwise be misunderstood.)
//! - **Kept:** what follows the number in the `#BOS` line (as a comment `#BOS ...`), comment lines before or in a
//!   sentence (`%% ...`; a comment that starts with `#` is written as `%% #...`), comments after a word (in `misc`).
//! - **Left out:** tables (`#BOT` to `#EOT`), the lemma and morph columns of constituents, and in version 3 lemmas.
//! - **Refused** on writing: white space in a column, an empty word, a column that is `--`, a word that looks like
//!   the number of a constituent (`#500` and above) or like another line of this format.

mod write;

use rustc_hash::FxHashMap;

use super::lines::{At, Lines, column, is_blank};
use super::{Entry, ReadOptions, Source};
use crate::error::{Code, Error, Result};
use crate::ids::{NodeId, TokenIdx};
use crate::sentence::{Sentence, Str, Token};
use crate::tree::{Child, TreeBuilder, TreeError};

pub(super) use write::ExportLayout;

/// The number of the first constituent.
const FIRST_NODE: usize = 500;
const ROOT_LABEL: &str = "TOP";
/// Marks the comment after `#BOS` in which the label of the root stands.
const ROOT_MARK: &str = "root=";
/// What separates columns. Other white space, such as a no-break space, may stand in words.
const SPACES: [char; 3] = [' ', '\t', '\r'];

/// A reference to a parent: its number, and where it was written.
#[derive(Clone, Copy)]
struct ParentRef {
    number: usize,
    at: At,
}

/// One sentence as its lines give it.
#[derive(Default)]
struct Lined {
    sentence: Sentence,
    parents: Vec<ParentRef>,
    edges: Vec<Str>,
    nodes: Vec<NodeLine>,
    secondary: Vec<(Child, Str, ParentRef)>,
}

struct NodeLine {
    number: usize,
    label: Str,
    edge: Str,
    parent: ParentRef,
    at: At,
}

/// Reads export.
pub(super) struct ExportReader<'a> {
    lines: Lines<Source<'a>>,
    root_label: Str,
    no_parse: bool,
    /// The version that a `#FORMAT` line gave.
    version: Option<u32>,
    /// Comment lines before a sentence.
    comments: Vec<Str>,
    n_sentences: usize,
    /// The lines up to the next `#BOS` belong to something already reported.
    is_damaged: bool,
    /// The comments up to the next `#BOS` belong to a sentence that was too large.
    drops_comments: bool,
}

impl<'a> ExportReader<'a> {
    pub(super) fn new(source: Source<'a>, options: &ReadOptions) -> Self {
        ExportReader {
            lines: Lines::new(source, options.limit),
            root_label: options.root_label.clone().unwrap_or_else(|| Str::from(ROOT_LABEL)),
            no_parse: options.no_parse,
            version: None,
            comments: Vec::new(),
            n_sentences: 0,
            is_damaged: false,
            drops_comments: false,
        }
    }

    fn next_entry(&mut self) -> Result<Option<Entry>> {
        self.lines.start_sentence();
        let Some(header) = self.find_start()? else { return Ok(None) };
        self.n_sentences += 1;
        let start = self.lines.number();
        // After an error, the lines up to the sentence's last have to be skipped.
        self.is_damaged = true;
        let mut version = self.version;
        let mut lined = Lined::default();
        lined.sentence.id = words(&header).next().unwrap_or("").into();
        lined.sentence.comments = std::mem::take(&mut self.comments);
        loop {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next_line() else {
                let message = "the file ends inside the sentence; expected #EOS";
                return Err(Error::at(Code::Truncated, start, 1, message));
            };
            let line = line?;
            if let Some(id) = keyword(line, "#EOS") {
                let id = id.trim_matches(SPACES);
                if id != lined.sentence.id {
                    let message =
                        format!("#EOS {id} ends sentence {}; expected the same number", lined.sentence.id);
                    self.is_damaged = false;
                    return Err(Error::at(Code::BadId, number, 6, message));
                }
                break;
            }
            if keyword(line, "#BOS").is_some() {
                self.lines.unread();
                let message = "a sentence starts inside another; expected #EOS";
                return Err(Error::at(Code::Truncated, number, 1, message));
            }
            if line.starts_with("%%") {
                lined.sentence.comments.push(comment(line));
            } else if !is_blank(line.as_bytes()) {
                lined.add(line, number, &mut version)?;
            }
        }
        self.is_damaged = false;
        let rest = header.trim_start_matches(SPACES)[lined.sentence.id.len()..].trim_matches(SPACES);
        lined.entry(rest, &self.root_label, self.no_parse, start).map(Some)
    }

    /// Finds the next `#BOS` line and gives what follows that word.
    fn find_start(&mut self) -> Result<Option<String>> {
        let mut table = None;
        loop {
            let number = self.lines.number() + 1;
            if self.comments.is_empty() {
                self.lines.start_sentence();
            }
            let Some(line) = self.lines.next_line() else { break };
            let line = match line {
                Ok(line) => line,
                Err(error) if self.drops_comments && error.code == Code::TooLarge => continue,
                // A damaged sentence has been reported once.
                Err(error) if self.is_damaged && matches!(error.code, Code::InvalidUtf8 | Code::NulByte) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(header) = keyword(line, "#BOS") {
                let header = header.to_owned();
                if table.is_some() {
                    self.lines.unread();
                    break;
                }
                self.is_damaged = false;
                self.drops_comments = false;
                return Ok(Some(header));
            }
            if table.is_some() {
                if keyword(line, "#EOT").is_some() {
                    table = None;
                }
            } else if keyword(line, "#BOT").is_some() {
                table = Some(number);
                self.is_damaged = false;
            } else if let Some(version) = keyword(line, "#FORMAT") {
                self.version = match version.trim_matches(SPACES) {
                    "3" => Some(3),
                    "4" => Some(4),
                    other => {
                        let message = format!("format version {other:?}; expected 3 or 4");
                        return Err(Error::at(Code::UnknownFormat, number, 9, message));
                    }
                };
                self.is_damaged = false;
            } else if line.starts_with("%%") {
                if !self.drops_comments {
                    self.comments.push(comment(line));
                }
            } else if !self.is_damaged && !is_blank(line.as_bytes()) {
                let shown: String = line.chars().take(20).collect();
                let message = format!("{shown:?} outside of any sentence; expected #BOS");
                self.is_damaged = true;
                return Err(
                    Error::at(Code::MisplacedLine, number, 1, message).in_sentence(self.n_sentences + 1)
                );
            }
        }
        match table {
            Some(line) => Err(Error::at(Code::Truncated, line, 1, "a table without end; expected #EOT")),
            None => Ok(None),
        }
    }
}

impl Iterator for ExportReader<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let result = self.next_entry().transpose()?;
        Some(result.map_err(|mut error| {
            if error.code == Code::TooLarge {
                self.is_damaged = true;
                self.drops_comments = true;
                self.comments.clear();
            }
            if error.location.sentence == 0 {
                error.location.sentence = self.n_sentences;
            }
            error
        }))
    }
}

/// What follows a keyword at the start of a line, if the line starts with it.
fn keyword<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    line.strip_prefix(keyword).filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The columns of a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(SPACES).filter(|word| !word.is_empty())
}

/// A comment line as sentences keep it.
fn comment(line: &str) -> Str {
    line.strip_prefix("%% #").map_or_else(|| Str::from(line), |rest| Str::from(format!("#{rest}")))
}

/// A column, in which `--` means nothing.
fn value(text: &str) -> Str {
    if text == "--" { Str::default() } else { Str::from(text) }
}

/// The number of a constituent, if the first column of a line is one.
fn node_number(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('#')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    // A number too great to be read is still a number, of a constituent that nothing else can name.
    let number = digits.parse().unwrap_or(usize::MAX);
    (number >= FIRST_NODE).then_some(number)
}

impl Lined {
    /// Adds the line of a word or constituent.
    fn add(&mut self, line: &str, number: usize, version: &mut Option<u32>) -> Result<()> {
        let place = |field: &str| At {
            line: number,
            column: column(line, field.as_ptr() as usize - line.as_ptr() as usize),
        };
        let fields: Vec<&str> = words(line).collect();
        // A comment can only follow the parent.
        let n_fields =
            fields.iter().skip(5).position(|field| field.starts_with("%%")).map_or(fields.len(), |n| n + 5);
        let version = *version.get_or_insert(if n_fields % 2 == 0 { 4 } else { 3 });
        let n_fixed = if version == 4 { 6 } else { 5 };
        if n_fields < n_fixed || !(n_fields - n_fixed).is_multiple_of(2) {
            let message = format!(
                "{n_fields} columns; expected {n_fixed} in version {version}, or two more for each secondary edge"
            );
            return Err(Error::at(Code::ColumnCount, number, 1, message));
        }
        let (columns, rest) = fields[..n_fields].split_at(n_fixed);
        let &[label, morph, edge, parent] = &columns[n_fixed - 4..] else {
            unreachable!("four of five or six")
        };
        let parent_ref = |text: &str| match text.parse() {
            Ok(number) => Ok(ParentRef { number, at: place(text) }),
            Err(_) => {
                let message = format!("the parent is {text:?}; expected a number");
                Err(place(text).error(Code::BadParent, message))
            }
        };
        let parent = parent_ref(parent)?;
        let node = node_number(columns[0]);
        let child = match node {
            Some(_) => Child::Node(NodeId::new(self.nodes.len())),
            None => Child::Token(TokenIdx::new(self.parents.len())),
        };
        for pair in rest.chunks_exact(2) {
            self.secondary.push((child, value(pair[0]), parent_ref(pair[1])?));
        }
        let remark = fields
            .get(n_fields)
            .map(|field| line[field.as_ptr() as usize - line.as_ptr() as usize..].trim_end_matches(SPACES));
        if let Some(number) = node {
            let at = place(columns[0]);
            self.nodes.push(NodeLine { number, label: value(label), edge: value(edge), parent, at });
            self.sentence.comments.extend(remark.map(comment));
            return Ok(());
        }
        if let Some(node) = self.nodes.first() {
            let message =
                format!("a word after the constituent on line {}; expected words first", node.at.line);
            return Err(Error::at(Code::MisplacedLine, number, 1, message));
        }
        let lemma = if version == 4 { value(columns[1]) } else { Str::default() };
        let misc = remark.map(Str::from).unwrap_or_default();
        let token = Token { lemma, feats: value(morph), misc, ..Token::new(columns[0], value(label)) };
        self.sentence.tokens.push(token);
        self.edges.push(value(edge));
        self.parents.push(parent);
        Ok(())
    }

    /// The tree, once all lines are there. `rest` is what follows the number in the `#BOS` line.
    fn entry(mut self, rest: &str, root_label: &Str, no_parse: bool, start: usize) -> Result<Entry> {
        let (rest, root) = self.own_root(rest);
        if !rest.is_empty() {
            self.sentence.comments.push(Str::from(format!("#BOS {rest}")));
        }
        if self.sentence.is_empty() {
            if no_parse && self.nodes.is_empty() {
                return Ok(Entry { sentence: self.sentence, tree: None });
            }
            return Err(Error::at(
                Code::EmptyConstituent,
                start,
                1,
                "a sentence without words; expected one",
            ));
        }
        let mut ids = FxHashMap::default();
        for (i, node) in self.nodes.iter().enumerate() {
            if ids.insert(node.number, NodeId::new(i)).is_some() {
                let message = format!("constituent #{} for the second time; expected each once", node.number);
                return Err(node.at.error(Code::DuplicateId, message));
            }
        }
        let mut builder = TreeBuilder::with_tokens(self.sentence.len());
        for node in &self.nodes {
            let id = builder.node(node.label.clone());
            builder.set_edge(id, node.edge.clone());
        }
        let top = root.unwrap_or_else(|| builder.node(root_label.clone()));
        let find = |parent: ParentRef| match parent.number {
            0 => Ok(top),
            number => ids.get(&number).copied().ok_or_else(|| {
                let message =
                    format!("the parent {number} is not in the sentence; expected 0 or a constituent of it");
                parent.at.error(Code::BadParent, message)
            }),
        };
        for (i, (&parent, edge)) in self.parents.iter().zip(&self.edges).enumerate() {
            builder.attach(Child::Token(TokenIdx::new(i)), find(parent)?);
            if !edge.is_empty() {
                builder.set_token_edge(TokenIdx::new(i), edge.clone());
            }
        }
        for (i, node) in self.nodes.iter().enumerate() {
            let id = NodeId::new(i);
            if root != Some(id) {
                builder.attach(Child::Node(id), find(node.parent)?);
            }
        }
        for (child, label, parent) in std::mem::take(&mut self.secondary) {
            builder.secondary(child, label, find(parent)?);
        }
        let tree = builder.finish().map_err(|error| self.bad_tree(&error, start))?;
        Ok(Entry { sentence: self.sentence, tree: Some(tree.into()) })
    }

    /// Takes the mark for the root off the comment in the `#BOS` line, and gives the constituent it means, if any.
    fn own_root<'a>(&self, rest: &'a str) -> (&'a str, Option<NodeId>) {
        let none = (rest, None);
        let Some(comment) = rest.find("%%") else { return none };
        let last = rest.rfind(SPACES).map_or(0, |space| space + 1);
        let Some(label) = rest[last.max(comment)..].strip_prefix(ROOT_MARK) else { return none };
        let before = rest[..last].trim_end_matches(SPACES);
        // The mark may be all there is to the comment.
        let before =
            if before[comment..] == *"%%" { before[..comment].trim_end_matches(SPACES) } else { before };
        if label.is_empty() {
            return (before, None);
        }
        let mut tops = self.nodes.iter().enumerate().filter(|(_, node)| node.parent.number == 0);
        let has_word = self.parents.iter().any(|parent| parent.number == 0);
        match (tops.next(), tops.next()) {
            (Some((i, node)), None) if !has_word && node.label == value(label) => {
                (before, Some(NodeId::new(i)))
            }
            _ => none,
        }
    }

    fn bad_tree(&self, error: &TreeError, start: usize) -> Error {
        let (TreeError::NoWords(i) | TreeError::Unrooted(i)) = *error else {
            return Error::at(Code::BadParent, start, 1, error.to_string());
        };
        // The virtual root has no line of its own; if it has no words, every constituent leads into a cycle.
        let Some(node) = self.nodes.get(i).or(self.nodes.first()) else {
            return Error::at(Code::BadParent, start, 1, error.to_string());
        };
        // Climbing from a constituent without words either reaches the root or goes round.
        let numbers: FxHashMap<usize, usize> =
            self.nodes.iter().map(|n| (n.number, n.parent.number)).collect();
        let mut number = node.number;
        for _ in 0..=self.nodes.len() {
            number = numbers.get(&number).copied().unwrap_or(0);
        }
        if number == 0 {
            let message = format!("constituent #{} has no words; expected at least one", node.number);
            return node.at.error(Code::EmptyConstituent, message);
        }
        let message = format!("constituent #{number} is its own ancestor; expected a tree");
        let at = self.nodes.iter().find(|node| node.number == number).map_or(node.at, |node| node.at);
        at.error(Code::Cycle, message)
    }
}

#[cfg(test)]
mod tests;
