//! The network learns from minibatches in shards.

use std::sync::Arc;

use super::chain::Noise;
use super::model::StackLstmModel;
use super::network::{Network, PackedNetwork, Weights};
use super::tape::{Query, Side, Tape};
use crate::config::{LossKind, OptimiserKind};
use crate::error::Result;
use crate::rng::Rng;
use crate::score::neural::optimiser::{Optimiser, StepSettings, gather};
use crate::score::{
    BatchLearner, LearnerPart, Learning, Mode, Rows, Scorer, ScorerModel, SlotId, Slots, Views,
};
use crate::sentence::Sentence;

/// A network that learns.
pub(super) struct StackLstmLearner {
    network: Arc<Network>,
    optimiser: Optimiser,
    packed: PackedNetwork,
    is_packed: bool,
    gradients: Vec<f32>,
    shards: Vec<Shard>,
    /// What is left out follows from it and from the number of the step.
    seed: u64,
    n_epochs: usize,
}

/// The memory of a part of a minibatch.
#[derive(Debug)]
struct Shard {
    tape: Tape,
    slots: Slots<Side>,
    gradients: Vec<f32>,
    n_sentences: usize,
    n_words: usize,
}

impl StackLstmLearner {
    pub(super) fn new(network: Network, seed: u64, n_epochs: usize) -> Self {
        let weights = network.start(&mut Rng::new(seed ^ 0x0073_7461_636B));
        let shard = || Shard {
            tape: Tape::new(true),
            slots: Slots::default(),
            gradients: Vec::new(),
            n_sentences: 0,
            n_words: 0,
        };
        StackLstmLearner {
            packed: PackedNetwork::default(),
            is_packed: false,
            gradients: vec![0.0; weights.len()],
            shards: std::iter::repeat_with(shard).take(network.config.shards).collect(),
            seed,
            n_epochs,
            optimiser: Optimiser::new(weights, network.config.optimiser),
            network: Arc::new(network),
        }
    }
}

impl Learning for StackLstmLearner {
    fn set_mode(&mut self, mode: Mode) {
        if let Mode::Train { seed } = mode {
            self.seed = seed;
        }
    }

    fn n_features(&self) -> usize {
        self.optimiser.weights.len()
    }

    fn freeze(&self) -> Result<Arc<dyn ScorerModel>> {
        Ok(Arc::new(StackLstmModel::new(self.network.clone(), &self.optimiser.averages)))
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.optimiser.save(out);
    }

    fn load(&mut self, bytes: &[u8]) -> Option<()> {
        self.is_packed = false;
        self.optimiser.load(bytes)
    }
}

impl BatchLearner for StackLstmLearner {
    fn batch_words(&self) -> usize {
        self.network.config.batch_words
    }

    fn loss(&self) -> LossKind {
        self.network.config.loss
    }

    fn parts(&mut self) -> Vec<Box<dyn LearnerPart + '_>> {
        let StackLstmLearner { network, optimiser, packed, is_packed, shards, seed, .. } = self;
        let Optimiser { weights, n_steps, .. } = optimiser;
        if !*is_packed {
            network.pack(weights, true, packed);
            *is_packed = true;
        }
        let weights = Weights { network, packed, all: weights };
        let mut seeds = Rng::new(*seed ^ n_steps.wrapping_mul(0xD1B5_4A32_D192_ED03));
        let part = |shard| -> Box<dyn LearnerPart + '_> {
            Box::new(Part { weights, shard, rng: Rng::new(seeds.next_u64()) })
        };
        shards.iter_mut().map(part).collect()
    }

    fn step(&mut self, progress: f64) -> Result<()> {
        let used = || self.shards.iter().filter(|shard| shard.n_sentences > 0);
        gather(&mut self.gradients, self.network.n_embedded, used().map(|shard| &*shard.gradients));
        for shard in used() {
            shard.tape.add_embedded(&self.network, &mut self.gradients);
        }
        let (mut n_words, mut n_sentences) = (0, 0);
        for shard in &mut self.shards {
            n_words += std::mem::take(&mut shard.n_words);
            n_sentences += std::mem::take(&mut shard.n_sentences);
        }
        if n_sentences == 0 {
            return Ok(());
        }
        let config = &self.network.config;
        let settings = StepSettings {
            kind: config.optimiser,
            learning_rate: config.learning_rate,
            decay: config.decay,
            n_epochs: self.n_epochs,
            beta_1: config.beta_1,
            beta_2: config.beta_2,
            clip: config.clip,
            average: config.average,
            section: "stack-lstm",
        };
        // The papers descend by the sum of the losses of a sentence's states, one sentence at a time.
        let n = match config.optimiser {
            OptimiserKind::Adam => n_words.max(1),
            OptimiserKind::Sgd => n_sentences,
        };
        self.optimiser.step(&self.gradients, n as f64, progress, &settings)?;
        self.is_packed = false;
        Ok(())
    }
}

/// One part of a minibatch, for one thread.
struct Part<'a> {
    weights: Weights<'a>,
    shard: &'a mut Shard,
    rng: Rng,
}

impl Scorer for Part<'_> {
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        let Part { weights, shard: Shard { tape, slots: own, n_sentences, n_words, .. }, rng } = self;
        let mut noise = Noise { p: weights.network.config.dropout, rng };
        tape.start(*weights, Some(&mut noise));
        let first = slots.len();
        slots.extend(sentences.iter().map(|_| own.open(Side::default).0));
        let numbers: Vec<usize> = slots[first..].iter().map(|slot| slot.0 as usize).collect();
        tape.open(*weights, sentences, &mut own.items, &numbers, Some(&mut noise));
        *n_sentences = sentences.len();
        *n_words = sentences.iter().map(|sentence| sentence.len()).sum();
    }

    fn close(&mut self, slot: SlotId) {
        self.shard.slots.close(slot);
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        let Part { weights, shard: Shard { tape, slots, .. }, rng } = self;
        let mut noise = Noise { p: weights.network.config.dropout, rng };
        score(tape, *weights, queries, &mut slots.items, Some(&mut noise), rows);
    }
}

/// Scores the views of open sentences.
pub(super) fn score(
    tape: &mut Tape,
    weights: Weights<'_>,
    queries: &[Views<'_>],
    sides: &mut [Side],
    noise: Option<&mut Noise<'_>>,
    rows: &mut Rows,
) {
    let query = |of: &Views<'_>| of.views.len();
    rows.reset(queries.iter().map(query).sum(), weights.network.n_actions);
    let queries: Vec<Query<'_>> = queries
        .iter()
        .map(|&Views { slot, forest, views }| Query { side: slot.0 as usize, forest, views })
        .collect();
    let (values, stride) = rows.values_mut();
    tape.score(weights, &queries, sides, noise, values, stride);
}

impl LearnerPart for Part<'_> {
    fn backward(&mut self, gradients: &Rows) {
        (0..gradients.n_rows()).for_each(|row| self.shard.tape.push_gradients(gradients.row(row)));
    }

    fn finish(&mut self) {
        let Part { weights, shard: Shard { tape, gradients, .. }, .. } = self;
        gradients.resize(weights.all.len(), 0.0);
        tape.back(*weights, gradients);
    }
}
