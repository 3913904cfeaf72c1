//! Scoring with weights that are only read: averaged and quantised to 16 bits (`weights/` is how they are laid out).
//!
//! The weights are scaled so that no sum over a state's templates can leave 16 bits.

use std::sync::Arc;

use super::Perceptron;
use super::contexts::{Contexts, Features};
use super::learner::Feature;
use crate::error::{Code, Error, Result};
use crate::features::{
    Dependence, Encoded, Extractor, Horizon, SeparateKeys, TemplateSet, Vocabulary, template_class,
};
use crate::map::WordSource;
use crate::score::{ItemScorer, Items, Role, Rows, Scorer, SlotId, Slots, Views};
use crate::sentence::Sentence;
use crate::weights::single::Filter;
use crate::weights::{Ends, Key, Matches, Probe, Shape, Table, kernel, layout};

/// The cache of sums has at most this many words (4 MB; in tests few, so that they are all used up).
const MAX_SUMS: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };
/// A group of templates that depend on several places has at least this many.
const MIN_TEMPLATES: usize = 4;
/// The table of the cache has room for at least this many sums (32 kB).
const MIN_TABLE: usize = 1 << 11;

/// Of a feature's fingerprint this many bits are kept; the lowest is 1 for all. Among the three or so features of a bucket,
/// one in a thousand unknown features then looks like a known one, which costs no accuracy that can be measured, and the
/// packed model becomes a third smaller than with 32 bits.
const FINGERPRINT_BITS: u32 = 13;
/// The smallest weight that is kept becomes about this many steps: finer ones make models larger and not better.
const STEPS: f32 = 5.0;

/// The weights of a model.
#[derive(Clone, Debug)]
pub struct FrozenWeights(Table);

/// What of a feature's key leads to its weights: keys are odd, so its lower half is never 0.
#[inline(always)]
fn table_key(key: u64) -> Key {
    Key { spread: (key >> 24) as u32, fingerprint: key as u32 }
}

/// The largest factor for weights at which no sum over one feature of each template leaves 16 bits, and the number that scaled
/// weights are multiples of: the smallest that is kept becomes about `STEPS` of them.
fn scale(features: &[Feature], n_templates: usize, min_weight: f32) -> (f32, f32) {
    let mut largest = [0f32; 256];
    for (key, pairs) in features {
        let class = &mut largest[template_class(*key)];
        *class = pairs.iter().fold(*class, |max, (_, weight)| max.max(weight.abs()));
    }
    // Sets of more than 256 templates share classes.
    let sum: f32 = largest.iter().sum::<f32>() * n_templates.div_ceil(256) as f32;
    // Rounding adds up to half a step per template, and a step is at most this plus a half.
    let step = min_weight / STEPS;
    let room = f32::from(i16::MAX) - n_templates as f32;
    let scale = if sum > 0.0 { room.max(1.0) / (sum + step * n_templates as f32 / 2.0) } else { 1.0 };
    (scale, (step * scale).round().max(1.0))
}

impl FrozenWeights {
    /// Averages, quantises and lays out what a perceptron has learnt, without the weights below `min_weight`.
    ///
    /// # Errors
    /// When there are too many weights.
    pub fn of(perceptron: &Perceptron, min_weight: f32) -> Result<Self> {
        let features = perceptron.averaged();
        let (scale, step) = scale(&features, perceptron.templates().len(), min_weight);
        let quantised = features.into_iter().filter_map(|(key, pairs)| {
            let quantise =
                |(action, weight): (u16, f32)| (action, ((weight * scale / step).round() * step) as i16);
            let large = pairs.into_iter().filter(|pair| pair.1.abs() >= min_weight);
            let pairs: Vec<(u16, i16)> = large.map(quantise).filter(|pair| pair.1 != 0).collect();
            (!pairs.is_empty()).then_some((table_key(key), pairs))
        });
        let mut features: Vec<(Key, Vec<(u16, i16)>)> = quantised.collect();
        // In the order of buckets, as the packed form has them.
        features.sort_by_key(|(key, _)| key.spread);
        let features = features.iter().map(|(key, pairs)| (*key, &pairs[..]));
        let table = Table::of(features, perceptron.n_actions(), FINGERPRINT_BITS);
        table.map(FrozenWeights).ok_or_else(|| {
            let message = format!(
                "the model would have more than {} MB: raise min-weight to leave small weights out",
                layout::MAX_WORDS * 4 / 1_000_000
            );
            Error::new(Code::BadTraining, message)
        })
    }

