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

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::binary::{SymbolSets, Symbols, continuous, is_solid};
use crate::tree::Underivable;
use crate::tree::{BinaryKind, BinaryTree, Child, Side, Unaries};

/// The transition system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BottomUp {
    symbols: Symbols,
    /// The longest unary chain of the treebank.
    max_unary: u32,
}

/// The actions, in the order of their ids: SHIFT, FINISH, IDLE, U-REDUCE by label, B-REDUCE-L and -R by symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// **Legal** while words are left. **Effect** pushes the next word.
    Shift,
    /// **Legal** when no word is left and the one item has a label seen at a root. **Effect** ends the parse.
    Finish,
    /// **Legal** at the end, to pad a derivation. **Effect** none.
    Idle,
    /// **Legal** when the top is not a temporary and its unary chain is shorter than the longest of the treebank.
    /// Over the whole sentence X must be a root's label, or leave room for one more unary.
    /// **Effect** puts X over the top.
    Unary(LabelId),
    /// **Legal** when there are two items and the top is not a temporary. Over the whole sentence X must be a root's
    /// label, or leave room for a unary; a temporary needs words left, or an item below that is not one.
    /// **Effect** replaces the two by X, whose head is that of the lower one.
    Left(LabelId),
    /// **Legal** as B-REDUCE-L, but the lower item must not be a temporary. **Effect** the head is the top's.
    Right(LabelId),
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    top: Option<NodeId>,
    rest: Option<CellId>,
    /// The length of the unary chain at the top.
    n_unary: u32,
    next: TokenIdx,
    is_finished: bool,
    past: Option<StepId>,
}

const SHIFT: usize = 0;
const FINISH: usize = 1;
const IDLE: usize = 2;
const UNARY: usize = 3;

impl BottomUp {
    /// A system for labels that may stand inside trees, temporaries written `X:`, labels of roots, and the longest
    /// unary chain.
    pub fn with_labels<'a>(
        labels: impl IntoIterator<Item = &'a str>,
        temporaries: impl IntoIterator<Item = &'a str>,
        axioms: impl IntoIterator<Item = &'a str>,
        max_unary: u32,
    ) -> Self {
        BottomUp { symbols: Symbols::new(labels, temporaries, axioms), max_unary }
    }

    /// The labels and temporaries.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn first_left(&self) -> usize {
        UNARY + self.symbols.labels().len()
    }

    fn first_right(&self) -> usize {
        self.first_left() + self.symbols.len()
    }

    /// The action of this id.
    #[inline]
    pub fn action_of(&self, action: ActionId) -> Action {
        let (id, left, right) = (action.index(), self.first_left(), self.first_right());
        match id {
            SHIFT => Action::Shift,
            FINISH => Action::Finish,
            IDLE => Action::Idle,
            _ if id < left => Action::Unary(LabelId::new(id - UNARY)),
            _ if id < right => Action::Left(LabelId::new(id - left)),
            _ => Action::Right(LabelId::new(id - right)),
        }
    }

    /// The id of an action.
    pub fn id_of(&self, action: Action) -> ActionId {
        ActionId::new(match action {
            Action::Shift => SHIFT,
            Action::Finish => FINISH,
            Action::Idle => IDLE,
            Action::Unary(label) => UNARY + label.index(),
            Action::Left(label) => self.first_left() + label.index(),
            Action::Right(label) => self.first_right() + label.index(),
        })
    }

    /// How long unary chains may be. A word alone needs one constituent even if the treebank has no unaries.
    fn longest_chain(&self, n_tokens: usize) -> u32 {
        self.max_unary.max(u32::from(n_tokens == 1))
    }
}

