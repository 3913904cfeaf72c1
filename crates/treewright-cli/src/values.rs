//! Values of flags that are one of several names: help lists them, shells complete them, and a mistyped one is told the
//! nearest.

use std::fmt::Debug;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use treewright::config::DecoderKind;
use treewright::registry::{OracleKind, SystemTag};
use treewright::score::ScorerKind;
use treewright::segment::Spaces;
use treewright::train::TextPart;
use treewright::tree::TreeKind;
use treewright::treebank::Format;

/// A treebank format.
pub fn format() -> impl TypedValueParser<Value = Format> {
    one_of(Format::ALL, |format| format.as_str())
}

/// What a file may be besides a treebank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// A treebank.
    Treebank(Format),
    /// A table with texts in one column.
    Parquet,
}

impl FileFormat {
    /// That of a treebank, if it is one.
    pub fn treebank(self) -> Option<Format> {
        match self {
            FileFormat::Treebank(format) => Some(format),
            FileFormat::Parquet => None,
        }
    }
}

/// The format of a treebank, where nothing else makes sense.
pub fn treebank() -> impl TypedValueParser<Value = FileFormat> {
    format().map(FileFormat::Treebank)
}

/// A treebank format, or Parquet.
pub fn file_format() -> impl TypedValueParser<Value = FileFormat> {
    const PARQUET: &str = "parquet";
    let names = Format::ALL.iter().map(|format| format.as_str()).chain([PARQUET]);
    PossibleValuesParser::new(names).map(|name| match &name[..] {
        PARQUET => FileFormat::Parquet,
        name => FileFormat::Treebank(name.parse().expect("it is one of the names")),
    })
}

/// A kind of trees.
pub fn kind() -> impl TypedValueParser<Value = TreeKind> {
    one_of(TreeKind::ALL, |kind| kind.name())
}

/// A transition system.
pub fn system() -> impl TypedValueParser<Value = SystemTag> {
    one_of(SystemTag::ALL, |system| system.name())
}

/// The name of a kind of scorer.
pub fn scorer() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(<dyn ScorerKind>::names())
}

/// A search to train with.
pub fn trained_decoder() -> impl TypedValueParser<Value = DecoderKind> {
    one_of(DecoderKind::ALL, DecoderKind::name)
}

/// A kind of oracle.
pub fn oracle() -> impl TypedValueParser<Value = OracleKind> {
    one_of(OracleKind::ALL, |oracle| oracle.name())
}

/// A way in which text is written, with or without spaces.
pub fn spaces() -> impl TypedValueParser<Value = Spaces> {
    one_of(Spaces::ALL, |spaces| spaces.name())
}

/// A part of a model that comes before the parser.
pub fn text_part() -> impl TypedValueParser<Value = TextPart> {
    one_of(TextPart::ALL, |part| part.name())
}

/// A value by its name.
pub fn choice<T>(all: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let value =
        |name: String| all.iter().find(|(other, _)| *other == name).expect("it is one of the names").1;
    PossibleValuesParser::new(all.iter().map(|(name, _)| *name)).map(value)
}

fn one_of<T>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + FromStr<Err: Debug> + Send + Sync + 'static,
{
    let names = all.iter().map(|&value| name(value));
    PossibleValuesParser::new(names).map(|name| name.parse().expect("it is one of the names"))
}
