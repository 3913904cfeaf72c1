//! Rows of scores, and scorers that vote.

use super::{Ensemble, Rows, Scorer, SlotId, Slots, Views};
use crate::forest::{Forest, View};
use crate::ids::{ActionId, TokenIdx};
use crate::rng::Rng;
use crate::sentence::Sentence;
use crate::system::ActionSet;

#[test]
fn the_best_of_a_row_is_the_first_of_the_highest() {
    let mut rng = Rng::new(3);
    for n in [1, 7, 8, 9, 64, 65, 200] {
        for round in 0..50 {
            let mut rows = Rows::default();
            rows.reset(3, n);
            let row = rows.row_mut(1);
            // Few values, so that there are ties; below zero, which is what stands after the last action.
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

#[test]
fn rows_are_as_many_as_asked_for_whatever_was_there() {
    let mut rows = Rows::default();
    for (n_rows, n_actions) in [(2, 5), (7, 5), (3, 5), (3, 9), (1, 40), (0, 3), (4, 3)] {
        rows.make(n_rows, n_actions);
        assert_eq!((rows.n_rows(), rows.n_actions()), (n_rows, n_actions));
        (0..n_rows).for_each(|row| rows.row_mut(row).fill(7.0));
    }
    rows.reset(4, 3);
    assert!((0..4).all(|row| rows.row(row) == [0.0; 3]));
}

#[test]
fn probabilities_of_legal_actions_add_up_to_one() {
    let mut rows = Rows::default();
    rows.reset(2, 5);
    rows.row_mut(1).copy_from_slice(&[800.0, 801.0, -3.0, 799.5, 900.0]);
    let mut legal = ActionSet::new(5);
    legal.insert_range(0, 4);
    let total = rows.log_total(1, &legal);
    let sum: f64 = legal.indices().map(|action| (f64::from(rows.row(1)[action]) - total).exp()).sum();
    assert!((sum - 1.0).abs() < 1e-12 && total > 801.0 && total < 802.0, "{total}");
}

/// Scores actions by the length of the sentence, the place of the buffer and a factor.
struct Fixed {
    factor: f32,
    lengths: Slots<usize>,
}

impl Scorer for Fixed {
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        self.lengths.open_all(sentences, slots, || 0, |length, sentence| *length = sentence.len());
    }

    fn close(&mut self, slot: SlotId) {
        self.lengths.close(slot);
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        rows.reset_for(queries, 3);
        for (row, query, view) in Views::by_row(queries) {
            let base = (100 * *self.lengths.get(query.slot) + 10 * view.next.index()) as f32;
            (0..3).for_each(|action| rows.row_mut(row)[action] = self.factor * (base + action as f32));
        }
    }

    fn is_log_linear(&self) -> bool {
        self.factor == 1.0
    }
}

#[test]
fn an_ensemble_adds_up_scores_in_their_units() {
    let fixed = |factor| -> Box<dyn Scorer> { Box::new(Fixed { factor, lengths: Slots::default() }) };
    let mut first = fixed(1.0);
    // The members' slots differ: one has a sentence open already.
    first.open_one(&Sentence::default());
    let mut ensemble = Ensemble::new([(first, 1.0), (fixed(30.0), 10.0)]);
    assert!(ensemble.is_log_linear() && !ensemble.prefers_batches() && !ensemble.finds_tags());
    assert!(!Ensemble::new([(fixed(2.0), 1.0), (fixed(30.0), 10.0)]).is_log_linear());
    let sentences: Vec<Sentence> =
        [2, 3].map(|n| Sentence::from_tagged((0..n).map(|_| ("w", "T")))).into_iter().collect();
    let mut slots = Vec::new();
    ensemble.open(&sentences.iter().collect::<Vec<_>>(), &mut slots);
    let forest = Forest::new();
    let view = |next| View {
        stack: None,
        deque_top: None,
        deque: None,
        n_deque: 0,
        buffer: None,
        next: TokenIdx::new(next),
        past: None,
    };
    let (views, more) = ([view(0), view(1)], [view(2)]);
    let query = |slot, views| Views { slot, forest: &forest, views };
    let mut rows = Rows::default();
    ensemble.score(&[query(slots[1], &views), query(slots[0], &more)], &mut rows);
    let found: Vec<f32> = (0..3).flat_map(|row| rows.row(row).to_vec()).collect();
    // Once as they are, and three times what they are.
    assert_eq!(found, [300, 301, 302, 310, 311, 312, 220, 221, 222].map(|score| 4.0 * score as f32));
    slots.into_iter().for_each(|slot| ensemble.close(slot));
    assert!(Ensemble::new([(fixed(1.0), 1.0)]).is_log_linear());
}
