//! Training, scoring, oracles, derivations and conversion. What is a table of figures goes to Python as JSON.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use treewright::eval::{
    AttachmentScore, CharacterScorer, ConstituentScorer, Functions, Params, Parsed, alignment,
    collapsed_labels, conll18, may_be_discontinuous, pairing, report,
};
use treewright::explore::{Derivations, Question, Setup, Temporaries};
use treewright::pipeline::Pipeline;
use treewright::registry::{OracleKind, SystemTag};
use treewright::system::SystemOptions;
use treewright::train::{EpochReport, Log, Outcome, PipelineConfig, Recipe, Stage, TextPart, choose};
use treewright::tree::{Entry, Preparation, TreeKind};
use treewright::treebank::{self, ReadOptions};
use treewright::{Code, Error, Result};

use crate::error::{exception, wrong};
use crate::model::Model;
use crate::pipe::default_jobs;
use crate::values::{Document, format_named, written};

/// The entries of a treebank file, of any format; compressed or not.
fn entries_of(path: &Path, format: Option<treebank::Format>) -> Result<Vec<Entry>> {
    let name = path.display().to_string();
    let options = ReadOptions { file: name.clone(), format: format.into(), ..ReadOptions::default() };
    let read = || {
        let file = File::open(path)?;
        treebank::open(file, &options)?.reader.collect::<Result<Vec<_>>>()
    };
    read().map_err(|error| error.in_file(&name))
}

/// The entries of a treebank file to score, and its format. A tree without words is a sentence without a parse.
fn opened(path: &Path) -> Result<(Vec<Entry>, treebank::Format)> {
    let name = path.display().to_string();
    let options = ReadOptions {
        file: name.clone(),
        many_roots: true,
        no_parse: true,
        literal_tags: true,
        ..ReadOptions::default()
    };
    let read = || {
        let opened = treebank::open(File::open(path)?, &options)?;
        Ok((opened.reader.collect::<Result<Vec<_>>>()?, opened.format))
    };
    read().map_err(|error: Error| error.in_file(&name))
}

/// The sentences of a treebank file, whose format is recognised unless it is named.
#[pyfunction]
#[pyo3(signature = (path, format=None))]
pub fn read(py: Python<'_>, path: PathBuf, format: Option<&str>) -> PyResult<Document> {
    let format = format.map(format_named).transpose()?;
    let entries = py.detach(|| entries_of(&path, format)).map_err(exception)?;
    Ok(Document::new(entries, None))
}

/// The sentences of a treebank that is a text; its format is recognised unless it is named.
#[pyfunction]
#[pyo3(signature = (text, format=None))]
pub fn from_string(py: Python<'_>, text: &str, format: Option<&str>) -> PyResult<Document> {
    let options =
        ReadOptions { format: format.map(format_named).transpose()?.into(), ..ReadOptions::default() };
    let read = || treebank::open(text.as_bytes(), &options)?.reader.collect::<Result<Vec<_>>>();
    Ok(Document::new(py.detach(read).map_err(exception)?, None))
}

/// A treebank file in another format, as text.
#[pyfunction]
#[pyo3(signature = (path, to, format=None))]
pub fn convert(py: Python<'_>, path: PathBuf, to: &str, format: Option<&str>) -> PyResult<String> {
    let format = format.map(format_named).transpose()?;
    let entries = py.detach(|| entries_of(&path, format)).map_err(exception)?;
    written(&entries, Some(to))
}

/// The figures of `treewright eval`, as JSON. Without parameters, those that fit the formats.
#[pyfunction]
#[pyo3(signature = (gold, predicted, params=None, functions="strip"))]
pub fn evaluate(
    py: Python<'_>,
    gold: PathBuf,
    predicted: PathBuf,
    params: Option<&str>,
    functions: &str,
) -> PyResult<String> {
    let unknown = |name: &str| {
        let known = Params::names().collect::<Vec<_>>().join(", ");
        wrong(format!("there are no parameters {name:?}; there are {known}"))
    };
    let params = params.map(|name| Params::named(name).ok_or_else(|| unknown(name))).transpose()?;
    let functions = Functions::ALL.iter().copied().find(|known| known.as_str() == functions);
    let functions =
        functions.ok_or_else(|| wrong("functions is neither \"strip\" nor \"keep\"".to_owned()))?;
    let score = || -> Result<serde_json::Value> {
        let (gold, gold_format) = opened(&gold)?;
        let (predicted, predicted_format) = opened(&predicted)?;
        match kind_of(&gold)? {
            TreeKind::Dependencies => dependencies(&gold, &predicted),
            TreeKind::Constituents => {
                let discontinuous = may_be_discontinuous(Some(gold_format), &gold)
                    || may_be_discontinuous(Some(predicted_format), &predicted);
                let params = params.unwrap_or_else(|| Params::fitting(discontinuous));
                constituents(&gold, &predicted, &Params { functions, ..params }, discontinuous)
            }
        }
    };
    py.detach(score).map(|value| value.to_string()).map_err(exception)
}