    /// Weights from the words of a model file. What is read later is bounded by `words`, whatever they hold.
    ///
    /// # Errors
    /// When the table does not fit.
    pub(crate) fn from_words(source: Arc<dyn WordSource>, n_actions: usize, shape: Shape) -> Result<Self> {
        let table = Table::from_words(source, n_actions, shape);
        let error = || Error::new(Code::BadModel, "the weights of the model do not fit its table");
        table.map(FrozenWeights).ok_or_else(error)
    }

    /// The table of weights.
    pub(crate) fn table(&self) -> &Table {
        &self.0
    }

    /// All words, for the model file.
    pub fn words(&self) -> &[u32] {
        self.0.words()
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// The number of actions.
    pub fn n_actions(&self) -> usize {
        self.0.n_columns()
    }
}

/// Sums of the weights of groups of templates, for what these have seen in this sentence: an open-addressing table
/// from signatures to sums.
#[derive(Clone, Debug, Default)]
struct SumCache {
    /// Signature (0 = free) and the place of its sums.
    table: Vec<(u64, u32)>,
    /// How much of the table is in use, a power of two: little for a short sentence, so that it stays in the processor's cache.
    size: usize,
    n_used: usize,
    /// What is moved when the table grows.
    moved: Vec<(u64, u32)>,
    /// Two sums to a word, like rows of weights; those that are used come first.
    sums: Vec<u32>,
    n_words: usize,
}

impl SumCache {
    fn clear(&mut self) {
        self.table[..self.size].fill((0, 0));
        self.size = 0;
        self.n_used = 0;
        self.n_words = 0;
    }

    /// Makes room for `n` more signatures with sums of `n_words` words each. A very long sentence in a wide beam starts
    /// afresh now and then, so that memory stays bounded: then this is true.
    #[inline]
    fn reserve(&mut self, n: usize, n_words: usize) -> bool {
        let is_full = self.n_words + n * n_words > MAX_SUMS;
        if is_full {
            self.clear();
        }
        if self.sums.len() < self.n_words + n * n_words {
            self.sums.resize(self.n_words + n * n_words, 0);
        }
        if (self.n_used + n) * 2 > self.size {
            self.grow(((self.n_used + n) * 4).next_power_of_two().max(MIN_TABLE));
        }
        is_full
    }

    fn grow(&mut self, size: usize) {
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        moved.extend(self.table[..self.size].iter().filter(|entry| entry.0 != 0));
        self.table[..self.size].fill((0, 0));
        if self.table.len() < size {
            self.table.resize(size, (0, 0));
        }
        self.size = size;
        for &entry in &moved {
            let at = self.find(entry.0);
            self.table[at] = entry;
        }
        self.moved = moved;
    }

