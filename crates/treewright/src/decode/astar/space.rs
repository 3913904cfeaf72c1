//! The search space of one sentence: every symbol over every span (a *node*), with what it adds to the score of each action.
//!
//! The score of an action is a sum of three numbers: what the top item adds, what the item below it adds, and what the
//! buffer adds. So nothing about pairs of items is stored: a row per node for the first, one for the second, and one per
//! place of the sentence for the third.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::rows;
use crate::forest::Kind;
use crate::ids::LabelId;
use crate::score::{ItemScorer, Items, Role, SlotId};
use crate::sentence::Str;
use crate::system::SpanActions;
use crate::tree::Side;

/// The score of what cannot be; some of them can be added up.
pub(super) const NEVER: i32 = -(1 << 27);
/// What an item adds to an action that is illegal with it.
pub(super) const ILLEGAL: i16 = i16::MIN;

/// Rows have a multiple of this many columns.
const LANES: usize = 16;
/// The scorer is asked for this many spans at once.
const SPANS_AT_ONCE: usize = 8;

/// The actions of a system, by what they make.
#[derive(Clone, Debug)]
pub(super) struct Grammar {
    roots: Range<usize>,
    inner: Range<usize>,
    temporaries: Range<usize>,
    /// The columns of a row: a number for each action, and some that count for nothing.
    pub n_columns: usize,
    /// The first columns, with all shifts among them.
    pub n_shift_columns: usize,
    /// The columns before this one have no reductions.
    first_reduction: usize,
    /// For each symbol, and last for a bare word, the shift that makes it.
    shifts: Vec<Option<u16>>,
    /// For each symbol the reductions that make it.
    reductions: Vec<Vec<u16>>,
    /// The reductions whose head is on either side.
    left_headed: Vec<u16>,
    right_headed: Vec<u16>,
    pub finish: usize,
    /// For each tag the symbols that words with it may have above them.
    pub unaries: BTreeMap<Str, BTreeSet<u32>>,
}

impl Grammar {
    pub(super) fn new(actions: &SpanActions, n_actions: usize) -> Self {
        let n_symbols = actions.temporaries.end;
        let mut shifts = vec![None; n_symbols + 1];
        shifts[n_symbols] = Some(actions.shift.index() as u16);
        for (action, label) in &actions.shift_unary {
            shifts[label.index()] = Some(action.index() as u16);
        }
        let mut reductions = vec![Vec::new(); n_symbols + 1];
        let [mut left_headed, mut right_headed] = [Vec::new(), Vec::new()];
        for reduction in &actions.reductions {
            let action = reduction.action.index() as u16;
            reductions[reduction.symbol.index()].push(action);
            if reduction.head == Side::Left { &mut left_headed } else { &mut right_headed }.push(action);
        }
        let last_shift = shifts.iter().flatten().max().copied().unwrap_or(0);
        let first_reduction = actions.reductions.iter().map(|reduction| reduction.action.index()).min();
        Grammar {
            first_reduction: first_reduction.unwrap_or(0) / LANES * LANES,
            n_shift_columns: (usize::from(last_shift) + 1).next_multiple_of(LANES),
            roots: actions.roots.clone(),
            inner: actions.inner.clone(),
            temporaries: actions.temporaries.clone(),
            n_columns: n_actions.next_multiple_of(LANES),
            shifts,
            reductions,
            left_headed,
            right_headed,
            finish: actions.finish.index(),
            unaries: actions.unaries.clone(),
        }
    }

    /// At most this many rows have the nodes of a sentence, for an item on top and for one below it.
    pub(super) fn n_rows(&self, n: usize) -> usize {
        let n_symbols = self.symbols(&(0..2), n + 2).len().max(self.roots.len());
        n * (self.inner.len() + 1) + n * (n + 1) / 2 * n_symbols
    }

    /// The memory that these rows take, with the nodes, of which there may be a copy.
    pub(super) fn n_bytes(&self, n: usize) -> usize {
        let row = 2 * (self.n_columns + self.n_shift_columns) * size_of::<i16>();
        self.n_rows(n).saturating_mul(row + 2 * (size_of::<SpanNode>() + size_of::<i32>()))
    }

    /// The number that stands for a bare word among the symbols.
    fn word(&self) -> usize {
        self.shifts.len() - 1
    }

    pub(super) fn is_temporary(&self, symbol: u16) -> bool {
        self.temporaries.contains(&usize::from(symbol))
    }

    /// The reductions that make a symbol.
    #[inline]
    pub(super) fn reductions(&self, symbol: u16) -> &[u16] {
        &self.reductions[usize::from(symbol)]
    }

