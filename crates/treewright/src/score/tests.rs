//! The perceptron against slow and simple twins.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Frozen, FrozenWeights, Learner, Perceptron, Rows, Scorer};
use crate::features::{TemplateSet, Vocabulary};
use crate::forest::{Forest, View};
use crate::ids::{ActionId, TokenIdx};
use crate::rng::Rng;
use crate::sentence::Sentence;
use crate::system::ActionSet;

const N_ACTIONS: usize = 37;

fn sentence() -> Sentence {
    let words: Vec<(String, String)> =
        (0..12).map(|i| (format!("w{}", i % 5), format!("T{}", i % 3))).collect();
    Sentence::from_tagged(words.iter().map(|(w, t)| (w.as_str(), t.as_str())))
}

fn perceptron(sentence: &Sentence) -> Perceptron {
    let templates =
        TemplateSet::parse("b0.w b0.t b1.t b0.w+b1.t b0.t+b1.t+b2.t b0.w+b1.w+b2.w").expect("a set");
    let mut perceptron = Perceptron::new(Vocabulary::of([sentence].into_iter()), templates, N_ACTIONS);
    perceptron.start_sentence(sentence);
    perceptron
}

fn view(next: usize) -> View {
    let next = TokenIdx::new(next);
    View { stack: None, deque_top: None, deque: None, n_deque: 0, buffer: None, next, past: None }
}

/// A perceptron after random updates, and after each the rows it gives; the average of these is the truth.
fn after_updates(seed: u64, updates: usize) -> (Perceptron, Forest, Vec<Vec<f64>>) {
    let sentence = sentence();
    let mut learner = perceptron(&sentence);
    let mut forest = Forest::new();
    forest.start(sentence.len(), false);
    let mut rng = Rng::new(seed);
    let mut sums = vec![vec![0.0; N_ACTIONS]; sentence.len()];
    let views: Vec<View> = (0..sentence.len()).map(view).collect();
    let mut rows = Rows::default();
    for _ in 0..updates {
        // What scored the example is the weights before its update.
        learner.score(&forest, &views, &mut rows);
        for (i, sum) in sums.iter_mut().enumerate() {
            sum.iter_mut().zip(rows.row(i)).for_each(|(sum, &score)| *sum += f64::from(score));
        }
        for by in [1.0, -1.0] {
            let action = ActionId::new(rng.below(N_ACTIONS));
            learner.nudge(&forest, &view(rng.below(sentence.len())), action, by);
        }
        learner.end_batch();
    }
    learner.score(&forest, &views, &mut rows);
    for (i, sum) in sums.iter_mut().enumerate() {
        sum.iter_mut().zip(rows.row(i)).for_each(|(sum, &score)| *sum += f64::from(score));
        sum.iter_mut().for_each(|sum| *sum /= (updates + 1) as f64);
    }
    (learner, forest, sums)
}

