//! Training: which states to learn from, when to stop. It names no file and prints nothing; it reports to a `Log`.

mod assume;
mod batch;
mod checkpoint;
mod choose;
mod examples;
mod global;
mod local;
mod loss;
mod pipeline;
mod recipes;
mod rerank;
mod run;
mod survey;

pub use assume::Assumption;
pub use checkpoint::Checkpoint;
pub use choose::{Choice, Facts, TextPart, choose, choose_head_rules};
pub use examples::Example;
pub use pipeline::PipelineConfig;
pub use recipes::Recipe;
pub use rerank::TaggerWeights;

pub use crate::config::{TrainConfig, Update};

use std::sync::Arc;

use run::Run;

use crate::decode::{Decoder, Method, ScoreGaps};
use crate::error::{Code, Error, Result};
use crate::eval::{AttachmentScore, ConstituentScorer, Functions, Params, Parsed, may_be_discontinuous};
use crate::features::Vocabulary;
use crate::forest::{Forest, View};
use crate::model::{Model, ModelParts, Search, TypedModel};
use crate::parallel;
use crate::registry::{Registered, SystemVisitor};
use crate::rng::Rng;
use crate::score::{AnyLearner, Scorer, ScorerKind, Shared};
use crate::sentence::Sentence;
use crate::tree::Entry;
use crate::tree::TreeKind;
use crate::tree::{Preparer, Tree, category};

/// What an epoch came to.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EpochReport {
    /// Its number, from 1.
    pub epoch: usize,
    /// Sentences (global) or steps (local) in which the model was wrong.
    pub errors: u64,
    /// How many sentences or steps there were.
    pub of: u64,
    /// The score of the averaged model on the development set: LAS, or labelled F1; nothing without such a set.
    pub dev: Option<f64>,
    /// F1 over discontinuous constituents, or over non-projective arcs.
    pub dev_disc: Option<f64>,
    /// The features stored by now.
    pub features: usize,
    /// Is this the best epoch so far?
    pub best: bool,
    /// Seconds of training.
    pub train_seconds: f64,
    /// Seconds of scoring the development set.
    pub dev_seconds: f64,
}

/// What is done one after the other when a pipeline is trained, as far as it has the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The segmenter.
    Segmenter,
    /// The tagger.
    Tagger,
    /// The parser's training data is tagged by taggers that did not learn from it.
    Jackknife,
    /// The lemmatiser.
    Lemmatiser,
    /// The parser.
    Parser,
    /// The weight of the tagger's score is tuned.
    TaggerWeight,
}

/// What a stage came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// There is a segmenter.
    Segmenter,
    /// There is a tagger.
    Tagger {
        /// Of the tags of the development set, if it has any.
        percent_right: Option<f64>,
    },
    /// The training data is tagged.
    Jackknife {
        /// In this many parts.
        folds: usize,
        /// Of its tags.
        percent_right: Option<f64>,
    },
    /// There is a lemmatiser.
    Lemmatiser {
        /// Of the lemmas of the development set, if it has any.
        percent_right: Option<f64>,
    },
    /// There is a parser: the best of the epochs that were reported.
    Parser,
    /// The weight that is kept, and those that were tried.
    TaggerWeight(TaggerWeights),
}

/// Where training reports. All methods have empty defaults.
pub trait Log {
    /// A stage of the training of a pipeline begins.
    fn begin(&mut self, _stage: Stage) {}
    /// This share of the stage is done, from 0 to 1. The parser's stage reports sentences and epochs instead.
    fn advance(&mut self, _share: f64) {}
    /// Something was settled from the data.
    fn assumed(&mut self, _assumption: &Assumption) {}
    /// A stage is over.
    fn end(&mut self, _outcome: &Outcome) {}
    /// The data was read: how many trees are usable, and the trees that are not, by number from 1 and reason.
    fn prepared(&mut self, _usable: usize, _underivable: &[(usize, String)], _n_actions: usize) {}
    /// This many of all sentences, those of the development set included, were read by an encoder, before the first epoch.
    fn encoded(&mut self, _done: usize, _total: usize) {}
    /// One more sentence of an epoch was learnt from.
    fn sentence(&mut self, _epoch: usize, _done: usize, _total: usize) {}
    /// An epoch is over.
    fn epoch(&mut self, _report: &EpochReport) {}
    /// Training cannot go on, for this reason; the best model of the epochs before is the result.
    fn stopped(&mut self, _why: &Error) {}
    /// Training can go on from here: `make` gives the checkpoint, to a log that wants it. Called after every epoch but the
    /// last.
    ///
    /// # Errors
    /// What the log reports ends the training.
    fn checkpoint(&mut self, _make: &dyn Fn() -> Result<Checkpoint>) -> Result<()> {
        Ok(())
    }
}

