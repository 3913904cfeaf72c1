//! How far templates see: which nodes of a configuration, and what of them. Search that merges states, or bounds what is
//! still to come, asks this.

use std::ops::{BitOr, BitOrAssign};

use super::extract::{MAX_VALENCY, child};
use super::template::{Atom, Attribute, Edge, NodePath, Spot, TemplateSet};
use crate::forest::{Forest, Place};
use crate::ids::NodeId;

/// Attributes of a node, as a set. Words, tags and shapes follow from positions in the sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u8);

impl Attributes {
    /// The label; of a bare word, its tag.
    pub const LABEL: Attributes = Attributes(1);
    /// The position of the lexical head.
    pub const HEAD: Attributes = Attributes(1 << 1);
    /// Where the yield begins.
    pub const LEFT: Attributes = Attributes(1 << 2);
    /// Where the yield ends.
    pub const RIGHT: Attributes = Attributes(1 << 3);
    /// Where the yield begins and ends.
    pub const SPAN: Attributes = Attributes(1 << 2 | 1 << 3);
    /// The number of left dependents, as far as templates count.
    pub const LEFT_VALENCY: Attributes = Attributes(1 << 4);
    /// The number of right dependents, as far as templates count.
    pub const RIGHT_VALENCY: Attributes = Attributes(1 << 5);
    /// The relations of the left dependents.
    pub const LEFT_RELATIONS: Attributes = Attributes(1 << 6);
    /// The relations of the right dependents.
    pub const RIGHT_RELATIONS: Attributes = Attributes(1 << 7);

    /// Are all of `other` among these?
    pub fn contains(self, other: Attributes) -> bool {
        self.0 & other.0 == other.0
    }

    fn of(attribute: Attribute) -> Self {
        match attribute {
            Attribute::Token(_, Spot::Head) => Attributes::HEAD,
            Attribute::Token(_, Spot::Left | Spot::BeforeLeft) => Attributes::LEFT,
            Attribute::Token(_, Spot::Right | Spot::AfterRight) => Attributes::RIGHT,
            Attribute::Length | Attribute::Shape => Attributes::SPAN,
            Attribute::Label => Attributes::LABEL,
            Attribute::LeftValency => Attributes::LEFT_VALENCY,
            Attribute::RightValency => Attributes::RIGHT_VALENCY,
            Attribute::LeftSet => Attributes::LEFT_RELATIONS,
            Attribute::RightSet => Attributes::RIGHT_RELATIONS,
        }
    }
}

impl BitOr for Attributes {
    type Output = Attributes;

    fn bitor(self, other: Attributes) -> Attributes {
        Attributes(self.0 | other.0)
    }
}

impl BitOrAssign for Attributes {
    fn bitor_assign(&mut self, other: Attributes) {
        *self = *self | other;
    }
}

/// A node that templates look at, and which of its attributes they use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedNode {
    /// Where the way to it begins.
    pub place: Place,
    /// The steps down from there; none for the node of the place itself.
    pub path: Vec<Edge>,
    /// The attributes that are used.
    pub attributes: Attributes,
}

/// What templates use of a given node, or of one below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The steps down.
    pub path: Vec<Edge>,
    /// The attributes that are used.
    pub attributes: Attributes,
}

impl Observation {
    /// Hands over what is seen, as numbers: in two nodes with the same numbers templates see the same.
    pub fn values(&self, forest: &Forest, node: NodeId, mut out: impl FnMut(u32)) {
        let mut at = Some(forest.node(node));
        for &edge in &self.path {
            at = at.and_then(|node| child(node, edge)).map(|node| forest.node(node));
        }
        let Some(node) = at else { return out(0) };
        out(1);
        let mut seen = |attribute: Attributes, value: u32| {
            if self.attributes.contains(attribute) {
                out(value);
            }
        };
        let (head, no_label) = (node.head.index() as u32, 1 << 31);
        seen(Attributes::LABEL, node.label.map_or(no_label | head, |label| label.index() as u32));
        seen(Attributes::HEAD, head);
        seen(Attributes::LEFT, node.left.index() as u32);
        seen(Attributes::RIGHT, node.right.index() as u32);
        seen(Attributes::LEFT_VALENCY, node.n_left.min(MAX_VALENCY));
        seen(Attributes::RIGHT_VALENCY, node.n_right.min(MAX_VALENCY));
        for half in [0, 32] {
            seen(Attributes::LEFT_RELATIONS, (node.left_relations >> half) as u32);
            seen(Attributes::RIGHT_RELATIONS, (node.right_relations >> half) as u32);
        }
    }
}

