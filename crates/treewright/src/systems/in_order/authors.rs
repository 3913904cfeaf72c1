//! The in-order oracle as the program behind paper 000 computes it, which is not what the paper prints.
//!
//! Openings and constituents carry an *ordinal*: the k-th opening of X in a derivation is (X, k), and so is the constituent
//! that it becomes. An opening is gold if the gold derivation opens (X, k) in front of the same word. The value of an action
//! is the number of gold constituents that count as reachable after it (R), less 1 if it builds a constituent that, with its
//! ordinal, is not gold, less 1 if it is an opening that is not gold. The optimal actions are those of the highest value.
//!
//! Reachable are gold constituents that are built; that start at b0 or later; that are open, above an item with their start,
//! with all openings of the stack in gold order around them; or that can still be opened above an item with their start
//! that is on top or has an opening directly above it, after all openings of the stack in gold order. An opening that is not
//! gold comes neither before nor after any other, so while it is on the stack only built constituents and those ahead count.
//!
//! The ordinals lose track of every later X once one X was missed or made up.

use std::sync::Arc;

use crate::forest::{Forest, Kind};
use crate::ids::{ActionId, LabelId};
use crate::oracle::{Oracle, losses_after};
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::gold::{self, Gold};
use crate::systems::in_order::{Action, InOrder, State};
use crate::tree::{ConstituentTree, Underivable};

/// The oracle of the authors' program.
#[derive(Clone, Debug)]
pub struct AuthorsOracle {
    /// Gold constituents in the order in which the gold derivation opens them.
    gold: Arc<[Gold]>,
    is_built: Vec<bool>,
    /// How often each label was opened.
    n_opened: Vec<u32>,
    /// For each opening on the stack, from the bottom, its place in gold order, if it is gold.
    open: Vec<Option<usize>>,
}

/// What is on the stack, from the bottom.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// A word or constituent that starts here.
    From(u32),
    /// An opening, with its place in gold order, if it is gold.
    Opening(Option<usize>),
}

impl AuthorsOracle {
    /// The place in gold order of the next opening of a label in front of word `next`, if it is gold.
    fn find(&self, label: LabelId, next: u32) -> Option<usize> {
        let same = self.gold.iter().enumerate().filter(|(_, gold)| gold.label == label);
        let (place, gold) = { same }.nth(self.n_opened[label.index()] as usize)?;
        (gold.first_end == next).then_some(place)
    }

    fn stack(&self, forest: &Forest, state: &State) -> Vec<Item> {
        let mut open = self.open.iter().rev();
        let item = |id| match forest.node(id) {
            node if node.kind == Kind::Opening => {
                Item::Opening(*open.next().expect("every opening was advanced over"))
            }
            node => Item::From(node.left.index() as u32),
        };
        let mut stack: Vec<Item> = forest.chain(state.stack).map(item).collect();
        stack.reverse();
        stack
    }

    /// How many gold constituents count as out of reach with this stack, when b0 is at `next`; `built` is about to be.
    fn n_unreachable(&self, stack: &[Item], next: u32, built: Option<usize>) -> u32 {
        let openings = stack.iter().enumerate().filter_map(|(i, item)| match item {
            Item::Opening(place) => Some((i, *place)),
            Item::From(_) => None,
        });
        let openings: Vec<(usize, Option<usize>)> = openings.collect();
        let are_gold = openings.iter().all(|(_, place)| place.is_some());
        let are_in_order = are_gold && openings.is_sorted_by(|(_, a), (_, b)| a < b);
        let last = openings.iter().map(|(_, place)| *place).max().flatten();
        let starts_at = |i: usize, left: u32| matches!(stack[i], Item::From(start) if start == left);
        let is_reachable = |(place, gold): (usize, &Gold)| {
            if self.is_built[place] || built == Some(place) || gold.left >= next {
                return true;
            }
            if gold.right < next || !are_gold {
                return false;
            }
            if let Some(k) = openings.iter().position(|(_, other)| *other == Some(place)) {
                let is_around = are_in_order
                    || openings[..k].iter().all(|(_, other)| *other < Some(place))
                        && openings[k + 1..].iter().all(|(_, other)| *other > Some(place));
                return is_around && starts_at(openings[k].0 - 1, gold.left);
            }
            // Items with an opening directly above them, or on top.
            let is_live = |i: usize| matches!(stack.get(i + 1), None | Some(Item::Opening(_)));
            last < Some(place) && (0..stack.len()).any(|i| starts_at(i, gold.left) && is_live(i))
        };
        let n = self.gold.iter().enumerate().filter(|gold| !is_reachable(*gold)).count();
        n as u32
    }

