//! The memory and the work of bounds.

use super::super::budget::Budget;
use super::super::rows::NO_ROW;
use super::super::space::{Grammar, NEVER, Space};
use super::Bounds;

impl Bounds {
    /// The memory of rows: half of them are there only later, for what is around cells.
    pub(super) fn row_bytes(&self, grammar: &Grammar) -> usize {
        let n_rows = 2 * self.as_left.of_words.n_rows() + self.as_right.n_rows();
        2 * n_rows * grammar.n_reduction_columns() * size_of::<i32>()
    }

    /// Makes room for the numbers of all nodes and cells. False if they take too much.
    pub(super) fn make_room(&mut self, grammar: &Grammar, space: &Space, budget: &mut Budget) -> bool {
        let (n, columns) = (space.n, grammar.n_reduction_columns());
        let (mut n_numbers, mut n_shifts) = (0, 0);
        self.node_starts.clear();
        self.shift_starts.clear();
        for node in &space.nodes {
            let (left, right) = (usize::from(node.left), usize::from(node.right));
            self.node_starts.push(n_numbers as u32);
            self.shift_starts.push(n_shifts as u32);
            n_numbers += self.n_states(left);
            n_shifts += self.n_groups[left] * self.n_classes[right];
        }
        self.node_starts.push(n_numbers as u32);
        let (mut n_left, mut n_right) = (0, 0);
        self.left_starts.clear();
        self.right_starts.clear();
        for (left, right) in (0..n).flat_map(|left| (left + 1..=n).map(move |right| (left, right))) {
            self.left_starts.push(n_left as u32);
            self.right_starts.push(n_right as u32);
            if !space.over(left, right).is_empty() {
                n_left += if right < n { self.n_states(left) * self.n_states(right) } else { 0 };
                n_right += if left > 0 { self.n_states(left) } else { 0 };
            }
        }
        let n_of_cells = 2 * self.left_starts.len() + n_left + n_right;
        let n_of_nodes = 6 * space.nodes.len() + 2 * n_numbers + n_shifts;
        self.fixed_bytes = (n_of_cells + n_of_nodes) * size_of::<i32>();
        if !budget.has_room_for_bounds(self.fixed_bytes) || !budget.spend(n_numbers + n_left / 8) {
            return false;
        }
        for numbers in [&mut self.inside, &mut self.outside] {
            numbers.clear();
            numbers.resize(n_numbers, NEVER);
        }
        self.shifts.clear();
        self.shifts.resize(n_shifts, NEVER);
        self.totals.clear();
        self.totals.resize(space.nodes.len(), NEVER);
        for (numbers, n_rows) in [(&mut self.left_rows, n_left), (&mut self.right_rows, n_right)] {
            numbers.clear();
            numbers.resize(n_rows, NO_ROW);
        }
        self.as_left.reset(0, columns);
        self.as_right.reset(0, columns);
        let most = (0..n).map(|place| self.n_states(place)).max().unwrap_or(1);
        self.rows.reset(most, columns);
        true
    }

    /// About how many rows are looked at for a cell, in each direction.
    #[inline(always)]
    pub(super) fn n_steps(&self, space: &Space, (left, right): (usize, usize), n_nodes: usize) -> usize {
        let n_after = if right < space.n { self.n_classes[right] } else { 0 };
        let n_middle: usize = (left + 1..right).map(|middle| self.n_states(middle)).sum();
        self.n_states(left) * (n_middle + n_nodes * (1 + n_after))
    }
}