/// A log that keeps nothing.
impl Log for () {}

/// What a parser learns from.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrainingData<'a> {
    /// The training trees.
    pub train: &'a [Entry],
    /// The sentences of `train` with tags like those that the parser will see, from a tagger that did not learn from
    /// them; empty if it will see tags like the treebank's.
    pub retagged: &'a [Sentence],
    /// Beside each sentence of `retagged`, learn from the same sentence with the treebank's own tags: twice the time,
    /// for a parser that is better with either.
    pub treebank_tags_too: bool,
    /// Trees of a parser, to learn from beside those of `train`, each `silver_weight` times an epoch on average; their tags are
    /// like those that the parser will see.
    pub silver: &'a [Entry],
    /// The development trees, by which the best epoch is chosen; may be empty.
    pub dev: &'a [Entry],
}

/// Trains a parser; with a checkpoint, goes on from there to the model that an uninterrupted run gives. The result
/// depends on the data, the settings and the seed alone, never on `config.jobs`.
///
/// # Errors
/// When the settings do not fit together, no tree can be learnt from, the development set has no trees or trees of
/// the other kind, or the checkpoint is of another run.
pub fn train(
    config: &TrainConfig,
    train: &[Entry],
    dev: &[Entry],
    resume: Option<&Checkpoint>,
    log: &mut dyn Log,
) -> Result<Model> {
    train_on(config, &TrainingData { train, dev, ..TrainingData::default() }, resume, log)
}

/// The same as [`train`], with data that may have two kinds of tags.
///
/// # Errors
/// As [`train`].
///
/// # Panics
/// When `retagged` is not empty and not as long as `train`.
pub fn train_on(
    config: &TrainConfig,
    data: &TrainingData<'_>,
    resume: Option<&Checkpoint>,
    log: &mut dyn Log,
) -> Result<Model> {
    config.check()?;
    let config = &config.with_oracle()?;
    check_treebank(config.system.info().kind, data.train)?;
    check_dev(config.system.info().kind, data.dev)?;
    check_silver(config.system.info().kind, data.silver)?;
    let assume::Settled { config, train, dev } = assume::settle(config, data.train, data.dev, log);
    let (config, data) = (&config, &TrainingData { train: &train, dev: &dev, ..*data });
    let Start { task, examples, silver, underivable, kind_ends } =
        config.system.visit(Prepare { config, data })?;
    log.prepared(examples.len() + silver.len(), &underivable, kind_ends.last().copied().unwrap_or_default());
    let vocabulary = Arc::new(vocabulary(config, examples.iter().chain(&silver))?);
    let mut examples = examples::retag(examples, data);
    let n_gold = examples.len();
    examples.extend(silver);
    let shared = Shared { vocabulary: vocabulary.clone(), kind_ends };
    let sentences: Vec<&Sentence> = examples.iter().map(|example| &example.sentence).collect();
    let mut learner = <dyn ScorerKind>::named(&config.scorer)?.learner(config, shared, &sentences)?;
    check_search(&*task, config, &mut learner)?;
    if !config.templates.is_empty() && config.scorer == TrainConfig::default().scorer {
        let idle = survey::survey(&*task, &config.templates()?, &vocabulary, &examples)?;
        if !idle.is_empty() {
            log.assumed(&Assumption::IdleTemplates(idle));
        }
    }
    let fingerprint = examples::fingerprint(config, &examples, data.dev);
    let (examples, reports) = (&examples[..], Vec::new());
    let mut run = Run {
        config,
        dev: data.dev,
        task,
        learner,
        vocabulary,
        examples,
        n_gold,
        fingerprint,
        reports,
        best: None,
    };
    if let Some(checkpoint) = resume {
        run.restore(checkpoint, log)?;
    }
    let dev_sentences = data.dev.iter().map(|entry| &entry.sentence);
    let all: Vec<&Sentence> = sentences.iter().copied().chain(dev_sentences).collect();
    let advance = &mut |done, total| log.encoded(done, total);
    run.learner.learning_mut().prepare(&all, config.jobs, advance)?;
    run.epochs(log)?;
    Ok(run.best.expect("there is at least one epoch").1)
}

