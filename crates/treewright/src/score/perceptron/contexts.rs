//! What items add to scores, for many spans and labels at once.
//!
//! A context is what a template sees of a span apart from its label, so all labels over a span share its contexts. For
//! a context that many spans share, the features that have weights are remembered, for all labels together. For the others,
//! a filter rules out nearly all features that have no weights before they are looked up.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::features::{Context, Encoded, PlaceKeys, Role, SeparateKeys, label_of};
use crate::score::Items;
use crate::weights::kernel::zip;

/// Contexts are forgotten when there are this many (in tests few, so that it happens).
const MAX_CONTEXTS: usize = if cfg!(test) { 1 << 6 } else { 1 << 18 };

/// Features with their weights.
pub(super) trait Features {
    /// May a feature have weights? A quick answer, which is rarely wrong.
    fn may_have(&self, key: u64) -> bool;

    /// Asks for the memory that [`Features::may_have`] will look at.
    fn prefetch_hint(&self, _key: u64) {}

    /// Asks for the memory that [`Features::place_of`] will look at.
    fn prefetch(&self, _key: u64) {}

    /// Where the weights of a feature are, if it has any.
    fn place_of(&self, key: u64) -> Option<u32>;

    /// Adds the weights at such a place to sums. False if a sum is too large.
    fn add_weights(&self, place: u32, sums: &mut [i16]) -> bool;
}

/// A feature with weights: the number of a label, and the place of the weights.
type Found = (u16, u32);

/// The contexts that were seen, with their features.
#[derive(Clone, Debug, Default)]
pub(super) struct Contexts {
    /// The labels that all this is about.
    labels: Vec<u32>,
    ranges: FxHashMap<Context, (u32, u32)>,
    found: Vec<Found>,
    /// What templates see of the labels of one call.
    values: Vec<u32>,
    /// The features of one span.
    list: Vec<Found>,
    /// Those of one context that may have weights, with the numbers of their labels.
    candidates: Vec<(u16, u64)>,
}

impl Contexts {
    /// Forgets everything: the weights have changed.
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
        self.found.clear();
    }

    /// Fills a row for each span and label. False if a number is too large.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        features: &impl Features,
        (separate, role): (&mut SeparateKeys, Role),
        encoded: &Encoded,
        Items { spans, labels }: Items<'_>,
        rows: &mut [i16],
    ) -> bool {
        let keys = separate.of_role(role);
        let block = rows.len() / spans.len().max(1);
        let stride = block / labels.len().max(1);
        let mut fits = true;
        for (span, rows) in zip(spans, rows.chunks_exact_mut(block.max(1))) {
            keys.look_at_span(encoded, span);
            self.values.clear();
            self.values.extend(labels.iter().map(|&label| label_of(encoded, label, span.start)));
            self.list_features(features, keys, spans.len() > 1);
            rows.fill(0);
            for &(label, place) in &self.list {
                fits &= features.add_weights(place, &mut rows[usize::from(label) * stride..][..stride]);
            }
        }
        fits
    }

    /// Lists the features with weights of what was looked at last.
    #[inline(always)]
    fn list_features(&mut self, features: &impl Features, keys: &PlaceKeys, keeps: bool) {
        self.list.clear();
        if keeps && (self.labels != self.values || self.ranges.len() >= MAX_CONTEXTS) {
            self.clear();
            self.labels.clone_from(&self.values);
        }
        let mut n_candidates = 0;
        for (context, is_common) in keys.contexts() {
            if !(keeps && is_common) {
                n_candidates = self.add_candidates(features, &context, n_candidates);
            } else if let Some(&(start, end)) = self.ranges.get(&context) {
                self.list.extend_from_slice(&self.found[start as usize..end as usize]);
            } else {
                let start = self.list.len();
                let end = self.add_candidates(features, &context, n_candidates);
                self.list_candidates(features, n_candidates..end);
                let range = (self.found.len() as u32, (self.found.len() + self.list.len() - start) as u32);
                self.found.extend_from_slice(&self.list[start..]);
                self.ranges.insert(context, range);
            }
        }
        self.list_candidates(features, 0..n_candidates);
    }

    /// Adds the features of a context that may have weights to the candidates, of which there are `n` so far; gives their
    /// number. (Without branches, which would be mispredicted.)
    #[inline(always)]
    fn add_candidates(&mut self, features: &impl Features, context: &Context, mut n: usize) -> usize {
        let room = n + self.values.len() + 1;
        if self.candidates.len() < room {
            self.candidates.resize(room, (0, 0));
        }
        let first = n;
        for (number, &label) in self.values.iter().enumerate() {
            // No feature has the key 0.
            let key = context.key(label).unwrap_or(0);
            features.prefetch_hint(key);
            self.candidates[first + number] = (number as u16, key);
        }
        for at in first..first + self.values.len() {
            let candidate = self.candidates[at];
            self.candidates[n] = candidate;
            n += usize::from((candidate.1 != 0) & features.may_have(candidate.1));
        }
        n
    }

    /// Lists those candidates that have weights.
    #[inline(always)]
    fn list_candidates(&mut self, features: &impl Features, range: Range<usize>) {
        let candidates = &self.candidates[range];
        candidates.iter().for_each(|candidate| features.prefetch(candidate.1));
        for &(number, key) in candidates {
            if let Some(place) = features.place_of(key) {
                self.list.push((number, place));
            }
        }
    }

    /// Fills the row of a buffer. False if a number is too large.
    pub(super) fn fill_buffer(
        features: &impl Features,
        separate: &mut SeparateKeys,
        encoded: &Encoded,
        next: usize,
        row: &mut [i16],
    ) -> bool {
        separate.buffer.look_at_buffer(encoded, next, encoded.n_words());
        row.fill(0);
        let keys = separate.buffer.contexts().filter_map(|(context, _)| context.key(0));
        let mut fits = true;
        for place in keys.filter_map(|key| features.place_of(key)) {
            fits &= features.add_weights(place, row);
        }
        fits
    }
}