fn kind_of(entries: &[Entry]) -> Result<TreeKind> {
    let tree = entries.iter().find_map(|entry| entry.tree.as_ref());
    tree.map(|tree| tree.kind()).ok_or_else(|| Error::new(Code::WrongTreeKind, "there are no gold trees"))
}

fn dependencies(gold: &[Entry], predicted: &[Entry]) -> Result<serde_json::Value> {
    let (gold_refs, predicted_refs): (Vec<_>, Vec<_>) = (gold.iter().collect(), predicted.iter().collect());
    let scores = conll18::evaluate(&gold_refs, &predicted_refs).map_err(|why| match why {
        conll18::Incomparable::Text { gold, .. } => {
            Error::new(Code::Mismatch, "the texts differ from here on")
                .in_sentence(gold.map_or(0, |at| at + 1))
        }
        conll18::Incomparable::NoGoldTree(at) => {
            Error::new(Code::WrongTreeKind, "the gold sentence has no dependency tree").in_sentence(at + 1)
        }
        conll18::Incomparable::NoSystemTree(at) => {
            Error::new(Code::WrongTreeKind, "the parse has no dependency tree").in_sentence(at + 1)
        }
    })?;
    // Heads of words can be counted one by one only where both sides have the same words.
    let same = |a: &Entry, b: &Entry| {
        a.sentence.tokens.iter().map(|token| &token.form).eq(b
            .sentence
            .tokens
            .iter()
            .map(|token| &token.form))
    };
    let is_same = gold.len() == predicted.len() && gold.iter().zip(predicted).all(|(a, b)| same(a, b));
    let attachments = is_same.then(|| {
        let mut sum = AttachmentScore::default();
        for (a, b) in gold.iter().zip(predicted) {
            if let (Some(treewright::Tree::Dependency(x)), Some(treewright::Tree::Dependency(y))) =
                (&a.tree, &b.tree)
            {
                sum.add(&AttachmentScore::of(&a.sentence, x, y));
            }
        }
        sum
    });
    Ok(report::dependencies_json(&scores, attachments.as_ref()))
}

fn constituents(
    gold: &[Entry],
    predicted: &[Entry],
    params: &Params,
    discontinuous: bool,
) -> Result<serde_json::Value> {
    fn tree(entry: &Entry) -> Parsed<'_> {
        let tree = match &entry.tree {
            Some(treewright::Tree::Constituent(tree)) => Some(tree),
            _ => None,
        };
        Parsed { sentence: &entry.sentence, tree }
    }
    let mut scorer = ConstituentScorer::new(params, discontinuous);
    let style = scorer.all().style;
    let pairing = pairing::pair(gold, predicted);
    let (all_gold, all_predicted): (Vec<_>, Vec<_>) = (gold.iter().collect(), predicted.iter().collect());
    let units = pairing
        .is_cut_differently(style)
        .then(|| alignment::units(&[&all_gold, &all_predicted]).ok())
        .flatten();
    let mut value = match units {
        Some(units) => {
            let mut scorer = CharacterScorer::new(params);
            for unit in units {
                let sides = [&gold[unit[0].clone()], &predicted[unit[1].clone()]];
                let [gold, predicted] = sides.map(|side| side.iter().map(tree).collect::<Vec<_>>());
                scorer.add(&gold, &predicted);
            }
            report::aligned_constituents_json(&scorer, params.cutoff_len)
        }
        None if pairing.left_over.is_some() => {
            let message = format!("{} gold sentences but {} parses", pairing.n_gold, pairing.n_predicted);
            return Err(Error::new(Code::Mismatch, message));
        }
        None => {
            for (gold, predicted) in pairing.pairs {
                scorer.add(tree(gold), tree(predicted));
            }
            report::constituents_json(&scorer, params.cutoff_len)
        }
    };
    let trees = gold.iter().chain(predicted).filter_map(|entry| tree(entry).tree);
    value["functions"] = params.functions.as_str().into();
    value["collapsed_labels"] = report::collapsed_json(&collapsed_labels(trees, params, style));
    Ok(value)
}

