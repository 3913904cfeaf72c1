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

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind};
use crate::ids::{ActionId, LabelId, NodeId};
use crate::system::actions::{Actions, Argument, Text, actions};
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::binary::{Joinable, SymbolSets, Symbols, unaries_are_above_words};
use crate::systems::labels::builds;
use crate::tree::{BinaryKind, BinaryTree, Child, Side, Unaries, Underivable};

/// SR-SWAP, one word at a time.
pub type SrSwap = Swap<false>;

/// The transition system, with runs of swaps as one action or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap<const COMPOUND: bool> {
    symbols: Symbols,
    /// The longest run of swaps that is one action: 1, or that of the treebank if compound.
    max_run: u32,
}

actions! {
    /// **Legal** while words are left. **Effect** pushes the next word.
    Shift = "SH",
    /// **Legal** in a final configuration, to pad a derivation. **Effect** none.
    Idle = "IDLE",
    /// **Legal** when the i items below the top are words that stand before all words of the top in the sentence,
    /// and there is an item below them; if compound, not after another swap.
    /// **Effect** puts the i words back on the buffer.
    Swap(run: Run) = "SWAP{run}",
    /// **Legal** when the top is a word. X is an axiom if the sentence has one word, else a label seen inside trees.
    /// **Effect** puts X over it.
    Unary(label: LabelId) = "RU-{label}",
    /// **Legal** when there are two items and the lower one is not a temporary. X is an axiom if no word is left and
    /// there are no other items; elsewhere a label seen inside trees, or a temporary, if words are left or the item
    /// below the two is not one. **Effect** replaces the two by X, whose head is the top's.
    Right(label: LabelId) = "RR-{label}",
    /// **Legal** as RR, but the top must not be a temporary. **Effect** as RR, but the head is the lower one's.
    Left(label: LabelId) = "RL-{label}",
}

/// How many words one swap puts back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run(pub u32);

impl Argument for Run {
    #[inline]
    fn at(index: usize) -> Self {
        Run(index as u32 + 1)
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize - 1
    }
}

impl<const COMPOUND: bool> Text<Swap<COMPOUND>> for Run {
    fn text(self, _system: &Swap<COMPOUND>) -> String {
        if COMPOUND { format!("-{}", self.0) } else { String::new() }
    }
}

/// One configuration.
pub type State = Configuration<Own>;

/// What a configuration holds beside stack and buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    after_swap: bool,
}

impl<const COMPOUND: bool> Swap<COMPOUND> {
    /// A system for these labels and temporaries, and the longest run of swaps, which only the compound system has.
    pub fn new(symbols: Symbols, max_run: u32) -> Self {
        Swap { symbols, max_run: if COMPOUND { max_run } else { 1 } }
    }
}

impl<const COMPOUND: bool> TransitionSystem for Swap<COMPOUND> {
    builds!(BinaryTree, labels symbols, root d0);

