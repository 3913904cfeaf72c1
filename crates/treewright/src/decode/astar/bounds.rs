//! Bounds on the score of every tree that contains a node: its *inside*, the best that can be built over its words, plus its
//! *outside*, the best that can be built around it. Nothing that a bound allows is missed: bounds forget things, and put the
//! best that could be in their place.
//!
//! What is forgotten is what lies below an item: this is the *less constituent* heuristic of paper 001, section 4.3. The two
//! items of a reduction are both known, so its score is what it is. A shift is scored on top of an item that is known, but
//! the item below that one, M, is not. What M adds to plain shifts (SHIFT without a unary) is treated in two ways:
//!
//! - M is known later, when it is reduced with the item above it, L. Until then as many shifts have happened right above M as
//!   L has left children on its left edge. If this number, the *depth* of L, is part of what is known of L, then what M adds
//!   to these shifts is added at the reduction, exactly.
//! - Depths are counted up to a limit. Beyond it, each shift gets the most that any item can add there.
//!
//! With the limit 0 bounds are cheap and loose; each further depth makes them tighter.
//!
//! The shift that begins an item is scored when the item to its left is known, so an item must remember it. It remembers the
//! *class* of the shift: the likeliest shifts at a word are a class each, and all others are one. What a shift can score less
//! than the best of its class is part of the inside of its word.
//!
//! Since scores are sums, the best pair of items for an action is the best left one with the best right one. So a span
//! takes time for its nodes and for its splits, but none for their pairs.

use super::rows::{Table, add, max_of_sums, raise, raise_by_sum};
use super::space::{Grammar, NEVER, Space};

/// What to make bounds of, and how tight.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a> {
    /// Depths are counted up to this.
    pub(super) max_depth: usize,
    /// What is built over a span counts as the best of all its symbols.
    pub(super) merges_labels: bool,
    /// For each place, the shifts that are a class of their own.
    pub(super) likeliest: &'a [Vec<usize>],
}

/// What is known of an item beside its node: the class of its first shift, and its depth. As one number: see
/// [`Bounds::state`].
type State = usize;

/// The bounds of all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    n_depths: usize,
    /// For each place the number of classes of shifts; 1 after the last word.
    n_classes: Vec<usize>,
    /// For each place the class of each shift.
    classes: Vec<Vec<usize>>,
    /// For each place and shift, the most that it can score less than its class. (For the first word, its whole score.)
    bonus: Table,
    /// For each place, the most that an item which ends there adds to a plain shift from below.
    max_below: Vec<i32>,
    /// For each place and shift, the most that such an item adds to it more than to a plain shift.
    more_below: Table,
    /// For each node where its numbers begin: one for each of its states, and one for each class of shifts after it.
    node_starts: Vec<u32>,
    shift_starts: Vec<u32>,
    inside: Vec<i32>,
    outside: Vec<i32>,
    /// What the shifts of a class score after a node, but for what the item below adds to a plain shift.
    shifts: Vec<i32>,
    /// For each cell where its rows begin.
    left_starts: Vec<u32>,
    right_starts: Vec<u32>,
    /// For each cell, its state and that of the item to its right: the best of its nodes, with what it adds to each reduction.
    as_left: Table,
    /// For each cell and state.
    as_right: Table,
    /// The same for what is around a cell.
    around_left: Table,
    around_right: Table,
    /// A row for each state of one cell.
    rows: Table,
}

impl Bounds {
    /// The highest score of a tree with this node.
    #[inline]
    pub(super) fn total(&self, node: usize) -> i32 {
        let range = self.node_starts[node] as usize..self.node_starts[node + 1] as usize;
        let sums = self.inside[range.clone()].iter().zip(&self.outside[range]);
        sums.map(|(inside, outside)| inside + outside).max().unwrap_or(NEVER)
    }

    /// The highest score of all that is not under an item: its first shift, and all that is done after it was built. What
    /// lies below is known here: `from_below` is what it adds to a plain shift. A tree in which the depth of the item is d has
    /// this d times, whatever d is.
    #[inline]
    pub(super) fn outside(&self, node: usize, left: usize, shift: usize, from_below: Option<i32>) -> i32 {
        let start = self.node_starts[node] as usize + self.state(self.classes[left][shift], 0);
        let outside = &self.outside[start..start + self.n_depths];
        let best = match from_below {
            Some(from_below) => {
                outside.iter().enumerate().map(|(depth, outside)| outside - depth as i32 * from_below).min()
            }
            None => outside.first().copied(),
        };
        best.unwrap_or(NEVER) + self.bonus.row(left)[shift]
    }

