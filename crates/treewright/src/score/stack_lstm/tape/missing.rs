//! Finds what configurations need that was not made yet, level by level: what a row is made of is on lower levels.

use super::super::network::{ROOT, Weights};
use super::{PENDING, Side, Tape};
use crate::forest::{Forest, Kind};
use crate::ids::{CellId, NodeId, StepId};
use crate::score::neural::words::NONE;

/// Something to make for one of the sentences of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Todo<T> {
    pub query: usize,
    pub what: T,
    /// For the bottommost cell of a buffer: the state of the words that were never shifted.
    pub base: u32,
}

/// What is missing, by level.
#[derive(Clone, Debug)]
pub(super) struct Levels<T>(pub(super) Vec<Vec<Todo<T>>>);

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

    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    pub nodes: Levels<NodeId>,
    pub cells: Levels<CellId>,
    pub buffer_cells: Levels<CellId>,
    pub steps: Levels<StepId>,
    found: Vec<NodeId>,
    stack: Vec<NodeId>,
    chain: Vec<CellId>,
}

impl Tape {
    /// Finds the missing states of a chain of cells, of the stack or (with a base) of the buffer, and their items.
    #[allow(
        clippy::too_many_arguments,
        reason = "what belongs to one sentence, and where to put what is found"
    )]
    pub(super) fn find_cells(
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
    pub(super) fn find_nodes(
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
}

/// What the item of a node is made of.
fn parts(forest: &Forest, node: NodeId, mut part: impl FnMut(NodeId)) {
    match forest.attachment(node) {
        Some((head, dependent)) => [head, dependent].into_iter().for_each(part),
        None => forest.children(node).iter().for_each(|&child| part(child)),
    }
}

/// Finds the missing states of the history.
pub(super) fn find_steps(
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
