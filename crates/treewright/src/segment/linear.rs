//! A linear classifier over hashed features: trained by logistic regression, kept as a small table.
//!
//! A feature is a 64-bit hash. The finished table has buckets of four entries; an entry holds 20 bits of the hash and
//! a weight of 12 bits, so a feature that training has not seen gets another's weight once in 250,000 times.

use rustc_hash::FxHashMap;

use crate::rng::Rng;

/// Entries in a bucket.
const WAYS: usize = 4;
const WEIGHT_BITS: u32 = 12;
const MAX_WEIGHT: i32 = (1 << (WEIGHT_BITS - 1)) - 1;
/// The largest number of buckets, as a power of two.
pub(super) const MAX_BITS: u32 = 20;

/// Joins a value to a hash.
#[inline]
pub(super) fn mix(hash: u64, value: u64) -> u64 {
    let product = (hash.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 29)
}

/// Small numbers found by hash; absent means 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    bits: u32,
    entries: Vec<u32>,
}

impl Table {
    /// A table of these hashes and values (at most 2047 in size), the more important ones first: where a bucket is
    /// full, what comes later is left out.
    pub(super) fn new(items: &[(u64, i32)]) -> Self {
        // At most two thirds full, so that few buckets run over.
        let mut bits = 4;
        while (WAYS << bits) * 2 < items.len() * 3 && bits < MAX_BITS {
            bits += 1;
        }
        let mut table = Table { bits, entries: vec![0; WAYS << bits] };
        for &(hash, value) in items {
            let (bucket, fingerprint) = table.place(hash);
            let free = table.entries[bucket..bucket + WAYS].iter_mut().find(|entry| **entry == 0);
            if let Some(entry) = free {
                let value = value.clamp(-MAX_WEIGHT, MAX_WEIGHT);
                *entry = fingerprint << WEIGHT_BITS | (value as u32 & ((1 << WEIGHT_BITS) - 1));
            }
        }
        table
    }

    /// A table as it was stored, if the words can be one.
    pub(super) fn from_words(bits: u32, entries: Vec<u32>) -> Option<Self> {
        (bits <= MAX_BITS && entries.len() == WAYS << bits).then_some(Table { bits, entries })
    }

    /// How many words a table of this many bits has.
    pub(super) fn n_words(bits: u32) -> Option<usize> {
        (bits <= MAX_BITS).then_some(WAYS << bits)
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    pub(super) fn words(&self) -> &[u32] {
        &self.entries
    }

    /// The start of a hash's bucket, and its fingerprint, which is never 0.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u32) {
        let mask = (1usize << self.bits) - 1;
        let bucket = (hash >> 40) as usize & mask;
        ((bucket * WAYS), (hash as u32 & 0xF_FFFF).max(1))
    }

    /// The value of a hash.
    #[inline]
    pub(super) fn get(&self, hash: u64) -> i32 {
        let (bucket, fingerprint) = self.place(hash);
        let Some(entries) = self.entries.get(bucket..bucket + WAYS) else { return 0 };
        let mut value = 0;
        for &entry in entries {
            // The shift to the left and back extends the sign.
            let weight = (entry as i32) << (32 - WEIGHT_BITS) >> (32 - WEIGHT_BITS);
            value += if entry >> WEIGHT_BITS == fingerprint { weight } else { 0 };
        }
        value
    }
}

/// A finished classifier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Linear {
    pub bias: i32,
    pub weights: Table,
}

impl Linear {
    /// The score; above 0 means yes.
    #[inline]
    pub(super) fn score(&self, features: &[u64]) -> i32 {
        // Table values have 12 bits, so that no number of features that fits in memory overflows.
        features.iter().fold(self.bias, |sum, &feature| sum.saturating_add(self.weights.get(feature)))
    }
}

/// Examples for a classifier.
#[derive(Debug, Default)]
pub(super) struct Examples {
    ids: FxHashMap<u64, u32>,
    hashes: Vec<u64>,
    counts: Vec<u32>,
    features: Vec<u32>,
    /// Where each example's features end, and its answer.
    ends: Vec<(usize, bool)>,
}

/// How a classifier is trained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub epochs: usize,
    pub rate: f32,
    pub min_count: u32,
    pub max_features: usize,
}

impl Examples {
    /// Adds an example.
    pub(super) fn push(&mut self, features: &[u64], answer: bool) {
        for &hash in features {
            let next = self.hashes.len() as u32;
            let id = *self.ids.entry(hash).or_insert(next);
            if id == next {
                self.hashes.push(hash);
                self.counts.push(0);
            }
            self.counts[id as usize] += 1;
            self.features.push(id);
        }
        self.ends.push((self.features.len(), answer));
    }

