//! Points in space, and clusters of them.

use crate::rng::Rng;

const ROUNDS: usize = 12;

/// Points of `n` numbers each, one after the other.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Points {
    pub numbers: Vec<f32>,
    pub n: usize,
}

impl Points {
    pub(super) fn len(&self) -> usize {
        self.numbers.len() / self.n.max(1)
    }

    pub(super) fn get(&self, i: usize) -> &[f32] {
        &self.numbers[i * self.n..(i + 1) * self.n]
    }

    /// Makes all vectors one long, so that clusters go by direction.
    pub(super) fn normalise(&mut self) {
        for vector in self.numbers.chunks_exact_mut(self.n.max(1)) {
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-9);
            vector.iter_mut().for_each(|x| *x /= length);
        }
    }

    /// The cluster of each point, by k-means from `k` points chosen by the seed.
    pub(super) fn clusters(&self, k: usize, seed: u64) -> Vec<u16> {
        if self.len() == 0 {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        Rng::new(seed).shuffle(&mut order);
        let k = k.min(order.len());
        let mut centres: Vec<f32> = order[..k].iter().flat_map(|&i| self.get(i)).copied().collect();
        let mut of = vec![0u16; self.len()];
        for _ in 0..ROUNDS {
            for (i, cluster) in of.iter_mut().enumerate() {
                let mut best = (f32::NEG_INFINITY, 0);
                for (c, centre) in centres.chunks_exact(self.n).enumerate() {
                    let near = dot(self.get(i), centre);
                    if near > best.0 {
                        best = (near, c);
                    }
                }
                *cluster = best.1 as u16;
            }
            let mut sums = vec![0f32; k * self.n];
            for (i, &cluster) in of.iter().enumerate() {
                let sum = &mut sums[usize::from(cluster) * self.n..][..self.n];
                sum.iter_mut().zip(self.get(i)).for_each(|(s, x)| *s += x);
            }
            for (centre, sum) in centres.chunks_exact_mut(self.n).zip(sums.chunks_exact(self.n)) {
                let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
                // A cluster that lost all its points stays where it was.
                if length > 0.0 {
                    centre.iter_mut().zip(sum).for_each(|(c, s)| *c = s / length);
                }
            }
        }
        of
    }
}

/// The sum of products, in eight parts so that it can be computed in parallel.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a.zip(b) {
        (0..8).for_each(|j| sums[j] += x[j] * y[j]);
    }
    sums.iter().sum::<f32>() + rest
}
