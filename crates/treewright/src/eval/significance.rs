//! Is a difference more than chance? Stratified randomisation, McNemar's test, and bootstrap intervals.

use super::totals::{Counts, percent};
use crate::rng::Rng;

/// A figure computed from sums over sentences.
pub type Figure = fn(Counts) -> Option<f64>;

/// The p-values of the differences in recall, precision and F1 between two parsers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Randomisation {
    /// For recall.
    pub recall: f64,
    /// For precision.
    pub precision: f64,
    /// For F1.
    pub f1: f64,
    /// How many shuffles were made.
    pub n_shuffles: usize,
}

/// The sum over sentences.
pub fn sum(counts: &[Counts]) -> Counts {
    let mut total = Counts::default();
    counts.iter().for_each(|&one| total.add(one));
    total
}

fn figures(counts: Counts) -> [f64; 3] {
    [counts.recall(), counts.precision(), counts.f1_or_zero()].map(|figure| figure.unwrap_or(0.0))
}

/// Stratified randomisation as in Bikel's comparator: in every shuffle each sentence's scores are swapped between
/// the two parsers with probability one half; p is the share of shuffles, the observed one included, whose
/// difference is at least as large as the observed one. `a` and `b` hold the same sentences.
///
/// # Panics
/// When `a` and `b` differ in length.
pub fn stratified_randomisation(
    a: &[Counts],
    b: &[Counts],
    n_shuffles: usize,
    rng: &mut Rng,
) -> Randomisation {
    assert_eq!(a.len(), b.len(), "the same sentences");
    let (sum_a, sum_b) = (sum(a), sum(b));
    let difference = |a: Counts, b: Counts| {
        let (a, b) = (figures(a), figures(b));
        [0, 1, 2].map(|i| (a[i] - b[i]).abs())
    };
    let observed = difference(sum_a, sum_b);
    // Only sentences that differ can change anything.
    let differing: Vec<(Counts, Counts)> =
        a.iter().copied().zip(b.iter().copied()).filter(|(a, b)| a != b).collect();
    let mut at_least = [0usize; 3];
    for _ in 0..n_shuffles {
        let (mut shuffled_a, mut shuffled_b) = (sum_a, sum_b);
        for block in differing.chunks(64) {
            let mut coins = rng.next_u64();
            for (a, b) in block {
                if coins & 1 == 1 {
                    swap(&mut shuffled_a, a, b);
                    swap(&mut shuffled_b, b, a);
                }
                coins >>= 1;
            }
        }
        let found = difference(shuffled_a, shuffled_b);
        for i in 0..3 {
            // Equal differences may come out a little unequal in floating point.
            at_least[i] += usize::from(found[i] >= observed[i] - 1e-9);
        }
    }
    let p = |i: usize| (at_least[i] + 1) as f64 / (n_shuffles + 1) as f64;
    Randomisation { recall: p(0), precision: p(1), f1: p(2), n_shuffles }
}

/// Takes one sentence's counts out of a sum and puts another's in.
fn swap(total: &mut Counts, out: &Counts, into: &Counts) {
    total.matched = total.matched - out.matched + into.matched;
    total.gold = total.gold - out.gold + into.gold;
    total.predicted = total.predicted - out.predicted + into.predicted;
}

/// McNemar's test on items that each parser gets right or wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct McNemar {
    /// Right in A, wrong in B.
    pub only_a: u64,
    /// Right in B, wrong in A.
    pub only_b: u64,
    /// The exact two-sided p: that of a fair coin.
    pub p: f64,
}

/// The exact test from the two numbers of items that only one parser gets right.
pub fn mcnemar(only_a: u64, only_b: u64) -> McNemar {
    let (n, k) = (only_a + only_b, only_a.min(only_b));
    // Sum of C(n, i) / 2^n for i <= k, each term from the one before it, in logarithms.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = log_term.exp();
    for i in 1..=k {
        log_term += ((n - i + 1) as f64).ln() - (i as f64).ln();
        tail += log_term.exp();
    }
    let p = if only_a == only_b { 1.0 } else { (2.0 * tail).min(1.0) };
    McNemar { only_a, only_b, p }
}

/// A range that holds the true value with 95 % confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Where it starts.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// Bootstrap intervals of a figure for two parsers and for their difference (A less B), from samples of whole
/// sentences with replacement. `None` without sentences, or where the figure is undefined.
///
/// # Panics
/// When `a` and `b` differ in length.
pub fn bootstrap(
    a: &[Counts],
    b: &[Counts],
    figure: Figure,
    n_samples: usize,
    rng: &mut Rng,
) -> Option<[Interval; 3]> {
    assert_eq!(a.len(), b.len(), "the same sentences");
    let mut samples: [Vec<f64>; 3] = Default::default();
    for _ in 0..n_samples {
        let (mut sum_a, mut sum_b) = (Counts::default(), Counts::default());
        for _ in 0..a.len() {
            let i = rng.below(a.len());
            sum_a.add(a[i]);
            sum_b.add(b[i]);
        }
        if let (Some(a), Some(b)) = (figure(sum_a), figure(sum_b)) {
            samples[0].push(a);
            samples[1].push(b);
            samples[2].push(a - b);
        }
    }
    (!samples[0].is_empty()).then(|| samples.map(middle_95))
}