    /// The number of examples.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The classifier's score of each example, and its answer.
    pub(super) fn scored(&self, model: &Linear) -> Vec<(i32, bool)> {
        let mut start = 0;
        let mut features = Vec::new();
        let mut score = |&(end, answer): &(usize, bool)| {
            features.clear();
            features.extend(self.features[start..end].iter().map(|&id| self.hashes[id as usize]));
            start = end;
            (model.score(&features), answer)
        };
        self.ends.iter().map(&mut score).collect()
    }

    /// Logistic regression by AdaGrad; gives the classifier and by how much its weights were scaled. Calls `log` with the
    /// mean loss of each epoch.
    pub(super) fn fit(&mut self, how: Fit, rng: &mut Rng, log: &mut dyn FnMut(usize, f64)) -> (Linear, f32) {
        let Examples { hashes, counts, features, ends, .. } = self;
        // Rare features would only memorise their one sentence.
        let mut kept = 0;
        let mut start = 0;
        for (end, _) in ends.iter_mut() {
            for i in start..*end {
                let id = features[i];
                if counts[id as usize] >= how.min_count {
                    features[kept] = id;
                    kept += 1;
                }
            }
            start = *end;
            *end = kept;
        }
        features.truncate(kept);

        let mut weights = vec![0f32; hashes.len()];
        let mut squares = vec![0f32; hashes.len()];
        let (mut bias, mut bias_squares) = (0f32, 0f32);
        let mut order: Vec<u32> = (0..ends.len() as u32).collect();
        for epoch in 0..how.epochs {
            rng.shuffle(&mut order);
            let mut loss = 0f64;
            for &i in &order {
                let i = i as usize;
                let start = if i == 0 { 0 } else { ends[i - 1].0 };
                let (end, answer) = ends[i];
                let active = &features[start..end];
                let score = active.iter().fold(bias, |sum, &id| sum + weights[id as usize]);
                let sign = if answer { 1.0 } else { -1.0 };
                let wrong = 1.0 / (1.0 + (sign * score).exp());
                loss -= f64::from((1.0 - wrong).max(1e-9).ln());
                let gradient = -sign * wrong;
                if wrong < 1e-4 {
                    continue;
                }
                let square = gradient * gradient;
                for &id in active {
                    let id = id as usize;
                    squares[id] += square;
                    weights[id] -= how.rate * gradient / (squares[id] + 1.0).sqrt();
                }
                bias_squares += square;
                bias -= how.rate * gradient / (bias_squares + 1.0).sqrt();
            }
            log(epoch, loss / ends.len().max(1) as f64);
        }
        freeze(hashes, &weights, bias, how.max_features)
    }
}

/// Rounds the weights and keeps the largest.
fn freeze(hashes: &[u64], weights: &[f32], bias: f32, max_features: usize) -> (Linear, f32) {
    let largest = weights.iter().fold(1f32, |largest, weight| largest.max(weight.abs()));
    let scale = MAX_WEIGHT as f32 / largest;
    let mut items: Vec<(u64, i32)> = hashes
        .iter()
        .zip(weights)
        .map(|(&hash, &weight)| (hash, (weight * scale).round() as i32))
        .filter(|&(_, weight)| weight != 0)
        .collect();
    items.sort_unstable_by_key(|&(hash, weight)| (std::cmp::Reverse(weight.abs()), hash));
    items.truncate(max_features);
    (Linear { bias: (bias * scale).round() as i32, weights: Table::new(&items) }, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_back_what_was_put_in() {
        let items: Vec<(u64, i32)> = (0..5000).map(|i| (mix(7, i), (i % 4001) as i32 - 2000)).collect();
        let table = Table::new(&items);
        let found = items.iter().filter(|&&(hash, value)| table.get(hash) == value).count();
        assert!(found > 4800, "{found}");
        let strangers = (0..5000).filter(|&i| table.get(mix(8, i)) != 0).count();
        assert!(strangers < 5, "{strangers}");
        assert_eq!(Table::from_words(table.bits(), table.words().to_vec()), Some(table.clone()));
        assert_eq!(Table::from_words(table.bits() + 1, table.words().to_vec()), None);
    }

    #[test]
    fn logistic_regression_learns_a_conjunction_of_features() {
        let mut examples = Examples::default();
        let features = |i: u64| [mix(1, i & 1), mix(2, i & 2), mix(3, i % 7)];
        let answer = |i: u64| i & 3 == 3;
        for i in 0..400 {
            examples.push(&features(i), answer(i));
        }
        let how = Fit { epochs: 20, rate: 0.5, min_count: 2, max_features: 1000 };
        let mut losses = Vec::new();
        let (model, _) = examples.fit(how, &mut Rng::new(1), &mut |_, loss| losses.push(loss));
        assert!((0..400).all(|i| (model.score(&features(i)) > 0) == answer(i)));
        assert!(losses[19] < losses[0]);
    }
}
