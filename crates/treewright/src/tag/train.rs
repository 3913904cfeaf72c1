//! Training: logistic regression for each layer, which learns from its own decisions on the left.

use std::sync::Arc;

use super::decode::{Layer, Resources, Scratch, Sequence};
use super::labels::Labels;
use super::lexicon::{Counts, Entry, Lexicon};
use super::weights::{TrainingWeights, Weights};
use super::words::{Keys, WordReader};
use super::{Log, Progress, Tables, TagConfig, Tagger};
use crate::error::{Code, Error, Result};
use crate::rng::Rng;
use crate::sentence::Sentence;
use crate::word_classes::WordClasses;

/// A sentence to learn from, or to be measured on.
struct Example {
    sequence: Sequence,
    /// The features of each word on its own, one word after the other.
    keys: Vec<u32>,
    /// Where those of each word begin, and where the last end.
    starts: Vec<usize>,
    /// The right reading of each word; `None` for one never seen in training.
    gold: Vec<Option<u16>>,
}

impl Example {
    fn own(&self, i: usize) -> &[u32] {
        &self.keys[self.starts[i]..self.starts[i + 1]]
    }
}

/// Prepares sentences; `entry` gives the dictionary's entries for a word as written and folded.
fn examples(
    sentences: &[Sentence],
    lexicon: &Lexicon,
    classes: &WordClasses,
    gold: impl Fn(usize) -> Vec<Option<u16>>,
    mut entries: impl FnMut(Keys) -> [Option<Entry>; 2],
) -> Vec<Example> {
    let mut word_reader = WordReader::default();
    let mut of_sentence = |(i, sentence): (usize, &Sentence)| {
        let (mut sequence, mut keys, mut starts) = (Sequence::default(), Vec::new(), vec![0]);
        sequence.start();
        for token in &sentence.tokens {
            let form = word_reader.keys(&token.form);
            let word = word_reader.word(&token.form, form, entries(form), lexicon, classes, &mut keys);
            sequence.words.push(word);
            starts.push(keys.len());
        }
        sequence.finish();
        Example { sequence, keys, starts, gold: gold(i) }
    };
    sentences.iter().enumerate().map(&mut of_sentence).collect()
}

/// Labels less likely than this are not updated: nearly all labels are, and updating them would take nearly all the time.
const MIN_MOVED: f32 = 0.01;

