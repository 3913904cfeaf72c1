//! Dependencies: the metrics of the CoNLL 2018 shared task, and what explains them, over aligned words.

use treewright::eval::alignment::{self, Unit};
use treewright::eval::attachment::aligned_arcs;
use treewright::eval::{AlignedAttachments, AttachmentScore, Attachments, Functions, conll18, report};
use treewright::treebank::Entry;
use treewright::{DependencyTree, Result};

use super::super::scoring::{Treebank, dependencies_of, differ_in_words, fits, incomparable, side_by_side};
use super::super::worst::{self, Worst};
use super::{EvalArgs, Report, numbers, width};
use crate::io::OnError;

impl EvalArgs {
    pub(super) fn dependencies(&self, gold: &Treebank, predicted: &Treebank) -> Result<Report> {
        let (pairing, left_over) = side_by_side(gold, predicted);
        let mut problems = Vec::new();
        let (mut of_gold, mut of_predicted): (Vec<&Entry>, Vec<&Entry>) =
            (gold.entries.iter().collect(), predicted.entries.iter().collect());
        if self.scoring.on_error == OnError::Skip && conll18::evaluate(&of_gold, &of_predicted).is_err() {
            problems.extend(left_over);
            let pairs = pairing.pairs.iter().enumerate();
            (of_gold, of_predicted) = pairs.filter_map(|(i, &pair)| fits(i, pair, &mut problems)).unzip();
        }
        let scores = conll18::evaluate(&of_gold, &of_predicted)
            .map_err(|reason| incomparable(&reason, (gold, &of_gold), (predicted, &of_predicted)))?;
        for problem in &mut problems {
            problem.location.file.clone_from(&predicted.name);
        }
        let same_words = of_gold.len() == of_predicted.len()
            && of_gold.iter().zip(&of_predicted).all(|(g, p)| !differ_in_words(g, p));
        let attachments = same_words.then(|| {
            let mut total = AttachmentScore::default();
            for (g, p) in of_gold.iter().zip(&of_predicted) {
                if let (Some(of_gold), Some(of_predicted)) = (dependencies_of(g), dependencies_of(p)) {
                    total.add(&AttachmentScore::of(&g.sentence, of_gold, of_predicted));
                }
            }
            total
        });
        let json = report::dependencies_json(&scores, attachments.as_ref());
        let text = report::dependencies_text(&scores, attachments.as_ref());
        let breakdowns = self.breakdowns(Functions::Strip);
        let mut report = Report { json, text, breakdowns, problems, ..Report::of(predicted) };
        if !report.breakdowns.is_empty() || self.errors > 0 || self.per_sentence {
            let units = match same_words {
                true => (0..of_gold.len()).map(|i| vec![i..i + 1, i..i + 1]).collect(),
                false => alignment::units(&[&of_gold, &of_predicted])
                    .unwrap_or_else(|_| vec![vec![0..of_gold.len(), 0..of_predicted.len()]]),
            };
            self.explain(&mut report, [&of_gold, &of_predicted], &units, same_words);
        }
        Ok(report)
    }

    /// Adds what is counted per sentence, over aligned words.
    fn explain(&self, report: &mut Report, files: [&[&Entry]; 2], units: &[Unit], same_words: bool) {
        let mut per_sentence = Vec::new();
        for unit in units {
            let sides = [0, 1].map(|side| &files[side][unit[side].clone()]);
            let trees = sides.map(|side| {
                side.iter().filter_map(|entry| dependencies_of(entry)).collect::<Vec<&DependencyTree>>()
            });
            let pairs = match same_words {
                true => (0..trees[0].iter().map(|tree| tree.len()).sum()).map(|i| (i, i)).collect(),
                false => conll18::aligned_words(sides[0], sides[1]).expect("the files could be aligned"),
            };
            let (counts, right) = aligned_arcs(&trees[0], &trees[1], &pairs);
            for breakdown in &mut report.breakdowns {
                for (side, is_gold) in [(0, true), (1, false)] {
                    let mut rest = &right[side][..];
                    for tree in &trees[side] {
                        let (here, after) = rest.split_at(tree.len());
                        breakdown.add_arcs(tree, here, is_gold);
                        rest = after;
                    }
                }
            }
            if self.errors > 0 {
                let sentences = [unit[0].clone(), unit[1].clone()];
                report.worst.extend(Worst::of_dependencies(
                    sentences,
                    counts,
                    [&trees[0], &trees[1]],
                    &right,
                ));
                worst::keep(&mut report.worst, self.errors);
            }
            per_sentence.push((unit, counts));
        }
        worst::sort(&mut report.worst);
        report.worst.truncate(self.errors);
        for one in &mut report.worst {
            let sides = [0, 1].map(|side| &files[side][one.sentences[side].clone()]);
            one.draw(sides, width());
        }
        if self.per_sentence {
            let json = |(unit, counts): &(&Unit, AlignedAttachments)| match same_words {
                true => report::attachments_json(&Attachments {
                    words: counts.gold,
                    heads: counts.heads,
                    labels: counts.labels,
                    both: counts.both,
                }),
                false => {
                    let mut value = report::aligned_attachments_json(counts);
                    value["gold_sentences"] = [unit[0].start + 1, unit[0].end].into();
                    value["predicted_sentences"] = [unit[1].start + 1, unit[1].end].into();
                    value
                }
            };
            report.json["sentences"] = per_sentence.iter().map(json).collect();
            let mut rows = vec![["sentence", "words", "UAS", "LAS"].map(str::to_owned).to_vec()];
            rows.extend(per_sentence.iter().map(|(unit, counts)| {
                let figures = [counts.uas(), counts.las()].map(report::figure_text);
                [numbers(&unit[0]), counts.gold.to_string()].into_iter().chain(figures).collect()
            }));
            report.text.push('\n');
            report.text.push_str(&report::table(&rows));
        }
    }
}
