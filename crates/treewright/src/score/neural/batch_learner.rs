//! Networks learn from minibatches. A minibatch is cut into shards, whose gradients are added up in order.

use std::marker::PhantomData;
use std::sync::Arc;

use super::any_network::{NetworkModel, ParsingNetwork, Weights};
use super::file::Extra;
use super::optimiser::{Optimiser, StepSettings, gather};
use crate::config::{LossKind, OptimiserKind, TrainConfig};
use crate::error::Result;
use crate::rng::Rng;
use crate::score::{
    AnyLearner, BatchLearner, LearnerPart, Learning, Mode, Rows, Scorer, ScorerKind, ScorerModel, Shared,
    SlotId, StoredScorer, Views,
};
use crate::sentence::Sentence;

/// The kind of scorer that a network is.
pub(in crate::score) struct NetworkKind<N>(pub PhantomData<fn() -> N>);

impl<N: LearningNetwork> ScorerKind for NetworkKind<N> {
    fn name(&self) -> &'static str {
        N::KIND
    }

    fn about(&self) -> &'static str {
        N::ABOUT
    }

    fn is_network(&self) -> bool {
        true
    }

    fn learner(&self, config: &TrainConfig, shared: Shared, sentences: &[&Sentence]) -> Result<AnyLearner> {
        Ok(AnyLearner::Batch(Box::new(N::begin(config, shared, sentences)?)))
    }

    fn load(&self, stored: StoredScorer, shared: Shared) -> Result<Arc<dyn ScorerModel>> {
        Ok(Arc::new(N::load(stored, shared)?))
    }
}

/// A network that can learn.
pub(in crate::score) trait LearningNetwork: ParsingNetwork {
    /// What is kept of the sentences of a shard for the way back.
    type Memory: Default + Send;

    /// As [`ScorerKind::about`].
    const ABOUT: &'static str;

    /// Makes the first numbers differ from those of other kinds with the same seed.
    const SALT: u64;

    /// A learner that knows nothing yet, for these training sentences.
    fn begin(config: &TrainConfig, shared: Shared, sentences: &[&Sentence]) -> Result<NetworkLearner<Self>>;

    /// The number of embeddings' numbers, which come first: of these a minibatch touches few.
    fn n_embedded(&self) -> usize;

    /// The network as it parses, if it is not as it learns, how many of the numbers it has, and further arrays for its file.
    fn finished(&self, _all: &[f32]) -> Option<(Self, usize, Vec<Extra>)> {
        None
    }

    /// As [`Learning::prepare`].
    fn prepare(&self, _sentences: &[&Sentence], _jobs: usize, _advance: Advance<'_>) -> Result<()> {
        Ok(())
    }

    /// As [`Scorer::open`], for all sentences of a shard.
    fn open(part: &mut Part<'_, Self>, sentences: &[&Sentence], slots: &mut Vec<SlotId>);

    /// As [`Scorer::close`].
    fn close(memory: &mut Self::Memory, slot: SlotId);

    /// As [`Scorer::score`].
    fn score(part: &mut Part<'_, Self>, queries: &[Views<'_>], rows: &mut Rows);

    /// Takes the gradients of the scores of the next state.
    fn push_gradients(memory: &mut Self::Memory, row: &[f32]);

    /// Turns the gradients of scores into those of all numbers but the embeddings.
    fn back(weights: Weights<'_, Self>, memory: &mut Self::Memory, gradients: &mut [f32]);

    /// Adds the gradients of embeddings, as the way back left them, to their rows.
    fn add_embedded(&self, memory: &Self::Memory, gradients: &mut [f32]);
}

/// Is told how many sentences are done, and of how many.
pub(in crate::score) type Advance<'a> = &'a mut dyn FnMut(usize, usize);

/// How a network learns.
#[derive(Clone, Copy, Debug)]
pub(in crate::score) struct BatchSettings {
    pub batch_words: usize,
    pub shards: usize,
    pub loss: LossKind,
    pub step: StepSettings,
}

/// A network that learns.
pub(in crate::score) struct NetworkLearner<N: LearningNetwork> {
    network: Arc<N>,
    /// Further arrays for the model file.
    extra: Vec<Extra>,
    optimiser: Optimiser,
    packed: N::Packed,
    is_packed: bool,
    gradients: Vec<f32>,
    shards: Vec<Shard<N::Memory>>,
    /// What is left out follows from it and from the number of the step.
    seed: u64,
    settings: BatchSettings,
}

/// What is kept of a part of a minibatch.
#[derive(Default)]
struct Shard<M> {
    memory: M,
    gradients: Vec<f32>,
    n_sentences: usize,
    n_words: usize,
}

impl<N: LearningNetwork> NetworkLearner<N> {
    pub(in crate::score) fn new(network: N, extra: Vec<Extra>, settings: BatchSettings, seed: u64) -> Self {
        let weights = network.start(&mut Rng::new(seed ^ N::SALT));
        NetworkLearner {
            packed: N::Packed::default(),
            is_packed: false,
            gradients: vec![0.0; weights.len()],
            shards: std::iter::repeat_with(Shard::default).take(settings.shards).collect(),
            seed,
            settings,
            extra,
            optimiser: Optimiser::new(weights, settings.step.kind),
            network: Arc::new(network),
        }
    }
}

impl<N: LearningNetwork> Learning for NetworkLearner<N> {
    fn set_mode(&mut self, mode: Mode) {
        if let Mode::Train { seed } = mode {
            self.seed = seed;
        }
    }

