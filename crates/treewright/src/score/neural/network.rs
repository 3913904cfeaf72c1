//! The network: from words to vectors in context (embeddings, a linear layer, bidirectional LSTMs), and from the words at the
//! places of a configuration to the scores of its actions.
//!
//! The first layer over the places is computed once for every word and place, so that a configuration costs additions and
//! one small product.

use std::sync::Arc;

use super::any_network::{self, AnyNetwork};
use super::characters::{CharacterMemory, Characters};
use super::encoder::{self, EncoderHeader, EncoderInput, InputMemory, PackedEncoder, fill};
use super::kernel::{Left, Sum, add, softmax};
use super::layers::{
    Array, Arrays, Dropout, Linear, PackedLinear, Scratch, leaky_relu, leaky_relu_back, uniform,
};
use super::lstm::{Batch, BiLstm, LstmMemory, PackedBiLstm};
use super::output::Output;
use super::places::{N_LABELS, Places, Seen};
use super::words::{NONE, Reader, TagSet, UNKNOWN, Vectors, WordRows};
use crate::config::NeuralConfig;
use crate::forest::{Forest, View};
use crate::rng::Rng;
use crate::sentence::Sentence;

/// Codes of what is at a place, beside rows of words.
const NOTHING: u32 = u32::MAX;
const ROOT: u32 = u32::MAX - 1;
const NO_LABEL: u32 = u32::MAX;

/// A network without its numbers: sizes, and where each array lies among all numbers.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub config: NeuralConfig,
    pub reader: Reader,
    pub tag_sets: Vec<TagSet>,
    pub places: Places,
    pub arrays: Arrays,
    /// The embeddings come first; of these a minibatch touches few.
    pub n_embedded: usize,
    words: Array,
    affixes: Array,
    characters: Option<Characters>,
    input: Linear,
    /// A pre-trained encoder, if there is one, and the layer over its vectors.
    pub encoder: Option<Arc<EncoderInput>>,
    encoded: Option<Linear>,
    /// Where the weights of the encoder begin, if they are learnt.
    pub tuned: Option<usize>,
    lstms: Vec<BiLstm>,
    first: Linear,
    /// For each place, what stands for nothing and for the root.
    absent: Array,
    labels: Array,
    pub output: Output,
    taggers: Vec<Linear>,
}

/// The weights of a network, packed for products.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedNetwork {
    characters: PackedBiLstm,
    input: PackedLinear,
    /// The encoder, while its weights are learnt.
    pub encoder: Option<PackedEncoder>,
    encoded: PackedLinear,
    lstms: Vec<PackedBiLstm>,
    first: PackedLinear,
    output: PackedLinear,
    taggers: Vec<PackedLinear>,
}

pub(super) type Weights<'a> = any_network::Weights<'a, Network>;

/// What was computed for the sentences of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoding {
    pub batch: Batch,
    pub rows: WordRows,
    /// The tags of each word that are learnt: for each set of tags, that of each row.
    tags: Vec<u32>,
    characters: CharacterMemory,
    /// The embeddings of each word, side by side.
    x: Vec<f32>,
    /// What stands for each word before its context is read.
    pub input: Vec<f32>,
    encoder: InputMemory,
    /// The vectors of the encoder, and what the layer over them makes of these.
    encoder_x: Vec<f32>,
    encoded: Vec<f32>,
    encoder_dropout: Dropout,
    /// Do the weights of the encoder learn from this batch?
    pub is_tuning: bool,
    /// With an encoder: `input` and `encoded` side by side.
    joined: Vec<f32>,
    lstms: Vec<LstmMemory>,
    /// What comes out of each layer.
    outputs: Vec<Vec<f32>>,
    dropouts: Vec<Dropout>,
    /// What each word adds to the hidden units, for each place.
    pub first: Vec<f32>,
}

/// Configurations that were scored.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    words: Vec<u32>,
    labels: Vec<u32>,
    hidden: Vec<f32>,
    gradients: Vec<f32>,
    n_states: usize,
    /// What was left out of the hidden units while learning; empty if nothing was.
    masks: Vec<f32>,
}

