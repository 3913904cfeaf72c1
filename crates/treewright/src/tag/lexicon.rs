//! The dictionary: which readings each word of the training data had, and how often it was seen.
//!
//! Words are looked up as written and folded (lower case, every digit 0). In training each token is looked up as if it
//! were not there itself (leave one out). Otherwise a word seen once would always come with its own right answer, and the
//! tagger would learn to trust the dictionary too much.

use rustc_hash::FxHashMap;

use super::bytes::{Reader, Writer, damaged};
use super::labels::Labels;
use crate::error::Result;
use crate::hash;

/// A set of readings that some word can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// The readings, rising.
    pub readings: Vec<u16>,
    /// Their tags, rising.
    pub tags: Vec<u16>,
    /// What features see of the tags.
    pub tags_key: u32,
    /// What features see of the readings.
    pub readings_key: u32,
}

/// What the dictionary says of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The set of its readings.
    pub class: u32,
    /// How often it was seen, as a number of binary digits.
    pub seen: u8,
}

/// Counts with more binary digits than this are treated alike.
const MAX_DIGITS: u8 = 15;

/// Sets of readings by number. Which sets there are depends on the treebank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Classes {
    all: Vec<Class>,
    ids: FxHashMap<Vec<u16>, u32>,
}

impl Classes {
    fn id(&mut self, readings: Vec<u16>, labels: &Labels) -> u32 {
        if let Some(&id) = self.ids.get(&readings) {
            return id;
        }
        let mut tags: Vec<u16> = readings.iter().map(|&reading| labels.tag_of(reading)).collect();
        tags.sort_unstable();
        tags.dedup();
        let key = |salt: u64, set: &[u16]| {
            let bytes: Vec<u8> = set.iter().flat_map(|label| label.to_le_bytes()).collect();
            (hash::of_bytes(salt, &bytes) >> 32) as u32
        };
        let class = Class {
            tags_key: key(1, &tags),
            readings_key: key(2, &readings),
            tags,
            readings: readings.clone(),
        };
        self.all.push(class);
        let id = self.all.len() as u32 - 1;
        self.ids.insert(readings, id);
        id
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Keeps only the first `n`.
    pub(super) fn truncate(&mut self, n: usize) {
        self.all.truncate(n);
        self.ids.retain(|_, id| (*id as usize) < n);
    }

    /// The set with this number.
    #[inline]
    pub(super) fn get(&self, id: u32) -> &Class {
        &self.all[id as usize]
    }
}

/// How often each reading was seen with each word, by the word's key.
#[derive(Default)]
pub(super) struct Counts(FxHashMap<u32, Vec<(u16, u32)>>);

fn seen(count: u32) -> u8 {
    ((32 - count.leading_zeros()) as u8).min(MAX_DIGITS)
}

impl Counts {
    /// One more occurrence of a word with a reading.
    pub(super) fn add(&mut self, key: u32, reading: u16) {
        let row = self.0.entry(key).or_default();
        match row.iter_mut().find(|(other, _)| *other == reading) {
            Some((_, count)) => *count += 1,
            None => row.push((reading, 1)),
        }
    }

    /// The entry of a word without one of its occurrences; nothing if that was the only one.
    pub(super) fn without(
        &self,
        key: u32,
        reading: u16,
        classes: &mut Classes,
        labels: &Labels,
    ) -> Option<Entry> {
        let mut row = self.0.get(&key)?.clone();
        row.iter_mut().filter(|(other, _)| *other == reading).for_each(|(_, count)| *count -= 1);
        entry_of(&row, classes, labels)
    }
}

fn entry_of(row: &[(u16, u32)], classes: &mut Classes, labels: &Labels) -> Option<Entry> {
    let total: u32 = row.iter().map(|(_, count)| count).sum();
    let mut readings: Vec<u16> =
        row.iter().filter(|(_, count)| *count > 0).map(|(reading, _)| *reading).collect();
    readings.sort_unstable();
    (total > 0).then(|| Entry { class: classes.id(readings, labels), seen: seen(total) })
}

/// Entries by the keys of words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lexicon {
    entries: FxHashMap<u32, Entry>,
    pub classes: Classes,
}

impl Lexicon {
    /// The dictionary of what was counted.
    pub(super) fn of(counts: &Counts, labels: &Labels) -> Self {
        let mut keys: Vec<u32> = counts.0.keys().copied().collect();
        keys.sort_unstable();
        let mut lexicon = Lexicon::default();
        for key in keys {
            if let Some(entry) = entry_of(&counts.0[&key], &mut lexicon.classes, labels) {
                lexicon.entries.insert(key, entry);
            }
        }
        lexicon
    }

    #[inline]
    pub(super) fn get(&self, key: u32) -> Option<Entry> {
        self.entries.get(&key).copied()
    }

    pub(super) fn to_bytes(&self, out: &mut Writer) {
        out.number(self.classes.all.len() as u64);
        for class in &self.classes.all {
            out.rising(class.readings.iter().map(|&reading| u32::from(reading)));
        }
        let mut entries: Vec<(u32, Entry)> = self.entries.iter().map(|(&key, &entry)| (key, entry)).collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        out.rising(entries.iter().map(|(key, _)| *key));
        for (_, entry) in entries {
            out.number(u64::from(entry.class) << 4 | u64::from(entry.seen));
        }
    }

    pub(super) fn from_bytes(input: &mut Reader<'_>, labels: &Labels) -> Result<Self> {
        let mut classes = Classes::default();
        let n_classes = input.count()?;
        for id in 0..n_classes {
            let readings = input.rising()?;
            if readings.last().is_none_or(|&last| last as usize >= labels.n_readings()) {
                return Err(damaged("a set of readings is empty or has an unknown one"));
            }
            let readings = readings.into_iter().map(|reading| reading as u16).collect();
            if classes.id(readings, labels) as usize != id {
                return Err(damaged("a set of readings occurs twice"));
            }
        }
        let keys = input.rising()?;
        let mut entries = FxHashMap::with_capacity_and_hasher(keys.len(), Default::default());
        for key in keys {
            let packed = input.below(n_classes << 4, "a set of readings")?;
            entries.insert(key, Entry { class: (packed >> 4) as u32, seen: (packed & 15) as u8 });
        }
        Ok(Lexicon { entries, classes })
    }
}
