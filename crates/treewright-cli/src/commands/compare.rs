//! `treewright compare`: is one parser better than another, or was it chance?

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use treewright::eval::report::{figure_json, figure_text, table};
use treewright::eval::significance::{
    Figure, Interval, McNemar, Randomisation, accuracy, accuracy_counts, bootstrap, mcnemar,
    stratified_randomisation, sum,
};
use treewright::eval::{ConstituentScorer, Counts, SentenceScore, Status, Style};
use treewright::rng::Rng;
use treewright::tree::TreeKind;
use treewright::treebank::Entry;
use treewright::{Code, Error, Result};

use super::scoring::{ScoringArgs, Treebank, dependencies_of, mismatch, parsed, side_by_side};
use crate::io::{OnError, Output, say_errors};

/// Test whether two parsers differ by more than chance
///
/// Stratified randomisation over sentences for recall, precision and F1 (or attachment), McNemar's exact test over
/// words for attachment, and bootstrap intervals. The same seed gives the same numbers.
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright compare gold.mrg greedy.mrg beam.mrg
  treewright compare gold.conllu a.conllu b.conllu --json | jq .verdict")]
pub struct CompareArgs {
    /// The gold trees
    gold: PathBuf,

    /// The trees of the first parser
    a: PathBuf,

    /// The trees of the second parser
    b: PathBuf,

    /// The number of shuffles, and of bootstrap samples
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    shuffles: u32,

    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The significance level: differences with a smaller p count as significant
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = level)]
    level: f64,

    #[command(flatten)]
    scoring: ScoringArgs,
}

/// One thing to compare: counts per sentence of either parser.
struct Measure {
    name: &'static str,
    a: Vec<Counts>,
    b: Vec<Counts>,
    /// The figure that decides.
    figure: Figure,
    /// Are recall and precision the same thing?
    is_accuracy: bool,
    mcnemar: Option<McNemar>,
}

struct Outcome {
    name: &'static str,
    sums: [Counts; 2],
    figure: Figure,
    is_accuracy: bool,
    randomisation: Randomisation,
    intervals: Option<[Interval; 3]>,
    mcnemar: Option<McNemar>,
}

pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    let predicted = [args.a.clone(), args.b.clone()];
    args.scoring.inputs(&args.gold, &predicted).refuse_as_output(args.scoring.output.as_deref())?;
    let (gold, files) = args.scoring.read(&args.gold, &predicted)?;
    let kind = gold.kind().expect("a gold file without trees was refused");
    args.scoring.check(kind)?;
    let mut sides = Sides { scoring: &args.scoring, gold: &gold, files: &files, left_out: Vec::new() };
    let measures = match kind {
        TreeKind::Constituents => sides.constituents()?,
        TreeKind::Dependencies => sides.dependencies()?,
    };
    let left_out = sides.left_out;
    let n_sentences = measures[0].a.len();
    if n_sentences == 0 {
        let message = "there is no sentence that both parsers and the gold file share";
        return Err(Error::new(Code::Mismatch, message).in_file(&gold.name));
    }
    let mut rng = Rng::new(args.seed);
    let outcomes: Vec<Outcome> = measures.iter().map(|measure| args.test(measure, &mut rng)).collect();
    let names = [short(&args.a), short(&args.b)];
    let verdict = args.verdict(&outcomes[0], &names, n_sentences);
    let text = match args.scoring.json {
        true => format!("{:#}\n", args.json(&outcomes, n_sentences, left_out.len(), &verdict)),
        false => format!("{}\n{verdict}\n", text(&outcomes, &names)),
    };
    Output::put(args.scoring.output.as_deref(), text)?;
    Ok(if say_errors("skipped", &left_out, 5) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn level(text: &str) -> Result<f64, String> {
    let level = text.parse().ok().filter(|level| *level > 0.0 && *level < 1.0);
    level.ok_or_else(|| "expected a probability between 0 and 1, such as 0.05".to_owned())
}

/// The file's name without its folders.
fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What is compared.
struct Sides<'a> {
    scoring: &'a ScoringArgs,
    gold: &'a Treebank,
    files: &'a [Treebank],
    left_out: Vec<Error>,
}

