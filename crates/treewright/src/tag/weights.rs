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

    /// The averaged weights. Features updated fewer than `min_updates` times and averages below `least` are left out.
    pub(super) fn frozen(&self, n_labels: usize, min_updates: u32, least: f64) -> Frozen {
        let mut features: Vec<(u32, u32)> = self.ids.iter().map(|(&key, &id)| (key, id)).collect();
        features.sort_unstable();
        let steps = f64::from(self.now.max(1));
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
/// Marks the last weight of a row.
const LAST: u32 = 1 << 31;

/// Weights in use: read only, open addressing over 32-bit keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frozen {
    /// Key (0 = free) and the place of the row's first weight.
    slots: Vec<[u32; 2]>,
    /// Label in the upper half, weight in the lower.
    weights: Vec<u32>,
    shift: u32,
    n_labels: usize,
    n_features: usize,
}

impl Rows for Frozen {
    const UNIT: i32 = SCALE as i32;

    #[inline]
    fn add(&self, key: u32, scores: &mut [i32]) {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        loop {
            let [found, start] = self.slots[at];
            if found == key {
                for &weight in &self.weights[start as usize..] {
                    scores[(weight >> 16 & 0x7FFF) as usize] += i32::from(weight as u16 as i16);
                    if weight & LAST != 0 {
                        return;
                    }
                }
                return;
            }
            if found == 0 {
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

impl Frozen {
    #[inline]
    fn home(&self, key: u32) -> usize {
        (key.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    /// `keys` rise; each has the place where its weights begin in `rows`.
    fn build(keys: &[(u32, u32)], rows: &[(u16, i16)], n_labels: usize) -> Self {
        let n_slots = (keys.len() * 3 / 2).next_power_of_two().max(16);
        let mut frozen = Frozen {
            slots: vec![[0; 2]; n_slots],
            weights: rows.iter().map(|&(label, w)| u32::from(label) << 16 | u32::from(w as u16)).collect(),
            shift: 32 - n_slots.trailing_zeros(),
            n_labels,
            n_features: keys.len(),
        };
        for (i, &(key, start)) in keys.iter().enumerate() {
            let end = keys.get(i + 1).map_or(rows.len(), |next| next.1 as usize);
            frozen.weights[end - 1] |= LAST;
            let mut at = frozen.home(key);
            while frozen.slots[at][0] != 0 {
                at = (at + 1) & (n_slots - 1);
            }
            frozen.slots[at] = [key, start];
        }
        frozen
    }

    pub(super) fn n_features(&self) -> usize {
        self.n_features
    }

    pub(super) fn n_weights(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn to_bytes(&self, out: &mut Writer) {
        let mut features: Vec<[u32; 2]> = self.slots.iter().filter(|slot| slot[0] != 0).copied().collect();
        features.sort_unstable();
        out.rising(features.iter().map(|feature| feature[0]));
        for &[_, start] in &features {
            let rest = &self.weights[start as usize..];
            let n = 1 + rest.iter().position(|weight| weight & LAST != 0).expect("every row ends");
            out.number(n as u64);
            let mut last = 0;
            for weight in &rest[..n] {
                let label = weight >> 16 & 0x7FFF;
                out.number(u64::from(label - last));
                out.signed(i64::from(*weight as u16 as i16));
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
            for _ in 0..n {
                label += input.below(n_labels - label, "a label")?;
                let weight = i16::try_from(input.signed()?).map_err(|_| damaged("a weight is too large"))?;
                rows.push((label as u16, weight));
            }
        }
        Ok(Frozen::build(&starts, &rows, n_labels))
    }
}
