//! SR-SWAP: discontinuous constituents by putting words back on the buffer (Maier 2015, "Discontinuous incremental
//! shift-reduce parsing"; compared in section 3.5 and appendix A.1 of Coavoux and Crabbé 2017).
//!
//! SWAP puts the second item of the stack back on the buffer, if it is a word that stands before the top in the
//! sentence. SR-CSWAP ([`crate::systems::sr_cswap`]) is the same with runs of swaps as one action each, so both are
//! one type. In the view, `deque_top` (d0) is the top of the stack and `stack` (s0, s1, ...) the rest of it, so that
//! templates written for SR-GAP mean the same two items of a reduction here; `buffer` holds the words put back.
//!
//! The derivation of a tree takes its words in the order of a traversal that visits the child with the first word
//! first: it shifts up to the next word in that order and swaps back what came between. A node is built only when
//! all words before it in that order are below it, because constituents cannot be swapped.
//!
//! Our conditions: the bottom item is never put back (the first word comes first in that order), so there are at
//! most (n - 1)(n - 2) / 2 swaps. Axioms and temporaries as in table 7 of the second paper: the last reduction makes
//! an axiom; of two items that are reduced the head alone may be a temporary; a temporary made when no word is left
//! needs an item below that is not one.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::binary::{SymbolSets, Symbols, heads_are_temporary_first, is_solid};
use crate::tree::Underivable;
use crate::tree::{BinaryKind, BinaryTree, Child, Side, Unaries};

/// SR-SWAP, one word at a time.
pub type SrSwap = Swap<false>;

/// The transition system, with runs of swaps as one action or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap<const COMPOUND: bool> {
    symbols: Symbols,
    /// The longest run of swaps that is one action: 1, or that of the treebank if compound.
    max_run: u32,
}

/// The actions, in the order of their ids: SH, IDLE, SWAP (or SWAP-1 ..), RU by label, RR by symbol, RL by symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// **Legal** while words are left. **Effect** pushes the next word.
    Shift,
    /// **Legal** in a final configuration, to pad a derivation. **Effect** none.
    Idle,
    /// **Legal** when the i items below the top are words that stand before all words of the top in the sentence,
    /// and there is an item below them; if compound, not after another swap.
    /// **Effect** puts the i words back on the buffer.
    Swap(u32),
    /// **Legal** when the top is a word. X is an axiom if the sentence has one word, else a label seen inside trees.
    /// **Effect** puts X over it.
    Unary(LabelId),
    /// **Legal** when there are two items and the lower one is not a temporary. X is an axiom if no word is left and
    /// there are no other items; elsewhere a label seen inside trees, or a temporary, if words are left or the item
    /// below the two is not one. **Effect** replaces the two by X, whose head is the top's.
    Right(LabelId),
    /// **Legal** as RR, but the top must not be a temporary. **Effect** as RR, but the head is the lower one's.
    Left(LabelId),
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    top: Option<NodeId>,
    rest: Option<CellId>,
    /// Words that were put back.
    buffer: Option<CellId>,
    next: TokenIdx,
    after_swap: bool,
    past: Option<StepId>,
}

const SHIFT: usize = 0;
const IDLE: usize = 1;
const SWAP: usize = 2;

impl<const COMPOUND: bool> Swap<COMPOUND> {
    /// A system for labels that may stand inside trees, temporaries written `X:`, axioms (labels of roots), and the
    /// longest run of swaps, which only the compound system has.
    pub fn with_labels<'a>(
        labels: impl IntoIterator<Item = &'a str>,
        temporaries: impl IntoIterator<Item = &'a str>,
        axioms: impl IntoIterator<Item = &'a str>,
        max_run: u32,
    ) -> Self {
        let max_run = if COMPOUND { max_run } else { 1 };
        Swap { symbols: Symbols::new(labels, temporaries, axioms), max_run }
    }

    /// The labels and temporaries.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn first_unary(&self) -> usize {
        SWAP + self.max_run as usize
    }

    fn first_right(&self) -> usize {
        self.first_unary() + self.symbols.labels().len()
    }

    fn first_left(&self) -> usize {
        self.first_right() + self.symbols.len()
    }

    /// The action of this id.
    #[inline]
    pub fn action_of(&self, action: ActionId) -> Action {
        let (id, unary) = (action.index(), self.first_unary());
        let (right, left) = (self.first_right(), self.first_left());
        match id {
            SHIFT => Action::Shift,
            IDLE => Action::Idle,
            _ if id < unary => Action::Swap((id - SWAP) as u32 + 1),
            _ if id < right => Action::Unary(LabelId::new(id - unary)),
            _ if id < left => Action::Right(LabelId::new(id - right)),
            _ => Action::Left(LabelId::new(id - left)),
        }
    }

    /// The id of an action.
    pub fn id_of(&self, action: Action) -> ActionId {
        ActionId::new(match action {
            Action::Shift => SHIFT,
            Action::Idle => IDLE,
            Action::Swap(run) => SWAP + run as usize - 1,
            Action::Unary(label) => self.first_unary() + label.index(),
            Action::Right(label) => self.first_right() + label.index(),
            Action::Left(label) => self.first_left() + label.index(),
        })
    }

    fn words_left(forest: &Forest, state: &State) -> bool {
        state.buffer.is_some() || state.next.index() < forest.n_tokens()
    }
}

