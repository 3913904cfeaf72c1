//! Law 7: beam 1 = greedy, an unpruned beam reaches the exhaustive best; for every kind of system.

use super::{Beam, BeamSearch, Decoder, Greedy};
use crate::forest::{Forest, View};
use crate::laws;
use crate::score::{Rows, Scorer};
use crate::sentence::Sentence;
use crate::system::{ActionSet, TransitionSystem};
use crate::systems::{
    arc_hybrid_swap::ArcHybridSwap, bottom_up::BottomUp, bottom_up_2n::BottomUp2n, sr_gap::SrGap,
};

/// Scores that depend on the whole visible configuration and the action, and on nothing else.
struct Noise {
    n_actions: usize,
    seed: u64,
    /// Scores are drawn from so many values: few give ties.
    values: u64,
}

impl Scorer for Noise {
    fn start_sentence(&mut self, _sentence: &Sentence) {}

    fn score(&mut self, forest: &Forest, views: &[View], rows: &mut Rows) {
        rows.reset(views.len(), self.n_actions);
        for (i, view) in views.iter().enumerate() {
            let mut hash = self.seed;
            for part in laws::key(forest, view) {
                hash = (hash ^ u64::from(part)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            }
            for (action, score) in rows.row_mut(i).iter_mut().enumerate() {
                let mut rng = crate::rng::Rng::new(hash ^ action as u64);
                *score = rng.below(self.values as usize) as f32 - self.values as f32 / 2.0;
            }
        }
    }
}

/// The best score of any walk to a final state, by trying all.
fn exhaustive_best<S: TransitionSystem>(system: &S, scorer: &mut Noise, n: usize) -> f64 {
    let mut best = f64::NEG_INFINITY;
    let mut rows = Rows::default();
    let mut scores: Vec<f64> = vec![0.0];
    let mut trail: Vec<View> = Vec::new();
    laws::every_walk(system, n, |forest, state, walk| {
        scores.truncate(walk.len());
        trail.truncate(walk.len());
        if let Some(action) = walk.last() {
            scorer.score(forest, &[trail[walk.len() - 1]], &mut rows);
            let before = scores.last().copied().unwrap_or(0.0);
            scores.push(before + f64::from(rows.row(0)[action.index()]));
        } else {
            scores.push(0.0);
        }
        trail.push(system.view(state));
        if system.is_final(forest, state) {
            best = best.max(scores[walk.len()]);
        }
        true
    });
    best
}

#[track_caller]
fn check<S: TransitionSystem>(system: &S, n: usize, pads: bool) {
    for seed in 0..5 {
        for values in [3, 1000] {
            let mut noise = Noise { n_actions: system.n_actions(), seed, values };
            let sentence = laws::sentence(n);
            let greedy = Greedy::new().decode(system, &mut noise, &sentence).expect("a tree");
            let tree = Greedy::new().tree(system, &mut noise, &sentence);
            assert!(tree.as_ref() == Some(&greedy.tree), "a step without a choice needs no score");
            let one = Beam::new(1).decode(system, &mut noise, &sentence).expect("a tree");
            assert_eq!(greedy.tree, one.tree, "beam 1 is greedy");
            let all = Beam::new(1 << 20).k_best(system, &mut noise, &sentence, usize::MAX);
            assert!(all.windows(2).all(|pair| pair[0].score >= pair[1].score), "best first");
            // IDLE is scored like any action, so padded scores are not those of the bare walks.
            if !pads {
                let best = exhaustive_best(system, &mut noise, n);
                assert_eq!(all[0].score, best, "an unpruned beam is exact");
                assert_eq!(greedy.score, one.score);
            }
            let narrow = Beam::new(4).k_best(system, &mut noise, &sentence, 4);
            assert!(narrow[0].score <= all[0].score);
        }
    }
}

#[test]
fn binary_systems_obey_the_decoder_laws() {
    check(&BottomUp2n::with_labels(["A"], ["X:"], ["ROOT"], [("A", "A"), ("A", "ROOT")]), 3, false);
    check(&SrGap::with_labels(["A"], ["X:"], ["ROOT"]), 3, true);
    check(&BottomUp::with_labels(["A"], ["X:"], ["ROOT"], 1), 2, true);
}

#[test]
fn dependency_systems_obey_the_decoder_laws() {
    check(&ArcHybridSwap::with_labels(["a".into(), "b".into()], true), 3, false);
    check(&ArcHybridSwap::with_labels(["a".into()], false), 4, false);
}

#[test]
fn a_sentence_without_words_has_no_parse() {
    let system = ArcHybridSwap::with_labels(["a".into()], true);
    let mut noise = Noise { n_actions: system.n_actions(), seed: 1, values: 9 };
    assert!(Greedy::new().decode(&system, &mut noise, &Sentence::default()).is_none());
    assert!(Greedy::new().tree(&system, &mut noise, &Sentence::default()).is_none());
    assert!(Beam::new(4).decode(&system, &mut noise, &Sentence::default()).is_none());
}

#[test]
fn scratch_memory_leaves_no_trace() {
    let system = ArcHybridSwap::with_labels(["a".into(), "b".into()], true);
    let mut noise = Noise { n_actions: system.n_actions(), seed: 3, values: 50 };
    let mut search = BeamSearch::default();
    for n in [5, 2, 9, 1, 6] {
        let sentence = laws::sentence(n);
        let fresh = Beam::new(3).k_best(&system, &mut noise, &sentence, 3);
        assert_eq!(Beam::new(3).k_best_in(&mut search, &system, &mut noise, &sentence, 3), fresh);
    }
}

#[test]
fn ties_go_to_the_smaller_action() {
    let mut rows = Rows::default();
    rows.reset(1, 4);
    rows.row_mut(0).copy_from_slice(&[1.0, 5.0, 5.0, 0.0]);
    let mut legal = ActionSet::new(4);
    legal.insert_range(0, 4);
    assert_eq!(rows.best(0, &legal).map(crate::ids::ActionId::index), Some(1));
}

#[test]
fn items_that_lag_are_dropped() {
    let system = ArcHybridSwap::with_labels(["a".into(), "b".into()], true);
    let mut noise = Noise { n_actions: system.n_actions(), seed: 5, values: 1000 };
    let sentence = laws::sentence(6);
    let mut sizes = Vec::new();
    for most_lag in [0.0, 200.0, 800.0, f64::INFINITY] {
        let mut search = BeamSearch::default();
        search.start(&system, &mut noise, &sentence);
        let mut best_of_levels = vec![0.0];
        while !search.is_done(&system) {
            search.step(&system, &mut noise, 8, most_lag);
            best_of_levels.push(search.beam()[0].score);
            for i in search.level..search.items.len() {
                let mut path = Vec::new();
                search.path(i, &mut path);
                let lags =
                    path.iter().zip(&best_of_levels[1..]).map(|(&at, best)| best - search.items[at].score);
                let lag = lags.fold(0.0, f64::max);
                assert_eq!(search.items[i].lag, lag);
                assert!(lag <= most_lag);
            }
        }
        sizes.push(search.items.len());
    }
    assert!(sizes.is_sorted_by(|a, b| a < b), "a smaller lag leaves fewer: {sizes:?}");
    let greedy = Greedy::new().decode(&system, &mut noise, &sentence);
    assert_eq!(Beam { width: 8, most_lag: 0.0 }.decode(&system, &mut noise, &sentence), greedy);
}