fn system_named(name: &str) -> PyResult<SystemTag> {
    name.parse().map_err(|_| {
        let names: Vec<_> = SystemTag::ALL.iter().map(|system| system.to_string()).collect();
        wrong(format!("there is no system {name:?}; there are {}", names.join(", ")))
    })
}

/// What `treewright oracle` says of a configuration, as JSON.
#[pyfunction]
#[pyo3(signature = (system, gold, actions, oracle=None, labels=Vec::new(), single_root=true))]
pub fn oracle(
    system: &str,
    gold: &str,
    actions: Vec<String>,
    oracle: Option<&str>,
    labels: Vec<String>,
    single_root: bool,
) -> PyResult<String> {
    let system = system_named(system)?;
    let info = system.info();
    let oracle = match oracle {
        Some(name) => name.parse().map_err(|_| wrong(format!("there is no oracle {name:?}")))?,
        None if info.has_dynamic_oracle => OracleKind::Dynamic,
        None => OracleKind::Static,
    };
    if !info.has_oracle(oracle) {
        return Err(wrong(format!("{system} has no {oracle} oracle")));
    }
    let mut question =
        Question { gold: gold.to_owned(), prefix: actions, labels, single_root, ..Question::default() };
    if info.kind == TreeKind::Dependencies {
        let heads: std::result::Result<_, _> = gold.split_whitespace().map(str::parse).collect();
        question.heads =
            heads.map_err(|_| wrong("the gold tree of a dependency system is a row of heads"))?;
    }
    let setup = Setup { system, oracle, temporaries: Temporaries::Usual, max_unary: None, bare_words: None };
    let answer = question.answer(&setup).map_err(|why| exception(Error::new(Code::Underivable, why)))?;
    let value = json!({
        "loss": answer.loss,
        "finished": answer.is_finished,
        "actions": answer.actions,
        "optimal": answer.optimal,
        "configuration": answer.configuration,
    });
    Ok(value.to_string())
}

/// The actions that build each tree of a treebank; None where the system cannot.
#[pyfunction]
#[pyo3(signature = (path, system, head_rules=None))]
pub fn derive(
    py: Python<'_>,
    path: PathBuf,
    system: &str,
    head_rules: Option<String>,
) -> PyResult<Vec<Option<Vec<String>>>> {
    let system = system_named(system)?;
    let mut preparation = Preparation::default();
    if let Some(rules) = head_rules {
        preparation.head_rules = rules;
    }
    let derive = || -> Result<_> {
        let entries = entries_of(&path, None)?;
        let found = Derivations::of(system, &entries, &preparation, &SystemOptions::default())?;
        let names = |actions: Vec<treewright::ActionId>| {
            actions.into_iter().map(|action| found.names[action.index()].clone()).collect()
        };
        Ok(found.derivations.into_iter().map(|derivation| derivation.ok().map(names)).collect())
    };
    py.detach(derive).map_err(exception)
}

