//! The averaged perceptron while it learns: integer weights, averaged lazily.
//!
//! A feature's weights lie together: an open-addressing table maps a feature's key to a small run of (action, weight)
//! pairs. Only features that an update touched are stored, and of their actions only those touched.

use std::sync::Arc;

use super::contexts::{Contexts, Features};
use super::reader::{FeatureReader, left_to_reader};
use super::{FrozenModel, FrozenWeights};
use crate::error::Result;
use crate::features::{SeparateKeys, TemplateSet, Vocabulary};
use crate::forest::{Forest, View};
use crate::ids::ActionId;
use crate::score::{ItemScorer, Items, Learner, Learning, Role, Rows, Scorer, ScorerModel, SlotId, Views};

/// The weight of one (feature, action) pair.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    action: u16,
    weight: i16,
}

/// A feature: its key and where its pairs are.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// 0 = free (no feature has key 0).
    key: u64,
    start: u32,
    len: u16,
    /// The room of the run is `1 << class` pairs.
    class: u16,
}

/// The weights of all features seen in an update.
#[derive(Clone, Debug)]
struct Weights {
    slots: Vec<Slot>,
    n_used: usize,
    pairs: Vec<Pair>,
    /// For averaging, beside each pair: the sum over its updates of (time of the update x change).
    moments: Vec<i64>,
    /// Runs given up when a feature outgrew them, by class.
    free: Vec<Vec<u32>>,
    /// Which features may be there: a bit for each, which it may share with others; or nothing. Exact search asks for very many
    /// features, of which few are there.
    filter: Vec<u64>,
}

/// The words of a filter (2 MB).
const FILTER_WORDS: usize = 1 << 18;

/// The word of a feature's bit in the filter, and the bit.
#[inline(always)]
fn filter_bit(key: u64) -> (usize, u64) {
    ((key >> 8) as usize % FILTER_WORDS, 1 << (key >> 2 & 63))
}

impl Weights {
    fn new(has_filter: bool) -> Self {
        let slots = vec![Slot::default(); 1 << 16];
        Weights {
            slots,
            n_used: 0,
            pairs: Vec::new(),
            moments: Vec::new(),
            free: vec![Vec::new(); 17],
            filter: vec![0; if has_filter { FILTER_WORDS } else { 0 }],
        }
    }

