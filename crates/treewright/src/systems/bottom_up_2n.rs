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

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem};
use crate::systems::binary::{SymbolSets, Symbols, continuous, is_solid};
use crate::tree::Underivable;
use crate::tree::{BinaryKind, BinaryTree, Child, Side, Unaries};

/// The transition system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BottomUp2n {
    symbols: Symbols,
    /// A label with the label of the unary above it, as (upper, lower) in order of their ids: those whose upper
    /// label may stand at the root come first.
    pairs: Vec<(u32, u32)>,
}

/// The actions, in the order of their ids: sh, Fin, shU by label, bL and bR by symbol, buL and buR by pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// **Legal** while words are left, unless there is but one in all. **Effect** pushes the next word.
    Shift,
    /// **Legal** when no word is left and there is one item. **Effect** ends the parse.
    Finish,
    /// **Legal** while words are left. Y is a root's label if there is but one word in all, else one seen inside.
    /// **Effect** pushes Y over the next word.
    ShiftUnary(LabelId),
    /// **Legal** when there are two items and the one that is not the head is not a temporary. X is a root's label
    /// over the whole sentence, elsewhere a label seen inside or a temporary; a temporary needs words left, or an
    /// item below that is not one. **Effect** replaces the two by X, whose head is the lower (L) or the top (R).
    Binary(Side, LabelId),
    /// **Legal** as bL and bR with the upper label Y for X. **Effect** as bL(X) or bR(X), with Y on top of X.
    BinaryUnary(Side, LabelId, LabelId),
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    top: Option<NodeId>,
    rest: Option<CellId>,
    next: TokenIdx,
    is_finished: bool,
    past: Option<StepId>,
}

const SHIFT: usize = 0;
const FINISH: usize = 1;
const SHIFT_UNARY: usize = 2;

impl BottomUp2n {
    /// A system for labels that may stand inside trees, temporaries written `X:`, labels of roots, and pairs (X, Y)
    /// of a binary constituent X with a unary Y above it. A pair whose labels are not in the table is left out.
    pub fn with_labels<'a>(
        labels: impl IntoIterator<Item = &'a str>,
        temporaries: impl IntoIterator<Item = &'a str>,
        axioms: impl IntoIterator<Item = &'a str>,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let symbols = Symbols::new(labels, temporaries, axioms);
        Self::with_symbols(symbols, pairs.into_iter())
    }

    fn with_symbols<'a>(symbols: Symbols, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let id = |label: &str| symbols.label(label).map(|label| label.index() as u32);
        let pairs: BTreeSet<(u32, u32)> = pairs.filter_map(|(x, y)| id(y).zip(id(x))).collect();
        BottomUp2n { symbols, pairs: pairs.into_iter().collect() }
    }

    /// The labels and temporaries.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn first_binary(&self, side: Side) -> usize {
        let before = if side == Side::Left { 0 } else { self.symbols.len() };
        SHIFT_UNARY + self.symbols.labels().len() + before
    }

    fn first_pair(&self, side: Side) -> usize {
        let before = if side == Side::Left { 0 } else { self.pairs.len() };
        self.first_binary(Side::Right) + self.symbols.len() + before
    }

    /// The pairs whose upper label is in the range.
    fn pairs_to(&self, labels: &Range<usize>) -> Range<usize> {
        let at = |label: usize| self.pairs.partition_point(|&(upper, _)| (upper as usize) < label);
        at(labels.start)..at(labels.end)
    }

    /// The action of this id.
    #[inline]
    pub fn action_of(&self, action: ActionId) -> Action {
        let id = action.index();
        let pair = |side, at: usize| {
            let (upper, lower) = self.pairs[at];
            Action::BinaryUnary(side, LabelId::new(lower as usize), LabelId::new(upper as usize))
        };
        let (left, right) = (self.first_binary(Side::Left), self.first_binary(Side::Right));
        let (pair_left, pair_right) = (self.first_pair(Side::Left), self.first_pair(Side::Right));
        match id {
            SHIFT => Action::Shift,
            FINISH => Action::Finish,
            _ if id < left => Action::ShiftUnary(LabelId::new(id - SHIFT_UNARY)),
            _ if id < right => Action::Binary(Side::Left, LabelId::new(id - left)),
            _ if id < pair_left => Action::Binary(Side::Right, LabelId::new(id - right)),
            _ if id < pair_right => pair(Side::Left, id - pair_left),
            _ => pair(Side::Right, id - pair_right),
        }
    }

    /// The id of an action, unless it is a pair that was never seen.
    pub fn id_of(&self, action: Action) -> Option<ActionId> {
        Some(ActionId::new(match action {
            Action::Shift => SHIFT,
            Action::Finish => FINISH,
            Action::ShiftUnary(label) => SHIFT_UNARY + label.index(),
            Action::Binary(side, label) => self.first_binary(side) + label.index(),
            Action::BinaryUnary(side, lower, upper) => {
                let pair = (upper.index() as u32, lower.index() as u32);
                self.first_pair(side) + self.pairs.binary_search(&pair).ok()?
            }
        }))
    }

    /// The action, or why there is none.
    fn known(&self, action: Action) -> Result<ActionId, Underivable> {
        self.id_of(action).ok_or_else(|| {
            let Action::BinaryUnary(_, lower, upper) = action else {
                unreachable!("only pairs can be unknown")
            };
            let (lower, upper) = (self.symbols.name(lower), self.symbols.name(upper));
            Underivable(format!("{upper} above {lower} is not among the system's unaries"))
        })
    }
}

