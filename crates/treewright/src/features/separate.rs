//! The keys of sets whose templates each look at one item or at the buffer, and at items' labels and spans alone: then a
//! score is a sum over places, and exact search can ask for what an item adds without a configuration around it.

use std::ops::Range;

use super::encode::{Encoded, NONE};
use super::extract::{FACTORS, key, label_value, span_value};
use super::template::{Atom, Attribute, Column, Spot, TemplateSet};
use crate::forest::{Kind, Place};
use crate::ids::LabelId;
use crate::weights::kernel::zip;

/// The templates of a set, by the place they look at.
#[derive(Clone, Debug)]
pub struct SeparateKeys {
    /// Of the item on top of the stack (d0, see `systems/bottom_up_2n.rs`).
    pub top: PlaceKeys,
    /// Of the item below it (s0).
    pub below: PlaceKeys,
    /// Of the words that are still to be read.
    pub buffer: PlaceKeys,
}

impl SeparateKeys {
    /// The templates over the place of a role.
    pub fn of_role(&mut self, role: Role) -> &mut PlaceKeys {
        match role {
            Role::Top => &mut self.top,
            Role::Below => &mut self.below,
        }
    }
}

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// On top of the stack.
    Top,
    /// Right below the top.
    Below,
}

/// The templates over one place, and what they saw of it.
#[derive(Clone, Debug, Default)]
pub struct PlaceKeys {
    templates: Vec<Template>,
    /// For each template its sum without the label.
    sums: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Template {
    /// Its number in the whole set.
    seed: u64,
    /// What the label is multiplied by, 0 if it is not looked at.
    label_factor: u64,
    /// Do many spans look the same to it?
    is_common: bool,
    /// What else is looked at, and what it is multiplied by.
    parts: Vec<(Part, u64)>,
}

/// What a template saw of a place, but for the label of the item there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    seed: u64,
    sum: u64,
    label_factor: u64,
}

impl Context {
    /// The key for an item with this label (see [`label_of`]); none if nothing was there to see.
    #[inline(always)]
    pub fn key(&self, label: u32) -> Option<u64> {
        let sum = self.sum.wrapping_add(u64::from(label).wrapping_mul(self.label_factor));
        (sum != self.seed).then(|| key(self.seed, sum))
    }
}

#[derive(Clone, Copy, Debug)]
enum Part {
    OfSpan(Attribute),
    /// A word of the buffer, by its distance from the first.
    Word(usize, Column),
}

impl Part {
    /// Are there very many values?
    fn is_lexical(self) -> bool {
        let (Part::Word(_, column) | Part::OfSpan(Attribute::Token(column, _))) = self else { return false };
        !matches!(column, Column::Tag | Column::Xpos)
    }
}

impl SeparateKeys {
    /// The keys of a set; nothing if a template looks at two items, or at more of one than label and span.
    pub fn of(set: &TemplateSet) -> Option<Self> {
        let mut keys = SeparateKeys {
            top: PlaceKeys::default(),
            below: PlaceKeys::default(),
            buffer: PlaceKeys::default(),
        };
        for (number, atoms) in set.templates.iter().enumerate() {
            let mut template =
                Template { seed: number as u64, label_factor: 0, is_common: false, parts: Vec::new() };
            let mut place = None;
            for (atom, &factor) in atoms.iter().zip(&FACTORS) {
                let Atom::Node(path, attribute) = atom else { return None };
                // All of the buffer are one place.
                let of_atom = if let Place::Buffer(_) = path.place { Place::Buffer(0) } else { path.place };
                if !path.edges.is_empty() || place.is_some_and(|place| place != of_atom) {
                    return None;
                }
                place = Some(of_atom);
                match (path.place, *attribute) {
                    (Place::Buffer(i), Attribute::Token(column, Spot::Head)) => {
                        template.parts.push((Part::Word(usize::from(i), column), factor));
                    }
                    (Place::Buffer(_), _) => return None,
                    (_, Attribute::Label) => {
                        template.label_factor = template.label_factor.wrapping_add(factor);
                    }
                    (_, Attribute::Token(_, Spot::Head))
                    | (_, Attribute::LeftValency | Attribute::RightValency)
                    | (_, Attribute::LeftSet | Attribute::RightSet) => return None,
                    (_, of_span) => template.parts.push((Part::OfSpan(of_span), factor)),
                }
            }
            template.is_common = template.parts.iter().filter(|part| part.0.is_lexical()).count() <= 1;
            match place? {
                Place::Deque(0) => keys.top.templates.push(template),
                Place::Stack(0) => keys.below.templates.push(template),
                Place::Buffer(_) => keys.buffer.templates.push(template),
                Place::Deque(_) | Place::Stack(_) => return None,
            }
        }
        Some(keys)
    }
}

