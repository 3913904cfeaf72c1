//! The transforms by name, as `convert --transform a,b,c` takes them.
//!
//! A list is `name,name,..`; a name may be followed by parameters, each after a colon: `binarize:h=1:heads=collins`.
//! A backslash protects a comma or colon that belongs to a parameter: `lower-punctuation:tags=\, . \:`.

use std::mem::discriminant;

use crate::error::{Code, Error, Result};
use crate::sentence::{Sentence, Str};
use crate::tree::{
    ConstituentTree, DependencyTree, Entry, HeadRules, PseudoProjective, PunctuationTags, Tree,
    binarize_tree, collapse_same, collapse_unary, deprojectivize, expand_unary, lower_punctuation, name_root,
    projectivize, raise_punctuation, remove_traces, resolve_traces, strip_functions, unbinarize_tree,
};

/// One transform with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// Cuts labels at `-`, `=` and `|`.
    StripFunctions {
        /// Also removes edge labels.
        edges: bool,
    },
    /// Takes out empty elements.
    RemoveTraces,
    /// Hangs fillers where their traces are.
    ResolveTraces,
    /// Joins unary chains into one label.
    CollapseUnary {
        /// The root is not joined with its child.
        keep_root: bool,
    },
    /// The inverse of `CollapseUnary`.
    ExpandUnary,
    /// Makes `X` over only `X` one node.
    CollapseSame,
    /// Names an unlabelled root.
    Root(Str),
    /// Moves punctuation to where it causes no gap.
    LowerPunctuation(PunctuationTags),
    /// Hangs punctuation from the root.
    RaisePunctuation(PunctuationTags),
    /// Binarises from the head outwards.
    Binarize {
        /// Where the heads are.
        rules: Box<HeadRules>,
        /// The length of the Markov history.
        order: usize,
    },
    /// The inverse of `Binarize`.
    Unbinarize,
    /// Makes dependencies projective.
    Projectivize(PseudoProjective),
    /// The inverse of `Projectivize`.
    Deprojectivize(PseudoProjective),
}

/// What users are told about a transform.
#[derive(Clone, Copy, Debug)]
pub struct TransformHelp {
    /// The name.
    pub name: &'static str,
    /// The parameters it takes, as they are written; may be empty.
    pub parameters: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The name of its inverse, if it has one.
    pub inverse: Option<&'static str>,
    /// The transform with its default parameters.
    default: fn() -> Transform,
}

const fn help(
    name: &'static str,
    parameters: &'static str,
    help: &'static str,
    default: fn() -> Transform,
) -> TransformHelp {
    TransformHelp { name, parameters, help, inverse: None, default }
}

impl TransformHelp {
    const fn undone_by(mut self, inverse: &'static str) -> Self {
        self.inverse = Some(inverse);
        self
    }
}

impl Transform {
    /// All transforms.
    pub const ALL: &[TransformHelp] = &[
        help(
            "strip-functions",
            "[:edges]",
            "cut labels at - = |, with `edges` also remove edge labels",
            || Transform::StripFunctions { edges: false },
        ),
        help("remove-traces", "", "take out -NONE- words and the constituents emptied by it", || {
            Transform::RemoveTraces
        }),
        help(
            "resolve-traces",
            "",
            "hang the fillers of *T* *ICH* *EXP* *RNR* where their traces are",
            || Transform::ResolveTraces,
        ),
        help("collapse-unary", "[:keep-root]", "join unary chains into one label, S+VP", || {
            Transform::CollapseUnary { keep_root: false }
        })
        .undone_by("expand-unary"),
        help("expand-unary", "", "make chains of joined labels again", || Transform::ExpandUnary),
        help("collapse-same", "", "make one node of X over only X", || Transform::CollapseSame),
        help("root", "[:LABEL]", "name an unlabelled root, TOP by default", || Transform::Root("TOP".into())),
        help(
            "lower-punctuation",
            "[:tags=TAG TAG..]",
            "move punctuation to where it causes no discontinuity",
            || Transform::LowerPunctuation(PunctuationTags::default()),
        ),
        help("raise-punctuation", "[:tags=TAG TAG..]", "hang punctuation from the root", || {
            Transform::RaisePunctuation(PunctuationTags::default())
        }),
        help(
            "binarize",
            "[:heads=RULES|FILE][:h=N]",
            "binarise from the head outwards, Markov order N (0)",
            || {
                let rules = HeadRules::named("leftmost").expect("these rules are built in");
                Transform::Binarize { rules: Box::new(rules), order: 0 }
            },
        )
        .undone_by("unbinarize"),
        help("unbinarize", "", "splice out the temporary nodes of binarize", || Transform::Unbinarize),
        help(
            "pseudo-projective",
            "[:head|path|head+path]",
            "make dependencies projective, encode how to undo it",
            || Transform::Projectivize(PseudoProjective::Head),
        )
        .undone_by("deprojectivize"),
        help(
            "deprojectivize",
            "[:head|path|head+path]",
            "undo pseudo-projective (with the same encoding)",
            || Transform::Deprojectivize(PseudoProjective::Head),
        ),
    ];

