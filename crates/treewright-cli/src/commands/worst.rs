//! The worst sentences of a prediction: ranked, and drawn with what differs marked.

use std::ops::Range;

use serde_json::{Value, json};
use treewright::draw::{Layout, Options, TerminalOptions, terminal};
use treewright::eval::{AlignedAttachments, ScoredNode, SentenceScore, Status, report};
use treewright::treebank::Entry;
use treewright::{ConstituentTree, DependencyTree, NodeId, TokenIdx, Tree};

use super::scoring::text_of;

/// Stands after the label of what the other tree does not have.
const MARK: &str = "✗";

/// A sentence with errors, or a few that were cut differently on the two sides.
#[derive(Default)]
pub struct Worst {
    /// The gold sentences and the predicted ones, from 0.
    pub sentences: [Range<usize>; 2],
    score: f64,
    n_wrong: u64,
    missing: Vec<String>,
    wrong: Vec<String>,
    /// Per sentence of each side, the nodes or words that the other side does not have.
    marks: [Vec<Vec<usize>>; 2],
    text: String,
    drawing: String,
}

impl Worst {
    /// If some bracket is missing or wrong. Sides are gold and predicted, each with the constituents that count of each of its
    /// sentences.
    pub fn of_constituents(
        sentences: [Range<usize>; 2],
        score: &SentenceScore,
        nodes: [&[&[ScoredNode]]; 2],
        trees: [&[Option<&ConstituentTree>]; 2],
    ) -> Option<Self> {
        if score.status != Status::Valid || score.is_exact() {
            return None;
        }
        let marks = |nodes: &&[ScoredNode]| -> Vec<usize> {
            let mut marks: Vec<usize> =
                nodes.iter().filter(|n| !n.is_matched).map(|n| n.node.index()).collect();
            marks.sort_unstable();
            marks
        };
        let marks = nodes.map(|nodes| nodes.iter().map(marks).collect::<Vec<_>>());
        let names = |side: usize| -> Vec<String> {
            let name = |tree: &ConstituentTree, at: &str, i: usize| {
                let node = NodeId::new(i);
                format!("{} {at}{}", tree.node(node).label, ranges(&tree.tokens_under(node)))
            };
            let mut names = Vec::new();
            for (i, (tree, marks)) in trees[side].iter().zip(&marks[side]).enumerate() {
                let Some(tree) = tree else { continue };
                let at = place(&sentences[side], i);
                names.extend(marks.iter().map(|&node| name(tree, &at, node)));
            }
            names
        };
        let counts = score.brackets;
        Some(Worst {
            score: counts.f1().unwrap_or(0.0),
            n_wrong: counts.gold + counts.predicted - 2 * counts.matched,
            missing: names(0),
            wrong: names(1),
            sentences,
            marks,
            ..Worst::default()
        })
    }

    /// If some head or relation is wrong; `right` tells of every word of each side.
    pub fn of_dependencies(
        sentences: [Range<usize>; 2],
        counts: AlignedAttachments,
        trees: [&[&DependencyTree]; 2],
        right: &[Vec<bool>; 2],
    ) -> Option<Self> {
        if counts.n_wrong() == 0 {
            return None;
        }
        let sides = [0, 1].map(|side| {
            let (mut names, mut marks) = (Vec::new(), Vec::new());
            let mut right = right[side].iter();
            for (i, tree) in trees[side].iter().enumerate() {
                let at = place(&sentences[side], i);
                let head = |i: usize| {
                    tree.arcs[i].head.map_or("0".to_owned(), |head| (head.index() + 1).to_string())
                };
                let wrong: Vec<usize> = (0..tree.len()).filter(|_| right.next() == Some(&false)).collect();
                let name = |&i: &usize| format!("{}({at}{}, {at}{})", tree.arcs[i].label, head(i), i + 1);
                names.extend(wrong.iter().map(name));
                marks.push(wrong);
            }
            (names, marks)
        });
        let [(missing, gold_marks), (wrong, predicted_marks)] = sides;
        Some(Worst {
            sentences,
            score: counts.las().unwrap_or(0.0),
            n_wrong: counts.n_wrong(),
            missing,
            wrong,
            marks: [gold_marks, predicted_marks],
            ..Worst::default()
        })
    }

