//! The search space of one sentence: every symbol over every span (a *node*), with what it adds to the score of each action.
//!
//! The score of an action is a sum of three numbers: what the top item adds, what the item below it adds, and what the
//! buffer adds. So nothing about pairs of items is stored: a row per node for the first, one for the second, and one per
//! place of the sentence for the third.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::forest::Kind;
use crate::ids::LabelId;
use crate::score::{ItemScorer, Role, SlotId};
use crate::sentence::Str;
use crate::system::SpanActions;
use crate::tree::Side;

/// The score of what is illegal; some of them can be added up.
pub(super) const NEVER: i32 = -(1 << 27);

/// Rows have a multiple of this many columns.
const LANES: usize = 16;

/// The actions of a system, by what they make.
#[derive(Clone, Debug)]
pub(super) struct Grammar {
    roots: Range<usize>,
    inner: Range<usize>,
    temporaries: Range<usize>,
    /// The columns of a row: a number for each action, and some that count for nothing.
    pub(super) n_columns: usize,
    /// For each symbol, and last for a bare word, the shift that makes it.
    shifts: Vec<Option<u16>>,
    /// For each symbol the reductions that make it.
    reductions: Vec<Vec<u16>>,
    /// The reductions whose head is on either side.
    left_headed: Vec<u16>,
    right_headed: Vec<u16>,
    pub(super) finish: usize,
    /// For each tag the symbols that words with it may have above them.
    pub(super) unaries: BTreeMap<Str, BTreeSet<u32>>,
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
        Grammar {
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

    /// The memory that the scores of all nodes of a sentence take.
    pub(super) fn n_bytes(&self, n: usize) -> usize {
        // Two rows for every symbol over every span.
        n * (n + 1) * self.shifts.len() * self.n_columns * size_of::<i32>()
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
    pub(super) symbol: u16,
    pub(super) left: u16,
    pub(super) right: u16,
    /// Which of the rows are its own.
    row: u32,
}

/// All nodes of a sentence that are still of interest, by their cells, and what they add to scores.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    pub(super) n: usize,
    n_columns: usize,
    pub(super) nodes: Vec<SpanNode>,
    /// For each cell, where its nodes begin; see [`Space::cell`].
    starts: Vec<u32>,
    tops: Vec<i32>,
    belows: Vec<i32>,
    buffers: Vec<i32>,
}

impl Space {
    /// Asks a scorer for everything about a sentence.
    /// `unaries` says for each word which symbols may stand right above it; nothing: all.
    pub(super) fn fill(
        &mut self,
        grammar: &Grammar,
        scorer: &mut dyn ItemScorer,
        slot: SlotId,
        unaries: &[Option<BTreeSet<u32>>],
    ) {
        let n = unaries.len();
        let columns = grammar.n_columns;
        (self.n, self.n_columns) = (n, columns);
        self.nodes.clear();
        self.starts.clear();
        self.tops.clear();
        self.belows.clear();
        self.buffers.clear();
        self.buffers.resize((n + 1) * columns, 0);
        for (next, row) in self.buffers.chunks_exact_mut(columns).enumerate() {
            scorer.of_buffer(slot, next, row);
        }
        for (left, right) in (0..n).flat_map(|left| (left + 1..=n).map(move |right| (left, right))) {
            let mut symbols = grammar.symbols(&(left..right), n);
            if let (1, Some(allowed)) = (right - left, &unaries[left]) {
                let word = grammar.word() as u16;
                symbols.retain(|&symbol| symbol == word || allowed.contains(&u32::from(symbol)));
            }
            let labels: Vec<_> = symbols.iter().map(|&symbol| grammar.label(symbol)).collect();
            self.starts.push(self.nodes.len() as u32);
            let rows = self.nodes.len()..self.nodes.len() + symbols.len();
            let node = |(symbol, row)| SpanNode { symbol, left: left as u16, right: right as u16, row };
            self.nodes.extend(symbols.iter().copied().zip(rows.start as u32..).map(node));
            self.tops.resize(rows.end * columns, 0);
            self.belows.resize(rows.end * columns, 0);
            let values = rows.start * columns..rows.end * columns;
            scorer.of_span(slot, Role::Top, left..right, &labels, &mut self.tops[values.clone()]);
            // Something must be left to stand on top of it.
            if right < n {
                scorer.of_span(slot, Role::Below, left..right, &labels, &mut self.belows[values]);
            }
        }
        self.starts.push(self.nodes.len() as u32);
        for node in self.nodes.iter().filter(|node| grammar.is_temporary(node.symbol)) {
            let row = node.row as usize * columns;
            grammar.left_headed.iter().for_each(|&action| self.tops[row + usize::from(action)] = NEVER);
            grammar.right_headed.iter().for_each(|&action| self.belows[row + usize::from(action)] = NEVER);
        }
    }

    /// The number of a span's cell.
    #[inline(always)]
    pub(super) fn cell(&self, left: usize, right: usize) -> usize {
        // The spans that begin at 0, then those at 1, ...
        left * (2 * self.n + 1 - left) / 2 + right - left - 1
    }

    pub(super) fn n_cells(&self) -> usize {
        self.n * (self.n + 1) / 2
    }

    /// The nodes over a span.
    #[inline(always)]
    pub(super) fn over(&self, left: usize, right: usize) -> Range<usize> {
        let cell = self.cell(left, right);
        self.starts[cell] as usize..self.starts[cell + 1] as usize
    }

    /// What a node on top of the stack adds to each action.
    #[inline(always)]
    pub(super) fn top(&self, node: usize) -> &[i32] {
        &self.tops[self.nodes[node].row as usize * self.n_columns..][..self.n_columns]
    }

    /// What a node below the top adds to each action.
    #[inline(always)]
    pub(super) fn below(&self, node: usize) -> &[i32] {
        &self.belows[self.nodes[node].row as usize * self.n_columns..][..self.n_columns]
    }

    /// What the buffer that begins at word `next` adds to each action.
    #[inline(always)]
    pub(super) fn buffer(&self, next: usize) -> &[i32] {
        &self.buffers[next * self.n_columns..][..self.n_columns]
    }

    /// Keeps the nodes that are wanted, in their order.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(usize) -> bool) {
        let mut kept = 0;
        for cell in 0..self.n_cells() {
            let old = self.starts[cell] as usize..self.starts[cell + 1] as usize;
            self.starts[cell] = kept as u32;
            // What was kept before ends where this cell begins, or earlier: nothing is overwritten that is still needed.
            for node in old {
                if is_wanted(node) {
                    self.nodes[kept] = self.nodes[node];
                    kept += 1;
                }
            }
        }
        let n_cells = self.n_cells();
        self.starts[n_cells] = kept as u32;
        self.nodes.truncate(kept);
    }
}
