//! The oracle against a direct, slow reading of its definition, along random walks.

use super::*;
use crate::laws;
use crate::registry::OracleKind;
use crate::rng::Rng;
use crate::systems::trees::{anywhere, random, tree};

/// A constituent with its ordinal, and the buffer position at which it was opened; no ordinal matches nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbered {
    label: LabelId,
    ordinal: Option<usize>,
    opened_at: usize,
    left: usize,
    right: usize,
}

#[derive(Clone, Copy, Debug)]
enum OnStack {
    Item { left: usize, right: usize },
    Opening { label: LabelId, ordinal: Option<usize>, at: usize },
}

/// A configuration as the definition sees it.
#[derive(Clone, Debug, Default)]
struct Slow {
    stack: Vec<OnStack>,
    built: Vec<Numbered>,
    opened: Vec<LabelId>,
    next: usize,
}

impl Slow {
    /// Takes an action; gold is nothing while the gold derivation is numbered. Gives L + N.
    fn act(&mut self, action: Action, gold: Option<&[Numbered]>) -> i32 {
        match action {
            Action::Shift => {
                self.stack.push(OnStack::Item { left: self.next, right: self.next + 1 });
                self.next += 1;
                0
            }
            Action::Open(label) => {
                self.opened.push(label);
                let k = self.opened.iter().filter(|other| **other == label).count();
                let is_gold = gold.is_none_or(|gold| {
                    gold.iter().any(|g| (g.label, g.ordinal, g.opened_at) == (label, Some(k), self.next))
                });
                self.stack.push(OnStack::Opening { label, ordinal: is_gold.then_some(k), at: self.next });
                i32::from(!is_gold)
            }
            Action::Reduce => {
                let mut right = None;
                loop {
                    match self.stack.pop().expect("an opening") {
                        OnStack::Item { right: end, .. } => right = right.or(Some(end)),
                        OnStack::Opening { label, ordinal, at } => {
                            let Some(OnStack::Item { left, right: first_end }) = self.stack.pop() else {
                                panic!("an opening stands on an item")
                            };
                            let right = right.unwrap_or(first_end);
                            let it = Numbered { label, ordinal, opened_at: at, left, right };
                            self.built.push(it);
                            self.stack.push(OnStack::Item { left, right });
                            let is_gold = |gold: &[Numbered]| ordinal.is_some() && gold.contains(&it);
                            return i32::from(!gold.is_none_or(is_gold));
                        }
                    }
                }
            }
            Action::Finish => 0,
        }
    }

    /// R.
    fn n_reachable(&self, gold: &[Numbered]) -> i32 {
        let Some(top) = self.stack.last() else { return gold.len() as i32 };
        let j = match *top {
            OnStack::Item { right, .. } => right,
            OnStack::Opening { at, .. } => at,
        };
        let order = |label: LabelId, ordinal: Option<usize>| {
            gold.iter().position(|g| g.label == label && ordinal.is_some() && g.ordinal == ordinal)
        };
        let openings: Vec<(usize, Option<usize>)> = self
            .stack
            .iter()
            .enumerate()
            .filter_map(|(i, item)| match *item {
                OnStack::Opening { label, ordinal, .. } => Some((i, order(label, ordinal))),
                OnStack::Item { .. } => None,
            })
            .collect();
        let comes_before = |a: Option<usize>, b: Option<usize>| matches!((a, b), (Some(a), Some(b)) if a < b);
        let starts =
            |i: usize, left: usize| matches!(self.stack[i], OnStack::Item { left: at, .. } if at == left);
        let is_reachable = |(place, g): (usize, &Numbered)| {
            if self.built.contains(g) || g.left >= j {
                return true;
            }
            if !(g.left < j && j <= g.right) {
                return false;
            }
            match openings.iter().find(|(_, other)| *other == Some(place)) {
                Some(&(at, own)) => {
                    starts(at - 1, g.left)
                        && openings.iter().all(|&(i, other)| match i.cmp(&at) {
                            std::cmp::Ordering::Less => comes_before(other, own),
                            std::cmp::Ordering::Equal => true,
                            std::cmp::Ordering::Greater => comes_before(own, other),
                        })
                }
                None => {
                    let is_live = |i: usize| {
                        i + 1 == self.stack.len() || matches!(self.stack[i + 1], OnStack::Opening { .. })
                    };
                    (0..self.stack.len()).any(|i| starts(i, g.left) && is_live(i))
                        && openings.iter().all(|&(_, other)| comes_before(other, Some(place)))
                }
            }
        };
        gold.iter().enumerate().filter(|g| is_reachable(*g)).count() as i32
    }
}

