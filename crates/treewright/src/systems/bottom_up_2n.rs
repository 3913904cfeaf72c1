//! Bottom-up constituent parsing in exactly 2n actions: unary reductions are part of the shift or binary reduction
//! below them (section 2.3 and figure 2 of Le Quang, Noji and Miyao, "A* decoder for shift-reduce constituent
//! parsing"), so that derivations of one sentence can be compared and searched exactly.
//!
//! In the view, `deque_top` (d0) is the top of the stack and `stack` (s0, s1, ...) the rest of it, so that templates
//! written for SR-GAP mean the same two items of a reduction here; `deque` is always empty.
//!
//! Deviations: bu carries both labels (the printed bu(Y) leaves the lower one open); its pairs are those seen in the
//! treebank. Chains of several unaries must have been joined into one label. The last action before Fin must make a
//! label seen at a root, and temporaries are taken only where something is left to take them up again, as in table 7
//! of Coavoux and Crabbé (2017).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Place};
use crate::ids::{ActionId, LabelId, NodeId};
use crate::sentence::{Sentence, Str};
use crate::system::actions::{Actions, Argument, Text, actions, places};
use crate::system::configuration::Configuration;
use crate::system::{
    ActionSet, Mergeable, Reduction, SpanActions, StackEffect, SystemOptions, TransitionSystem,
};
use crate::systems::binary::{Joinable, SymbolSets, Symbols, continuous, is_solid};
use crate::systems::labels::builds;
use crate::tree::{BinaryKind, BinaryTree, Child, Side, Unaries, Underivable};

/// The transition system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BottomUp2n {
    symbols: Symbols,
    /// A label with the label of the unary above it, as (upper, lower) in order of their ids: those whose upper
    /// label may stand at the root come first.
    pairs: Vec<(u32, u32)>,
    /// For each tag of the treebank, the labels right above words that have it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    unaries: BTreeMap<Str, BTreeSet<u32>>,
}

actions! {
    /// **Legal** while words are left, unless there is but one in all. **Effect** pushes the next word.
    Shift = "sh",
    /// **Legal** when no word is left and there is one item. **Effect** ends the parse.
    Finish = "Fin",
    /// **Legal** while words are left. Y is a root's label if there is but one word in all, else one seen inside.
    /// **Effect** pushes Y over the next word.
    ShiftUnary(label: LabelId) = "shU-{label}",
    /// **Legal** when there are two items and the top is not a temporary. X is a root's label over the whole sentence,
    /// elsewhere a label seen inside or a temporary; a temporary needs words left, or an item below that is not one.
    /// **Effect** replaces the two by X, whose head is the lower one's.
    Left(label: LabelId) = "bL-{label}",
    /// **Legal** as bL, but the lower item must not be a temporary. **Effect** as bL, but the head is the top's.
    Right(label: LabelId) = "bR-{label}",
    /// **Legal** as bL with the upper label Y for X. **Effect** as bL(X), with Y on top of X.
    LeftUnary(pair: Pair) = "buL-{pair}",
    /// **Legal** as bR with the upper label Y for X. **Effect** as bR(X), with Y on top of X.
    RightUnary(pair: Pair) = "buR-{pair}",
}

places! {
    /// A label with a unary above it, by its place in the table of pairs.
    Pair;
}

impl Text<BottomUp2n> for Pair {
    fn text(self, system: &BottomUp2n) -> String {
        let (lower, upper) = system.pair(self);
        format!("{}-{}", system.symbols.name(lower), system.symbols.name(upper))
    }
}

/// One configuration.
pub type State = Configuration<Own>;

/// What a configuration holds beside stack and buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    is_finished: bool,
}

