//! The CoNLL-X reader; comments and a PHEAD that is no number are not written.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use treewright::treebank::{Format, ReadOptions, WriteOptions};

fuzz_target!(|text: &[u8]| {
    common::check(Format::Conllx, text, &ReadOptions::default(), &WriteOptions::default(), false);
});
