//! Scoring parameters: the `.prm` files of EVALB and disco-dop, and four sets that come with the library.

use crate::error::{Code, Error, Result, named};
use crate::sentence::Str;
use crate::tree::{Entry, Tree};
use crate::treebank::Format;

named! {
    /// The part of labels with function tags (`NP-SBJ`, `IP-MAT`) that is compared.
    pub enum Functions {
        /// Up to the first `-` or `=`, as EVALB and disco-dop do.
        Strip = "strip";
        /// Whole.
        Keep = "keep";
    }
}

/// True if trees may be discontinuous, which decides between EVALB's rules and disco-dop's: some formats are made for
/// such trees; JSON, and trees of no known format, are asked one by one.
pub fn may_be_discontinuous(format: Option<Format>, entries: &[Entry]) -> bool {
    let is_discontinuous =
        |entry: &Entry| matches!(&entry.tree, Some(Tree::Constituent(tree)) if tree.is_discontinuous());
    match format {
        Some(Format::Discbracket | Format::Export | Format::Tigerxml | Format::Alpino) => true,
        Some(Format::Json) | None => entries.iter().any(is_discontinuous),
        Some(_) => false,
    }
}

/// What does not count, and what counts as the same. One type for both families of scorers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Constituents with these labels do not count; words with these tags are taken out.
    pub delete_label: Vec<Str>,
    /// Words with these tags do not add to the length of a sentence.
    pub delete_label_for_length: Vec<Str>,
    /// Words to take out whatever their tag (disco-dop).
    pub delete_word: Vec<Str>,
    /// Tags under which a quote may be a mistagged one, to be put back when lengths differ (EVALB).
    pub quote_label: Vec<Str>,
    /// Labels, and tags, that count as the same.
    pub eq_label: Vec<(Str, Str)>,
    /// Words that count as the same.
    pub eq_word: Vec<(Str, Str)>,
    /// Sentences up to this length are also reported apart.
    pub cutoff_len: usize,
    /// The number of erroneous sentences after which EVALB gives up.
    pub max_error: usize,
    /// Do labels count?
    pub labeled: bool,
    /// The part of labels with `-` or `=` that is compared. No parameter file sets it: the tools always cut.
    pub functions: Functions,
    /// Count discontinuous constituents only (disco-dop).
    pub disc_only: bool,
    /// Take out words that hang directly under the gold root (disco-dop).
    pub delete_root_preterms: bool,
    /// Does the file use what only disco-dop knows? Then it is meant for that scorer.
    pub is_for_disco: bool,
}

impl Default for Params {
    /// What EVALB does without a parameter file.
    fn default() -> Self {
        Params {
            delete_label: Vec::new(),
            delete_label_for_length: Vec::new(),
            delete_word: Vec::new(),
            quote_label: Vec::new(),
            eq_label: Vec::new(),
            eq_word: Vec::new(),
            cutoff_len: 40,
            max_error: 10,
            labeled: true,
            functions: Functions::Strip,
            disc_only: false,
            delete_root_preterms: false,
            is_for_disco: false,
        }
    }
}

/// The sets that come with the library, by name.
const NAMED: &[(&str, &str)] = &[
    ("collins", include_str!("prm/collins.prm")),
    ("evalb", include_str!("prm/evalb.prm")),
    ("spmrl", include_str!("prm/spmrl.prm")),
    ("proper", include_str!("prm/proper.prm")),
];

const KEYS: &str = "DELETE_LABEL, DELETE_LABEL_FOR_LENGTH, DELETE_WORD, QUOTE_LABEL, EQ_LABEL, EQ_WORD, CUTOFF_LEN, \
                    MAX_ERROR, LABELED, DISC_ONLY, DELETE_ROOT_PRETERMS or DEBUG";

impl Params {
    /// The names of the sets that come with the library.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// A set that comes with the library: `collins`, `evalb`, `spmrl` or `proper`.
    pub fn named(name: &str) -> Option<Params> {
        let (_, text) = NAMED.iter().find(|(known, _)| *known == name)?;
        Some(Params::parse(text).expect("the parameters that come with the library can be read"))
    }

    /// The set for trees for which none is named: `proper` where they may be discontinuous, `collins` elsewhere. See
    /// [`may_be_discontinuous`].
    pub fn fitting(discontinuous: bool) -> Params {
        Params::named(if discontinuous { "proper" } else { "collins" }).expect("it comes with the library")
    }