/// The words and tags of these examples.
fn vocabulary<'a>(
    config: &TrainConfig,
    examples: impl Iterator<Item = &'a Example> + Clone,
) -> Result<Vocabulary> {
    // A word that occurs once stands for unknown words, so each sentence is counted once, whatever is learnt from it.
    let vocabulary = Vocabulary::of(examples.map(|example| &example.sentence));
    Ok(match config.templates()?.uses_classes() {
        true => vocabulary.with_vectors((*config.classes).clone()),
        false => vocabulary,
    })
}

/// Can the learner be trained, and what it learns be searched, like this?
fn check_search(task: &dyn AnyTask, config: &TrainConfig, learner: &mut AnyLearner) -> Result<()> {
    let method = Method::of(config);
    match learner {
        AnyLearner::Online(learner) => task.check(method, &mut **learner),
        AnyLearner::Batch(_) if config.is_global() => {
            let message =
                format!("the {} scorer learns step by step: train with update = \"local\"", config.scorer);
            Err(Error::new(Code::BadTraining, message))
        }
        AnyLearner::Batch(learner) => task.check(method, &mut *learner.freeze()?.scorer()),
    }
}

/// One pass over the data.
struct Epoch<'a> {
    config: &'a TrainConfig,
    /// From 1.
    number: usize,
    examples: &'a [Example],
    order: &'a [usize],
    rng: &'a mut Rng,
    log: &'a mut dyn Log,
}

/// Sentences (global training) or steps (local training) in which the model was wrong, of all.
#[derive(Clone, Copy, Debug, Default)]
struct Mistakes {
    n_wrong: u64,
    of: u64,
}

/// The part of training that depends on the type of states, so that the rest is compiled once.
trait AnyTask {
    /// Learns from the examples once.
    fn epoch(&mut self, learner: &mut AnyLearner, epoch: Epoch<'_>) -> Result<Mistakes>;
    /// Can the search be done with these scores?
    ///
    /// # Errors
    /// Why not.
    fn check(&self, method: Method, scorer: &mut dyn Scorer) -> Result<()>;
    /// Calls `see` with every configuration of a derivation, the last one excepted.
    fn each_view(&self, example: &Example, see: &mut dyn FnMut(&Forest, &View));
    /// A model with what was learnt.
    fn model(&self, parts: ModelParts) -> Model;
}

struct Task<S: Registered> {
    system: Arc<S>,
    gold: Vec<S::Tree>,
    decoder: Box<dyn Decoder<S>>,
}

impl<S: Registered> AnyTask for Task<S> {
    fn epoch(&mut self, learner: &mut AnyLearner, epoch: Epoch<'_>) -> Result<Mistakes> {
        match learner {
            AnyLearner::Online(learner) if epoch.config.is_global() => {
                Ok(self.learn_globally(&mut **learner, epoch))
            }
            AnyLearner::Online(learner) => self.learn_locally(&mut **learner, epoch),
            AnyLearner::Batch(learner) => self.learn_in_batches(&mut **learner, epoch),
        }
    }

    fn check(&self, method: Method, scorer: &mut dyn Scorer) -> Result<()> {
        method.check(&*self.system, scorer).map_err(|why| Error::new(Code::BadTraining, why))
    }

    fn each_view(&self, example: &Example, see: &mut dyn FnMut(&Forest, &View)) {
        let mut forest = Forest::new();
        let mut state = self.system.start(&mut forest, &example.sentence);
        for &action in &example.actions {
            see(&forest, &self.system.view(&state));
            state = self.system.apply(&mut forest, &state, action);
        }
    }

    fn model(&self, parts: ModelParts) -> Model {
        Model::new(TypedModel { system: self.system.clone(), parts })
    }
}

/// What training starts with.
struct Start {
    task: Box<dyn AnyTask>,
    examples: Vec<Example>,
    silver: Vec<Example>,
    underivable: Vec<(usize, String)>,
    kind_ends: Vec<usize>,
}

struct Prepare<'a> {
    config: &'a TrainConfig,
    data: &'a TrainingData<'a>,
}

