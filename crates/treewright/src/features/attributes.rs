//! The attributes of the template language by name, for messages and help.

/// The attributes of a token, each with what it is. The left end of the span, the right end, and the words just outside it
/// have them, too.
pub const TOKEN_ATTRIBUTES: &[(&str, &str)] = &[
    ("w", "word"),
    ("t", "tag (UPOS, or the tag of a constituent treebank)"),
    ("x", "second tag (XPOS)"),
    ("f", "morphology (FEATS)"),
    ("p", "suffix of the word"),
    ("k", "class of the word by its vector"),
];

/// The tokens of a span that attributes of tokens may be asked of; without one of these it is the lexical head.
pub const SPOTS: &[(&str, &str)] =
    &[("l", "first"), ("r", "last"), ("lo", "just before the first"), ("ro", "just after the last")];

/// The other attributes of a node, each with what it is.
pub const NODE_ATTRIBUTES: &[(&str, &str)] = &[
    ("c", "label; of a bare word, its tag"),
    ("len", "length of the span, in classes"),
    ("shape", "shape of the span"),
    ("vl", "number of left dependents"),
    ("vr", "number of right dependents"),
    ("sl", "set of labels of the left dependents"),
    ("sr", "set of labels of the right dependents"),
];

/// Names that people try, and what they stand for.
const ALIASES: &[(&str, &str)] = &[
    ("word", "w"),
    ("form", "w"),
    ("token", "w"),
    ("tag", "t"),
    ("pos", "t"),
    ("upos", "t"),
    ("xpos", "x"),
    ("feats", "f"),
    ("morph", "f"),
    ("suffix", "p"),
    ("prefix", "p"),
    ("class", "k"),
    ("cluster", "k"),
    ("vector", "k"),
    ("label", "c"),
    ("lab", "c"),
    ("cat", "c"),
    ("category", "c"),
    ("nt", "c"),
    ("length", "len"),
    ("span", "len"),
    ("size", "len"),
    ("distance", "dist"),
];

/// Every attribute of a node.
fn all() -> Vec<String> {
    let plain = |&(name, _): &(&str, &str)| name.to_owned();
    let of_spots = TOKEN_ATTRIBUTES
        .iter()
        .flat_map(|(name, _)| SPOTS.iter().map(move |(spot, _)| format!("{name}{spot}")));
    TOKEN_ATTRIBUTES.iter().chain(NODE_ATTRIBUTES).map(plain).chain(of_spots).collect()
}

/// The message about an attribute that is none, with the nearest that is one and the list of all.
pub(super) fn unknown_attribute(text: &str) -> String {
    let names = |of: &[(&'static str, &str)]| of.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
    let known = format!(
        "here are {} (each also with {}), {} and, between two places, dist",
        names(TOKEN_ATTRIBUTES),
        names(SPOTS),
        names(NODE_ATTRIBUTES)
    );
    if text.is_empty() {
        return format!("no attribute follows the point; t{known}");
    }
    match nearest(text) {
        Some(near) => format!("{text:?} is not an attribute: did you mean {near:?}? T{known}"),
        None => format!("{text:?} is not an attribute; t{known}"),
    }
}

/// The attribute that was probably meant.
fn nearest(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    if let Some((_, name)) = ALIASES.iter().find(|(alias, _)| *alias == lower) {
        return Some((*name).to_owned());
    }
    let all = all();
    if all.contains(&lower) {
        return Some(lower);
    }
    // A single letter is one edit away from all others.
    if lower.chars().count() < 2 {
        return None;
    }
    let known = all.into_iter().chain(ALIASES.iter().map(|(alias, _)| (*alias).to_owned()));
    let (distance, name) = known.map(|name| (edits(&lower, &name), name)).min_by_key(|(edits, _)| *edits)?;
    let meant = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| (*name).to_owned());
    (distance == 1).then_some(meant)
}

/// The number of letters to add, drop or replace.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &b) in to.iter().enumerate() {
            let best = (diagonal + usize::from(a != b)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::TemplateSet;

    #[test]
    fn the_attribute_that_was_meant_is_named() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(nearest(text).as_deref(), expected, "{text}");
        check("word", Some("w"));
        check("Tag", Some("t"));
        check("lenght", None);
        check("leng", Some("len"));
        check("shap", Some("shape"));
        check("labl", Some("c"));
        check("q", None);
        check("W", Some("w"));
        check("nonsense", None);
    }

    #[test]
    fn every_attribute_listed_is_one() {
        for name in all() {
            TemplateSet::parse(&format!("s0.{name}")).expect("an attribute");
        }
    }
}
