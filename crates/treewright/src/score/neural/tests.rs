//! The laws of the network: gradients, batches, threads, files, checkpoints, divergence.

use std::sync::Arc;

use super::any_network::{AnyNetwork, ParsingNetwork};
use super::batch_learner::{LearningNetwork, NetworkLearner};
use super::characters::Alphabet;
use super::encoder::tests::tiny_files;
use super::encoder::{Encoder, EncoderInput};
use super::file::Extra;
use super::gradients::check_some;
use super::layers::{Array, Dropout, Named};
use super::long::MAX_WHOLE;
use super::model::NeuralModel;
use super::network::{BackMemory, Encoding, Network, PackedNetwork, States, Weights};
use super::places::{Places, default_places};
use super::words::{Lexicon, Reader, TagColumn, TagSet, Vectors};
use crate::config::{LossKind, NeuralConfig, TrainConfig};
use crate::error::Result;
use crate::model::Parser;
use crate::registry::SystemTag;
use crate::rng::Rng;
use crate::score::laws::{self, Fixture, Walk, Walks, vectors};
use crate::score::{BatchLearner, Learning, Rows, Scorer, ScorerModel, Shared, StoredScorer, Views};
use crate::sentence::{Sentence, Token};
use crate::train::train;
use crate::tree::TreeKind;
use crate::treebank::Entry;

/// The share that was asked for is left out, and whether a value is does not depend on its neighbour.
#[test]
fn dropout_leaves_out_values_one_by_one() {
    for (p, n) in [(0.25, 40_001), (0.5, 40_002), (0.8, 40_003)] {
        let (mut values, mut dropout) = (vec![2.0; n], Dropout::default());
        dropout.apply(&mut values, p, &mut Rng::new(3));
        let factor = (1.0 / (1.0 - p)) as f32;
        assert!(values.iter().zip(dropout.mask()).all(|(&value, &mask)| value == 2.0 * mask));
        assert!(dropout.mask().iter().all(|&mask| mask == 0.0 || mask == factor));
        let share = |n_out: usize| n_out as f64 / n as f64;
        let is_out: Vec<bool> = values.iter().map(|&value| value == 0.0).collect();
        assert!((share(is_out.iter().filter(|&&is_out| is_out).count()) - p).abs() < 0.01);
        for apart in 1..4 {
            let both = is_out.iter().zip(&is_out[apart..]).filter(|(one, other)| **one && **other).count();
            assert!((share(both) - p * p).abs() < 0.01, "{p}, {apart} apart");
        }
    }
    let mut values = [1.0; 9];
    Dropout::default().apply(&mut values, 0.0, &mut Rng::new(3));
    assert_eq!(values, [1.0; 9]);
}

fn english() -> Vec<Entry> {
    laws::data(SystemTag::ArcHybrid, 30)
}

/// Small sizes, none of them a multiple of what kernels do at once.
fn small() -> NeuralConfig {
    NeuralConfig {
        word_size: 5,
        affix_size: 3,
        affix_rows: 40,
        char_size: 3,
        char_units: 2,
        input_size: 7,
        units: 6,
        hidden: 9,
        encoder_layers: 3,
        encoder_size: 5,
        batch_words: 60,
        ..NeuralConfig::default()
    }
}

fn config(system: SystemTag) -> TrainConfig {
    TrainConfig {
        // The systems for constituents learn with an encoder, one of them its weights, too; the others without.
        neural: NeuralConfig { fine_tune: system == SystemTag::InOrder, ..small() },
        encoder: match system.info().kind {
            TreeKind::Constituents => Arc::new(tiny_files()),
            TreeKind::Dependencies => Arc::default(),
        },
        ..laws::config(system, "neural")
    }
}

/// A tiny encoder, and its arrays for a model file.
fn encoder(is_tuned: bool) -> (Arc<EncoderInput>, Vec<Extra>) {
    let encoder = Encoder::read(&tiny_files(), 3).expect("an encoder");
    let (input, arrays) = EncoderInput::learning(&encoder, &[1, 3], is_tuned);
    (Arc::new(input), arrays)
}

