//! From a view to feature keys: nodes first, then atoms, then templates, each computed once.

use std::ops::Range;

use super::dependence::Dependence;
use super::encode::{Encoded, NONE};
use super::template::{Atom, Attribute, Column, Edge, N_COLUMNS, NodePath, Spot, TemplateSet};
use crate::forest::{Forest, Kind, Node, Place, View};
use crate::ids::{LabelId, NodeId};
use crate::weights::kernel::{BranchlessList, zip};

/// No place of a compiled set has more nodes, so that a node's slot needs no check.
pub(super) const MAX_NODES: usize = 32;
/// A compiled set has at most this many values, so that the place of one fits in a byte.
pub(super) const MAX_VALUES: usize = 256;
/// The values of each place fill whole blocks, which are copied faster.
const BLOCK: usize = 8;
/// This many nodes are remembered for each place, with their values.
const REMEMBERED: usize = 32;
/// More dependents than this are not told apart by their number.
pub(super) const MAX_VALENCY: u32 = 6;
/// Templates have at most this many atoms.
pub(super) const MAX_PARTS: usize = 6;

/// What is looked at in one place. It depends on the node there alone, since nodes never change.
#[derive(Clone, Debug)]
struct PlaceAtoms {
    place: Place,
    /// The nodes below that of the place, which is the first: a node before them, and which of its children.
    children: Vec<(u8, Edge)>,
    /// What of which node: tokens first, by their nodes.
    atoms: Vec<(u8, OfNode)>,
    /// How many tokens of each node are looked at.
    n_tokens: Vec<u8>,
    /// Where the values of its atoms begin.
    first: usize,
}

