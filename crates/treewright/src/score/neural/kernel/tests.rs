//! Kernels against their twins, and functions against those of the library.

use std::sync::atomic::{AtomicU8, Ordering};

use super::*;
use crate::rng::Rng;

/// The best kernels to use. As all give the same bits, tests that run at the same time do not notice.
static BEST: AtomicU8 = AtomicU8::new(u8::MAX);

/// What is left of the best kernels.
pub(super) fn allowed(best: Cpu) -> Cpu {
    match BEST.load(Ordering::Relaxed) {
        0 => Cpu::Plain,
        #[cfg(target_arch = "x86_64")]
        1 => best.min(Cpu::Avx2),
        _ => best,
    }
}

/// What `work` gives with the twins, with AVX2, and with the best kernels of this processor.
fn with_all<T>(mut work: impl FnMut() -> T) -> [T; 3] {
    [0, 1, u8::MAX].map(|best| {
        BEST.store(best, Ordering::Relaxed);
        work()
    })
}

pub(in crate::score) fn random(rng: &mut Rng, n: usize) -> Vec<f32> {
    (0..n).map(|_| (rng.unit() * 2.0 - 1.0) as f32).collect()
}

#[test]
fn products_have_the_same_bits_on_every_path_and_for_every_number_of_rows() {
    let mut rng = Rng::new(1);
    for (k, n) in [(1, 1), (3, 16), (7, 17), (200, 64), (33, 100), (5, 200), (0, 20), (4000, 70)] {
        let right = random(&mut rng, k * n);
        let packed = Packed::of(&right, k, n);
        for m in [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 25] {
            let (left, before) = (random(&mut rng, m * k), random(&mut rng, m * n));
            for sum in [Sum::Fresh, Sum::Added] {
                let mut expected = before.clone();
                for i in 0..m {
                    for j in 0..n {
                        let start = if sum == Sum::Added { before[i * n + j] } else { 0.0 };
                        let add = |sum: f32, p: usize| left[i * k + p].mul_add(right[p * n + j], sum);
                        expected[i * n + j] = (0..k).fold(start, add);
                    }
                }
                let rows = Left { values: &left, n_rows: m, stride: k };
                let found = with_all(|| {
                    let mut out = before.clone();
                    multiply(rows, &packed, &mut out, n, sum);
                    out
                });
                assert!(found.iter().all(|found| *found == expected), "{m} x {k} x {n}");
            }
        }
    }
}

#[test]
fn what_lies_between_the_rows_of_a_product_stays() {
    let mut rng = Rng::new(2);
    let (left, right) = (random(&mut rng, 7 * 9), random(&mut rng, 5 * 21));
    let mut out = vec![9.0; 7 * 30];
    let rows = Left { values: &left, n_rows: 7, stride: 9 };
    multiply(rows, &Packed::of(&right, 5, 21), &mut out, 30, Sum::Fresh);
    assert!(out.chunks(30).all(|row| row[21..].iter().all(|&x| x == 9.0)));
    let dot =
        |i: usize, j: usize| (0..5).fold(0f32, |sum, p| left[i * 9 + p].mul_add(right[p * 21 + j], sum));
    assert!((0..7).all(|i| (0..21).all(|j| out[i * 30 + j] == dot(i, j))));
}

#[test]
fn a_transposed_matrix_is_packed_like_its_transpose() {
    let mut rng = Rng::new(3);
    for (m, n) in [(1, 5), (16, 16), (19, 7), (40, 33)] {
        let matrix = random(&mut rng, m * n);
        let transpose: Vec<f32> = (0..n * m).map(|i| matrix[i % m * n + i / m]).collect();
        let mut packed = Packed::default();
        packed.set_transposed(&matrix, m, n);
        assert_eq!(packed.lines, Packed::of(&transpose, n, m).lines);
    }
}