/// The network with a tiny encoder.
fn encoded_network(settings: &NeuralConfig, sentences: &[&Sentence], kind_ends: &[usize]) -> Network {
    let Network { config, reader, tag_sets, places, .. } = network(settings, sentences, kind_ends);
    let (encoder, _) = encoder(settings.fine_tune);
    let header = Some(&encoder.header);
    let mut network = Network::new(&config, reader, header, tag_sets, places, kind_ends.to_vec());
    network.encoder = Some(encoder);
    network
}

fn network(settings: &NeuralConfig, sentences: &[&Sentence], kind_ends: &[usize]) -> Network {
    let reader = Reader {
        lexicon: Lexicon::of(sentences),
        alphabet: (settings.char_size > 0).then(|| Alphabet::of(sentences)),
        vectors: Vectors::of(&vectors()),
        n_rows: settings.affix_rows,
        affixes: settings.affixes,
        tags: settings.tags,
    };
    let tag_sets = TagColumn::ALL.iter().map(|column| TagSet::of(*column, sentences));
    let tag_sets = tag_sets.filter(|set| set.tags.len() > 1).collect();
    let places = Places::parse(default_places(TreeKind::Dependencies, false)).expect("places");
    Network::new(settings, reader, None, tag_sets, places, kind_ends.to_vec())
}

fn array(network: &Network, name: &str) -> Array {
    network.arrays.named.iter().find(|named| named.name == name).expect("the array").array
}

#[test]
fn gradients_of_the_whole_network_are_those_of_finite_differences() {
    check_gradients(false);
}

/// The encoder's own way back is checked by itself, too.
#[test]
fn gradients_of_an_encoder_that_learns_are_those_of_finite_differences() {
    check_gradients(true);
}

