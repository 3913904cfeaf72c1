//! Weights: a sparse row of labels for each feature. `TrainingWeights` is what training changes, `Weights` what taggers use.

use rustc_hash::FxHashMap;

use super::bytes::{Reader, Writer, damaged};
use crate::error::{Code, Error, Result};
use crate::weights::{Key, Matches, Pair, Probe, Table, kernel};

/// The weight of a label under training.
#[derive(Clone, Copy)]
struct Weight {
    label: u16,
    since: u32,
    value: f32,
    /// The sum of the squares of its steps.
    squares: f32,
    /// The sum of the values over all decisions before `since`.
    total: f64,
}

/// The first step of a weight moves it by about this much (in units of log-odds); later ones are shorter.
const STEP: f32 = 0.15;
/// Keeps the first steps finite.
const FEWEST_SQUARES: f32 = 0.01;

impl Weight {
    /// Counts the value for all decisions up to `now`.
    fn settle(&mut self, now: u32) {
        self.total += f64::from(self.value) * f64::from(now - self.since);
        self.since = now;
    }

    fn step(&mut self, now: u32, by: f32) {
        self.settle(now);
        self.squares += by * by;
        self.value += STEP * by / (self.squares + FEWEST_SQUARES).sqrt();
    }
}

/// Weights under training: logistic regression with steps that become shorter for each weight the more it was moved
/// (AdaGrad: Duchi, Hazan and Singer 2011), averaged over all decisions.
#[derive(Default)]
pub(crate) struct TrainingWeights {
    ids: FxHashMap<u32, u32>,
    rows: Vec<Vec<Weight>>,
    now: u32,
    /// Averages are over the decisions since then.
    start: u32,
    /// Have small weights been dropped? Then no new ones are made.
    is_closed: bool,
}

/// The place of a feature that has no weights.
const NOWHERE: u32 = u32::MAX;

impl TrainingWeights {
    /// One more decision was made; averages are over decisions.
    pub(crate) fn tick(&mut self) {
        self.now += 1;
    }

    /// Finds the places of features, for [`TrainingWeights::add`] and [`TrainingWeights::learn`].
    #[inline]
    pub(crate) fn places(&self, keys: &[u32], out: &mut Vec<u32>) {
        out.clear();
        out.extend(keys.iter().map(|key| self.ids.get(key).copied().unwrap_or(NOWHERE)));
    }

    /// Adds the weights of the features at these places; one never learnt adds nothing.
    #[inline]
    pub(crate) fn add(&self, places: &[u32], scores: &mut [f32]) {
        for &place in places.iter().filter(|&&place| place != NOWHERE) {
            for weight in &self.rows[place as usize] {
                scores[usize::from(weight.label)] += weight.value;
            }
        }
    }

    /// Moves the weights of features along the gradient, each label by its own amount. Missing weights are made, unless
    /// `close` was called.
    pub(crate) fn learn(&mut self, keys: &[u32], places: &[u32], gradient: &[(u16, f32)]) {
        let now = self.now;
        for (&key, &place) in keys.iter().zip(places) {
            if self.is_closed && place == NOWHERE {
                continue;
            }
            let place = match place {
                // Two features of one word may, by chance, have one key.
                NOWHERE => *self.ids.entry(key).or_insert_with(|| {
                    self.rows.push(Vec::new());
                    self.rows.len() as u32 - 1
                }),
                place => place,
            };
            let row = &mut self.rows[place as usize];
            for &(label, by) in gradient {
                match row.iter_mut().find(|weight| weight.label == label) {
                    Some(weight) => weight.step(now, by),
                    None if self.is_closed => {}
                    None => {
                        let mut weight = Weight { label, since: now, value: 0.0, squares: 0.0, total: 0.0 };
                        weight.step(now, by);
                        row.push(weight);
                    }
                }
            }
        }
    }

    /// How many features have weights.
    pub(crate) fn n_features(&self) -> usize {
        self.rows.len()
    }

