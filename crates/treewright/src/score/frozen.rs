//! Read-only weights for parsing: averaged, quantised to 16 bits, laid out for few cache misses, mappable from disk
//! (little-endian machines only: a row's 16-bit weights are used where they lie).
//!
//! A feature's key leads to a bucket of eight fingerprints and eight places, one line of the cache; the place is its only
//! weight, or says where its weights stand: as pairs, or as a whole row if there are many. Buckets and weights are
//! fetched ahead of their use, in bulk, so that cache misses overlap, and what is found is listed without branches, which
//! would be mispredicted.
//!
//! The weights are scaled so that no sum over a state's templates can leave 16 bits: sums need no wider numbers, and a
//! row of a hundred actions is added in six instructions.

use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::features::{Dependence, Encoded, Extractor, TemplateSet, Vocabulary, template_class};
use crate::forest::{Forest, View};
use crate::score::kernel;
use crate::score::perceptron::Feature;
use crate::score::{Perceptron, Rows, Scorer};
use crate::sentence::Sentence;

/// Features of a bucket.
const BUCKET: usize = 8;
/// Words of a bucket: the fingerprints (0 = free), then the weights, or their places with their numbers.
const BUCKET_WORDS: usize = 2 * BUCKET;
/// A feature's only pair stands in the bucket itself, marked by this bit: most features have but one, and so a cache miss
/// less.
const SINGLE: u32 = 1 << 31;
/// Else the low bits are the number of pairs at the place that the others tell, 0 for a whole row.
const COUNT_BITS: u32 = 5;
/// So many bits tell a place.
const PLACE_BITS: u32 = 31 - COUNT_BITS;
const MOST_PAIRS: usize = (1 << COUNT_BITS) - 1;
/// So full is the table, in percent.
const FULL: usize = 62;
/// So many words of sums are kept at most (4 MB).
const MOST_SUMS: usize = 1 << 20;

/// The numbers: owned after training, or a view of a mapped file.
pub trait WordSource: Send + Sync + std::fmt::Debug {
    /// All words.
    fn words(&self) -> &[u32];
}

impl WordSource for Vec<u32> {
    fn words(&self) -> &[u32] {
        self
    }
}

/// The weights of a model.
#[derive(Clone, Debug)]
pub struct FrozenWeights {
    source: Arc<dyn WordSource>,
    n_buckets: usize,
    n_actions: usize,
    n_features: usize,
}

fn pack(action: u16, weight: i16) -> u32 {
    u32::from(action) << 16 | u32::from(weight as u16)
}

#[inline]
fn unpack(pair: u32) -> (usize, i16) {
    ((pair >> 16) as usize, pair as u16 as i16)
}

/// The largest factor for weights at which no sum over one feature of each template leaves 16 bits.
fn scale(features: &[Feature], n_templates: usize) -> f32 {
    let mut largest = [0f32; 256];
    for (key, pairs) in features {
        let class = &mut largest[template_class(*key)];
        *class = pairs.iter().fold(*class, |max, (_, weight)| max.max(weight.abs()));
    }
    // Sets of more than 256 templates share classes.
    let sum: f32 = largest.iter().sum::<f32>() * n_templates.div_ceil(256) as f32;
    // Rounding adds up to a half per template.
    let room = f32::from(i16::MAX) - n_templates as f32;
    if sum > 0.0 { room.max(1.0) / sum } else { 1.0 }
}

impl FrozenWeights {
    /// The most words there can be (268 MB).
    pub(crate) const MOST_WORDS: usize = 1 << PLACE_BITS;

