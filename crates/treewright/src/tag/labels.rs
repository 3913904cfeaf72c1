//! What there is to predict: the columns the training data fills, and their values.
//!
//! A **reading** is all a token gets: a value for each column, as one id. The first two layers of the tagger predict a
//! **tag**, a part of the reading: UPOS and XPOS together where few pairs occur, else the first column alone. The
//! third layer chooses among the readings with that tag; where each tag has one reading there is nothing to choose.

use rustc_hash::FxHashMap;

use super::bytes::{Reader, Writer, damaged};
use crate::error::Result;
use crate::sentence::{Sentence, Str, Token};

/// UPOS, XPOS, FEATS.
pub(super) const N_COLUMNS: usize = 3;
/// With more pairs of UPOS and XPOS than this, tags are UPOS alone.
const MAX_PAIRS: usize = 200;
/// Labels are 16-bit, and one bit of a weight's label marks the last of a row.
const MAX_READINGS: usize = 1 << 15;

fn column(token: &Token, column: usize) -> &Str {
    [&token.tag, &token.xpos, &token.feats][column]
}

/// The tables of values. Ids are given in the order of first occurrence in the training data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Labels {
    /// Which columns are predicted.
    pub columns: [bool; N_COLUMNS],
    /// The values of each column.
    values: [Vec<Str>; N_COLUMNS],
    /// By reading: the value of each column.
    readings: Vec<[u32; N_COLUMNS]>,
    /// By reading: its tag.
    tag_of: Vec<u16>,
    /// By tag: its readings, rising.
    readings_of: Vec<Vec<u16>>,
}

impl Labels {
    /// The labels of a treebank, and the reading of every token. Beyond the most that 15 bits can number, a reading
    /// is counted as the first one with its tag.
    pub(super) fn of(sentences: &[Sentence]) -> (Self, Vec<Vec<u16>>) {
        let tokens = || sentences.iter().flat_map(|sentence| &sentence.tokens);
        let columns = std::array::from_fn(|c| tokens().any(|token| !column(token, c).is_empty()));
        let mut ids: [FxHashMap<&Str, u32>; N_COLUMNS] = Default::default();
        let mut values: [Vec<Str>; N_COLUMNS] = Default::default();
        let mut reading_ids: FxHashMap<[u32; N_COLUMNS], u16> = FxHashMap::default();
        let mut readings: Vec<[u32; N_COLUMNS]> = Vec::new();
        let mut gold = Vec::with_capacity(sentences.len());
        for sentence in sentences {
            let of_token = |token| {
                let reading = std::array::from_fn(|c| {
                    if !columns[c] {
                        return 0;
                    }
                    let value = column(token, c);
                    *ids[c].entry(value).or_insert_with(|| {
                        values[c].push(value.clone());
                        values[c].len() as u32 - 1
                    })
                });
                *reading_ids.entry(reading).or_insert_with(|| {
                    if readings.len() == MAX_READINGS {
                        let same = readings.iter().position(|other| other[0] == reading[0]);
                        return same.unwrap_or(0) as u16;
                    }
                    readings.push(reading);
                    readings.len() as u16 - 1
                })
            };
            gold.push(sentence.tokens.iter().map(of_token).collect());
        }
        (Labels::build(columns, values, readings), gold)
    }

    /// The values of the first column.
    pub(super) fn main_tags(&self) -> impl Iterator<Item = &str> {
        self.values[0].iter().map(|tag| &**tag)
    }

    /// The reading of an annotated token, if it was seen in training.
    pub(super) fn find(&self, token: &Token) -> Option<u16> {
        let is_same = |reading: &[u32; N_COLUMNS]| {
            (0..N_COLUMNS)
                .all(|c| !self.columns[c] || self.values[c][reading[c] as usize] == *column(token, c))
        };
        self.readings.iter().position(is_same).map(|id| id as u16)
    }