    /// Reads a list of transforms. `load` gives the text of a file of head rules; see [`Transform::parse`].
    ///
    /// # Errors
    /// With the column in the list, when a name or parameter is not known.
    pub fn parse_list(text: &str, load: &mut dyn FnMut(&str) -> Result<String>) -> Result<Vec<Transform>> {
        let mut transforms = Vec::new();
        let mut column = 1;
        for part in split(text, ',') {
            transforms.push(Self::parse(part, load).map_err(|error| located(error, column))?);
            column += part.chars().count() + 1;
        }
        Ok(transforms)
    }

    /// Reads one transform. `load` is called with a name of head rules that are not built in, and gives their text;
    /// the library opens no files.
    ///
    /// # Errors
    /// When the name or a parameter is not known, or what `load` reports.
    pub fn parse(text: &str, load: &mut dyn FnMut(&str) -> Result<String>) -> Result<Transform> {
        let mut parts = split(text, ':');
        let name = parts.next().unwrap_or_default().trim();
        let Some(help) = Self::ALL.iter().find(|help| help.name == name) else {
            let names: Vec<&str> = Self::ALL.iter().map(|help| help.name).collect();
            let message = format!("no transform is called \"{name}\", expected one of {}", names.join(", "));
            return Err(Error::new(Code::BadRules, message));
        };
        let mut transform = (help.default)();
        for parameter in parts {
            transform.set(help, &unescape(parameter), load)?;
        }
        Ok(transform)
    }

    fn set(
        &mut self,
        TransformHelp { name, parameters, .. }: &TransformHelp,
        parameter: &str,
        load: &mut dyn FnMut(&str) -> Result<String>,
    ) -> Result<()> {
        let (key, value) = parameter.split_once('=').map_or((parameter, None), |(k, v)| (k, Some(v)));
        match (self, key, value) {
            (Transform::StripFunctions { edges }, "edges", None) => *edges = true,
            (Transform::CollapseUnary { keep_root }, "keep-root", None) => *keep_root = true,
            (Transform::Root(label), _, None) if !parameter.is_empty() => *label = parameter.into(),
            (
                Transform::LowerPunctuation(PunctuationTags(tags))
                | Transform::RaisePunctuation(PunctuationTags(tags)),
                "tags",
                Some(value),
            ) if !value.trim().is_empty() => *tags = value.split_whitespace().map(Str::from).collect(),
            (Transform::Binarize { order, .. }, "h", Some(value)) if value.parse::<u16>().is_ok() => {
                *order = value.parse().expect("just tested");
            }
            (Transform::Binarize { rules, .. }, "heads", Some(value)) => {
                let is_built_in = HeadRules::built_in().any(|(name, _)| name == value);
                **rules = match is_built_in {
                    true => HeadRules::named(value)?,
                    false => HeadRules::parse(&load(value)?).map_err(|error| error.in_file(value))?,
                };
            }
            (Transform::Projectivize(encoding) | Transform::Deprojectivize(encoding), _, None)
                if PseudoProjective::named(parameter).is_some() =>
            {
                *encoding = PseudoProjective::named(parameter).expect("just tested");
            }
            _ => {
                let expected = match *parameters {
                    "" => "no parameter".to_owned(),
                    known => format!("{name}{known}"),
                };
                let message = format!("{name} does not take \"{parameter}\", expected {expected}");
                return Err(Error::new(Code::BadRules, message));
            }
        }
        Ok(())
    }

    /// Applies the transform to one sentence.
    ///
    /// # Errors
    /// When the sentence has no tree, or one of the wrong kind, or nothing would be left of it.
    pub fn apply(&self, entry: Entry) -> Result<Entry> {
        let Entry { sentence, tree } = entry;
        let tree = tree.ok_or_else(|| self.fail("the sentence has no tree"))?;
        let (sentence, tree) = match self {
            Transform::Projectivize(encoding) => {
                (sentence, Tree::from(projectivize(&self.dependencies(tree)?, *encoding)))
            }
            Transform::Deprojectivize(encoding) => {
                (sentence, Tree::from(deprojectivize(&self.dependencies(tree)?, *encoding)))
            }
            _ => {
                let (sentence, tree) = self.apply_to_constituents(sentence, tree)?;
                (sentence, Tree::from(tree))
            }
        };
        Ok(Entry { sentence, tree: Some(tree) })
    }

