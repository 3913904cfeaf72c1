//! The relations of the dependency systems, and the actions that make arcs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind};
use crate::ids::{ActionId, LabelId, NodeId};
use crate::sentence::Str;
use crate::system::ActionSet;
use crate::system::actions::{Argument, places};
use crate::tree::{Arc, DependencyTree, Underivable};

/// The relations and the actions that make arcs: first the LEFTs, then the RIGHTs, after a system's other actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relations {
    /// All relations, sorted; the position is the `LabelId`.
    names: Vec<Str>,
    /// How many actions come before the first LEFT.
    n_before: usize,
    /// The relation of each LEFT: those only for words, then those for words and r, then those only for r.
    left: Vec<u32>,
    /// `left[..n_word]` may be used when the head is a word ...
    n_word: usize,
    /// ... and `left[root..]` when it is r.
    root: usize,
    /// The relation of each RIGHT.
    right: Vec<u32>,
}

places! {
    /// The relation of a LEFT, by its place among the LEFTs.
    LeftRelation;
    /// The relation of a RIGHT, by its place among the RIGHTs.
    RightRelation;
}

impl Relations {
    /// The relations of these trees, in the directions they occur in.
    ///
    /// A direction that never occurs gets the relations of the other one (or, failing that, all), so that no parse
    /// gets stuck without a relation.
    pub(crate) fn from_trees<'a>(trees: impl Iterator<Item = &'a DependencyTree>, n_before: usize) -> Self {
        let (mut left, mut right, mut root) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for tree in trees {
            for (dependent, arc) in tree.arcs.iter().enumerate() {
                let set = match arc.head {
                    None => &mut root,
                    Some(head) if head.index() > dependent => &mut left,
                    Some(_) => &mut right,
                };
                if !set.contains(&arc.label) {
                    set.insert(arc.label.clone());
                }
            }
        }
        let words: BTreeSet<Str> = left.union(&right).cloned().collect();
        let mut all: BTreeSet<Str> = words.union(&root).cloned().collect();
        if all.is_empty() {
            all.insert(Str::default());
        }
        let for_words = if words.is_empty() { &all } else { &words };
        let or = |set: BTreeSet<Str>, other: &BTreeSet<Str>| if set.is_empty() { other.clone() } else { set };
        let (left, right, root) = (or(left, for_words), or(right, for_words), or(root, &all));
        Self::new(all.clone(), &left, &right, &root, n_before)
    }

    /// These relations, each in every place. No relation at all means unlabelled trees.
    pub(crate) fn with_labels(labels: impl IntoIterator<Item = Str>, n_before: usize) -> Self {
        let mut all: BTreeSet<Str> = labels.into_iter().collect();
        if all.is_empty() {
            all.insert(Str::default());
        }
        Self::new(all.clone(), &all, &all, &all, n_before)
    }

    fn new(
        all: BTreeSet<Str>,
        word: &BTreeSet<Str>,
        right: &BTreeSet<Str>,
        root: &BTreeSet<Str>,
        n_before: usize,
    ) -> Self {
        let names: Vec<Str> = all.into_iter().collect();
        let id = |name: &Str| names.binary_search(name).expect("every relation is in the table") as u32;
        let mut left: Vec<u32> = word.difference(root).map(id).collect();
        let root_start = left.len();
        left.extend(word.intersection(root).map(id));
        let n_word = left.len();
        left.extend(root.difference(word).map(id));
        let right = right.iter().map(id).collect();
        Relations { left, right, n_word, root: root_start, n_before, names }
    }

    /// Checks a table from a file, for a system with this many actions before the arcs.
    pub(crate) fn check(&self, n_before: usize) -> Result<(), String> {
        let is_known = |ids: &[u32]| ids.iter().all(|&id| (id as usize) < self.names.len());
        let are_distinct = |ids: &[u32]| ids.iter().collect::<BTreeSet<_>>().len() == ids.len();
        let wrong = if self.n_before != n_before {
            "another number of actions than the system has comes before the arcs"
        } else if !self.names.is_sorted_by(|a, b| a < b) {
            "the relations are not in order"
        } else if !is_known(&self.left) || !is_known(&self.right) {
            "an arc has a relation that is not in the table"
        } else if !are_distinct(&self.left) || !are_distinct(&self.right) {
            "an arc is in the table twice"
        } else if self.right.is_empty() || self.n_word == 0 || self.root >= self.left.len() {
            "a direction has no relation"
        } else if self.root > self.n_word || self.n_word > self.left.len() {
            "the relations of words and of the root do not cover the table"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }

    /// The number of actions, those before the arcs included.
    pub(crate) fn n_actions(&self) -> usize {
        self.n_before + self.left.len() + self.right.len()
    }

    /// How many LEFTs and how many RIGHTs there are.
    #[inline]
    pub(crate) fn n_arcs(&self) -> [usize; 2] {
        [self.left.len(), self.right.len()]
    }

    /// The label of a LEFT's arc.
    #[inline]
    pub(crate) fn left(&self, relation: LeftRelation) -> LabelId {
        LabelId::new(self.left[relation.index()] as usize)
    }

    /// The label of a RIGHT's arc.
    #[inline]
    pub(crate) fn right(&self, relation: RightRelation) -> LabelId {
        LabelId::new(self.right[relation.index()] as usize)
    }

    /// Is this action, from the first LEFT on, a LEFT?
    #[inline]
    pub(crate) fn is_left(&self, action: ActionId) -> bool {
        action.index() < self.n_before + self.left.len()
    }

    /// The text of a relation.
    pub(crate) fn name(&self, label: LabelId) -> &str {
        &self.names[label.index()]
    }

    /// Allows every LEFT whose relation fits the head.
    #[inline]
    pub(crate) fn allow_left(&self, head: Kind, out: &mut ActionSet) {
        let (start, end) = match head {
            Kind::Root => (self.root, self.left.len()),
            _ => (0, self.n_word),
        };
        out.insert_range(self.n_before + start, self.n_before + end);
    }

    /// Allows every RIGHT.
    #[inline]
    pub(crate) fn allow_right(&self, out: &mut ActionSet) {
        out.insert_range(self.n_before + self.left.len(), self.n_actions());
    }

    /// The action that makes this arc.
    pub(crate) fn action_of(&self, dependent: usize, arc: &Arc) -> Result<ActionId, Underivable> {
        let unknown =
            |place: &str| Underivable(format!("the relation `{}` was never seen {place}", arc.label));
        let label = self.names.binary_search(&arc.label).map_err(|_| unknown("in training"))? as u32;
        let (range, first, place) = match arc.head {
            None => (&self.left[self.root..], self.root, "on an arc from the root"),
            Some(head) if head.index() > dependent => (&self.left[..self.n_word], 0, "on an arc to the left"),
            Some(_) => (&self.right[..], self.left.len(), "on an arc to the right"),
        };
        let at = range.iter().position(|&l| l == label).ok_or_else(|| unknown(place))?;
        Ok(ActionId::new(self.n_before + first + at))
    }

    /// The tree below r, once every word hangs from it.
    pub(crate) fn tree(&self, forest: &Forest, root: NodeId) -> DependencyTree {
        let mut tree = DependencyTree { arcs: vec![Arc::default(); forest.n_tokens()] };
        let mut todo = vec![root];
        while let Some(head) = todo.pop() {
            let node = forest.node(head);
            for dependent in forest.dependents(head) {
                let child = forest.node(dependent);
                let label = child.label.expect("an attached node has a relation");
                tree.arcs[child.head.index()] = Arc {
                    head: (node.kind == Kind::Word).then_some(node.head),
                    label: self.names[label.index()].clone(),
                };
                todo.push(dependent);
            }
        }
        tree
    }
}