    /// Reads a `.prm` file. `DEBUG` is accepted and has no effect.
    ///
    /// # Errors
    /// On an unknown key, a key without a value, and a value of the wrong form, with its line.
    pub fn parse(text: &str) -> Result<Params> {
        let mut params = Params::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = match line.split_once(char::is_whitespace) {
                Some((key, value)) => (key, value.trim_start()),
                None => (line, ""),
            };
            let column = line.chars().count() - value.chars().count() + 1;
            let bad = |message: String| Error::at(Code::BadRules, i + 1, column, message);
            if value.is_empty() {
                return Err(bad(format!("{key} has no value; expected KEY VALUE")));
            }
            let number = || {
                value
                    .parse::<usize>()
                    .map_err(|_| bad(format!("{key} is {value:?}; expected a whole number")))
            };
            let flag = || number().map(|n| n != 0);
            let pair = || {
                let mut words = value.split_whitespace();
                match (words.next(), words.next(), words.next()) {
                    (Some(a), Some(b), None) => Ok((Str::from(a), Str::from(b))),
                    _ => Err(bad(format!("{key} is {value:?}; expected two values"))),
                }
            };
            match key {
                "DELETE_LABEL" => params.delete_label.push(value.into()),
                "DELETE_LABEL_FOR_LENGTH" => params.delete_label_for_length.push(value.into()),
                "DELETE_WORD" => params.delete_word.push(value.into()),
                "QUOTE_LABEL" => params.quote_label.push(value.into()),
                "EQ_LABEL" => params.eq_label.push(pair()?),
                "EQ_WORD" => params.eq_word.push(pair()?),
                "CUTOFF_LEN" => params.cutoff_len = number()?,
                "MAX_ERROR" => params.max_error = number()?,
                "LABELED" => params.labeled = flag()?,
                "DISC_ONLY" => params.disc_only = flag()?,
                "DELETE_ROOT_PRETERMS" => params.delete_root_preterms = flag()?,
                "DEBUG" => {}
                "LA" | "TED" | "DEP" if flag()? => {
                    return Err(bad(format!(
                        "{key} asks for a measure that is not computed here; expected 0"
                    )));
                }
                "LA" | "TED" | "DEP" => {}
                _ => {
                    return Err(Error::at(
                        Code::BadRules,
                        i + 1,
                        1,
                        format!("unknown key {key:?}; expected {KEYS}"),
                    ));
                }
            }
            params.is_for_disco |=
                matches!(key, "DELETE_WORD" | "DISC_ONLY" | "DELETE_ROOT_PRETERMS" | "LA" | "TED" | "DEP");
        }
        Ok(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        assert_eq!(Params::parse(text).expect_err(text).to_string(), expected);
    }

    #[test]
    fn every_named_set_can_be_read() {
        for name in Params::names() {
            let params = Params::named(name).expect("a known name");
            assert_eq!(params.is_for_disco, name == "proper");
            assert!(!params.delete_label.is_empty());
        }
        assert_eq!(Params::named("nothing"), None);
        assert_eq!(Params::named("spmrl").map(|p| (p.cutoff_len, p.max_error)), Some((70, 10_000)));
    }

    #[test]
    fn a_file_is_read_line_by_line() {
        let text = "# comment\n\nDEBUG 1\nLABELED 0\nDELETE_LABEL   -NONE-  \nEQ_LABEL A B\nEQ_WORD\tx\ty\nCUTOFF_LEN 7\n";
        let expected = Params {
            labeled: false,
            delete_label: vec!["-NONE-".into()],
            eq_label: vec![("A".into(), "B".into())],
            eq_word: vec![("x".into(), "y".into())],
            cutoff_len: 7,
            ..Params::default()
        };
        assert_eq!(Params::parse(text), Ok(expected));
    }

    #[test]
    fn the_set_goes_by_the_format_and_else_by_the_trees() {
        use crate::treebank::{ReadOptions, reader};
        let entries = |text: &str| -> Vec<Entry> {
            let entries = reader(Format::Discbracket, text.as_bytes(), &ReadOptions::default());
            entries.collect::<Result<_>>().expect("readable")
        };
        let continuous = entries("(S (N 0=a) (V 1=b))\n");
        let discontinuous = entries("(S (VP (N 0=a) (V 2=c)) (V 1=b))\n");
        for (format, of_continuous, of_discontinuous) in [
            (None, false, true),
            (Some(Format::Json), false, true),
            (Some(Format::Discbracket), true, true),
            (Some(Format::Ptb), false, false),
        ] {
            assert_eq!(may_be_discontinuous(format, &continuous), of_continuous);
            assert_eq!(may_be_discontinuous(format, &discontinuous), of_discontinuous);
        }
        assert_eq!(Params::fitting(true), Params::named("proper").expect("known"));
        assert_eq!(Params::fitting(false), Params::named("collins").expect("known"));
    }

    #[test]
    fn errors_name_the_line() {
        check_error(
            "LABELED 1\nDELETE_LABELS x\n",
            "2:1: unknown key \"DELETE_LABELS\"; expected DELETE_LABEL, DELETE_LABEL_FOR_LENGTH, DELETE_WORD, QUOTE_LABEL, EQ_LABEL, EQ_WORD, CUTOFF_LEN, MAX_ERROR, LABELED, DISC_ONLY, DELETE_ROOT_PRETERMS or DEBUG [TW402]",
        );
        check_error("DELETE_LABEL\n", "1:13: DELETE_LABEL has no value; expected KEY VALUE [TW402]");
        check_error("\nEQ_LABEL A\n", "2:10: EQ_LABEL is \"A\"; expected two values [TW402]");
        check_error("EQ_WORD A B C", "1:9: EQ_WORD is \"A B C\"; expected two values [TW402]");
        check_error("CUTOFF_LEN ten", "1:12: CUTOFF_LEN is \"ten\"; expected a whole number [TW402]");
        check_error("TED 1", "1:5: TED asks for a measure that is not computed here; expected 0 [TW402]");
    }
}
