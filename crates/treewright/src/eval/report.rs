//! Scores as JSON for programs and as tables for people.

use std::fmt::Write;

use serde_json::{Value, json};

use super::attachment::{AlignedAttachments, AttachmentScore, Attachments};
use super::breakdown::Breakdown;
use super::conll18::Conll18;
use super::totals::{Counts, Tally, Totals};
use super::{CharacterScorer, Collapsed, ConstituentScorer, SentenceScore, Status, Style};

/// A figure to two decimals, rounded as it is printed; `null` if undefined.
pub fn figure_json(value: Option<f64>) -> Value {
    value.map_or(Value::Null, |value| json!(rounded(value)))
}

fn rounded(value: f64) -> f64 {
    format!("{value:.2}").parse().expect("a printed number can be read")
}

/// A figure to two decimals; `-` if undefined.
pub fn figure_text(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

/// A figure: its key in JSON, its name in a table, and how it follows from the sums.
type Figure = (&'static str, &'static str, fn(&Totals) -> Option<f64>);

const FIGURES: [Figure; 8] = [
    ("recall", "recall", Totals::recall),
    ("precision", "precision", Totals::precision),
    ("f1", "F1", Totals::f1),
    ("exact", "exact match", Totals::exact),
    ("average_crossing", "average crossing", Totals::average_crossing),
    ("no_crossing", "no crossing", Totals::no_crossing),
    ("two_or_less_crossing", "two or fewer crossing", Totals::two_or_less_crossing),
    ("tag_accuracy", "tag accuracy", Totals::tag_accuracy),
];

/// Those of the discontinuous constituents.
const DISC_FIGURES: [Figure; 4] = [
    ("recall", "  recall", |totals| totals.discontinuous.brackets.recall()),
    ("precision", "  precision", |totals| totals.discontinuous.brackets.precision()),
    ("f1", "  F1", |totals| totals.discontinuous.brackets.f1()),
    ("exact", "  exact match", |totals| totals.discontinuous.exact()),
];

fn add_figures(value: &mut Value, figures: &[Figure], totals: &Totals) {
    for (key, _, figure) in figures {
        value[key] = figure_json(figure(totals));
    }
}

fn totals_json(totals: &Totals) -> Value {
    let Counts { matched, gold, predicted } = totals.brackets;
    let (sentences, errors, skipped) = (totals.sentences, totals.errors, totals.skipped);
    let mut value = json!({
        "sentences": sentences, "errors": errors, "skipped": skipped,
        "matched": matched, "gold": gold, "predicted": predicted,
    });
    add_figures(&mut value, &FIGURES, totals);
    value["words"] = json!(totals.words);
    value["correct_tags"] = json!(totals.correct_tags);
    value["longest"] = json!(totals.longest);
    value
}

/// Constituents: `all`, `le40` (whatever the cut-off, which `cutoff` tells) and `disc`.
pub fn constituents_json(scorer: &ConstituentScorer, cutoff: usize) -> Value {
    let name = match scorer.all().style {
        Style::Evalb => "evalb",
        Style::Disco => "disco-dop",
    };
    let mut value = both_totals_json(scorer.all(), scorer.up_to_cutoff(), cutoff, name);
    value["aligned_by"] = json!("words");
    value
}

/// The same of constituents aligned by characters, with `Tokens`, `Sentences` and `Tags`: how many of those are the same on
/// both sides.
pub fn aligned_constituents_json(scorer: &CharacterScorer, cutoff: usize) -> Value {
    let mut value = both_totals_json(scorer.all(), scorer.up_to_cutoff(), cutoff, "characters");
    value["aligned_by"] = json!("characters");
    for (name, counts) in segmentation(scorer) {
        value[name] = json!({
            "recall": figure_json(counts.recall()),
            "precision": figure_json(counts.precision()),
            "f1": figure_json(counts.f1_or_zero()),
            "matched": counts.matched,
            "gold": counts.gold,
            "predicted": counts.predicted,
        });
    }
    value
}

fn segmentation(scorer: &CharacterScorer) -> [(&'static str, Counts); 3] {
    [("Tokens", scorer.tokens()), ("Sentences", scorer.sentences()), ("Tags", scorer.tags())]
}

/// Labels that count as one.
pub fn collapsed_json(collapsed: &[Collapsed]) -> Value {
    collapsed.iter().map(|group| json!({ "label": group.label, "labels": group.labels })).collect()
}

fn both_totals_json(all: &Totals, up_to_cutoff: &Totals, cutoff: usize, scorer: &str) -> Value {
    let Counts { matched, gold, predicted } = all.discontinuous.brackets;
    let sentences = all.discontinuous.sentences;
    let mut disc =
        json!({ "sentences": sentences, "matched": matched, "gold": gold, "predicted": predicted });
    add_figures(&mut disc, &DISC_FIGURES, all);
    let mut value = json!({
        "all": totals_json(all),
        "le40": totals_json(up_to_cutoff),
        "disc": disc,
        "cutoff": cutoff,
        "scorer": scorer,
    });
    if all.style == Style::Disco {
        value["distinct"] = json!({ "gold": all.distinct_gold, "predicted": all.distinct_predicted });
    }
    value
}

/// One sentence's score.
pub fn sentence_json(score: &SentenceScore) -> Value {
    let (status, reason) = match &score.status {
        Status::Valid => ("valid", None),
        Status::Error(mismatch) => ("error", Some(mismatch.to_string())),
        Status::Skipped => ("skipped", None),
    };
    let disc = score.discontinuous;
    json!({
        "status": status,
        "reason": reason,
        "length": score.length,
        "matched": score.brackets.matched,
        "gold": score.brackets.gold,
        "predicted": score.brackets.predicted,
        "recall": figure_json(score.brackets.recall()),
        "precision": figure_json(score.brackets.precision()),
        "f1": figure_json(score.brackets.f1()),
        "disc": { "matched": disc.matched, "gold": disc.gold, "predicted": disc.predicted },
        "crossing": score.crossing,
        "words": score.words,
        "correct_tags": score.correct_tags,
    })
}

fn tally_json(tally: &Tally) -> Value {
    json!({
        "recall": figure_json(tally.recall()),
        "precision": figure_json(tally.precision()),
        "f1": figure_json(tally.f1()),
        "gold": tally.gold,
        "predicted": tally.predicted,
    })
}

/// The words of one sentence: right heads and relations.
pub fn attachments_json(counts: &Attachments) -> Value {
    json!({
        "words": counts.words,
        "uas": figure_json(counts.uas()),
        "las": figure_json(counts.las()),
        "label_accuracy": figure_json(counts.label_accuracy()),
    })
}

/// The words of one unit of sentences whose words differ.
pub fn aligned_attachments_json(counts: &AlignedAttachments) -> Value {
    json!({
        "words": counts.gold,
        "predicted_words": counts.predicted,
        "uas": figure_json(counts.uas()),
        "las": figure_json(counts.las()),
        "label_accuracy": figure_json(counts.label_accuracy()),
    })
}

/// Dependencies: the official metrics by name, `nonprojective`, and `conllx` where both sides have the same words.
pub fn dependencies_json(scores: &Conll18, attachments: Option<&AttachmentScore>) -> Value {
    let mut value = json!({});
    for (name, score) in scores.iter() {
        value[name] = json!({
            "precision": rounded(score.precision()),
            "recall": rounded(score.recall()),
            "f1": rounded(score.f1()),
            "aligned_accuracy": figure_json(score.aligned_accuracy()),
            "correct": score.correct,
            "gold": score.gold,
            "predicted": score.system,
        });
    }
    value["nonprojective"] = tally_json(&scores.nonprojective);
    if let Some(score) = attachments {
        value["conllx"] = json!({
            "sentences": score.sentences,
            "exact_heads": score.exact_heads,
            "exact": score.exact,
            "all": attachments_json(&score.all),
            "without_punctuation": attachments_json(&score.without_punctuation),
        });
    }
    value
}

/// The groups of a breakdown, in order.
pub fn breakdown_json(breakdown: &Breakdown) -> Value {
    let group = |(group, tally): (&super::breakdown::Group, &Tally)| {
        let mut value = tally_json(tally);
        value["group"] = json!(group.to_string());
        value
    };
    json!({ "by": breakdown.by().as_str(), "groups": breakdown.groups().into_iter().map(group).collect::<Vec<_>>() })
}

/// Rows of cells, the first column to the left and the others to the right. An empty row is a blank line.
pub fn table(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| unicode_width::UnicodeWidthStr::width(cell.as_str())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let fill = " ".repeat(widths[i] - unicode_width::UnicodeWidthStr::width(cell.as_str()));
            if i == 0 {
                line.push_str(cell);
                line.push_str(&fill);
            } else {
                line.push_str("  ");
                line.push_str(&fill);
                line.push_str(cell);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn row<S: Into<String>>(cells: impl IntoIterator<Item = S>) -> Vec<String> {
    cells.into_iter().map(Into::into).collect()
}

/// The figures of constituents as a table.
pub fn constituents_text(scorer: &ConstituentScorer, cutoff: usize) -> String {
    let is_disco = scorer.all().style == Style::Disco;
    totals_text([scorer.all(), scorer.up_to_cutoff()], cutoff, is_disco)
}

/// The figures of constituents aligned by characters as tables.
pub fn aligned_constituents_text(scorer: &CharacterScorer, cutoff: usize) -> String {
    let mut rows = vec![row(["aligned by characters", "gold", "predicted", "recall", "precision", "F1"])];
    for (name, counts) in segmentation(scorer) {
        let numbers = [counts.gold, counts.predicted].map(|count| count.to_string());
        let figures = [counts.recall(), counts.precision(), counts.f1_or_zero()].map(figure_text);
        rows.push(row([name.to_owned()].into_iter().chain(numbers).chain(figures)));
    }
    let disc = scorer.all().discontinuous.brackets;
    let totals = totals_text([scorer.all(), scorer.up_to_cutoff()], cutoff, disc.gold + disc.predicted > 0);
    format!("{totals}\n{}", table(&rows))
}

fn totals_text(columns: [&Totals; 2], cutoff: usize, with_discontinuous: bool) -> String {
    let all = columns[0];
    let mut rows = vec![row(["".to_owned(), "all".to_owned(), format!("up to {cutoff} words")])];
    let mut add = |name: &str, value: &dyn Fn(&Totals) -> String| {
        rows.push(row([name.to_owned(), value(columns[0]), value(columns[1])]));
    };
    add("sentences", &|t| t.sentences.to_string());
    if all.errors + all.skipped > 0 {
        add("  errors", &|t| t.errors.to_string());
        add("  skipped", &|t| t.skipped.to_string());
    }
    add("brackets in gold", &|t| t.brackets.gold.to_string());
    add("brackets predicted", &|t| t.brackets.predicted.to_string());
    add("brackets matched", &|t| t.brackets.matched.to_string());
    let is_disco = all.style == Style::Disco;
    // disco-dop has no figures about crossing brackets.
    for (_, name, figure) in FIGURES.iter().filter(|(key, ..)| !(is_disco && key.contains("crossing"))) {
        add(name, &|t| figure_text(figure(t)));
    }
    if with_discontinuous {
        add("discontinuous in gold", &|t| t.discontinuous.brackets.gold.to_string());
        add("  predicted", &|t| t.discontinuous.brackets.predicted.to_string());
        for (_, name, figure) in &DISC_FIGURES {
            add(name, &|t| figure_text(figure(t)));
        }
    }
    table(&rows)
}

/// The figures of dependencies as tables.
pub fn dependencies_text(scores: &Conll18, attachments: Option<&AttachmentScore>) -> String {
    let mut rows = vec![row(["", "precision", "recall", "F1", "aligned"])];
    for (name, score) in scores.iter() {
        let mut cells = row([name.to_owned()]);
        cells.extend([score.precision(), score.recall(), score.f1()].map(|value| format!("{value:.2}")));
        cells.push(score.aligned_accuracy().map_or(String::new(), |value| format!("{value:.2}")));
        rows.push(cells);
    }
    let arcs = &scores.nonprojective;
    let name = format!("non-projective ({} arcs)", arcs.gold);
    rows.push(row([name, figure_text(arcs.precision()), figure_text(arcs.recall()), figure_text(arcs.f1())]));
    let mut out = table(&rows);
    if let Some(score) = attachments {
        let mut rows = vec![row(["CoNLL-X style", "words", "UAS", "LAS", "label"])];
        for (name, counts) in [("all words", &score.all), ("without punctuation", &score.without_punctuation)]
        {
            let figures = [counts.uas(), counts.las(), counts.label_accuracy()].map(figure_text);
            rows.push(row([name.to_owned(), counts.words.to_string()].into_iter().chain(figures)));
        }
        write!(out, "\n{}", table(&rows)).expect("text grows");
    }
    out
}

/// A breakdown as a table.
pub fn breakdown_text(breakdown: &Breakdown, dependencies: bool) -> String {
    let title = breakdown.by().title(dependencies);
    let mut rows = vec![row([title, "gold", "predicted", "recall", "precision", "F1"])];
    for (group, tally) in breakdown.groups() {
        let figures = [tally.recall(), tally.precision(), tally.f1()].map(figure_text);
        let counts = [group.to_string(), tally.gold.to_string(), tally.predicted.to_string()];
        rows.push(row(counts.into_iter().chain(figures)));
    }
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_as_printed() {
        assert_eq!(figure_json(Some(77.966_101)), json!(77.97));
        assert_eq!(figure_json(Some(3.125)), json!(3.12));
        assert_eq!(figure_json(None), Value::Null);
        assert_eq!((figure_text(Some(100.0)), figure_text(None)), ("100.00".into(), "-".into()));
    }

    #[test]
    fn columns_line_up_by_shown_width() {
        let rows = [row(["a", "1"]), row(["日本", "22.5"]), row(["b"])];
        assert_eq!(table(&rows), "a        1\n日本  22.5\nb\n");
    }

    #[test]
    fn the_keys_are_those_programs_rely_on() {
        let scorer = ConstituentScorer::new(&super::super::Params::default(), false);
        let value = constituents_json(&scorer, 40);
        for key in [
            "sentences",
            "errors",
            "skipped",
            "matched",
            "gold",
            "predicted",
            "recall",
            "precision",
            "f1",
            "exact",
            "average_crossing",
            "no_crossing",
            "two_or_less_crossing",
            "tag_accuracy",
        ] {
            assert!(value["all"].get(key).is_some() && value["le40"].get(key).is_some(), "{key}");
        }
        for key in ["matched", "gold", "predicted", "recall", "precision", "f1", "exact"] {
            assert!(value["disc"].get(key).is_some(), "{key}");
        }
        let value = dependencies_json(&Conll18::default(), None);
        for name in Conll18::NAMES {
            for key in ["precision", "recall", "f1", "aligned_accuracy"] {
                assert!(value[name].get(key).is_some(), "{name} {key}");
            }
        }
        for key in ["recall", "precision", "f1"] {
            assert_eq!(value["nonprojective"].get(key), Some(&Value::Null));
        }
    }
}
