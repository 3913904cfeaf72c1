//! Read-only weights for parsing: averaged, quantised to 16 bits, laid out for few cache misses, mappable from disk
//! (little-endian machines only: a row's 16-bit weights are used where they lie).
//!
//! A feature's key leads to one slot of 16 bytes. A feature with one or two weights has them in the slot itself; more
//! stand together elsewhere, as pairs, or as a whole row if there are many. Unknown features cost one look.

use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::features::{Dependence, Encoded, Extractor, TemplateSet, Vocabulary};
use crate::forest::{Forest, View};
use crate::ids::NodeId;
use crate::score::kernel;
use crate::score::{Perceptron, Rows, Scorer};
use crate::sentence::Sentence;

/// Words of a slot: fingerprint (0 = free), header (number of weights, or `DENSE`), and two more: the weights
/// themselves, or the place of the first.
const SLOT: usize = 4;
/// The header of a feature whose weights are a whole row.
const DENSE: u32 = u32::MAX;
/// So many weights fit into a slot.
const INLINE: usize = 2;
/// A group of templates keeps at most so many sums (8 MB).
const MOST_SUMS: usize = 1 << 21;

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
    n_slots: usize,
    n_actions: usize,
    row_words: usize,
    n_features: usize,
}

fn pack(action: u16, weight: i16) -> u32 {
    u32::from(action) << 16 | u32::from(weight as u16)
}

#[inline]
fn unpack(pair: u32) -> (usize, i32) {
    ((pair >> 16) as usize, i32::from(pair as u16 as i16))
}

impl FrozenWeights {
    /// Averages, quantises and lays out what a perceptron has learnt.
    pub fn of(perceptron: &Perceptron) -> Self {
        let n_actions = perceptron.n_actions();
        let row_words = n_actions.div_ceil(2);
        let features = perceptron.averaged();
        let largest = features.iter().flat_map(|(_, pairs)| pairs).fold(0f32, |max, (_, w)| max.max(w.abs()));
        let scale = if largest > 0.0 { f32::from(i16::MAX) / largest } else { 1.0 };
        let quantised = features.into_iter().filter_map(|(key, pairs)| {
            let quantise = |(action, weight): (u16, f32)| (action, (weight * scale).round() as i16);
            let pairs: Vec<(u16, i16)> = pairs.into_iter().map(quantise).filter(|pair| pair.1 != 0).collect();
            (!pairs.is_empty()).then_some((key, pairs))
        });
        let features: Vec<(u64, Vec<(u16, i16)>)> = quantised.collect();
        let n_slots = (features.len() * 3 / 2).next_power_of_two().max(16);
        let mut words = vec![0u32; n_slots * SLOT];
        for (key, pairs) in &features {
            let mut slot = Self::first_slot(*key, n_slots);
            while words[slot * SLOT] != 0 {
                slot = (slot + 1) & (n_slots - 1);
            }
            let at = slot * SLOT;
            words[at] = *key as u32;
            let packed = pairs.iter().map(|&(action, weight)| pack(action, weight));
            if pairs.len() <= INLINE {
                words[at + 1] = pairs.len() as u32;
                packed.enumerate().for_each(|(i, pair)| words[at + 2 + i] = pair);
            } else if pairs.len() * 8 < n_actions || n_actions < 16 {
                words[at + 1] = pairs.len() as u32;
                words[at + 2] = words.len() as u32;
                words.extend(packed);
            } else {
                words[at + 1] = DENSE;
                words[at + 2] = words.len() as u32;
                let mut row = vec![0u32; row_words];
                let weights: &mut [i16] = bytemuck::cast_slice_mut(&mut row);
                pairs.iter().for_each(|&(action, weight)| weights[usize::from(action)] = weight);
                words.extend(row);
            }
        }
        FrozenWeights { source: Arc::new(words), n_slots, n_actions, row_words, n_features: features.len() }
    }

    /// Weights from the words of a model file. What is read later is bounded by `words`, whatever they hold.
    ///
    /// # Errors
    /// When the table does not fit.
    pub fn from_words(
        source: Arc<dyn WordSource>,
        n_slots: usize,
        n_actions: usize,
        n_features: usize,
    ) -> Result<Self> {
        let fits = n_slots.is_power_of_two()
            && n_features < n_slots
            && n_slots.checked_mul(SLOT).is_some_and(|size| size <= source.words().len());
        if !fits || n_actions > 1 << 16 {
            return Err(Error::new(Code::BadModel, 0, 0, "the weights of the model do not fit its table"));
        }
        Ok(FrozenWeights { source, n_slots, n_actions, row_words: n_actions.div_ceil(2), n_features })
    }

    /// All words, for the model file.
    pub fn words(&self) -> &[u32] {
        self.source.words()
    }

