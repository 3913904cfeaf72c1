//! What is in a treebank: sizes, labels, non-projectivity, discontinuity, unary chains.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::ids::NodeId;
use crate::sentence::Str;
use crate::tree::Entry;
use crate::tree::{Child, ConstituentTree, DependencyTree, Node, Tree};

/// Counts over the sentences added so far; memory grows with the number of distinct labels and tags only.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    sentences: u64,
    tokens: u64,
    lengths: Histogram,
    tags: Counter,
    labels: Counter,
    multiwords: u64,
    empty_nodes: u64,
    without_tree: u64,
    dependencies: DependencyStats,
    constituents: ConstituentStats,
}

#[derive(Clone, Debug, Default)]
struct DependencyStats {
    trees: u64,
    arcs: u64,
    nonprojective_arcs: u64,
    nonprojective_sentences: u64,
    many_roots: u64,
    distances: Histogram,
}

#[derive(Clone, Debug, Default)]
struct ConstituentStats {
    trees: u64,
    constituents: u64,
    discontinuous: u64,
    discontinuous_sentences: u64,
    /// Sentences by the greatest gap degree of their constituents.
    gap_degrees: Histogram,
    /// Unary constituents, by the length of the chain they end.
    unary_chains: Histogram,
    children: Histogram,
    depths: Histogram,
}

/// Shares of arcs, constituents and sentences, between 0 and 1.
pub(crate) struct Shares {
    /// How many trees there are.
    pub trees: usize,
    /// Non-projective arcs among all arcs, or discontinuous constituents among all constituents.
    pub crossing: f64,
    /// Trees with one.
    pub crossing_sentences: f64,
    /// Trees with several roots.
    pub many_roots: f64,
}

/// Strings and how often each was seen.
#[derive(Clone, Debug, Default)]
struct Counter(FxHashMap<Str, u64>);

impl Counter {
    fn add(&mut self, item: &Str) {
        match self.0.get_mut(item) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(item.clone(), 1)),
        }
    }

    /// Most frequent first; ties in alphabetical order.
    fn sorted(&self) -> Vec<(&Str, u64)> {
        let mut all: Vec<(&Str, u64)> = self.0.iter().map(|(item, &count)| (item, count)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }

    fn json(&self) -> Value {
        object(self.sorted())
    }
}

/// How often each small number was seen.
#[derive(Clone, Debug, Default)]
struct Histogram(std::collections::BTreeMap<u64, u64>);

impl Histogram {
    fn add(&mut self, value: usize) {
        *self.0.entry(value as u64).or_default() += 1;
    }

    fn count(&self) -> u64 {
        self.0.values().sum()
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|(value, count)| value * count).sum()
    }

    fn max(&self) -> u64 {
        self.0.keys().next_back().copied().unwrap_or(0)
    }

    fn min(&self) -> u64 {
        self.0.keys().next().copied().unwrap_or(0)
    }

    fn median(&self) -> u64 {
        let half = self.count().div_ceil(2);
        let mut seen = 0;
        let reached = self.0.iter().find(|(_, count)| {
            seen += **count;
            seen >= half
        });
        reached.map_or(0, |(value, _)| *value)
    }

    fn summary(&self) -> Value {
        json!({"min": self.min(), "mean": ratio(self.total(), self.count()), "median": self.median(), "max": self.max()})
    }

    fn json(&self) -> Value {
        object(self.0.iter().map(|(value, &count)| (value, count)))
    }
}

/// Items with their counts.
fn object(counts: impl IntoIterator<Item = (impl ToString, u64)>) -> Value {
    let fields = counts.into_iter().map(|(item, count)| (item.to_string(), json!(count)));
    fields.collect::<serde_json::Map<_, _>>().into()
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| rounded(part as f64 / whole as f64))
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| rounded(100.0 * part as f64 / whole as f64))
}