    /// The number of columns from the first reduction on.
    pub(super) fn n_reduction_columns(&self) -> usize {
        self.n_columns - self.first_reduction
    }

    /// The column of a reduction among these.
    #[inline(always)]
    pub(super) fn reduction_column(&self, action: u16) -> usize {
        usize::from(action) - self.first_reduction
    }

    /// Of a row, these columns.
    #[inline(always)]
    pub(super) fn reductions_in<'a>(&self, row: &'a [i16]) -> &'a [i16] {
        &row[self.first_reduction..]
    }

    /// Is this action a shift?
    pub(super) fn is_shift(&self, action: usize) -> bool {
        self.shifts.contains(&Some(action as u16))
    }

    /// The shift of a bare word.
    #[inline]
    pub(super) fn plain_shift(&self) -> usize {
        self.shift(self.word() as u16)
    }

    /// The shift that makes a symbol over one word.
    #[inline]
    pub(super) fn shift(&self, symbol: u16) -> usize {
        usize::from(self.shifts[usize::from(symbol)].expect("a symbol over one word was shifted"))
    }

    /// What may stand over a span of a sentence of `n` words. (At the end of a sentence, a temporary is legal only above an
    /// item that is none; the search itself looks at that.)
    fn symbols(&self, span: &Range<usize>, n: usize) -> Vec<u16> {
        let shifted = |symbol: &usize| span.len() > 1 || self.shifts[*symbol].is_some();
        let symbols: Vec<usize> = if span.len() == n {
            self.roots.clone().collect()
        } else if span.len() == 1 {
            self.inner.clone().chain([self.word()]).collect()
        } else {
            self.inner.clone().chain(self.temporaries.clone()).collect()
        };
        symbols.into_iter().filter(shifted).map(|symbol| symbol as u16).collect()
    }

    /// A symbol as scorers know it.
    fn label(&self, symbol: u16) -> Option<(Kind, LabelId)> {
        let kind = if self.is_temporary(symbol) { Kind::Temporary } else { Kind::Constituent };
        (usize::from(symbol) != self.word()).then(|| (kind, LabelId::new(usize::from(symbol))))
    }
}

/// A symbol over a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanNode {
    pub symbol: u16,
    pub left: u16,
    pub right: u16,
    /// Which of the rows are its own.
    row: u32,
}

/// All nodes of a sentence that are still of interest, by their cells, and what they add to scores.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    pub n: usize,
    n_columns: usize,
    pub nodes: Vec<SpanNode>,
    /// For each cell, where its nodes begin; see [`Space::cell`].
    starts: Vec<u32>,
    tops: Vec<i16>,
    belows: Vec<i16>,
    buffers: Vec<i16>,
    /// The first columns of all rows, with the shifts: all of them are looked at when little else is.
    n_shift_columns: usize,
    shift_tops: Vec<i16>,
    shift_belows: Vec<i16>,
}

