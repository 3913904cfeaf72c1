//! The epochs of a training run, up to the best model.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::examples::Example;
use super::{AnyTask, Checkpoint, Epoch, EpochReport, Log, Mistakes, score_dev};
use crate::config::TrainConfig;
use crate::decode::ScoreGaps;
use crate::error::{Code, Result};
use crate::features::Vocabulary;
use crate::model::{Model, ModelParts};
use crate::rng::Rng;
use crate::score::{AnyLearner, Mode};
use crate::tree::Entry;

/// A training run: what it goes by, and what it has come to.
pub(super) struct Run<'a> {
    pub config: &'a TrainConfig,
    pub dev: &'a [Entry],
    pub task: Box<dyn AnyTask>,
    pub learner: AnyLearner,
    pub vocabulary: Arc<Vocabulary>,
    /// Those of the treebank, then the silver ones.
    pub examples: &'a [Example],
    pub n_gold: usize,
    /// Of settings and data.
    pub fingerprint: u64,
    pub reports: Vec<EpochReport>,
    /// The best model so far, with its score.
    pub best: Option<(f64, Model)>,
}

impl Run<'_> {
    /// Takes up what a checkpoint has.
    pub(super) fn restore(&mut self, checkpoint: &Checkpoint, log: &mut dyn Log) -> Result<()> {
        checkpoint.restore(self.fingerprint, self.learner.learning_mut())?;
        self.reports.clone_from(&checkpoint.reports);
        let best = Model::from_bytes(&checkpoint.best_model)?;
        // The number of epochs may be another one by now.
        let parts = ModelParts { config: self.config.clone(), ..best.0.parts().clone() };
        self.best = Some((checkpoint.best_score, self.task.model(parts)));
        self.reports.iter().for_each(|report| log.epoch(report));
        Ok(())
    }

    /// All epochs that are still to come.
    pub(super) fn epochs(&mut self, log: &mut dyn Log) -> Result<()> {
        for number in self.reports.len() + 1..=self.config.epochs {
            let started = Instant::now();
            let mistakes = match self.learn(number, log) {
                // The best model up to here is as good as it was.
                Err(error) if error.code == Code::BadTraining && self.best.is_some() => {
                    log.stopped(&error);
                    break;
                }
                done => done?,
            };
            self.evaluate(number, mistakes, started, log)?;
            if number < self.config.epochs {
                self.checkpoint(log)?;
            }
        }
        Ok(())
    }

    /// Goes through the examples once.
    fn learn(&mut self, number: usize, log: &mut dyn Log) -> Result<Mistakes> {
        let Run { config, examples, n_gold, .. } = *self;
        // Every epoch has a generator of its own, so a checkpoint need not hold one.
        let seed = config.seed.wrapping_add((number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut rng = Rng::new(seed);
        let mut order: Vec<usize> = (0..n_gold).collect();
        order.extend(chosen(n_gold..examples.len(), config.silver_weight, &mut rng));
        rng.shuffle(&mut order);
        self.learner.learning_mut().set_mode(Mode::Train { seed });
        let epoch = Epoch { config, number, examples, order: &order, rng: &mut rng, log };
        self.task.epoch(&mut self.learner, epoch)
    }

    /// Scores what has been learnt, reports it, and keeps it if it is the best so far.
    fn evaluate(
        &mut self,
        number: usize,
        mistakes: Mistakes,
        started: Instant,
        log: &mut dyn Log,
    ) -> Result<()> {
        let learner = self.learner.learning_mut();
        learner.set_mode(Mode::Predict);
        let train_seconds = started.elapsed().as_secs_f64();
        let parts = ModelParts {
            vocabulary: self.vocabulary.clone(),
            scorer: learner.freeze()?,
            config: self.config.clone(),
            score_gaps: ScoreGaps::default(),
        };
        let (dev, dev_disc, score_gaps) = score_dev(&self.task.model(parts.clone()), self.dev)?;
        let score = dev.unwrap_or(number as f64);
        let is_best = self.best.as_ref().is_none_or(|(highest, _)| score > *highest);
        let report = EpochReport {
            epoch: number,
            errors: mistakes.n_wrong,
            of: mistakes.of,
            dev,
            dev_disc,
            features: learner.n_features(),
            best: is_best,
            train_seconds,
            dev_seconds: started.elapsed().as_secs_f64() - train_seconds,
        };
        log.epoch(&report);
        self.reports.push(report);
        if is_best {
            self.best = Some((score, self.task.model(ModelParts { score_gaps, ..parts })));
        }
        Ok(())
    }

    /// Offers a checkpoint to the log.
    fn checkpoint(&self, log: &mut dyn Log) -> Result<()> {
        let (score, model) = self.best.as_ref().expect("there was an epoch");
        let learner = self.learner.learning();
        log.checkpoint(&|| Checkpoint::new(self.fingerprint, &self.reports, *score, model, learner))
    }
}

/// Takes each item as often as the whole part of `weight` says, and once more with the fraction as probability.
fn chosen(items: Range<usize>, weight: f64, rng: &mut Rng) -> Vec<usize> {
    let mut times = || weight as usize + usize::from(weight.fract() > 0.0 && rng.unit() < weight.fract());
    items.flat_map(|item| std::iter::repeat_n(item, times())).collect()
}