    #[inline(always)]
    fn state(&self, class: usize, depth: usize) -> State {
        class * self.n_depths + depth
    }

    /// The number of states of items that begin at a place.
    #[inline(always)]
    fn n_states(&self, place: usize) -> usize {
        self.n_classes[place] * self.n_depths
    }

    /// The state of an item whose left child has this one.
    #[inline(always)]
    fn deeper(&self, state: State) -> State {
        if (state + 1).is_multiple_of(self.n_depths) { state } else { state + 1 }
    }

    /// Where the rows of a cell as a left item begin: for its state, all states of the right item.
    #[inline(always)]
    fn left_row(&self, cell: usize, middle: usize, state: State) -> usize {
        self.left_starts[cell] as usize + state * self.n_states(middle)
    }

    /// Makes bounds for the nodes of a space.
    #[inline(always)]
    pub(super) fn fill(&mut self, grammar: &Grammar, space: &Space, settings: Settings<'_>) {
        self.n_depths = settings.max_depth + 1;
        self.sort_shifts(grammar, space, settings.likeliest);
        self.make_room(grammar, space);
        self.score_shifts(grammar, space);
        self.score_inside(grammar, space, settings.merges_labels);
        self.score_outside(grammar, space, settings.merges_labels);
    }

    /// Tells the classes of shifts.
    fn sort_shifts(&mut self, grammar: &Grammar, space: &Space, likeliest: &[Vec<usize>]) {
        self.n_classes.clear();
        self.classes.clear();
        for (place, likeliest) in likeliest.iter().enumerate() {
            let mut classes = vec![usize::MAX; grammar.n_columns];
            let shifts = space.over(place, place + 1).map(|leaf| grammar.shift(space.nodes[leaf].symbol));
            let (own, others): (Vec<usize>, Vec<usize>) = shifts.partition(|shift| likeliest.contains(shift));
            own.iter().enumerate().for_each(|(class, &shift)| classes[shift] = class);
            others.iter().for_each(|&shift| classes[shift] = own.len());
            self.n_classes.push((own.len() + usize::from(!others.is_empty())).max(1));
            self.classes.push(classes);
        }
        // Nothing is shifted after the last word.
        self.n_classes.push(1);
    }

    fn make_room(&mut self, grammar: &Grammar, space: &Space) {
        let columns = grammar.n_columns;
        let (mut n_numbers, mut n_shifts) = (0, 0);
        self.node_starts.clear();
        self.shift_starts.clear();
        for node in &space.nodes {
            self.node_starts.push(n_numbers as u32);
            self.shift_starts.push(n_shifts as u32);
            n_numbers += self.n_states(usize::from(node.left));
            n_shifts += self.n_classes[usize::from(node.right)];
        }
        self.node_starts.push(n_numbers as u32);
        for numbers in [&mut self.inside, &mut self.outside] {
            numbers.clear();
            numbers.resize(n_numbers, NEVER);
        }
        self.shifts.clear();
        self.shifts.resize(n_shifts, NEVER);
        let (mut n_left, mut n_right) = (0, 0);
        self.left_starts.clear();
        self.right_starts.clear();
        for (left, right) in
            (0..space.n).flat_map(|left| (left + 1..=space.n).map(move |right| (left, right)))
        {
            self.left_starts.push(n_left as u32);
            self.right_starts.push(n_right as u32);
            // A cell without nodes has no rows.
            if !space.over(left, right).is_empty() {
                n_left += if right < space.n { self.n_states(left) * self.n_states(right) } else { 0 };
                n_right += self.n_states(left);
            }
        }
        self.as_left.reset(n_left, columns);
        self.around_left.reset(n_left, columns);
        self.as_right.reset(n_right, columns);
        self.around_right.reset(n_right, columns);
        let most = (0..space.n).map(|place| self.n_states(place)).max().unwrap_or(1);
        self.rows.reset(most, columns);
    }