impl BottomUp2n {
    /// A system for these labels and temporaries, and pairs (X, Y) of a binary constituent X with a unary Y above it. A
    /// pair whose labels are not in the table is left out.
    pub fn new<'a>(symbols: Symbols, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let id = |label: &str| symbols.label(label).map(|label| label.index() as u32);
        let pairs: BTreeSet<(u32, u32)> = pairs.into_iter().filter_map(|(x, y)| id(y).zip(id(x))).collect();
        BottomUp2n { symbols, pairs: pairs.into_iter().collect(), unaries: BTreeMap::new() }
    }

    /// The lower and the upper label of a pair.
    #[inline]
    fn pair(&self, pair: Pair) -> (LabelId, LabelId) {
        let (upper, lower) = self.pairs[pair.index()];
        (LabelId::new(lower as usize), LabelId::new(upper as usize))
    }

    /// The pair of these labels.
    ///
    /// # Errors
    /// When it was never seen.
    fn find_pair(&self, lower: LabelId, upper: LabelId) -> Result<Pair, Underivable> {
        let pair = (upper.index() as u32, lower.index() as u32);
        self.pairs.binary_search(&pair).map(Pair::at).map_err(|_| {
            let (lower, upper) = (self.symbols.name(lower), self.symbols.name(upper));
            Underivable(format!("{upper} above {lower} is not among the system's unaries"))
        })
    }

    /// The pairs whose upper label is in the range.
    fn pairs_to(&self, labels: &Range<usize>) -> Range<usize> {
        let at = |label: usize| self.pairs.partition_point(|&(upper, _)| (upper as usize) < label);
        at(labels.start)..at(labels.end)
    }
}

impl TransitionSystem for BottomUp2n {
    builds!(BinaryTree, labels symbols, root d0);

