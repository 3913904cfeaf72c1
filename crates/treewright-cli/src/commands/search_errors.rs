//! `treewright search-errors`: how often a beam misses the model's own best tree.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use treewright::decode::{Effort, ExactSettings, Guarantee, Method};
use treewright::eval::plot::{Plot, Series};
use treewright::eval::{ConstituentScorer, Params, report};
use treewright::model::{Parser, ScoredTree, Search, Worker};
use treewright::pipeline::Tagging;
use treewright::tree::TreeKind;
use treewright::treebank::Entry;
use treewright::{Code, Error, Result, Sentence};

use super::exact::ExactArgs;
use super::scoring::{parsed, tree_of};
use crate::io::{Inputs, Output, ReadArgs, Skipping, for_each_entry, say, usage};
use crate::models;
use crate::pictures::Picture;

/// Compare beams with exact search: how often they miss the model's best tree, and what that costs
#[derive(Args)]
#[command(after_help = "\
All figures except sentences per second are for the sentences whose best tree is proven. A beam misses the best tree of \
a sentence if its own has a lower score. Models must be for bottom-up-2n with the features `simplified`. Tags in the \
file are kept if the model knows them. Everything runs on one thread.

Examples:
  treewright search-errors --model 2n.model short.mrg
  treewright search-errors --model 2n.model short.mrg --beams 1,8 \\
      --max-items 10000 --plot missed.svg
  treewright search-errors --model 2n.model short.mrg --json | jq .beams")]
pub struct SearchErrorsArgs {
    /// Sentences with gold trees (`-` for stdin)
    #[arg(default_value = "-")]
    file: PathBuf,

    /// The model: a file, or a name that `treewright models` lists
    #[arg(long, short)]
    model: PathBuf,

    /// The widths of the beams; 1 is greedy
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,4,16,64",
          value_parser = clap::value_parser!(u16).range(1..=4096))]
    beams: Vec<u16>,

    #[command(flatten)]
    exact: ExactArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Plot misses and F1 by the width of the beam, as SVG, PNG or PDF (chosen by the extension)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Write here instead of stdout
    #[arg(long, short)]
    output: Option<PathBuf>,

    #[command(flatten)]
    read: ReadArgs,
}

/// A search, and how it did.
struct Contestant {
    worker: Worker,
    seconds: f64,
    n_missed: usize,
    score_lost: f64,
    scorer: ConstituentScorer,
}

impl Contestant {
    fn new(parser: &Parser, method: Method) -> Self {
        let params = Params::fitting(false);
        Contestant {
            worker: parser.worker().with_search(Search { method, k_best: 1 }),
            seconds: 0.0,
            n_missed: 0,
            score_lost: 0.0,
            scorer: ConstituentScorer::new(&params, false),
        }
    }

    fn parse(&mut self, sentence: &Sentence) -> Option<ScoredTree> {
        let started = Instant::now();
        let best = self.worker.parse_k_best(sentence).into_iter().next();
        self.seconds += started.elapsed().as_secs_f64();
        best
    }

    /// Counts its tree of a sentence whose best tree has this score.
    fn count(&mut self, gold: &Entry, sentence: &Sentence, found: ScoredTree, best_score: f64) {
        self.n_missed += usize::from(found.score < best_score);
        self.score_lost += (best_score - found.score).max(0.0);
        let predicted = Entry { sentence: sentence.clone(), tree: Some(found.tree) };
        self.scorer.add(parsed(gold), parsed(&predicted));
    }

    fn f1(&self) -> Option<f64> {
        self.scorer.all().f1()
    }
}

/// All that was found.
struct Findings {
    n_sentences: usize,
    n_exact: usize,
    /// In how many sentences a beam was better than exact search, which keeps to the rules of the treebank.
    n_outside: usize,
    exact: Contestant,
    /// The effort of exact search.
    effort: Effort,
    beams: Vec<(u16, Contestant)>,
}