/// From the 2.5th to the 97.5th percentile.
fn middle_95(mut samples: Vec<f64>) -> Interval {
    samples.sort_by(f64::total_cmp);
    let last = samples.len() - 1;
    let at = |share: f64| samples[(share * last as f64).round() as usize];
    Interval { low: at(0.025), high: at(0.975) }
}

/// Right heads (or heads with relations) of the words of one sentence, as counts.
pub fn accuracy_counts(right: u64, words: u64) -> Counts {
    Counts { matched: right, gold: words, predicted: words }
}

/// The share that is right, in percent: the figure for [`accuracy_counts`].
pub fn accuracy(counts: Counts) -> Option<f64> {
    percent(counts.matched, counts.gold)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_counts(rng: &mut Rng) -> Counts {
        let gold = 5 + rng.below(20) as u64;
        let predicted = 5 + rng.below(20) as u64;
        Counts { matched: rng.below(gold.min(predicted) as usize + 1) as u64, gold, predicted }
    }

    #[test]
    fn two_copies_of_one_parse_give_p_1() {
        let mut rng = Rng::new(1);
        let a: Vec<Counts> = (0..50).map(|_| random_counts(&mut rng)).collect();
        let p = stratified_randomisation(&a, &a, 1000, &mut rng);
        assert_eq!(p, Randomisation { recall: 1.0, precision: 1.0, f1: 1.0, n_shuffles: 1000 });
        assert_eq!(mcnemar(0, 0).p, 1.0);
        let [of_a, of_b, difference] = bootstrap(&a, &a, Counts::f1, 200, &mut rng).expect("some sentences");
        assert_eq!((of_a, difference), (of_b, Interval { low: 0.0, high: 0.0 }));
    }

    #[test]
    fn a_clear_difference_is_significant() {
        let a = vec![Counts { matched: 9, gold: 10, predicted: 10 }; 40];
        let b = vec![Counts { matched: 5, gold: 10, predicted: 10 }; 40];
        let p = stratified_randomisation(&a, &b, 999, &mut Rng::new(3));
        // Only all swaps or none are as far apart: one in 2^39 shuffles.
        assert_eq!((p.recall, p.precision, p.f1), (0.001, 0.001, 0.001));
        let [_, _, difference] =
            bootstrap(&a, &b, Counts::f1, 100, &mut Rng::new(4)).expect("some sentences");
        assert!((difference.low - 40.0).abs() < 1e-9 && (difference.high - 40.0).abs() < 1e-9);
    }

    #[test]
    fn one_sentence_can_never_be_significant() {
        let (a, b) =
            (Counts { matched: 9, gold: 10, predicted: 10 }, Counts { matched: 1, gold: 10, predicted: 12 });
        let p = stratified_randomisation(&[a], &[b], 500, &mut Rng::new(5));
        assert_eq!((p.recall, p.precision, p.f1), (1.0, 1.0, 1.0));
    }

    #[track_caller]
    fn check_mcnemar(only_a: u64, only_b: u64, expected: f64) {
        let found = mcnemar(only_a, only_b);
        assert!((found.p - expected).abs() < 1e-12 * expected.max(1e-3), "{} and not {expected}", found.p);
        assert_eq!(mcnemar(only_b, only_a).p, found.p);
    }

    #[test]
    fn mcnemar_is_the_binomial_test() {
        check_mcnemar(1, 9, 22.0 / 1024.0);
        check_mcnemar(0, 5, 2.0 / 32.0);
        check_mcnemar(2, 8, 2.0 * 56.0 / 1024.0);
        check_mcnemar(3, 4, 1.0);
        check_mcnemar(7, 7, 1.0);
        check_mcnemar(0, 60, 2f64.powi(-59));
        assert!(mcnemar(100_000, 101_000).p > 0.02 && mcnemar(100_000, 101_000).p < 0.03);
        assert!(mcnemar(1_000_000, 0).p < 1e-300);
    }

    #[test]
    fn randomisation_p_is_uniform_when_there_is_no_difference() {
        // Both parsers draw from one distribution; p should fall below t with probability t.
        let mut rng = Rng::new(20);
        let (n_trials, n_shuffles) = (600, 199);
        let mut values: [Vec<f64>; 3] = Default::default();
        for _ in 0..n_trials {
            let a: Vec<Counts> = (0..30).map(|_| random_counts(&mut rng)).collect();
            let b: Vec<Counts> = (0..30).map(|_| random_counts(&mut rng)).collect();
            let p = stratified_randomisation(&a, &b, n_shuffles, &mut rng);
            values[0].push(p.recall);
            values[1].push(p.precision);
            values[2].push(p.f1);
        }
        for mut values in values {
            values.sort_by(f64::total_cmp);
            // Kolmogorov and Smirnov: the largest distance from the uniform distribution, 1 % level.
            let n = n_trials as f64;
            let distance = values.iter().enumerate().map(|(i, p)| ((i + 1) as f64 / n - p).abs());
            let largest = distance.fold(0.0, f64::max);
            assert!(largest < 1.63 / n.sqrt(), "{largest}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let mut rng = Rng::new(9);
        let a: Vec<Counts> = (0..80).map(|_| random_counts(&mut rng)).collect();
        let b: Vec<Counts> = (0..80).map(|_| random_counts(&mut rng)).collect();
        let run = |seed| stratified_randomisation(&a, &b, 300, &mut Rng::new(seed));
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