    const UNARIES: Unaries = Unaries::One;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut pairs = BTreeSet::new();
        let symbols = SymbolSets::of(trees, |tree| {
            for (_, node) in tree.nodes() {
                if let BinaryKind::Unary(Child::Node(below)) = node.kind {
                    pairs.insert((tree.node(below).label.clone(), node.label.clone()));
                }
            }
        });
        Self::new(symbols, pairs.iter().map(|(x, y)| (x.as_str(), y.as_str())))
    }

    fn see_tags(&mut self, tree: &BinaryTree, sentence: &Sentence) {
        for token in &sentence.tokens {
            self.unaries.entry(token.tag.clone()).or_default();
        }
        for (_, node) in tree.nodes() {
            if let (BinaryKind::Unary(Child::Token(word)), Some(label)) =
                (&node.kind, self.symbols.label(&node.label))
            {
                let tag = sentence.tokens[word.index()].tag.clone();
                self.unaries.entry(tag).or_default().insert(label.index() as u32);
            }
        }
    }

    #[inline]
    fn actions(&self) -> Actions<Action> {
        let (n_labels, n_symbols, n_pairs) =
            (self.symbols.labels().len(), self.symbols.len(), self.pairs.len());
        Actions::new([1, 1, n_labels, n_symbols, n_symbols, n_pairs, n_pairs])
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        state.own.is_finished || forest.n_tokens() == 0
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        let actions = self.actions().clear(out);
        if self.is_final(forest, state) {
            return;
        }
        let words_left = state.words_left(forest);
        if words_left {
            if forest.n_tokens() > 1 {
                out.insert(actions.id(Action::Shift));
            }
            actions.allow(Action::ShiftUnary, self.symbols.above_words(forest), out);
        }
        let Some(pair) = Joinable::of(forest, state) else {
            if !words_left {
                out.insert(actions.id(Action::Finish));
            }
            return;
        };
        let labels = if pair.makes_whole { self.symbols.roots() } else { self.symbols.inner() };
        let pairs = self.pairs_to(&labels);
        if pair.solid_d0 {
            actions.allow(Action::LeftUnary, pairs.clone(), out);
        }
        if pair.solid_s0 {
            actions.allow(Action::RightUnary, pairs, out);
        }
        let kinds = [(Action::Left as _, pair.solid_d0), (Action::Right as _, pair.solid_s0)];
        self.symbols.allow_reductions(&actions, kinds, &[labels], pair.may_be_temporary, out);
    }

    fn act(&self, forest: &mut Forest, state: &mut State, action: Action) {
        let mut reduce = |side, pair| {
            let (lower, upper) = self.pair(pair);
            state.reduce(forest, &self.symbols, lower, side);
            state.reduce_unary(forest, upper);
        };
        match action {
            Action::Shift => state.shift_to_d0(forest),
            Action::Finish => state.own.is_finished = true,
            Action::ShiftUnary(label) => {
                state.shift_to_d0(forest);
                state.reduce_unary(forest, label);
            }
            Action::Left(label) => state.reduce(forest, &self.symbols, label, Side::Left),
            Action::Right(label) => state.reduce(forest, &self.symbols, label, Side::Right),
            Action::LeftUnary(pair) => reduce(Side::Left, pair),
            Action::RightUnary(pair) => reduce(Side::Right, pair),
        }
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        continuous(gold)?;
        let table = self.actions();
        let parents = gold.parents();
        let mut actions = Vec::with_capacity(2 * gold.n_tokens());
        let mut n_shifted = 0;
        // Nodes come in post-order; what a node needs and was not read yet are words.
        for (id, node) in gold.nodes() {
            let action = match node.kind {
                BinaryKind::Unary(Child::Token(_)) => {
                    actions.extend((n_shifted + 1..node.span().end).map(|_| table.id(Action::Shift)));
                    Action::ShiftUnary(self.symbols.of(gold, id)?)
                }
                BinaryKind::Unary(Child::Node(below)) => {
                    if let BinaryKind::Unary(_) = gold.node(below).kind {
                        let below = &gold.node(below).label;
                        let why = format!("{} above {below} is a chain of several unaries", node.label);
                        return Err(Underivable(why));
                    }
                    continue;
                }
                BinaryKind::Binary { head, .. } => {
                    actions.extend((n_shifted..node.span().end).map(|_| table.id(Action::Shift)));
                    let is_unary = |above: &NodeId| matches!(gold.node(*above).kind, BinaryKind::Unary(_));
                    match parents[id.index()].filter(is_unary) {
                        Some(above) => {
                            let pair =
                                self.find_pair(self.symbols.of(gold, id)?, self.symbols.of(gold, above)?)?;
                            if head == Side::Left {
                                Action::LeftUnary(pair)
                            } else {
                                Action::RightUnary(pair)
                            }
                        }
                        None if head == Side::Left => Action::Left(self.symbols.of(gold, id)?),
                        None => Action::Right(self.symbols.of(gold, id)?),
                    }
                }
            };
            n_shifted = node.span().end;
            actions.push(table.id(action));
        }
        actions.push(table.id(Action::Finish));
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.symbols.check()?;
        let (labels, inner) = (self.symbols.labels(), self.symbols.inner());
        let is_pair = |&(upper, lower): &(u32, u32)| {
            labels.contains(&(upper as usize)) && inner.contains(&(lower as usize))
        };
        if !self.pairs.iter().all(is_pair) || !self.pairs.is_sorted_by(|a, b| a < b) {
            return Err("the pairs of labels are not in order, or not of labels".to_owned());
        }
        Ok(())
    }

    /// n shifts, n - 1 reductions and Fin.
    fn max_steps(&self, n_tokens: usize) -> usize {
        2 * n_tokens
    }

    /// Nothing without a label inside trees, where the labels of roots stand in.
    fn span_actions(&self) -> Option<SpanActions> {
        let table = self.actions();
        let (mut shift_unary, mut reductions) = (Vec::new(), Vec::new());
        for action in (0..self.n_actions()).map(ActionId::new) {
            let mut reduce = |symbol, head| reductions.push(Reduction { action, symbol, head });
            match table.get(action) {
                Action::Shift | Action::Finish => {}
                Action::ShiftUnary(label) => shift_unary.push((action, label)),
                Action::Left(symbol) => reduce(symbol, Side::Left),
                Action::Right(symbol) => reduce(symbol, Side::Right),
                Action::LeftUnary(pair) => reduce(self.pair(pair).1, Side::Left),
                Action::RightUnary(pair) => reduce(self.pair(pair).1, Side::Right),
            }
        }
        (!self.symbols.inner().is_empty()).then(|| SpanActions {
            roots: self.symbols.roots(),
            inner: self.symbols.inner(),
            temporaries: self.symbols.temporaries(),
            shift: table.id(Action::Shift),
            shift_unary,
            reductions,
            finish: table.id(Action::Finish),
            unaries: self.unaries.clone(),
        })
    }

    fn mergeable(&self) -> Option<&dyn Mergeable<State>> {
        Some(self)
    }
}