/// Memory for the way back.
#[derive(Clone, Debug, Default)]
pub(super) struct BackMemory {
    d_hidden: Vec<f32>,
    d_first: Vec<f32>,
    d_output: Vec<f32>,
    d_below: Vec<f32>,
    d_tags: Vec<f32>,
    d_encoded: Vec<f32>,
    /// Those of the encoder's vectors, by row and by word.
    d_vectors: Vec<f32>,
    d_words: Vec<f32>,
    encoder: encoder::BackMemory,
    /// The gradients of the embeddings of each word, side by side.
    dx: Vec<f32>,
    scratch: Scratch,
}

/// Gives a vector a length; what was in it does not matter.
fn resize(values: &mut Vec<f32>, n: usize) -> &mut [f32] {
    values.resize(n, 0.0);
    values
}

impl Network {
    pub(super) fn new(
        config: &NeuralConfig,
        reader: Reader,
        encoder: Option<&EncoderHeader>,
        tag_sets: Vec<TagSet>,
        places: Places,
        kind_ends: Vec<usize>,
    ) -> Self {
        let mut arrays = Arrays::default();
        let (n_tables, hidden) = (reader.n_tables(), config.hidden + config.kind_hidden);
        let words = arrays.add_table("words", reader.lexicon.n_rows(), config.word_size);
        let affixes = arrays.add_table("affixes", n_tables * config.affix_rows, config.affix_size);
        let n_embedded = arrays.n_numbers;
        let characters = reader
            .alphabet
            .as_ref()
            .map(|alphabet| Characters::new(&mut arrays, alphabet, config.char_size, config.char_units));
        let of_characters = characters.map_or(0, |characters| characters.width());
        let n_in = config.word_size + n_tables * config.affix_size + reader.vectors.width + of_characters;
        let input = Linear::new(&mut arrays, "input", n_in, config.input_size);
        let encoded =
            encoder.map(|header| Linear::new(&mut arrays, "encoded", header.width(), config.encoder_size));
        let n_joined = config.input_size + encoded.map_or(0, |_| config.encoder_size);
        let n_out = 2 * config.units;
        let lstms = (0..config.layers)
            .map(|layer| {
                let n_in = if layer == 0 { n_joined } else { n_out };
                BiLstm::new(&mut arrays, &format!("lstm.{layer}"), n_in, config.units)
            })
            .collect();
        let first = Linear::new(&mut arrays, "first", n_out, places.len() * hidden);
        let absent = arrays.add_table("absent", 2 * places.len(), hidden);
        let labels = arrays.add_table("labels", N_LABELS * places.len(), hidden);
        let output = Output::new(&mut arrays, config.hidden, config.kind_hidden, kind_ends);
        let taggers = tag_sets
            .iter()
            .enumerate()
            .map(|(i, set)| Linear::new(&mut arrays, &format!("tags.{i}"), n_out, set.tags.len()))
            .collect();
        Network {
            config: config.clone(),
            reader,
            tag_sets,
            places,
            n_embedded,
            words,
            affixes,
            characters,
            input,
            encoder: None,
            tuned: encoder.and_then(|header| header.add_tuned(&mut arrays)),
            encoded,
            lstms,
            first,
            absent,
            labels,
            output,
            taggers,
            arrays,
        }
    }

    pub(super) fn n_actions(&self) -> usize {
        self.output.n_actions()
    }

    /// Hidden units of a state.
    fn n_hidden(&self) -> usize {
        self.output.n_hidden()
    }

