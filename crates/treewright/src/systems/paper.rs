//! The loss of Fernández-González and Gómez-Rodríguez (2018), section 3, as printed: for comparison.
//!
//! It is |U| + |γ \ γ_G| + |α \ α_G| + out-of-order: gold constituents that are not *individually* reachable, built
//! constituents that are not gold, openings that are not gold, and openings outside the longest subsequence that is in
//! gold order. An opening is known by its label and an index: b0 at the time it was pushed. The text proves it to be
//! the true loss; exhaustive search finds that it is not (both too low and too high, see the tests), so the exact
//! oracles of the two systems count differently. Equal constituents and openings are told apart by number, as in
//! the paper's second footnote, that is, all sets are multisets.

use std::sync::Arc;

use crate::forest::{Forest, Kind, View};
use crate::ids::{ActionId, LabelId};
use crate::oracle::{Oracle, losses_after};
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::gold::{self, Gold};
use crate::systems::{Labels, in_order, top_down};
use crate::tree::{ConstituentTree, Underivable};

/// What the printed loss needs to know about its two systems.
pub trait OpeningSystem: TransitionSystem<Tree = ConstituentTree> {
    /// Are non-terminals opened after their first child?
    const AFTER_FIRST_CHILD: bool;

    /// Its labels.
    fn label_table(&self) -> &Labels;

    /// The label of the constituent that the action opens, if it opens one.
    fn opened(&self, action: ActionId) -> Option<LabelId>;

    /// Does the action build a constituent?
    fn is_reduce(&self, action: ActionId) -> bool;
}

macro_rules! opening_system {
    ($module:ident::$system:ident, after_first_child $after_first_child:literal) => {
        impl OpeningSystem for $module::$system {
            const AFTER_FIRST_CHILD: bool = $after_first_child;

            fn label_table(&self) -> &Labels {
                &self.table.labels
            }

            fn opened(&self, action: ActionId) -> Option<LabelId> {
                match self.actions().get(action) {
                    $module::Action::Open(label) => Some(label),
                    _ => None,
                }
            }

            fn is_reduce(&self, action: ActionId) -> bool {
                self.actions().get(action) == $module::Action::Reduce
            }
        }
    };
}

opening_system!(top_down::TopDown, after_first_child false);
opening_system!(in_order::InOrder, after_first_child true);

/// The dynamic oracle with the printed loss: the actions that do not raise it or, if every action does, those that
/// raise it least.
#[derive(Clone, Debug)]
pub struct PaperOracle {
    /// Gold constituents in the order in which the gold derivation opens them.
    gold: Arc<[Gold]>,
    /// Which of them were built.
    is_built: Vec<bool>,
    n_wrong: u32,
}

/// A label and the index of its opening.
type Opening = (LabelId, u32);

impl PaperOracle {
    /// The index of a gold constituent's opening.
    fn index<S: OpeningSystem>(gold: &Gold) -> u32 {
        if S::AFTER_FIRST_CHILD { gold.first_end } else { gold.left }
    }

    fn count<S: OpeningSystem>(&self, forest: &Forest, view: &View) -> u32 {
        let next = view.next.index() as u32;
        let mut openings: Vec<Opening> = Vec::new();
        let mut items: Vec<(u32, u32)> = Vec::new();
        for id in forest.chain(view.stack) {
            let node = forest.node(id);
            match (node.kind, node.label) {
                (Kind::Opening, Some(label)) => openings.push((label, node.head.index() as u32)),
                _ => items.push((node.left.index() as u32, node.right.index() as u32)),
            }
        }
        openings.reverse();
        let index = Self::index::<S>;
        // The first unbuilt gold constituents of an opening's kind are the ones that are open.
        let mut unused = openings.clone();
        let mut is_open = |g: &Gold| {
            let place = unused.iter().position(|&opening| opening == (g.label, index(g)));
            place.map(|place| unused.swap_remove(place)).is_some()
        };
        let mut n_unreachable = 0;
        for (g, _) in self.gold.iter().zip(&self.is_built).filter(|(_, is_built)| !**is_built) {
            let is_open = is_open(g);
            let is_reachable = g.left >= next
                || g.right >= next
                    && if S::AFTER_FIRST_CHILD {
                        items.iter().any(|&(left, right)| left == g.left && (!is_open || right == index(g)))
                    } else {
                        is_open
                    };
            n_unreachable += u32::from(!is_reachable);
        }
        // Openings by their place in the gold derivation; the k-th equal one is the k-th in gold.
        let mut places: Vec<usize> = Vec::new();
        for (i, opening) in openings.iter().enumerate() {
            let rank = openings[..i].iter().filter(|&other| other == opening).count();
            let mut same =
                (0..self.gold.len()).filter(|&k| (self.gold[k].label, index(&self.gold[k])) == *opening);
            places.extend(same.nth(rank));
        }
        let n_not_gold = (openings.len() - places.len()) as u32;
        let n_out_of_order = (places.len() - longest_increasing(&places)) as u32;
        n_unreachable + self.n_wrong + n_not_gold + n_out_of_order
    }
}

