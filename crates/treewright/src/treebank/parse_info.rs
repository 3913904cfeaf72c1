//! What a parser says about a tree, as comments of its sentence: `# parse = 2`, `# score = 120.5`,
//! `# probability = 0.25` or `# share_of_kept = 0.25`, `# exact = false`, `# upper_bound = 121`, in this order after all other comments.
//!
//! CoNLL-U holds them as any other comment, the bracket formats as lines before the tree (these are the only ones
//! they write), and JSON as fields of the sentence's object.

use std::fmt::Display;
use std::str::FromStr;

use crate::sentence::Str;

/// What a parser says about a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ParseInfo {
    /// Its number among the parses of the sentence, from 1, where there may be several.
    pub parse: Option<u32>,
    /// The sum of its actions' scores.
    pub score: Option<f64>,
    /// Its probability, where all parses of the sentence are given.
    pub probability: Option<f64>,
    /// Its share of all that the search kept, where there may be other parses.
    pub share_of_kept: Option<f64>,
    /// Is it surely the best tree for the model?
    pub exact: Option<bool>,
    /// No tree has a higher score than this, where exact search was stopped before it had the best one.
    pub upper_bound: Option<f64>,
}

const PARSE: &str = "parse";
const SCORE: &str = "score";
const PROBABILITY: &str = "probability";
const SHARE_OF_KEPT: &str = "share_of_kept";
const EXACT: &str = "exact";
const UPPER_BOUND: &str = "upper_bound";

impl ParseInfo {
    /// The comment lines for it.
    pub fn comments(&self) -> impl Iterator<Item = Str> {
        let ParseInfo { parse, score, probability, share_of_kept, exact, upper_bound } = *self;
        let lines = [
            line(PARSE, parse),
            line(SCORE, score),
            line(PROBABILITY, probability),
            line(SHARE_OF_KEPT, share_of_kept),
            line(EXACT, exact),
            line(UPPER_BOUND, upper_bound),
        ];
        lines.into_iter().flatten()
    }

    /// Removes it from the end of comments.
    pub(crate) fn remove(comments: &mut Vec<Str>) {
        comments.truncate(Self::split(comments).0.len());
    }

    /// Takes it apart from the comments before it. What [`ParseInfo::comments`] would write otherwise stays a comment.
    pub(super) fn split(mut comments: &[Str]) -> (&[Str], Self) {
        let upper_bound = pop(&mut comments, UPPER_BOUND);
        let exact = pop(&mut comments, EXACT);
        let share_of_kept = pop(&mut comments, SHARE_OF_KEPT);
        let probability = pop(&mut comments, PROBABILITY);
        let score = pop(&mut comments, SCORE);
        let parse = pop(&mut comments, PARSE);
        (comments, ParseInfo { parse, score, probability, share_of_kept, exact, upper_bound })
    }
}

/// Is this one of the comments?
pub(super) fn is_parse_comment(comment: &str) -> bool {
    let is_line = |value: &str| !value.contains(['\n', '\r', '\0']);
    [PARSE, SCORE, PROBABILITY, SHARE_OF_KEPT, EXACT, UPPER_BOUND]
        .iter()
        .any(|name| value_of(comment, name).is_some_and(is_line))
}

fn line(name: &str, value: Option<impl Display>) -> Option<Str> {
    value.map(|value| Str::from(format!("# {name} = {value}")))
}

fn value_of<'a>(comment: &'a str, name: &str) -> Option<&'a str> {
    comment.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(" = ")
}

/// The value of the last comment, which is taken away, if it has this name.
fn pop<T: FromStr + Display + Finite>(comments: &mut &[Str], name: &str) -> Option<T> {
    let (last, before) = comments.split_last()?;
    let value: T = value_of(last, name)?.parse().ok()?;
    if !value.is_finite() || line(name, Some(&value)).as_ref() != Some(last) {
        return None;
    }
    *comments = before;
    Some(value)
}

/// Numbers that JSON can hold.
trait Finite {
    fn is_finite(&self) -> bool {
        true
    }
}

impl Finite for u32 {}
impl Finite for bool {}
impl Finite for f64 {
    fn is_finite(&self) -> bool {
        f64::is_finite(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found_again() {
        for info in [
            ParseInfo::default(),
            ParseInfo { score: Some(-12.25), exact: Some(false), ..ParseInfo::default() },
            ParseInfo { parse: Some(3), score: Some(1e300), probability: Some(0.1), ..ParseInfo::default() },
            ParseInfo { parse: Some(1), share_of_kept: Some(0.25), ..ParseInfo::default() },
            ParseInfo { exact: Some(false), upper_bound: Some(-0.5), ..ParseInfo::default() },
        ] {
            let mut comments: Vec<Str> = vec!["# text = a".into()];
            comments.extend(info.comments());
            assert!(comments[1..].iter().all(|comment| is_parse_comment(comment)));
            assert_eq!(ParseInfo::split(&comments), (&comments[..1], info));
        }
    }

    #[test]
    fn what_would_not_come_back_stays_a_comment() {
        for comment in ["# score = 1.50", "# score = NaN", "# parse = -1", "# exact = yes", "#score = 1"] {
            let comments = [Str::from(comment)];
            assert_eq!(ParseInfo::split(&comments), (&comments[..], ParseInfo::default()));
        }
        let reversed: [Str; 2] = ["# score = 1".into(), "# parse = 1".into()];
        let (rest, info) = ParseInfo::split(&reversed);
        assert_eq!((rest.len(), info.parse, info.score), (1, Some(1), None));
    }
}
