//! Losses: how wrong the scores of a state are, and which way they should move.

use crate::ids::ActionId;
use crate::system::ActionSet;

/// Which way the scores of actions should move.
pub(super) type Gradient = Vec<(ActionId, f32)>;

/// A loss of the scores of one state.
pub(super) trait Loss {
    /// The loss, and its gradient with respect to the scores, which goes to `out`.
    fn gradient(&self, row: &[f32], legal: &ActionSet, good: &ActionSet, out: &mut Gradient) -> f32;
}

/// The perceptron's loss: the best of the good actions should be above the best of the others.
pub(super) struct PerceptronLoss;

impl Loss for PerceptronLoss {
    fn gradient(&self, row: &[f32], legal: &ActionSet, good: &ActionSet, out: &mut Gradient) -> f32 {
        out.clear();
        let Some([right, wrong]) = rivals(row, legal, good) else { return 0.0 };
        if row[right.index()] > row[wrong.index()] {
            return 0.0;
        }
        out.extend([(right, -1.0), (wrong, 1.0)]);
        1.0
    }
}

/// The best of the good actions and the best of the others, if there are both.
fn rivals(row: &[f32], legal: &ActionSet, good: &ActionSet) -> Option<[ActionId; 2]> {
    Some([highest(row, legal, good, true)?, highest(row, legal, good, false)?])
}

/// The first of the highest actions among those that are good, or among those that are not.
fn highest(row: &[f32], legal: &ActionSet, good: &ActionSet, is_good: bool) -> Option<ActionId> {
    let candidates = legal.iter().filter(|&action| good.contains(action) == is_good);
    let higher =
        |best: ActionId, next: ActionId| if row[next.index()] > row[best.index()] { next } else { best };
    candidates.reduce(higher)
}

/// The hinge loss: the best of the good actions should be above the best of the others by 1.
pub(super) struct HingeLoss;

impl Loss for HingeLoss {
    fn gradient(&self, row: &[f32], legal: &ActionSet, good: &ActionSet, out: &mut Gradient) -> f32 {
        out.clear();
        let Some([right, wrong]) = rivals(row, legal, good) else { return 0.0 };
        let loss = 1.0 - row[right.index()] + row[wrong.index()];
        if loss > 0.0 {
            out.extend([(right, -1.0), (wrong, 1.0)]);
        }
        loss.max(0.0)
    }
}

/// The sum of hinge losses: the best of the good actions should be above each of the others by 1 (Weston and Watkins 1999).
pub(super) struct HingeAllLoss;

impl Loss for HingeAllLoss {
    fn gradient(&self, row: &[f32], legal: &ActionSet, good: &ActionSet, out: &mut Gradient) -> f32 {
        out.clear();
        let Some(right) = highest(row, legal, good, true) else { return 0.0 };
        let mut loss = 0.0;
        for wrong in legal.iter().filter(|&action| !good.contains(action)) {
            let by = 1.0 - row[right.index()] + row[wrong.index()];
            if by > 0.0 {
                out.push((wrong, 1.0));
                loss += by;
            }
        }
        out.push((right, -(out.len() as f32)));
        loss
    }
}

/// Log loss: minus the logarithm of the probability of the good actions together, by a softmax over the legal ones.
pub(super) struct LogLoss;

impl Loss for LogLoss {
    fn gradient(&self, row: &[f32], legal: &ActionSet, good: &ActionSet, out: &mut Gradient) -> f32 {
        out.clear();
        let highest = legal.indices().map(|action| row[action]).fold(f32::NEG_INFINITY, f32::max);
        let best_good = good.indices().map(|action| row[action]).fold(f32::NEG_INFINITY, f32::max);
        let (mut of_all, mut of_good) = (0.0, 0.0);
        for action in legal.iter() {
            let score = row[action.index()];
            let weight = (score - highest).exp();
            of_all += weight;
            // Good actions may be far below the best: their own highest keeps the sum from vanishing.
            of_good += if good.contains(action) { (score - best_good).exp() } else { 0.0 };
            out.push((action, weight));
        }
        for (action, gradient) in &mut *out {
            *gradient /= of_all;
            if good.contains(*action) {
                *gradient -= (row[action.index()] - best_good).exp() / of_good;
            }
        }
        of_all.ln() + highest - of_good.ln() - best_good
    }
}

