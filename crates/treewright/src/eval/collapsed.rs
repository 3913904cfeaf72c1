//! Labels that count as the same because they differ only in what is cut off.

use std::collections::{BTreeMap, BTreeSet};

use super::{Functions, Params, Style, bracket, disco};
use crate::tree::ConstituentTree;

/// Labels of a treebank that count as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collapsed {
    /// The part that is left of them: `IP`.
    pub label: String,
    /// The labels themselves, in alphabetical order: `IP-INF`, `IP-MAT`.
    pub labels: Vec<String>,
}

/// The labels of these trees that count as the same only because functions are cut off; none where labels are compared
/// whole, or not at all. The style says whose rules cut them.
pub fn collapsed_labels<'a>(
    trees: impl Iterator<Item = &'a ConstituentTree>,
    params: &Params,
    style: Style,
) -> Vec<Collapsed> {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    if params.functions == Functions::Keep || !params.labeled {
        return Vec::new();
    }
    for tree in trees {
        for (_, node) in tree.nodes() {
            let label = match style {
                Style::Evalb => bracket::cut(&node.label),
                Style::Disco => disco::cut(&node.label),
            };
            groups.entry(label).or_default().insert(&node.label);
        }
    }
    let is_deleted = |label: &str| params.delete_label.iter().any(|deleted| deleted == label);
    let collapsed = groups.into_iter().filter(|(label, labels)| labels.len() > 1 && !is_deleted(label));
    let owned = |labels: BTreeSet<&str>| labels.into_iter().map(str::to_owned).collect();
    collapsed.map(|(label, labels)| Collapsed { label: label.to_owned(), labels: owned(labels) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::tree;
    use super::*;

    #[track_caller]
    fn check(params: &Params, style: Style, expected: &str) {
        let trees = [
            "(TOP (IP-MAT (NP-SBJ (N a)) (VP (V b))))",
            "(TOP (IP-SUB (NP (N a)) (-LRB- (V b)) (TOP-X (V c))))",
            "(TOP (-RRB- (N a)))",
        ];
        let trees = trees.map(|text| tree(text, false).1.expect("a tree"));
        let collapsed = collapsed_labels(trees.iter(), params, style);
        let show = |group: &Collapsed| format!("{}: {}", group.label, group.labels.join(" "));
        assert_eq!(collapsed.iter().map(show).collect::<Vec<_>>().join("; "), expected);
    }

    #[test]
    fn labels_that_differ_after_the_cut_are_found() {
        let params = Params::fitting(false);
        let rest = "IP: IP-MAT IP-SUB; NP: NP NP-SBJ";
        check(&params, Style::Disco, rest);
        // EVALB cuts everything from the first hyphen on.
        check(&params, Style::Evalb, &format!(": -LRB- -RRB-; {rest}"));
        check(&Params { functions: Functions::Keep, ..params.clone() }, Style::Evalb, "");
        check(&Params { labeled: false, ..params }, Style::Evalb, "");
    }
}