impl TransitionSystem for BottomUp2n {
    type Tree = BinaryTree;
    type State = State;
    const UNARIES: Unaries = Unaries::One;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut sets = SymbolSets::default();
        let mut pairs = BTreeSet::new();
        for tree in trees {
            sets.add(tree);
            for (_, node) in tree.nodes() {
                if let BinaryKind::Unary(Child::Node(below)) = node.kind {
                    pairs.insert((tree.node(below).label.clone(), node.label.clone()));
                }
            }
        }
        Self::with_symbols(sets.finish(), pairs.iter().map(|(x, y)| (x.as_str(), y.as_str())))
    }

    fn n_actions(&self) -> usize {
        self.first_pair(Side::Right) + self.pairs.len()
    }

    fn label(&self, label: LabelId) -> String {
        self.symbols.name(label).to_string()
    }

    fn name(&self, action: ActionId) -> String {
        let name = |label| self.symbols.name(label);
        let letter = |side| if side == Side::Left { 'L' } else { 'R' };
        match self.action_of(action) {
            Action::Shift => "sh".to_owned(),
            Action::Finish => "Fin".to_owned(),
            Action::ShiftUnary(label) => format!("shU-{}", name(label)),
            Action::Binary(side, label) => format!("b{}-{}", letter(side), name(label)),
            Action::BinaryUnary(side, lower, upper) => {
                format!("bu{}-{}-{}", letter(side), name(lower), name(upper))
            }
        }
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        forest.start(sentence.tokens.len(), false);
        let is_finished = sentence.tokens.is_empty();
        State { top: None, rest: None, next: TokenIdx::new(0), is_finished, past: None }
    }

    fn is_final(&self, _forest: &Forest, state: &State) -> bool {
        state.is_finished
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        if state.is_finished {
            return;
        }
        let (roots, inner) = (self.symbols.roots(), self.symbols.inner());
        let words_left = state.next.index() < forest.n_tokens();
        if words_left {
            let is_alone = forest.n_tokens() == 1;
            if !is_alone {
                out.insert(ActionId::new(SHIFT));
            }
            let labels = if is_alone { &roots } else { &inner };
            out.insert_range(SHIFT_UNARY + labels.start, SHIFT_UNARY + labels.end);
        }
        let Some(top) = state.top else { return };
        let Some(rest) = state.rest else {
            if !words_left {
                out.insert(ActionId::new(FINISH));
            }
            return;
        };
        let rest = forest.cell(rest);
        let makes_whole = !words_left && rest.below.is_none();
        let labels = if makes_whole { roots.clone() } else { inner };
        let pairs = self.pairs_to(&labels);
        let may_be_temporary =
            words_left || rest.below.is_some_and(|below| is_solid(forest, forest.cell(below).node));
        // The one that is not the head must not be a temporary.
        let sides = [(Side::Left, is_solid(forest, top)), (Side::Right, is_solid(forest, rest.node))];
        let sides = || sides.iter().filter(|side| side.1).map(|side| side.0);
        for side in sides() {
            let (binary, pair) = (self.first_binary(side), self.first_pair(side));
            out.insert_range(binary + labels.start, binary + labels.end);
            out.insert_range(pair + pairs.start, pair + pairs.end);
            if may_be_temporary {
                let temporaries = self.symbols.temporaries();
                out.insert_range(binary + temporaries.start, binary + temporaries.end);
            }
        }
        if out.is_empty() {
            // Only without labels seen inside trees: roots' labels stand in for them where nothing else is legal.
            for side in sides() {
                out.insert_range(self.first_binary(side), self.first_binary(side) + roots.end);
            }
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        let (side, lower, upper) = match self.action_of(action) {
            Action::Finish => return State { is_finished: true, past, ..*state },
            kind @ (Action::Shift | Action::ShiftUnary(_)) => {
                let rest = match state.top {
                    Some(top) => Some(forest.push_cell(top, state.rest)),
                    None => state.rest,
                };
                let mut top = forest.leaf(state.next);
                if let Action::ShiftUnary(label) = kind {
                    top = forest.push_constituent(Kind::Constituent, label, state.next, &[top]);
                }
                return State {
                    top: Some(top),
                    rest,
                    next: TokenIdx::new(state.next.index() + 1),
                    past,
                    ..*state
                };
            }
            Action::Binary(side, label) => (side, label, None),
            Action::BinaryUnary(side, lower, upper) => (side, lower, Some(upper)),
        };
        let top = state.top.expect("a binary reduction needs two items");
        let rest = *forest.cell(state.rest.expect("a binary reduction needs two items"));
        let head = forest.node(if side == Side::Left { rest.node } else { top }).head;
        let mut top = forest.push_constituent(self.symbols.kind(lower), lower, head, &[rest.node, top]);
        if let Some(upper) = upper {
            top = forest.push_constituent(Kind::Constituent, upper, head, &[top]);
        }
        State { top: Some(top), rest: rest.below, past, ..*state }
    }

    fn view(&self, state: &State) -> View {
        View {
            stack: state.rest,
            deque_top: state.top,
            deque: None,
            n_deque: 0,
            buffer: None,
            next: state.next,
            past: state.past,
        }
    }

    fn tree(&self, forest: &Forest, state: &State) -> BinaryTree {
        self.symbols.tree(forest, state.top.expect("a finished parse has a tree"))
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        continuous(gold)?;
        let parents = gold.parents();
        let mut actions = Vec::with_capacity(2 * gold.n_tokens());
        let mut n_shifted = 0;
        // Nodes come in post-order; what a node needs and was not read yet are words.
        for (id, node) in gold.nodes() {
            let symbol = |id, node| self.symbols.of(node, id == gold.root());
            let action = match node.kind {
                BinaryKind::Unary(Child::Token(_)) => {
                    actions.extend((n_shifted + 1..node.span().end).map(|_| ActionId::new(SHIFT)));
                    Action::ShiftUnary(symbol(id, node)?)
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
                    actions.extend((n_shifted..node.span().end).map(|_| ActionId::new(SHIFT)));
                    let above = parents[id.index()].map(|above| (above, gold.node(above)));
                    match above.filter(|(_, above)| matches!(above.kind, BinaryKind::Unary(_))) {
                        Some((above, upper)) => {
                            Action::BinaryUnary(head, symbol(id, node)?, symbol(above, upper)?)
                        }
                        None => Action::Binary(head, symbol(id, node)?),
                    }
                }
            };
            n_shifted = node.span().end;
            actions.push(self.known(action)?);
        }
        actions.push(ActionId::new(FINISH));
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
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashSet;

    use super::*;
    use crate::laws;
    use crate::systems::binary::samples::{SMALL, Shape, every_tree};

    const SHAPE: Shape<'static> = Shape { discontinuous: false, above_nodes: 1, ..SMALL };

    fn small() -> BottomUp2n {
        BottomUp2n::with_labels(["A"], ["X:"], ["ROOT"], [("A", "A"), ("A", "ROOT")])
    }

    #[test]
    fn every_small_tree_has_one_derivation_of_2n_actions_and_nothing_else_is_built() {
        let system = small();
        for n in 1..=4 {
            let trees = every_tree(n, SHAPE);
            trees.iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, n));
            let mut built = FxHashSet::default();
            laws::every_walk(&system, n, |forest, state, walk| {
                if system.is_final(forest, state) {
                    assert_eq!(walk.len(), 2 * n);
                    let tree = system.tree(forest, state);
                    assert_eq!(system.derive(&tree).as_deref(), Ok(walk));
                    assert!(built.insert(format!("{tree:?}")));
                }
                true
            });
            assert_eq!(built.len(), trees.len(), "{n} words");
        }
    }

    #[test]
    fn random_walks_obey_the_laws() {
        let pairs = [("A", "S"), ("S", "ROOT"), ("S", "A")];
        let system = BottomUp2n::with_labels(["A", "S"], ["X:", "S:<A>"], ["ROOT", "S"], pairs);
        (1..=10).for_each(|n| {
            laws::random_walks(&system, n, 60, n as u64, true, |t| assert_eq!(t.n_tokens(), n));
        });
        let flat = BottomUp2n::with_labels([], ["S:"], ["S"], []);
        (1..=10).for_each(|n| laws::random_walks(&flat, n, 60, n as u64, false, |_| {}));
    }

    #[test]
    fn pairs_come_from_the_treebank() {
        let trees: Vec<BinaryTree> = (1..=3).flat_map(|n| every_tree(n, SHAPE)).collect();
        let system = BottomUp2n::from_trees(trees.iter(), &SystemOptions::default());
        assert_eq!(system, small());
        let fewer = BottomUp2n::with_labels(["A"], ["X:"], ["ROOT"], [("A", "ROOT")]);
        let refused = trees.iter().filter_map(|tree| fewer.derive(tree).err()).collect::<Vec<_>>();
        assert!(!refused.is_empty());
        assert!(refused.iter().all(|why| why.0 == "A above A is not among the system's unaries"));
        let chains = every_tree(1, Shape { above_words: 2, ..SHAPE });
        assert!(chains.iter().any(|tree| small().derive(tree).is_err_and(|why| why.0.contains("chain"))));
    }

    #[test]
    fn a_system_survives_serde_and_its_actions_their_names() {
        let system = small();
        let text = serde_json::to_string(&system).unwrap();
        assert_eq!(serde_json::from_str::<BottomUp2n>(&text).unwrap(), system);
        let ids: Vec<ActionId> = (0..system.n_actions()).map(ActionId::new).collect();
        assert_eq!(
            laws::names(&system, &ids),
            "sh Fin shU-ROOT shU-A bL-ROOT bL-A bL-X: bR-ROOT bR-A bR-X: \
             buL-A-ROOT buL-A-A buR-A-ROOT buR-A-A"
        );
        ids.iter().for_each(|&id| assert_eq!(system.id_of(system.action_of(id)), Some(id)));
    }
}
