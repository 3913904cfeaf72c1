//! Word classes from word vectors: k-means clusters, so that a word never seen in training is like others that were.

mod points;
mod profile;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::hash;
use crate::sentence::Sentence;
use points::Points;

const N_COARSE: usize = 64;
const N_FINE: usize = 512;
const SALT: u64 = 77;

/// The coarse and the fine cluster of a word, counted from 1; 0 where there is none.
pub(crate) type Cluster = [u16; 2];

/// Which clusters words belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct WordClasses {
    clusters: FxHashMap<u32, Cluster>,
}

/// The same for the header of a parser's model, where short numbers are short: keys as steps from one to the next.
#[derive(Default, Serialize, Deserialize)]
struct Listed {
    steps: Vec<u32>,
    clusters: Vec<Cluster>,
}

impl From<WordClasses> for Listed {
    fn from(classes: WordClasses) -> Self {
        let mut listed = Listed::default();
        let mut last = 0;
        for (key, cluster) in classes.sorted() {
            listed.steps.push(key - last);
            listed.clusters.push(cluster);
            last = key;
        }
        listed
    }
}

impl From<Listed> for WordClasses {
    fn from(listed: Listed) -> Self {
        let keys = listed.steps.iter().scan(0u32, |key, step| {
            *key = key.wrapping_add(*step);
            Some(*key)
        });
        keys.zip(listed.clusters).collect()
    }
}

impl FromIterator<(u32, Cluster)> for WordClasses {
    fn from_iter<I: IntoIterator<Item = (u32, Cluster)>>(clusters: I) -> Self {
        WordClasses { clusters: clusters.into_iter().collect() }
    }
}

/// Words with their vectors, from which classes of words are made.
#[derive(Debug, Default, PartialEq)]
pub struct WordVectors {
    words: Vec<String>,
    points: Points,
    /// The fine clusters.
    fine: Vec<u16>,
}

impl WordVectors {
    /// Reads word vectors: a word and its numbers on each line, separated by spaces.
    ///
    /// # Errors
    /// When a line is not a word and as many numbers as the others have.
    pub fn read(source: impl Read, seed: u64) -> Result<Self> {
        let mut vectors = WordVectors::default();
        let mut seen = FxHashMap::default();
        for (i, line) in BufReader::new(source).lines().enumerate() {
            let line = line?;
            let bad = |what: String| Error::at(Code::BadRules, i + 1, 1, what);
            let mut columns = line.trim_end().split(' ');
            let word = columns.next().unwrap_or_default();
            let Points { numbers, n: width } = &mut vectors.points;
            let before = numbers.len();
            for column in columns {
                let number: f32 =
                    column.parse().ok().filter(|n: &f32| n.is_finite()).ok_or_else(|| {
                        bad(format!("expected a number of a word vector, found `{column}`"))
                    })?;
                numbers.push(number);
            }
            let n = numbers.len() - before;
            if i == 0 && n == 1 {
                // The word2vec format begins with the numbers of words and of dimensions.
                numbers.clear();
                continue;
            }
            if n == 0 || *width != 0 && *width != n {
                return Err(bad(format!("expected a word and {} numbers, found {n}", (*width).max(1))));
            }
            *width = n;
            if seen.insert(word.to_lowercase(), ()).is_some() {
                numbers.truncate(before);
                continue;
            }
            vectors.words.push(word.to_lowercase());
        }
        vectors.points.normalise();
        vectors.fine = vectors.points.clusters(N_FINE, seed);
        Ok(vectors)
    }