    /// Averages, quantises and lays out what a perceptron has learnt, without the weights below `least`.
    ///
    /// # Errors
    /// When there are too many weights.
    pub fn of(perceptron: &Perceptron, least: f32) -> Result<Self> {
        let n_actions = perceptron.n_actions();
        let row_words = row_words(n_actions);
        let features = perceptron.averaged();
        let scale = scale(&features, perceptron.templates().len());
        let quantised = features.into_iter().filter_map(|(key, pairs)| {
            let quantise = |(action, weight): (u16, f32)| (action, (weight * scale).round() as i16);
            let large = pairs.into_iter().filter(|pair| pair.1.abs() >= least);
            let pairs: Vec<(u16, i16)> = large.map(quantise).filter(|pair| pair.1 != 0).collect();
            (!pairs.is_empty()).then_some((key, pairs))
        });
        let features: Vec<(u64, Vec<(u16, i16)>)> = quantised.collect();
        let is_row = |pairs: &[(u16, i16)]| {
            pairs.len() > MOST_PAIRS || (n_actions >= 16 && pairs.len() * 8 >= n_actions)
        };
        let is_single = |pairs: &[(u16, i16)]| matches!(pairs, [(action, _)] if action >> 15 == 0);
        // Buckets, then rows, so that these stay aligned, then pairs.
        let n_buckets = (features.len() * 100 / FULL).div_ceil(BUCKET).max(1) + 1;
        let n_rows = features.iter().filter(|(_, pairs)| is_row(pairs)).count();
        let mut words = vec![0u32; n_buckets * BUCKET_WORDS + n_rows * row_words];
        let mut next_row = n_buckets * BUCKET_WORDS;
        for (key, pairs) in &features {
            let mut bucket = Self::first_bucket(*key, n_buckets) * BUCKET_WORDS;
            let at = loop {
                if let Some(free) = words[bucket..bucket + BUCKET].iter().position(|&word| word == 0) {
                    break bucket + free;
                }
                bucket = (bucket + BUCKET_WORDS) % (n_buckets * BUCKET_WORDS);
            };
            words[at] = fingerprint(*key);
            let place = if is_row(pairs) { next_row } else { words.len() };
            if is_single(pairs) {
                words[at + BUCKET] = SINGLE | pack(pairs[0].0, pairs[0].1);
            } else if is_row(pairs) {
                words[at + BUCKET] = (place as u32) << COUNT_BITS;
                let row: &mut [i16] = bytemuck::cast_slice_mut(&mut words[place..place + row_words]);
                pairs.iter().for_each(|&(action, weight)| row[usize::from(action)] = weight);
                next_row += row_words;
            } else {
                words[at + BUCKET] = (place as u32) << COUNT_BITS | pairs.len() as u32;
                words.extend(pairs.iter().map(|&(action, weight)| pack(action, weight)));
            }
        }
        if words.len() > Self::MOST_WORDS {
            let message = format!(
                "the model would have {} MB: raise least-weight to leave small weights out",
                words.len() * 4 / 1_000_000
            );
            return Err(Error::new(Code::BadTraining, 0, 0, message));
        }
        Ok(FrozenWeights { source: Arc::new(words), n_buckets, n_actions, n_features: features.len() })
    }

    /// Weights from the words of a model file. What is read later is bounded by `words`, whatever they hold.
    ///
    /// # Errors
    /// When the table does not fit.
    pub fn from_words(
        source: Arc<dyn WordSource>,
        n_buckets: usize,
        n_actions: usize,
        n_features: usize,
    ) -> Result<Self> {
        let fits = (1..1 << 27).contains(&n_buckets) && n_buckets * BUCKET_WORDS <= source.words().len();
        if !fits || n_actions > 1 << 16 {
            return Err(Error::new(Code::BadModel, 0, 0, "the weights of the model do not fit its table"));
        }
        Ok(FrozenWeights { source, n_buckets, n_actions, n_features })
    }

    /// All words, for the model file.
    pub fn words(&self) -> &[u32] {
        self.source.words()
    }

