//! The program from outside: one test binary, so that the small models are trained once.

mod common;
mod eval;
mod exact;
#[cfg(unix)]
mod examples;
mod files;
mod foreign;
mod input;
#[cfg(unix)]
mod interrupted;
mod lemmas;
mod models;
mod neural;
mod oracle;
#[cfg(feature = "parquet")]
mod parquet;
mod parse;
mod parse_output;
mod parse_tags;
mod pictures;
mod readers;
mod resume;
mod shell;
#[cfg(unix)]
mod terminal;
mod train;
mod usage;
