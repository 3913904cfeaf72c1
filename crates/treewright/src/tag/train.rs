//! Training: an averaged perceptron for each layer, which learns from its own decisions on the left.

use super::classes::WordClasses;
use super::decode::{Layer, Sequence, Setting, best_of};
use super::labels::Labels;
use super::lexicon::{Counts, Entry, Lexicon};
use super::weights::{Frozen, Learning, Rows};
use super::words::{Analyser, Keys};
use super::{Progress, TagConfig, Tagger};
use crate::error::{Code, Error, Result};
use crate::rng::Rng;
use crate::sentence::Sentence;

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

    /// Puts the scores of a word on its own into `scores`.
    fn score_own<R: Rows>(
        &self,
        layer: Layer,
        setting: &Setting<'_>,
        i: usize,
        rows: &R,
        scores: &mut Vec<i32>,
    ) {
        scores.resize(layer.n_labels(setting.labels), 0);
        setting.score_own(
            layer,
            &self.sequence.words[self.sequence.places().start + i],
            self.own(i),
            rows,
            scores,
        );
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
    let mut analyser = Analyser::default();
    let mut of_sentence = |(i, sentence): (usize, &Sentence)| {
        let (mut sequence, mut keys, mut starts) = (Sequence::default(), Vec::new(), vec![0]);
        sequence.start();
        for token in &sentence.tokens {
            let form = analyser.keys(&token.form);
            let word = analyser.word(&token.form, form, entries(form), lexicon, classes, &mut keys);
            sequence.words.push(word);
            starts.push(keys.len());
        }
        sequence.finish();
        Example { sequence, keys, starts, gold: gold(i) }
    };
    sentences.iter().enumerate().map(&mut of_sentence).collect()
}

/// Learns from one sentence; gives the number of wrong decisions, and of decisions.
fn learn(
    layer: Layer,
    setting: &Setting<'_>,
    example: &mut Example,
    learning: &mut Learning,
    scratch: &mut (Vec<i32>, Vec<u16>, Vec<u32>),
) -> (u64, u64) {
    let (scores, candidates, keys) = scratch;
    let (mut errors, mut of) = (0, 0);
    for (i, at) in example.sequence.places().enumerate() {
        let Some(gold) = example.gold[i] else { continue };
        let word = example.sequence.words[at];
        let gold_tag = setting.labels.tag_of(gold);
        let gold = match layer {
            Layer::Tags => {
                candidates.clear();
                match setting.tags_of(&word) {
                    Some(tags) => candidates.extend_from_slice(tags),
                    None => candidates.extend(0..setting.labels.n_tags() as u16),
                }
                gold_tag
            }
            Layer::Readings => {
                setting.readings_of(&word, gold_tag, candidates);
                gold
            }
        };
        let mut chosen = candidates[0];
        // Where the dictionary leaves no choice there is nothing to learn.
        if candidates.len() > 1 {
            learning.tick();
            of += 1;
            example.score_own(layer, setting, i, learning, scores);
            keys.clear();
            match layer {
                Layer::Tags => setting.score_tag(&example.sequence, at, |key| keys.push(key)),
                Layer::Readings => setting.score_reading(&example.sequence, at, |key| keys.push(key)),
            }
            keys.iter().for_each(|&key| learning.add(key, scores));
            chosen = best_of(Some(candidates), scores);
            if chosen != gold {
                errors += 1;
                if candidates.contains(&gold) {
                    let own = &example.keys[example.starts[i]..example.starts[i + 1]];
                    own.iter().chain(&*keys).for_each(|&key| learning.update(key, gold, chosen));
                }
            }
        }
        match layer {
            Layer::Tags => example.sequence.tags[at] = chosen,
            Layer::Readings => example.sequence.readings[at] = chosen,
        }
    }
    (errors, of)
}

/// The share of right tags, or of right readings where the tag is given, in percent.
fn accuracy(layer: Layer, setting: &Setting<'_>, examples: &[Example], rows: &Frozen) -> Option<f64> {
    let (mut scores, mut candidates) = (Vec::new(), Vec::new());
    let (mut right, mut all) = (0u64, 0u64);
    for example in examples {
        let mut sequence = example.sequence.clone();
        let first = sequence.places().start;
        let own =
            |at: usize, scores: &mut Vec<i32>| example.score_own(layer, setting, at - first, rows, scores);
        match layer {
            Layer::Tags => setting.tag(&mut sequence, rows, &mut scores, own),
            Layer::Readings => setting.read(&mut sequence, rows, &mut scores, &mut candidates, own),
        }
        for (at, gold) in sequence.places().zip(&example.gold) {
            all += 1;
            right += u64::from(gold.is_some_and(|gold| match layer {
                Layer::Tags => sequence.tags[at] == setting.labels.tag_of(gold),
                Layer::Readings => sequence.readings[at] == gold,
            }));
        }
    }
    (all > 0).then(|| right as f64 * 100.0 / all as f64)
}