    fn apply_to_constituents(&self, sentence: Sentence, tree: Tree) -> Result<(Sentence, ConstituentTree)> {
        let Tree::Constituent(tree) = tree else {
            return Err(self.fail("the sentence has a dependency tree, not constituents"));
        };
        if tree.n_tokens() != sentence.len() {
            return Err(self.fail("the tree and the sentence differ in length"));
        }
        let tree = match self {
            Transform::RemoveTraces => return remove_traces(sentence, &tree),
            Transform::ResolveTraces => return resolve_traces(sentence, &tree),
            Transform::StripFunctions { edges } => strip_functions(tree, *edges),
            Transform::CollapseUnary { keep_root } => collapse_unary(&tree, *keep_root),
            Transform::ExpandUnary => expand_unary(&tree),
            Transform::CollapseSame => collapse_same(&tree),
            Transform::Root(label) => name_root(tree, label),
            Transform::Unbinarize => unbinarize_tree(&tree),
            Transform::LowerPunctuation(tags) => lower_punctuation(&sentence, &tree, tags),
            Transform::RaisePunctuation(tags) => raise_punctuation(&sentence, &tree, tags),
            Transform::Binarize { rules, order } => binarize_tree(&tree, &sentence, rules, *order),
            Transform::Projectivize(_) | Transform::Deprojectivize(_) => {
                unreachable!("dependencies are transformed elsewhere")
            }
        };
        Ok((sentence, tree))
    }

    /// The dependencies of a sentence, if they are a tree.
    fn dependencies(&self, tree: Tree) -> Result<DependencyTree> {
        let Tree::Dependency(tree) = tree else {
            return Err(self.fail("the sentence has constituents, not dependencies"));
        };
        if tree.arcs.iter().any(|arc| arc.head.is_some_and(|head| head.index() >= tree.len())) {
            return Err(self.fail("a head lies outside the sentence"));
        }
        match tree.find_cycle() {
            Some(word) => Err(self.fail(&format!("word {} is on a cycle", word.index() + 1))),
            None => Ok(tree),
        }
    }

    /// Applies transforms one after the other.
    ///
    /// # Errors
    /// The first that cannot be applied.
    pub fn apply_all(transforms: &[Transform], entry: Entry) -> Result<Entry> {
        transforms.iter().try_fold(entry, |entry, transform| transform.apply(entry))
    }

    /// The name users know it by.
    pub fn name(&self) -> &'static str {
        let is_this = |help: &&TransformHelp| discriminant(&(help.default)()) == discriminant(self);
        Self::ALL.iter().find(is_this).expect("every transform is in the list").name
    }

    fn fail(&self, why: &str) -> Error {
        Error::new(Code::Untransformable, format!("{} cannot be applied: {why}", self.name()))
    }
}

/// The same error with a column of the list, unless it has a place in a file of its own.
fn located(mut error: Error, column: usize) -> Error {
    if error.location.file.is_empty() && error.location.line == 0 {
        (error.location.line, error.location.column) = (1, column);
    }
    error
}

/// The parts between separators that no backslash protects, still with their backslashes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    text.split(move |c: char| {
        let is_end = c == separator && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    })
}