impl<const COMPOUND: bool> TransitionSystem for Swap<COMPOUND> {
    type Tree = BinaryTree;
    type State = State;
    const UNARIES: Unaries = Unaries::AboveWords;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut sets = SymbolSets::default();
        let mut max_run = u32::from(!COMPOUND);
        for tree in trees {
            sets.add(tree);
            if COMPOUND {
                for step in swap_moves(tree).unwrap_or_default() {
                    if let Move::Swap(run) = step {
                        max_run = max_run.max(run);
                    }
                }
            }
        }
        Swap { symbols: sets.finish(), max_run }
    }

    fn n_actions(&self) -> usize {
        self.first_left() + self.symbols.len()
    }

    fn label(&self, label: LabelId) -> String {
        self.symbols.name(label).to_string()
    }

    fn name(&self, action: ActionId) -> String {
        match self.action_of(action) {
            Action::Shift => "SH".to_owned(),
            Action::Idle => "IDLE".to_owned(),
            Action::Swap(run) if COMPOUND => format!("SWAP-{run}"),
            Action::Swap(_) => "SWAP".to_owned(),
            Action::Unary(label) => format!("RU-{}", self.symbols.name(label)),
            Action::Right(label) => format!("RR-{}", self.symbols.name(label)),
            Action::Left(label) => format!("RL-{}", self.symbols.name(label)),
        }
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        forest.start(sentence.tokens.len(), false);
        let next = TokenIdx::new(0);
        State { top: None, rest: None, buffer: None, next, after_swap: false, past: None }
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        let is_built = state.top.is_none_or(|top| forest.node(top).kind == Kind::Constituent);
        state.rest.is_none() && is_built && !Self::words_left(forest, state)
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        if self.is_final(forest, state) {
            out.insert(ActionId::new(IDLE));
            return;
        }
        let words_left = Self::words_left(forest, state);
        if words_left {
            out.insert(ActionId::new(SHIFT));
        }
        let Some(top) = state.top else { return };
        if forest.node(top).kind == Kind::Word {
            let labels = if forest.n_tokens() == 1 { self.symbols.roots() } else { self.symbols.inner() };
            out.insert_range(self.first_unary() + labels.start, self.first_unary() + labels.end);
        }
        let Some(rest) = state.rest.map(|rest| *forest.cell(rest)) else { return };
        if !(COMPOUND && state.after_swap) {
            let mut at = rest;
            for run in 0..self.max_run as usize {
                let node = forest.node(at.node);
                let may_go = node.kind == Kind::Word && node.head < forest.node(top).left;
                let Some(below) = at.below.filter(|_| may_go) else { break };
                out.insert(ActionId::new(SWAP + run));
                at = *forest.cell(below);
            }
        }
        let (solid_top, solid_s0) = (is_solid(forest, top), is_solid(forest, rest.node));
        let mut reductions = |labels: Range<usize>| {
            if solid_s0 {
                out.insert_range(self.first_right() + labels.start, self.first_right() + labels.end);
            }
            if solid_top {
                out.insert_range(self.first_left() + labels.start, self.first_left() + labels.end);
            }
        };
        let is_last = !words_left && rest.below.is_none();
        reductions(if is_last { self.symbols.roots() } else { self.symbols.inner() });
        if words_left || rest.below.is_some_and(|below| is_solid(forest, forest.cell(below).node)) {
            reductions(self.symbols.temporaries());
        }
        if out.is_empty() {
            // No label was seen inside trees: axioms stand in for them where nothing else is legal.
            for (first, is_free) in [(self.first_right(), solid_s0), (self.first_left(), solid_top)] {
                if is_free {
                    out.insert_range(first, first + self.symbols.roots().end);
                }
            }
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        let state = State { past, after_swap: false, ..*state };
        let (label, side) = match self.action_of(action) {
            Action::Shift => {
                let rest = match state.top {
                    Some(top) => Some(forest.push_cell(top, state.rest)),
                    None => state.rest,
                };
                let (word, buffer, next) = match state.buffer.map(|cell| *forest.cell(cell)) {
                    Some(front) => (front.node, front.below, state.next),
                    None => (forest.leaf(state.next), None, TokenIdx::new(state.next.index() + 1)),
                };
                return State { top: Some(word), rest, buffer, next, ..state };
            }
            Action::Idle => return state,
            Action::Swap(run) => {
                let (mut rest, mut buffer) = (state.rest, state.buffer);
                for _ in 0..run {
                    let cell = *forest.cell(rest.expect("SWAP needs an item below the top"));
                    buffer = Some(forest.push_cell(cell.node, buffer));
                    rest = cell.below;
                }
                return State { rest, buffer, after_swap: true, ..state };
            }
            Action::Unary(label) => {
                let top = state.top.expect("RU needs an item");
                let head = forest.node(top).head;
                let top = forest.push_constituent(Kind::Constituent, label, head, &[top]);
                return State { top: Some(top), ..state };
            }
            Action::Right(label) => (label, Side::Right),
            Action::Left(label) => (label, Side::Left),
        };
        let rest = *forest.cell(state.rest.expect("a reduction needs two items"));
        let children = [rest.node, state.top.expect("a reduction needs two items")];
        let head = forest.node(children[usize::from(side == Side::Right)]).head;
        let top = forest.push_constituent(self.symbols.kind(label), label, head, &children);
        State { top: Some(top), rest: rest.below, ..state }
    }

    fn view(&self, state: &State) -> View {
        View {
            stack: state.rest,
            deque_top: state.top,
            deque: None,
            n_deque: 0,
            buffer: state.buffer,
            next: state.next,
            past: state.past,
        }
    }

    fn tree(&self, forest: &Forest, state: &State) -> BinaryTree {
        self.symbols.tree(forest, state.top.expect("a final state has a tree"))
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        let mut actions = Vec::new();
        for step in swap_moves(gold)? {
            let symbol = |node| self.symbols.of(gold.node(node), node == gold.root());
            let action = match step {
                Move::Shift => Action::Shift,
                Move::Swap(run) if !COMPOUND => {
                    actions.extend((0..run).map(|_| ActionId::new(SWAP)));
                    continue;
                }
                Move::Swap(run) if run > self.max_run => {
                    let why = format!("it needs {run} swaps in a row, more than {}", self.max_run);
                    return Err(Underivable(why));
                }
                Move::Swap(run) => Action::Swap(run),
                Move::Unary(node) => Action::Unary(symbol(node)?),
                Move::Binary(node, Side::Left) => Action::Left(symbol(node)?),
                Move::Binary(node, Side::Right) => Action::Right(symbol(node)?),
            };
            actions.push(self.id_of(action));
        }
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.symbols.check()?;
        match self.max_run {
            1 => Ok(()),
            _ if COMPOUND => check_limit("max_run", Some(self.max_run), 0),
            run => Err(format!("max_run is {run}, but only compound swaps come in runs")),
        }
    }

    /// n - 1 reductions, n unaries, and n shifts and one more for each of the (n - 1)(n - 2) / 2 swaps: a swap turns
    /// the order of at least two words around for good, and the first word stays in front.
    fn max_steps(&self, n_tokens: usize) -> usize {
        n_tokens * n_tokens + 1
    }
}