/// Trains one layer; the best epoch on `dev` counts, or the last without one.
fn train_layer(
    layer: Layer,
    config: &TagConfig,
    setting: &Setting<'_>,
    train: &mut [Example],
    dev: &[Example],
    log: &mut dyn FnMut(&Progress),
) -> Frozen {
    let n_labels = layer.n_labels(setting.labels);
    let mut learning = Learning::default();
    let mut best: Option<(f64, Frozen)> = None;
    let mut scratch = (Vec::new(), Vec::new(), Vec::new());
    for epoch in 1..=config.epochs {
        let mut order: Vec<usize> = (0..train.len()).collect();
        Rng::new(config.seed.wrapping_add((epoch as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
            .shuffle(&mut order);
        let (mut errors, mut of) = (0, 0);
        for i in order {
            let counts = learn(layer, setting, &mut train[i], &mut learning, &mut scratch);
            errors += counts.0;
            of += counts.1;
        }
        let is_last = epoch == config.epochs;
        let mut score = None;
        if is_last || !dev.is_empty() {
            let frozen = learning.frozen(n_labels, config.min_updates, config.least_weight);
            score = accuracy(layer, setting, dev, &frozen);
            if best.as_ref().is_none_or(|(highest, _)| score.unwrap_or(f64::MAX) > *highest) {
                best = Some((score.unwrap_or(0.0), frozen));
            }
        }
        log(&Progress::Epoch { layer: layer.name(), epoch, errors, of, dev: score });
    }
    best.map_or_else(|| learning.frozen(n_labels, 1, 0.0), |(_, frozen)| frozen)
}

/// See [`Tagger::train`].
pub(super) fn train(
    train: &[Sentence],
    dev: &[Sentence],
    config: &TagConfig,
    log: &mut dyn FnMut(&Progress),
) -> Result<Tagger> {
    let bad = |message: &str| Err(Error::new(Code::BadTraining, 0, 0, message));
    if config.epochs == 0 {
        return bad("a tagger needs at least one epoch");
    }
    let (labels, gold) = Labels::of(train);
    if labels.columns == [false; super::labels::N_COLUMNS] {
        return bad("no token of the training data has a tag: there is nothing to learn for a tagger");
    }
    let classes = config.classes.as_deref().cloned().unwrap_or_default();
    let mut analyser = Analyser::default();
    let mut counts = Counts::default();
    let tokens = || train.iter().flat_map(|sentence| &sentence.tokens).zip(gold.iter().flatten());
    let mut token_keys = Vec::new();
    for (token, &reading) in tokens() {
        let keys = analyser.keys(&token.form);
        counts.add(keys.form, reading);
        counts.add(keys.folded, reading);
        token_keys.push((keys, reading));
    }
    let mut lexicon = Lexicon::of(&counts, &labels);
    let n_classes = lexicon.classes.len();
    let mut left_out = Vec::with_capacity(token_keys.len());
    for (keys, reading) in token_keys {
        left_out.push(
            [keys.form, keys.folded].map(|key| counts.without(key, reading, &mut lexicon.classes, &labels)),
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
    let setting = Setting {
        labels: &labels,
        lexicon: &lexicon,
        has_classes: !classes.is_empty(),
        trust_tags: config.trust_tags,
        trust_readings: config.trust_readings,
    };
    let first = train_layer(Layer::Tags, config, &setting, &mut train_examples, &dev_examples, log);
    let mut second = Learning::default().frozen(labels.n_readings(), 0, 0.0);
    if labels.has_second_layer() {
        for example in train_examples.iter_mut().chain(&mut dev_examples) {
            for (at, gold) in example.sequence.places().zip(&example.gold) {
                example.sequence.tags[at] = gold.map_or(0, |gold| labels.tag_of(gold));
            }
        }
        second = train_layer(Layer::Readings, config, &setting, &mut train_examples, &dev_examples, log);
    }
    lexicon.classes.truncate(n_classes);
    let (trust_tags, trust_readings) = (config.trust_tags, config.trust_readings);
    Ok(Tagger { labels, lexicon, classes, first, second, trust_tags, trust_readings })
}
