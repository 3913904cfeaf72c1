//! The network learns from minibatches in shards.

use std::sync::Arc;

use super::encoder::InputMemory;
use super::file::Extra;
use super::layers::Dropout;
use super::model::NeuralModel;
use super::network::{BackMemory, Encoding, Network, PackedNetwork, States, Weights};
use super::optimiser::{Optimiser, StepSettings, gather};
use crate::config::{LossKind, OptimiserKind};
use crate::error::Result;
use crate::parallel;
use crate::rng::Rng;
use crate::score::{
    BatchLearner, LearnerPart, Learning, Mode, Rows, Scorer, ScorerModel, SlotId, Slots, Views,
};
use crate::sentence::Sentence;

/// A network that learns.
pub(super) struct NeuralLearner {
    network: Arc<Network>,
    /// The arrays of the encoder, for the model file.
    extra: Vec<Extra>,
    optimiser: Optimiser,
    packed: PackedNetwork,
    is_packed: bool,
    gradients: Vec<f32>,
    shards: Vec<Shard>,
    /// What is left out follows from it and from the number of the step.
    seed: u64,
}

/// The memory of a part of a minibatch.
#[derive(Debug, Default)]
struct Shard {
    encoding: Encoding,
    states: States,
    back: BackMemory,
    gradients: Vec<f32>,
    /// The number of each open sentence in the batch.
    slots: Slots<usize>,
    dropout: Dropout,
    n_words: usize,
}

impl NeuralLearner {
    pub(super) fn new(network: Network, extra: Vec<Extra>, seed: u64) -> Self {
        let weights = network.start(&mut Rng::new(seed ^ 0x6E65_7572_616C));
        NeuralLearner {
            packed: PackedNetwork::default(),
            is_packed: false,
            gradients: vec![0.0; weights.len()],
            shards: std::iter::repeat_with(Shard::default).take(network.config.shards).collect(),
            seed,
            extra,
            optimiser: Optimiser::new(weights, OptimiserKind::Adam),
            network: Arc::new(network),
        }
    }

    /// Adds up the gradients of all shards; gives the number of words they are of.
    fn gather(&mut self) -> usize {
        let NeuralLearner { network, gradients, shards, .. } = self;
        let used = || shards.iter().filter(|shard| shard.n_words > 0);
        gather(gradients, network.n_embedded, used().map(|shard| &*shard.gradients));
        for shard in used() {
            network.add_embedded(&shard.encoding, &shard.back, gradients);
        }
        shards.iter_mut().map(|shard| std::mem::take(&mut shard.n_words)).sum()
    }
}

impl Learning for NeuralLearner {
    fn set_mode(&mut self, mode: Mode) {
        if let Mode::Train { seed } = mode {
            self.seed = seed;
        }
    }

    fn prepare(
        &mut self,
        sentences: &[&Sentence],
        jobs: usize,
        advance: &mut dyn FnMut(usize, usize),
    ) -> Result<()> {
        /// Sentences that a thread reads at a time.
        const TOGETHER: usize = 64;
        let Some(encoder) = &self.network.encoder else { return Ok(()) };
        let worker = || {
            let mut memory = InputMemory::default();
            move |sentences: &[&Sentence]| {
                encoder.read(sentences, &mut memory, |_, _, _| ());
                sentences.len()
            }
        };
        let mut done = 0;
        parallel::map(jobs, sentences.chunks(TOGETHER), worker, |n| {
            done += n;
            advance(done, sentences.len());
            Ok(())
        })
    }

    fn n_features(&self) -> usize {
        self.optimiser.weights.len()
    }

    fn freeze(&self) -> Result<Arc<dyn ScorerModel>> {
        Ok(Arc::new(NeuralModel::new(self.network.clone(), &self.optimiser.averages, &self.extra)))
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.optimiser.save(out);
    }

    fn load(&mut self, bytes: &[u8]) -> Option<()> {
        self.is_packed = false;
        self.optimiser.load(bytes)
    }
}

impl BatchLearner for NeuralLearner {
    fn batch_words(&self) -> usize {
        self.network.config.batch_words
    }

    fn loss(&self) -> LossKind {
        self.network.config.loss
    }

    fn parts(&mut self) -> Vec<Box<dyn LearnerPart + '_>> {
        let NeuralLearner { network, optimiser, packed, is_packed, shards, seed, .. } = self;
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
        let n_words = self.gather();
        if n_words == 0 {
            return Ok(());
        }
        let config = &self.network.config;
        let settings = StepSettings {
            kind: OptimiserKind::Adam,
            learning_rate: config.learning_rate,
            decay: 0.0,
            n_epochs: 1,
            beta_1: config.beta_1,
            beta_2: config.beta_2,
            clip: config.clip,
            average: config.average,
            section: "neural",
        };
        self.optimiser.step(&self.gradients, n_words as f64, progress, &settings)?;
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
        let Part { weights, shard: Shard { encoding, states, slots: own, n_words, .. }, rng } = self;
        weights.read_words(sentences, encoding);
        weights.read_tags(sentences, encoding);
        weights.drop_words(encoding, rng);
        weights.embed(encoding, Some(rng));
        weights.read_encoder(sentences, encoding, Some(rng));
        weights.read_context(encoding, Some(rng));
        states.clear();
        *n_words = encoding.batch.n_rows();
        slots.extend((0..sentences.len()).map(|i| {
            let (slot, number) = own.open(|| i);
            *number = i;
            slot
        }));
    }

    fn close(&mut self, slot: SlotId) {
        self.shard.slots.close(slot);
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        let Part { weights, shard: Shard { encoding, states, slots, dropout, .. }, rng } = self;
        let start = states.len();
        for query in queries {
            let sentence = *slots.get(query.slot);
            for view in query.views {
                let row = |word| encoding.batch.row(sentence, word);
                weights.look(query.forest, view, &encoding.first, row, states);
            }
        }
        states.drop_hidden(start, weights.network.config.hidden_dropout, dropout, rng);
        rows.reset(states.len() - start, weights.network.n_actions());
        let (values, stride) = rows.values_mut();
        weights.scores(states, start, values, stride);
    }
}

impl LearnerPart for Part<'_> {
    fn backward(&mut self, gradients: &Rows) {
        (0..gradients.n_rows()).for_each(|row| self.shard.states.push_gradients(gradients.row(row)));
    }

    fn finish(&mut self) {
        let Part { weights, shard: Shard { encoding, states, back, gradients, .. }, .. } = self;
        gradients.resize(weights.all.len(), 0.0);
        weights.back(encoding, states, back, gradients);
    }
}