fn check_gradients(fine_tune: bool) {
    let settings = NeuralConfig {
        word_size: 2,
        affix_size: 1,
        affix_rows: 4,
        char_size: 1,
        char_units: 1,
        input_size: 4,
        units: 2,
        hidden: 4,
        kind_hidden: 2,
        dropout: 0.0,
        fine_tune,
        ..small()
    };
    let sentences = [
        // Not in the order in which a batch has them.
        Sentence::from_tagged([("the", "D"), ("cat", "")]),
        Sentence::from_tagged([("The", "D"), ("cat", "N"), ("sat", "V")]),
    ];
    let sentences: Vec<&Sentence> = sentences.iter().collect();
    let (kind_ends, mut walk) = SystemTag::ArcHybrid.visit(Walks);
    let network = encoded_network(&settings, &sentences, &kind_ends);
    let n_actions = network.n_actions();
    let mut all = network.start(&mut Rng::new(3));
    // Far from where ReLU bends, with values on both sides: each unit is above 0 in every state, or below.
    for name in ["input.bias", "encoded.bias", "first.bias", "absent"] {
        let signs = [2.0, -2.0].into_iter().cycle();
        array(&network, name).of_mut(&mut all).iter_mut().zip(signs).for_each(|(bias, sign)| *bias = sign);
    }
    // The numbers of word vectors are large.
    for name in ["input.weights", "encoded.weights"] {
        array(&network, name).of_mut(&mut all).iter_mut().for_each(|weight| *weight *= 0.25);
    }
    let walks: Vec<Walk> = sentences.iter().map(|sentence| walk(sentence)).collect();
    let n_states: usize = walks.iter().map(|(_, views)| views.len()).sum();
    let wanted = super::kernel::tests::random(&mut Rng::new(4), n_states * n_actions);
    // The scores, weighed at random, and the loss of tags.
    let run = |all: &[f32], gradients: Option<&mut [f32]>| -> f64 {
        let mut packed = PackedNetwork::default();
        network.pack(all, true, &mut packed);
        let weights = Weights { network: &network, packed: &packed, all };
        let (mut encoding, mut states) = (Encoding::default(), States::default());
        encoding.is_tuning = true;
        weights.read_words(&sentences, &mut encoding);
        weights.read_tags(&sentences, &mut encoding);
        weights.embed(&mut encoding, None);
        weights.read_encoder(&sentences, &mut encoding, Some(&mut Rng::new(5)));
        weights.read_context(&mut encoding, None);
        for (i, (forest, views)) in walks.iter().enumerate() {
            for view in views {
                let row = |word| encoding.batch.row(i, word);
                weights.look(forest, view, &encoding.first, row, &mut states);
            }
        }
        states.drop_hidden(0, 0.25, &mut Dropout::default(), &mut Rng::new(6));
        let mut scores = vec![0.0; wanted.len()];
        weights.scores(&states, 0, &mut scores, n_actions);
        wanted.chunks(n_actions).for_each(|row| states.push_gradients(row));
        let mut memory = BackMemory::default();
        let mut out = vec![0.0; all.len()];
        let of_tags = weights.back(&mut encoding, &states, &mut memory, &mut out);
        network.add_embedded(&encoding, &memory, &mut out);
        if let Some(gradients) = gradients {
            gradients.copy_from_slice(&out);
        }
        let of_scores = scores.iter().zip(&wanted).map(|(score, by)| f64::from(*score) * f64::from(*by));
        of_scores.sum::<f64>() + of_tags
    };
    let mut gradients = vec![0.0; all.len()];
    run(&all, Some(&mut gradients));
    assert!(
        network
            .arrays
            .named
            .iter()
            .all(|Named { array, .. }| { array.of(&gradients).iter().any(|gradient| *gradient != 0.0) })
    );
    // Labels are many rows that nothing leads to: enough of them for the ones in use.
    let labels = array(&network, "labels");
    let mut used: Vec<usize> = (0..all.len())
        .filter(|i| !(labels.start..labels.start + labels.len()).contains(i) || gradients[*i] != 0.0)
        .collect();
    if let Some(start) = network.tuned {
        used.retain(|&i| i % 11 == 0 && (i >= start || labels.start <= i && i < labels.start + labels.len()));
    }
    assert!(used.iter().any(|i| labels.start <= *i && *i < labels.start + labels.len()), "a label is seen");
    check_some(&all, &gradients, &used, |all| run(all, None));
}

struct Neural;

impl Fixture for Neural {
    fn config(system: SystemTag) -> TrainConfig {
        let mut config = config(system);
        config.neural.tags = system.info().is_binary;
        config
    }

    fn learning() -> Vec<(TrainConfig, f64)> {
        let config = |affixes, loss| {
            let config = config(SystemTag::ArcHybrid);
            let neural = NeuralConfig { affixes, loss, learning_rate: 1e-2, ..config.neural };
            (TrainConfig { epochs: 5, neural, ..config }, 0.7)
        };
        vec![config(true, LossKind::Log), config(false, LossKind::Hinge)]
    }

    fn set_steps(config: &mut TrainConfig, batch_words: usize, learning_rate: f32) {
        (config.neural.batch_words, config.neural.learning_rate) = (batch_words, learning_rate);
    }

    fn untrained(sentences: &[&Sentence], _system: SystemTag, kind_ends: &[usize]) -> Arc<dyn ScorerModel> {
        let network = network(&small(), sentences, kind_ends);
        let all = network.start(&mut Rng::new(8));
        Arc::new(NeuralModel::new(Arc::new(network), &all, &[]))
    }
}

laws::suite!(Neural);

