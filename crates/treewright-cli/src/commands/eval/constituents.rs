//! Constituents: sentence by sentence, or aligned by characters where words or sentences differ.

use std::ops::Range;

use treewright::eval::alignment::Unit;
use treewright::eval::{
    CharacterScorer, ConstituentScorer, Mismatch, Params, Parsed, SentenceScore, Status, Style, report,
};
use treewright::treebank::Entry;
use treewright::{Error, Result};

use super::super::scoring::{self, Treebank, differ_in_words, mismatch, parsed, side_by_side, tree_of};
use super::super::worst::{self, Worst};
use super::{EvalArgs, Report, width};
use crate::io::OnError;

impl EvalArgs {
    /// Scores a file, in the way that its words allow.
    pub(super) fn constituents(
        &self,
        gold: &Treebank,
        predicted: &Treebank,
        params: &Params,
        discontinuous: bool,
    ) -> Result<Report> {
        let scorer = ConstituentScorer::new(params, discontinuous);
        let (pairing, left_over) = side_by_side(gold, predicted);
        let mut difference = None;
        let mut report = match pairing.is_cut_differently(scorer.all().style) {
            true => match scoring::units(gold, &[predicted]) {
                Ok(units) => {
                    let note = scoring::aligned_note(&predicted.name);
                    return Ok(self.by_characters(gold, predicted, params, &units, note));
                }
                Err(error) => {
                    difference = Some(error);
                    self.by_words(scorer, (&pairing.pairs, predicted), params)
                }
            },
            false => match self.by_words(scorer, (&pairing.pairs, predicted), params) {
                // The words are the same, so the tags are to blame. Who names EVALB's rules gets them.
                Err(error) if self.scoring.params.is_none() && left_over.is_none() && !discontinuous => {
                    let Ok(units) = scoring::units(gold, &[predicted]) else { return Err(error) };
                    let note = scoring::by_gold_tags_note(&error);
                    return Ok(self.by_characters(gold, predicted, params, &units, note));
                }
                report => report,
            },
        }
        .map_err(|error| with_difference(error, difference.as_ref()))?;
        report.problems.extend(left_over);
        if let (Some(difference), false) = (difference, report.problems.is_empty()) {
            report.notes.push(difference.to_string());
        }
        let style = ConstituentScorer::new(params, discontinuous).all().style;
        self.finish(&mut report, (gold, predicted), params, style);
        Ok(report)
    }

    /// The part that both ways of scoring share: labels that collapse.
    fn finish(
        &self,
        report: &mut Report,
        (gold, predicted): (&Treebank, &Treebank),
        params: &Params,
        style: Style,
    ) {
        let collapsed = scoring::collapsed(&[gold, predicted], params, style);
        report.json["functions"] = params.functions.as_str().into();
        report.json["collapsed_labels"] = report::collapsed_json(&collapsed);
        report.notes.extend(scoring::collapsed_note(&collapsed));
    }

    fn by_words(
        &self,
        mut scorer: ConstituentScorer,
        (pairs, predicted): (&[(&Entry, &Entry)], &Treebank),
        params: &Params,
    ) -> Result<Report> {
        let is_evalb = scorer.all().style == Style::Evalb;
        let mut breakdowns = self.breakdowns(params.functions);
        let (mut problems, mut first_error) = (Vec::new(), None);
        let (mut n_by_tags, mut first_by_tags) = (0, None);
        let mut scores: Vec<SentenceScore> = Vec::new();
        let mut worst = Vec::new();
        for (i, &(g, p)) in pairs.iter().enumerate() {
            let unreadable = predicted.unreadable(p);
            let score = match unreadable {
                None => scorer.add(parsed(g), parsed(p)),
                Some(_) => scorer.add_unreadable(parsed(g)),
            };
            if let Status::Error(reason) = &score.status {
                let error = unreadable
                    .cloned()
                    .unwrap_or_else(|| mismatch(&reason.to_string(), i, g, p).in_file(&predicted.name));
                if matches!(reason, Mismatch::Tags { .. }) {
                    n_by_tags += 1;
                    first_by_tags.get_or_insert_with(|| error.clone());
                }
                let first = first_error.get_or_insert_with(|| error.clone());
                // disco-dop has no figures from here on; EVALB gives up after some errors.
                let is_too_much = !is_evalb || scorer.all().errors > params.max_error as u64 + 1;
                if is_too_much && self.scoring.on_error == OnError::Fail {
                    let limit = is_evalb.then_some(params.max_error);
                    return Err(scoring::give_up(first.clone(), scorer.all().errors, n_by_tags, limit));
                }
                // What could not be read is told with the file.
                if unreadable.is_none() && (!is_evalb || differ_in_words(g, p)) {
                    problems.push(error);
                }
            }
            for breakdown in &mut breakdowns {
                breakdown.add_constituents(parsed(g), parsed(p), scorer.last_nodes(), score.length);
            }
            if self.errors > 0 {
                let (of_gold, of_predicted) = scorer.last_nodes();
                worst.extend(Worst::of_constituents(
                    [i..i + 1, i..i + 1],
                    &score,
                    [&[of_gold], &[of_predicted]],
                    [&[tree_of(g)], &[tree_of(p)]],
                ));
                worst::keep(&mut worst, self.errors);
            }
            scores.push(score);
        }
        worst::sort(&mut worst);
        worst.truncate(self.errors);
        for one in &mut worst {
            let (g, p) = pairs[one.sentences[0].start];
            one.draw([&[g], &[p]], width());
        }
        let mut json = report::constituents_json(&scorer, params.cutoff_len);
        let mut text = report::constituents_text(&scorer, params.cutoff_len);
        if self.per_sentence {
            json["sentences"] = scores.iter().map(report::sentence_json).collect();
            text.push('\n');
            let numbered = scores.iter().enumerate().map(|(i, score)| ((i + 1).to_string(), score));
            text.push_str(&sentence_table(numbered));
        }
        let mut report = Report { json, text, breakdowns, worst, problems, ..Report::of(predicted) };
        report.notes.extend(scoring::tags_note(n_by_tags, first_by_tags.as_ref()));
        Ok(report)
    }

