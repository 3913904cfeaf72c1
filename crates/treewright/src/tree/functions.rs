//! Function tags: what a label says beyond its category (`NP-SBJ-1` is an `NP`).

use crate::ids::NodeId;
use crate::tree::ConstituentTree;

/// The category of a label: the part before the first `-`, `=` or `|`.
///
/// A label that starts with one of these is kept whole, since it is no category with tags: `-LRB-`, `-NONE-`, `--`.
pub fn category(label: &str) -> &str {
    let is_cut = |c: char| matches!(c, '-' | '=' | '|');
    match label.find(is_cut) {
        Some(cut) if cut > 0 => &label[..cut],
        _ => label,
    }
}

/// Cuts every label down to its [`category`]. With `edges`, also removes the edge labels of constituents and
/// words, where export and TIGER-XML have their functions. Tags and secondary edges stay.
pub fn strip_functions(mut tree: ConstituentTree, edges: bool) -> ConstituentTree {
    for i in 0..tree.n_nodes() {
        let label = tree.label_mut(NodeId::new(i));
        label.truncate(category(label).len());
    }
    if edges {
        tree.clear_edges();
    }
    tree
}

/// Names an unlabelled root, as in the Penn Treebank's `( (S ..))`. Other roots stay.
pub fn name_root(mut tree: ConstituentTree, label: &str) -> ConstituentTree {
    let root = tree.label_mut(tree.root());
    if root.is_empty() {
        *root = label.into();
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::arbitrary::{Shape, constituents};
    use proptest::prelude::*;

    #[test]
    fn categories() {
        #[track_caller]
        fn check(label: &str, expected: &str) {
            assert_eq!(category(label), expected);
        }
        check("NP-SBJ-1", "NP");
        check("NP=2", "NP");
        check("ADVP|PRT", "ADVP");
        check("NP", "NP");
        check("", "");
        check("-LRB-", "-LRB-");
        check("-NONE-", "-NONE-");
        check("--", "--");
        check("É-X", "É");
    }

    #[test]
    fn only_an_unlabelled_root_is_named() {
        let mut rng = crate::tree::arbitrary::Rng(1);
        let mut tree = crate::tree::arbitrary::constituent_tree(&mut rng, 3, Shape::CONTINUOUS);
        let same = tree.clone();
        assert_eq!(name_root(tree.clone(), "TOP"), same);
        let root = tree.root();
        *tree.label_mut(root) = "".into();
        assert_eq!(name_root(tree, "TOP").node(root).label, "TOP");
    }

    proptest! {
        #[test]
        fn only_labels_change((_, tree) in constituents(10, Shape::NASTY), edges: bool) {
            let stripped = strip_functions(tree.clone(), edges);
            prop_assert_eq!(&strip_functions(stripped.clone(), edges), &stripped);
            prop_assert!(!edges || !stripped.has_edges());
            for (id, node) in tree.nodes() {
                let new = stripped.node(id);
                prop_assert_eq!(category(&node.label), new.label.as_str());
                prop_assert_eq!(if edges { "" } else { node.edge.as_str() }, new.edge.as_str());
                prop_assert_eq!(tree.children(id), stripped.children(id));
            }
            prop_assert_eq!(tree.secondary_edges(), stripped.secondary_edges());
        }
    }
}