    /// Minus the value of an action, counted from the number of gold constituents.
    fn after(&self, system: &InOrder, forest: &Forest, state: &State, action: ActionId) -> u32 {
        let (mut stack, next) = (self.stack(forest, state), state.next.index() as u32);
        match system.actions().get(action) {
            Action::Shift => {
                stack.push(Item::From(next));
                self.n_unreachable(&stack, next + 1, None)
            }
            Action::Open(label) => {
                let place = self.find(label, next);
                stack.push(Item::Opening(place));
                self.n_unreachable(&stack, next, None) + u32::from(place.is_none())
            }
            Action::Reduce => {
                let left = self.reduce(&mut stack);
                let built = self.built(left, next);
                stack.push(Item::From(left));
                self.n_unreachable(&stack, next, built) + u32::from(built.is_none())
            }
            Action::Finish => self.n_unreachable(&stack, next, None),
        }
    }

    /// Takes what RE closes off the stack, and gives its start.
    fn reduce(&self, stack: &mut Vec<Item>) -> u32 {
        while !matches!(stack.pop().expect("RE is legal only with an opening"), Item::Opening(_)) {}
        match stack.pop() {
            Some(Item::From(left)) => left,
            _ => unreachable!("an opening stands on its first child"),
        }
    }

    /// The place in gold order of what the topmost opening becomes with this span, if that is gold.
    fn built(&self, left: u32, right: u32) -> Option<usize> {
        let place = (*self.open.last().expect("RE is legal only with an opening"))?;
        let Gold { left: from, right: to, .. } = self.gold[place];
        ((from, to) == (left, right)).then_some(place)
    }
}

impl Oracle<InOrder> for AuthorsOracle {
    fn for_gold(system: &InOrder, gold: &ConstituentTree) -> Result<Self, Underivable> {
        system.check(gold)?;
        let mut constituents = gold::constituents(&system.table.labels, gold)?;
        // A constituent is opened after the openings inside its first child. The list is in post-order, and sorting keeps
        // it for equal keys.
        constituents.sort_by_key(|g| g.first_end);
        Ok(AuthorsOracle {
            is_built: vec![false; constituents.len()],
            gold: constituents.into(),
            n_opened: vec![0; system.table.labels.len()],
            open: Vec::new(),
        })
    }

    /// The number of gold constituents that count as out of reach.
    fn loss(&mut self, _system: &InOrder, forest: &Forest, state: &State) -> Option<u32> {
        Some(self.n_unreachable(&self.stack(forest, state), state.next.index() as u32, None))
    }

    /// The number of gold constituents less the value of the action.
    fn loss_after(
        &mut self,
        system: &InOrder,
        forest: &mut Forest,
        state: &State,
        action: ActionId,
    ) -> Option<u32> {
        Some(self.after(system, forest, state, action))
    }

    fn optimal(
        &mut self,
        system: &InOrder,
        forest: &mut Forest,
        state: &State,
        legal: &ActionSet,
        out: &mut ActionSet,
    ) {
        out.reset(system.n_actions());
        let next = state.next.index() as u32;
        // Openings that are not gold are all alike.
        let is_wrong = |action| match system.actions().get(action) {
            Action::Open(label) => self.find(label, next).is_none(),
            _ => false,
        };
        let losses = losses_after(legal, is_wrong, |action| Some(self.after(system, forest, state, action)));
        let least = losses.iter().map(|&(_, loss)| loss).min();
        for (action, _) in losses.into_iter().filter(|&(_, loss)| Some(loss) == least) {
            out.insert(action);
        }
    }

    fn advance(&mut self, system: &InOrder, forest: &Forest, state: &State, action: ActionId) {
        let next = state.next.index() as u32;
        match system.actions().get(action) {
            Action::Shift | Action::Finish => {}
            Action::Open(label) => {
                self.open.push(self.find(label, next));
                self.n_opened[label.index()] += 1;
            }
            Action::Reduce => {
                let left = self.reduce(&mut self.stack(forest, state));
                if let Some(place) = self.built(left, next) {
                    self.is_built[place] = true;
                }
                self.open.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests;