    /// The number of buckets of the table.
    pub fn n_buckets(&self) -> usize {
        self.n_buckets
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The number of actions.
    pub fn n_actions(&self) -> usize {
        self.n_actions
    }

    #[inline]
    fn first_bucket(key: u64, n_buckets: usize) -> usize {
        ((u64::from((key >> 24) as u32) * n_buckets as u64) >> 32) as usize
    }

    /// The place of a feature's weights, if the model has it. The number of looks is bounded, so that a damaged table
    /// without a free place cannot hang the parser.
    #[inline(always)]
    fn place(buckets: &[[u32; BUCKET_WORDS]], wanted: Wanted) -> (u32, bool) {
        let mut at = wanted.bucket as usize;
        for _ in 0..buckets.len() {
            let Some(bucket) = buckets.get(at) else { break };
            let (fingerprints, places) = bucket.split_at(BUCKET);
            let same =
                kernel::matches(fingerprints.first_chunk().expect("half a bucket"), wanted.fingerprint);
            // Nearly always the first bucket tells: buckets are filled from the front.
            if same != 0 || fingerprints[BUCKET - 1] == 0 {
                return (places[same.trailing_zeros() as usize % BUCKET], same != 0);
            }
            at = if at + 1 == buckets.len() { 0 } else { at + 1 };
        }
        (0, false)
    }

    /// Finds features, adds their places to what was found, and fetches their weights.
    #[inline(always)]
    fn find(&self, words: &[u32], wanted: &[Wanted], found: &mut Found) {
        let buckets = &words.as_chunks::<BUCKET_WORDS>().0[..self.n_buckets];
        let mut ends = found.ends;
        for (list, end) in found.lists.iter_mut().zip(ends) {
            if list.len() < end + wanted.len() {
                list.resize(end + wanted.len(), 0);
            }
        }
        let [rows, pairs, singles] = &mut found.lists;
        for &wanted in wanted {
            let (place, is_there) = Self::place(buckets, wanted);
            let is_single = place & SINGLE != 0;
            let is_row = place as usize & MOST_PAIRS == 0;
            let start = (place >> COUNT_BITS) as usize;
            let is_elsewhere = is_there & !is_single;
            // The further lines of a row follow by themselves.
            kernel::prefetch(words, if is_elsewhere { start } else { 0 });
            rows[ends[ROWS]] = start as u32;
            ends[ROWS] += usize::from(is_elsewhere & is_row);
            pairs[ends[PAIRS]] = place;
            ends[PAIRS] += usize::from(is_elsewhere & !is_row);
            singles[ends[SINGLES]] = place & !SINGLE;
            ends[SINGLES] += usize::from(is_there & is_single);
        }
        found.ends = ends;
    }

    /// Adds the weights of what was found from `from` up to `to` to `sums`.
    #[inline(always)]
    fn sum(words: &[u32], found: &Found, from: Ends, to: Ends, sums: &mut [i16]) {
        let list = |kind: usize| &found.lists[kind][from[kind]..to[kind]];
        kernel::sum_rows(words, list(ROWS), sums);
        let mut add = |pair: u32| {
            let (action, weight) = unpack(pair);
            if let Some(sum) = sums.get_mut(action) {
                *sum = sum.wrapping_add(weight);
            }
        };
        list(SINGLES).iter().for_each(|&pair| add(pair));
        for &place in list(PAIRS) {
            let start = (place >> COUNT_BITS) as usize;
            let pairs = words.get(start..start + (place as usize & MOST_PAIRS)).unwrap_or(&[]);
            pairs.iter().for_each(|&pair| add(pair));
        }
    }
}

/// The words of a row: two weights each, full lanes.
#[inline]
fn row_words(n_actions: usize) -> usize {
    n_actions.next_multiple_of(kernel::LANES) / 2
}

/// What a bucket keeps of a key: keys are odd, so it is never 0.
#[inline]
fn fingerprint(key: u64) -> u32 {
    key as u32
}

/// A feature to be found.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    bucket: u32,
    fingerprint: u32,
}

/// The kinds of weights: whole rows, by where they begin; pairs, by their places with their numbers; single pairs.
const ROWS: usize = 0;
const PAIRS: usize = 1;
const SINGLES: usize = 2;

/// A place in each of the lists of what was found.
type Ends = [usize; 3];

/// Where the weights of some features stand, by their kinds.
#[derive(Clone, Debug, Default)]
struct Found {
    lists: [Vec<u32>; 3],
    /// So much of each list counts.
    ends: Ends,
}

/// Sums of the weights of groups of templates, for what these have seen in this sentence: an open-addressing table
/// from signatures to sums.
#[derive(Clone, Debug, Default)]
struct Kept {
    /// Signature (0 = free) and the place of its sums; a power of two.
    table: Vec<(u64, u32)>,
    n_used: usize,
    /// Two sums to a word, like rows of weights.
    sums: Vec<u32>,
}