    /// Drops features none of whose averages reaches `min_feature`, and of the others the weights below `min_weight`; from now
    /// on no weight is made. The rest can learn to do without them, and their averages start again. A small table is kept
    /// whole: there is nothing to save.
    pub(crate) fn close(&mut self, min_feature: f64, min_weight: f64) {
        if self.n_features() < FEW_FEATURES {
            return;
        }
        let n = f64::from((self.now - self.start).max(1));
        let size = |weight: &Weight| (weight.total / n).abs();
        let mut rows = Vec::new();
        let mut places = vec![NOWHERE; self.rows.len()];
        for (old, mut row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            row.iter_mut().for_each(|weight| weight.settle(self.now));
            if !row.iter().any(|weight| size(weight) >= min_feature) {
                continue;
            }
            row.retain(|weight| size(weight) >= min_weight);
            row.iter_mut().for_each(|weight| weight.total = 0.0);
            row.shrink_to_fit();
            places[old] = rows.len() as u32;
            rows.push(row);
        }
        self.ids.retain(|_, place| {
            *place = places[*place as usize];
            *place != NOWHERE
        });
        self.rows = rows;
        self.start = self.now;
        self.is_closed = true;
    }

    /// The averaged weights.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) fn averaged(&self, n_labels: usize) -> Result<Weights> {
        let mut places: Vec<(u32, u32)> = self.ids.iter().map(|(&key, &place)| (key, place)).collect();
        places.sort_unstable();
        let n = f64::from((self.now - self.start).max(1));
        let average = |mut weight: Weight| {
            weight.settle(self.now);
            let quantised = (weight.total / n * SCALE).round().clamp(-32767.0, 32767.0) as i16;
            (quantised != 0).then_some((weight.label, quantised))
        };
        let (mut ends, mut pairs): (Vec<(u32, usize)>, Vec<Pair>) = Default::default();
        for (key, place) in places {
            let start = pairs.len();
            pairs.extend(self.rows[place as usize].iter().copied().filter_map(average));
            pairs[start..].sort_unstable();
            if pairs.len() > start {
                ends.push((key, pairs.len()));
            }
        }
        Weights::of(&ends, &pairs, n_labels, 0).ok_or_else(|| {
            Error::new(Code::BadTraining, "there would be too many weights: use less training data")
        })
    }
}

/// How many steps of a quantised weight make one unit of log-odds.
const SCALE: f64 = 80.0;
/// Keys are kept with ten bits more than it takes to number the features: then about one unknown feature in a thousand is
/// taken for a known one, which costs no accuracy that can be measured, and keys take half the room.
const SPARE_BITS: u32 = 10;
/// Smaller weights are not worth their room, and of larger ones the nearest multiple of the second number is as good: 0.15
/// and 0.05 units of log-odds.
const MIN_WEIGHT: u16 = 12;
const ROUNDED_TO: i16 = 4;
/// A table with fewer features is small.
const FEW_FEATURES: usize = 1 << 15;

/// Weights in use, read only. (Sums saturate at 16 bits, which are hundreds of units of log-odds.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Weights {
    table: Table,
    n_weights: usize,
    /// The lowest bits of keys that are not kept.
    shift: u32,
}

/// Memory for looking features up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookup {
    probes: Vec<Probe>,
    matches: Matches,
}

/// What is kept of a key; never 0.
#[inline(always)]
fn kept(key: u32, shift: u32) -> u32 {
    (key >> shift).max(1)
}

/// What leads to a feature, by what is kept of its key. Keys that rise fill buckets that rise, which is fast.
#[inline(always)]
fn table_key(kept: u32, shift: u32) -> Key {
    Key { spread: kept << shift, fingerprint: kept }
}

impl Weights {
    /// `ends` has what is kept of each feature's key, and where its pairs end, which begin where those of the feature before end. Nothing if
    /// there are too many.
    fn of(ends: &[(u32, usize)], pairs: &[Pair], n_labels: usize, shift: u32) -> Option<Self> {
        let starts = std::iter::once(0).chain(ends.iter().map(|feature| feature.1));
        let features =
            starts.zip(ends).map(|(start, &(key, end))| (table_key(key, shift), &pairs[start..end]));
        Some(Weights { table: Table::of(features, n_labels, u32::BITS)?, n_weights: pairs.len(), shift })
    }

