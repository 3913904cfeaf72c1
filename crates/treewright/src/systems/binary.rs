//! What the systems over binary, head-lexicalised trees share: the table of symbols, the order in which a tree is
//! built, and the way back from a forest to a tree.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind};
use crate::ids::{CellId, LabelId, NodeId, TokenIdx};
use crate::sentence::Str;
use crate::system::ActionSet;
use crate::system::actions::{Actions, Kinds};
use crate::system::configuration::Configuration;
use crate::tree::{
    BinaryKind, BinaryNode, BinaryTree, BinaryTreeBuilder, Child, Side, Underivable, temporary_label,
};

/// A symbol of a binary tree: a label, or a temporary with its Markov history.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Symbol {
    label: Str,
    history: Str,
}

/// The symbols of a system. Ids come in four groups, each in alphabetic order, so that a set of symbols that an
/// action may use is one range: labels seen only at roots, at roots and inside, only inside, and temporaries.
///
/// The *axioms* are the labels seen at roots. In the papers an axiom never stands inside a tree; in treebanks it may,
/// so a label can be both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbols {
    symbols: Vec<Symbol>,
    n_root_only: usize,
    n_roots: usize,
    n_labels: usize,
}

/// A kind of binary reduction, and whether it is possible: the item that is not the head must not be a temporary.
pub(super) type Reduction<A> = (fn(LabelId) -> A, bool);

/// Gathers the symbols of a treebank.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolSets {
    roots: BTreeSet<Str>,
    inner: BTreeSet<Str>,
    temporaries: BTreeSet<(Str, Str)>,
}

impl SymbolSets {
    /// The symbols of these trees, which are shown to `see` one by one.
    pub(crate) fn of<'a>(
        trees: impl Iterator<Item = &'a BinaryTree>,
        mut see: impl FnMut(&'a BinaryTree),
    ) -> Symbols {
        let mut sets = SymbolSets::default();
        for tree in trees {
            sets.add(tree);
            see(tree);
        }
        sets.finish()
    }

    /// Adds the symbols of one tree.
    fn add(&mut self, tree: &BinaryTree) {
        for (id, node) in tree.nodes() {
            if id == tree.root() {
                self.roots.insert(node.label.clone());
            } else if node.is_temporary {
                self.temporaries.insert((node.label.clone(), node.history.clone()));
            } else if !self.inner.contains(&node.label) {
                self.inner.insert(node.label.clone());
            }
        }
    }

    /// The table.
    fn finish(&self) -> Symbols {
        let label = |label: &Str| Symbol { label: label.clone(), history: Str::default() };
        let mut symbols: Vec<Symbol> = self.roots.difference(&self.inner).map(label).collect();
        let n_root_only = symbols.len();
        symbols.extend(self.roots.intersection(&self.inner).map(label));
        let n_roots = symbols.len();
        symbols.extend(self.inner.difference(&self.roots).map(label));
        let n_labels = symbols.len();
        let temporary =
            |(label, history): &(Str, Str)| Symbol { label: label.clone(), history: history.clone() };
        symbols.extend(self.temporaries.iter().map(temporary));
        Symbols { symbols, n_root_only, n_roots, n_labels }
    }
}

