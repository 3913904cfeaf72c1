//! What was computed for open sentences, in order: vectors are made when a configuration needs them, all that are missing at
//! once, and the way back goes through the same steps in reverse.
//!
//! Vectors of words, openings and constituents are *items*. Side tables, one per open sentence, say which row belongs to a
//! node, a cell of the stack or buffer, or a step of the history.

mod back;
mod missing;

use self::missing::{Missing, Todo, find_steps};
use super::chain::{Noise, States};
use super::network::{Chain, GUARD, N_CHAINS, ROOT, Trees, Weights};
use crate::forest::{Forest, View};
use crate::ids::NodeId;
use crate::score::neural::kernel::{Left, maximum};
use crate::score::neural::layers::Scratch;
use crate::score::neural::words::NONE;
use crate::sentence::Sentence;

/// In side tables, a row that is about to be made: this plus its level. What it is made of is on lower levels.
const PENDING: u32 = 1 << 31;

/// The rows of an open sentence.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    /// The item of each word.
    words: Vec<u32>,
    /// The state of the buffer that begins at each word, and of the empty buffer.
    buffer: Vec<u32>,
    nodes: Vec<u32>,
    cells: Vec<u32>,
    /// Cells of words that were put back, or have dependents.
    buffer_cells: Vec<u32>,
    steps: Vec<u32>,
}

impl Side {
    fn fit(&mut self, forest: &Forest) {
        self.nodes.resize(forest.n_nodes(), NONE);
        self.cells.resize(forest.n_cells(), NONE);
        self.buffer_cells.resize(forest.n_cells(), NONE);
        self.steps.resize(forest.n_steps(), NONE);
    }
}

/// One step of the computation; each makes many rows.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// States of an LSTM, from `first` on; `at` is where their inputs stand in the list of indices, followed by the
    /// states before them.
    Extend { chain: Chain, first: u32, n: u32, at: u32 },
    /// Items that are made of others, or of states; `join` is the first of their rows among all that are.
    Join { first: u32, n: u32, join: u32 },
    /// The items of words.
    Words { first: u32, n: u32, word: u32 },
}

/// All rows, and how they were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Tape {
    /// Is it for learning? Then everything is kept.
    keeps: bool,
    items: Vec<f32>,
    d_items: Vec<f32>,
    /// The item of each symbol, and the states of composition after reading it.
    symbols: Vec<[u32; 3]>,
    chains: [States; N_CHAINS],
    words: Words,
    joins: Joins,
    scored: Scored,
    ops: Vec<Op>,
    indices: Vec<u32>,
    scratch: Scratch,
    dx: Vec<f32>,
    missing: Missing,
    /// The states below everything: of stack, buffer and history.
    guards: [u32; 3],
}

#[derive(Clone, Debug, Default)]
struct Words {
    /// The rows of embeddings, and the embeddings side by side.
    words: Vec<u32>,
    tags: Vec<u32>,
    x: Vec<f32>,
    dy: Vec<f32>,
    dx: Vec<f32>,
}

#[derive(Clone, Debug, Default)]
struct Joins {
    x: Vec<f32>,
    dy: Vec<f32>,
    /// What rows are made of: states of both directions; or items; or a label and, for each number, the child it is of.
    sources: Vec<u32>,
    n: usize,
}

/// Configurations that were scored.
#[derive(Clone, Debug, Default)]
struct Scored {
    /// The states of stack, buffer, history and deque, and d0.
    sources: Vec<[u32; 5]>,
    x: Vec<f32>,
    hidden: Vec<f32>,
    gradients: Vec<f32>,
    d_hidden: Vec<f32>,
    dx: Vec<f32>,
}

/// Configurations of an open sentence.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    /// The number of its side tables.
    pub side: usize,
    pub forest: &'a Forest,
    pub views: &'a [View],
}

impl Tape {
    pub(super) fn new(keeps: bool) -> Self {
        Tape { keeps, ..Tape::default() }
    }