/// The gold constituents in the order of their openings, numbered along the gold derivation.
fn numbered(system: &InOrder, gold: &ConstituentTree) -> Vec<Numbered> {
    let (mut slow, mut order) = (Slow::default(), Vec::new());
    for action in system.derive(gold).expect("a derivation") {
        let action = system.actions().get(action);
        slow.act(action, None);
        if let (Action::Open(_), Some(OnStack::Opening { label, ordinal, .. })) = (action, slow.stack.last())
        {
            order.push((*label, *ordinal));
        }
    }
    let find = |(label, ordinal)| {
        *slow.built.iter().find(|g| (g.label, g.ordinal) == (label, ordinal)).expect("it was closed")
    };
    order.into_iter().map(find).collect()
}

#[test]
fn values_and_optimal_actions_are_those_of_the_definition() {
    let mut rng = Rng::new(3);
    let (mut legal, mut optimal) = (ActionSet::default(), ActionSet::default());
    let (mut n_states, mut n_wrong_openings) = (0, 0);
    for round in 0..600 {
        let gold = random(&mut rng, 1 + round % 7, 2);
        let system: InOrder = anywhere(Some(3));
        let Ok(mut oracle) = AuthorsOracle::for_gold(&system, &gold) else { continue };
        let numbered = numbered(&system, &gold);
        let mut forest = Forest::new();
        let mut state = system.start(&mut forest, &laws::sentence(gold.n_tokens()));
        let mut slow = Slow::default();
        while !system.is_final(&forest, &state) {
            system.legal(&forest, &state, &mut legal);
            let values: Vec<(ActionId, i32)> = legal
                .iter()
                .map(|action| {
                    let mut after = slow.clone();
                    let penalty = after.act(system.actions().get(action), Some(&numbered));
                    let is_empty = slow.stack.is_empty();
                    (
                        action,
                        if is_empty { numbered.len() as i32 } else { after.n_reachable(&numbered) - penalty },
                    )
                })
                .collect();
            let highest = values.iter().map(|(_, value)| *value).max().expect("a legal action");
            let expected: Vec<ActionId> =
                values.iter().filter(|(_, value)| *value == highest).map(|(action, _)| *action).collect();
            oracle.optimal(&system, &mut forest, &state, &legal, &mut optimal);
            assert_eq!(optimal.iter().collect::<Vec<_>>(), expected, "gold {gold:?}");
            for &(action, value) in values.iter().filter(|_| !slow.stack.is_empty()) {
                let loss =
                    oracle.loss_after(&system, &mut forest, &state, action).expect("defined everywhere");
                assert_eq!(numbered.len() as i32 - loss as i32, value);
            }
            // Mostly along optimal actions, so that walks stay near gold.
            let from = if rng.unit() < 0.7 { &optimal } else { &legal };
            let action = from.iter().nth(rng.below(from.len())).expect("an action");
            oracle.advance(&system, &forest, &state, action);
            let penalty = slow.act(system.actions().get(action), Some(&numbered));
            n_wrong_openings += penalty;
            state = system.apply(&mut forest, &state, action);
            n_states += 1;
        }
    }
    assert!(n_states > 5000 && n_wrong_openings > 500, "{n_states} states, {n_wrong_openings} penalties");
}

/// Along the gold derivation the gold action is always optimal, and nothing is out of reach.
#[test]
fn the_gold_derivation_is_optimal() {
    let mut rng = Rng::new(4);
    let (mut legal, mut optimal) = (ActionSet::default(), ActionSet::default());
    for round in 0..200 {
        let gold = random(&mut rng, 1 + round % 7, 2);
        let system: InOrder = anywhere(None);
        let mut oracle = OracleKind::Authors.for_gold(&system, &gold).expect("an oracle");
        let mut forest = Forest::new();
        let mut state = system.start(&mut forest, &laws::sentence(gold.n_tokens()));
        for action in system.derive(&gold).expect("a derivation") {
            assert_eq!(oracle.loss(&system, &forest, &state), Some(0));
            system.legal(&forest, &state, &mut legal);
            oracle.optimal(&system, &mut forest, &state, &legal, &mut optimal);
            assert!(optimal.contains(action), "gold {gold:?}");
            oracle.advance(&system, &forest, &state, action);
            state = system.apply(&mut forest, &state, action);
        }
    }
}

/// Once one X was made up, the later ones are lost: their ordinals are off.
#[test]
fn ordinals_lose_track() {
    let gold = tree("(A (B w0) w1)");
    let system: InOrder = anywhere(None);
    let mut oracle = AuthorsOracle::for_gold(&system, &gold).expect("an oracle");
    let mut forest = Forest::new();
    let mut state = system.start(&mut forest, &laws::sentence(2));
    for name in ["SH", "NT-A", "RE", "NT-B", "RE"] {
        let action = system.action(name).expect("an action");
        oracle.advance(&system, &forest, &state, action);
        state = system.apply(&mut forest, &state, action);
    }
    let action = system.action("NT-A").expect("an action");
    // The exact oracle counts nothing against the A that gold has here.
    assert_eq!(oracle.loss_after(&system, &mut forest, &state, action), Some(2));
}