    /// Have they no words?
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words, in lower case, with their vectors, which are all one long.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[f32])> {
        self.words.iter().enumerate().map(|(i, word)| (word.as_str(), self.points.get(i)))
    }

    /// What the vectors say about tags, if any token with a vector has one.
    fn profiles<'a>(
        &self,
        treebank: impl Iterator<Item = &'a Sentence> + Clone,
        seed: u64,
    ) -> Option<Points> {
        let numbers: FxHashMap<&str, usize> =
            self.words.iter().enumerate().map(|(i, word)| (word.as_str(), i)).collect();
        let tokens = treebank.flat_map(|sentence| &sentence.tokens).filter(|token| !token.tag.is_empty());
        let tags: BTreeSet<&str> = tokens.clone().map(|token| &*token.tag).collect();
        let mut counts: FxHashMap<usize, Vec<f32>> = FxHashMap::default();
        for token in tokens {
            if let Some(&word) = numbers.get(token.form.to_lowercase().as_str()) {
                let tag = tags.range(..&*token.tag).count();
                counts.entry(word).or_insert_with(|| vec![0.0; tags.len()])[tag] += 1.0;
            }
        }
        (!counts.is_empty()).then(|| profile::profiles(&self.points, &counts, tags.len(), seed))
    }

    /// Classes of the words: fine ones by their vectors as they are, coarse ones by the tags they are likely to have, as
    /// learnt from a treebank; without one there are only fine ones.
    pub fn classes<'a>(
        &self,
        treebank: impl Iterator<Item = &'a Sentence> + Clone,
        seed: u64,
    ) -> WordClasses {
        let coarse = self.profiles(treebank, seed).map(|profiles| profiles.clusters(N_COARSE, seed));
        let coarse = |i: usize| coarse.as_ref().map_or(0, |coarse| coarse[i] + 1);
        let clusters = self.words.iter().zip(&self.fine).enumerate();
        clusters.map(|(i, (word, fine))| (hash::key(SALT, word), [coarse(i), fine + 1])).collect()
    }
}

impl WordClasses {
    /// The number of words.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Are there no words?
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// The clusters of a word in lower case.
    pub(crate) fn get(&self, lower: &str) -> Cluster {
        if self.clusters.is_empty() {
            return Cluster::default();
        }
        self.clusters.get(&hash::key(SALT, lower)).copied().unwrap_or_default()
    }

    /// All keys with their clusters, rising.
    pub(crate) fn sorted(&self) -> Vec<(u32, Cluster)> {
        let mut clusters: Vec<(u32, Cluster)> = self.clusters.iter().map(|(&key, &c)| (key, c)).collect();
        clusters.sort_unstable();
        clusters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn vectors_are_read_in_both_formats_and_bad_ones_refused() {
        let lines = "cat 1 0 2\ndog 1 0 1.5\nCat 9 9 9\nrun -1 1 0\n";
        let classes = |text: &str| {
            let vectors = WordVectors::read(text.as_bytes(), 1).expect(text);
            vectors.classes([].iter(), 1)
        };
        assert_eq!(classes(lines).len(), 3);
        assert_eq!(classes(&format!("4 3\n{lines}")), classes(lines));
        assert!(classes("").is_empty());
        for bad in ["a 1 2\nb 1\n", "a x\n", "a\n", "a NaN\n"] {
            let error = WordVectors::read(bad.as_bytes(), 1).expect_err(bad);
            assert_eq!((error.code, error.location.line > 0), (Code::BadRules, true));
        }
    }

    /// How many of a thousand words are in a coarse class most of whose words have the same sign. Vectors have much to say
    /// that does not matter; the tag, known for half of the words, is the sign of their last number.
    fn pure(is_tagged: bool) -> usize {
        let mut rng = Rng::new(5);
        let numbers: Vec<[f64; 6]> = (0..1000)
            .map(|_| std::array::from_fn(|i| (rng.unit() - 0.5) * if i < 5 { 4.0 } else { 1.0 }))
            .collect();
        let line =
            |(i, numbers): (usize, &[f64; 6])| format!("w{i} {}\n", numbers.map(|x| x.to_string()).join(" "));
        let text: String = numbers.iter().enumerate().map(line).collect();
        let tag = |i: usize| if numbers[i][5] > 0.0 { "A" } else { "B" };
        let words: Vec<String> = (0..500).map(|i| format!("W{i}")).collect();
        let treebank =
            Sentence::from_tagged(words.iter().enumerate().map(|(i, word)| (word.as_str(), tag(i))));
        let vectors = WordVectors::read(text.as_bytes(), 1).expect("six numbers each");
        let classes = vectors.classes([treebank].iter().filter(|_| is_tagged), 1);
        let mut signs = [[0usize; 2]; N_COARSE + 1];
        for i in 500..1000 {
            let [coarse, _] = classes.get(&format!("w{i}"));
            signs[usize::from(coarse)][usize::from(tag(i) == "A")] += 1;
        }
        signs.iter().map(|[a, b]| a.max(b)).sum()
    }

    #[test]
    fn coarse_classes_are_those_of_tags() {
        assert!(pure(true) > 470, "{} of 500", pure(true));
        assert!(pure(false) < 430, "{} of 500", pure(false));
    }
}
