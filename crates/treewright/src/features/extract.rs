//! From a view to feature keys: nodes first, then atoms, then templates, each computed once.

use super::encode::{Encoded, NONE};
use super::template::{Atom, Attribute, Edge, NodePath, Spot, TemplateSet};
use crate::forest::{Forest, Kind, Place, View};
use crate::ids::{NodeId, TokenIdx};

/// Where a node comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Place(Place),
    Child(u16, Edge),
}

/// What the keys of a template depend on; keys that depend on little can be used again in other states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// The words at the front of the buffer, and nothing that was built on them.
    Buffer,
    /// One node, with all that is under it.
    Node(Place),
    /// The configuration.
    State,
}

impl Dependence {
    /// What these templates of a set depend on, each once, `State` last.
    pub fn all_of(set: &TemplateSet) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for template in &set.templates {
            let dependence = Self::of(template);
            if !all.contains(&dependence) && dependence != Dependence::State {
                all.push(dependence);
            }
        }
        all.push(Dependence::State);
        all
    }

    fn of(template: &[Atom]) -> Self {
        let is_plain = |atom: &Atom| match atom {
            Atom::Node(path, Attribute::Token(_, Spot::Head)) => {
                matches!(path.place, Place::Buffer(_)) && path.edges.is_empty()
            }
            _ => false,
        };
        if template.iter().all(is_plain) {
            return Dependence::Buffer;
        }
        let place = |atom: &Atom| match atom {
            Atom::Node(path, _) => Some(path.place),
            Atom::Distance(..) | Atom::Past(_) | Atom::Gaps => None,
        };
        match template.first().and_then(place) {
            Some(first) if template.iter().all(|atom| place(atom) == Some(first)) => Dependence::Node(first),
            _ => Dependence::State,
        }
    }
}

/// An atom with its nodes resolved to slots.
#[derive(Clone, Copy, Debug)]
enum Compiled {
    Node(u16, Attribute),
    Distance(u16, u16),
    Past(u8),
    Gaps,
}

/// A compiled template set with its scratch memory.
#[derive(Clone, Debug)]
pub struct Extractor {
    sources: Vec<Source>,
    atoms: Vec<Compiled>,
    /// For every template: where its atoms begin in `parts`.
    starts: Vec<u32>,
    /// For every template: where its hash begins, by its number in the whole set.
    seeds: Vec<u64>,
    parts: Vec<u16>,
    nodes: Vec<Option<NodeId>>,
    values: Vec<u32>,
}

impl Extractor {
    /// Compiles a set.
    pub fn new(set: &TemplateSet) -> Self {
        Self::of_part(set, |_| true)
    }

    /// Compiles the templates of a set that depend on the same thing; they keep the keys they have in the whole set.
    pub fn of_dependence(set: &TemplateSet, dependence: Dependence) -> Self {
        Self::of_part(set, |template| Dependence::of(template) == dependence)
    }