impl<'a> Sides<'a> {
    /// Pairs of predictions with their gold sentence. What does not fit is an error, or left out.
    fn triples(&mut self) -> Result<Vec<(&'a Entry, [&'a Entry; 2])>> {
        let Sides { gold, files, .. } = *self;
        let mut sides = Vec::new();
        for (_, error) in files.iter().chain([gold]).flat_map(|file| &file.unreadable) {
            self.leave_out(error.clone())?;
        }
        for file in files {
            let (pairing, left_over) = side_by_side(gold, file);
            if let Some(error) = left_over {
                self.leave_out(error)?;
            }
            sides.push(pairing.pairs);
        }
        let join = |(&(gold, a), &(other, b)): (&(&'a Entry, &'a Entry), &(&'a Entry, &'a Entry))| {
            // Blank lines may have been passed over for one prediction only.
            std::ptr::eq(gold, other).then_some((gold, [a, b]))
        };
        let joined: Vec<_> = sides[0].iter().zip(&sides[1]).filter_map(join).collect();
        Ok(joined)
    }

    fn leave_out(&mut self, error: Error) -> Result<()> {
        if self.scoring.on_error == OnError::Fail {
            let mut error = error;
            error.message.push_str("\n--on-error skip compares the other sentences");
            return Err(error);
        }
        self.left_out.push(error);
        Ok(())
    }

    fn constituents(&mut self) -> Result<Vec<Measure>> {
        let Sides { gold, files, .. } = *self;
        let discontinuous = gold.may_be_discontinuous() || files.iter().any(Treebank::may_be_discontinuous);
        let params = self.scoring.params(discontinuous)?;
        let mut scorer = ConstituentScorer::new(&params, discontinuous);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let (mut disc_a, mut disc_b) = (Vec::new(), Vec::new());
        for (i, (g, predictions)) in self.triples()?.into_iter().enumerate() {
            let scores: [SentenceScore; 2] = predictions.map(|p| scorer.add(parsed(g), parsed(p)));
            let bad = scores.iter().position(|score| matches!(score.status, Status::Error(_)));
            if let Some(side) = bad {
                let Status::Error(reason) = &scores[side].status else { continue };
                let error = mismatch(&reason.to_string(), i, g, predictions[side]).in_file(&files[side].name);
                // EVALB counts such sentences as errors and goes on; both parsers lose the sentence.
                if scorer.all().style == Style::Evalb {
                    self.left_out.push(error);
                } else {
                    self.leave_out(error)?;
                }
                continue;
            }
            // A sentence that one parser could not parse counts for neither.
            if scores.iter().any(|score| score.status == Status::Skipped) {
                continue;
            }
            a.push(scores[0].brackets);
            b.push(scores[1].brackets);
            disc_a.push(scores[0].discontinuous);
            disc_b.push(scores[1].discontinuous);
        }
        let measure = |name, a, b| Measure {
            name,
            a,
            b,
            figure: Counts::f1_or_zero,
            is_accuracy: false,
            mcnemar: None,
        };
        let has_disc = disc_a.iter().chain(&disc_b).any(|counts: &Counts| counts.gold + counts.predicted > 0);
        let mut measures = vec![measure("F1", a, b)];
        if has_disc && !params.disc_only {
            measures.push(measure("discontinuous F1", disc_a, disc_b));
        }
        Ok(measures)
    }

    fn dependencies(&mut self) -> Result<Vec<Measure>> {
        let files = self.files;
        let mut counts: [[Vec<Counts>; 2]; 2] = Default::default();
        let mut only = [[0u64; 2]; 2];
        for (i, (g, predictions)) in self.triples()?.into_iter().enumerate() {
            let words =
                |entry: &Entry| entry.sentence.tokens.iter().map(|t| t.form.clone()).collect::<Vec<_>>();
            let gold_words = words(g);
            let trees = predictions.map(|p| dependencies_of(p).filter(|_| words(p) == gold_words));
            let (Some(gold_tree), [Some(a), Some(b)]) = (dependencies_of(g), trees) else {
                let side = usize::from(trees[0].is_some());
                let error = mismatch("the words differ, or there is no tree", i, g, predictions[side]);
                self.leave_out(error.in_file(&files[side].name))?;
                continue;
            };
            // 0: heads and relations, 1: heads alone.
            let mut right = [[0u64; 2]; 2];
            for ((gold, a), b) in gold_tree.arcs.iter().zip(&a.arcs).zip(&b.arcs) {
                let hits = [[a == gold, b == gold], [a.head == gold.head, b.head == gold.head]];
                for (measure, [a, b]) in hits.into_iter().enumerate() {
                    right[measure][0] += u64::from(a);
                    right[measure][1] += u64::from(b);
                    only[measure][0] += u64::from(a && !b);
                    only[measure][1] += u64::from(b && !a);
                }
            }
            for measure in 0..2 {
                for side in 0..2 {
                    counts[measure][side].push(accuracy_counts(right[measure][side], gold_tree.len() as u64));
                }
            }
        }
        let measure = |(name, ([a, b], only)): (&'static str, ([Vec<Counts>; 2], [u64; 2]))| {
            let mcnemar = Some(mcnemar(only[0], only[1]));
            Measure { name, a, b, figure: accuracy, is_accuracy: true, mcnemar }
        };
        Ok(["LAS", "UAS"].into_iter().zip(counts.into_iter().zip(only)).map(measure).collect())
    }
}

impl CompareArgs {
    fn test(&self, measure: &Measure, rng: &mut Rng) -> Outcome {
        let n = self.shuffles as usize;
        Outcome {
            name: measure.name,
            sums: [sum(&measure.a), sum(&measure.b)],
            figure: measure.figure,
            is_accuracy: measure.is_accuracy,
            randomisation: stratified_randomisation(&measure.a, &measure.b, n, rng),
            intervals: bootstrap(&measure.a, &measure.b, measure.figure, n, rng),
            mcnemar: measure.mcnemar,
        }
    }

