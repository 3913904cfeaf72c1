//! The abstract layout: rows for constituents, levels for arcs, before anything has a width.
//!
//! Constituents. Words are columns. A constituent stands over one *block* of its yield, an unbroken run of its
//! words, and its label may not be wider than that block. Two constituents of which neither dominates the other
//! have disjoint yields, so neither their labels nor the vertical lines above them can ever meet; only horizontal
//! bars are crossed, and bars that overlap get different rows.
//!
//! Dependencies. Every arc gets a level above all the arcs inside it; arcs that cross get different levels too.

use std::collections::BTreeMap;

use crate::draw::{Direction, MAX_PARTS, Options, Orientation, Theme, is_rtl, too_large, visible};
use crate::error::{Code, Error, Result};
use crate::ids::TokenIdx;
use crate::sentence::Sentence;
use crate::tree::Entry;
use crate::tree::{Child, ConstituentTree, DependencyTree, Tree};

/// One sentence, laid out. The back ends give it a size.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(super) title: String,
    pub(super) words: Vec<Word>,
    /// Does any word show a tag?
    pub(super) has_tags: bool,
    pub(super) rtl: bool,
    pub(super) orientation: Orientation,
    pub(super) theme: Theme,
    pub(super) structure: Structure,
    /// Lines below the drawing: what a tree cannot show.
    pub(super) notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Word {
    pub form: String,
    /// `None` if it has none, or none is to be shown.
    pub tag: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Structure {
    Constituents(Constituents),
    Dependencies(Dependencies),
}

/// A constituent tree with rows. Nodes are in the tree's own order: children first, the root last.
#[derive(Clone, Debug)]
pub(super) struct Constituents {
    pub nodes: Vec<Placed>,
    pub token_parents: Vec<usize>,
    /// The edge label of every word; `None` where there is none.
    pub token_edges: Vec<Option<String>>,
    pub has_edges: bool,
    pub n_rows: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub label: String,
    pub edge: Option<String>,
    pub parent: Option<usize>,
    pub children: Vec<Child>,
    pub first_word: usize,
    pub is_discontinuous: bool,
    /// From the top, 0 is the root's.
    pub row: usize,
    /// The words, first and last, over which the label stands.
    pub block: (usize, usize),
    /// The label is centred between these two children (often the same one).
    pub between: (Child, Child),
}

/// Arcs with levels.
#[derive(Clone, Debug)]
pub(super) struct Dependencies {
    /// The arc into each word; `None` where the sentence has no tree.
    pub arcs: Vec<Option<PlacedArc>>,
    pub n_levels: usize,
}

#[derive(Clone, Debug)]
pub(super) struct PlacedArc {
    /// `None` is the root.
    pub head: Option<usize>,
    pub label: Option<String>,
    pub is_nonprojective: bool,
    /// From the words outwards, from 1; 0 for a root.
    pub level: usize,
    /// The same when the words stand below one another: there an arc into a word also runs outside all the arcs
    /// out of that word, because they all meet on one line.
    pub down_level: usize,
}

impl Layout {
    /// Lays out one sentence and its tree; without a tree, the words alone.
    ///
    /// # Errors
    /// When it has more than [`MAX_PARTS`] words and constituents, or when the tree does not fit the words.
    pub fn of(entry: &Entry, options: &Options) -> Result<Layout> {
        let sentence = &entry.sentence;
        let n = sentence.len();
        let n_nodes = match &entry.tree {
            Some(Tree::Constituent(tree)) => tree.n_nodes(),
            _ => 0,
        };
        if n + n_nodes > MAX_PARTS {
            return Err(too_large(format!(
                "the sentence has {} words and constituents, and a drawing holds at most {MAX_PARTS}",
                n + n_nodes
            )));
        }
        let mut notes = Vec::new();
        let structure = match &entry.tree {
            Some(Tree::Constituent(tree)) => {
                check_length(n, tree.n_tokens())?;
                notes = secondary_notes(tree, sentence);
                Structure::Constituents(Constituents::of(tree))
            }
            Some(Tree::Dependency(tree)) => {
                check_length(n, tree.len())?;
                Structure::Dependencies(Dependencies::of(tree)?)
            }
            None => Structure::Dependencies(Dependencies { arcs: vec![None; n], n_levels: 0 }),
        };
        let words: Vec<Word> = sentence
            .tokens
            .iter()
            .map(|token| Word {
                form: visible(&token.form),
                tag: (options.tags && !token.tag.is_empty()).then(|| visible(&token.tag)),
            })
            .collect();
        let rtl = match options.direction {
            Direction::LeftToRight => false,
            Direction::RightToLeft => true,
            Direction::Auto => {
                let letters =
                    || words.iter().flat_map(|word| word.form.chars()).filter(|c| c.is_alphabetic());
                2 * letters().filter(|&c| is_rtl(c)).count() > letters().count()
            }
        };
        let has_tags = words.iter().any(|word| word.tag.is_some());
        let (orientation, theme) = (options.orientation, options.theme);
        let title = title(sentence);
        Ok(Layout { title, words, has_tags, rtl, orientation, theme, structure, notes })
    }

    /// The same drawing under another title; [`Layout::of`] takes the sentence's name and, of one of several parses, its
    /// rank and probability.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        let title = title.into();
        // An empty one is none; `visible` would show that something is empty.
        self.title = if title.is_empty() { title } else { visible(&title) };
        self
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The words, separated by spaces.
    pub fn text(&self) -> String {
        self.words.iter().map(|word| word.form.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Does the first word stand at the right?
    pub fn is_right_to_left(&self) -> bool {
        self.rtl
    }
}

/// The sentence's name, and what a parser says about this parse if it is one of several: `s1 · parse 2, probability 0.244`.
fn title(sentence: &Sentence) -> String {
    let value = |name: &str| {
        sentence.comments.iter().rev().find_map(|comment| {
            comment.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(" = ").map(str::to_owned)
        })
    };
    let mut parts = Vec::new();
    if !sentence.id.is_empty() {
        parts.push(visible(&sentence.id));
    }
    if let Some(rank) = value("parse") {
        let mut about = format!("parse {}", visible(&rank));
        // The share among the parses that search has kept is no probability.
        for (comment, name) in [("probability", "probability"), ("share_of_kept", "share of kept parses")] {
            if let Some(share) = value(comment).and_then(|value| value.parse::<f64>().ok()) {
                about.push_str(&format!(", {name} {share:.3}"));
            }
        }
        parts.push(about);
    }
    parts.join(" · ")
}

fn check_length(n_words: usize, n_leaves: usize) -> Result<()> {
    if n_words == n_leaves {
        return Ok(());
    }
    let message = format!("the sentence has {n_words} words but its tree {n_leaves}");
    Err(Error::new(Code::Mismatch, message))
}

/// Second parents, one line each: a drawing with them would no longer be a drawing of a tree.
fn secondary_notes(tree: &ConstituentTree, sentence: &Sentence) -> Vec<String> {
    let name = |child: Child| match child {
        Child::Token(token) => visible(&sentence.token(token).form),
        Child::Node(node) => {
            let span = tree.node(node).span();
            format!("{} ({}-{})", visible(&tree.node(node).label), span.start + 1, span.end)
        }
    };
    let note = |edge: &crate::tree::SecondaryEdge| {
        let label =
            if edge.label.is_empty() { String::new() } else { format!(" as {}", visible(&edge.label)) };
        format!("{} is also under {}{label}", name(edge.child), name(Child::Node(edge.parent)))
    };
    tree.secondary_edges().iter().map(note).collect()
}

fn some_visible(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| visible(text))
}

impl Constituents {
    fn of(tree: &ConstituentTree) -> Self {
        let parents = tree.parents();
        let mut nodes: Vec<Placed> = Vec::with_capacity(tree.n_nodes());
        for (id, node) in tree.nodes() {
            let children = tree.children(id).to_vec();
            let block_of = |child: Child| match child {
                Child::Token(token) => (token.index(), token.index()),
                Child::Node(node) => nodes[node.index()].block,
            };
            let blocks = if node.is_discontinuous() {
                blocks_of(&tree.tokens_under(id))
            } else {
                vec![(node.span().start, node.span().end - 1)]
            };
            let (block, between) = stand(&blocks, &children, block_of);
            nodes.push(Placed {
                label: visible(&node.label),
                edge: some_visible(&node.edge),
                parent: parents[id.index()].map(|parent| parent.index()),
                first_word: node.leftmost().index(),
                is_discontinuous: node.is_discontinuous(),
                row: 0,
                children,
                block,
                between,
            });
        }
        let n_rows = assign_rows(&mut nodes);
        let token_edges =
            (0..tree.n_tokens()).map(|i| some_visible(tree.token_edge(TokenIdx::new(i)))).collect();
        let token_parents = tree.token_parents().into_iter().map(|parent| parent.index()).collect();
        Constituents { nodes, token_parents, token_edges, has_edges: tree.has_edges(), n_rows }
    }
}

/// The unbroken runs of ascending words, as first and last word.
fn blocks_of(tokens: &[TokenIdx]) -> Vec<(usize, usize)> {
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    for token in tokens {
        match blocks.last_mut() {
            Some((_, last)) if *last + 1 == token.index() => *last += 1,
            _ => blocks.push((token.index(), token.index())),
        }
    }
    blocks
}

/// Where a constituent stands: over the longest block that has children in it (ties go to the first), midway between the
/// outer two of those.
fn stand(
    blocks: &[(usize, usize)],
    children: &[Child],
    block_of: impl Fn(Child) -> (usize, usize),
) -> ((usize, usize), (Child, Child)) {
    let mut found: BTreeMap<usize, (Child, Child)> = BTreeMap::new();
    for &child in children {
        let start = block_of(child).0;
        let block = blocks.partition_point(|&(first, _)| first <= start) - 1;
        let (left, right) = found.entry(block).or_insert((child, child));
        if start < block_of(*left).0 {
            *left = child;
        }
        if start > block_of(*right).0 {
            *right = child;
        }
    }
    let length = |block: usize| blocks[block].1 - blocks[block].0;
    let best =
        found.keys().copied().rev().max_by_key(|&block| length(block)).expect("a constituent has children");
    (blocks[best], found[&best])
}

/// Rows from the top: each node in the first row below its parent where its bar meets no other bar. Sisters stand
/// side by side unless bars cross. Gives the number of rows.
fn assign_rows(nodes: &mut [Placed]) -> usize {
    let mut depth = vec![0usize; nodes.len()];
    for i in (0..nodes.len()).rev() {
        depth[i] = nodes[i].parent.map_or(0, |parent| depth[parent] + 1);
    }
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|&i| (depth[i], nodes[i].first_word));
    // The bars of each row: first column to last column, disjoint.
    let mut rows: Vec<BTreeMap<usize, usize>> = Vec::new();
    for i in order {
        let (mut first, mut last) = nodes[i].block;
        for &child in &nodes[i].children {
            let block = match child {
                Child::Token(token) => (token.index(), token.index()),
                Child::Node(node) => nodes[node.index()].block,
            };
            first = first.min(block.0);
            last = last.max(block.1);
        }
        let mut row = nodes[i].parent.map_or(0, |parent| nodes[parent].row + 1);
        let is_free = |bars: &BTreeMap<usize, usize>| {
            bars.range(..=last).next_back().is_none_or(|(_, &end)| end < first)
        };
        while rows.get(row).is_some_and(|bars| !is_free(bars)) {
            row += 1;
        }
        if rows.len() <= row {
            rows.resize(row + 1, BTreeMap::new());
        }
        rows[row].insert(first, last);
        nodes[i].row = row;
    }
    rows.len()
}

impl Dependencies {
    fn of(tree: &DependencyTree) -> Result<Self> {
        let n = tree.len();
        for (i, arc) in tree.arcs.iter().enumerate() {
            if let Some(head) = arc.head.filter(|head| head.index() >= n) {
                let message = format!("the head of word {} is {}, of {n} words", i + 1, head.index() + 1);
                return Err(Error::new(Code::BadHead, message));
            }
        }
        if let Some(token) = tree.find_cycle() {
            let message = format!("word {} is its own ancestor", token.index() + 1);
            return Err(Error::new(Code::Cycle, message));
        }
        let heads: Vec<Option<usize>> = tree.arcs.iter().map(|arc| arc.head.map(TokenIdx::index)).collect();
        let length = |dependent: usize| heads[dependent].map_or(0, |head| head.abs_diff(dependent));
        let mut by_length: Vec<usize> = (0..n).collect();
        by_length.sort_by_key(|&dependent| (length(dependent), dependent));
        let levels = stack_arcs(&heads, &by_length, false);
        let down_levels = stack_arcs(&heads, &dependents_first(&heads), true);
        let arcs = tree.arcs.iter().zip(tree.nonprojective_arcs()).enumerate().map(
            |(i, (arc, is_nonprojective))| {
                Some(PlacedArc {
                    head: heads[i],
                    label: some_visible(&arc.label),
                    is_nonprojective,
                    level: levels[i],
                    down_level: down_levels[i],
                })
            },
        );
        Ok(Dependencies { arcs: arcs.collect(), n_levels: levels.iter().copied().max().unwrap_or(0) })
    }
}

/// Puts arcs on top of one another in the given order; `outside` also puts an arc into a word above every arc out
/// of it. Gives the level of every arc.
fn stack_arcs(heads: &[Option<usize>], order: &[usize], outside: bool) -> Vec<usize> {
    let mut skyline = vec![0usize; heads.len()];
    let mut highest_out = vec![0usize; heads.len()];
    let mut levels = vec![0; heads.len()];
    for &dependent in order {
        let Some(head) = heads[dependent] else { continue };
        let between = head.min(dependent)..head.max(dependent);
        let mut level = skyline[between.clone()].iter().copied().max().unwrap_or(0) + 1;
        if outside {
            level = level.max(highest_out[dependent] + 1);
        }
        skyline[between].fill(level);
        highest_out[head] = highest_out[head].max(level);
        levels[dependent] = level;
    }
    levels
}

/// The words so that dependents come before their heads, and near dependents before far ones.
fn dependents_first(heads: &[Option<usize>]) -> Vec<usize> {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); heads.len()];
    let mut order = Vec::with_capacity(heads.len());
    let mut todo = Vec::new();
    for (dependent, head) in heads.iter().enumerate() {
        match head {
            Some(head) => dependents[*head].push(dependent),
            None => todo.push(dependent),
        }
    }
    // A word goes after all its dependents: walk heads first and far before near, then turn the order around.
    while let Some(word) = todo.pop() {
        order.push(word);
        dependents[word].sort_by_key(|dependent| dependent.abs_diff(word));
        todo.append(&mut dependents[word]);
    }
    order.reverse();
    order
}
