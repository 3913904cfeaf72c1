//! Scores by kind: which labels, lengths, distances... a parser gets right.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::totals::Tally;
use super::{Functions, Parsed, ScoredNode};
use crate::error::named;
use crate::ids::TokenIdx;
use crate::sentence::Sentence;
use crate::tree::{ConstituentTree, DependencyTree};

named! {
    /// What to group by.
    pub enum By {
        /// The constituent's label (functions cut off unless they are to be kept), or the relation.
        Label = "label";
        /// The length of the sentence, in tens.
        Length = "length";
        /// The number of children of the constituent, or of dependents of the word.
        Children = "children";
        /// The number of words in the constituent, or from the word to its head (0: the root).
        Distance = "distance";
        /// The number of gaps in the constituent; for arcs 1 if non-projective.
        Gap = "gap";
        /// The number of constituents, or heads, above.
        Depth = "depth";
    }
}

impl By {
    /// What the groups are, for the heading of a table or an axis.
    pub fn title(self, dependencies: bool) -> &'static str {
        match (self, dependencies) {
            (By::Label, false) => "label",
            (By::Label, true) => "relation",
            (By::Length, _) => "words in the sentence",
            (By::Children, false) => "children",
            (By::Children, true) => "dependents",
            (By::Distance, false) => "words in the constituent",
            (By::Distance, true) => "distance to the head",
            (By::Gap, false) => "gaps",
            (By::Gap, true) => "non-projective",
            (By::Depth, false) => "constituents above",
            (By::Depth, true) => "heads above",
        }
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        By::ALL.iter().copied().find(|by| by.as_str() == name).ok_or_else(|| {
            let names: Vec<&str> = By::ALL.iter().map(|by| by.as_str()).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// A number, or the first and last of a range.
    Range(usize, usize),
    /// A label.
    Label(String),
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Group::Range(first, last) if first == last => write!(f, "{first}"),
            Group::Range(first, usize::MAX) => write!(f, "{first}+"),
            Group::Range(first, last) => write!(f, "{first}-{last}"),
            Group::Label(label) => f.write_str(label),
        }
    }
}

/// Counts per group.
#[derive(Clone, Debug)]
pub struct Breakdown {
    by: By,
    functions: Functions,
    groups: BTreeMap<Group, Tally>,
}

/// Tens, open above 60.
fn tens(length: usize) -> Group {
    match length.div_ceil(10).max(1) {
        ten @ 1..=6 => Group::Range(10 * ten - 9, 10 * ten),
        _ => Group::Range(61, usize::MAX),
    }
}

/// Single numbers up to 10, then wider ranges, open above 40.
fn spread(number: usize) -> Group {
    match number {
        0..=10 => Group::Range(number, number),
        11..=15 => Group::Range(11, 15),
        16..=20 => Group::Range(16, 20),
        21..=40 => Group::Range(21, 40),
        _ => Group::Range(41, usize::MAX),
    }
}

impl Breakdown {
    /// Nothing counted yet.
    pub fn new(by: By) -> Self {
        Breakdown { by, functions: Functions::Strip, groups: BTreeMap::new() }
    }

    /// The same, with labels cut or whole.
    pub fn with_functions(self, functions: Functions) -> Self {
        Breakdown { functions, ..self }
    }

    /// What it groups by.
    pub fn by(&self) -> By {
        self.by
    }

    /// The groups in order: numbers ascending; labels by how frequent they are in gold, then by name.
    pub fn groups(&self) -> Vec<(&Group, &Tally)> {
        let mut groups: Vec<(&Group, &Tally)> = self.groups.iter().collect();
        if self.by == By::Label {
            groups.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.gold));
        }
        groups
    }

    fn count(&mut self, group: Group, tally: Tally) {
        self.groups.entry(group).or_default().add(tally);
    }

    /// Adds a scored sentence: both sides and the constituents that count (`last_nodes` of the scorer).
    pub fn add_constituents(
        &mut self,
        gold: Parsed<'_>,
        predicted: Parsed<'_>,
        nodes: (&[ScoredNode], &[ScoredNode]),
        length: usize,
    ) {
        self.add_nodes(gold, nodes.0, true, length);
        self.add_nodes(predicted, nodes.1, false, length);
    }

    /// Adds the constituents of one side that count. The length is that of the gold sentence.
    pub fn add_nodes(&mut self, side: Parsed<'_>, nodes: &[ScoredNode], is_gold: bool, length: usize) {
        let Some(tree) = side.tree else { return };
        let measure = Measure::new(self.by, self.functions, side.sentence, tree);
        for scored in nodes {
            self.count(measure.group(tree, scored, length), tally(is_gold, scored.is_matched));
        }
    }

    /// Adds two dependency trees over the same words. A word is right if its head and relation are.
    pub fn add_dependencies(&mut self, gold: &DependencyTree, predicted: &DependencyTree) {
        let right: Vec<bool> = gold.arcs.iter().zip(&predicted.arcs).map(|(g, p)| g == p).collect();
        self.add_arcs(gold, &right, true);
        self.add_arcs(predicted, &right, false);
    }

    /// Adds a dependency tree of one side, with which of its words are right.
    pub fn add_arcs(&mut self, tree: &DependencyTree, right: &[bool], is_gold: bool) {
        let measure = ArcMeasure::new(self.by, tree);
        for (i, &is_right) in right.iter().enumerate() {
            self.count(measure.group(tree, i), tally(is_gold, is_right));
        }
    }
}