impl PlaceAtoms {
    fn n_blocks(&self) -> usize {
        self.atoms.len().div_ceil(BLOCK)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfNode {
    Attribute(Attribute),
    /// The place of its head in the sentence, from 1: for distances.
    Head,
}

/// What does not depend on a single place.
#[derive(Clone, Copy, Debug)]
enum Other {
    /// Between two heads, by their values.
    Distance(u8, u8),
    Past(u8),
    Gaps,
}

/// A compiled template set with its scratch memory.
#[derive(Clone, Debug, Default)]
pub struct Extractor {
    places: Vec<PlaceAtoms>,
    others: Vec<Other>,
    /// Where the values of `others` begin.
    first_other: usize,
    /// The atoms of templates, and where their values are.
    known: Vec<(Atom, u8)>,
    groups: Vec<TemplateGroup>,
    values: Values,
    /// For each place, the slot of the node that was looked at last.
    slots: Vec<usize>,
    /// For each slot the node there: its number from 2, 1 for none at all, 0 if the slot is free.
    nodes: Vec<u32>,
    /// For each slot the values.
    remembered: Vec<[u32; BLOCK]>,
}

/// The values of atoms.
#[derive(Clone, Debug)]
struct Values([u32; MAX_VALUES]);

impl Default for Values {
    fn default() -> Self {
        Values([NONE; MAX_VALUES])
    }
}

/// Some templates of a set, by their number of atoms: those with one first.
#[derive(Clone, Debug, Default)]
struct TemplateGroup {
    /// The values they look at, each once.
    values: Vec<u8>,
    /// How many templates there are of each size.
    n_of_size: [u16; MAX_PARTS],
    /// Where each hash begins, by the template's number in the whole set, which also is the key's topmost byte.
    seeds: Vec<u64>,
    /// The values they are made of, one template after the other.
    parts: Vec<u8>,
}

/// The multipliers of a template's atoms: odd, without a pattern.
pub(super) const FACTORS: [u64; MAX_PARTS] = [
    0x9E37_79B9_7F4A_7C15,
    0xD6E8_FEB8_6659_FD93,
    0xA076_1D64_78BD_642F,
    0xE703_7ED1_A0B4_28DB,
    0x8EBC_6AF0_9C88_C6E3,
    0x5899_65CC_7537_4CC3,
];

/// The same for all values of a set. (Factors that are multiples of each other, or equally far apart, would make views
/// look the same that differ.)
const VALUE_FACTORS: [u64; MAX_VALUES] = {
    let mut factors = [0; MAX_VALUES];
    let (mut i, mut state) = (0, 0u64);
    while i < MAX_VALUES {
        // The generator SplitMix64.
        state = state.wrapping_add(FACTORS[0]);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        factors[i] = (mixed ^ mixed >> 31) | 1;
        i += 1;
    }
    factors
};

/// Bits of a key below the template's byte.
const HASH_BITS: u32 = 56;

/// The class of a key's template, below 256: sets of up to 256 templates have one each.
#[inline]
pub fn template_class(key: u64) -> usize {
    (key >> HASH_BITS) as usize
}

impl Extractor {
    /// Compiles a set, as one group.
    pub fn new(set: &TemplateSet) -> Self {
        let mut extractor = Self::without_groups(set);
        extractor.add_group(set, |_| true);
        extractor
    }

    /// Compiles the atoms of a set; `add_group` then adds templates.
    pub fn without_groups(set: &TemplateSet) -> Self {
        Self::of_atoms(&set.templates)
    }

    fn of_atoms(templates: &[Vec<Atom>]) -> Self {
        let mut extractor = Extractor::default();
        let atoms = distinct_atoms(templates);
        for atom in &atoms {
            match atom {
                Atom::Node(path, attribute) => _ = extractor.look_at(path, OfNode::Attribute(*attribute)),
                Atom::Distance(from, to) => {
                    for path in [from, to] {
                        extractor.look_at(path, OfNode::Head);
                    }
                }
                Atom::Past(_) | Atom::Gaps => {}
            }
        }
        for of_place in &mut extractor.places {
            of_place.sort_atoms();
            of_place.first = extractor.first_other;
            extractor.first_other += of_place.n_blocks() * BLOCK;
        }
        for atom in atoms {
            let at_other = extractor.first_other + extractor.others.len();
            let other = match atom {
                Atom::Node(path, attribute) => {
                    let at = extractor.look_at(path, OfNode::Attribute(*attribute)) as u8;
                    extractor.known.push((atom.clone(), at));
                    continue;
                }
                Atom::Distance(from, to) => {
                    let [from, to] = [from, to].map(|path| extractor.look_at(path, OfNode::Head) as u8);
                    Other::Distance(from, to)
                }
                Atom::Past(i) => Other::Past(*i),
                Atom::Gaps => Other::Gaps,
            };
            extractor.others.push(other);
            extractor.known.push((atom.clone(), at_other as u8));
        }
        let n_slots = extractor.places.len() * REMEMBERED;
        extractor.slots = vec![0; extractor.places.len()];
        extractor.nodes = vec![0; n_slots];
        extractor.remembered = vec![[NONE; BLOCK]; extractor.first_other / BLOCK * REMEMBERED];
        extractor
    }

    /// Where the value of an attribute of a node is; from now on it is looked at.
    fn look_at(&mut self, path: &NodePath, what: OfNode) -> usize {
        let place = self.places.iter().position(|of| of.place == path.place).unwrap_or_else(|| {
            self.places.push(PlaceAtoms {
                place: path.place,
                children: Vec::new(),
                atoms: Vec::new(),
                n_tokens: Vec::new(),
                first: 0,
            });
            self.places.len() - 1
        });
        let of_place = &mut self.places[place];
        let mut node = 0;
        for &edge in &path.edges {
            let step = (node as u8, edge);
            let known = of_place.children.iter().position(|&known| known == step);
            node = 1 + known.unwrap_or_else(|| {
                of_place.children.push(step);
                of_place.children.len() - 1
            });
        }
        let atom = (node as u8, what);
        let known = of_place.atoms.iter().position(|&known| known == atom);
        of_place.first
            + known.unwrap_or_else(|| {
                of_place.atoms.push(atom);
                of_place.atoms.len() - 1
            })
    }

    /// Adds the templates of the set that depend on what is wanted, as a group, and gives its number. A template has
    /// the same key in every group.
    pub fn add_group(&mut self, set: &TemplateSet, is_wanted: impl Fn(Dependence) -> bool) -> usize {
        let mut group = TemplateGroup::default();
        let wanted =
            set.templates.iter().enumerate().filter(|(_, template)| is_wanted(Dependence::of(template)));
        let mut wanted: Vec<(usize, &Vec<Atom>)> = wanted.collect();
        wanted.sort_by_key(|(_, template)| template.len());
        for (number, template) in wanted {
            group.n_of_size[template.len() - 1] += 1;
            group.seeds.push(number as u64);
            for atom in template {
                let known = self.known.iter().find(|(other, _)| other == atom);
                let (_, value) = known.expect("an atom of the set");
                group.parts.push(*value);
                if !group.values.contains(value) {
                    group.values.push(*value);
                }
            }
        }
        self.groups.push(group);
        self.groups.len() - 1
    }

    /// Room for a sentence, with what the set looks at.
    pub fn encoded(&self) -> Encoded {
        let (mut wants, mut wants_shapes) = ([false; N_COLUMNS], false);
        for (_, what) in self.places.iter().flat_map(|of_place| &of_place.atoms) {
            match what {
                OfNode::Attribute(Attribute::Token(column, _)) => wants[*column as usize] = true,
                // A word has no label but its tag.
                OfNode::Attribute(Attribute::Label) => wants[Column::Tag as usize] = true,
                OfNode::Attribute(Attribute::Shape) => wants_shapes = true,
                OfNode::Attribute(_) | OfNode::Head => {}
            }
        }
        Encoded::for_columns(wants, wants_shapes)
    }

    /// The number of a place that is looked at.
    pub fn number_of(&self, place: Place) -> Option<usize> {
        self.places.iter().position(|of_place| of_place.place == place)
    }

    /// Slots for all places; each keeps a node with its values.
    pub fn n_slots(&self) -> usize {
        self.nodes.len()
    }

    /// The slot of the node that was looked at last in the place of a number.
    #[inline(always)]
    pub fn slot(&self, place: usize) -> usize {
        self.slots[place]
    }

    /// Forgets all nodes: another sentence begins.
    pub fn forget(&mut self) {
        self.nodes.fill(0);
    }

    /// Looks at a view: every atom once. Nodes seen before, since [`Extractor::forget`], are not looked at again; they are
    /// all of one forest. `is_new` hears of slots that got another node.
    #[inline(always)]
    pub fn look(&mut self, forest: &Forest, view: &View, encoded: &Encoded, mut is_new: impl FnMut(usize)) {
        let values = &mut self.values.0;
        let slots = &mut self.slots[..self.places.len()];
        for (number, of_place) in self.places.iter().enumerate() {
            let last = &mut slots[number];
            let node = forest.peek(view, of_place.place);
            let id = node.map_or(1, |node| node.index() as u32 + 2);
            let slot = number * REMEMBERED + id as usize % REMEMBERED;
            let is_last = *last == slot;
            *last = slot;
            let known = &mut self.nodes[slot];
            if *known == id && is_last {
                continue;
            }
            let (first, n_blocks) = (of_place.first, of_place.n_blocks());
            // The blocks of the places before take as many times `REMEMBERED`.
            let start = first / BLOCK * REMEMBERED + id as usize % REMEMBERED * n_blocks;
            let remembered = &mut self.remembered[start..start + n_blocks];
            let values = &mut values[first..first + n_blocks * BLOCK];
            if *known == id {
                for (values, remembered) in zip(values.as_chunks_mut().0, remembered) {
                    *values = *remembered;
                }
                continue;
            }
            of_place.look(forest, node, encoded, values);
            for (remembered, values) in zip(remembered, values.as_chunks().0) {
                *remembered = *values;
            }
            *known = id;
            is_new(slot);
        }
        look_at_others(&self.others, self.first_other, forest, view, values);
    }

    /// A number, never 0, for what a group saw in the view looked at last: the same where all its keys are the same.
    #[inline(always)]
    pub fn signature(&self, group: usize) -> u64 {
        let mut sum = group as u64;
        for &at in &self.groups[group].values {
            let value = u64::from(self.values.0[usize::from(at)]);
            sum = sum.wrapping_add(value.wrapping_mul(VALUE_FACTORS[usize::from(at)]));
        }
        mix(sum) | 1
    }

    /// What `make` makes of the key of every template of a group that counts, for the view looked at last, into `out`.
    #[inline(always)]
    pub(crate) fn keys<T: Copy>(
        &self,
        group: usize,
        out: &mut BranchlessList<T>,
        make: impl FnMut(u64) -> T,
    ) {
        self.groups[group].keys(&self.values, out, make);
    }

    /// The keys of a view that count, of all groups, into `out`, which is cleared first. Nothing is remembered, so views
    /// may be of any forest.
    pub fn extract(&self, forest: &Forest, view: &View, encoded: &Encoded, out: &mut Vec<u64>) {
        let mut values = Values::default();
        for of_place in &self.places {
            let values = &mut values.0[of_place.first..of_place.first + of_place.atoms.len()];
            of_place.look(forest, forest.peek(view, of_place.place), encoded, values);
        }
        look_at_others(&self.others, self.first_other, forest, view, &mut values.0);
        out.resize(self.groups.iter().map(|group| group.seeds.len()).sum(), 0);
        let mut keys = BranchlessList::new(out);
        for group in &self.groups {
            group.keys(&values, &mut keys, |key| key);
        }
        let n_keys = keys.len();
        out.truncate(n_keys);
    }
}

#[inline(always)]
fn look_at_others(
    others: &[Other],
    first: usize,
    forest: &Forest,
    view: &View,
    values: &mut [u32; MAX_VALUES],
) {
    for (i, other) in others.iter().enumerate() {
        let value = match *other {
            Other::Distance(from, to) => match (values[usize::from(from)], values[usize::from(to)]) {
                (NONE, _) | (_, NONE) => NONE,
                (from, to) => distance_class(from, to),
            },
            Other::Past(i) => past(forest, view, i),
            Other::Gaps => view.n_deque.min(8) + 1,
        };
        values[first + i] = value;
    }
}

#[inline(always)]
fn mix(sum: u64) -> u64 {
    let hash = (sum ^ sum >> 32).wrapping_mul(0xD1B5_4A32_D192_ED03);
    hash ^ hash >> 29
}

/// The atoms of templates, each once.
fn distinct_atoms(templates: &[Vec<Atom>]) -> Vec<&Atom> {
    let mut atoms = Vec::new();
    for atom in templates.iter().flatten() {
        if !atoms.contains(&atom) {
            atoms.push(atom);
        }
    }
    atoms
}

/// The most nodes of a place and the number of values in a set, so that one which is too large is refused when it is
/// read.
pub(super) fn size_of_set(templates: &[Vec<Atom>]) -> (usize, usize) {
    let extractor = Extractor::of_atoms(templates);
    let n_nodes = extractor.places.iter().map(|of_place| 1 + of_place.children.len()).max();
    (n_nodes.unwrap_or(0), extractor.first_other + extractor.others.len())
}

impl PlaceAtoms {
    fn sort_atoms(&mut self) {
        let is_token = |atom: &(u8, OfNode)| matches!(atom.1, OfNode::Attribute(Attribute::Token(..)));
        self.atoms.sort_by_key(|atom| (!is_token(atom), atom.0));
        self.n_tokens = vec![0; 1 + self.children.len()];
        for atom in self.atoms.iter().filter(|atom| is_token(atom)) {
            self.n_tokens[usize::from(atom.0)] += 1;
        }
    }

    /// Looks at the node of the place, and at those below it. (Part of the kernels, which are compiled for AVX2 only as far as
    /// they are inlined.)
    #[inline(always)]
    fn look(&self, forest: &Forest, node: Option<NodeId>, encoded: &Encoded, values: &mut [u32]) {
        let mut nodes: [Option<&Node>; MAX_NODES] = [None; MAX_NODES];
        nodes[0] = node.map(|node| forest.node(node));
        for (i, &(parent, edge)) in self.children.iter().enumerate() {
            let below = nodes[usize::from(parent) % MAX_NODES].and_then(|node| child(node, edge));
            nodes[(1 + i) % MAX_NODES] = below.map(|node| forest.node(node));
        }
        let mut rest = zip(&self.atoms, values);
        // Most atoms are tokens, and to ask of each what it is would take longer than to look.
        for (node, &n_tokens) in zip(&nodes, &self.n_tokens) {
            let spots = node.map_or([usize::MAX; N_SPOTS], spots);
            for (&(_, what), out) in rest.by_ref().take(usize::from(n_tokens)) {
                if let OfNode::Attribute(Attribute::Token(column, spot)) = what {
                    *out = encoded.row(spots[spot as usize])[column as usize];
                }
            }
        }
        for (&(node, what), out) in rest {
            *out = match (nodes[usize::from(node) % MAX_NODES], what) {
                (None, _) => NONE,
                (Some(node), OfNode::Attribute(attribute)) => value(encoded, node, attribute),
                (Some(node), OfNode::Head) => node.head.index() as u32 + 1,
            };
        }
    }
}

/// The number of spots of a node.
const N_SPOTS: usize = Spot::AfterRight as usize + 1;

/// The places of a node's tokens, by their spots.
#[inline(always)]
fn spots(node: &Node) -> [usize; N_SPOTS] {
    let (head, left, right) = (node.head.index(), node.left.index(), node.right.index());
    [head, left, right.saturating_sub(1), left.wrapping_sub(1), right]
}

impl TemplateGroup {
    #[inline(always)]
    fn keys<T: Copy>(&self, values: &Values, out: &mut BranchlessList<T>, mut make: impl FnMut(u64) -> T) {
        let mut rest = Templates { seeds: &self.seeds, parts: &self.parts };
        let [one, two, three, four, five, six] = self.n_of_size;
        rest.keys::<1, T>(one, values, out, &mut make);
        rest.keys::<2, T>(two, values, out, &mut make);
        rest.keys::<3, T>(three, values, out, &mut make);
        rest.keys::<4, T>(four, values, out, &mut make);
        rest.keys::<5, T>(five, values, out, &mut make);
        rest.keys::<6, T>(six, values, out, &mut make);
    }
}

/// Templates of a group that are still to be looked at.
struct Templates<'a> {
    seeds: &'a [u64],
    parts: &'a [u8],
}

impl Templates<'_> {
    /// The keys of the next `n` templates, which are of one size. Sums of products (multilinear hashing), then mixed: no step
    /// waits for the one before, as it would if the values were folded in one after the other. A template counts where
    /// anything of what it looks at is there, which its sum tells.
    #[inline(always)]
    fn keys<const SIZE: usize, T: Copy>(
        &mut self,
        n: u16,
        values: &Values,
        out: &mut BranchlessList<T>,
        make: &mut impl FnMut(u64) -> T,
    ) {
        let n = usize::from(n);
        if n == 0 {
            return;
        }
        let (seeds, parts);
        (seeds, self.seeds) = self.seeds.split_at(n);
        (parts, self.parts) = self.parts.split_at(n * SIZE);
        let parts = &parts.as_chunks::<SIZE>().0[..n];
        for number in 0..n {
            let (seed, parts) = (seeds[number], &parts[number]);
            let mut sum = seed;
            for (&part, &factor) in zip(parts, &FACTORS) {
                let value = u64::from(values.0[usize::from(part)]);
                sum = sum.wrapping_add(value.wrapping_mul(factor));
            }
            out.push(make(key(seed, sum)), u32::from(sum != seed));
        }
    }
}