/// The order of the examples in an epoch, and the random numbers for the rest of it.
pub(crate) fn shuffled(n_examples: usize, seed: u64, epoch: usize) -> (Rng, Vec<usize>) {
    let mut rng = Rng::new(seed.wrapping_add((epoch as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    let mut order: Vec<usize> = (0..n_examples).collect();
    rng.shuffle(&mut order);
    (rng, order)
}

/// Memory for learning.
#[derive(Default)]
pub(crate) struct Scratchpad {
    pub candidates: Vec<u16>,
    pub keys: Vec<u32>,
    pub places: Vec<u32>,
    /// By label: its score, then its probability.
    pub scores: Vec<f32>,
    pub gradient: Vec<(u16, f32)>,
}

impl Scratchpad {
    /// Learns from one decision between the candidates with the features `keys`; gives what would have been chosen.
    pub(crate) fn learn(&mut self, gold: u16, weights: &mut TrainingWeights) -> u16 {
        weights.tick();
        weights.places(&self.keys, &mut self.places);
        self.scores.fill(0.0);
        weights.add(&self.places, &mut self.scores);
        let chosen = self.softmax();
        self.derive(gold);
        if !self.gradient.is_empty() {
            weights.learn(&self.keys, &self.places, &self.gradient);
        }
        chosen
    }

    /// Turns the scores of the candidates into probabilities; gives the likeliest (ties go to the first).
    fn softmax(&mut self) -> u16 {
        let Scratchpad { candidates, scores, .. } = self;
        let mut best = candidates[0];
        for &label in &candidates[1..] {
            if scores[usize::from(label)] > scores[usize::from(best)] {
                best = label;
            }
        }
        let highest = scores[usize::from(best)];
        let mut sum = 0.0;
        for &label in candidates.iter() {
            let score = &mut scores[usize::from(label)];
            *score = (*score - highest).exp();
            sum += *score;
        }
        candidates.iter().for_each(|&label| scores[usize::from(label)] /= sum);
        best
    }

    /// The gradient of the log-likelihood of `gold`, from the probabilities; nothing if the model is sure enough.
    fn derive(&mut self, gold: u16) {
        let Scratchpad { candidates, scores, gradient, .. } = self;
        gradient.clear();
        let lacking = 1.0 - scores[usize::from(gold)];
        if lacking <= MIN_MOVED || !candidates.contains(&gold) {
            return;
        }
        gradient.push((gold, lacking));
        for &label in candidates.iter().filter(|&&label| label != gold) {
            let probability = scores[usize::from(label)];
            if probability > MIN_MOVED {
                gradient.push((label, -probability));
            }
        }
    }
}

/// Learns from one sentence; gives the number of wrong decisions, and of decisions.
fn learn(
    layer: Layer,
    resources: &Resources<'_>,
    example: &mut Example,
    weights: &mut TrainingWeights,
    dropout: f64,
    rng: &mut Rng,
    scratch: &mut Scratchpad,
) -> (u64, u64) {
    let (mut errors, mut of) = (0, 0);
    scratch.scores.resize(layer.n_labels(resources.labels), 0.0);
    for (i, at) in example.sequence.places().enumerate() {
        let Some(gold) = example.gold[i] else { continue };
        let gold_tag = resources.labels.tag_of(gold);
        let gold = if layer == Layer::Readings { gold } else { gold_tag };
        resources.candidates(layer, &example.sequence.words[at], gold_tag, &mut scratch.candidates);
        let mut chosen = scratch.candidates[0];
        // Where the dictionary leaves no choice there is nothing to learn.
        if scratch.candidates.len() > 1 {
            of += 1;
            scratch.keys.clear();
            scratch.keys.extend_from_slice(example.own(i));
            resources.context(layer, &example.sequence, at, &mut scratch.keys);
            scratch.keys.retain(|_| rng.unit() >= dropout);
            chosen = scratch.learn(gold, weights);
            errors += u64::from(chosen != gold);
        }
        example.sequence.decided[layer as usize][at] = chosen;
    }
    (errors, of)
}

/// Decides a layer for all examples.
fn decide(layer: Layer, resources: &Resources<'_>, examples: &mut [Example], weights: &Weights) {
    let mut scratch = Scratch::default();
    for example in examples {
        let mut sequence = std::mem::take(&mut example.sequence);
        let first = sequence.places().start;
        let words = sequence.words.clone();
        resources.decide(layer, &mut sequence, weights, &mut scratch, |at, lookup, scores| {
            scores.resize(weights.n_scores(), 0);
            resources.score_own(layer, &words[at], example.own(at - first), weights, lookup, scores);
        });
        example.sequence = sequence;
    }
}

/// The share of right decisions of a layer, in percent.
fn accuracy(layer: Layer, resources: &Resources<'_>, examples: &[Example]) -> Option<f64> {
    let (mut right, mut all) = (0u64, 0u64);
    for example in examples {
        for (at, gold) in example.sequence.places().zip(&example.gold) {
            let decided = example.sequence.decided[layer as usize][at];
            all += 1;
            right += u64::from(gold.is_some_and(|gold| match layer {
                Layer::Guesses | Layer::Tags => decided == resources.labels.tag_of(gold),
                Layer::Readings => decided == gold,
            }));
        }
    }
    (all > 0).then(|| right as f64 * 100.0 / all as f64)
}

/// Trains one layer; the best epoch on `dev` counts, or the last without one.
fn train_layer(
    layer: Layer,
    config: &TagConfig,
    resources: &Resources<'_>,
    train: &mut [Example],
    dev: &mut [Example],
    log: Log<'_>,
) -> Result<Weights> {
    let n_labels = layer.n_labels(resources.labels);
    let mut weights = TrainingWeights::default();
    let mut best: Option<(f64, Weights)> = None;
    let mut scratch = Scratchpad::default();
    let mut guesses = Vec::new();
    for epoch in 1..=config.epochs {
        let (mut rng, order) = shuffled(train.len(), config.seed, epoch);
        let (mut errors, mut of) = (0, 0);
        for i in order {
            let example = &mut train[i];
            let counts =
                learn(layer, resources, example, &mut weights, config.dropout, &mut rng, &mut scratch);
            errors += counts.0;
            of += counts.1;
        }
        // In later epochs, guesses for training sentences are better than they would be for new ones.
        if layer == Layer::Guesses && epoch == 1 {
            guesses = train.iter().map(|example| example.sequence.decided[layer as usize].clone()).collect();
        }
        if epoch == config.open_epochs && epoch < config.epochs {
            // Readings are the easiest to tell apart, and there are many of them.
            let times = if layer == Layer::Readings { 2.0 } else { 1.0 };
            weights.close(times * config.min_feature, config.min_weight);
        }
        let mut score = None;
        // Before small weights are dropped, a layer is too large to be kept.
        if epoch == config.epochs || !dev.is_empty() && epoch > config.open_epochs {
            let averaged = weights.averaged(n_labels)?;
            decide(layer, resources, dev, &averaged);
            score = accuracy(layer, resources, dev);
            if best.as_ref().is_none_or(|(highest, _)| score.is_none_or(|score| score > *highest)) {
                best = Some((score.unwrap_or(0.0), averaged));
            }
        }
        log(&Progress::Epoch { layer: layer.name(), epoch, errors, of, dev: score });
    }
    let (_, averaged) = best.expect("there is an epoch");
    if layer == Layer::Guesses {
        train
            .iter_mut()
            .zip(guesses)
            .for_each(|(example, guess)| example.sequence.decided[layer as usize] = guess);
    }
    decide(layer, resources, dev, &averaged);
    Ok(averaged)
}

impl Tagger {
    /// Trains a tagger for the columns that the training data fills; with development data, each layer is that of its
    /// best epoch. The result depends on the data and the settings alone.
    ///
    /// # Errors
    /// When no token has anything to predict, or the settings make no sense.
    pub fn train(train: &[Sentence], dev: &[Sentence], config: &TagConfig, log: Log<'_>) -> Result<Self> {
        let bad = |message: &str| Err(Error::new(Code::BadTraining, message));
        if config.epochs == 0 {
            return bad("a tagger needs at least one epoch");
        }
        let (labels, gold) = Labels::of(train);
        if labels.columns == [false; super::labels::N_COLUMNS] {
            return bad("no token of the training data has a tag: there is nothing to learn for a tagger");
        }
        let classes = config.vectors.classes(train.iter(), config.seed);
        let mut word_reader = WordReader::default();
        let mut counts = Counts::default();
        let tokens = || train.iter().flat_map(|sentence| &sentence.tokens).zip(gold.iter().flatten());
        let mut token_keys = Vec::new();
        for (token, &reading) in tokens() {
            let keys = word_reader.keys(&token.form);
            counts.add(keys.form, reading);
            counts.add(keys.folded, reading);
            token_keys.push((keys, reading));
        }
        let mut lexicon = Lexicon::of(&counts, &labels);
        let n_classes = lexicon.classes.len();
        let mut left_out = Vec::with_capacity(token_keys.len());
        for (keys, reading) in token_keys {
            left_out.push(
                [keys.form, keys.folded]
                    .map(|key| counts.without(key, reading, &mut lexicon.classes, &labels)),
            );
        }
        let mut left_out = left_out.into_iter();
        let mut train_examples = examples(
            train,
            &lexicon,
            &classes,
            |i| gold[i].iter().map(|&reading| Some(reading)).collect(),
            |_| left_out.next().expect("an entry for every token"),
        );
        let mut dev_examples = examples(
            dev,
            &lexicon,
            &classes,
            |i| dev[i].tokens.iter().map(|token| labels.find(token)).collect(),
            |keys| [keys.form, keys.folded].map(|key| lexicon.get(key)),
        );
        let resources = Resources {
            labels: &labels,
            lexicon: &lexicon,
            has_classes: !classes.is_empty(),
            trust_tags: config.trust_tags,
            trust_readings: config.trust_readings,
        };
        let mut layer = |layer: Layer| {
            if layer == Layer::Readings {
                if !labels.has_choice_of_readings() {
                    return TrainingWeights::default().averaged(labels.n_readings());
                }
                // Readings are learnt, and measured, with the right tags.
                for example in train_examples.iter_mut().chain(&mut dev_examples) {
                    for (at, gold) in example.sequence.places().zip(&example.gold) {
                        example.sequence.decided[Layer::Tags as usize][at] =
                            gold.map_or(0, |gold| labels.tag_of(gold));
                    }
                }
            }
            train_layer(layer, config, &resources, &mut train_examples, &mut dev_examples, log)
        };
        let layers = [layer(Layer::Guesses)?, layer(Layer::Tags)?, layer(Layer::Readings)?];
        lexicon.classes.truncate(n_classes);
        let (trust_tags, trust_readings) = (config.trust_tags, config.trust_readings);
        Ok(Tagger(Arc::new(Tables { labels, lexicon, classes, layers, trust_tags, trust_readings })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log-likelihood of `gold` under these scores of the labels from 0 on.
    fn likelihood(scores: &[f64], gold: usize) -> f64 {
        scores[gold] - scores.iter().map(|score| score.exp()).sum::<f64>().ln()
    }

    #[track_caller]
    fn check_gradient(scores: &[f32], gold: u16) {
        let candidates: Vec<u16> = (0..scores.len() as u16).collect();
        let mut scratch = Scratchpad { candidates, scores: scores.to_vec(), ..Scratchpad::default() };
        let best = scratch.softmax();
        assert!(scores.iter().all(|&score| score <= scores[usize::from(best)]));
        scratch.derive(gold);
        let wide: Vec<f64> = scores.iter().map(|&score| f64::from(score)).collect();
        for label in 0..scores.len() {
            let [less, more] = [-1e-4, 1e-4].map(|by| {
                let mut moved = wide.clone();
                moved[label] += by;
                likelihood(&moved, usize::from(gold))
            });
            let expected = (more - less) / 2e-4;
            let found =
                scratch.gradient.iter().find(|(l, _)| usize::from(*l) == label).map_or(0.0, |(_, by)| *by);
            let error = (expected - f64::from(found)).abs();
            // What is hardly likely is left out.
            assert!(error < if found == 0.0 { 0.011 } else { 1e-4 }, "{label}: {expected} and {found}");
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_likelihood() {
        check_gradient(&[0.0, 0.0], 0);
        check_gradient(&[1.0, -0.5, 0.3], 1);
        check_gradient(&[90.0, 89.0, -90.0, 91.0], 3);
        check_gradient(&[9.0, 0.0], 0);
        check_gradient(&[9.0, 0.0], 1);
    }

    #[test]
    fn an_answer_that_is_no_candidate_teaches_nothing() {
        let mut scratch =
            Scratchpad { candidates: vec![0, 2], scores: vec![0.5; 3], ..Scratchpad::default() };
        scratch.softmax();
        scratch.derive(1);
        assert!(scratch.gradient.is_empty());
    }
}