/// Trains a pipeline on a treebank. Settings that are not given are chosen for it.
#[pyfunction]
#[pyo3(signature = (train, dev=None, recipe=None, without=Vec::new(), epochs=None, seed=None, jobs=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn train(
    py: Python<'_>,
    train: PathBuf,
    dev: Option<PathBuf>,
    recipe: Option<&str>,
    without: Vec<String>,
    epochs: Option<usize>,
    seed: Option<u64>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let recipe = recipe.map(|name| {
        let known = || Recipe::ALL.iter().map(|recipe| recipe.name).collect::<Vec<_>>().join(", ");
        Recipe::named(name)
            .ok_or_else(|| wrong(format!("there is no recipe {name:?}; there are {}", known())))
    });
    let recipe = recipe.transpose()?;
    let without: std::result::Result<Vec<TextPart>, String> =
        without.iter().map(|part| part.parse()).collect();
    let without = without.map_err(wrong)?;
    let learn = || -> Result<Model> {
        let treebank = entries_of(&train, None)?;
        let dev = dev.map_or(Ok(Vec::new()), |dev| entries_of(&dev, None))?;
        let choice = choose(&treebank)?;
        let mut parser = recipe.map_or(choice.config, |recipe| recipe.config());
        parser.epochs = epochs.unwrap_or(parser.epochs);
        parser.seed = seed.unwrap_or(parser.seed);
        parser.jobs = jobs.unwrap_or_else(default_jobs);
        let parts = choice.parts.into_iter().filter(|part| !without.contains(part)).collect();
        let config = PipelineConfig { parts, parser, ..PipelineConfig::default() };
        let mut log = Reporter { progress: progress.as_ref(), looked: Instant::now() };
        Model::new(Pipeline::train(&config, &treebank, &dev, &mut log)?, None)
    };
    // An exception in the callback, or Ctrl-C, unwinds to here.
    let learn = std::panic::AssertUnwindSafe(|| py.detach(learn));
    match std::panic::catch_unwind(learn) {
        Ok(model) => model.map_err(exception),
        Err(panic) => match panic.downcast::<PyErr>() {
            Ok(raised) => Err(*raised),
            Err(panic) => std::panic::resume_unwind(panic),
        },
    }
}

/// How often a long call looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// Hands reports to a Python function.
struct Reporter<'a> {
    progress: Option<&'a Py<PyAny>>,
    looked: Instant,
}

impl Reporter<'_> {
    /// Calls the function, if there is one; what it raises ends the training.
    fn tell(&mut self, fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) {
        let called = Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = self.progress else { return Ok(()) };
            let report = PyDict::new(py);
            fill(&report)?;
            progress.call1(py, (report,)).map(drop)
        });
        self.looked = Instant::now();
        if let Err(raised) = called {
            // Not a panic of this program: nothing is printed.
            std::panic::resume_unwind(Box::new(raised));
        }
    }

    fn is_due(&self) -> bool {
        self.looked.elapsed() > PATIENCE
    }
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Segmenter => "segmenter",
        Stage::Tagger => "tagger",
        Stage::Jackknife => "jackknife",
        Stage::Lemmatiser => "lemmatiser",
        Stage::Parser => "parser",
        Stage::TaggerWeight => "tagger-weight",
    }
}

impl Log for Reporter<'_> {
    fn begin(&mut self, stage: Stage) {
        self.tell(|report| report.set_item("stage", stage_name(stage)));
    }

    fn advance(&mut self, share: f64) {
        if self.is_due() {
            self.tell(|report| report.set_item("share", share));
        }
    }

    fn end(&mut self, outcome: &Outcome) {
        let percent = match outcome {
            Outcome::Tagger { percent_right }
            | Outcome::Jackknife { percent_right, .. }
            | Outcome::Lemmatiser { percent_right } => *percent_right,
            Outcome::Segmenter | Outcome::Parser | Outcome::TaggerWeight(_) => None,
        };
        self.tell(|report| {
            report.set_item("done", true)?;
            report.set_item("percent_right", percent)
        });
    }

    fn sentence(&mut self, epoch: usize, done: usize, total: usize) {
        if self.is_due() {
            self.tell(|report| {
                report.set_item("epoch", epoch)?;
                report.set_item("share", done as f64 / total.max(1) as f64)
            });
        }
    }

    fn epoch(&mut self, epoch: &EpochReport) {
        self.tell(|report| {
            report.set_item("epoch", epoch.epoch)?;
            report.set_item("errors", epoch.errors)?;
            report.set_item("of", epoch.of)?;
            report.set_item("dev", epoch.dev)?;
            report.set_item("best", epoch.best)
        });
    }
}

/// Writes a model, whole or not at all.
pub fn save(py: Python<'_>, pipeline: &Pipeline, path: &Path) -> PyResult<()> {
    let write = || -> Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut gzip = flate2::write::GzEncoder::new(&mut file, flate2::Compression::best());
            pipeline.save_packed(&mut gzip)?;
            gzip.finish()?;
        } else {
            pipeline.save(&mut file)?;
        }
        file.flush()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    py.detach(write).map_err(|error| exception(error.in_file(&path.display().to_string())))
}