/// Log loss of the best of the good actions alone: a model with a favourite among them need not change its mind.
pub(super) struct BestLoss;

impl Loss for BestLoss {
    fn gradient(&self, row: &[f32], legal: &ActionSet, good: &ActionSet, out: &mut Gradient) -> f32 {
        out.clear();
        let Some(right) = highest(row, legal, good, true) else { return 0.0 };
        let highest = legal.indices().map(|action| row[action]).fold(f32::NEG_INFINITY, f32::max);
        out.extend(legal.iter().map(|action| (action, (row[action.index()] - highest).exp())));
        let total: f32 = out.iter().map(|(_, weight)| weight).sum();
        for (action, gradient) in &mut *out {
            *gradient = *gradient / total - f32::from(u8::from(*action == right));
        }
        total.ln() + highest - row[right.index()]
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
        let loss = PerceptronLoss.gradient(row, &legal, &of_good, &mut out);
        let found: Vec<(usize, f32)> = out.iter().map(|&(action, by)| (action.index(), by)).collect();
        assert_eq!(found, expected);
        assert_eq!(loss > 0.0, !expected.is_empty());
    }

    #[test]
    fn the_best_right_action_rises_against_the_best_wrong_one() {
        // The last action is not legal.
        check(&[1.0, 3.0, 2.0, 9.0], &[0, 2], &[(2, -1.0), (1, 1.0)]);
        check(&[1.0, 3.0, 2.0, 9.0], &[1], &[]);
        // A tie counts as a mistake; among equal scores the first action is taken.
        check(&[1.0, 1.0, 1.0, 9.0], &[1, 2], &[(1, -1.0), (0, 1.0)]);
        check(&[1.0, 1.0, 1.0, 9.0], &[0, 1, 2], &[]);
    }

    /// The gradients of losses of scores are the slopes of the losses.
    #[test]
    fn gradients_are_slopes() {
        let row = [0.3f32, -1.2, 2.5, 0.9, 7.0];
        let mut legal = ActionSet::new(row.len());
        legal.insert_range(0, 4);
        for good in [&[0usize][..], &[0, 3], &[1, 2], &[2]] {
            let mut of_good = ActionSet::new(row.len());
            good.iter().for_each(|&action| of_good.insert(ActionId::new(action)));
            for loss in [&LogLoss as &dyn Loss, &BestLoss, &HingeLoss, &HingeAllLoss] {
                let value = |row: &[f32]| loss.gradient(row, &legal, &of_good, &mut Vec::new());
                let mut out = Vec::new();
                let found = loss.gradient(&row, &legal, &of_good, &mut out);
                assert!(found >= 0.0);
                for i in 0..row.len() {
                    let (mut more, mut less) = (row, row);
                    more[i] += 1e-2;
                    less[i] -= 1e-2;
                    let slope = (value(&more) - value(&less)) / 2e-2;
                    let of_action =
                        |&(action, by): &(ActionId, f32)| if action.index() == i { by } else { 0.0 };
                    let gradient: f32 = out.iter().map(of_action).sum();
                    assert!((slope - gradient).abs() < 1e-3, "action {i}: {slope}, {gradient}");
                }
            }
        }
    }

    #[test]
    fn log_loss_survives_hopeless_scores() {
        let mut legal = ActionSet::new(2);
        legal.insert_range(0, 2);
        let mut good = ActionSet::new(2);
        good.insert(ActionId::new(0));
        let mut out = Vec::new();
        let loss = LogLoss.gradient(&[-500.0, 500.0], &legal, &good, &mut out);
        assert_eq!((loss, out), (1000.0, vec![(ActionId::new(0), -1.0), (ActionId::new(1), 1.0)]));
    }
}