    fn of_part(set: &TemplateSet, is_wanted: impl Fn(&[Atom]) -> bool) -> Self {
        let mut paths: Vec<NodePath> = Vec::new();
        let mut sources: Vec<Source> = Vec::new();
        let mut slot = |path: &NodePath| {
            // Every prefix of a path is a node of its own, so parents come before children.
            let mut parent = 0;
            for length in 0..=path.edges.len() {
                let prefix = NodePath { place: path.place, edges: path.edges[..length].to_vec() };
                parent = match paths.iter().position(|known| *known == prefix) {
                    Some(known) => known as u16,
                    None => {
                        sources.push(match length {
                            0 => Source::Place(path.place),
                            _ => Source::Child(parent, path.edges[length - 1]),
                        });
                        paths.push(prefix);
                        paths.len() as u16 - 1
                    }
                };
            }
            parent
        };
        let mut known: Vec<&Atom> = Vec::new();
        let (mut atoms, mut starts, mut parts, mut seeds) = (Vec::new(), vec![0], Vec::new(), Vec::new());
        for (number, template) in set.templates.iter().enumerate().filter(|(_, template)| is_wanted(template))
        {
            seeds.push((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            for atom in template {
                let index = known.iter().position(|other| *other == atom).unwrap_or_else(|| {
                    known.push(atom);
                    atoms.push(match atom {
                        Atom::Node(path, attribute) => Compiled::Node(slot(path), *attribute),
                        Atom::Distance(from, to) => Compiled::Distance(slot(from), slot(to)),
                        Atom::Past(i) => Compiled::Past(*i),
                        Atom::Gaps => Compiled::Gaps,
                    });
                    known.len() - 1
                });
                parts.push(index as u16);
            }
            starts.push(parts.len() as u32);
        }
        let (nodes, values) = (vec![None; sources.len()], vec![NONE; atoms.len()]);
        Extractor { sources, atoms, starts, seeds, parts, nodes, values }
    }

    /// The number of templates, and so of keys per view.
    pub fn n_templates(&self) -> usize {
        self.starts.len() - 1
    }

    /// The keys of a view, one per template, into `out`, which is cleared first. A key is 0 where nothing of what
    /// its template looks at is there; it never is 0 otherwise.
    #[inline]
    pub fn extract(&mut self, forest: &Forest, view: &View, encoded: &Encoded, out: &mut Vec<u64>) {
        for i in 0..self.sources.len() {
            self.nodes[i] = match self.sources[i] {
                Source::Place(place) => forest.peek(view, place),
                Source::Child(parent, edge) => {
                    self.nodes[usize::from(parent)].and_then(|node| child(forest, node, edge))
                }
            };
        }
        for i in 0..self.atoms.len() {
            self.values[i] = match self.atoms[i] {
                Compiled::Node(slot, attribute) => {
                    self.nodes[usize::from(slot)].map_or(NONE, |node| value(forest, encoded, node, attribute))
                }
                Compiled::Distance(from, to) => {
                    match (self.nodes[usize::from(from)], self.nodes[usize::from(to)]) {
                        (Some(from), Some(to)) => {
                            distance_class(forest.node(from).head, forest.node(to).head)
                        }
                        _ => NONE,
                    }
                }
                Compiled::Past(i) => past(forest, view, i),
                Compiled::Gaps => view.n_deque.min(8) + 1,
            };
        }
        out.clear();
        for (range, &seed) in self.starts.windows(2).zip(&self.seeds) {
            let mut hash = seed;
            let mut any = 0;
            for &part in &self.parts[range[0] as usize..range[1] as usize] {
                let value = self.values[usize::from(part)];
                any |= value;
                hash = (hash.rotate_left(23) ^ u64::from(value)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            }
            hash ^= hash >> 32;
            out.push(if any == NONE { 0 } else { hash | 1 });
        }
    }
}

#[inline]
fn child(forest: &Forest, node: NodeId, edge: Edge) -> Option<NodeId> {
    let n = forest.node(node);
    match (n.kind, edge) {
        (Kind::Constituent | Kind::Temporary, Edge::Only) if n.n_left == 1 => n.first,
        (Kind::Constituent | Kind::Temporary, Edge::Left) if n.n_left > 1 => n.first,
        (Kind::Constituent | Kind::Temporary, Edge::Right) if n.n_left > 1 => n.last,
        (Kind::Word | Kind::Root, Edge::Left) => n.first,
        (Kind::Word | Kind::Root, Edge::Right) => n.last,
        (Kind::Word | Kind::Root, Edge::SecondLeft) if n.n_left > 1 => second(forest, node, n.head, true),
        (Kind::Word | Kind::Root, Edge::SecondRight) if n.n_right > 1 => second(forest, node, n.head, false),
        _ => None,
    }
}

/// The second outermost dependent on one side.
fn second(forest: &Forest, head: NodeId, place: TokenIdx, left: bool) -> Option<NodeId> {
    let (mut outermost, mut next) = (None::<(usize, NodeId)>, None::<(usize, NodeId)>);
    for dependent in forest.dependents(head) {
        let at = forest.node(dependent).head;
        if (at < place) != left {
            continue;
        }
        let reach = at.index().abs_diff(place.index());
        if outermost.is_none_or(|(r, _)| reach > r) {
            next = outermost;
            outermost = Some((reach, dependent));
        } else if next.is_none_or(|(r, _)| reach > r) {
            next = Some((reach, dependent));
        }
    }
    next.map(|(_, node)| node)
}

#[inline]
fn value(forest: &Forest, encoded: &Encoded, id: NodeId, attribute: Attribute) -> u32 {
    let node = forest.node(id);
    match attribute {
        Attribute::Token(column, spot) => {
            let place = match spot {
                Spot::Head => node.head.index(),
                Spot::Left => node.left.index(),
                Spot::Right => node.right.index().saturating_sub(1),
                Spot::BeforeLeft => node.left.index().wrapping_sub(1),
                Spot::AfterRight => node.right.index(),
            };
            encoded.get(column, place)
        }
        // Labels and tags must not be confused, nor an opening with the finished constituent.
        Attribute::Label => match node.label {
            Some(label) => (node.kind as u32 + 1) << 24 | (label.index() as u32 + 1),
            None => encoded.get(super::template::Column::Tag, node.head.index()),
        },
        Attribute::Length => length_class(node.right.index() - node.left.index()),
        Attribute::Shape => encoded.shape(node.left.index(), node.right.index()),
        Attribute::LeftValency => node.n_left.min(6) + 1,
        Attribute::RightValency => node.n_right.min(6) + 1,
        Attribute::LeftSet => label_set(forest, id, node.head, true),
        Attribute::RightSet => label_set(forest, id, node.head, false),
    }
}

/// A number for the set of relations on one side, whatever their order.
fn label_set(forest: &Forest, head: NodeId, place: TokenIdx, left: bool) -> u32 {
    let mut set = 1u64;
    for dependent in forest.dependents(head) {
        let node = forest.node(dependent);
        if (node.head < place) == left {
            set |= node.label.map_or(0, |label| 2 << (label.index() % 62));
        }
    }
    (set ^ (set >> 32).wrapping_mul(0x9E37_79B1)) as u32
}

fn length_class(length: usize) -> u32 {
    match length {
        0..=5 => length as u32 + 1,
        6..=10 => 7,
        11..=20 => 8,
        _ => 9,
    }
}

/// Distances in the classes of Zhang and Nivre (2011), with the sign of the direction.
fn distance_class(from: TokenIdx, to: TokenIdx) -> u32 {
    let class = match from.index().abs_diff(to.index()) {
        d @ 0..=5 => d as u32,
        6..=10 => 6,
        _ => 7,
    };
    1 + class * 2 + u32::from(from > to)
}

fn past(forest: &Forest, view: &View, i: u8) -> u32 {
    let mut step = view.past;
    for _ in 0..i {
        step = step.and_then(|step| forest.step(step).before);
    }
    step.map_or(NONE, |step| forest.step(step).action.index() as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::super::encode::Vocabulary;
    use super::*;
    use crate::ids::LabelId;
    use crate::sentence::Sentence;

    fn keys(templates: &str, sentence: &Sentence, forest: &Forest, view: &View) -> Vec<u64> {
        let vocabulary = Vocabulary::of([sentence].into_iter());
        let mut encoded = Encoded::default();
        vocabulary.encode(sentence, &mut encoded);
        let mut out = Vec::new();
        Extractor::new(&TemplateSet::parse(templates).expect(templates))
            .extract(forest, view, &encoded, &mut out);
        out
    }

    fn view(forest: &mut Forest, stack: &[NodeId], next: usize) -> View {
        let mut top = None;
        for &node in stack {
            top = Some(forest.push_cell(node, top));
        }
        let next = TokenIdx::new(next);
        View { stack: top, deque_top: None, deque: None, n_deque: 0, buffer: None, next, past: None }
    }

    #[test]
    fn what_is_not_there_gives_no_key_and_what_differs_gives_another() {
        let sentence = Sentence::from_tagged([("a", "T"), ("b", "U"), ("a", "T"), ("b", "T")]);
        let mut forest = Forest::new();
        forest.start(4, false);
        let stack = [forest.leaf(TokenIdx::new(0)), forest.leaf(TokenIdx::new(2))];
        let view = view(&mut forest, &stack, 3);
        let keys =
            keys("s0.t s1.t s2.t b0.t b1.t s0.t+s1.t s0.t+s2.t s0.l.t d0.c", &sentence, &forest, &view);
        assert!(keys[0] != keys[1], "the same tag at another place is another feature");
        assert_eq!((keys[2], keys[4], keys[7], keys[8]), (0, 0, 0, 0));
        assert!(keys[6] != 0, "a template fires if anything it looks at is there");
    }

    #[test]
    fn the_parts_of_a_set_give_the_keys_of_the_whole() {
        let sentence = Sentence::from_tagged([("a", "T"), ("b", "U"), ("a", "V"), ("b", "T"), ("c", "U")]);
        let vocabulary = Vocabulary::of([&sentence].into_iter());
        let mut encoded = Encoded::default();
        vocabulary.encode(&sentence, &mut encoded);
        let mut forest = Forest::new();
        forest.start(5, true);
        let stack = [forest.leaf(TokenIdx::new(0)), forest.leaf(TokenIdx::new(2))];
        let view = view(&mut forest, &stack, 3);
        for name in super::super::shipped_names() {
            let set = super::super::shipped(name).expect(name);
            let (mut whole, mut part, mut parts) = (Vec::new(), Vec::new(), Vec::new());
            Extractor::new(&set).extract(&forest, &view, &encoded, &mut whole);
            let dependences = Dependence::all_of(&set);
            assert!(dependences.len() > 3, "{name}");
            for dependence in dependences {
                Extractor::of_dependence(&set, dependence).extract(&forest, &view, &encoded, &mut part);
                parts.extend_from_slice(&part);
            }
            whole.sort_unstable();
            parts.sort_unstable();
            assert_eq!(whole, parts, "{name}");
        }
    }

    #[test]
    fn children_and_spans_of_constituents() {
        let sentence = Sentence::from_tagged([("a", "T"), ("b", "U"), ("c", "V")]);
        let mut forest = Forest::new();
        forest.start(3, false);
        let leaves: Vec<NodeId> = (0..3).map(|i| forest.leaf(TokenIdx::new(i))).collect();
        let head = TokenIdx::new(1);
        let node = forest.push_constituent(Kind::Constituent, LabelId::new(0), head, &leaves[..2]);
        let view = view(&mut forest, &[node], 2);
        let same = |a: &str, b: &str| {
            let place = |t: &str| keys(t, &sentence, &forest, &view)[0];
            place(a) == place(b)
        };
        assert!(same("s0.t", "s0.tr") && same("s0.l.t", "s0.tl") && same("s0.tro", "b0.t"));
        assert!(!same("s0.t", "s0.tl") && !same("s0.c", "s0.l.c"));
        assert_eq!(keys("s0.u.c s0.tlo", &sentence, &forest, &view), [0, 0]);
    }

    #[test]
    fn second_dependents_and_valency() {
        let sentence = Sentence::from_tagged([("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]);
        let mut forest = Forest::new();
        forest.start(4, true);
        let leaf = |i| NodeId::new(i);
        let one = forest.attach(leaf(3), leaf(2), LabelId::new(0));
        let two = forest.attach(one, leaf(0), LabelId::new(1));
        let three = forest.attach(two, leaf(1), LabelId::new(0));
        let view = view(&mut forest, &[three, leaf(0), leaf(1)], 4);
        let place = |t: &str| keys(t, &sentence, &forest, &view)[0];
        assert_eq!(place("s2.l.t"), place("s1.t"), "outermost by place, not by time");
        assert_eq!(place("s2.l2.t"), place("s0.t"));
        assert_eq!(place("s2.r.t"), 0);
        assert_ne!(place("s2.sl"), place("s2.sr"));
    }
}