    fn prepare(&mut self, sentences: &[&Sentence], jobs: usize, advance: Advance<'_>) -> Result<()> {
        self.network.prepare(sentences, jobs, advance)
    }

    fn n_features(&self) -> usize {
        self.optimiser.weights.len()
    }

    fn freeze(&self) -> Result<Arc<dyn ScorerModel>> {
        let all = &self.optimiser.averages;
        Ok(Arc::new(match self.network.finished(all) {
            Some((network, n, extra)) => NetworkModel::new(Arc::new(network), &all[..n], &extra),
            None => NetworkModel::new(self.network.clone(), all, &self.extra),
        }))
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.optimiser.save(out);
    }

    fn load(&mut self, bytes: &[u8]) -> Option<()> {
        self.is_packed = false;
        self.optimiser.load(bytes)
    }
}

impl<N: LearningNetwork> BatchLearner for NetworkLearner<N> {
    fn batch_words(&self) -> usize {
        self.settings.batch_words
    }

    fn loss(&self) -> LossKind {
        self.settings.loss
    }

    fn parts(&mut self, progress: f64) -> Vec<Box<dyn LearnerPart + '_>> {
        let NetworkLearner { network, optimiser, packed, is_packed, shards, seed, .. } = self;
        let Optimiser { weights, n_steps, .. } = optimiser;
        if !*is_packed {
            network.pack(weights, true, packed);
            *is_packed = true;
        }
        let weights = Weights { network: &**network, packed, all: weights };
        let mut seeds = Rng::new(*seed ^ n_steps.wrapping_mul(0xD1B5_4A32_D192_ED03));
        let part = |shard| -> Box<dyn LearnerPart + '_> {
            let Shard { memory, gradients, n_sentences, n_words }: &mut Shard<_> = shard;
            let rng = Rng::new(seeds.next_u64());
            Box::new(Part { weights, memory, rng, progress, gradients, n_sentences, n_words })
        };
        shards.iter_mut().map(part).collect()
    }

    fn step(&mut self, progress: f64) -> Result<()> {
        let NetworkLearner { network, gradients, shards, .. } = self;
        let used = || shards.iter().filter(|shard| shard.n_sentences > 0);
        gather(gradients, network.n_embedded(), used().map(|shard| &*shard.gradients));
        used().for_each(|shard| network.add_embedded(&shard.memory, gradients));
        let (mut n_words, mut n_sentences) = (0, 0);
        for shard in shards {
            n_words += std::mem::take(&mut shard.n_words);
            n_sentences += std::mem::take(&mut shard.n_sentences);
        }
        if n_sentences == 0 {
            return Ok(());
        }
        // The papers descend by the sum of the losses of a sentence's states, one sentence at a time.
        let n = match self.settings.step.kind {
            OptimiserKind::Adam => n_words.max(1),
            OptimiserKind::Sgd => n_sentences,
        };
        self.optimiser.step(&self.gradients, n as f64, progress, &self.settings.step)?;
        self.is_packed = false;
        Ok(())
    }
}

/// A part of a minibatch, for one thread.
pub(in crate::score) struct Part<'a, N: LearningNetwork> {
    pub weights: Weights<'a, N>,
    pub memory: &'a mut N::Memory,
    pub rng: Rng,
    /// The share of the training that is over.
    pub progress: f64,
    gradients: &'a mut Vec<f32>,
    n_sentences: &'a mut usize,
    n_words: &'a mut usize,
}

impl<N: LearningNetwork> Scorer for Part<'_, N> {
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        *self.n_sentences = sentences.len();
        *self.n_words = sentences.iter().map(|sentence| sentence.len()).sum();
        N::open(self, sentences, slots);
    }

    fn close(&mut self, slot: SlotId) {
        N::close(self.memory, slot);
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        N::score(self, queries, rows);
    }
}

impl<N: LearningNetwork> LearnerPart for Part<'_, N> {
    fn backward(&mut self, gradients: &Rows) {
        (0..gradients.n_rows()).for_each(|row| N::push_gradients(self.memory, gradients.row(row)));
    }

    fn finish(&mut self) {
        self.gradients.resize(self.weights.all.len(), 0.0);
        N::back(self.weights, self.memory, self.gradients);
    }
}
