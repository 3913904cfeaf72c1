//! The template language.
//!
//! A template is a list of atoms joined by `+`; it fires with the combination of their values. White space separates
//! templates, `#` starts a comment. An atom is `place.attribute`, with steps to children in between:
//!
//! | part | means |
//! |---|---|
//! | `s0` `s1` .. | the stack, nearest first |
//! | `d0` `d1` .. | the deque (systems without one say in their file what d0 is) |
//! | `b0` `b1` .. | the buffer |
//! | `.l` `.r` `.u` | first and last child of two or more; only child. For dependencies, outermost left and right dependent |
//! | `.l2` `.r2` | second outermost dependents |
//! | `w t x f p k` | of the lexical head: word, tag, second tag, morphology, suffix, class by word vectors |
//! | `c` | the label; of a bare word, its tag |
//! | `wl wr tl tr xl xr` | word and tags at the left and right end of the yield |
//! | `wlo wro tlo tro xlo xro` | just outside the left and right end |
//! | `len` `shape` | length and shape of the span |
//! | `vl` `vr` `sl` `sr` | number and set of left and right dependents |
//! | `s0-b0.dist` | distance between two heads, in classes |
//! | `a0` `a1` .. | the newest actions |
//! | `gaps` | how many elements of the deque were gapped |

use std::fmt;

use super::attributes::unknown_attribute;
use super::extract::{MAX_NODES, MAX_PARTS, MAX_VALUES, size_of_set};
use crate::error::{Code, Error, Result};
use crate::forest::Place;

/// A step from a node to one of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// `.l`
    Left,
    /// `.r`
    Right,
    /// `.u`
    Only,
    /// `.l2`
    SecondLeft,
    /// `.r2`
    SecondRight,
}

/// What is looked at in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Attribute {
    /// A column of the token at an offset of the node.
    Token(Column, Spot),
    Label,
    Length,
    Shape,
    LeftValency,
    RightValency,
    LeftSet,
    RightSet,
}

/// A table of the encoded sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Column {
    Word,
    Tag,
    Xpos,
    Feats,
    Suffix,
    Class,
}

/// The number of columns.
pub(super) const N_COLUMNS: usize = Column::ALL.len();

impl Column {
    pub(super) const ALL: [Column; 6] =
        [Column::Word, Column::Tag, Column::Xpos, Column::Feats, Column::Suffix, Column::Class];
}

/// Which token of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Spot {
    Head,
    Left,
    Right,
    BeforeLeft,
    AfterRight,
}

/// A node, as a place and steps down.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodePath {
    pub place: Place,
    pub edges: Vec<Edge>,
}

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Atom {
    Node(NodePath, Attribute),
    Distance(NodePath, NodePath),
    Past(u8),
    Gaps,
}

/// A set of templates, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSet {
    text: String,
    /// Line and column of each template.
    places: Vec<(usize, usize)>,
    pub(super) templates: Vec<Vec<Atom>>,
}

impl TemplateSet {
    /// Reads a set.
    ///
    /// # Errors
    /// With line and column, when an atom is not of the language or a template stands there twice.
    pub fn parse(text: &str) -> Result<Self> {
        let (mut templates, mut places): (Vec<Vec<Atom>>, Vec<(usize, usize)>) = Default::default();
        for (i, line) in text.lines().enumerate() {
            let code = line.split('#').next().unwrap_or("");
            for word in code.split_whitespace() {
                let column = word.as_ptr() as usize - line.as_ptr() as usize;
                let column = line[..column].chars().count() + 1;
                let error = |message: String| Error::at(Code::BadRules, i + 1, column, message);
                let template = word.split('+').map(atom).collect::<std::result::Result<Vec<_>, _>>();
                let template = template.map_err(|why| error(format!("in template {word}: {why}")))?;
                if template.len() > MAX_PARTS {
                    return Err(error(format!("template {word} has more than {MAX_PARTS} atoms")));
                }
                if templates.contains(&template) {
                    return Err(error(format!("template {word} stands here twice")));
                }
                templates.push(template);
                places.push((i + 1, column));
            }
        }
        if templates.is_empty() {
            return Err(Error::new(Code::BadRules, "a template set needs at least one template"));
        }
        let (n_nodes, n_values) = size_of_set(&templates);
        if n_nodes > MAX_NODES || n_values > MAX_VALUES {
            let message = format!(
                "the set looks at {n_nodes} nodes from one place, and at {n_values} values; at most {MAX_NODES} and {MAX_VALUES} are allowed (the values of each place count in eights)"
            );
            return Err(Error::new(Code::BadRules, message));
        }
        Ok(TemplateSet { text: text.to_owned(), places, templates })
    }