    /// The same without small weights, with the others rounded and keys shortened: half the size, and nearly as good.
    pub(crate) fn compact(&self) -> Self {
        let n_features = self.n_features().max(1);
        let shift = (u32::BITS - SPARE_BITS).saturating_sub(n_features.ilog2()).max(self.shift);
        let rounded = |weight: i16| {
            let steps = (f64::from(weight) / f64::from(ROUNDED_TO)).round() as i16;
            steps.saturating_mul(ROUNDED_TO)
        };
        let mut features: Vec<(u32, Vec<Pair>)> = self.table.features().collect();
        features.sort_unstable();
        let (mut ends, mut pairs): (Vec<(u32, usize)>, Vec<Pair>) = Default::default();
        for (key, of_feature) in features {
            let key = kept(key, shift - self.shift);
            let start = pairs.len();
            let large = of_feature.into_iter().filter(|pair| pair.1.unsigned_abs() >= MIN_WEIGHT);
            pairs.extend(large.map(|(label, weight)| (label, rounded(weight))));
            // Of features that cannot be told apart any more the first is kept.
            if ends.last().is_some_and(|last| last.0 == key) {
                pairs.truncate(start);
            }
            if pairs.len() > start {
                ends.push((key, pairs.len()));
            }
        }
        Weights::of(&ends, &pairs, self.table.n_columns(), shift)
            .expect("there are fewer weights than before")
    }

    /// The number of scores: one for each label, and padding.
    pub(crate) fn n_scores(&self) -> usize {
        self.table.n_sums()
    }

    /// Adds the weights of features; one never learnt adds nothing.
    #[inline]
    pub(crate) fn add_all(&self, keys: &[u32], lookup: &mut Lookup, scores: &mut [i16]) {
        kernel::with_avx2(Add { table: &self.table, shift: self.shift, keys, lookup, scores });
    }

    /// The scores of features alone, into memory of any size.
    pub(crate) fn score(&self, keys: &[u32], lookup: &mut Lookup, scores: &mut Vec<i16>) {
        scores.clear();
        scores.resize(self.n_scores(), 0);
        self.add_all(keys, lookup, scores);
    }

    pub(crate) fn n_features(&self) -> usize {
        self.table.n_features()
    }

    pub(crate) fn n_weights(&self) -> usize {
        self.n_weights
    }

    pub(crate) fn to_bytes(&self, out: &mut Writer) {
        let mut features: Vec<(u32, Vec<Pair>)> = self.table.features().collect();
        features.sort_unstable();
        out.number(u64::from(self.shift));
        out.rising(features.iter().map(|feature| feature.0));
        for (_, pairs) in &features {
            out.number(pairs.len() as u64);
            let mut last = 0;
            for &(label, weight) in pairs {
                out.number(u64::from(label - last));
                out.signed(i64::from(weight));
                last = label;
            }
        }
    }

    pub(crate) fn from_bytes(input: &mut Reader<'_>, n_labels: usize) -> Result<Self> {
        // The first version kept whole keys.
        let shift = if input.version == 1 { 0 } else { input.below(32, "a number of bits")? as u32 };
        let keys = input.rising()?;
        if keys.last().is_some_and(|&last| last > u32::MAX >> shift) {
            return Err(damaged("a feature's key is too long"));
        }
        if keys.first() == Some(&0) {
            return Err(damaged("a feature has the key 0"));
        }
        let (mut ends, mut pairs) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len() * 3));
        for key in keys {
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
                pairs.push((label as u16, weight));
            }
            ends.push((key, pairs.len()));
        }
        Weights::of(&ends, &pairs, n_labels, shift).ok_or_else(|| damaged("it has too many weights"))
    }
}

/// Features to be added up.
struct Add<'a> {
    table: &'a Table,
    shift: u32,
    keys: &'a [u32],
    lookup: &'a mut Lookup,
    scores: &'a mut [i16],
}

