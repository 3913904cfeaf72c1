//! The perceptron against slow and simple twins.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Frozen, FrozenWeights, Header, Perceptron};
use crate::features::{TemplateSet, Vocabulary};
use crate::forest::{Forest, View};
use crate::ids::{ActionId, TokenIdx};
use crate::rng::Rng;
use crate::score::{Learner, Rows, Scorer, SlotId, Views};
use crate::sentence::Sentence;

const N_ACTIONS: usize = 37;

fn sentence() -> Sentence {
    let words: Vec<(String, String)> =
        (0..12).map(|i| (format!("w{}", i % 5), format!("T{}", i % 3))).collect();
    Sentence::from_tagged(words.iter().map(|(w, t)| (w.as_str(), t.as_str())))
}

fn perceptron(sentence: &Sentence) -> (Perceptron, SlotId) {
    let templates =
        TemplateSet::parse("b0.w b0.t b1.t b0.w+b1.t b0.t+b1.t+b2.t b0.w+b1.w+b2.w").expect("a set");
    let vocabulary = Arc::new(Vocabulary::of([sentence].into_iter()));
    let mut perceptron = Perceptron::new(vocabulary, templates, N_ACTIONS);
    let slot = perceptron.open_one(sentence);
    (perceptron, slot)
}

/// A scorer with what was learnt.
fn frozen(learner: &Perceptron) -> Frozen {
    let weights = FrozenWeights::of(learner, 0.0).expect("few weights");
    Frozen::new(learner.vocabulary().clone(), learner.templates(), weights)
}

fn view(next: usize) -> View {
    let next = TokenIdx::new(next);
    View { stack: None, deque_top: None, deque: None, n_deque: 0, buffer: None, next, past: None }
}

/// A perceptron after random updates, and after each the rows it gives; the average of these is the truth.
fn after_updates(seed: u64, updates: usize) -> (Perceptron, SlotId, Forest, Vec<Vec<f64>>) {
    let sentence = sentence();
    let (mut learner, slot) = perceptron(&sentence);
    let mut forest = Forest::new();
    forest.start(sentence.len(), false);
    let mut rng = Rng::new(seed);
    let mut sums = vec![vec![0.0; N_ACTIONS]; sentence.len()];
    let views: Vec<View> = (0..sentence.len()).map(view).collect();
    let mut rows = Rows::default();
    for _ in 0..updates {
        // What scored the example is the weights before its update.
        learner.score(&[Views { slot, forest: &forest, views: &views }], &mut rows);
        for (i, sum) in sums.iter_mut().enumerate() {
            sum.iter_mut().zip(rows.row(i)).for_each(|(sum, &score)| *sum += f64::from(score));
        }
        for by in [1.0, -1.0] {
            let action = ActionId::new(rng.below(N_ACTIONS));
            learner.backward(slot, &forest, &view(rng.below(sentence.len())), &[(action, by)]);
        }
        learner.step();
    }
    learner.score(&[Views { slot, forest: &forest, views: &views }], &mut rows);
    for (i, sum) in sums.iter_mut().enumerate() {
        sum.iter_mut().zip(rows.row(i)).for_each(|(sum, &score)| *sum += f64::from(score));
        sum.iter_mut().for_each(|sum| *sum /= (updates + 1) as f64);
    }
    (learner, slot, forest, sums)
}

#[test]
fn lazy_averages_are_true_averages_and_freezing_keeps_them() {
    for updates in [1, 7, 300, 3000] {
        let (learner, _, forest, truth) = after_updates(updates as u64, updates);
        let mut frozen = frozen(&learner);
        let slot = frozen.open_one(&sentence());
        let mut rows = Rows::default();
        let views: Vec<View> = (0..truth.len()).map(view).collect();
        frozen.score(&[Views { slot, forest: &forest, views: &views }], &mut rows);
        // Quantised weights have an unknown scale: it is the same for all.
        let scale = truth.iter().flatten().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let (place, largest) = scale.expect("there are scores");
        let unit = f64::from(rows.row(place / N_ACTIONS)[place % N_ACTIONS]) / largest;
        assert!(unit > 100.0, "16 bits are used: {unit}");
        for (i, row) in truth.iter().enumerate() {
            for (action, &score) in row.iter().enumerate() {
                let got = f64::from(rows.row(i)[action]) / unit;
                assert!((got - score).abs() < 0.02 * largest.abs(), "{updates}: {got} for {score}");
            }
        }
    }
}