    /// Forgets everything; no sentence is open.
    pub(super) fn start(&mut self, weights: Weights<'_>, noise: Option<&mut Noise<'_>>) {
        let Tape { items, symbols, chains, words, joins, scored, ops, indices, .. } = self;
        items.clear();
        symbols.clear();
        symbols.resize(weights.network.n_symbols(), [NONE; 3]);
        chains.iter_mut().for_each(States::clear);
        [&mut words.words, &mut words.tags].into_iter().for_each(Vec::clear);
        words.x.clear();
        joins.x.clear();
        joins.sources.clear();
        joins.n = 0;
        scored.clear();
        ops.clear();
        indices.clear();
        let mut noise = noise;
        let guard = self.symbol(weights, GUARD);
        let mut extend = |tape: &mut Tape, chain, input, before| {
            tape.extend(weights, chain, &[input], &[before], noise.as_deref_mut())
        };
        let stack = extend(self, Chain::Stack, guard, NONE);
        let history = extend(self, Chain::History, weights.network.n_actions as u32, NONE);
        let mut buffer = extend(self, Chain::Buffer, guard, NONE);
        if weights.network.trees == Trees::Dependencies {
            let root = self.symbol(weights, ROOT);
            buffer = extend(self, Chain::Buffer, root, buffer);
        }
        self.guards = [stack, buffer, history];
    }

    fn n_items(&self, weights: Weights<'_>) -> u32 {
        (self.items.len() / weights.network.config.input_size) as u32
    }

    /// The item of a symbol.
    fn symbol(&mut self, weights: Weights<'_>, symbol: usize) -> u32 {
        if self.symbols[symbol][0] == NONE {
            self.symbols[symbol][0] = self.n_items(weights);
            self.items.extend_from_slice(weights.network.symbols.row(weights.all, symbol));
        }
        self.symbols[symbol][0]
    }

    /// Appends states; inputs are items or, in the history, actions.
    fn extend(
        &mut self,
        weights: Weights<'_>,
        chain: Chain,
        inputs: &[u32],
        before: &[u32],
        noise: Option<&mut Noise<'_>>,
    ) -> u32 {
        let Tape { keeps, items, chains, ops, indices, .. } = self;
        let (packed, states) = (&weights.packed.chains[chain as usize], &mut chains[chain as usize]);
        let first = packed.extend(states, *keeps, before, noise, |j, out| {
            let (row, size) = (inputs[j] as usize, out.len());
            match chain {
                Chain::History => out.copy_from_slice(weights.network.actions.row(weights.all, row)),
                _ => out.copy_from_slice(&items[row * size..(row + 1) * size]),
            }
        });
        if *keeps {
            ops.push(Op::Extend { chain, first, n: inputs.len() as u32, at: indices.len() as u32 });
            indices.extend_from_slice(inputs);
            indices.extend_from_slice(before);
        }
        first
    }

    /// Opens sentences, whose side tables have these numbers: makes the items of their words, and the states of their
    /// buffers. With noise, words that were seen once are at times unknown.
    pub(super) fn open(
        &mut self,
        weights: Weights<'_>,
        sentences: &[&Sentence],
        sides: &mut [Side],
        numbers: &[usize],
        mut noise: Option<&mut Noise<'_>>,
    ) {
        let network = weights.network;
        let (config, reader) = (&network.config, &network.reader);
        let (size, n_in) = (config.input_size, network.input.weights.n_rows);
        let first = self.n_items(weights);
        if !self.keeps {
            self.words.words.clear();
            self.words.tags.clear();
            self.words.x.clear();
        }
        let start = self.words.words.len();
        let mut n = 0;
        for token in sentences.iter().flat_map(|sentence| &sentence.tokens) {
            let rows = reader
                .read(token, noise.as_deref_mut().map(|noise| (&mut *noise.rng, config.singleton_dropout)));
            self.words.words.push(rows.word);
            self.words.tags.push(rows.tag);
            let x = &mut self.words.x;
            x.extend_from_slice(network.words.row(weights.all, rows.word as usize));
            x.extend_from_slice(network.tags.row(weights.all, rows.tag as usize));
            let end = x.len();
            x.resize(end + reader.vectors.width, 0.0);
            reader.vectors.fill(rows.vector, &mut x[end..]);
            n += 1;
        }
        self.items.resize((first as usize + n) * size, 0.0);
        let out = &mut self.items[first as usize * size..];
        weights.packed.input.apply(Left::dense(&self.words.x[start * n_in..], n_in), out, size);
        out.iter_mut().for_each(|value| *value = value.max(0.0));
        if self.keeps {
            self.ops.push(Op::Words { first, n: n as u32, word: start as u32 });
        }
        let mut next = first;
        for (sentence, &number) in sentences.iter().zip(numbers) {
            let Side { words, buffer, nodes, cells, buffer_cells, steps } = &mut sides[number];
            [&mut *nodes, cells, buffer_cells, steps].into_iter().for_each(Vec::clear);
            words.clear();
            words.extend((0..sentence.len()).map(|i| next + i as u32));
            next += sentence.len() as u32;
            buffer.clear();
            buffer.resize(sentence.len() + 1, NONE);
            buffer[sentence.len()] = self.guards[1];
        }
        // From right to left, all sentences together.
        let longest = sentences.iter().map(|sentence| sentence.len()).max().unwrap_or(0);
        let (mut inputs, mut before) = (Vec::new(), Vec::new());
        for done in 0..longest {
            inputs.clear();
            before.clear();
            let long = || numbers.iter().zip(sentences).filter(|(_, sentence)| sentence.len() > done);
            for (&number, sentence) in long() {
                let at = sentence.len() - done - 1;
                inputs.push(sides[number].words[at]);
                before.push(sides[number].buffer[at + 1]);
            }
            let first = self.extend(weights, Chain::Buffer, &inputs, &before, noise.as_deref_mut());
            for ((&number, sentence), row) in long().zip(first..) {
                sides[number].buffer[sentence.len() - done - 1] = row;
            }
        }
    }

