//! Which tags a word may have, predicted from its vector: a network with one hidden layer, trained on the words of a
//! treebank. Vectors distinguish much that does not matter for syntax; the tags say what does.

use rustc_hash::FxHashMap;

use super::points::{Points, dot};
use crate::rng::Rng;

const N_HIDDEN: usize = 64;
const EPOCHS: usize = 12;
const STEP: f32 = 0.05;
/// A word seen more often than this counts no more: the words whose tags are predicted are rare.
const MAX_SEEN: f32 = 3.0;

/// A layer: the weights of each of its cells for each input, the last one for an input that is always 1.
struct Layer {
    weights: Points,
    /// The sums of the squares of all gradients, by which steps become shorter (AdaGrad).
    squares: Vec<f32>,
}

impl Layer {
    fn new(n_in: usize, n_out: usize, rng: &mut Rng) -> Self {
        let scale = (6.0 / (n_in + n_out) as f32).sqrt();
        let weights: Vec<f32> =
            (0..(n_in + 1) * n_out).map(|_| (rng.unit() as f32 * 2.0 - 1.0) * scale).collect();
        let squares = vec![1e-6; weights.len()];
        Layer { weights: Points { numbers: weights, n: n_in + 1 }, squares }
    }

    fn apply(&self, input: &[f32], out: &mut Vec<f32>) {
        out.clear();
        out.extend(self.weights.numbers.chunks_exact(self.weights.n).map(|cell| dot(cell, input)));
    }

    /// Moves the weights against the gradient of the loss, and gives that gradient for the inputs.
    fn learn(&mut self, input: &[f32], slopes: &[f32], back: &mut Vec<f32>) {
        let n = self.weights.n;
        back.clear();
        back.resize(n, 0.0);
        let cells = self.weights.numbers.chunks_exact_mut(n).zip(self.squares.chunks_exact_mut(n));
        for ((cell, squares), &slope) in cells.zip(slopes) {
            for (((weight, square), x), back) in cell.iter_mut().zip(squares).zip(input).zip(&mut *back) {
                *back += slope * *weight;
                let gradient = slope * x;
                *square += gradient * gradient;
                *weight -= STEP * gradient / square.sqrt();
            }
        }
    }
}

struct Network {
    hidden: Layer,
    out: Layer,
}

/// What goes through a network.
#[derive(Default)]
struct Signals {
    input: Vec<f32>,
    hidden: Vec<f32>,
    out: Vec<f32>,
    back: Vec<f32>,
}

impl Network {
    /// The probabilities of tags for a vector, into `signals.out`.
    fn tag_probabilities(&self, vector: &[f32], signals: &mut Signals) {
        let Signals { input, hidden, out, .. } = signals;
        // Vectors are one long; so their numbers are about 1.
        let scale = (vector.len() as f32).sqrt();
        input.clear();
        input.extend(vector.iter().map(|x| x * scale).chain([1.0]));
        self.hidden.apply(input, hidden);
        hidden.iter_mut().for_each(|x| *x = x.tanh());
        hidden.push(1.0);
        self.out.apply(hidden, out);
        let highest = out.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        out.iter_mut().for_each(|x| *x = (*x - highest).exp());
        let sum: f32 = out.iter().sum();
        out.iter_mut().for_each(|x| *x /= sum);
    }

    fn learn(&mut self, vector: &[f32], shares: &[f32], weight: f32, signals: &mut Signals) {
        self.tag_probabilities(vector, signals);
        let Signals { input, hidden, out, back } = signals;
        out.iter_mut().zip(shares).for_each(|(p, share)| *p = (*p - share) * weight);
        self.out.learn(hidden, out, back);
        back.pop();
        back.iter_mut().zip(&*hidden).for_each(|(slope, x)| *slope *= 1.0 - x * x);
        // How the vector itself should change is of no interest.
        self.hidden.learn(input, back, out);
    }
}

/// For each vector the square roots of the probabilities of its tags: such points are near where probabilities are
/// alike. `counts` says how often words, by number, were seen with each of `n_tags` tags.
pub(super) fn profiles(
    vectors: &Points,
    counts: &FxHashMap<usize, Vec<f32>>,
    n_tags: usize,
    seed: u64,
) -> Points {
    let mut rng = Rng::new(seed);
    let mut network = Network {
        hidden: Layer::new(vectors.n, N_HIDDEN, &mut rng),
        out: Layer::new(N_HIDDEN, n_tags, &mut rng),
    };
    let mut signals = Signals::default();
    let mut order: Vec<usize> = counts.keys().copied().collect();
    order.sort_unstable();
    let mut shares = Vec::new();
    for _ in 0..EPOCHS {
        rng.shuffle(&mut order);
        for &word in &order {
            let n: f32 = counts[&word].iter().sum();
            shares.clear();
            shares.extend(counts[&word].iter().map(|count| count / n));
            network.learn(vectors.get(word), &shares, n.min(MAX_SEEN) / MAX_SEEN, &mut signals);
        }
    }
    let mut profiles = Points { numbers: Vec::with_capacity(vectors.len() * n_tags), n: n_tags };
    for word in 0..vectors.len() {
        network.tag_probabilities(vectors.get(word), &mut signals);
        profiles.numbers.extend(signals.out.iter().map(|p| p.sqrt()));
    }
    profiles
}
