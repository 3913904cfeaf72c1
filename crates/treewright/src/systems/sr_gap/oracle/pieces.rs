//! The pieces of open gold nodes, kept up to date step by step; the oracle says what they are for.

use crate::ids::LabelId;

use super::Gold;

/// The loss where no parse can be finished.
pub(super) const NEVER: u32 = u32::MAX;

/// An element of S or D, as far as gold is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// The smallest gold node of several words that contains its words.
    above: u32,
    /// The place of its last word. Further down the stack last words come earlier.
    last: u32,
    size: u32,
    is_temporary: bool,
}

/// The kind of node that a reduction makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Gold,
    Wrong,
    Temporary,
}

/// The pieces of an open gold node.
#[derive(Clone, Copy, Debug, Default)]
struct Pieces {
    temporary: u32,
    /// Items that are not temporaries, unshifted words, and open nodes below.
    solid: u32,
    /// The items among them.
    solid_items: u32,
}

impl Pieces {
    /// The item alone.
    fn of(item: Item) -> Self {
        let (temporary, solid) = (u32::from(item.is_temporary), u32::from(!item.is_temporary));
        Pieces { temporary, solid, solid_items: solid }
    }

    /// Adds the pieces of a node below that is closed, or is to be: until now the node was a piece.
    fn take(&mut self, below: Pieces) {
        self.temporary += below.temporary;
        self.solid = self.solid + below.solid - 1;
        self.solid_items += below.solid_items;
    }

    fn add(&mut self, other: Pieces) {
        self.temporary += other.temporary;
        self.solid += other.solid;
        self.solid_items += other.solid_items;
    }

    fn subtract(&mut self, other: Pieces) {
        self.temporary -= other.temporary;
        self.solid -= other.solid;
        self.solid_items -= other.solid_items;
    }
}

/// The state of the gold nodes of several words, and of the items.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    has_temporaries: bool,
    /// For a node that is not open, a node above it on the way to the next open one; for an open one, itself.
    up: Vec<u32>,
    /// Of open nodes.
    pieces: Vec<Pieces>,
    /// The number of open nodes whose last word is in front of each place.
    n_open_before: Vec<u32>,
    /// d0.
    newest: Option<Item>,
    /// The other items, nearest last: S, then those that gaps have passed over.
    items: Vec<Item>,
    /// The number of items that gaps have passed over.
    pub(super) n_gaps: usize,
    /// Those of them that have the same host as d0.
    passed: Pieces,
    /// The open unary above d0, if d0 was just shifted.
    pub(super) unary: Option<LabelId>,
    n_shifted: u32,
    /// The loss if no gap were pending.
    pub(super) loss: u32,
    /// For each node, the last searches that have seen an item of its own, solid or temporary.
    seen: Vec<[u32; 2]>,
    n_searches: u32,
}

impl Progress {
    /// The start of a sentence.
    pub(super) fn new(gold: &Gold, has_temporaries: bool) -> Self {
        let n_nodes = gold.label.len();
        let n = gold.above_word.len();
        let mut progress = Progress {
            has_temporaries,
            up: (0..n_nodes as u32).collect(),
            pieces: vec![Pieces::default(); n_nodes],
            n_open_before: vec![0; n + 1],
            newest: None,
            items: Vec::new(),
            n_gaps: 0,
            passed: Pieces::default(),
            unary: None,
            n_shifted: 0,
            loss: 0,
            seen: vec![[0; 2]; n_nodes],
            n_searches: 0,
        };
        if n_nodes == 0 {
            return progress;
        }
        gold.above_word.iter().for_each(|&node| progress.pieces[node as usize].solid += 1);
        for node in 0..n_nodes as u32 {
            progress.n_open_before[gold.right[node as usize] as usize] += 1;
            if node != gold.root() {
                progress.pieces[gold.parent(node) as usize].solid += 1;
            }
        }
        progress.loss = progress.pieces.iter().map(|&pieces| progress.wrong_to_come(pieces)).sum();
        progress
    }

    /// The wrong constituents that it takes to complete a node with these pieces.
    fn wrong_to_come(&self, pieces: Pieces) -> u32 {
        if self.has_temporaries { pieces.temporary.saturating_sub(1) } else { pieces.solid.saturating_sub(2) }
    }

    /// The smallest open node at or above `node`, or the root.
    fn host(&mut self, node: u32) -> u32 {
        let mut node = node as usize;
        while self.up[node] as usize != node {
            // Halving the way makes later walks short.
            self.up[node] = self.up[self.up[node] as usize];
            node = self.up[node] as usize;
        }
        node as u32
    }

    /// An item of S or D without d0; 0 is nearest to d0.
    pub(super) fn item(&self, number: usize) -> Option<Item> {
        Some(self.items[self.items.len().checked_sub(number + 1)?])
    }