impl PlaceKeys {
    /// Looks at the words of an item.
    pub fn look_at_span(&mut self, encoded: &Encoded, span: &Range<usize>) {
        self.look(|part| match part {
            Part::OfSpan(attribute) => span_value(encoded, span, attribute),
            Part::Word(..) => NONE,
        });
    }

    /// Looks at the buffer that begins at `next`, of a sentence of `n` words.
    pub fn look_at_buffer(&mut self, encoded: &Encoded, next: usize, n: usize) {
        self.look(|part| match part {
            Part::Word(i, column) if next + i < n => encoded.row(next + i)[column as usize],
            Part::Word(..) | Part::OfSpan(_) => NONE,
        });
    }

    fn look(&mut self, value: impl Fn(Part) -> u32) {
        let sum = |template: &Template| {
            let add = |sum: u64, &(part, factor): &(Part, u64)| {
                sum.wrapping_add(u64::from(value(part)).wrapping_mul(factor))
            };
            template.parts.iter().fold(template.seed, add)
        };
        self.sums.clear();
        self.sums.extend(self.templates.iter().map(sum));
    }

    /// What each template saw of what was looked at last, and whether other spans are likely to look the same to it: two
    /// words are rarely seen together again.
    #[inline(always)]
    pub fn contexts(&self) -> impl Iterator<Item = (Context, bool)> {
        zip(&self.templates, &self.sums).map(|(template, &sum)| {
            let &Template { seed, label_factor, .. } = template;
            (Context { seed, sum, label_factor }, template.is_common)
        })
    }
}

/// What templates see of an item's label: of a bare word, which begins at `left`, its tag.
pub fn label_of(encoded: &Encoded, label: Option<(Kind, LabelId)>, left: usize) -> u32 {
    match label {
        Some((kind, label)) => label_value(kind, label),
        None => encoded.row(left)[Column::Tag as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::shipped;

    #[test]
    fn only_templates_over_one_place_without_heads_and_children_are_separate() {
        let is_separate =
            |text: &str| SeparateKeys::of(&TemplateSet::parse(text).expect("templates")).is_some();
        for text in ["b0.w+b3.t d0.wl d0.tro s0.len d0.shape+d0.c", "d0.c", "b0.t"] {
            assert!(is_separate(text), "{text}");
        }
        for text in ["d0.w", "s1.c", "d0.l.c", "a0", "gaps", "d0-s0.dist", "s0.vl", "b0.sl", "b0.l.w"] {
            assert!(!is_separate(text), "{text}");
        }
        for text in ["d0.shape+s0.c", "d0.c+b0.t"] {
            assert!(!is_separate(text), "{text}: two places");
        }
        let of = |name: &str| SeparateKeys::of(&shipped(name).expect("a shipped set"));
        let simplified = of("simplified").expect("separate");
        let sizes = [&simplified.top, &simplified.below, &simplified.buffer].map(|keys| keys.templates.len());
        assert_eq!(sizes, [18, 18, 4]);
        for name in ["zhang-clark", "spans", "in-order", "dependency"] {
            assert!(of(name).is_none(), "{name}");
        }
    }
}