    /// Adds the gradients of embeddings, as the way back left them, to their rows.
    pub(super) fn add_embedded(&self, encoding: &Encoding, back: &BackMemory, gradients: &mut [f32]) {
        let NeuralConfig { word_size, affix_size, .. } = self.config;
        let n_tables = self.reader.n_tables();
        let WordRows { words, tables, .. } = &encoding.rows;
        let rows = back.dx.chunks_exact(self.input.weights.n_rows).zip(words).enumerate();
        for (i, (dx, &word)) in rows {
            let tables = &tables[i * n_tables..(i + 1) * n_tables];
            let (of_word, rest) = dx.split_at(word_size);
            add(of_word, self.words.row_mut(gradients, word as usize));
            for (dx, &row) in rest.chunks_exact(affix_size).zip(tables) {
                if row != NONE {
                    add(dx, self.affixes.row_mut(gradients, row as usize));
                }
            }
        }
    }
}

impl AnyNetwork for Network {
    type Packed = PackedNetwork;

    fn stored(&self) -> (&Arrays, &Vectors) {
        (&self.arrays, &self.reader.vectors)
    }

    fn set_start(&self, all: &mut [f32], rng: &mut Rng) {
        for array in [self.words, self.affixes] {
            uniform(array.of_mut(all), 0.8, rng);
        }
        if let Some(characters) = &self.characters {
            characters.start(all, rng);
        }
        [self.input, self.output.actions].iter().chain(&self.taggers).for_each(|layer| layer.start(all, rng));
        self.encoded.iter().for_each(|layer| layer.start(all, rng));
        self.lstms.iter().for_each(|layer| layer.start(all, rng));
        // The places are added up, so what matters is the number of them all.
        let n_in = self.first.weights.n_rows * self.places.len();
        let limit = (6.0 / (n_in + self.n_hidden()) as f64).sqrt();
        uniform(self.first.weights.of_mut(all), limit, rng);
        self.output.kinds.iter().for_each(|layer| layer.start(all, rng));
        if let (Some(start), Some(encoder)) = (self.tuned, &self.encoder) {
            all[start..].copy_from_slice(encoder.start());
        }
    }

    fn pack(&self, all: &[f32], learns: bool, out: &mut PackedNetwork) {
        if let Some(characters) = &self.characters {
            characters.pack(all, learns, &mut out.characters);
        }
        out.input.set(self.input, all, learns);
        self.encoded.iter().for_each(|layer| out.encoded.set(*layer, all, learns));
        out.lstms.resize_with(self.lstms.len(), PackedBiLstm::default);
        self.lstms.iter().zip(&mut out.lstms).for_each(|(layer, out)| layer.pack(all, learns, out));
        out.first.set(self.first, all, learns);
        self.output.pack(all, learns, &mut out.output);
        if let (Some(start), Some(encoder)) = (self.tuned, &self.encoder) {
            encoder.pack(&all[start..], learns, &mut out.encoder);
        }
        out.taggers.resize_with(self.taggers.len(), PackedLinear::default);
        self.taggers.iter().zip(&mut out.taggers).for_each(|(layer, out)| out.set(*layer, all, learns));
    }

    /// Those of the layers that take most of the time.
    fn shrink(&self, all: &[f32], out: &mut PackedNetwork) {
        self.encoded.iter().for_each(|layer| out.encoded.shrink(*layer, all));
        self.lstms.iter().zip(&mut out.lstms).for_each(|(layer, out)| layer.shrink(all, out));
        out.first.shrink(self.first, all);
    }
}