    /// One line to quote.
    fn verdict(&self, outcome: &Outcome, names: &[String; 2], n_sentences: usize) -> String {
        let [a, b] = outcome.sums.map(outcome.figure);
        let (Some(a_value), Some(b_value)) = (a, b) else {
            return format!("{} has no value on these {n_sentences} sentences.", outcome.name);
        };
        let p = outcome.randomisation.f1;
        let chance = format!(
            "stratified randomisation over {n_sentences} sentences, {} shuffles, p = {}",
            self.shuffles,
            p_text(p)
        );
        let (better, worse) = if a_value >= b_value { (0, 1) } else { (1, 0) };
        let values = [a_value, b_value];
        let figures = format!(
            "{:.2} {name} against {:.2}, {:.2} points",
            values[better],
            values[worse],
            values[better] - values[worse],
            name = outcome.name
        );
        if p < self.level {
            format!(
                "{} is better than {}: {figures}; significant at {} ({chance}).",
                names[better], names[worse], self.level
            )
        } else {
            format!(
                "No significant difference between {} and {}: {figures} ({chance}).",
                names[better], names[worse]
            )
        }
    }

    fn json(&self, outcomes: &[Outcome], n_sentences: usize, n_left_out: usize, verdict: &str) -> Value {
        let mut value = json!({
            "sentences": n_sentences,
            "left_out": n_left_out,
            "shuffles": self.shuffles,
            "seed": self.seed,
            "a": { "file": self.a.to_string_lossy() },
            "b": { "file": self.b.to_string_lossy() },
            "p": {},
            "difference": {},
            "interval": {},
            "mcnemar": {},
        });
        for outcome in outcomes {
            let name = outcome.name.replace(' ', "_").to_lowercase();
            for (side, counts) in ["a", "b"].into_iter().zip(outcome.sums) {
                value[side][&name] = figure_json((outcome.figure)(counts));
                if !outcome.is_accuracy {
                    let of = |figure: &str| name.replace("f1", figure);
                    value[side][of("recall")] = figure_json(counts.recall());
                    value[side][of("precision")] = figure_json(counts.precision());
                }
            }
            let p = &outcome.randomisation;
            value["p"][&name] = json!(p.f1);
            if !outcome.is_accuracy {
                value["p"][name.replace("f1", "recall")] = json!(p.recall);
                value["p"][name.replace("f1", "precision")] = json!(p.precision);
            }
            let [a, b] = outcome.sums.map(outcome.figure);
            value["difference"][&name] = figure_json(a.zip(b).map(|(a, b)| a - b));
            value["interval"][&name] = outcome.intervals.map_or(Value::Null, |intervals| {
                let pair = |interval: Interval| {
                    json!([figure_json(Some(interval.low)), figure_json(Some(interval.high))])
                };
                let [a, b, difference] = intervals.map(pair);
                json!({ "a": a, "b": b, "difference": difference })
            });
            if let Some(test) = outcome.mcnemar {
                value["mcnemar"][&name] =
                    json!({ "only_a": test.only_a, "only_b": test.only_b, "p": test.p });
            }
        }
        value["verdict"] = json!(verdict);
        value
    }
}

/// A p-value as people write it.
fn p_text(p: f64) -> String {
    if p < 0.000_05 { format!("{p:.1e}") } else { format!("{p:.4}") }
}

fn text(outcomes: &[Outcome], names: &[String; 2]) -> String {
    let row = |cells: [String; 6]| cells.to_vec();
    let head = ["", names[0].as_str(), names[1].as_str(), "difference", "95 % interval", "p"];
    let mut rows = vec![row(head.map(str::to_owned))];
    for outcome in outcomes {
        let mut add = |name: String, figure: Figure, p: f64, interval: Option<Interval>| {
            let [a, b] = outcome.sums.map(figure);
            let interval = interval.map_or(String::new(), |i| format!("{:+.2} to {:+.2}", i.low, i.high));
            let difference = a.zip(b).map_or("-".to_owned(), |(a, b)| format!("{:+.2}", a - b));
            rows.push(row([name, figure_text(a), figure_text(b), difference, interval, p_text(p)]));
        };
        let p = &outcome.randomisation;
        if !outcome.is_accuracy {
            add(outcome.name.replace("F1", "recall"), Counts::recall, p.recall, None);
            add(outcome.name.replace("F1", "precision"), Counts::precision, p.precision, None);
        }
        add(outcome.name.to_owned(), outcome.figure, p.f1, outcome.intervals.map(|intervals| intervals[2]));
    }
    let mut out = table(&rows);
    for outcome in outcomes {
        if let Some(test) = outcome.mcnemar {
            out.push_str(&format!(
                "McNemar on {}: {} words right in {} only, {} in {} only, p = {}\n",
                outcome.name,
                test.only_a,
                names[0],
                test.only_b,
                names[1],
                p_text(test.p)
            ));
        }
    }
    out
}
