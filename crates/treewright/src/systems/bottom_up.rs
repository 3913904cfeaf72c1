//! Bottom-up constituent parsing over binary trees, the classic system (Zhang and Clark 2009; section 2.1 and
//! figure 1 of Le Quang, Noji and Miyao, "A* decoder for shift-reduce constituent parsing").
//!
//! In the view, `deque_top` (d0) is the top of the stack and `stack` (s0, s1, ...) the rest of it, so that templates
//! written for SR-GAP mean the same two items of a reduction here; `deque` is always empty.
//!
//! Deviations: the longest unary chain of the treebank bounds unary reductions, so that every walk ends. The last
//! constituent must have a label seen at a root (or leave room for a unary to one), and temporaries are taken only
//! where something is left to take them up again, as in table 7 of Coavoux and Crabbé (2017).

use serde::{Deserialize, Serialize};

use crate::forest::Forest;
use crate::ids::{ActionId, LabelId};
use crate::system::actions::{Actions, actions};
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::binary::{Joinable, SymbolSets, Symbols, continuous, is_solid};
use crate::systems::labels::builds;
use crate::tree::{BinaryKind, BinaryTree, Child, Side, Unaries, Underivable};

/// The transition system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BottomUp {
    symbols: Symbols,
    /// The longest unary chain of the treebank.
    max_unary: u32,
}

actions! {
    /// **Legal** while words are left. **Effect** pushes the next word.
    Shift = "SHIFT",
    /// **Legal** when no word is left and the one item has a label seen at a root. **Effect** ends the parse.
    Finish = "FINISH",
    /// **Legal** at the end, to pad a derivation. **Effect** none.
    Idle = "IDLE",
    /// **Legal** when the top is not a temporary and its unary chain is shorter than the longest of the treebank.
    /// Over the whole sentence X must be a root's label, or leave room for one more unary.
    /// **Effect** puts X over the top.
    Unary(label: LabelId) = "U-REDUCE-{label}",
    /// **Legal** when there are two items and the top is not a temporary. Over the whole sentence X must be a root's
    /// label, or leave room for a unary; a temporary needs words left, or an item below that is not one.
    /// **Effect** replaces the two by X, whose head is that of the lower one.
    Left(label: LabelId) = "B-REDUCE-L-{label}",
    /// **Legal** as B-REDUCE-L, but the lower item must not be a temporary. **Effect** the head is the top's.
    Right(label: LabelId) = "B-REDUCE-R-{label}",
}

/// One configuration.
pub type State = Configuration<Own>;

/// What a configuration holds beside stack and buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// The length of the unary chain at the top.
    n_unary: u32,
    is_finished: bool,
}

impl BottomUp {
    /// A system for these labels and temporaries, and the longest unary chain.
    pub fn new(symbols: Symbols, max_unary: u32) -> Self {
        BottomUp { symbols, max_unary }
    }

    /// How long unary chains may be. A word alone needs one constituent even if the treebank has no unaries.
    fn longest_chain(&self, n_tokens: usize) -> u32 {
        self.max_unary.max(u32::from(n_tokens == 1))
    }
}

impl TransitionSystem for BottomUp {
    builds!(BinaryTree, labels symbols, root d0);