    #[inline]
    fn find(&self, signature: u64) -> usize {
        let table = &self.table[..self.size];
        let mask = self.size - 1;
        let mut at = (signature >> 32) as usize & mask;
        while table[at].0 != signature && table[at].0 != 0 {
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
        let start = self.n_words as u32;
        self.n_words += n_words;
        self.table[at] = (signature, start);
        self.n_used += 1;
        (start, true)
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
    weights: Table,
    horizon: Horizon,
    /// What an open sentence starts with.
    extractor: Extractor,
    /// The groups of templates over one place (or the buffer) come first; for each the number of the place.
    one_place: Vec<Option<usize>>,
    /// Then those over several places; the last group is all of these together.
    n_groups: usize,
    n_templates: usize,
    sentences: Slots<OpenSentence>,
    probes: Vec<Probe>,
    matches: Matches,
    /// What is summed up: the place of the sums, and where its features end in `probes` and in `matches`.
    missing: Vec<(u32, usize, Ends)>,
    /// Where the sums of each state are.
    starts: Vec<u32>,
    /// The scores of one state.
    scores: Vec<i16>,
    separate: Option<SeparateKeys>,
    contexts: Contexts,
    /// Made when it is needed for the first time.
    filter: Option<Filter>,
}

/// What is known of a sentence, and what was computed for it.
#[derive(Clone, Debug)]
struct OpenSentence {
    extractor: Extractor,
    /// For each slot of the extractor where the sums of the node there are.
    of_slots: Vec<u32>,
    encoded: Encoded,
    kept: SumCache,
}

impl Frozen {
    /// A scorer that shares its tables with others.
    pub fn new(vocabulary: Arc<Vocabulary>, templates: &TemplateSet, weights: FrozenWeights) -> Self {
        let is_of_several = |dependence: &Dependence| matches!(dependence, Dependence::Places { .. });
        let (several, one): (Vec<_>, Vec<_>) =
            Dependence::all_of(templates).into_iter().partition(|(dependence, _)| is_of_several(dependence));
        let (several, one) = (joined(several), one.into_iter().map(|(dependence, _)| dependence));
        let one: Vec<Dependence> = one.collect();
        let mut extractor = Extractor::without_groups(templates);
        for dependence in &one {
            extractor.add_group(templates, |other| other == *dependence);
        }
        for dependences in &several {
            extractor.add_group(templates, |other| dependences.contains(&other));
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
            extractor,
            sentences: Slots::default(),
            n_templates: templates.len(),
            horizon: templates.horizon(),
            probes: Vec::new(),
            matches: Matches::default(),
            missing: Vec::new(),
            starts: Vec::new(),
            scores: vec![0; weights.0.n_sums()],
            separate: SeparateKeys::of(templates),
            contexts: Contexts::default(),
            filter: None,
            weights: weights.0,
        }
    }
}

/// Joins what few templates depend on with what is most like it: a group by itself costs more than its few templates
/// save when they are seen again without the others.
fn joined(dependences: Vec<(Dependence, usize)>) -> Vec<Vec<Dependence>> {
    struct Group {
        dependences: Vec<Dependence>,
        places: u32,
        n_templates: usize,
    }
    let alone = |(dependence, n_templates): (Dependence, usize)| {
        let places = match dependence {
            Dependence::Places { places, .. } => places,
            Dependence::Buffer | Dependence::Node(_) => 0,
        };
        Group { dependences: vec![dependence], places, n_templates }
    };
    let mut groups: Vec<Group> = dependences.into_iter().map(alone).collect();
    while let Some(small) = groups.iter().position(|group| group.n_templates < MIN_TEMPLATES) {
        let small = groups.remove(small);
        let unlike = |group: &&mut Group| ((group.places ^ small.places).count_ones(), group.n_templates);
        match groups.iter_mut().min_by_key(unlike) {
            Some(like) => {
                like.dependences.extend(small.dependences);
                like.places |= small.places;
                like.n_templates += small.n_templates;
            }
            None => return vec![small.dependences],
        }
    }
    groups.into_iter().map(|group| group.dependences).collect()
}

impl Scorer for Frozen {
    fn open(&mut self, sentences: &[&Sentence], slots: &mut Vec<SlotId>) {
        let make = || OpenSentence {
            of_slots: vec![UNKNOWN; self.extractor.n_slots()],
            encoded: self.extractor.encoded(),
            extractor: self.extractor.clone(),
            kept: SumCache::default(),
        };
        self.sentences.open_all(sentences, slots, make, |open, sentence| {
            self.vocabulary.encode(sentence, &mut open.encoded);
            open.kept.clear();
            open.extractor.forget();
        });
    }

    fn close(&mut self, slot: SlotId) {
        self.sentences.get(slot).encoded.give_back();
        self.sentences.close(slot);
    }

    fn horizon(&self) -> Option<&Horizon> {
        Some(&self.horizon)
    }

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        rows.make_for(queries, self.weights.n_columns());
        let mut first = 0;
        for query in queries {
            kernel::with_avx2(Fill { scorer: self, query, rows, first });
            first += query.views.len();
        }
    }

    fn by_item(&mut self) -> Option<&mut dyn ItemScorer> {
        if self.separate.is_some() { Some(self) } else { None }
    }
}

impl ItemScorer for Frozen {
    fn of_spans(&mut self, slot: SlotId, role: Role, items: Items<'_>, rows: &mut [i16]) -> bool {
        let Some(separate) = &mut self.separate else { return false };
        let filter = self.filter.get_or_insert_with(|| Filter::of(&self.weights));
        let features = Filtered { table: &self.weights, words: self.weights.words(), filter };
        let encoded = &self.sentences.get(slot).encoded;
        let mut fits = true;
        kernel::with_avx2(FillSpans {
            contexts: &mut self.contexts,
            features,
            place: (separate, role),
            encoded,
            items,
            rows,
            fits: &mut fits,
        });
        fits
    }

