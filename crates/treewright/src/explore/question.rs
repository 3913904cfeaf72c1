//! A question to an oracle, as text: a gold tree and the actions taken so far; and its answer.

use crate::forest::Forest;
use crate::registry::{OracleKind, Registered, SystemTag, SystemVisitor};
use crate::sentence::{Sentence, Token};
use crate::system::{ActionSet, SystemOptions, TransitionSystem};
use crate::systems::binary::Symbols;
use crate::systems::table::configuration;
use crate::systems::{Labels, in_order, sr_gap, top_down};
use crate::tree::{
    Arc, ConstituentTree, DependencyTree, Entry, ParserTree, Preparation, Preparer, Tree, TreeKind,
};
use crate::treebank::{self, Format, ReadOptions};

/// How the system is made, and which of its oracles is asked.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The transition system.
    pub system: SystemTag,
    /// The kind of oracle.
    pub oracle: OracleKind,
    /// The temporary symbols of sr-gap.
    pub temporaries: Temporaries,
    /// The limit of unary chains (in-order) or openings in a row (top-down), if there is one.
    pub max_unary: Option<u32>,
    /// Is X in `(X word)` a constituent above a word, or a tag? By default the tree tells: a constituent if some word
    /// stands without brackets of its own, if X is among the labels or opened by the actions, or if the words are
    /// just w0, w1, and so on.
    pub bare_words: Option<bool>,
}

/// The temporary symbols of a system over binary trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Temporaries {
    /// `X:` alone, or for the static oracle one for each label.
    #[default]
    Usual,
    /// This one alone, as it is written in the names of actions.
    One(String),
    /// No temporary symbol, as in a system for a treebank where every constituent has at most two parts.
    None,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Constituents: a bracketing, or a discbracket for discontinuous systems.
    pub gold: String,
    /// Dependencies: the heads, from 1; 0 or n + 1 is the root.
    pub heads: Vec<usize>,
    /// The names of the actions taken so far.
    pub prefix: Vec<String>,
    /// Constituents: labels beside those of the tree. Dependencies: the relations of the words.
    pub labels: Vec<String>,
    /// Dependencies: must exactly one word hang from the root?
    pub single_root: bool,
}

/// What the oracle says.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The loss of the configuration, where the oracle defines one.
    pub loss: Option<u32>,
    /// Is the parse finished?
    pub is_finished: bool,
    /// Every legal action, with the loss after it.
    pub actions: Vec<(String, Option<u32>)>,
    /// The optimal ones.
    pub optimal: Vec<String>,
    /// Stack, deque and buffer, each with its name.
    pub configuration: Vec<(&'static str, String)>,
}