    const UNARIES: Unaries = Unaries::Keep;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut max_unary = 0;
        let mut chains: Vec<u32> = Vec::new();
        let symbols = SymbolSets::of(trees, |tree| {
            chains.clear();
            for (_, node) in tree.nodes() {
                chains.push(match node.kind {
                    BinaryKind::Unary(Child::Node(below)) => chains[below.index()] + 1,
                    BinaryKind::Unary(Child::Token(_)) => 1,
                    BinaryKind::Binary { .. } => 0,
                });
            }
            max_unary = chains.iter().copied().fold(max_unary, u32::max);
        });
        BottomUp { symbols, max_unary }
    }

    #[inline]
    fn actions(&self) -> Actions<Action> {
        let (n_labels, n_symbols) = (self.symbols.labels().len(), self.symbols.len());
        Actions::new([1, 1, 1, n_labels, n_symbols, n_symbols])
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        state.own.is_finished || forest.n_tokens() == 0
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        let actions = self.actions().clear(out);
        if self.is_final(forest, state) {
            return out.insert(actions.id(Action::Idle));
        }
        let words_left = state.words_left(forest);
        if words_left {
            out.insert(actions.id(Action::Shift));
        }
        let Some(top) = state.d0 else { return };
        let (roots, inner) = (self.symbols.roots(), self.symbols.inner());
        let longest = self.longest_chain(forest.n_tokens());
        let solid_top = is_solid(forest, top);
        let is_whole = !words_left && state.stack.is_none();
        let label = forest.node(top).label.filter(|_| solid_top);
        if is_whole && label.is_some_and(|label| roots.contains(&label.index())) {
            out.insert(actions.id(Action::Finish));
        }
        // What was seen only at roots has nothing above it.
        let may_go_on = !is_whole || label.is_none_or(|label| inner.contains(&label.index()));
        if solid_top && may_go_on && state.own.n_unary < longest {
            if is_whole {
                actions.allow(Action::Unary, roots.clone(), out);
            }
            if !is_whole || state.own.n_unary + 1 < longest {
                actions.allow(Action::Unary, inner.clone(), out);
            }
        }
        let Some(pair) = Joinable::of(forest, state) else { return };
        let roots = if pair.makes_whole { roots } else { 0..0 };
        let inner = if !pair.makes_whole || longest > 0 { inner } else { 0..0 };
        let kinds = [(Action::Left as _, pair.solid_d0), (Action::Right as _, pair.solid_s0)];
        self.symbols.allow_reductions(&actions, kinds, &[roots, inner], pair.may_be_temporary, out);
    }

    fn act(&self, forest: &mut Forest, state: &mut State, action: Action) {
        let n_unary = std::mem::take(&mut state.own.n_unary);
        match action {
            Action::Shift => state.shift_to_d0(forest),
            Action::Finish => state.own.is_finished = true,
            Action::Idle => {}
            Action::Unary(label) => {
                state.reduce_unary(forest, label);
                state.own.n_unary = n_unary + 1;
            }
            Action::Left(label) => state.reduce(forest, &self.symbols, label, Side::Left),
            Action::Right(label) => state.reduce(forest, &self.symbols, label, Side::Right),
        }
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        continuous(gold)?;
        let table = self.actions();
        let mut actions = Vec::with_capacity(gold.n_nodes() + gold.n_tokens() + 1);
        let mut n_shifted = 0;
        let longest = self.longest_chain(gold.n_tokens());
        let mut chain = 0;
        // Nodes come in post-order; what a node needs and was not read yet are words.
        for (id, node) in gold.nodes() {
            if n_shifted < node.span().end {
                chain = 0;
            }
            actions.extend((n_shifted..node.span().end).map(|_| table.id(Action::Shift)));
            n_shifted = node.span().end;
            let symbol = self.symbols.of(gold, id)?;
            let action = match node.kind {
                BinaryKind::Unary(_) => {
                    chain += 1;
                    Action::Unary(symbol)
                }
                BinaryKind::Binary { head, .. } => {
                    chain = 0;
                    if head == Side::Left { Action::Left(symbol) } else { Action::Right(symbol) }
                }
            };
            if chain > longest {
                let why = format!("the unary chain up to {} is longer than {longest}", node.label);
                return Err(Underivable(why));
            }
            actions.push(table.id(action));
        }
        actions.push(table.id(Action::Finish));
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.symbols.check()?;
        check_limit("max_unary", Some(self.max_unary), 0)
    }

    /// n shifts, n - 1 binary reductions, FINISH, and a longest chain above each word and each binary node.
    fn max_steps(&self, n_tokens: usize) -> usize {
        2 * n_tokens + (2 * n_tokens).saturating_sub(1) * self.longest_chain(n_tokens) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::{self, Walks};
    use crate::systems::binary::samples::{
        SMALL, Shape, check_names, every_tree, every_tree_up_to, flat_symbols, small_symbols, with_own_system,
    };

    const CONTINUOUS: Shape<'static> =
        Shape { discontinuous: false, above_words: 2, above_nodes: 2, ..SMALL };

    struct Examples;

    impl laws::Fixture for Examples {
        type System = BottomUp;

        fn golds() -> Vec<(BottomUp, Vec<BinaryTree>)> {
            vec![with_own_system(every_tree_up_to(3, CONTINUOUS))]
        }

        fn random_walks() -> Vec<Walks<BottomUp>> {
            let symbols = Symbols::new(["A", "S"], ["X:", "S:<A>"], ["ROOT", "S"]);
            vec![
                Walks::random(BottomUp::new(symbols, 2), 1..=10, 60, true),
                Walks::random(BottomUp::new(flat_symbols(), 0), 1..=10, 60, false),
            ]
        }
    }

    laws::suite!(Examples);

    #[test]
    fn every_small_tree_has_one_derivation_and_nothing_else_is_built() {
        for max_unary in 0..=2 {
            let shape = Shape { above_words: max_unary, above_nodes: max_unary, ..CONTINUOUS };
            let system = BottomUp::new(small_symbols(), max_unary as u32);
            for n in 1..=if max_unary == 2 { 3 } else { 4 } {
                // Without unaries in the treebank, one word still gets its constituent.
                let shape = if n == 1 { Shape { above_words: max_unary.max(1), ..shape } } else { shape };
                let trees = every_tree(n, shape);
                trees.iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, n));
                let found = laws::finished_walks(&system, n, true, |_, _| ());
                assert_eq!(found.longest, system.max_steps(n), "the bound is met");
                assert_eq!(found.count, trees.len(), "{n} words, chains of {max_unary}");
            }
        }
    }

    #[test]
    fn limits_come_from_the_treebank() {
        let (system, trees) = with_own_system::<BottomUp>(every_tree_up_to(3, CONTINUOUS));
        assert_eq!(system, BottomUp::new(small_symbols(), 2));
        let short = BottomUp { max_unary: 1, ..system };
        let n_too_long = trees.iter().filter(|tree| short.derive(tree).is_err()).count();
        let fits = Shape { above_words: 1, above_nodes: 1, ..CONTINUOUS };
        assert_eq!(trees.len() - n_too_long, every_tree_up_to(3, fits).len());
        let gapped =
            every_tree(3, SMALL).into_iter().find(|tree| tree.nodes().any(|(_, n)| n.is_discontinuous()));
        let why = short.derive(&gapped.unwrap()).unwrap_err();
        assert!(why.0.contains("(from word 1 to word 3) is discontinuous"), "{why}");
    }

    #[test]
    fn the_names_of_its_actions() {
        check_names(
            &BottomUp::new(small_symbols(), 2),
            "SHIFT FINISH IDLE U-REDUCE-ROOT U-REDUCE-A B-REDUCE-L-ROOT B-REDUCE-L-A B-REDUCE-L-X: \
             B-REDUCE-R-ROOT B-REDUCE-R-A B-REDUCE-R-X:",
        );
    }
}