impl SystemVisitor for Prepare<'_> {
    type Output = Result<Start>;

    fn visit<S: Registered>(self) -> Result<Start> {
        let Prepare { config, data } = self;
        let preparer = Preparer::new(&config.preparation(), S::UNARIES)?;
        let examples::Prepared { system, examples, mut gold, mut underivable } =
            examples::prepare::<S>(config, data.train, &preparer)?;
        let (silver, left_out) = examples::silver(config, &system, data, &preparer, &mut gold)?;
        underivable.extend(left_out);
        let kind_ends = system.actions().kind_ends().to_vec();
        let decoder = Method::while_learning(config).decoder::<S>(&ScoreGaps::default());
        Ok(Start {
            task: Box::new(Task { system: Arc::new(system), gold, decoder }),
            examples,
            silver,
            underivable,
            kind_ends,
        })
    }
}

/// Can a parser for trees of this kind learn from a treebank?
///
/// # Errors
/// When all its trees are of the other kind.
pub fn check_treebank(kind: TreeKind, train: &[Entry]) -> Result<()> {
    let mut kinds = train.iter().filter_map(|entry| entry.tree.as_ref()).map(Tree::kind);
    match kinds.next() {
        Some(other) if other != kind && kinds.all(|found| found == other) => {
            let message = format!(
                "the training data has {other}, but the parser builds {kind}: name a system or recipe for {other}"
            );
            Err(Error::new(Code::BadTraining, message))
        }
        _ => Ok(()),
    }
}

/// Can a parser for trees of this kind be scored on a development set? Otherwise no epoch would be better than any other,
/// and nobody would know.
///
/// # Errors
/// When the set has no trees, or trees of the other kind. An empty set is in order.
pub fn check_dev(kind: TreeKind, dev: &[Entry]) -> Result<()> {
    let refuse = |message: String| Err(Error::new(Code::BadTraining, message));
    let mut kinds = dev.iter().filter_map(|entry| entry.tree.as_ref()).map(Tree::kind);
    if let Some(other) = kinds.clone().find(|&found| found != kind) {
        return refuse(format!(
            "the development set has {other}, but the parser builds {kind}; it needs a set of the same kind"
        ));
    }
    if !dev.is_empty() && kinds.next().is_none() {
        return refuse("no sentence of the development set has a tree to compare with".to_owned());
    }
    Ok(())
}

/// Can a parser for trees of this kind learn from silver trees?
///
/// # Errors
/// When there are some, and none is of that kind.
pub(super) fn check_silver(kind: TreeKind, silver: &[Entry]) -> Result<()> {
    let is_of_kind = |entry: &Entry| entry.tree.as_ref().is_some_and(|tree| tree.kind() == kind);
    if silver.is_empty() || silver.iter().any(is_of_kind) {
        return Ok(());
    }
    Err(Error::new(Code::BadTraining, format!("the silver trees are not {kind}, which the parser builds")))
}

/// The score of a model on a development set, sentences shared among `jobs` threads, and the score gaps of the winners in
/// the beam. Counts are added up in the order of sentences, so the number of threads does not show.
fn score_dev(model: &Model, dev: &[Entry]) -> Result<(Option<f64>, Option<f64>, ScoreGaps)> {
    let config = model.0.config();
    let method = Method::while_learning(config);
    let (mut trees, mut gaps) = (Vec::new(), Vec::new());
    if method == Method::Greedy {
        let worker = || {
            let mut worker = model.0.worker();
            move |entries: &[Entry]| {
                let sentences: Vec<&Sentence> = entries.iter().map(|entry| &entry.sentence).collect();
                worker.parse_all(&sentences, Search { method, k_best: 1 })
            }
        };
        parallel::map(config.jobs, dev.chunks(64), worker, |parsed| {
            trees.extend(parsed);
            Ok(())
        })?;
        let (all, disc) = score_trees(dev, &trees);
        return Ok((all, disc, ScoreGaps::default()));
    }
    let worker = || {
        let mut worker = model.0.worker();
        let search = Search { method, k_best: 1 };
        move |entry: &Entry| worker.parse(&entry.sentence, search).pop()
    };
    for parse in parsed(dev, config.jobs, worker)? {
        gaps.push(parse.as_ref().map_or(0.0, |parse| parse.score_gap));
        trees.push(parse.map(|parse| parse.tree));
    }
    let (all, disc) = score_trees(dev, &trees);
    let has_rivals = matches!(method, Method::Beam { .. });
    Ok((all, disc, if has_rivals { ScoreGaps::of(gaps) } else { ScoreGaps::default() }))
}