/// The key of a template with a sum of products.
#[inline(always)]
pub(super) fn key(seed: u64, sum: u64) -> u64 {
    let hash = mix(sum) << (64 - HASH_BITS) >> (64 - HASH_BITS);
    seed << HASH_BITS | hash | 1
}

#[inline]
pub(super) fn child(n: &Node, edge: Edge) -> Option<NodeId> {
    match (n.kind, edge) {
        (Kind::Constituent | Kind::Temporary, Edge::Only) if n.n_left == 1 => n.first,
        (Kind::Constituent | Kind::Temporary, Edge::Left) if n.n_left > 1 => n.first,
        (Kind::Constituent | Kind::Temporary, Edge::Right) if n.n_left > 1 => n.last,
        (Kind::Word | Kind::Root, Edge::Left) => n.first,
        (Kind::Word | Kind::Root, Edge::Right) => n.last,
        (Kind::Word | Kind::Root, Edge::SecondLeft) => n.second_first,
        (Kind::Word | Kind::Root, Edge::SecondRight) => n.second_last,
        _ => None,
    }
}

#[inline(always)]
fn value(encoded: &Encoded, node: &Node, attribute: Attribute) -> u32 {
    match attribute {
        Attribute::Token(column, spot) => encoded.row(spots(node)[spot as usize])[column as usize],
        Attribute::Label => match node.label {
            Some(label) => label_value(node.kind, label),
            None => encoded.row(node.head.index())[Column::Tag as usize],
        },
        Attribute::Length | Attribute::Shape => {
            span_value(encoded, &(node.left.index()..node.right.index()), attribute)
        }
        Attribute::LeftValency => node.n_left.min(MAX_VALENCY) + 1,
        Attribute::RightValency => node.n_right.min(MAX_VALENCY) + 1,
        Attribute::LeftSet => label_set(node.left_relations),
        Attribute::RightSet => label_set(node.right_relations),
    }
}

/// Labels and tags must not be confused, nor an opening with the finished constituent.
#[inline(always)]
pub(super) fn label_value(kind: Kind, label: LabelId) -> u32 {
    (kind as u32 + 1) << 24 | (label.index() as u32 + 1)
}

/// The value of an attribute that depends on the words of a node alone; `NONE` for the others.
#[inline(always)]
pub(super) fn span_value(encoded: &Encoded, span: &Range<usize>, attribute: Attribute) -> u32 {
    match attribute {
        Attribute::Token(column, spot) => {
            let at = match spot {
                Spot::Left => span.start,
                Spot::Right => span.end.saturating_sub(1),
                Spot::BeforeLeft => span.start.wrapping_sub(1),
                Spot::AfterRight => span.end,
                Spot::Head => usize::MAX,
            };
            encoded.row(at)[column as usize]
        }
        Attribute::Length => length_class(span.len()),
        Attribute::Shape => encoded.shape(span.start, span.end),
        _ => NONE,
    }
}

/// A number for a set of relations.
fn label_set(relations: u64) -> u32 {
    let set = relations << 1 | 1;
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
fn distance_class(from: u32, to: u32) -> u32 {
    let class = match from.abs_diff(to) {
        d @ 0..=5 => d,
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
mod tests;