/// One step changes the embeddings of the words of a minibatch.
#[test]
fn embeddings_are_learnt() {
    let sentence = Sentence::from_tagged([("The", "D"), ("cat", "N")]);
    let (kind_ends, mut walk) = SystemTag::ArcHybrid.visit(Walks);
    let places = default_places(TreeKind::Dependencies, false).to_owned();
    let network = network(&NeuralConfig { places, ..small() }, &[&sentence], &kind_ends);
    let (n_embedded, settings) = (network.n_embedded, super::learner::settings(&network.config, None));
    let mut learner = NetworkLearner::new(network, Vec::new(), settings, 1);
    let embeddings = |learner: &NetworkLearner<Network>| {
        let model = learner.freeze().expect("a model");
        let model = read(model.header(), model.words(), &kind_ends).expect("what was written");
        model.numbers()[..n_embedded].to_vec()
    };
    let before = embeddings(&learner);
    let (forest, views) = walk(&sentence);
    let mut parts = learner.parts(0.5);
    let (slot, mut rows) = (parts[0].open_one(&sentence), Rows::default());
    parts[0].score(&[Views { slot, forest: &forest, views: &views }], &mut rows);
    parts[0].backward(&rows);
    parts[0].finish();
    drop(parts);
    learner.step(0.5).expect("gradients are finite");
    assert_ne!(embeddings(&learner), before);
}

/// Tags are learnt beside actions, and found where they are wanted: the same alone as among others.
#[test]
fn tags_are_found_where_they_are_wanted() {
    let data = english();
    let mut config = config(SystemTag::ArcHybrid);
    config.neural = NeuralConfig {
        word_size: 24,
        affix_size: 8,
        input_size: 24,
        units: 24,
        dropout: 0.0,
        word_dropout: 0.0,
        affix_dropout: 0.0,
        learning_rate: 1e-2,
        average: 0.9,
        ..config.neural
    };
    config.epochs = 60;
    let model = train(&config, &data, &[], None, &mut ()).expect("a model");
    let mut worker = Parser::new(model).worker();
    assert!(worker.finds_tags());
    let sentences: Vec<&Sentence> = data.iter().map(|entry| &entry.sentence).collect();
    worker.parse_all(&sentences);
    assert!(worker.take_tags().is_empty(), "nobody wanted them");
    worker.set_tagging(true);
    worker.parse_all(&sentences);
    let together = worker.take_tags();
    sentences.iter().for_each(|sentence| drop(worker.parse(sentence)));
    assert_eq!(worker.take_tags(), together);
    assert!(worker.take_tags().is_empty(), "they were taken");
    let tokens: Vec<_> = sentences.iter().flat_map(|sentence| &sentence.tokens).collect();
    assert_eq!(together.len(), tokens.len());
    let share = |is_right: &dyn Fn(usize) -> bool| {
        (0..tokens.len()).filter(|&i| is_right(i)).count() as f64 / tokens.len() as f64
    };
    let shares = [
        share(&|i| together[i].tag.as_ref() == Some(&tokens[i].tag)),
        share(&|i| together[i].xpos.as_ref() == Some(&tokens[i].xpos)),
        share(&|i| together[i].feats.as_ref() == Some(&tokens[i].feats)),
    ];
    assert!(shares.iter().all(|share| *share > 0.7), "{shares:?}");
}

/// A model from what a file keeps of it.
fn read(header: serde_json::Value, words: &[u32], kind_ends: &[usize]) -> Result<NeuralModel> {
    let shared = Shared { vocabulary: Arc::default(), kind_ends: kind_ends.to_vec() };
    Network::load(StoredScorer { header, words: Arc::new(words.to_vec()) }, shared)
}

