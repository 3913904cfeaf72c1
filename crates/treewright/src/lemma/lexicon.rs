//! The lexicon: the scripts of words seen in training, from the most specific entries to the most general.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::edit::Casing;
use super::features::Word;
use crate::error::Result;
use crate::hash;
use crate::tag::bytes::{Reader, Writer};

/// An edit, by its number, and a casing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Script {
    pub edit: u32,
    pub casing: Casing,
}

const N_CASINGS: u32 = Casing::ALL.len() as u32;

impl Script {
    fn number(self) -> u32 {
        self.edit * N_CASINGS + self.casing as u32
    }

    fn from_number(number: u32) -> Self {
        Script { edit: number / N_CASINGS, casing: Casing::ALL[(number % N_CASINGS) as usize] }
    }
}

/// What the lexicon knows about a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its script.
    Script(Script),
    /// The edit that it had with other capitals.
    Edit(u32),
    /// Nothing.
    No,
}

/// How specific an entry is.
#[derive(Clone, Copy)]
enum Level {
    /// The form with all its tags.
    Reading = 1,
    /// The form with its main tag.
    Tag,
    /// The form in small letters with its main tag.
    Folded,
    /// The form in small letters.
    Form,
}

fn key(level: Level, word: &Word) -> u32 {
    match level {
        Level::Reading => hash::feature(40, word.form, word.reading, 0),
        Level::Tag => hash::feature(41, word.form, word.tag, 0),
        Level::Folded => hash::feature(42, word.folded, word.tag, 0),
        Level::Form => hash::feature(43, word.folded, 0, 0),
    }
}

/// Words and their scripts; keys as in `hash.rs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lexicon {
    /// Numbers of scripts for whole forms, of edits for forms in small letters.
    entries: FxHashMap<u32, u32>,
}

/// Counts of scripts, from which a lexicon is made.
#[derive(Default)]
pub(super) struct Counts {
    /// By level.
    counts: [BTreeMap<u32, BTreeMap<u32, u64>>; 4],
    /// For each word with all its tags, the key of the form with its main tag.
    general: BTreeMap<u32, u32>,
}

impl Counts {
    pub(super) fn add(&mut self, word: &Word, script: Script, times: u64) {
        for level in [Level::Reading, Level::Tag, Level::Folded, Level::Form] {
            let value = match level {
                Level::Reading | Level::Tag => script.number(),
                Level::Folded | Level::Form => script.edit,
            };
            *self.counts[level as usize - 1]
                .entry(key(level, word))
                .or_default()
                .entry(value)
                .or_default() += times;
        }
        self.general.insert(key(Level::Reading, word), key(Level::Tag, word));
    }

    /// The most frequent script of each entry; ties go to the one with the smaller number.
    pub(super) fn lexicon(&self) -> Lexicon {
        let most_frequent = |counts: &BTreeMap<u32, u64>| {
            let best = counts.iter().max_by_key(|&(&value, &times)| (times, std::cmp::Reverse(value)));
            *best.expect("an entry has a count").0
        };
        let mut entries = FxHashMap::default();
        // More general entries first: two entries may, by chance, have one key.
        for level in [Level::Form, Level::Folded, Level::Tag, Level::Reading] {
            for (&key, counts) in &self.counts[level as usize - 1] {
                let value = most_frequent(counts);
                // What the more general entry says anyway need not be said.
                let is_said = matches!(level, Level::Reading)
                    && self.general.get(&key).and_then(|key| entries.get(key)) == Some(&value);
                if !is_said {
                    entries.insert(key, value);
                }
            }
        }
        Lexicon { entries }
    }
}

impl Lexicon {
    /// What is known about a word; without a main tag (`has_tag`) the form alone has to do.
    pub(super) fn get(&self, word: &Word, has_tag: bool) -> Known {
        let get = |level: Level| self.entries.get(&key(level, word)).copied();
        if let Some(script) = get(Level::Reading).or_else(|| get(Level::Tag)) {
            return Known::Script(Script::from_number(script));
        }
        let edit = get(Level::Folded).or_else(|| if has_tag { None } else { get(Level::Form) });
        edit.map_or(Known::No, Known::Edit)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn to_bytes(&self, out: &mut Writer) {
        let mut entries: Vec<(u32, u32)> = self.entries.iter().map(|(&key, &value)| (key, value)).collect();
        entries.sort_unstable();
        out.rising(entries.iter().map(|entry| entry.0));
        entries.iter().for_each(|entry| out.number(u64::from(entry.1)));
    }

    pub(super) fn from_bytes(input: &mut Reader<'_>, n_edits: usize) -> Result<Self> {
        let keys = input.rising()?;
        let mut entry = |key: u32| Ok((key, input.below(n_edits * N_CASINGS as usize, "a script")? as u32));
        Ok(Lexicon { entries: keys.into_iter().map(&mut entry).collect::<Result<_>>()? })
    }
}