impl Space {
    /// Asks a scorer for everything about a sentence. `unaries` says for each word which symbols may stand right above it;
    /// nothing: all. False if the scorer cannot say.
    pub(super) fn fill(
        &mut self,
        grammar: &Grammar,
        scorer: &mut dyn ItemScorer,
        slot: SlotId,
        unaries: &[Option<BTreeSet<u32>>],
    ) -> bool {
        let n = unaries.len();
        let columns = grammar.n_columns;
        (self.n, self.n_columns) = (n, columns);
        // Words, spans that do not end the sentence, those that do, and the whole: so that all spans with the same labels
        // lie together, and those that nothing can stand on come last.
        let word = grammar.word() as u16;
        let mut batches: Vec<(Vec<Range<usize>>, Vec<u16>)> = Vec::with_capacity(n + 3);
        for (left, allowed) in unaries.iter().enumerate() {
            let mut symbols = grammar.symbols(&(left..left + 1), n);
            if let Some(allowed) = allowed {
                symbols.retain(|&symbol| symbol == word || allowed.contains(&u32::from(symbol)));
            }
            batches.push((std::iter::once(left..left + 1).collect(), symbols));
        }
        let inner = (0..n).flat_map(|left| (left + 2..n).map(move |right| left..right));
        let last = (1..n.saturating_sub(1)).map(|left| left..n);
        batches.push((inner.collect(), grammar.symbols(&(0..2), n + 2)));
        batches.push((last.collect(), grammar.symbols(&(0..2), n + 2)));
        if n > 1 {
            batches.push((std::iter::once(0..n).collect(), grammar.symbols(&(0..n), n)));
        }
        let n_rows: usize = batches.iter().map(|(spans, symbols)| spans.len() * symbols.len()).sum();
        // Old numbers may stay: every row is written.
        for rows in [&mut self.tops, &mut self.belows] {
            if rows.len() < n_rows * columns {
                rows.resize(n_rows * columns, 0);
            }
        }
        self.n_shift_columns = grammar.n_shift_columns;
        self.shift_tops.clear();
        self.shift_belows.clear();
        self.buffers.clear();
        self.buffers.resize((n + 1) * columns, 0);
        let mut fits = true;
        for (next, row) in self.buffers.chunks_exact_mut(columns).enumerate() {
            fits &= scorer.of_buffer(slot, next, row);
        }
        self.nodes.clear();
        for (spans, symbols) in &batches {
            let labels: Vec<_> = symbols.iter().map(|&symbol| grammar.label(symbol)).collect();
            // A few spans at a time: their rows are still near when they are looked at again.
            for spans in spans.chunks(SPANS_AT_ONCE) {
                let first = self.nodes.len();
                for span in spans {
                    let (left, right, row) = (span.start as u16, span.end as u16, self.nodes.len() as u32);
                    let node = |(symbol, row)| SpanNode { symbol, left, right, row };
                    self.nodes.extend(symbols.iter().copied().zip(row..).map(node));
                }
                let values = first * columns..self.nodes.len() * columns;
                let items = Items { spans, labels: &labels };
                fits &= scorer.of_spans(slot, Role::Top, items, &mut self.tops[values.clone()]);
                // Something must be left to stand on top of it.
                if spans.first().is_some_and(|span| span.end < n) {
                    fits &= scorer.of_spans(slot, Role::Below, items, &mut self.belows[values]);
                }
                self.finish_rows(grammar, first);
            }
        }
        self.nodes.sort_by_key(|node| (node.left, node.right));
        self.index();
        fits
    }

    /// Marks what is illegal in the rows from the first of these on, and copies their first columns.
    fn finish_rows(&mut self, grammar: &Grammar, first: usize) {
        let (columns, shift_columns) = (self.n_columns, grammar.n_shift_columns);
        for row in first..self.nodes.len() {
            let top = &mut self.tops[row * columns..][..columns];
            let below = &mut self.belows[row * columns..][..columns];
            if grammar.is_temporary(self.nodes[row].symbol) {
                grammar.left_headed.iter().for_each(|&action| top[usize::from(action)] = ILLEGAL);
                grammar.right_headed.iter().for_each(|&action| below[usize::from(action)] = ILLEGAL);
            }
            self.shift_tops.extend_from_slice(&top[..shift_columns]);
            self.shift_belows.extend_from_slice(&below[..shift_columns]);
        }
    }

    /// Finds where the nodes of each cell begin.
    fn index(&mut self) {
        self.starts.clear();
        let mut start = 0;
        for (left, right) in (0..self.n).flat_map(|left| (left + 1..=self.n).map(move |right| (left, right)))
        {
            self.starts.push(start as u32);
            let is_over =
                |node: &&SpanNode| (usize::from(node.left), usize::from(node.right)) == (left, right);
            start += self.nodes[start..].iter().take_while(is_over).count();
        }
        self.starts.push(start as u32);
    }

    /// The number of a span's cell.
    #[inline(always)]
    pub(super) fn cell(&self, left: usize, right: usize) -> usize {
        // The spans that begin at 0, then those at 1, ...
        left * (2 * self.n + 1 - left) / 2 + right - left - 1
    }

    /// The nodes over a span.
    #[inline(always)]
    pub(super) fn over(&self, left: usize, right: usize) -> Range<usize> {
        let cell = self.cell(left, right);
        self.starts[cell] as usize..self.starts[cell + 1] as usize
    }

    /// What a node on top of the stack adds to each action.
    #[inline(always)]
    pub(super) fn top(&self, node: usize) -> &[i16] {
        &self.tops[self.nodes[node].row as usize * self.n_columns..][..self.n_columns]
    }

    /// The first columns of [`Space::top`], with all shifts.
    #[inline(always)]
    pub(super) fn shift_top(&self, node: usize) -> &[i16] {
        let columns = self.n_shift_columns;
        &self.shift_tops[self.nodes[node].row as usize * columns..][..columns]
    }

    /// The first columns of [`Space::below`], with all shifts.
    #[inline(always)]
    pub(super) fn shift_below(&self, node: usize) -> &[i16] {
        let columns = self.n_shift_columns;
        &self.shift_belows[self.nodes[node].row as usize * columns..][..columns]
    }