#[test]
fn a_network_that_does_not_fit_its_file_is_refused() {
    let sentence = Sentence::from_tagged([("a", "T"), ("b", "U")]);
    let network = network(&small(), &[&sentence], &[1, 3, 5]);
    let all = network.start(&mut Rng::new(8));
    let model = NeuralModel::new(Arc::new(network), &all, &[]);
    let load = |header: &serde_json::Value, words: &[u32], n_actions| {
        read(header.clone(), words, &[1, 3, n_actions]).map(|model| model.words().to_vec())
    };
    let mut header = model.header();
    header["settings"]["places"] = default_places(TreeKind::Dependencies, false).into();
    let words = model.words();
    assert_eq!(load(&header, words, 5).expect("what was written"), words);
    assert!(load(&header, words, 6).is_err(), "another number of actions");
    assert!(load(&header, &words[..words.len() - 1], 5).is_err(), "cut short");
    assert!(load(&header, &[], 5).is_err(), "nothing");
    let mut longer = words.to_vec();
    longer.push(0);
    assert!(load(&header, &longer, 5).is_err(), "too long");
    for (name, value) in [
        ("units", 7.into()),
        ("hidden", 0.into()),
        ("places", "x0".into()),
        ("layers", 65.into()),
        ("char-size", 0.into()),
    ] {
        let mut header = header.clone();
        let value: serde_json::Value = value;
        header["settings"][name] = value;
        assert!(load(&header, words, 5).is_err(), "{name}");
    }
    header["alphabet"] = "ba".into();
    assert!(load(&header, words, 5).is_err(), "characters out of order");
}

#[test]
fn a_network_with_weights_that_are_not_finite_is_refused() {
    let sentence = Sentence::from_tagged([("a", "T"), ("b", "U")]);
    let network = Arc::new(network(&small(), &[&sentence], &[1, 3, 5]));
    let all = network.start(&mut Rng::new(8));
    let load = |model: &NeuralModel| {
        let mut header = model.header();
        header["settings"]["places"] = default_places(TreeKind::Dependencies, false).into();
        read(header, model.words(), &[1, 3, 5])
    };
    let whole = NeuralModel::new(network.clone(), &all, &[]);
    assert!(load(&whole).is_ok());
    for name in ["words", "output.weights", "output.bias"] {
        for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut all = all.clone();
            array(&network, name).of_mut(&mut all)[1] = number;
            let model = NeuralModel::new(network.clone(), &all, &[]);
            let error = load(&model).expect_err(&format!("{name} with {number}"));
            assert!(error.message.contains(name), "{error}");
        }
    }
    // In 8 bits a finite scale can still give an infinite weight.
    let small = whole.quantized().expect("a network can be quantised");
    let header = small.header();
    let mut words = small.words().to_vec();
    let numbers = words.len() / 2..words.len();
    words[numbers].fill(f32::MAX.to_bits());
    let mut settings = header.clone();
    settings["settings"]["places"] = default_places(TreeKind::Dependencies, false).into();
    assert!(read(settings, &words, &[1, 3, 5]).is_err(), "scales near the largest number");
}

/// 8-bit numbers are off by half a step at most, are a quarter of the size, and survive their file.
#[test]
fn numbers_of_eight_bits_are_close_to_those_of_32() {
    let sentence = Sentence::from_tagged([("a", "T"), ("b", "U"), ("a", "T")]);
    let network = Arc::new(network(&NeuralConfig::default(), &[&sentence], &[50]));
    let mut all = network.start(&mut Rng::new(8));
    // A row and a column of zeros, and one that is much larger than the others.
    array(&network, "words").row_mut(&mut all, 1).fill(0.0);
    array(&network, "output.weights")
        .of_mut(&mut all)
        .chunks_mut(50)
        .for_each(|row| (row[3], row[4]) = (0.0, 99.0));
    let model = NeuralModel::new(network.clone(), &all, &[]);
    let small = model.quantized().expect("a network can be quantised");
    assert!(small.words().len() * 10 < model.words().len() * 3, "{} words", small.words().len());
    assert!(small.quantized().is_none(), "once is enough");
    let mut header = small.header();
    header["settings"]["places"] = default_places(TreeKind::Dependencies, false).into();
    let read = read(header, small.words(), &[50]).expect("what was written");
    assert_eq!(read.words(), small.words());
    let numbers = read.numbers();
    for Named { name, array, is_table } in &network.arrays.named {
        let (found, wanted) = (array.of(numbers), array.of(&all));
        for (i, (found, value)) in found.iter().zip(wanted).enumerate() {
            let (row, column) = (i / array.n_columns, i % array.n_columns);
            let of_row = (0..array.n_columns).map(|column| row * array.n_columns + column);
            let of_column = (0..array.n_rows).map(|row| row * array.n_columns + column);
            let largest = |mut places: Box<dyn Iterator<Item = usize>>| {
                places.by_ref().map(|i| wanted[i].abs()).fold(0.0, f32::max)
            };
            let half_step = match array.n_rows {
                1 => 0.0,
                _ if *is_table => largest(Box::new(of_row)) / 254.0,
                _ if i % 97 == 0 => largest(Box::new(of_column)) / 126.0,
                _ => continue,
            };
            assert!((found - value).abs() <= half_step * 1.001, "{name}: {found} for {value}");
        }
    }
}