impl Mergeable<State> for BottomUp2n {
    fn top(&self) -> Place {
        Place::Deque(0)
    }

    fn effect(&self, action: ActionId) -> StackEffect {
        match self.actions().get(action) {
            Action::Shift | Action::ShiftUnary(_) => StackEffect::Push,
            Action::Finish => StackEffect::None,
            Action::Left(_) | Action::Right(_) | Action::LeftUnary(_) | Action::RightUnary(_) => {
                StackEffect::Pop
            }
        }
    }

    fn over(&self, forest: &mut Forest, below: &State, state: &State) -> State {
        let mut over = State { stack: below.stack, ..*state };
        if let Some(d0) = below.d0 {
            over.push(forest, d0);
        }
        over
    }

    /// How many items there are, and whether the topmost two are temporaries: a reduction must not make a temporary on top
    /// of another when no word is left.
    fn rules(&self, forest: &Forest, state: &State) -> u32 {
        let is_temporary = |node: Option<NodeId>| u32::from(node.is_some_and(|node| !is_solid(forest, node)));
        let n_items = forest.depth(state.stack) + u32::from(state.d0.is_some());
        n_items.min(2) << 2 | is_temporary(state.s0(forest)) << 1 | is_temporary(state.d0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::{self, Walks};
    use crate::systems::binary::samples::{
        SMALL, Shape, check_names, every_tree, every_tree_up_to, flat_symbols, small_symbols, with_own_system,
    };

    const SHAPE: Shape<'static> = Shape { discontinuous: false, above_nodes: 1, ..SMALL };

    fn small() -> BottomUp2n {
        BottomUp2n::new(small_symbols(), [("A", "A"), ("A", "ROOT")])
    }

    struct Examples;

    impl laws::Fixture for Examples {
        type System = BottomUp2n;

        fn golds() -> Vec<(BottomUp2n, Vec<BinaryTree>)> {
            vec![(small(), every_tree_up_to(4, SHAPE))]
        }

        fn random_walks() -> Vec<Walks<BottomUp2n>> {
            let symbols = Symbols::new(["A", "S"], ["X:", "S:<A>"], ["ROOT", "S"]);
            let pairs = [("A", "S"), ("S", "ROOT"), ("S", "A")];
            vec![
                Walks::random(BottomUp2n::new(symbols, pairs), 1..=10, 60, true),
                Walks::random(BottomUp2n::new(flat_symbols(), []), 1..=10, 60, false),
            ]
        }
    }

    laws::suite!(Examples);

    #[test]
    fn every_small_tree_has_one_derivation_of_2n_actions_and_nothing_else_is_built() {
        for n in 1..=4 {
            let found = laws::finished_walks(&small(), n, true, |_, _| ());
            assert_eq!((found.shortest, found.longest), (2 * n, 2 * n));
            assert_eq!(found.count, every_tree(n, SHAPE).len(), "{n} words");
        }
    }

    #[test]
    fn pairs_come_from_the_treebank() {
        let (system, trees) = with_own_system::<BottomUp2n>(every_tree_up_to(3, SHAPE));
        assert_eq!(system, small());
        let fewer = BottomUp2n::new(small_symbols(), [("A", "ROOT")]);
        let refused = trees.iter().filter_map(|tree| fewer.derive(tree).err()).collect::<Vec<_>>();
        assert!(!refused.is_empty());
        assert!(refused.iter().all(|why| why.0 == "A above A is not among the system's unaries"));
        let chains = every_tree(1, Shape { above_words: 2, ..SHAPE });
        assert!(chains.iter().any(|tree| small().derive(tree).is_err_and(|why| why.0.contains("chain"))));
    }

    #[test]
    fn the_names_of_its_actions() {
        check_names(
            &small(),
            "sh Fin shU-ROOT shU-A bL-ROOT bL-A bL-X: bR-ROOT bR-A bR-X: \
             buL-A-ROOT buL-A-A buR-A-ROOT buR-A-A",
        );
    }
}
