//! The worst sentences of a prediction: ranked, and drawn with what differs marked.

use serde_json::{Value, json};
use treewright::draw::{Layout, Options, TerminalOptions, terminal};
use treewright::eval::{Attachments, ScoredNode, SentenceScore, Status, report};
use treewright::treebank::Entry;
use treewright::{ConstituentTree, DependencyTree, NodeId, TokenIdx, Tree};

use super::scoring::text_of;

/// Stands after the label of what the other tree does not have.
const MARK: &str = "✗";

/// One sentence with errors.
#[derive(Default)]
pub struct Worst {
    /// From 0.
    pub sentence: usize,
    score: f64,
    n_wrong: u64,
    missing: Vec<String>,
    wrong: Vec<String>,
    gold_marks: Vec<usize>,
    predicted_marks: Vec<usize>,
    text: String,
    drawing: String,
}

impl Worst {
    /// If some bracket is missing or wrong.
    pub fn of_constituents(
        sentence: usize,
        score: &SentenceScore,
        nodes: (&[ScoredNode], &[ScoredNode]),
        gold: Option<&ConstituentTree>,
        predicted: Option<&ConstituentTree>,
    ) -> Option<Self> {
        if score.status != Status::Valid || score.is_exact() {
            return None;
        }
        let marks = |nodes: &[ScoredNode]| -> Vec<usize> {
            let mut marks: Vec<usize> =
                nodes.iter().filter(|n| !n.is_matched).map(|n| n.node.index()).collect();
            marks.sort_unstable();
            marks
        };
        let names = |tree: Option<&ConstituentTree>, marks: &[usize]| -> Vec<String> {
            let name = |tree: &ConstituentTree, &i: &usize| {
                let node = NodeId::new(i);
                format!("{} {}", tree.node(node).label, ranges(&tree.tokens_under(node)))
            };
            tree.map_or(Vec::new(), |tree| marks.iter().map(|i| name(tree, i)).collect())
        };
        let counts = score.brackets;
        let (gold_marks, predicted_marks) = (marks(nodes.0), marks(nodes.1));
        Some(Worst {
            sentence,
            score: counts.f1().unwrap_or(0.0),
            n_wrong: counts.gold + counts.predicted - 2 * counts.matched,
            missing: names(gold, &gold_marks),
            wrong: names(predicted, &predicted_marks),
            gold_marks,
            predicted_marks,
            ..Worst::default()
        })
    }

    /// If some head or relation is wrong.
    pub fn of_dependencies(
        sentence: usize,
        counts: &Attachments,
        gold: &DependencyTree,
        predicted: &DependencyTree,
    ) -> Option<Self> {
        if counts.both == counts.words {
            return None;
        }
        let differ = |&i: &usize| gold.arcs[i] != predicted.arcs[i];
        let marks: Vec<usize> = (0..gold.len()).filter(differ).collect();
        let names = |tree: &DependencyTree| -> Vec<String> {
            let head =
                |i: usize| tree.arcs[i].head.map_or("0".to_owned(), |head| (head.index() + 1).to_string());
            marks.iter().map(|&i| format!("{}({}, {})", tree.arcs[i].label, head(i), i + 1)).collect()
        };
        Some(Worst {
            sentence,
            score: counts.las().unwrap_or(0.0),
            n_wrong: counts.words - counts.both,
            missing: names(gold),
            wrong: names(predicted),
            gold_marks: marks.clone(),
            predicted_marks: marks,
            ..Worst::default()
        })
    }

    /// Draws both trees.
    pub fn draw(&mut self, gold: &Entry, predicted: &Entry, width: usize) {
        self.text = text_of(&gold.sentence);
        let options = TerminalOptions { width, ..TerminalOptions::default() };
        for (name, entry, marks) in
            [("gold", gold, &self.gold_marks), ("predicted", predicted, &self.predicted_marks)]
        {
            let entry = marked(entry, marks);
            let drawing = Layout::of(&entry, &Options::default())
                .and_then(|layout| terminal(&layout.with_title(name), &options))
                .unwrap_or_else(|error| format!("{name}: {}\n", error.message));
            self.drawing.push_str(&drawing);
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let list = |items: &[String]| if items.is_empty() { "nothing".to_owned() } else { items.join("; ") };
        format!(
            "sentence {}: {:.2}  {}\n  missing: {}\n  wrong:   {}\n{}",
            self.sentence + 1,
            self.score,
            self.text,
            list(&self.missing),
            list(&self.wrong),
            self.drawing
        )
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "sentence": self.sentence + 1,
            "score": report::figure_json(Some(self.score)),
            "text": self.text,
            "missing": self.missing,
            "wrong": self.wrong,
        })
    }
}

/// Lowest score first; with the same score, more errors first, then by place.
pub fn sort(worst: &mut [Worst]) {
    worst.sort_by(|a, b| {
        a.score.total_cmp(&b.score).then(b.n_wrong.cmp(&a.n_wrong)).then(a.sentence.cmp(&b.sentence))
    });
}

/// Forgets all but the worst `n` once there are many more.
pub fn keep(worst: &mut Vec<Worst>, n: usize) {
    if worst.len() > 2 * n + 100 {
        sort(worst);
        worst.truncate(n);
    }
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