#[test]
fn lazy_averages_are_true_averages_and_freezing_keeps_them() {
    for updates in [1, 7, 300, 3000] {
        let (learner, forest, truth) = after_updates(updates as u64, updates);
        let weights = FrozenWeights::of(&learner, 0.0).expect("few weights");
        let vocabulary = Arc::new(learner.vocabulary().clone());
        let mut frozen = Frozen::new(vocabulary, learner.templates(), weights);
        frozen.start_sentence(&sentence());
        let mut rows = Rows::default();
        frozen.score(&forest, &(0..truth.len()).map(view).collect::<Vec<_>>(), &mut rows);
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

#[test]
fn a_batch_is_scored_as_one_by_one() {
    let (mut learner, forest, _) = after_updates(5, 500);
    let mut frozen = Frozen::new(
        Arc::new(learner.vocabulary().clone()),
        learner.templates(),
        FrozenWeights::of(&learner, 0.0).expect("few weights"),
    );
    frozen.start_sentence(&sentence());
    learner.start_sentence(&sentence());
    let views: Vec<View> = (0..12).map(view).collect();
    for scorer in [&mut learner as &mut dyn Scorer, &mut frozen] {
        let (mut batch, mut single) = (Rows::default(), Rows::default());
        scorer.score(&forest, &views, &mut batch);
        for (i, view) in views.iter().enumerate() {
            scorer.score(&forest, &[*view], &mut single);
            assert_eq!(batch.row(i), single.row(0));
        }
    }
}

/// What is kept from state to state, used up and kept anew, changes no score.
#[test]
fn what_is_kept_changes_nothing() {
    let sentence = sentence();
    let templates = "s0.w s0.t s1.w s0.w+s1.t b0.w s0.t+b0.t b0.w+b1.t s1.t+s0.t+b0.t s1-s0.dist+s0.t";
    let templates = TemplateSet::parse(templates).expect("a set");
    let mut learner = Perceptron::new(Vocabulary::of([&sentence].into_iter()), templates, N_ACTIONS);
    learner.start_sentence(&sentence);
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
        learner.nudge(&forest, view, ActionId::new(i % N_ACTIONS), 1.0);
    }
    learner.end_batch();
    let weights = FrozenWeights::of(&learner, 0.0).expect("few weights");
    let scorer = || Frozen::new(Arc::new(learner.vocabulary().clone()), learner.templates(), weights.clone());
    let (mut keeping, mut fresh) = (scorer(), scorer());
    keeping.start_sentence(&sentence);
    let (mut kept, mut once) = (Rows::default(), Rows::default());
    // Alone, two and three at a time.
    for (i, views) in views.chunk_by(|_, _| rng.below(3) > 0).enumerate() {
        keeping.score(&forest, views, &mut kept);
        for (k, view) in views.iter().enumerate() {
            fresh.start_sentence(&sentence);
            fresh.score(&forest, &[*view], &mut once);
            assert_eq!(kept.row(k), once.row(0), "{i}: {view:?}");
        }
    }
}

/// The table against a map, through growth and runs that outgrow their room.
#[test]
fn weights_are_those_of_a_map() {
    let sentence = sentence();
    let mut learner = perceptron(&sentence);
    let mut forest = Forest::new();
    forest.start(sentence.len(), false);
    let mut rng = Rng::new(3);
    let mut counts: BTreeMap<(usize, usize), f32> = BTreeMap::new();
    for _ in 0..5000 {
        let (place, action) = (rng.below(12), rng.below(N_ACTIONS));
        learner.nudge(&forest, &view(place), ActionId::new(action), 1.0);
        *counts.entry((place, action)).or_default() += 1.0;
    }
    // A view's own updates count once per template: all six fire unless nothing is left to look at.
    let mut rows = Rows::default();
    learner.score(&forest, &[view(0)], &mut rows);
    for action in 0..N_ACTIONS {
        let own = counts.get(&(0, action)).copied().unwrap_or(0.0);
        assert!(rows.row(0)[action] >= 6.0 * own, "action {action}");
    }
}

#[test]
fn learning_a_step_raises_the_good_action() {
    let sentence = sentence();
    let mut learner = perceptron(&sentence);
    let mut forest = Forest::new();
    forest.start(sentence.len(), false);
    let (mut legal, mut good) = (ActionSet::new(N_ACTIONS), ActionSet::new(N_ACTIONS));
    legal.insert_range(0, 10);
    good.insert(ActionId::new(7));
    let mut rows = Rows::default();
    let mut losses = Vec::new();
    for _ in 0..5 {
        learner.score(&forest, &[view(0)], &mut rows);
        losses.push(learner.learn_step(&forest, &view(0), rows.row(0), &legal, &good));
    }
    assert_eq!(losses, [1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(rows.best(0, &legal), Some(ActionId::new(7)));
}

#[test]
fn the_best_of_a_row_is_the_first_of_the_highest() {
    let mut rng = Rng::new(3);
    for n in [1, 7, 8, 9, 64, 65, 200] {
        for round in 0..50 {
            let mut rows = Rows::default();
            rows.reset(3, n);
            let row = rows.row_mut(1);
            // Few values, so that there are ties; below zero, which is what stands behind the last action.
            row.iter_mut().for_each(|score| *score = -1.0 - rng.below(1 + round / 4) as f32);
            let mut legal = ActionSet::new(n);
            (0..n).filter(|_| rng.below(4) == 0).for_each(|action| legal.insert(ActionId::new(action)));
            let of_blocks: Vec<(usize, f32)> = rows
                .blocks(1, &legal)
                .flat_map(|block| block.higher(f32::NEG_INFINITY).collect::<Vec<_>>())
                .collect();
            assert!(of_blocks.iter().map(|pair| pair.0).eq(legal.indices()));
            let row = rows.row(1);
            assert!(of_blocks.iter().all(|&(action, score)| score == row[action]));
            let highest = legal.indices().map(|action| row[action]).fold(f32::NEG_INFINITY, f32::max);
            let first = legal.iter().find(|action| row[action.index()] == highest);
            assert_eq!(rows.best(1, &legal), first);
        }
    }
}