    #[inline(always)]
    fn score_shifts(&mut self, grammar: &Grammar, space: &Space) {
        let (n, columns, plain) = (space.n, grammar.n_columns, grammar.plain_shift());
        self.max_below.clear();
        self.max_below.resize(n + 1, NEVER);
        self.more_below.reset(n + 1, columns);
        self.bonus.reset(n + 1, columns);
        // Nothing is below what begins the sentence, and the first shift has no item on top either.
        self.max_below[0] = 0;
        self.more_below.row_mut(0).fill(0);
        self.bonus.row_mut(0).copy_from_slice(space.buffer(0));
        for place in 1..n {
            let buffer = space.buffer(place);
            for left in 0..place {
                for node in space.over(left, place) {
                    let below = space.below(node);
                    self.max_below[place] = self.max_below[place].max(below[plain]);
                    raise(self.more_below.row_mut(place), below, -below[plain]);
                    let (top, more) = (space.top(node), self.more_below.row(left));
                    let start = self.shift_starts[node] as usize;
                    let best = &mut self.shifts[start..start + self.n_classes[place]];
                    let leaves = space.over(place, place + 1);
                    let shifts = leaves.map(|leaf| grammar.shift(space.nodes[leaf].symbol));
                    for shift in shifts.clone() {
                        let class = self.classes[place][shift];
                        best[class] = best[class].max(top[shift] + more[shift] + buffer[shift]);
                    }
                    let bonus = self.bonus.row_mut(place);
                    for shift in shifts {
                        let score = top[shift] + more[shift] + buffer[shift];
                        bonus[shift] = bonus[shift].max(score - best[self.classes[place][shift]]);
                    }
                }
            }
        }
    }

    /// What a left item has beside its inside: the shift after it, with what is below where that is not counted.
    #[inline(always)]
    fn shift_after(&self, node: usize, left: usize, state: State, class: usize) -> i32 {
        let is_counted = !(state + 1).is_multiple_of(self.n_depths);
        let uncounted = if is_counted { 0 } else { self.max_below[left] };
        self.shifts[self.shift_starts[node] as usize + class] + uncounted
    }

