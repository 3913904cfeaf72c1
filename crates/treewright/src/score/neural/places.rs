//! The places of a configuration whose words, and whose labels, the scores of its actions depend on.

use crate::forest::{Forest, Kind, Node, Place, View};
use crate::ids::NodeId;
use crate::tree::TreeKind;

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    Root,
    Word(usize),
}

/// A node of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    At(Place),
    /// The nearest items of the stack that were opened and not closed.
    Opening(u8),
}

/// Which word of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Its head.
    Head,
    /// The head of its first child, or of its outermost left dependent.
    First,
    /// The head of its last child, or of its outermost right dependent.
    Last,
    /// The first word of its yield.
    From,
    /// The last word of its yield.
    To,
}

/// Places, by their names: `s0`, `d0`, `b0` and `o0` (an opening) are items, from 0 to 9; alone they stand for their head,
/// with `.first`, `.last`, `.from` or `.to` for another word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places(Vec<(Item, Part)>);

/// Rows for labels in the table of each place. With more labels some share a row.
pub(super) const N_LABELS: usize = 256;

/// The places that suit a system.
pub(super) fn default_places(kind: TreeKind, is_binary: bool) -> &'static str {
    match (kind, is_binary) {
        (TreeKind::Dependencies, _) => "s2 s1 s0 b0 s0.first s0.last s1.last b0.first",
        (TreeKind::Constituents, false) => "s0 s0.from s0.to s1 s1.from s1.to s2 s2.from b0 o0 o1",
        (TreeKind::Constituents, true) => "d0 d0.from d0.to d1 s0 s0.from s0.to s1 s1.from b0",
    }
}

impl Places {
    /// Reads names of places.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let place = |name: &str| -> Option<(Item, Part)> {
            let (item, part) = name.split_once('.').unwrap_or((name, ""));
            let number: u8 = item.get(1..)?.parse().ok().filter(|number| *number < 10)?;
            let item = match item.as_bytes()[0] {
                b's' => Item::At(Place::Stack(number)),
                b'd' => Item::At(Place::Deque(number)),
                b'b' => Item::At(Place::Buffer(number)),
                b'o' => Item::Opening(number),
                _ => return None,
            };
            let part = match part {
                "" => Part::Head,
                "first" => Part::First,
                "last" => Part::Last,
                "from" => Part::From,
                "to" => Part::To,
                _ => return None,
            };
            Some((item, part))
        };
        let unknown =
            |name| format!("there is no place {name:?}; places are like s0, b0, d1, o0 or s0.first");
        let places: Result<Vec<_>, String> =
            text.split_whitespace().map(|name| place(name).ok_or_else(|| unknown(name))).collect();
        match places? {
            places if places.is_empty() => Err("at least one place must be looked at".to_owned()),
            places if places.len() > 64 => Err("at most 64 places can be looked at".to_owned()),
            places => Ok(Places(places)),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What is at each place, and the row of its label.
    #[inline]
    pub(super) fn look(&self, forest: &Forest, view: &View, mut see: impl FnMut(usize, Seen, Option<usize>)) {
        for (i, (item, part)) in self.0.iter().enumerate() {
            let node = match *item {
                Item::At(place) => forest.peek(view, place),
                Item::Opening(number) => opening(forest, view, number),
            };
            let (seen, label) = node.map_or((Seen::Nothing, None), |node| look_at(forest, node, *part));
            see(i, seen, label);
        }
    }
}

fn opening(forest: &Forest, view: &View, number: u8) -> Option<NodeId> {
    let is_opening = |node: &NodeId| forest.node(*node).kind == Kind::Opening;
    forest.chain(view.stack).filter(is_opening).nth(usize::from(number))
}

#[inline]
fn look_at(forest: &Forest, node: NodeId, part: Part) -> (Seen, Option<usize>) {
    let node = match part {
        Part::Head | Part::From | Part::To => Some(forest.node(node)),
        Part::First => forest.node(node).first.map(|child| forest.node(child)),
        Part::Last => forest.node(node).last.map(|child| forest.node(child)),
    };
    let Some(node) = node else { return (Seen::Nothing, None) };
    if node.kind == Kind::Root {
        return (Seen::Root, None);
    }
    match part {
        Part::From => (Seen::Word(node.left.index()), None),
        Part::To => (Seen::Word(node.right.index().max(node.left.index() + 1) - 1), None),
        Part::Head | Part::First | Part::Last => (Seen::Word(node.head.index()), label_row(node)),
    }
    .within(forest.n_tokens())
}

trait Within {
    fn within(self, n_tokens: usize) -> Self;
}

impl Within for (Seen, Option<usize>) {
    /// An opening after the last word stands before nothing.
    #[inline]
    fn within(self, n_tokens: usize) -> Self {
        match self {
            (Seen::Word(word), label) if word >= n_tokens => (Seen::Nothing, label),
            other => other,
        }
    }
}

fn label_row(node: &Node) -> Option<usize> {
    let of_kind = match node.kind {
        Kind::Word | Kind::Root | Kind::Constituent => 0,
        Kind::Temporary => 1,
        Kind::Opening => 2,
    };
    node.label.map(|label| (label.index() * 3 + of_kind) % N_LABELS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{LabelId, TokenIdx};

    #[track_caller]
    fn check(forest: &Forest, view: &View, places: &str, expected: &[(Seen, Option<usize>)]) {
        let mut found = Vec::new();
        Places::parse(places).expect("places").look(forest, view, |i, seen, label| {
            assert_eq!(i, found.len());
            found.push((seen, label));
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn places_show_words_and_labels() {
        let mut forest = Forest::new();
        forest.start(4, true);
        let [zero, one, two] = [0, 1, 2].map(|i| forest.leaf(TokenIdx::new(i)));
        let head = forest.attach(one, zero, LabelId::new(2));
        let opening = forest.push_opening(LabelId::new(1), TokenIdx::new(0), TokenIdx::new(0));
        let phrase =
            forest.push_constituent(Kind::Temporary, LabelId::new(0), TokenIdx::new(1), &[head, two]);
        let bottom = forest.push_cell(opening, None);
        let stack = Some(forest.push_cell(head, Some(bottom)));
        let view = View {
            stack,
            deque_top: Some(phrase),
            deque: None,
            n_deque: 0,
            buffer: None,
            next: TokenIdx::new(3),
            past: None,
        };
        let word = |word, label| (Seen::Word(word), label);
        let nothing = (Seen::Nothing, None);
        check(
            &forest,
            &view,
            "s0 s0.first s0.last s2 b0",
            &[word(1, None), word(0, Some(6)), nothing, nothing, word(3, None)],
        );
        check(
            &forest,
            &view,
            "s0.from s0.to b1 b2",
            &[word(0, None), word(1, None), (Seen::Root, None), nothing],
        );
        check(
            &forest,
            &view,
            "d0 d0.to d0.last o0 o1 s1",
            &[word(1, Some(1)), word(2, None), word(2, None), word(0, Some(5)), nothing, word(0, Some(5))],
        );
    }

    #[test]
    fn unknown_places_are_refused() {
        for bad in ["", "x0", "s", "s10", "s0.middle", "s0 .", "é0"] {
            assert!(Places::parse(bad).is_err(), "{bad}");
        }
        for kind in [TreeKind::Dependencies, TreeKind::Constituents] {
            for is_binary in [false, true] {
                assert!(Places::parse(default_places(kind, is_binary)).is_ok());
            }
        }
    }
}
