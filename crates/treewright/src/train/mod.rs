//! Training: which states to learn from, when to stop. It names no file and prints nothing; it reports to a `Log`.

mod config;
mod examples;
mod global;
mod local;

pub use config::{OracleKind, TrainConfig, Update};
pub use examples::Example;

use std::sync::Arc;

use crate::decode::{Beam, BeamSearch, Decoder, Greedy};
use crate::error::Result;
use crate::eval::{AttachmentScore, ConstituentScorer, Params, Parsed};
use crate::features::Vocabulary;
use crate::model::{Model, TypedModel};
use crate::rng::Rng;
use crate::score::{FrozenWeights, Perceptron};
use crate::system::{Registered, SystemVisitor};
use crate::tree::{ParserTree, Preparer, Tree};
use crate::treebank::Entry;

/// What an epoch came to.
#[derive(Clone, Debug, serde::Serialize)]
pub struct EpochReport {
    /// Its number, from 1.
    pub epoch: usize,
    /// Sentences (global) or steps (local) in which the model was wrong, and how many there were.
    pub errors: u64,
    /// What `errors` is counted in.
    pub of: u64,
    /// The score of the averaged model on the development set: LAS, or labelled F1; nothing without such a set.
    pub dev: Option<f64>,
    /// F1 over discontinuous constituents, or F1 over non-projective arcs.
    pub dev_disc: Option<f64>,
    /// The features stored by now.
    pub features: usize,
    /// Is this the best epoch so far?
    pub best: bool,
    /// Seconds of training and of scoring the development set.
    pub seconds: (f64, f64),
}

/// Where training reports. All methods have empty defaults.
pub trait Log {
    /// The data was read: how many trees are usable, and the trees that are not, by number from 1 and reason.
    fn prepared(&mut self, _usable: usize, _underivable: &[(usize, String)], _n_actions: usize) {}
    /// One more sentence of an epoch was learnt from.
    fn sentence(&mut self, _epoch: usize, _done: usize, _total: usize) {}
    /// An epoch is over.
    fn epoch(&mut self, _report: &EpochReport) {}
}

/// A log that keeps nothing.
impl Log for () {}

/// Trains a parser. The result depends on the data, the settings and the seed alone, never on `config.jobs`.
///
/// # Errors
/// When the settings do not fit together or no tree can be learnt from.
pub fn train(config: &TrainConfig, train: &[Entry], dev: &[Entry], log: &mut dyn Log) -> Result<Model> {
    struct Run<'a>(&'a TrainConfig, &'a [Entry], &'a [Entry], &'a mut dyn Log);
    impl SystemVisitor for Run<'_> {
        type Output = Result<Model>;
        fn visit<S: Registered>(self) -> Result<Model> {
            train_system::<S>(self.0, self.1, self.2, self.3)
        }
    }
    config.check()?;
    config.system.visit(Run(config, train, dev, log))
}

fn train_system<S: Registered>(
    config: &TrainConfig,
    train: &[Entry],
    dev: &[Entry],
    log: &mut dyn Log,
) -> Result<Model> {
    let preparer = Preparer::new(&config.preparation(), S::UNARIES)?;
    let examples::Prepared { system, examples, underivable } =
        examples::prepare::<S>(config, train, &preparer)?;
    log.prepared(examples.len(), &underivable, system.n_actions());
    let vocabulary = Vocabulary::of(examples.iter().map(|example| &example.sentence));
    let mut learner = Perceptron::new(vocabulary, config.templates()?, system.n_actions());
    let system = Arc::new(system);
    let mut rng = Rng::new(config.seed);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut best: Option<(f64, TypedModel<S>)> = None;
    for epoch in 1..=config.epochs {
        let started = std::time::Instant::now();
        rng.shuffle(&mut order);
        let (errors, of) = if config.update == Update::Local {
            local::epoch(config, epoch, &*system, &examples, &order, &mut learner, &mut rng, log)?
        } else {
            global::epoch(config, epoch, &*system, &examples, &order, &mut learner, log)
        };
        let trained = started.elapsed().as_secs_f64();
        let model = TypedModel::<S> {
            system: system.clone(),
            vocabulary: Arc::new(learner.vocabulary().clone()),
            templates: Arc::new(learner.templates().clone()),
            weights: FrozenWeights::of(&learner),
            config: config.clone(),
        };
        let (dev, dev_disc) = score_dev(&model, dev);
        let score = dev.unwrap_or(epoch as f64);
        let is_best = best.as_ref().is_none_or(|(highest, _)| score > *highest);
        log.epoch(&EpochReport {
            epoch,
            errors,
            of,
            dev,
            dev_disc,
            features: learner.n_features(),
            best: is_best,
            seconds: (trained, started.elapsed().as_secs_f64() - trained),
        });
        if is_best {
            best = Some((score, model));
        }
    }
    Ok(Model::new(best.expect("there is at least one epoch").1))
}

/// The score of a model on a development set, sentences shared among `jobs` threads. Counts are added up in the order
/// of sentences, so the number of threads does not show.
fn score_dev<S: Registered>(model: &TypedModel<S>, dev: &[Entry]) -> (Option<f64>, Option<f64>) {
    let jobs = model.config.jobs.clamp(1, dev.len().max(1));
    let mut predicted: Vec<Option<Tree>> = Vec::with_capacity(dev.len());
    let chunk = dev.len().div_ceil(jobs).max(1);
    let parts: Vec<Vec<Option<Tree>>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            dev.chunks(chunk).map(|entries| scope.spawn(move || parse_all(model, entries))).collect();
        threads.into_iter().map(|thread| thread.join().expect("parsing does not panic")).collect()
    });
    predicted.extend(parts.into_iter().flatten());
    let mut attachment = AttachmentScore::default();
    let discontinuous = dev
        .iter()
        .any(|entry| matches!(&entry.tree, Some(Tree::Constituent(tree)) if tree.is_discontinuous()));
    let params = Params::named(if discontinuous { "proper" } else { "collins" }).expect("a named set");
    let mut brackets = ConstituentScorer::new(&params, discontinuous);
    let mut disc = ConstituentScorer::new(&Params { disc_only: true, ..params.clone() }, true);
    for (entry, predicted) in dev.iter().zip(&predicted) {
        match (&entry.tree, predicted) {
            (Some(Tree::Dependency(gold)), Some(Tree::Dependency(predicted))) => {
                attachment.add(&AttachmentScore::of(&entry.sentence, gold, predicted));
            }
            (Some(Tree::Constituent(gold)), Some(Tree::Constituent(predicted))) => {
                let (gold, predicted) =
                    (Parsed::new(&entry.sentence, gold), Parsed::new(&entry.sentence, predicted));
                brackets.add(gold, predicted);
                if discontinuous {
                    disc.add(gold, predicted);
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

fn parse_all<S: Registered>(model: &TypedModel<S>, entries: &[Entry]) -> Vec<Option<Tree>> {
    let mut scorer = model.scorer();
    let mut search = BeamSearch::<S>::default();
    let mut greedy = Greedy::new();
    let parse = |entry: &Entry| {
        let best = if model.config.beam > 1 {
            Beam { width: model.config.beam }
                .k_best_in(&mut search, &*model.system, &mut scorer, &entry.sentence, 1)
                .pop()
        } else {
            greedy.decode(&*model.system, &mut scorer, &entry.sentence)
        };
        best.map(|parse| parse.tree.restore())
    };
    entries.iter().map(parse).collect()
}
