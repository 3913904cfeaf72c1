//! `treewright eval`: scores that agree with EVALB, disco-dop and the CoNLL 2018 script.

mod constituents;
mod dependencies;

use std::collections::HashSet;
use std::io::IsTerminal;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use treewright::eval::plot::{Plot, Series};
use treewright::eval::{Breakdown, By, Functions, report};
use treewright::tree::TreeKind;
use treewright::{Error, Result};

use super::scoring::{ScoringArgs, Treebank};
use super::worst::Worst;
use crate::io::{OnError, Output, say, say_errors};
use crate::pictures::Picture;

/// Score predicted trees against gold trees
///
/// Brackets are scored as EVALB does (Penn brackets) or as disco-dop does (formats that can hold discontinuous trees,
/// or --params proper); dependencies as the CoNLL 2018 shared task does, which allows different tokens. Brackets over
/// different tokens or sentences are aligned by characters, as long as the text is the same.
#[derive(Args)]
#[command(after_help = "\
Sentences are paired by position. A blank line, (()) or (TOP) in a prediction is a sentence without a parse, which \
EVALB's rules skip. If the text differs, the first difference is shown and the exit status is 1. With --on-error skip the \
other sentences are scored, those left out are reported, and the exit status is 3.

Examples:
  treewright eval gold.mrg parsed.mrg
  treewright eval gold.export parsed.export --params proper --by gap
  treewright eval gold.conllu greedy.conllu beam.conllu \\
      --by length --plot length.svg
  treewright eval gold.conllu parsed.conllu --json | jq .LAS.f1
  treewright eval gold.mrg parsed.mrg --errors 5
  treewright eval gold.mrg parsed-from-raw-text.mrg
  treewright eval icelandic.mrg parsed.mrg --functions keep")]
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
    /// Remarks on how the scores came about.
    notes: Vec<String>,
}

impl Report {
    fn of(file: &Treebank) -> Self {
        Report {
            name: file.name.clone(),
            json: Value::Null,
            text: String::new(),
            breakdowns: Vec::new(),
            worst: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }
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
    fn breakdowns(&self, functions: Functions) -> Vec<Breakdown> {
        let by = if self.by.is_empty() && self.plot.is_some() { &[By::Length][..] } else { &self.by };
        by.iter().map(|&by| Breakdown::new(by).with_functions(functions)).collect()
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
        if !self.scoring.quiet {
            let mut said = HashSet::new();
            let notes = reports.iter().flat_map(|report| &report.notes);
            notes.filter(|note| said.insert(*note)).for_each(|note| say!("note: {note}"));
        }
        self.scoring.exit_code(n_told)
    }
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

/// `3` or `3-4`, for sentences counted from 1.
fn numbers(sentences: &Range<usize>) -> String {
    match sentences.len() {
        1 => sentences.end.to_string(),
        _ => format!("{}-{}", sentences.start + 1, sentences.end),
    }
}

/// The width to draw within.
fn width() -> usize {
    if !std::io::stdout().is_terminal() {
        return 100;
    }
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}
