//! Treewright: shift-reduce syntactic parsing, from treebank to tree.
//!
//! Read a treebank, train a parser on it, parse:
//!
//! ```
//! use treewright::model::Parser;
//! use treewright::train::{TrainConfig, Update, train};
//! use treewright::treebank::{self, Format, ReadOptions};
//!
//! let text = "1\tShe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tsleeps\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n";
//! let reader = treebank::reader(Format::Conllu, text.as_bytes(), &ReadOptions::default());
//! let entries: Vec<_> = reader.collect::<Result<_, _>>()?;
//! let config = TrainConfig { system: "arc-hybrid".parse().unwrap(), update: Update::Local, beam: 1, ..Default::default() };
//! let parser = Parser::new(train(&config, &entries, &[], None, &mut ())?);
//! assert_eq!(parser.worker().parse(&entries[0].sentence), entries[0].tree);
//! # Ok::<(), treewright::Error>(())
//! ```

pub mod config;
pub mod decode;
pub mod draw;
pub mod error;
pub mod eval;
pub mod explore;
pub mod features;
pub mod forest;
mod hash;
pub mod ids;
#[cfg(test)]
pub(crate) mod laws;
pub mod lemma;
mod map;
pub mod model;
mod names;
pub mod oracle;
pub mod parallel;
pub mod pipeline;
pub mod registry;
pub mod rng;
pub mod score;
pub mod segment;
pub mod sentence;
pub mod stats;
pub mod system;
pub mod systems;
pub mod tag;
pub mod train;
pub mod tree;
pub mod treebank;
mod weights;
pub mod word_classes;

pub use error::{Code, Error, Result};
pub use ids::{ActionId, CellId, LabelId, NodeId, StepId, TokenIdx};
pub use sentence::{Sentence, Str, Token};
pub use tree::{ConstituentTree, DependencyTree, Tree};

/// The README's code sample, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