impl Question {
    /// Makes the system, follows the prefix, and asks the oracle.
    ///
    /// # Errors
    /// When the tree cannot be read or derived, or an action is unknown or illegal, as a sentence for people.
    pub fn answer(&self, setup: &Setup) -> Result<Answer, String> {
        let kind = setup.oracle;
        match setup.system {
            SystemTag::TopDown => {
                let (entry, tree, labels) = constituents(setup, self, Format::Ptb)?;
                let system = top_down::TopDown::with_labels(labels, setup.max_unary);
                ask(&system, kind, &entry.sentence, &tree, &self.prefix)
            }
            SystemTag::InOrder => {
                let (entry, tree, labels) = constituents(setup, self, Format::Ptb)?;
                let system = in_order::InOrder::with_labels(labels, setup.max_unary);
                ask(&system, kind, &entry.sentence, &tree, &self.prefix)
            }
            SystemTag::SrGap => {
                let (entry, tree, labels) = constituents(setup, self, Format::Discbracket)?;
                let gold = prepared::<sr_gap::SrGap>(&entry.sentence, &tree.into())?;
                // Labels of unary chains are joined, so they are taken from the prepared tree.
                let root = gold.node(gold.root()).label.clone();
                let mut inner: Vec<&str> = Vec::new();
                for (id, node) in gold.nodes() {
                    if id != gold.root() && !node.is_temporary {
                        inner.push(&node.label);
                    }
                }
                // An axiom stands inside trees only if gold has it there.
                inner.extend(self.labels.iter().map(String::as_str).filter(|label| *label != root.as_str()));
                let temporaries: Vec<String> = match &setup.temporaries {
                    Temporaries::One(symbol) => vec![symbol.clone()],
                    Temporaries::None => Vec::new(),
                    // One symbol is enough to build any tree; only the gold derivation itself names its own.
                    Temporaries::Usual if kind != OracleKind::Static => vec!["X:".to_owned()],
                    Temporaries::Usual => labels.iter().map(|label| format!("{label}:")).collect(),
                };
                let temporaries = temporaries.iter().map(String::as_str);
                let system = sr_gap::SrGap::new(Symbols::new(inner, temporaries, [root.as_str()]));
                ask(&system, kind, &entry.sentence, &gold, &self.prefix)
            }
            tag => match tag.info().kind {
                TreeKind::Dependencies => {
                    let gold = dependencies(self)?;
                    let sentence = Sentence {
                        tokens: (1..=gold.len()).map(|i| Token::new(format!("w{i}"), "")).collect(),
                        ..Sentence::default()
                    };
                    let shown = every_relation_everywhere(&gold);
                    let options = SystemOptions { single_root: self.single_root };
                    tag.visit(FromTrees {
                        kind,
                        query: self,
                        sentence: &sentence,
                        gold: &gold.into(),
                        shown,
                        options,
                    })
                }
                TreeKind::Constituents => {
                    let (entry, tree, _) = constituents(setup, self, tag.info().format())?;
                    let (shown, options) = (vec![tree.clone().into()], SystemOptions::default());
                    let sentence = &entry.sentence;
                    tag.visit(FromTrees { kind, query: self, sentence, gold: &tree.into(), shown, options })
                }
            },
        }
    }
}

/// Systems whose tables come from trees, of whatever kind they build.
struct FromTrees<'a> {
    kind: OracleKind,
    query: &'a Question,
    sentence: &'a Sentence,
    gold: &'a Tree,
    /// Where the labels and limits come from.
    shown: Vec<Tree>,
    options: SystemOptions,
}

impl SystemVisitor for FromTrees<'_> {
    type Output = Result<Answer, String>;

    fn visit<S: Registered>(self) -> Self::Output {
        let shown = self.shown.iter().map(|tree| prepared::<S>(self.sentence, tree));
        let system = S::from_trees(shown.collect::<Result<Vec<_>, _>>()?.iter(), &self.options);
        let gold = prepared::<S>(self.sentence, self.gold)?;
        ask(&system, self.kind, self.sentence, &gold, &self.query.prefix)
    }
}

fn prepared<S: TransitionSystem>(sentence: &Sentence, tree: &Tree) -> Result<S::Tree, String> {
    // The loss does not depend on heads; any rules will do.
    let preparation = Preparation { head_rules: "leftmost".to_owned(), ..Preparation::default() };
    let preparer = Preparer::new(&preparation, S::UNARIES).map_err(|error| error.to_string())?;
    S::Tree::prepare(tree, sentence, &preparer).map_err(|why| why.to_string())
}

/// Trees that show each relation of a tree on an arc to the left, from the root and to the right.
fn every_relation_everywhere(gold: &DependencyTree) -> Vec<Tree> {
    let tree = |arc: &Arc| {
        let mut tree = DependencyTree::from_heads([Some(1), None, Some(1)]);
        tree.arcs.iter_mut().for_each(|shown| shown.label.clone_from(&arc.label));
        Tree::from(tree)
    };
    gold.arcs.iter().map(tree).collect()
}

