//! Tokens that are one word here and several there, such as "its" for "it's": their neighbours decide.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::multiword::Split;

/// The neighbours decide about a token that was seen at least this often as one word, and as often as several.
pub(super) const MIN_COUNT: u32 = 3;

/// A logistic classifier for one token, by its neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ambiguous {
    /// How it is split where it is.
    pub split: Split,
    /// The weights of what stands beside it; positive ones speak for several words.
    weights: BTreeMap<String, i32>,
}

/// A token's neighbours in its sentence, in lower case; empty at the edge.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Neighbours<'a> {
    pub before: &'a str,
    pub after: &'a str,
}

/// The longest neighbour worth learning, in bytes.
const LONGEST: usize = 40;

impl Neighbours<'_> {
    /// What is looked at: both neighbours, and the endings of the next one.
    fn features(self) -> [String; 5] {
        let ending = |n: usize| {
            let start = self.after.char_indices().rev().nth(n - 1).map_or(0, |(at, _)| at);
            format!("-{}", &self.after[start..])
        };
        let near = |text: &str| if text.len() > LONGEST { String::new() } else { text.to_owned() };
        [
            String::new(),
            format!("< {}", near(self.before)),
            format!("> {}", near(self.after)),
            ending(2),
            ending(3),
        ]
    }
}

/// Rounds over the occurrences of a token, and the step of the first one.
const ROUNDS: usize = 20;
const STEP: f64 = 0.3;
/// What a weight of 1 is stored as.
const SCALE: f64 = 1000.0;

impl Ambiguous {
    /// Learns from the occurrences of a token: its neighbours, and whether it was split.
    pub(super) fn train(split: Split, occurrences: &[(Neighbours<'_>, bool)]) -> Self {
        // The weight of a feature, and the sum of the squares of its steps, which makes them shorter (AdaGrad).
        let mut learning: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for _ in 0..ROUNDS {
            for &(neighbours, is_split) in occurrences {
                let features = neighbours.features();
                let score: f64 = features.iter().map(|f| learning.get(f).map_or(0.0, |w| w.0)).sum();
                let error = f64::from(u8::from(is_split)) - 1.0 / (1.0 + (-score).exp());
                for feature in features {
                    let (weight, squares) = learning.entry(feature).or_default();
                    *squares += error * error;
                    *weight += STEP * error / (*squares + 0.1).sqrt();
                }
            }
        }
        let quantised =
            |(feature, (weight, _)): (String, (f64, f64))| (feature, (weight * SCALE).round() as i32);
        let weights = learning.into_iter().map(quantised).filter(|(_, weight)| *weight != 0).collect();
        Ambiguous { split, weights }
    }

    /// Is the token several words here?
    pub(super) fn is_split(&self, neighbours: Neighbours<'_>) -> bool {
        let weight = |feature: &String| self.weights.get(feature).map_or(0, |&weight| i64::from(weight));
        neighbours.features().iter().map(weight).sum::<i64>() > 0
    }
}