    #[inline(always)]
    fn score_inside(&mut self, grammar: &Grammar, space: &Space, merges_labels: bool) {
        let (n, n_depths, plain) = (space.n, self.n_depths, grammar.plain_shift());
        for (left, right) in spans_by_length(n) {
            let nodes = space.over(left, right);
            if nodes.is_empty() {
                continue;
            }
            let n_states = self.n_states(left);
            if right - left == 1 {
                for node in nodes.clone() {
                    let shift = grammar.shift(space.nodes[node].symbol);
                    let state = self.state(self.classes[left][shift], 0);
                    self.inside[self.node_starts[node] as usize + state] = self.bonus.row(left)[shift];
                }
            } else {
                self.rows.clear();
                for middle in left + 1..right {
                    if space.over(left, middle).is_empty() || space.over(middle, right).is_empty() {
                        continue;
                    }
                    let (one, other) = (space.cell(left, middle), space.cell(middle, right));
                    let first_right = self.right_starts[other] as usize;
                    for state in 0..n_states {
                        // An item over few words is not deep.
                        if state % n_depths >= middle - left {
                            continue;
                        }
                        let above = self.deeper(state);
                        let first_left = self.left_row(one, middle, state);
                        let row = self.rows.row_mut(above);
                        for right_state in 0..self.n_classes[middle] * n_depths {
                            if right_state % n_depths < right - middle {
                                let as_right = self.as_right.row(first_right + right_state);
                                raise_by_sum(row, self.as_left.row(first_left + right_state), as_right);
                            }
                        }
                    }
                }
                for state in 0..n_states {
                    let row = self.rows.row_mut(state);
                    add(row, space.buffer(right));
                    for node in nodes.clone() {
                        let actions = grammar.reductions(space.nodes[node].symbol).iter();
                        let best = actions.map(|&action| row[usize::from(action)]).max();
                        self.inside[self.node_starts[node] as usize + state] = best.unwrap_or(NEVER);
                    }
                }
            }
            if merges_labels {
                merge(&mut self.inside, &self.node_starts, nodes.clone());
            }
            let cell = space.cell(left, right);
            // One row after the other, so that it stays near while the nodes come and go.
            for state in 0..n_states {
                let row = self.as_right.row_mut(self.right_starts[cell] as usize + state);
                for node in nodes.clone() {
                    let inside = self.inside[self.node_starts[node] as usize + state];
                    if inside > NEVER / 2 {
                        raise(row, space.top(node), inside);
                    }
                }
                if right == n {
                    continue;
                }
                let first = self.left_row(cell, right, state);
                // Depths that no item to the right can have are needed, too: see [`Bounds::outside`].
                for (class, depth) in pairs(self.n_classes[right], n_depths) {
                    let row = first + class * n_depths + depth;
                    for node in nodes.clone() {
                        let inside = self.inside[self.node_starts[node] as usize + state];
                        if inside > NEVER / 2 {
                            let below = space.below(node);
                            let shifts =
                                self.shift_after(node, left, state, class) + depth as i32 * below[plain];
                            raise(self.as_left.row_mut(row), below, inside + shifts);
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn score_outside(&mut self, grammar: &Grammar, space: &Space, merges_labels: bool) {
        let (n, n_depths, plain) = (space.n, self.n_depths, grammar.plain_shift());
        for (left, right) in spans_by_length(n).rev() {
            let (cell, nodes) = (space.cell(left, right), space.over(left, right));
            if nodes.is_empty() {
                continue;
            }
            let n_states = self.n_states(left);
            for state in 0..n_states {
                for node in nodes.clone() {
                    let outside = if right - left == n {
                        space.top(node)[grammar.finish] + space.buffer(n)[grammar.finish]
                    } else if left > 0 {
                        let around = self.around_right.row(self.right_starts[cell] as usize + state);
                        max_of_sums(around, space.top(node))
                    } else {
                        NEVER
                    };
                    self.outside[self.node_starts[node] as usize + state] = outside;
                }
                if right == n {
                    continue;
                }
                let first = self.left_row(cell, right, state);
                for (class, depth) in pairs(self.n_classes[right], n_depths) {
                    let around = self.around_left.row(first + class * n_depths + depth);
                    for node in nodes.clone() {
                        let below = space.below(node);
                        let shifts = self.shift_after(node, left, state, class) + depth as i32 * below[plain];
                        let outside = &mut self.outside[self.node_starts[node] as usize + state];
                        *outside = (*outside).max(max_of_sums(around, below) + shifts);
                    }
                }
            }
            if merges_labels {
                merge(&mut self.outside, &self.node_starts, nodes.clone());
            }
            if right - left == 1 {
                continue;
            }
            self.rows.clear();
            let buffer = space.buffer(right);
            for node in nodes {
                for &action in grammar.reductions(space.nodes[node].symbol) {
                    let action = usize::from(action);
                    for state in 0..n_states {
                        let outside = self.outside[self.node_starts[node] as usize + state];
                        self.rows.row_mut(state)[action] = outside + buffer[action];
                    }
                }
            }
            for middle in left + 1..right {
                if space.over(left, middle).is_empty() || space.over(middle, right).is_empty() {
                    continue;
                }
                let (one, other) = (space.cell(left, middle), space.cell(middle, right));
                let first_right = self.right_starts[other] as usize;
                for state in 0..n_states {
                    let row = self.rows.row(self.deeper(state));
                    let first_left = self.left_row(one, middle, state);
                    for right_state in 0..self.n_classes[middle] * n_depths {
                        let (pair, single) = (first_left + right_state, first_right + right_state);
                        raise_by_sum(self.around_left.row_mut(pair), row, self.as_right.row(single));
                        raise_by_sum(self.around_right.row_mut(single), row, self.as_left.row(pair));
                    }
                }
            }
        }
    }
}

/// All pairs of numbers below two others.
fn pairs(one: usize, other: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..one).flat_map(move |i| (0..other).map(move |k| (i, k)))
}

/// All spans, shorter ones first.
fn spans_by_length(n: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    (1..=n).flat_map(move |length| (0..=n - length).map(move |left| (left, left + length)))
}

/// Gives all nodes over a span the best of their numbers, state by state.
#[inline(always)]
fn merge(numbers: &mut [i32], starts: &[u32], nodes: std::ops::Range<usize>) {
    let n_states = (starts[nodes.start + 1] - starts[nodes.start]) as usize;
    for state in 0..n_states {
        let at = |node: usize| starts[node] as usize + state;
        let best = nodes.clone().map(|node| numbers[at(node)]).max().unwrap_or(NEVER);
        nodes.clone().for_each(|node| numbers[at(node)] = best);
    }
}
