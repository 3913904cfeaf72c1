//! Upper bounds on the score of every tree that contains a node: its *inside*, the best that can be built over its words, plus
//! its *outside*, the best that can be built around it. Bounds ignore part of the context. Wherever a score depends on it, they
//! take the highest score that any context gives, so a bound is never below the score of a tree.
//!
//! What they ignore is what lies below an item on the stack: this is the *less constituent* heuristic of paper 001, section
//! 4.3. The score of a reduction is exact, because both of its items are known. For a shift the topmost item is known, but the
//! item below it, M, only in part:
//!
//! - The items that end at a place are divided into *groups*, and of M only the group is known. With a single group this says
//!   nothing about M; more groups give tighter bounds.
//! - Let L be the item above M. If L has more than one word, the first shift above M comes after the first word of L. What M
//!   adds to a plain shift (SHIFT without a unary) is added exactly, when M and L are reduced and M is known. Only what M adds
//!   to other shifts beyond that is bounded by the maximum of its group, and so is what it adds to later shifts.
//!
//! The shift that begins an item depends on the item to its left, so it is scored when that is known, and an item must remember
//! it. It remembers only the *class* of the shift: each of the likeliest shifts at a word is a class of its own, and all others
//! share one. The difference between a shift and the best of its class belongs to the inside of its word.
//!
//! Since scores are sums, the best pair of items for an action is the best left one with the best right one. So the time for
//! a span grows with its nodes and its splits, but not with pairs of nodes.

mod classes;
mod room;
mod trace;

use std::ops::Range;

use super::budget::Budget;
use super::rows::{NO_ROW, Table, add, max_of_sums, raise, raise_both, raise_by_sum};
use super::space::{Grammar, NEVER, Space};

/// How tight bounds are.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    /// The most groups of items that end at a place.
    pub max_groups: usize,
    /// The most classes of shifts at a place.
    pub max_classes: usize,
    /// What is built over a span counts as the best of all its symbols.
    pub merges_labels: bool,
    /// For each place its shifts, the likeliest first.
    pub likeliest: &'a [Vec<usize>],
    /// Trees with a lower score are of no interest.
    pub floor: i32,
}

/// What is known of an item beside its node: the group of what lies below it, and the class of its first shift. As one
/// number: see [`Bounds::state`].
type State = usize;

/// A row for every state of an item on the left and of the one to its right; if this has more than one word, another.
#[derive(Clone, Debug, Default)]
struct LeftRows {
    of_words: Table,
    of_longer: Table,
}

impl LeftRows {
    fn reset(&mut self, n_rows: usize, n_columns: usize) {
        self.of_words.reset(n_rows, n_columns);
        self.of_longer.reset(n_rows, n_columns);
    }

    /// The rows for an item on the right with this many words.
    #[inline(always)]
    fn beside(&self, length: usize) -> &Table {
        if length > 1 { &self.of_longer } else { &self.of_words }
    }

    #[inline(always)]
    fn beside_mut(&mut self, length: usize) -> &mut Table {
        if length > 1 { &mut self.of_longer } else { &mut self.of_words }
    }
}

/// The bounds of all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// For each place the number of groups and of classes; 1 after the last word.
    n_groups: Vec<usize>,
    n_classes: Vec<usize>,
    /// For each node its group, among the nodes that end where it ends.
    groups: Vec<usize>,
    /// For each place the class of each shift.
    classes: Vec<Vec<usize>>,
    /// For each place and shift, the most that it can score less than its class. (For the first word, its whole score.)
    bonus: Table,
    /// For each place where the rows of its groups begin.
    group_starts: Vec<usize>,
    /// For each group and shift, the most that an item in it adds from below.
    max_below: Table,
    /// The same, as far as it is more than what the item adds to a plain shift.
    more_below: Table,
    /// For each node where its numbers begin: one for each of its states, and one for each group below it and class of shifts
    /// after it.
    node_starts: Vec<u32>,
    shift_starts: Vec<u32>,
    inside: Vec<i32>,
    outside: Vec<i32>,
    shifts: Vec<i32>,
    /// For each cell where its numbers of rows begin, and these: one for its state and that of the item to its right, or for
    /// its state alone. There are rows only where there is something in them.
    left_starts: Vec<u32>,
    right_starts: Vec<u32>,
    left_rows: Vec<u32>,
    right_rows: Vec<u32>,
    /// The best of the nodes of a cell, with what it adds to each reduction.
    as_left: LeftRows,
    as_right: Table,
    /// The same for what is around a cell.
    around_left: LeftRows,
    around_right: Table,
    /// A row for each state of one cell.
    rows: Table,
    /// The rows of one cell that are worth looking at: the state, and that of the item to its right if the row is for an
    /// item on the left.
    wanted_rows: Vec<(State, Option<State>)>,
    /// The memory of all this but for rows.
    fixed_bytes: usize,
    /// For each node the highest score of a tree with it, if that is not below the floor.
    pub totals: Vec<i32>,
}