    /// The gold label if a reduction of d0 with `item` gives the yield of a gold node.
    pub(super) fn gold_label(&self, gold: &Gold, item: Item) -> Option<LabelId> {
        let newest = self.newest?;
        let above = gold.common(newest.above, item.above) as usize;
        (gold.size[above] == newest.size + item.size).then(|| gold.label[above])
    }

    /// Adds the pieces of the open nodes from `node` on, which are to be closed, to `total`, until `is_end` says that
    /// one stays open or there are `at_most`. Gives how many they are, the wrong constituents that they no longer
    /// need, and where this ended.
    fn close_from(
        &mut self,
        gold: &Gold,
        node: u32,
        total: &mut Pieces,
        at_most: u32,
        is_end: impl Fn(u32) -> bool,
    ) -> (u32, u32, u32) {
        let (mut node, mut closed, mut saved) = (self.host(node), 0, 0);
        while !is_end(node) && closed < at_most {
            let pieces = self.pieces[node as usize];
            saved += self.wrong_to_come(pieces);
            total.add(pieces);
            // It was a piece of the next one.
            total.solid -= 1;
            closed += 1;
            node = self.host(gold.parent(node));
        }
        (closed, saved, node)
    }

    /// The loss that a shift adds, without the unary; exact only if it is less than `below`.
    pub(super) fn shift_cost(&mut self, gold: &Gold, below: u32) -> u32 {
        let Some(newest) = self.newest else { return 0 };
        let closed = self.n_open_before[self.n_shifted as usize];
        if closed == 0 || closed >= below {
            return closed;
        }
        // They all contain d0, so they are the first ones above it.
        let mut total = Pieces::default();
        let (_, saved, node) = self.close_from(gold, newest.above, &mut total, closed, |_| false);
        total.add(self.pieces[node as usize]);
        let saved = saved + self.wrong_to_come(self.pieces[node as usize]);
        closed + self.wrong_to_come(total) - saved
    }

    /// The loss that a reduction of d0 with `item` adds, without the unary; exact only if it is less than `below`.
    pub(super) fn reduction_cost(&mut self, gold: &Gold, item: Item, made: Made, below: u32) -> u32 {
        let Some(newest) = self.newest else { return NEVER };
        let is_temporary = made == Made::Temporary;
        if newest.is_temporary && item.is_temporary || is_temporary && !self.has_temporaries {
            return NEVER;
        }
        let above = gold.common(newest.above, item.above);
        let host = self.host(above);
        let mut total = self.pieces[host as usize];
        let (mut lost, mut saved) = (0, self.wrong_to_come(total));
        for part in [newest, item] {
            let is_end = |node| node == host;
            let (closed, wrong, _) = self.close_from(gold, part.above, &mut total, below - lost, is_end);
            (lost, saved) = (lost + closed, saved + wrong);
            if lost >= below {
                return lost;
            }
        }
        let wrong = u32::from(made == Made::Wrong);
        total.subtract(Pieces::of(newest));
        total.subtract(Pieces::of(item));
        total.add(Pieces::of(Item { is_temporary, ..newest }));
        let mut node = host;
        let is_whole = newest.size + item.size == gold.size[above as usize];
        if is_whole && !is_temporary {
            // The piece takes the place of the node.
            return lost + wrong + u32::from(made != Made::Gold);
        }
        while total.solid == 0 || is_whole && node == host {
            if node == gold.root() {
                return NEVER;
            }
            lost += 1;
            node = self.host(gold.parent(node));
            let pieces = self.pieces[node as usize];
            saved += self.wrong_to_come(pieces);
            let below = std::mem::replace(&mut total, pieces);
            total.take(below);
        }
        lost + wrong + self.wrong_to_come(total) - saved
    }

    /// True if there is an item from number `first` on that d0 can be reduced with at no cost. `first` is the number
    /// of gaps, or one more.
    fn has_free(&mut self, first: usize) -> bool {
        let Some(newest) = self.newest else { return false };
        let host = self.host(newest.above);
        let all = self.pieces[host as usize];
        let mut others = all;
        others.subtract(Pieces::of(newest));
        others.subtract(self.passed);
        if first > self.n_gaps
            && let Some(item) = self.item(self.n_gaps)
            && self.host(item.above) == host
        {
            others.subtract(Pieces::of(item));
        }
        if newest.is_temporary || !self.has_temporaries {
            return others.solid_items > 0;
        }
        others.temporary > 0 || others.solid_items > 0 && all.temporary == 0
    }