impl Symbols {
    /// A table of labels that may stand inside a tree, temporaries written `X:` or `X:<NP,ADV>`, and labels that
    /// may stand at the root.
    pub fn new<'a>(
        inner: impl IntoIterator<Item = &'a str>,
        temporaries: impl IntoIterator<Item = &'a str>,
        roots: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let temporary = |name: &str| match (name.find(":<"), name.strip_suffix('>')) {
            (Some(at), Some(open)) => (Str::from(&name[..at]), Str::from(&open[at + 2..])),
            _ => (Str::from(name.strip_suffix(':').unwrap_or(name)), Str::default()),
        };
        SymbolSets {
            roots: roots.into_iter().map(Str::from).collect(),
            inner: inner.into_iter().map(Str::from).collect(),
            temporaries: temporaries.into_iter().map(temporary).collect(),
        }
        .finish()
    }

    /// Checks a table from a file.
    pub(crate) fn check(&self) -> Result<(), String> {
        let bounds = [0, self.n_root_only, self.n_roots, self.n_labels, self.symbols.len()];
        if !bounds.is_sorted() {
            return Err("the groups of symbols do not follow one another".to_owned());
        }
        if self.n_roots == 0 {
            return Err("no label may stand at the root".to_owned());
        }
        if !bounds.windows(2).all(|group| self.symbols[group[0]..group[1]].is_sorted_by(|a, b| a < b)) {
            return Err("the symbols are not in order".to_owned());
        }
        let labels = &self.symbols[..self.n_labels];
        let distinct: BTreeSet<&Str> = labels.iter().map(|symbol| &symbol.label).collect();
        if distinct.len() < labels.len() || labels.iter().any(|symbol| !symbol.history.is_empty()) {
            return Err("a label is in the table twice, or has a history".to_owned());
        }
        Ok(())
    }

    /// The number of symbols.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The axioms: labels that may stand at the root.
    pub fn roots(&self) -> Range<usize> {
        0..self.n_roots
    }

    /// Labels that may stand inside a tree.
    pub fn inner(&self) -> Range<usize> {
        self.n_root_only..self.n_labels
    }

    /// All labels, temporaries left out.
    pub fn labels(&self) -> Range<usize> {
        0..self.n_labels
    }

    /// The temporaries.
    pub fn temporaries(&self) -> Range<usize> {
        self.n_labels..self.symbols.len()
    }

    /// What a node with this symbol is.
    #[inline]
    pub fn kind(&self, symbol: LabelId) -> Kind {
        if symbol.index() < self.n_labels { Kind::Constituent } else { Kind::Temporary }
    }

    /// The symbol as people write it: `S`, `S:`, `S:<NP>`.
    pub fn name(&self, symbol: LabelId) -> Str {
        let Symbol { label, history } = &self.symbols[symbol.index()];
        temporary_label(label, self.kind(symbol) == Kind::Temporary, history)
    }

    fn position(&self, range: Range<usize>, label: &str, history: &str) -> Option<LabelId> {
        let start = range.start;
        let wanted = (label, history);
        let found =
            self.symbols[range].binary_search_by(|s| (s.label.as_str(), s.history.as_str()).cmp(&wanted));
        found.ok().map(|i| LabelId::new(start + i))
    }

    /// The id of a label that is not a temporary.
    pub fn label(&self, label: &str) -> Option<LabelId> {
        self.position(0..self.n_root_only, label, "")
            .or_else(|| self.position(self.n_root_only..self.n_roots, label, ""))
            .or_else(|| self.position(self.n_roots..self.n_labels, label, ""))
    }

    /// The id of a label at the root or inside a tree.
    ///
    /// # Errors
    /// When the label was never seen at such a place.
    pub(crate) fn label_at(&self, label: &str, is_root: bool) -> Result<LabelId, Underivable> {
        let (may_stand, place) =
            if is_root { (self.roots(), "root labels") } else { (self.inner(), "labels inside a tree") };
        let found = self.label(label).filter(|label| may_stand.contains(&label.index()));
        found.ok_or_else(|| Underivable(format!("{label} is not among the system's {place}")))
    }

    /// The id of a node's symbol at its place in the tree.
    ///
    /// # Errors
    /// When the symbol is not in the table, or was never seen at such a place.
    pub(crate) fn of(&self, tree: &BinaryTree, id: NodeId) -> Result<LabelId, Underivable> {
        let (node, is_root) = (tree.node(id), id == tree.root());
        if !node.is_temporary {
            return self.label_at(&node.label, is_root);
        }
        let symbol = node.symbol();
        if is_root {
            return Err(Underivable(format!("the root {symbol} is a temporary")));
        }
        let found = self.position(self.temporaries(), &node.label, &node.history);
        found.ok_or_else(|| Underivable(format!("{symbol} is not among the system's symbols")))
    }

    /// The labels that may stand right above a word.
    #[inline]
    pub(crate) fn above_words(&self, forest: &Forest) -> Range<usize> {
        if forest.n_tokens() == 1 { self.roots() } else { self.inner() }
    }

    /// Allows binary reductions to these labels, and to temporaries if something can take them up again.
    ///
    /// If no label was seen inside trees, nothing may be left that is legal; then labels of roots are allowed instead.
    #[inline]
    pub(super) fn allow_reductions<A: Kinds>(
        &self,
        actions: &Actions<A>,
        kinds: [Reduction<A>; 2],
        labels: &[Range<usize>],
        may_be_temporary: bool,
        out: &mut ActionSet,
    ) {
        let free = || kinds.iter().filter(|(_, is_free)| *is_free).map(|&(kind, _)| kind);
        for kind in free() {
            labels.iter().for_each(|labels| actions.allow(kind, labels.clone(), out));
            if may_be_temporary {
                actions.allow(kind, self.temporaries(), out);
            }
        }
        if out.is_empty() {
            free().for_each(|kind| actions.allow(kind, self.roots(), out));
        }
    }

    /// The tree below a finished constituent of the forest.
    ///
    /// # Panics
    /// When `root` is none, or does not dominate every word.
    pub(crate) fn tree(&self, forest: &Forest, root: Option<NodeId>) -> BinaryTree {
        let root = root.expect("a final state has a tree");
        let mut builder = BinaryTreeBuilder::with_tokens(forest.n_tokens());
        // Nodes in pre-order; built backwards, children come before their parents.
        let mut order = Vec::new();
        let mut todo = vec![root];
        while let Some(id) = todo.pop() {
            order.push(id);
            todo.extend(forest.children(id));
        }
        // Backwards, a whole subtree is built before the next one is begun, so the built ones form a stack; last
        // children were met before first ones, so a second child lies above its sister.
        let mut built: Vec<Child> = Vec::new();
        for id in order.into_iter().rev() {
            let node = forest.node(id);
            let Some(symbol) = node.label else {
                built.push(Child::Token(node.head));
                continue;
            };
            let Symbol { label, history } = &self.symbols[symbol.index()];
            let new = match *forest.children(id) {
                [_] => builder.unary(label.clone(), built.pop().expect("the child was built")),
                [first, _] => {
                    let second_built = built.pop().expect("the second child was built");
                    let first_built = built.pop().expect("the first child was built");
                    let head = if forest.node(first).head == node.head { Side::Left } else { Side::Right };
                    let is_temporary = node.kind == Kind::Temporary;
                    let new = builder.binary(label.clone(), is_temporary, first_built, second_built, head);
                    if !history.is_empty() {
                        builder.set_history(new, history.clone());
                    }
                    new
                }
                _ => unreachable!("binary systems make nodes with one or two children"),
            };
            built.push(Child::Node(new));
        }
        builder.finish().expect("a finished parse is a tree over all words")
    }
}