/// One move of the traversal that derivations follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Shift,
    Swap(u32),
    Unary(NodeId),
    Binary(NodeId, Side),
}

/// The derivation of a tree, linear in its length.
fn swap_moves(tree: &BinaryTree) -> Result<Vec<Move>, Underivable> {
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
    let n = tree.n_tokens();
    let (parents, token_parents) = (tree.parents(), tree.token_parents());
    // The words that are not yet in their place, as a list in the order of the sentence: after[i] follows word i - 1.
    let mut after: Vec<usize> = (0..=n).collect();
    let mut moves = Vec::with_capacity(3 * n);
    let mut todo = vec![Child::Node(tree.root())];
    while let Some(child) = todo.pop() {
        let token = match child {
            Child::Node(node) => {
                match tree.node(node).kind {
                    BinaryKind::Unary(below) => todo.push(below),
                    BinaryKind::Binary { left, right, .. } => todo.extend([right, left]),
                }
                continue;
            }
            Child::Token(token) => token,
        };
        let (mut before, mut run) = (0, 0);
        while after[before] != token.index() {
            before = after[before] + 1;
            run += 1;
        }
        after[before] = after[token.index() + 1];
        moves.extend((0..=run).map(|_| Move::Shift));
        if run > 0 {
            moves.push(Move::Swap(run));
        }
        // Whatever ends with this word is complete now.
        let mut newest = child;
        let mut above = Some(token_parents[token.index()]);
        while let Some(parent) = above {
            match tree.node(parent).kind {
                BinaryKind::Unary(_) => moves.push(Move::Unary(parent)),
                BinaryKind::Binary { right, head, .. } if right == newest => {
                    moves.push(Move::Binary(parent, head));
                }
                BinaryKind::Binary { .. } => break,
            }
            newest = Child::Node(parent);
            above = parents[parent.index()];
        }
    }
    Ok(moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws;
    use crate::rng::Rng;
    use crate::systems::binary::samples::{SMALL, Shape, every_tree, random_tree};

    fn small() -> SrSwap {
        SrSwap::with_labels(["A"], ["X:"], ["ROOT"], 1)
    }

    #[test]
    fn every_small_tree_is_derived_and_every_walk_ends_in_time() {
        let system = small();
        for n in 1..=4 {
            every_tree(n, SMALL).iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, n));
        }
        for n in 1..=3 {
            let mut longest = 0;
            laws::every_walk(&system, n, |_, _, walk| {
                longest = longest.max(walk.len());
                true
            });
            assert_eq!(longest, system.max_steps(n), "the bound is met");
        }
    }

    #[test]
    fn the_longest_derivation_of_a_tree_is_that_of_the_appendix() {
        let shape = Shape { above_words: 0, inner: &["A"], temporary: false, ..SMALL };
        for n in 2..=5 {
            let trees = every_tree(n, shape);
            let longest = trees.iter().map(|tree| small().derive(tree).unwrap().len()).max();
            assert_eq!(longest, Some(n * n - n + 1));
            assert_eq!(trees.iter().map(|tree| small().derive(tree).unwrap().len()).min(), Some(2 * n - 1));
        }
    }

    #[test]
    fn random_walks_and_trees_obey_the_laws() {
        let shape = Shape { inner: &["A", "B", "ROOT"], ..SMALL };
        let mut rng = Rng::new(3);
        let trees: Vec<BinaryTree> = (1..=60).map(|i| random_tree(&mut rng, i % 12 + 1, shape)).collect();
        let system = SrSwap::from_trees(trees.iter(), &SystemOptions::default());
        trees.iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, tree.n_tokens()));
        for n in 1..=10 {
            laws::random_walks(&system, n, 60, n as u64, false, |tree| assert_eq!(tree.n_tokens(), n));
        }
        let flat = SrSwap::with_labels([], ["S:"], ["S"], 1);
        (1..=9).for_each(|n| laws::random_walks(&flat, n, 100, 4, false, |_| {}));
    }

    #[test]
    fn a_system_survives_serde_and_its_actions_their_names() {
        let system = small();
        let text = serde_json::to_string(&system).unwrap();
        assert_eq!(serde_json::from_str::<SrSwap>(&text).unwrap(), system);
        let ids: Vec<ActionId> = (0..system.n_actions()).map(ActionId::new).collect();
        let names = "SH IDLE SWAP RU-ROOT RU-A RR-ROOT RR-A RR-X: RL-ROOT RL-A RL-X:";
        assert_eq!(laws::names(&system, &ids), names);
        ids.iter().for_each(|&id| assert_eq!(system.id_of(system.action_of(id)), id));
    }
}