    /// What a node below the top adds to each action.
    #[inline(always)]
    pub(super) fn below(&self, node: usize) -> &[i16] {
        &self.belows[self.nodes[node].row as usize * self.n_columns..][..self.n_columns]
    }

    /// What the buffer that begins at word `next` adds to each action.
    #[inline(always)]
    pub(super) fn buffer(&self, next: usize) -> &[i16] {
        &self.buffers[next * self.n_columns..][..self.n_columns]
    }

    /// The score of a reduction of two nodes; none if it is illegal. (At the end of a sentence, more is illegal:
    /// [`Space::is_dead_end`].)
    #[inline(always)]
    pub(super) fn reduction(&self, left: usize, right: usize, action: usize) -> Option<i32> {
        let (top, below) = (self.top(right)[action], self.below(left)[action]);
        let buffer = self.buffer(usize::from(self.nodes[right].right))[action];
        (top != ILLEGAL && below != ILLEGAL).then(|| i32::from(top) + i32::from(below) + i32::from(buffer))
    }

    /// The score of a shift above a node, which has another one below it, or none.
    #[inline(always)]
    pub(super) fn shift(&self, node: usize, below: Option<usize>, shift: usize) -> i32 {
        let buffer = self.buffer(usize::from(self.nodes[node].right))[shift];
        let below = below.map_or(0, |below| i32::from(self.below(below)[shift]));
        i32::from(self.top(node)[shift]) + below + i32::from(buffer)
    }

    /// The score of the end, after a complete node.
    pub(super) fn finish(&self, grammar: &Grammar, node: usize) -> i32 {
        i32::from(self.top(node)[grammar.finish]) + i32::from(self.buffer(self.n)[grammar.finish])
    }

    /// A score that no tree over these nodes exceeds: of each step the highest score that it can have where it is done.
    pub(super) fn upper_bound(&self, grammar: &Grammar) -> i32 {
        let columns = self.n_columns;
        // What items that end at a place, or before it, add from below; nothing if there is none.
        let mut below = vec![0; columns];
        let (mut total, mut of_reductions) = (0i64, Vec::with_capacity(self.n + 1));
        for place in 0..=self.n {
            let mut top = vec![if place == 0 { 0 } else { NEVER }; columns];
            let mut before = below.clone();
            for node in (0..place).flat_map(|left| self.over(left, place)) {
                rows::raise(&mut top, self.top(node), 0);
                if place < self.n {
                    rows::raise(&mut below, self.below(node), 0);
                }
            }
            rows::add(&mut before, self.buffer(place));
            let score = |action: usize| top[action] + before[action];
            if place < self.n {
                let shifts = self.shifts(grammar, place);
                total += i64::from(shifts.map(score).max().unwrap_or(NEVER));
            } else {
                total += i64::from(score(grammar.finish));
            }
            let reductions = grammar.left_headed.iter().chain(&grammar.right_headed);
            of_reductions.push(reductions.map(|&action| score(usize::from(action))).max().unwrap_or(NEVER));
        }
        // The last of the reductions can only be done at the end, the one before it there or one place before that, ...
        let mut most = NEVER;
        for &score in of_reductions[2.min(self.n)..].iter().rev().take(self.n.saturating_sub(1)) {
            most = most.max(score);
            total += i64::from(most);
        }
        total.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }

    /// Is a temporary illegal here, because nothing is left to take it up?
    #[inline(always)]
    pub(super) fn is_dead_end(&self, grammar: &Grammar, node: usize, below: Option<usize>) -> bool {
        let is_temporary = |node: usize| grammar.is_temporary(self.nodes[node].symbol);
        usize::from(self.nodes[node].right) == self.n && is_temporary(node) && below.is_none_or(is_temporary)
    }

    /// The shifts of the word at a place.
    #[inline(always)]
    pub(super) fn shifts<'a>(
        &'a self,
        grammar: &'a Grammar,
        place: usize,
    ) -> impl Iterator<Item = usize> + Clone + 'a {
        self.over(place, place + 1).map(|leaf| grammar.shift(self.nodes[leaf].symbol))
    }

    /// Keeps the nodes that are wanted, in their order.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(usize) -> bool) {
        let mut node = 0;
        self.nodes.retain(|_| {
            node += 1;
            is_wanted(node - 1)
        });
        self.index();
    }

    /// Brings nodes back that were there before.
    pub(super) fn restore(&mut self, nodes: Vec<SpanNode>) {
        self.nodes = nodes;
        self.index();
    }
}