/// One item of one side.
fn tally(is_gold: bool, is_right: bool) -> Tally {
    let right = u64::from(is_right);
    match is_gold {
        true => Tally { gold: 1, found: right, ..Tally::default() },
        false => Tally { predicted: 1, right, ..Tally::default() },
    }
}

/// What must be known of a constituent tree to group its nodes.
struct Measure {
    by: By,
    functions: Functions,
    /// Per node: gaps, or depth.
    values: Vec<u32>,
}

impl Measure {
    fn new(by: By, functions: Functions, sentence: &Sentence, tree: &ConstituentTree) -> Self {
        debug_assert_eq!(sentence.len(), tree.n_tokens());
        let values = match by {
            By::Gap => tree.gap_degrees(),
            By::Depth => {
                let parents = tree.parents();
                let mut depths = vec![0; tree.n_nodes()];
                // Parents come after their children.
                for (id, _) in tree.nodes().rev() {
                    if let Some(parent) = parents[id.index()] {
                        depths[id.index()] = depths[parent.index()] + 1;
                    }
                }
                depths
            }
            _ => Vec::new(),
        };
        Measure { by, functions, values }
    }

    fn group(&self, tree: &ConstituentTree, scored: &ScoredNode, length: usize) -> Group {
        let node = tree.node(scored.node);
        match self.by {
            By::Label => {
                let label = node.label.as_str();
                let is_cut = |(_, c): &(usize, char)| matches!(c, '-' | '=');
                let cut = label.char_indices().skip(1).find(is_cut);
                let cut = cut.filter(|_| self.functions == Functions::Strip);
                Group::Label(cut.map_or(label, |(end, _)| &label[..end]).to_owned())
            }
            By::Length => tens(length),
            By::Children => spread(tree.children(scored.node).len()),
            By::Distance => spread(node.n_tokens()),
            By::Gap | By::Depth => spread(self.values[scored.node.index()] as usize),
        }
    }
}

/// The same for a dependency tree.
struct ArcMeasure {
    by: By,
    /// Per word: dependents, non-projectivity, or depth.
    values: Vec<u32>,
}

impl ArcMeasure {
    fn new(by: By, tree: &DependencyTree) -> Self {
        let heads = || tree.arcs.iter().map(|arc| arc.head.map(TokenIdx::index));
        let values = match by {
            By::Children => {
                let mut counts = vec![0; tree.len()];
                heads().flatten().for_each(|head| counts[head] += 1);
                counts
            }
            By::Gap => tree.nonprojective_arcs().into_iter().map(u32::from).collect(),
            By::Depth => depths(tree),
            _ => Vec::new(),
        };
        ArcMeasure { by, values }
    }

    fn group(&self, tree: &DependencyTree, i: usize) -> Group {
        let arc = &tree.arcs[i];
        match self.by {
            By::Label => Group::Label(arc.label.to_string()),
            By::Length => tens(tree.len()),
            By::Distance => spread(arc.head.map_or(0, |head| head.index().abs_diff(i))),
            By::Children | By::Gap | By::Depth => spread(self.values[i] as usize),
        }
    }
}