/// Law 8, with several sentences open, too.
#[test]
fn a_batch_is_scored_as_one_by_one() {
    let (mut learner, _, forest, _) = after_updates(5, 500);
    let mut frozen = frozen(&learner);
    let words: Vec<(String, &str)> = (0..12).map(|i| (format!("w{}", (i + 2) % 5), "T1")).collect();
    let other = Sentence::from_tagged(words.iter().map(|(word, tag)| (word.as_str(), *tag)));
    let views: Vec<View> = (0..12).map(view).collect();
    for scorer in [&mut learner as &mut dyn Scorer, &mut frozen] {
        let mut slots = Vec::new();
        scorer.open(&[&sentence(), &other], &mut slots);
        let query = |slot: usize, views| Views { slot: slots[slot], forest: &forest, views };
        let (mut batch, mut single) = (Rows::default(), Rows::default());
        let queries = [query(0, &views[..5]), query(1, &views[..]), query(0, &views[5..])];
        scorer.score(&queries, &mut batch);
        let mut first_rows = Vec::new();
        for (row, query, view) in Views::by_row(&queries) {
            scorer.score(&[Views { views: &[*view], ..*query }], &mut single);
            assert_eq!(batch.row(row), single.row(0));
            if view.next.index() == 0 {
                first_rows.push(single.row(0).to_vec());
            }
        }
        assert_ne!(first_rows[0], first_rows[1], "the sentences differ");
    }
}

#[test]
#[should_panic(expected = "integer gradients")]
fn a_perceptron_refuses_what_it_would_round() {
    let sentence = sentence();
    let (mut learner, slot) = perceptron(&sentence);
    let mut forest = Forest::new();
    forest.start(sentence.len(), false);
    learner.backward(slot, &forest, &view(0), &[(ActionId::new(1), 0.5)]);
}

/// What is kept from state to state, used up and kept anew, changes no score.
#[test]
fn what_is_kept_changes_nothing() {
    let sentence = sentence();
    let templates = "s0.w s0.t s1.w s0.w+s1.t b0.w s0.t+b0.t b0.w+b1.t s1.t+s0.t+b0.t s1-s0.dist+s0.t";
    let templates = TemplateSet::parse(templates).expect("a set");
    let vocabulary = Arc::new(Vocabulary::of([&sentence].into_iter()));
    let mut learner = Perceptron::new(vocabulary, templates, N_ACTIONS);
    let slot = learner.open_one(&sentence);
    let mut forest = Forest::new();
    forest.start(sentence.len(), false);
    let mut rng = Rng::new(11);
    let mut random_view = |forest: &mut Forest| {
        let mut stack = None;
        for _ in 0..rng.below(3) {
            let node = forest.leaf(TokenIdx::new(rng.below(12)));
            stack = Some(forest.push_cell(node, stack));
        }
        View { stack, ..view(rng.below(13)) }
    };
    let views: Vec<View> = (0..600).map(|_| random_view(&mut forest)).collect();
    for (i, view) in views.iter().enumerate() {
        learner.backward(slot, &forest, view, &[(ActionId::new(i % N_ACTIONS), -1.0)]);
    }
    learner.step();
    let (mut keeping, mut fresh) = (frozen(&learner), frozen(&learner));
    let slot = keeping.open_one(&sentence);
    let (mut kept, mut once) = (Rows::default(), Rows::default());
    // Alone, two and three at a time.
    for (i, views) in views.chunk_by(|_, _| rng.below(3) > 0).enumerate() {
        keeping.score(&[Views { slot, forest: &forest, views }], &mut kept);
        for (k, view) in views.iter().enumerate() {
            let slot = fresh.open_one(&sentence);
            fresh.score(&[Views { slot, forest: &forest, views: &[*view] }], &mut once);
            fresh.close(slot);
            assert_eq!(kept.row(k), once.row(0), "{i}: {view:?}");
        }
    }
}

/// The table against a map, through growth and runs that outgrow their room.
#[test]
fn weights_are_those_of_a_map() {
    let sentence = sentence();
    let (mut learner, slot) = perceptron(&sentence);
    let mut forest = Forest::new();
    forest.start(sentence.len(), false);
    let mut rng = Rng::new(3);
    let mut counts: BTreeMap<(u64, usize), f32> = BTreeMap::new();
    for _ in 0..5000 {
        let (place, action) = (rng.below(12), rng.below(N_ACTIONS));
        learner.backward(slot, &forest, &view(place), &[(ActionId::new(action), -1.0)]);
        for &key in learner.reader.keys(slot, &forest, &view(place)) {
            *counts.entry((key, action)).or_default() += 1.0;
        }
    }
    let mut rows = Rows::default();
    for place in 0..12 {
        learner.score(&[Views { slot, forest: &forest, views: &[view(place)] }], &mut rows);
        let keys = learner.reader.keys(slot, &forest, &view(place));
        let weight = |action| keys.iter().map(|&key| counts.get(&(key, action)).unwrap_or(&0.0)).sum();
        let expected: Vec<f32> = (0..N_ACTIONS).map(weight).collect();
        assert_eq!(rows.row(0), expected, "place {place}");
    }
}

/// Files of version 5 do not say how long fingerprints are.
#[test]
fn headers_of_version_5_mean_whole_fingerprints() {
    let header = serde_json::json!({ "templates": "", "n_buckets": 1, "n_features": 0 });
    let header: Header = serde_json::from_value(header).expect("a header");
    assert_eq!(header.fingerprint_bits, 32);
}
