//! A system's table of constituent labels or relations, and what the constituent systems share around it.

use std::ops::Range;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::forest::{Forest, Kind};
use crate::ids::{CellId, LabelId, NodeId};
use crate::sentence::Str;
use crate::tree::{Child, ConstituentTree, TreeBuilder, Underivable};

/// What a constituent system builds, in an `impl TransitionSystem`: its types and what follows from its table of labels,
/// which stands in a field of this name. At the end, the root of the tree is found in this part of the configuration.
macro_rules! builds {
    ($tree:ty, labels $table:ident, root $root:ident) => {
        type Tree = $tree;
        type State = State;
        type Action = Action;

        fn label(&self, label: LabelId) -> String {
            self.$table.name(label).to_string()
        }

        fn tree(&self, forest: &Forest, state: &State) -> $tree {
            self.$table.tree(forest, state.$root)
        }
    };
}

pub(super) use builds;

/// Labels and their ids, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Str>", into = "Vec<Str>")]
pub struct Labels {
    names: Vec<Str>,
    ids: FxHashMap<Str, LabelId>,
}

impl TryFrom<Vec<Str>> for Labels {
    type Error = String;

    fn try_from(names: Vec<Str>) -> Result<Self, String> {
        let labels: Labels = names.iter().collect();
        if labels.len() < names.len() {
            return Err("a label is in the table twice".to_owned());
        }
        Ok(labels)
    }
}

impl From<Labels> for Vec<Str> {
    fn from(labels: Labels) -> Self {
        labels.names
    }
}

impl<T: AsRef<str>> FromIterator<T> for Labels {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let mut labels = Labels::default();
        for name in names {
            labels.add(name.as_ref());
        }
        labels
    }
}

impl Labels {
    /// The id of a label, which is added if it is new.
    pub fn add(&mut self, name: &str) -> LabelId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = LabelId::new(self.names.len());
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        id
    }

    /// Adds the labels of a tree, parents before children and from left to right.
    pub fn add_tree(&mut self, tree: &ConstituentTree) {
        let mut todo = vec![tree.root()];
        while let Some(id) = todo.pop() {
            self.add(&tree.node(id).label);
            todo.extend(tree.children(id).iter().rev().filter_map(|child| match child {
                Child::Node(node) => Some(*node),
                Child::Token(_) => None,
            }));
        }
    }

    /// The id of a label, if it is there.
    pub fn get(&self, name: &str) -> Option<LabelId> {
        self.ids.get(name).copied()
    }

    /// The id of a label.
    ///
    /// # Errors
    /// When it is not there.
    pub fn id(&self, name: &str) -> Result<LabelId, Underivable> {
        self.get(name)
            .ok_or_else(|| Underivable(format!("the label {name} is not among the system's labels")))
    }

    /// The text of a label.
    pub fn name(&self, label: LabelId) -> &str {
        &self.names[label.index()]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The labels in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(Str::as_str)
    }
}

/// The labels of a system with openings, and where each may stand. Those seen only at roots come first, and those never
/// seen at a root last, so that what may stand somewhere is one range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlacedLabels {
    pub labels: Labels,
    #[serde(default)]
    places: Places,
}

/// How many labels are seen in one kind of place only. The default allows every label everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Places {
    n_root_only: usize,
    n_inner_only: usize,
}

impl PlacedLabels {
    /// Labels each of which may stand anywhere.
    pub(crate) fn anywhere(labels: Labels) -> Self {
        PlacedLabels { labels, places: Places::default() }
    }

