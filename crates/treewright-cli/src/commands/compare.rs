//! `treewright compare`: is one parser better than another, or was it chance?

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use treewright::eval::alignment;
use treewright::eval::report::{figure_json, figure_text, table};
use treewright::eval::significance::{
    Figure, Interval, McNemar, Randomisation, bootstrap, mcnemar, stratified_randomisation, sum,
};
use treewright::eval::{
    CharacterScorer, Collapsed, ConstituentScorer, Counts, Mismatch, Params, Parsed, SentenceScore, Status,
    Style, conll18, report,
};
use treewright::rng::Rng;
use treewright::tree::TreeKind;
use treewright::treebank::Entry;
use treewright::{Code, Error, Result};

use super::scoring::{self, ScoringArgs, Treebank, differ_in_words, mismatch, parsed, side_by_side};
use crate::io::{OnError, Output, say, say_errors};

/// Test whether two parsers differ by more than chance
///
/// Stratified randomisation over sentences for recall, precision and F1 (or attachment), McNemar's exact test over
/// words for attachment, and bootstrap intervals. The same seed gives the same numbers. The figures are those that eval
/// prints: LAS and UAS as in the CoNLL 2018 shared task, brackets by the same rules.
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
    let mut sides = Sides {
        scoring: &args.scoring,
        gold: &gold,
        files: &files,
        left_out: Vec::new(),
        n_by_tags: 0,
        notes: Vec::new(),
        aligned_by: None,
        collapsed: Vec::new(),
    };
    let measures = match kind {
        TreeKind::Constituents => sides.constituents()?,
        TreeKind::Dependencies => sides.dependencies()?,
    };
    let n_left_out = sides.left_out.len() + sides.n_by_tags;
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
        true => {
            let mut json = args.json(&outcomes, n_sentences, n_left_out, &verdict);
            if let Some(aligned_by) = sides.aligned_by {
                json["aligned_by"] = aligned_by.into();
                json["collapsed_labels"] = report::collapsed_json(&sides.collapsed);
            }
            format!("{json:#}\n")
        }
        false => format!("{}\n{verdict}\n", text(&outcomes, &names)),
    };
    Output::put(args.scoring.output.as_deref(), text)?;
    let word = if args.scoring.on_error == OnError::Fail { "error" } else { "skipped" };
    let n_told = say_errors(word, &sides.left_out, 5);
    if !args.scoring.quiet {
        sides.notes.iter().for_each(|note| say!("note: {note}"));
    }
    Ok(args.scoring.exit_code(n_told))
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
    /// Sentences that EVALB's rules leave out because of their tags.
    n_by_tags: usize,
    notes: Vec<String>,
    /// The way in which constituents were aligned.
    aligned_by: Option<&'static str>,
    collapsed: Vec<Collapsed>,
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
        let scorer = ConstituentScorer::new(&params, discontinuous);
        let style = scorer.all().style;
        let is_cut_differently = |file: &&Treebank| side_by_side(gold, file).0.is_cut_differently(style);
        let cut_differently: Vec<&Treebank> = files.iter().filter(is_cut_differently).collect();
        let units = (!cut_differently.is_empty())
            .then(|| scoring::units(gold, &files.iter().collect::<Vec<_>>()).ok())
            .flatten();
        if units.is_some() {
            self.notes.extend(cut_differently.iter().map(|file| scoring::aligned_note(&file.name)));
        }
        let by_characters = |units: &[alignment::Unit]| by_characters(gold, files, &params, units);
        let (style, aligned_by, scores) = match units {
            Some(units) => (Style::Disco, "characters", by_characters(&units)),
            None => match self.by_words(scorer, &params) {
                Ok(scores) => (style, "words", scores),
                // As in `eval`: the words are the same, so the tags are to blame.
                Err(error) => {
                    let is_by_tags =
                        cut_differently.is_empty() && self.scoring.params.is_none() && !discontinuous;
                    let all: Vec<&Treebank> = files.iter().collect();
                    let Some(units) = is_by_tags.then(|| scoring::units(gold, &all).ok()).flatten() else {
                        return Err(error);
                    };
                    self.notes.push(scoring::by_gold_tags_note(&error));
                    (Style::Disco, "characters", by_characters(&units))
                }
            },
        };
        self.aligned_by = Some(aligned_by);
        self.collapsed = scoring::collapsed(&[gold, &files[0], &files[1]], &params, style);
        self.notes.extend(scoring::collapsed_note(&self.collapsed));
        let measure = |name, counts: fn(&SentenceScore) -> Counts| {
            let [a, b] = [0, 1].map(|side| scores.iter().map(|scores| counts(&scores[side])).collect());
            Measure { name, a, b, figure: Counts::f1_or_zero, is_accuracy: false, mcnemar: None }
        };
        let disc = measure("discontinuous F1", |score| score.discontinuous);
        let has_disc = disc.a.iter().chain(&disc.b).any(|counts| counts.gold + counts.predicted > 0);
        let mut measures = vec![measure("F1", |score| score.brackets)];
        if has_disc && !params.disc_only {
            measures.push(disc);
        }
        Ok(measures)
    }

    /// The scores of sentences that can be scored on both sides.
    fn by_words(
        &mut self,
        mut scorer: ConstituentScorer,
        params: &Params,
    ) -> Result<Vec<[SentenceScore; 2]>> {
        let is_evalb = scorer.all().style == Style::Evalb;
        let limit = is_evalb.then_some(params.max_error);
        let mut all = Vec::new();
        // Per file: errors, those by tags, and the first of either.
        let mut n_errors = [(0, 0); 2];
        let mut first_errors: [(Option<Error>, Option<Error>); 2] = Default::default();
        for (i, (g, predictions)) in self.triples()?.into_iter().enumerate() {
            let scores: [SentenceScore; 2] = predictions.map(|p| scorer.add(parsed(g), parsed(p)));
            let mut is_left_out = false;
            for (side, score) in scores.iter().enumerate() {
                let Status::Error(reason) = &score.status else { continue };
                let (name, p) = (&self.files[side].name, predictions[side]);
                let error = mismatch(&reason.to_string(), i, g, p).in_file(name);
                let ((n, n_by_tags), (first, first_by_tags)) = (&mut n_errors[side], &mut first_errors[side]);
                *n += 1;
                let first = first.get_or_insert_with(|| error.clone());
                if matches!(reason, Mismatch::Tags { .. }) {
                    *n_by_tags += 1;
                    first_by_tags.get_or_insert_with(|| error.clone());
                }
                // As in `eval`, EVALB counts such sentences as errors, and gives up after some.
                let is_too_much = limit.is_none_or(|limit| *n > limit + 1);
                if is_too_much && self.scoring.on_error == OnError::Fail {
                    return Err(scoring::give_up(first.clone(), *n as u64, *n_by_tags, limit));
                }
                match differ_in_words(g, p) || !is_evalb {
                    true => self.left_out.push(error),
                    false if !is_left_out => self.n_by_tags += 1,
                    false => {}
                }
                is_left_out = true;
            }
            // A sentence that one parser could not parse counts for neither.
            if scores.iter().all(|score| score.status == Status::Valid) {
                all.push(scores);
            }
        }
        for ((_, n_by_tags), (_, first)) in n_errors.into_iter().zip(&first_errors) {
            self.notes.extend(scoring::tags_note(n_by_tags, first.as_ref()));
        }
        Ok(all)
    }

    fn dependencies(&mut self) -> Result<Vec<Measure>> {
        let Sides { gold, files, .. } = *self;
        let entries = |file: &'a Treebank| file.entries.iter().collect::<Vec<&Entry>>();
        let (of_gold, of_files) = (entries(gold), [entries(&files[0]), entries(&files[1])]);
        let mut units = Vec::new();
        let bad = of_files.iter().zip(files).find_map(|(of_file, file)| {
            let reason = conll18::words(&of_gold, of_file).err()?;
            Some(scoring::incomparable(&reason, (gold, &of_gold), (file, of_file)))
        });
        match bad {
            None => {
                let all = alignment::units(&[&of_gold, &of_files[0], &of_files[1]]).unwrap_or_else(|_| {
                    vec![vec![0..of_gold.len(), 0..of_files[0].len(), 0..of_files[1].len()]]
                });
                for unit in all {
                    let sides = [&of_files[0][unit[1].clone()], &of_files[1][unit[2].clone()]];
                    units.push((of_gold[unit[0].clone()].to_vec(), sides.map(<[&Entry]>::to_vec)));
                }
            }
            Some(error) if self.scoring.on_error == OnError::Fail => return Err(error),
            Some(_) => {
                for (i, (g, predictions)) in self.triples()?.into_iter().enumerate() {
                    let mut problems = Vec::new();
                    let fit =
                        [0, 1].map(|side| scoring::fits(i, (g, predictions[side]), &mut problems).is_some());
                    let side = usize::from(fit[0]);
                    problems.truncate(1);
                    self.left_out.extend(problems.into_iter().map(|error| error.in_file(&files[side].name)));
                    if fit == [true, true] {
                        units.push((vec![g], predictions.map(|p| vec![p])));
                    }
                }
            }
        }
        let mut counts: [[Vec<Counts>; 2]; 2] = Default::default();
        let mut only = [[0u64; 2]; 2];
        for (g, predictions) in &units {
            let words = |p: &Vec<&Entry>| conll18::words(g, p).expect("their texts are the same");
            let sides = [words(&predictions[0]), words(&predictions[1])];
            let [a, b] = &sides;
            for (measure, [a, b]) in [[&a.arcs, &b.arcs], [&a.heads, &b.heads]].into_iter().enumerate() {
                for (side, right) in [a, b].into_iter().enumerate() {
                    counts[measure][side].push(Counts {
                        matched: right.iter().filter(|is_right| **is_right).count() as u64,
                        gold: right.len() as u64,
                        predicted: sides[side].n_system as u64,
                    });
                }
                for (&a, &b) in a.iter().zip(b) {
                    only[measure][0] += u64::from(a && !b);
                    only[measure][1] += u64::from(b && !a);
                }
            }
        }
        let same_words = counts[0].iter().flatten().all(|counts| counts.gold == counts.predicted);
        let measure = |(name, ([a, b], only)): (&'static str, ([Vec<Counts>; 2], [u64; 2]))| {
            let mcnemar = Some(mcnemar(only[0], only[1]));
            Measure { name, a, b, figure: Counts::f1_or_zero, is_accuracy: same_words, mcnemar }
        };
        Ok(["LAS", "UAS"].into_iter().zip(counts.into_iter().zip(only)).map(measure).collect())
    }
}

