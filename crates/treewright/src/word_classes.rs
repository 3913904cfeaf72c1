//! Word classes from word vectors: k-means clusters, so that a word never seen in training is like others that were.

use std::io::{BufRead, BufReader, Read};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::hash;
use crate::rng::Rng;

/// The clusterings: how many clusters each has.
const SIZES: [usize; 2] = [64, 512];
const SALT: u64 = 77;
const ROUNDS: usize = 12;

/// The cluster of a word in each clustering, counted from 1; 0 for a word without a vector.
pub(crate) type Cluster = [u16; SIZES.len()];

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

/// Word vectors, one after the other.
struct Vectors {
    words: Vec<String>,
    numbers: Vec<f32>,
    n: usize,
}

impl Vectors {
    fn read(source: impl Read) -> Result<Self> {
        let mut vectors = Vectors { words: Vec::new(), numbers: Vec::new(), n: 0 };
        let mut seen = FxHashMap::default();
        for (i, line) in BufReader::new(source).lines().enumerate() {
            let line = line?;
            let bad = |what: String| Error::new(Code::BadRules, i + 1, 1, what);
            let mut columns = line.trim_end().split(' ');
            let word = columns.next().unwrap_or_default();
            let before = vectors.numbers.len();
            for column in columns {
                let number: f32 =
                    column.parse().ok().filter(|n: &f32| n.is_finite()).ok_or_else(|| {
                        bad(format!("expected a number of a word vector, found `{column}`"))
                    })?;
                vectors.numbers.push(number);
            }
            let n = vectors.numbers.len() - before;
            if i == 0 && n == 1 {
                // The word2vec format begins with the numbers of words and of dimensions.
                vectors.numbers.clear();
                continue;
            }
            if n == 0 || vectors.n != 0 && vectors.n != n {
                return Err(bad(format!("expected a word and {} numbers, found {n}", vectors.n.max(1))));
            }
            vectors.n = n;
            if seen.insert(word.to_lowercase(), ()).is_some() {
                vectors.numbers.truncate(before);
                continue;
            }
            vectors.words.push(word.to_lowercase());
        }
        Ok(vectors)
    }

    fn get(&self, i: usize) -> &[f32] {
        &self.numbers[i * self.n..(i + 1) * self.n]
    }

    /// Makes all vectors one long, so that clusters go by direction.
    fn normalise(&mut self) {
        for vector in self.numbers.chunks_exact_mut(self.n.max(1)) {
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-9);
            vector.iter_mut().for_each(|x| *x /= length);
        }
    }

    /// The cluster of each vector, by k-means from `k` vectors chosen by the seed.
    fn clusters(&self, k: usize, seed: u64) -> Vec<u16> {
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        Rng::new(seed).shuffle(&mut order);
        let k = k.min(order.len());
        let mut centres: Vec<f32> = order[..k].iter().flat_map(|&i| self.get(i)).copied().collect();
        let mut of = vec![0u16; self.words.len()];
        for _ in 0..ROUNDS {
            for (i, cluster) in of.iter_mut().enumerate() {
                let vector = self.get(i);
                let dot = |centre: &[f32]| {
                    let mut sums = [0f32; 8];
                    let (a, b) = (vector.chunks_exact(8), centre.chunks_exact(8));
                    let rest: f32 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| x * y).sum();
                    for (x, y) in a.zip(b) {
                        (0..8).for_each(|j| sums[j] += x[j] * y[j]);
                    }
                    sums.iter().sum::<f32>() + rest
                };
                let mut best = (f32::NEG_INFINITY, 0);
                for (c, centre) in centres.chunks_exact(self.n).enumerate() {
                    let near = dot(centre);
                    if near > best.0 {
                        best = (near, c);
                    }
                }
                *cluster = best.1 as u16;
            }
            let mut sums = vec![0f32; k * self.n];
            for (i, &cluster) in of.iter().enumerate() {
                let sum = &mut sums[usize::from(cluster) * self.n..][..self.n];
                sum.iter_mut().zip(self.get(i)).for_each(|(s, x)| *s += x);
            }
            for (centre, sum) in centres.chunks_exact_mut(self.n).zip(sums.chunks_exact(self.n)) {
                let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
                // A cluster that lost all its words stays where it was.
                if length > 0.0 {
                    centre.iter_mut().zip(sum).for_each(|(c, s)| *c = s / length);
                }
            }
        }
        of
    }
}

impl WordClasses {
    /// Reads word vectors (a word and its numbers on each line, separated by spaces) and clusters them.
    ///
    /// # Errors
    /// When a line is not a word and as many numbers as the others have.
    pub fn from_vectors(source: impl Read, seed: u64) -> Result<Self> {
        let mut vectors = Vectors::read(source)?;
        vectors.normalise();
        let clusterings = SIZES.map(|k| vectors.clusters(k, seed));
        let clusters = vectors.words.iter().enumerate();
        let clusters =
            clusters.map(|(i, word)| (hash::key(SALT, word), std::array::from_fn(|c| clusterings[c][i] + 1)));
        Ok(WordClasses { clusters: clusters.collect() })
    }

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
            return [0; SIZES.len()];
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
