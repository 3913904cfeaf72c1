//! The network learns: minibatches in shards, Adam, averages of the weights.

use std::sync::Arc;

use super::encoder::InputMemory;
use super::file::Extra;
use super::kernel::{AdamStep, adam, add, approach, squares};
use super::layers::Dropout;
use super::model::NeuralModel;
use super::network::{BackMemory, Encoding, Network, PackedNetwork, States, Weights};
use crate::error::{Code, Error, Result};
use crate::parallel;
use crate::rng::Rng;
use crate::score::{
    BatchLearner, LearnerPart, Learning, Mode, Rows, Scorer, ScorerModel, SlotId, Slots, Views,
};
use crate::sentence::Sentence;

/// A share of the training in which the learning rate rises, and what is left of it at the end.
const WARM_UP: f64 = 0.02;
const LAST_RATE: f64 = 0.02;
const EPSILON: f32 = 1e-8;

/// A network that learns.
pub(super) struct NeuralLearner {
    network: Arc<Network>,
    /// The arrays of the encoder, for the model file.
    extra: Vec<Extra>,
    /// All weights, and for each of them Adam's running means and the average over steps.
    weights: Vec<f32>,
    means: Vec<f32>,
    squares: Vec<f32>,
    averages: Vec<f32>,
    n_steps: u64,
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
        let zeros = vec![0.0; weights.len()];
        NeuralLearner {
            means: zeros.clone(),
            squares: zeros.clone(),
            averages: weights.clone(),
            n_steps: 0,
            packed: PackedNetwork::default(),
            is_packed: false,
            gradients: zeros,
            shards: std::iter::repeat_with(Shard::default).take(network.config.shards).collect(),
            seed,
            weights,
            extra,
            network: Arc::new(network),
        }
    }

    /// Adds up the gradients of all shards; gives the number of words they are of.
    fn gather(&mut self) -> usize {
        let NeuralLearner { network, gradients, shards, .. } = self;
        let (embedded, rest) = gradients.split_at_mut(network.n_embedded);
        embedded.fill(0.0);
        let mut n_words = 0;
        for shard in shards.iter_mut().filter(|shard| shard.n_words > 0) {
            network.add_embedded(&shard.encoding, &shard.back, embedded);
            let of_shard = &shard.gradients[network.n_embedded..];
            match n_words {
                0 => rest.copy_from_slice(of_shard),
                _ => add(of_shard, rest),
            }
            n_words += std::mem::take(&mut shard.n_words);
        }
        n_words
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
        self.weights.len()
    }

    fn freeze(&self) -> Result<Arc<dyn ScorerModel>> {
        Ok(Arc::new(NeuralModel::new(self.network.clone(), &self.averages, &self.extra)))
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.n_steps.to_le_bytes());
        for numbers in [&self.weights, &self.means, &self.squares, &self.averages] {
            out.extend_from_slice(bytemuck::cast_slice(numbers));
        }
    }

    fn load(&mut self, bytes: &[u8]) -> Option<()> {
        let (n_steps, rest) = bytes.split_first_chunk::<8>()?;
        let n = self.weights.len();
        if rest.len() != 4 * 4 * n {
            return None;
        }
        let arrays = [&mut self.weights, &mut self.means, &mut self.squares, &mut self.averages];
        for (numbers, bytes) in arrays.into_iter().zip(rest.chunks_exact(4 * n)) {
            let read = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            numbers.iter_mut().zip(read).for_each(|(number, read)| *number = read);
        }
        self.n_steps = u64::from_le_bytes(*n_steps);
        self.is_packed = false;
        Some(())
    }
}

impl BatchLearner for NeuralLearner {
    fn batch_words(&self) -> usize {
        self.network.config.batch_words
    }

    fn parts(&mut self) -> Vec<Box<dyn LearnerPart + '_>> {
        let NeuralLearner { network, weights, packed, is_packed, shards, seed, n_steps, .. } = self;
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
        let length = squares(&self.gradients).sqrt() / n_words as f64;
        if !length.is_finite() {
            let message = format!(
                "the network diverged in step {}: its gradients are not numbers any more; a smaller \
                 neural.learning-rate may help",
                self.n_steps + 1
            );
            return Err(Error::new(Code::BadTraining, message));
        }
        self.n_steps += 1;
        let falling = LAST_RATE + (1.0 - LAST_RATE) * (1.0 - progress) / (1.0 - WARM_UP);
        let rate = f64::from(config.learning_rate) * falling.min(1.0).min((progress / WARM_UP).max(1e-3));
        let correct = |beta: f32| 1.0 - f64::from(beta).powi(self.n_steps.min(1 << 30) as i32);
        let shorten = (f64::from(config.clip) / length.max(1e-12)).min(1.0);
        let step = AdamStep {
            scale: (shorten / n_words as f64) as f32,
            beta_1: config.beta_1,
            beta_2: config.beta_2,
            rate: (rate / correct(config.beta_1)) as f32,
            correct_2: (1.0 / correct(config.beta_2)) as f32,
            epsilon: EPSILON,
        };
        adam(&mut self.weights, &self.gradients, &mut self.means, &mut self.squares, &step);
        // At first a mean of the last tenth of the steps, so that the random start is soon forgotten.
        let share = (1.0 - config.average).max(9.0 / (9.0 + self.n_steps as f32));
        approach(&mut self.averages, &self.weights, share);
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
        rows.reset(states.len() - start, weights.network.n_actions);
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