    fn of_buffer(&mut self, slot: SlotId, next: usize, row: &mut [i16]) -> bool {
        let Some(separate) = &mut self.separate else { return false };
        let filter = self.filter.get_or_insert_with(|| Filter::of(&self.weights));
        let features = Filtered { table: &self.weights, words: self.weights.words(), filter };
        Contexts::fill_buffer(&features, separate, &self.sentences.get(slot).encoded, next, row)
    }

    /// Sums over all templates fit 16 bits (see `scale`).
    fn max_score(&self) -> i32 {
        i32::from(i16::MAX)
    }
}

/// A table and what it may have.
struct Filtered<'a> {
    table: &'a Table,
    words: &'a [u32],
    filter: &'a Filter,
}

impl Features for Filtered<'_> {
    #[inline(always)]
    fn may_have(&self, key: u64) -> bool {
        self.filter.may_have(table_key(key))
    }

    #[inline(always)]
    fn prefetch_hint(&self, key: u64) {
        self.filter.prefetch(table_key(key));
    }

    #[inline(always)]
    fn prefetch(&self, key: u64) {
        self.table.probe(self.words, table_key(key));
    }

    #[inline(always)]
    fn place_of(&self, key: u64) -> Option<u32> {
        let place = self.table.find_one(self.words, table_key(key))?;
        self.table.prefetch_one(self.words, place);
        Some(place)
    }

    /// Weights are scaled so that no sum is too large.
    #[inline(always)]
    fn add_weights(&self, place: u32, sums: &mut [i16]) -> bool {
        self.table.add_one(self.words, place, sums);
        true
    }
}

/// Rows of what items add, to be filled.
struct FillSpans<'a> {
    contexts: &'a mut Contexts,
    features: Filtered<'a>,
    place: (&'a mut SeparateKeys, Role),
    encoded: &'a Encoded,
    items: Items<'a>,
    rows: &'a mut [i16],
    fits: &'a mut bool,
}

impl kernel::Work for FillSpans<'_> {
    #[inline(always)]
    fn run<const AVX2: bool>(self) {
        *self.fits = self.contexts.fill(&self.features, self.place, self.encoded, self.items, self.rows);
    }
}

/// Rows of scores to be filled.
struct Fill<'a> {
    scorer: &'a mut Frozen,
    query: &'a Views<'a>,
    rows: &'a mut Rows,
    /// The first of them.
    first: usize,
}

impl kernel::Work for Fill<'_> {
    #[inline(always)]
    fn run<const AVX2: bool>(self) {
        self.scorer.fill::<AVX2>(self.query, self.rows, self.first);
    }
}

