//! How the network learns from the sentences of a shard.

use std::sync::Arc;

use super::any_network::ParsingNetwork;
use super::batch_learner::{Advance, BatchSettings, LearningNetwork, NetworkLearner, Part};
use super::characters::Alphabet;
use super::encoder::{Encoder, EncoderInput, InputMemory};
use super::file::Extra;
use super::layers::Dropout;
use super::network::{BackMemory, Encoding, Network, States, Weights};
use super::optimiser::{Slower, StepSettings};
use super::places::{Places, default_places};
use super::words::{Lexicon, Reader, TagColumn, TagSet, Vectors};
use crate::config::{NeuralConfig, OptimiserKind, TrainConfig};
use crate::error::{Code, Error, Result};
use crate::parallel;
use crate::score::{Rows, Shared, SlotId, Slots, Views};
use crate::sentence::Sentence;

/// How the network learns; the weights of an encoder that are learnt are the last, from `tuned` on.
pub(super) fn settings(config: &NeuralConfig, tuned: Option<usize>) -> BatchSettings {
    BatchSettings {
        batch_words: config.batch_words,
        shards: config.shards,
        loss: config.loss,
        step: StepSettings {
            kind: OptimiserKind::Adam,
            learning_rate: config.learning_rate,
            slower: tuned.map(|start| Slower {
                start,
                factor: config.encoder_rate / config.learning_rate,
                from: config.fine_tune_from,
            }),
            decay: 0.0,
            n_epochs: 1,
            beta_1: config.beta_1,
            beta_2: config.beta_2,
            clip: config.clip,
            average: config.average,
            section: Network::KIND,
        },
    }
}

/// What is kept of the sentences of a shard.
#[derive(Debug, Default)]
pub(super) struct Memory {
    encoding: Encoding,
    states: States,
    back: BackMemory,
    /// The number of each open sentence in the batch.
    slots: Slots<usize>,
    dropout: Dropout,
}

impl LearningNetwork for Network {
    type Memory = Memory;

    const ABOUT: &'static str = "LSTMs over words; learns step by step, no tags needed";

    const SALT: u64 = 0x6E65_7572_616C;

    fn begin(config: &TrainConfig, shared: Shared, sentences: &[&Sentence]) -> Result<NetworkLearner<Self>> {
        let mut settings = config.neural.clone();
        if settings.places.trim().is_empty() {
            let info = config.system.info();
            default_places(info.kind, info.is_binary).clone_into(&mut settings.places);
        }
        let places = Places::parse(&settings.places)
            .map_err(|why| Error::new(Code::BadTraining, format!("neural.places: {why}")))?;
        let NeuralConfig { affix_rows: n_rows, affixes, tags, tag_weight, char_size, .. } = settings;
        let reader = Reader {
            lexicon: Lexicon::of(sentences),
            alphabet: (char_size > 0).then(|| Alphabet::of(sentences)),
            vectors: Vectors::of(&config.vectors),
            n_rows,
            affixes,
            tags,
        };
        // Tags that are looked at need not be learnt.
        let columns = TagColumn::ALL.iter().filter(|_| tag_weight > 0.0 && !tags);
        let tag_sets =
            columns.map(|column| TagSet::of(*column, sentences)).filter(|set| set.tags.len() > 1).collect();
        let (mut encoder, mut extra) = (None, Vec::new());
        if !config.encoder.is_empty() {
            let pretrained = Encoder::read(&config.encoder, settings.encoder_layers)?;
            let outputs = settings.encoder_outputs();
            let (input, arrays) = EncoderInput::learning(&pretrained, &outputs, settings.fine_tune);
            (encoder, extra) = (Some(Arc::new(input)), arrays);
        }
        let header = encoder.as_ref().map(|encoder| &encoder.header);
        let mut network = Network::new(&settings, reader, header, tag_sets, places, shared.kind_ends);
        network.encoder = encoder;
        let settings = self::settings(&settings, network.tuned);
        Ok(NetworkLearner::new(network, extra, settings, config.seed))
    }

    fn n_embedded(&self) -> usize {
        self.n_embedded
    }

    /// An encoder that was learnt becomes an input that does not change any more.
    fn finished(&self, all: &[f32]) -> Option<(Self, usize, Vec<Extra>)> {
        let start = self.tuned?;
        let (encoder, arrays) = self.encoder.as_ref()?.with_tuned(&all[start..])?;
        let Network { config, reader, tag_sets, places, output, .. } = self.clone();
        let header = Some(&encoder.header);
        let mut network = Network::new(&config, reader, header, tag_sets, places, output.kind_ends);
        network.encoder = Some(Arc::new(encoder));
        Some((network, start, arrays))
    }

    fn prepare(&self, sentences: &[&Sentence], jobs: usize, advance: Advance<'_>) -> Result<()> {
        /// Sentences that a thread reads at a time.
        const TOGETHER: usize = 64;
        let Some(encoder) = self.encoder.as_ref().filter(|encoder| !encoder.header.is_tuned) else {
            return Ok(());
        };
        let worker = || {
            let mut memory = InputMemory::default();
            move |sentences: &[&Sentence]| {
                encoder.read(None, sentences, &mut memory, |_, _, _| ());
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

    fn open(part: &mut Part<'_, Self>, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        let Part { weights, memory: Memory { encoding, states, slots: own, .. }, rng, progress, .. } = part;
        encoding.is_tuning = *progress >= weights.network.config.fine_tune_from;
        weights.read_words(sentences, encoding);
        weights.read_tags(sentences, encoding);
        weights.drop_words(encoding, rng);
        weights.embed(encoding, Some(rng));
        weights.read_encoder(sentences, encoding, Some(rng));
        weights.read_context(encoding, Some(rng));
        states.clear();
        slots.extend((0..sentences.len()).map(|i| {
            let (slot, number) = own.open(|| i);
            *number = i;
            slot
        }));
    }

    fn close(memory: &mut Memory, slot: SlotId) {
        memory.slots.close(slot);
    }

    fn score(part: &mut Part<'_, Self>, queries: &[Views<'_>], rows: &mut Rows) {
        let Part { weights, memory: Memory { encoding, states, slots, dropout, .. }, rng, .. } = part;
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

    fn push_gradients(memory: &mut Memory, row: &[f32]) {
        memory.states.push_gradients(row);
    }

    fn back(weights: Weights<'_>, memory: &mut Memory, gradients: &mut [f32]) {
        let Memory { encoding, states, back, .. } = memory;
        weights.back(encoding, states, back, gradients);
    }

    fn add_embedded(&self, memory: &Memory, gradients: &mut [f32]) {
        self.add_embedded(&memory.encoding, &memory.back, gradients);
    }
}