/// Reads a bracketing; the labels are those of the tree in the order of the text, then the query's.
fn constituents(
    setup: &Setup,
    query: &Question,
    format: Format,
) -> Result<(Entry, ConstituentTree, Labels), String> {
    let text = query.gold.trim();
    if text.is_empty() {
        return Err("\"gold\" is missing: this system needs a bracketing".to_owned());
    }
    let by_tree = || has_constituents_above_words(text, query, format);
    let bare_words = setup.bare_words.unwrap_or_else(by_tree);
    let options = ReadOptions { bare_words, ..ReadOptions::default() };
    let mut reader = treebank::reader(format, text.as_bytes(), &options);
    let entry = reader.next().ok_or("\"gold\" holds no tree")?.map_err(|error| format!("gold:{error}"))?;
    if reader.next().is_some() {
        return Err("\"gold\" holds more than one tree".to_owned());
    }
    let Some(Tree::Constituent(tree)) = entry.tree.clone() else {
        return Err("\"gold\" holds no constituent tree".to_owned());
    };
    let mut labels = Labels::default();
    labels.add_tree(&tree);
    for label in &query.labels {
        labels.add(label);
    }
    Ok((entry, tree, labels))
}

/// Is X in `(X word)` a constituent?
fn has_constituents_above_words(text: &str, query: &Question, format: Format) -> bool {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['(', ')']) {
        parts.extend(rest[..at].split_whitespace());
        parts.push(&rest[at..=at]);
        rest = &rest[at + 1..];
    }
    parts.extend(rest.split_whitespace());
    let is_text = |part: Option<&&str>| part.is_some_and(|part| *part != "(" && *part != ")");
    let (mut n_words, mut is_numbered, mut is_named) = (0, true, false);
    for (i, part) in parts.iter().enumerate() {
        let is_label = i > 0 && parts[i - 1] == "(";
        if !is_text(Some(part)) || is_label {
            continue;
        }
        let is_alone = i >= 2 && parts[i - 2] == "(" && parts.get(i + 1) == Some(&")");
        if !is_alone {
            return true;
        }
        let label = parts[i - 1];
        let opens = |action: &String| action.split_once('-').is_some_and(|(_, opened)| opened == label);
        is_named |= query.labels.iter().any(|known| known == label) || query.prefix.iter().any(opens);
        let word =
            if format == Format::Discbracket { part.split_once('=').map_or(*part, |(_, w)| w) } else { part };
        let number = if format == Format::Discbracket { part.split('=').next().unwrap_or("") } else { "" };
        let expected = if number.is_empty() { n_words.to_string() } else { number.to_owned() };
        is_numbered &= word.strip_prefix('w') == Some(expected.as_str());
        n_words += 1;
    }
    is_numbered || is_named
}

/// Reads heads and relations.
fn dependencies(query: &Question) -> Result<DependencyTree, String> {
    let n = query.heads.len();
    if n == 0 {
        return Err("\"heads\" is missing: this system needs the head of every word, from 1".to_owned());
    }
    let mut heads = Vec::with_capacity(n);
    for (i, &head) in query.heads.iter().enumerate() {
        heads.push(match head {
            _ if head == i + 1 => return Err(format!("word {head} is its own head")),
            0 => None,
            _ if head <= n => Some(head - 1),
            _ if head == n + 1 => None,
            _ => return Err(format!("head {head} of word {} is outside 1..{}", i + 1, n + 1)),
        });
    }
    let mut gold = DependencyTree::from_heads(heads);
    if let Some(token) = gold.find_cycle() {
        return Err(format!("word {} is its own ancestor", token.index() + 1));
    }
    let n_roots = gold.roots().count();
    if query.single_root && n_roots != 1 {
        return Err(format!("{n_roots} words hang from the root; a single root is required"));
    }
    if !query.labels.is_empty() {
        if query.labels.len() != n {
            return Err(format!("{} labels for {n} words", query.labels.len()));
        }
        gold.arcs.iter_mut().zip(&query.labels).for_each(|(arc, label)| arc.label = label.into());
    }
    Ok(gold)
}