impl Bounds {
    /// The highest score of all that is not under an item: its first shift, and all that is done after it was built. The item
    /// is a node with this shift at its beginning, above another node.
    #[inline]
    pub(super) fn outside(
        &self,
        grammar: &Grammar,
        space: &Space,
        node: usize,
        shift: usize,
        below: Option<usize>,
    ) -> i32 {
        let (left, right) = (usize::from(space.nodes[node].left), usize::from(space.nodes[node].right));
        let state = self.state(left, below.map_or(0, |below| self.groups[below]), self.classes[left][shift]);
        // What is below adds to the first shift above it, which is no longer to come.
        let gone = match below {
            Some(below) if right - left > 1 => i32::from(space.below(below)[grammar.plain_shift()]),
            _ => 0,
        };
        self.outside[self.node_starts[node] as usize + state] + self.bonus.row(left)[shift] - gone
    }

    #[inline(always)]
    fn state(&self, place: usize, group: usize, class: usize) -> State {
        group * self.n_classes[place] + class
    }

    /// The number of states of items that begin at a place.
    #[inline(always)]
    fn n_states(&self, place: usize) -> usize {
        self.n_groups[place] * self.n_classes[place]
    }

    /// Where the number of a row is: of a cell with this state, left of an item with that one, which begins at `middle`.
    #[inline(always)]
    fn left_row(&self, cell: usize, middle: usize, state: State, right_state: State) -> usize {
        self.left_starts[cell] as usize + state * self.n_states(middle) + right_state
    }

    /// Where the number of a row is: of a cell with this state, as a right item.
    #[inline(always)]
    fn right_row(&self, cell: usize, state: State) -> usize {
        self.right_starts[cell] as usize + state
    }

