//! SR-CGAP: SR-GAP with derivations of exactly 4n - 2 actions (Coavoux and Crabbé 2017, section 2.4).
//!
//! Every shift is followed by a unary or ghost reduction, and every binary reduction follows one GAP-i, which stands
//! for i gaps. The view is that of SR-GAP: `stack` is S, `deque_top` is d0 and `deque` the items passed over.
//!
//! i is at most the longest run of gaps in the treebank, so the system is not complete. Deviations from table 7, on
//! top of those of SR-GAP: GAP-i must reach an item that d0 can be reduced with (they are not both temporaries), and
//! a temporary made when no word is left needs an item within reach that is not one; otherwise there are dead ends.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};
use crate::sentence::Sentence;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::binary::{Move, SymbolSets, Symbols, gap_moves, is_solid};
use crate::tree::Underivable;
use crate::tree::{BinaryTree, Side, Unaries};

/// The transition system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SrCgap {
    symbols: Symbols,
    /// The longest run of gaps in the treebank.
    max_gaps: u32,
}

/// The actions, in the order of their ids: SH, GHOST, GAP-0 .. GAP-m, RU by label, RR by symbol, RL by symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// **Legal** while words are left, after a unary, ghost or binary reduction, or at the start.
    /// **Effect** puts d0 on S and the next word on D.
    Shift,
    /// **Legal** directly after SH, if the sentence has several words. **Effect** none.
    Ghost,
    /// **Legal** where SH is, words left or not, when S has more than i items and the one below them, which becomes
    /// s0, and d0 are not both temporaries. **Effect** moves i items from S to D.
    Gap(u32),
    /// **Legal** directly after SH. X is an axiom if the sentence has one word, else a label seen inside trees.
    /// **Effect** puts X over d0.
    Unary(LabelId),
    /// **Legal** directly after GAP-i, if s0 is not a temporary. X is an axiom in the last reduction, elsewhere a
    /// label seen inside trees, or a temporary, if words are left or GAP-i can then reach an item that is not one.
    /// **Effect** replaces s0 and d0 by X, whose head is d0's, on a D whose other items are flushed to S.
    Right(LabelId),
    /// **Legal** as RR, but d0 must not be a temporary. **Effect** as RR, but the head is s0's.
    Left(LabelId),
}

/// What must come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A unary or ghost reduction.
    Unary,
    /// SH or GAP-i.
    Free,
    /// A binary reduction.
    Binary,
}

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct State {
    d0: Option<NodeId>,
    /// The top of the whole stack, without d0.
    top: Option<CellId>,
    /// The top of S: `n_gaps` cells below `top`.
    split: Option<CellId>,
    n_gaps: u32,
    next: TokenIdx,
    phase: Phase,
    past: Option<StepId>,
}

const SHIFT: usize = 0;
const GHOST: usize = 1;
const GAP: usize = 2;

impl SrCgap {
    /// A system for labels that may stand inside trees, temporaries written `X:`, axioms (labels of roots), and the
    /// longest run of gaps.
    pub fn with_labels<'a>(
        labels: impl IntoIterator<Item = &'a str>,
        temporaries: impl IntoIterator<Item = &'a str>,
        axioms: impl IntoIterator<Item = &'a str>,
        max_gaps: u32,
    ) -> Self {
        SrCgap { symbols: Symbols::new(labels, temporaries, axioms), max_gaps }
    }

    /// The labels and temporaries.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn first_unary(&self) -> usize {
        GAP + self.max_gaps as usize + 1
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
            GHOST => Action::Ghost,
            _ if id < unary => Action::Gap((id - GAP) as u32),
            _ if id < right => Action::Unary(LabelId::new(id - unary)),
            _ if id < left => Action::Right(LabelId::new(id - right)),
            _ => Action::Left(LabelId::new(id - left)),
        }
    }

    /// The id of an action.
    pub fn id_of(&self, action: Action) -> ActionId {
        ActionId::new(match action {
            Action::Shift => SHIFT,
            Action::Ghost => GHOST,
            Action::Gap(i) => GAP + i as usize,
            Action::Unary(label) => self.first_unary() + label.index(),
            Action::Right(label) => self.first_right() + label.index(),
            Action::Left(label) => self.first_left() + label.index(),
        })
    }

    /// The items that GAP-i can reach, nearest first, without the one in the cell `but`.
    fn within_reach<'a>(
        &self,
        forest: &'a Forest,
        top: Option<CellId>,
        but: Option<CellId>,
    ) -> impl Iterator<Item = NodeId> + use<'a> {
        let mut at = top;
        let cells = std::iter::from_fn(move || {
            let cell = at?;
            at = forest.cell(cell).below;
            Some(cell)
        });
        let reach = self.max_gaps as usize + 1;
        cells.filter(move |&cell| Some(cell) != but).take(reach).map(|cell| forest.cell(cell).node)
    }
}