    const UNARIES: Unaries = Unaries::AboveWords;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut max_run = u32::from(!COMPOUND);
        let symbols = SymbolSets::of(trees, |tree| {
            if COMPOUND {
                for step in swap_moves(tree).unwrap_or_default() {
                    if let Move::Swap(run) = step {
                        max_run = max_run.max(run);
                    }
                }
            }
        });
        Swap { symbols, max_run }
    }

    #[inline]
    fn actions(&self) -> Actions<Action> {
        let (n_labels, n_symbols) = (self.symbols.labels().len(), self.symbols.len());
        Actions::new([1, 1, self.max_run as usize, n_labels, n_symbols, n_symbols])
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        state.is_built(forest)
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        let actions = self.actions().clear(out);
        if self.is_final(forest, state) {
            return out.insert(actions.id(Action::Idle));
        }
        if state.words_left(forest) {
            out.insert(actions.id(Action::Shift));
        }
        let Some(top) = state.d0 else { return };
        if forest.node(top).kind == Kind::Word {
            actions.allow(Action::Unary, self.symbols.above_words(forest), out);
        }
        let (Some(pair), Some(stack)) = (Joinable::of(forest, state), state.stack) else { return };
        if !(COMPOUND && state.own.after_swap) {
            let mut at = forest.cell(stack);
            for run in 1..=self.max_run {
                let node = forest.node(at.node);
                let may_go = node.kind == Kind::Word && node.head < forest.node(top).left;
                let Some(below) = at.below.filter(|_| may_go) else { break };
                out.insert(actions.id(Action::Swap(Run(run))));
                at = forest.cell(below);
            }
        }
        let labels = if pair.makes_whole { self.symbols.roots() } else { self.symbols.inner() };
        let kinds = [(Action::Right as _, pair.solid_s0), (Action::Left as _, pair.solid_d0)];
        self.symbols.allow_reductions(&actions, kinds, &[labels], pair.may_be_temporary, out);
    }

    fn act(&self, forest: &mut Forest, state: &mut State, action: Action) {
        state.own.after_swap = false;
        match action {
            Action::Shift => state.shift_to_d0(forest),
            Action::Idle => {}
            Action::Swap(Run(run)) => {
                for _ in 0..run {
                    let s0 = state.pop(forest);
                    state.put_back(forest, s0);
                }
                state.own.after_swap = true;
            }
            Action::Unary(label) => state.reduce_unary(forest, label),
            Action::Right(label) => state.reduce(forest, &self.symbols, label, Side::Right),
            Action::Left(label) => state.reduce(forest, &self.symbols, label, Side::Left),
        }
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        let table = self.actions();
        let mut actions = Vec::new();
        for step in swap_moves(gold)? {
            let action = match step {
                Move::Shift => Action::Shift,
                Move::Swap(run) if !COMPOUND => {
                    actions.extend((0..run).map(|_| table.id(Action::Swap(Run(1)))));
                    continue;
                }
                Move::Swap(run) if run > self.max_run => {
                    let why = format!("it needs {run} swaps in a row, more than {}", self.max_run);
                    return Err(Underivable(why));
                }
                Move::Swap(run) => Action::Swap(Run(run)),
                Move::Unary(node) => Action::Unary(self.symbols.of(gold, node)?),
                Move::Binary(node, Side::Left) => Action::Left(self.symbols.of(gold, node)?),
                Move::Binary(node, Side::Right) => Action::Right(self.symbols.of(gold, node)?),
            };
            actions.push(table.id(action));
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
    unaries_are_above_words(tree)?;
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
    use crate::laws::{self, Walks};
    use crate::systems::binary::samples::{
        SMALL, Shape, check_names, every_tree, flat_symbols, golds, random_trees, small_symbols,
        with_own_system,
    };

    fn small() -> SrSwap {
        SrSwap::new(small_symbols(), 1)
    }

    struct Examples;

    impl laws::Fixture for Examples {
        type System = SrSwap;

        fn golds() -> Vec<(SrSwap, Vec<BinaryTree>)> {
            golds(small())
        }

        fn random_walks() -> Vec<Walks<SrSwap>> {
            vec![
                Walks::random(with_own_system(random_trees()).0, 1..=10, 60, false),
                Walks::random(SrSwap::new(flat_symbols(), 1), 1..=9, 100, false),
            ]
        }

        fn every_walk() -> Vec<Walks<SrSwap>> {
            vec![Walks::every(small(), 1..=3, false)]
        }
    }

    laws::suite!(Examples);

    #[test]
    fn the_longest_derivation_of_a_tree_is_that_of_the_appendix() {
        let shape = Shape { above_words: 0, inner: &["A"], temporary: false, ..SMALL };
        for n in 2..=5 {
            let trees = every_tree(n, shape);
            let lengths: Vec<usize> = trees.iter().map(|tree| small().derive(tree).unwrap().len()).collect();
            assert_eq!(lengths.iter().max(), Some(&(n * n - n + 1)));
            assert_eq!(lengths.iter().min(), Some(&(2 * n - 1)));
        }
    }

    #[test]
    fn the_names_of_its_actions() {
        check_names(&small(), "SH IDLE SWAP RU-ROOT RU-A RR-ROOT RR-A RR-X: RL-ROOT RL-A RL-X:");
    }
}
