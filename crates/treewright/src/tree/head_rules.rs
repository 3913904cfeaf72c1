//! Head rules: which child of a constituent is its head, from a table in a small text format.
//!
//! `docs/head-rules.md` describes the format for users. Built in are `collins` (English), `german`, `dutch`,
//! `leftmost` and `rightmost`; they are text files in the same format.

use rustc_hash::FxHashMap;

use crate::error::{Code, Error, Result};
use crate::ids::TokenIdx;
use crate::sentence::{Sentence, Str};
use crate::tree::functions::category;
use crate::tree::{Child, ConstituentTree};

/// The built-in rule sets: name, one line of help, text.
const BUILT_IN: &[(&str, &str, &str)] = &[
    ("collins", "English (Penn labels), after Collins (1999)", include_str!("head_rules/collins.rules")),
    ("german", "German (NEGRA and TIGER labels)", include_str!("head_rules/german.rules")),
    ("dutch", "Dutch (Alpino labels)", include_str!("head_rules/dutch.rules")),
    ("leftmost", "the first child", include_str!("head_rules/leftmost.rules")),
    ("rightmost", "the last child", include_str!("head_rules/rightmost.rules")),
];

/// Where a clause looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    LeftToRight,
    RightToLeft,
    /// At the first child only.
    First,
    /// At the last child only.
    Last,
}

/// What a clause looks for at one priority.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Any,
    OneOf(Vec<Str>),
}

/// One way of finding a head: the targets are tried in order, each along the whole search.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause {
    search: Search,
    targets: Vec<Target>,
}

/// A table of head rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadRules {
    rules: FxHashMap<Str, Vec<Clause>>,
    /// For categories without a line of their own (`*`).
    default: Vec<Clause>,
    ignored: Vec<Str>,
    conjunctions: Vec<Str>,
    head_edges: Vec<Str>,
    ignore_case: bool,
}

/// What head rules see of a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The label of a constituent, the tag of a word.
    pub label: &'a str,
    /// The label of the edge above it; may be empty.
    pub edge: &'a str,
}

