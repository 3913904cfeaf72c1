//! `treewright eval`: scores that agree with EVALB, disco-dop and the CoNLL 2018 script.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use treewright::eval::plot::{Plot, Series};
use treewright::eval::{
    AttachmentScore, Breakdown, By, ConstituentScorer, Params, SentenceScore, Status, Style, conll18, report,
};
use treewright::tree::TreeKind;
use treewright::treebank::Entry;
use treewright::{Code, Error, Result};

use super::scoring::{
    ScoringArgs, Treebank, dependencies_of, mismatch, parsed, side_by_side, text_of, tree_of,
};
use super::worst::{self, Worst};
use crate::io::{OnError, Output, say, say_errors};
use crate::pictures::Picture;

/// Score predicted trees against gold trees
///
/// Brackets are scored as EVALB does (Penn brackets) or as disco-dop does (formats that can hold discontinuous trees,
/// or --params proper); dependencies as the CoNLL 2018 shared task does, which allows different tokens.
#[derive(Args)]
#[command(after_help = "\
Sentences are paired by position. A blank line, (()) or (TOP) in a prediction is a sentence without a parse, which \
EVALB's rules skip. If words or the numbers of sentences differ, the first difference is shown and the exit status is \
1. With --on-error skip the other sentences are scored; those left out are reported, and the exit status is still 1.

Examples:
  treewright eval gold.mrg parsed.mrg
  treewright eval gold.export parsed.export --params proper --by gap
  treewright eval gold.conllu greedy.conllu beam.conllu \\
      --by length --plot length.svg
  treewright eval gold.conllu parsed.conllu --json | jq .LAS.f1
  treewright eval gold.mrg parsed.mrg --errors 5")]
pub struct EvalArgs {
    /// The gold trees
    gold: PathBuf,

    /// The predicted trees; several files are scored one after the other
    #[arg(required = true)]
    predicted: Vec<PathBuf>,

    /// Also score by label, length (of the sentence), children, distance (length of the span or arc), gap or depth;
    /// may be given more than once
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    by: Vec<By>,

    /// Plot F1 by the first --by (by length without one), with one curve per prediction, as SVG, PNG or PDF (chosen by
    /// the extension)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Show the N worst sentences: both trees, with the differences marked
    #[arg(long, value_name = "N", default_value_t = 0)]
    errors: usize,

    /// Also give the score of every sentence
    #[arg(long)]
    per_sentence: bool,

    #[command(flatten)]
    scoring: ScoringArgs,
}

/// The score of one predicted file.
struct Report {
    name: String,
    json: Value,
    text: String,
    breakdowns: Vec<Breakdown>,
    worst: Vec<Worst>,
    /// Sentences that could not be compared, except those that EVALB by its own rules only counts as errors.
    problems: Vec<Error>,
}

pub fn run(args: &EvalArgs) -> Result<ExitCode> {
    let inputs = args.scoring.inputs(&args.gold, &args.predicted);
    inputs.refuse_as_output(args.scoring.output.as_deref())?;
    inputs.refuse_as_output(args.plot.as_deref())?;
    let picture = args.plot.as_deref().map(|path| Picture::of_flag("--plot", path)).transpose()?;
    let (gold, predicted) = args.scoring.read(&args.gold, &args.predicted)?;
    let kind = gold.kind().expect("a gold file without trees was refused");
    args.scoring.check(kind)?;
    let discontinuous = gold.may_be_discontinuous() || predicted.iter().any(Treebank::may_be_discontinuous);
    let params = args.scoring.params(discontinuous)?;
    let mut reports = Vec::new();
    for file in &predicted {
        reports.push(match kind {
            TreeKind::Constituents => args.constituents(&gold, file, &params, discontinuous)?,
            TreeKind::Dependencies => args.dependencies(&gold, file)?,
        });
    }
    let text = match args.scoring.json {
        true => format!("{:#}\n", args.json(&mut reports)),
        false => args.text(&reports, kind),
    };
    Output::put(args.scoring.output.as_deref(), text)?;
    if let Some(picture) = picture {
        Output::put(args.plot.as_deref(), picture.bytes(curve(&reports, kind).svg())?)?;
    }
    Ok(args.conclude(&gold, &predicted, &reports))
}

