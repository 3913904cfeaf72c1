//! Weights: a sparse row of labels for each feature. `Learning` is what training changes, `Frozen` what taggers use.

use rustc_hash::FxHashMap;

use super::bytes::{Reader, Writer, damaged};
use crate::error::Result;

/// Something that can add a feature's weights to a row of scores.
pub(super) trait Rows {
    /// What one update of the perceptron is worth.
    const UNIT: i32;
    /// Adds the weights of the feature with this key; a feature never learnt adds nothing.
    fn add(&self, key: u32, scores: &mut [i32]);

    /// Adds the weights of several features.
    #[inline]
    fn add_all(&self, keys: &[u32], scores: &mut [i32]) {
        keys.iter().for_each(|&key| self.add(key, scores));
    }
}

#[derive(Clone, Copy)]
struct Weight {
    label: u16,
    value: i32,
    /// The sum of the values over all steps before `since`.
    total: i64,
    since: u32,
}

/// Weights under training: an averaged perceptron, whose values are whole numbers.
#[derive(Default)]
pub(super) struct Learning {
    ids: FxHashMap<u32, u32>,
    rows: Vec<Vec<Weight>>,
    updates: Vec<u32>,
    now: u32,
}

impl Rows for Learning {
    const UNIT: i32 = 1;

    #[inline]
    fn add(&self, key: u32, scores: &mut [i32]) {
        if let Some(&id) = self.ids.get(&key) {
            for weight in &self.rows[id as usize] {
                scores[usize::from(weight.label)] += weight.value;
            }
        }
    }
}

impl Learning {
    /// One more decision was made; averages are over decisions.
    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    /// Moves a feature from the label `from` to the label `to`.
    pub(super) fn update(&mut self, key: u32, to: u16, from: u16) {
        let id = *self.ids.entry(key).or_insert_with(|| {
            self.rows.push(Vec::new());
            self.updates.push(0);
            self.rows.len() as u32 - 1
        });
        self.updates[id as usize] += 1;
        let row = &mut self.rows[id as usize];
        for (label, by) in [(to, 1), (from, -1)] {
            let at = row.iter().position(|weight| weight.label == label).unwrap_or_else(|| {
                row.push(Weight { label, value: 0, total: 0, since: self.now });
                row.len() - 1
            });
            let weight = &mut row[at];
            weight.total += i64::from(weight.value) * i64::from(self.now - weight.since);
            weight.since = self.now;
            weight.value += by;
        }
    }

    /// The averaged weights. Features updated fewer than `min_updates` times and averages below `least` are left out,
    /// but a small table is kept whole: there each update counts, and there is nothing to save.
    pub(super) fn frozen(&self, n_labels: usize, min_updates: u32, least: f64) -> Frozen {
        let mut features: Vec<(u32, u32)> = self.ids.iter().map(|(&key, &id)| (key, id)).collect();
        features.sort_unstable();
        let steps = f64::from(self.now.max(1));
        let (min_updates, least) =
            if features.len() < FEW_FEATURES { (0, 0.0) } else { (min_updates, least) };
        let (mut keys, mut rows) = (Vec::new(), Vec::new());
        for (key, id) in features {
            if self.updates[id as usize] < min_updates {
                continue;
            }
            let start = rows.len();
            for weight in &self.rows[id as usize] {
                let total = weight.total + i64::from(weight.value) * i64::from(self.now - weight.since);
                let average = total as f64 / steps;
                let quantised = (average * SCALE).round().clamp(-32767.0, 32767.0) as i16;
                if average.abs() >= least && quantised != 0 {
                    rows.push((weight.label, quantised));
                }
            }
            if rows.len() > start {
                rows[start..].sort_unstable();
                keys.push((key, start as u32));
            }
        }
        Frozen::build(&keys, &rows, n_labels)
    }
}

/// So many steps of a quantised weight make one update of the perceptron.
const SCALE: f64 = 32.0;
/// Marks the place of a row that is stored whole.
const DENSE: u32 = 1 << 31;
/// So many features are looked up at once.
const AT_ONCE: usize = 8;
/// A table with fewer features is small.
const FEW_FEATURES: usize = 1 << 15;
/// Marks the last weight of a row.
const LAST: u32 = 1 << 31;

/// Weights in use: read only, open addressing over 32-bit keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frozen {
    /// Key (0 = free) and the place of the row's first weight, or the number of its whole row.
    slots: Vec<[u32; 2]>,
    /// Whole rows, for features that say something about many labels.
    dense: Vec<i16>,
    /// Label in the upper half, weight in the lower.
    weights: Vec<u32>,
    shift: u32,
    n_labels: usize,
    n_features: usize,
    n_weights: usize,
}

impl Rows for Frozen {
    const UNIT: i32 = SCALE as i32;

    #[inline]
    fn add(&self, key: u32, scores: &mut [i32]) {
        let home = self.home(key);
        self.add_from(key, home, self.slots[home], scores);
    }

    /// Looks at the first slots of several features before any is used, so that memory answers many at a time.
    #[inline]
    fn add_all(&self, keys: &[u32], scores: &mut [i32]) {
        let mut chunks = keys.chunks_exact(AT_ONCE);
        for chunk in &mut chunks {
            let homes: [usize; AT_ONCE] = std::array::from_fn(|i| self.home(chunk[i]));
            let slots: [[u32; 2]; AT_ONCE] = std::array::from_fn(|i| self.slots[homes[i]]);
            for i in 0..AT_ONCE {
                self.add_from(chunk[i], homes[i], slots[i], scores);
            }
        }
        chunks.remainder().iter().for_each(|&key| self.add(key, scores));
    }
}

