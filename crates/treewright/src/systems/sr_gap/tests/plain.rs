//! The loss by its definition, read off a configuration from scratch: the twin of the oracle, for sentences that are too
//! long for exhaustive search.

use crate::forest::{Forest, Kind};
use crate::ids::{LabelId, NodeId};
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::sr_gap::oracle::Gold;
use crate::systems::sr_gap::{Action, Last, SrGap, State};

/// The fate of a gold node of several words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Built,
    Lost,
}

/// An item on the stack, as far as gold is concerned.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// The smallest gold node that contains its words.
    above: u32,
    size: u32,
    is_temporary: bool,
}

/// The pieces that belong to a gold node.
#[derive(Clone, Copy, Debug, Default)]
struct Pieces {
    temporary: u32,
    solid: u32,
}

/// The facts read from a configuration.
struct Reader<'a> {
    gold: &'a Gold,
    fate: Vec<Fate>,
    pieces: Vec<Pieces>,
    wrong: u32,
}

/// The loss of a configuration.
pub fn loss(system: &SrGap, gold: &Gold, forest: &mut Forest, state: &State) -> u32 {
    if state.n_deque == 0 {
        return without_gaps(system, gold, forest, state);
    }
    // A reduction must follow.
    let (mut legal, mut best) = (ActionSet::default(), u32::MAX);
    system.legal(forest, state, &mut legal);
    for action in legal.iter() {
        assert_ne!(system.actions().get(action), Action::Shift);
        let after = system.apply(forest, state, action);
        best = best.min(loss(system, gold, forest, &after));
    }
    best
}

/// The loss if D has one element.
fn without_gaps(system: &SrGap, gold: &Gold, forest: &Forest, state: &State) -> u32 {
    let n_nodes = gold.label.len();
    let mut reader =
        Reader { gold, fate: vec![Fate::Open; n_nodes], pieces: vec![Pieces::default(); n_nodes], wrong: 0 };
    for node in forest.chain(state.stack).chain(state.d0) {
        reader.read_item(forest, node);
    }
    // A word just shifted can still get its unary.
    if let Some(d0) = state.d0.filter(|_| state.own.last == Last::Shift) {
        reader.wrong -= u32::from(gold.unary[forest.node(d0).head.index()].is_some());
    }
    for token in state.next.index()..gold.above_word.len() {
        reader.pieces[gold.above_word[token] as usize].solid += 1;
    }
    // A node whose words are all shifted, without d0, can never be built.
    for node in 0..n_nodes {
        if reader.fate[node] == Fate::Open && gold.right[node] < state.next.index() as u32 {
            reader.fate[node] = Fate::Lost;
        }
    }
    let has_temporaries = !system.symbols.temporaries().is_empty();
    let mut loss = reader.wrong;
    for node in 0..n_nodes {
        let Pieces { temporary, solid } = reader.pieces[node];
        let above = &mut reader.pieces[gold.parent(node as u32) as usize];
        if reader.fate[node] == Fate::Open && solid > 0 {
            loss += if has_temporaries { temporary.saturating_sub(1) } else { solid - 2 };
            above.solid += 1;
        } else {
            loss += u32::from(reader.fate[node] != Fate::Built);
            above.temporary += temporary;
            above.solid += solid;
        }
    }
    loss
}

impl Reader<'_> {
    /// Reads all that an item is made of, and counts the item as a piece.
    fn read_item(&mut self, forest: &Forest, top: NodeId) {
        // A pre-order with the last child first; read backwards, children come before their parents, and a second
        // child's part lies above the first's.
        let (mut order, mut todo, mut parts) = (Vec::new(), vec![top], Vec::<Item>::new());
        while let Some(id) = todo.pop() {
            order.push(id);
            todo.extend(forest.children(id));
        }
        for &id in order.iter().rev() {
            let node = forest.node(id);
            let part = match *forest.children(id) {
                [] => {
                    let word = node.head.index();
                    self.wrong += u32::from(self.gold.unary[word].is_some());
                    Item { above: self.gold.above_word[word], size: 1, is_temporary: false }
                }
                [below] => {
                    // The gold unary, if there is one, was counted as lost at its word.
                    if self.gold.unary[forest.node(below).head.index()] == node.label {
                        self.wrong -= 1;
                    } else {
                        self.wrong += 1;
                    }
                    parts.pop().expect("the child was read")
                }
                _ => {
                    let second = parts.pop().expect("the second child was read");
                    let first = parts.pop().expect("the first child was read");
                    self.join(first, second, node.label.filter(|_| node.kind == Kind::Constituent))
                }
            };
            parts.push(part);
        }
        let item = parts.pop().expect("the item was read");
        let pieces = &mut self.pieces[item.above as usize];
        *(if item.is_temporary { &mut pieces.temporary } else { &mut pieces.solid }) += 1;
    }

    /// Two parts under one node, which is a temporary if it has no label.
    fn join(&mut self, first: Item, second: Item, label: Option<LabelId>) -> Item {
        let gold = self.gold;
        let above = gold.common(first.above, second.above);
        let size = first.size + second.size;
        for part in [first, second] {
            let mut node = part.above;
            while node != above {
                if self.fate[node as usize] == Fate::Open {
                    self.fate[node as usize] = Fate::Lost;
                }
                node = gold.parent(node);
            }
        }
        let is_gold = size == gold.size[above as usize] && label == Some(gold.label[above as usize]);
        if size == gold.size[above as usize] {
            self.fate[above as usize] = if is_gold { Fate::Built } else { Fate::Lost };
        }
        self.wrong += u32::from(label.is_some() && !is_gold);
        Item { above, size, is_temporary: label.is_none() }
    }
}