impl Kept {
    fn clear(&mut self) {
        self.table.fill((0, 0));
        self.n_used = 0;
        self.sums.clear();
    }

    /// Makes room for `n` more signatures with sums of `n_words` words each. A very long sentence in a wide beam starts
    /// afresh now and then, so that memory stays bounded: then this is true.
    #[inline]
    fn reserve(&mut self, n: usize, n_words: usize) -> bool {
        let is_full = self.sums.len() + n * n_words > MOST_SUMS;
        if is_full {
            self.clear();
        }
        if (self.n_used + n) * 2 > self.table.len() {
            let larger = vec![(0, 0); ((self.n_used + n) * 4).next_power_of_two()];
            for (signature, start) in std::mem::replace(&mut self.table, larger) {
                if signature != 0 {
                    let at = self.find(signature);
                    self.table[at] = (signature, start);
                }
            }
        }
        is_full
    }

    #[inline]
    fn find(&self, signature: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut at = (signature >> 32) as usize & mask;
        while self.table[at].0 != signature && self.table[at].0 != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    /// Where the sums of a signature begin, and whether they are still to be filled.
    #[inline]
    fn place(&mut self, signature: u64, n_words: usize) -> (u32, bool) {
        let at = self.find(signature);
        if self.table[at].0 == signature {
            return (self.table[at].1, false);
        }
        let start = self.sums.len();
        self.sums.resize(start + n_words, 0);
        self.table[at] = (signature, start as u32);
        self.n_used += 1;
        (start as u32, true)
    }
}

/// The sums of a group that is not kept go straight into the scores.
const NOT_KEPT: u32 = u32::MAX;
/// It is not known where the sums of a node are.
const UNKNOWN: u32 = u32::MAX;

/// A scorer over frozen weights, with its own scratch memory: one per worker.
///
/// Many states of a sentence look alike in most places. What the templates over the same places add to a row is
/// computed once for each look of these places, and kept.
#[derive(Clone, Debug)]
pub struct Frozen {
    vocabulary: Arc<Vocabulary>,
    weights: FrozenWeights,
    extractor: Extractor,
    /// The groups of templates over one place (or the buffer) come first; for each the number of the place.
    one_place: Vec<Option<usize>>,
    /// Then those over several places; the last group is all of these together.
    n_groups: usize,
    /// For each slot of the extractor where the sums of the node there are.
    of_slots: Vec<u32>,
    encoded: Encoded,
    kept: Kept,
    wanted: Vec<Wanted>,
    found: Found,
    /// What is summed up for this state: the place of the sums, and where its features end in `wanted` and in `found`.
    missing: Vec<(u32, usize, Ends)>,
    /// Where all sums of this state are.
    starts: Vec<u32>,
    scores: Vec<i16>,
}

impl Frozen {
    /// A scorer that shares its tables with others.
    pub fn new(vocabulary: Arc<Vocabulary>, templates: &TemplateSet, weights: FrozenWeights) -> Self {
        let is_of_several = |dependence: &Dependence| matches!(dependence, Dependence::Places { .. });
        let (several, one): (Vec<_>, Vec<_>) =
            Dependence::all_of(templates).into_iter().partition(is_of_several);
        let mut extractor = Extractor::without_groups(templates);
        for dependence in one.iter().chain(&several) {
            extractor.add_group(templates, |other| other == *dependence);
        }
        extractor.add_group(templates, |other| is_of_several(&other));
        let place_of = |dependence: &Dependence| match dependence {
            Dependence::Node(place) => extractor.number_of(*place),
            Dependence::Buffer | Dependence::Places { .. } => None,
        };
        Frozen {
            vocabulary,
            one_place: one.iter().map(place_of).collect(),
            n_groups: one.len() + several.len(),
            of_slots: vec![UNKNOWN; extractor.n_slots()],
            extractor,
            encoded: Encoded::default(),
            kept: Kept::default(),
            // One more: a feature that does not count is written and then overwritten.
            wanted: vec![Wanted::default(); templates.len() + 1],
            found: Found::default(),
            missing: Vec::new(),
            starts: Vec::new(),
            scores: vec![0; row_words(weights.n_actions) * 2],
            weights,
        }
    }
}

impl Scorer for Frozen {
    fn start_sentence(&mut self, sentence: &Sentence) {
        self.vocabulary.encode(sentence, &mut self.encoded);
        self.kept.clear();
        self.extractor.forget();
    }