    /// The least that a reduction of d0 with one of the items from number `first` on adds to the loss; from `below` on
    /// only that it is no less. `first` is the number of gaps, or one more.
    pub(super) fn best_reduction(&mut self, gold: &Gold, first: usize, below: u32) -> u32 {
        if first >= self.items.len() {
            return NEVER;
        }
        if self.has_free(first) {
            return 0;
        }
        let Some(newest) = self.newest else { return NEVER };
        // Every node that is closed costs at least this, and no reduction costs less any more.
        let per_node = if self.has_temporaries { 1 } else { 2 };
        let mut best = below;
        self.n_searches += 1;
        // The smallest open node around d0 that may contain what is left to look at, and how many are smaller.
        let (mut around, mut n_smaller) = (self.host(newest.above), 0);
        for number in first..self.items.len() {
            let item = self.item(number).expect("within the stack");
            while around != gold.root() && gold.left[around as usize] > item.last {
                around = self.host(gold.parent(around));
                n_smaller += per_node;
            }
            if best <= n_smaller.max(per_node) {
                break;
            }
            let host = self.host(item.above) as usize;
            let seen = &mut self.seen[host][usize::from(item.is_temporary)];
            if std::mem::replace(seen, self.n_searches) == self.n_searches {
                continue;
            }
            if self.gold_label(gold, item).is_some() {
                best = best.min(self.reduction_cost(gold, item, Made::Gold, best));
                continue;
            }
            for made in [Made::Wrong, Made::Temporary] {
                best = best.min(self.reduction_cost(gold, item, made, best));
            }
        }
        best
    }

    /// Changes the pieces of an open node.
    fn change(&mut self, node: u32, change: impl FnOnce(&mut Pieces)) {
        let before = self.pieces[node as usize];
        change(&mut self.pieces[node as usize]);
        self.loss = self.loss - self.wrong_to_come(before) + self.wrong_to_come(self.pieces[node as usize]);
    }

    /// An open node is no longer open: its pieces go to the next larger one, and that one is closed too if nothing can
    /// complete it.
    fn close(&mut self, gold: &Gold, node: u32, is_built: bool) {
        let (mut node, mut lost) = (node, u32::from(!is_built));
        loop {
            self.loss += lost;
            self.n_open_before[gold.right[node as usize] as usize] -= 1;
            if node == gold.root() {
                return;
            }
            let pieces = self.pieces[node as usize];
            self.loss -= self.wrong_to_come(pieces);
            self.up[node as usize] = gold.parent(node);
            node = self.host(node);
            self.change(node, |above| above.take(pieces));
            lost = 1;
            if self.pieces[node as usize].solid > 0 {
                return;
            }
        }
    }

    fn lose_unary(&mut self) {
        self.loss += u32::from(self.unary.take().is_some());
    }

    pub(super) fn shift(&mut self, gold: &Gold) {
        self.lose_unary();
        if let Some(newest) = self.newest {
            self.items.push(newest);
            for _ in 0..self.n_open_before[self.n_shifted as usize] {
                let node = self.host(newest.above);
                self.close(gold, node, false);
            }
        }
        let word = self.n_shifted as usize;
        let above = gold.above_word[word];
        self.newest = Some(Item { above, last: word as u32, size: 1, is_temporary: false });
        let host = self.host(above);
        self.pieces[host as usize].solid_items += 1;
        self.unary = gold.unary[word];
        self.n_shifted += 1;
    }

    pub(super) fn gap(&mut self, _gold: &Gold) {
        self.lose_unary();
        let (item, newest) = (self.item(self.n_gaps), self.newest);
        let (item, newest) = item.zip(newest).expect("GAP needs an item beside d0");
        if self.host(item.above) == self.host(newest.above) {
            self.passed.add(Pieces::of(item));
        }
        self.n_gaps += 1;
    }

    pub(super) fn reduce_unary(&mut self, label: LabelId) {
        let gold = self.unary.take();
        if gold != Some(label) {
            self.loss += 1 + u32::from(gold.is_some());
        }
    }

    /// Without a label, the reduction makes a temporary.
    pub(super) fn reduce(&mut self, gold: &Gold, label: Option<LabelId>) {
        self.lose_unary();
        let item = self.items.remove(self.items.len() - 1 - self.n_gaps);
        let newest = self.newest.expect("a reduction needs d0");
        let above = gold.common(newest.above, item.above);
        let host = self.host(above);
        for part in [newest, item] {
            let mut node = self.host(part.above);
            while node != host {
                self.close(gold, node, false);
                node = self.host(node);
            }
        }
        let size = newest.size + item.size;
        let joined = Item { above, last: newest.last, size, is_temporary: label.is_none() };
        self.change(host, |pieces| {
            pieces.subtract(Pieces::of(newest));
            pieces.subtract(Pieces::of(item));
            pieces.add(Pieces::of(joined));
        });
        let is_whole = size == gold.size[above as usize];
        let is_built = is_whole && label == Some(gold.label[above as usize]);
        self.loss += u32::from(label.is_some() && !is_built);
        if is_whole || self.pieces[host as usize].solid == 0 {
            self.close(gold, host, is_built);
        }
        (self.newest, self.n_gaps, self.passed) = (Some(joined), 0, Pieces::default());
    }
}
