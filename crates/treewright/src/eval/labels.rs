//! Label sets and equivalences, made ready for quick questions.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::sentence::Str;

/// Pairs that count as the same, exactly as given: EVALB does not chain them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs(Vec<(Str, Str)>);

impl Pairs {
    pub(super) fn new(pairs: &[(Str, Str)]) -> Self {
        Pairs(pairs.to_vec())
    }

    /// The labels that count as the same as this one, itself not included.
    pub(super) fn partners<'a>(&'a self, label: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(move |(x, y)| match () {
            () if label == x => Some(y.as_str()),
            () if label == y => Some(x.as_str()),
            () => None,
        })
    }

    pub(super) fn same(&self, a: &str, b: &str) -> bool {
        a == b || self.0.iter().any(|(x, y)| (a == x && b == y) || (a == y && b == x))
    }
}

/// The predicted brackets over the same words that no gold bracket has taken.
#[derive(Default)]
pub(super) struct FreeBrackets<'a> {
    /// In their order; `None` if taken. Used for a few brackets.
    labels: Vec<Option<&'a str>>,
    /// The places of each label, in their order. Used for many: searching all for each would take quadratic time.
    places: FxHashMap<&'a str, VecDeque<usize>>,
}

impl<'a> FreeBrackets<'a> {
    /// The most brackets that are searched one by one.
    const FEW: usize = 16;

    /// Starts anew with the labels of all brackets over some words.
    pub(super) fn start(&mut self, labels: impl Iterator<Item = &'a str>) {
        self.labels.clear();
        self.places.clear();
        self.labels.extend(labels.map(Some));
        if self.labels.len() > Self::FEW {
            for (place, label) in self.labels.iter().flatten().enumerate() {
                self.places.entry(label).or_default().push_back(place);
            }
        }
    }

    /// Takes the first with this label, or one that counts as the same.
    pub(super) fn take(&mut self, label: &str, same: &Pairs) -> Option<usize> {
        if self.labels.len() <= Self::FEW {
            let is_same = |other: &Option<&str>| other.is_some_and(|other| same.same(label, other));
            let place = self.labels.iter().position(is_same)?;
            self.labels[place] = None;
            return Some(place);
        }
        let labels = std::iter::once(label).chain(same.partners(label));
        let first = |label: &str| self.places.get(label).and_then(VecDeque::front).copied();
        let (_, label) = labels.filter_map(|label| Some((first(label)?, label))).min()?;
        self.places.get_mut(label)?.pop_front()
    }
}

/// A set of labels; with `closed_under`, also everything a pair makes equal to a member.
pub(super) fn set(labels: &[Str], closed_under: &[(Str, Str)]) -> FxHashSet<Str> {
    let mut set: FxHashSet<Str> = labels.iter().cloned().collect();
    for (a, b) in closed_under {
        for (a, b) in [(a, b), (b, a)] {
            if labels.contains(a) {
                set.insert(b.clone());
            }
        }
    }
    set
}

/// Classes of labels that count as the same: disco-dop chains the pairs.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes(FxHashMap<Str, Str>);

impl Classes {
    pub(super) fn new(pairs: &[(Str, Str)]) -> Self {
        let mut first: FxHashMap<Str, Str> = FxHashMap::default();
        for (a, b) in pairs {
            let keep = first.get(a).unwrap_or(a).clone();
            let give_up = first.get(b).unwrap_or(b).clone();
            for representative in first.values_mut() {
                if *representative == give_up {
                    *representative = keep.clone();
                }
            }
            first.insert(a.clone(), keep.clone());
            first.insert(b.clone(), keep);
        }
        Classes(first)
    }

    /// The name of the label's class.
    pub(super) fn name<'a>(&'a self, label: &'a str) -> &'a str {
        if self.0.is_empty() { label } else { self.0.get(label).map_or(label, Str::as_str) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(Str, Str)> {
        pairs.iter().map(|&(a, b)| (a.into(), b.into())).collect()
    }

    #[test]
    fn pairs_are_symmetric_and_not_chained() {
        let pairs = Pairs::new(&pairs(&[("A", "B"), ("B", "C")]));
        assert!(pairs.same("A", "B") && pairs.same("B", "A") && pairs.same("C", "B") && pairs.same("D", "D"));
        assert!(!pairs.same("A", "C"));
        assert_eq!(pairs.partners("B").collect::<Vec<_>>(), ["A", "C"]);
        assert_eq!(pairs.partners("D").count(), 0);
    }

    #[test]
    fn many_brackets_are_taken_like_few() {
        let pairs = Pairs::new(&pairs(&[("A", "B"), ("B", "C")]));
        let mut rng = crate::rng::Rng::new(1);
        for _ in 0..200 {
            let mut labels =
                |n: usize| -> Vec<&str> { (0..n).map(|_| ["A", "B", "C", "D", "E"][rng.below(5)]).collect() };
            let (gold, predicted) = (labels(30), labels(FreeBrackets::FEW + 1));
            let mut free = FreeBrackets::default();
            free.start(predicted.iter().copied());
            let mut rest: Vec<Option<&str>> = predicted.into_iter().map(Some).collect();
            for label in gold {
                let first = rest.iter().position(|other| other.is_some_and(|other| pairs.same(label, other)));
                if let Some(place) = first {
                    rest[place] = None;
                }
                assert_eq!(free.take(label, &pairs), first);
            }
        }
    }

    #[test]
    fn classes_are_chained_in_any_order() {
        let classes = Classes::new(&pairs(&[("A", "B"), ("C", "D"), ("D", "B")]));
        for label in ["A", "B", "C", "D"] {
            assert_eq!(classes.name(label), classes.name("A"));
        }
        assert_eq!(classes.name("E"), "E");
    }

    #[test]
    fn a_set_takes_in_what_a_pair_makes_equal() {
        let set = set(&["A".into()], &pairs(&[("B", "A"), ("B", "C")]));
        assert!(set.contains("A") && set.contains("B") && !set.contains("C"));
    }
}