pub fn run(args: &SearchErrorsArgs) -> Result<ExitCode> {
    let model = models::find(&args.model)?;
    let inputs = Inputs::default().with("the input", [&args.file]).with("the model", &model);
    inputs.refuse_as_output(args.output.as_deref())?;
    inputs.refuse_as_output(args.plot.as_deref())?;
    let picture = args.plot.as_deref().map(|path| Picture::of_flag("--plot", path)).transpose()?;
    let analyser = models::open(model.as_deref())?.analyser(None)?;
    let Some(parser) = &analyser.parser else {
        return Err(usage("there is no parser in this model"));
    };
    let method = Method::Exact(args.exact.settings(ExactSettings::default()));
    parser.check(Search { method, k_best: 1 }).map_err(usage)?;
    let mut findings = Findings {
        n_sentences: 0,
        n_exact: 0,
        n_outside: 0,
        exact: Contestant::new(parser, method),
        effort: Effort::default(),
        beams: args
            .beams
            .iter()
            .map(|&width| (width, Contestant::new(parser, Method::beam(usize::from(width)))))
            .collect(),
    };
    let mut tagger = analyser.worker(None, Tagging::Missing);
    let mut skipping = Skipping::new(args.read.on_error);
    for_each_entry(std::slice::from_ref(&args.file), &args.read, &mut skipping, |gold, _| {
        if tree_of(&gold).is_none() {
            let message = format!("there is no gold tree of the kind {} here", TreeKind::Constituents);
            return Err(Error::new(Code::WrongTreeKind, message).in_sentence(findings.n_sentences + 1));
        }
        let mut sentence = gold.sentence.clone();
        tagger.tag(&mut sentence)?;
        findings.add(&gold, &sentence);
        Ok(())
    })?;
    let text = if args.json { format!("{:#}\n", findings.json()) } else { findings.text() };
    Output::put(args.output.as_deref(), text)?;
    if let Some(picture) = picture {
        Output::put(args.plot.as_deref(), picture.bytes(findings.plot().svg())?)?;
    }
    if findings.n_outside > 0 && !args.read.quiet {
        say!(
            "in {} sentences a beam found a better tree with a label that the training data never have over a word of \
             that tag: --open-rules searches among these, too",
            findings.n_outside
        );
    }
    Ok(skipping.report())
}

impl Findings {
    fn add(&mut self, gold: &Entry, sentence: &Sentence) {
        let best = self.exact.parse(sentence);
        self.effort.add(self.exact.worker.take_effort());
        let found: Vec<_> = self.beams.iter_mut().map(|(_, beam)| beam.parse(sentence)).collect();
        self.n_sentences += 1;
        let Some(best) = best.filter(|best| best.guarantee == Guarantee::Exact) else { return };
        let score = best.score;
        self.n_exact += 1;
        self.n_outside += usize::from(found.iter().flatten().any(|found| found.score > score));
        self.exact.count(gold, sentence, best, score);
        for ((_, beam), found) in self.beams.iter_mut().zip(found) {
            let found = found.expect("where exact search finds a tree, a beam does");
            beam.count(gold, sentence, found, score);
        }
    }

    fn percent(&self, n: usize) -> Option<f64> {
        (self.n_exact > 0).then(|| 100.0 * n as f64 / self.n_exact as f64)
    }

    /// The mean over sentences.
    fn score_lost(&self, of: &Contestant) -> Option<f64> {
        (self.n_exact > 0).then(|| of.score_lost / self.n_exact as f64)
    }

    fn speed(&self, of: &Contestant) -> f64 {
        self.n_sentences as f64 / of.seconds.max(1e-9)
    }

    fn json(&self) -> Value {
        let beam = |(width, beam): &(u16, Contestant)| {
            json!({
                "beam": width,
                "missed": beam.n_missed,
                "missed_percent": report::figure_json(self.percent(beam.n_missed)),
                "score_lost": report::figure_json(self.score_lost(beam)),
                "f1": report::figure_json(beam.f1()),
                "sentences_per_second": report::figure_json(Some(self.speed(beam))),
            })
        };
        json!({
            "sentences": self.n_sentences,
            "exact": self.n_exact,
            "beams": self.beams.iter().map(beam).collect::<Vec<_>>(),
            "exact_f1": report::figure_json(self.exact.f1()),
            "items": self.effort.items,
            "work": self.effort.work,
            "max_search_bytes": self.effort.bytes,
        })
    }

    fn text(&self) -> String {
        let head = ["beam", "missed", "missed %", "score lost", "F1", "sentences/s"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let named = self.beams.iter().map(|(width, beam)| (width.to_string(), beam));
        for (name, of) in named.chain([("exact".to_owned(), &self.exact)]) {
            let figures = [self.percent(of.n_missed), self.score_lost(of), of.f1()].map(report::figure_text);
            let [percent, lost, f1] = figures;
            rows.push(vec![
                name,
                of.n_missed.to_string(),
                percent,
                lost,
                f1,
                format!("{:.0}", self.speed(of)),
            ]);
        }
        let (all, exact) = (self.n_sentences, self.n_exact);
        format!("The best tree is known in {exact} of {all} sentences.\n\n{}", report::table(&rows))
    }

    fn plot(&self) -> Plot {
        let series = |name: &str, value: &dyn Fn(&Contestant) -> Option<f64>| Series {
            name: name.to_owned(),
            values: self.beams.iter().map(|(_, beam)| value(beam)).collect(),
        };
        Plot {
            title: "Beams against exact search".to_owned(),
            x_title: "width of the beam".to_owned(),
            y_title: "percent".to_owned(),
            groups: self.beams.iter().map(|(width, _)| width.to_string()).collect(),
            joined: true,
            series: vec![
                series("best tree missed", &|beam| self.percent(beam.n_missed)),
                series("F1", &Contestant::f1),
                series("F1 of exact search", &|_| self.exact.f1()),
            ],
        }
    }
}
