//! Signatures: what two states must agree in to be merged.
//!
//! Scores look at some attributes of some places. An item of the stack is seen in every place on its way down, and as a child
//! once it was taken up, so what is seen of a place must be known of all places before it: these sets of attributes are closed
//! first, and then numbered, so that a signature is a few numbers.

use rustc_hash::FxHashMap;

use crate::features::{Attributes, Edge, Horizon, Observation, ObservedNode};
use crate::forest::{Forest, Place, View};
use crate::ids::NodeId;

/// The numbers of a signature; those that are not needed are 0.
pub(super) type Signature = [u32; 12];

/// Items of the stack that scores may look at.
const MAX_LEVELS: usize = 6;
/// Newest actions that scores may look at.
const MAX_PAST: usize = 4;

/// No node is there.
const NOTHING: u32 = 0;

/// A part of a signature, by its place.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    OfState(usize),
    OfContext(usize),
}

/// Makes the signatures of states for one scorer.
#[derive(Clone, Debug)]
pub(super) struct Signer {
    horizon: Horizon,
    top: Place,
    /// What is looked at in nodes, each set once.
    sets: Vec<Vec<Observation>>,
    /// The set for each item of the stack, from its top.
    levels: Vec<usize>,
    /// The set for the first word of the buffer.
    front: usize,
    /// Numbers for sequences of values, as a trie: a sequence and one more value.
    trie: FxHashMap<(u32, u32), u32>,
    n_numbers: u32,
    /// The number of each node for each set, 0 if it is not known yet.
    known: Vec<u32>,
    /// For tests: a part of signatures that is left out.
    #[cfg(test)]
    pub left_out: Option<Part>,
}

impl Signer {
    /// For scores that look no farther than the horizon, and a system with this top of the stack.
    ///
    /// # Errors
    /// When that is too far.
    pub(super) fn new(horizon: &Horizon, top: Place) -> Result<Self, String> {
        let level_of = |place: Place| match (place, top) {
            (Place::Deque(0), Place::Deque(0)) => Some(0),
            (Place::Stack(i), Place::Deque(0)) => Some(usize::from(i) + 1),
            (Place::Stack(i), _) => Some(usize::from(i)),
            // There is never anything in a deque, and words after the first of the buffer are what they are.
            (Place::Deque(_) | Place::Buffer(_), _) => None,
        };
        let n_levels = 1 + horizon.nodes().iter().filter_map(|node| level_of(node.place)).max().unwrap_or(0);
        if n_levels > MAX_LEVELS {
            return Err(format!(
                "features look at {n_levels} items of the stack, and at most {MAX_LEVELS} can be compared"
            ));
        }
        if horizon.n_past() > MAX_PAST {
            return Err(format!(
                "features look at the newest {} actions, and at most {MAX_PAST} can be compared",
                horizon.n_past()
            ));
        }
        let of_place = |wanted: &dyn Fn(Place) -> bool| {
            let mut observed = Observations::default();
            for ObservedNode { place, path, attributes } in horizon.nodes() {
                if wanted(*place) {
                    observed.add(path, *attributes);
                }
            }
            observed
        };
        let mut levels: Vec<Observations> =
            (0..n_levels).map(|level| of_place(&|place| level_of(place) == Some(level))).collect();
        let mut front = of_place(&|place| place == Place::Buffer(0));
        close(&mut levels, &mut front);
        let mut sets: Vec<Vec<Observation>> = Vec::new();
        let mut number = |observed: Observations| {
            sets.iter().position(|set| *set == observed.0).unwrap_or_else(|| {
                sets.push(observed.0);
                sets.len() - 1
            })
        };
        let levels = levels.into_iter().map(&mut number).collect();
        let front = number(front);
        Ok(Signer {
            horizon: horizon.clone(),
            top,
            sets,
            levels,
            front,
            trie: FxHashMap::default(),
            n_numbers: 0,
            known: Vec::new(),
            #[cfg(test)]
            left_out: None,
        })
    }

    /// Is it for this horizon and system?
    pub(super) fn is_for(&self, horizon: &Horizon, top: Place) -> bool {
        self.horizon == *horizon && self.top == top
    }

    /// Forgets the nodes of the last sentence.
    pub(super) fn clear(&mut self) {
        self.trie.clear();
        self.known.clear();
        // Sequences of each set begin with a number of their own.
        self.n_numbers = self.sets.len() as u32;
    }

    /// What decides how a state goes on, given what the item began with that is topmost: the buffer, that item, and what the
    /// rules and features see of the past. What lies below is the same for all states with this beginning.
    pub(super) fn of_state(&mut self, forest: &Forest, view: &View, origin: u32, rules: u32) -> Signature {
        let mut signature = Signature::default();
        let b0 = forest.peek(view, Place::Buffer(0));
        signature[..5].copy_from_slice(&[
            origin,
            position(forest, b0),
            rules,
            self.number(forest, b0, self.front),
            self.number(forest, forest.peek(view, self.top), self.levels[0]),
        ]);
        past(forest, view, &mut signature[5..5 + self.horizon.n_past()]);
        #[cfg(test)]
        if let Some(Part::OfState(part)) = self.left_out {
            signature[part] = 0;
        }
        signature
    }