    /// The labels of these trees, and the largest `limit` of any tree (at least 1).
    pub(crate) fn of<'a>(
        trees: impl Iterator<Item = &'a ConstituentTree>,
        limit: impl Fn(&ConstituentTree) -> u32,
    ) -> (Self, Option<u32>) {
        // By label: was it seen at a root, and inside a tree?
        let (mut labels, mut seen, mut max) = (Labels::default(), Vec::new(), 1);
        for tree in trees {
            labels.add_tree(tree);
            seen.resize(labels.len(), (false, false));
            for (id, node) in tree.nodes() {
                let label = labels.get(&node.label).expect("just added");
                let (at_root, inside) = &mut seen[label.index()];
                *(if id == tree.root() { at_root } else { inside }) = true;
            }
            max = limit(tree).max(max);
        }
        let group = |place: (bool, bool)| {
            let here = labels.iter().zip(&seen).filter(move |(_, seen)| **seen == place);
            here.map(|(label, _)| label)
        };
        let (root_only, both, inner_only) = ((true, false), (true, true), (false, true));
        let places =
            Places { n_root_only: group(root_only).count(), n_inner_only: group(inner_only).count() };
        let labels = group(root_only).chain(group(both)).chain(group(inner_only)).collect();
        (PlacedLabels { labels, places }, Some(max))
    }

    /// The text of a label.
    pub(crate) fn name(&self, label: LabelId) -> &str {
        self.labels.name(label)
    }

    /// The tree whose root is the one item of a stack.
    pub(crate) fn tree(&self, forest: &Forest, stack: Option<CellId>) -> ConstituentTree {
        let root = forest.cell(stack.expect("a final state has one constituent")).node;
        let mut builder = TreeBuilder::with_tokens(forest.n_tokens());
        let mut todo: Vec<(NodeId, Option<NodeId>)> = vec![(root, None)];
        while let Some((id, parent)) = todo.pop() {
            let node = forest.node(id);
            let child = if node.kind == Kind::Word {
                Child::Token(node.left)
            } else {
                let new = builder.node(self.name(node.label.expect("a constituent has a label")));
                todo.extend(forest.children(id).iter().map(|&child| (child, Some(new))));
                Child::Node(new)
            };
            if let Some(parent) = parent {
                builder.attach(child, parent);
            }
        }
        builder.finish().expect("a finished parse is a tree over all words")
    }

    /// The labels that may stand at the root.
    #[inline]
    pub(crate) fn roots(&self) -> Range<usize> {
        0..self.labels.len() - self.places.n_inner_only
    }

    /// The labels that may stand inside a tree.
    #[inline]
    pub(crate) fn inner(&self) -> Range<usize> {
        self.places.n_root_only..self.labels.len()
    }

    /// Was this label seen at roots and nowhere else?
    #[inline]
    pub(crate) fn is_root_only(&self, label: LabelId) -> bool {
        label.index() < self.places.n_root_only
    }

    /// Checks a table from a file.
    pub(crate) fn check_table(&self) -> Result<(), String> {
        let Places { n_root_only, n_inner_only } = self.places;
        if n_inner_only >= self.labels.len() {
            return Err("no label may stand at the root".to_owned());
        }
        if n_root_only > self.labels.len() - n_inner_only {
            return Err("the groups of labels are larger than the table".to_owned());
        }
        Ok(())
    }

    /// Refuses trees with gaps, and with a label where it was never seen. Unknown labels are left to [`Labels::id`].
    pub(crate) fn check(&self, tree: &ConstituentTree) -> Result<(), Underivable> {
        continuous(tree)?;
        for (id, node) in tree.nodes() {
            let Some(label) = self.labels.get(&node.label) else { continue };
            let (may_stand, place) =
                if id == tree.root() { (self.roots(), "at the root of") } else { (self.inner(), "inside") };
            if !may_stand.contains(&label.index()) {
                return Err(Underivable(format!("{} was never seen {place} a tree", node.label)));
            }
        }
        Ok(())
    }
}

/// Refuses trees with a gap.
fn continuous(tree: &ConstituentTree) -> Result<(), Underivable> {
    match tree.nodes().find(|(_, node)| node.is_discontinuous()) {
        None => Ok(()),
        Some((_, node)) => {
            let (first, last) = (node.leftmost().index() + 1, node.rightmost().index() + 1);
            let label = &node.label;
            Err(Underivable(format!("{label} (from word {first} to word {last}) is discontinuous")))
        }
    }
}

/// The topmost opening of a stack: its label, how many items are above it, and what is below it.
///
/// # Panics
/// When there is none.
#[inline]
pub(crate) fn topmost_opening(forest: &Forest, stack: Option<CellId>) -> (LabelId, usize, Option<CellId>) {
    let (mut at, mut count) = (stack, 0);
    loop {
        let cell = forest.cell(at.expect("RE is legal only above an opening"));
        let node = forest.node(cell.node);
        if node.kind == Kind::Opening {
            return (node.label.expect("an opening has a label"), count, cell.below);
        }
        at = cell.below;
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_survives_serde_and_keeps_its_order() {
        let labels: Labels = ["S", "NP", "S", "A"].into_iter().collect();
        assert_eq!(labels.iter().collect::<Vec<_>>(), ["S", "NP", "A"]);
        let text = serde_json::to_string(&labels).unwrap();
        assert_eq!(text, r#"["S","NP","A"]"#);
        let again: Labels = serde_json::from_str(&text).unwrap();
        assert_eq!(again, labels);
        assert_eq!(again.get("A"), Some(LabelId::new(2)));
        assert!(again.id("X").is_err());
    }

    #[test]
    fn a_table_needs_a_label_for_the_root_and_room_for_its_groups() {
        let check = |n_root_only, n_inner_only| {
            let labels = ["A", "B", "C"].into_iter().collect();
            PlacedLabels { labels, places: Places { n_root_only, n_inner_only } }.check_table().is_ok()
        };
        assert!(check(0, 0) && check(3, 0) && check(1, 2));
        assert!(!check(0, 3) && !check(0, 4) && !check(2, 2) && !check(4, 0));
    }
}
