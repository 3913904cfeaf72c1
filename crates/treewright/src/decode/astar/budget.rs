//! Limits on the search of one sentence: on work and memory, both counted, so that the same sentences are given up on
//! every machine and with any number of threads; and on time, if that is asked for.
//!
//! Work is counted in *steps*, each of them about as long as it takes to look at a row of scores once: a row that is asked
//! of the scorer, a state of a node or a pair of states in the bounds, and an attempt to join two items. To make an item is
//! [`STEPS_PER_ITEM`] steps.

use std::time::Instant;

use super::ExactSettings;

/// The work that an item of the search counts for.
pub(super) const STEPS_PER_ITEM: u64 = 16;

/// The work, memory and time that may be used, and what was used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    max_steps: u64,
    max_bytes: usize,
    deadline: Option<Instant>,
    /// The work so far.
    pub steps: u64,
    /// The memory that the scores of all nodes take.
    pub space_bytes: usize,
    /// The most that bounds took so far, and the most that searches took.
    bounds_bytes: usize,
    search_bytes: usize,
}

impl Budget {
    pub(super) fn new(settings: &ExactSettings) -> Self {
        Budget {
            max_steps: (settings.max_items as u64).saturating_mul(STEPS_PER_ITEM),
            max_bytes: settings.max_bytes,
            deadline: settings.timeout.map(|timeout| Instant::now() + timeout),
            ..Budget::default()
        }
    }

    /// A budget for another search of the sentence, whose nodes are known already.
    pub(super) fn again(&self, settings: &ExactSettings) -> Self {
        Budget { space_bytes: self.space_bytes, ..Budget::new(settings) }
    }

    /// Takes account of work; false if that was too much.
    #[inline]
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.steps += steps as u64;
        self.steps <= self.max_steps
    }

    /// Takes account of the memory of bounds; false if that is too much.
    #[inline]
    pub(super) fn has_room_for_bounds(&mut self, bytes: usize) -> bool {
        self.bounds_bytes = self.bounds_bytes.max(bytes);
        self.bytes() <= self.max_bytes
    }

    /// Takes account of the memory of the search; false if that is too much.
    #[inline]
    pub(super) fn has_room_for_search(&mut self, bytes: usize) -> bool {
        self.search_bytes = self.search_bytes.max(bytes);
        self.bytes() <= self.max_bytes
    }

    /// True if there is room for the scores of all nodes.
    pub(super) fn has_room_for_space(&mut self, bytes: usize) -> bool {
        self.space_bytes = bytes;
        self.bytes() <= self.max_bytes
    }

    /// True if the time is over.
    #[inline]
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// The most memory that was used so far.
    pub(super) fn bytes(&self) -> usize {
        self.space_bytes + self.bounds_bytes + self.search_bytes
    }

    /// The work so far, in items.
    pub(super) fn work(&self) -> u64 {
        self.steps.div_ceil(STEPS_PER_ITEM)
    }
}