    /// One of its templates as a set: where and as what it stands in the text.
    pub(crate) fn alone(&self, number: usize) -> (TemplateSet, (usize, usize), &str) {
        let place = self.places[number];
        let line = self.text.lines().nth(place.0 - 1).unwrap_or_default();
        let start = line.char_indices().nth(place.1 - 1).map_or(0, |(start, _)| start);
        let name = line[start..].split([' ', '\t', '#']).next().unwrap_or_default();
        let templates = vec![self.templates[number].clone()];
        (TemplateSet { text: name.to_owned(), places: vec![(1, 1)], templates }, place, name)
    }

    /// True if the template looks at nothing but the deque.
    pub(crate) fn is_of_deque(&self, number: usize) -> bool {
        let is_deque = |path: &NodePath| matches!(path.place, Place::Deque(_));
        self.templates[number].iter().all(|atom| match atom {
            Atom::Node(path, _) => is_deque(path),
            Atom::Distance(from, to) => is_deque(from) && is_deque(to),
            Atom::Past(_) | Atom::Gaps => false,
        })
    }

    /// Does it look at the classes of words?
    pub fn uses_classes(&self) -> bool {
        let is_class = |atom: &Atom| matches!(atom, Atom::Node(_, Attribute::Token(Column::Class, _)));
        self.templates.iter().flatten().any(is_class)
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of templates.
    pub fn len(&self) -> usize {
        self.templates.len()
    }

    /// Are there none? (Never: reading refuses an empty set.)
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }
}

impl fmt::Display for TemplateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn atom(text: &str) -> std::result::Result<Atom, String> {
    if text == "gaps" {
        return Ok(Atom::Gaps);
    }
    if let Some(i) = text.strip_prefix('a').and_then(|rest| rest.parse().ok()) {
        return Ok(Atom::Past(i));
    }
    let (node, attribute) =
        text.rsplit_once('.').ok_or_else(|| format!("{text:?} is not an atom (write place.attribute)"))?;
    if attribute == "dist" {
        let (from, to) = node.split_once('-').ok_or("a distance is written s0-b0.dist")?;
        return Ok(Atom::Distance(node_path(from)?, node_path(to)?));
    }
    Ok(Atom::Node(node_path(node)?, self::attribute(attribute)?))
}

fn node_path(text: &str) -> std::result::Result<NodePath, String> {
    let mut parts = text.split('.');
    let place = parts.next().unwrap_or("");
    let unknown = || format!("{place:?} is not a place (s0.., d0.. or b0..)");
    let number: u8 = place.get(1..).and_then(|n| n.parse().ok()).ok_or_else(unknown)?;
    let place = match place.as_bytes()[0] {
        b's' => Place::Stack(number),
        b'd' => Place::Deque(number),
        b'b' => Place::Buffer(number),
        _ => return Err(unknown()),
    };
    let edge = |text: &str| match text {
        "l" => Ok(Edge::Left),
        "r" => Ok(Edge::Right),
        "u" => Ok(Edge::Only),
        "l2" => Ok(Edge::SecondLeft),
        "r2" => Ok(Edge::SecondRight),
        _ => Err(format!("{text:?} is not a child (l, r, u, l2 or r2)")),
    };
    Ok(NodePath { place, edges: parts.map(edge).collect::<std::result::Result<_, _>>()? })
}

fn attribute(text: &str) -> std::result::Result<Attribute, String> {
    Ok(match text {
        "c" => Attribute::Label,
        "len" => Attribute::Length,
        "shape" => Attribute::Shape,
        "vl" => Attribute::LeftValency,
        "vr" => Attribute::RightValency,
        "sl" => Attribute::LeftSet,
        "sr" => Attribute::RightSet,
        _ => {
            let (column, spot) = text.split_at_checked(1).ok_or_else(|| unknown_attribute(text))?;
            let column = match column {
                "w" => Column::Word,
                "t" => Column::Tag,
                "x" => Column::Xpos,
                "f" => Column::Feats,
                "p" => Column::Suffix,
                "k" => Column::Class,
                _ => return Err(unknown_attribute(text)),
            };
            let spot = match spot {
                "" => Spot::Head,
                "l" => Spot::Left,
                "r" => Spot::Right,
                "lo" => Spot::BeforeLeft,
                "ro" => Spot::AfterRight,
                _ => return Err(unknown_attribute(text)),
            };
            Attribute::Token(column, spot)
        }
    })
}