    /// Makes bounds for the nodes of a space. False if it took too much.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        grammar: &Grammar,
        space: &Space,
        settings: Settings<'_>,
        budget: &mut Budget,
    ) -> bool {
        self.sort_shifts(grammar, space, settings);
        self.sort_nodes(grammar, space, settings.max_groups);
        self.make_room(grammar, space, budget)
            && self.score_shifts(grammar, space, budget)
            && self.score_inside(grammar, space, settings, budget)
            && self.score_outside(grammar, space, settings, budget)
    }

    /// Scores the shifts after each node, as far as they are known. False if it took too much.
    #[inline(always)]
    fn score_shifts(&mut self, grammar: &Grammar, space: &Space, budget: &mut Budget) -> bool {
        let (n, plain) = (space.n, grammar.plain_shift());
        // Shifts come first among the actions, so rows can be shorter here.
        let columns = grammar.n_shift_columns;
        self.group_starts.clear();
        let mut n_groups = 0;
        for place in 0..=n {
            self.group_starts.push(n_groups);
            n_groups += self.n_groups[place];
        }
        self.max_below.reset(n_groups, columns);
        self.more_below.reset(n_groups, columns);
        self.bonus.reset(n, columns);
        // Nothing is below what begins the sentence, and the first shift has no item on top either.
        self.max_below.row_mut(0).fill(0);
        self.more_below.row_mut(0).fill(0);
        for (bonus, &score) in self.bonus.row_mut(0).iter_mut().zip(space.buffer(0)) {
            *bonus = i32::from(score);
        }
        for (node, span) in space.nodes.iter().enumerate().filter(|(_, span)| usize::from(span.right) < n) {
            let group = self.group_starts[usize::from(span.right)] + self.groups[node];
            let below = space.shift_below(node);
            raise(self.max_below.row_mut(group), below, 0);
            raise(self.more_below.row_mut(group), below, -i32::from(below[plain]));
        }
        for place in 1..n {
            let n_nodes: usize =
                (0..place).map(|left| space.over(left, place).len() * self.n_groups[left]).sum();
            if !budget.spend(n_nodes) {
                return false;
            }
            let shifts: Vec<usize> = space.shifts(grammar, place).collect();
            let (buffer, classes) = (space.buffer(place), &self.classes[place]);
            let n_classes = self.n_classes[place];
            for (left, node) in
                (0..place).flat_map(|left| space.over(left, place).map(move |node| (left, node)))
            {
                // The first shift above what is below is the one after a word.
                let from_below = if place - left == 1 { &self.more_below } else { &self.max_below };
                let top = space.shift_top(node);
                for group in 0..self.n_groups[left] {
                    let from_below = from_below.row(self.group_starts[left] + group);
                    let score =
                        |shift: usize| i32::from(top[shift]) + i32::from(buffer[shift]) + from_below[shift];
                    let start = self.shift_starts[node] as usize + group * n_classes;
                    let best = &mut self.shifts[start..start + n_classes];
                    for &shift in &shifts {
                        best[classes[shift]] = best[classes[shift]].max(score(shift));
                    }
                    let bonus = self.bonus.row_mut(place);
                    for &shift in &shifts {
                        bonus[shift] = bonus[shift].max(score(shift) - best[classes[shift]]);
                    }
                }
            }
        }
        true
    }

    /// What a node on the left has beside its inside: the shift after it, and what it adds to the first shift above itself.
    #[inline(always)]
    fn after_left(&self, node: usize, group: usize, class: usize, n_classes: usize, first_shift: i32) -> i32 {
        self.shifts[self.shift_starts[node] as usize + group * n_classes + class] + first_shift
    }

    #[inline(always)]
    fn score_inside(
        &mut self,
        grammar: &Grammar,
        space: &Space,
        settings: Settings<'_>,
        budget: &mut Budget,
    ) -> bool {
        for length in 1..=space.n {
            if budget.is_late() {
                return false;
            }
            for left in 0..=space.n - length {
                let nodes = space.over(left, left + length);
                if nodes.is_empty() {
                    continue;
                }
                if !budget.spend(self.n_steps(space, (left, left + length), nodes.len()))
                    || !budget.has_room_for_bounds(self.fixed_bytes + self.row_bytes(grammar))
                {
                    return false;
                }
                if length == 1 {
                    self.score_words(grammar, space, left, nodes.clone());
                } else {
                    self.score_span(grammar, space, (left, left + length), nodes.clone());
                }
                if settings.merges_labels {
                    merge(&mut self.inside, &self.node_starts, nodes.clone());
                }
                self.raise_rows(grammar, space, (left, left + length), nodes);
            }
        }
        true
    }

    /// The insides of the nodes over a word.
    fn score_words(&mut self, grammar: &Grammar, space: &Space, left: usize, nodes: Range<usize>) {
        for node in nodes {
            let shift = grammar.shift(space.nodes[node].symbol);
            for group in 0..self.n_groups[left] {
                let state = self.state(left, group, self.classes[left][shift]);
                self.inside[self.node_starts[node] as usize + state] = self.bonus.row(left)[shift];
            }
        }
    }

    /// The insides of the nodes over a longer span.
    #[inline(always)]
    fn score_span(
        &mut self,
        grammar: &Grammar,
        space: &Space,
        (left, right): (usize, usize),
        nodes: Range<usize>,
    ) {
        let n_states = self.n_states(left);
        (0..n_states).for_each(|state| self.rows.row_mut(state).fill(NEVER));
        for middle in left + 1..right {
            let (one, other) = (space.cell(left, middle), space.cell(middle, right));
            if space.over(left, middle).is_empty() || space.over(middle, right).is_empty() {
                continue;
            }
            let lefts = self.as_left.beside(right - middle);
            for state in 0..n_states {
                let row = self.rows.row_mut(state);
                for right_state in 0..self.n_groups[middle] * self.n_classes[middle] {
                    let at = self.left_starts[one] as usize
                        + state * self.n_groups[middle] * self.n_classes[middle]
                        + right_state;
                    let pair = self.left_rows[at];
                    let single = self.right_rows[self.right_starts[other] as usize + right_state];
                    if pair != NO_ROW && single != NO_ROW {
                        raise_by_sum(row, lefts.row(pair as usize), self.as_right.row(single as usize));
                    }
                }
            }
        }
        for state in 0..n_states {
            let row = self.rows.row_mut(state);
            add(row, grammar.reductions_in(space.buffer(right)));
            for node in nodes.clone() {
                let actions = grammar.reductions(space.nodes[node].symbol).iter();
                let best = actions.map(|&action| row[grammar.reduction_column(action)]).max();
                self.inside[self.node_starts[node] as usize + state] = best.unwrap_or(NEVER).max(NEVER);
            }
        }
    }

    /// Makes the rows of a cell.
    #[inline(always)]
    fn raise_rows(
        &mut self,
        grammar: &Grammar,
        space: &Space,
        (left, right): (usize, usize),
        nodes: Range<usize>,
    ) {
        let (cell, plain) = (space.cell(left, right), grammar.plain_shift());
        for state in 0..self.n_states(left) {
            for node in nodes.clone() {
                let inside = self.inside[self.node_starts[node] as usize + state];
                if inside <= NEVER / 2 {
                    continue;
                }
                if left > 0 {
                    let at = self.right_row(cell, state);
                    let top = grammar.reductions_in(space.top(node));
                    raise(self.as_right.row_or_new(&mut self.right_rows[at]), top, inside);
                }
                if right == space.n {
                    continue;
                }
                let below = grammar.reductions_in(space.below(node));
                let first_shift = i32::from(space.shift_below(node)[plain]);
                let n_classes = self.n_classes[right];
                for class in 0..n_classes {
                    let right_state = self.state(right, self.groups[node], class);
                    let at = self.left_row(cell, right, state, right_state);
                    let inside =
                        inside + self.after_left(node, state / self.n_classes[left], class, n_classes, 0);
                    let row = &mut self.left_rows[at];
                    // Both tables have the same rows.
                    let mut same = *row;
                    let of_words = self.as_left.of_words.row_or_new(&mut same);
                    let of_longer = self.as_left.of_longer.row_or_new(row);
                    raise_both(of_words, inside, of_longer, inside + first_shift, below);
                }
            }
        }
    }

    #[inline(always)]
    fn score_outside(
        &mut self,
        grammar: &Grammar,
        space: &Space,
        settings: Settings<'_>,
        budget: &mut Budget,
    ) -> bool {
        let columns = grammar.n_reduction_columns();
        self.around_left.reset(self.as_left.of_words.n_rows(), columns);
        self.around_right.reset(self.as_right.n_rows(), columns);
        for length in (1..=space.n).rev() {
            if budget.is_late() {
                return false;
            }
            for left in 0..=space.n - length {
                let (right, nodes) = (left + length, space.over(left, left + length));
                if nodes.is_empty() {
                    continue;
                }
                if !budget.spend(2 * self.n_steps(space, (left, right), nodes.len())) {
                    return false;
                }
                if length == space.n {
                    for node in nodes.clone() {
                        let numbers = self.node_starts[node] as usize..self.node_starts[node + 1] as usize;
                        self.outside[numbers].fill(space.finish(grammar, node));
                    }
                } else {
                    self.score_around(grammar, space, (left, right), nodes.clone(), settings.floor);
                }
                if settings.merges_labels {
                    merge(&mut self.outside, &self.node_starts, nodes.clone());
                }
                self.total_up(nodes.clone(), settings.floor);
                if length > 1 {
                    self.raise_around(grammar, space, (left, right), nodes);
                }
            }
        }
        true
    }

    /// The outsides of the nodes of a cell.
    #[inline(always)]
    fn score_around(
        &mut self,
        grammar: &Grammar,
        space: &Space,
        (left, right): (usize, usize),
        nodes: Range<usize>,
        floor: i32,
    ) {
        let (cell, plain) = (space.cell(left, right), grammar.plain_shift());
        // Rows with which no node reaches the floor need not be looked at node by node.
        let mut wanted = std::mem::take(&mut self.wanted_rows);
        wanted.clear();
        for state in 0..self.n_states(left) {
            if left > 0 {
                let row = self.right_rows[self.right_row(cell, state)] as usize;
                if row != NO_ROW as usize
                    && max_of_sums(self.around_right.row(row), self.as_right.row(row)) >= floor
                {
                    wanted.push((state, None));
                }
            }
            for right_state in 0..if right < space.n { self.n_states(right) } else { 0 } {
                let row = self.left_rows[self.left_row(cell, right, state, right_state)] as usize;
                if row == NO_ROW as usize {
                    continue;
                }
                let (around, left) = (&self.around_left, &self.as_left);
                let by_words = max_of_sums(around.of_words.row(row), left.of_words.row(row));
                let by_longer = max_of_sums(around.of_longer.row(row), left.of_longer.row(row));
                if by_words.max(by_longer) >= floor {
                    wanted.push((state, Some(right_state)));
                }
            }
        }
        for &(state, right_state) in &wanted {
            let Some(right_state) = right_state else {
                let row = self.right_rows[self.right_row(cell, state)] as usize;
                for node in nodes.clone() {
                    let top = grammar.reductions_in(space.top(node));
                    let best = max_of_sums(self.around_right.row(row), top);
                    let outside = &mut self.outside[self.node_starts[node] as usize + state];
                    *outside = (*outside).max(best);
                }
                continue;
            };
            let row = self.left_rows[self.left_row(cell, right, state, right_state)] as usize;
            let n_classes = self.n_classes[right];
            let (group, class) = (right_state / n_classes, right_state % n_classes);
            for node in nodes.clone().filter(|&node| self.groups[node] == group) {
                let below = grammar.reductions_in(space.below(node));
                let by_word = max_of_sums(self.around_left.of_words.row(row), below);
                let by_longer = max_of_sums(self.around_left.of_longer.row(row), below);
                let best = by_word.max(by_longer + i32::from(space.shift_below(node)[plain]));
                let after = self.after_left(node, state / self.n_classes[left], class, n_classes, best);
                let outside = &mut self.outside[self.node_starts[node] as usize + state];
                *outside = (*outside).max(after);
            }
        }
        self.wanted_rows = wanted;
    }

    /// The totals of the nodes of a cell. What does not reach the floor is of no interest to anything below it.
    fn total_up(&mut self, nodes: Range<usize>, floor: i32) {
        for node in nodes {
            for at in self.node_starts[node] as usize..self.node_starts[node + 1] as usize {
                let total = self.inside[at] + self.outside[at];
                if total < floor {
                    self.outside[at] = NEVER;
                } else {
                    self.totals[node] = self.totals[node].max(total);
                }
            }
        }
    }

    /// Raises what is around the two parts of each node of a cell.
    #[inline(always)]
    fn raise_around(
        &mut self,
        grammar: &Grammar,
        space: &Space,
        (left, right): (usize, usize),
        nodes: Range<usize>,
    ) {
        let buffer = grammar.reductions_in(space.buffer(right));
        for state in 0..self.n_states(left) {
            let mut is_wanted = false;
            let row = self.rows.row_mut(state);
            row.fill(NEVER);
            for node in nodes.clone() {
                let outside = self.outside[self.node_starts[node] as usize + state];
                if outside <= NEVER / 2 {
                    continue;
                }
                is_wanted = true;
                for &action in grammar.reductions(space.nodes[node].symbol) {
                    let column = grammar.reduction_column(action);
                    row[column] = outside + i32::from(buffer[column]);
                }
            }
            if !is_wanted {
                continue;
            }
            for middle in left + 1..right {
                let (one, other) = (space.cell(left, middle), space.cell(middle, right));
                if space.over(left, middle).is_empty() || space.over(middle, right).is_empty() {
                    continue;
                }
                let (length, n_states) = (right - middle, self.n_groups[middle] * self.n_classes[middle]);
                for right_state in 0..n_states {
                    let pair =
                        self.left_rows[self.left_starts[one] as usize + state * n_states + right_state];
                    let single = self.right_rows[self.right_starts[other] as usize + right_state];
                    if pair != NO_ROW && single != NO_ROW {
                        let (pair, single) = (pair as usize, single as usize);
                        let row = self.rows.row(state);
                        let around = self.around_left.beside_mut(length).row_mut(pair);
                        raise_by_sum(around, row, self.as_right.row(single));
                        let around = self.around_right.row_mut(single);
                        raise_by_sum(around, row, self.as_left.beside(length).row(pair));
                    }
                }
            }
        }
    }
}

/// Gives all nodes over a span the best of their numbers, state by state.
#[inline(always)]
fn merge(numbers: &mut [i32], starts: &[u32], nodes: Range<usize>) {
    let n_states = (starts[nodes.start + 1] - starts[nodes.start]) as usize;
    for state in 0..n_states {
        let at = |node: usize| starts[node] as usize + state;
        let best = nodes.clone().map(|node| numbers[at(node)]).max().unwrap_or(NEVER);
        nodes.clone().for_each(|node| numbers[at(node)] = best);
    }
}
