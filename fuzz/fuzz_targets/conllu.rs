//! The CoNLL-U reader.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;
use treewright::treebank::{Format, ReadOptions, WriteOptions};

fuzz_target!(|text: &[u8]| {
    let read = ReadOptions { many_roots: text.len() % 2 == 0, ..ReadOptions::default() };
    common::check(Format::Conllu, text, &read, &WriteOptions::default(), true);
});