/// What scores look at: two configurations that agree in this have the same scores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Horizon {
    nodes: Vec<ObservedNode>,
    n_past: usize,
    sees_gaps: bool,
}

impl Horizon {
    /// Each observed node, once.
    pub fn nodes(&self) -> &[ObservedNode] {
        &self.nodes
    }

    /// How many of the newest actions are looked at.
    pub fn n_past(&self) -> usize {
        self.n_past
    }

    /// Does the number of gapped elements count?
    pub fn sees_gaps(&self) -> bool {
        self.sees_gaps
    }

    fn add(&mut self, path: &NodePath, attributes: Attributes) {
        let known = self.nodes.iter_mut().find(|node| node.place == path.place && node.path == path.edges);
        match known {
            Some(node) => node.attributes |= attributes,
            None => {
                self.nodes.push(ObservedNode { place: path.place, path: path.edges.clone(), attributes });
            }
        }
    }
}

impl TemplateSet {
    /// What the templates look at.
    pub fn horizon(&self) -> Horizon {
        let mut horizon = Horizon::default();
        for template in &self.templates {
            let (mut n_past, mut sees_gaps) = (0, false);
            for atom in template {
                match atom {
                    Atom::Node(path, attribute) => horizon.add(path, Attributes::of(*attribute)),
                    Atom::Distance(from, to) => {
                        horizon.add(from, Attributes::HEAD);
                        horizon.add(to, Attributes::HEAD);
                    }
                    Atom::Past(i) => n_past = n_past.max(usize::from(*i) + 1),
                    Atom::Gaps => sees_gaps = true,
                }
            }
            horizon.n_past = horizon.n_past.max(n_past);
            horizon.sees_gaps |= sees_gaps;
        }
        horizon
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::shipped;

    fn horizon(text: &str) -> Horizon {
        TemplateSet::parse(text).expect("templates").horizon()
    }

    #[test]
    fn the_simplified_set_sees_labels_and_spans_of_two_items_and_the_buffer() {
        let horizon = shipped("simplified").expect("a shipped set").horizon();
        assert_eq!((horizon.n_past(), horizon.sees_gaps()), (0, false));
        for node in horizon.nodes() {
            assert!(node.path.is_empty());
            let seen = match node.place {
                Place::Deque(0) | Place::Stack(0) => Attributes::LABEL | Attributes::SPAN,
                place => {
                    assert!(matches!(place, Place::Buffer(0..4)), "{place:?}");
                    Attributes::LABEL | Attributes::HEAD | Attributes::SPAN
                }
            };
            assert!(seen.contains(node.attributes), "{node:?}");
        }
        assert_eq!(horizon.nodes().len(), 6);
    }

    #[test]
    fn every_kind_of_atom_is_seen() {
        for text in ["d0.w", "s1.c", "d0.l.c", "s0.vl", "b0.sl", "b0.l.w"] {
            assert_eq!(horizon(text).nodes().len(), 1, "{text}");
        }
        assert_eq!(horizon("d0-s0.dist").nodes().len(), 2);
        assert_eq!((horizon("a0+a2 a1").n_past(), horizon("gaps").sees_gaps()), (3, true));
        let observed = horizon("s0.r.w s0.r.c s0.vr");
        assert_eq!(observed.nodes().len(), 2);
        assert_eq!(observed.nodes()[0].attributes, Attributes::HEAD | Attributes::LABEL);
    }
}