/// A model with an encoder scores as it does after it was written and read; so does one with 8 bits, which scores nearly the
/// same. Damage is noticed.
#[test]
fn models_keep_their_encoder() {
    [false, true].into_iter().for_each(check_model_with_encoder);
}

/// The model of a network with an encoder, as training gives it.
fn finished(network: Network, all: &[f32]) -> NeuralModel {
    let (network, n, arrays) = match network.finished(all) {
        Some(finished) => finished,
        None => (network, all.len(), encoder(false).1),
    };
    NeuralModel::new(Arc::new(network), &all[..n], &arrays)
}

/// A tuned encoder parses with what was learnt: its scores are nearly those while learning. With other weights they are not, and
/// nobody takes it for the same encoder.
fn check_tuned(
    settings: &NeuralConfig,
    sentences: &[&Sentence],
    all: &[f32],
    model: &NeuralModel,
    scores: impl Fn(&dyn ScorerModel) -> Vec<f32>,
) {
    let network = || encoded_network(settings, sentences, &[5]);
    let mut other = all.to_vec();
    other[network().tuned.expect("an encoder that learns")..].iter_mut().for_each(|number| *number *= 1.2);
    let of = |all: &[f32]| {
        let learning = scores(&NeuralModel::new(Arc::new(network()), all, &encoder(true).1));
        let finished = finished(network(), all);
        let finished = read(finished.header(), finished.words(), &[5]).expect("what was written");
        let pairs = scores(&finished).into_iter().zip(learning).map(|(a, b)| (a - b).abs());
        (pairs.fold(0f32, f32::max), scores(&finished), finished.network.encoder.clone().expect("an encoder"))
    };
    let ((error, own, encoder), (other_error, others, other_encoder)) = (of(all), of(&other));
    assert!(error < 1e-2 && other_error < 1e-2, "{error} {other_error}");
    let difference = own.iter().zip(&others).fold(0f32, |largest, (a, b)| largest.max((a - b).abs()));
    assert!(difference > 0.05, "{difference}");
    assert!(Arc::ptr_eq(&encoder, model.network.encoder.as_ref().expect("an encoder")));
    assert!(!Arc::ptr_eq(&encoder, &other_encoder), "the same sizes, other weights");
}