    /// Scores configurations, to rows that begin every `stride` numbers.
    pub(super) fn score(
        &mut self,
        weights: Weights<'_>,
        queries: &[Query<'_>],
        sides: &mut [Side],
        mut noise: Option<&mut Noise<'_>>,
        out: &mut [f32],
        stride: usize,
    ) {
        self.make_missing(weights, queries, sides, noise.as_deref_mut());
        let network = weights.network;
        let (size, hidden) = (network.config.input_size, network.config.hidden);
        if !self.keeps {
            self.scored.clear();
        }
        let (start, n_state) = (self.scored.sources.len(), network.state.weights.n_rows);
        for Query { side, forest, views } in queries {
            let side = &sides[*side];
            for view in *views {
                let guards = &self.guards;
                let stack = view.stack.map_or(guards[0], |cell| side.cells[cell.index()]);
                let buffer = match view.buffer {
                    Some(cell) => side.buffer_cells[cell.index()],
                    None => side.buffer[view.next.index().min(side.buffer.len() - 1)],
                };
                let history = view.past.map_or(guards[2], |step| side.steps[step.index()]);
                let deque =
                    view.deque.filter(|_| view.n_deque > 0).map_or(stack, |cell| side.cells[cell.index()]);
                let d0 = view.deque_top.map_or(self.symbols[GUARD][0], |node| side.nodes[node.index()]);
                debug_assert!(side.words.len() == forest.n_tokens(), "a slot has a forest of its own");
                self.scored.sources.push([stack, buffer, history, deque, d0]);
            }
        }
        let n_new = self.scored.sources.len() - start;
        for i in start..start + n_new {
            let sources = self.scored.sources[i];
            let at = self.scored.x.len();
            for (chain, &row) in [Chain::Stack, Chain::Buffer, Chain::History].iter().zip(&sources) {
                self.scored.x.extend_from_slice(self.chains[*chain as usize].output(row));
            }
            if network.has_deque() {
                self.scored.x.extend_from_slice(self.chains[Chain::Stack as usize].output(sources[3]));
                let row = sources[4] as usize;
                self.scored.x.extend_from_slice(&self.items[row * size..(row + 1) * size]);
            }
            if let Some(noise) = noise.as_deref_mut() {
                noise.apply(&mut self.scored.x[at..]);
            }
        }
        let Scored { x, hidden: of_hidden, .. } = &mut self.scored;
        of_hidden.resize((start + n_new) * hidden, 0.0);
        let of_hidden = &mut of_hidden[start * hidden..];
        weights.packed.state.apply(Left::dense(&x[start * n_state..], n_state), of_hidden, hidden);
        of_hidden.iter_mut().for_each(|value| *value = value.max(0.0));
        weights.packed.output.apply(Left::dense(of_hidden, hidden), out, stride);
    }

    /// Makes all rows that the configurations need and that are not there.
    fn make_missing(
        &mut self,
        weights: Weights<'_>,
        queries: &[Query<'_>],
        sides: &mut [Side],
        mut noise: Option<&mut Noise<'_>>,
    ) {
        let mut missing = std::mem::take(&mut self.missing);
        for (query, Query { side, forest, views }) in queries.iter().enumerate() {
            let side = &mut sides[*side];
            side.fit(forest);
            for view in *views {
                for chain in [view.stack, view.deque.filter(|_| view.n_deque > 0)] {
                    self.find_cells(weights, query, side, forest, chain, None, &mut missing);
                }
                let base = side.buffer[view.next.index().min(side.buffer.len() - 1)];
                self.find_cells(weights, query, side, forest, view.buffer, Some(base), &mut missing);
                if let Some(node) = view.deque_top.filter(|_| weights.network.has_deque()) {
                    self.find_nodes(weights, query, side, forest, node, &mut missing);
                }
                find_steps(query, side, forest, view.past, &mut missing.steps);
            }
        }
        for level in &missing.nodes.0 {
            if !level.is_empty() {
                self.compose(weights, queries, sides, level, noise.as_deref_mut());
            }
        }
        let (mut inputs, mut before) = (Vec::new(), Vec::new());
        for (chain, levels) in [(Chain::Stack, &missing.cells), (Chain::Buffer, &missing.buffer_cells)] {
            for level in levels.0.iter().filter(|level| !level.is_empty()) {
                inputs.clear();
                before.clear();
                for &Todo { query, what, base } in level {
                    let (side, cell) = (&sides[queries[query].side], queries[query].forest.cell(what));
                    let cells = if chain == Chain::Stack { &side.cells } else { &side.buffer_cells };
                    inputs.push(side.nodes[cell.node.index()]);
                    before.push(cell.below.map_or(base, |below| cells[below.index()]));
                }
                let first = self.extend(weights, chain, &inputs, &before, noise.as_deref_mut());
                for (i, &Todo { query, what, .. }) in level.iter().enumerate() {
                    let side = &mut sides[queries[query].side];
                    let cells = if chain == Chain::Stack { &mut side.cells } else { &mut side.buffer_cells };
                    cells[what.index()] = first + i as u32;
                }
            }
        }
        for level in missing.steps.0.iter().filter(|level| !level.is_empty()) {
            inputs.clear();
            before.clear();
            for &Todo { query, what, .. } in level {
                let step = queries[query].forest.step(what);
                let steps = &sides[queries[query].side].steps;
                inputs.push(step.action.index() as u32);
                before.push(step.before.map_or(self.guards[2], |before| steps[before.index()]));
            }
            let first = self.extend(weights, Chain::History, &inputs, &before, noise.as_deref_mut());
            for (i, &Todo { query, what, .. }) in level.iter().enumerate() {
                sides[queries[query].side].steps[what.index()] = first + i as u32;
            }
        }
        missing.nodes.clear();
        missing.cells.clear();
        missing.buffer_cells.clear();
        missing.steps.clear();
        self.missing = missing;
    }

    /// Makes the items of nodes that are made of items which are there.
    fn compose(
        &mut self,
        weights: Weights<'_>,
        queries: &[Query<'_>],
        sides: &mut [Side],
        level: &[Todo<NodeId>],
        mut noise: Option<&mut Noise<'_>>,
    ) {
        let network = weights.network;
        let (size, n_in) = (network.config.input_size, network.join.weights.n_rows);
        if !self.keeps {
            self.joins.x.clear();
            self.joins.sources.clear();
            self.joins.n = 0;
        }
        let start = self.joins.n;
        // Those with many children first, so that each step of an LSTM over children is for the first few.
        let mut order: Vec<&Todo<NodeId>> = level.iter().collect();
        let n_children = |todo: &Todo<NodeId>| queries[todo.query].forest.children(todo.what).len();
        let label = |todo: &Todo<NodeId>| {
            let forest = queries[todo.query].forest;
            let node =
                forest.node(forest.attachment(todo.what).map_or(todo.what, |(_, dependent)| dependent));
            network.symbol(node.kind, node.label)
        };
        let labels: Vec<usize>;
        if network.composes_by_lstm() {
            order.sort_by_key(|todo| std::cmp::Reverse(n_children(todo)));
            labels = order.iter().map(|todo| label(todo)).collect();
            self.read_labels(weights, &labels, noise.as_deref_mut());
            let mut rows =
                [1, 2].map(|i| -> Vec<u32> { labels.iter().map(|&label| self.symbols[label][i]).collect() });
            let mut inputs: Vec<u32> = Vec::new();
            for i in 0..n_children(order[0]) {
                let n = order.partition_point(|todo| n_children(todo) > i);
                for (rows, chain) in rows.iter_mut().zip([Chain::Forward, Chain::Backward]) {
                    inputs.clear();
                    inputs.extend(order[..n].iter().map(|todo| {
                        let Query { side, forest, .. } = queries[todo.query];
                        let children = forest.children(todo.what);
                        let i = if chain == Chain::Forward { i } else { children.len() - 1 - i };
                        sides[side].nodes[children[i].index()]
                    }));
                    let first = self.extend(weights, chain, &inputs, &rows[..n], noise.as_deref_mut());
                    rows[..n].iter_mut().zip(first..).for_each(|(row, new)| *row = new);
                }
            }
            for (&forward, &backward) in rows[0].iter().zip(&rows[1]) {
                self.joins.x.extend_from_slice(self.chains[Chain::Forward as usize].output(forward));
                self.joins.x.extend_from_slice(self.chains[Chain::Backward as usize].output(backward));
                self.joins.sources.extend([forward, backward]);
            }
        } else {
            labels = order.iter().map(|todo| label(todo)).collect();
            for (i, (todo, &label)) in order.iter().zip(&labels).enumerate() {
                let label = self.symbol(weights, label);
                let Query { side, forest, .. } = queries[todo.query];
                let side = &sides[side];
                let Tape { items, joins: Joins { x, sources, .. }, .. } = self;
                let item = |row: u32| &items[row as usize * size..(row as usize + 1) * size];
                x.extend_from_slice(item(label));
                sources.push(label);
                if let Some((head, dependent)) = forest.attachment(todo.what) {
                    for node in [head, dependent] {
                        let row = side.nodes[node.index()];
                        x.extend_from_slice(item(row));
                        sources.push(row);
                    }
                } else {
                    let (at, of) = (x.len(), sources.len());
                    let mut children =
                        forest.children(todo.what).iter().map(|child| side.nodes[child.index()]);
                    let first = children.next().expect("a constituent has children");
                    x.extend_from_slice(item(first));
                    sources.resize(of + size, first);
                    children.for_each(|row| maximum(item(row), row, &mut x[at..], &mut sources[of..]));
                }
                // A model file that names the trees of another system gives bad parses, and nothing worse.
                x.resize((start + i + 1) * n_in, 0.0);
            }
        }
        let n = order.len();
        self.joins.n += n;
        let first = self.n_items(weights);
        let Tape { items, joins, .. } = self;
        items.resize((first as usize + n) * size, 0.0);
        let out = &mut items[first as usize * size..];
        weights.packed.join.apply(Left::dense(&joins.x[start * n_in..], n_in), out, size);
        out.iter_mut().for_each(|value| *value = value.max(0.0));
        if self.keeps {
            self.ops.push(Op::Join { first, n: n as u32, join: start as u32 });
        }
        for (todo, row) in order.iter().zip(first..) {
            sides[queries[todo.query].side].nodes[todo.what.index()] = row;
        }
    }

    /// Composition begins with the label; its state is made once.
    fn read_labels(&mut self, weights: Weights<'_>, labels: &[usize], mut noise: Option<&mut Noise<'_>>) {
        let mut new: Vec<usize> =
            labels.iter().copied().filter(|&label| self.symbols[label][1] == NONE).collect();
        new.sort_unstable();
        new.dedup();
        if new.is_empty() {
            return;
        }
        let inputs: Vec<u32> = new.iter().map(|&label| self.symbol(weights, label)).collect();
        let before = vec![NONE; new.len()];
        for (i, chain) in [(1, Chain::Forward), (2, Chain::Backward)] {
            let first = self.extend(weights, chain, &inputs, &before, noise.as_deref_mut());
            new.iter().zip(first..).for_each(|(&label, row)| self.symbols[label][i] = row);
        }
    }
}

impl Scored {
    fn clear(&mut self) {
        let Scored { sources, x, hidden, gradients, .. } = self;
        sources.clear();
        [x, hidden, gradients].into_iter().for_each(Vec::clear);
    }
}