    /// Draws the trees of both sides.
    pub fn draw(&mut self, sides: [&[&Entry]; 2], width: usize) {
        let texts: Vec<String> = sides[0].iter().map(|entry| text_of(&entry.sentence)).collect();
        self.text = texts.join(" ");
        let options = TerminalOptions { width, ..TerminalOptions::default() };
        for ((name, entries), marks) in ["gold", "predicted"].iter().zip(sides).zip(&self.marks) {
            for (entry, marks) in entries.iter().zip(marks) {
                let entry = marked(entry, marks);
                let drawing = Layout::of(&entry, &Options::default())
                    .and_then(|layout| terminal(&layout.with_title(*name), &options))
                    .unwrap_or_else(|error| format!("{name}: {}\n", error.message));
                self.drawing.push_str(&drawing);
            }
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let list = |items: &[String]| if items.is_empty() { "nothing".to_owned() } else { items.join("; ") };
        format!(
            "{}: {:.2}  {}\n  missing: {}\n  wrong:   {}\n{}",
            self.name(),
            self.score,
            self.text,
            list(&self.missing),
            list(&self.wrong),
            self.drawing
        )
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let mut value = json!({
            "sentence": self.sentences[0].start + 1,
            "score": report::figure_json(Some(self.score)),
            "text": self.text,
            "missing": self.missing,
            "wrong": self.wrong,
        });
        if self.sentences.iter().any(|side| side.len() != 1) {
            let ends = |side: &Range<usize>| json!([side.start + 1, side.end]);
            value["gold_sentences"] = ends(&self.sentences[0]);
            value["predicted_sentences"] = ends(&self.sentences[1]);
        }
        value
    }

    /// `sentence 3`, `sentences 3-4 (2-4 in the prediction)`.
    fn name(&self) -> String {
        let [gold, predicted] = &self.sentences;
        let name = |side: &Range<usize>| match side.len() {
            1 => format!("sentence {}", side.end),
            _ => format!("sentences {}-{}", side.start + 1, side.end),
        };
        match (gold.len(), predicted.len()) {
            (1, 1) => name(gold),
            _ => format!("{} ({} of the prediction)", name(gold), name(predicted)),
        }
    }
}

/// Lowest score first; with the same score, more errors first, then by place.
pub fn sort(worst: &mut [Worst]) {
    worst.sort_by(|a, b| {
        a.score
            .total_cmp(&b.score)
            .then(b.n_wrong.cmp(&a.n_wrong))
            .then(a.sentences[0].start.cmp(&b.sentences[0].start))
    });
}

/// Forgets all but the worst `n` once there are many more.
pub fn keep(worst: &mut Vec<Worst>, n: usize) {
    if worst.len() > 2 * n + 100 {
        sort(worst);
        worst.truncate(n);
    }
}

/// The prefix that names a word's sentence, where several sentences stand together: `12:3`.
fn place(sentences: &Range<usize>, i: usize) -> String {
    if sentences.len() == 1 { String::new() } else { format!("{}:", sentences.start + i + 1) }
}

/// `3-5,7` for the words 3, 4, 5 and 7, counted from 1.
fn ranges(tokens: &[TokenIdx]) -> String {
    let follows = |a: &TokenIdx, b: &TokenIdx| a.index() + 1 == b.index();
    let show = |run: &[TokenIdx]| match (run[0].index() + 1, run[run.len() - 1].index() + 1) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    tokens.chunk_by(follows).map(show).collect::<Vec<_>>().join(",")
}

/// The same entry with marks after the labels of these constituents or relations.
fn marked(entry: &Entry, marks: &[usize]) -> Entry {
    let mut entry = entry.clone();
    match &mut entry.tree {
        Some(Tree::Constituent(tree)) => {
            marks.iter().for_each(|&i| tree.label_mut(NodeId::new(i)).push_str(MARK));
        }
        Some(Tree::Dependency(tree)) => marks.iter().for_each(|&i| tree.arcs[i].label.push_str(MARK)),
        None => {}
    }
    entry
}