/// Is a node a word or a constituent, not a temporary?
#[inline]
pub(crate) fn is_solid(forest: &Forest, node: NodeId) -> bool {
    forest.node(node).kind != Kind::Temporary
}

/// What the systems over binary trees do. The topmost item is kept apart from the stack, as d0, which templates see in
/// all of them; the items that GAP has passed over lie between.
impl<O> Configuration<O> {
    /// Is nothing left but d0, and d0 a constituent? Without words there is no d0.
    pub(super) fn is_built(&self, forest: &Forest) -> bool {
        let d0_is_built = self.d0.is_none_or(|d0| forest.node(d0).kind == Kind::Constituent);
        !self.words_left(forest) && self.stack.is_none() && d0_is_built
    }

    /// Puts d0 on the stack, and the first word of the buffer in its place.
    #[inline]
    pub(super) fn shift_to_d0(&mut self, forest: &mut Forest) {
        if let Some(d0) = self.d0 {
            self.push(forest, d0);
        }
        self.d0 = Some(self.take(forest));
    }

    /// Puts a label over d0.
    #[inline]
    pub(super) fn reduce_unary(&mut self, forest: &mut Forest, label: LabelId) {
        let d0 = self.d0.expect("a unary reduction needs an item");
        let head = forest.node(d0).head;
        self.d0 = Some(forest.push_constituent(Kind::Constituent, label, head, &[d0]));
    }

    /// Joins s0 and d0 under a symbol. The head is s0's or, on the right, d0's; what lay between goes back to the stack.
    #[inline]
    pub(super) fn reduce(&mut self, forest: &mut Forest, symbols: &Symbols, symbol: LabelId, side: Side) {
        let s0 = self.pop(forest);
        let d0 = self.d0.expect("a binary reduction needs two items");
        let head = forest.node(if side == Side::Left { s0 } else { d0 }).head;
        self.d0 = Some(forest.push_constituent(symbols.kind(symbol), symbol, head, &[s0, d0]));
        if self.n_deque > 0 {
            let passed: Vec<NodeId> = forest.chain(self.deque).take(self.n_deque as usize).collect();
            passed.iter().rev().for_each(|&node| self.push(forest, node));
            (self.deque, self.n_deque) = (None, 0);
        }
    }

    /// Passes over s0: it goes to the bottom of D, without a new cell.
    #[inline]
    pub(super) fn gap(&mut self, forest: &Forest) {
        self.deque = self.whole_stack();
        self.pop(forest);
        self.n_deque += 1;
    }

    /// The stack with what was passed over on top of it.
    #[inline]
    pub(super) fn whole_stack(&self) -> Option<CellId> {
        if self.n_deque > 0 { self.deque } else { self.stack }
    }
}