impl TransitionSystem for SrCgap {
    type Tree = BinaryTree;
    type State = State;
    const UNARIES: Unaries = Unaries::AboveWords;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut sets = SymbolSets::default();
        let mut max_gaps = 0;
        for tree in trees {
            sets.add(tree);
            for step in gap_moves(tree).unwrap_or_default() {
                if let Move::Binary { skipped, .. } = step {
                    max_gaps = max_gaps.max(skipped);
                }
            }
        }
        SrCgap { symbols: sets.finish(), max_gaps }
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
            Action::Ghost => "GHOST".to_owned(),
            Action::Gap(i) => format!("GAP-{i}"),
            Action::Unary(label) => format!("RU-{}", self.symbols.name(label)),
            Action::Right(label) => format!("RR-{}", self.symbols.name(label)),
            Action::Left(label) => format!("RL-{}", self.symbols.name(label)),
        }
    }

    fn start(&self, forest: &mut Forest, sentence: &Sentence) -> State {
        forest.start(sentence.tokens.len(), false);
        let next = TokenIdx::new(0);
        State { d0: None, top: None, split: None, n_gaps: 0, next, phase: Phase::Free, past: None }
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        state.next.index() == forest.n_tokens() && state.top.is_none() && state.phase == Phase::Free
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        out.reset(self.n_actions());
        let words_left = state.next.index() < forest.n_tokens();
        match (state.phase, state.d0) {
            (Phase::Unary, _) => {
                let is_alone = forest.n_tokens() == 1;
                if !is_alone {
                    out.insert(ActionId::new(GHOST));
                }
                let labels = if is_alone { self.symbols.roots() } else { self.symbols.inner() };
                out.insert_range(self.first_unary() + labels.start, self.first_unary() + labels.end);
            }
            (Phase::Free, d0) => {
                if words_left {
                    out.insert(ActionId::new(SHIFT));
                }
                let Some(d0) = d0 else { return };
                let solid_d0 = is_solid(forest, d0);
                for (i, s0) in self.within_reach(forest, state.top, None).enumerate() {
                    if solid_d0 || is_solid(forest, s0) {
                        out.insert(ActionId::new(GAP + i));
                    }
                }
            }
            (Phase::Binary, d0) => {
                let split = state.split.expect("GAP-i leaves an item in S");
                let solid_s0 = is_solid(forest, forest.cell(split).node);
                let solid_d0 = d0.is_some_and(|d0| is_solid(forest, d0));
                let mut reductions = |labels: Range<usize>| {
                    if solid_s0 {
                        out.insert_range(self.first_right() + labels.start, self.first_right() + labels.end);
                    }
                    if solid_d0 {
                        out.insert_range(self.first_left() + labels.start, self.first_left() + labels.end);
                    }
                };
                let is_last = !words_left && forest.depth(state.top) == 1;
                let labels = if is_last { self.symbols.roots() } else { self.symbols.inner() };
                let is_stuck = labels.is_empty();
                reductions(labels);
                let mut left_over = self.within_reach(forest, state.top, Some(split));
                if words_left || left_over.any(|node| is_solid(forest, node)) {
                    reductions(self.symbols.temporaries());
                }
                if is_stuck && out.is_empty() {
                    // No label was seen inside trees: axioms stand in for them where nothing else is legal.
                    for (first, is_free) in [(self.first_right(), solid_s0), (self.first_left(), solid_d0)] {
                        if is_free {
                            out.insert_range(first, first + self.symbols.roots().end);
                        }
                    }
                }
            }
        }
        if self.is_final(forest, state) {
            out.reset(self.n_actions());
        }
    }

    fn apply(&self, forest: &mut Forest, state: &State, action: ActionId) -> State {
        let past = Some(forest.push_step(action, state.past));
        let (label, side) = match self.action_of(action) {
            Action::Shift => {
                let top = match state.d0 {
                    Some(d0) => Some(forest.push_cell(d0, state.top)),
                    None => state.top,
                };
                return State {
                    d0: Some(forest.leaf(state.next)),
                    top,
                    split: top,
                    n_gaps: 0,
                    next: TokenIdx::new(state.next.index() + 1),
                    phase: Phase::Unary,
                    past,
                };
            }
            Action::Ghost => return State { phase: Phase::Free, past, ..*state },
            Action::Gap(n_gaps) => {
                let mut split = state.split;
                for _ in 0..n_gaps {
                    split = forest.cell(split.expect("GAP-i needs more than i items in S")).below;
                }
                return State { split, n_gaps, phase: Phase::Binary, past, ..*state };
            }
            Action::Unary(label) => {
                let d0 = state.d0.expect("RU needs an item in D");
                let head = forest.node(d0).head;
                let d0 = forest.push_constituent(Kind::Constituent, label, head, &[d0]);
                return State { d0: Some(d0), phase: Phase::Free, past, ..*state };
            }
            Action::Right(label) => (label, Side::Right),
            Action::Left(label) => (label, Side::Left),
        };
        let split = *forest.cell(state.split.expect("a reduction needs an item in S"));
        let children = [split.node, state.d0.expect("a reduction needs an item in D")];
        let mut top = split.below;
        if state.n_gaps > 0 {
            let passed: Vec<NodeId> = forest.chain(state.top).take(state.n_gaps as usize).collect();
            for &node in passed.iter().rev() {
                top = Some(forest.push_cell(node, top));
            }
        }
        let head = forest.node(children[usize::from(side == Side::Right)]).head;
        let d0 = forest.push_constituent(self.symbols.kind(label), label, head, &children);
        State { d0: Some(d0), top, split: top, n_gaps: 0, phase: Phase::Free, past, ..*state }
    }

    fn view(&self, state: &State) -> View {
        View {
            stack: state.split,
            deque_top: state.d0,
            deque: state.top,
            n_deque: state.n_gaps,
            buffer: None,
            next: state.next,
            past: state.past,
        }
    }

    fn tree(&self, forest: &Forest, state: &State) -> BinaryTree {
        self.symbols.tree(forest, state.d0.expect("a final state has a tree"))
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        let mut actions = Vec::with_capacity(4 * gold.n_tokens());
        let moves = gap_moves(gold)?;
        for (i, &step) in moves.iter().enumerate() {
            let symbol = |node| self.symbols.of(gold.node(node), node == gold.root());
            match step {
                Move::Shift => {
                    actions.push(ActionId::new(SHIFT));
                    if !matches!(moves.get(i + 1), Some(Move::Unary(_))) {
                        actions.push(ActionId::new(GHOST));
                    }
                }
                Move::Unary(node) => actions.push(self.id_of(Action::Unary(symbol(node)?))),
                Move::Binary { node, skipped, head } => {
                    if skipped > self.max_gaps {
                        let (label, most) = (gold.node(node).symbol(), self.max_gaps);
                        let why = format!("{label} needs {skipped} gaps in a row, more than {most}");
                        return Err(Underivable(why));
                    }
                    actions.push(self.id_of(Action::Gap(skipped)));
                    let symbol = symbol(node)?;
                    let reduce =
                        if head == Side::Left { Action::Left(symbol) } else { Action::Right(symbol) };
                    actions.push(self.id_of(reduce));
                }
            }
        }
        Ok(actions)
    }

    fn check_tables(&self) -> Result<(), String> {
        self.symbols.check()?;
        check_limit("max_gaps", Some(self.max_gaps), 0)
    }

    /// n shifts, n unary or ghost reductions, n - 1 compound gaps and n - 1 reductions.
    fn max_steps(&self, n_tokens: usize) -> usize {
        (4 * n_tokens).saturating_sub(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws;
    use crate::rng::Rng;
    use crate::systems::binary::samples::{SMALL, Shape, every_tree, random_tree};

    fn small(max_gaps: u32) -> SrCgap {
        SrCgap::with_labels(["A"], ["X:"], ["ROOT"], max_gaps)
    }

    #[track_caller]
    fn check_walks(system: &SrCgap, n: usize) -> usize {
        let mut count = 0;
        laws::every_walk(system, n, |forest, state, walk| {
            if system.is_final(forest, state) {
                assert_eq!(walk.len(), 4 * n - 2);
                assert_eq!(system.derive(&system.tree(forest, state)).as_deref(), Ok(walk));
                count += 1;
            }
            true
        });
        count
    }

    #[test]
    fn with_enough_gaps_it_builds_what_sr_gap_builds_in_4n_minus_2_actions() {
        for (n, expected) in [(1, 1), (2, 8), (3, 144), (4, 4224)] {
            let system = small(n as u32);
            assert_eq!(check_walks(&system, n), expected);
            every_tree(n, SMALL).iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, n));
        }
    }

    #[test]
    fn with_few_gaps_it_builds_the_trees_that_need_no_more_and_has_no_dead_ends() {
        for max_gaps in 0..=1 {
            let system = small(max_gaps);
            for n in 1..=4 {
                let trees = every_tree(n, SMALL);
                let n_derivable = trees.iter().filter(|tree| system.derive(tree).is_ok()).count();
                assert_eq!(check_walks(&system, n), n_derivable, "{n} words, {max_gaps} gaps");
            }
            for n in 5..=12 {
                laws::random_walks(&system, n, 100, n as u64, true, |tree| assert_eq!(tree.n_tokens(), n));
            }
        }
        let flat = SrCgap::with_labels([], ["S:"], ["S"], 1);
        (1..=9).for_each(|n| laws::random_walks(&flat, n, 100, 4, false, |_| {}));
    }

    #[test]
    fn the_longest_run_of_gaps_comes_from_the_treebank() {
        let mut rng = Rng::new(2);
        let shape = Shape { inner: &["A", "ROOT"], ..SMALL };
        let trees: Vec<BinaryTree> = (1..=12).map(|n| random_tree(&mut rng, n, shape)).collect();
        let system = SrCgap::from_trees(trees.iter(), &SystemOptions::default());
        trees.iter().for_each(|tree| laws::derivation_rebuilds(&system, tree, tree.n_tokens()));
        let fewer = SrCgap { max_gaps: system.max_gaps - 1, ..system };
        let why = trees.iter().find_map(|tree| fewer.derive(tree).err()).unwrap();
        assert!(why.0.contains("gaps in a row"), "{why}");
    }

    #[test]
    fn a_system_survives_serde_and_its_actions_their_names() {
        let system = small(1);
        let text = serde_json::to_string(&system).unwrap();
        assert_eq!(serde_json::from_str::<SrCgap>(&text).unwrap(), system);
        let ids: Vec<ActionId> = (0..system.n_actions()).map(ActionId::new).collect();
        let names = "SH GHOST GAP-0 GAP-1 RU-ROOT RU-A RR-ROOT RR-A RR-X: RL-ROOT RL-A RL-X:";
        assert_eq!(laws::names(&system, &ids), names);
        ids.iter().for_each(|&id| assert_eq!(system.id_of(system.action_of(id)), id));
    }
}