    fn score(&mut self, forest: &Forest, views: &[View], rows: &mut Rows) {
        kernel::with_avx2(Fill { scorer: self, forest, views, rows });
    }
}

/// Rows of scores to be filled.
struct Fill<'a> {
    scorer: &'a mut Frozen,
    forest: &'a Forest,
    views: &'a [View],
    rows: &'a mut Rows,
}

impl kernel::Work for Fill<'_> {
    #[inline(always)]
    fn run(self) {
        self.scorer.fill(self.forest, self.views, self.rows);
    }
}

impl Frozen {
    #[inline(always)]
    fn fill(&mut self, forest: &Forest, views: &[View], rows: &mut Rows) {
        let Frozen { weights, extractor, encoded, kept, wanted, found, missing, starts, scores, of_slots, .. } =
            self;
        rows.reset(views.len(), weights.n_actions);
        // A state on its own has no other to share with: what depends on several places is summed up at once.
        let is_alone = views.len() == 1;
        let n_kept = if is_alone { self.one_place.len() } else { self.n_groups };
        let row_words = scores.len() / 2;
        let words = weights.words();
        for (i, view) in views.iter().enumerate() {
            scores.fill(0);
            missing.clear();
            starts.clear();
            let mut n_wanted = 0;
            let mut want = |n_wanted: &mut usize, key: u64, counts: bool| {
                let bucket = FrozenWeights::first_bucket(key, weights.n_buckets);
                kernel::prefetch(words, bucket * BUCKET_WORDS);
                wanted[*n_wanted] = Wanted { bucket: bucket as u32, fingerprint: fingerprint(key) };
                *n_wanted += usize::from(counts);
            };
            if kept.reserve(n_kept, row_words) {
                of_slots.fill(UNKNOWN);
            }
            extractor.look(forest, view, encoded, |slot| of_slots[slot] = UNKNOWN);
            for group in 0..n_kept {
                // The sums of a node that was seen in this place are found without looking what it is.
                let slot = self.one_place.get(group).copied().flatten().map(|place| extractor.slot(place));
                if let Some(start) = slot.map(|slot| of_slots[slot]).filter(|&start| start != UNKNOWN) {
                    starts.push(start);
                    continue;
                }
                let (start, is_missing) = kept.place(extractor.signature(group), row_words);
                starts.push(start);
                if let Some(slot) = slot {
                    of_slots[slot] = start;
                }
                if is_missing {
                    extractor.keys(group, |key, counts| want(&mut n_wanted, key, counts));
                    missing.push((start, n_wanted, Ends::default()));
                }
            }
            if is_alone {
                extractor.keys(self.n_groups, |key, counts| want(&mut n_wanted, key, counts));
                missing.push((NOT_KEPT, n_wanted, Ends::default()));
            }
            // All are found before the first is summed up: by then its weights have been fetched.
            found.ends = Ends::default();
            let mut from = 0;
            for (_, to, ends) in missing.iter_mut() {
                weights.find(words, &wanted[from..*to], found);
                from = *to;
                *ends = found.ends;
            }
            let mut from = Ends::default();
            for &(start, _, ends) in missing.iter() {
                let sums = match start {
                    NOT_KEPT => &mut scores[..],
                    start => bytemuck::cast_slice_mut(&mut kept.sums[start as usize..][..row_words]),
                };
                FrozenWeights::sum(words, found, from, ends, sums);
                from = ends;
            }
            kernel::sum_rows(&kept.sums, starts, scores);
            rows.row_mut(i).iter_mut().zip(&*scores).for_each(|(score, &sum)| *score = f32::from(sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_every_action_and_weight() {
        for (action, weight) in [(0, 1), (7, -1), (0x7FFF, i16::MIN), (0x8000, i16::MAX), (u16::MAX, -2)] {
            assert_eq!(unpack(pack(action, weight)), (usize::from(action), weight));
        }
    }
}