    /// What decides how a state goes on after any push, as long as what is pushed stays on the stack.
    pub(super) fn of_context(&mut self, forest: &Forest, view: &View, rules: u32) -> Signature {
        let mut signature = Signature::default();
        let b0 = forest.peek(view, Place::Buffer(0));
        signature[..3].copy_from_slice(&[position(forest, b0), rules, self.number(forest, b0, self.front)]);
        let n_below = self.levels.len() - 1;
        for level in 0..n_below {
            let node = forest.peek(view, self.place(level));
            signature[3 + level] = self.number(forest, node, self.levels[level + 1]);
        }
        let n_past = self.horizon.n_past().saturating_sub(1);
        past(forest, view, &mut signature[3 + n_below..][..n_past]);
        #[cfg(test)]
        if let Some(Part::OfContext(part)) = self.left_out {
            signature[part] = 0;
        }
        signature
    }

    /// The place of an item of the stack, counted from its top.
    fn place(&self, level: usize) -> Place {
        match (self.top, level) {
            (top, 0) => top,
            (Place::Deque(_), level) => Place::Stack(level as u8 - 1),
            (_, level) => Place::Stack(level as u8),
        }
    }

    /// The number of a node: the same for nodes that look the same.
    fn number(&mut self, forest: &Forest, node: Option<NodeId>, set: usize) -> u32 {
        let Some(node) = node else { return NOTHING };
        let at = node.index() * self.sets.len() + set;
        if at >= self.known.len() {
            self.known.resize(forest.n_nodes() * self.sets.len(), NOTHING);
        }
        if self.known[at] == NOTHING {
            let mut number = set as u32 + 1;
            let (trie, n_numbers) = (&mut self.trie, &mut self.n_numbers);
            for observation in &self.sets[set] {
                observation.values(forest, node, |value| {
                    number = *trie.entry((number, value)).or_insert_with(|| {
                        *n_numbers += 1;
                        *n_numbers
                    });
                });
            }
            self.known[at] = number;
        }
        self.known[at]
    }
}

/// The position of b0 in the sentence; the end, if there is none.
fn position(forest: &Forest, b0: Option<NodeId>) -> u32 {
    b0.map_or(u32::MAX, |b0| forest.node(b0).head.index() as u32)
}

/// The newest actions.
fn past(forest: &Forest, view: &View, out: &mut [u32]) {
    let mut at = view.past;
    for out in out {
        let step = at.map(|step| *forest.step(step));
        *out = step.map_or(0, |step| step.action.index() as u32 + 1);
        at = step.and_then(|step| step.before);
    }
}

/// What scores use of a node and of those below it.
#[derive(Clone, Debug, Default)]
struct Observations(Vec<Observation>);

impl Observations {
    /// Adds one; says whether it was new.
    fn add(&mut self, path: &[Edge], attributes: Attributes) -> bool {
        match self.0.iter_mut().find(|known| known.path == path) {
            Some(known) if known.attributes.contains(attributes) => false,
            Some(known) => {
                known.attributes |= attributes;
                true
            }
            None => {
                self.0.push(Observation { path: path.to_vec(), attributes });
                true
            }
        }
    }

    fn add_all(&mut self, others: &Observations) -> bool {
        others.0.iter().fold(false, |is_new, other| self.add(&other.path, other.attributes) | is_new)
    }
}

/// Adds to each set what must be known of a node before it comes to that place.
fn close(levels: &mut [Observations], front: &mut Observations) {
    loop {
        let mut is_new = false;
        // An item goes down when another is pushed.
        for level in (1..levels.len()).rev() {
            let below = levels[level].clone();
            is_new |= levels[level - 1].add_all(&below);
        }
        // The first word of the buffer is pushed with its dependents.
        is_new |= front.add_all(&levels[0]);
        // A child was the topmost item, or a child of it, before; a second dependent was the outermost one.
        let mut earlier: Vec<(Vec<Edge>, Attributes, bool)> = Vec::new();
        for Observation { path, attributes } in levels[0].0.iter().chain(&front.0) {
            if let Some((edge, rest)) = path.split_first() {
                earlier.push((rest.to_vec(), *attributes, false));
                let outermost = match edge {
                    Edge::SecondLeft => Edge::Left,
                    Edge::SecondRight => Edge::Right,
                    Edge::Left | Edge::Right | Edge::Only => continue,
                };
                earlier.push(([&[outermost], rest].concat(), *attributes, true));
            }
        }
        for (path, attributes, is_dependent) in earlier {
            is_new |= levels[0].add(&path, attributes);
            if is_dependent {
                is_new |= front.add(&path, attributes);
            }
        }
        if !is_new {
            return;
        }
    }
}