/// The length of the longest increasing subsequence (Fredman 1975).
fn longest_increasing(values: &[usize]) -> usize {
    // The least value that ends an increasing subsequence of each length.
    let mut tails: Vec<usize> = Vec::new();
    for &value in values {
        let place = tails.partition_point(|&tail| tail < value);
        match tails.get_mut(place) {
            Some(tail) => *tail = value,
            None => tails.push(value),
        }
    }
    tails.len()
}

impl<S: OpeningSystem> Oracle<S> for PaperOracle {
    fn for_gold(system: &S, gold: &ConstituentTree) -> Result<Self, Underivable> {
        system.derive(gold)?;
        let mut constituents = gold::constituents(system.label_table(), gold)?;
        if S::AFTER_FIRST_CHILD {
            // By the end of the first child; a constituent is opened after the openings inside that child. The list
            // is in post-order, and sorting keeps it for equal keys.
            constituents.sort_by_key(|g| g.first_end);
        } else {
            // Pre-order: of those that start together the largest first, and of equal spans the last in post-order.
            constituents.reverse();
            constituents.sort_by_key(|g| (g.left, std::cmp::Reverse(g.right)));
        }
        let is_built = vec![false; constituents.len()];
        Ok(PaperOracle { gold: constituents.into(), is_built, n_wrong: 0 })
    }

    fn loss(&mut self, system: &S, forest: &Forest, state: &S::State) -> Option<u32> {
        Some(self.count::<S>(forest, &system.view(state)))
    }

    fn optimal(
        &mut self,
        system: &S,
        forest: &mut Forest,
        state: &S::State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.reset(system.n_actions());
        let now = self.loss(system, forest, state).expect("defined everywhere");
        let next = system.view(state).next.index() as u32;
        let is_gold = |g: &Gold, label| g.label == label && Self::index::<S>(g) == next;
        let gold = self.gold.clone();
        // Openings that are not gold here all have the same loss.
        let is_wrong =
            |action| system.opened(action).is_some_and(|label| !gold.iter().any(|g| is_gold(g, label)));
        let losses = losses_after(legal, is_wrong, |action| self.loss_after(system, forest, state, action));
        let least = losses.iter().map(|&(_, loss)| loss).min().unwrap_or(now);
        for (action, _) in losses.into_iter().filter(|&(_, loss)| loss <= now.max(least)) {
            out.insert(action);
        }
    }

    fn advance(&mut self, system: &S, forest: &Forest, state: &S::State, action: ActionId) {
        if !system.is_reduce(action) {
            return;
        }
        let view = system.view(state);
        let mut below = forest.chain(view.stack).skip_while(|&id| forest.node(id).kind != Kind::Opening);
        let opening = *forest.node(below.next().expect("RE is legal only with an opening"));
        // In-order, the opening's own left is that of the item below it; top-down it is where it was pushed.
        let (left, right) = (opening.left.index() as u32, view.next.index() as u32);
        let built = (0..self.gold.len()).find(|&i| {
            let g = &self.gold[i];
            !self.is_built[i] && (g.left, g.right, Some(g.label)) == (left, right, opening.label)
        });
        match built {
            Some(i) => self.is_built[i] = true,
            None => self.n_wrong += 1,
        }
    }
}