macro_rules! shipped {
    ($($name:literal = [$($file:literal),+];)*) => {
        /// The names of the sets that come with the library.
        pub fn shipped_names() -> &'static [&'static str] {
            &[$($name),*]
        }

        /// A set that comes with the library.
        pub fn shipped(name: &str) -> Option<TemplateSet> {
            let text = match name {
                $($name => concat!($(include_str!(concat!("sets/", $file, ".txt"))),+),)*
                _ => return None,
            };
            Some(TemplateSet::parse(text).expect("the shipped sets are tested"))
        }
    };
}

shipped! {
    "baseline" = ["gap_baseline"];
    "extended" = ["gap_baseline", "gap_extended"];
    "spans" = ["gap_baseline", "gap_extended", "gap_spans"];
    "spans-plus" = ["gap_baseline", "gap_extended", "gap_spans", "gap_plus"];
    "zhang-clark" = ["zhang_clark"];
    "simplified" = ["simplified"];
    "top-down" = ["top_down"];
    "in-order" = ["in_order"];
    "dependency" = ["dependency"];
    "dependency-fast" = ["dependency_fast"];
    "dependency-rich" = ["dependency_rich"];
    "dependency-classes" = ["dependency_rich", "dependency_classes"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_sets_are_read() {
        for name in shipped_names() {
            assert!(shipped(name).expect(name).len() > 10, "{name}");
        }
        assert!(shipped("nonsense").is_none());
    }

    /// Paper 004, Table 2: 40 templates in BASELINE, 12 more in EXTENDED (one repeats BASELINE's), 25 in SPANS.
    #[test]
    fn the_sets_of_paper_004_have_their_sizes() {
        let size = |name| shipped(name).expect(name).len();
        assert_eq!((size("baseline"), size("extended"), size("spans")), (40, 51, 76));
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        assert_eq!(TemplateSet::parse(text).expect_err(text).to_string(), expected);
    }

    #[test]
    fn errors_say_where_and_what() {
        let known = "there are w t x f p k (each also with l r lo ro), c len shape vl vr sl sr and, between two places, dist";
        check_error(
            "s0.w\n  s0.q",
            &format!("2:3: in template s0.q: \"q\" is not an attribute; {known} [TW402]"),
        );
        check_error("z0.w", "1:1: in template z0.w: \"z0\" is not a place (s0.., d0.. or b0..) [TW402]");
        check_error("s0.q.w", "1:1: in template s0.q.w: \"q\" is not a child (l, r, u, l2 or r2) [TW402]");
        check_error("s0.w s0.w", "1:6: template s0.w stands here twice [TW402]");
        check_error("# nothing", "a template set needs at least one template [TW402]");
        check_error("s0", "1:1: in template s0: \"s0\" is not an atom (write place.attribute) [TW402]");
        check_error("s0.", &format!("1:1: in template s0.: no attribute follows the point; {known} [TW402]"));
        check_error(
            "s0.label",
            &format!(
                "1:1: in template s0.label: \"label\" is not an attribute: did you mean \"c\"? {}{} [TW402]",
                "T",
                &known[1..]
            ),
        );
        check_error(
            "# é\n é s0.w",
            "2:2: in template é: \"é\" is not an atom (write place.attribute) [TW402]",
        );
        check_error(
            "a0+a1+a2+a3+a4+a5+a6",
            "1:1: template a0+a1+a2+a3+a4+a5+a6 has more than 6 atoms [TW402]",
        );
        let many: String = (0..33).map(|i| format!("s{i}.w ")).collect();
        let allowed = "at most 32 and 256 are allowed (the values of each place count in eights) [TW402]";
        check_error(&many, &format!("the set looks at 1 nodes from one place, and at 264 values; {allowed}"));
        let deep: String = (1..33).map(|i| format!("s0.{}w ", "l.".repeat(i))).collect();
        check_error(&deep, &format!("the set looks at 33 nodes from one place, and at 32 values; {allowed}"));
    }
}