impl Frozen {
    #[inline(always)]
    fn fill<const AVX2: bool>(&mut self, query: &Views<'_>, rows: &mut Rows, first: usize) {
        let Views { slot, forest, views } = *query;
        let Frozen { weights, sentences, probes, matches, missing, starts, scores, .. } = self;
        let OpenSentence { extractor, of_slots, encoded, kept } = sentences.get(slot);
        // A state on its own has no other to share with: what depends on several places is summed up at once.
        let is_alone = views.len() == 1;
        let n_kept = if is_alone { self.one_place.len() } else { self.n_groups };
        let row_words = scores.len() / 2;
        let words = weights.words();
        missing.clear();
        starts.clear();
        let max_probes = views.len() * self.n_templates;
        if probes.len() < max_probes {
            probes.resize(max_probes, Probe::default());
        }
        if kept.reserve(views.len() * n_kept, row_words) {
            of_slots.fill(UNKNOWN);
        }
        let mut list = kernel::BranchlessList::new(probes);
        let want = |key: u64| weights.probe(words, table_key(key));
        for view in views {
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
                    extractor.keys(group, &mut list, want);
                    missing.push((start, list.len(), [0; 3]));
                }
            }
        }
        if is_alone {
            extractor.keys(self.n_groups, &mut list, want);
            missing.push((NOT_KEPT, list.len(), [0; 3]));
        }
        let n_probes = list.len();
        // The features of all states are found before any are summed up: by then their weights are in the cache.
        let mut lists = matches.start(n_probes);
        let match_starts = lists.ends();
        let mut from = 0;
        for (_, to, ends) in missing.iter_mut() {
            weights.find::<AVX2>(words, &probes[from..*to], &mut lists);
            from = *to;
            *ends = lists.ends();
        }
        let mut from = match_starts;
        for &(start, _, ends) in missing.iter() {
            let sums = match start {
                NOT_KEPT => &mut scores[..],
                start => bytemuck::cast_slice_mut(&mut kept.sums[start as usize..][..row_words]),
            };
            Table::sum::<true, false>(words, matches, from, ends, sums);
            from = ends;
        }
        for i in 0..views.len() {
            let starts = &starts[i * n_kept..(i + 1) * n_kept];
            if is_alone {
                kernel::sum_rows::<false>(&kept.sums, starts, scores);
            } else {
                kernel::sum_rows::<true>(&kept.sums, starts, scores);
            }
            let row = rows.row_mut(first + i);
            let sums = &scores[..row.len()];
            for at in 0..sums.len() {
                row[at] = f32::from(sums[at]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dependence_is_in_one_group_and_groups_are_not_small() {
        for name in crate::features::shipped_names() {
            let all = Dependence::all_of(&crate::features::shipped(name).expect(name));
            let is_of_several =
                |(dependence, _): &(Dependence, usize)| matches!(dependence, Dependence::Places { .. });
            let several: Vec<_> = all.into_iter().filter(is_of_several).collect();
            let groups = joined(several.clone());
            let n_of =
                |dependence: &Dependence| several.iter().find(|one| one.0 == *dependence).expect(name).1;
            assert_eq!(groups.iter().flatten().count(), several.len(), "{name}");
            for group in &groups {
                let n_templates: usize = group.iter().map(n_of).sum();
                assert!(n_templates >= MIN_TEMPLATES || groups.len() == 1, "{name}: {group:?}");
            }
        }
        assert!(joined(Vec::new()).is_empty());
    }

    /// Few templates go where they add no place.
    #[test]
    fn small_groups_join_what_is_most_like_them() {
        let places = |places: u32| Dependence::Places { places, only_words: false };
        let groups = joined(vec![(places(0b11), 9), (places(0b1100), 5), (places(0b1000), 1)]);
        assert_eq!(groups, [vec![places(0b11)], vec![places(0b1100), places(0b1000)]]);
    }
}
