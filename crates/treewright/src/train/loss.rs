//! Losses: how wrong the scores of a state are, and which way they should move.

use crate::ids::ActionId;
use crate::system::ActionSet;

/// A loss of the scores of one state.
pub(super) trait Loss {
    /// The loss, and its gradient with respect to the scores, which goes to `out`.
    fn gradient(
        &self,
        row: &[f32],
        legal: &ActionSet,
        good: &ActionSet,
        out: &mut Vec<(ActionId, f32)>,
    ) -> f32;
}

/// The perceptron's loss: the best of the good actions should be above the best of the others.
pub(super) struct Perceptron;

impl Loss for Perceptron {
    fn gradient(
        &self,
        row: &[f32],
        legal: &ActionSet,
        good: &ActionSet,
        out: &mut Vec<(ActionId, f32)>,
    ) -> f32 {
        out.clear();
        // The first of the highest.
        let best = |is_good: bool| {
            let candidates = legal.iter().filter(|&action| good.contains(action) == is_good);
            let higher = |best: ActionId, next: ActionId| {
                if row[next.index()] > row[best.index()] { next } else { best }
            };
            candidates.reduce(higher)
        };
        let (Some(right), Some(wrong)) = (best(true), best(false)) else { return 0.0 };
        if row[right.index()] > row[wrong.index()] {
            return 0.0;
        }
        out.extend([(right, -1.0), (wrong, 1.0)]);
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(row: &[f32], good: &[usize], expected: &[(usize, f32)]) {
        let mut legal = ActionSet::new(row.len());
        legal.insert_range(0, row.len() - 1);
        let mut of_good = ActionSet::new(row.len());
        good.iter().for_each(|&action| of_good.insert(ActionId::new(action)));
        let mut out = Vec::new();
        let loss = Perceptron.gradient(row, &legal, &of_good, &mut out);
        let found: Vec<(usize, f32)> = out.iter().map(|&(action, by)| (action.index(), by)).collect();
        assert_eq!(found, expected);
        assert_eq!(loss > 0.0, !expected.is_empty());
    }

    #[test]
    fn the_best_right_action_rises_against_the_best_wrong_one() {
        // The last action is not legal.
        check(&[1.0, 3.0, 2.0, 9.0], &[0, 2], &[(2, -1.0), (1, 1.0)]);
        check(&[1.0, 3.0, 2.0, 9.0], &[1], &[]);
        // A tie is a mistake; of equals the first.
        check(&[1.0, 1.0, 1.0, 9.0], &[1, 2], &[(1, -1.0), (0, 1.0)]);
        check(&[1.0, 1.0, 1.0, 9.0], &[0, 1, 2], &[]);
    }
}
