//! SR-CGAP: SR-GAP with derivations of exactly 4n - 2 actions (Coavoux and Crabbé 2017, section 2.4).
//!
//! Every shift is followed by a unary or ghost reduction, and every binary reduction follows one GAP-i, which stands
//! for i gaps. The view is that of SR-GAP: `stack` is S, `deque_top` is d0 and `deque` the items passed over.
//!
//! i is at most the longest run of gaps in the treebank, so the system is not complete. Deviations from table 7, on
//! top of those of SR-GAP: GAP-i must reach an item that d0 can be reduced with (they are not both temporaries), and
//! a temporary made when no word is left needs an item within reach that is not one; otherwise there are dead ends.

use serde::{Deserialize, Serialize};

use crate::forest::Forest;
use crate::ids::{ActionId, CellId, LabelId, NodeId};
use crate::system::actions::{Actions, actions};
use crate::system::configuration::Configuration;
use crate::system::{ActionSet, SystemOptions, TransitionSystem, check_limit};
use crate::systems::binary::{Move, SymbolSets, Symbols, gap_moves, is_solid};
use crate::systems::labels::builds;
use crate::tree::{BinaryTree, Side, Unaries, Underivable};

/// The transition system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SrCgap {
    symbols: Symbols,
    /// The longest run of gaps in the treebank.
    max_gaps: u32,
}

actions! {
    /// **Legal** while words are left, after a unary, ghost or binary reduction, or at the start.
    /// **Effect** puts d0 on S and the next word on D.
    Shift = "SH",
    /// **Legal** directly after SH, if the sentence has several words. **Effect** none.
    Ghost = "GHOST",
    /// **Legal** where SH is, words left or not, when S has more than i items and the one below them, which becomes
    /// s0, and d0 are not both temporaries. **Effect** moves i items from S to D.
    Gap(count: u32) = "GAP-{count}",
    /// **Legal** directly after SH. X is an axiom if the sentence has one word, else a label seen inside trees.
    /// **Effect** puts X over d0.
    Unary(label: LabelId) = "RU-{label}",
    /// **Legal** directly after GAP-i, if s0 is not a temporary. X is an axiom in the last reduction, elsewhere a
    /// label seen inside trees, or a temporary, if words are left or GAP-i can then reach an item that is not one.
    /// **Effect** replaces s0 and d0 by X, whose head is d0's, on a D whose other items are flushed to S.
    Right(label: LabelId) = "RR-{label}",
    /// **Legal** as RR, but d0 must not be a temporary. **Effect** as RR, but the head is s0's.
    Left(label: LabelId) = "RL-{label}",
}

/// What must come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// A unary or ghost reduction.
    Unary,
    /// SH or GAP-i.
    #[default]
    Free,
    /// A binary reduction.
    Binary,
}

/// One configuration.
pub type State = Configuration<Phase>;

impl SrCgap {
    /// A system for these labels and temporaries, and the longest run of gaps.
    pub fn new(symbols: Symbols, max_gaps: u32) -> Self {
        SrCgap { symbols, max_gaps }
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
    builds!(BinaryTree, labels symbols, root d0);

    const UNARIES: Unaries = Unaries::AboveWords;

    fn from_trees<'a>(trees: impl Iterator<Item = &'a BinaryTree>, _options: &SystemOptions) -> Self {
        let mut max_gaps = 0;
        let symbols = SymbolSets::of(trees, |tree| {
            for step in gap_moves(tree).unwrap_or_default() {
                if let Move::Binary { skipped, .. } = step {
                    max_gaps = max_gaps.max(skipped);
                }
            }
        });
        SrCgap { symbols, max_gaps }
    }

    #[inline]
    fn actions(&self) -> Actions<Action> {
        let (n_labels, n_symbols) = (self.symbols.labels().len(), self.symbols.len());
        Actions::new([1, 1, self.max_gaps as usize + 1, n_labels, n_symbols, n_symbols])
    }

    fn is_final(&self, forest: &Forest, state: &State) -> bool {
        !state.words_left(forest) && state.stack.is_none() && state.own == Phase::Free
    }

    fn legal(&self, forest: &Forest, state: &State, out: &mut ActionSet) {
        let actions = self.actions().clear(out);
        if self.is_final(forest, state) {
            return;
        }
        let words_left = state.words_left(forest);
        match (state.own, state.d0) {
            (Phase::Unary, _) => {
                if forest.n_tokens() > 1 {
                    out.insert(actions.id(Action::Ghost));
                }
                actions.allow(Action::Unary, self.symbols.above_words(forest), out);
            }
            (Phase::Free, d0) => {
                if words_left {
                    out.insert(actions.id(Action::Shift));
                }
                let Some(d0) = d0 else { return };
                let solid_d0 = is_solid(forest, d0);
                for (count, s0) in (0..).zip(self.within_reach(forest, state.stack, None)) {
                    if solid_d0 || is_solid(forest, s0) {
                        out.insert(actions.id(Action::Gap(count)));
                    }
                }
            }
            (Phase::Binary, d0) => {
                let (s0, stack) = (state.s0(forest), state.whole_stack());
                let [solid_s0, solid_d0] =
                    [s0, d0].map(|item| item.is_some_and(|item| is_solid(forest, item)));
                let is_last = !words_left && forest.depth(stack) == 1;
                let labels = if is_last { self.symbols.roots() } else { self.symbols.inner() };
                let mut left_over = self.within_reach(forest, stack, state.stack);
                let may_be_temporary = words_left || left_over.any(|node| is_solid(forest, node));
                let kinds = [(Action::Right as _, solid_s0), (Action::Left as _, solid_d0)];
                self.symbols.allow_reductions(&actions, kinds, &[labels], may_be_temporary, out);
            }
        }
    }