/// The number of heads above each word; words on a cycle count the steps until it closes.
fn depths(tree: &DependencyTree) -> Vec<u32> {
    let mut depths: Vec<Option<u32>> = vec![None; tree.len()];
    let mut path = Vec::new();
    let mut on_path = vec![false; tree.len()];
    for start in 0..tree.len() {
        let mut at = Some(start);
        let mut depth = 0;
        while let Some(i) = at {
            if let Some(known) = depths[i] {
                depth = known + 1;
                break;
            }
            if std::mem::replace(&mut on_path[i], true) {
                break;
            }
            path.push(i);
            at = tree.arcs[i].head.map(TokenIdx::index);
        }
        while let Some(i) = path.pop() {
            depths[i] = Some(depth);
            on_path[i] = false;
            depth += 1;
        }
    }
    depths.into_iter().map(|depth| depth.expect("every word was visited")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{parsed, tree};
    use super::super::{ConstituentScorer, Params};
    use super::*;

    #[track_caller]
    fn check(by: By, gold: &str, predicted: &str, expected: &[(&str, [u64; 4])]) {
        let mut scorer = ConstituentScorer::new(&Params::named("proper").expect("known"), true);
        let (gold, predicted) = (tree(gold, true), tree(predicted, true));
        let score = scorer.add(parsed(&gold), parsed(&predicted));
        let mut breakdown = Breakdown::new(by);
        breakdown.add_constituents(parsed(&gold), parsed(&predicted), scorer.last_nodes(), score.length);
        let row = |(group, t): (&Group, &Tally)| (group.to_string(), [t.gold, t.found, t.predicted, t.right]);
        let found: Vec<_> = breakdown.groups().into_iter().map(row).collect();
        let expected: Vec<_> = expected.iter().map(|&(group, counts)| (group.to_owned(), counts)).collect();
        assert_eq!(found, expected);
    }

    const GOLD: &str = "(ROOT (S (VP-X (A 0=a) (C 2=c)) (B 1=b) (NP (D 3=d))) ($. 4=.))";
    const PREDICTED: &str = "(ROOT (S (A 0=a) (B 1=b) (VP (C 2=c) (D 3=d))) ($. 4=.))";

    #[test]
    fn constituents_by_each_kind() {
        check(By::Label, GOLD, PREDICTED, &[("NP", [1, 0, 0, 0]), ("S", [1, 1, 1, 1]), ("VP", [1, 0, 1, 0])]);
        check(By::Length, GOLD, PREDICTED, &[("1-10", [3, 1, 2, 1])]);
        check(
            By::Children,
            GOLD,
            PREDICTED,
            &[("1", [1, 0, 0, 0]), ("2", [1, 0, 1, 0]), ("3", [1, 1, 1, 1])],
        );
        check(
            By::Distance,
            GOLD,
            PREDICTED,
            &[("1", [1, 0, 0, 0]), ("2", [1, 0, 1, 0]), ("4", [1, 1, 1, 1])],
        );
        check(By::Gap, GOLD, PREDICTED, &[("0", [2, 1, 2, 1]), ("1", [1, 0, 0, 0])]);
        check(By::Depth, GOLD, PREDICTED, &[("1", [1, 1, 1, 1]), ("2", [2, 0, 1, 0])]);
    }

    #[track_caller]
    fn check_arcs(by: By, expected: &[(&str, [u64; 4])]) {
        let label = |mut tree: DependencyTree| {
            tree.arcs
                .iter_mut()
                .for_each(|arc| arc.label = if arc.head.is_none() { "root" } else { "x" }.into());
            tree
        };
        // 4 -> 1 is non-projective in gold.
        let gold = label(DependencyTree::from_heads([Some(3), None, Some(1), Some(2)]));
        let predicted = label(DependencyTree::from_heads([Some(1), None, Some(1), Some(2)]));
        let mut breakdown = Breakdown::new(by);
        breakdown.add_dependencies(&gold, &predicted);
        let row = |(group, t): (&Group, &Tally)| (group.to_string(), [t.gold, t.found, t.predicted, t.right]);
        let found: Vec<_> = breakdown.groups().into_iter().map(row).collect();
        let expected: Vec<_> = expected.iter().map(|&(group, counts)| (group.to_owned(), counts)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn arcs_by_each_kind() {
        check_arcs(By::Label, &[("x", [3, 2, 3, 2]), ("root", [1, 1, 1, 1])]);
        check_arcs(By::Length, &[("1-10", [4, 3, 4, 3])]);
        check_arcs(By::Distance, &[("0", [1, 1, 1, 1]), ("1", [2, 2, 3, 2]), ("3", [1, 0, 0, 0])]);
        check_arcs(By::Gap, &[("0", [3, 3, 4, 3]), ("1", [1, 0, 0, 0])]);
        check_arcs(By::Children, &[("0", [1, 0, 2, 1]), ("1", [3, 3, 1, 1]), ("2", [0, 0, 1, 1])]);
        check_arcs(
            By::Depth,
            &[("0", [1, 1, 1, 1]), ("1", [1, 1, 2, 1]), ("2", [1, 1, 1, 1]), ("3", [1, 0, 0, 0])],
        );
    }

    #[test]
    fn depths_end_on_cycles() {
        assert_eq!(depths(&DependencyTree::from_heads([Some(1), Some(0), Some(0)])), [1, 0, 2]);
    }

    #[test]
    fn ranges_are_told_as_people_write_them() {
        let shown = [0, 10, 11, 40, 41].map(|n| spread(n).to_string());
        assert_eq!(shown, ["0", "10", "11-15", "21-40", "41+"]);
        assert_eq!(
            [0, 1, 10, 11, 60, 61].map(|n| tens(n).to_string()),
            ["1-10", "1-10", "1-10", "11-20", "51-60", "61+"]
        );
    }
}