impl Weights<'_> {
    /// Numbers that stand for a word before its context is read.
    pub(super) fn input_size(&self) -> usize {
        self.network.config.input_size
    }

    /// Numbers that a word adds to the hidden units for all places.
    pub(super) fn first_size(&self) -> usize {
        self.network.places.len() * self.network.n_hidden()
    }

    /// Finds the rows of the words of sentences in the tables, and where the words stand in the batch.
    pub(super) fn read_words(&self, sentences: &[&Sentence], encoding: &mut Encoding) {
        let reader = &self.network.reader;
        encoding.batch = Batch::of(sentences.iter().map(|sentence| sentence.len()));
        encoding.rows.reset(encoding.batch.n_rows(), reader.n_tables());
        for (i, sentence) in sentences.iter().enumerate() {
            for (position, token) in sentence.tokens.iter().enumerate() {
                reader.read(token, encoding.batch.row(i, position), &mut encoding.rows);
            }
        }
    }

    /// Finds the tags that are to be learnt.
    pub(super) fn read_tags(&self, sentences: &[&Sentence], encoding: &mut Encoding) {
        let n_rows = encoding.batch.n_rows();
        encoding.tags.clear();
        encoding.tags.resize(n_rows * self.network.tag_sets.len(), NONE);
        for (set, tags) in self.network.tag_sets.iter().zip(encoding.tags.chunks_exact_mut(n_rows.max(1))) {
            for (i, sentence) in sentences.iter().enumerate() {
                for (position, token) in sentence.tokens.iter().enumerate() {
                    tags[encoding.batch.row(i, position)] = set.find(token).map_or(NONE, |tag| tag as u32);
                }
            }
        }
    }

    /// Leaves out words and affixes.
    pub(super) fn drop_words(&self, encoding: &mut Encoding, rng: &mut Rng) {
        let NeuralConfig { word_dropout, affix_dropout, .. } = self.network.config;
        let mut is_dropped = |p: f64| p > 0.0 && rng.unit() < p;
        let WordRows { words, tables, .. } = &mut encoding.rows;
        words.iter_mut().filter(|_| is_dropped(word_dropout)).for_each(|word| *word = UNKNOWN);
        tables.iter_mut().filter(|_| is_dropped(affix_dropout)).for_each(|row| *row = NONE);
    }

    /// What stands for each word of `rows` by itself.
    pub(super) fn embed(&self, encoding: &mut Encoding, noise: Option<&mut Rng>) {
        let Network { config, reader, words, affixes, characters, input, .. } = self.network;
        let Encoding { rows, characters: spelt, x, input: out, dropouts, .. } = encoding;
        if let Some(characters) = characters {
            characters.read((&self.packed.characters, self.all), &rows.spellings, spelt);
        }
        let (n, n_in, n_tables) = (rows.words.len(), input.weights.n_rows, reader.n_tables());
        let x = resize(x, n * n_in);
        for (i, x) in x.chunks_exact_mut(n_in).enumerate() {
            let (of_word, rest) = x.split_at_mut(config.word_size);
            let (of_tables, rest) = rest.split_at_mut(n_tables * config.affix_size);
            of_word.copy_from_slice(words.row(self.all, rows.words[i] as usize));
            let tables = &rows.tables[i * n_tables..(i + 1) * n_tables];
            for (x, &row) in of_tables.chunks_exact_mut(config.affix_size).zip(tables) {
                match row {
                    NONE => x.fill(0.0),
                    row => x.copy_from_slice(affixes.row(self.all, row as usize)),
                }
            }
            let (of_vector, of_characters) = rest.split_at_mut(reader.vectors.width);
            reader.vectors.fill(rows.vectors[i], of_vector);
            if let Some(characters) = characters {
                characters.fill(spelt, &rows.spellings, rows.forms[i], of_characters);
            }
        }
        dropouts.resize_with(1 + config.layers, Dropout::default);
        if let Some(rng) = noise {
            dropouts[0].apply(x, config.dropout, rng);
        }
        let out = resize(out, n * config.input_size);
        self.packed.input.apply(Left::dense(x, n_in), out, config.input_size);
        leaky_relu(out);
    }

    /// Numbers that stand for a word before its context is read, those from the encoder included.
    fn joined_size(&self) -> usize {
        self.input_size() + self.network.encoded.map_or(0, |layer| layer.weights.n_columns)
    }

    /// Reads the sentences of a batch with the encoder, if there is one, and puts what the layer over its vectors gives beside
    /// what stands for each word by itself.
    pub(super) fn read_encoder(
        &self,
        sentences: &[&Sentence],
        encoding: &mut Encoding,
        mut noise: Option<&mut Rng>,
    ) {
        let Network { config, encoder: Some(encoder), encoded: Some(layer), .. } = self.network else {
            return;
        };
        let Encoding { batch, encoder: memory, encoder_x, encoded, encoder_dropout, is_tuning, .. } =
            encoding;
        let (n_rows, width) = (batch.n_rows(), layer.weights.n_rows);
        let x = resize(encoder_x, n_rows * width);
        let place = |sentence, position| batch.row(sentence, position) * width;
        match &self.packed.encoder {
            Some(packed) if *is_tuning => {
                let noise = noise.as_deref_mut().map(|rng| (config.encoder_layer_dropout, rng));
                encoder.read_to_learn(packed, sentences, memory, noise, |sentence, position, vector| {
                    x[place(sentence, position)..][..width].copy_from_slice(vector);
                });
            }
            tuned => encoder.read(tuned.as_ref(), sentences, memory, |sentence, position, vector| {
                fill(vector, &mut x[place(sentence, position)..][..width]);
            }),
        }
        if let Some(rng) = noise {
            encoder_dropout.apply(x, config.encoder_dropout, rng);
        }
        let (size, of_words) = (config.encoder_size, config.input_size);
        let out = resize(encoded, n_rows * size);
        self.packed.encoded.apply(Left::dense(x, width), out, size);
        leaky_relu(out);
        let joined = resize(&mut encoding.joined, n_rows * (of_words + size));
        let rows = encoding.input.chunks_exact(of_words).zip(out.chunks_exact(size));
        for (joined, (input, encoded)) in joined.chunks_exact_mut(of_words + size).zip(rows) {
            joined[..of_words].copy_from_slice(input);
            joined[of_words..].copy_from_slice(encoded);
        }
    }

    /// The way back of [`Self::read_encoder`], from the gradients of what is side by side to those of `input`, in their place.
    fn back_to_encoder(&self, encoding: &Encoding, memory: &mut BackMemory, gradients: &mut [f32]) {
        let Network { config, encoder: Some(encoder), encoded: Some(layer), .. } = self.network else {
            return;
        };
        let BackMemory { d_output: d_joined, d_encoded, d_vectors, d_words, encoder: back, scratch, .. } =
            memory;
        let (n_rows, size, of_words) = (encoding.batch.n_rows(), config.encoder_size, config.input_size);
        let d_encoded = resize(d_encoded, n_rows * size);
        for row in 0..n_rows {
            let at = row * (of_words + size);
            d_encoded[row * size..(row + 1) * size].copy_from_slice(&d_joined[at + of_words..][..size]);
            d_joined.copy_within(at..at + of_words, row * of_words);
        }
        d_joined.truncate(n_rows * of_words);
        leaky_relu_back(&encoding.encoded, d_encoded);
        let learnt = self.network.tuned.zip(self.packed.encoder.as_ref());
        let Some((start, packed)) = learnt.filter(|_| encoding.is_tuning) else {
            layer.back(&self.packed.encoded, &encoding.encoder_x, d_encoded, gradients, None, scratch);
            self.network.tuned.iter().for_each(|&start| gradients[start..].fill(0.0));
            return;
        };
        let width = layer.weights.n_rows;
        let to_vectors = Some((resize(d_vectors, n_rows * width), Sum::Fresh));
        layer.back(&self.packed.encoded, &encoding.encoder_x, d_encoded, gradients, to_vectors, scratch);
        encoding.encoder_dropout.back(d_vectors);
        d_words.clear();
        for (sentence, position) in encoding.batch.words() {
            let at = encoding.batch.row(sentence, position) * width;
            d_words.extend_from_slice(&d_vectors[at..at + width]);
        }
        encoder.back(packed, &encoding.encoder, d_words, back, &mut gradients[start..]);
    }

    /// Reads the words in context.
    pub(super) fn read_context(&self, encoding: &mut Encoding, mut noise: Option<&mut Rng>) {
        let config = &self.network.config;
        let Encoding { batch, input, joined, lstms, outputs, dropouts, first, .. } = encoding;
        let input = if self.network.encoded.is_some() { joined } else { input };
        lstms.resize_with(config.layers, LstmMemory::default);
        outputs.resize_with(config.layers, Vec::new);
        dropouts.resize_with(1 + config.layers, Dropout::default);
        let mut n_in = self.joined_size();
        for (layer, packed) in self.packed.lstms.iter().enumerate() {
            let (before, after) = outputs.split_at_mut(layer);
            let x = before.last().map_or(&*input, |output| output);
            packed.apply(batch, x, n_in, &mut lstms[layer]);
            n_in = 2 * config.units;
            after[0].clear();
            after[0].extend_from_slice(&lstms[layer].h[..batch.n_rows() * n_in]);
            if let Some(rng) = noise.as_deref_mut() {
                dropouts[1 + layer].apply(&mut after[0], config.dropout, rng);
            }
        }
        self.first_of(outputs.last().expect("there is a layer"), first);
    }

    /// Reads the words in context for parsing alone: one memory serves all layers, and what words add to the hidden units is
    /// left to [`Self::first_of_batch`].
    pub(super) fn read_context_to_parse(&self, encoding: &mut Encoding) {
        let Encoding { batch, input, joined, lstms, outputs, .. } = encoding;
        let input = if self.network.encoded.is_some() { joined } else { input };
        lstms.resize_with(1, LstmMemory::default);
        outputs.resize_with(1, Vec::new);
        let (memory, output) = (&mut lstms[0], &mut outputs[0]);
        let mut n_in = self.joined_size();
        for (layer, packed) in self.packed.lstms.iter().enumerate() {
            packed.apply(batch, if layer == 0 { input } else { output }, n_in, memory);
            n_in = self.context_size();
            std::mem::swap(output, &mut memory.h);
        }
    }

    /// Computes what the words of a batch, whose contexts were read, add to the hidden units for each place.
    pub(super) fn first_of_batch(&self, encoding: &mut Encoding) {
        let Encoding { outputs, first, .. } = encoding;
        self.first_of(outputs.last().expect("there is a layer"), first);
    }

    /// Numbers of a word in context.
    pub(super) fn context_size(&self) -> usize {
        2 * self.network.config.units
    }

    /// Computes what words add to the hidden units for each place, from their vectors in context.
    pub(super) fn first_of(&self, vectors: &[f32], first: &mut Vec<f32>) {
        let (width, size) = (self.context_size(), self.first_size());
        let first = resize(first, vectors.len() / width * size);
        self.packed.first.apply(Left::dense(vectors, width), first, size);
    }

    /// The most probable tag of each word, for each set of tags: that of each row.
    pub(super) fn tags(&self, encoding: &Encoding, scratch: &mut Vec<f32>) -> Vec<Vec<usize>> {
        let (n_rows, n_in) = (encoding.batch.n_rows(), 2 * self.network.config.units);
        let output = encoding.outputs.last().expect("there is a layer");
        let taggers = self.packed.taggers.iter().zip(&self.network.tag_sets);
        taggers
            .map(|(tagger, set)| {
                let n_tags = set.tags.len();
                let scores = resize(scratch, n_rows * n_tags);
                tagger.apply(Left::dense(output, n_in), scores, n_tags);
                let best = |row: &[f32]| {
                    (1..n_tags).fold(0, |best, tag| if row[tag] > row[best] { tag } else { best })
                };
                scores.chunks_exact(n_tags).map(best).collect()
            })
            .collect()
    }

    /// Looks at a configuration and sums up its hidden units; `row` says where a word's part of `first` is.
    pub(super) fn look(
        &self,
        forest: &Forest,
        view: &View,
        first: &[f32],
        row: impl Fn(usize) -> usize,
        states: &mut States,
    ) {
        let Network { absent, labels, places, .. } = self.network;
        let size = self.network.n_hidden();
        let start = states.n_states * size;
        states.hidden.resize(start + size, 0.0);
        let hidden = &mut states.hidden[start..];
        hidden.fill(0.0);
        places.look(forest, view, |place, seen, label| {
            let word = match seen {
                Seen::Nothing => NOTHING,
                Seen::Root => ROOT,
                Seen::Word(word) => row(word) as u32,
            };
            match word {
                NOTHING => add(absent.row(self.all, 2 * place), hidden),
                ROOT => add(absent.row(self.all, 2 * place + 1), hidden),
                row => {
                    let at = row as usize * self.first_size() + place * size;
                    add(&first[at..at + size], hidden);
                }
            }
            if let Some(label) = label {
                add(labels.row(self.all, place * N_LABELS + label), hidden);
            }
            states.words.push(word);
            states.labels.push(label.map_or(NO_LABEL, |label| label as u32));
        });
        hidden.iter_mut().for_each(|value| *value = value.max(0.0));
        states.n_states += 1;
    }

    /// The scores of the configurations from `start` on, to rows that begin every `stride` numbers.
    pub(super) fn scores(&self, states: &States, start: usize, out: &mut [f32], stride: usize) {
        let size = self.network.n_hidden();
        let hidden = &states.hidden[start * size..states.n_states * size];
        self.packed.output.apply(Left::dense(hidden, size), out, stride);
    }

    /// The way back, from the gradients of the scores of states, and from the tags of the words; the gradients of all but
    /// embeddings go to `gradients`, whatever was there. Gives the sum of the losses of tags.
    pub(super) fn back(
        &self,
        encoding: &mut Encoding,
        states: &States,
        memory: &mut BackMemory,
        gradients: &mut [f32],
    ) -> f64 {
        let Network { config, characters, input, lstms, first, .. } = self.network;
        let (n_rows, n_out, size) = (encoding.batch.n_rows(), 2 * config.units, self.network.n_hidden());
        let BackMemory { d_hidden, d_first, d_output, d_below, d_tags, scratch, .. } = &mut *memory;
        let d_hidden = resize(d_hidden, states.n_states * size);
        self.network.output.back(&states.hidden, &states.gradients, gradients, scratch);
        let of_scores = Left::dense(&states.gradients, self.network.n_actions());
        self.packed.output.back_to_input(of_scores, d_hidden, size, Sum::Fresh);
        d_hidden.iter_mut().zip(&states.masks).for_each(|(gradient, mask)| *gradient *= mask);
        let pairs = d_hidden.iter_mut().zip(&states.hidden);
        pairs.filter(|(_, hidden)| **hidden <= 0.0).for_each(|(gradient, _)| *gradient = 0.0);
        let d_first = resize(d_first, n_rows * self.first_size());
        self.spread(states, d_hidden, d_first, gradients);
        let last = encoding.outputs.last().expect("there is a layer");
        let to_output = Some((resize(d_output, n_rows * n_out), Sum::Fresh));
        first.back(&self.packed.first, last, d_first, gradients, to_output, scratch);
        let loss = self.back_from_tags(encoding, d_tags, gradients, d_output, scratch);
        let Encoding { batch, input: of_words, joined, lstms: memories, outputs, dropouts, .. } = encoding;
        let joined = if self.network.encoded.is_some() { joined } else { of_words };
        for (layer, lstm) in lstms.iter().enumerate().rev() {
            dropouts[1 + layer].back(d_output);
            let x = if layer == 0 { &*joined } else { &*outputs[layer - 1] };
            let n_in = if layer == 0 { self.joined_size() } else { n_out };
            let to = resize(d_below, n_rows * n_in);
            lstm.back(
                &self.packed.lstms[layer],
                (batch, x),
                &mut memories[layer],
                (d_output, to),
                gradients,
                scratch,
            );
            // What comes out below is what goes into the next layer.
            std::mem::swap(d_output, d_below);
        }
        self.back_to_encoder(encoding, memory, gradients);
        let BackMemory { d_output, dx, scratch, .. } = memory;
        let Encoding { rows, characters: spelt, x, input: of_words, dropouts, .. } = encoding;
        leaky_relu_back(of_words, d_output);
        let dx = resize(dx, n_rows * input.weights.n_rows);
        input.back(&self.packed.input, x, d_output, gradients, Some((&mut *dx, Sum::Fresh)), scratch);
        dropouts[0].back(dx);
        if let Some(characters) = characters {
            let (n_in, width) = (input.weights.n_rows, characters.width());
            let of_characters = dx.chunks_exact(n_in).map(|dx| &dx[n_in - width..]);
            let d_words = rows.forms.iter().copied().zip(of_characters);
            let packed = &self.packed.characters;
            characters.back(packed, &rows.spellings, d_words, spelt, gradients, scratch);
        }
        loss
    }

    /// From hidden units to what they are sums of.
    fn spread(&self, states: &States, d_hidden: &[f32], d_first: &mut [f32], gradients: &mut [f32]) {
        let Network { absent, labels, places, .. } = self.network;
        let (size, n_places) = (self.network.n_hidden(), places.len());
        d_first.fill(0.0);
        absent.of_mut(gradients).fill(0.0);
        labels.of_mut(gradients).fill(0.0);
        for (i, gradient) in d_hidden.chunks_exact(size).enumerate() {
            for place in 0..n_places {
                match states.words[i * n_places + place] {
                    NOTHING => add(gradient, absent.row_mut(gradients, 2 * place)),
                    ROOT => add(gradient, absent.row_mut(gradients, 2 * place + 1)),
                    row => {
                        let at = row as usize * self.first_size() + place * size;
                        add(gradient, &mut d_first[at..at + size]);
                    }
                }
                let label = states.labels[i * n_places + place];
                if label != NO_LABEL {
                    add(gradient, labels.row_mut(gradients, place * N_LABELS + label as usize));
                }
            }
        }
    }

    /// From the tags of words, if they are learnt, to the vectors in context.
    fn back_from_tags(
        &self,
        encoding: &Encoding,
        d_tags: &mut Vec<f32>,
        gradients: &mut [f32],
        d_output: &mut [f32],
        scratch: &mut Scratch,
    ) -> f64 {
        let Network { config, tag_sets, taggers, .. } = self.network;
        let (n_rows, output) = (encoding.batch.n_rows(), encoding.outputs.last().expect("there is a layer"));
        let mut loss = 0.0;
        for (i, (layer, packed)) in taggers.iter().zip(&self.packed.taggers).enumerate() {
            let n_tags = tag_sets[i].tags.len();
            let d_tags = resize(d_tags, n_rows * n_tags);
            packed.apply(Left::dense(output, 2 * config.units), d_tags, n_tags);
            for (row, &tag) in d_tags.chunks_exact_mut(n_tags).zip(&encoding.tags[i * n_rows..]) {
                if tag == NONE {
                    row.fill(0.0);
                    continue;
                }
                softmax(row);
                let right = &mut row[tag as usize];
                loss -= f64::from(config.tag_weight) * f64::from(right.max(f32::MIN_POSITIVE)).ln();
                *right -= 1.0;
                row.iter_mut().for_each(|gradient| *gradient *= config.tag_weight);
            }
            layer.back(packed, output, d_tags, gradients, Some((&mut *d_output, Sum::Added)), scratch);
        }
        loss
    }
}

impl Encoding {
    /// The vectors of words in context.
    pub(super) fn context(&self) -> &[f32] {
        self.outputs.last().expect("there is a layer")
    }
}

impl States {
    /// Forgets all configurations.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.labels.clear();
        self.hidden.clear();
        self.gradients.clear();
        self.masks.clear();
        self.n_states = 0;
    }

    /// Leaves out hidden units of the configurations from `start` on.
    pub(super) fn drop_hidden(&mut self, start: usize, p: f64, dropout: &mut Dropout, rng: &mut Rng) {
        if p == 0.0 || self.n_states == 0 {
            return;
        }
        let size = self.hidden.len() / self.n_states;
        dropout.apply(&mut self.hidden[start * size..], p, rng);
        self.masks.extend_from_slice(dropout.mask());
    }

    pub(super) fn len(&self) -> usize {
        self.n_states
    }

    /// Adds the gradients of the scores of the next configuration.
    pub(super) fn push_gradients(&mut self, row: &[f32]) {
        self.gradients.extend_from_slice(row);
    }
}
