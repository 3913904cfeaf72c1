//! The transforms by name, as `convert --transform a,b,c` takes them.
//!
//! A list is `name,name,..`; a name may be followed by parameters, each after a colon: `binarize:h=1:heads=collins`.
//! A backslash protects a comma or colon that belongs to a parameter: `lower-punctuation:tags=\, . \:`.

use crate::error::{Code, Error, Result};
use crate::sentence::Str;
use crate::tree::{
    ConstituentTree, DependencyTree, HeadRules, PseudoProjective, PunctuationTags, Tree, binarize_tree,
    collapse_same, collapse_unary, deprojectivize, expand_unary, lower_punctuation, name_root, projectivize,
    raise_punctuation, remove_traces, resolve_traces, strip_functions, unbinarize_tree,
};
use crate::treebank::Entry;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransformHelp {
    /// The name.
    pub name: &'static str,
    /// The parameters it takes, as they are written; may be empty.
    pub parameters: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The name of its inverse, if it has one.
    pub inverse: Option<&'static str>,
}

const fn help(name: &'static str, parameters: &'static str, help: &'static str) -> TransformHelp {
    TransformHelp { name, parameters, help, inverse: None }
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
        help("strip-functions", "[:edges]", "cut labels at - = |, with `edges` also remove edge labels"),
        help("remove-traces", "", "take out -NONE- words and the constituents emptied by it"),
        help("resolve-traces", "", "hang the fillers of *T* *ICH* *EXP* *RNR* where their traces are"),
        help("collapse-unary", "[:keep-root]", "join unary chains into one label, S+VP")
            .undone_by("expand-unary"),
        help("expand-unary", "", "make chains of joined labels again"),
        help("collapse-same", "", "make one node of X over only X"),
        help("root", "[:LABEL]", "name an unlabelled root, TOP by default"),
        help(
            "lower-punctuation",
            "[:tags=TAG TAG..]",
            "move punctuation to where it causes no discontinuity",
        ),
        help("raise-punctuation", "[:tags=TAG TAG..]", "hang punctuation from the root"),
        help("binarize", "[:heads=RULES|FILE][:h=N]", "binarise from the head outwards, Markov order N (0)")
            .undone_by("unbinarize"),
        help("unbinarize", "", "splice out the temporary nodes of binarize"),
        help(
            "pseudo-projective",
            "[:head|path|head+path]",
            "make dependencies projective, encode how to undo it",
        )
        .undone_by("deprojectivize"),
        help("deprojectivize", "[:head|path|head+path]", "undo pseudo-projective (with the same encoding)"),
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
        let mut transform = match name {
            "strip-functions" => Transform::StripFunctions { edges: false },
            "remove-traces" => Transform::RemoveTraces,
            "resolve-traces" => Transform::ResolveTraces,
            "collapse-unary" => Transform::CollapseUnary { keep_root: false },
            "expand-unary" => Transform::ExpandUnary,
            "collapse-same" => Transform::CollapseSame,
            "root" => Transform::Root("TOP".into()),
            "lower-punctuation" => Transform::LowerPunctuation(PunctuationTags::default()),
            "raise-punctuation" => Transform::RaisePunctuation(PunctuationTags::default()),
            "binarize" => Transform::Binarize { rules: Box::new(HeadRules::named("leftmost")?), order: 0 },
            "unbinarize" => Transform::Unbinarize,
            "pseudo-projective" => Transform::Projectivize(PseudoProjective::Head),
            "deprojectivize" => Transform::Deprojectivize(PseudoProjective::Head),
            _ => {
                let names: Vec<&str> = Self::ALL.iter().map(|help| help.name).collect();
                let message =
                    format!("no transform is called \"{name}\", expected one of {}", names.join(", "));
                return Err(Error::new(Code::BadRules, 0, 0, message));
            }
        };
        for parameter in parts {
            transform.set(name, &unescape(parameter), load)?;
        }
        Ok(transform)
    }

    fn set(
        &mut self,
        name: &str,
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
                let known =
                    Self::ALL.iter().find(|help| help.name == name).map_or("", |help| help.parameters);
                let expected =
                    if known.is_empty() { "no parameter".to_owned() } else { format!("{name}{known}") };
                let message = format!("{name} does not take \"{parameter}\", expected {expected}");
                return Err(Error::new(Code::BadRules, 0, 0, message));
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
        let constituents = |tree: Option<Tree>| -> Result<ConstituentTree> {
            match tree {
                Some(Tree::Constituent(tree)) => Ok(tree),
                Some(Tree::Dependency(_)) => {
                    Err(self.fail("the sentence has a dependency tree, not constituents"))
                }
                None => Err(self.fail("the sentence has no tree")),
            }
        };
        let dependencies = |tree: Option<Tree>| -> Result<DependencyTree> {
            match tree {
                Some(Tree::Dependency(tree)) => {
                    if tree.arcs.iter().any(|arc| arc.head.is_some_and(|head| head.index() >= tree.len())) {
                        return Err(self.fail("a head lies outside the sentence"));
                    }
                    match tree.find_cycle() {
                        Some(word) => Err(self.fail(&format!("word {} is on a cycle", word.index() + 1))),
                        None => Ok(tree),
                    }
                }
                Some(Tree::Constituent(_)) => {
                    Err(self.fail("the sentence has constituents, not dependencies"))
                }
                None => Err(self.fail("the sentence has no tree")),
            }
        };
        let (sentence, tree) = match self {
            Transform::Projectivize(encoding) => {
                (sentence, Tree::from(projectivize(&dependencies(tree)?, *encoding)))
            }
            Transform::Deprojectivize(encoding) => {
                (sentence, Tree::from(deprojectivize(&dependencies(tree)?, *encoding)))
            }
            _ => {
                let tree = constituents(tree)?;
                if tree.n_tokens() != sentence.len() {
                    return Err(self.fail("the tree and the sentence differ in length"));
                }
                let (sentence, tree) = match self {
                    Transform::RemoveTraces => remove_traces(sentence, &tree)?,
                    Transform::ResolveTraces => resolve_traces(sentence, &tree)?,
                    Transform::StripFunctions { edges } => (sentence, strip_functions(tree, *edges)),
                    Transform::CollapseUnary { keep_root } => (sentence, collapse_unary(&tree, *keep_root)),
                    Transform::ExpandUnary => (sentence, expand_unary(&tree)),
                    Transform::CollapseSame => (sentence, collapse_same(&tree)),
                    Transform::Root(label) => (sentence, name_root(tree, label)),
                    Transform::Unbinarize => (sentence, unbinarize_tree(&tree)),
                    Transform::LowerPunctuation(tags) => {
                        let tree = lower_punctuation(&sentence, &tree, tags);
                        (sentence, tree)
                    }
                    Transform::RaisePunctuation(tags) => {
                        let tree = raise_punctuation(&sentence, &tree, tags);
                        (sentence, tree)
                    }
                    Transform::Binarize { rules, order } => {
                        let tree = binarize_tree(&tree, &sentence, rules, *order);
                        (sentence, tree)
                    }
                    Transform::Projectivize(_) | Transform::Deprojectivize(_) => {
                        unreachable!("dependencies were handled above")
                    }
                };
                (sentence, Tree::from(tree))
            }
        };
        Ok(Entry { sentence, tree: Some(tree) })
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
        match self {
            Transform::StripFunctions { .. } => "strip-functions",
            Transform::RemoveTraces => "remove-traces",
            Transform::ResolveTraces => "resolve-traces",
            Transform::CollapseUnary { .. } => "collapse-unary",
            Transform::ExpandUnary => "expand-unary",
            Transform::CollapseSame => "collapse-same",
            Transform::Root(_) => "root",
            Transform::LowerPunctuation(_) => "lower-punctuation",
            Transform::RaisePunctuation(_) => "raise-punctuation",
            Transform::Binarize { .. } => "binarize",
            Transform::Unbinarize => "unbinarize",
            Transform::Projectivize(_) => "pseudo-projective",
            Transform::Deprojectivize(_) => "deprojectivize",
        }
    }

    fn fail(&self, why: &str) -> Error {
        Error::new(Code::Untransformable, 0, 0, format!("{} cannot be applied: {why}", self.name()))
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
