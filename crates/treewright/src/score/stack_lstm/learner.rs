//! How the network learns from the sentences of a shard.

use super::chain::Noise;
use super::network::{Network, Trees, Weights};
use super::tape::{Query, Side, Tape};
use super::words::{Lexicon, Reader};
use crate::config::{StackLstmConfig, TrainConfig};
use crate::error::Result;
use crate::score::neural::any_network::ParsingNetwork;
use crate::score::neural::batch_learner::{BatchSettings, LearningNetwork, NetworkLearner, Part};
use crate::score::neural::optimiser::StepSettings;
use crate::score::neural::words::Vectors;
use crate::score::{Rows, Shared, SlotId, Slots, Views};
use crate::sentence::Sentence;

pub(super) fn settings(config: &StackLstmConfig, n_epochs: usize) -> BatchSettings {
    BatchSettings {
        batch_words: config.batch_words,
        shards: config.shards,
        loss: config.loss,
        step: StepSettings {
            kind: config.optimiser,
            slower: None,
            learning_rate: config.learning_rate,
            decay: config.decay,
            n_epochs,
            beta_1: config.beta_1,
            beta_2: config.beta_2,
            clip: config.clip,
            average: config.average,
            section: Network::KIND,
        },
    }
}

/// What is kept of the sentences of a shard.
#[derive(Debug)]
pub(super) struct Memory {
    tape: Tape,
    slots: Slots<Side>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { tape: Tape::new(true), slots: Slots::default() }
    }
}

impl LearningNetwork for Network {
    type Memory = Memory;

    const ABOUT: &'static str = "LSTMs over stack, buffer and actions; learns step by step, looks at tags";

    const SALT: u64 = 0x0073_7461_636B;

    fn begin(config: &TrainConfig, shared: Shared, sentences: &[&Sentence]) -> Result<NetworkLearner<Self>> {
        let reader = Reader::new(Lexicon::of(sentences), Vectors::of(&config.vectors));
        let trees = Trees::of(&config.system.info());
        let network = Network::new(&config.stack_lstm, reader, trees, shared.n_actions());
        let settings = settings(&config.stack_lstm, config.epochs);
        Ok(NetworkLearner::new(network, Vec::new(), settings, config.seed))
    }

    fn n_embedded(&self) -> usize {
        self.n_embedded
    }

    fn open(part: &mut Part<'_, Self>, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        let Part { weights, memory: Memory { tape, slots: own }, rng, .. } = part;
        let mut noise = Noise { p: weights.network.config.dropout, rng };
        tape.start(*weights, Some(&mut noise));
        open(tape, *weights, sentences, own, Some(&mut noise), slots);
    }

    fn close(memory: &mut Memory, slot: SlotId) {
        memory.slots.close(slot);
    }

    fn score(part: &mut Part<'_, Self>, queries: &[Views<'_>], rows: &mut Rows) {
        let Part { weights, memory: Memory { tape, slots }, rng, .. } = part;
        let mut noise = Noise { p: weights.network.config.dropout, rng };
        score(tape, *weights, queries, &mut slots.items, Some(&mut noise), rows);
    }

    fn push_gradients(memory: &mut Memory, row: &[f32]) {
        memory.tape.push_gradients(row);
    }

    fn back(weights: Weights<'_>, memory: &mut Memory, gradients: &mut [f32]) {
        memory.tape.back(weights, gradients);
    }

    fn add_embedded(&self, memory: &Memory, gradients: &mut [f32]) {
        memory.tape.add_embedded(self, gradients);
    }
}

/// Opens sentences on a tape that was started.
pub(super) fn open(
    tape: &mut Tape,
    weights: Weights<'_>,
    sentences: &[&Sentence],
    sides: &mut Slots<Side>,
    noise: Option<&mut Noise<'_>>,
    slots: &mut Vec<SlotId>,
) {
    let first = slots.len();
    slots.extend(sentences.iter().map(|_| sides.open(Side::default).0));
    let numbers: Vec<usize> = slots[first..].iter().map(|slot| slot.0 as usize).collect();
    tape.open(weights, sentences, &mut sides.items, &numbers, noise);
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
    rows.reset_for(queries, weights.network.n_actions);
    let queries: Vec<Query<'_>> = queries
        .iter()
        .map(|&Views { slot, forest, views }| Query { side: slot.0 as usize, forest, views })
        .collect();
    let (values, stride) = rows.values_mut();
    tape.score(weights, &queries, sides, noise, values, stride);
}