/// When an action is legal, as a reason why it is not.
fn legality(system: SystemTag, action: &str) -> &'static str {
    let kind = action.split('-').next().unwrap_or(action);
    match (system, kind) {
        (SystemTag::TopDown, "SH") => "SH needs a word in the buffer and an open non-terminal",
        (SystemTag::TopDown, "NT") => "NT needs a word in the buffer (and room below the limit on openings)",
        (SystemTag::TopDown, "RE") => {
            "RE needs a word or constituent on top, and two open non-terminals or an empty buffer"
        }
        (SystemTag::InOrder, "SH") => {
            "SH needs a word in the buffer, and an open non-terminal or an empty stack"
        }
        (SystemTag::InOrder, "NT") => {
            "NT needs a word or constituent on top (and room below the limit on unary chains)"
        }
        (SystemTag::InOrder, "RE") => "RE needs an open non-terminal",
        (SystemTag::InOrder, "FI") => "FI needs one constituent on the stack and an empty buffer",
        (_, "SH") => "SH needs a word in the buffer, and no GAP directly before it",
        (_, "GAP") => "GAP needs two items in S, one of which could be reduced with d0",
        (_, "RU") => "RU needs SH directly before it, and a label that may stand there",
        (_, "RR" | "RL") => {
            "a reduction needs an item in S and one in D that are not both temporary, and a symbol that may stand there"
        }
        (SystemTag::ArcEager, "SHIFT") => "SHIFT needs a word in the buffer that may still be a root",
        (_, "SHIFT") => "SHIFT needs a word in the buffer",
        (_, "SWAP") => "SWAP needs a stack item that precedes the front of the buffer, which is not the root",
        (SystemTag::ArcEager, "LEFT") => "LEFT needs a stack item without a head",
        (SystemTag::ArcEager, "RIGHT") => "RIGHT needs a stack item and a word in the buffer",
        (_, "LEFT") => {
            "LEFT needs a stack item (the only one, if the root is in front and may have one dependent)"
        }
        (_, "RIGHT") => "RIGHT needs two stack items",
        (_, "REDUCE") => "REDUCE needs a stack item that has a head",
        _ => "its conditions do not hold",
    }
}

/// Follows the prefix and asks the oracle.
fn ask<S: Registered>(
    system: &S,
    kind: OracleKind,
    sentence: &Sentence,
    gold: &S::Tree,
    prefix: &[String],
) -> Result<Answer, String> {
    let mut oracle =
        kind.for_gold(system, gold).map_err(|why| format!("the gold tree cannot be derived: {why}"))?;
    let mut forest = Forest::new();
    let mut state = system.start(&mut forest, sentence);
    let mut legal = ActionSet::new(system.n_actions());
    let list = |actions: &ActionSet| actions.iter().map(|a| system.name(a)).collect::<Vec<_>>().join(" ");
    for (i, name) in prefix.iter().enumerate() {
        let place = i + 1;
        if system.is_final(&forest, &state) {
            return Err(format!("action {place}, {name}, is illegal: the parse is finished before it"));
        }
        system.legal(&forest, &state, &mut legal);
        let all = legal.clone();
        oracle.restrict(system, &forest, &state, &mut legal);
        let Some(action) = system.action(name) else {
            return Err(format!("action {place}, {name}, is unknown; legal here: {}", list(&legal)));
        };
        if !legal.contains(action) {
            let why = if all.contains(action) {
                "training does not allow it here, because SWAP is taken when it is needed and only then"
            } else {
                legality(S::TAG, name)
            };
            let legal = list(&legal);
            return Err(format!("action {place}, {name}, is illegal: {why}; legal here: {legal}"));
        }
        oracle.advance(system, &forest, &state, action);
        state = system.apply(&mut forest, &state, action);
    }
    let shown = configuration(system, &forest, &state, sentence);
    let mut answer = Answer {
        loss: oracle.loss(system, &forest, &state),
        is_finished: system.is_final(&forest, &state),
        actions: Vec::new(),
        optimal: Vec::new(),
        configuration: vec![("Stack", shown.stack)],
    };
    answer.configuration.extend(shown.deque.map(|deque| ("Deque", deque)));
    answer.configuration.push(("Buffer", shown.buffer));
    if !answer.is_finished {
        system.legal(&forest, &state, &mut legal);
        oracle.restrict(system, &forest, &state, &mut legal);
        let mut optimal = ActionSet::new(system.n_actions());
        oracle.optimal(system, &mut forest, &state, &legal, &mut optimal);
        for action in legal.iter() {
            answer
                .actions
                .push((system.name(action), oracle.loss_after(system, &mut forest, &state, action)));
        }
        answer.optimal = optimal.iter().map(|action| system.name(action)).collect();
    }
    Ok(answer)
}
