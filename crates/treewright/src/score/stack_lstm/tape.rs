//! What was computed for open sentences, in order: vectors are made when a configuration needs them, all that are missing at
//! once, and the way back goes through the same steps in reverse.
//!
//! Vectors of words, openings and constituents are *items*. Side tables, one per open sentence, say which row belongs to a
//! node, a cell of the stack or buffer, or a step of the history.

use super::chain::{Noise, States};
use super::network::{Chain, GUARD, N_CHAINS, ROOT, Trees, Weights};
use crate::forest::{Forest, Kind, View};
use crate::ids::{CellId, NodeId, StepId};
use crate::score::neural::kernel::{Left, Sum, add, maximum};
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

/// Something to make for one of the sentences of a call.
#[derive(Clone, Copy, Debug)]
struct Todo<T> {
    query: usize,
    what: T,
    /// For the bottommost cell of a buffer: the state of the words that were never shifted.
    base: u32,
}

/// What is missing, by level.
#[derive(Clone, Debug)]
struct Levels<T>(Vec<Vec<Todo<T>>>);

impl<T> Default for Levels<T> {
    fn default() -> Self {
        Levels(Vec::new())
    }
}

impl<T> Levels<T> {
    fn push(&mut self, level: u32, todo: Todo<T>) {
        let level = level as usize;
        if self.0.len() <= level {
            self.0.resize_with(level + 1, Vec::new);
        }
        self.0[level].push(todo);
    }

    fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
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
struct Missing {
    nodes: Levels<NodeId>,
    cells: Levels<CellId>,
    buffer_cells: Levels<CellId>,
    steps: Levels<StepId>,
    found: Vec<NodeId>,
    stack: Vec<NodeId>,
    chain: Vec<CellId>,
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
    pub(super) side: usize,
    pub(super) forest: &'a Forest,
    pub(super) views: &'a [View],
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
            (self.words.words.clear(), self.words.tags.clear(), self.words.x.clear());
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
            (inputs.clear(), before.clear());
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
                (inputs.clear(), before.clear());
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
            (inputs.clear(), before.clear());
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