fn check_model_with_encoder(fine_tune: bool) {
    let sentences: Vec<Sentence> = english().into_iter().map(|entry| entry.sentence).collect();
    let sentences: Vec<&Sentence> = sentences.iter().collect();
    let places = default_places(TreeKind::Dependencies, false).to_owned();
    let settings = NeuralConfig { places, fine_tune, ..small() };
    let network = encoded_network(&settings, &sentences, &[5]);
    let all = network.start(&mut Rng::new(8));
    let model = finished(network, &all);
    let load = |model: &dyn ScorerModel, words: &[u32]| read(model.header(), words, &[5]);
    let scores = |model: &dyn ScorerModel| {
        let mut scorer = model.scorer();
        let mut slots = Vec::new();
        scorer.open(&sentences, &mut slots);
        let (_, mut walk) = SystemTag::ArcHybrid.visit(Walks);
        let (mut rows, mut all) = (Rows::default(), Vec::new());
        for (sentence, &slot) in sentences[..4].iter().zip(&slots) {
            let (forest, views) = walk(sentence);
            scorer.score(&[Views { slot, forest: &forest, views: &views }], &mut rows);
            (0..rows.n_rows()).for_each(|row| all.extend_from_slice(rows.row(row)));
        }
        all
    };
    let expected = scores(&model);
    let again = load(&model, model.words()).expect("what was written");
    assert_eq!(scores(&again), expected, "the vectors are the same, kept or not");
    // Another network with the same encoder shares it, and what it has read.
    let other = load(&model, model.words()).expect("what was written");
    let encoder_of = |model: &NeuralModel| model.network.encoder.clone().expect("an encoder");
    assert!(Arc::ptr_eq(&encoder_of(&other), &encoder_of(&again)));
    assert_eq!(scores(&other), expected);
    assert!(encoder_of(&again).n_kept() > 0);
    assert_eq!(scores(&again), expected, "from what was kept");
    if fine_tune {
        check_tuned(&settings, &sentences, &all, &again, scores);
    }
    let small = model.quantized().expect("it can be quantised");
    let of_small = scores(&*small);
    let loaded = load(&*small, small.words()).expect("what was written");
    assert_eq!(scores(&loaded), of_small);
    assert!(!Arc::ptr_eq(&encoder_of(&loaded), &encoder_of(&again)), "another encoder");
    let largest = expected.iter().fold(0f32, |largest, score| largest.max(score.abs()));
    let error = expected.iter().zip(&of_small).fold(0f32, |largest, (a, b)| largest.max((a - b).abs()));
    assert!(error > 0.0 && error < 0.1 * largest, "{error} of {largest}");
    assert!(load(&model, &model.words()[..model.words().len() - 1]).is_err(), "cut short");
    assert!(load(&model, small.words()).is_err(), "other arrays");
    let mut header = model.header();
    header["encoder"]["outputs"] = serde_json::json!([1, 4]);
    assert!(read(header, model.words(), &[5]).is_err());
}

/// The scores of all states of random derivations of a sentence, which are the same for sentences of one length.
fn scores_of(scorer: &mut dyn Scorer, sentence: &Sentence, is_at_once: bool) -> Vec<f32> {
    let (_, mut walk) = SystemTag::ArcHybrid.visit(Walks);
    let (forest, views) = walk(sentence);
    let slot = scorer.open_one(sentence);
    let (mut rows, mut all) = (Rows::default(), Vec::new());
    for views in views.chunks(if is_at_once { views.len().max(1) } else { 1 }) {
        scorer.score(&[Views { slot, forest: &forest, views }], &mut rows);
        (0..rows.n_rows()).for_each(|row| all.extend_from_slice(rows.row(row)));
    }
    scorer.close(slot);
    all
}

/// Words that hold line ends and tabs are not taken for several words, nor for words with other tags.
#[test]
fn words_with_line_ends_and_tabs_are_no_other_words() {
    let texts = english();
    let texts: Vec<&Sentence> = texts.iter().map(|entry| &entry.sentence).collect();
    let places = default_places(TreeKind::Dependencies, false).to_owned();
    let settings = NeuralConfig { places, tags: true, ..small() };
    let network = encoded_network(&settings, &texts, &[5]);
    let all = network.start(&mut Rng::new(8));
    let model = finished(network, &all);
    let words = |words: &[&str]| Sentence::from_tagged(words.iter().map(|word| (*word, "NN")));
    let tagged = |form: &str, tag: &str, xpos: &str, feats: &str| {
        let (xpos, feats) = (xpos.into(), feats.into());
        let token = Token { xpos, feats, ..Token::new(form, tag) };
        Sentence { tokens: vec![token.clone(), Token::new("the", "DT"), token], ..Sentence::default() }
    };
    let sentences = [
        words(&["the", "cat", "sat", "on"]),
        words(&["the\ncat\nsat\non"]),
        words(&["the\ncat", "sat\non"]),
        words(&["the", "cat", "sat", "on"]),
        words(&["the\ncat\nsat\non"]),
        tagged("cat\tNN", "A", "B", ""),
        tagged("cat", "NN", "A", "B\t"),
        tagged("cat", "NN", "A\tB", ""),
    ];
    let mut scorer = model.scorer();
    for (i, sentence) in sentences.iter().enumerate() {
        let alone = finished(encoded_network(&settings, &texts, &[5]), &all);
        let expected = scores_of(&mut *alone.scorer(), sentence, true);
        assert_eq!(scores_of(&mut *scorer, sentence, true), expected, "{i}");
    }
}