/// The two items that a reduction without gaps would join, and what may be made of them.
pub(super) struct Joinable {
    /// Is d0 not a temporary?
    pub solid_d0: bool,
    /// Is s0 not a temporary?
    pub solid_s0: bool,
    /// Would the new item cover the whole sentence?
    pub makes_whole: bool,
    /// Could something take up a temporary again?
    pub may_be_temporary: bool,
}

impl Joinable {
    /// Of a configuration with two items.
    #[inline]
    pub(super) fn of<O>(forest: &Forest, state: &Configuration<O>) -> Option<Self> {
        let (d0, rest) = (state.d0?, forest.cell(state.stack?));
        let words_left = state.words_left(forest);
        let below = rest.below.map(|below| forest.cell(below).node);
        Some(Joinable {
            solid_d0: is_solid(forest, d0),
            solid_s0: is_solid(forest, rest.node),
            makes_whole: !words_left && below.is_none(),
            may_be_temporary: words_left || below.is_some_and(|below| is_solid(forest, below)),
        })
    }
}

/// Refuses trees that no continuous system can build: with gaps, or with temporaries that are not heads.
pub(crate) fn continuous(tree: &BinaryTree) -> Result<(), Underivable> {
    for (_, node) in tree.nodes() {
        heads_are_temporary_first(tree, node)?;
        if node.is_discontinuous() {
            let (label, span) = (node.symbol(), node.span());
            let (first, last) = (span.start + 1, span.end);
            return Err(Underivable(format!("{label} (from word {first} to word {last}) is discontinuous")));
        }
    }
    Ok(())
}

/// One move of a traversal that builds a tree bottom-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Read the next word.
    Shift,
    /// Put a node over the newest item.
    Unary(NodeId),
    /// Put a node over the newest item and the item that lies `skipped` items below the one next to it.
    Binary {
        /// The node.
        node: NodeId,
        /// How many items lie between.
        skipped: u32,
        /// Where the head is; the newest item is on the right.
        head: Side,
    },
}

/// The order in which SR-GAP builds a tree (section 2.3 of Coavoux and Crabbé 2017): every node as soon as its last
/// word has been read. Linear in the number of moves and skipped items.
///
/// # Errors
/// When a node has one child that is not a word, or a temporary is not the head of its parent.
pub(crate) fn gap_moves(tree: &BinaryTree) -> Result<Vec<Move>, Underivable> {
    unaries_are_above_words(tree)?;
    let (parents, token_parents) = (tree.parents(), tree.token_parents());
    let mut moves = Vec::with_capacity(3 * tree.n_tokens());
    let mut stack: Vec<Child> = Vec::new();
    for i in 0..tree.n_tokens() {
        let mut newest = Child::Token(TokenIdx::new(i));
        moves.push(Move::Shift);
        loop {
            let parent = match newest {
                Child::Token(token) => Some(token_parents[token.index()]),
                Child::Node(node) => parents[node.index()],
            };
            let Some(parent) = parent else { break };
            match tree.by_rightmost(parent) {
                None => moves.push(Move::Unary(parent)),
                Some((other, second, head)) if second == newest => {
                    let at =
                        stack.iter().rposition(|&item| item == other).expect("its last word was read before");
                    moves.push(Move::Binary { node: parent, skipped: (stack.len() - 1 - at) as u32, head });
                    stack.remove(at);
                }
                Some(_) => break,
            }
            newest = Child::Node(parent);
        }
        stack.push(newest);
    }
    Ok(moves)
}

/// Refuses trees that no system with Table 7's conditions can build, and unaries above anything but words.
pub(crate) fn unaries_are_above_words(tree: &BinaryTree) -> Result<(), Underivable> {
    for (_, node) in tree.nodes() {
        heads_are_temporary_first(tree, node)?;
        if let BinaryKind::Unary(Child::Node(child)) = node.kind {
            let below = &tree.node(child).label;
            return Err(Underivable(format!(
                "{} has the one child {below}, which is not a word",
                node.label
            )));
        }
    }
    Ok(())
}

/// Refuses nodes that no system with Table 7's conditions can build: temporaries that are not heads, and unary ones.
fn heads_are_temporary_first(tree: &BinaryTree, node: &BinaryNode) -> Result<(), Underivable> {
    let is_temporary = |child| matches!(child, Child::Node(id) if tree.node(id).is_temporary);
    let wrong = match node.kind {
        BinaryKind::Unary(child) => node.is_temporary || is_temporary(child),
        BinaryKind::Binary { left, right, head } => {
            is_temporary(if head == Side::Left { right } else { left })
        }
    };
    if wrong {
        return Err(Underivable(format!(
            "a temporary beside or above {} is not the head of its parent",
            node.symbol()
        )));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod samples;