/// The text without the backslashes before commas, colons and backslashes.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(&next @ (',' | ':' | '\\')) if c == '\\' => {
                plain.push(next);
                chars.next();
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::arbitrary::{Shape, constituents, dependencies};
    use proptest::prelude::*;

    fn no_files(name: &str) -> Result<String> {
        Err(Error::new(Code::Io, format!("{name} is not there")))
    }

    #[track_caller]
    fn check(text: &str, expected: &[Transform]) {
        assert_eq!(Transform::parse_list(text, &mut no_files).unwrap(), expected);
    }

    #[track_caller]
    fn check_error(text: &str, code: Code, column: usize, message: &str) {
        let error = Transform::parse_list(text, &mut no_files).expect_err("the list is wrong");
        assert_eq!((error.code, error.location.column), (code, column), "{error}");
        assert!(error.message.contains(message), "{error}");
    }

    #[test]
    fn lists_are_read() {
        check("remove-traces", &[Transform::RemoveTraces]);
        check(
            "strip-functions:edges,collapse-unary:keep-root",
            &[Transform::StripFunctions { edges: true }, Transform::CollapseUnary { keep_root: true }],
        );
        check("root,root:S", &[Transform::Root("TOP".into()), Transform::Root("S".into())]);
        let tags = PunctuationTags(vec![",".into(), ".".into(), ":".into()]);
        check("lower-punctuation:tags=\\, . \\:", &[Transform::LowerPunctuation(tags)]);
        check("raise-punctuation", &[Transform::RaisePunctuation(PunctuationTags::default())]);
        let rules = Box::new(HeadRules::named("collins").unwrap());
        check("binarize:h=2:heads=collins", &[Transform::Binarize { rules, order: 2 }]);
        check("pseudo-projective:head+path", &[Transform::Projectivize(PseudoProjective::HeadPath)]);
        check("deprojectivize", &[Transform::Deprojectivize(PseudoProjective::Head)]);
    }

    #[test]
    fn head_rules_are_loaded() {
        let mut load = |name: &str| {
            assert_eq!(name, "my:rules,1");
            Ok("* right-to-left *".to_owned())
        };
        let rules = Box::new(HeadRules::named("rightmost").unwrap());
        let read = Transform::parse_list("binarize:heads=my\\:rules\\,1", &mut load).unwrap();
        assert_eq!(read, [Transform::Binarize { rules, order: 0 }]);
        let error = Transform::parse("binarize:heads=x", &mut |_| Ok("\nNP wrong".to_owned())).unwrap_err();
        assert_eq!((error.location.file.as_str(), error.location.line, error.location.column), ("x", 2, 4));
    }

    #[test]
    fn wrong_lists_are_located() {
        check_error("", Code::BadRules, 1, "no transform is called \"\"");
        check_error("remove-traces,spin", Code::BadRules, 15, "expected one of strip-functions, ");
        check_error("remove-traces:x", Code::BadRules, 1, "expected no parameter");
        check_error("root,binarize:h=x", Code::BadRules, 6, "expected binarize[:heads=RULES|FILE][:h=N]");
        check_error("binarize:h=99999999", Code::BadRules, 1, "does not take");
        check_error("root:", Code::BadRules, 1, "does not take");
        check_error("lower-punctuation:tags= ", Code::BadRules, 1, "does not take");
        check_error("pseudo-projective:up", Code::BadRules, 1, "does not take");
        check_error("root,binarize:heads=x.rules", Code::Io, 6, "x.rules is not there");
    }

    #[test]
    fn every_name_is_read_and_told() {
        for help in Transform::ALL {
            let transform = Transform::parse(help.name, &mut no_files).unwrap();
            assert_eq!(transform.name(), help.name);
            assert!(
                help.inverse.is_none_or(|inverse| Transform::ALL.iter().any(|other| other.name == inverse))
            );
        }
    }

    #[test]
    fn the_wrong_tree_is_refused() {
        #[track_caller]
        fn check(name: &str, tree: Option<Tree>, message: &str) {
            let entry = Entry { sentence: Sentence::from_tagged([("w", "N")]), tree };
            let error = Transform::parse(name, &mut no_files).unwrap().apply(entry).expect_err("it is wrong");
            assert_eq!(error.code, Code::Untransformable);
            assert!(error.message.contains(message) && error.message.starts_with(name), "{error}");
        }
        let (_, longer) = crate::tree::arbitrary::wide_tree(2);
        check("collapse-same", None, "no tree");
        check("collapse-same", Some(DependencyTree::from_heads([None]).into()), "dependency tree");
        check("collapse-same", Some(longer.clone().into()), "differ in length");
        check("pseudo-projective", None, "no tree");
        check("pseudo-projective", Some(longer.into()), "constituents");
        check("deprojectivize", Some(DependencyTree::from_heads([Some(0)]).into()), "word 1 is on a cycle");
        check("deprojectivize", Some(DependencyTree::from_heads([Some(5)]).into()), "outside the sentence");
    }

    proptest! {
        /// The listed inverses are inverses.
        #[test]
        fn inverses_undo((sentence, tree) in constituents(8, Shape { secondary: false, ..Shape::NASTY })) {
            for help in Transform::ALL.iter().filter(|help| help.name != "pseudo-projective") {
                let Some(inverse) = help.inverse else { continue };
                let entry = Entry { sentence: sentence.clone(), tree: Some(tree.clone().into()) };
                let list = format!("{},{inverse}", help.name);
                let list = Transform::parse_list(&list, &mut no_files).unwrap();
                prop_assert_eq!(Transform::apply_all(&list, entry.clone()).unwrap(), entry);
            }
        }

        /// Every transform applies to every tree of its kind, or says why not.
        #[test]
        fn nothing_panics(
            (sentence, tree) in constituents(8, Shape { tags: &["N", "-NONE-", ","], ..Shape::NASTY }),
            other in dependencies(8, false, &["a", "↑"]),
        ) {
            for help in Transform::ALL {
                let transform = Transform::parse(help.name, &mut no_files).unwrap();
                for tree in [Tree::from(tree.clone()), Tree::from(other.clone())] {
                    let entry = Entry { sentence: sentence.clone(), tree: Some(tree) };
                    if let Err(error) = transform.apply(entry) {
                        prop_assert_eq!(error.code, Code::Untransformable);
                    }
                }
            }
        }
    }
}