/// The windows of a long sentence give nearly the scores that it has as a whole, whatever is looked at in which order, and
/// the tags of all its words.
#[test]
fn long_sentences_are_read_in_windows() {
    let texts = english();
    let sentences: Vec<&Sentence> = texts.iter().map(|entry| &entry.sentence).collect();
    let places = default_places(TreeKind::Dependencies, false).to_owned();
    let settings = NeuralConfig { places, ..small() };
    // An encoder has windows of its own, which a few words of context do not make alike.
    let network = network(&settings, &sentences, &[5]);
    let all = network.start(&mut Rng::new(8));
    let model = NeuralModel::new(Arc::new(network), &all, &[]);
    let tokens: Vec<Token> = sentences.iter().flat_map(|sentence| sentence.tokens.clone()).collect();
    let first = |n: usize| Sentence { tokens: tokens[..n].to_vec(), ..Sentence::default() };
    for n in [MAX_WHOLE + 1, 2 * MAX_WHOLE + 7] {
        let long = first(n);
        let (weights, mut encoding) = (model.weights(), Encoding::default());
        weights.read_words(&[&long], &mut encoding);
        weights.embed(&mut encoding, None);
        weights.read_context(&mut encoding, None);
        let (forest, views) = SystemTag::ArcHybrid.visit(Walks).1(&long);
        let mut states = States::default();
        views.iter().for_each(|view| weights.look(&forest, view, &encoding.first, |word| word, &mut states));
        let mut whole = vec![0.0; views.len() * 5];
        weights.scores(&states, 0, &mut whole, 5);
        let mut scorer = model.scorer();
        scorer.set_tagging(true);
        let in_windows = scores_of(&mut *scorer, &long, true);
        assert_eq!(scorer.take_tags().len(), n);
        let stride = in_windows.len() / views.len();
        let rows = in_windows.chunks_exact(stride).zip(whole.chunks_exact(5));
        let difference = |(found, exact): (&[f32], &[f32])| -> Vec<f32> {
            found.iter().zip(exact).map(|(a, b)| (a - b).abs()).collect()
        };
        let differences: Vec<f32> = rows.flat_map(difference).collect();
        let largest = differences.iter().copied().fold(0f32, f32::max);
        let mean = differences.iter().sum::<f32>() / differences.len() as f32;
        let size = whole.iter().fold(0f32, |largest, score| largest.max(score.abs()));
        // At the ends of windows, the few words of context that tests have leave more.
        assert!(
            largest > 0.0 && largest < 0.2 * size && mean < 0.02 * size,
            "{mean} and {largest} of {size}"
        );
        assert_eq!(scores_of(&mut *scorer, &long, false), in_windows, "one by one");
        // Sentences of both kinds together.
        let (short, mut slots) = (first(MAX_WHOLE), Vec::new());
        scorer.open(&[&short, &long, &short], &mut slots);
        let mut rows = Rows::default();
        scorer.score(&[Views { slot: slots[1], forest: &forest, views: &views }], &mut rows);
        assert!((0..rows.n_rows()).flat_map(|row| rows.row(row)).eq(&in_windows));
        slots.into_iter().for_each(|slot| scorer.close(slot));
    }
}
