//! Gold constituents as ids, for the oracles of the top-down and in-order systems.

use crate::ids::LabelId;
use crate::systems::labels::Labels;
use crate::tree::Underivable;
use crate::tree::{Child, ConstituentTree};

/// One gold constituent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gold {
    /// The first word.
    pub left: u32,
    /// The place after the last word.
    pub right: u32,
    /// The label.
    pub label: LabelId,
    /// The place after the first child.
    pub first_end: u32,
}

/// The constituents of a tree in post-order.
///
/// # Errors
/// When a label is not in the table.
pub(crate) fn constituents(labels: &Labels, tree: &ConstituentTree) -> Result<Vec<Gold>, Underivable> {
    tree.nodes()
        .map(|(id, node)| {
            let first_end = match tree.children(id)[0] {
                Child::Token(token) => token.index() + 1,
                Child::Node(child) => tree.node(child).span().end,
            };
            let span = node.span();
            let (left, right, first_end) = (span.start as u32, span.end as u32, first_end as u32);
            Ok(Gold { left, right, label: labels.id(&node.label)?, first_end })
        })
        .collect()
}