impl Frozen {
    /// Adds the weights of a feature; `slot` is what stands at `at`, its first possible place.
    #[inline]
    fn add_from(&self, key: u32, mut at: usize, mut slot: [u32; 2], scores: &mut [i32]) {
        while slot[0] != key {
            if slot[0] == 0 {
                return;
            }
            at = (at + 1) & (self.slots.len() - 1);
            slot = self.slots[at];
        }
        if slot[1] & DENSE != 0 {
            let start = (slot[1] & !DENSE) as usize * self.n_labels;
            let row = &self.dense[start..start + self.n_labels];
            scores.iter_mut().zip(row).for_each(|(score, &weight)| *score += i32::from(weight));
            return;
        }
        for &weight in &self.weights[slot[1] as usize..] {
            scores[(weight >> 16 & 0x7FFF) as usize] += i32::from(weight as u16 as i16);
            if weight & LAST != 0 {
                return;
            }
        }
    }

    #[inline]
    fn home(&self, key: u32) -> usize {
        (key.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    /// `keys` rise; each has the place where its weights begin in `rows`.
    fn build(keys: &[(u32, u32)], rows: &[(u16, i16)], n_labels: usize) -> Self {
        let n_slots = (keys.len() * 3 / 2).next_power_of_two().max(16);
        let mut frozen = Frozen {
            slots: vec![[0; 2]; n_slots],
            dense: Vec::new(),
            weights: Vec::with_capacity(rows.len()),
            shift: 32 - n_slots.trailing_zeros(),
            n_labels,
            n_features: keys.len(),
            n_weights: rows.len(),
        };
        for (i, &(key, start)) in keys.iter().enumerate() {
            let end = keys.get(i + 1).map_or(rows.len(), |next| next.1 as usize);
            let row = &rows[start as usize..end];
            let place = frozen.store(row);
            let mut at = frozen.home(key);
            while frozen.slots[at][0] != 0 {
                at = (at + 1) & (n_slots - 1);
            }
            frozen.slots[at] = [key, place];
        }
        frozen
    }

    /// Stores a row and gives its place. To add a whole row takes about as long as a quarter of its weights one by one.
    fn store(&mut self, row: &[(u16, i16)]) -> u32 {
        if row.len() * 4 > self.n_labels && row.len() > 4 {
            let start = self.dense.len();
            self.dense.resize(start + self.n_labels, 0);
            row.iter().for_each(|&(label, weight)| self.dense[start + usize::from(label)] = weight);
            return (start / self.n_labels) as u32 | DENSE;
        }
        let start = self.weights.len();
        self.weights.extend(row.iter().map(|&(label, w)| u32::from(label) << 16 | u32::from(w as u16)));
        if let Some(last) = self.weights.last_mut() {
            *last |= LAST;
        }
        start as u32
    }

    /// The weights at a place, by rising label.
    fn row(&self, place: u32, out: &mut Vec<(u16, i16)>) {
        out.clear();
        if place & DENSE != 0 {
            let row = &self.dense[(place & !DENSE) as usize * self.n_labels..][..self.n_labels];
            let weights = row.iter().enumerate().filter(|(_, weight)| **weight != 0);
            out.extend(weights.map(|(label, &weight)| (label as u16, weight)));
            return;
        }
        for &weight in &self.weights[place as usize..] {
            out.push(((weight >> 16 & 0x7FFF) as u16, weight as u16 as i16));
            if weight & LAST != 0 {
                return;
            }
        }
    }

    pub(super) fn n_features(&self) -> usize {
        self.n_features
    }

    pub(super) fn n_weights(&self) -> usize {
        self.n_weights
    }

    pub(super) fn to_bytes(&self, out: &mut Writer) {
        let mut features: Vec<[u32; 2]> = self.slots.iter().filter(|slot| slot[0] != 0).copied().collect();
        features.sort_unstable();
        out.rising(features.iter().map(|feature| feature[0]));
        let mut row = Vec::new();
        for &[_, place] in &features {
            self.row(place, &mut row);
            out.number(row.len() as u64);
            let mut last = 0;
            for &(label, weight) in &row {
                out.number(u64::from(label - last));
                out.signed(i64::from(weight));
                last = label;
            }
        }
    }

    pub(super) fn from_bytes(input: &mut Reader<'_>, n_labels: usize) -> Result<Self> {
        let keys = input.rising()?;
        if keys.first() == Some(&0) {
            return Err(damaged("a feature has the key 0"));
        }
        let (mut starts, mut rows) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len() * 3));
        for key in keys {
            starts.push((key, rows.len() as u32));
            let n = input.count()?;
            if n == 0 {
                return Err(damaged("a feature has no weights"));
            }
            let mut label = 0usize;
            for i in 0..n {
                let step = input.below(n_labels - label, "a label")?;
                label += step;
                let weight = i16::try_from(input.signed()?).map_err(|_| damaged("a weight is too large"))?;
                if weight == 0 || i > 0 && step == 0 {
                    return Err(damaged("a weight is 0 or occurs twice"));
                }
                rows.push((label as u16, weight));
            }
        }
        Ok(Frozen::build(&starts, &rows, n_labels))
    }
}
