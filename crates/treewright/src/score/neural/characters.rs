//! Words by their characters: a bidirectional LSTM reads the spelling of each distinct word of a batch once, and its last
//! states in both directions stand for the word (Ballesteros et al. 2015; paper 003).

use serde::{Deserialize, Serialize};

use super::kernel::add;
use super::layers::{Array, Arrays, Scratch, uniform};
use super::lstm::{Batch, BiLstm, LstmMemory, PackedBiLstm};
use crate::rng::Rng;
use crate::sentence::Sentence;

/// The row of unknown characters.
const UNKNOWN: u32 = 0;
/// Longer words are cut: what follows is noise, such as an address.
const MAX_LENGTH: usize = 40;

/// The characters that have a row of their own: those seen at least twice, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(super) struct Alphabet(Vec<char>);

impl From<String> for Alphabet {
    fn from(text: String) -> Self {
        Alphabet(text.chars().collect())
    }
}

impl From<Alphabet> for String {
    fn from(alphabet: Alphabet) -> Self {
        alphabet.0.into_iter().collect()
    }
}

impl Alphabet {
    pub(super) fn of(sentences: &[&Sentence]) -> Self {
        let tokens = sentences.iter().flat_map(|sentence| &sentence.tokens);
        let mut all: Vec<char> = tokens.flat_map(|token| token.form.chars()).collect();
        all.sort_unstable();
        let runs = all.chunk_by(|one, other| one == other);
        Alphabet(runs.filter(|run| run.len() > 1).map(|run| run[0]).collect())
    }

    /// Can characters be found in it? Not if a damaged file put them out of order.
    pub(super) fn is_sound(&self) -> bool {
        self.0.is_sorted_by(|one, other| one < other)
    }

    fn row(&self, character: char) -> u32 {
        self.0.binary_search(&character).map_or(UNKNOWN, |at| at as u32 + 1)
    }
}

/// The spellings of the distinct words of a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Spellings {
    /// The characters of all words, one word after the other, and where each word ends.
    rows: Vec<u32>,
    ends: Vec<usize>,
}

impl Spellings {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.ends.clear();
    }

    /// Adds a word; gives its number.
    pub(super) fn push(&mut self, alphabet: &Alphabet, form: &str) -> u32 {
        let start = self.rows.len();
        self.rows.extend(form.chars().take(MAX_LENGTH).map(|character| alphabet.row(character)));
        if self.rows.len() == start {
            self.rows.push(UNKNOWN);
        }
        self.ends.push(self.rows.len());
        self.ends.len() as u32 - 1
    }

    fn length(&self, word: u32) -> usize {
        let word = word as usize;
        self.ends[word] - word.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    fn words(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.rows[start..end])
    }
}

/// The parameters of the layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Characters {
    table: Array,
    lstm: BiLstm,
    n_units: usize,
}

/// What the layer computed for a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct CharacterMemory {
    batch: Batch,
    x: Vec<f32>,
    lstm: LstmMemory,
    d_out: Vec<f32>,
    dx: Vec<f32>,
}

impl Characters {
    pub(super) fn new(arrays: &mut Arrays, alphabet: &Alphabet, size: usize, n_units: usize) -> Self {
        let table = arrays.add_table("characters", alphabet.0.len() + 1, size);
        Characters { table, lstm: BiLstm::new(arrays, "character-lstm", size, n_units), n_units }
    }

    /// Numbers that stand for a word.
    pub(super) fn width(&self) -> usize {
        2 * self.n_units
    }

    pub(super) fn start(&self, all: &mut [f32], rng: &mut Rng) {
        uniform(self.table.of_mut(all), 0.8, rng);
        self.lstm.start(all, rng);
    }

    pub(super) fn pack(&self, all: &[f32], learns: bool, out: &mut PackedBiLstm) {
        self.lstm.pack(all, learns, out);
    }

    /// Reads the spellings of words.
    pub(super) fn read(
        &self,
        (packed, all): (&PackedBiLstm, &[f32]),
        spellings: &Spellings,
        memory: &mut CharacterMemory,
    ) {
        let CharacterMemory { batch, x, lstm, .. } = memory;
        *batch = Batch::of(spellings.words().map(<[u32]>::len));
        x.resize(batch.n_rows() * self.table.n_columns, 0.0);
        for (word, rows) in spellings.words().enumerate() {
            for (position, &row) in rows.iter().enumerate() {
                let at = batch.row(word, position) * self.table.n_columns;
                x[at..at + self.table.n_columns].copy_from_slice(self.table.row(all, row as usize));
            }
        }
        packed.apply(batch, x, self.table.n_columns, lstm);
    }

    /// Where the last states of a word are in the rows of the layer: forwards at its last character, backwards at its first.
    fn states(&self, batch: &Batch, word: u32, length: usize) -> [usize; 2] {
        let at = |position: usize| batch.row(word as usize, position) * 2 * self.n_units;
        [at(length - 1), at(0) + self.n_units]
    }

    /// What stands for a word that was read.
    pub(super) fn fill(&self, memory: &CharacterMemory, spellings: &Spellings, word: u32, out: &mut [f32]) {
        let at = self.states(&memory.batch, word, spellings.length(word));
        for (out, at) in out.chunks_exact_mut(self.n_units).zip(at) {
            out.copy_from_slice(&memory.lstm.h[at..at + self.n_units]);
        }
    }

    /// The way back from the gradients of words, each with the number of its spelling.
    pub(super) fn back<'a>(
        &self,
        packed: &PackedBiLstm,
        spellings: &Spellings,
        d_words: impl Iterator<Item = (u32, &'a [f32])>,
        memory: &mut CharacterMemory,
        gradients: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let CharacterMemory { batch, x, lstm, d_out, dx } = memory;
        d_out.clear();
        d_out.resize(batch.n_rows() * 2 * self.n_units, 0.0);
        for (word, gradient) in d_words {
            let at = self.states(batch, word, spellings.length(word));
            for (gradient, at) in gradient.chunks_exact(self.n_units).zip(at) {
                add(gradient, &mut d_out[at..at + self.n_units]);
            }
        }
        dx.resize(x.len(), 0.0);
        self.lstm.back(packed, (batch, x), lstm, (d_out, dx), gradients, scratch);
        self.table.of_mut(gradients).fill(0.0);
        for (word, rows) in spellings.words().enumerate() {
            for (position, &row) in rows.iter().enumerate() {
                let at = batch.row(word, position) * self.table.n_columns;
                add(&dx[at..at + self.table.n_columns], self.table.row_mut(gradients, row as usize));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabets_know_characters_seen_twice() {
        let sentence = Sentence::from_tagged([("aéa", "X"), ("bé", "X")]);
        let alphabet = Alphabet::of(&[&sentence]);
        assert_eq!(String::from(alphabet.clone()), "aé");
        assert!(alphabet.is_sound() && !Alphabet::from("ba".to_owned()).is_sound());
        let mut spellings = Spellings::default();
        assert_eq!([spellings.push(&alphabet, "éxa"), spellings.push(&alphabet, "")], [0, 1]);
        assert_eq!(spellings.words().collect::<Vec<_>>(), [&[2, 0, 1][..], &[0]]);
        assert_eq!([spellings.length(0), spellings.length(1)], [3, 1]);
        spellings.push(&alphabet, &"a".repeat(100));
        assert_eq!(spellings.length(2), MAX_LENGTH);
    }
}