impl EvalArgs {
    /// What to break down by: what was asked for, or what the plot needs.
    fn breakdowns(&self) -> Vec<Breakdown> {
        let by = if self.by.is_empty() && self.plot.is_some() { &[By::Length][..] } else { &self.by };
        by.iter().map(|&by| Breakdown::new(by)).collect()
    }

    fn constituents(
        &self,
        gold: &Treebank,
        predicted: &Treebank,
        params: &Params,
        discontinuous: bool,
    ) -> Result<Report> {
        let (pairing, left_over) = side_by_side(gold, predicted);
        let mut scorer = ConstituentScorer::new(params, discontinuous);
        let is_evalb = scorer.all().style == Style::Evalb;
        let mut breakdowns = self.breakdowns();
        let (mut problems, mut first_error) = (Vec::new(), None);
        let mut scores: Vec<SentenceScore> = Vec::new();
        let mut worst = Vec::new();
        for (i, &(g, p)) in pairing.pairs.iter().enumerate() {
            let unreadable = predicted.unreadable(p);
            let score = match unreadable {
                None => scorer.add(parsed(g), parsed(p)),
                Some(_) => scorer.add_unreadable(parsed(g)),
            };
            if let Status::Error(reason) = &score.status {
                let error = unreadable
                    .cloned()
                    .unwrap_or_else(|| mismatch(&reason.to_string(), i, g, p).in_file(&predicted.name));
                let first = first_error.get_or_insert_with(|| error.clone());
                // disco-dop has no figures from here on; EVALB gives up after some errors.
                let is_too_much = !is_evalb || scorer.all().errors > params.max_error as u64 + 1;
                if is_too_much && self.scoring.on_error == OnError::Fail {
                    return Err(give_up(first.clone(), scorer.all().errors, is_evalb, params));
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
                worst.extend(Worst::of_constituents(i, &score, scorer.last_nodes(), tree_of(g), tree_of(p)));
                worst::keep(&mut worst, self.errors);
            }
            scores.push(score);
        }
        worst::sort(&mut worst);
        worst.truncate(self.errors);
        for one in &mut worst {
            let (g, p) = pairing.pairs[one.sentence];
            one.draw(g, p, width());
        }
        problems.extend(left_over);
        let mut json = report::constituents_json(&scorer, params.cutoff_len);
        let mut text = report::constituents_text(&scorer, params.cutoff_len);
        if self.per_sentence {
            json["sentences"] = scores.iter().map(report::sentence_json).collect();
            text.push('\n');
            text.push_str(&sentence_table(&scores));
        }
        Ok(Report { name: predicted.name.clone(), json, text, breakdowns, worst, problems })
    }

    fn dependencies(&self, gold: &Treebank, predicted: &Treebank) -> Result<Report> {
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
        let mut breakdowns = self.breakdowns();
        if !same_words && (!breakdowns.is_empty() || self.errors > 0 || self.per_sentence) {
            let message = "--by, --plot, --errors and --per-sentence need the same words in both files";
            return Err(Error::new(Code::Mismatch, message).in_file(&predicted.name));
        }
        let mut attachments = same_words.then(AttachmentScore::default);
        let (mut worst, mut per_sentence) = (Vec::new(), Vec::new());
        if let Some(total) = &mut attachments {
            for (i, (&g, &p)) in of_gold.iter().zip(&of_predicted).enumerate() {
                let (Some(gold_tree), Some(tree)) = (dependencies_of(g), dependencies_of(p)) else {
                    continue;
                };
                let score = AttachmentScore::of(&g.sentence, gold_tree, tree);
                total.add(&score);
                breakdowns.iter_mut().for_each(|breakdown| breakdown.add_dependencies(gold_tree, tree));
                worst.extend(
                    Worst::of_dependencies(i, &score.all, gold_tree, tree).filter(|_| self.errors > 0),
                );
                worst::keep(&mut worst, self.errors);
                per_sentence.push(score.all);
            }
        }
        worst::sort(&mut worst);
        worst.truncate(self.errors);
        worst.iter_mut().for_each(|one| one.draw(of_gold[one.sentence], of_predicted[one.sentence], width()));
        let mut json = report::dependencies_json(&scores, attachments.as_ref());
        let mut text = report::dependencies_text(&scores, attachments.as_ref());
        if self.per_sentence {
            json["sentences"] = per_sentence.iter().map(report::attachments_json).collect();
            let mut rows = vec![["sentence", "words", "UAS", "LAS"].map(str::to_owned).to_vec()];
            rows.extend(per_sentence.iter().enumerate().map(|(i, counts)| {
                let figures = [counts.uas(), counts.las()].map(report::figure_text);
                [(i + 1).to_string(), counts.words.to_string()].into_iter().chain(figures).collect()
            }));
            text.push('\n');
            text.push_str(&report::table(&rows));
        }
        Ok(Report { name: predicted.name.clone(), json, text, breakdowns, worst, problems })
    }

    fn json(&self, reports: &mut [Report]) -> Value {
        for report in reports.iter_mut() {
            if !self.by.is_empty() {
                report.json["by"] = report.breakdowns.iter().map(report::breakdown_json).collect();
            }
            if self.errors > 0 {
                report.json["worst"] = report.worst.iter().map(Worst::json).collect();
            }
            if !report.problems.is_empty() {
                report.json["problems"] =
                    report.problems.iter().map(|error| json!(error.to_string())).collect();
            }
        }
        if let [report] = reports {
            return report.json.take();
        }
        let with_name = |report: &mut Report| {
            let mut value = json!({ "file": report.name });
            if let (Value::Object(all), Value::Object(more)) = (&mut value, report.json.take()) {
                all.extend(more);
            }
            value
        };
        json!({ "files": reports.iter_mut().map(with_name).collect::<Vec<_>>() })
    }

    fn text(&self, reports: &[Report], kind: TreeKind) -> String {
        let mut parts = Vec::new();
        for report in reports {
            let name = if reports.len() > 1 { format!("{}\n", report.name) } else { String::new() };
            parts.push(name + &report.text);
            for breakdown in report.breakdowns.iter().filter(|_| !self.by.is_empty()) {
                parts.push(report::breakdown_text(breakdown, kind == TreeKind::Dependencies));
            }
            parts.extend(report.worst.iter().map(Worst::text));
        }
        parts.join("\n")
    }

    /// Says what did not fit, and gives the exit code.
    fn conclude(&self, gold: &Treebank, predicted: &[Treebank], reports: &[Report]) -> ExitCode {
        let is_fatal = self.scoring.on_error == OnError::Fail;
        let word = if is_fatal { "error" } else { "skipped" };
        let unreadable =
            predicted.iter().chain([gold]).flat_map(|file| &file.unreadable).map(|(_, error)| error);
        let problems = unreadable.chain(reports.iter().flat_map(|report| &report.problems));
        let n_told = say_errors(word, problems, 5);
        if n_told > 0 && is_fatal {
            say!("the scores leave these out; --on-error skip accepts that");
        }
        // As in every command: what was left out shows in the exit code, wanted or not.
        if n_told > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Do the sentences differ in anything but tags? Traces are no words.
fn differ_in_words(gold: &Entry, predicted: &Entry) -> bool {
    let words = |entry: &'_ Entry| -> Vec<String> {
        let tokens = entry.sentence.tokens.iter().filter(|token| !token.is_trace());
        tokens.map(|token| token.form.to_string()).collect()
    };
    words(gold) != words(predicted)
}

/// The error after which there are no figures.
fn give_up(first: Error, n_errors: u64, is_evalb: bool, params: &Params) -> Error {
    let mut error = first;
    error.message.push_str(&if is_evalb {
        format!(
            "\nthis is the first of {n_errors} sentences that do not fit, more than MAX_ERROR {} allows; \
             --on-error skip scores the rest",
            params.max_error
        )
    } else {
        "\n--on-error skip scores the other sentences".to_owned()
    });
    error
}

/// The pair, unless its texts differ.
fn fits<'a>(
    i: usize,
    (gold, predicted): (&'a Entry, &'a Entry),
    problems: &mut Vec<Error>,
) -> Option<(&'a Entry, &'a Entry)> {
    let reason = if !conll18::same_text(&gold.sentence, &predicted.sentence) {
        "the texts differ"
    } else if dependencies_of(gold).is_none() || dependencies_of(predicted).is_none() {
        "there is no dependency tree"
    } else {
        return Some((gold, predicted));
    };
    problems.push(mismatch(reason, i, gold, predicted));
    None
}

fn incomparable(
    reason: &conll18::Incomparable,
    (gold, of_gold): (&Treebank, &[&Entry]),
    (predicted, of_predicted): (&Treebank, &[&Entry]),
) -> Error {
    let text = |entries: &[&Entry], number: Option<usize>| {
        number.map_or("(the end of the file)".to_owned(), |i| text_of(&entries[i].sentence))
    };
    match *reason {
        conll18::Incomparable::Text { gold: g, system: s } => {
            let place =
                g.map_or("the end of the gold file".to_owned(), |i| format!("gold sentence {}", i + 1));
            let message = format!(
                "the texts differ, first in {place}\n  gold:      {}\n  predicted: {}\n--on-error skip scores the other \
                 sentences",
                text(of_gold, g),
                text(of_predicted, s)
            );
            let error = Error::new(Code::Mismatch, message).in_file(&predicted.name);
            s.map_or(error.clone(), |i| error.in_sentence(i + 1))
        }
        conll18::Incomparable::NoGoldTree(i) | conll18::Incomparable::NoSystemTree(i) => {
            let is_gold = matches!(reason, conll18::Incomparable::NoGoldTree(_));
            let file = if is_gold { gold } else { predicted };
            Error::new(Code::WrongTreeKind, "this sentence has no dependency tree")
                .in_file(&file.name)
                .in_sentence(i + 1)
        }
    }
}

fn sentence_table(scores: &[SentenceScore]) -> String {
    let head = "sentence words status recall precision F1 matched gold predicted crossing";
    let mut rows = vec![head.split(' ').map(str::to_owned).collect::<Vec<_>>()];
    for (i, score) in scores.iter().enumerate() {
        let counts = score.brackets;
        let status = match score.status {
            Status::Valid => "valid",
            Status::Error(_) => "error",
            Status::Skipped => "skipped",
        };
        let mut row = vec![(i + 1).to_string(), score.length.to_string(), status.to_owned()];
        row.extend([counts.recall(), counts.precision(), counts.f1()].map(report::figure_text));
        row.extend(
            [counts.matched, counts.gold, counts.predicted, score.crossing].map(|count| count.to_string()),
        );
        rows.push(row);
    }
    report::table(&rows)
}

/// F1 per group, one series per report. Groups that any report has stand in the order of the first that has them.
fn curve(reports: &[Report], kind: TreeKind) -> Plot {
    let breakdowns: Vec<&Breakdown> = reports.iter().filter_map(|report| report.breakdowns.first()).collect();
    let by = breakdowns.first().map_or(By::Length, |breakdown| breakdown.by());
    let mut groups: Vec<_> = breakdowns.iter().flat_map(|b| b.groups()).map(|(group, _)| group).collect();
    if by == By::Label {
        let mut seen = HashSet::new();
        groups.retain(|group| seen.insert(*group));
    } else {
        groups.sort();
        groups.dedup();
    }
    let value = |breakdown: &Breakdown, group| {
        breakdown.groups().into_iter().find(|(g, _)| *g == group).and_then(|(_, tally)| tally.f1())
    };
    let series = reports.iter().zip(&breakdowns).map(|(report, breakdown)| Series {
        name: report.name.rsplit('/').next().unwrap_or(&report.name).to_owned(),
        values: groups.iter().map(|group| value(breakdown, *group)).collect(),
    });
    let dependencies = kind == TreeKind::Dependencies;
    let figure = if dependencies { "LAS F1" } else { "Labelled F1" };
    Plot {
        title: format!("{figure} by {}", by.title(dependencies)),
        x_title: by.title(dependencies).to_owned(),
        y_title: "F1".to_owned(),
        series: series.collect(),
        groups: groups.iter().map(ToString::to_string).collect(),
        joined: by != By::Label,
    }
}

/// The width to draw within.
fn width() -> usize {
    if !std::io::stdout().is_terminal() {
        return 100;
    }
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}