impl kernel::Work for Add<'_> {
    #[inline(always)]
    fn run<const AVX2: bool>(self) {
        let Add { table, shift, keys, lookup: Lookup { probes, matches }, scores } = self;
        let words = table.words();
        probes.clear();
        probes.extend(keys.iter().map(|&key| table.probe(words, table_key(kept(key, shift), shift))));
        let mut lists = matches.start(probes.len());
        let starts = lists.ends();
        table.find::<AVX2>(words, probes, &mut lists);
        let ends = lists.ends();
        Table::sum::<false, true>(words, matches, starts, ends, scores);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Learns from one feature.
    fn teach(weights: &mut TrainingWeights, key: u32, gradient: &[(u16, f32)]) {
        let mut places = Vec::new();
        weights.tick();
        weights.places(&[key], &mut places);
        weights.learn(&[key], &places, gradient);
    }

    fn scores(weights: &TrainingWeights, key: u32) -> [f32; 3] {
        let (mut places, mut scores) = (Vec::new(), [0.0; 3]);
        weights.places(&[key], &mut places);
        weights.add(&places, &mut scores);
        scores
    }

    fn averaged(weights: &TrainingWeights, key: u32) -> [i32; 3] {
        let averaged = weights.averaged(3).expect("few weights");
        let mut scores = Vec::new();
        averaged.score(&[key], &mut Lookup::default(), &mut scores);
        std::array::from_fn(|label| i32::from(scores[label]))
    }

    /// A table too large to be kept whole: features from 1 on, which know label 0 and hardly label 1.
    fn large() -> TrainingWeights {
        let mut weights = TrainingWeights::default();
        for key in 1..=FEW_FEATURES as u32 {
            // The second half came to little.
            let by = if key as usize > FEW_FEATURES / 2 { 0.001 } else { 1.0 };
            teach(&mut weights, key, &[(0, by), (1, -0.001)]);
        }
        (0..FEW_FEATURES).for_each(|_| weights.tick());
        weights
    }

    #[test]
    fn steps_become_shorter() {
        let mut weights = TrainingWeights::default();
        let after = [1, 2, 3].map(|_| {
            teach(&mut weights, 7, &[(2, 0.5), (0, -0.5)]);
            scores(&weights, 7)
        });
        assert!(after.iter().all(|row| row[2] == -row[0] && row[1] == 0.0), "{after:?}");
        let steps = [after[0][2], after[1][2] - after[0][2], after[2][2] - after[1][2]];
        assert!(steps[0] > steps[1] && steps[1] > steps[2] && steps[2] > 0.0, "{steps:?}");
        assert_eq!(scores(&weights, 8), [0.0; 3]);
    }

    #[test]
    fn weights_are_averaged_over_decisions() {
        let mut weights = TrainingWeights::default();
        teach(&mut weights, 7, &[(1, 1.0)]);
        let value = f64::from(scores(&weights, 7)[1]);
        (0..3).for_each(|_| weights.tick());
        // It was so for three decisions of four.
        let expected = (value * SCALE * 3.0 / 4.0).round() as i32;
        assert_eq!((averaged(&weights, 7), expected > 1), ([0, expected, 0], true));
    }

    #[test]
    fn closing_leaves_what_counts() {
        let mut weights = large();
        let (kept, gone) = (1, FEW_FEATURES as u32);
        let before = scores(&weights, kept);
        assert!(before[0] > 0.0 && before[1] < 0.0 && scores(&weights, gone)[0] > 0.0);
        weights.close(0.05, 0.01);
        assert_eq!(weights.n_features(), FEW_FEATURES / 2);
        assert_eq!(scores(&weights, kept), [before[0], 0.0, 0.0]);
        assert_eq!(scores(&weights, gone), [0.0; 3]);
        // Averages begin anew, and no weight comes back.
        for key in [kept, gone] {
            teach(&mut weights, key, &[(0, 1.0), (1, 1.0), (2, 1.0)]);
            (0..100_000).for_each(|_| weights.tick());
        }
        let now = scores(&weights, kept);
        assert!(now[0] > before[0] && now[1..] == [0.0; 2], "{now:?}");
        assert_eq!(averaged(&weights, kept), [(f64::from(now[0]) * SCALE).round() as i32, 0, 0]);
        assert_eq!(scores(&weights, gone), [0.0; 3]);
    }

    #[test]
    fn a_feature_is_kept_with_its_small_weights() {
        let mut weights = large();
        weights.close(0.05, 0.0);
        assert!(scores(&weights, 1)[1] < 0.0);
    }

    #[test]
    fn a_small_table_is_kept_whole() {
        let mut weights = TrainingWeights::default();
        teach(&mut weights, 7, &[(0, 1e-3)]);
        weights.close(9.0, 9.0);
        teach(&mut weights, 8, &[(1, 1.0)]);
        assert!(scores(&weights, 7)[0] > 0.0 && scores(&weights, 8)[1] > 0.0);
    }
}
