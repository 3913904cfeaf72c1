//! What templates depend on, so that what was computed for one state can be used again in others.

use super::template::{Atom, Attribute, NodePath, Spot, TemplateSet};
use crate::forest::Place;

/// What the keys of a template depend on; keys that depend on little can be used again in other states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// The words at the front of the buffer, and nothing that was built on them.
    Buffer,
    /// One node, with all that is under it.
    Node(Place),
    /// Some places of the configuration, and perhaps its past.
    Places {
        /// One bit for each place; all of the buffer have one.
        places: u32,
        /// Only the words there count, not what was built on them.
        only_words: bool,
    },
}

impl Dependence {
    /// What the templates of a set depend on, each once, with the number of templates that do.
    pub fn all_of(set: &TemplateSet) -> Vec<(Self, usize)> {
        let mut all: Vec<(Self, usize)> = Vec::new();
        for template in &set.templates {
            let dependence = Self::of(template);
            match all.iter_mut().find(|(known, _)| *known == dependence) {
                Some((_, n)) => *n += 1,
                None => all.push((dependence, 1)),
            }
        }
        all
    }

    pub(super) fn of(template: &[Atom]) -> Self {
        let (mut paths, mut only_words, mut has_past) = (Vec::new(), true, false);
        for atom in template {
            match atom {
                Atom::Node(path, attribute) => {
                    paths.push(path);
                    only_words &=
                        path.edges.is_empty() && matches!(attribute, Attribute::Token(_, Spot::Head));
                }
                Atom::Distance(from, to) => {
                    paths.extend([from, to]);
                    only_words &= from.edges.is_empty() && to.edges.is_empty();
                }
                Atom::Past(_) | Atom::Gaps => has_past = true,
            }
        }
        let is_buffer = |path: &&NodePath| matches!(path.place, Place::Buffer(_));
        if !has_past && only_words && paths.iter().all(is_buffer) {
            return Dependence::Buffer;
        }
        if !has_past && paths.iter().all(|path| path.place == paths[0].place) {
            return Dependence::Node(paths[0].place);
        }
        let bit = |path: &&NodePath| match path.place {
            Place::Buffer(_) => 1 << 1,
            Place::Stack(i) => 1 << (2 + i.min(14)),
            Place::Deque(i) => 1 << (17 + i.min(14)),
        };
        let places = paths.iter().fold(u32::from(has_past), |places, path| places | bit(path));
        Dependence::Places { places, only_words: only_words && !has_past }
    }
}