/// What the workers of `jobs` threads make of entries, in the order of these.
fn parsed<T: Send, W: FnMut(&Entry) -> T + Send>(
    entries: &[Entry],
    jobs: usize,
    worker: impl Fn() -> W,
) -> Result<Vec<T>> {
    /// Entries that go to a thread together, so that handing them over costs next to nothing.
    const TOGETHER: usize = 16;
    let mut parsed = Vec::with_capacity(entries.len());
    let worker = || {
        let mut worker = worker();
        move |entries: &[Entry]| entries.iter().map(&mut worker).collect::<Vec<T>>()
    };
    parallel::map(jobs, entries.chunks(TOGETHER), worker, |results| {
        parsed.extend(results);
        Ok(())
    })?;
    Ok(parsed)
}

/// The score of trees for the sentences of a development set (LAS, or labelled F1), and that of what is non-projective or
/// discontinuous in it. Labels are compared whole if the parser predicts function tags.
pub(crate) fn score_trees(dev: &[Entry], predicted: &[Option<Tree>]) -> (Option<f64>, Option<f64>) {
    let mut attachment = AttachmentScore::default();
    let discontinuous = may_be_discontinuous(None, dev);
    // A parser that predicts functions is to get them right; one that learnt none is not to blame for those of this set.
    let has_functions = |tree: &Option<Tree>| match tree {
        Some(Tree::Constituent(tree)) => tree.nodes().any(|(_, node)| category(&node.label) != node.label),
        _ => false,
    };
    let functions = if predicted.iter().any(has_functions) { Functions::Keep } else { Functions::Strip };
    let params = Params { functions, ..Params::fitting(discontinuous) };
    let mut brackets = ConstituentScorer::new(&params, discontinuous);
    let mut disc = ConstituentScorer::new(&Params { disc_only: true, ..params }, true);
    for (entry, predicted) in dev.iter().zip(predicted) {
        match (&entry.tree, predicted) {
            (Some(Tree::Dependency(gold)), Some(Tree::Dependency(predicted))) => {
                attachment.add(&AttachmentScore::of(&entry.sentence, gold, predicted));
            }
            (Some(Tree::Constituent(gold)), Some(Tree::Constituent(predicted))) => {
                let sides = (Parsed::new(&entry.sentence, gold), Parsed::new(&entry.sentence, predicted));
                brackets.add(sides.0, sides.1);
                if discontinuous {
                    disc.add(sides.0, sides.1);
                }
            }
            _ => {}
        }
    }
    if attachment.sentences > 0 {
        return (attachment.all.las(), attachment.nonprojective.f1());
    }
    (brackets.all().f1(), disc.all().f1())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::treebank::{Format, ReadOptions, reader};

    #[test]
    fn labels_of_a_development_set_are_compared_whole_if_the_parser_predicts_functions() {
        let entries = |text: &str| -> Vec<Entry> {
            let entries = reader(Format::Ptb, text.as_bytes(), &ReadOptions::default());
            entries.collect::<Result<_>>().expect("readable")
        };
        let dev = entries("(TOP (IP-MAT (NP-SBJ (N a)) (V b)))\n");
        let score = |text: &str| {
            let trees: Vec<_> = entries(text).into_iter().map(|entry| entry.tree).collect();
            score_trees(&dev, &trees).0
        };
        assert_eq!(score("(TOP (IP-MAT (NP-SBJ (N a)) (V b)))"), Some(100.0));
        assert_eq!(score("(TOP (IP-SUB (NP-SBJ (N a)) (V b)))"), Some(50.0));
        // One that predicts none is scored as by `eval`.
        assert_eq!(score("(TOP (IP (NP (N a)) (V b)))"), Some(100.0));
    }
}