    fn build(
        columns: [bool; N_COLUMNS],
        values: [Vec<Str>; N_COLUMNS],
        readings: Vec<[u32; N_COLUMNS]>,
    ) -> Self {
        let pair = |reading: &[u32; N_COLUMNS]| (reading[0], reading[1]);
        let mut pairs: Vec<_> = readings.iter().map(pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let first = columns.iter().position(|&predicted| predicted).unwrap_or(0);
        let joined = pairs.len() <= MAX_PAIRS;
        let mut tags: FxHashMap<(u32, u32), u16> = FxHashMap::default();
        let mut readings_of: Vec<Vec<u16>> = Vec::new();
        let mut tag_of = Vec::with_capacity(readings.len());
        for (id, reading) in readings.iter().enumerate() {
            let part = if joined && first < 2 { pair(reading) } else { (reading[first], 0) };
            let tag = *tags.entry(part).or_insert(readings_of.len() as u16);
            if usize::from(tag) == readings_of.len() {
                readings_of.push(Vec::new());
            }
            readings_of[usize::from(tag)].push(id as u16);
            tag_of.push(tag);
        }
        Labels { columns, values, readings, tag_of, readings_of }
    }

    pub(super) fn n_tags(&self) -> usize {
        self.readings_of.len()
    }

    pub(super) fn n_readings(&self) -> usize {
        self.readings.len()
    }

    /// Is there anything to choose once the tag is known?
    pub(super) fn has_choice_of_readings(&self) -> bool {
        self.n_readings() > self.n_tags()
    }

    #[inline]
    pub(super) fn tag_of(&self, reading: u16) -> u16 {
        self.tag_of[usize::from(reading)]
    }

    /// The readings with this XPOS, rising.
    pub(super) fn with_xpos(&self, xpos: &str) -> Vec<u16> {
        const XPOS: usize = 1;
        let Some(value) = self.values[XPOS].iter().position(|value| value == xpos) else { return Vec::new() };
        let readings = self.readings.iter().enumerate();
        readings.filter(|(_, reading)| reading[XPOS] as usize == value).map(|(id, _)| id as u16).collect()
    }

    /// The readings with a tag, rising; at least one.
    #[inline]
    pub(super) fn readings_of(&self, tag: u16) -> &[u16] {
        &self.readings_of[usize::from(tag)]
    }

    /// Writes a reading into a token. Columns that are not predicted stay as they are.
    pub(super) fn write(&self, reading: u16, token: &mut Token) {
        let values = self.readings[usize::from(reading)];
        let targets = [&mut token.tag, &mut token.xpos, &mut token.feats];
        for (c, target) in targets.into_iter().enumerate() {
            if self.columns[c] {
                target.clone_from(&self.values[c][values[c] as usize]);
            }
        }
    }

    pub(super) fn to_bytes(&self, out: &mut Writer) {
        for c in 0..N_COLUMNS {
            out.number(u64::from(self.columns[c]));
            out.number(self.values[c].len() as u64);
            self.values[c].iter().for_each(|value| out.string(value));
        }
        out.number(self.readings.len() as u64);
        for reading in &self.readings {
            reading.iter().for_each(|&value| out.number(u64::from(value)));
        }
    }

    pub(super) fn from_bytes(input: &mut Reader<'_>) -> Result<Self> {
        let mut columns = [false; N_COLUMNS];
        let mut values: [Vec<Str>; N_COLUMNS] = Default::default();
        for c in 0..N_COLUMNS {
            columns[c] = input.below(2, "a column's flag")? == 1;
            let n = input.count()?;
            values[c] = (0..n).map(|_| input.string()).collect::<Result<_>>()?;
        }
        let n = input.count()?;
        if n > MAX_READINGS {
            return Err(damaged("it has more readings than can be"));
        }
        let mut readings = Vec::with_capacity(n);
        for _ in 0..n {
            let mut reading = [0; N_COLUMNS];
            for c in 0..N_COLUMNS {
                // A column that is not predicted has the one value 0 in every reading, and no string for it.
                reading[c] = input.below(values[c].len().max(1), "a value")? as u32;
                if columns[c] && values[c].is_empty() {
                    return Err(damaged("a column has no values"));
                }
            }
            readings.push(reading);
        }
        Ok(Labels::build(columns, values, readings))
    }
}