    fn act(&self, forest: &mut Forest, state: &mut State, action: Action) {
        state.own = Phase::Free;
        match action {
            Action::Shift => {
                state.shift_to_d0(forest);
                state.own = Phase::Unary;
            }
            Action::Ghost => {}
            Action::Gap(count) => {
                (0..count).for_each(|_| state.gap(forest));
                state.own = Phase::Binary;
            }
            Action::Unary(label) => state.reduce_unary(forest, label),
            Action::Right(label) => state.reduce(forest, &self.symbols, label, Side::Right),
            Action::Left(label) => state.reduce(forest, &self.symbols, label, Side::Left),
        }
    }

    fn derive(&self, gold: &BinaryTree) -> Result<Vec<ActionId>, Underivable> {
        let mut actions = Vec::with_capacity(4 * gold.n_tokens());
        let (table, moves) = (self.actions(), gap_moves(gold)?);
        for (i, &step) in moves.iter().enumerate() {
            match step {
                Move::Shift => {
                    actions.push(table.id(Action::Shift));
                    if !matches!(moves.get(i + 1), Some(Move::Unary(_))) {
                        actions.push(table.id(Action::Ghost));
                    }
                }
                Move::Unary(node) => actions.push(table.id(Action::Unary(self.symbols.of(gold, node)?))),
                Move::Binary { node, skipped, head } => {
                    if skipped > self.max_gaps {
                        let (label, most) = (gold.node(node).symbol(), self.max_gaps);
                        let why = format!("{label} needs {skipped} gaps in a row, more than {most}");
                        return Err(Underivable(why));
                    }
                    actions.push(table.id(Action::Gap(skipped)));
                    let symbol = self.symbols.of(gold, node)?;
                    let reduce =
                        if head == Side::Left { Action::Left(symbol) } else { Action::Right(symbol) };
                    actions.push(table.id(reduce));
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
    use crate::laws::{self, Finished, Walks};
    use crate::systems::binary::samples::{
        SMALL, check_names, every_tree, flat_symbols, golds, random_trees, small_symbols, with_own_system,
    };

    fn small(max_gaps: u32) -> SrCgap {
        SrCgap::new(small_symbols(), max_gaps)
    }

    struct Examples;

    impl laws::Fixture for Examples {
        type System = SrCgap;

        fn golds() -> Vec<(SrCgap, Vec<BinaryTree>)> {
            golds(small(4))
        }

        fn random_walks() -> Vec<Walks<SrCgap>> {
            vec![
                Walks::random(small(0), 5..=12, 100, true),
                Walks::random(small(1), 5..=12, 100, true),
                Walks::random(SrCgap::new(flat_symbols(), 1), 1..=9, 100, false),
            ]
        }
    }

    laws::suite!(Examples);

    /// Every walk has 4n - 2 steps.
    #[track_caller]
    fn check_walks(system: &SrCgap, n: usize, count: usize) {
        let found = laws::finished_walks(system, n, true, |_, _| ());
        assert_eq!(found, Finished { count, shortest: 4 * n - 2, longest: 4 * n - 2 });
    }

    #[test]
    fn with_enough_gaps_it_builds_what_sr_gap_builds() {
        for (n, expected) in [(1, 1), (2, 8), (3, 144), (4, 4224)] {
            check_walks(&small(n as u32), n, expected);
        }
    }

    #[test]
    fn with_few_gaps_it_builds_the_trees_that_need_no_more() {
        for max_gaps in 0..=1 {
            let system = small(max_gaps);
            for n in 1..=4 {
                let trees = every_tree(n, SMALL);
                check_walks(&system, n, trees.iter().filter(|tree| system.derive(tree).is_ok()).count());
            }
        }
    }

    #[test]
    fn the_longest_run_of_gaps_comes_from_the_treebank() {
        let (system, trees) = with_own_system::<SrCgap>(random_trees());
        let fewer = SrCgap { max_gaps: system.max_gaps - 1, ..system };
        let why = trees.iter().find_map(|tree| fewer.derive(tree).err()).unwrap();
        assert!(why.0.contains("gaps in a row"), "{why}");
    }

    #[test]
    fn the_names_of_its_actions() {
        let names = "SH GHOST GAP-0 GAP-1 RU-ROOT RU-A RR-ROOT RR-A RR-X: RL-ROOT RL-A RL-X:";
        check_names(&small(1), names);
    }
}