impl Stats {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Stats::default()
    }

    /// Counts one sentence.
    pub fn add(&mut self, entry: &Entry) {
        let sentence = &entry.sentence;
        self.sentences += 1;
        self.tokens += sentence.len() as u64;
        self.lengths.add(sentence.len());
        self.multiwords += sentence.multiwords.len() as u64;
        self.empty_nodes += sentence.empty_nodes.len() as u64;
        sentence
            .tokens
            .iter()
            .filter(|token| !token.tag.is_empty())
            .for_each(|token| self.tags.add(&token.tag));
        match &entry.tree {
            None => self.without_tree += 1,
            Some(Tree::Dependency(tree)) => {
                tree.arcs.iter().for_each(|arc| self.labels.add(&arc.label));
                self.dependencies.add(tree);
            }
            Some(Tree::Constituent(tree)) => {
                counted(tree).for_each(|(_, node)| self.labels.add(&node.label));
                self.constituents.add(tree);
            }
        }
    }

    /// Labels and how often each was seen.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, u64)> {
        self.labels.0.iter().map(|(label, &count)| (label.as_str(), count))
    }

    /// Tags and how often each was seen.
    pub(crate) fn tags(&self) -> impl Iterator<Item = (&str, u64)> {
        self.tags.0.iter().map(|(tag, &count)| (tag.as_str(), count))
    }

    /// What choosing settings depends on; of dependencies if there are any, otherwise of constituents.
    pub(crate) fn shares(&self) -> Shares {
        let (d, c) = (&self.dependencies, &self.constituents);
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        if d.trees > 0 {
            Shares {
                trees: d.trees as usize,
                crossing: share(d.nonprojective_arcs, d.arcs),
                crossing_sentences: share(d.nonprojective_sentences, d.trees),
                many_roots: share(d.many_roots, d.trees),
            }
        } else {
            Shares {
                trees: c.trees as usize,
                crossing: share(c.discontinuous, c.constituents),
                crossing_sentences: share(c.discontinuous_sentences, c.trees),
                many_roots: 0.0,
            }
        }
    }

    /// Everything as JSON, with the keys that scripts rely on.
    pub fn json(&self) -> Value {
        let (d, c) = (&self.dependencies, &self.constituents);
        json!({
            "sentences": self.sentences,
            "tokens": self.tokens,
            "labels": self.labels.0.len(),
            "base_labels": self.n_base_labels(),
            "tags": self.tags.0.len(),
            "lengths": self.lengths.summary(),
            "multiword_tokens": self.multiwords,
            "empty_nodes": self.empty_nodes,
            "sentences_without_tree": self.without_tree,
            "nonprojective": {
                "arcs": d.nonprojective_arcs,
                "arcs_percent": percent(d.nonprojective_arcs, d.arcs),
                "sentences": d.nonprojective_sentences,
                "sentences_percent": percent(d.nonprojective_sentences, d.trees),
            },
            "discontinuous": {
                "constituents": c.discontinuous,
                "constituents_percent": percent(c.discontinuous, c.constituents),
                "sentences": c.discontinuous_sentences,
                "sentences_percent": percent(c.discontinuous_sentences, c.trees),
                "max_gap_degree": c.gap_degrees.max(),
                "sentences_by_gap_degree": c.gap_degrees.json(),
            },
            "dependencies": {
                "trees": d.trees,
                "arcs": d.arcs,
                "sentences_with_many_roots": d.many_roots,
                "arc_lengths": d.distances.summary(),
            },
            "constituents": {
                "trees": c.trees,
                "constituents": c.constituents,
                "unary": c.unary_chains.count(),
                "longest_unary_chain": c.unary_chains.max(),
                "unary_chains": c.unary_chains.json(),
                "children": c.children.summary(),
                "depth": c.depths.summary(),
            },
            "label_counts": self.labels.json(),
            "tag_counts": self.tags.json(),
        })
    }

    /// Labels without what follows a colon (`nmod` of `nmod:poss`).
    fn n_base_labels(&self) -> usize {
        let mut base: Vec<&str> = self.labels.0.keys().map(|l| l.split(':').next().unwrap_or("")).collect();
        base.sort_unstable();
        base.dedup();
        base.len()
    }

    /// Everything as text for people.
    pub fn text(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        let mut row =
            |name: &str, value: String| writeln!(out, "{name:<28}{value}").expect("writing to a string");
        let (d, c) = (&self.dependencies, &self.constituents);
        let share = |part: u64, whole: u64| match percent(part, whole) {
            Some(percent) => format!("{part} of {whole} ({percent} %)"),
            None => "-".to_owned(),
        };
        let spread = |h: &Histogram| {
            let mean = ratio(h.total(), h.count()).unwrap_or(0.0);
            format!("{} to {}, mean {mean}, median {}", h.min(), h.max(), h.median())
        };
        row("sentences", self.sentences.to_string());
        row("tokens", self.tokens.to_string());
        row("sentence length", spread(&self.lengths));
        row("tags", self.tags.0.len().to_string());
        row("labels", self.labels.0.len().to_string());
        for (name, count) in [
            ("multiword tokens", self.multiwords),
            ("empty nodes", self.empty_nodes),
            ("sentences without a tree", self.without_tree),
        ] {
            if count > 0 {
                row(name, count.to_string());
            }
        }
        if d.trees > 0 {
            row("non-projective arcs", share(d.nonprojective_arcs, d.arcs));
            row("non-projective sentences", share(d.nonprojective_sentences, d.trees));
            row("arc length", spread(&d.distances));
            row("several roots", share(d.many_roots, d.trees));
        }
        if c.trees > 0 {
            row("constituents", c.constituents.to_string());
            row("discontinuous constituents", share(c.discontinuous, c.constituents));
            row("discontinuous sentences", share(c.discontinuous_sentences, c.trees));
            let by_degree: Vec<String> = c.gap_degrees.0.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            row("sentences by gap degree", by_degree.join(", "));
            row("unary constituents", share(c.unary_chains.count(), c.constituents));
            row("longest unary chain", c.unary_chains.max().to_string());
            row("children", spread(&c.children));
            row("depth", spread(&c.depths));
        }
        let top: Vec<String> = self
            .labels
            .sorted()
            .into_iter()
            .take(12)
            .map(|(l, n)| format!("{} {n}", if l.is_empty() { "\"\"" } else { l }))
            .collect();
        if !top.is_empty() {
            row("most frequent labels", top.join(", "));
        }
        out
    }
}