impl TransitionSystem for BottomUp {
    type Tree = BinaryTree;
    type State = State;
    const UNARIES: Unaries = Unaries::Keep;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut sets = SymbolSets::default();
        let mut max_unary = 0;
        let mut chains: Vec<u32> = Vec::new();
        for tree in trees {
            sets.add(tree);
            chains.clear();
            for (_, node) in tree.nodes() {
                chains.push(match node.kind {
                    BinaryKind::Unary(Child::Node(below)) => chains[below.index()] + 1,
                    BinaryKind::Unary(Child::Token(_)) => 1,
                    BinaryKind::Binary { .. } => 0,
                });
            }
            max_unary = chains.iter().copied().fold(max_unary, u32::max);
        }
        BottomUp { symbols: sets.finish(), max_unary }
    }

    fn n_actions(&self) -> usize {
        self.first_right() + self.symbols.len()
    }

    fn label(&self, label: LabelId) -> String {
        self.symbols.name(label).to_string()
    }

    fn name(&self, action: ActionId) -> String {
        match self.action_of(action) {
            Action::Shift => "SHIFT".to_owned(),
            Action::Finish => "FINISH".to_owned(),
            Action::Idle => "IDLE".to_owned(),
            Action::Unary(label) => format!("U-REDUCE-{}", self.symbols.name(label)),
            Action::Left(label) => format!("B-REDUCE-L-{}", self.symbols.name(label)),
            Action::Right(label) => format!("B-REDUCE-R-{}", self.symbols.name(label)),
        }
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        forest.start(sentence.tokens.len(), false);
        let is_finished = sentence.tokens.is_empty();
        State { top: None, rest: None, n_unary: 0, next: TokenIdx::new(0), is_finished, past: None }
    }

    fn is_final(&self, _forest: &Forest, state: &State) -> bool {
        state.is_finished
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        if state.is_finished {
            out.insert(ActionId::new(IDLE));
            return;
        }
        let words_left = state.next.index() < forest.n_tokens();
        if words_left {
            out.insert(ActionId::new(SHIFT));
        }
        let Some(top) = state.top else { return };
        let (roots, inner) = (self.symbols.roots(), self.symbols.inner());
        let longest = self.longest_chain(forest.n_tokens());
        let solid_top = is_solid(forest, top);
        let is_whole = !words_left && state.rest.is_none();
        let label = forest.node(top).label.filter(|_| solid_top);
        if is_whole && label.is_some_and(|label| roots.contains(&label.index())) {
            out.insert(ActionId::new(FINISH));
        }
        // What was seen only at roots has nothing above it.
        let may_go_on = !is_whole || label.is_none_or(|label| inner.contains(&label.index()));
        if solid_top && may_go_on && state.n_unary < longest {
            if is_whole {
                out.insert_range(UNARY + roots.start, UNARY + roots.end);
            }
            if !is_whole || state.n_unary + 1 < longest {
                out.insert_range(UNARY + inner.start, UNARY + inner.end);
            }
        }
        let Some(rest) = state.rest else { return };
        let rest = forest.cell(rest);
        let solid_s0 = is_solid(forest, rest.node);
        let mut reductions = |labels: std::ops::Range<usize>| {
            if solid_top {
                out.insert_range(self.first_left() + labels.start, self.first_left() + labels.end);
            }
            if solid_s0 {
                out.insert_range(self.first_right() + labels.start, self.first_right() + labels.end);
            }
        };
        let makes_whole = !words_left && rest.below.is_none();
        if makes_whole {
            reductions(roots.clone());
        }
        if !makes_whole || longest > 0 {
            reductions(inner);
        }
        if words_left || rest.below.is_some_and(|below| is_solid(forest, forest.cell(below).node)) {
            reductions(self.symbols.temporaries());
        }
        if out.is_empty() {
            // Only without labels seen inside trees: roots' labels stand in for them where nothing else is legal.
            let mut reductions = |first: usize| out.insert_range(first, first + roots.end);
            if solid_top {
                reductions(self.first_left());
            }
            if solid_s0 {
                reductions(self.first_right());
            }
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        let (label, side) = match self.action_of(action) {
            Action::Shift => {
                let rest = match state.top {
                    Some(top) => Some(forest.push_cell(top, state.rest)),
                    None => state.rest,
                };
                let next = TokenIdx::new(state.next.index() + 1);
                return State { top: Some(forest.leaf(state.next)), rest, n_unary: 0, next, past, ..*state };
            }
            Action::Finish => return State { is_finished: true, past, ..*state },
            Action::Idle => return State { past, ..*state },
            Action::Unary(label) => {
                let top = state.top.expect("a unary reduction needs an item");
                let head = forest.node(top).head;
                let top = forest.push_constituent(Kind::Constituent, label, head, &[top]);
                return State { top: Some(top), n_unary: state.n_unary + 1, past, ..*state };
            }
            Action::Left(label) => (label, Side::Left),
            Action::Right(label) => (label, Side::Right),
        };
        let top = state.top.expect("a binary reduction needs two items");
        let rest = *forest.cell(state.rest.expect("a binary reduction needs two items"));
        let head = forest.node(if side == Side::Left { rest.node } else { top }).head;
        let top = forest.push_constituent(self.symbols.kind(label), label, head, &[rest.node, top]);
        State { top: Some(top), rest: rest.below, n_unary: 0, past, ..*state }
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
        let mut actions = Vec::with_capacity(gold.n_nodes() + gold.n_tokens() + 1);
        let mut n_shifted = 0;
        let longest = self.longest_chain(gold.n_tokens());
        let mut chain = 0;
        // Nodes come in post-order; what a node needs and was not read yet are words.
        for (id, node) in gold.nodes() {
            if n_shifted < node.span().end {
                chain = 0;
            }
            actions.extend((n_shifted..node.span().end).map(|_| ActionId::new(SHIFT)));
            n_shifted = node.span().end;
            let symbol = self.symbols.of(node, id == gold.root())?;
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
            actions.push(self.id_of(action));
        }
        actions.push(ActionId::new(FINISH));
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
    use rustc_hash::FxHashSet;

    use super::*;
    use crate::laws;
    use crate::systems::binary::samples::{SMALL, Shape, every_tree};

    const CONTINUOUS: Shape<'static> =
        Shape { discontinuous: false, above_words: 2, above_nodes: 2, ..SMALL };

    #[test]
    fn every_small_tree_has_one_derivation_and_nothing_else_is_built() {
        for max_unary in 0..=2 {
            let shape = Shape { above_words: max_unary, above_nodes: max_unary, ..CONTINUOUS };
            let system = BottomUp::with_labels(["A"], ["X:"], ["ROOT"], max_unary as u32);
            for n in 1..=if max_unary == 2 { 3 } else { 4 } {
                // Without unaries in the treebank, one word still gets its constituent.
                let shape = if n == 1 { Shape { above_words: max_unary.max(1), ..shape } } else { shape };
                let trees = every_tree(n, shape);
                trees.iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, n));
                let mut built = FxHashSet::default();
                let mut longest = 0;
                laws::every_walk(&system, n, |forest, state, walk| {
                    longest = longest.max(walk.len());
                    if system.is_final(forest, state) {
                        let tree = system.tree(forest, state);
                        assert_eq!(system.derive(&tree).as_deref(), Ok(walk));
                        assert!(built.insert(format!("{tree:?}")));
                    }
                    true
                });
                assert_eq!(longest, system.max_steps(n), "the bound is met");
                assert_eq!(built.len(), trees.len(), "{n} words, chains of {max_unary}");
            }
        }
    }

    #[test]
    fn random_walks_obey_the_laws() {
        let system = BottomUp::with_labels(["A", "S"], ["X:", "S:<A>"], ["ROOT", "S"], 2);
        (1..=10).for_each(|n| {
            laws::random_walks(&system, n, 60, n as u64, true, |t| assert_eq!(t.n_tokens(), n));
        });
        let flat = BottomUp::with_labels([], ["S:"], ["S"], 0);
        (1..=10).for_each(|n| laws::random_walks(&flat, n, 60, n as u64, false, |_| {}));
    }

    #[test]
    fn limits_come_from_the_treebank() {
        let trees: Vec<BinaryTree> = (1..=3).flat_map(|n| every_tree(n, CONTINUOUS)).collect();
        let system = BottomUp::from_trees(trees.iter(), &SystemOptions::default());
        assert_eq!(system, BottomUp::with_labels(["A"], ["X:"], ["ROOT"], 2));
        let short = BottomUp { max_unary: 1, ..system };
        let n_too_long = trees.iter().filter(|tree| short.derive(tree).is_err()).count();
        let fits = Shape { above_words: 1, above_nodes: 1, ..CONTINUOUS };
        let n_fitting: usize = (1..=3).map(|n| every_tree(n, fits).len()).sum();
        assert_eq!(trees.len() - n_too_long, n_fitting);
        let gapped =
            every_tree(3, SMALL).into_iter().find(|tree| tree.nodes().any(|(_, n)| n.is_discontinuous()));
        let why = short.derive(&gapped.unwrap()).unwrap_err();
        assert!(why.0.contains("(from word 1 to word 3) is discontinuous"), "{why}");
    }

    #[test]
    fn a_system_survives_serde_and_its_actions_their_names() {
        let system = BottomUp::with_labels(["A"], ["X:"], ["ROOT"], 2);
        let text = serde_json::to_string(&system).unwrap();
        assert_eq!(serde_json::from_str::<BottomUp>(&text).unwrap(), system);
        let ids: Vec<ActionId> = (0..system.n_actions()).map(ActionId::new).collect();
        assert_eq!(
            laws::names(&system, &ids),
            "SHIFT FINISH IDLE U-REDUCE-ROOT U-REDUCE-A B-REDUCE-L-ROOT B-REDUCE-L-A B-REDUCE-L-X: \
             B-REDUCE-R-ROOT B-REDUCE-R-A B-REDUCE-R-X:"
        );
        ids.iter().for_each(|&id| assert_eq!(system.id_of(system.action_of(id)), id));
    }
}
