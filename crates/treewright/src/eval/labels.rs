//! Label sets and equivalences, made ready for quick questions.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::sentence::Str;

/// Pairs that count as the same, exactly as given: EVALB does not chain them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs(Vec<(Str, Str)>);

impl Pairs {
    pub(super) fn new(pairs: &[(Str, Str)]) -> Self {
        Pairs(pairs.to_vec())
    }

    pub(super) fn same(&self, a: &str, b: &str) -> bool {
        a == b || self.0.iter().any(|(x, y)| (a == x && b == y) || (a == y && b == x))
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