    fn by_characters(
        &self,
        gold: &Treebank,
        predicted: &Treebank,
        params: &Params,
        units: &[Unit],
        note: String,
    ) -> Report {
        let mut scorer = CharacterScorer::new(params);
        let mut breakdowns = self.breakdowns(params.functions);
        let mut worst = Vec::new();
        let mut scores: Vec<(String, SentenceScore)> = Vec::new();
        let mut per_sentence = Vec::new();
        for unit in units {
            let [g, p] = [&gold.entries[unit[0].clone()], &predicted.entries[unit[1].clone()]];
            let sides = [g, p].map(|side| side.iter().map(parsed).collect::<Vec<Parsed>>());
            let found = scorer.add(&sides[0], &sides[1]);
            for breakdown in &mut breakdowns {
                for (is_gold, side, nodes) in
                    [(true, &sides[0], &found.gold), (false, &sides[1], &found.predicted)]
                {
                    for (parsed, nodes) in side.iter().zip(nodes) {
                        breakdown.add_nodes(*parsed, nodes, is_gold, found.score.length);
                    }
                }
            }
            if self.errors > 0 {
                let trees =
                    [&sides[0], &sides[1]].map(|side| side.iter().map(|p| p.tree).collect::<Vec<_>>());
                let nodes = [&found.gold, &found.predicted]
                    .map(|nodes| nodes.iter().map(Vec::as_slice).collect::<Vec<_>>());
                worst.extend(Worst::of_constituents(
                    [unit[0].clone(), unit[1].clone()],
                    &found.score,
                    [&nodes[0], &nodes[1]],
                    [&trees[0], &trees[1]],
                ));
                worst::keep(&mut worst, self.errors);
            }
            if self.per_sentence {
                let mut json = report::sentence_json(&found.score);
                let ends = |range: &Range<usize>| [range.start + 1, range.end];
                json["gold_sentences"] = ends(&unit[0]).into();
                json["predicted_sentences"] = ends(&unit[1]).into();
                per_sentence.push(json);
                scores.push((super::numbers(&unit[0]), found.score));
            }
        }
        worst::sort(&mut worst);
        worst.truncate(self.errors);
        for one in &mut worst {
            let sides = [(gold, 0), (predicted, 1)]
                .map(|(file, side)| file.entries[one.sentences[side].clone()].iter().collect::<Vec<_>>());
            one.draw([&sides[0], &sides[1]], width());
        }
        let mut json = report::aligned_constituents_json(&scorer, params.cutoff_len);
        let mut text = report::aligned_constituents_text(&scorer, params.cutoff_len);
        if self.per_sentence {
            json["sentences"] = per_sentence.into();
            text.push('\n');
            text.push_str(&sentence_table(scores.iter().map(|(number, score)| (number.clone(), score))));
        }
        let mut report = Report { json, text, breakdowns, worst, ..Report::of(predicted) };
        report.notes.push(note);
        self.finish(&mut report, (gold, predicted), params, Style::Disco);
        report
    }
}

/// An error that may come from texts that differ, with the first difference of the files.
fn with_difference(mut error: Error, difference: Option<&Error>) -> Error {
    if let Some(difference) = difference {
        error.message.push_str(&format!("\n{difference}"));
    }
    error
}

/// A row per sentence, or per unit of sentences.
fn sentence_table<'a>(scores: impl Iterator<Item = (String, &'a SentenceScore)>) -> String {
    let head = "sentence words status recall precision F1 matched gold predicted crossing";
    let mut rows = vec![head.split(' ').map(str::to_owned).collect::<Vec<_>>()];
    for (number, score) in scores {
        let counts = score.brackets;
        let status = match score.status {
            Status::Valid => "valid",
            Status::Error(_) => "error",
            Status::Skipped => "skipped",
        };
        let mut row = vec![number, score.length.to_string(), status.to_owned()];
        row.extend([counts.recall(), counts.precision(), counts.f1()].map(report::figure_text));
        row.extend(
            [counts.matched, counts.gold, counts.predicted, score.crossing].map(|count| count.to_string()),
        );
        rows.push(row);
    }
    report::table(&rows)
}