    /// The number of slots of the table.
    pub fn n_slots(&self) -> usize {
        self.n_slots
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
    fn first_slot(key: u64, n_slots: usize) -> usize {
        (key >> 20) as usize & (n_slots - 1)
    }

    /// The slot of a feature, if the model has it. The number of looks is bounded, so that a damaged table without
    /// a free slot cannot hang the parser.
    #[inline]
    fn slot<'a>(&self, slots: &'a [[u32; SLOT]], key: u64) -> Option<&'a [u32; SLOT]> {
        let mut at = Self::first_slot(key, slots.len());
        for _ in 0..slots.len() {
            let slot = &slots[at];
            if slot[0] == key as u32 {
                return Some(slot);
            }
            if slot[0] == 0 {
                return None;
            }
            at = (at + 1) & (slots.len() - 1);
        }
        None
    }

    /// Adds the weights of features to the scores. Features come in bulk so that their cache misses overlap.
    #[inline]
    fn add(&self, keys: &[u64], found: &mut Vec<[u32; SLOT]>, scores: &mut [i32]) {
        let words = self.source.words();
        let slots = &words.as_chunks::<SLOT>().0[..self.n_slots];
        found.clear();
        found.reserve(keys.len());
        for &key in keys {
            if key != 0
                && let Some(slot) = self.slot(slots, key)
            {
                found.push(*slot);
            }
        }
        let mut add_pair = |pair: u32| {
            let (action, weight) = unpack(pair);
            if let Some(score) = scores.get_mut(action) {
                *score += weight;
            }
        };
        for slot in found.iter() {
            match slot[1] {
                1 => add_pair(slot[2]),
                2 => slot[2..4].iter().for_each(|&pair| add_pair(pair)),
                DENSE => {}
                n => {
                    let start = slot[2] as usize;
                    words
                        .get(start..start + n as usize)
                        .unwrap_or(&[])
                        .iter()
                        .for_each(|&pair| add_pair(pair));
                }
            }
        }
        for slot in found.iter().filter(|slot| slot[1] == DENSE) {
            let start = slot[2] as usize;
            let row = words.get(start..start + self.row_words).unwrap_or(&[]);
            kernel::add_row(scores, bytemuck::cast_slice(row));
        }
    }
}

/// Templates that depend on the same thing, and the sums of their weights for each thing met in this sentence.
#[derive(Clone, Debug)]
struct Group {
    dependence: Dependence,
    extractor: Extractor,
    /// For every word or node: the number of its sums, plus one; 0 = not yet known.
    known: Vec<u32>,
    sums: Vec<i32>,
}

/// A scorer over frozen weights, with its own scratch memory: one per worker.
///
/// What templates that look only at the buffer's words, or only at one node, add to a row does not depend on the rest
/// of the state: it is computed once per sentence and word or node.
#[derive(Clone, Debug)]
pub struct Frozen {
    vocabulary: Arc<Vocabulary>,
    weights: FrozenWeights,
    groups: Vec<Group>,
    encoded: Encoded,
    keys: Vec<u64>,
    found: Vec<[u32; SLOT]>,
    scores: Vec<i32>,
}

impl Frozen {
    /// A scorer that shares its tables with others.
    pub fn new(vocabulary: Arc<Vocabulary>, templates: &TemplateSet, weights: FrozenWeights) -> Self {
        let group = |dependence| Group {
            dependence,
            extractor: Extractor::of_dependence(templates, dependence),
            known: Vec::new(),
            sums: Vec::new(),
        };
        let groups = Dependence::all_of(templates).into_iter().map(group).collect();
        let scores = vec![0; weights.n_actions];
        let (encoded, keys, found) = (Encoded::default(), Vec::new(), Vec::new());
        Frozen { vocabulary, weights, groups, encoded, keys, found, scores }
    }
}

/// What the group's keys depend on in this state, as a number; nothing if they must be computed anew.
#[inline]
fn place_of(dependence: Dependence, forest: &Forest, view: &View) -> Option<usize> {
    match dependence {
        Dependence::Node(place) => forest.peek(view, place).map(NodeId::index),
        Dependence::Buffer => match view.buffer {
            None => Some(view.next.index()),
            // One word in front of those never shifted: as before it was given dependents, if it stands in its place.
            Some(cell) => {
                let first = forest.node(forest.cell(cell).node).head.index();
                (forest.depth(view.buffer) == 1 && first + 1 == view.next.index()).then_some(first)
            }
        },
        Dependence::State => None,
    }
}

impl Scorer for Frozen {
    fn start_sentence(&mut self, sentence: &Sentence) {
        self.vocabulary.encode(sentence, &mut self.encoded);
        for group in &mut self.groups {
            group.known.clear();
            group.sums.clear();
        }
    }

    fn score(&mut self, forest: &Forest, views: &[View], rows: &mut Rows) {
        let Frozen { weights, groups, encoded, keys, found, scores, .. } = self;
        let n_actions = weights.n_actions;
        rows.reset(views.len(), n_actions);
        for (i, view) in views.iter().enumerate() {
            scores.fill(0);
            for Group { dependence, extractor, known, sums } in groups.iter_mut() {
                let Some(place) = place_of(*dependence, forest, view) else {
                    // A node that is not there gives no keys.
                    if !matches!(dependence, Dependence::Node(_)) {
                        extractor.extract(forest, view, encoded, keys);
                        weights.add(keys, found, scores);
                    }
                    continue;
                };
                if known.len() <= place {
                    known.resize(place + 1, 0);
                }
                if known[place] == 0 {
                    // A very long sentence in a wide beam starts afresh now and then, so that memory stays bounded.
                    if sums.len() + n_actions > MOST_SUMS {
                        known.iter_mut().for_each(|number| *number = 0);
                        sums.clear();
                    }
                    let start = sums.len();
                    sums.resize(start + n_actions, 0);
                    extractor.extract(forest, view, encoded, keys);
                    weights.add(keys, found, &mut sums[start..]);
                    known[place] = (start / n_actions) as u32 + 1;
                }
                let start = (known[place] as usize - 1) * n_actions;
                kernel::add_sums(scores, &sums[start..start + n_actions]);
            }
            rows.row_mut(i).iter_mut().zip(&*scores).for_each(|(score, &sum)| *score = sum as f32);
        }
    }
}