/// The constituents that count: all but a root named `TOP`, `VROOT` or nothing, which stands for the sentence. (A root
/// with any other name, such as Alpino's `ROOT`, is a constituent like the others.)
fn counted(tree: &ConstituentTree) -> impl Iterator<Item = (NodeId, &Node)> {
    let is_wrapper = matches!(tree.node(tree.root()).label.as_str(), "" | "TOP" | "VROOT");
    tree.nodes().take(tree.n_nodes() - usize::from(is_wrapper))
}

impl DependencyStats {
    fn add(&mut self, tree: &DependencyTree) {
        let nonprojective = tree.nonprojective_arcs().into_iter().filter(|&np| np).count() as u64;
        self.trees += 1;
        self.arcs += tree.len() as u64;
        self.nonprojective_arcs += nonprojective;
        self.nonprojective_sentences += u64::from(nonprojective > 0);
        self.many_roots += u64::from(tree.roots().count() > 1);
        for (i, arc) in tree.arcs.iter().enumerate() {
            if let Some(head) = arc.head {
                self.distances.add(head.index().abs_diff(i));
            }
        }
    }
}

impl ConstituentStats {
    fn add(&mut self, tree: &ConstituentTree) {
        let gaps = tree.gap_degrees();
        let discontinuous = gaps.iter().filter(|&&gaps| gaps > 0).count() as u64;
        self.trees += 1;
        self.constituents += counted(tree).count() as u64;
        self.discontinuous += discontinuous;
        self.discontinuous_sentences += u64::from(discontinuous > 0);
        self.gap_degrees.add(gaps.iter().copied().max().unwrap_or(0) as usize);
        // Post-order: a child's chain and height are known before its parent's.
        let (mut chain, mut height) = (vec![0usize; tree.n_nodes()], vec![0usize; tree.n_nodes()]);
        for (id, _) in counted(tree) {
            let children = tree.children(id);
            self.children.add(children.len());
            let below = children.iter().filter_map(|child| match child {
                Child::Node(node) => Some(height[node.index()]),
                Child::Token(_) => None,
            });
            height[id.index()] = below.max().unwrap_or(0) + 1;
            if let [only] = children {
                let below = if let Child::Node(node) = only { chain[node.index()] } else { 0 };
                chain[id.index()] = below + 1;
                self.unary_chains.add(below + 1);
            }
        }
        self.depths.add(height.into_iter().max().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TokenIdx;
    use crate::sentence::Sentence;
    use crate::tree::TreeBuilder;

    #[test]
    fn a_discontinuous_tree_is_counted() {
        // (A (B (C 0 2)) 1)
        let mut builder = TreeBuilder::with_tokens(3);
        let (a, b, c) = (builder.node("A"), builder.node("B"), builder.node("C"));
        builder.attach(Child::Node(b), a);
        builder.attach(Child::Node(c), b);
        for (token, parent) in [(0, c), (1, a), (2, c)] {
            builder.attach(Child::Token(TokenIdx::new(token)), parent);
        }
        let sentence = Sentence::from_tagged([("x", "T"), ("y", "T"), ("z", "U")]);
        let mut stats = Stats::new();
        stats.add(&Entry { sentence, tree: Some(builder.finish().expect("a tree").into()) });
        let json = stats.json();
        assert_eq!(json["discontinuous"]["constituents"], 2);
        assert_eq!(json["discontinuous"]["constituents_percent"], 66.67);
        assert_eq!(json["discontinuous"]["max_gap_degree"], 1);
        assert_eq!((&json["labels"], &json["tags"]), (&json!(3), &json!(2)));
        assert_eq!(json["constituents"]["longest_unary_chain"], 1);
        assert_eq!(json["nonprojective"]["arcs_percent"], Value::Null);
    }

    #[test]
    fn a_nonprojective_tree_is_counted() {
        // 0 <- 2, 1 <- 3, 2 root, 3 <- 2: the arc 3 -> 1 spans word 2, which 3 does not dominate.
        let tree = DependencyTree::from_heads([Some(2), Some(3), None, Some(2)]);
        let mut stats = Stats::new();
        let sentence = Sentence::from_tagged([("a", "T"); 4]);
        stats.add(&Entry { sentence, tree: Some(tree.into()) });
        let json = stats.json();
        assert_eq!(json["nonprojective"]["arcs"], 1);
        assert_eq!(json["nonprojective"]["arcs_percent"], 25.0);
        assert_eq!(json["nonprojective"]["sentences_percent"], 100.0);
    }
}