impl HeadRules {
    /// The names of the built-in sets, with one line of help each.
    pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
        BUILT_IN.iter().map(|&(name, help, _)| (name, help))
    }

    /// The built-in set of that name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<Self> {
        let Some((_, _, text)) = BUILT_IN.iter().find(|(known, ..)| *known == name) else {
            let names: Vec<&str> = Self::built_in().map(|(name, _)| name).collect();
            let message =
                format!("no head rules are called \"{name}\", expected one of {}", names.join(", "));
            return Err(Error::new(Code::BadRules, message));
        };
        Self::parse(text)
    }

    /// The built-in table for a language that fits these labels and tags, each with its count, if one does: its lines
    /// must be there for nearly all constituents, and it must know most of the tags. (Labels alone tell little, since
    /// nearly every treebank has `NP` and `PP`.)
    pub fn fitting<'a>(
        labels: impl Iterator<Item = (&'a str, u64)>,
        tags: impl Iterator<Item = (&'a str, u64)>,
    ) -> Option<&'static str> {
        const MIN_LABELS: f64 = 0.75;
        const MIN_TAGS: f64 = 0.6;
        let (labels, tags): (Vec<_>, Vec<_>) = (labels.collect(), tags.collect());
        let share = |items: &[(&str, u64)], is_known: &dyn Fn(&str) -> bool| {
            let count = |known: bool| -> u64 {
                items.iter().filter(|(item, _)| !known || is_known(item)).map(|(_, count)| count).sum()
            };
            count(true) as f64 / count(false).max(1) as f64
        };
        let mut best: Option<(f64, &'static str)> = None;
        for &(name, _, text) in BUILT_IN {
            let table = Self::parse(text).expect("the built-in tables are read by a test");
            if table.rules.is_empty() {
                continue;
            }
            let with_rule = share(&labels, &|label| {
                let key = |label: &str| table.key(label.into());
                table.rules.contains_key(&key(label)) || table.rules.contains_key(&key(category(label)))
            });
            let with_tag = if tags.is_empty() { 1.0 } else { share(&tags, &|tag| table.mentions(tag)) };
            let fit = with_rule * with_tag;
            if with_rule >= MIN_LABELS
                && with_tag >= MIN_TAGS
                && best.is_none_or(|(highest, _)| fit > highest)
            {
                best = Some((fit, name));
            }
        }
        best.map(|(_, name)| name)
    }

    /// Is a label or tag named anywhere in the table?
    fn mentions(&self, label: &str) -> bool {
        let in_clause = |clause: &Clause| {
            let in_target =
                |target: &Target| matches!(target, Target::OneOf(labels) if self.is_in(labels, label));
            clause.targets.iter().any(in_target)
        };
        self.is_in(&self.ignored, label)
            || self.is_in(&self.conjunctions, label)
            || self.rules.values().chain([&self.default]).flatten().any(in_clause)
    }

    /// Reads rules in the text format.
    ///
    /// # Errors
    /// With line and column, when the text is not in the format.
    pub fn parse(text: &str) -> Result<Self> {
        let mut rules = HeadRules::default();
        for (number, line) in text.lines().enumerate() {
            rules.add_line(line, number + 1)?;
        }
        Ok(rules)
    }

    fn add_line(&mut self, line: &str, number: usize) -> Result<()> {
        let fail = |column: usize, message: String| Err(Error::at(Code::BadRules, number, column, message));
        let words = words(line);
        let Some((&(column, first), rest)) = words.split_first() else { return Ok(()) };
        if first.starts_with('#') {
            return Ok(());
        }
        if let Some(directive) = first.strip_prefix('%') {
            let labels = rest.iter().map(|(_, word)| self.key(unescape(word)));
            let labels: Vec<Str> = labels.collect();
            match directive {
                "ignore" => self.ignored.extend(labels),
                "coordination" => self.conjunctions.extend(labels),
                "head-edges" => self.head_edges.extend(labels),
                "ignore-case" if !self.is_empty() => {
                    return fail(column, "%ignore-case must come before every other line".to_owned());
                }
                "ignore-case" => match rest.first() {
                    Some((column, word)) => {
                        return fail(*column, format!("expected nothing, found \"{word}\""));
                    }
                    None => self.ignore_case = true,
                },
                _ => {
                    let expected = "expected %ignore, %coordination, %head-edges or %ignore-case";
                    return fail(column, format!("\"{first}\" is no directive, {expected}"));
                }
            }
            return Ok(());
        }
        let clauses = self.clauses(line, number, rest)?;
        if first == "*" {
            if !self.default.is_empty() {
                return fail(column, "the default rule * is given twice".to_owned());
            }
            self.default = clauses;
        } else if self.rules.insert(self.key(unescape(first)), clauses).is_some() {
            return fail(column, format!("the category {first} is given twice"));
        }
        Ok(())
    }

    fn clauses(&self, line: &str, number: usize, words: &[(usize, &str)]) -> Result<Vec<Clause>> {
        let end = line.chars().count() + 1;
        let fail = |column: usize, message: String| Err(Error::at(Code::BadRules, number, column, message));
        let mut clauses: Vec<Clause> = Vec::new();
        for part in words.split(|&(_, word)| word == ";") {
            let expected = "expected left-to-right, right-to-left, first or last";
            let Some((&(column, search), targets)) = part.split_first() else {
                return fail(end, expected.to_owned());
            };
            let search = match search {
                "left-to-right" => Search::LeftToRight,
                "right-to-left" => Search::RightToLeft,
                "first" => Search::First,
                "last" => Search::Last,
                _ => return fail(column, format!("{expected}, found \"{search}\"")),
            };
            let mut clause = Clause { search, targets: Vec::new() };
            // The set that is being read, and where it began.
            let mut set: Option<(usize, Vec<Str>)> = None;
            for &(column, word) in targets {
                match (word, &mut set) {
                    ("{", None) => set = Some((column, Vec::new())),
                    ("{", Some(_)) => return fail(column, "a set cannot stand inside a set".to_owned()),
                    ("}", None) => return fail(column, "} without {".to_owned()),
                    ("}", Some((_, labels))) if labels.is_empty() => {
                        return fail(column, "expected a label before }".to_owned());
                    }
                    ("}", Some((_, labels))) => {
                        clause.targets.push(Target::OneOf(std::mem::take(labels)));
                        set = None;
                    }
                    ("*", Some(_)) => return fail(column, "* cannot stand in a set".to_owned()),
                    ("*", None) => clause.targets.push(Target::Any),
                    (label, Some((_, labels))) => labels.push(self.key(unescape(label))),
                    (label, None) => clause.targets.push(Target::OneOf(vec![self.key(unescape(label))])),
                }
            }
            if let Some((column, _)) = set {
                return fail(column, "{ without }".to_owned());
            }
            if clause.targets.is_empty() {
                return fail(column, "expected at least one label or * in this clause".to_owned());
            }
            clauses.push(clause);
        }
        Ok(clauses)
    }

    fn is_empty(&self) -> bool {
        let lists = [&self.ignored, &self.conjunctions, &self.head_edges];
        self.rules.is_empty() && self.default.is_empty() && lists.iter().all(|list| list.is_empty())
    }

    /// A label as it is kept and compared.
    fn key(&self, label: Str) -> Str {
        if self.ignore_case { label.to_lowercase() } else { label }
    }

    fn same(&self, rule: &str, label: &str) -> bool {
        // Labels are ASCII in every treebank with built-in rules; others compare by their exact text.
        if self.ignore_case { rule.eq_ignore_ascii_case(label) } else { rule == label }
    }

    fn is_in(&self, list: &[Str], label: &str) -> bool {
        let short = category(label);
        list.iter().any(|rule| self.same(rule, short) || self.same(rule, label))
    }

    /// Which of the children of a constituent with this label is its head.
    ///
    /// # Panics
    /// When there are no children.
    pub fn head_child(&self, label: &str, children: &[Candidate<'_>]) -> usize {
        assert!(!children.is_empty(), "a constituent has children");
        if children.len() == 1 {
            return 0;
        }
        if !self.head_edges.is_empty()
            && let Some(marked) = children
                .iter()
                .position(|child| !child.edge.is_empty() && self.is_in(&self.head_edges, child.edge))
        {
            return marked;
        }
        let mut seen: Vec<usize> = Vec::with_capacity(children.len());
        seen.extend((0..children.len()).filter(|&i| !self.is_in(&self.ignored, children[i].label)));
        if seen.is_empty() {
            seen.extend(0..children.len());
        }
        let clauses = self
            .rules
            .get(&self.key(label.into()))
            .or_else(|| self.rules.get(&self.key(category(label).into())))
            .unwrap_or(&self.default);
        let find = |clause: &Clause, target: &Target| {
            let fits = |&position: &usize| match target {
                Target::Any => true,
                Target::OneOf(labels) => self.is_in(labels, children[seen[position]].label),
            };
            match clause.search {
                Search::LeftToRight => (0..seen.len()).find(fits),
                Search::RightToLeft => (0..seen.len()).rev().find(fits),
                Search::First => Some(0).filter(fits),
                Search::Last => Some(seen.len() - 1).filter(fits),
            }
        };
        let found = clauses
            .iter()
            .find_map(|clause| clause.targets.iter().find_map(|target| find(clause, target)))
            // A rule that finds nothing takes the child where its first clause begins to look.
            .unwrap_or_else(|| match clauses.first().map(|clause| clause.search) {
                Some(Search::RightToLeft | Search::Last) => seen.len() - 1,
                _ => 0,
            });
        let follows_conjunction =
            found >= 2 && self.is_in(&self.conjunctions, children[seen[found - 1]].label);
        seen[if follows_conjunction { found - 2 } else { found }]
    }

    /// The position of the head among the children of every constituent. Tags come from the sentence; a missing
    /// tag is an empty label.
    pub fn heads(&self, tree: &ConstituentTree, sentence: &Sentence) -> Vec<usize> {
        let mut candidates = Vec::new();
        tree.nodes()
            .map(|(id, node)| {
                candidates.clear();
                candidates.extend(tree.children(id).iter().map(|&child| match child {
                    Child::Token(token) => Candidate {
                        label: sentence.tokens.get(token.index()).map_or("", |token| token.tag.as_str()),
                        edge: tree.token_edge(token),
                    },
                    Child::Node(node) => {
                        let node = tree.node(node);
                        Candidate { label: &node.label, edge: &node.edge }
                    }
                }));
                self.head_child(&node.label, &candidates)
            })
            .collect()
    }

    /// The head word of every constituent.
    pub fn lexical_heads(&self, tree: &ConstituentTree, sentence: &Sentence) -> Vec<TokenIdx> {
        lexical_heads(tree, &self.heads(tree, sentence))
    }
}

/// The head word of every constituent, given the position of the head among its children.
pub fn lexical_heads(tree: &ConstituentTree, heads: &[usize]) -> Vec<TokenIdx> {
    let mut words: Vec<TokenIdx> = Vec::with_capacity(tree.n_nodes());
    for ((id, _), &head) in tree.nodes().zip(heads) {
        words.push(match tree.children(id)[head] {
            Child::Token(token) => token,
            Child::Node(node) => words[node.index()],
        });
    }
    words
}

/// The words of a line with their columns, from 1. `{`, `}` and `;` are words even without space around them,
/// unless a backslash stands before them.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start: Option<(usize, usize)> = None;
    let mut escaped = false;
    for (column, (at, c)) in line.char_indices().enumerate() {
        let is_sign = matches!(c, '{' | '}' | ';') && !escaped;
        if (c.is_whitespace() || is_sign)
            && let Some((column, from)) = start.take()
        {
            words.push((column, &line[from..at]));
        }
        if is_sign {
            words.push((column + 1, &line[at..at + 1]));
        } else if !c.is_whitespace() && start.is_none() {
            start = Some((column + 1, at));
        }
        escaped = c == '\\' && !escaped;
    }
    if let Some((column, from)) = start {
        words.push((column, &line[from..]));
    }
    words
}

/// A label without the backslashes that protect its characters.
fn unescape(word: &str) -> Str {
    let mut label = Str::default();
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        label.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    label
}

#[cfg(test)]
mod tests;