#[test]
fn functions_are_close_to_those_of_the_library() {
    for i in -2000..=2000 {
        let x = i as f32 * 0.02;
        let near =
            |found: f32, expected: f64| (f64::from(found) - expected).abs() <= 3e-7 * expected.abs().max(1.0);
        let wide = f64::from(x);
        assert!((f64::from(exp(x)) / wide.exp() - 1.0).abs() < 1e-6, "exp({x})");
        assert!(near(sigmoid(x), 1.0 / (1.0 + (-wide).exp())), "sigmoid({x})");
        assert!(near(tanh(x), wide.tanh()), "tanh({x}) = {}", tanh(x));
    }
    assert!([f32::MAX, -f32::MAX, 1e9, -1e9].iter().all(|&x| exp(x).is_finite() && tanh(x).is_finite()));
}

#[test]
fn adam_and_softmax_do_what_their_formulas_say() {
    let mut rng = Rng::new(5);
    let (before, n) = (random(&mut rng, 20), 20);
    let (mut weights, mut means, mut seconds) = (before.clone(), vec![0.0; n], vec![0.0; n]);
    let mut expected: Vec<[f64; 3]> = before.iter().map(|&weight| [weight.into(), 0.0, 0.0]).collect();
    for time in 1..=3 {
        let gradients = random(&mut rng, n);
        let (rate, correct) = (0.01, |beta: f64| 1.0 - beta.powi(time));
        let step = AdamStep {
            scale: 0.5,
            beta_1: 0.9,
            beta_2: 0.95,
            rate: (rate / correct(0.9)) as f32,
            correct_2: (1.0 / correct(0.95)) as f32,
            epsilon: 1e-8,
        };
        adam(&mut weights, &gradients, &mut means, &mut seconds, &step);
        for ([weight, mean, second], gradient) in expected.iter_mut().zip(&gradients) {
            let gradient = f64::from(*gradient) * 0.5;
            *mean = 0.9 * *mean + 0.1 * gradient;
            *second = 0.95 * *second + 0.05 * gradient * gradient;
            *weight -= rate * (*mean / correct(0.9)) / ((*second / correct(0.95)).sqrt() + 1e-8);
        }
    }
    let is_near = |(found, [expected, ..]): (&f32, &[f64; 3])| (f64::from(*found) - expected).abs() < 1e-5;
    assert!(weights.iter().zip(&expected).all(is_near), "{weights:?} {expected:?}");
    let mut row = [1.0, 3.0, -200.0, 3.0];
    softmax(&mut row);
    let total = 1f64.exp() + 2.0 * 3f64.exp();
    for (found, score) in row.iter().zip([1.0, 3.0, -200.0, 3.0f64]) {
        assert!((f64::from(*found) - score.exp() / total).abs() < 1e-6, "{row:?}");
    }
}

#[test]
fn loops_have_the_same_bits_on_every_path() {
    let mut rng = Rng::new(4);
    for n in [1, 7, 8, 30] {
        let (gates, c_before) = (random(&mut rng, 4 * n), random(&mut rng, n));
        let (dh, dc) = (random(&mut rng, n), random(&mut rng, n));
        let [plain, avx2, best] = with_all(|| {
            let (mut gates, mut c, mut tanh_c, mut h) =
                (gates.clone(), vec![0.0; n], vec![0.0; n], vec![0.0; n]);
            lstm_cell(&mut gates, &c_before, &mut c, &mut tanh_c, &mut h);
            let (mut back, mut dc) = (gates.clone(), dc.clone());
            lstm_cell_back(&mut back, &c_before, &tanh_c, &dh, &mut dc);
            let mut row = gates.clone();
            softmax(&mut row);
            add(&gates, &mut row);
            let (mut weights, mut means, mut seconds) = (c.clone(), h.clone(), vec![0.5; n]);
            let step =
                AdamStep { scale: 0.5, beta_1: 0.9, beta_2: 0.95, rate: 0.01, correct_2: 1.5, epsilon: 1e-8 };
            adam(&mut weights, &dh, &mut means, &mut seconds, &step);
            approach(&mut means, &weights, 0.25);
            (squares(&c), gates, c, h, back, dc, row, weights, means)
        });
        assert_eq!(plain, avx2);
        assert_eq!(plain, best);
    }
}