    #[inline]
    fn find(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (key >> 20) as usize & mask;
        loop {
            let found = self.slots[at].key;
            if found == key || found == 0 {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The weights of a feature.
    #[inline]
    fn of(&self, key: u64) -> &[Pair] {
        let slot = &self.slots[self.find(key)];
        &self.pairs[slot.start as usize..slot.start as usize + usize::from(slot.len)]
    }

    fn grow(&mut self) {
        let bigger = vec![Slot::default(); self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, bigger) {
            if slot.key != 0 {
                let at = self.find(slot.key);
                self.slots[at] = slot;
            }
        }
    }

    fn room(&mut self, class: u16) -> u32 {
        if let Some(start) = self.free[usize::from(class)].pop() {
            return start;
        }
        let start = self.pairs.len();
        assert!(start < u32::MAX as usize - (1 << 16), "the weight arena is addressed by 32 bits");
        self.pairs.resize(start + (1 << class), Pair::default());
        self.moments.resize(start + (1 << class), 0);
        start as u32
    }

    fn add(&mut self, key: u64, action: u16, by: i16, moment: i64) {
        if self.n_used * 3 > self.slots.len() * 2 {
            self.grow();
        }
        let at = self.find(key);
        let mut slot = self.slots[at];
        if slot.key == 0 {
            self.n_used += 1;
            let (word, bit) = filter_bit(key);
            if let Some(word) = self.filter.get_mut(word) {
                *word |= bit;
            }
            slot = Slot { key, start: self.room(0), len: 0, class: 0 };
        }
        let start = slot.start as usize;
        let run = start..start + usize::from(slot.len);
        let place = match self.pairs[run.clone()].iter().position(|pair| pair.action == action) {
            Some(i) => start + i,
            None => {
                if usize::from(slot.len) == 1 << slot.class {
                    let wider = self.room(slot.class + 1) as usize;
                    self.pairs.copy_within(run.clone(), wider);
                    self.moments.copy_within(run, wider);
                    self.free[usize::from(slot.class)].push(slot.start);
                    slot.start = wider as u32;
                    slot.class += 1;
                }
                let place = slot.start as usize + usize::from(slot.len);
                slot.len += 1;
                self.pairs[place] = Pair { action, weight: 0 };
                self.moments[place] = 0;
                place
            }
        };
        self.pairs[place].weight = self.pairs[place].weight.saturating_add(by);
        self.moments[place] += moment;
        self.slots[at] = slot;
    }
}

/// A feature's key and its (action, weight) pairs in ascending order of actions.
pub(super) type Feature = (u64, Vec<(u16, f32)>);

/// An averaged perceptron over hashed features.
#[derive(Clone, Debug)]
pub struct Perceptron {
    templates: TemplateSet,
    pub(super) reader: FeatureReader,
    separate: Option<SeparateKeys>,
    /// What is known until the next update.
    contexts: Contexts,
    weights: Weights,
    n_actions: usize,
    /// Examples seen; the first is number 1.
    time: i64,
    /// Averaged weights smaller than this are not frozen.
    min_weight: f32,
}

impl Perceptron {
    /// A perceptron that knows nothing yet.
    ///
    /// # Panics
    /// When there are more than 65,536 actions.
    pub fn new(vocabulary: Arc<Vocabulary>, templates: TemplateSet, n_actions: usize) -> Self {
        assert!(n_actions <= 1 << 16, "actions are stored in 16 bits");
        let separate = SeparateKeys::of(&templates);
        let weights = Weights::new(separate.is_some());
        Perceptron {
            reader: FeatureReader::new(vocabulary, &templates),
            separate,
            contexts: Contexts::default(),
            templates,
            weights,
            n_actions,
            time: 1,
            min_weight: 0.0,
        }
    }

    /// The same, which will freeze no averaged weight smaller than this.
    pub fn with_min_weight(self, min_weight: f32) -> Self {
        Perceptron { min_weight, ..self }
    }

    /// What it knows about words.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.reader.vocabulary
    }

    /// Its templates.
    pub fn templates(&self) -> &TemplateSet {
        &self.templates
    }

    /// The number of actions.
    pub fn n_actions(&self) -> usize {
        self.n_actions
    }

    /// The memory its weights take, in bytes.
    pub fn bytes(&self) -> usize {
        let w = &self.weights;
        w.slots.len() * size_of::<Slot>() + w.pairs.capacity() * 4 + w.moments.capacity() * 8
    }

    fn features(&self) -> Vec<&Slot> {
        let mut features: Vec<&Slot> = self.weights.slots.iter().filter(|slot| slot.key != 0).collect();
        features.sort_unstable_by_key(|slot| slot.key);
        features
    }

    /// Every feature with its averaged weights, in the order of keys.
    pub(super) fn averaged(&self) -> Vec<Feature> {
        let pair = |place: usize| {
            let Pair { action, weight } = self.weights.pairs[place];
            let correction = self.weights.moments[place] as f64 / self.time as f64;
            (action, (f64::from(weight) - correction) as f32)
        };
        let pairs = |slot: &Slot| {
            let start = slot.start as usize;
            let mut pairs: Vec<(u16, f32)> = (start..start + usize::from(slot.len)).map(pair).collect();
            pairs.sort_unstable_by_key(|pair| pair.0);
            pairs
        };
        self.features().into_iter().map(|slot| (slot.key, pairs(slot))).collect()
    }
}

impl Scorer for Perceptron {
    left_to_reader!();

    fn score(&mut self, queries: &[Views<'_>], rows: &mut Rows) {
        rows.reset_for(queries, self.n_actions);
        for (row, query, view) in Views::by_row(queries) {
            let row = rows.row_mut(row);
            for &key in self.reader.keys(query.slot, query.forest, view) {
                for pair in self.weights.of(key) {
                    row[usize::from(pair.action)] += f32::from(pair.weight);
                }
            }
        }
    }

    fn by_item(&mut self) -> Option<&mut dyn ItemScorer> {
        if self.separate.is_some() { Some(self) } else { None }
    }
}

impl ItemScorer for Perceptron {
    fn of_spans(&mut self, slot: SlotId, role: Role, items: Items<'_>, rows: &mut [i16]) -> bool {
        let Some(separate) = &mut self.separate else { return false };
        let encoded = self.reader.encoded(slot);
        self.contexts.fill(&self.weights, (separate, role), encoded, items, rows)
    }

    fn of_buffer(&mut self, slot: SlotId, next: usize, row: &mut [i16]) -> bool {
        let Some(separate) = &mut self.separate else { return false };
        Contexts::fill_buffer(&self.weights, separate, self.reader.encoded(slot), next, row)
    }
}

impl Features for Weights {
    #[inline(always)]
    fn may_have(&self, key: u64) -> bool {
        let (word, bit) = filter_bit(key);
        self.filter.get(word).is_none_or(|word| word & bit != 0)
    }

    #[inline(always)]
    fn place_of(&self, key: u64) -> Option<u32> {
        let at = self.find(key);
        (self.slots[at].key != 0).then_some(at as u32)
    }

    #[inline(always)]
    fn add_weights(&self, place: u32, sums: &mut [i16]) -> bool {
        let slot = &self.slots[place as usize];
        let run = slot.start as usize..slot.start as usize + usize::from(slot.len);
        self.pairs[run].iter().fold(true, |fits, pair| {
            let sum = &mut sums[usize::from(pair.action)];
            let added = sum.checked_add(pair.weight).filter(|&sum| sum != i16::MIN);
            *sum = added.unwrap_or(*sum);
            fits && added.is_some()
        })
    }
}

impl Learner for Perceptron {
    /// # Panics
    /// When a gradient is not a whole number: weights are integers.
    fn backward(&mut self, slot: SlotId, forest: &Forest, view: &View, gradient: &[(ActionId, f32)]) {
        self.contexts.clear();
        let keys = self.reader.keys(slot, forest, view);
        for &(action, gradient) in gradient {
            let by = -gradient as i16;
            assert_eq!(f32::from(by), -gradient, "a perceptron learns from losses with integer gradients");
            for &key in keys {
                self.weights.add(key, action.index() as u16, by, self.time * i64::from(by));
            }
        }
    }

    fn step(&mut self) {
        self.time += 1;
    }

    fn learns_by_state(&self) -> bool {
        true
    }
}

impl Learning for Perceptron {
    fn n_features(&self) -> usize {
        self.weights.n_used
    }

    fn freeze(&self) -> Result<Arc<dyn ScorerModel>> {
        let weights = FrozenWeights::of(self, self.min_weight)?;
        let (vocabulary, templates) = (self.reader.vocabulary.clone(), Arc::new(self.templates.clone()));
        Ok(Arc::new(FrozenModel { vocabulary, templates, weights }))
    }

    /// For every feature its key and, for each action, weight and moment.
    fn save(&self, out: &mut Vec<u8>) {
        out.extend(self.time.to_le_bytes());
        for slot in self.features() {
            out.extend(slot.key.to_le_bytes());
            out.extend(slot.len.to_le_bytes());
            for place in slot.start as usize..slot.start as usize + usize::from(slot.len) {
                out.extend(self.weights.pairs[place].action.to_le_bytes());
                out.extend(self.weights.pairs[place].weight.to_le_bytes());
                out.extend(self.weights.moments[place].to_le_bytes());
            }
        }
    }

    fn load(&mut self, mut bytes: &[u8]) -> Option<()> {
        fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
            let (head, rest) = bytes.split_first_chunk::<N>()?;
            *bytes = rest;
            Some(*head)
        }
        self.weights = Weights::new(self.separate.is_some());
        self.contexts.clear();
        self.time = i64::from_le_bytes(take(&mut bytes)?);
        while !bytes.is_empty() {
            let key = u64::from_le_bytes(take(&mut bytes)?);
            for _ in 0..u16::from_le_bytes(take(&mut bytes)?) {
                let action = u16::from_le_bytes(take(&mut bytes)?);
                let weight = i16::from_le_bytes(take(&mut bytes)?);
                let moment = i64::from_le_bytes(take(&mut bytes)?);
                self.weights.add(key, action, weight, moment);
            }
        }
        Some(())
    }
}
