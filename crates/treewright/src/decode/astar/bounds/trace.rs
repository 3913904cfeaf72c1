//! The tree that bounds think best. It is a tree like any other, with a score of its own, and often better than what a beam
//! has found.

use super::{Bounds, NO_ROW, State};
use crate::ids::ActionId;

use super::super::space::{Grammar, Space};

/// An action, and the node that it makes.
#[derive(Clone, Copy)]
struct Step {
    action: usize,
    node: usize,
}

impl Bounds {
    /// The derivation of the tree with the highest bound, and its score; none if it is not legal, or below the floor. Bounds
    /// must not merge labels.
    pub(in super::super) fn best_tree(
        &self,
        grammar: &Grammar,
        space: &Space,
    ) -> Option<(Vec<ActionId>, i32)> {
        enum Task {
            Build(usize, State),
            Do(Step),
        }
        let starts = space.over(0, space.n).flat_map(|node| {
            let states = 0..self.n_states(0);
            states.map(move |state| (self.number(&self.inside, node, state), node, state))
        });
        let reaches_floor = |&(_, node, _): &(i32, usize, State)| self.totals[node] > super::NEVER / 2;
        let finished = |&(inside, node, _): &(i32, usize, State)| inside + space.finish(grammar, node);
        let (_, root, state) = starts.filter(reaches_floor).max_by_key(finished)?;
        let mut steps = Vec::with_capacity(2 * space.n);
        let mut todo = vec![Task::Build(root, state)];
        while let Some(task) = todo.pop() {
            match task {
                Task::Do(step) => steps.push(step),
                Task::Build(node, _) if space.nodes[node].right - space.nodes[node].left == 1 => {
                    steps.push(Step { action: grammar.shift(space.nodes[node].symbol), node });
                }
                Task::Build(node, state) => {
                    let (action, [left, right], right_state) =
                        self.best_parts(grammar, space, node, state)?;
                    todo.push(Task::Do(Step { action, node }));
                    todo.push(Task::Build(right, right_state));
                    todo.push(Task::Build(left, state));
                }
            }
        }
        let score = score(grammar, space, &steps)?;
        let actions = steps.iter().map(|step| step.action).chain([grammar.finish]);
        Some((actions.map(ActionId::new).collect(), score))
    }

    #[inline]
    fn number(&self, numbers: &[i32], node: usize, state: State) -> i32 {
        numbers[self.node_starts[node] as usize + state]
    }

    /// What the inside of a node is made of: an action, two nodes, and the state of the second.
    fn best_parts(
        &self,
        grammar: &Grammar,
        space: &Space,
        node: usize,
        state: State,
    ) -> Option<(usize, [usize; 2], State)> {
        let (left, right) = (usize::from(space.nodes[node].left), usize::from(space.nodes[node].right));
        let mut best: Option<(i32, usize, usize, State)> = None;
        for middle in left + 1..right {
            let (one, other) = (space.cell(left, middle), space.cell(middle, right));
            if space.over(left, middle).is_empty() || space.over(middle, right).is_empty() {
                continue;
            }
            for right_state in 0..self.n_states(middle) {
                let pair = self.left_rows[self.left_row(one, middle, state, right_state)];
                let single = self.right_rows[self.right_row(other, right_state)];
                if pair == NO_ROW || single == NO_ROW {
                    continue;
                }
                let pair = self.as_left.beside(right - middle).row(pair as usize);
                let single = self.as_right.row(single as usize);
                for &action in grammar.reductions(space.nodes[node].symbol) {
                    let column = grammar.reduction_column(action);
                    let action = usize::from(action);
                    let score = pair[column] + single[column] + i32::from(space.buffer(right)[action]);
                    if best.is_none_or(|(best, ..)| score > best) {
                        best = Some((score, middle, action, right_state));
                    }
                }
            }
        }
        let (_, middle, action, right_state) = best?;
        let n_classes = self.n_classes[middle];
        let (group, class) = (right_state / n_classes, right_state % n_classes);
        let as_left = |&node: &usize| {
            let below = space.below(node);
            let first_shift = if right - middle > 1 { i32::from(below[grammar.plain_shift()]) } else { 0 };
            let after = self.after_left(node, state / self.n_classes[left], class, n_classes, first_shift);
            self.number(&self.inside, node, state) + after + i32::from(below[action])
        };
        let as_right =
            |&node: &usize| self.number(&self.inside, node, right_state) + i32::from(space.top(node)[action]);
        let in_group = |&node: &usize| self.groups[node] == group;
        let one = space.over(left, middle).filter(in_group).max_by_key(as_left)?;
        let other = space.over(middle, right).max_by_key(as_right)?;
        Some((action, [one, other], right_state))
    }
}

/// The score of a derivation, up to the end; none if it is not legal.
fn score(grammar: &Grammar, space: &Space, steps: &[Step]) -> Option<i32> {
    let mut stack: Vec<usize> = Vec::new();
    let mut sum = 0;
    for &Step { action, node } in steps {
        if space.nodes[node].right - space.nodes[node].left == 1 {
            sum += match stack[..] {
                [] => i32::from(space.buffer(0)[action]),
                [top] => space.shift(top, None, action),
                [.., below, top] => space.shift(top, Some(below), action),
            };
        } else {
            let (right, left) = (stack.pop()?, stack.pop()?);
            sum += space.reduction(left, right, action)?;
            if space.is_dead_end(grammar, node, stack.last().copied()) {
                return None;
            }
        }
        stack.push(node);
    }
    Some(sum + space.finish(grammar, *stack.last()?))
}