/// The scores of units of sentences that have the same characters in all files.
fn by_characters(
    gold: &Treebank,
    files: &[Treebank],
    params: &Params,
    units: &[alignment::Unit],
) -> Vec<[SentenceScore; 2]> {
    let mut scorer = CharacterScorer::new(params);
    let mut score = |unit: &alignment::Unit, i: usize| {
        let of_gold: Vec<Parsed> = gold.entries[unit[0].clone()].iter().map(parsed).collect();
        let of_file: Vec<Parsed> = files[i].entries[unit[i + 1].clone()].iter().map(parsed).collect();
        scorer.add(&of_gold, &of_file).score
    };
    units.iter().map(|unit| [score(unit, 0), score(unit, 1)]).collect()
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
        let sentences =
            if n_sentences == 1 { "1 sentence".to_owned() } else { format!("{n_sentences} sentences") };
        let (Some(a_value), Some(b_value)) = (a, b) else {
            return format!("{} has no value on {sentences}.", outcome.name);
        };
        let p = outcome.randomisation.f1;
        let chance = format!(
            "stratified randomisation over {sentences}, {} shuffles, p = {}",
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
                    let of = |figure: &str| part(&name, "f1", figure, "_");
                    value[side][of("recall")] = figure_json(counts.recall());
                    value[side][of("precision")] = figure_json(counts.precision());
                }
            }
            let p = &outcome.randomisation;
            value["p"][&name] = json!(p.f1);
            if !outcome.is_accuracy {
                value["p"][part(&name, "f1", "recall", "_")] = json!(p.recall);
                value["p"][part(&name, "f1", "precision", "_")] = json!(p.precision);
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

/// The name of recall or precision beside a figure: `recall` for `F1`, `LAS recall` for `LAS`.
fn part(name: &str, f1: &str, part: &str, separator: &str) -> String {
    if name.contains(f1) { name.replace(f1, part) } else { format!("{name}{separator}{part}") }
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
            add(part(outcome.name, "F1", "recall", " "), Counts::recall, p.recall, None);
            add(part(outcome.name, "F1", "precision", " "), Counts::precision, p.precision, None);
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