    /// Finds the missing states of a chain of cells, of the stack or (with a base) of the buffer, and their items.
    #[allow(
        clippy::too_many_arguments,
        reason = "what belongs to one sentence, and where to put what is found"
    )]
    fn find_cells(
        &mut self,
        weights: Weights<'_>,
        query: usize,
        side: &mut Side,
        forest: &Forest,
        top: Option<CellId>,
        base: Option<u32>,
        missing: &mut Missing,
    ) {
        missing.chain.clear();
        let mut at = top;
        let mut level = 0;
        while let Some(cell) = at {
            let row = if base.is_none() { side.cells[cell.index()] } else { side.buffer_cells[cell.index()] };
            if row != NONE {
                level = if row >= PENDING { row - PENDING + 1 } else { 0 };
                break;
            }
            missing.chain.push(cell);
            at = forest.cell(cell).below;
        }
        while let Some(cell) = missing.chain.pop() {
            let cells = if base.is_none() { &mut side.cells } else { &mut side.buffer_cells };
            cells[cell.index()] = PENDING + level;
            let todo = Todo { query, what: cell, base: base.unwrap_or(self.guards[0]) };
            if base.is_none() { &mut missing.cells } else { &mut missing.buffer_cells }.push(level, todo);
            level += 1;
            self.find_nodes(weights, query, side, forest, forest.cell(cell).node, missing);
        }
    }

    /// Finds the missing items of a node and of all below it.
    fn find_nodes(
        &mut self,
        weights: Weights<'_>,
        query: usize,
        side: &mut Side,
        forest: &Forest,
        node: NodeId,
        missing: &mut Missing,
    ) {
        let Missing { nodes, found, stack, .. } = missing;
        stack.push(node);
        while let Some(node) = stack.pop() {
            if side.nodes[node.index()] != NONE {
                continue;
            }
            let it = forest.node(node);
            side.nodes[node.index()] = match it.kind {
                Kind::Opening => self.symbol(weights, weights.network.symbol(it.kind, it.label)),
                Kind::Word | Kind::Root if forest.attachment(node).is_none() => match it.kind {
                    Kind::Word => side.words[it.head.index()],
                    _ => self.symbol(weights, ROOT),
                },
                _ => {
                    found.push(node);
                    parts(forest, node, |part| stack.push(part));
                    PENDING
                }
            };
        }
        // What a node is made of is older than the node.
        found.sort_unstable();
        for node in found.drain(..) {
            let mut level = 0;
            parts(forest, node, |part| {
                let row = side.nodes[part.index()];
                level = level.max(if row >= PENDING { row - PENDING + 1 } else { 0 });
            });
            side.nodes[node.index()] = PENDING + level;
            nodes.push(level, Todo { query, what: node, base: NONE });
        }
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
            (self.joins.x.clear(), self.joins.sources.clear());
            self.joins.n = 0;
        }
        let start = self.joins.n;
        // Those with many children first, so that each step of an LSTM over children is for the first few.
        let mut order: Vec<&Todo<NodeId>> = level.iter().collect();
        let n_children = |todo: &Todo<NodeId>| queries[todo.query].forest.children(todo.what).len();
        let label = |todo: &Todo<NodeId>| {
            let forest = queries[todo.query].forest;
            let node = forest.node(match network.trees {
                Trees::Dependencies => forest.attachment(todo.what).expect("it has a dependent").1,
                _ => todo.what,
            });
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
            for (todo, &label) in order.iter().zip(&labels) {
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
                    continue;
                }
                let (at, of) = (x.len(), sources.len());
                let mut children = forest.children(todo.what).iter().map(|child| side.nodes[child.index()]);
                let first = children.next().expect("a constituent has children");
                x.extend_from_slice(item(first));
                sources.resize(of + size, first);
                children.for_each(|row| maximum(item(row), row, &mut x[at..], &mut sources[of..]));
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

    /// Adds the gradients of the scores of the next configuration.
    pub(super) fn push_gradients(&mut self, row: &[f32]) {
        self.scored.gradients.extend_from_slice(row);
    }

    /// The way back from the gradients of scores. The gradients of all but embeddings of words and tags go to `gradients`,
    /// whatever was there; `add_embedded` adds those.
    pub(super) fn back(&mut self, weights: Weights<'_>, gradients: &mut [f32]) {
        let Weights { network, packed, .. } = weights;
        let (size, units, p) = (network.config.input_size, network.config.units, network.config.dropout);
        self.d_items.clear();
        self.d_items.resize(self.items.len(), 0.0);
        self.joins.dy.resize(self.joins.n * size, 0.0);
        self.words.dy.resize(self.words.words.len() * size, 0.0);
        self.words.dx.resize(self.words.x.len(), 0.0);
        self.chains.iter_mut().for_each(States::start_back);
        for array in [network.symbols, network.actions] {
            array.of_mut(gradients).fill(0.0);
        }
        let Tape { items, d_items, symbols, chains, words, joins, scored, ops, indices, scratch, dx, .. } =
            self;
        let Scored { sources, x, hidden, gradients: d_scores, d_hidden, dx: d_state } = scored;
        d_hidden.resize(hidden.len(), 0.0);
        d_state.resize(x.len(), 0.0);
        let to_hidden = Some((&mut **d_hidden, Sum::Fresh));
        network.output.back(&packed.output, hidden, d_scores, gradients, to_hidden, scratch);
        relu_back(hidden, d_hidden);
        network.state.back(&packed.state, x, d_hidden, gradients, Some((d_state, Sum::Fresh)), scratch);
        Noise::back(p, x, d_state);
        let n_state = network.state.weights.n_rows;
        for (sources, gradient) in sources.iter().zip(d_state.chunks_exact(n_state)) {
            let mut parts = gradient.chunks_exact(units);
            let mut pass = |chain: Chain, row: u32| {
                chains[chain as usize].add_gradient(row, parts.next().expect("a state has all parts"));
            };
            pass(Chain::Stack, sources[0]);
            pass(Chain::Buffer, sources[1]);
            pass(Chain::History, sources[2]);
            if network.has_deque() {
                pass(Chain::Stack, sources[3]);
                add(&gradient[4 * units..], row_mut(d_items, sources[4], size));
            }
        }
        for &op in ops.iter().rev() {
            match op {
                Op::Extend { chain, first, n, at } => {
                    let (inputs, before) = indices[at as usize..(at + 2 * n) as usize].split_at(n as usize);
                    let (packed, states) = (&packed.chains[chain as usize], &mut chains[chain as usize]);
                    packed.back(states, first, before, p, dx, |j, dx| match chain {
                        Chain::History => add(dx, network.actions.row_mut(gradients, inputs[j] as usize)),
                        _ => add(dx, row_mut(d_items, inputs[j], size)),
                    });
                }
                Op::Join { first, n, join } => {
                    let (at, end) = (first as usize * size, (first + n) as usize * size);
                    let dy = &mut joins.dy[join as usize * size..(join + n) as usize * size];
                    dy.copy_from_slice(&d_items[at..end]);
                    relu_back(&items[at..end], dy);
                    let width = network.join.weights.n_rows;
                    dx.resize(n as usize * width, 0.0);
                    packed.join.back_to_input(Left::dense(dy, size), dx, width, Sum::Fresh);
                    let n_sources = joins.sources.len() / joins.n;
                    let sources = joins.sources[join as usize * n_sources..].chunks_exact(n_sources);
                    for (dx, sources) in dx.chunks_exact(width).zip(sources) {
                        let (first, second) = dx.split_at(size);
                        if network.composes_by_lstm() {
                            chains[Chain::Forward as usize].add_gradient(sources[0], first);
                            chains[Chain::Backward as usize].add_gradient(sources[1], second);
                            continue;
                        }
                        add(first, row_mut(d_items, sources[0], size));
                        if network.trees == Trees::Dependencies {
                            for (dx, &row) in second.chunks_exact(size).zip(&sources[1..]) {
                                add(dx, row_mut(d_items, row, size));
                            }
                        } else {
                            for (i, (dx, &row)) in second.iter().zip(&sources[1..]).enumerate() {
                                d_items[row as usize * size + i] += dx;
                            }
                        }
                    }
                }
                Op::Words { first, n, word } => {
                    let (at, end) = (first as usize * size, (first + n) as usize * size);
                    let dy = &mut words.dy[word as usize * size..(word + n) as usize * size];
                    dy.copy_from_slice(&d_items[at..end]);
                    relu_back(&items[at..end], dy);
                    let n_in = network.input.weights.n_rows;
                    let dx = &mut words.dx[word as usize * n_in..(word + n) as usize * n_in];
                    packed.input.back_to_input(Left::dense(dy, size), dx, n_in, Sum::Fresh);
                }
            }
        }
        for (symbol, rows) in symbols.iter().enumerate().filter(|(_, rows)| rows[0] != NONE) {
            add(row_mut(d_items, rows[0], size), network.symbols.row_mut(gradients, symbol));
        }
        for (lstm, states) in network.chains.iter().zip(&*chains) {
            lstm.back_to_weights(states, gradients, scratch);
        }
        network.join.back_to_weights(&joins.x, &joins.dy, gradients, scratch);
        network.input.back_to_weights(&words.x, &words.dy, gradients, scratch);
    }

    /// Adds the gradients of embeddings of words and tags, as the way back left them, to their rows.
    pub(super) fn add_embedded(&self, weights: &super::network::Network, gradients: &mut [f32]) {
        let Words { words, tags, dx, .. } = &self.words;
        let (word_size, tag_size) = (weights.words.n_columns, weights.tags.n_columns);
        let rows = dx.chunks_exact(weights.input.weights.n_rows);
        for ((dx, &word), &tag) in rows.zip(words).zip(tags) {
            add(&dx[..word_size], weights.words.row_mut(gradients, word as usize));
            add(&dx[word_size..word_size + tag_size], weights.tags.row_mut(gradients, tag as usize));
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

fn row_mut(values: &mut [f32], row: u32, size: usize) -> &mut [f32] {
    &mut values[row as usize * size..(row as usize + 1) * size]
}

/// The way back of ReLU, from what came out.
fn relu_back(values: &[f32], gradients: &mut [f32]) {
    let pairs = gradients.iter_mut().zip(values);
    pairs.for_each(|(gradient, value)| *gradient = if *value > 0.0 { *gradient } else { 0.0 });
}

/// What the item of a node is made of.
fn parts(forest: &Forest, node: NodeId, mut part: impl FnMut(NodeId)) {
    match forest.attachment(node) {
        Some((head, dependent)) => [head, dependent].into_iter().for_each(part),
        None => forest.children(node).iter().for_each(|&child| part(child)),
    }
}

/// Finds the missing states of the history.
fn find_steps(
    query: usize,
    side: &mut Side,
    forest: &Forest,
    past: Option<StepId>,
    missing: &mut Levels<StepId>,
) {
    let mut chain = Vec::new();
    let (mut at, mut level) = (past, 0);
    while let Some(step) = at {
        let row = side.steps[step.index()];
        if row != NONE {
            level = if row >= PENDING { row - PENDING + 1 } else { 0 };
            break;
        }
        chain.push(step);
        at = forest.step(step).before;
    }
    for step in chain.into_iter().rev() {
        side.steps[step.index()] = PENDING + level;
        missing.push(level, Todo { query, what: step, base: NONE });
        level += 1;
    }
}
